/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Carries changes of flows out, in kernel and store, all or none. What they are is decided before: the world
 * has them already. Where a link's own tree or hooks have to change with its flows, the link is brought in
 * line as a whole; else only what the changed flows have is touched.
 */
#include "vnicd/flow.h"

#include "vnicd/apply.h"
#include "vnicd/fault.h"
#include "vnicd/flowshow.h"
#include "vnicd/flowwant.h"
#include "vnicd/foreign.h"
#include "vnicd/log.h"
#include "vnicd/txn.h"
#include "vnicd/want.h"

#include <errno.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>
#include <utlist.h>

/* The edits of one link. */
struct part {
	struct daemon *d;
	struct vlink *v;
	const struct flow_edit *edits;
	size_t count;
	struct flow_needs before, after;
};

static void take_needs(struct part *p)
{
	p->before = p->after = flow_room_needs(p->v);
	for (size_t i = 0; i < p->count; i++) {
		if (p->edits[i].new)
			flow_needs_add(&p->before, p->edits[i].new, -1);
		if (p->edits[i].old)
			flow_needs_add(&p->before, p->edits[i].old, 1);
	}
}

/* Some rules of the edited flows may be others' as well. */
static bool shares_rules(const struct part *p)
{
	if (p->before.ranges || p->after.ranges)
		return true;
	for (size_t i = 0; i < p->count; i++)
		if ((p->edits[i].old && flow_twin(p->edits[i].old)) ||
		    (p->edits[i].new &&flow_twin(p->edits[i].new)))
			return true;
	return false;
}

/* The link stays as it is but for what the edited flows themselves have. */
static bool link_same(const struct part *p)
{
	if (!p->before.flows || !p->after.flows || shares_rules(p))
		return false;
	for (enum flow_dir dir = FLOW_IN; dir < FLOW_DIRS; dir++)
		if (want_flow_classes(p->v, &p->before, dir) != want_flow_classes(p->v, &p->after, dir))
			return false;
	return true;
}

/* The last flow of a link that others made takes all of ours along. */
static void want_nothing(struct node *n)
{
	*n = (struct node){.n = n->n, .class = n->class, .parent = n->parent, .mac = n->mac};
	node_out_name(n->n, n->port.name);
	node_ifb_name(n->n, n->ifb_port.name);
}

/* The whole link: what it needs for its flows comes first, what it needs no more goes last. */
static int align_link(struct part *p, struct err *e)
{
	struct change c = {.old = p->v, .new = p->v};
	struct txn t;
	int r = txn_open(&t, p->d, &c, 1, e);

	if (r < 0)
		return r;
	txn_read_speed(p->d, p->v);
	r = txn_look(&t, NULL, e);
	if (r == 0 && (t.items[0].have.link || p->v->s.class == CLASS_FOREIGN)) {
		want_node(p->d, p->v, &t.items[0].have, &t.items[0].want);
		if (foreign_idle(p->v))
			want_nothing(&t.items[0].want);
		r = txn_align(&t, e);
		if (r == 0 && !p->d->dry) {
			txn_note_hook(p->d, p->v, &t.items[0].want);
			txn_refresh(&t);
		}
	}
	txn_done(&t);
	return r;
}

/* What the edits leave alone is in neither set. */
static int sets_of(const struct part *p, const struct node *n, struct flow_set *have, struct flow_set *want)
{
	int r = 0;

	for (size_t i = 0; i < p->count && r == 0; i++) {
		if (p->edits[i].old)
			r = want_flow(p->edits[i].old, n, have);
		if (r == 0 && p->edits[i].new)
			r = want_flow(p->edits[i].new, n, want);
	}
	flow_set_sort(have);
	flow_set_sort(want);
	for (enum flow_dir dir = FLOW_IN; dir < FLOW_DIRS; dir++) {
		have->strict[dir] = p->before.strict[dir];
		want->strict[dir] = p->after.strict[dir];
	}
	return r;
}

static int change_some(struct part *p, bool back, struct err *e)
{
	struct flow_set have = {0}, want = {0};
	struct node n;
	int r;

	want_flow_node(p->d, p->v, &n);
	r = sets_of(p, &n, &have, &want);
	if (r < 0)
		r = err_nomem(e);
	else if (back)
		r = apply_flows(p->d->kernel, &n, &want, &have, e);
	else
		r = apply_flows(p->d->kernel, &n, &have, &want, e);
	flow_set_free(&have);
	flow_set_free(&want);
	return r;
}

static bool is_there(const struct vlink *v)
{
	return v->trouble == TROUBLE_NONE && v->at.ifindex;
}

/* Its class goes, perhaps for another: what it counted until then is read before. */
static bool loses_class(const struct flow_edit *edit)
{
	struct flow_want old, new;

	if (!edit->old || !edit->new)
		return false;
	old = flow_want_of(edit->old);
	new = flow_want_of(edit->new);
	return flow_want_classed(&old) && (!flow_want_classed(&new) || old.priority != new.priority);
}

static void collect_before(struct part *p)
{
	for (size_t i = 0; i < p->count; i++)
		if (loses_class(&p->edits[i])) {
			flows_collect(p->d, p->v);
			return;
		}
}

static void hand_on(const struct flow_edit *edit)
{
	if (!edit->old || !edit->new)
		return;
	for (int i = FLOW_CTR_CLASS_IPACKETS; loses_class(edit) && i < FLOW_CTR_COUNT; i++)
		counter_close(&edit->new->counters[i]);
}

static int part_make(struct part *p, struct err *e)
{
	if (!is_there(p->v))
		return 0; /* it gets them when it comes */
	collect_before(p);
	take_needs(p);
	return link_same(p) ? change_some(p, false, e) : align_link(p, e);
}

/* What was brought in line as a whole is so again when the world is as it was. */
static void part_undo(struct part *p)
{
	struct err e = {0};
	char text[600];

	if (!is_there(p->v))
		return;
	if (!link_same(p))
		p->d->touched(p->d, p->v, false);
	else if (change_some(p, true, &e) < 0)
		log_error(p->v->s.name, "cannot put its flows back as they were: %s",
			  err_str(&e, text, sizeof(text)));
}

/* Rows. */

static int save_value(struct daemon *d, const struct flow *f, enum flow_prop_id id, struct err *e)
{
	const char *name = flow_prop_rows[id].name, *kept = f->kept.value[id], *now = f->props.value[id];
	bool same = kept && now ? !strcmp(kept, now) : kept == now;
	int r = kept ? store_flow_prop_put(d->store, f->s.id, name, kept, "", e)
		     : store_flow_prop_del(d->store, f->s.id, name, e);

	if (r == 0 && !same)
		r = store_flow_prop_put(d->store, f->s.id, name, now ? now : "", store_boot(d->store), e);
	return r;
}

static int save_flow(struct daemon *d, struct flow *f, struct err *e)
{
	int r = store_flow_put(d->store, &f->s, e);

	for (int i = 0; i < FLOW_PROP_COUNT && r == 0; i++)
		r = save_value(d, f, i, e);
	return r == 0 ? store_flow_counters_put(d->store, f->s.id, f->counters, e) : r;
}

int flows_save(struct daemon *d, const struct vlink *v, struct err *e)
{
	struct flow *f;
	int r = 0;

	DL_FOREACH (v->flows, f)
		r = r < 0 ? r : save_flow(d, f, e);
	return r;
}

static int save_edits(struct daemon *d, const struct flow_edit *edits, size_t count, struct err *e)
{
	int r = fault_step("save", e);

	for (size_t i = 0; i < count && r == 0; i++)
		r = edits[i].new ? save_flow(d, edits[i].new, e)
				 : store_flow_del(d->store, edits[i].old->s.id, e);
	return r;
}

/* The edits of one link follow each other in sorted. */
static int by_link(const void *a, const void *b)
{
	const struct flow_edit *x = a, *y = b;
	uint32_t m = (x->new ? x->new : x->old)->s.n, n = (y->new ? y->new : y->old)->s.n;

	return (m > n) - (m < n);
}

static struct vlink *link_of(const struct flow_edit *edit)
{
	return (edit->new ? edit->new : edit->old)->link;
}

static struct part part_at(struct daemon *d, const struct flow_edit *sorted, size_t at, size_t count)
{
	struct part p = {.d = d, .v = link_of(&sorted[at]), .edits = &sorted[at]};

	while (at + p.count < count && link_of(&sorted[at + p.count]) == p.v)
		p.count++;
	return p;
}

static void undo_all(struct daemon *d, const struct flow_edit *sorted, size_t done)
{
	for (size_t at = 0; at < done;) {
		struct part p = part_at(d, sorted, at, done);

		take_needs(&p);
		part_undo(&p);
		at += p.count;
	}
}

static int make_all(struct daemon *d, const struct flow_edit *sorted, size_t count, size_t *done,
		    struct err *e)
{
	int r = 0;

	for (*done = 0; r == 0 && *done < count;) {
		struct part p = part_at(d, sorted, *done, count);

		r = part_make(&p, e);
		if (r < 0 && !link_same(&p))
			d->touched(d, p.v, false);
		*done += r == 0 ? p.count : 0;
	}
	return r;
}

/* The row of a link that others made goes with its last flow. */
static int drop_idle(struct daemon *d, const struct flow_edit *sorted, size_t count, struct err *e)
{
	int r = 0;

	for (size_t at = 0; r == 0 && at < count;) {
		struct part p = part_at(d, sorted, at, count);

		if (foreign_idle(p.v))
			r = store_link_del(d->store, p.v->s.n, e);
		at += p.count;
	}
	return r;
}

static int carry_out(struct daemon *d, struct flow_edit *sorted, size_t count, struct err *e)
{
	size_t done = 0;
	int r = save_edits(d, sorted, count, e);

	r = r < 0 ? r : make_all(d, sorted, count, &done, e);
	r = r < 0 ? r : drop_idle(d, sorted, count, e);
	if (r < 0)
		store_rollback(d->store);
	else
		r = store_commit(d->store, e);
	if (r < 0)
		undo_all(d, sorted, done);
	return r;
}

/* Its row is gone. */
static void forget(struct daemon *d, struct vlink *v)
{
	flows_drop(d, v);
	world_remove(d, v);
}

/* In a dry run: what would be done, told instead of done. */
static int preview_all(struct daemon *d, const struct flow_edit *sorted, size_t count, struct err *e)
{
	int r = 0;

	for (size_t at = 0; r == 0 && at < count;) {
		struct part p = part_at(d, sorted, at, count);

		r = align_link(&p, e);
		at += p.count;
	}
	return r;
}

/* What no flow takes is counted while there is one: it begins anew with the next first one. */
static void forget_rest(struct vlink *v)
{
	if (v->flows)
		return;
	memset(v->rest, 0, sizeof(v->rest));
	v->fragments = v->unparsed = (struct counter){0};
}

int reconcile_flows(struct daemon *d, const struct flow_edit *edits, size_t count, struct err *e)
{
	struct flow_edit *sorted = calloc(count, sizeof(*sorted));
	int r;

	if (!sorted)
		return err_nomem(e);
	memcpy(sorted, edits, count * sizeof(*sorted));
	qsort(sorted, count, sizeof(*sorted), by_link);
	r = d->dry ? preview_all(d, sorted, count, e) : carry_out(d, sorted, count, e);
	if (d->dry) {
		free(sorted);
		return r;
	}
	for (size_t i = 0; i < count && r == 0; i++) {
		struct vlink *v = link_of(&sorted[i]);
		bool last = i + 1 == count || link_of(&sorted[i + 1]) != v;

		hand_on(&sorted[i]);
		forget_rest(v);
		flow_free(sorted[i].old);
		if (last && foreign_idle(v))
			forget(d, v);
	}
	free(sorted);
	if (count >= TXN_MANY)
		malloc_trim(0); /* a large batch must not leave its memory behind */
	return r;
}
