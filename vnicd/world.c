/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Tables of desired and present links. No kernel, no decisions. */
#include "vnicd/world.h"

#include "vnicd/flow.h"

#include <errno.h>
#include <linux/if_arp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <utlist.h>

struct vlink *vlink_new(void)
{
	struct vlink *v = calloc(1, sizeof(*v));

	if (v)
		v->flow_set = calloc(1, sizeof(*v->flow_set));
	if (v && !v->flow_set) {
		free(v);
		return NULL;
	}
	return v;
}

struct vlink *vlink_free(struct vlink *v)
{
	if (v) {
		sd_event_source_disable_unref(v->repair_timer);
		props_free(&v->props);
		props_free(&v->kept);
		flow_set_free(v->flow_set);
		free(v->flow_set);
		free(v);
	}
	return NULL;
}

struct vlink *vlink_copy(const struct vlink *v)
{
	struct vlink *c = vlink_new();
	struct flow_set *own;

	if (!c)
		return NULL;
	own = c->flow_set;
	*c = *v;
	c->flow_set = own;
	c->props = c->kept = (struct props){0};
	memset(&c->hh_n, 0, sizeof(c->hh_n));
	memset(&c->hh_name, 0, sizeof(c->hh_name));
	memset(&c->hh_at, 0, sizeof(c->hh_at));
	memset(&c->hh_mac, 0, sizeof(c->hh_mac));
	c->prev = c->next = c->dirty_next = NULL;
	c->dirty = c->foreign = c->expected = c->leaving = c->unkept = false;
	c->repair = (struct repair){0};
	c->repair_timer = NULL;
	c->at.ifindex = 0;
	if (props_copy(&v->props, &c->props) < 0 || props_copy(&v->kept, &c->kept) < 0)
		return vlink_free(c);
	return c;
}

/* By bus address and permanent MAC; by the last name only where it has neither. */
static bool is_ident(const struct sys_link *l, const struct ident *id)
{
	static const struct mac none;

	if (strcmp(l->bus, id->bus) != 0 || !mac_equal(l->perm_mac, id->perm_mac))
		return false;
	return id->bus[0] || !mac_equal(id->perm_mac, none) || !strcmp(l->name, id->name);
}

static bool is_below(const struct daemon *d, const struct slink *s, const struct vlink *v)
{
	enum link_class class;
	struct vlink *stub;

	if (!v->s.over)
		return v->s.parent_row && is_ident(&s->l, &v->parent);
	stub = vlink_of_sys(d, &s->l, &class);
	return stub && stub->s.n == v->s.over && class != CLASS_IFB;
}

/* The name it had is the likeliest: all links are looked at only when that is another one's now. */
static struct slink *find_below(const struct daemon *d, const struct vlink *v)
{
	struct vlink *stub = v->s.over ? vlink_by_n(d, v->s.over) : NULL;
	struct slink *named = slink_by_name(d, stub ? stub->s.name : v->parent.name), *s, *next;

	if (named && is_below(d, named, v))
		return named;
	HASH_ITER (hh, d->links, s, next)
		if (is_below(d, s, v))
			return s;
	return NULL;
}

static void attach(struct daemon *d, struct vlink *v, struct slink *below)
{
	struct vlink **list = below ? &below->above : &d->waiting;

	v->below = below;
	DL_APPEND(*list, v);
	if (!below)
		return;
	below->vnics += v->s.class != CLASS_FOREIGN;
	v->mac_key.below = below;
	v->mac_key.mac = v->s.mac;
	HASH_ADD(hh_mac, d->by_mac, mac_key, sizeof(v->mac_key), v);
}

static void detach(struct daemon *d, struct vlink *v)
{
	struct vlink **list = v->below ? &v->below->above : &d->waiting;

	DL_DELETE(*list, v);
	if (v->below) {
		HASH_DELETE(hh_mac, d->by_mac, v);
		v->below->vnics -= v->s.class != CLASS_FOREIGN;
	}
	v->below = NULL;
}

static bool is_over(const struct vlink *v)
{
	return v->s.class != CLASS_ETHERSTUB;
}

/* The name of what is not ours is not ours to be found by: see foreign.h. */
static bool is_named(const struct vlink *v)
{
	return v->s.class != CLASS_FOREIGN;
}

void world_add(struct daemon *d, struct vlink *v)
{
	HASH_ADD(hh_n, d->by_n, s.n, sizeof(v->s.n), v);
	if (is_named(v))
		HASH_ADD_KEYPTR(hh_name, d->by_name, v->s.name, strlen(v->s.name), v);
	if (is_over(v))
		attach(d, v, find_below(d, v));
	flows_hand_over(v);
}

void world_remove(struct daemon *d, struct vlink *v)
{
	vlink_seen_at(d, v, 0, 0);
	world_take(d, v);
	vlink_free(v);
}

/* What it is over and where it was seen is kept in it: its change still has to be made in the kernel. */
void world_take(struct daemon *d, struct vlink *v)
{
	struct slink *below = v->below;

	if (is_over(v))
		detach(d, v);
	v->below = below;
	if (v->dirty)
		LL_DELETE2(d->dirty, v, dirty_next);
	if (v->at.ifindex)
		HASH_DELETE(hh_at, d->by_at, v);
	HASH_DELETE(hh_n, d->by_n, v);
	if (is_named(v))
		HASH_DELETE(hh_name, d->by_name, v);
}

void world_put_back(struct daemon *d, struct vlink *v)
{
	bool dirty = v->dirty;

	world_add(d, v);
	if (v->at.ifindex)
		HASH_ADD(hh_at, d->by_at, at, sizeof(v->at), v);
	v->dirty = false;
	if (dirty)
		d->touched(d, v, v->foreign);
}

struct vlink *vlink_by_mac(const struct daemon *d, const struct slink *below, struct mac mac)
{
	struct vlink *v, probe = {.mac_key = {.below = below, .mac = mac}};

	HASH_FIND(hh_mac, d->by_mac, &probe.mac_key, sizeof(probe.mac_key), v);
	return v;
}

struct slink *slink_by_mac(const struct daemon *d, int lower, struct mac mac)
{
	struct slink *s, probe = {.mac_key = {.lower = lower, .mac = mac}};

	HASH_FIND(hh_mac, d->links_by_mac, &probe.mac_key, sizeof(probe.mac_key), s);
	return s;
}

const char *vlink_zone(const struct vlink *v)
{
	return v->moved ? v->place : prop_zone(&v->props);
}

void vlink_seen_at(struct daemon *d, struct vlink *v, int nsid, int ifindex)
{
	struct vlink *other = ifindex ? vlink_at(d, nsid, ifindex) : NULL;

	if (other == v && other)
		return;
	if (other) {
		HASH_DELETE(hh_at, d->by_at, other);
		other->at.ifindex = 0;
	}
	if (v->at.ifindex)
		HASH_DELETE(hh_at, d->by_at, v);
	v->at.nsid = nsid;
	v->at.ifindex = ifindex;
	if (ifindex)
		HASH_ADD(hh_at, d->by_at, at, sizeof(v->at), v);
	if (ifindex && d->placed)
		d->placed(d, v);
}

struct vlink *vlink_at(const struct daemon *d, int nsid, int ifindex)
{
	struct vlink *v, probe = {.at = {.nsid = nsid, .ifindex = ifindex}};

	HASH_FIND(hh_at, d->by_at, &probe.at, sizeof(probe.at), v);
	return v;
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

/* A value of this boot comes after the persistent one; an empty one is its absence. */
static int load_value(struct load *l, enum prop_id id, const char *value, bool temporary)
{
	int r = temporary ? 0 : prop_set(&l->v->kept, l->v->s.name, id, value, l->e);

	if (r == 0 && !value[0])
		prop_reset(&l->v->props, id);
	else if (r == 0)
		r = prop_set(&l->v->props, l->v->s.name, id, value, l->e);
	return r;
}

static int load_prop(const char *key, const char *value, const char *boot, void *arg)
{
	struct load *l = arg;

	for (int i = 0; i < PROP_COUNT; i++)
		if (!strcmp(prop_rows[i].name, key))
			return load_value(l, i, value, boot[0]);
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
	r = s->parent_row ? store_ident_get(l->d->store, s->parent_row, &l->v->parent, l->e) : 0;
	if (s->class == CLASS_FOREIGN)
		memcpy(l->v->s.name, l->v->parent.name, sizeof(l->v->s.name));
	world_add(l->d, l->v);
	if (r == 0)
		r = store_props(l->d->store, s->n, load_prop, l, l->e);
	return r < 0 ? r : store_counters_get(l->d->store, s->n, l->v->counters, l->e);
}

int world_load(struct daemon *d, struct err *e)
{
	struct load l = {.d = d, .e = e};

	int r = store_links(d->store, load_link, &l, e);

	return r < 0 ? r : flows_load(d, e);
}

void world_free(struct daemon *d)
{
	struct vlink *v, *next;
	struct slink *l, *after;

	HASH_ITER (hh_n, d->by_n, v, next) {
		flows_drop(d, v);
		world_remove(d, v);
	}
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

/* It keeps to its parent under the new name, also over a restart. */
static void parent_name(struct daemon *d, struct vlink *v, const char *name)
{
	snprintf(v->parent.name, sizeof(v->parent.name), "%s", name);
	if (v->s.class == CLASS_FOREIGN)
		memcpy(v->s.name, v->parent.name, sizeof(v->s.name));
	if (store_ident_put(d->store, &v->parent, &v->s.parent_row, NULL) == 0)
		store_link_put(d->store, &v->s, NULL);
}

static void parent_renamed(struct daemon *d, struct slink *s, const char *name)
{
	struct vlink *v;

	DL_FOREACH (s->above, v)
		if (v->s.parent_row)
			parent_name(d, v, name);
}

void vlink_is_over(struct daemon *d, struct vlink *v, struct slink *s)
{
	if (v->below == s)
		return;
	detach(d, v);
	attach(d, v, s);
	parent_name(d, v, s->l.name);
}

/* VNICs that wait for just this link are over it from now on. */
static void claim(struct daemon *d, struct slink *s)
{
	struct vlink *v, *next;

	DL_FOREACH_SAFE(d->waiting, v, next)
	if (is_below(d, s, v)) {
		detach(d, v);
		attach(d, v, s);
	}
}

void vlink_set_mac(struct daemon *d, struct vlink *v, struct mac mac)
{
	struct slink *below = v->below;

	if (below)
		detach(d, v);
	v->s.mac = mac;
	if (below)
		attach(d, v, below);
	store_link_put(d->store, &v->s, NULL);
}

static void mac_drop(struct daemon *d, struct slink *s)
{
	if (s->mac_key.lower)
		HASH_DELETE(hh_mac, d->links_by_mac, s);
	s->mac_key.lower = 0;
}

static void mac_add(struct daemon *d, struct slink *s)
{
	if (!s->l.lower || !s->l.has_mac)
		return;
	s->mac_key.lower = s->l.lower;
	s->mac_key.mac = s->l.mac;
	HASH_ADD(hh_mac, d->links_by_mac, mac_key, sizeof(s->mac_key), s);
}

static struct slink *slink_new(struct daemon *d, const struct sys_link *l)
{
	struct slink *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	s->l = *l;
	HASH_ADD(hh, d->links, l.ifindex, sizeof(s->l.ifindex), s);
	return s;
}

int slink_put(struct daemon *d, const struct sys_link *l)
{
	struct slink *s = slink_find(d, l->ifindex);
	bool fresh = !s || strcmp(s->l.name, l->name) != 0 || strcmp(s->l.alias, l->alias) != 0;

	if (s && strcmp(s->l.name, l->name) != 0)
		parent_renamed(d, s, l->name);
	if (s)
		name_drop(d, s);
	else
		s = slink_new(d, l);
	if (!s)
		return -ENOMEM;
	mac_drop(d, s);
	s->l = *l;
	s->seen = true;
	name_add(d, s);
	mac_add(d, s);
	if (fresh)
		claim(d, s);
	return 0;
}

void slink_drop(struct daemon *d, int ifindex)
{
	struct slink *s = slink_find(d, ifindex), *again;
	struct vlink *v, *next;

	if (!s)
		return;
	name_drop(d, s);
	mac_drop(d, s);
	HASH_DELETE(hh, d->links, s);
	/* It may have been made again before its end was told of. */
	again = s->above ? find_below(d, s->above) : NULL;
	DL_FOREACH_SAFE(s->above, v, next)
	{
		detach(d, v);
		attach(d, v, again && is_below(d, again, v) ? again : NULL);
		/* It went with the old one: nobody else is to blame. */
		if (v->below && d->touched)
			d->touched(d, v, false);
	}
	free(s);
}

struct slink *vlink_own(const struct daemon *d, const struct vlink *v)
{
	struct slink *s = slink_find(d, v->at.ifindex);
	enum link_class class = CLASS_OTHER;

	if (s && vlink_of_sys(d, &s->l, &class) == v && class != CLASS_IFB)
		return s;
	if (v->s.class == CLASS_FOREIGN)
		return v->below;
	s = slink_by_name(d, v->s.name);
	return s && vlink_of_sys(d, &s->l, &class) == v && class != CLASS_IFB ? s : NULL;
}

struct vlink *vlink_vlan(const struct daemon *d, const struct vlink *v)
{
	struct vlink *below = v->s.over ? vlink_by_n(d, v->s.over) : NULL;

	return below && below->s.class == CLASS_VLAN ? below : NULL;
}

const char *vlink_over(const struct daemon *d, const struct vlink *v, char buf[IFNAMSIZ])
{
	const struct vlink *vlan = vlink_vlan(d, v);
	struct slink *parent;

	v = vlan ? vlan : v;
	parent = vlink_parent(d, v);
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
