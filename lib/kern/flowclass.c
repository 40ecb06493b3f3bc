/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The classes of flows in the trees of a VNIC: sees, makes, changes, drains and deletes them, and reads what
 * they counted. Never touches what the tree has without flows.
 */
#include "lib/kern/flowclass.h"

#include "lib/kern/htb.h"

#include <errno.h>
#include <linux/gen_stats.h>
#include <linux/pkt_sched.h>
#include <linux/rtnetlink.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define LEAST_RATE    8u /* bits per second: a flow borrows all it gets, or the sum could pass the cap */
#define DRAIN_STEPS   100
#define DRAIN_STEP_NS 1000000

/* One class of a dump, if it is a flow's. */
struct class_view {
	uint32_t slot;
	enum flow_priority priority;
	struct nlattr *tb[TCA_MAX + 1];
	const struct tcmsg *t;
};

static bool is_flow(const struct nlmsghdr *h, struct class_view *ret)
{
	const struct tcmsg *t = nlmsg_data(h);
	uint32_t minor = TC_H_MIN(t->tcm_handle);

	if (TC_H_MAJ(t->tcm_handle) != TREE_MAJOR || minor < TREE_FLOW(0, 0) || minor == TREE_CAP)
		return false;
	ret->t = t;
	ret->slot = (minor - TREE_FLOW(0, 0)) / PRIORITIES;
	ret->priority = (minor - TREE_FLOW(0, 0)) % PRIORITIES;
	return nlmsg_parse((struct nlmsghdr *)h, sizeof(*t), ret->tb, TCA_MAX, NULL) >= 0;
}

/* Every class of our tree on port. */
static int each_class(struct real *r, const struct port *port, sock_fn *fn, void *arg, struct err *e)
{
	struct where w = {.ifindex = port->ifindex, .parent = TREE_MAJOR};
	struct nl_sock *sk;
	struct extack x = {};
	int rc = real_sock(r, port->zone, &sk, e);

	if (rc)
		return rc;
	MSG_AUTO msg = tc_msg(RTM_GETTCLASS, 0, &w, NULL);
	rc = msg ? sock_dump(sk, msg, fn, arg, &x) : -ENOMEM;
	real_unsock(r, sk);
	return rc ? real_fail(rc, port->name, &x, e) : 0;
}

/* Seeing. */

struct look {
	enum flow_dir dir;
	const struct flow_set *want;
	struct flow_set *ret;
};

static const struct flow_class *find_class(const struct flow_set *set, const struct flow_class *like)
{
	return set && set->classes_count
		       ? bsearch(like, set->classes, set->classes_count, sizeof(*set->classes),
				 (int (*)(const void *, const void *))flow_class_cmp)
		       : NULL;
}

/* What is as wanted as far as the kernel tells has the wanted shape; anything else one that nobody wants. */
static struct shape shape_seen(const struct class_view *v, const struct tc_htb_opt *opt, uint64_t ceil,
			       const struct flow_class *want)
{
	bool leaf = v->t->tcm_info != 0, there = TC_H_MIN(v->t->tcm_parent) == TREE_BAND(v->priority);

	if (want && leaf && there && want->shape.rate / 8 * 8 == ceil && want->shape.quantum == opt->quantum)
		return want->shape;
	return (struct shape){.rate = ceil};
}

static int look_at(const struct nlmsghdr *h, void *arg)
{
	struct nlattr *tb[TCA_HTB_MAX + 1];
	struct look *look = arg;
	struct flow_class class = {.dir = look->dir};
	struct tc_htb_opt opt;
	struct class_view v;
	uint64_t ceil;

	if (!is_flow(h, &v) || !v.tb[TCA_OPTIONS] ||
	    nla_parse_nested(tb, TCA_HTB_MAX, v.tb[TCA_OPTIONS], NULL) || !tb[TCA_HTB_PARMS] ||
	    nla_memcpy(&opt, tb[TCA_HTB_PARMS], sizeof(opt)) < (int)sizeof(opt))
		return 0;
	ceil = 8 * (tb[TCA_HTB_CEIL64] ? nla_get_u64(tb[TCA_HTB_CEIL64]) : opt.ceil.rate);
	class.slot = v.slot;
	class.priority = v.priority;
	class.shape = shape_seen(&v, &opt, ceil, find_class(look->want, &class));
	return flow_set_class(look->ret, &class);
}

int flow_classes_see(struct real *r, const struct port *port, enum flow_dir dir, const struct flow_set *want,
		     struct flow_set *ret, struct err *e)
{
	return each_class(r, port, look_at, &(struct look){.dir = dir, .want = want, .ret = ret}, e);
}

/* Changing. */

/* The act for the tree of one direction: the ifb's is in the own namespace. */
static int act_for(const struct act *a, enum flow_dir dir, struct act *ret, int *ret_ifindex)
{
	*ret = *a;
	ret->port = dir == FLOW_IN ? &a->node->ifb_port : &a->node->port;
	if (dir == FLOW_IN)
		ret->sk = a->r->rt;
	return act_ifindex(ret, ret_ifindex);
}

static int class_put(struct act *a, int ifindex, const struct flow_class *c, uint64_t ceil, int flags)
{
	struct where w = {.ifindex = ifindex,
			  .parent = TREE_MAJOR | TREE_BAND(c->priority),
			  .handle = TREE_MAJOR | TREE_FLOW(c->slot, c->priority)};
	struct htb h = {.rate = LEAST_RATE,
			.ceil = ceil,
			.burst = 1,
			.cburst = c->shape.burst,
			.quantum = c->shape.quantum,
			.prio = TREE_PRIO(c->priority)};

	return htb_put(a, &w, flags, &h);
}

static int make_class(const struct act *on, const struct flow_class *c, bool fresh)
{
	struct act a;
	int ifindex, rc = act_for(on, c->dir, &a, &ifindex);

	if (!rc)
		rc = class_put(&a, ifindex, c, c->shape.rate, fresh ? NLM_F_CREATE : 0);
	return rc ? rc : leaf_put(&a, ifindex, TREE_MAJOR | TREE_FLOW(c->slot, c->priority), &c->shape);
}

int flow_classes_make(struct act *a, const struct flow_set *have, const struct flow_set *want)
{
	int rc = 0;

	for (size_t i = 0; !rc && i < want->classes_count; i++) {
		const struct flow_class *c = &want->classes[i], *was = find_class(have, c);

		if (!was || !flow_class_equal(was, c))
			rc = make_class(a, c, !was);
	}
	return rc;
}

struct waiting {
	enum flow_dir dir;
	const struct flow_set *have, *want;
	bool any;
};

static int look_for_waiting(const struct nlmsghdr *h, void *arg)
{
	struct nlattr *stats[TCA_STATS_MAX + 1];
	struct waiting *w = arg;
	struct flow_class like = {.dir = w->dir};
	struct gnet_stats_queue q;
	struct class_view v;

	if (!is_flow(h, &v) || !v.tb[TCA_STATS2])
		return 0;
	like.slot = v.slot;
	like.priority = v.priority;
	if (find_class(w->have, &like) && !find_class(w->want, &like) &&
	    !nla_parse_nested(stats, TCA_STATS_MAX, v.tb[TCA_STATS2], NULL) && stats[TCA_STATS_QUEUE] &&
	    nla_memcpy(&q, stats[TCA_STATS_QUEUE], sizeof(q)) >= (int)sizeof(q))
		w->any |= q.qlen || q.backlog;
	return 0;
}

/* As long as anything waits in a class that goes, and a moment at most. */
static void drain(struct act *a, const struct flow_set *have, const struct flow_set *want)
{
	for (int i = 0; i < DRAIN_STEPS; i++) {
		struct waiting out = {.dir = FLOW_OUT, .have = have, .want = want};
		struct waiting in = {.dir = FLOW_IN, .have = have, .want = want};

		if (a->node->tx.root)
			each_class(a->r, &a->node->port, look_for_waiting, &out, NULL);
		if (a->node->rx.root)
			each_class(a->r, &a->node->ifb_port, look_for_waiting, &in, NULL);
		if (!out.any && !in.any)
			return;
		nanosleep(&(struct timespec){.tv_nsec = DRAIN_STEP_NS}, NULL);
	}
}

static int class_del(struct act *a, int ifindex, const struct flow_class *c)
{
	struct where w = {.ifindex = ifindex, .handle = TREE_MAJOR | TREE_FLOW(c->slot, c->priority)};
	MSG_AUTO msg = tc_msg(RTM_DELTCLASS, 0, &w, NULL);
	int rc = msg ? act_send(a, msg) : err_nomem(a->e);

	return rc == -ENOENT ? 0 : rc;
}

/* Opened, it has the link's cap over it still. */
static int class_open(struct act *a, int ifindex, const struct flow_class *c)
{
	return class_put(a, ifindex, c, RATE_OPEN, 0);
}

/* Calls fn for each class of have that is not in want. */
static int each_gone(struct act *on, const struct flow_set *have, const struct flow_set *want,
		     int (*fn)(struct act *a, int ifindex, const struct flow_class *c))
{
	int rc = 0;

	for (size_t i = 0; !rc && i < have->classes_count; i++) {
		const struct flow_class *c = &have->classes[i];
		struct act a;
		int ifindex;

		if (find_class(want, c))
			continue;
		rc = act_for(on, c->dir, &a, &ifindex);
		rc = rc ? rc : fn(&a, ifindex, c);
	}
	return rc;
}

static int count_gone(struct act *a, int ifindex, const struct flow_class *c)
{
	(void)a;
	(void)ifindex;
	(void)c;
	return 1;
}

int flow_classes_drop(struct act *a, const struct flow_set *have, const struct flow_set *want)
{
	if (!each_gone(a, have, want, count_gone))
		return 0;
	if (a->node->up && !each_gone(a, have, want, class_open))
		drain(a, have, want);
	return each_gone(a, have, want, class_del);
}

/* Counting. */

struct tally {
	enum flow_dir dir;
	const uint32_t *slots;
	size_t count;
	struct flow_stats *ret;
};

static int by_slot(const void *key, const void *slot)
{
	const uint32_t *a = key, *b = slot;

	return (*a > *b) - (*a < *b);
}

static void add_stats(struct nlattr *stats2, enum flow_dir dir, struct flow_counts *ret)
{
	struct nlattr *tb[TCA_STATS_MAX + 1];
	struct gnet_stats_basic basic = {0};
	struct gnet_stats_queue queue = {0};

	if (nla_parse_nested(tb, TCA_STATS_MAX, stats2, NULL))
		return;
	if (tb[TCA_STATS_BASIC])
		nla_memcpy(&basic, tb[TCA_STATS_BASIC], sizeof(basic));
	if (tb[TCA_STATS_QUEUE])
		nla_memcpy(&queue, tb[TCA_STATS_QUEUE], sizeof(queue));
	ret->bytes[dir] += basic.bytes;
	ret->packets[dir] += tb[TCA_STATS_PKT64] ? nla_get_u64(tb[TCA_STATS_PKT64]) : basic.packets;
	ret->drops[dir] += queue.drops;
}

static int tally_one(const struct nlmsghdr *h, void *arg)
{
	struct tally *tally = arg;
	struct class_view v;
	const uint32_t *slot;

	if (!is_flow(h, &v) || !v.tb[TCA_STATS2])
		return 0;
	slot = bsearch(&v.slot, tally->slots, tally->count, sizeof(*tally->slots), by_slot);
	if (slot)
		add_stats(v.tb[TCA_STATS2], tally->dir, &tally->ret[slot - tally->slots].classes);
	return 0;
}

int flow_classes_count(struct real *r, const struct port *port, enum flow_dir dir, const uint32_t *slots,
		       size_t count, struct flow_stats *ret, struct err *e)
{
	struct tally tally = {.dir = dir, .slots = slots, .count = count, .ret = ret};

	return each_class(r, port, tally_one, &tally, e);
}
