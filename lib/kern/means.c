/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What this kernel has, found by trying it in a namespace that nobody else ever sees and that is gone again
 * at once. Touches no other.
 */
#include "lib/kern/real.h"

#include "lib/base/disable.h"
#include "lib/nl/netns.h"

#include <errno.h>
#include <linux/if_link.h>
#include <linux/pkt_sched.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <sched.h>
#include <string.h>

#define LO 1 /* in every namespace */

static struct nl_msg *link_msg(int flags, const struct ifinfomsg *i, const char *name)
{
	struct nl_msg *msg = nlmsg_alloc_simple(RTM_NEWLINK, flags);

	if (!msg || nlmsg_append(msg, (void *)i, sizeof(*i), NLMSG_ALIGNTO) < 0)
		goto nla_put_failure;
	if (name)
		NLA_PUT_STRING(msg, IFLA_IFNAME, name);
	return msg;

nla_put_failure:
	nlmsg_free(msg);
	return NULL;
}

static int try_dummy(struct nl_sock *sk, struct extack *x)
{
	struct ifinfomsg i = {0};
	MSG_AUTO msg = link_msg(NLM_F_CREATE | NLM_F_EXCL, &i, "try0");
	struct nlattr *info = msg ? nla_nest_start(msg, IFLA_LINKINFO) : NULL;

	if (!info || nla_put_string(msg, IFLA_INFO_KIND, "dummy") < 0)
		return -ENOMEM;
	nla_nest_end(msg, info);
	return sock_act(sk, msg, x);
}

static int try_fq_codel(struct nl_sock *sk, struct extack *x)
{
	struct tcmsg t = {.tcm_ifindex = LO, .tcm_parent = TC_H_ROOT, .tcm_handle = 1 << 16};
	MSG_AUTO msg = nlmsg_alloc_simple(RTM_NEWQDISC, NLM_F_CREATE | NLM_F_EXCL);

	if (!msg || nlmsg_append(msg, &t, sizeof(t), NLMSG_ALIGNTO) < 0 ||
	    nla_put_string(msg, TCA_KIND, "fq_codel") < 0)
		return -ENOMEM;
	return sock_act(sk, msg, x);
}

static int try_live_rename(struct nl_sock *sk, struct extack *x)
{
	struct ifinfomsg up = {.ifi_index = LO, .ifi_flags = IFF_UP, .ifi_change = IFF_UP};
	struct ifinfomsg same = {.ifi_index = LO};
	MSG_AUTO first = link_msg(0, &up, NULL);
	MSG_AUTO then = link_msg(0, &same, "try1");
	int rc = first && then ? sock_act(sk, first, x) : -ENOMEM;

	return rc ? rc : sock_act(sk, then, x);
}

/* Each with the answer that says that the kernel has it not. */
static int try_all(struct nl_sock *sk, struct means *ret, struct extack *x)
{
	static const struct {
		const char *word;
		int (*fn)(struct nl_sock *sk, struct extack *x);
		int no;
		size_t at;
	} rows[] = {
		{"dummy", try_dummy, -EOPNOTSUPP, offsetof(struct means, dummy)},
		{"fq_codel", try_fq_codel, -ENOENT, offsetof(struct means, fq_codel)},
		{"rename-up", try_live_rename, -EBUSY, offsetof(struct means, live_rename)},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		int rc = disabled(rows[i].word) ? rows[i].no : rows[i].fn(sk, x);

		if (rc && rc != rows[i].no)
			return rc;
		*(bool *)((char *)ret + rows[i].at) = !rc;
	}
	return 0;
}

static int try_there(struct real *r, struct means *ret, struct err *e)
{
	struct nl_sock *sk = NULL;
	struct extack x = {};
	int rc;

	if (unshare(CLONE_NEWNET))
		return err_sys(e, -errno, NULL, "cannot try what this kernel has: %s", strerror(errno));
	bpf_away(r->bpf, true);
	rc = sock_open(&sk, e);
	if (!rc) {
		rc = try_all(sk, ret, &x);
		if (rc)
			real_fail(rc, NULL, &x, e);
	}
	sock_close(sk);
	netns_leave(r->own);
	bpf_away(r->bpf, false);
	return rc;
}

int real_means(struct kernel *k, struct means *ret, struct err *e)
{
	struct real *r = real_of(k);
	int rc = r->tried ? 0 : try_there(r, &r->means, e);

	r->tried |= !rc;
	if (!rc)
		*ret = r->means;
	return rc;
}
