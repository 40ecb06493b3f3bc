/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reads links, from raw messages: libnl's objects lack the newer attributes. Changes nothing. */
#include "lib/kern/real.h"

#include <errno.h>
#include <linux/if_link.h>
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/rtnetlink.h>
#include <string.h>

static void get_string(const struct nlattr *a, char *buf, size_t size)
{
	if (a)
		nla_strlcpy(buf, a, size);
}

static uint32_t get_u32(const struct nlattr *a)
{
	return a && nla_len(a) >= (int)sizeof(uint32_t) ? nla_get_u32(a) : 0;
}

static bool get_mac(const struct nlattr *a, struct mac *ret)
{
	if (!a || nla_len(a) != (int)sizeof(ret->b))
		return false;
	memcpy(ret->b, nla_data(a), sizeof(ret->b));
	return true;
}

static void get_info(struct nlattr *nest, struct sys_link *l)
{
	struct nlattr *tb[IFLA_INFO_MAX + 1];

	if (!nest || nla_parse_nested(tb, IFLA_INFO_MAX, nest, NULL))
		return;
	get_string(tb[IFLA_INFO_KIND], l->kind, sizeof(l->kind));
	get_string(tb[IFLA_INFO_SLAVE_KIND], l->slave_kind, sizeof(l->slave_kind));
}

static struct nlattr *find_inet6(struct nlattr *nest)
{
	return nest ? nla_find(nla_data(nest), nla_len(nest), AF_INET6) : NULL;
}

static bool accepts_ra(const struct nlattr *conf)
{
	int32_t value;

	if (!conf || nla_len(conf) < (int)((DEVCONF_ACCEPT_RA + 1) * sizeof(value)))
		return false;
	memcpy(&value, (const char *)nla_data(conf) + DEVCONF_ACCEPT_RA * sizeof(value), sizeof(value));
	return value != 0;
}

static bool get_quiet(struct nlattr *af_spec)
{
	struct nlattr *tb[IFLA_INET6_MAX + 1], *inet6 = find_inet6(af_spec);

	if (!inet6 || nla_parse_nested(tb, IFLA_INET6_MAX, inet6, NULL))
		return true;
	if (!tb[IFLA_INET6_ADDR_GEN_MODE] ||
	    nla_get_u8(tb[IFLA_INET6_ADDR_GEN_MODE]) != IN6_ADDR_GEN_MODE_NONE)
		return false;
	return !accepts_ra(tb[IFLA_INET6_CONF]);
}

/* The array begins with the first setting, whose number is 1. */
static uint32_t inet_setting(struct nlattr *conf, unsigned which)
{
	uint32_t value = 0;

	if (nla_len(conf) >= (int)(which * sizeof(value)))
		memcpy(&value, (const char *)nla_data(conf) + (which - 1) * sizeof(value), sizeof(value));
	return value;
}

static struct arp get_arp(struct nlattr *af_spec)
{
	struct nlattr *tb[IFLA_INET_MAX + 1];
	struct nlattr *inet = af_spec ? nla_find(nla_data(af_spec), nla_len(af_spec), AF_INET) : NULL;

	if (!inet || nla_parse_nested(tb, IFLA_INET_MAX, inet, NULL) || !tb[IFLA_INET_CONF])
		return (struct arp){0};
	return (struct arp){.ignore = inet_setting(tb[IFLA_INET_CONF], IPV4_DEVCONF_ARP_IGNORE),
			    .announce = inet_setting(tb[IFLA_INET_CONF], IPV4_DEVCONF_ARP_ANNOUNCE)};
}

static void get_attrs(struct nlattr **tb, struct sys_link *l)
{
	get_string(tb[IFLA_IFNAME], l->name, sizeof(l->name));
	get_string(tb[IFLA_IFALIAS], l->alias, sizeof(l->alias));
	get_string(tb[IFLA_PARENT_DEV_NAME], l->bus, sizeof(l->bus));
	get_info(tb[IFLA_LINKINFO], l);
	l->master = (int)get_u32(tb[IFLA_MASTER]);
	l->lower = (int)get_u32(tb[IFLA_LINK]);
	l->lower_foreign = tb[IFLA_LINK_NETNSID] != NULL;
	l->lower_nsid = (int)get_u32(tb[IFLA_LINK_NETNSID]);
	l->operstate = tb[IFLA_OPERSTATE] ? nla_get_u8(tb[IFLA_OPERSTATE]) : 0;
	l->mtu = get_u32(tb[IFLA_MTU]);
	l->group = get_u32(tb[IFLA_GROUP]);
	l->has_mac = get_mac(tb[IFLA_ADDRESS], &l->mac);
	get_mac(tb[IFLA_PERM_ADDRESS], &l->perm_mac);
}

int link_view_parse(const struct nlmsghdr *h, struct link_view *ret)
{
	struct nlmsghdr *msg = (struct nlmsghdr *)h; /* libnl's parsers only read */
	struct nlattr *tb[IFLA_MAX + 1];
	const struct ifinfomsg *ifi;

	if (h->nlmsg_type != RTM_NEWLINK && h->nlmsg_type != RTM_DELLINK)
		return -EBADMSG;
	if (nlmsg_parse(msg, sizeof(*ifi), tb, IFLA_MAX, NULL) < 0)
		return -EBADMSG;
	ifi = nlmsg_data(h);
	*ret = (struct link_view){
		.sys = {.ifindex = ifi->ifi_index, .type = ifi->ifi_type, .flags = ifi->ifi_flags},
		.arp = get_arp(tb[IFLA_AF_SPEC]),
		.quiet = get_quiet(tb[IFLA_AF_SPEC]),
	};
	get_attrs(tb, &ret->sys);
	return 0;
}

static struct nl_msg *get_msg(int ifindex, const char *name)
{
	struct ifinfomsg ifi = {.ifi_index = ifindex};
	struct nl_msg *msg = nlmsg_alloc_simple(RTM_GETLINK, 0);

	if (!msg)
		return NULL;
	if (nlmsg_append(msg, &ifi, sizeof(ifi), NLMSG_ALIGNTO) < 0)
		goto nla_put_failure;
	/* IFLA_IFNAME finds alternative names too, but takes none that are longer than a name. */
	if (!ifindex && name)
		NLA_PUT_STRING(msg, strlen(name) < IFNAMSIZ ? IFLA_IFNAME : IFLA_ALT_IFNAME, name);
	return msg;

nla_put_failure:
	nlmsg_free(msg);
	return NULL;
}

static int parse_one(const struct nlmsghdr *h, void *arg)
{
	return link_view_parse(h, arg);
}

int link_get(struct nl_sock *sk, int ifindex, const char *name, struct link_view *ret, struct extack *x)
{
	MSG_AUTO msg = get_msg(ifindex, name);
	struct link_view v = {};
	int rc;

	*x = (struct extack){};
	if (!msg)
		return -ENOMEM;
	rc = sock_get(sk, msg, parse_one, &v, x);
	if (!rc && !v.sys.ifindex)
		rc = -ENODEV;
	if (!rc)
		*ret = v;
	return rc;
}

struct each {
	int (*cb)(const struct sys_link *l, void *arg);
	void *arg;
};

static int each_link(const struct nlmsghdr *h, void *arg)
{
	struct each *each = arg;
	struct link_view v;
	int rc = link_view_parse(h, &v);

	return rc ? rc : each->cb(&v.sys, each->arg);
}

int link_each(struct nl_sock *sk, const char *kind, int (*cb)(const struct sys_link *l, void *arg), void *arg,
	      struct extack *x)
{
	struct each each = {.cb = cb, .arg = arg};
	MSG_AUTO msg = get_msg(0, NULL);
	struct nlattr *info;

	*x = (struct extack){};
	if (!msg)
		return -ENOMEM;
	NLA_PUT_U32(msg, IFLA_EXT_MASK, RTEXT_FILTER_SKIP_STATS);
	if (kind) {
		info = nla_nest_start(msg, IFLA_LINKINFO);
		NLA_PUT_STRING(msg, IFLA_INFO_KIND, kind);
		nla_nest_end(msg, info);
	}
	return sock_dump(sk, msg, each_link, &each, x);

nla_put_failure:
	return -ENOMEM;
}
