// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The filter at the end of a foreign link's egress: takes what the program before it lets through to the ifb
 * that carries the link's tree. Its mirred action reaches an ifb where a program's redirect does not. Decides
 * nothing about frames.
 */
#include "lib/bpf/theirs.h"

#include <arpa/inet.h>
#include <errno.h>
#include <libmnl/libmnl.h>
#include <linux/filter.h>
#include <linux/if_ether.h>
#include <linux/pkt_cls.h>
#include <linux/pkt_sched.h>
#include <linux/rtnetlink.h>
#include <linux/tc_act/tc_mirred.h>

#define OUT_HANDLE   1
#define MESSAGE_SIZE 1024

static struct nlmsghdr *message(char *buf, uint16_t type, uint16_t flags, int ifindex)
{
	struct nlmsghdr *h = mnl_nlmsg_put_header(buf);
	struct tcmsg *tc = mnl_nlmsg_put_extra_header(h, sizeof(*tc));

	h->nlmsg_type = type;
	h->nlmsg_flags = NLM_F_REQUEST | flags;
	*tc = (struct tcmsg){.tcm_ifindex = ifindex,
			     .tcm_parent = TC_H_MAKE(TC_H_CLSACT, TC_H_MIN_EGRESS),
			     .tcm_handle = OUT_HANDLE,
			     .tcm_info = TC_H_MAKE(OUT_PRIO << 16, htons(ETH_P_ALL))};
	return h;
}

static void put_action(struct nlmsghdr *h, int ifb)
{
	const struct tc_mirred redirect = {
		.action = TC_ACT_STOLEN, .eaction = TCA_EGRESS_REDIR, .ifindex = (uint32_t)ifb};
	struct nlattr *list = mnl_attr_nest_start(h, TCA_BPF_ACT);
	struct nlattr *first = mnl_attr_nest_start(h, 1), *options;

	mnl_attr_put_strz(h, TCA_ACT_KIND, "mirred");
	options = mnl_attr_nest_start(h, TCA_ACT_OPTIONS);
	mnl_attr_put(h, TCA_MIRRED_PARMS, sizeof(redirect), &redirect);
	mnl_attr_nest_end(h, options);
	mnl_attr_nest_end(h, first);
	mnl_attr_nest_end(h, list);
}

/* One instruction: every frame that comes as far. */
static void put_match(struct nlmsghdr *h, int ifb)
{
	static const struct sock_filter all = {.code = BPF_RET | BPF_K, .k = ~0U};
	struct nlattr *options = mnl_attr_nest_start(h, TCA_OPTIONS);

	mnl_attr_put_u16(h, TCA_BPF_OPS_LEN, 1);
	mnl_attr_put(h, TCA_BPF_OPS, sizeof(all), &all);
	mnl_attr_put_u32(h, TCA_BPF_FLAGS_GEN, TCA_CLS_FLAGS_SKIP_HW);
	put_action(h, ifb);
	mnl_attr_nest_end(h, options);
}

int out_put(struct bpf *b, int ifindex, int ifb)
{
	char buf[MESSAGE_SIZE];
	struct nlmsghdr *h = message(buf, RTM_NEWTFILTER, NLM_F_CREATE | NLM_F_ACK, ifindex);

	mnl_attr_put_strz(h, TCA_KIND, "bpf");
	put_match(h, ifb);
	++*b->acts;
	return tc_talk(b->nl, h, NULL, NULL);
}

/* No such filter, hook or device. */
static bool is_gone(int r)
{
	return r == -ENOENT || r == -EINVAL || r == -ENODEV;
}

int out_drop(struct bpf *b, int ifindex)
{
	char buf[MESSAGE_SIZE];
	struct nlmsghdr *h = message(buf, RTM_DELTFILTER, NLM_F_ACK, ifindex);
	int r;

	mnl_attr_put_strz(h, TCA_KIND, "bpf");
	r = tc_talk(b->nl, h, NULL, NULL);
	*b->acts += !is_gone(r);
	return is_gone(r) ? 0 : r;
}

/* Down through the nests, each by its type, to the parameters of the action. */
static const uint16_t PATH[] = {TCA_OPTIONS, TCA_BPF_ACT, 1, TCA_ACT_OPTIONS, TCA_MIRRED_PARMS};

struct descent {
	size_t depth;
	int ifb;
};

static int descend(const struct nlattr *attr, void *arg)
{
	const struct tc_mirred *parms = mnl_attr_get_payload(attr);
	struct descent *d = arg;
	int r = MNL_CB_OK;

	if (mnl_attr_get_type(attr) != PATH[d->depth])
		return MNL_CB_OK;
	if (d->depth + 1 == sizeof(PATH) / sizeof(*PATH)) {
		if (mnl_attr_get_payload_len(attr) >= sizeof(*parms) && parms->eaction == TCA_EGRESS_REDIR)
			d->ifb = (int)parms->ifindex;
		return MNL_CB_OK;
	}
	d->depth++;
	r = mnl_attr_parse_nested(attr, descend, d);
	d->depth--;
	return r;
}

/* It is the whole answer. */
static int read_filter(const struct nlmsghdr *h, void *arg)
{
	return mnl_attr_parse(h, sizeof(struct tcmsg), descend, arg) < 0 ? MNL_CB_ERROR : MNL_CB_STOP;
}

int out_get(struct bpf *b, int ifindex, int *ret_ifb)
{
	struct descent d = {.depth = 0};
	char buf[MESSAGE_SIZE];
	int r = tc_talk(b->nl, message(buf, RTM_GETTFILTER, 0, ifindex), read_filter, &d);

	if (r && !is_gone(r))
		return r;
	*ret_ifb = r ? 0 : d.ifb;
	return 0;
}
