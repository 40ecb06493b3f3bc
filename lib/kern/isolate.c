/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Rules, routing tables and ARP settings of isolated VNICs, as the kernel has them. Touches none but those of
 * our protocol number in the VNIC's own table; what addresses need is lib/model/isolate.c's.
 */
#include "lib/kern/real.h"

#include <errno.h>
#include <linux/fib_rules.h>
#include <linux/if_addr.h>
#include <linux/if_link.h>
#include <linux/ip.h>
#include <linux/rtnetlink.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const int families[] = {AF_INET, AF_INET6};

static int addr_bytes(int family)
{
	return family == AF_INET ? 4 : 16;
}

/* What is there: read into set, or (foreign) merely found. */
struct read {
	struct iso_set *set;
	uint32_t table;
	bool foreign; /* others use our table */
	int oif;      /* of gates */
};

static uint32_t u32_of(struct nlattr *a, uint32_t otherwise)
{
	return a && nla_len(a) >= (int)sizeof(uint32_t) ? nla_get_u32(a) : otherwise;
}

/* One rule, as far as it can be ours. */
static int parse_rule(const struct nlmsghdr *h, struct iso_addr *ret, uint32_t *ret_table, bool *ret_ours)
{
	struct nlattr *tb[FRA_MAX + 1];
	const struct fib_rule_hdr *f = nlmsg_data(h);

	if (nlmsg_parse((struct nlmsghdr *)h, sizeof(*f), tb, FRA_MAX, NULL) < 0)
		return -EBADMSG;
	*ret = (struct iso_addr){.family = f->family, .plen = f->src_len};
	nla_memcpy(ret->local, tb[FRA_SRC] ? tb[FRA_SRC] : NULL, tb[FRA_SRC] ? sizeof(ret->local) : 0);
	*ret_table = u32_of(tb[FRA_TABLE], f->table);
	*ret_ours = tb[FRA_PROTOCOL] && nla_get_u8(tb[FRA_PROTOCOL]) == ISOLATE_PROTOCOL;
	return 0;
}

static int take_rule(const struct nlmsghdr *h, void *arg)
{
	struct read *r = arg;
	struct iso_addr a;
	uint32_t table;
	bool ours;

	if (parse_rule(h, &a, &table, &ours) || table != r->table)
		return 0;
	if (!ours)
		r->foreign = true;
	else if (r->set->from_count < ISO_MAX)
		r->set->from[r->set->from_count++] = a;
	return 0;
}

/* One route; false: of a kind that we never make nor copy. */
static bool parse_route(const struct nlmsghdr *h, struct iso_route *ret, uint32_t *ret_table, int *ret_oif)
{
	struct nlattr *tb[RTA_MAX + 1];
	const struct rtmsg *m = nlmsg_data(h);

	if (nlmsg_parse((struct nlmsghdr *)h, sizeof(*m), tb, RTA_MAX, NULL) < 0 ||
	    (m->rtm_flags & RTM_F_CLONED))
		return false;
	*ret = (struct iso_route){.family = m->rtm_family,
				  .plen = m->rtm_dst_len,
				  .metric = u32_of(tb[RTA_PRIORITY], 0),
				  .kind = m->rtm_type == RTN_UNREACHABLE ? ISO_UNREACHABLE
					  : tb[RTA_GATEWAY]              ? ISO_GATEWAY
									 : ISO_LINK};
	if (tb[RTA_DST])
		nla_memcpy(ret->dst, tb[RTA_DST], sizeof(ret->dst));
	if (tb[RTA_GATEWAY])
		nla_memcpy(ret->gateway, tb[RTA_GATEWAY], sizeof(ret->gateway));
	*ret_table = u32_of(tb[RTA_TABLE], m->rtm_table);
	*ret_oif = (int)u32_of(tb[RTA_OIF], 0);
	return m->rtm_type == RTN_UNICAST || m->rtm_type == RTN_UNREACHABLE;
}

static int take_route(const struct nlmsghdr *h, void *arg)
{
	const struct rtmsg *m = nlmsg_data(h);
	struct read *r = arg;
	struct iso_route route;
	uint32_t table;
	int oif;

	if (!parse_route(h, &route, &table, &oif) || table != r->table)
		return 0;
	if (m->rtm_protocol != ISOLATE_PROTOCOL)
		r->foreign = true;
	else if (r->set->route_count < ISO_MAX)
		r->set->routes[r->set->route_count++] = route;
	return 0;
}

static int take_gate(const struct nlmsghdr *h, void *arg)
{
	struct read *r = arg;
	struct iso_route route;
	uint32_t table;
	int oif;

	if (parse_route(h, &route, &table, &oif) && table == RT_TABLE_MAIN && oif == r->oif &&
	    route.kind == ISO_GATEWAY && r->set->route_count < ISO_MAX)
		r->set->routes[r->set->route_count++] = route;
	return 0;
}

/* A link-local address has no subnet that another link could take its traffic away by. */
static int take_addr(const struct nlmsghdr *h, void *arg)
{
	struct read *r = arg;
	struct nlattr *tb[IFA_MAX + 1];
	const struct ifaddrmsg *m = nlmsg_data(h);
	struct iso_addr a;

	if (nlmsg_parse((struct nlmsghdr *)h, sizeof(*m), tb, IFA_MAX, NULL) < 0)
		return -EBADMSG;
	if ((int)m->ifa_index != r->oif || !tb[IFA_ADDRESS] || r->set->from_count == ISO_MAX)
		return 0;
	a = (struct iso_addr){.family = m->ifa_family, .plen = m->ifa_prefixlen};
	nla_memcpy(a.subnet, tb[IFA_ADDRESS], sizeof(a.subnet));
	nla_memcpy(a.local, tb[tb[IFA_LOCAL] ? IFA_LOCAL : IFA_ADDRESS], sizeof(a.local));
	if (a.family == AF_INET || a.local[0] != 0xfe || (a.local[1] & 0xc0) != 0x80)
		r->set->from[r->set->from_count++] = a;
	return 0;
}

static int dump(struct nl_sock *sk, struct nl_msg *msg, sock_fn *fn, struct read *r)
{
	struct extack x;
	int rc = sock_dump(sk, msg, fn, r, &x);

	/* A table that nothing is in is none; a kernel without IPv6 has no rules for it. */
	return rc == -ENOENT || rc == -EOPNOTSUPP || rc == -EAFNOSUPPORT ? 0 : rc;
}

static int read_rules(struct nl_sock *sk, int family, struct read *r)
{
	struct fib_rule_hdr f = {.family = (uint8_t)family};
	MSG_AUTO msg = nlmsg_alloc_simple(RTM_GETRULE, 0);

	if (!msg || nlmsg_append(msg, &f, sizeof(f), NLMSG_ALIGNTO) < 0)
		return -ENOMEM;
	return dump(sk, msg, take_rule, r);
}

/* table 0: of any, but of our protocol; oif 0: over any link. */
static int read_routes(struct nl_sock *sk, int family, uint32_t table, int oif, sock_fn *fn, struct read *r)
{
	struct rtmsg m = {.rtm_family = (uint8_t)family, .rtm_protocol = table ? 0 : ISOLATE_PROTOCOL};
	MSG_AUTO msg = nlmsg_alloc_simple(RTM_GETROUTE, 0);

	if (!msg || nlmsg_append(msg, &m, sizeof(m), NLMSG_ALIGNTO) < 0)
		return -ENOMEM;
	if (table)
		NLA_PUT_U32(msg, RTA_TABLE, table);
	if (oif)
		NLA_PUT_U32(msg, RTA_OIF, (uint32_t)oif);
	return dump(sk, msg, fn, r);

nla_put_failure:
	return -ENOMEM;
}

static int read_addrs(struct nl_sock *sk, int ifindex, struct iso_set *ret)
{
	struct ifaddrmsg m = {.ifa_family = AF_UNSPEC, .ifa_index = (uint32_t)ifindex};
	struct read r = {.set = ret, .oif = ifindex};
	MSG_AUTO msg = nlmsg_alloc_simple(RTM_GETADDR, 0);

	if (!msg || nlmsg_append(msg, &m, sizeof(m), NLMSG_ALIGNTO) < 0)
		return -ENOMEM;
	return dump(sk, msg, take_addr, &r);
}

static int read_gates(struct nl_sock *sk, int ifindex, struct iso_set *ret)
{
	struct read r = {.set = ret, .oif = ifindex};
	int rc = 0;

	for (size_t i = 0; i < 2 && rc == 0 && ifindex; i++)
		rc = read_routes(sk, families[i], RT_TABLE_MAIN, ifindex, take_gate, &r);
	return rc;
}

static int have_set(struct nl_sock *sk, uint32_t n, struct iso_set *ret, bool *ret_foreign)
{
	struct read r = {.set = ret, .table = isolate_table(n)};
	int rc = 0;

	*ret = (struct iso_set){0};
	for (size_t i = 0; i < 2 && rc == 0; i++) {
		rc = read_rules(sk, families[i], &r);
		if (rc == 0)
			rc = read_routes(sk, families[i], r.table, 0, take_route, &r);
	}
	*ret_foreign = r.foreign;
	return rc;
}

/* ifindex 0: of a link that is not there, and has no addresses. */
static int want_set_when(struct nl_sock *sk, int ifindex, int parent, bool up, struct iso_set *ret)
{
	struct iso_set seen = {0};
	int rc = ifindex ? read_addrs(sk, ifindex, &seen) : 0;

	if (rc == 0)
		rc = read_gates(sk, ifindex, &seen);
	if (rc == 0)
		rc = read_gates(sk, parent, &seen);
	if (rc == 0)
		isolate_set(seen.from, seen.from_count, seen.routes, seen.route_count, up, ret);
	return rc;
}

static int want_set(struct nl_sock *sk, int ifindex, int parent, struct iso_set *ret)
{
	struct link_view v;
	struct extack x;
	int rc = link_get(sk, ifindex, NULL, &v, &x);

	return rc ? rc : want_set_when(sk, ifindex, parent, v.sys.flags & IFF_UP, ret);
}

int isolate_observe(struct real *r, struct node *ret, struct extack *x)
{
	struct iso_set have, want;
	bool foreign;
	int rc = have_set(r->rt, ret->n, &have, &foreign);

	*x = (struct extack){};
	ret->iso = have.from_count || have.route_count ? ISO_STALE : ISO_OFF;
	if (rc || ret->iso == ISO_OFF || !ret->link || ret->port.zone[0])
		return rc;
	rc = want_set(r->rt, ret->port.ifindex, ret->parent.ifindex, &want);
	if (rc == 0 && iso_set_equal(&have, &want))
		ret->iso = ISO_ON;
	return rc == -ENODEV ? 0 : rc;
}

static uint32_t setting(const char *name)
{
	char path[96], text[16] = "";
	FILE *f;

	snprintf(path, sizeof(path), "/proc/sys/net/ipv4/conf/default/%s", name);
	f = fopen(path, "re");
	if (!f)
		return 0;
	if (!fgets(text, sizeof(text), f))
		text[0] = '\0';
	fclose(f);
	return (uint32_t)strtoul(text, NULL, 10);
}

static struct arp arp_default(void)
{
	return (struct arp){.ignore = setting("arp_ignore"), .announce = setting("arp_announce")};
}

int real_arp(struct kernel *k, int ifindex, struct arp *ret, struct err *e)
{
	struct link_view v = {.arp = arp_default()};
	struct extack x;
	int rc = ifindex ? link_get(real_of(k)->rt, ifindex, NULL, &v, &x) : 0;

	if (rc)
		return real_fail(rc, NULL, &x, e);
	*ret = v.arp;
	return 0;
}

/* By number: names change. */
int arp_set(struct act *a)
{
	struct arp arp = a->op->on == ON_PARENT ? a->node->parent_arp : a->node->arp;
	MSG_AUTO msg = nlmsg_alloc_simple(RTM_SETLINK, 0);
	struct ifinfomsg ifi = {0};
	struct nlattr *spec, *inet, *conf;
	int rc = act_ifindex(a, &ifi.ifi_index);

	if (rc)
		return rc;
	if (!msg || nlmsg_append(msg, &ifi, sizeof(ifi), NLMSG_ALIGNTO) < 0)
		return err_nomem(a->e);
	spec = nla_nest_start(msg, IFLA_AF_SPEC);
	inet = nla_nest_start(msg, AF_INET);
	conf = nla_nest_start(msg, IFLA_INET_CONF);
	NLA_PUT_U32(msg, IPV4_DEVCONF_ARP_IGNORE, arp.ignore);
	NLA_PUT_U32(msg, IPV4_DEVCONF_ARP_ANNOUNCE, arp.announce);
	nla_nest_end(msg, conf);
	nla_nest_end(msg, inet);
	nla_nest_end(msg, spec);
	return act_send(a, msg);

nla_put_failure:
	return err_nomem(a->e);
}

static int send_rule(struct act *a, int type, const struct iso_addr *from)
{
	struct fib_rule_hdr f = {.family = (uint8_t)from->family,
				 .src_len = (uint8_t)(8 * addr_bytes(from->family)),
				 .action = FR_ACT_TO_TBL};
	MSG_AUTO msg = nlmsg_alloc_simple(type, type == RTM_NEWRULE ? NLM_F_CREATE | NLM_F_EXCL : 0);

	if (!msg || nlmsg_append(msg, &f, sizeof(f), NLMSG_ALIGNTO) < 0)
		return err_nomem(a->e);
	NLA_PUT(msg, FRA_SRC, addr_bytes(from->family), from->local);
	NLA_PUT_U32(msg, FRA_TABLE, isolate_table(a->node->n));
	if (type == RTM_NEWRULE)
		NLA_PUT_U32(msg, FRA_PRIORITY, isolate_priority(a->node->n));
	NLA_PUT_U8(msg, FRA_PROTOCOL, ISOLATE_PROTOCOL);
	return act_send(a, msg);

nla_put_failure:
	return err_nomem(a->e);
}

/* The gateway is known to be on the link: the kernel need not look for it in tables that are not ready yet.
 */
static int send_route(struct act *a, int type, int ifindex, const struct iso_route *r)
{
	struct rtmsg m = {.rtm_family = (uint8_t)r->family,
			  .rtm_dst_len = (uint8_t)r->plen,
			  .rtm_protocol = ISOLATE_PROTOCOL,
			  .rtm_type = r->kind == ISO_UNREACHABLE ? RTN_UNREACHABLE : RTN_UNICAST,
			  .rtm_scope = r->family == AF_INET && r->kind == ISO_LINK ? RT_SCOPE_LINK
										   : RT_SCOPE_UNIVERSE,
			  .rtm_flags = r->kind == ISO_GATEWAY ? RTNH_F_ONLINK : 0};
	MSG_AUTO msg = nlmsg_alloc_simple(type, type == RTM_NEWROUTE ? NLM_F_CREATE | NLM_F_REPLACE : 0);

	if (!msg || nlmsg_append(msg, &m, sizeof(m), NLMSG_ALIGNTO) < 0)
		return err_nomem(a->e);
	NLA_PUT_U32(msg, RTA_TABLE, isolate_table(a->node->n));
	NLA_PUT_U32(msg, RTA_PRIORITY, r->metric);
	if (r->plen)
		NLA_PUT(msg, RTA_DST, addr_bytes(r->family), r->dst);
	if (r->kind == ISO_GATEWAY)
		NLA_PUT(msg, RTA_GATEWAY, addr_bytes(r->family), r->gateway);
	if (r->kind != ISO_UNREACHABLE && ifindex)
		NLA_PUT_U32(msg, RTA_OIF, (uint32_t)ifindex);
	return act_send(a, msg);

nla_put_failure:
	return err_nomem(a->e);
}

/* Gone already is gone; without IPv6 nothing of it can be there. */
static int drop(int rc, struct act *a)
{
	if (rc != -ENOENT && rc != -ESRCH && rc != -ENODEV)
		return rc;
	*a->e = (struct err){0};
	return 0;
}

static int add_missing(struct act *a, int ifindex, const struct iso_set *want, const struct iso_set *have)
{
	int rc = 0;

	for (size_t i = 0; i < want->route_count && rc == 0; i++)
		if (!iso_has_route(have, &want->routes[i]))
			rc = send_route(a, RTM_NEWROUTE, ifindex, &want->routes[i]);
	for (size_t i = 0; i < want->from_count && rc == 0; i++)
		if (!iso_has_from(have, &want->from[i]))
			rc = send_rule(a, RTM_NEWRULE, &want->from[i]);
	return rc;
}

static int drop_others(struct act *a, const struct iso_set *want, const struct iso_set *have)
{
	int rc = 0;

	for (size_t i = 0; i < have->from_count && rc == 0; i++)
		if (!iso_has_from(want, &have->from[i]))
			rc = drop(send_rule(a, RTM_DELRULE, &have->from[i]), a);
	for (size_t i = 0; i < have->route_count && rc == 0; i++)
		if (!iso_has_route(want, &have->routes[i]))
			rc = drop(send_route(a, RTM_DELROUTE, 0, &have->routes[i]), a);
	return rc;
}

static int cannot_read(struct act *a, int rc)
{
	return act_fail(a, rc, NULL);
}

static int refuse_foreign(const struct node *n, struct err *e)
{
	return err_user(e, -EBUSY, n->port.name,
			"cannot isolate it: routing table %u is used by others (see 'ip rule' and 'ip route "
			"show table %u'): remove that, or make the VNIC anew",
			isolate_table(n->n), isolate_table(n->n));
}

int real_iso(struct kernel *k, const struct node *n, bool up, struct iso_set *want, struct iso_set *have,
	     struct err *e)
{
	struct nl_sock *sk = real_of(k)->rt;
	bool foreign;
	int ifindex = n->port.zone[0] ? 0 : n->port.ifindex;
	int parent = n->parent.ifindex > 0 ? n->parent.ifindex : 0;
	int rc = have_set(sk, n->n, have, &foreign);

	if (rc == 0 && foreign && n->iso == ISO_OFF)
		return refuse_foreign(n, e);
	if (rc == 0)
		rc = want_set_when(sk, ifindex, parent, up, want);
	return rc ? real_fail(rc, n->port.name, &(struct extack){}, e) : 0;
}

int iso_set(struct act *a)
{
	struct iso_set want, have;
	bool foreign;
	int ifindex, rc = act_ifindex(a, &ifindex);

	if (rc)
		return rc;
	kern_real_hear_routes(&a->r->kernel);
	rc = have_set(a->sk, a->node->n, &have, &foreign);
	if (rc == 0)
		rc = want_set(a->sk, ifindex, a->node->parent.ifindex, &want);
	if (rc)
		return cannot_read(a, rc);
	if (foreign && a->op->from.iso == ISO_OFF)
		return refuse_foreign(a->node, a->e);
	rc = add_missing(a, ifindex, &want, &have);
	return rc ? rc : drop_others(a, &want, &have);
}

int iso_del(struct act *a)
{
	struct iso_set none = {0}, have;
	bool foreign;
	int rc = have_set(a->sk, a->node->n, &have, &foreign);

	return rc ? cannot_read(a, rc) : drop_others(a, &none, &have);
}

struct numbers {
	int (*cb)(uint32_t n, void *arg);
	void *arg;
};

static int rule_number(const struct nlmsghdr *h, void *arg)
{
	struct numbers *s = arg;
	struct iso_addr a;
	uint32_t table;
	bool ours;

	if (parse_rule(h, &a, &table, &ours) || !ours || !isolate_number(table))
		return 0;
	return s->cb(isolate_number(table), s->arg);
}

static int route_number(const struct nlmsghdr *h, void *arg)
{
	const struct rtmsg *m = nlmsg_data(h);
	struct numbers *s = arg;
	struct iso_route route;
	uint32_t table;
	int oif;

	if (!parse_route(h, &route, &table, &oif) || m->rtm_protocol != ISOLATE_PROTOCOL ||
	    !isolate_number(table))
		return 0;
	return s->cb(isolate_number(table), s->arg);
}

static int each_rule(struct nl_sock *sk, int family, struct numbers *s)
{
	struct fib_rule_hdr f = {.family = (uint8_t)family};
	MSG_AUTO msg = nlmsg_alloc_simple(RTM_GETRULE, 0);
	struct extack x;
	int rc;

	if (!msg || nlmsg_append(msg, &f, sizeof(f), NLMSG_ALIGNTO) < 0)
		return -ENOMEM;
	rc = sock_dump(sk, msg, rule_number, s, &x);
	return rc == -EOPNOTSUPP || rc == -EAFNOSUPPORT ? 0 : rc;
}

static int each_route(struct nl_sock *sk, int family, struct numbers *s)
{
	struct rtmsg m = {.rtm_family = (uint8_t)family, .rtm_protocol = ISOLATE_PROTOCOL};
	MSG_AUTO msg = nlmsg_alloc_simple(RTM_GETROUTE, 0);
	struct extack x;
	int rc;

	if (!msg || nlmsg_append(msg, &m, sizeof(m), NLMSG_ALIGNTO) < 0)
		return -ENOMEM;
	rc = sock_dump(sk, msg, route_number, s, &x);
	return rc == -ENOENT || rc == -EOPNOTSUPP || rc == -EAFNOSUPPORT ? 0 : rc;
}

int real_isolated(struct kernel *k, int (*cb)(uint32_t n, void *arg), void *arg, struct err *e)
{
	struct numbers s = {.cb = cb, .arg = arg};
	struct extack x = {};
	int rc = 0;

	for (size_t i = 0; i < 2 && rc == 0; i++) {
		rc = each_rule(real_of(k)->rt, families[i], &s);
		if (rc == 0)
			rc = each_route(real_of(k)->rt, families[i], &s);
	}
	return rc < 0 ? real_fail(rc, NULL, &x, e) : rc;
}

/* Only then: a router has many. */
void kern_real_hear_routes(struct kernel *k)
{
	struct real *r = real_of(k);

	if (r->hears_routes)
		return;
	r->hears_routes = !nl_socket_add_memberships(r->events, RTNLGRP_IPV4_ROUTE, RTNLGRP_IPV6_ROUTE,
						     RTNLGRP_IPV4_RULE, RTNLGRP_IPV6_RULE, 0);
}

bool isolate_event(const struct nlmsghdr *h, int *ret_ifindex, bool *ret_routing)
{
	struct iso_route route;
	struct iso_addr from;
	uint32_t table;
	bool ours;

	*ret_routing = false;
	if (h->nlmsg_type == RTM_NEWRULE || h->nlmsg_type == RTM_DELRULE) {
		if (parse_rule(h, &from, &table, &ours) || !ours)
			return false;
	} else if (!parse_route(h, &route, &table, ret_ifindex)) {
		return false;
	} else if (table == RT_TABLE_MAIN) {
		*ret_routing = true;
		return *ret_ifindex != 0;
	}
	/* What the kernel itself took away went with an address or a link. */
	*ret_routing = h->nlmsg_pid == 0;
	*ret_ifindex = -(int)isolate_number(table);
	return *ret_ifindex != 0;
}
