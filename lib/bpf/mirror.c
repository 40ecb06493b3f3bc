// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Where a program's redirect does not reach an ifb: one flower filter for each steered MAC, behind the hook's
 * program, whose mirred action does. Knows no map; the program decides which frames come as far as here.
 */
#include "lib/bpf/internal.h"

#include <errno.h>
#include <libmnl/libmnl.h>
#include <linux/if_ether.h>
#include <linux/pkt_cls.h>
#include <linux/pkt_sched.h>
#include <linux/rtnetlink.h>
#include <linux/tc_act/tc_mirred.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

#define ACK_SIZE 16384

/* The ifb's number is the handle: one filter for each ifb, found without a list. */
static struct nlmsghdr *message(char *buf, uint16_t type, uint16_t flags, int hook, int ifb)
{
	struct nlmsghdr *h = mnl_nlmsg_put_header(buf);
	struct tcmsg *tc = mnl_nlmsg_put_extra_header(h, sizeof(*tc));

	h->nlmsg_type = type;
	h->nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK | flags;
	*tc = (struct tcmsg){.tcm_ifindex = hook,
			     .tcm_parent = TC_H_MAKE(TC_H_CLSACT, TC_H_MIN_INGRESS),
			     .tcm_handle = (uint32_t)ifb,
			     .tcm_info = TC_H_MAKE(MIRROR_PRIO << 16, htons(ETH_P_ALL))};
	mnl_attr_put_strz(h, TCA_KIND, "flower");
	return h;
}

static void put_action(struct nlmsghdr *h, int ifb)
{
	const struct tc_mirred redirect = {
		.action = TC_ACT_STOLEN, .eaction = TCA_EGRESS_REDIR, .ifindex = (uint32_t)ifb};
	struct nlattr *list = mnl_attr_nest_start(h, TCA_FLOWER_ACT);
	struct nlattr *first = mnl_attr_nest_start(h, 1), *options;

	mnl_attr_put_strz(h, TCA_ACT_KIND, "mirred");
	options = mnl_attr_nest_start(h, TCA_ACT_OPTIONS);
	mnl_attr_put(h, TCA_MIRRED_PARMS, sizeof(redirect), &redirect);
	mnl_attr_nest_end(h, options);
	mnl_attr_nest_end(h, first);
	mnl_attr_nest_end(h, list);
}

static void put_match(struct nlmsghdr *h, struct mac mac, int ifb)
{
	static const struct mac all = {.b = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff}};
	struct nlattr *options = mnl_attr_nest_start(h, TCA_OPTIONS);

	mnl_attr_put(h, TCA_FLOWER_KEY_ETH_DST, sizeof(mac.b), mac.b);
	mnl_attr_put(h, TCA_FLOWER_KEY_ETH_DST_MASK, sizeof(all.b), all.b);
	mnl_attr_put_u32(h, TCA_FLOWER_FLAGS, TCA_CLS_FLAGS_SKIP_HW);
	put_action(h, ifb);
	mnl_attr_nest_end(h, options);
}

int mirror_add(struct bpf *b, int hook, struct mac mac, int ifb)
{
	char buf[1024];
	struct nlmsghdr *h = message(buf, RTM_NEWTFILTER, NLM_F_CREATE, hook, ifb);

	put_match(h, mac, ifb);
	++*b->acts;
	return tc_talk(NULL, h, NULL, NULL);
}

/* No such filter, hook or device: it is as asked for. */
static bool is_gone(int r)
{
	return r == -ENOENT || r == -EINVAL || r == -ENODEV;
}

int mirror_del(struct bpf *b, int hook, int ifb)
{
	char buf[1024];
	int r = tc_talk(NULL, message(buf, RTM_DELTFILTER, 0, hook, ifb), NULL, NULL);

	*b->acts += !is_gone(r);
	return is_gone(r) ? 0 : r;
}

int mirror_purge(struct bpf *b, int hook, struct err *e)
{
	int r = mirror_del(b, hook, 0);

	return r ? err_sys(e, r, NULL, "cannot delete flower filters: %s", strerror(-r)) : 0;
}

static int find_mac(const struct nlattr *attr, void *arg)
{
	struct mac *mac = arg;

	if (mnl_attr_get_type(attr) == TCA_FLOWER_KEY_ETH_DST &&
	    mnl_attr_get_payload_len(attr) == sizeof(mac->b))
		memcpy(mac->b, mnl_attr_get_payload(attr), sizeof(mac->b));
	return MNL_CB_OK;
}

static int find_options(const struct nlattr *attr, void *arg)
{
	return mnl_attr_get_type(attr) == TCA_OPTIONS ? mnl_attr_parse_nested(attr, find_mac, arg)
						      : MNL_CB_OK;
}

static int read_mac(const struct nlmsghdr *h, void *arg)
{
	return mnl_attr_parse(h, sizeof(struct tcmsg), find_options, arg);
}

int mirror_observe(int hook, struct mac mac, int ifb, bool *ret)
{
	struct mac seen = {};
	char buf[1024];
	int r = tc_talk(NULL, message(buf, RTM_GETTFILTER, 0, hook, ifb), read_mac, &seen);

	if (r && !is_gone(r))
		return r;
	*ret = !r && mac_equal(seen, mac);
	return 0;
}
