/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Counters: of links, by RTM_GETSTATS (a tenth of what a full link answer costs), and of what our objects
 * dropped. */
#include "lib/kern/real.h"

#include "lib/kern/view.h"

#include <errno.h>
#include <linux/if_link.h>
#include <linux/rtnetlink.h>
#include <string.h>

static struct nl_msg *stats_msg(int ifindex)
{
	struct if_stats_msg m = {
		.ifindex = (uint32_t)ifindex,
		.filter_mask = IFLA_STATS_FILTER_BIT(IFLA_STATS_LINK_64),
	};
	struct nl_msg *msg = nlmsg_alloc_simple(RTM_GETSTATS, 0);

	if (msg && nlmsg_append(msg, &m, sizeof(m), NLMSG_ALIGNTO) < 0) {
		nlmsg_free(msg);
		return NULL;
	}
	return msg;
}

/* Older kernels have fewer counters at the end; ours are all at the front. */
static int parse(const struct nlmsghdr *h, int *ret_ifindex, struct link_stats *ret)
{
	struct nlattr *a =
		nlmsg_find_attr((struct nlmsghdr *)h, sizeof(struct if_stats_msg), IFLA_STATS_LINK_64);
	struct rtnl_link_stats64 s = {};

	if (!a)
		return -EBADMSG;
	nla_memcpy(&s, a, sizeof(s));
	*ret_ifindex = (int)((const struct if_stats_msg *)nlmsg_data(h))->ifindex;
	*ret = (struct link_stats){
		.ipackets = s.rx_packets,
		.rbytes = s.rx_bytes,
		.ierrors = s.rx_errors,
		.idrops = s.rx_dropped,
		.opackets = s.tx_packets,
		.obytes = s.tx_bytes,
		.oerrors = s.tx_errors,
		.odrops = s.tx_dropped,
	};
	return 0;
}

static int parse_one(const struct nlmsghdr *h, void *arg)
{
	int ifindex;

	return parse(h, &ifindex, arg);
}

int real_stats(struct kernel *k, const char *zone, int ifindex, struct link_stats *ret, struct err *e)
{
	MSG_AUTO msg = stats_msg(ifindex);
	struct nl_sock *sk;
	struct extack x = {};
	int rc;

	if (!msg)
		return err_nomem(e);
	rc = real_sock(real_of(k), zone, &sk, e);
	if (rc)
		return rc;
	rc = view_stats(real_of(k), sk, ifindex, ret);
	if (rc == VIEW_NONE)
		rc = sock_get(sk, msg, parse_one, ret, &x);
	real_unsock(real_of(k), sk);
	return rc ? real_fail(rc, NULL, &x, e) : 0;
}

struct all {
	int (*cb)(int ifindex, const struct link_stats *s, void *arg);
	void *arg;
};

static int parse_each(const struct nlmsghdr *h, void *arg)
{
	struct all *all = arg;
	struct link_stats s;
	int ifindex, rc = parse(h, &ifindex, &s);

	return rc ? rc : all->cb(ifindex, &s, all->arg);
}

int real_stats_all(struct kernel *k, int (*cb)(int ifindex, const struct link_stats *s, void *arg), void *arg,
		   struct err *e)
{
	struct all all = {.cb = cb, .arg = arg};
	MSG_AUTO msg = stats_msg(0);
	struct extack x;
	int rc;

	if (!msg)
		return err_nomem(e);
	rc = sock_dump(real_of(k)->rt, msg, parse_each, &all, &x);
	return rc < 0 ? real_fail(rc, NULL, &x, e) : rc;
}

static int drops_in(struct real *r, const struct port *port, uint64_t *ret, struct err *e)
{
	struct nl_sock *sk;
	struct extack x;
	int rc;

	if (!port->ifindex)
		return 0;
	rc = real_sock(r, port->zone, &sk, e);
	if (rc)
		return rc;
	rc = tree_drops(r, sk, port->ifindex, ret, &x);
	real_unsock(r, sk);
	return rc ? real_fail(rc, port->name, &x, e) : 0;
}

int real_drops(struct kernel *k, const struct node *n, struct drop_stats *ret, struct err *e)
{
	struct drop_stats d = {};
	int rc = 0;

	if (n->tx.leaf)
		rc = drops_in(real_of(k), &n->port, &d.tx_leaf, e);
	if (!rc && n->rx.leaf)
		rc = drops_in(real_of(k), &n->ifb_port, &d.rx_leaf, e);
	if (!rc && n->prog.present)
		rc = bpf_vnic_drops(real_of(k)->bpf, n->n, &d.rx_group, &d.tx_blocked);
	if (!rc)
		*ret = d;
	return rc;
}
