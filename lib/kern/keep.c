/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a link loses when it is taken down for a moment: its IPv6 addresses, the routes over it, its permanent
 * neighbours. Remembers and gives back the kernel's own messages; takes no link down and makes nothing up.
 */
#include "lib/kern/real.h"

#include <errno.h>
#include <linux/if_addr.h>
#include <linux/neighbour.h>
#include <linux/rtnetlink.h>
#include <stdlib.h>

struct kept {
	int ifindex;
	size_t count;
	struct nl_msg **list;
};

static const struct nlattr *find(const struct nlmsghdr *h, size_t header, int type)
{
	return nlmsg_find_attr((struct nlmsghdr *)h, (int)header, type);
}

static bool over(const struct nlmsghdr *h, int ifindex)
{
	const struct nlattr *oif = find(h, sizeof(struct rtmsg), RTA_OIF);
	const struct nlattr *paths = find(h, sizeof(struct rtmsg), RTA_MULTIPATH);
	const struct rtnexthop *hop = paths ? nla_data(paths) : NULL;
	int left = paths ? nla_len(paths) : 0;

	if (oif)
		return (int)nla_get_u32((struct nlattr *)oif) == ifindex;
	for (; paths && RTNH_OK(hop, left); left -= NLMSG_ALIGN(hop->rtnh_len), hop = RTNH_NEXT(hop))
		if (hop->rtnh_ifindex == ifindex)
			return true;
	return false;
}

/* Connected routes come back with the addresses, what routers told is told again. */
static bool want_route(struct nlmsghdr *h, int ifindex)
{
	struct rtmsg *m = nlmsg_data(h);

	if (m->rtm_protocol == RTPROT_KERNEL || m->rtm_protocol == RTPROT_RA ||
	    m->rtm_protocol == RTPROT_REDIRECT || m->rtm_flags & RTM_F_CLONED)
		return false;
	m->rtm_flags &= RTNH_F_ONLINK | RTNH_F_PERVASIVE; /* the others are the kernel's to say */
	return over(h, ifindex);
}

/* It was the link's a moment ago: nobody else can have it by now. */
static bool want_addr(struct nlmsghdr *h, int ifindex)
{
	const struct ifaddrmsg *m = nlmsg_data(h);
	struct nlattr *flags = (struct nlattr *)find(h, sizeof(*m), IFA_FLAGS);

	if (flags && !(nla_get_u32(flags) & (IFA_F_TENTATIVE | IFA_F_DADFAILED)))
		*(uint32_t *)nla_data(flags) |= IFA_F_NODAD;
	return (int)m->ifa_index == ifindex;
}

static bool want_neigh(struct nlmsghdr *h, int ifindex)
{
	const struct ndmsg *m = nlmsg_data(h);

	return m->ndm_ifindex == ifindex && m->ndm_state == NUD_PERMANENT;
}

/* What is needed by others comes last. IPv4's addresses stay. All headers begin with the family; where the
 * kernel filters, it is by an attribute. */
static const struct {
	int get, new;
	unsigned char family;
	size_t header;
	int by;
	bool (*want)(struct nlmsghdr *h, int ifindex);
} kinds[] = {
	{RTM_GETNEIGH, RTM_NEWNEIGH, AF_UNSPEC, sizeof(struct ndmsg), NDA_IFINDEX, want_neigh},
	{RTM_GETROUTE, RTM_NEWROUTE, AF_INET6, sizeof(struct rtmsg), RTA_OIF, want_route},
	{RTM_GETROUTE, RTM_NEWROUTE, AF_INET, sizeof(struct rtmsg), RTA_OIF, want_route},
	{RTM_GETADDR, RTM_NEWADDR, AF_INET6, sizeof(struct ifaddrmsg), 0, want_addr},
};
#define KINDS (sizeof(kinds) / sizeof(*kinds))

struct collect {
	struct kept *k;
	size_t kind;
};

static int take(const struct nlmsghdr *h, void *arg)
{
	struct collect *c = arg;
	struct kept *k = c->k;
	struct nl_msg *copy, **more;

	if (h->nlmsg_type != kinds[c->kind].new)
		return 0;
	copy = nlmsg_convert((struct nlmsghdr *)h);
	if (copy && !kinds[c->kind].want(nlmsg_hdr(copy), k->ifindex)) {
		nlmsg_free(copy);
		return 0;
	}
	more = copy ? reallocarray(k->list, k->count + 1, sizeof(*more)) : NULL;
	if (!more) {
		nlmsg_free(copy);
		return -ENOMEM;
	}
	nlmsg_hdr(copy)->nlmsg_flags = NLM_F_REQUEST | NLM_F_CREATE;
	nlmsg_hdr(copy)->nlmsg_pid = NL_AUTO_PORT;
	k->list = more;
	k->list[k->count++] = copy;
	return 0;
}

static int dump(struct nl_sock *sk, struct kept *k, size_t kind)
{
	char header[sizeof(struct rtmsg) + sizeof(struct ndmsg)] = {(char)kinds[kind].family};
	struct collect c = {.k = k, .kind = kind};
	MSG_AUTO msg = nlmsg_alloc_simple(kinds[kind].get, 0);
	struct extack x;
	int rc;

	if (!msg || nlmsg_append(msg, header, kinds[kind].header, NLMSG_ALIGNTO) < 0)
		return -ENOMEM;
	if (kinds[kind].by && nla_put_u32(msg, kinds[kind].by, (uint32_t)k->ifindex) < 0)
		return -ENOMEM;
	rc = sock_dump(sk, msg, take, &c, &x);
	/* Of a kernel without IPv6 there is nothing to keep. */
	return rc == -EOPNOTSUPP || rc == -EAFNOSUPPORT ? 0 : rc;
}

struct kept *kept_free(struct kept *k)
{
	for (size_t i = 0; k && i < k->count; i++)
		nlmsg_free(k->list[i]);
	if (k)
		free(k->list);
	free(k);
	return NULL;
}

int keep(struct nl_sock *sk, int ifindex, struct kept **ret)
{
	struct kept *k = calloc(1, sizeof(*k));
	int rc = k ? 0 : -ENOMEM;

	if (k)
		k->ifindex = ifindex;
	for (size_t i = 0; i < KINDS && rc == 0; i++)
		rc = dump(sk, k, i);
	if (rc)
		kept_free(k);
	else
		*ret = k;
	return rc;
}

/*
 * One round; how many were taken. What is there already came back by itself. The kernel puts the newest in
 * front: given back from the last to the first, they stand as they stood.
 */
static size_t give_some(struct act *a, struct kept *k)
{
	size_t given = 0;

	for (size_t i = k->count; i-- > 0;) {
		int rc = k->list[i] ? act_send(a, k->list[i]) : -EALREADY;

		if (rc && rc != -EEXIST)
			continue;
		nlmsg_free(k->list[i]);
		k->list[i] = NULL;
		given++;
	}
	return given;
}

/* Another round as long as it helps: a gateway may be reached by a route that comes after it. */
void keep_give(const struct act *a, struct kept *k)
{
	struct act give = *a;
	struct err none = {0};

	give.e = &none;
	while (give_some(&give, k) > 0)
		;
}
