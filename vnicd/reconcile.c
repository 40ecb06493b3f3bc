/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Drives a request: intents saved, transaction made, rows saved, world updated. What is done to the kernel is
 * txn.c's, how rows are written save.c's.
 */
#include "vnicd/reconcile.h"

#include "vnicd/flow.h"

#include "vnicd/apply.h"
#include "vnicd/dryrun.h"
#include "vnicd/fault.h"
#include "vnicd/isolate.h"
#include "vnicd/observe.h"
#include "vnicd/sampler.h"
#include "vnicd/save.h"
#include "vnicd/txn.h"

#include <malloc.h>
#include <string.h>

/* Deletes the links that go, and then what is left of them. */
static int txn_finish(struct txn *t, struct err *e)
{
	int r;

	if (!t->last.count && !t->rest.count)
		return 0;
	r = txn_unmake(t, e);
	if (r < 0) {
		save_rows_again(t);
		txn_undo(t);
		return r;
	}
	apply_leftovers(t->d->kernel, &t->rest);
	store_intents_clear(t->d->store, NULL);
	return 0;
}

/* The world's side, after everything is saved. */

static void item_commit(struct daemon *d, struct item *it)
{
	struct change *c = &it->c;

	if (c->old && c->new)
		sampler_renamed(d, c->old->s.name, c->new->s.name);
	if (c->old && !c->new) {
		txn_count_steered(d, c->old->hook, -1);
		flows_drop(d, c->old);
	}
	if (c->new) {
		c->new->hook = c->old ? c->old->hook : 0;
		c->new->trouble = TROUBLE_NONE;
		txn_note_hook(d, c->new, &it->want);
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

static void hand_on_counters(struct item *it)
{
	if (!it->c.old || !it->c.new)
		return;
	memcpy(it->c.new->counters, it->c.old->counters, sizeof(it->c.new->counters));
	txn_close_counters(it->c.new->counters, &it->have, &it->want);
}

static int run(struct daemon *d, struct change *changes, size_t count, bool begun, struct err *e)
{
	struct txn t;
	int r;

	if (d->dry)
		return dryrun_changes(d, changes, count, e);
	r = txn_open(&t, d, changes, count, e);
	if (r < 0)
		return r;
	observe_survey(d, count);
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
	observe_survey_end(d);
	isolate_settle(d);
	if (count >= TXN_MANY)
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
/* The rows of a link that is not there now; the link itself follows as far as it can. */
int reconcile_store(struct daemon *d, struct vlink *old, struct vlink *new, struct err *e)
{
	int r;

	if (d->dry)
		return dryrun_store(d, old, new, e);
	r = store_begin(d->store, e);
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
	sampler_renamed(d, old->s.name, new->s.name);
	world_remove(d, old);
	world_add(d, new);
	reconcile_link(d, new);
	return 0;
}
