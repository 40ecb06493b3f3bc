/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Turns notifications of the own namespace, and of those that have a number in it, into one call per link.
 * Observes and changes nothing itself.
 */
#include "lib/kern/real.h"

#include <errno.h>
#include <linux/if_addr.h>
#include <linux/net_namespace.h>
#include <linux/rtnetlink.h>
#include <stdlib.h>
#include <string.h>
#include <uthash.h>

struct change {
	struct {
		int nsid, ifindex;
	} key;
	struct kern_event ev;
	struct sys_link link;
	struct kern_addr added;
	UT_hash_handle hh;
};

struct batch {
	struct change *changes; /* in order of coming */
	uint32_t own_port;
};

int events_open(struct nl_sock **ret, struct err *e)
{
	/* TC too: somebody who deletes or replaces our qdisc causes no notification of the link. */
	static const int groups[] = {RTNLGRP_LINK, RTNLGRP_IPV4_IFADDR, RTNLGRP_IPV6_IFADDR,
				     RTNLGRP_TC,   RTNLGRP_NSID,        0};

	return sock_open_events(groups, ret, e);
}

static struct change *change_of(struct batch *b, int nsid, int ifindex)
{
	struct change *c, probe = {.key = {.nsid = nsid, .ifindex = ifindex}};

	HASH_FIND(hh, b->changes, &probe.key, sizeof(probe.key), c);
	if (c)
		return c;
	c = calloc(1, sizeof(*c));
	if (!c)
		return NULL;
	c->key = probe.key;
	c->ev = (struct kern_event){.nsid = nsid, .ifindex = ifindex};
	HASH_ADD(hh, b->changes, key, sizeof(c->key), c);
	return c;
}

static void take_new_place(struct change *c, const struct nlmsghdr *h)
{
	struct nlattr *tb[IFLA_MAX + 1];

	if (nlmsg_parse((struct nlmsghdr *)h, sizeof(struct ifinfomsg), tb, IFLA_MAX, NULL) < 0)
		return;
	c->ev.new_nsid = tb[IFLA_NEW_NETNSID] ? (int)nla_get_u32(tb[IFLA_NEW_NETNSID]) : OWN_NS;
	c->ev.new_ifindex = tb[IFLA_NEW_IFINDEX] ? (int)nla_get_u32(tb[IFLA_NEW_IFINDEX]) : 0;
}

/* A bridge tells of its ports under its own family: the link is not new, nor is it gone. */
static int take_link(struct batch *b, const struct nlmsghdr *h, int nsid)
{
	const struct ifinfomsg *ifi = nlmsg_data(h);
	struct link_view v;
	struct change *c;

	if (link_view_parse(h, &v) || ifi->ifi_family != AF_UNSPEC)
		return 0;
	c = change_of(b, nsid, ifi->ifi_index);
	if (!c)
		return -ENOBUFS;
	c->ev.gone = h->nlmsg_type == RTM_DELLINK;
	c->link = v.sys;
	c->ev.l = &c->link;
	c->ev.new_ifindex = 0;
	if (c->ev.gone)
		take_new_place(c, h);
	return 0;
}

static int take_other(struct batch *b, int nsid, int ifindex)
{
	return change_of(b, nsid, ifindex) ? 0 : -ENOBUFS;
}

static int note_queues(struct batch *b, int nsid, int ifindex)
{
	struct change *c = change_of(b, nsid, ifindex);

	if (!c)
		return -ENOBUFS;
	c->ev.queues = true;
	return 0;
}

/*
 * What we did ourselves, or (before 6.18) merely asked about, is told as well; taken for news it would make
 * us ask again, without end.
 */
static int take_tc(struct batch *b, const struct nlmsghdr *h, int nsid)
{
	const struct tcmsg *t = nlmsg_data(h);

	if (nlmsg_datalen(h) < (int)sizeof(*t) || h->nlmsg_pid == b->own_port)
		return 0;
	return note_queues(b, nsid, t->tcm_ifindex);
}

static int note_routing(struct batch *b, int ifindex)
{
	struct change *c = change_of(b, SOCK_OWN_NS, ifindex);

	if (!c)
		return -ENOBUFS;
	c->ev.routing = true;
	return 0;
}

/* An IPv6 address is told of twice: when it is there, and when nobody else turned out to have it. */
static const struct kern_addr *added(struct change *c, const struct nlmsghdr *h)
{
	const struct ifaddrmsg *m = nlmsg_data(h);
	struct nlattr *tb[IFA_MAX + 1], *a;

	if (h->nlmsg_type != RTM_NEWADDR ||
	    nlmsg_parse((struct nlmsghdr *)h, sizeof(*m), tb, IFA_MAX, NULL) < 0)
		return NULL;
	a = tb[IFA_LOCAL] ? tb[IFA_LOCAL] : tb[IFA_ADDRESS];
	if (!a || nla_len(a) > (int)sizeof(c->added.bytes) ||
	    m->ifa_flags & (IFA_F_TENTATIVE | IFA_F_DADFAILED))
		return NULL;
	c->added = (struct kern_addr){.family = m->ifa_family};
	memcpy(c->added.bytes, nla_data(a), (size_t)nla_len(a));
	return &c->added;
}

static int take_addr(struct batch *b, const struct nlmsghdr *h, int nsid)
{
	struct change *c = change_of(b, nsid, (int)((const struct ifaddrmsg *)nlmsg_data(h))->ifa_index);

	if (!c)
		return -ENOBUFS;
	c->ev.routing = true;
	c->ev.added = added(c, h);
	return 0;
}

static int take_routing(struct batch *b, const struct nlmsghdr *h)
{
	bool routing;
	int ifindex;

	if (h->nlmsg_pid == b->own_port || !isolate_event(h, &ifindex, &routing))
		return 0;
	return routing ? note_routing(b, ifindex) : take_other(b, SOCK_OWN_NS, ifindex);
}

/* A namespace that ends takes its number along, and its links say nothing more. */
static int take_nsid(struct batch *b, const struct nlmsghdr *h)
{
	struct nlattr *tb[NETNSA_MAX + 1];
	struct change *c;

	if (nlmsg_parse((struct nlmsghdr *)h, sizeof(struct rtgenmsg), tb, NETNSA_MAX, NULL) < 0 ||
	    !tb[NETNSA_NSID])
		return 0;
	c = change_of(b, (int)nla_get_u32(tb[NETNSA_NSID]), 0);
	if (!c)
		return -ENOBUFS;
	c->ev.gone = true;
	return 0;
}

static int take(const struct nlmsghdr *h, int nsid, void *arg)
{
	switch (h->nlmsg_type) {
	case RTM_NEWLINK:
	case RTM_DELLINK:
		return take_link(arg, h, nsid);
	case RTM_NEWADDR:
	case RTM_DELADDR:
		return take_addr(arg, h, nsid);
	case RTM_NEWROUTE:
	case RTM_DELROUTE:
	case RTM_NEWRULE:
	case RTM_DELRULE:
		return nsid == SOCK_OWN_NS ? take_routing(arg, h) : 0;
	case RTM_DELNSID:
		return nsid == SOCK_OWN_NS ? take_nsid(arg, h) : 0;
	case RTM_NEWNSID:
		return 0;
	default:
		return take_tc(arg, h, nsid);
	}
}

int kern_real_event_fd(struct kernel *k)
{
	return nl_socket_get_fd(real_of(k)->events);
}

int kern_real_events(struct kernel *k, void (*cb)(const struct kern_event *ev, void *arg), void *arg)
{
	struct real *r = real_of(k);
	struct batch b = {.own_port = nl_socket_get_local_port(r->rt)};
	struct change *c, *next;
	int rc = sock_events(r->events, take, &b);

	HASH_ITER (hh, b.changes, c, next) {
		cb(&c->ev, arg);
		HASH_DEL(b.changes, c);
		free(c);
	}
	return rc;
}
