/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Addresses: whether two links share a subnet. Sets none. */
#include "lib/kern/real.h"

#include "lib/kern/view.h"

#include <errno.h>
#include <linux/if_addr.h>
#include <linux/rtnetlink.h>
#include <netinet/in.h>
#include <string.h>

#define ADDRS_MAX 64 /* on one link; what goes beyond is not compared */

struct address {
	int family;
	unsigned prefix_len;
	uint8_t local[16];  /* the link's own */
	uint8_t subnet[16]; /* differs from local where a peer is given */
};

struct addresses {
	struct address list[ADDRS_MAX];
	size_t count;
	int ifindex;
};

static bool is_link_local(const struct address *a)
{
	return a->family == AF_INET6 && a->local[0] == 0xfe && (a->local[1] & 0xc0) == 0x80;
}

/* IPv6's link-local addresses are left out: every link has the same subnet of them. */
static int take(const struct nlmsghdr *h, void *arg)
{
	struct addresses *all = arg;
	struct nlattr *tb[IFA_MAX + 1];
	const struct ifaddrmsg *m;
	struct address a = {};

	if (nlmsg_parse((struct nlmsghdr *)h, sizeof(*m), tb, IFA_MAX, NULL) < 0)
		return -EBADMSG;
	m = nlmsg_data(h);
	if ((int)m->ifa_index != all->ifindex || !tb[IFA_ADDRESS] || all->count == ADDRS_MAX)
		return 0; /* kernels without strict checks answer for every link */
	a.family = m->ifa_family;
	a.prefix_len = m->ifa_prefixlen;
	nla_memcpy(a.subnet, tb[IFA_ADDRESS], sizeof(a.subnet));
	nla_memcpy(a.local, tb[tb[IFA_LOCAL] ? IFA_LOCAL : IFA_ADDRESS], sizeof(a.local));
	if (!is_link_local(&a))
		all->list[all->count++] = a;
	return 0;
}

static int collect(struct nl_sock *sk, int ifindex, struct addresses *ret, struct extack *x)
{
	struct ifaddrmsg m = {.ifa_family = AF_UNSPEC, .ifa_index = (uint32_t)ifindex};
	MSG_AUTO msg = nlmsg_alloc_simple(RTM_GETADDR, 0);

	*x = (struct extack){};
	ret->ifindex = ifindex;
	ret->count = 0;
	if (!msg || nlmsg_append(msg, &m, sizeof(m), NLMSG_ALIGNTO) < 0)
		return -ENOMEM;
	return sock_dump(sk, msg, take, ret, x);
}

static bool inside(const struct address *a, const struct address *net)
{
	unsigned bytes = net->prefix_len / 8, bits = net->prefix_len % 8;

	if (a->family != net->family || net->prefix_len > 128 || memcmp(a->local, net->subnet, bytes) != 0)
		return false;
	return !bits || !((a->local[bytes] ^ net->subnet[bytes]) >> (8 - bits));
}

static bool any_inside(const struct addresses *of, const struct addresses *nets)
{
	for (size_t i = 0; i < of->count; i++)
		for (size_t j = 0; j < nets->count; j++)
			if (inside(&of->list[i], &nets->list[j]))
				return true;
	return false;
}

int real_shares_subnet(struct kernel *k, int ifindex, int parent_ifindex, bool *ret, struct err *e)
{
	struct nl_sock *sk = real_of(k)->rt;
	struct addresses link, parent;
	struct extack x;
	bool any;
	int rc;

	if (!view_addressed(real_of(k), ifindex, &any) && !any) {
		*ret = false;
		return 0;
	}
	rc = collect(sk, ifindex, &link, &x);
	if (!rc)
		rc = collect(sk, parent_ifindex, &parent, &x);
	if (rc)
		return real_fail(rc, NULL, &x, e);
	*ret = any_inside(&link, &parent);
	return 0;
}
