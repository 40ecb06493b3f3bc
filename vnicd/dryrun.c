/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a dry run holds: the lines so far and what they rest on. Changes neither kernel nor store nor world.
 */
#include "vnicd/dryrun.h"

#include "lib/model/say.h"
#include "vnicd/apply.h"
#include "vnicd/isolate.h"
#include "vnicd/observe.h"
#include "vnicd/save.h"
#include "vnicd/session.h"
#include "vnicd/txn.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <utarray.h>

struct hook {
	int parent;
	bool there;
};

struct dryrun {
	struct daemon *d;
	json_t *lines;
	struct say how;
	struct iso_set want, have; /* of the operation that is told */
	UT_array *hooks;           /* struct hook: as told so far */
	UT_array *made;            /* struct vlink *: what the world would own by now */
};

/* Telling operations */

static int add_lines(json_t *lines, char *text, struct err *e)
{
	char *rest = text, *line;

	while ((line = strsep(&rest, "\n")))
		if (*line && json_array_append_new(lines, json_string(line)) < 0)
			return err_nomem(e);
	return 0;
}

static int say(struct dryrun *y, const struct op *op, struct err *e)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);
	int r;

	if (!out)
		return err_nomem(e);
	say_op(op, &y->how, out);
	r = fclose(out) ? err_nomem(e) : add_lines(y->lines, text, e);
	free(text);
	return r;
}

/* The name is in use where the command is typed: a link for a zone is made under another first. */
static int say_renamed(struct dryrun *y, const struct op *op, struct err *e)
{
	struct op add = *op, rename = {.kind = OP_LINK_RENAME, .on = ON_LINK, .from = op->to, .to = op->to};
	int r;

	node_interim_name(op->to.n, add.to.port.name);
	memcpy(rename.from.port.name, add.to.port.name, sizeof(rename.from.port.name));
	rename.from.up = false;
	r = say(y, &add, e);
	return r < 0 ? r : say(y, &rename, e);
}

static bool name_in_use(struct daemon *d, const struct op *op)
{
	const struct port *p = &op->to.port;
	struct sys_link l;

	return op->kind == OP_LINK_ADD && op->on == ON_LINK && p->zone[0] &&
	       observe_find(d, "", p->name, &l, NULL) == 0;
}

static void note_hook(struct dryrun *y, const struct op *op)
{
	struct hook hook = {.parent = op->to.parent.ifindex, .there = op->kind == OP_HOOK_ADD};

	if (op->kind == OP_HOOK_ADD || op->kind == OP_HOOK_DEL)
		utarray_push_back(y->hooks, &hook);
}

static int tell(const struct op *op, void *arg, struct err *e)
{
	struct dryrun *y = arg;
	int r = 0;

	if (op->kind == OP_ISO_SET || op->kind == OP_ISO_DEL)
		r = observe_iso(y->d, &op->from, op->to.up, &y->want, &y->have, e);
	if (r < 0)
		return r;
	note_hook(y, op);
	return name_in_use(y->d, op) ? say_renamed(y, op, e) : say(y, op, e);
}

bool dryrun_hook(const struct daemon *d, int parent, bool *ret)
{
	struct hook *h = NULL;
	bool found = parent < 0; /* another line of the batch makes it */

	if (!d->dry)
		return false;
	*ret = false;
	while ((h = (struct hook *)utarray_next(d->dry->hooks, h)))
		if (h->parent == parent) {
			*ret = h->there;
			found = true;
		}
	return found;
}

/* Beginning and end */

static void free_made(void *element)
{
	vlink_free(*(struct vlink **)element);
}

static const UT_icd hook_icd = {.sz = sizeof(struct hook)};
static const UT_icd made_icd = {.sz = sizeof(struct vlink *), .dtor = free_made};

static struct dryrun *dryrun_free(struct dryrun *y)
{
	if (!y)
		return NULL;
	if (y->hooks)
		utarray_free(y->hooks);
	if (y->made)
		utarray_free(y->made);
	json_decref(y->lines);
	free(y);
	return NULL;
}

static int dryrun_new(struct daemon *d, struct dryrun **ret, struct err *e)
{
	struct dryrun *y = calloc(1, sizeof(*y));
	int r;

	if (!y)
		return err_nomem(e);
	y->d = d;
	y->lines = json_array();
	utarray_new(y->hooks, &hook_icd);
	utarray_new(y->made, &made_icd);
	y->how = (struct say){.uuid = store_uuid(d->store), .want = &y->want, .have = &y->have};
	r = y->lines ? observe_means(d, &y->how.means, e) : err_nomem(e);
	if (r == 0)
		r = store_begin(d->store, e);
	if (r < 0)
		dryrun_free(y);
	else
		*ret = y;
	return r;
}

void dryrun_call(struct daemon *d, struct call *c, void (*fn)(struct daemon *d, struct call *c))
{
	struct err e = {0};

	if (dryrun_new(d, &d->dry, &e) < 0) {
		call_fail(c, &e);
		return;
	}
	apply_tell(d->kernel, tell, d->dry);
	fn(d, c);
	apply_tell(d->kernel, NULL, NULL);
	store_rollback(d->store);
	d->dry = dryrun_free(d->dry);
}

void dryrun_reply(const struct daemon *d, json_t *reply)
{
	if (d->dry)
		json_object_set(reply, "plan", d->dry->lines);
}

/* Changes. Of what is not staged already, the world has the new in the place of the old for a moment. */

static void stage(struct daemon *d, const struct change *c)
{
	if (c->staged)
		return;
	if (c->old)
		world_take(d, c->old);
	if (c->new)
		world_add(d, c->new);
}

static void unstage(struct daemon *d, const struct change *c)
{
	if (c->staged)
		return;
	if (c->new)
		world_take(d, c->new);
	if (c->old)
		world_put_back(d, c->old);
}

static void settle(struct daemon *d, const struct change *changes, size_t count)
{
	for (size_t i = 0; i < count; i++)
		stage(d, &changes[i]);
	isolate_settle(d);
	for (size_t i = count; i-- > 0;)
		unstage(d, &changes[i]);
}

static void keep(struct daemon *d, const struct change *changes, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (changes[i].new && !changes[i].staged)
			utarray_push_back(d->dry->made, &changes[i].new);
}

static int number_all(struct daemon *d, const struct change *changes, size_t count, struct err *e)
{
	int r = 0;

	for (size_t i = 0; i < count && r == 0; i++)
		if (!changes[i].old)
			r = save_number(d, changes[i].new, e);
	return r;
}

int dryrun_changes(struct daemon *d, struct change *changes, size_t count, struct err *e)
{
	struct txn t;
	int r = txn_open(&t, d, changes, count, e);

	if (r < 0)
		return r;
	observe_survey(d, count);
	r = number_all(d, changes, count, e);
	if (r == 0)
		r = txn_make(&t, e);
	if (r == 0)
		r = apply_ops(d->kernel, &t.last, e);
	if (r == 0)
		r = apply_ops(d->kernel, &t.rest, e);
	if (r == 0) {
		settle(d, changes, count);
		keep(d, changes, count);
	}
	txn_done(&t);
	observe_survey_end(d);
	return r;
}

int dryrun_store(struct daemon *d, struct vlink *old, struct vlink *new, struct err *e)
{
	struct change c = {.old = old, .new = new};

	(void)e;
	stage(d, &c);
	new->trouble = reconcile_preview(d, new, new->why, sizeof(new->why));
	unstage(d, &c);
	keep(d, &c, 1);
	return 0;
}
