/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The memory of ARP settings, and what is swept at start. Plans nothing: it puts back what was there. */
#include "vnicd/isolate.h"

#include "vnicd/apply.h"
#include "vnicd/check.h"
#include "vnicd/log.h"
#include "vnicd/observe.h"
#include "vnicd/want.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <utarray.h>
#include <utlist.h>

static struct arp_was *was_of(const struct daemon *d, int ifindex)
{
	struct arp_was *w;

	HASH_FIND_INT(d->arps, &ifindex, w);
	return w;
}

static int add(struct daemon *d, int ifindex, struct arp arp)
{
	struct arp_was *w = calloc(1, sizeof(*w));

	if (!w)
		return -ENOMEM;
	*w = (struct arp_was){.ifindex = ifindex, .arp = arp};
	HASH_ADD_INT(d->arps, ifindex, w);
	return 0;
}

static int on_row(int ifindex, struct arp arp, void *arg)
{
	return add(arg, ifindex, arp);
}

int isolate_load(struct daemon *d, struct err *e)
{
	return store_arps(d->store, d->world, on_row, d, e);
}

static int remember(struct daemon *d, int ifindex, struct arp arp, struct err *e)
{
	int r = store_arp_put(d->store, d->world, ifindex, arp, e);

	if (r == 0 && add(d, ifindex, arp) < 0)
		r = err_nomem(e);
	return r;
}

int isolate_remember(struct daemon *d, const struct op_list *ops, struct err *e)
{
	int r = 0;

	for (size_t i = 0; i < ops->count && r == 0; i++) {
		const struct op *op = &ops->ops[i];
		int ifindex = op_port(&op->from, op->on)->ifindex;

		if (op->kind == OP_ARP_SET && ifindex > 0 && !was_of(d, ifindex))
			r = remember(d, ifindex, op->on == ON_PARENT ? op->from.parent_arp : op->from.arp, e);
	}
	return r;
}

/* Is the link an isolated VNIC, or the parent of one? */
static bool is_needed(const struct daemon *d, const struct slink *s)
{
	enum link_class class;
	const struct vlink *v = vlink_of_sys(d, &s->l, &class), *above;

	if (v && class == CLASS_VNIC && want_isolate(v))
		return true;
	DL_FOREACH (s->above, above)
		if (want_isolate(above))
			return true;
	return false;
}

static void put_back(struct daemon *d, const struct slink *s, struct arp arp)
{
	struct op op = {.kind = OP_ARP_SET, .on = ON_LINK};
	struct err e = {0};
	char text[600];

	op.from.link = true;
	op.from.port.ifindex = s->l.ifindex;
	memcpy(op.from.port.name, s->l.name, sizeof(op.from.port.name));
	observe_arp(d, s->l.ifindex, &op.from);
	if (arp_equal(op.from.arp, arp))
		return;
	op.to = op.from;
	op.to.arp = arp;
	if (apply_op(d->kernel, &op, &e) < 0)
		log_warning(s->l.name, "its ARP settings cannot be put back: %s",
			    err_str(&e, text, sizeof(text)));
}

/* In a dry run: is the link there as yet, but would be gone or elsewhere by now? */
static bool would_be_gone(const struct daemon *d, const struct slink *s)
{
	enum link_class class;
	const struct vlink *v = vlink_of_sys(d, &s->l, &class);

	return d->dry && (v ? class == CLASS_VNIC && vlink_zone(v)[0] : check_going(d, &s->l));
}

void isolate_settle(struct daemon *d)
{
	struct arp_was *w, *next;

	HASH_ITER (hh, d->arps, w, next) {
		const struct slink *s = slink_find(d, w->ifindex);

		if (s && is_needed(d, s))
			continue;
		if (s && !would_be_gone(d, s))
			put_back(d, s, w->arp);
		if (d->dry)
			continue;
		store_arp_del(d->store, w->ifindex, NULL);
		HASH_DEL(d->arps, w);
		free(w);
	}
}

static int collect(uint32_t n, void *arg)
{
	utarray_push_back((UT_array *)arg, &n);
	return 0;
}

static void end_isolation(struct daemon *d, uint32_t n)
{
	struct op op = {.kind = OP_ISO_DEL, .from.n = n, .to.n = n};
	struct err e = {0};
	char text[600];

	if (apply_op(d->kernel, &op, &e) < 0)
		log_warning(NULL, "the isolation of number %u cannot be ended: %s", n,
			    err_str(&e, text, sizeof(text)));
}

void isolate_sweep(struct daemon *d)
{
	static const UT_icd number_icd = {.sz = sizeof(uint32_t)};
	uint32_t *n = NULL, last = 0;
	UT_array *all;

	utarray_new(all, &number_icd);
	observe_isolated(d, collect, all, NULL);
	while ((n = (uint32_t *)utarray_next(all, n))) {
		const struct vlink *v = vlink_by_n(d, *n);

		if (*n != last && !(v && want_isolate(v)))
			end_isolation(d, *n);
		last = *n;
	}
	utarray_free(all);
	isolate_settle(d);
}

void isolate_free(struct daemon *d)
{
	struct arp_was *w, *next;

	HASH_ITER (hh, d->arps, w, next) {
		HASH_DEL(d->arps, w);
		free(w);
	}
}
