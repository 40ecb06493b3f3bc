/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Checks of requests against the world and the kernel, before anything is done. */
#include "vnicd/check.h"

#include "lib/base/nearest.h"
#include "lib/model/name.h"
#include "vnicd/machine.h"
#include "vnicd/observe.h"
#include "vnicd/parent.h"
#include "vnicd/unknown.h"
#include "vnicd/want.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#define MAC_TRIES 64

static const struct mac default_prefix = {{0x02, 0x08, 0x20}};

bool check_going(const struct daemon *d, const struct sys_link *l)
{
	const char *uuid = store_uuid(d->store);
	enum link_class class;

	return !strncmp(l->alias, "vnicd:", 6) && !strncmp(l->alias + 6, uuid, strlen(uuid)) &&
	       !vlink_of_sys(d, l, &class);
}

int check_parent(struct daemon *d, const char *name, struct slink **ret, struct err *e)
{
	struct slink *s = slink_by_name(d, name);
	struct vlink *v = vlink_find(d, name);
	char over[IFNAMSIZ];
	struct sys_link l;
	int r;

	if (!s && observe_find(d, "", name, &l, NULL) == 0 && slink_put(d, &l) == 0)
		s = slink_find(d, l.ifindex);
	if (!s && v && v->s.class == CLASS_VNIC)
		return err_user(e, -EOPNOTSUPP, name, "a VNIC over a VNIC is not possible: use -l %s",
				vlink_over(d, v, over));
	if (!s || check_going(d, &s->l))
		return unknown_link(d, UNKNOWN_LINK, name, e);
	r = parent_check(d, &s->l, e);
	if (r == 0)
		*ret = s;
	return r;
}

static const char *const class_words[] = {
	[CLASS_VNIC] = "a VNIC", [CLASS_ETHERSTUB] = "an etherstub", [CLASS_VLAN] = "a VLAN link"};

int check_new_name(struct daemon *d, const char *name, struct err *e)
{
	struct vlink *v;
	int r = name_check(name, e);

	if (r < 0)
		return r;
	v = vlink_find(d, name);
	if (!v)
		return 0;
	return err_user(e, -EEXIST, name, "%s of that name exists: choose another, or delete it first",
			class_words[v->s.class]);
}

void check_next_name(struct daemon *d, char ret[IFNAMSIZ])
{
	struct sys_link l;

	for (unsigned i = 0;; i++) {
		snprintf(ret, IFNAMSIZ, "vnic%u", i);
		if (!vlink_find(d, ret) && !slink_by_name(d, ret) && observe_find(d, "", ret, &l, NULL) < 0)
			return;
	}
}

/* Who on v's parent has this MAC; NULL when nobody has. */
static const char *mac_holder(struct daemon *d, const struct vlink *v, struct mac mac)
{
	struct slink *parent = vlink_parent(d, v), *s;
	struct vlink *o;

	if (!parent)
		return NULL;
	if (parent->l.has_mac && mac_equal(parent->l.mac, mac))
		return parent->l.name;
	o = vlink_by_mac(d, parent, mac);
	if (o)
		return o->s.name;
	s = slink_by_mac(d, parent->l.ifindex, mac);
	return s && !check_going(d, &s->l) ? s->l.name : NULL;
}

static int fixed_mac(struct daemon *d, struct vlink *v, const char *how, struct err *e)
{
	static const char *const words[] = {"auto", "random"};
	const char *holder, *near = nearest(how, words, 2);
	struct mac mac;
	int r = mac_parse(how, &mac, e);

	if (r < 0)
		return near ? err_user(e, r, how, "not a MAC address: did you mean %s?", near) : r;
	holder = mac_holder(d, v, mac);
	if (holder)
		return err_user(e, -EADDRINUSE, v->s.name,
				"MAC address %s is in use by %s: choose another or use "
				"-m random",
				how, holder);
	v->s.mac_type = MAC_FIXED;
	v->s.mac = mac;
	return 0;
}

static int random_mac(struct daemon *d, struct vlink *v, struct mac prefix, unsigned len, struct err *e)
{
	for (int i = 0; i < MAC_TRIES; i++) {
		struct mac mac;
		int r = mac_random(prefix, len, &mac, e);

		if (r < 0)
			return r;
		if (mac_holder(d, v, mac))
			continue;
		v->s.mac = mac;
		return 0;
	}
	return err_user(e, -EADDRINUSE, v->s.name,
			"no free MAC address with this prefix: give a shorter one");
}

/* The same machine gives a name the same address, where that is free. */
static int auto_mac(struct daemon *d, struct vlink *v, struct err *e)
{
	for (unsigned i = 0; i < MAC_TRIES; i++) {
		struct mac mac;

		if (machine_mac(v->s.name, i, default_prefix, &mac) < 0)
			break;
		if (mac_holder(d, v, mac))
			continue;
		v->s.mac = mac;
		return 0;
	}
	return random_mac(d, v, default_prefix, 3, e);
}

int check_redraw(struct daemon *d, struct vlink *v, struct err *e)
{
	return v->s.mac_type == MAC_AUTO ? auto_mac(d, v, e) : random_mac(d, v, v->s.mac, 3, e);
}

int check_mac(struct daemon *d, struct vlink *v, const char *how, const char *prefix, struct err *e)
{
	bool automatic = !how || !strcmp(how, "auto");
	struct mac p = default_prefix;
	unsigned len = 3;
	int r;

	if (!automatic && strcmp(how, "random") != 0) {
		if (prefix)
			return err_user(e, -EINVAL, v->s.name,
					"a prefix goes with a random MAC address only: leave "
					"out -r or use -m random");
		return fixed_mac(d, v, how, e);
	}
	if (prefix) {
		r = mac_prefix_parse(prefix, &p, &len, e);
		if (r < 0)
			return r;
	}
	v->s.mac_type = automatic ? MAC_AUTO : MAC_RANDOM;
	return automatic && !prefix ? auto_mac(d, v, e) : random_mac(d, v, p, len, e);
}

static int check_vnic_mtu(struct daemon *d, const struct vlink *v, struct err *e)
{
	const struct slink *parent = vlink_parent(d, v);
	uint32_t mtu = prop_mtu(&v->props);

	if (!mtu || !parent || mtu <= parent->l.mtu)
		return 0;
	return err_user(e, -EINVAL, v->s.name, "parent %s has MTU %u, asked for %u", parent->l.name,
			parent->l.mtu, mtu);
}

int check_vid(const char *link, long long vid, struct err *e)
{
	return vid >= 1 && vid <= 4094
		       ? 0
		       : err_user(e, -ERANGE, link, "VLAN %lld is out of range: 1 to 4094", vid);
}

void check_vlan_name(struct daemon *d, const struct slink *parent, uint16_t vid, char ret[IFNAMSIZ])
{
	char name[2 * IFNAMSIZ];
	struct sys_link l;
	unsigned i = 0;

	snprintf(name, sizeof(name), "%s.%u", parent->l.name, vid);
	while (strlen(name) >= IFNAMSIZ || vlink_find(d, name) || slink_by_name(d, name) ||
	       observe_find(d, "", name, &l, NULL) == 0)
		snprintf(name, sizeof(name), "vlan%u.%u", vid, i++);
	memcpy(ret, name, strlen(name) + 1);
}

static int check_stub_mtu(struct daemon *d, const struct vlink *stub, struct err *e)
{
	uint32_t mtu = want_mtu(d, stub);
	struct vlink *v, *next;

	HASH_ITER (hh_n, d->by_n, v, next)
		if (v->s.over == stub->s.n && stub->s.n && prop_mtu(&v->props) > mtu)
			return err_user(e, -EINVAL, stub->s.name,
					"%s on it has MTU %u, asked for %u: lower that first", v->s.name,
					prop_mtu(&v->props), mtu);
	return 0;
}

static int check_percent(struct daemon *d, const struct vlink *v, struct err *e)
{
	struct slink *parent = vlink_parent(d, v);

	if (!want_percent(v))
		return 0;
	if (parent)
		parent->speed = observe_speed(d, parent->l.ifindex, NULL);
	if (parent && parent->speed)
		return 0;
	return err_user(e, -EINVAL, v->s.name,
			"%s tells no speed now to take a percentage of: give a rate, as "
			"maxbw=100M",
			parent                        ? parent->l.name
			: v->s.class == CLASS_FOREIGN ? v->s.name
						      : "its parent");
}

/* A name under /run/netns may be that of the namespace we are in. */
static bool is_own_namespace(const char *zone)
{
	char path[ZONE_MAX + 32];
	struct stat own, there;

	snprintf(path, sizeof(path), "/run/netns/%s", zone);
	return zone[0] && stat(path, &there) == 0 && stat("/proc/thread-self/ns/net", &own) == 0 &&
	       there.st_dev == own.st_dev && there.st_ino == own.st_ino;
}

static int check_place(struct daemon *d, const struct vlink *v, struct err *e)
{
	const char *zone = prop_zone(&v->props);
	struct sys_link l;
	int r = observe_find(d, zone, v->s.name, &l, e);
	enum link_class class;
	struct vlink *there = r == 0 ? vlink_of_sys(d, &l, &class) : NULL;

	if (is_own_namespace(zone))
		return err_user(e, -EINVAL, v->s.name, "zone %s is vnicd's own namespace: leave zone= out",
				zone);
	/* Somebody may have moved it there before; an earlier line of a batch may have renamed another. */
	if (there && (there->s.n == v->s.n || (there->staged && strcmp(there->s.name, l.name) != 0)))
		return 0;
	if (r == -ENODEV || (r == 0 && check_going(d, &l)))
		return 0;
	if (r == -ENOENT)
		return unknown_zone(v->s.name, zone, e);
	if (r < 0)
		return r;
	return err_user(e, -EEXIST, v->s.name,
			"a link of that name exists in %s%s: choose another name, or "
			"delete that link first",
			zone[0] ? "zone " : "this namespace", zone);
}

int check_rename(struct daemon *d, const struct vlink *v, const struct vlink *old, struct err *e)
{
	int r;

	if (!strcmp(v->s.name, old->s.name))
		return err_user(e, -EINVAL, v->s.name, "it has that name already");
	/* A zone that is gone cannot have such a link. */
	r = check_place(d, v, e);
	return r == -ENOENT ? 0 : r;
}

static int check_isolate(const struct vlink *v, struct err *e)
{
	const char *zone = prop_zone(&v->props);

	if (!prop_isolate(&v->props) || !zone[0])
		return 0;
	return err_user(
		e, -EINVAL, v->s.name,
		"in zone %s it is isolated already: use isolate=off, or no zone (reset-linkprop -p zone)",
		zone);
}

int check_props(struct daemon *d, const struct vlink *v, const struct vlink *old, struct err *e)
{
	int r;

	/* It is where it is, with an MTU of its own. */
	if (v->s.class == CLASS_FOREIGN)
		return check_percent(d, v, e);
	r = v->s.class == CLASS_VNIC ? check_vnic_mtu(d, v, e) : check_stub_mtu(d, v, e);
	if (r == 0)
		r = check_percent(d, v, e);
	if (r == 0)
		r = check_isolate(v, e);
	if (r == 0 &&
	    (!old || strcmp(prop_zone(&old->props), prop_zone(&v->props)) != 0 || (old->moved && !v->moved)))
		r = check_place(d, v, e);
	return r;
}
