/* SPDX-License-Identifier: GPL-2.0-or-later */
/* From a request's parameters to changes of the desired world. Checks are check.c's, the doing is
 * reconcile.c's. */
#include "vnicd/change.h"

#include "vnicd/change_build.h"
#include "vnicd/check.h"
#include "vnicd/dryrun.h"
#include "vnicd/flowshow.h"
#include "vnicd/foreign.h"
#include "vnicd/observe.h"
#include "vnicd/parent.h"
#include "vnicd/reconcile.h"
#include "vnicd/session.h"
#include "vnicd/unknown.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* An empty string is the same as none: varlink clients send both. */
const char *change_text(const json_t *params, const char *key)
{
	const char *s = json_string_value(json_object_get(params, key));

	return s && s[0] ? s : NULL;
}

/* Replies with name (unless NULL) and notes. */
static void reply_done(const struct daemon *d, struct call *c, const char *name, json_t *notes)
{
	json_t *reply = json_pack("{s:o}", "notes", notes);

	if (name)
		json_object_set_new(reply, "name", json_string(name));
	dryrun_reply(d, reply);
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
	json_array_append_new(notes, json_pack("{s:s, s:o}", "level", level, "text", call_text(text)));
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
		r = prop_find(v->s.name, v->s.class, foreign_class(v), name, true, &id, e);
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

/* In another namespace than its parent, whose addresses are out of its reach. */
static bool is_apart(struct daemon *d, const struct vlink *v, struct place_notes *p)
{
	if (v->s.class != CLASS_VNIC || v->s.over || !prop_zone(&v->props)[0] || !v->below)
		return false;
	if (p->parent != v->below->l.ifindex)
		p->addressed = observe_addressed(d, v->below->l.ifindex);
	p->parent = v->below->l.ifindex;
	return p->addressed;
}

static void note_apart(struct daemon *d, const struct vlink *v, json_t *notes)
{
	char buf[IFNAMSIZ];
	const char *over = vlink_over(d, v, buf);

	note(notes, "note",
	     "%s and this host's addresses on %s cannot reach each other over %s: where they must, give the "
	     "host a VNIC over %s and move the addresses there",
	     v->s.name, over, over, over);
}

/* A VNIC beside its parent can be reached around its cap, and cannot talk to the host over it. */
static bool is_beside_parent(const struct vlink *v)
{
	return v->s.class == CLASS_VNIC && !v->s.over && !prop_zone(&v->props)[0];
}

static void note_beside(struct daemon *d, const struct vlink *v, json_t *notes)
{
	char over[IFNAMSIZ];

	vlink_over(d, v, over);
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

/* Is it where it was before, and as it was there? */
static bool stays_put(const struct change *c)
{
	return c->old && !strcmp(vlink_zone(c->new), vlink_zone(c->old)) &&
	       prop_isolate(&c->new->props) == prop_isolate(&c->old->props);
}

void change_note_place(struct daemon *d, const struct change *c, json_t *notes, struct place_notes *p)
{
	const struct vlink *v = c->new;

	if (!v || v->s.class != CLASS_VNIC || stays_put(c))
		return;
	if (is_beside_parent(v) && p->beside++ == 0)
		note_beside(d, v, notes);
	else if (is_apart(d, v, p) && p->apart++ == 0)
		note_apart(d, v, notes);
}

static void note_more(const char *what, unsigned count, json_t *notes)
{
	if (count > 1)
		note(notes, "note", "the same holds for %u more VNIC%s of this batch%s", count - 1,
		     count > 2 ? "s" : "", what);
}

void change_note_more(const struct place_notes *p, json_t *notes)
{
	bool both = p->beside && p->apart;

	note_more(both ? " in this namespace" : "", p->beside, notes);
	note_more(both ? " in zones" : "", p->apart, notes);
}

void change_note_driver(const struct slink *parent, json_t *notes)
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

int change_build_vnic(struct daemon *d, const json_t *c, struct vlink *v, struct slink **ret_parent,
		      struct err *e)
{
	const char *link = change_text(c, "link");
	int r;

	if (!link)
		return err_user(e, -EINVAL, "link", "name the link the VNIC goes over");
	v->s.temp = temporary(c);
	r = check_parent(d, link, ret_parent, e);
	if (r == 0)
		r = name_link(d, v, change_text(c, "name"), e);
	if (r == 0)
		r = set_props(v, json_object_get(c, "props"), v->s.temp, e);
	if (r == 0)
		r = set_parent(d, v, *ret_parent, e);
	if (r == 0)
		r = check_mac(d, v, change_text(c, "mac"), change_text(c, "prefix"), e);
	return r < 0 ? r : check_props(d, v, NULL, e);
}

int change_build_vlan(struct daemon *d, struct slink *parent, uint16_t vid, struct vlink *v, struct err *e)
{
	v->s.class = CLASS_VLAN;
	v->s.vid = vid;
	check_vlan_name(d, parent, vid, v->s.name);
	return set_parent(d, v, parent, e);
}

static void create_vnic(struct daemon *d, struct call *c)
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
	if (change_build_vnic(d, call_params(c), v, &parent, &e) < 0 || run_create(d, v, &e) < 0)
		goto fail;
	change_note_place(d, &(struct change){.new = v}, notes, &(struct place_notes){0});
	change_note_driver(parent, notes);
	reply_done(d, c, v->s.name, notes);
	return;
fail:
	vlink_free(v);
	json_decref(notes);
	call_fail(c, &e);
}

/* One on a VLAN may need a VLAN link first. */
void change_create_vnic(struct daemon *d, struct call *c)
{
	if (json_object_get(call_params(c), "vid"))
		change_alone(d, c, "CreateVnic");
	else
		create_vnic(d, c);
}

int change_build_stub(struct daemon *d, const json_t *c, struct vlink *v, struct err *e)
{
	const char *name = change_text(c, "name");
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
	if (!v || change_build_stub(d, call_params(c), v, &e) < 0 || run_create(d, v, &e) < 0) {
		vlink_free(v);
		call_fail(c, &e);
		return;
	}
	reply_done(d, c, NULL, json_array());
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

int change_deletable(struct daemon *d, const char *name, enum link_class class, struct vlink **ret,
		     struct err *e)
{
	char buf[IFNAMSIZ];
	struct vlink *v;

	if (!name)
		return err_user(e, -EINVAL, "names", "not a list of link names");
	name = observe_name(d, name, buf);
	v = vlink_find(d, name);
	if (!v)
		return unknown_link(d, class == CLASS_VNIC ? UNKNOWN_VNIC : UNKNOWN_ETHERSTUB, name, e);
	if (v->s.class == CLASS_VLAN)
		return err_user(e, -EINVAL, name, "it is a VLAN link, and goes with the last VNIC on it");
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
		int r = change_deletable(d, json_string_value(n), class, &changes[i].old, e);

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
	json_t *notes = json_array();
	struct err e = {0};
	int r;

	if (!changes)
		r = err_nomem(&e);
	else if (!count)
		r = err_user(&e, -EINVAL, "names", "name what to delete");
	else
		r = collect_deletes(d, names, class, changes, &e);
	for (size_t i = 0; r == 0 && i < count; i++)
		flowshow_going(changes[i].old, notes);
	if (r == 0)
		r = reconcile_run(d, changes, count, &e);
	free(changes);
	if (r == 0) {
		reply_done(d, c, NULL, notes);
		return;
	}
	json_decref(notes);
	call_fail(c, &e);
}

static bool any_on_vlan(struct daemon *d, const json_t *names)
{
	struct vlink *v;
	json_t *n;
	size_t i;

	json_array_foreach (names, i, n) {
		v = json_is_string(n) ? vlink_find(d, json_string_value(n)) : NULL;
		if (v && vlink_vlan(d, v))
			return true;
	}
	return false;
}

/* The last one takes its VLAN link along. */
void change_delete_vnic(struct daemon *d, struct call *c)
{
	if (any_on_vlan(d, json_object_get(call_params(c), "names")))
		change_alone(d, c, "DeleteVnic");
	else
		delete_all(d, c, CLASS_VNIC);
}

void change_delete_etherstub(struct daemon *d, struct call *c)
{
	delete_all(d, c, CLASS_ETHERSTUB);
}

/* Properties */

/* Can the property be set on a link that is not ours? A name that none has is told as such. */
static int check_foreign(struct daemon *d, const struct sys_link *l, const char *prop, struct err *e)
{
	enum prop_id id;
	int r = prop_find(l->name, CLASS_FOREIGN, sys_class(d, l), prop, true, &id, e);

	return r < 0 ? r : foreign_check(d, l, e);
}

/* Of a property in a list to set or to reset. */
static const char *prop_word(const json_t *p)
{
	return json_is_string(p) ? json_string_value(p) : json_string_value(json_object_get(p, "name"));
}

static const char *first_prop(const json_t *list)
{
	const char *name = prop_word(json_array_get(list, 0));

	return name ? name : "mtu";
}

static bool lists(const json_t *list, const char *prop)
{
	const json_t *p;
	size_t i;

	json_array_foreach (list, i, p)
		if (prop_word(p) && !strcmp(prop_word(p), prop))
			return true;
	return false;
}

/* ret NULL: it is a link that is not ours, and of which nothing is wanted as yet. */
static int find_changeable(struct daemon *d, const json_t *c, struct vlink **ret, struct err *e)
{
	const char *name = change_text(c, "link");
	const json_t *props = json_object_get(c, "props");
	char buf[IFNAMSIZ];
	struct slink *s;

	if (!name)
		return err_user(e, -EINVAL, "link", "name the link");
	name = observe_name(d, name, buf);
	*ret = foreign_or_own(d, name);
	if (*ret)
		return 0;
	s = slink_by_name(d, name);
	return s && !check_going(d, &s->l) ? check_foreign(d, &s->l, first_prop(props), e)
					   : unknown_link(d, UNKNOWN_LINK, name, e);
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
		int r = prop_find(v->s.name, v->s.class, foreign_class(v), name ? name : "", true, &id, e);

		if (r < 0)
			return r;
		prop_reset(p, id);
	}
	return 0;
}

int change_edit_reset(struct vlink *v, const json_t *list, bool temp, struct err *e)
{
	int r = reset_values(v, &v->props, list, e);

	return r < 0 || (temp && !v->s.temp) ? r : reset_values(v, &v->kept, list, e);
}

bool change_is_there(struct daemon *d, struct vlink *v)
{
	if (v->s.class == CLASS_FOREIGN && v->trouble == TROUBLE_WAITING)
		return false;
	return v->below && observe_locate(d, v);
}

/* A link that is not there now is changed in the books, and made if it can be. */
static int run_change(struct daemon *d, struct change *c, json_t *notes, struct err *e)
{
	int r;

	if (!c->old || !c->new || change_is_there(d, c->old) || c->old->s.class == CLASS_ETHERSTUB)
		return reconcile_run(d, c, 1, e);
	r = reconcile_store(d, c->old, c->new, e);
	if (r == 0 && c->new->trouble != TROUBLE_NONE)
		note(notes, "warning", "%s: stored; it is not there now: %s", c->new->s.name, c->new->why);
	return r;
}

/* Of a link that is not ours something comes to be wanted, something else, or nothing any more. */
static int build_foreign(struct daemon *d, const json_t *c, edit_fn *edit, struct change *ret, struct err *e)
{
	char buf[IFNAMSIZ];
	int r;

	if (ret->old) {
		ret->new = vlink_copy(ret->old);
		r = ret->new ? 0 : err_nomem(e);
	} else {
		r = foreign_new(d, slink_by_name(d, observe_name(d, change_text(c, "link"), buf)), &ret->new,
				e);
	}
	if (r == 0)
		r = edit(ret->new, json_object_get(c, "props"), temporary(c), e);
	if (r == 0)
		r = check_props(d, ret->new, ret->old, e);
	if (r == 0 && foreign_idle(ret->new))
		ret->new = vlink_free(ret->new);
	return r;
}

int change_build(struct daemon *d, const json_t *c, edit_fn *edit, struct change *ret, struct err *e)
{
	int r = find_changeable(d, c, &ret->old, e);

	if (r < 0)
		return r;
	if (!ret->old || ret->old->s.class == CLASS_FOREIGN)
		return build_foreign(d, c, edit, ret, e);
	ret->new = vlink_copy(ret->old);
	if (!ret->new)
		return err_nomem(e);
	if (ret->old->s.temp && !temporary(c))
		return err_user(e, -EINVAL, ret->old->s.name,
				"it is temporary, and so are its properties: use -t");
	r = edit(ret->new, json_object_get(c, "props"), temporary(c), e);
	ret->placed = lists(json_object_get(c, "props"), "zone");
	if (ret->placed)
		ret->new->moved = false;
	if (r == 0)
		r = check_props(d, ret->new, ret->old, e);
	if (r < 0)
		return r;
	if (strcmp(prop_zone(&ret->new->props), prop_zone(&ret->old->props)) != 0)
		ret->new->moved = false;
	return 0;
}

/* Runs a change of v's properties; edit makes it on a copy. */
static void change_props(struct daemon *d, struct call *c, edit_fn *edit)
{
	struct change change = {0};
	json_t *notes = json_array();
	struct err e = {0};

	if (change_build(d, call_params(c), edit, &change, &e) < 0)
		goto fail;
	change_note_place(d, &change, notes, &(struct place_notes){0});
	if ((change.old || change.new) && run_change(d, &change, notes, &e) < 0)
		goto fail;
	reply_done(d, c, NULL, notes);
	return;
fail:
	vlink_free(change.new);
	json_decref(notes);
	call_fail(c, &e);
}

static int find_renamable(struct daemon *d, const json_t *c, struct vlink **ret, struct err *e)
{
	const char *link = change_text(c, "link"), *name = change_text(c, "name");
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
		       : unknown_link(d, UNKNOWN_LINK, link, e);
}

/* ret as of change_build(). */
int change_build_rename(struct daemon *d, const json_t *c, struct change *ret, json_t *notes, struct err *e)
{
	const char *name = change_text(c, "name");
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

	if (change_build_rename(d, call_params(c), &change, notes, &e) < 0 ||
	    run_change(d, &change, notes, &e) < 0) {
		vlink_free(change.new);
		json_decref(notes);
		call_fail(c, &e);
		return;
	}
	reply_done(d, c, NULL, notes);
}

int change_edit_set(struct vlink *v, const json_t *list, bool temp, struct err *e)
{
	if (!json_array_size(list))
		return err_user(e, -EINVAL, v->s.name, "no property given: say -p PROPERTY=VALUE");
	return set_props(v, list, temp, e);
}

void change_set_linkprop(struct daemon *d, struct call *c)
{
	change_props(d, c, change_edit_set);
}

void change_reset_linkprop(struct daemon *d, struct call *c)
{
	change_props(d, c, change_edit_reset);
}
