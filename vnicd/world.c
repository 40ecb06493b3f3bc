/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Tables of desired and present links. No kernel, no decisions. */
#include "vnicd/world.h"

#include <errno.h>
#include <linux/if_arp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct vlink *vlink_new(void)
{
	return calloc(1, sizeof(struct vlink));
}

struct vlink *vlink_free(struct vlink *v)
{
	if (v) {
		props_free(&v->props);
		free(v);
	}
	return NULL;
}

struct vlink *vlink_copy(const struct vlink *v)
{
	struct vlink *c = vlink_new();

	if (!c)
		return NULL;
	*c = *v;
	c->props = (struct props){0};
	memset(&c->hh_n, 0, sizeof(c->hh_n));
	memset(&c->hh_name, 0, sizeof(c->hh_name));
	if (props_copy(&v->props, &c->props) < 0)
		return vlink_free(c);
	return c;
}

void world_add(struct daemon *d, struct vlink *v)
{
	HASH_ADD(hh_n, d->by_n, s.n, sizeof(v->s.n), v);
	HASH_ADD_KEYPTR(hh_name, d->by_name, v->s.name, strlen(v->s.name), v);
}

void world_remove(struct daemon *d, struct vlink *v)
{
	HASH_DELETE(hh_n, d->by_n, v);
	HASH_DELETE(hh_name, d->by_name, v);
	vlink_free(v);
}

struct vlink *vlink_find(const struct daemon *d, const char *name)
{
	struct vlink *v;

	HASH_FIND(hh_name, d->by_name, name, strlen(name), v);
	return v;
}

struct vlink *vlink_by_n(const struct daemon *d, uint32_t n)
{
	struct vlink *v;

	HASH_FIND(hh_n, d->by_n, &n, sizeof(n), v);
	return v;
}

struct load {
	struct daemon *d;
	struct vlink *v;
	struct err *e;
};

static int load_prop(const char *key, const char *value, const char *boot, void *arg)
{
	struct load *l = arg;

	(void)boot;
	for (int i = 0; i < PROP_COUNT; i++)
		if (!strcmp(prop_rows[i].name, key))
			return prop_set(&l->v->props, l->v->s.name, i, value, l->e);
	return err_sys(l->e, -EPROTO, l->v->s.name,
		       "state.db has a property %s that this vnicd does not know", key);
}

static int load_link(const struct store_link *s, void *arg)
{
	struct load *l = arg;
	int r;

	l->v = vlink_new();
	if (!l->v)
		return err_nomem(l->e);
	l->v->s = *s;
	world_add(l->d, l->v);
	r = s->parent_row ? store_ident_get(l->d->store, s->parent_row, &l->v->parent, l->e) : 0;
	if (r == 0)
		r = store_props(l->d->store, s->n, load_prop, l, l->e);
	return r < 0 ? r : store_counters_get(l->d->store, s->n, l->v->counters, l->e);
}

int world_load(struct daemon *d, struct err *e)
{
	struct load l = {.d = d, .e = e};

	return store_links(d->store, load_link, &l, e);
}

void world_free(struct daemon *d)
{
	struct vlink *v, *next;
	struct slink *l, *after;

	HASH_ITER (hh_n, d->by_n, v, next)
		world_remove(d, v);
	HASH_ITER (hh, d->links, l, after)
		slink_drop(d, l->l.ifindex);
}

struct slink *slink_find(const struct daemon *d, int ifindex)
{
	struct slink *l;

	HASH_FIND(hh, d->links, &ifindex, sizeof(ifindex), l);
	return l;
}

struct slink *slink_by_name(const struct daemon *d, const char *name)
{
	struct slink *l;

	HASH_FIND(hh_name, d->links_by_name, name, strlen(name), l);
	return l;
}

static void name_add(struct daemon *d, struct slink *s)
{
	struct slink *other = slink_by_name(d, s->l.name);

	/* Two links exchange names through a third: until the other's notification is read, its old name is
	 * ours. */
	if (other)
		HASH_DELETE(hh_name, d->links_by_name, other);
	HASH_ADD_KEYPTR(hh_name, d->links_by_name, s->l.name, strlen(s->l.name), s);
}

static void name_drop(struct daemon *d, struct slink *s)
{
	if (slink_by_name(d, s->l.name) == s)
		HASH_DELETE(hh_name, d->links_by_name, s);
}

/* Known by its name for want of bus address and permanent MAC: its VNICs keep to it under another. */
static void parent_renamed(struct daemon *d, const struct slink *s, const char *name)
{
	struct vlink *v, *next;

	HASH_ITER (hh_n, d->by_n, v, next) {
		if (!v->s.parent_row || vlink_parent(d, v) != s)
			continue;
		snprintf(v->parent.name, sizeof(v->parent.name), "%s", name);
		if (store_ident_put(d->store, &v->parent, &v->s.parent_row, NULL) == 0)
			store_link_put(d->store, &v->s, NULL);
	}
}

int slink_put(struct daemon *d, const struct sys_link *l)
{
	struct slink *s = slink_find(d, l->ifindex);

	if (s) {
		if (strcmp(s->l.name, l->name) != 0)
			parent_renamed(d, s, l->name);
		name_drop(d, s);
		s->l = *l;
		name_add(d, s);
		return 0;
	}
	s = calloc(1, sizeof(*s));
	if (!s)
		return -ENOMEM;
	s->l = *l;
	HASH_ADD(hh, d->links, l.ifindex, sizeof(s->l.ifindex), s);
	name_add(d, s);
	return 0;
}

void slink_drop(struct daemon *d, int ifindex)
{
	struct slink *s = slink_find(d, ifindex);

	if (!s)
		return;
	name_drop(d, s);
	HASH_DELETE(hh, d->links, s);
	free(s);
}

/* By bus address, else permanent MAC, else (it has neither) the last name. */
static struct slink *by_ident(const struct daemon *d, const struct ident *id)
{
	static const struct mac none;
	struct slink *named = slink_by_name(d, id->name), *s, *next;

	if (named && !strcmp(named->l.bus, id->bus) && mac_equal(named->l.perm_mac, id->perm_mac))
		return named;
	if (!id->bus[0] && mac_equal(id->perm_mac, none))
		return named;
	HASH_ITER (hh, d->links, s, next)
		if (!strcmp(s->l.bus, id->bus) && mac_equal(s->l.perm_mac, id->perm_mac))
			return s;
	return NULL;
}

struct slink *vlink_parent(const struct daemon *d, const struct vlink *v)
{
	struct vlink *stub;

	if (v->s.over) {
		stub = vlink_by_n(d, v->s.over);
		return stub ? slink_by_name(d, stub->s.name) : NULL;
	}
	return v->s.parent_row ? by_ident(d, &v->parent) : NULL;
}

const char *vlink_over(const struct daemon *d, const struct vlink *v, char buf[IFNAMSIZ])
{
	struct slink *parent = vlink_parent(d, v);

	buf[0] = '\0';
	if (parent)
		memcpy(buf, parent->l.name, IFNAMSIZ);
	else if (v->s.parent_row)
		memcpy(buf, v->parent.name, IFNAMSIZ);
	else if (v->s.over && vlink_by_n(d, v->s.over))
		memcpy(buf, vlink_by_n(d, v->s.over)->s.name, IFNAMSIZ);
	return buf;
}

struct vlink *vlink_of_sys(const struct daemon *d, const struct sys_link *l, enum link_class *ret_class)
{
	const char *uuid = store_uuid(d->store);
	size_t len = strlen(uuid);
	struct vlink *v;

	if (strncmp(l->alias, "vnicd:", 6) != 0 || strncmp(l->alias + 6, uuid, len) != 0 ||
	    l->alias[6 + len] != ':')
		return NULL;
	v = vlink_by_n(d, (uint32_t)strtoul(l->alias + 7 + len, NULL, 10));
	if (v)
		*ret_class = !strcmp(l->kind, "ifb") ? CLASS_IFB : v->s.class;
	return v;
}

const char *sys_class(const struct daemon *d, const struct sys_link *l)
{
	enum link_class class;

	if (vlink_of_sys(d, l, &class))
		return link_class_str(class);
	if (l->kind[0])
		return l->kind;
	return l->type == ARPHRD_LOOPBACK ? "loopback" : "phys";
}
