/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The messages of our clsact filters: libbpf can give a filter no class, by which a program for many VNICs
 * knows which it is. Decides nothing about what sits where.
 */
#include "lib/bpf/internal.h"

#include <arpa/inet.h>
#include <errno.h>
#include <libmnl/libmnl.h>
#include <linux/if_ether.h>
#include <linux/pkt_cls.h>
#include <linux/pkt_sched.h>
#include <linux/rtnetlink.h>

#define FILTER_HANDLE 1
#define NUMBER_MAJOR  0x7fd00000U
#define MESSAGE_SIZE  512
#define ANSWER_SIZE   16384

static int answers(struct mnl_socket *nl, mnl_cb_t cb, void *arg)
{
	char buf[ANSWER_SIZE];
	int r = MNL_CB_OK;

	while (r > MNL_CB_STOP) {
		ssize_t len = mnl_socket_recvfrom(nl, buf, sizeof(buf));

		r = len < 0 ? MNL_CB_ERROR : mnl_cb_run(buf, (size_t)len, 0, 0, cb, arg);
	}
	return r == MNL_CB_ERROR ? -errno : 0;
}

static int say(struct mnl_socket *nl, const struct nlmsghdr *h, mnl_cb_t cb, void *arg)
{
	return mnl_socket_sendto(nl, h, h->nlmsg_len) < 0 ? -errno : answers(nl, cb, arg);
}

struct mnl_socket *tc_open(void)
{
	struct mnl_socket *nl = mnl_socket_open2(NETLINK_ROUTE, SOCK_CLOEXEC);

	if (nl && mnl_socket_bind(nl, 0, MNL_SOCKET_AUTOPID)) {
		int code = errno;

		mnl_socket_close(nl);
		errno = code;
		return NULL;
	}
	return nl;
}

int tc_talk(struct mnl_socket *kept, const struct nlmsghdr *h, mnl_cb_t cb, void *arg)
{
	struct mnl_socket *nl = kept ? kept : tc_open();
	int r = nl ? say(nl, h, cb, arg) : -errno;

	if (nl && !kept)
		mnl_socket_close(nl);
	return r;
}

static struct nlmsghdr *message(char *buf, int type, int flags, const struct tcmsg *tc)
{
	struct nlmsghdr *h = mnl_nlmsg_put_header(buf);

	h->nlmsg_type = (uint16_t)type;
	h->nlmsg_flags = (uint16_t)(NLM_F_REQUEST | NLM_F_ACK | flags);
	*(struct tcmsg *)mnl_nlmsg_put_extra_header(h, sizeof(*tc)) = *tc;
	return h;
}

int tc_clsact_add(const struct seat *s)
{
	struct tcmsg tc = {.tcm_ifindex = s->ifindex,
			   .tcm_parent = TC_H_CLSACT,
			   .tcm_handle = TC_H_MAKE(TC_H_CLSACT, 0)};
	char buf[MESSAGE_SIZE];
	struct nlmsghdr *h = message(buf, RTM_NEWQDISC, NLM_F_CREATE | NLM_F_EXCL, &tc);

	mnl_attr_put_strz(h, TCA_KIND, "clsact");
	return tc_talk(s->nl, h, NULL, NULL);
}

static struct tcmsg place(const struct seat *s)
{
	uint32_t hook = s->side == SIDE_INGRESS ? TC_H_MIN_INGRESS : TC_H_MIN_EGRESS;

	return (struct tcmsg){.tcm_ifindex = s->ifindex,
			      .tcm_parent = TC_H_MAKE(TC_H_CLSACT, hook),
			      .tcm_handle = FILTER_HANDLE,
			      .tcm_info =
				      TC_H_MAKE((s->late ? LATE_PRIO : FILTER_PRIO) << 16, htons(ETH_P_ALL))};
}

int tc_filter_put(const struct seat *s, int prog_fd)
{
	struct tcmsg tc = place(s);
	char buf[MESSAGE_SIZE];
	struct nlmsghdr *h = message(buf, RTM_NEWTFILTER, NLM_F_CREATE, &tc);
	struct nlattr *options;

	mnl_attr_put_strz(h, TCA_KIND, "bpf");
	options = mnl_attr_nest_start(h, TCA_OPTIONS);
	mnl_attr_put_u32(h, TCA_BPF_FD, (uint32_t)prog_fd);
	mnl_attr_put_strz(h, TCA_BPF_NAME, s->side == SIDE_INGRESS ? "vnicd rx" : "vnicd tx");
	mnl_attr_put_u32(h, TCA_BPF_FLAGS, TCA_BPF_FLAG_ACT_DIRECT);
	if (s->number)
		mnl_attr_put_u32(h, TCA_BPF_CLASSID, NUMBER_MAJOR | s->number);
	mnl_attr_nest_end(h, options);
	return tc_talk(s->nl, h, NULL, NULL);
}

static int find_id(const struct nlattr *attr, void *arg)
{
	if (mnl_attr_get_type(attr) == TCA_BPF_ID)
		*(uint32_t *)arg = mnl_attr_get_u32(attr);
	return MNL_CB_OK;
}

static int find_options(const struct nlattr *attr, void *arg)
{
	return mnl_attr_get_type(attr) == TCA_OPTIONS ? mnl_attr_parse_nested(attr, find_id, arg) : MNL_CB_OK;
}

/* It is the whole answer: one that is found is not acknowledged besides. */
static int read_id(const struct nlmsghdr *h, void *arg)
{
	return mnl_attr_parse(h, sizeof(struct tcmsg), find_options, arg) < 0 ? MNL_CB_ERROR : MNL_CB_STOP;
}

int tc_filter_get(const struct seat *s, uint32_t *ret_id)
{
	struct tcmsg tc = place(s);
	char buf[MESSAGE_SIZE];
	uint32_t id = 0;
	struct nlmsghdr *h = message(buf, RTM_GETTFILTER, 0, &tc);
	int r;

	h->nlmsg_flags = NLM_F_REQUEST;
	r = tc_talk(s->nl, h, read_id, &id);
	if (!r)
		*ret_id = id;
	return r;
}
