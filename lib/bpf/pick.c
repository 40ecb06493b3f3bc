// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The filter on the root of a tree of ours that gives a frame the class its flow has. Makes no tree and no
 * class.
 */
#include "lib/bpf/flow.h"
#include "lib/bpf/internal.h"

#include "lib/bpf/pick.skel.h"
#include "lib/model/node.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <libmnl/libmnl.h>
#include <linux/if_ether.h>
#include <linux/pkt_cls.h>
#include <linux/rtnetlink.h>
#include <string.h>

#define PICK_HANDLE  1
#define MESSAGE_SIZE 512

static void skel_done(struct pick_bpf **s)
{
	pick_bpf__destroy(*s);
}
#define SKEL __attribute__((cleanup(skel_done))) struct pick_bpf *

static int keep(struct bpf *b, const struct bpf_program *prog, bool out)
{
	int r = prog_tag(bpf_program__fd(prog), b->pick_tag[out]);

	b->pick[out] = r ? -1 : fcntl(bpf_program__fd(prog), F_DUPFD_CLOEXEC, 0);
	return r || b->pick[out] >= 0 ? r : -errno;
}

/* Of the loaded object only the programs are kept. */
static int load(struct bpf *b)
{
	SKEL s = NULL;
	int r;

	if (b->pick[true] >= 0)
		return 0;
	forget_said();
	s = pick_bpf__open();
	r = s ? pick_bpf__load(s) : -errno;
	r = r ? r : keep(b, s->progs.pick, false);
	return r ? r : keep(b, s->progs.pick_out, true);
}

static struct nlmsghdr *message(char *buf, uint16_t type, uint16_t flags, int ifindex)
{
	struct nlmsghdr *h = mnl_nlmsg_put_header(buf);
	struct tcmsg *tc = mnl_nlmsg_put_extra_header(h, sizeof(*tc));

	h->nlmsg_type = type;
	h->nlmsg_flags = NLM_F_REQUEST | flags;
	*tc = (struct tcmsg){.tcm_ifindex = ifindex,
			     .tcm_parent = TREE_MAJOR,
			     .tcm_handle = PICK_HANDLE,
			     .tcm_info = TC_H_MAKE(FILTER_PRIO << 16, htons(ETH_P_ALL))};
	return h;
}

static int talk(struct bpf *b, const struct nlmsghdr *h, int (*cb)(const struct nlmsghdr *h, void *arg),
		void *arg)
{
	return tc_talk(b->away ? NULL : b->nl, h, cb, arg);
}

/* No such filter, tree or device. */
static bool is_gone(int r)
{
	return r == -ENOENT || r == -EINVAL || r == -ENODEV;
}

static int find_tag(const struct nlattr *attr, void *arg)
{
	if (mnl_attr_get_type(attr) == TCA_BPF_TAG && mnl_attr_get_payload_len(attr) == BPF_TAG_SIZE)
		memcpy(arg, mnl_attr_get_payload(attr), BPF_TAG_SIZE);
	return MNL_CB_OK;
}

static int find_options(const struct nlattr *attr, void *arg)
{
	return mnl_attr_get_type(attr) == TCA_OPTIONS ? mnl_attr_parse_nested(attr, find_tag, arg)
						      : MNL_CB_OK;
}

/* It is the whole answer. */
static int read_tag(const struct nlmsghdr *h, void *arg)
{
	return mnl_attr_parse(h, sizeof(struct tcmsg), find_options, arg) < 0 ? MNL_CB_ERROR : MNL_CB_STOP;
}

static int failed(int ifindex, int code, const char *what, struct err *e)
{
	char object[32];

	snprintf(object, sizeof(object), "ifindex %d", ifindex);
	return said(e, code, object, what);
}

int bpf_pick_observe(struct bpf *b, int ifindex, bool out, bool *ret, struct err *e)
{
	uint8_t tag[BPF_TAG_SIZE] = {0};
	char buf[MESSAGE_SIZE];
	int r = load(b);

	if (r)
		return failed(ifindex, r, "cannot load the program that picks classes", e);
	r = talk(b, message(buf, RTM_GETTFILTER, 0, ifindex), read_tag, tag);
	if (r && !is_gone(r))
		return failed(ifindex, r, "cannot read the filter that picks classes", e);
	*ret = !r && !memcmp(tag, b->pick_tag[out], BPF_TAG_SIZE);
	return 0;
}

static int put(struct bpf *b, int ifindex, bool out)
{
	char buf[MESSAGE_SIZE];
	struct nlmsghdr *h = message(buf, RTM_NEWTFILTER, NLM_F_CREATE | NLM_F_ACK, ifindex);
	struct nlattr *options;

	mnl_attr_put_strz(h, TCA_KIND, "bpf");
	options = mnl_attr_nest_start(h, TCA_OPTIONS);
	mnl_attr_put_u32(h, TCA_BPF_FD, (uint32_t)b->pick[out]);
	mnl_attr_put_strz(h, TCA_BPF_NAME, "vnicd pick");
	mnl_attr_put_u32(h, TCA_BPF_FLAGS, TCA_BPF_FLAG_ACT_DIRECT);
	mnl_attr_put_u32(h, TCA_BPF_CLASSID, TREE_MAJOR | TREE_CAP);
	mnl_attr_nest_end(h, options);
	++*b->acts;
	return talk(b, h, NULL, NULL);
}

int bpf_pick_add(struct bpf *b, int ifindex, bool out, struct err *e)
{
	bool there = false;
	int r = bpf_pick_observe(b, ifindex, out, &there, e);

	if (r || there)
		return r;
	r = put(b, ifindex, out);
	return r ? failed(ifindex, r, "cannot put the filter that picks classes on its tree", e) : 0;
}

int bpf_pick_del(struct bpf *b, int ifindex, struct err *e)
{
	char buf[MESSAGE_SIZE];
	int r = talk(b, message(buf, RTM_DELTFILTER, NLM_F_ACK, ifindex), NULL, NULL);

	*b->acts += !r;
	return r && !is_gone(r) ? failed(ifindex, r, "cannot remove the filter that picks classes", e) : 0;
}
