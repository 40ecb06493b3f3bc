/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Requests that change flows, one or a batch: checks them and stages them in the world; flowtxn.c carries
 * them out. When that fails the world is as it was.
 */
#include "vnicd/flowchange.h"

#include "lib/base/nearest.h"
#include "vnicd/change_build.h"
#include "vnicd/check.h"
#include "vnicd/dryrun.h"
#include "vnicd/flownote.h"
#include "vnicd/flowroom.h"
#include "vnicd/foreign.h"
#include "vnicd/log.h"
#include "vnicd/reconcile.h"
#include "vnicd/request.h"
#include "vnicd/save.h"
#include "vnicd/session.h"
#include "vnicd/unknown.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <utlist.h>

struct work {
	struct daemon *d;
	struct flow_edit *edits;
	size_t count, room;
	json_t *notes;
};

static bool temporary(const json_t *params)
{
	return json_is_true(json_object_get(params, "temporary"));
}

/* Staging. */

static int push(struct work *w, struct flow *old, struct flow *new, struct err *e)
{
	if (w->count == w->room) {
		size_t room = w->room ? 2 * w->room : 64;
		struct flow_edit *more = reallocarray(w->edits, room, sizeof(*more));

		if (!more)
			return err_nomem(e);
		w->edits = more;
		w->room = room;
	}
	w->edits[w->count++] = (struct flow_edit){.old = old, .new = new};
	if (new)
		new->staged = (unsigned)w->count;
	return 0;
}

static void unstage(struct work *w)
{
	while (w->count > 0) {
		struct flow_edit *edit = &w->edits[--w->count];

		if (edit->new)
			flow_take_out(w->d, edit->new);
		if (edit->old)
			flow_put_in(w->d, edit->old);
		edit->new = flow_free(edit->new);
	}
}

/* What was made and deleted again in one batch is no change. */
static void drop_nothings(struct work *w)
{
	size_t kept = 0;

	for (size_t i = 0; i < w->count; i++)
		if (w->edits[i].old || w->edits[i].new)
			w->edits[kept++] = w->edits[i];
	w->count = kept;
}

/* new, NULL for none, comes in the place of f, which may have come in this batch itself. Takes over new. */
static int replace(struct work *w, struct flow *f, struct flow *new, struct err *e)
{
	struct flow_edit *edit = f->staged ? &w->edits[f->staged - 1] : NULL;
	int r = edit ? 0 : push(w, f, new, e);

	if (r < 0) {
		flow_free(new);
		return r;
	}
	flow_take_out(w->d, f);
	if (new)
		flow_put_in(w->d, new);
	if (edit) {
		flow_free(f);
		edit->new = new;
	}
	return 0;
}

/* Checking. */

int flow_link(const struct daemon *d, const char *name, struct vlink *blank, struct vlink **ret,
	      struct err *e)
{
	struct vlink *v = foreign_or_own(d, name);
	const struct slink *s = v ? NULL : slink_by_name(d, name);
	int r = 0;

	if (!v && (!s || check_going(d, &s->l)))
		return unknown_link(d, UNKNOWN_LINK, name, e);
	if (v && !class_shaped(v->s.class))
		return err_user(
			e, -EOPNOTSUPP, name,
			v->s.class == CLASS_VLAN
				? "it is a VLAN link of vnicd's: flows are possible on the VNICs there"
				: "it is an etherstub: flows are possible on VNICs only, make them there");
	if (!v) {
		r = foreign_check(d, &s->l, e);
		snprintf(blank->s.name, sizeof(blank->s.name), "%s", name);
	}
	if (r == 0)
		*ret = v ? v : blank;
	return r;
}

static int unknown_flow(const struct daemon *d, const char *name, struct err *e)
{
	const char **names = calloc(HASH_CNT(hh_name, d->flows) + 1, sizeof(*names)), *near = NULL;
	struct flow *f, *next;
	size_t n = 0;

	HASH_ITER (hh_name, d->flows, f, next)
		if (names)
			names[n++] = f->s.name;
	near = names ? nearest(name, names, n) : NULL;
	if (near)
		err_user(e, -ENOENT, name, "no such flow: did you mean %s?", near);
	else
		err_user(e, -ENOENT, name, "no such flow: see 'flowadm show-flow'");
	free(names);
	return -ENOENT;
}

int flow_known(const struct daemon *d, const char *name, const char *link, struct flow **ret, struct err *e)
{
	struct flow *f = flow_find(d, name);

	if (!f)
		return unknown_flow(d, name, e);
	if (link && strcmp(f->link->s.name, link) != 0)
		return err_user(e, -ENOENT, name, "it is a flow of %s, not of %s", f->link->s.name, link);
	*ret = f;
	return 0;
}

int flow_read_match(const json_t *attributes, struct flow_match *ret, struct err *e)
{
	struct flow_match m = {0};
	json_t *attribute;
	size_t i;
	int r = 0;

	json_array_foreach (attributes, i, attribute) {
		const char *name = json_string_value(json_object_get(attribute, "name"));
		const char *value = json_string_value(json_object_get(attribute, "value"));

		if (!name || !value)
			return err_user(e, -EINVAL, "attributes", "each needs a name and a value");
		r = flow_attr_set(&m, name, value, e);
		if (r < 0)
			return r;
	}
	r = flow_match_check(&m, e);
	if (r == 0)
		*ret = m;
	return r;
}

/* Properties. */

static int set_values(struct flow *f, struct flow_props *p, const json_t *list, struct err *e)
{
	bool given[FLOW_PROP_COUNT] = {false};
	json_t *one;
	size_t i;

	json_array_foreach (list, i, one) {
		const char *name = json_string_value(json_object_get(one, "name"));
		const char *value = json_string_value(json_object_get(one, "value"));
		enum flow_prop_id id;
		int r;

		if (!name || !value)
			return err_user(e, -EINVAL, f->s.name, "a property needs a name and a value");
		r = flow_prop_find(f->s.name, name, &id, e);
		if (r == 0 && given[id])
			r = err_user(e, -EINVAL, f->s.name, "%s is given twice", name);
		if (r == 0)
			r = flow_prop_set(p, f->s.name, id, value, e);
		if (r < 0)
			return r;
		given[id] = true;
	}
	return 0;
}

/* list NULL: all of them. */
static int reset_values(struct flow *f, struct flow_props *p, const json_t *list, struct err *e)
{
	enum flow_prop_id id;
	json_t *name;
	size_t i;

	for (int all = 0; !json_is_array(list) && all < FLOW_PROP_COUNT; all++)
		flow_prop_reset(p, all);
	json_array_foreach (list, i, name) {
		int r = json_is_string(name) ? flow_prop_find(f->s.name, json_string_value(name), &id, e)
					     : err_user(e, -EINVAL, "props", "not a list of names");

		if (r < 0)
			return r;
		flow_prop_reset(p, id);
	}
	return 0;
}

typedef int flow_edit_fn(struct flow *f, struct flow_props *p, const json_t *list, struct err *e);

/* temp: until the next boot. */
static int edit_props(struct flow *f, const json_t *list, bool temp, flow_edit_fn *fn, struct err *e)
{
	int r = fn(f, &f->props, list, e);

	return r < 0 || (temp && !f->s.temp) ? r : fn(f, &f->kept, list, e);
}

/* Requests, each staged. */

static int check_new(struct daemon *d, const char *name, const struct vlink *v, bool temp, struct err *e)
{
	struct flow *other;
	int r;

	if (!name)
		return err_user(e, -EINVAL, "name", "a flow needs a name");
	r = flow_name_check(name, e);
	if (r < 0)
		return r;
	other = flow_find(d, name);
	if (other)
		return err_user(e, -EEXIST, name, "a flow of that name exists, on %s", other->link->s.name);
	if (v->s.temp && !temp)
		return err_user(e, -EINVAL, v->s.name, "it is temporary, and so are its flows: use -t");
	return 0;
}

static int build_new(struct daemon *d, const json_t *params, struct flow *f, struct err *e)
{
	const char *name = change_text(params, "name"), *link = change_text(params, "link");
	char text[FLOW_TEXT_MAX];
	struct vlink blank = {.flows = NULL};
	struct flow *same;
	int r = link ? flow_link(d, link, &blank, &f->link, e)
		     : err_user(e, -EINVAL, "link", "a flow needs a link");

	/* It was made before, see found(), but for a want of memory. */
	if (r == 0 && f->link == &blank)
		r = err_nomem(e);

	if (r == 0)
		r = check_new(d, name, f->link, temporary(params), e);
	if (r == 0)
		r = flow_read_match(json_object_get(params, "attributes"), &f->match, e);
	if (r < 0)
		return r;
	snprintf(f->s.name, sizeof(f->s.name), "%s", name);
	if (flow_text_set(f, flow_match_str(&f->match, text)) < 0)
		return err_nomem(e);
	same = flow_by_text(f->link, text);
	if (same)
		return err_user(e, -EEXIST, name, "%s on %s has the same attributes", same->s.name,
				f->link->s.name);
	f->s.n = f->link->s.n;
	f->s.temp = temporary(params);
	return edit_props(f, json_object_get(params, "props"), f->s.temp, set_values, e);
}

/* A number and a slot, which rules and counters carry before the row is there. */
static int number(struct work *w, struct flow *f, struct err *e)
{
	int r = flow_room_open(f->link) < 0 ? err_nomem(e) : flow_room_check(f, e);

	if (r < 0)
		return r;
	f->s.slot = flow_room_slot(f->link);
	if (!f->s.slot)
		return err_user(e, -ENOSPC, f->link->s.name,
				"it has %u flows, which is the most: delete some first", FLOW_SLOTS - 1);
	return store_flow_put(w->d->store, &f->s, e);
}

static int stage_create(struct work *w, const json_t *params, struct err *e)
{
	struct flow *f = flow_new();
	int r = f ? build_new(w->d, params, f, e) : err_nomem(e);

	if (r == 0)
		r = number(w, f, e);
	if (r == 0)
		r = push(w, NULL, f, e);
	if (r < 0) {
		flow_free(f);
		return r;
	}
	flow_put_in(w->d, f);
	return 0;
}

/* Its row goes at once: its name is free for the next command. */
static int stage_delete_one(struct work *w, struct flow *f, struct err *e)
{
	int r = store_flow_del(w->d->store, f->s.id, e);

	return r < 0 ? r : replace(w, f, NULL, e);
}

static int stage_delete_all(struct work *w, const char *link, struct err *e)
{
	struct vlink *v, blank = {.flows = NULL};
	struct flow *f, *next;
	int r = flow_link(w->d, link, &blank, &v, e);

	if (r < 0)
		return r;
	DL_FOREACH_SAFE(v->flows, f, next)
	if (r == 0)
		r = stage_delete_one(w, f, e);
	return r;
}

static int stage_delete(struct work *w, const json_t *params, struct err *e)
{
	const json_t *names = json_object_get(params, "names");
	const char *link = change_text(params, "link");
	struct flow *f;
	json_t *name;
	size_t i;
	int r = 0;

	if (!json_array_size(names))
		return link ? stage_delete_all(w, link, e)
			    : err_user(e, -EINVAL, "names", "name what to delete, or a link");
	json_array_foreach (names, i, name) {
		r = json_is_string(name) ? flow_known(w->d, json_string_value(name), link, &f, e)
					 : err_user(e, -EINVAL, "names", "not a list of names");
		r = r < 0 ? r : stage_delete_one(w, f, e);
		if (r < 0)
			return r;
	}
	return 0;
}

static int stage_props(struct work *w, const json_t *params, flow_edit_fn *fn, struct err *e)
{
	const char *name = change_text(params, "flow");
	struct flow *old, *new = NULL;
	int r = name ? flow_known(w->d, name, change_text(params, "link"), &old, e)
		     : err_user(e, -EINVAL, "flow", "name the flow");

	if (r == 0 && old->s.temp && !temporary(params))
		r = err_user(e, -EINVAL, name, "it is temporary, and so are its properties: use -t");
	if (r < 0)
		return r;
	new = flow_copy(old);
	r = new ? edit_props(new, json_object_get(params, "props"), temporary(params), fn, e) : err_nomem(e);
	if (r == 0)
		return replace(w, old, new, e);
	flow_free(new);
	return r;
}

static int stage_set(struct work *w, const json_t *params, struct err *e)
{
	return stage_props(w, params, set_values, e);
}

static int stage_reset(struct work *w, const json_t *params, struct err *e)
{
	return stage_props(w, params, reset_values, e);
}

static const struct {
	const char *method;
	int (*fn)(struct work *w, const json_t *params, struct err *e);
} stages[] = {
	{"CreateFlow", stage_create},
	{"DeleteFlow", stage_delete},
	{"SetFlowprop", stage_set},
	{"ResetFlowprop", stage_reset},
};

static int stage(struct work *w, const char *method, const json_t *params, struct err *e)
{
	for (size_t i = 0; i < sizeof(stages) / sizeof(*stages); i++)
		if (!strcmp(stages[i].method, method))
			return stages[i].fn(w, params, e);
	return err_user(e, -EINVAL, NULL, "not a command for a batch");
}

bool flowchange_is(const char *method)
{
	for (size_t i = 0; method && i < sizeof(stages) / sizeof(*stages); i++)
		if (!strcmp(stages[i].method, method))
			return true;
	return false;
}

/* Its flows' rows need its own, as long as the dry run lasts. */
static int number_dry(struct daemon *d, struct vlink *v, struct err *e)
{
	int r = save_number(d, v, e);

	return r < 0 ? r : store_link_put(d->store, &v->s, e);
}

/*
 * The first flow of a link that others made: what carries flows there comes first, in a transaction of its
 * own, with an intent by which a killed daemon finds it. Where that cannot be, staging says why.
 */
static int found(struct work *w, const json_t *params, struct err *e)
{
	const char *link = change_text(params, "link");
	struct slink *s = link ? slink_by_name(w->d, link) : NULL;
	struct change c = {.new = NULL};
	int r;

	if (!s || foreign_or_own(w->d, link) || check_going(w->d, &s->l) ||
	    foreign_check(w->d, &s->l, NULL) < 0)
		return 0;
	r = foreign_new(w->d, s, &c.new, e);
	if (r < 0)
		return r;
	r = w->d->dry ? number_dry(w->d, c.new, e) : reconcile_run(w->d, &c, 1, e);
	if (r < 0)
		vlink_free(c.new);
	else if (w->d->dry)
		world_add(w->d, c.new);
	return r;
}

/* What came for flows that were not made after all, or were in a dry run only. */
static void settle(struct daemon *d)
{
	struct vlink *v, *next;
	struct err e = {0};
	char text[600];

	HASH_ITER (hh_n, d->by_n, v, next) {
		struct change c = {.old = v};

		if (!foreign_idle(v))
			continue;
		if (!d->dry && reconcile_run(d, &c, 1, &e) < 0)
			log_warning(v->s.name, "cannot be left alone: %s", err_str(&e, text, sizeof(text)));
		else if (d->dry && !v->at.ifindex)
			world_remove(d, v);
	}
}

/* So many flows at most are looked at for what their users should know: among thousands that takes long. */
#define NOTES_MOST 100

static void note_all(struct work *w)
{
	for (size_t i = 0; i < w->count && w->count <= NOTES_MOST; i++)
		if (w->edits[i].new)
			flow_note(w->edits[i].new, w->edits[i].old, w->notes);
}

/* staged: what r says of it. The store's transaction is under way. */
static int carry_out(struct work *w, int staged, struct err *e)
{
	if (staged == 0)
		note_all(w);
	if (staged == 0 && w->count)
		return reconcile_flows(w->d, w->edits, w->count, e);
	if (!w->d->dry)
		store_rollback(w->d->store);
	return staged;
}

typedef int work_fn(struct work *w, const json_t *params, struct err *e);

/* first: what has to be there before, or NULL. */
static int run(struct work *w, work_fn *first, work_fn *fn, const json_t *params, struct err *e)
{
	int r = first ? first(w, params, e) : 0;

	if (r == 0 && !w->d->dry)
		r = store_begin(w->d->store, e);
	if (r < 0) {
		settle(w->d);
		return r;
	}
	r = fn(w, params, e);
	drop_nothings(w);
	r = carry_out(w, r, e);
	if (r < 0 || w->d->dry)
		unstage(w);
	for (size_t i = 0; i < w->count; i++)
		if (w->edits[i].new)
			w->edits[i].new->staged = 0;
	settle(w->d);
	return r;
}

static void reply(struct call *c, struct work *w, int r, const struct err *e, bool names)
{
	json_t *answer = NULL;

	if (r < 0) {
		json_decref(w->notes);
		call_fail(c, e);
	} else {
		answer = json_pack("{s:o}", "notes", w->notes);
		if (names)
			json_object_set_new(answer, "names", json_array());
		dryrun_reply(w->d, answer);
		call_reply(c, answer, false);
	}
	free(w->edits);
}

static void alone(struct daemon *d, struct call *c, work_fn *first, work_fn *fn)
{
	struct work w = {.d = d, .notes = json_array()};
	struct err e = {0};
	int r = run(&w, first, fn, call_params(c), &e);

	reply(c, &w, r, &e, false);
}

void flowchange_create(struct daemon *d, struct call *c)
{
	alone(d, c, found, stage_create);
}

void flowchange_delete(struct daemon *d, struct call *c)
{
	alone(d, c, NULL, stage_delete);
}

void flowchange_set(struct daemon *d, struct call *c)
{
	alone(d, c, NULL, stage_set);
}

void flowchange_reset(struct daemon *d, struct call *c)
{
	alone(d, c, NULL, stage_reset);
}

/* An error gets the line it comes from. */
static int stage_line(struct work *w, const json_t *command, struct err *e)
{
	const char *method = change_text(command, "method");
	json_t *params = json_object_get(command, "parameters");
	json_int_t line = json_integer_value(json_object_get(command, "line"));
	const char *bad = method && json_is_object(params) ? request_bad_param(method, params) : "method";
	char text[sizeof(e->text)];
	int r = bad ? err_user(e, -EINVAL, bad, "not a parameter of %s", method ? method : "a command")
		    : stage(w, method, params, e);

	if (r == 0 || !line)
		return r;
	err_str(e, text, sizeof(text));
	memcpy(e->text, text, sizeof(text));
	snprintf(e->object, sizeof(e->object), "line %lld", (long long)line);
	return r;
}

static int found_all(struct work *w, const json_t *commands, struct err *e)
{
	json_t *command;
	size_t i;
	int r = 0;

	json_array_foreach (commands, i, command)
		if (r == 0 && change_text(command, "method") &&
		    !strcmp(change_text(command, "method"), "CreateFlow"))
			r = found(w, json_object_get(command, "parameters"), e);
	return r;
}

static int stage_lines(struct work *w, const json_t *commands, struct err *e)
{
	json_t *command;
	size_t i;
	int r;

	json_array_foreach (commands, i, command) {
		r = stage_line(w, command, e);
		if (r < 0)
			return r;
	}
	return 0;
}

void flowchange_batch(struct daemon *d, struct call *c)
{
	struct work w = {.d = d, .notes = json_array()};
	struct err e = {0};
	int r = run(&w, found_all, stage_lines, json_object_get(call_params(c), "commands"), &e);

	reply(c, &w, r, &e, true);
}
