/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The difference of two nodes as operations. Each step looks at cur, which every emitted operation moves on,
 * so that a later step never repeats an earlier one. No I/O, no clock, no globals.
 */
#include "vnicd/plan.h"

#include "lib/model/flowset.h"

#include <string.h>

#define IPV6_MTU 1280u

struct plan {
	struct op_list *list;
	struct node cur;
	const struct node *want;
	int r;
};

static void emit(struct plan *p, enum op_kind kind, enum op_on on, bool yes)
{
	if (p->r == 0)
		p->r = op_emit(p->list, kind, on, yes, &p->cur, p->want);
}

static const struct tree *tree_of(const struct node *n, enum op_on on)
{
	return on == ON_IFB ? &n->rx : &n->tx;
}

static bool class_equal(const struct shape *a, const struct shape *b)
{
	return a->rate == b->rate && a->burst == b->burst && a->quantum == b->quantum;
}

static bool leaf_equal(const struct shape *a, const struct shape *b)
{
	return a->limit == b->limit && a->segment == b->segment && a->seg_burst == b->seg_burst;
}

/* Builds the wanted tree, or changes it in place. */
static void tree_build(struct plan *p, enum op_on on)
{
	const struct tree *want = tree_of(p->want, on);
	const struct tree *cur = tree_of(&p->cur, on);

	if (!want->root)
		return;
	if (!cur->root)
		emit(p, OP_ROOT_ADD, on, true);
	if (!cur->cap)
		emit(p, OP_CAP_ADD, on, true);
	else if (!class_equal(&cur->shape, &want->shape))
		emit(p, OP_CAP_SET, on, true);
	if (!cur->leaf)
		emit(p, OP_LEAF_ADD, on, true);
	else if (!leaf_equal(&cur->shape, &want->shape))
		emit(p, OP_LEAF_SET, on, true);
}

static void tree_remove(struct plan *p, enum op_on on)
{
	const struct tree *cur = tree_of(&p->cur, on);

	if (cur->leaf)
		emit(p, OP_LEAF_DEL, on, true);
	if (cur->cap)
		emit(p, OP_CAP_DEL, on, true);
	if (cur->root)
		emit(p, OP_ROOT_DEL, on, true);
}

static void cap_to(struct plan *p, enum op_on on, uint64_t rate)
{
	struct node open = p->cur;

	if (p->r < 0)
		return;
	op_tree(&open, on)->shape.rate = rate;
	p->r = op_emit(p->list, OP_CAP_SET, on, true, &p->cur, &open);
}

/*
 * Lets what waits under the cap out first, so that nothing is lost and nothing overtakes it. Not all at once:
 * a whole queue sent in one go by the CPU of HTB's timer is overtaken by what its sender sends next on
 * another.
 */
static void tree_drain(struct plan *p, enum op_on on)
{
	const struct tree *cur = tree_of(&p->cur, on);

	if (!cur->cap)
		return;
	for (uint64_t rate = 2 * cur->shape.rate; rate < RATE_OPEN && p->r == 0; rate *= 2) {
		cap_to(p, on, rate);
		emit(p, OP_DRAIN, on, false);
	}
	cap_to(p, on, RATE_OPEN);
	emit(p, OP_DRAIN, on, true);
}

/* A link below it has no IPv6; above it gets one, with the kernel's manners. */
static void mtu_set(struct plan *p)
{
	p->cur.quiet &= p->cur.mtu >= IPV6_MTU;
	emit(p, OP_LINK_MTU, ON_LINK, true);
}

static void link_build(struct plan *p)
{
	if (!p->cur.link)
		emit(p, OP_LINK_ADD, ON_LINK, true);
	if (!p->cur.marked)
		emit(p, OP_LINK_MARK, ON_LINK, true);
	if (p->want->class == CLASS_VNIC && !mac_equal(p->cur.mac, p->want->mac))
		emit(p, OP_LINK_MAC, ON_LINK, true);
	if (p->cur.mtu > p->want->mtu)
		mtu_set(p);
}

/* A larger frame than the queue was made for would be lost: first the queue, then the MTU. */
static void link_grow(struct plan *p)
{
	if (p->cur.mtu < p->want->mtu)
		mtu_set(p);
	if (p->want->quiet && !p->cur.quiet)
		emit(p, OP_LINK_QUIET, ON_LINK, true);
}

/*
 * The kernel itself takes a moving link down and drops its qdiscs: until that moment nothing is lost, and
 * should it refuse, nothing was. Programs may stay on, but not in a clsact: they are put on anew while it is
 * down.
 */
static void link_move(struct plan *p)
{
	if (!p->cur.link || !strcmp(p->cur.port.zone, p->want->port.zone))
		return;
	emit(p, OP_LINK_MOVE, ON_LINK, true);
	if (p->cur.prog.present)
		emit(p, OP_PROG_DEL, ON_LINK, true);
}

/* In its old zone: the new one must not see the old name. */
static void link_rename(struct plan *p)
{
	if (p->cur.link && strcmp(p->cur.port.name, p->want->port.name) != 0)
		emit(p, OP_LINK_RENAME, ON_LINK, true);
}

static void bands_build(struct plan *p, enum op_on on)
{
	if (tree_of(p->want, on)->bands && !tree_of(&p->cur, on)->bands)
		emit(p, OP_BANDS_ADD, on, true);
}

static void ifb_build(struct plan *p)
{
	if (!p->want->ifb)
		return;
	if (!p->cur.ifb)
		emit(p, OP_LINK_ADD, ON_IFB, true);
	if (!p->cur.ifb_marked)
		emit(p, OP_LINK_MARK, ON_IFB, true);
	if (!p->cur.ifb_quiet)
		emit(p, OP_LINK_QUIET, ON_IFB, true);
	tree_build(p, ON_IFB);
	bands_build(p, ON_IFB);
	if (!p->cur.ifb_up)
		emit(p, OP_LINK_UP, ON_IFB, true);
}

static void ifb_remove(struct plan *p)
{
	if (p->cur.ifb && !p->want->ifb)
		emit(p, OP_LINK_DEL, ON_IFB, true);
}

static bool prog_drops(const struct prog *g)
{
	return g->present && (g->rx == HOOK_DROP || g->tx == HOOK_DROP);
}

static void prog_to(struct plan *p, const struct prog *want)
{
	struct node to = p->cur;

	if (!want->present || prog_equal(want, &p->cur.prog) || p->r < 0)
		return;
	to.prog = *want;
	p->r = op_emit(p->list, p->cur.prog.present ? OP_PROG_SET : OP_PROG_ADD, ON_LINK, true, &p->cur, &to);
}

static void prog_build(struct plan *p)
{
	prog_to(p, &p->want->prog);
}

/* A link that is not ours sends nothing through ours before its programs say what, nor longer than they do.
 */
static void prog_prepare(struct plan *p)
{
	struct prog first = p->want->prog;

	first.all = p->cur.prog.present && p->cur.prog.all;
	first.out = p->cur.prog.present && p->cur.prog.out;
	prog_to(p, &first);
}

/* What was seen was compared with what was wanted until now. */
static bool flows_differ(const struct plan *p)
{
	const struct flow_set *was = p->cur.flow_set, *is = p->want->flow_set;

	return was != is && was && is && !flow_set_equal(was, is);
}

/* Before frames are led to what they need, and before it is up. */
static void flows_build(struct plan *p)
{
	if (p->want->flows == FLOWS_OFF)
		return;
	prog_prepare(p);
	if (p->cur.flows == FLOWS_OFF)
		emit(p, OP_FLOWS_ADD, ON_LINK, true);
	if (p->cur.flows != FLOWS_ON || flows_differ(p))
		emit(p, OP_FLOWS_SET, ON_LINK, true);
}

static void bands_remove(struct plan *p, enum op_on on)
{
	if (tree_of(&p->cur, on)->bands && !tree_of(p->want, on)->bands)
		emit(p, OP_BANDS_DEL, on, true);
}

/* First the flows let go of their classes. */
static void flow_take_out(struct plan *p)
{
	if (p->cur.flows != FLOWS_OFF && p->want->flows == FLOWS_OFF)
		emit(p, OP_FLOWS_DEL, ON_LINK, true);
	flows_build(p);
	bands_remove(p, ON_LINK);
	bands_remove(p, ON_IFB);
}

/* A link that goes drops what comes from the moment on that its cap begins to go: nothing passes uncapped. */
static void silence(struct plan *p)
{
	struct node silent = p->cur;

	if (!p->cur.link || !p->cur.prog.present || p->r < 0)
		return;
	silent.prog.rx = silent.prog.tx = HOOK_DROP;
	p->r = op_emit(p->list, OP_PROG_SET, ON_LINK, true, &p->cur, &silent);
}

/* Before it moves or goes: its addresses go with it. */
static void iso_remove(struct plan *p)
{
	if (p->cur.iso != ISO_OFF && p->want->iso == ISO_OFF)
		emit(p, OP_ISO_DEL, ON_LINK, true);
}

/* First nobody else answers for its addresses, then they are led over it. */
static void iso_build(struct plan *p)
{
	if (p->want->iso == ISO_OFF)
		return;
	if (!arp_equal(p->cur.parent_arp, p->want->parent_arp))
		emit(p, OP_ARP_SET, ON_PARENT, true);
	if (!arp_equal(p->cur.arp, p->want->arp))
		emit(p, OP_ARP_SET, ON_LINK, true);
	if (p->cur.iso != ISO_ON)
		emit(p, OP_ISO_SET, ON_LINK, true);
}

/* What a link that is not ours sends goes its own way from here on: first what waits is let out. */
static void out_release(struct plan *p)
{
	struct node past = p->cur;

	if (!p->cur.prog.present || !p->cur.prog.out || p->want->prog.out)
		return;
	if (p->cur.prog.all && !prog_drops(&p->cur.prog))
		tree_drain(p, ON_LINK);
	past.prog.all = past.prog.out = false;
	prog_to(p, &past.prog);
}

/* The link itself stays, and its traffic with it. */
static void foreign_remove(struct plan *p)
{
	out_release(p);
	if (p->cur.flows != FLOWS_OFF && p->cur.prog.present && p->cur.link)
		emit(p, OP_FLOWS_DEL, ON_LINK, true);
	if (p->cur.steer) {
		tree_drain(p, ON_IFB);
		emit(p, OP_STEER_DEL, ON_IFB, true);
	}
	if (p->cur.prog.present)
		emit(p, OP_PROG_DEL, ON_LINK, true);
	ifb_remove(p);
	if (p->cur.link)
		emit(p, OP_LINK_DEL, ON_LINK, true);
}

static void remove_all(struct plan *p)
{
	if (p->want->class == CLASS_FOREIGN) {
		foreign_remove(p);
		return;
	}
	iso_remove(p);
	silence(p);
	if (p->cur.steer)
		emit(p, OP_STEER_DEL, ON_IFB, false);
	ifb_remove(p);
	if (p->cur.link)
		emit(p, OP_LINK_DEL, ON_LINK, true);
	if (p->cur.prog.present)
		emit(p, OP_PROG_DEL, ON_LINK, true);
}

/* What is led to a link that is down is lost. */
static void out_ready(struct plan *p)
{
	if (p->want->class != CLASS_FOREIGN)
		return;
	if (p->want->quiet && !p->cur.quiet)
		emit(p, OP_LINK_QUIET, ON_LINK, true);
	if (!p->cur.up)
		emit(p, OP_LINK_UP, ON_LINK, true);
}

static void caps_build(struct plan *p)
{
	if (prog_drops(&p->want->prog))
		prog_prepare(p);
	tree_build(p, ON_LINK);
	bands_build(p, ON_LINK);
	out_ready(p);
	out_release(p);
	ifb_build(p);
	flows_build(p);
	if (p->want->steer && !p->cur.steer)
		emit(p, OP_STEER_ADD, ON_IFB, true);
	prog_build(p);
}

static void caps_remove(struct plan *p)
{
	flow_take_out(p);
	if (p->cur.steer && !p->want->steer) {
		if (!prog_drops(&p->want->prog))
			tree_drain(p, ON_IFB);
		emit(p, OP_STEER_DEL, ON_IFB, true);
	}
	ifb_remove(p);
	flows_build(p);
	if (p->cur.tx.root && !p->want->tx.root) {
		if (p->cur.up && !prog_drops(&p->want->prog))
			tree_drain(p, ON_LINK);
		tree_remove(p, ON_LINK);
	}
	if (p->cur.prog.present && !p->want->prog.present)
		emit(p, OP_PROG_DEL, ON_LINK, true);
}

int plan_node(const struct node *want, const struct node *have, struct op_list *list)
{
	struct plan p = {.list = list, .cur = *have, .want = want};

	if (!want->link) {
		remove_all(&p);
		return p.r;
	}
	iso_remove(&p);
	link_rename(&p);
	link_move(&p);
	link_build(&p);
	if (p.cur.up && !want->up)
		emit(&p, OP_LINK_UP, ON_LINK, false);
	caps_build(&p);
	link_grow(&p);
	caps_remove(&p);
	if (!p.cur.up && want->up)
		emit(&p, OP_LINK_UP, ON_LINK, true);
	iso_build(&p);
	return p.r;
}
