/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Drives observe -> plan -> apply -> read back for requests, at start and on events. Holds no wire format and
 * no netlink; what a link should be is want.c's, what differs is plan.c's.
 */
#include "vnicd/reconcile.h"

#include "vnicd/apply.h"
#include "vnicd/fault.h"
#include "vnicd/log.h"
#include "vnicd/observe.h"
#include "vnicd/parent.h"
#include "vnicd/plan.h"
#include "vnicd/sampler.h"
#include "vnicd/want.h"

#include <errno.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <utlist.h>

/* One change with what was seen before and what is wanted after. */
struct item {
	struct change c;
	struct node have, want;
	bool zone_gone;
	int ifindex, ifb; /* of its links after all was done */
};

/*
 * Items are planned, applied and read back in chunks: a list of operations holds two nodes for each, and a
 * batch of thousands must not need memory for all of them at once. What was done is taken back by plan, too:
 * the node that was seen before is its whole log.
 */
#define CHUNK 64
/* So many new VNICs that their hooks had better be cheap to attach than cheap to keep: see seat_take(). */
#define MANY 16

struct txn {
	struct daemon *d;
	struct item *items;
	size_t count;
	size_t from, to; /* the chunk under way */
	struct op_list ops;
	struct op_list last; /* what cannot be taken back: after it is saved that it goes */
	struct op_list rest; /* what is left over then */
};

static struct txn *txn_done(struct txn *t)
{
	op_list_free(&t->ops);
	op_list_free(&t->last);
	op_list_free(&t->rest);
	free(t->items);
	t->items = NULL;
	return NULL;
}

static struct vlink *subject(const struct change *c)
{
	return c->new ? c->new : c->old;
}

static void read_speed(struct daemon *d, const struct vlink *v)
{
	struct slink *parent = vlink_parent(d, v);

	if (parent && want_percent(v))
		parent->speed = observe_speed(d, parent->l.ifindex, NULL);
}

/* Steering through a parent whose hook is not ours yet, or that loses its last steered VNIC. */

static int emit_hook(struct txn *t, enum op_kind kind, const struct node *like)
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

static int plan_hooks(struct txn *t, bool adding, struct err *e)
{
	for (size_t i = t->from; i < t->to; i++) {
		const struct node *n = &t->items[i].want;
		bool there, wanted;
		int r;

		if (n->class != CLASS_VNIC || !n->parent.ifindex || decided(t, i))
			continue;
		r = observe_hook(t->d, n->parent.ifindex, &there, e);
		if (r < 0)
			return r;
		wanted = steered_after(t, n->parent.ifindex) > 0;
		if (adding && wanted && !there)
			r = emit_hook(t, OP_HOOK_ADD, n);
		else if (!adding && !wanted && there)
			r = emit_hook(t, OP_HOOK_DEL, n);
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
static void take_place(const struct vlink *old, struct vlink *new)
{
	if (strcmp(prop_zone(&old->props), prop_zone(&new->props)) != 0)
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
	node_ifb_name(v->s.n, it->have.ifb_port.name);
	if (v->below)
		it->have.parent.ifindex = v->below->l.ifindex;
}

static int item_observe(struct txn *t, struct item *it, struct err *e)
{
	const struct vlink *old = it->c.old;
	int r = 0;

	if (old)
		r = find_node(t->d, it->c.old, it, e);
	else
		nothing_there(it);
	if (r < 0)
		return r;
	if (old && it->c.new)
		take_place(old, it->c.new);
	read_speed(t->d, subject(&it->c));
	want_node(t->d, subject(&it->c), &it->have, &it->want);
	it->want.prog.clsact = !old && t->count >= MANY;
	if (!it->c.new) {
		/* The pins of a link that is gone cannot be seen from it: they are removed unseen. */
		it->have.prog.present |= it->have.class == CLASS_VNIC && !it->have.link;
		it->want.link = it->want.ifb = it->want.steer = false;
		it->want.prog = (struct prog){0};
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
	r = plan_hooks(t, true, e);
	for (size_t i = t->from; i < t->to && r == 0; i++)
		if (plan_node(&t->items[i].want, &t->items[i].have, &t->ops) < 0)
			r = err_nomem(e);
	if (r == 0)
		r = plan_hooks(t, false, e);
	return r < 0 ? r : part(t, e);
}

/* Reads back what was touched: 0, or an error that names the first thing the kernel did not keep. */
static int item_check(struct txn *t, struct item *it, struct err *e)
{
	const struct vlink *v = subject(&it->c);
	struct node now;
	bool gone;
	int r = observe_vlink(t->d, v, it->want.port.zone, &now, &gone, e);

	if (r < 0)
		return r;
	it->ifindex = now.port.ifindex;
	it->ifb = now.ifb_port.ifindex;
	if (it->c.new ? node_equal(&it->want, &now) : !now.link && !now.ifb && !now.steer)
		return 0;
	return err_sys(e, -EIO, v->s.name,
		       "the kernel did not keep what was set (%s): run vnicd with "
		       "--log-level debug and report it",
		       node_differs(&it->want, &now));
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

		if (n->class != CLASS_VNIC || !s ||
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
	const struct vlink *v = subject(&it->c);
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
		log_error(subject(&it->c)->s.name, "cannot put %s back as it was: %s",
			  subject(&it->c)->s.name, err_str(&e, text, sizeof(text)));
	op_list_free(ops);
}

/* New VNICs go together: a deletion of each for itself costs two grace periods. */
static bool goes_with_others(const struct item *it)
{
	return !it->c.old && it->c.new->s.class == CLASS_VNIC;
}

/* Back to what was seen before, by plan: what taking back the operations one by one leaves out. */
static void txn_restore(struct txn *t)
{
	struct op_list ops = {0};
	char text[600];

	for (size_t i = t->to; i-- > 0;) {
		struct item *it = &t->items[i];
		struct err e = {0};
		struct node now;

		if (ops.count && (!goes_with_others(it) || i % CHUNK == 0))
			restore_apply(t, &ops, it);
		if (observe_either(t, it, &now, &e) < 0 || plan_node(&it->have, &now, &ops) < 0)
			log_error(subject(&it->c)->s.name, "cannot put %s back as it was: %s",
				  subject(&it->c)->s.name, err_str(&e, text, sizeof(text)));
		if (ops.count && !goes_with_others(it))
			restore_apply(t, &ops, it);
	}
	if (ops.count)
		restore_apply(t, &ops, &t->items[0]);
	restore_hooks(t);
}

static void txn_undo(struct txn *t)
{
	apply_undo(t->d->kernel, &t->ops);
	txn_restore(t);
}

/* Reads back those of the chunk that stay, or all those that were to go. */
static int txn_check(struct txn *t, bool stay, struct err *e)
{
	int r = 0;

	for (size_t i = stay ? t->from : 0; i < t->to && r == 0; i++)
		if (stay == (t->items[i].c.new != NULL))
			r = item_check(t, &t->items[i], e);
	return r;
}

static int txn_apply(struct txn *t, struct err *e)
{
	int r = apply_ops(t->d->kernel, &t->ops, e);

	if (r < 0) {
		/* What it did is taken back, but perhaps not what failed half-way. */
		if (t->ops.count || t->from)
			txn_restore(t);
		return r;
	}
	r = txn_check(t, true, e);
	if (r < 0)
		txn_undo(t);
	return r;
}

/* What others of the request depend on, or what must be gone for them, is a chunk of its own. */
static bool alone(const struct item *it)
{
	return it->c.early || subject(&it->c)->s.class == CLASS_ETHERSTUB;
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

	if (it->c.old || it->want.class != CLASS_ETHERSTUB || !slink_find(t->d, -(int)it->want.n))
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

static int txn_make(struct txn *t, struct err *e)
{
	int r = 0;

	for (size_t at = 0; at < t->count && r == 0; at = t->to)
		r = txn_chunk(t, at, e);
	return r;
}

/* The store's side. */

static const char *intent_kind(const struct change *c)
{
	if (!c->old)
		return "create";
	return c->new ? "move" : "delete";
}

static bool needs_intent(const struct change *c)
{
	return !c->old || !c->new || strcmp(vlink_zone(c->old), vlink_zone(c->new)) != 0;
}

/* A number for what is created, so that its links carry it before its row is there. */
static int take_number(struct daemon *d, struct vlink *v, struct err *e)
{
	/* Of what it is over there may be no row yet, and of its name another's. */
	struct store_link row = {.class = v->s.class, .name = "?", .mac = v->s.mac};
	int r;

	if (v->s.n)
		return 0;
	r = store_link_put(d->store, &row, e);
	if (r == 0)
		r = store_link_del(d->store, row.n, e);
	if (r == 0)
		v->s.n = row.n;
	return r;
}

int reconcile_number(struct daemon *d, struct vlink *v, struct err *e)
{
	return take_number(d, v, e);
}

/* begun: the transaction is under way already. */
static int save_intents(struct txn *t, bool begun, struct err *e)
{
	int r = begun ? 0 : store_begin(t->d->store, e);

	for (size_t i = 0; i < t->count && r == 0; i++) {
		struct change *c = &t->items[i].c;

		if (!c->old)
			r = take_number(t->d, c->new, e);
		else
			r = store_counters_put(t->d->store, c->old->s.n, c->old->counters, e);
		if (r == 0 && needs_intent(c))
			r = store_intent_put(t->d->store, subject(c)->s.n, intent_kind(c), subject(c)->s.name,
					     subject(c)->s.mac, vlink_zone(subject(c)), e);
	}
	if (r == 0)
		return store_commit(t->d->store, e);
	store_rollback(t->d->store);
	return r;
}

static int save_props(struct daemon *d, const struct vlink *v, bool fresh, struct err *e)
{
	int r = 0;

	for (int i = 0; i < PROP_COUNT && r == 0; i++)
		r = v->props.value[i]
			    ? store_prop_put(d->store, v->s.n, prop_rows[i].name, v->props.value[i], "", e)
		    : fresh ? 0
			    : store_prop_del(d->store, v->s.n, prop_rows[i].name, e);
	return r;
}

/* fresh: of its number there is no row yet. */
static int save_link(struct daemon *d, struct vlink *v, bool fresh, struct err *e)
{
	int r = store_link_put(d->store, &v->s, e);

	if (r == 0)
		r = save_props(d, v, fresh, e);
	return r < 0 || fresh ? r : store_counters_put(d->store, v->s.n, v->counters, e);
}

static int save_rows(struct txn *t, struct err *e)
{
	int r = fault_step("save", e);

	r = r < 0 ? r : store_begin(t->d->store, e);

	for (size_t i = 0; i < t->count && r == 0; i++) {
		struct change *c = &t->items[i].c;

		r = c->new ? save_link(t->d, c->new, !c->old, e)
			   : store_link_del(t->d->store, c->old->s.n, e);
	}
	/* As long as links are still to be deleted, the next start must know where they are. */
	if (r == 0 && !t->last.count && !t->rest.count)
		r = store_intents_clear(t->d->store, e);
	if (r == 0)
		return store_commit(t->d->store, e);
	store_rollback(t->d->store);
	return r;
}

/* What was to go stays after all. */
static void unsave_rows(struct txn *t)
{
	struct err e = {0};
	char text[600];
	int r = store_begin(t->d->store, &e);

	for (size_t i = 0; i < t->count && r == 0; i++)
		if (!t->items[i].c.new)
			r = save_link(t->d, t->items[i].c.old, false, &e);
	if (r == 0)
		r = store_commit(t->d->store, &e);
	else
		store_rollback(t->d->store);
	if (r < 0)
		log_error(NULL, "cannot keep what could not be deleted: %s", err_str(&e, text, sizeof(text)));
}

/* Deletes the links that go, and then what is left of them. */
static int txn_finish(struct txn *t, struct err *e)
{
	int r;

	if (!t->last.count && !t->rest.count)
		return 0;
	r = apply_ops(t->d->kernel, &t->last, e);
	if (r == 0)
		r = txn_check(t, false, e);
	if (r < 0) {
		unsave_rows(t);
		txn_undo(t);
		return r;
	}
	apply_leftovers(t->d->kernel, &t->rest);
	store_intents_clear(t->d->store, NULL);
	return 0;
}

/* The world's side, after everything is saved. */

static void count_steered(struct daemon *d, int parent, int by)
{
	struct slink *s = parent ? slink_find(d, parent) : NULL;

	if (s)
		s->steered += (unsigned)by;
}

static void note_hook(struct daemon *d, struct vlink *v, const struct node *n)
{
	count_steered(d, v->hook, -1);
	v->hook = n->steer ? n->parent.ifindex : 0;
	count_steered(d, v->hook, 1);
}

static void item_commit(struct daemon *d, struct item *it)
{
	struct change *c = &it->c;

	if (c->old && !c->new)
		count_steered(d, c->old->hook, -1);
	if (c->new) {
		c->new->hook = c->old ? c->old->hook : 0;
		c->new->trouble = TROUBLE_NONE;
		note_hook(d, c->new, &it->want);
	}
	if (c->old && c->staged)
		vlink_free(c->old);
	else if (c->old)
		world_remove(d, c->old);
	if (c->new) {
		if (!c->staged)
			world_add(d, c->new);
		c->new->staged = 0;
		observe_place(d, c->new, it->ifindex);
	}
}

static void txn_commit(struct txn *t)
{
	/* From here on the request is done, told or not. */
	(void)fault_step("commit", NULL);
	for (size_t i = 0; i < t->count; i++)
		item_commit(t->d, &t->items[i]);
	for (size_t i = 0; i < t->count; i++)
		if (t->items[i].c.old && t->items[i].c.new)
			observe_subnets(t->d, t->items[i].c.new);
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
static void txn_refresh(struct txn *t)
{
	for (size_t i = 0; i < t->count; i++) {
		struct item *it = &t->items[i];
		bool own = !it->want.port.zone[0];

		refresh(t->d, &it->have.port, own ? it->ifindex : 0);
		if (own && it->have.port.zone[0] && it->ifindex)
			observe_refresh(t->d, it->ifindex);
		refresh(t->d, &it->have.ifb_port, it->ifb);
	}
}

static int txn_open(struct txn *t, struct daemon *d, const struct change *changes, size_t count,
		    struct err *e)
{
	*t = (struct txn){.d = d, .items = calloc(count, sizeof(*t->items)), .count = count, .to = count};
	if (!t->items)
		return err_nomem(e);
	for (size_t i = 0; i < count; i++)
		t->items[i].c = changes[i];
	return 0;
}

/* What objects that go had counted stays: they must not be mistaken for those that come. */
static void close_counters(struct counter *c, const struct node *have, const struct node *want)
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

static void hand_on_counters(struct item *it)
{
	if (!it->c.old || !it->c.new)
		return;
	memcpy(it->c.new->counters, it->c.old->counters, sizeof(it->c.new->counters));
	close_counters(it->c.new->counters, &it->have, &it->want);
}

static int run(struct daemon *d, struct change *changes, size_t count, bool begun, struct err *e)
{
	struct txn t;
	int r = txn_open(&t, d, changes, count, e);

	if (r < 0)
		return r;
	for (size_t i = 0; i < count; i++)
		if (changes[i].old)
			sampler_collect(d, changes[i].old);
	r = save_intents(&t, begun, e);
	if (r == 0)
		r = txn_make(&t, e);
	if (r == 0) {
		for (size_t i = 0; i < count; i++)
			hand_on_counters(&t.items[i]);
		r = save_rows(&t, e);
		if (r < 0)
			txn_undo(&t);
	}
	if (r == 0)
		r = txn_finish(&t, e);
	if (r < 0)
		store_intents_clear(d->store, NULL);
	else
		txn_commit(&t);
	txn_refresh(&t);
	txn_done(&t);
	if (count >= MANY)
		malloc_trim(0); /* a large batch must not leave its memory behind */
	return r;
}

int reconcile_run(struct daemon *d, struct change *changes, size_t count, struct err *e)
{
	return run(d, changes, count, false, e);
}

int reconcile_batch(struct daemon *d, struct change *changes, size_t count, struct err *e)
{
	return run(d, changes, count, true, e);
}

/* At start and on events: links that are in the world already. */

static const char *const trouble_words[] = {
	[TROUBLE_LOST] = "is lost", [TROUBLE_WAITING] = "waits", [TROUBLE_OVERRIDDEN] = "is overridden"};

static void set_trouble(struct vlink *v, enum trouble trouble, const char *why)
{
	if (v->trouble != trouble || strcmp(v->why, why) != 0)
		log_warning(v->s.name, "%s: %s", trouble_words[trouble], why);
	v->trouble = trouble;
	snprintf(v->why, sizeof(v->why), "%s", why);
}

static int bring_in_line(struct txn *t, struct err *e)
{
	int r = plan_hooks(t, true, e);

	if (r == 0 && plan_node(&t->items[0].want, &t->items[0].have, &t->ops) < 0)
		r = err_nomem(e);
	if (r == 0)
		r = plan_hooks(t, false, e);
	return r < 0 ? r : txn_apply(t, e);
}

/* Is what v needs there? Else says what is missing. */
static enum trouble missing(const struct daemon *d, const struct vlink *v, const struct item *it, char *why,
			    size_t size)
{
	const struct slink *parent = vlink_parent(d, v);
	char over[IFNAMSIZ];
	struct err e = {0};

	if (v->s.class == CLASS_VNIC && !parent) {
		snprintf(why, size, "its parent %s is not there", vlink_over(d, v, over));
		return TROUBLE_WAITING;
	}
	/* It was taken for something else before it came back. */
	if (parent && !it->have.link && parent_check(d, &parent->l, &e) < 0) {
		snprintf(why, size, "its parent %.180s", e.text);
		return TROUBLE_WAITING;
	}
	if (it->zone_gone) {
		snprintf(why, size, "zone %s is gone", vlink_zone(v));
		return TROUBLE_LOST;
	}
	return TROUBLE_NONE;
}

/* The same, or where an interrupted move may have left it. */
static int look_for(struct daemon *d, struct vlink *v, const char *zone, struct item *it, struct err *e)
{
	int r = zone ? observe_vlink(d, v, vlink_zone(v), &it->have, &it->zone_gone, e) : find_node(d, v, it, e);

	if (r == 0 && !it->have.link && zone && strcmp(zone, vlink_zone(v)) != 0)
		r = observe_vlink(d, v, zone, &it->have, &it->zone_gone, e);
	return r;
}

static void clear_hook(struct txn *t, int parent)
{
	struct node n = {.n = t->items[0].c.old->s.n, .class = CLASS_VNIC, .parent.ifindex = parent};

	emit_hook(t, OP_HOOK_DEL, &n);
}

/* What is left of a link that cannot be there now would stand in its way when it comes back. */
static void set_aside(struct txn *t, struct vlink *v)
{
	struct item *it = &t->items[0];
	struct slink *parent = v->hook ? slink_find(t->d, v->hook) : NULL;
	struct err e = {0};
	char text[600];

	it->want = (struct node){.n = v->s.n, .class = v->s.class};
	it->have.prog.present |= v->s.class == CLASS_VNIC;
	it->have.steer = v->hook != 0;
	it->have.parent.ifindex = v->hook;
	if (plan_node(&it->want, &it->have, &t->ops) < 0)
		return;
	if (v->hook && (!parent || parent->steered == 1))
		clear_hook(t, v->hook);
	if (apply_ops(t->d->kernel, &t->ops, &e) < 0)
		log_warning(v->s.name, "cannot be set aside: %s", err_str(&e, text, sizeof(text)));
	close_counters(v->counters, &it->want, &it->want);
	note_hook(t->d, v, &it->want);
	observe_place(t->d, v, 0);
}

/* A link whose zone or parent is gone and that was moved: when it is made again, then where it belongs. */
static void go_home(struct vlink *v)
{
	v->moved = false;
	v->place[0] = '\0';
}

static int make_right(struct txn *t, struct vlink *v, struct err *e)
{
	struct item *it = &t->items[0];
	int r = bring_in_line(t, e);

	if (r < 0)
		return r;
	close_counters(v->counters, &it->have, &it->want);
	v->trouble = TROUBLE_NONE;
	v->raise = false;
	note_hook(t->d, v, &it->want);
	observe_place(t->d, v, it->ifindex);
	txn_refresh(t);
	observe_subnets(t->d, v);
	return 0;
}

/* zone: where else it may be, or NULL. */
static void in_line(struct daemon *d, struct vlink *v, const char *zone, bool raise)
{
	struct change c = {.old = v, .new = v};
	char why[sizeof(v->why)], text[600];
	enum trouble trouble;
	struct err e = {0};
	struct txn t;

	if (txn_open(&t, d, &c, 1, &e) < 0)
		return;
	read_speed(d, v);
	if (look_for(d, v, zone, &t.items[0], &e) < 0) {
		set_trouble(v, TROUBLE_LOST, err_str(&e, text, sizeof(text)));
		txn_done(&t);
		return;
	}
	trouble = missing(d, v, &t.items[0], why, sizeof(why));
	if (trouble != TROUBLE_NONE && v->moved) {
		go_home(v);
		txn_done(&t);
		in_line(d, v, zone, raise);
		return;
	}
	want_node(d, v, &t.items[0].have, &t.items[0].want);
	v->raise |= raise;
	if (v->raise)
		t.items[0].want.up = !v->s.down;
	if (trouble != TROUBLE_NONE) {
		set_aside(&t, v);
		set_trouble(v, trouble, why);
	} else if (make_right(&t, v, &e) < 0) {
		set_trouble(v, TROUBLE_LOST, err_str(&e, text, sizeof(text)));
	}
	txn_done(&t);
}

void reconcile_link(struct daemon *d, struct vlink *v)
{
	in_line(d, v, NULL, false);
}

void reconcile_raise(struct daemon *d, struct vlink *v)
{
	in_line(d, v, NULL, true);
}

void reconcile_moved(struct daemon *d, struct vlink *v, const char *zone)
{
	in_line(d, v, zone, true);
}

bool reconcile_differs(struct daemon *d, struct vlink *v, bool *zone_gone, char *what, size_t size)
{
	struct change c = {.old = v, .new = v};
	struct err e = {0};
	struct txn t;
	bool differs = false;

	if (txn_open(&t, d, &c, 1, &e) < 0)
		return false;
	if (look_for(d, v, NULL, &t.items[0], &e) == 0) {
		want_node(d, v, &t.items[0].have, &t.items[0].want);
		if (plan_node(&t.items[0].want, &t.items[0].have, &t.ops) == 0)
			differs = t.ops.count > 0;
		*zone_gone = t.items[0].zone_gone;
		if (differs)
			snprintf(what, size, "%s", op_name(t.ops.ops[0].kind));
	}
	txn_done(&t);
	return differs;
}

/* The hook of v's parent alone. */
void reconcile_hook(struct daemon *d, struct vlink *v)
{
	struct change c = {.old = v, .new = v};
	struct err e = {0};
	struct txn t;

	if (!v->hook || txn_open(&t, d, &c, 1, &e) < 0)
		return;
	t.items[0].want =
		(struct node){.n = v->s.n, .class = v->s.class, .steer = true, .parent.ifindex = v->hook};
	if (plan_hooks(&t, true, &e) == 0)
		apply_ops(d->kernel, &t.ops, &e);
	txn_done(&t);
}

/* The rows of a link that is not there now; the link itself follows as far as it can. */
int reconcile_store(struct daemon *d, struct vlink *old, struct vlink *new, struct err *e)
{
	int r = store_begin(d->store, e);

	if (r == 0)
		r = save_link(d, new, false, e);
	if (r == 0)
		r = store_commit(d->store, e);
	else
		store_rollback(d->store);
	if (r < 0)
		return r;
	memcpy(new->counters, old->counters, sizeof(new->counters));
	new->hook = old->hook;
	world_remove(d, old);
	world_add(d, new);
	reconcile_link(d, new);
	return 0;
}

void reconcile_orphan(struct daemon *d, const struct node *like)
{
	struct vlink v = {.s = {.n = like->n, .class = like->class, .mac = like->mac}};
	struct op_list ops = {0};
	struct node have, want = {.n = like->n, .class = like->class};
	struct err e = {0};
	char text[600];
	bool gone;

	memcpy(v.s.name, like->port.name, sizeof(v.s.name));
	log_info(like->port.name, "removing %s (number %u), left behind by an interrupted command",
		 like->port.name, like->n);
	if (observe_vlink(d, &v, like->port.zone, &have, &gone, &e) < 0 ||
	    plan_node(&want, &have, &ops) < 0 || apply_ops(d->kernel, &ops, &e) < 0)
		log_error(like->port.name, "cannot remove %s: %s", like->port.name,
			  err_str(&e, text, sizeof(text)));
	op_list_free(&ops);
}

void reconcile_percent(struct daemon *d, struct slink *parent)
{
	uint64_t speed = observe_speed(d, parent->l.ifindex, NULL);
	struct vlink *v, *next;

	if (speed == parent->speed || !speed)
		return;
	DL_FOREACH_SAFE(parent->above, v, next)
	if (want_percent(v) && v->trouble == TROUBLE_NONE)
		reconcile_link(d, v);
}
