/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Plans, applies, reads back and takes back. Holds no wire format and no netlink; what a link should be is
 * want.c's, what differs is plan.c's.
 */
#include "vnicd/txn.h"

#include "vnicd/apply.h"
#include "vnicd/dryrun.h"
#include "vnicd/isolate.h"
#include "vnicd/log.h"
#include "vnicd/observe.h"
#include "vnicd/plan.h"
#include "vnicd/want.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/*
 * Items are planned, applied and read back in chunks: a list of operations holds two nodes for each, and a
 * batch of thousands must not need memory for all of them at once. What was done is taken back by plan, too:
 * the node that was seen before is its whole log.
 */
#define CHUNK 64
int txn_open(struct txn *t, struct daemon *d, const struct change *changes, size_t count, struct err *e)
{
	*t = (struct txn){.d = d, .items = calloc(count, sizeof(*t->items)), .count = count, .to = count};
	if (!t->items)
		return err_nomem(e);
	for (size_t i = 0; i < count; i++)
		t->items[i].c = changes[i];
	return 0;
}

void txn_done(struct txn *t)
{
	op_list_free(&t->ops);
	op_list_free(&t->last);
	op_list_free(&t->rest);
	free(t->items);
	t->items = NULL;
}

void txn_read_speed(struct daemon *d, const struct vlink *v)
{
	struct slink *parent = vlink_parent(d, v);

	if (parent && want_percent(v))
		parent->speed = observe_speed(d, parent->l.ifindex, NULL);
}

/* Steering through a parent whose hook is not ours yet, or that loses its last steered VNIC. */

int txn_emit_hook(struct txn *t, enum op_kind kind, const struct node *like)
{
	struct node cur = *like;

	return op_emit(&t->ops, kind, ON_PARENT, true, &cur, like);
}

/* Is another item of this transaction the one that decides about the parent of item i? The first one is. */
static bool decided(const struct txn *t, size_t i)
{
	for (size_t j = t->from; j < i; j++)
		if (t->items[j].want.parent.ifindex == t->items[i].want.parent.ifindex)
			return true;
	return false;
}

/* How many VNICs the parent's hook will steer to once this chunk is through. */
static unsigned steered_after(const struct txn *t, int parent)
{
	struct slink *s = slink_find(t->d, parent);
	unsigned n = s ? s->steered : 0;

	for (size_t i = 0; i < t->to; i++) {
		const struct item *it = &t->items[i];

		n -= it->c.old && it->c.old->hook == parent;
		n += it->want.steer && it->want.parent.ifindex == parent;
	}
	return n;
}

int txn_plan_hooks(struct txn *t, bool adding, struct err *e)
{
	for (size_t i = t->from; i < t->to; i++) {
		const struct node *n = &t->items[i].want;
		bool there, wanted;
		int r;

		if (!class_shaped(n->class) || !n->parent.ifindex || decided(t, i))
			continue;
		r = dryrun_hook(t->d, n->parent.ifindex, &there)
			    ? 0
			    : observe_hook(t->d, n->parent.ifindex, &there, e);
		if (r < 0)
			return r;
		wanted = steered_after(t, n->parent.ifindex) > 0;
		if (adding && wanted && !there)
			r = txn_emit_hook(t, OP_HOOK_ADD, n);
		else if (!adding && !wanted && there)
			r = txn_emit_hook(t, OP_HOOK_DEL, n);
		if (r < 0)
			return err_nomem(e);
	}
	return 0;
}

/* In its place, or where somebody moved it, whether we were told or not. */
static int find_node(struct daemon *d, struct vlink *v, struct item *it, struct err *e)
{
	int r = observe_vlink(d, v, vlink_zone(v), &it->have, &it->zone_gone, e);

	if (r < 0 || it->have.link || !v->below || v->trouble == TROUBLE_WAITING || !observe_locate(d, v))
		return r;
	return observe_vlink(d, v, vlink_zone(v), &it->have, &it->zone_gone, e);
}

/* A change of what is not where it was thought to be: it stays there, unless the change is to move it. */
static void take_place(const struct change *c)
{
	const struct vlink *old = c->old;
	struct vlink *new = c->new;

	if (c->placed || strcmp(prop_zone(&old->props), prop_zone(&new->props)) != 0)
		return;
	new->moved = old->moved;
	memcpy(new->place, old->place, sizeof(new->place));
}

/* Of a number that was given out in this request there is nothing yet. */
static void nothing_there(struct item *it)
{
	const struct vlink *v = it->c.new;

	it->have = (struct node){.n = v->s.n, .class = v->s.class, .mac = v->s.mac};
	snprintf(it->have.port.zone, sizeof(it->have.port.zone), "%s", vlink_zone(v));
	memcpy(it->have.port.name, v->s.name, sizeof(it->have.port.name));
	if (v->s.class == CLASS_FOREIGN)
		node_out_name(v->s.n, it->have.port.name);
	node_ifb_name(v->s.n, it->have.ifb_port.name);
	if (v->below)
		it->have.parent.ifindex = v->below->l.ifindex;
}

static int item_observe(struct txn *t, struct item *it, struct err *e)
{
	const struct vlink *old = it->c.old;
	int r = 0;

	if (old && !it->seen)
		r = find_node(t->d, it->c.old, it, e);
	else if (!old)
		nothing_there(it);
	if (r < 0)
		return r;
	if (old && it->c.new)
		take_place(&it->c);
	txn_read_speed(t->d, txn_subject(&it->c));
	/* What was not isolated was not looked at for it. */
	if (want_isolate(txn_subject(&it->c)) && !(old && prop_isolate(&old->props)))
		observe_arp(t->d, txn_subject(&it->c)->below->l.ifindex, &it->have);
	want_node(t->d, txn_subject(&it->c), &it->have, &it->want);
	/* By its user it may be called otherwise, and stays so. */
	if (old && it->c.new && !strcmp(it->have.port.name, old->s.name))
		memcpy(it->want.port.name, it->c.new->s.name, sizeof(it->want.port.name));
	it->want.prog.clsact = !old && t->count >= TXN_MANY;
	if (!it->c.new) {
		/* The pins of a link that is gone cannot be seen from it: they are removed unseen. */
		it->have.prog.present |= class_shaped(it->have.class) && !it->have.link;
		it->want.link = it->want.ifb = it->want.steer = false;
		it->want.prog = (struct prog){0};
		it->want.iso = ISO_OFF;
		it->want.tx = it->want.rx = (struct tree){0};
	}
	/* An entry that leads to no ifb of ours any more is seen as none, and would swallow every frame. */
	it->have.steer |= it->c.old && it->c.old->hook && !it->want.steer;
	return 0;
}

/* A name or MAC that is taken again in the same request must be free by then. */
static int part(struct txn *t, struct err *e)
{
	if (t->to == t->from + 1 && t->items[t->from].c.early)
		return 0;
	if (op_list_group_deletions(&t->ops) < 0 || op_list_part(&t->ops, &t->last, &t->rest) < 0)
		return err_nomem(e);
	return 0;
}

static int txn_plan(struct txn *t, struct err *e)
{
	int r = 0;

	for (size_t i = t->from; i < t->to && r == 0; i++)
		r = item_observe(t, &t->items[i], e);
	if (r < 0)
		return r;
	r = txn_plan_hooks(t, true, e);
	for (size_t i = t->from; i < t->to && r == 0; i++)
		if (plan_node(&t->items[i].want, &t->items[i].have, &t->ops) < 0)
			r = err_nomem(e);
	if (r == 0)
		r = txn_plan_hooks(t, false, e);
	return r < 0 ? r : part(t, e);
}

/* Up or down and its name are its user's, who may change them at any moment: no fault of the kernel's. */
static struct node expected(const struct item *it, const struct node *now)
{
	struct node n = it->want;

	if (!it->have.link || !now->link)
		return n;
	if (it->want.up == it->have.up)
		n.up = now->up;
	if (!strcmp(it->want.port.name, it->have.port.name))
		memcpy(n.port.name, now->port.name, sizeof(n.port.name));
	return n;
}

/* The ifb of a link that stays waits for the sweep at the transaction's end: the link is read back after
 * that. */
static bool waits_for_sweep(const struct item *it, const struct node *now)
{
	return it->c.new && now->ifb_doomed && !it->want.ifb;
}

/*
 * Reads back what was touched, or leaves that for after the sweep: 0, or an error that names the first thing
 * the kernel did not keep.
 */
static int item_check(struct txn *t, struct item *it, struct err *e)
{
	const struct vlink *v = txn_subject(&it->c);
	struct node now, want;
	bool gone;
	int r = observe_vlink(t->d, v, it->want.port.zone, &now, &gone, e);

	if (r < 0)
		return r;
	it->ifindex = now.port.ifindex;
	it->ifb = now.ifb_port.ifindex;
	it->swept = !t->swept && waits_for_sweep(it, &now);
	if (it->swept)
		return 0;
	want = expected(it, &now);
	if (it->c.new ? node_equal(&want, &now)
		      : !now.link && !now.ifb && !now.steer && (!now.prog.present || !now.prog.theirs))
		return 0;
	return err_sys(e, -EIO, v->s.name,
		       "the kernel did not keep what was set (%s): run vnicd with "
		       "--log-level debug and report it",
		       node_differs(&want, &now));
}

/* Hooks that only what was taken back needed, and those that what is back needs. */
static void restore_hooks(struct txn *t)
{
	for (t->from = 0, t->to = t->count; t->from < t->count; t->from++) {
		const struct node *n = &t->items[t->from].want;
		struct slink *s = slink_find(t->d, n->parent.ifindex);
		struct op_list ops = {0};
		struct node cur = *n;
		bool there = false;

		struct err e = {0};
		char text[600];

		if (!class_shaped(n->class) || !s ||
		    (t->from && t->items[t->from - 1].want.parent.ifindex == n->parent.ifindex) ||
		    observe_hook(t->d, n->parent.ifindex, &there, NULL) < 0 || there == (s->steered > 0))
			continue;
		if (op_emit(&ops, there ? OP_HOOK_DEL : OP_HOOK_ADD, ON_PARENT, true, &cur, n) < 0 ||
		    apply_ops(t->d->kernel, &ops, &e) < 0)
			log_error(n->parent.name, "cannot put its hook back as it was: %s",
				  err_str(&e, text, sizeof(text)));
		op_list_free(&ops);
	}
}

/* A half-done move left the link in either of its zones. */
static int observe_either(struct txn *t, const struct item *it, struct node *ret, struct err *e)
{
	const struct vlink *v = txn_subject(&it->c);
	bool gone;
	int r = observe_vlink(t->d, v, it->want.port.zone, ret, &gone, e);

	if (r == 0 && !ret->link && strcmp(it->want.port.zone, it->have.port.zone) != 0)
		r = observe_vlink(t->d, v, it->have.port.zone, ret, &gone, e);
	return r;
}

static void restore_apply(struct txn *t, struct op_list *ops, const struct item *it)
{
	char text[600];
	struct err e = {0};

	if (op_list_group_deletions(ops) < 0 || apply_ops(t->d->kernel, ops, &e) < 0)
		log_error(txn_subject(&it->c)->s.name, "cannot put %s back as it was: %s",
			  txn_subject(&it->c)->s.name, err_str(&e, text, sizeof(text)));
	op_list_free(ops);
}

/* New VNICs go together: a deletion of each for itself costs two grace periods. */
static bool goes_with_others(const struct item *it)
{
	return !it->c.old && it->c.new->s.class == CLASS_VNIC;
}

static int plan_back(const struct item *it, const struct node *now, struct op_list *ops)
{
	struct node back = it->have;

	/* Its user took it up meanwhile. */
	back.up |= now->link && now->up && !it->want.up;
	return plan_node(&back, now, ops);
}

/* Back to what was seen before, by plan: what taking back the operations one by one leaves out. */
static void txn_restore(struct txn *t)
{
	struct op_list ops = {0};
	char text[600];

	if (t->d->dry)
		return;
	for (size_t i = t->to; i-- > 0;) {
		struct item *it = &t->items[i];
		struct err e = {0};
		struct node now;

		if (ops.count && (!goes_with_others(it) || i % CHUNK == 0))
			restore_apply(t, &ops, it);
		if (observe_either(t, it, &now, &e) < 0 || plan_back(it, &now, &ops) < 0)
			log_error(txn_subject(&it->c)->s.name, "cannot put %s back as it was: %s",
				  txn_subject(&it->c)->s.name, err_str(&e, text, sizeof(text)));
		if (ops.count && !goes_with_others(it))
			restore_apply(t, &ops, it);
	}
	if (ops.count)
		restore_apply(t, &ops, &t->items[0]);
	restore_hooks(t);
}

void txn_undo(struct txn *t)
{
	apply_undo(t->d->kernel, &t->ops);
	txn_restore(t);
}

/* Reads back those of the chunk that stay. */
static int check_those_that_stay(struct txn *t, struct err *e)
{
	int r = 0;

	for (size_t i = t->from; i < t->to && r == 0; i++)
		if (t->items[i].c.new)
			r = item_check(t, &t->items[i], e);
	return r;
}

/* Reads back all that the sweep was for. */
static int check_swept(struct txn *t, struct err *e)
{
	int r = 0;

	t->swept = true;
	for (size_t i = 0; i < t->to && r == 0; i++)
		if (!t->items[i].c.new || t->items[i].swept)
			r = item_check(t, &t->items[i], e);
	return r;
}

/* Is a chunk read back at once, or with all the others at the end? */
static bool check_at_once(const struct txn *t)
{
	return t->count < TXN_MANY || t->to == t->from + 1;
}

static int txn_apply(struct txn *t, struct err *e)
{
	int r = t->d->dry ? 0 : isolate_remember(t->d, &t->ops, e);

	if (r < 0)
		return r;
	r = apply_ops(t->d->kernel, &t->ops, e);
	if (r < 0) {
		/* What it did is taken back, but perhaps not what failed half-way. */
		if (t->ops.count || t->from)
			txn_restore(t);
		return r;
	}
	if (t->d->dry)
		return 0;
	r = check_at_once(t) ? check_those_that_stay(t, e) : 0;
	/* Of what was new the number is known only now. */
	if (r == 0)
		r = isolate_remember(t->d, &t->ops, e);
	if (r < 0)
		txn_undo(t);
	return r;
}

/* What others of the request depend on, or what must be gone for them, is a chunk of its own. */
static bool alone(const struct item *it)
{
	return it->c.early || txn_subject(&it->c)->s.class != CLASS_VNIC;
}

static size_t chunk_end(const struct txn *t, size_t from)
{
	size_t to = from + 1;

	while (to < t->count && to - from < CHUNK && !alone(&t->items[from]) && !alone(&t->items[to]))
		to++;
	return to;
}

/* The VNICs of a batch that go over a new etherstub were over a stand-in until now. */
static void stub_stands(struct txn *t)
{
	struct item *it = &t->items[t->from];

	if (t->d->dry || it->c.old || it->want.class == CLASS_VNIC || !slink_find(t->d, -(int)it->want.n))
		return;
	slink_drop(t->d, -(int)it->want.n);
	observe_refresh(t->d, it->ifindex);
}

static int txn_chunk(struct txn *t, size_t from, struct err *e)
{
	int r;

	op_list_free(&t->ops);
	t->from = from;
	t->to = chunk_end(t, from);
	r = txn_plan(t, e);
	if (r < 0) {
		op_list_free(&t->ops);
		t->to = from;
		if (from)
			txn_restore(t);
		return r;
	}
	r = txn_apply(t, e);
	if (r == 0)
		stub_stands(t);
	return r;
}

/* What goes is looked at before anything is changed, while one look at everything serves for all. */
static int see_what_goes(struct txn *t, struct err *e)
{
	int r = 0;

	for (size_t i = 0; i < t->count && r == 0; i++) {
		struct item *it = &t->items[i];

		if (it->c.new || it->c.early)
			continue;
		r = find_node(t->d, it->c.old, it, e);
		it->seen = r == 0;
	}
	return r;
}

/* What was not read back with its chunk, and once more what was: from one look at everything, too. */
static int check_all(struct txn *t, struct err *e)
{
	int r;

	observe_survey(t->d, t->count);
	t->from = 0;
	r = check_those_that_stay(t, e);
	observe_survey_end(t->d);
	if (r < 0)
		txn_undo(t);
	return r;
}

int txn_make(struct txn *t, struct err *e)
{
	bool many = t->count >= TXN_MANY;
	int r = many ? see_what_goes(t, e) : 0;

	for (size_t at = 0; at < t->count && r == 0; at = t->to)
		r = txn_chunk(t, at, e);
	return r == 0 && many && !t->d->dry ? check_all(t, e) : r;
}

int txn_unmake(struct txn *t, struct err *e)
{
	int r = apply_ops(t->d->kernel, &t->last, e);

	if (r < 0)
		return r;
	observe_survey(t->d, t->count);
	r = check_swept(t, e);
	observe_survey_end(t->d);
	return r;
}

/* Not known as ours: a killed daemon had added it and come no further. */
static bool unknown(const struct daemon *d, int ifindex)
{
	const struct slink *s = slink_find(d, ifindex);
	enum link_class class;

	return !s || !vlink_of_sys(d, &s->l, &class);
}

static void refresh(struct daemon *d, const struct port *before, int now)
{
	if (before->zone[0] || (before->ifindex == now && (!now || !unknown(d, now))))
		return;
	if (before->ifindex > 0)
		observe_refresh(d, before->ifindex);
	if (now > 0)
		observe_refresh(d, now);
}

/* Links that came or went are known to the next request, whenever their notification is read. */
void txn_refresh(struct txn *t)
{
	observe_survey(t->d, t->count);
	for (size_t i = 0; i < t->count; i++) {
		struct item *it = &t->items[i];
		bool own = !it->want.port.zone[0];

		if (own && it->have.link && strcmp(it->have.port.name, it->want.port.name) != 0)
			observe_refresh(t->d, it->have.port.ifindex);
		refresh(t->d, &it->have.port, own ? it->ifindex : 0);
		if (own && it->have.port.zone[0] && it->ifindex)
			observe_refresh(t->d, it->ifindex);
		refresh(t->d, &it->have.ifb_port, it->ifb);
	}
	observe_survey_end(t->d);
}

int txn_look(struct txn *t, const char *zone, struct err *e)
{
	struct item *it = &t->items[0];
	struct vlink *v = it->c.old;
	int r = zone ? observe_vlink(t->d, v, vlink_zone(v), &it->have, &it->zone_gone, e)
		     : find_node(t->d, v, it, e);

	if (r == 0 && !it->have.link && zone && strcmp(zone, vlink_zone(v)) != 0)
		r = observe_vlink(t->d, v, zone, &it->have, &it->zone_gone, e);
	return r;
}

int txn_align(struct txn *t, struct err *e)
{
	struct item *it = &t->items[0];
	int r = txn_plan_hooks(t, true, e);

	if (r == 0 && plan_node(&t->items[0].want, &t->items[0].have, &t->ops) < 0)
		r = err_nomem(e);
	if (r == 0)
		r = txn_plan_hooks(t, false, e);
	/* What was right is not read twice. */
	it->ifindex = it->have.port.ifindex;
	it->ifb = it->have.ifb_port.ifindex;
	return r < 0 || !t->ops.count ? r : txn_apply(t, e);
}

void txn_count_steered(struct daemon *d, int parent, int by)
{
	struct slink *s = parent ? slink_find(d, parent) : NULL;

	if (s)
		s->steered += (unsigned)by;
}

void txn_note_hook(struct daemon *d, struct vlink *v, const struct node *n)
{
	txn_count_steered(d, v->hook, -1);
	v->hook = n->steer ? n->parent.ifindex : 0;
	txn_count_steered(d, v->hook, 1);
}

void txn_close_counters(struct counter *c, const struct node *have, const struct node *want)
{
	bool moved = have->link && strcmp(have->port.zone, want->port.zone) != 0;

	for (int i = CTR_IPACKETS; i <= CTR_ODROPS && !have->link; i++)
		counter_close(&c[i]);
	if (moved || !have->tx.leaf || !want->tx.leaf || have->tx.shape.segment != want->tx.shape.segment)
		counter_close(&c[CTR_TX_LEAF]);
	if (!have->rx.leaf || !want->rx.leaf || have->rx.shape.segment != want->rx.shape.segment)
		counter_close(&c[CTR_RX_LEAF]);
	if (moved || !have->prog.present || !want->prog.present) {
		counter_close(&c[CTR_RX_GROUP]);
		counter_close(&c[CTR_TX_BLOCKED]);
	}
}
