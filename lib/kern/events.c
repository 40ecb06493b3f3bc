/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Turns notifications of the own namespace into one call per link. Observes and changes nothing itself. */
#include "lib/kern/real.h"

#include <errno.h>
#include <linux/if_addr.h>
#include <linux/rtnetlink.h>
#include <stdlib.h>
#include <uthash.h>

struct change {
	int ifindex;
	bool gone, seen;
	struct sys_link link;
	UT_hash_handle hh;
};

struct batch {
	struct change *changes; /* by ifindex, in order of coming */
	uint32_t own_port;
};

int events_open(struct nl_sock **ret, struct err *e)
{
	/* TC too: somebody who deletes or replaces our qdisc causes no notification of the link. */
	static const int groups[] = {RTNLGRP_LINK, RTNLGRP_IPV4_IFADDR, RTNLGRP_IPV6_IFADDR, RTNLGRP_TC, 0};

	return sock_open_events(groups, ret, e);
}

static struct change *change_of(struct batch *b, int ifindex)
{
	struct change *c;

	HASH_FIND_INT(b->changes, &ifindex, c);
	if (c)
		return c;
	c = calloc(1, sizeof(*c));
	if (!c)
		return NULL;
	c->ifindex = ifindex;
	HASH_ADD_INT(b->changes, ifindex, c);
	return c;
}

/* A bridge tells of its ports under its own family: the link is not new, nor is it gone. */
static int take_link(struct batch *b, const struct nlmsghdr *h)
{
	const struct ifinfomsg *ifi = nlmsg_data(h);
	struct link_view v;
	struct change *c;

	if (link_view_parse(h, &v))
		return 0;
	c = change_of(b, ifi->ifi_index);
	if (!c)
		return -ENOBUFS;
	if (ifi->ifi_family != AF_UNSPEC)
		return 0;
	c->gone = h->nlmsg_type == RTM_DELLINK;
	c->seen = true;
	c->link = v.sys;
	return 0;
}

static int take_other(struct batch *b, int ifindex)
{
	return change_of(b, ifindex) ? 0 : -ENOBUFS;
}

/*
 * What we did ourselves, or (before 6.18) merely asked about, is told as well; taken for news it would make
 * us ask again, without end.
 */
static int take_tc(struct batch *b, const struct nlmsghdr *h)
{
	const struct tcmsg *t = nlmsg_data(h);

	return h->nlmsg_pid == b->own_port ? 0 : take_other(b, t->tcm_ifindex);
}

static int take(const struct nlmsghdr *h, void *arg)
{
	switch (h->nlmsg_type) {
	case RTM_NEWLINK:
	case RTM_DELLINK:
		return take_link(arg, h);
	case RTM_NEWADDR:
	case RTM_DELADDR:
		return take_other(arg, (int)((const struct ifaddrmsg *)nlmsg_data(h))->ifa_index);
	default:
		return nlmsg_datalen(h) >= (int)sizeof(struct tcmsg) ? take_tc(arg, h) : 0;
	}
}

int kern_real_event_fd(struct kernel *k)
{
	return nl_socket_get_fd(real_of(k)->events);
}

int kern_real_events(struct kernel *k,
		     void (*cb)(int ifindex, bool gone, const struct sys_link *l, void *arg), void *arg)
{
	struct real *r = real_of(k);
	struct batch b = {.own_port = nl_socket_get_local_port(r->rt)};
	struct change *c, *next;
	int rc = sock_events(r->events, take, &b);

	HASH_ITER (hh, b.changes, c, next) {
		cb(c->ifindex, c->gone, c->seen && !c->gone ? &c->link : NULL, arg);
		HASH_DEL(b.changes, c);
		free(c);
	}
	return rc;
}
