/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Makes, changes, moves and removes links, through libnl-route's objects. Decides nothing about which. */
#include "lib/kern/real.h"

#include "lib/base/disable.h"
#include "lib/nl/netns.h"

#include <errno.h>
#include <linux/if_link.h>
#include <linux/rtnetlink.h>
#include <netlink/route/link.h>
#include <netlink/route/link/inet6.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void rtnl_link_freep(struct rtnl_link **l)
{
	if (*l)
		rtnl_link_put(*l);
}
#define LINK_AUTO __attribute__((cleanup(rtnl_link_freep))) struct rtnl_link *

static int put_bridge(struct nl_msg *msg, const struct node *n)
{
	(void)n;
	NLA_PUT_U32(msg, IFLA_BR_STP_STATE, 0);
	NLA_PUT_U8(msg, IFLA_BR_MCAST_SNOOPING, 0);
	return 0;

nla_put_failure:
	return -ENOMEM;
}

static int put_macvlan(struct nl_msg *msg, const struct node *n)
{
	NLA_PUT_U32(msg, IFLA_MACVLAN_MODE, MACVLAN_MODE_BRIDGE);
	if (n->bc_queue)
		NLA_PUT_U32(msg, IFLA_MACVLAN_BC_QUEUE_LEN, n->bc_queue);
	return 0;

nla_put_failure:
	return -ENOMEM;
}

static int put_vlan(struct nl_msg *msg, const struct node *n)
{
	NLA_PUT_U16(msg, IFLA_VLAN_ID, n->vid);
	return 0;

nla_put_failure:
	return -ENOMEM;
}

static const struct kind {
	const char *name;
	int (*put)(struct nl_msg *msg, const struct node *n);
} kinds[] = {
	{.name = "macvlan", .put = put_macvlan}, {.name = "dummy"}, {.name = "bridge", .put = put_bridge},
	{.name = "vlan", .put = put_vlan},       {.name = "ifb"},
};

/* libnl's own objects for these know neither switch of the bridge: the part that differs by kind is put here.
 */
static int put_kind(struct nl_msg *msg, const char *name, const struct node *n)
{
	struct nlattr *info, *data;
	int rc = 0;

	info = nla_nest_start(msg, IFLA_LINKINFO);
	NLA_PUT_STRING(msg, IFLA_INFO_KIND, name);
	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++) {
		if (strcmp(kinds[i].name, name) != 0 || !kinds[i].put)
			continue;
		data = nla_nest_start(msg, IFLA_INFO_DATA);
		rc = kinds[i].put(msg, n);
		nla_nest_end(msg, data);
	}
	nla_nest_end(msg, info);
	return rc;

nla_put_failure:
	return -ENOMEM;
}

static int set_mac(struct rtnl_link *link, struct mac mac)
{
	struct nl_addr *addr = nl_addr_build(AF_LLC, mac.b, sizeof(mac.b));

	if (!addr)
		return -ENOMEM;
	rtnl_link_set_addr(link, addr);
	nl_addr_put(addr);
	return 0;
}

/*
 * The group goes into the create message, so that a link is known as ours from its first moment. A bridge
 * without ports loses its carrier for good when it is given a MAC: it keeps the one the kernel gives it. So
 * does a VLAN, whose address is its parent's.
 */
static int fill(struct rtnl_link *link, const struct act *a, const char *kind, int parent)
{
	rtnl_link_set_group(link, GROUP_LIVE);
	if (a->op->on == ON_IFB) {
		rtnl_link_set_num_tx_queues(link, 1);
		return 0;
	}
	rtnl_link_set_mtu(link, a->node->mtu);
	if (!strcmp(kind, "ifb")) {
		rtnl_link_set_num_tx_queues(link, 1);
		return 0;
	}
	if (parent)
		rtnl_link_set_link(link, parent);
	return strcmp(kind, "bridge") != 0 && strcmp(kind, "vlan") != 0 ? set_mac(link, a->node->mac) : 0;
}

static int delete_index(struct act *a, int ifindex)
{
	LINK_AUTO link = rtnl_link_alloc();
	struct nl_msg *request = NULL;

	if (!link)
		return err_nomem(a->e);
	rtnl_link_set_ifindex(link, ifindex);
	if (rtnl_link_build_delete_request(link, &request))
		return err_nomem(a->e);
	MSG_AUTO msg = request;
	return act_send(a, msg);
}

/* Changing: want carries what is to change and nothing else. */

static int change(struct act *a, struct rtnl_link *want)
{
	LINK_AUTO link = rtnl_link_alloc();
	struct nl_msg *request = NULL;
	int ifindex, rc;

	if (!link || !want)
		return err_nomem(a->e);
	rc = act_ifindex(a, &ifindex);
	if (rc)
		return rc;
	rtnl_link_set_ifindex(link, ifindex);
	if (rtnl_link_build_change_request(link, want, 0, &request))
		return err_nomem(a->e);
	MSG_AUTO msg = request;
	return act_send(a, msg);
}

/* Sends the create message in the daemon's own namespace, where the parent is; ns is where the link is to be.
 */
static int create_as(struct act *a, const char *name, const char *kind, int parent, int ns)
{
	LINK_AUTO link = rtnl_link_alloc();
	struct nl_msg *request = NULL;
	struct act own = *a;

	if (!link || fill(link, a, kind, parent))
		return err_nomem(a->e);
	rtnl_link_set_name(link, name);
	if (ns >= 0)
		rtnl_link_set_ns_fd(link, ns);
	if (rtnl_link_build_add_request(link, NLM_F_CREATE | NLM_F_EXCL, &request))
		return err_nomem(a->e);
	MSG_AUTO msg = request;
	if (put_kind(msg, kind, a->node))
		return err_nomem(a->e);
	own.sk = a->r->rt;
	return act_send(&own, msg);
}

/* The new link's number, written where later operations look. */
static int learn_named(struct act *a, struct nl_sock *sk, const char *name)
{
	struct port *port = (struct port *)op_port(&a->op->to, a->op->on);
	struct link_view v;
	struct extack x;
	int rc = link_get(sk, 0, name, &v, &x);

	if (rc)
		return act_fail(a, rc, &x);
	port->ifindex = v.sys.ifindex;
	return 0;
}

static int learn_ifindex(struct act *a, struct nl_sock *sk)
{
	return learn_named(a, sk, a->port->name);
}

static bool name_is_free(struct act *a)
{
	struct link_view v;
	struct extack x;

	return link_get(a->sk, 0, a->port->name, &v, &x) == -ENODEV;
}

/* It would stay under a name that nobody knows. */
static int give_name(struct act *a)
{
	LINK_AUTO want = rtnl_link_alloc();
	struct act undo = *a;
	struct err none;
	int rc;

	if (want)
		rtnl_link_set_name(want, a->port->name);
	rc = change(a, want);
	undo.e = &none;
	if (rc)
		delete_index(&undo, a->port->ifindex);
	return rc;
}

/*
 * Kernels before 6.15 do not take a name that is in use where the message is sent, though the link is to be
 * elsewhere: there it is made under an interim name.
 */
static int create_renamed(struct act *a, const char *kind, int parent, int ns)
{
	char name[IFNAMSIZ];
	int rc;

	node_interim_name(a->node->n, name);
	rc = create_as(a, name, kind, parent, ns);
	if (!rc)
		rc = learn_named(a, a->sk, name);
	return rc ? rc : give_name(a);
}

static int create(struct act *a, const char *kind, int parent)
{
	int ns, rc;

	if (!a->port->zone[0])
		return create_as(a, a->port->name, kind, parent, -1);
	rc = netns_open(a->port->zone, &ns, a->e);
	if (rc)
		return rc;
	rc = create_as(a, a->port->name, kind, parent, ns);
	if (rc == -EEXIST && name_is_free(a))
		rc = create_renamed(a, kind, parent, ns);
	close(ns);
	return rc;
}

static int parent_ifindex(struct act *a, int *ret)
{
	struct act parent = *a;

	parent.port = &a->node->parent;
	parent.sk = a->r->rt;
	return act_ifindex(&parent, ret);
}

static int add_vnic(struct act *a)
{
	int parent, rc = parent_ifindex(a, &parent);

	return rc ? rc : create(a, "macvlan", parent);
}

static int add_vlan(struct act *a)
{
	const struct node *n = a->node;
	int parent, rc = parent_ifindex(a, &parent);

	rc = rc ? rc : create(a, "vlan", parent);
	if (rc == -EOPNOTSUPP)
		return err_user(a->e, rc, n->parent.name,
				"VLAN %u cannot be had: this kernel has no VLAN links (8021q)", n->vid);
	if (rc == -EEXIST)
		return err_user(
			a->e, rc, n->parent.name,
			"VLAN %u is there already, on a link that is not vnicd's: use -l with that link",
			n->vid);
	return rc;
}

/* A dummy where the kernel can make one, else a bridge without ports: either carries macvlans. */
static int add_etherstub(struct act *a)
{
	static const char *const choices[] = {"dummy", "bridge"};
	struct node *to = &a->op->to;
	int rc = -EOPNOTSUPP;

	if (to->kind[0])
		return create(a, to->kind, 0);
	for (size_t i = 0; rc == -EOPNOTSUPP && i < 2; i++) {
		rc = disabled(choices[i]) ? -EOPNOTSUPP : create(a, choices[i], 0);
		if (!rc)
			snprintf(to->kind, sizeof(to->kind), "%s", choices[i]);
	}
	return rc;
}

static int add_any(struct act *a)
{
	if (a->op->on == ON_IFB || a->node->class == CLASS_FOREIGN)
		return create(a, "ifb", 0);
	if (a->node->class == CLASS_VLAN)
		return add_vlan(a);
	return a->node->class == CLASS_ETHERSTUB ? add_etherstub(a) : add_vnic(a);
}

int link_add(struct act *a)
{
	int rc = add_any(a);

	return rc ? rc : learn_ifindex(a, a->sk);
}

/* A sweep deletes only what was doomed here: a link is on the list before it is in the group. */
static int doom_note(struct real *r, int ifindex)
{
	int *more = reallocarray(r->doomed, r->doomed_count + 1, sizeof(*more));

	if (!more)
		return -ENOMEM;
	r->doomed = more;
	more[r->doomed_count++] = ifindex;
	return 0;
}

static void doom_forget(struct real *r, int ifindex)
{
	for (size_t i = 0; i < r->doomed_count; i++)
		if (r->doomed[i] == ifindex)
			r->doomed[i] = r->doomed[--r->doomed_count];
}

struct members {
	const struct real *r;
	size_t ours;
	bool foreign;
};

static bool is_doomed(const struct real *r, int ifindex)
{
	for (size_t i = 0; i < r->doomed_count; i++)
		if (r->doomed[i] == ifindex)
			return true;
	return false;
}

static int sort_member(const struct sys_link *l, void *arg)
{
	struct members *m = arg;
	uint32_t n;

	if (l->group != GROUP_DOOMED)
		return 0;
	if (mark_parse(m->r, l->alias, &n) && is_doomed(m->r, l->ifindex))
		m->ours++;
	else
		m->foreign = true;
	return 0;
}

int link_del(struct act *a)
{
	int ifindex, rc = act_ifindex(a, &ifindex);

	return rc ? rc : delete_index(a, ifindex);
}

static int delete_group(struct act *a)
{
	MSG_AUTO msg = nlmsg_alloc_simple(RTM_DELLINK, 0);
	struct ifinfomsg i = {.ifi_family = AF_UNSPEC};

	if (!msg || nlmsg_append(msg, &i, sizeof(i), NLMSG_ALIGNTO) < 0 ||
	    nla_put_u32(msg, IFLA_GROUP, GROUP_DOOMED) < 0)
		return err_nomem(a->e);
	return act_send(a, msg);
}

/* Somebody else's link is in our group: ours go one by one. */
static int delete_each(struct act *a)
{
	int rc = 0;

	for (size_t i = 0; i < a->r->doomed_count; i++) {
		int r = delete_index(a, a->r->doomed[i]);

		rc = r == 0 || r == -ENODEV ? rc : r;
	}
	return rc;
}

int link_sweep(struct act *a)
{
	struct members m = {.r = a->r};
	struct extack x;
	int rc = link_each(a->sk, NULL, sort_member, &m, &x);

	if (rc < 0)
		rc = act_fail(a, rc, &x);
	else if (m.foreign)
		rc = delete_each(a);
	else if (m.ours)
		rc = delete_group(a);
	free(a->r->doomed);
	a->r->doomed = NULL;
	a->r->doomed_count = 0;
	return rc;
}

int link_mark(struct act *a)
{
	LINK_AUTO want = rtnl_link_alloc();
	char alias[UUID_MAX + 32];

	if (!want)
		return err_nomem(a->e);
	mark_text(a->r, a->node->n, alias, sizeof(alias));
	rtnl_link_set_ifalias(want, alias);
	rtnl_link_set_group(want, GROUP_LIVE);
	doom_forget(a->r, a->port->ifindex);
	return change(a, want);
}

int link_doom(struct act *a)
{
	LINK_AUTO want = rtnl_link_alloc();
	int ifindex, rc;

	if (!want)
		return err_nomem(a->e);
	rc = act_ifindex(a, &ifindex);
	if (rc)
		return rc;
	if (doom_note(a->r, ifindex))
		return err_nomem(a->e);
	rtnl_link_set_group(want, GROUP_DOOMED);
	return change(a, want);
}

int link_up(struct act *a)
{
	LINK_AUTO want = rtnl_link_alloc();

	if (!want)
		return err_nomem(a->e);
	if (a->op->yes)
		rtnl_link_set_flags(want, IFF_UP);
	else
		rtnl_link_unset_flags(want, IFF_UP);
	return change(a, want);
}

int link_mtu(struct act *a)
{
	LINK_AUTO want = rtnl_link_alloc();

	if (!want)
		return err_nomem(a->e);
	rtnl_link_set_mtu(want, a->node->mtu);
	return change(a, want);
}

int link_mac(struct act *a)
{
	LINK_AUTO want = rtnl_link_alloc();
	struct nl_addr *mac = nl_addr_build(AF_LLC, &a->node->mac, sizeof(a->node->mac));
	int rc = want && mac ? 0 : err_nomem(a->e);

	if (!rc) {
		rtnl_link_set_addr(want, mac);
		rc = change(a, want);
	}
	nl_addr_put(mac);
	return rc;
}

static int set_name(struct act *a, bool up)
{
	LINK_AUTO want = rtnl_link_alloc();

	if (up && disabled("rename-up"))
		return -EBUSY;
	if (want)
		rtnl_link_set_name(want, a->op->to.port.name);
	return change(a, want);
}

static int set_flag_up(struct act *a, bool up)
{
	struct op op = *a->op;
	struct act flag = *a;

	op.yes = up;
	flag.op = &op;
	return link_up(&flag);
}

/* It is up again a moment later, with what a link that goes down loses. */
static int rename_down(struct act *a)
{
	struct act up = *a;
	struct kept *kept;
	struct err none;
	int ifindex, rc = act_ifindex(a, &ifindex);

	if (rc)
		return rc;
	rc = keep(a->sk, ifindex, &kept);
	if (rc)
		return act_fail(a, rc, NULL);
	rc = set_flag_up(a, false);
	if (!rc)
		rc = set_name(a, false);
	up.e = &none;
	set_flag_up(&up, true);
	keep_give(a, kept);
	kept_free(kept);
	return rc;
}

/* Kernels before 6.2 rename only a link that is down. */
int link_rename(struct act *a)
{
	struct act first = *a;
	struct err busy;
	int rc;

	first.e = &busy;
	rc = set_name(&first, a->op->from.up);
	if (rc == -EBUSY && a->op->from.up)
		return rename_down(a);
	return rc ? set_name(a, false) : 0;
}

/* No IPv6 in the kernel or on this link (MTU under 1280): it is as quiet as asked. */
static int set_gen_mode(struct act *a, uint8_t mode)
{
	LINK_AUTO want = rtnl_link_alloc();
	int rc;

	if (!want || rtnl_link_inet6_set_addr_gen_mode(want, mode))
		return err_nomem(a->e);
	rc = change(a, want);
	return rc == -EAFNOSUPPORT || rc == -EOPNOTSUPP ? 0 : rc;
}

int link_quiet(struct act *a)
{
	char path[64 + IFNAMSIZ];
	int rc = set_gen_mode(a, a->op->yes ? IN6_ADDR_GEN_MODE_NONE : IN6_ADDR_GEN_MODE_EUI64);

	if (rc)
		return rc;
	snprintf(path, sizeof(path), "/proc/sys/net/ipv6/conf/%s/accept_ra", a->port->name);
	return act_write(a, path, a->op->yes ? "0" : "1");
}

static int move_to(struct act *a, int ns)
{
	LINK_AUTO want = rtnl_link_alloc();
	struct nl_sock *sk;
	int rc;

	if (!want)
		return err_nomem(a->e);
	rtnl_link_set_ns_fd(want, ns);
	rc = change(a, want);
	if (rc)
		return rc;
	rc = real_sock(a->r, a->op->to.port.zone, &sk, a->e);
	if (rc)
		return rc;
	rc = learn_ifindex(a, sk);
	real_unsock(a->r, sk);
	return rc;
}

int link_move(struct act *a)
{
	const char *zone = a->op->to.port.zone;
	int ns, rc;

	if (!zone[0])
		return move_to(a, a->r->own);
	rc = netns_open(zone, &ns, a->e);
	if (rc)
		return rc;
	rc = move_to(a, ns);
	close(ns);
	return rc;
}
