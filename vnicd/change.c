/* SPDX-License-Identifier: GPL-2.0-or-later */
/* From a request's parameters to changes of the desired world. Checks are check.c's, the doing is
 * reconcile.c's. */
#include "vnicd/change.h"

#include "vnicd/check.h"
#include "vnicd/observe.h"
#include "vnicd/parent.h"
#include "vnicd/reconcile.h"
#include "vnicd/request.h"
#include "vnicd/save.h"
#include "vnicd/session.h"
#include "vnicd/want.h"

#include <errno.h>
#include <linux/if_arp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* An empty string is the same as none: varlink clients send both. */
static const char *text_param(const json_t *params, const char *key)
{
	const char *s = json_string_value(json_object_get(params, key));

	return s && s[0] ? s : NULL;
}

/* Replies with name (unless NULL) and notes. */
static void reply_done(struct call *c, const char *name, json_t *notes)
{
	json_t *reply = json_pack("{s:o}", "notes", notes);

	if (name)
		json_object_set_new(reply, "name", json_string(name));
	call_reply(c, reply, false);
}

static void note(json_t *notes, const char *level, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
static void note(json_t *notes, const char *level, const char *fmt, ...)
{
	char text[600];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	json_array_append_new(notes, json_pack("{s:s, s:s}", "level", level, "text", text));
}

/* Sets every property of the list in p, which is v's; one given twice is an error. */
static int set_values(struct vlink *v, struct props *p, const json_t *list, struct err *e)
{
	bool given[PROP_COUNT] = {false};
	json_t *given_one;
	size_t i;

	json_array_foreach (list, i, given_one) {
		const char *name = json_string_value(json_object_get(given_one, "name"));
		const char *value = json_string_value(json_object_get(given_one, "value"));
		enum prop_id id;
		int r;

		if (!name || !value)
			return err_user(e, -EINVAL, v->s.name, "a property needs a name and a value");
		r = prop_find(v->s.name, v->s.class, link_class_str(v->s.class), name, true, &id, e);
		if (r == 0 && given[id])
			r = err_user(e, -EINVAL, v->s.name, "%s is given twice", name);
		if (r == 0)
			r = prop_set(p, v->s.name, id, value, e);
		if (r < 0)
			return r;
		given[id] = true;
	}
	return 0;
}

/* temp: until the next boot. What is in a link for this boot only goes with it anyway. */
static int set_props(struct vlink *v, const json_t *list, bool temp, struct err *e)
{
	int r = set_values(v, &v->props, list, e);

	return r < 0 || (temp && !v->s.temp) ? r : set_values(v, &v->kept, list, e);
}

static bool temporary(const json_t *params)
{
	return json_is_true(json_object_get(params, "temporary"));
}

/* A VNIC beside its parent can be reached around its cap, and cannot talk to the host over it. */
static void note_place(struct daemon *d, const struct vlink *v, json_t *notes)
{
	char over[IFNAMSIZ];

	vlink_over(d, v, over);
	if (v->s.class != CLASS_VNIC || v->s.over || prop_zone(&v->props)[0])
		return;
	if (prop_isolate(&v->props))
		note(notes, "note",
		     "this host and %s cannot reach each other over %s: between their addresses traffic "
		     "stays in this "
		     "host, uncapped (use -p zone=NAME)",
		     v->s.name, over);
	else
		note(notes, "note",
		     "%s is in %s's namespace: addresses in %s's subnet bypass it, uncapped (use -p "
		     "zone=NAME or isolate=on); "
		     "this host and %s cannot reach each other over %s",
		     v->s.name, over, over, v->s.name, over);
}

static void note_driver(const struct slink *parent, json_t *notes)
{
	char driver[32];
	const char *warning = parent_driver_warning(parent_driver(parent->l.name, driver));

	if (warning)
		note(notes, "warning", "%s is %s", parent->l.name, warning);
}

static int set_parent(struct daemon *d, struct vlink *v, struct slink *parent, struct err *e)
{
	enum link_class class;
	struct vlink *stub = vlink_of_sys(d, &parent->l, &class);

	v->below = parent;
	if (stub && stub->s.temp && !v->s.temp)
		return err_user(e, -EINVAL, stub->s.name,
				"it is temporary, and so is what is over it: use -t");
	if (stub) {
		v->s.over = stub->s.n;
		return 0;
	}
	v->parent.perm_mac = parent->l.perm_mac;
	memcpy(v->parent.bus, parent->l.bus, sizeof(v->parent.bus));
	memcpy(v->parent.name, parent->l.name, sizeof(v->parent.name));
	return store_ident_put(d->store, &v->parent, &v->s.parent_row, e);
}

static int name_link(struct daemon *d, struct vlink *v, const char *name, struct err *e)
{
	if (!name) {
		check_next_name(d, v->s.name);
		return 0;
	}
	if (strlen(name) < sizeof(v->s.name))
		memcpy(v->s.name, name, strlen(name) + 1);
	return check_new_name(d, name, e);
}

static int run_create(struct daemon *d, struct vlink *v, struct err *e)
{
	struct change change = {.new = v};

	return reconcile_run(d, &change, 1, e);
}

static int build_vnic(struct daemon *d, const json_t *c, struct vlink *v, struct slink **ret_parent,
		      struct err *e)
{
	const char *link = text_param(c, "link");
	int r;

	if (!link)
		return err_user(e, -EINVAL, "link", "name the link the VNIC goes over");
	v->s.temp = temporary(c);
	r = check_parent(d, link, ret_parent, e);
	if (r == 0)
		r = name_link(d, v, text_param(c, "name"), e);
	if (r == 0)
		r = set_props(v, json_object_get(c, "props"), v->s.temp, e);
	if (r == 0)
		r = set_parent(d, v, *ret_parent, e);
	if (r == 0)
		r = check_mac(d, v, text_param(c, "mac"), text_param(c, "prefix"), e);
	return r < 0 ? r : check_props(d, v, NULL, e);
}

void change_create_vnic(struct daemon *d, struct call *c)
{
	struct vlink *v = vlink_new();
	struct slink *parent = NULL;
	json_t *notes = json_array();
	struct err e = {0};

	if (!v || !notes) {
		err_nomem(&e);
		goto fail;
	}
	v->s.class = CLASS_VNIC;
	v->s.down = json_is_true(json_object_get(call_params(c), "down"));
	if (build_vnic(d, call_params(c), v, &parent, &e) < 0 || run_create(d, v, &e) < 0)
		goto fail;
	note_place(d, v, notes);
	note_driver(parent, notes);
	reply_done(c, v->s.name, notes);
	return;
fail:
	vlink_free(v);
	json_decref(notes);
	call_fail(c, &e);
}

static int build_stub(struct daemon *d, const json_t *c, struct vlink *v, struct err *e)
{
	const char *name = text_param(c, "name");
	int r;

	if (!name)
		return err_user(e, -EINVAL, "name", "give the etherstub a name");
	v->s.temp = temporary(c);
	r = name_link(d, v, name, e);
	if (r == 0)
		r = set_props(v, json_object_get(c, "props"), v->s.temp, e);
	if (r == 0)
		r = check_mac(d, v, NULL, NULL, e);
	return r < 0 ? r : check_props(d, v, NULL, e);
}

void change_create_etherstub(struct daemon *d, struct call *c)
{
	struct vlink *v = vlink_new();
	struct err e = {0};

	if (!v)
		err_nomem(&e);
	else
		v->s.class = CLASS_ETHERSTUB;
	if (!v || build_stub(d, call_params(c), v, &e) < 0 || run_create(d, v, &e) < 0) {
		vlink_free(v);
		call_fail(c, &e);
		return;
	}
	reply_done(c, NULL, json_array());
}

/* Deleting */

static const char *const delete_verbs[] = {
	[CLASS_VNIC] = "delete-vnic", [CLASS_ETHERSTUB] = "delete-etherstub"};

static int refuse_used_stub(struct daemon *d, const struct vlink *stub, struct err *e)
{
	char users[300] = "";
	size_t len = 0;
	struct vlink *v, *next;

	HASH_ITER (hh_n, d->by_n, v, next)
		if (v->s.over == stub->s.n && len < sizeof(users))
			len += (size_t)snprintf(users + len, sizeof(users) - len, "%s%s", len ? " " : "",
						v->s.name);
	if (!len)
		return 0;
	return err_user(e, -EBUSY, stub->s.name, "VNICs are on it (%s): delete them first", users);
}

static int deletable(struct daemon *d, const char *name, enum link_class class, struct vlink **ret,
		     struct err *e)
{
	char buf[IFNAMSIZ];
	struct slink *s;
	struct vlink *v;

	if (!name)
		return err_user(e, -EINVAL, "names", "not a list of link names");
	name = observe_name(d, name, buf);
	v = vlink_find(d, name);
	s = slink_by_name(d, name);
	if (!v && s && !check_going(d, &s->l))
		return err_user(e, -EINVAL, name, "not %s: vnicd did not make it",
				class == CLASS_VNIC ? "a VNIC" : "an etherstub");
	if (!v)
		return err_user(e, -ENODEV, name, "no such %s", class == CLASS_VNIC ? "VNIC" : "etherstub");
	if (v->s.class != class)
		return err_user(e, -EINVAL, name, "it is %s: use %s",
				v->s.class == CLASS_VNIC ? "a VNIC" : "an etherstub",
				delete_verbs[v->s.class]);
	*ret = v;
	return class == CLASS_ETHERSTUB ? refuse_used_stub(d, v, e) : 0;
}

static int collect_deletes(struct daemon *d, const json_t *names, enum link_class class,
			   struct change *changes, struct err *e)
{
	json_t *n;
	size_t i;

	json_array_foreach (names, i, n) {
		int r = deletable(d, json_string_value(n), class, &changes[i].old, e);

		if (r < 0)
			return r;
		for (size_t j = 0; j < i; j++)
			if (changes[j].old == changes[i].old)
				return err_user(e, -EINVAL, json_string_value(n), "given twice");
	}
	return 0;
}

static void delete_all(struct daemon *d, struct call *c, enum link_class class)
{
	const json_t *names = json_object_get(call_params(c), "names");
	size_t count = json_array_size(names);
	struct change *changes = calloc(count + 1, sizeof(*changes));
	struct err e = {0};
	int r;

	if (!changes)
		r = err_nomem(&e);
	else if (!count)
		r = err_user(&e, -EINVAL, "names", "name what to delete");
	else
		r = collect_deletes(d, names, class, changes, &e);
	if (r == 0)
		r = reconcile_run(d, changes, count, &e);
	free(changes);
	if (r < 0)
		call_fail(c, &e);
	else
		reply_done(c, NULL, json_array());
}

void change_delete_vnic(struct daemon *d, struct call *c)
{
	delete_all(d, c, CLASS_VNIC);
}

void change_delete_etherstub(struct daemon *d, struct call *c)
{
	delete_all(d, c, CLASS_ETHERSTUB);
}

/* Properties */

/* A property of a link that is not ours: always an error, and which one says why. */
static int refuse_foreign(struct daemon *d, const struct sys_link *l, const char *prop, struct err *e)
{
	enum prop_id id;
	int r = prop_find(l->name, CLASS_OTHER, sys_class(d, l), prop, true, &id, e);

	return r < 0 ? r
		     : err_user(e, -EOPNOTSUPP, l->name, "%s cannot be set on a %s link", prop,
				sys_class(d, l));
}

static const char *first_prop(const json_t *list)
{
	const json_t *p = json_array_get(list, 0);
	const char *name =
		json_is_string(p) ? json_string_value(p) : json_string_value(json_object_get(p, "name"));

	return name ? name : "mtu";
}

static int find_changeable(struct daemon *d, const json_t *c, struct vlink **ret, struct err *e)
{
	const char *name = text_param(c, "link");
	const json_t *props = json_object_get(c, "props");
	char buf[IFNAMSIZ];
	struct slink *s;

	if (!name)
		return err_user(e, -EINVAL, "link", "name the link");
	name = observe_name(d, name, buf);
	*ret = vlink_find(d, name);
	if (*ret)
		return 0;
	s = slink_by_name(d, name);
	return s && !check_going(d, &s->l) ? refuse_foreign(d, &s->l, first_prop(props), e)
					   : err_user(e, -ENODEV, name, "no such link");
}

static int reset_values(struct vlink *v, struct props *p, const json_t *list, struct err *e)
{
	enum prop_id id;
	json_t *n;
	size_t i;

	if (!json_array_size(list)) {
		props_free(p);
		return 0;
	}
	json_array_foreach (list, i, n) {
		const char *name = json_string_value(n);
		int r = prop_find(v->s.name, v->s.class, link_class_str(v->s.class), name ? name : "", true,
				  &id, e);

		if (r < 0)
			return r;
		prop_reset(p, id);
	}
	return 0;
}

static int reset_props(struct vlink *v, const json_t *list, bool temp, struct err *e)
{
	int r = reset_values(v, &v->props, list, e);

	return r < 0 || (temp && !v->s.temp) ? r : reset_values(v, &v->kept, list, e);
}

static bool is_there(struct daemon *d, struct vlink *v)
{
	return v->below && observe_locate(d, v);
}

/* A link that is not there now is changed in the books, and made if it can be. */
static int run_change(struct daemon *d, struct change *c, json_t *notes, struct err *e)
{
	int r;

	if (is_there(d, c->old) || c->old->s.class == CLASS_ETHERSTUB)
		return reconcile_run(d, c, 1, e);
	r = reconcile_store(d, c->old, c->new, e);
	if (r == 0 && c->new->trouble != TROUBLE_NONE)
		note(notes, "warning", "%s: stored; it is not there now: %s", c->new->s.name, c->new->why);
	return r;
}

typedef int edit_fn(struct vlink *v, const json_t *list, bool temp, struct err *e);

/* ret->new is a copy of the link with the change made and checked; it is the caller's, also on failure. */
static int build_change(struct daemon *d, const json_t *c, edit_fn *edit, struct change *ret, json_t *notes,
			struct err *e)
{
	int r = find_changeable(d, c, &ret->old, e);

	if (r < 0)
		return r;
	ret->new = vlink_copy(ret->old);
	if (!ret->new)
		return err_nomem(e);
	if (ret->old->s.temp && !temporary(c))
		return err_user(e, -EINVAL, ret->old->s.name,
				"it is temporary, and so are its properties: use -t");
	r = edit(ret->new, json_object_get(c, "props"), temporary(c), e);
	if (r == 0)
		r = check_props(d, ret->new, ret->old, e);
	if (r < 0)
		return r;
	if (strcmp(prop_zone(&ret->new->props), prop_zone(&ret->old->props)) != 0)
		ret->new->moved = false;
	if (strcmp(vlink_zone(ret->new), vlink_zone(ret->old)) != 0 ||
	    prop_isolate(&ret->new->props) != prop_isolate(&ret->old->props))
		note_place(d, ret->new, notes);
	return 0;
}

/* Runs a change of v's properties; edit makes it on a copy. */
static void change_props(struct daemon *d, struct call *c, edit_fn *edit)
{
	struct change change = {0};
	json_t *notes = json_array();
	struct err e = {0};

	if (build_change(d, call_params(c), edit, &change, notes, &e) < 0)
		goto fail;
	if (run_change(d, &change, notes, &e) < 0)
		goto fail;
	reply_done(c, NULL, notes);
	return;
fail:
	vlink_free(change.new);
	json_decref(notes);
	call_fail(c, &e);
}

static int find_renamable(struct daemon *d, const json_t *c, struct vlink **ret, struct err *e)
{
	const char *link = text_param(c, "link"), *name = text_param(c, "name");
	char buf[IFNAMSIZ];
	struct slink *s;

	if (!link || !name)
		return err_user(e, -EINVAL, link ? "name" : "link", "give the link and its new name");
	link = observe_name(d, link, buf);
	*ret = vlink_find(d, link);
	if (*ret)
		return 0;
	s = slink_by_name(d, link);
	return s && !check_going(d, &s->l)
		       ? err_user(e, -EOPNOTSUPP, link,
				  "vnicd did not make it: use 'ip link set dev %s name %s'", link, name)
		       : err_user(e, -ENODEV, link, "no such link");
}

/* ret as of build_change(). */
static int build_rename(struct daemon *d, const json_t *c, struct change *ret, json_t *notes, struct err *e)
{
	const char *name = text_param(c, "name");
	struct sys_link l;
	int r = find_renamable(d, c, &ret->old, e);

	if (r < 0)
		return r;
	ret->new = vlink_copy(ret->old);
	if (!ret->new)
		return err_nomem(e);
	if (strcmp(name, ret->old->s.name) != 0)
		r = name_link(d, ret->new, name, e);
	if (r == 0)
		r = check_rename(d, ret->new, ret->old, e);
	if (r == 0 && observe_vlink_sys(d, ret->old, &l) == 0 && strcmp(l.name, ret->old->s.name) != 0)
		note(notes, "note", "its user calls it %s, and will go on to", l.name);
	return r;
}

void change_rename_link(struct daemon *d, struct call *c)
{
	struct change change = {0};
	json_t *notes = json_array();
	struct err e = {0};

	if (build_rename(d, call_params(c), &change, notes, &e) < 0 ||
	    run_change(d, &change, notes, &e) < 0) {
		vlink_free(change.new);
		json_decref(notes);
		call_fail(c, &e);
		return;
	}
	reply_done(c, NULL, notes);
}

static int edit_set(struct vlink *v, const json_t *list, bool temp, struct err *e)
{
	if (!json_array_size(list))
		return err_user(e, -EINVAL, v->s.name, "no property given: say -p PROPERTY=VALUE");
	return set_props(v, list, temp, e);
}

void change_set_linkprop(struct daemon *d, struct call *c)
{
	change_props(d, c, edit_set);
}

void change_reset_linkprop(struct daemon *d, struct call *c)
{
	change_props(d, c, reset_props);
}

/*
 * Batch: the world is changed command by command, so that each is checked against what those before it make;
 * then all is done at once. Whatever fails, the world goes back to what it was.
 */

struct batch {
	struct daemon *d;
	struct change *items;
	size_t count, room;
	json_t *notes, *names;
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

/* A link that VNICs can be put over while the new etherstub itself is not there yet. */
static int stand_in(struct daemon *d, const struct vlink *stub)
{
	struct sys_link l = {.ifindex = -(int)stub->s.n, .type = ARPHRD_ETHER, .mtu = want_mtu(d, stub)};

	memcpy(l.name, stub->s.name, sizeof(l.name));
	snprintf(l.kind, sizeof(l.kind), "bridge");
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
	return v->s.class == CLASS_ETHERSTUB && stand_in(b->d, v) < 0 ? err_nomem(e) : 0;
}

static int stage_create_vnic(struct batch *b, const json_t *params, struct err *e)
{
	struct vlink *v = vlink_new();
	struct slink *parent;
	int r;

	if (!v)
		return err_nomem(e);
	v->s.class = CLASS_VNIC;
	v->s.down = json_is_true(json_object_get(params, "down"));
	r = build_vnic(b->d, params, v, &parent, e);
	if (r < 0) {
		vlink_free(v);
		return r;
	}
	note_place(b->d, v, b->notes);
	if (!parent->above)
		note_driver(parent, b->notes);
	if (!text_param(params, "name"))
		json_array_append_new(b->names, json_string(v->s.name));
	return stage_new(b, v, e);
}

static int stage_create_stub(struct batch *b, const json_t *params, struct err *e)
{
	struct vlink *v = vlink_new();
	int r;

	if (!v)
		return err_nomem(e);
	v->s.class = CLASS_ETHERSTUB;
	r = build_stub(b->d, params, v, e);
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
	c->new = vlink_free(v);
	return 0;
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
		r = deletable(b->d, json_string_value(n), class, &v, e);
		if (r == 0)
			r = stage_delete(b, v, e);
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
	}
	return r;
}

/* Takes over what was built, or not with r. */
static int stage_change(struct batch *b, struct change change, int r, struct err *e)
{
	if (r == 0 && !change.old->staged && change.old->s.class == CLASS_VNIC && !is_there(b->d, change.old))
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
	int r = build_change(b->d, params, edit, &change, b->notes, e);

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
	int r = build_rename(b->d, params, &change, b->notes, e);

	if (r == 0)
		r = check_turn(b, &change, e);
	return stage_change(b, change, r, e);
}

static int stage_set(struct batch *b, const json_t *params, struct err *e)
{
	return stage_props(b, params, edit_set, e);
}

static int stage_reset(struct batch *b, const json_t *params, struct err *e)
{
	return stage_props(b, params, reset_props, e);
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
	const char *method = text_param(command, "method");
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

static int run_batch(struct batch *b, const json_t *commands, struct err *e)
{
	int r = store_begin(b->d->store, e);

	if (r < 0)
		return r;
	r = stage_all(b, commands, e);
	drop_nothings(b);
	if (r < 0 || !b->count)
		store_rollback(b->d->store);
	else
		r = reconcile_batch(b->d, b->items, b->count, e);
	if (r < 0)
		unstage(b);
	return r;
}

void change_batch(struct daemon *d, struct call *c)
{
	struct batch b = {.d = d, .notes = json_array(), .names = json_array()};
	struct err e = {0};
	json_t *reply;

	if (run_batch(&b, json_object_get(call_params(c), "commands"), &e) < 0) {
		json_decref(b.notes);
		json_decref(b.names);
		call_fail(c, &e);
	} else {
		reply = json_pack("{s:o, s:o}", "names", b.names, "notes", b.notes);
		call_reply(c, reply, false);
	}
	free(b.items);
}
