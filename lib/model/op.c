/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The operation table: name, effect and inverse of each. Pure; the doing is in lib/kern, the text is say.c's.
 */
#include "lib/model/op.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct tree *op_tree(struct node *n, enum op_on on)
{
	return on == ON_IFB ? &n->rx : &n->tx;
}

const struct port *op_port(const struct node *n, enum op_on on)
{
	static const size_t at[] = {
		[ON_LINK] = offsetof(struct node, port),
		[ON_IFB] = offsetof(struct node, ifb_port),
		[ON_PARENT] = offsetof(struct node, parent),
	};

	return (const struct port *)((const char *)n + at[on]);
}

static const struct tree *ctree(const struct node *n, enum op_on on)
{
	return on == ON_IFB ? &n->rx : &n->tx;
}

/* Effects: what each operation makes of a node. */

/* The ifb that goes or comes had or needs a program; with a root go the classes. */
static void flows_lost(struct node *n)
{
	n->flows = FLOWS_OFF;
}

static void classes_lost(struct node *n)
{
	if (n->flows == FLOWS_ON)
		n->flows = FLOWS_STALE;
}

static void link_add(const struct op *op, struct node *n)
{
	const struct node *to = &op->to;

	if (op->on == ON_IFB) {
		n->ifb = true;
		n->ifb_port = to->ifb_port;
		n->ifb_port.ifindex = 0;
		n->ifb_marked = n->ifb_quiet = n->ifb_up = false;
		n->rx = (struct tree){0};
		flows_lost(n);
		return;
	}
	n->link = true;
	n->class = to->class;
	n->port = to->port;
	n->port.ifindex = 0;
	memcpy(n->kind, to->kind, sizeof(n->kind));
	n->parent = to->parent;
	n->mac = to->mac;
	n->bc_queue = to->bc_queue;
	n->vid = to->vid;
	n->mtu = to->mtu;
	n->up = n->marked = n->quiet = false;
	n->tx = (struct tree){0};
}

static void link_del(const struct op *op, struct node *n)
{
	if (op->on == ON_IFB) {
		n->ifb = n->ifb_marked = n->ifb_doomed = n->ifb_quiet = n->ifb_up = false;
		n->ifb_port.ifindex = 0;
		n->rx = (struct tree){0};
		flows_lost(n);
		return;
	}
	n->link = n->up = n->marked = n->doomed = n->quiet = false;
	n->port.ifindex = 0;
	n->tx = (struct tree){0};
}

static void link_mark(const struct op *op, struct node *n)
{
	*(op->on == ON_IFB ? &n->ifb_marked : &n->marked) = true;
	*(op->on == ON_IFB ? &n->ifb_doomed : &n->doomed) = false;
}

static void link_doom(const struct op *op, struct node *n)
{
	*(op->on == ON_IFB ? &n->ifb_doomed : &n->doomed) = true;
}

static void link_sweep(const struct op *op, struct node *n)
{
	(void)op;
	if (n->doomed)
		link_del(&(struct op){.on = ON_LINK}, n);
	if (n->ifb_doomed)
		link_del(&(struct op){.on = ON_IFB}, n);
}

static void link_quiet(const struct op *op, struct node *n)
{
	*(op->on == ON_IFB ? &n->ifb_quiet : &n->quiet) = op->yes;
}

static void link_up(const struct op *op, struct node *n)
{
	*(op->on == ON_IFB ? &n->ifb_up : &n->up) = op->yes;
}

static void link_mtu(const struct op *op, struct node *n)
{
	n->mtu = op->to.mtu;
}

static void link_mac(const struct op *op, struct node *n)
{
	n->mac = op->to.mac;
}

static void link_rename(const struct op *op, struct node *n)
{
	memcpy(n->port.name, op->to.port.name, sizeof(n->port.name));
}

static void link_move(const struct op *op, struct node *n)
{
	memcpy(n->port.zone, op->to.port.zone, sizeof(n->port.zone));
	n->port.ifindex = 0;
	n->up = n->quiet = false;
	n->tx = (struct tree){0};
	classes_lost(n);
}

static void prog_set(const struct op *op, struct node *n)
{
	n->prog = op->to.prog;
	n->prog.present = true;
}

static void prog_del(const struct op *op, struct node *n)
{
	(void)op;
	n->prog = (struct prog){0};
	flows_lost(n);
}

static void root_add(const struct op *op, struct node *n)
{
	op_tree(n, op->on)->root = true;
	classes_lost(n);
}

static void root_del(const struct op *op, struct node *n)
{
	*op_tree(n, op->on) = (struct tree){0};
	classes_lost(n);
}

static void bands_add(const struct op *op, struct node *n)
{
	op_tree(n, op->on)->bands = true;
}

static void bands_del(const struct op *op, struct node *n)
{
	op_tree(n, op->on)->bands = false;
}

static void flows_add(const struct op *op, struct node *n)
{
	(void)op;
	n->flows = FLOWS_STALE;
}

static void flows_set(const struct op *op, struct node *n)
{
	n->flows = FLOWS_ON;
	n->flow_set = op->to.flow_set;
}

static void flows_del(const struct op *op, struct node *n)
{
	(void)op;
	n->flows = FLOWS_OFF;
}

static void cap_set(const struct op *op, struct node *n)
{
	struct tree *t = op_tree(n, op->on);
	const struct shape *s = &ctree(&op->to, op->on)->shape;

	t->cap = true;
	t->shape.rate = s->rate;
	t->shape.burst = s->burst;
	t->shape.quantum = s->quantum;
}

static void cap_del(const struct op *op, struct node *n)
{
	struct tree *t = op_tree(n, op->on);

	*t = (struct tree){.root = t->root};
}

static void leaf_set(const struct op *op, struct node *n)
{
	struct tree *t = op_tree(n, op->on);
	const struct shape *s = &ctree(&op->to, op->on)->shape;

	t->leaf = true;
	t->shape.limit = s->limit;
	t->shape.segment = s->segment;
	t->shape.seg_burst = s->seg_burst;
}

static void leaf_del(const struct op *op, struct node *n)
{
	struct tree *t = op_tree(n, op->on);

	t->leaf = t->shape.segment = false;
	t->shape.limit = t->shape.seg_burst = 0;
}

static void steer_add(const struct op *op, struct node *n)
{
	(void)op;
	n->steer = true;
}

static void steer_del(const struct op *op, struct node *n)
{
	(void)op;
	n->steer = false;
}

static void arp_set(const struct op *op, struct node *n)
{
	if (op->on == ON_PARENT)
		n->parent_arp = op->to.parent_arp;
	else
		n->arp = op->to.arp;
}

static void iso_set(const struct op *op, struct node *n)
{
	(void)op;
	n->iso = ISO_ON;
}

static void iso_del(const struct op *op, struct node *n)
{
	(void)op;
	n->iso = ISO_OFF;
}

static void nothing(const struct op *op, struct node *n)
{
	(void)op;
	(void)n;
}

/* inverse: the kind that takes it back with from and to exchanged; OP_COUNT: there is nothing to take back.
 */
static const struct {
	const char *name;
	void (*effect)(const struct op *op, struct node *n);
	enum op_kind inverse;
} table[] = {
	[OP_LINK_ADD] = {"link-add", link_add, OP_LINK_DEL},
	[OP_LINK_DEL] = {"link-del", link_del, OP_LINK_ADD},
	[OP_LINK_DOOM] = {"link-doom", link_doom, OP_LINK_MARK},
	[OP_LINK_SWEEP] = {"link-sweep", link_sweep, OP_COUNT},
	[OP_LINK_MARK] = {"link-mark", link_mark, OP_COUNT},
	[OP_LINK_QUIET] = {"link-quiet", link_quiet, OP_LINK_QUIET},
	[OP_LINK_UP] = {"link-up", link_up, OP_LINK_UP},
	[OP_LINK_MTU] = {"link-mtu", link_mtu, OP_LINK_MTU},
	[OP_LINK_MAC] = {"link-mac", link_mac, OP_LINK_MAC},
	[OP_LINK_RENAME] = {"link-rename", link_rename, OP_LINK_RENAME},
	[OP_LINK_MOVE] = {"link-move", link_move, OP_LINK_MOVE},
	[OP_PROG_ADD] = {"prog-add", prog_set, OP_PROG_DEL},
	[OP_PROG_SET] = {"prog-set", prog_set, OP_PROG_SET},
	[OP_PROG_DEL] = {"prog-del", prog_del, OP_PROG_ADD},
	[OP_ROOT_ADD] = {"root-add", root_add, OP_ROOT_DEL},
	[OP_ROOT_DEL] = {"root-del", root_del, OP_ROOT_ADD},
	[OP_CAP_ADD] = {"cap-add", cap_set, OP_CAP_DEL},
	[OP_CAP_SET] = {"cap-set", cap_set, OP_CAP_SET},
	[OP_CAP_DEL] = {"cap-del", cap_del, OP_CAP_ADD},
	[OP_LEAF_ADD] = {"leaf-add", leaf_set, OP_LEAF_DEL},
	[OP_LEAF_SET] = {"leaf-set", leaf_set, OP_LEAF_SET},
	[OP_LEAF_DEL] = {"leaf-del", leaf_del, OP_LEAF_ADD},
	[OP_BANDS_ADD] = {"bands-add", bands_add, OP_BANDS_DEL},
	[OP_BANDS_DEL] = {"bands-del", bands_del, OP_BANDS_ADD},
	[OP_FLOWS_ADD] = {"flows-add", flows_add, OP_FLOWS_DEL},
	[OP_FLOWS_SET] = {"flows-set", flows_set, OP_COUNT},
	[OP_FLOWS_DEL] = {"flows-del", flows_del, OP_FLOWS_ADD},
	[OP_DRAIN] = {"drain", nothing, OP_COUNT},
	[OP_STEER_ADD] = {"steer-add", steer_add, OP_STEER_DEL},
	[OP_STEER_DEL] = {"steer-del", steer_del, OP_STEER_ADD},
	[OP_HOOK_ADD] = {"hook-add", nothing, OP_HOOK_DEL},
	[OP_HOOK_DEL] = {"hook-del", nothing, OP_HOOK_ADD},
	[OP_ARP_SET] = {"arp-set", arp_set, OP_ARP_SET},
	[OP_ISO_SET] = {"iso-set", iso_set, OP_ISO_DEL},
	[OP_ISO_DEL] = {"iso-del", iso_del, OP_ISO_SET},
};

const char *op_name(enum op_kind kind)
{
	return table[kind].name;
}

void op_effect(const struct op *op, struct node *n)
{
	n->n = op->to.n;
	table[op->kind].effect(op, n);
}

bool op_inverse(const struct op *op, struct op *ret)
{
	enum op_kind inverse = table[op->kind].inverse;

	if (inverse == OP_COUNT)
		return false;
	*ret = (struct op){.kind = inverse, .on = op->on, .yes = !op->yes, .from = op->to, .to = op->from};
	return true;
}

static int list_room(struct op_list *list)
{
	size_t room = list->room ? 2 * list->room : 16;
	struct op *ops;

	if (list->count < list->room)
		return 0;
	ops = reallocarray(list->ops, room, sizeof(*ops));
	if (!ops)
		return -ENOMEM;
	list->ops = ops;
	list->room = room;
	return 0;
}

int op_emit(struct op_list *list, enum op_kind kind, enum op_on on, bool yes, struct node *cur,
	    const struct node *want)
{
	struct op *op;

	if (list_room(list) < 0)
		return -ENOMEM;
	op = &list->ops[list->count++];
	*op = (struct op){.kind = kind, .on = on, .yes = yes, .from = *cur, .to = *want};
	op->to.n = want->n;
	op_effect(op, cur);
	op->to = *cur;
	return 0;
}

#define GROUP_FROM 3 /* deletions: fewer are not worth reading all links for the check before the sweep */

static bool groupable(const struct op *op)
{
	return op->kind == OP_LINK_DEL && !op_port(&op->from, op->on)->zone[0];
}

/* What is left of a link that is gone. */
static bool is_leftover(const struct op *op)
{
	return op->kind == OP_PROG_DEL && !op->from.link;
}

/* Hooks go after the links they are on: until then they drop. A link that stays may get others. */
static bool after_sweep(const struct op *op)
{
	return is_leftover(op) || op->kind == OP_HOOK_DEL;
}

static int insert_sweep(struct op_list *list)
{
	struct op_list sorted = {.ops = calloc(list->count + 1, sizeof(*sorted.ops)),
				 .room = list->count + 1};

	if (!sorted.ops)
		return -ENOMEM;
	for (size_t i = 0; i < list->count; i++)
		if (!after_sweep(&list->ops[i]))
			sorted.ops[sorted.count++] = list->ops[i];
	sorted.ops[sorted.count++] = (struct op){.kind = OP_LINK_SWEEP, .on = ON_LINK, .yes = true};
	for (size_t i = 0; i < list->count; i++)
		if (after_sweep(&list->ops[i]))
			sorted.ops[sorted.count++] = list->ops[i];
	op_list_free(list);
	*list = sorted;
	return 0;
}

int op_list_group_deletions(struct op_list *list)
{
	size_t count = 0;

	for (size_t i = 0; i < list->count; i++)
		count += groupable(&list->ops[i]);
	if (count < GROUP_FROM)
		return 0;
	for (size_t i = 0; i < list->count; i++) {
		struct op *op = &list->ops[i];

		if (!groupable(op))
			continue;
		op->kind = OP_LINK_DOOM;
		op->to = op->from;
		op_effect(op, &op->to);
	}
	return insert_sweep(list);
}

static int push(struct op_list *list, const struct op *op)
{
	if (list_room(list) < 0)
		return -ENOMEM;
	list->ops[list->count++] = *op;
	return 0;
}

static bool is_final(const struct op *op)
{
	return op->kind == OP_LINK_SWEEP || (op->kind == OP_LINK_DEL && op->on == ON_LINK);
}

static bool has_sweep(const struct op_list *list)
{
	for (size_t i = 0; i < list->count; i++)
		if (list->ops[i].kind == OP_LINK_SWEEP)
			return true;
	return false;
}

static int part_one(const struct op *op, struct op_list *keep, struct op_list *last, struct op_list *rest)
{
	if (is_leftover(op))
		return push(rest, op);
	if (!is_final(op))
		return push(keep, op);
	return op->kind == OP_LINK_SWEEP && has_sweep(last) ? 0 : push(last, op);
}

int op_list_part(struct op_list *list, struct op_list *last, struct op_list *rest)
{
	struct op_list keep = {0};
	size_t finals = last->count, lefts = rest->count;
	int r = 0;

	for (size_t i = 0; i < list->count && r == 0; i++)
		r = part_one(&list->ops[i], &keep, last, rest);
	if (r < 0) {
		op_list_free(&keep);
		last->count = finals;
		rest->count = lefts;
		return r;
	}
	op_list_free(list);
	*list = keep;
	return 0;
}

void op_list_free(struct op_list *list)
{
	free(list->ops);
	*list = (struct op_list){0};
}
