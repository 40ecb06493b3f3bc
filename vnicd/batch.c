/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Many changes as one transaction: stages them in the world, and takes them out again when one cannot be.
 * What one change is, change.c says. */
#include "vnicd/change.h"

#include "vnicd/change_build.h"
#include "vnicd/check.h"
#include "vnicd/dryrun.h"
#include "vnicd/flow.h"
#include "vnicd/flowchange.h"
#include "vnicd/flowshow.h"
#include "vnicd/request.h"
#include "vnicd/save.h"
#include "vnicd/session.h"
#include "vnicd/want.h"

#include <errno.h>
#include <linux/if_arp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <utlist.h>

/*
 * Batch: the world is changed command by command, so that each is checked against what those before it make;
 * then all is done at once. Whatever fails, the world goes back to what it was.
 */

struct batch {
	struct daemon *d;
	struct change *items;
	size_t count, room;
	json_t *notes, *names;
	bool all_names; /* names also those that were given */
	struct place_notes places;
};

static int push_change(struct batch *b, struct change c, struct err *e)
{
	if (b->count == b->room) {
		size_t room = b->room ? 2 * b->room : 64;
		struct change *more = reallocarray(b->items, room, sizeof(*more));

		if (!more)
			return err_nomem(e);
		b->items = more;
		b->room = room;
	}
	c.staged = true;
	b->items[b->count++] = c;
	if (c.new)
		c.new->staged = (unsigned)b->count;
	return 0;
}

/* A link that VNICs can be put over while the new etherstub or VLAN itself is not there yet. */
static int stand_in(struct daemon *d, const struct vlink *stub)
{
	struct sys_link l = {.ifindex = -(int)stub->s.n, .type = ARPHRD_ETHER, .mtu = want_mtu(d, stub)};

	memcpy(l.name, stub->s.name, sizeof(l.name));
	snprintf(l.kind, sizeof(l.kind), stub->s.class == CLASS_VLAN ? "vlan" : "bridge");
	snprintf(l.alias, sizeof(l.alias), "vnicd:%s:%u", store_uuid(d->store), stub->s.n);
	return slink_put(d, &l);
}

/* What goes and has v's name or MAC must be gone before v comes. */
static void hurry(struct batch *b, const struct vlink *v)
{
	for (size_t i = 0; i < b->count; i++) {
		struct change *c = &b->items[i];

		if (c->old && !c->new &&
		    (!strcmp(c->old->s.name, v->s.name) || mac_equal(c->old->s.mac, v->s.mac)))
			c->early = true;
	}
}

/* Takes over v. */
static int stage_new(struct batch *b, struct vlink *v, struct err *e)
{
	int r = save_number(b->d, v, e);

	if (r == 0)
		r = push_change(b, (struct change){.new = v}, e);
	if (r < 0) {
		vlink_free(v);
		return r;
	}
	hurry(b, v);
	world_add(b->d, v);
	return !class_shaped(v->s.class) && stand_in(b->d, v) < 0 ? err_nomem(e) : 0;
}

static struct vlink *find_vlan(const struct slink *parent, uint16_t vid)
{
	struct vlink *v;

	DL_FOREACH (parent->above, v)
		if (v->s.class == CLASS_VLAN && v->s.vid == vid)
			return v;
	return NULL;
}

static int stage_vlan(struct batch *b, struct slink *parent, uint16_t vid, struct vlink **ret, struct err *e)
{
	int r;

	*ret = find_vlan(parent, vid);
	if (*ret)
		return 0;
	*ret = vlink_new();
	if (!*ret)
		return err_nomem(e);
	r = change_build_vlan(b->d, parent, vid, *ret, e);
	if (r < 0) {
		vlink_free(*ret);
		return r;
	}
	return stage_new(b, *ret, e);
}

/* The same VNIC over the VLAN link, which is made if need be. */
static int put_on_vlan(struct batch *b, const json_t *params, json_t **ret, struct err *e)
{
	const json_t *vid = json_object_get(params, "vid");
	const char *link = change_text(params, "link");
	struct slink *parent;
	struct vlink *vlan;
	int r;

	*ret = json_copy((json_t *)params);
	if (!vid || !link)
		return 0;
	r = check_vid(link, json_integer_value(vid), e);
	if (r == 0)
		r = check_parent(b->d, link, &parent, e);
	if (r == 0)
		r = stage_vlan(b, parent, (uint16_t)json_integer_value(vid), &vlan, e);
	if (r == 0)
		json_object_set_new(*ret, "link", json_string(vlan->s.name));
	return r;
}

static int stage_vnic(struct batch *b, const json_t *params, struct err *e)
{
	struct vlink *v = vlink_new();
	struct slink *parent;
	int r;

	if (!v)
		return err_nomem(e);
	v->s.class = CLASS_VNIC;
	v->s.down = json_is_true(json_object_get(params, "down"));
	r = change_build_vnic(b->d, params, v, &parent, e);
	if (r < 0) {
		vlink_free(v);
		return r;
	}
	if (!parent->vnics)
		change_note_driver(parent, b->notes);
	if (b->all_names || !change_text(params, "name"))
		json_array_append_new(b->names, json_string(v->s.name));
	return stage_new(b, v, e);
}

static int stage_create_vnic(struct batch *b, const json_t *params, struct err *e)
{
	json_t *own;
	int r = put_on_vlan(b, params, &own, e);

	if (r == 0)
		r = stage_vnic(b, own, e);
	json_decref(own);
	return r;
}

static int stage_create_stub(struct batch *b, const json_t *params, struct err *e)
{
	struct vlink *v = vlink_new();
	int r;

	if (!v)
		return err_nomem(e);
	v->s.class = CLASS_ETHERSTUB;
	r = change_build_stub(b->d, params, v, e);
	if (r < 0) {
		vlink_free(v);
		return r;
	}
	return stage_new(b, v, e);
}

static int stage_delete(struct batch *b, struct vlink *v, struct err *e)
{
	struct change *c = v->staged ? &b->items[v->staged - 1] : NULL;
	int r = c ? 0 : push_change(b, (struct change){.old = v}, e);

	if (r < 0)
		return r;
	world_take(b->d, v);
	if (!c)
		return 0;
	slink_drop(b->d, -(int)v->s.n);
	if (c->old)
		flows_hand_over(c->old);
	c->new = vlink_free(v);
	return 0;
}

/* What is above a link for its VNICs' sake goes with the last of them. */
static int stage_idle_vlan(struct batch *b, struct vlink *vlan, struct err *e)
{
	const struct slink *s = slink_by_name(b->d, vlan->s.name);

	return s && s->above ? 0 : stage_delete(b, vlan, e);
}

static int stage_with_vlan(struct batch *b, struct vlink *v, struct err *e)
{
	struct vlink *vlan = vlink_vlan(b->d, v);
	int r = stage_delete(b, v, e);

	return r == 0 && vlan ? stage_idle_vlan(b, vlan, e) : r;
}

static int stage_deletes(struct batch *b, const json_t *params, enum link_class class, struct err *e)
{
	const json_t *names = json_object_get(params, "names");
	struct vlink *v;
	json_t *n;
	size_t i;
	int r = json_array_size(names) ? 0 : err_user(e, -EINVAL, "names", "name what to delete");

	for (i = 0; r == 0 && i < json_array_size(names); i++) {
		n = json_array_get(names, i);
		r = change_deletable(b->d, json_string_value(n), class, &v, e);
		if (r == 0)
			flowshow_going(v, b->notes);
		if (r == 0)
			r = stage_with_vlan(b, v, e);
	}
	return r;
}

static int stage_delete_vnic(struct batch *b, const json_t *params, struct err *e)
{
	return stage_deletes(b, params, CLASS_VNIC, e);
}

static int stage_delete_stub(struct batch *b, const json_t *params, struct err *e)
{
	return stage_deletes(b, params, CLASS_ETHERSTUB, e);
}

static int replace_staged(struct batch *b, struct change *change, struct err *e)
{
	struct change *c = change->old->staged ? &b->items[change->old->staged - 1] : NULL;
	int r = c ? 0 : push_change(b, *change, e);

	if (r < 0)
		return r;
	world_take(b->d, change->old);
	world_add(b->d, change->new);
	if (change->new->s.class == CLASS_ETHERSTUB && slink_find(b->d, -(int)change->new->s.n))
		r = stand_in(b->d, change->new) < 0 ? err_nomem(e) : 0;
	if (c) {
		vlink_free(change->old);
		c->new = change->new;
		c->placed |= change->placed;
	}
	return r;
}

/* Takes over what was built, or not with r. */
static int stage_change(struct batch *b, struct change change, int r, struct err *e)
{
	if (r == 0 && !change.old->staged && class_shaped(change.old->s.class) &&
	    !change_is_there(b->d, change.old))
		r = err_user(e, -EAGAIN, change.old->s.name,
			     "it is not there now: change it by a command of its own");
	if (r == 0)
		r = replace_staged(b, &change, e);
	else
		vlink_free(change.new);
	return r;
}

static int stage_props(struct batch *b, const json_t *params, edit_fn *edit, struct err *e)
{
	struct change change = {0};
	int r = change_build(b->d, params, edit, &change, e);

	if (r == 0 && !change.new)
		return change.old ? stage_delete(b, change.old, e) : 0;
	if (r == 0 && !change.old)
		return stage_new(b, change.new, e);
	return stage_change(b, change, r, e);
}

/* A name that another link of the batch still has is free in time only when that link's turn comes first. */
static int check_turn(struct batch *b, const struct change *rename, struct err *e)
{
	size_t turn = rename->old->staged ? rename->old->staged - 1 : b->count;

	for (size_t i = turn + 1; i < b->count; i++)
		if (b->items[i].old && !strcmp(b->items[i].old->s.name, rename->new->s.name))
			return err_user(e, -EBUSY, rename->old->s.name,
					"%s becomes free later in this batch than %s is first named: "
					"rename it by another command",
					rename->new->s.name, rename->old->s.name);
	hurry(b, rename->new);
	return 0;
}

static int stage_rename(struct batch *b, const json_t *params, struct err *e)
{
	struct change change = {0};
	int r = change_build_rename(b->d, params, &change, b->notes, e);

	if (r == 0)
		r = check_turn(b, &change, e);
	return stage_change(b, change, r, e);
}

static int stage_set(struct batch *b, const json_t *params, struct err *e)
{
	return stage_props(b, params, change_edit_set, e);
}

static int stage_reset(struct batch *b, const json_t *params, struct err *e)
{
	return stage_props(b, params, change_edit_reset, e);
}

static const struct {
	const char *method;
	int (*fn)(struct batch *b, const json_t *params, struct err *e);
} stages[] = {
	{"CreateVnic", stage_create_vnic},      {"DeleteVnic", stage_delete_vnic},
	{"CreateEtherstub", stage_create_stub}, {"DeleteEtherstub", stage_delete_stub},
	{"RenameLink", stage_rename},           {"SetLinkprop", stage_set},
	{"ResetLinkprop", stage_reset},
};

static int stage_one(struct batch *b, const json_t *command, struct err *e)
{
	const char *method = change_text(command, "method");
	json_t *params = json_object_get(command, "parameters");
	const char *bad;

	for (size_t i = 0; method && json_is_object(params) && i < sizeof(stages) / sizeof(*stages); i++) {
		if (strcmp(stages[i].method, method) != 0)
			continue;
		bad = request_bad_param(method, params);
		return bad ? err_user(e, -EINVAL, bad, "not a parameter of %s", method)
			   : stages[i].fn(b, params, e);
	}
	return err_user(e, -EINVAL, NULL, "not a command for a batch");
}

/* An error gets the line it comes from. */
static void name_line(struct err *e, json_int_t line)
{
	char text[sizeof(e->text)];

	if (!line)
		return;
	err_str(e, text, sizeof(text));
	memcpy(e->text, text, sizeof(text));
	snprintf(e->object, sizeof(e->object), "line %lld", (long long)line);
}

static int stage_all(struct batch *b, const json_t *commands, struct err *e)
{
	json_t *command;
	size_t i;

	json_array_foreach (commands, i, command) {
		int r = stage_one(b, command, e);

		if (r < 0) {
			name_line(e, json_integer_value(json_object_get(command, "line")));
			return r;
		}
	}
	return 0;
}

static void unstage(struct batch *b)
{
	for (size_t i = b->count; i-- > 0;) {
		struct change *c = &b->items[i];

		if (c->new) {
			world_take(b->d, c->new);
			slink_drop(b->d, -(int)c->new->s.n);
			vlink_free(c->new);
		}
		if (c->old)
			world_put_back(b->d, c->old);
	}
}

/* What was made and deleted again in one batch is no change. */
static void drop_nothings(struct batch *b)
{
	size_t kept = 0;

	for (size_t i = 0; i < b->count; i++)
		if (b->items[i].old || b->items[i].new)
			b->items[kept++] = b->items[i];
	b->count = kept;
}

/* Where VNICs are once all is done: later commands may move or delete what earlier ones made. */
static void note_places(struct batch *b)
{
	for (size_t i = 0; i < b->count; i++)
		change_note_place(b->d, &b->items[i], b->notes, &b->places);
}

static int run_batch(struct batch *b, const json_t *commands, struct err *e)
{
	bool dry = b->d->dry;
	int r = dry ? 0 : store_begin(b->d->store, e);

	if (r < 0)
		return r;
	r = stage_all(b, commands, e);
	drop_nothings(b);
	if (r == 0)
		note_places(b);
	if (r == 0 && b->count)
		r = reconcile_batch(b->d, b->items, b->count, e);
	else if (!dry)
		store_rollback(b->d->store);
	if (r < 0 || dry)
		unstage(b);
	return r;
}

static void reply_alone(struct call *c, struct batch *b)
{
	json_t *name = json_array_get(b->names, 0), *reply = json_pack("{s:o}", "notes", b->notes);

	if (name)
		json_object_set(reply, "name", name);
	json_decref(b->names);
	dryrun_reply(b->d, reply);
	call_reply(c, reply, false);
}

void change_alone(struct daemon *d, struct call *c, const char *method)
{
	struct batch b = {.d = d, .notes = json_array(), .names = json_array(), .all_names = true};
	json_t *params = json_copy(call_params(c));
	json_t *commands = json_pack("[{s:s, s:O}]", "method", method, "parameters", params);
	struct err e = {0};

	json_object_del(params, "dryrun"); /* the whole is one */
	if (run_batch(&b, commands, &e) < 0) {
		json_decref(b.notes);
		json_decref(b.names);
		call_fail(c, &e);
	} else {
		reply_alone(c, &b);
	}
	json_decref(commands);
	json_decref(params);
	free(b.items);
}

static void change_links(struct daemon *d, struct call *c)
{
	struct batch b = {.d = d, .notes = json_array(), .names = json_array()};
	struct err e = {0};
	json_t *reply;

	if (run_batch(&b, json_object_get(call_params(c), "commands"), &e) < 0) {
		json_decref(b.notes);
		json_decref(b.names);
		call_fail(c, &e);
	} else {
		change_note_more(&b.places, b.notes);
		reply = json_pack("{s:o, s:o}", "names", b.names, "notes", b.notes);
		dryrun_reply(d, reply);
		call_reply(c, reply, false);
	}
	free(b.items);
}

/* Commands of links and of flows do not mix: the first one tells which they are. */
static bool is_of_flows(const json_t *commands)
{
	return flowchange_is(change_text(json_array_get(commands, 0), "method"));
}

void change_batch(struct daemon *d, struct call *c)
{
	if (is_of_flows(json_object_get(call_params(c), "commands")))
		flowchange_batch(d, c);
	else
		change_links(d, c);
}
