/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Carries out plans. Decides nothing; every modifying act of the daemon passes here. */
#include "vnicd/apply.h"

#include "lib/kern/kern.h"
#include "vnicd/fault.h"
#include "vnicd/log.h"

/* The gate to the kernel, and in a dry run to whoever tells what would pass. */
static int pass(struct kernel *k, struct op *op, struct err *e)
{
	int r;

	if (k->tell)
		return k->tell(op, k->tell_arg, e);
	r = fault_step(op_name(op->kind), e);
	return r < 0 ? r : k->ops->apply(k, op, e);
}

void apply_tell(struct kernel *k, int (*tell)(const struct op *op, void *arg, struct err *e), void *arg)
{
	k->tell = tell;
	k->tell_arg = arg;
}

/* A new link's ifindex is known only now: hand it to the operations on the same link that follow. */
static void pass_on_ifindex(struct op_list *list, size_t i)
{
	const struct op *done = &list->ops[i];

	if (done->kind != OP_LINK_ADD && done->kind != OP_LINK_MOVE)
		return;
	for (size_t j = i + 1; j < list->count && list->ops[j].to.n == done->to.n; j++) {
		struct op *op = &list->ops[j];

		if (done->on == ON_IFB) {
			op->from.ifb_port.ifindex = op->to.ifb_port.ifindex = done->to.ifb_port.ifindex;
		} else {
			op->from.port.ifindex = op->to.port.ifindex = done->to.port.ifindex;
			if (op->kind == OP_LINK_MOVE)
				break;
		}
	}
}

/*
 * Takes back the first count operations. What cannot be taken back (a class of a link that had to be made
 * again) is the caller's, who reads back afterwards.
 */
static void undo(struct kernel *k, struct op_list *list, size_t count)
{
	char text[600];

	for (size_t i = k->tell ? 0 : count; i-- > 0;) {
		struct err e = {0};
		struct op inverse;

		if (!op_inverse(&list->ops[i], &inverse))
			continue;
		/* The link may have a new ifindex by now: by name. */
		inverse.to.port.ifindex = inverse.from.port.ifindex = 0;
		inverse.to.ifb_port.ifindex = inverse.from.ifb_port.ifindex = 0;
		if (k->ops->apply(k, &inverse, &e) < 0)
			log_debug(op_port(&inverse.from, inverse.on)->name, "undo by %s failed: %s",
				  op_name(inverse.kind), err_str(&e, text, sizeof(text)));
	}
}

int apply_ops(struct kernel *k, struct op_list *list, struct err *e)
{
	for (size_t i = 0; i < list->count; i++) {
		struct op *op = &list->ops[i];
		int r = pass(k, op, e);

		log_debug(op_port(&op->to, op->on)->name, "%s on %s%s", op_name(op->kind),
			  op_port(&op->to, op->on)->name,
			  k->tell ? ": told"
			  : r < 0 ? ": failed"
				  : "");
		if (r < 0) {
			undo(k, list, i);
			return r;
		}
		pass_on_ifindex(list, i);
	}
	return 0;
}

void apply_undo(struct kernel *k, struct op_list *list)
{
	undo(k, list, list->count);
}

int apply_op(struct kernel *k, struct op *op, struct err *e)
{
	return pass(k, op, e);
}

void apply_leftovers(struct kernel *k, struct op_list *list)
{
	char text[600];

	for (size_t i = 0; i < list->count; i++) {
		struct op *op = &list->ops[i];
		struct err e = {0};

		if (apply_op(k, op, &e) < 0)
			log_warning(op_port(&op->from, op->on)->name,
				    "%s failed and is left to the next start: %s", op_name(op->kind),
				    err_str(&e, text, sizeof(text)));
	}
}

void apply_tidy(struct kernel *k)
{
	if (k->ops->tidy)
		k->ops->tidy(k);
}

unsigned long apply_acts(const struct kernel *k)
{
	return k->acts;
}

int apply_flows(struct kernel *k, const struct node *n, const struct flow_set *have,
		const struct flow_set *want, struct err *e)
{
	int r = fault_step("flows", e);

	return r < 0 ? r : k->ops->flow_change(k, n, have, want, e);
}
