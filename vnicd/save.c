/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Writes a transaction's intents and rows. Decides nothing and never touches the kernel.
 */
#include "vnicd/save.h"

#include "vnicd/fault.h"
#include "vnicd/flow.h"
#include "vnicd/log.h"

#include <string.h>

static const char *intent_kind(const struct change *c)
{
	if (!c->old)
		return "create";
	if (!c->new)
		return "delete";
	return strcmp(vlink_zone(c->old), vlink_zone(c->new)) != 0 ? "move" : "rename";
}

static bool needs_intent(const struct change *c)
{
	return !c->old || !c->new || strcmp(vlink_zone(c->old), vlink_zone(c->new)) != 0 ||
	       strcmp(c->old->s.name, c->new->s.name) != 0;
}

/* A number for what is created, so that its links carry it before its row is there. */
int save_number(struct daemon *d, struct vlink *v, struct err *e)
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

/* begun: the transaction is under way already. */
int save_intents(struct txn *t, bool begun, struct err *e)
{
	int r = begun ? 0 : store_begin(t->d->store, e);

	for (size_t i = 0; i < t->count && r == 0; i++) {
		struct change *c = &t->items[i].c;

		if (!c->old)
			r = save_number(t->d, c->new, e);
		else
			r = store_counters_put(t->d->store, c->old->s.n, c->old->counters, e);
		if (r == 0 && needs_intent(c))
			r = store_intent_put(t->d->store, txn_subject(c)->s.n, intent_kind(c),
					     txn_subject(c)->s.name, txn_subject(c)->s.mac,
					     vlink_zone(txn_subject(c)), e);
	}
	if (r == 0)
		return store_commit(t->d->store, e);
	store_rollback(t->d->store);
	return r;
}

static bool same_value(const char *a, const char *b)
{
	return a && b ? !strcmp(a, b) : a == b;
}

/* The value for good, and over it the one for this boot: an empty one hides it. */
static int save_prop(struct daemon *d, const struct vlink *v, enum prop_id id, bool fresh, struct err *e)
{
	const char *name = prop_rows[id].name, *kept = v->kept.value[id], *now = v->props.value[id];
	int r = 0;

	if (kept)
		r = store_prop_put(d->store, v->s.n, name, kept, "", e);
	else if (!fresh)
		r = store_prop_del(d->store, v->s.n, name, e);
	if (r == 0 && !same_value(kept, now))
		r = store_prop_put(d->store, v->s.n, name, now ? now : "", store_boot(d->store), e);
	return r;
}

static int save_props(struct daemon *d, const struct vlink *v, bool fresh, struct err *e)
{
	int r = 0;

	for (int i = 0; i < PROP_COUNT && r == 0; i++)
		r = save_prop(d, v, i, fresh, e);
	return r;
}

/* fresh: of its number there is no row yet. */
int save_link(struct daemon *d, struct vlink *v, bool fresh, struct err *e)
{
	int r = store_link_put(d->store, &v->s, e);

	if (r == 0)
		r = save_props(d, v, fresh, e);
	return r < 0 || fresh ? r : store_counters_put(d->store, v->s.n, v->counters, e);
}

int save_rows(struct txn *t, struct err *e)
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

static int save_before(struct daemon *d, const struct change *c, struct err *e)
{
	return c->old ? save_link(d, c->old, false, e) : store_link_del(d->store, c->new->s.n, e);
}

/* Everything is as it was; of what was to go the flows' rows went with its own. */
void save_rows_again(struct txn *t)
{
	struct err e = {0};
	char text[600];
	int r = store_begin(t->d->store, &e);

	/* The last first: what lies over another, or took another's name, came after it. */
	for (size_t i = t->count; i-- > 0 && r == 0;)
		r = save_before(t->d, &t->items[i].c, &e);
	for (size_t i = 0; i < t->count && r == 0; i++)
		if (!t->items[i].c.new)
			r = flows_save(t->d, t->items[i].c.old, &e);
	if (r == 0)
		r = store_commit(t->d->store, &e);
	else
		store_rollback(t->d->store);
	if (r < 0)
		log_error(NULL, "cannot keep what could not be deleted: %s", err_str(&e, text, sizeof(text)));
}
