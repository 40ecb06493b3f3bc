/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Sees one node as the kernel has it: its link, its trees, its hooks. Changes nothing, keeps nothing. */
#include "lib/kern/real.h"

#include "lib/kern/view.h"

#include <errno.h>
#include <string.h>

struct look {
	struct real *r;
	const struct node *key;
	struct node *ret;
	struct link_view found;
	bool marked;
};

/*
 * Is this link the node's? By its alias; or, when a daemon died between creating and marking, by group and
 * MAC (which a stub has from the kernel). A link of the same name that is somebody else's is not.
 */
static bool is_ours(struct look *l, const struct sys_link *s, bool ifb)
{
	const struct port *known = ifb ? &l->key->ifb_port : &l->key->port;
	uint32_t n;

	char out[IFNAMSIZ];
	bool foreign = l->key->class == CLASS_FOREIGN;

	node_out_name(l->key->n, out);
	if (!strcmp(s->kind, "ifb") != (ifb || foreign))
		return false;
	/* Both ifbs of such a node have the same marks. */
	if (foreign && !strcmp(s->name, ifb ? out : l->ret->ifb_port.name))
		return false;
	l->marked = mark_parse(l->r, s->alias, &n) && n == l->key->n;
	if (l->marked) {
		l->marked = s->group == GROUP_LIVE;
		return true;
	}
	/* Another alias does not make another link of the one that it was, nor another's, with its own MAC.
	 */
	if (s->alias[0] && s->ifindex != known->ifindex)
		return false;
	if (!strncmp(s->alias, "vnicd:", 6) &&
	    (ifb || strcmp(s->kind, "macvlan") != 0 || !mac_equal(s->mac, l->key->mac)))
		return false;
	if (s->group != GROUP_LIVE || (ifb && strcmp(s->name, l->ret->ifb_port.name) != 0))
		return false;
	if (foreign && !ifb)
		return s->ifindex == known->ifindex || !strcmp(s->name, out);
	/* Others may have taken alias and MAC: by its number it is still the one that it was. */
	return ifb || (l->key->class == CLASS_ETHERSTUB && strcmp(s->kind, "macvlan") != 0) ||
	       (l->key->class == CLASS_VLAN && !strcmp(s->kind, "vlan")) ||
	       (s->ifindex == known->ifindex && !strcmp(s->kind, "macvlan")) ||
	       mac_equal(s->mac, l->key->mac);
}

static int try_one(struct look *l, struct nl_sock *sk, const struct port *port, bool by_index, bool ifb)
{
	struct extack x;
	int rc;

	if (by_index ? !port->ifindex : !port->name[0])
		return -ENODEV;
	rc = view_link(l->r, sk, by_index ? port->ifindex : 0, port->name, &l->found);
	if (rc == VIEW_NONE)
		rc = link_get(sk, by_index ? port->ifindex : 0, by_index ? NULL : port->name, &l->found, &x);
	if (!rc && !is_ours(l, &l->found.sys, ifb))
		rc = -ENODEV;
	return rc;
}

static int match_alias(const struct sys_link *s, void *arg)
{
	struct look *l = arg;
	uint32_t n;

	if (!mark_parse(l->r, s->alias, &n) || n != l->key->n ||
	    (l->key->class == CLASS_FOREIGN && !strcmp(s->name, l->ret->ifb_port.name)))
		return 0;
	l->found.sys = *s;
	return 1;
}

/* Somebody renamed it, and its number is not known: every link of its kind is looked at. */
static int try_alias(struct look *l, struct nl_sock *sk)
{
	static const char *const kinds[] = {[CLASS_VNIC] = "macvlan",
					    [CLASS_VLAN] = "vlan",
					    [CLASS_FOREIGN] = "ifb",
					    [CLASS_OTHER] = NULL};
	const char *kind = kinds[l->key->class] ? kinds[l->key->class] : l->key->kind;
	struct extack x;
	int rc;

	if (!kind[0])
		return -ENODEV;
	rc = l->key->class == CLASS_FOREIGN ? VIEW_NONE
					    : view_marked(l->r, sk, l->key->n, &l->found.sys.ifindex);
	if (rc == VIEW_NONE)
		rc = link_each(sk, kind, match_alias, l, &x);
	else if (!rc)
		rc = 1;
	if (rc < 0)
		return rc;
	/* The list has no IPv6 settings: the one link is asked again. */
	return rc ? try_one(l, sk, &(struct port){.ifindex = l->found.sys.ifindex}, true, false) : -ENODEV;
}

static int find_link(struct look *l, struct nl_sock *sk)
{
	int rc = try_one(l, sk, &l->key->port, true, false);

	if (rc == -ENODEV)
		rc = try_one(l, sk, &l->key->port, false, false);
	if (rc == -ENODEV)
		rc = try_alias(l, sk);
	return rc;
}

static void fill_port(struct port *port, const struct sys_link *s)
{
	port->ifindex = s->ifindex;
	memcpy(port->name, s->name, sizeof(port->name));
}

/* The parent is known by number; its name is asked for only when it is not the one that is expected. */
static void fill_parent(struct look *l)
{
	const struct sys_link *s = &l->found.sys;
	struct link_view parent;
	struct extack x;

	if (!s->lower || l->key->class == CLASS_ETHERSTUB || s->lower == l->ret->parent.ifindex)
		return;
	if (!link_get(l->r->rt, s->lower, NULL, &parent, &x))
		fill_port(&l->ret->parent, &parent.sys);
}

static void fill_link(struct look *l)
{
	const struct sys_link *s = &l->found.sys;
	struct node *ret = l->ret;
	bool own = !ret->port.zone[0];

	ret->link = true;
	fill_port(&ret->port, s);
	memcpy(ret->kind, s->kind, sizeof(ret->kind));
	if (ret->class != CLASS_FOREIGN)
		ret->mac = s->mac;
	ret->mtu = s->mtu;
	ret->up = s->flags & IFF_UP;
	ret->marked = l->marked;
	ret->quiet = own && l->found.quiet;
	if (own)
		ret->arp = l->found.arp;
	if (own)
		fill_parent(l);
}

static int see_prog(struct look *l, struct err *e)
{
	struct node *ret = l->ret;
	int rc;

	if (ret->class == CLASS_FOREIGN)
		return ret->parent.ifindex ? bpf_theirs_observe(l->r->bpf, ret->n, ret->parent.ifindex,
								ret->port.ifindex, &ret->prog, e)
					   : 0;
	if (ret->class != CLASS_VNIC)
		return 0;
	rc = real_enter(l->r, ret->port.zone, e);
	if (rc)
		return rc;
	rc = bpf_vnic_observe(l->r->bpf, ret->n, ret->port.ifindex, &ret->prog, e);
	real_leave(l->r, ret->port.zone);
	return rc;
}

static int see_link(struct look *l, struct nl_sock *sk, struct err *e)
{
	struct node *ret = l->ret;
	struct extack x = {};
	int rc = find_link(l, sk);

	/* The hooks of a link that is not ours are not on this one. */
	if (rc == -ENODEV)
		return ret->class == CLASS_FOREIGN ? see_prog(l, e) : 0;
	if (rc)
		return real_fail(rc, l->key->port.name, &x, e);
	fill_link(l);
	rc = tree_observe(l->r, sk, ret->port.ifindex, ret->mtu, &l->key->tx.shape, &ret->tx, &x);
	if (rc)
		return real_fail(rc, ret->port.name, &x, e);
	return see_prog(l, e);
}

static int see_zone(struct look *l, struct err *e)
{
	struct nl_sock *sk;
	int rc = real_sock(l->r, l->key->port.zone, &sk, e);

	if (rc)
		return rc;
	rc = see_link(l, sk, e);
	real_unsock(l->r, sk);
	return rc;
}

static int see_steer(struct look *l, struct err *e)
{
	struct node *ret = l->ret;
	int ifb = 0, rc;

	if (!ret->parent.ifindex)
		return 0;
	rc = bpf_steer_observe(l->r->bpf, ret->parent.ifindex, l->key->mac, &ifb, e);
	ret->steer = !rc && ifb && ifb == ret->ifb_port.ifindex;
	return rc;
}

static int see_ifb(struct look *l, struct err *e)
{
	struct node *ret = l->ret;
	struct extack x = {};
	int rc = try_one(l, l->r->rt, &ret->ifb_port, false, true);

	if (rc == -ENODEV)
		return 0;
	if (rc)
		return real_fail(rc, ret->ifb_port.name, &x, e);
	ret->ifb = true;
	fill_port(&ret->ifb_port, &l->found.sys);
	ret->ifb_marked = l->marked;
	ret->ifb_doomed = l->found.sys.group == GROUP_DOOMED;
	ret->ifb_quiet = l->found.quiet;
	ret->ifb_up = l->found.sys.flags & IFF_UP;
	rc = tree_observe(l->r, l->r->rt, ret->ifb_port.ifindex, ret->link ? ret->mtu : l->key->mtu,
			  &l->key->rx.shape, &ret->rx, &x);
	return rc ? real_fail(rc, ret->ifb_port.name, &x, e) : 0;
}

/* Only for those that it was asked for: others have none, and a look costs several dumps. */
static int see_isolation(struct look *l, struct err *e)
{
	struct extack x = {};
	int rc = 0;

	if (l->key->iso == ISO_OFF)
		return 0;
	kern_real_hear_routes(&l->r->kernel);
	if (l->ret->parent.ifindex)
		rc = real_arp(&l->r->kernel, l->ret->parent.ifindex, &l->ret->parent_arp, NULL);
	if (rc == -ENODEV)
		rc = 0;
	if (rc == 0)
		rc = isolate_observe(l->r, l->ret, &x);
	return rc ? real_fail(rc, l->key->port.name, &x, e) : 0;
}

int real_observe(struct kernel *k, const struct node *key, struct node *ret, struct err *e)
{
	struct node node = {
		.n = key->n, .class = key->class, .port = key->port, .parent = key->parent, .mac = key->mac};
	struct look l = {.r = real_of(k), .key = key, .ret = &node};
	int rc;

	node.port.ifindex = 0;
	if (key->iso != ISO_OFF)
		real_arp(k, 0, &node.arp, NULL);
	node_ifb_name(key->n, node.ifb_port.name);
	rc = see_zone(&l, e);
	if (!rc && class_shaped(key->class)) {
		rc = see_ifb(&l, e);
		if (!rc && node.prog.present)
			rc = flows_observe(l.r, key->flow_set, &node, e);
		if (!rc)
			rc = see_steer(&l, e);
		if (!rc)
			rc = see_isolation(&l, e);
	}
	if (!rc)
		*ret = node;
	return rc;
}
