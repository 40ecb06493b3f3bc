/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Our tree on a link: an HTB root, one class, one leaf; written, read back and waited for. Messages are put
 * together here because libnl 3.7's HTB and TBF objects reckon buckets in int: wrong from 17 Gbit/s on, and
 * an open class has 400. Never touches a qdisc that does not carry our handle.
 */
#include "lib/kern/real.h"

#include "lib/base/disable.h"
#include "lib/bpf/flow.h"
#include "lib/kern/htb.h"
#include "lib/kern/view.h"

#include <errno.h>
#include <linux/gen_stats.h>
#include <linux/pkt_sched.h>
#include <linux/rtnetlink.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#define DRAIN_STEP_NS 500000

struct place;
static int put_tbf(struct nl_msg *msg, const struct place *p);
static int put_fq_codel(struct nl_msg *msg, const struct place *p);
static int put_bfifo(struct nl_msg *msg, const struct place *p);

/*
 * The kinds of leaf, for each need the best first: what the kernel does not know is passed over, and what is
 * there stays. A qdisc of one handle cannot be replaced by another kind of the same handle, so each has a
 * major number of its own. below: the queue inside another leaf, which has a plain one without it.
 */
static const struct leaf {
	const char *kind;
	uint32_t handle, parent;
	bool segment, below;
	int (*put)(struct nl_msg *msg, const struct place *p);
} leaves[] = {
	{.kind = "tbf", .handle = TREE_LEAF_MAJOR, .parent = REST_ID, .segment = true, .put = put_tbf},
	{.kind = "fq_codel", .handle = TREE_LEAF_MAJOR + 0x20000, .parent = REST_ID, .put = put_fq_codel},
	{.kind = "bfifo", .handle = TREE_LEAF_MAJOR + 0x10000, .parent = REST_ID, .put = put_bfifo},
	{.kind = "fq_codel",
	 .handle = TREE_LEAF_MAJOR + 0x30000,
	 .parent = TREE_LEAF_MAJOR + 1,
	 .segment = true,
	 .below = true,
	 .put = put_fq_codel},
};
#define LEAVES (sizeof(leaves) / sizeof(*leaves))

/* One leaf on its way to the kernel. */
struct place {
	const struct real *r;
	const struct shape *shape;
	uint32_t mtu;
	bool fresh; /* it is made, not changed */
};

double tree_tick_ns(void)
{
	unsigned t2us, us2t;
	double tick = 64; /* every kernel since 2.6.31 */
	FILE *f = fopen("/proc/net/psched", "re");

	if (!f)
		return tick;
	if (fscanf(f, "%8x %8x", &t2us, &us2t) == 2 && t2us && us2t)
		tick = 1000.0 * us2t / t2us;
	fclose(f);
	return tick;
}

/* The kernel keeps a bucket as the time that its bytes take, in ticks. */
static uint32_t to_ticks(const struct real *r, uint32_t bytes, uint64_t bits)
{
	double ticks = ceil(bytes * 8e9 / (double)bits / r->tick_ns);

	return ticks < UINT32_MAX ? (uint32_t)ticks : UINT32_MAX;
}

static uint32_t to_bytes(const struct real *r, uint32_t ticks, uint64_t bits)
{
	double bytes = ticks * r->tick_ns * (double)bits / 8e9;

	return bytes < UINT32_MAX ? (uint32_t)bytes : UINT32_MAX;
}

static struct tc_ratespec rate_spec(uint64_t bytes)
{
	return (struct tc_ratespec){
		.rate = bytes < UINT32_MAX ? (uint32_t)bytes : UINT32_MAX,
		.linklayer = TC_LINKLAYER_ETHERNET,
	};
}

/* Messages. */

struct nl_msg *tc_msg(int type, int flags, const struct where *w, const char *kind)
{
	struct nl_msg *msg = nlmsg_alloc_simple(type, flags);
	struct tcmsg t = {.tcm_ifindex = w->ifindex, .tcm_parent = w->parent, .tcm_handle = w->handle};

	if (!msg)
		return NULL;
	if (nlmsg_append(msg, &t, sizeof(t), NLMSG_ALIGNTO) < 0)
		goto nla_put_failure;
	if (kind)
		NLA_PUT_STRING(msg, TCA_KIND, kind);
	return msg;

nla_put_failure:
	nlmsg_free(msg);
	return NULL;
}

static int put_root(struct nl_msg *msg)
{
	struct tc_htb_glob glob = {.version = TC_HTB_PROTOVER, .rate2quantum = 10, .defcls = TREE_REST};
	struct nlattr *nest = nla_nest_start(msg, TCA_OPTIONS);

	NLA_PUT(msg, TCA_HTB_INIT, sizeof(glob), &glob);
	NLA_PUT_U32(msg, TCA_HTB_DIRECT_QLEN, TREE_DIRECT_QLEN);
	nla_nest_end(msg, nest);
	return 0;

nla_put_failure:
	return -ENOMEM;
}

static int put_class(const struct real *r, struct nl_msg *msg, const struct htb *h)
{
	uint64_t rate = h->rate / 8, ceil = h->ceil / 8;
	struct tc_htb_opt opt = {
		.rate = rate_spec(rate),
		.ceil = rate_spec(ceil),
		.buffer = to_ticks(r, h->burst, rate * 8),
		.cbuffer = to_ticks(r, h->cburst, ceil * 8),
		.quantum = h->quantum,
		.prio = h->prio,
	};
	struct nlattr *nest = nla_nest_start(msg, TCA_OPTIONS);

	NLA_PUT_U64(msg, TCA_HTB_RATE64, rate);
	NLA_PUT_U64(msg, TCA_HTB_CEIL64, ceil);
	NLA_PUT(msg, TCA_HTB_PARMS, sizeof(opt), &opt);
	nla_nest_end(msg, nest);
	return 0;

nla_put_failure:
	return -ENOMEM;
}

int htb_put(struct act *a, const struct where *w, int flags, const struct htb *h)
{
	MSG_AUTO msg = tc_msg(RTM_NEWTCLASS, flags, w, "htb");

	if (!msg || put_class(a->r, msg, h))
		return err_nomem(a->e);
	return act_send(a, msg);
}

static int put_tbf(struct nl_msg *msg, const struct place *p)
{
	const struct shape *s = p->shape;
	struct tc_tbf_qopt opt = {
		.rate = rate_spec(RATE_OPEN / 8),
		.limit = s->limit,
		.buffer = to_ticks(p->r, s->seg_burst, RATE_OPEN),
	};
	struct nlattr *nest = nla_nest_start(msg, TCA_OPTIONS);

	NLA_PUT(msg, TCA_TBF_PARMS, sizeof(opt), &opt);
	NLA_PUT_U64(msg, TCA_TBF_RATE64, RATE_OPEN / 8);
	NLA_PUT_U32(msg, TCA_TBF_BURST, s->seg_burst); /* exact, where ticks are 3200 bytes each */
	nla_nest_end(msg, nest);
	return 0;

nla_put_failure:
	return -ENOMEM;
}

static int put_bfifo(struct nl_msg *msg, const struct place *p)
{
	struct tc_fifo_qopt opt = {.limit = p->shape->limit};

	return nla_put(msg, TCA_OPTIONS, sizeof(opt), &opt);
}

/*
 * Bounded by the memory that frames take, which is never less than their bytes. Frames are dropped one at a
 * time: half a flow's queue at once would leave the class idle.
 */
static int put_fq_codel(struct nl_msg *msg, const struct place *p)
{
	struct codel codel = codel_for(p->shape, p->mtu);
	struct nlattr *nest = nla_nest_start(msg, TCA_OPTIONS);

	NLA_PUT_U32(msg, TCA_FQ_CODEL_MEMORY_LIMIT, p->shape->limit);
	NLA_PUT_U32(msg, TCA_FQ_CODEL_TARGET, codel.target_us);
	NLA_PUT_U32(msg, TCA_FQ_CODEL_INTERVAL, codel.interval_us);
	NLA_PUT_U32(msg, TCA_FQ_CODEL_DROP_BATCH_SIZE, 1);
	if (p->fresh)
		NLA_PUT_U32(msg, TCA_FQ_CODEL_FLOWS, CODEL_FLOWS);
	nla_nest_end(msg, nest);
	return 0;

nla_put_failure:
	return -ENOMEM;
}

/* Acts. */

static const struct shape *act_shape(const struct act *a)
{
	return a->op->on == ON_IFB ? &a->node->rx.shape : &a->node->tx.shape;
}

static int remove_at(struct act *a, int type, uint32_t parent, uint32_t handle)
{
	struct where w = {.parent = parent, .handle = handle};
	int rc = act_ifindex(a, &w.ifindex);

	if (rc)
		return rc;
	MSG_AUTO msg = tc_msg(type, 0, &w, NULL);
	return msg ? act_send(a, msg) : err_nomem(a->e);
}

/* On a link of ours the root is ours, whoever has put something else there. */
int root_add(struct act *a)
{
	struct where w = {.parent = TC_H_ROOT, .handle = TREE_MAJOR};
	int rc = act_ifindex(a, &w.ifindex);

	if (rc)
		return rc;
	MSG_AUTO msg = tc_msg(RTM_NEWQDISC, NLM_F_CREATE | NLM_F_REPLACE, &w, "htb");
	if (!msg || put_root(msg))
		return err_nomem(a->e);
	return act_send(a, msg);
}

int root_del(struct act *a)
{
	return remove_at(a, RTM_DELQDISC, TC_H_ROOT, TREE_MAJOR);
}

/* guaranteed: what the class gets in any case, a part of the cap. */
static int class_send(struct act *a, uint32_t parent, uint32_t handle, uint64_t guaranteed, uint32_t prio)
{
	int flags = a->op->kind == OP_CAP_SET ? 0 : NLM_F_CREATE;
	struct where w = {.parent = parent, .handle = handle};
	const struct shape *s = act_shape(a);
	struct htb h = {.rate = guaranteed,
			.ceil = s->rate,
			.burst = s->burst,
			.cburst = s->burst,
			.quantum = s->quantum,
			.prio = prio};
	int rc = act_ifindex(a, &w.ifindex);

	return rc ? rc : htb_put(a, &w, flags, &h);
}

static bool has_bands(const struct act *a)
{
	return (a->op->on == ON_IFB ? &a->node->rx : &a->node->tx)->bands;
}

/* Beside bands the rest has its share like each of them, and borrows as the flows of medium priority do. */
static int rest_send(struct act *a, bool bands)
{
	uint64_t rate = act_shape(a)->rate;

	return class_send(a, CAP_ID, REST_ID, bands ? rate / TREE_SHARES : rate, TREE_PRIO(FLOW_MEDIUM));
}

static int bands_send(struct act *a)
{
	int rc = 0;

	for (enum flow_priority p = FLOW_LOW; !rc && p <= FLOW_HIGH; p++)
		rc = class_send(a, CAP_ID, TREE_MAJOR | TREE_BAND(p), act_shape(a)->rate / TREE_SHARES,
				TREE_PRIO(p));
	return rc;
}

/*
 * The cap's class is an inner one from the start: a class that gets its first child loses what waits in it,
 * and so would a link that its first flow is made on. Between the two changes the lower rate holds. What
 * others left of the two is used.
 */
int cap_set(struct act *a)
{
	int rc = class_send(a, TREE_MAJOR, CAP_ID, act_shape(a)->rate, 0);

	if (rc)
		return rc;
	rc = rest_send(a, has_bands(a));
	if (!rc && has_bands(a))
		rc = bands_send(a);
	if (rc && a->op->kind == OP_CAP_ADD)
		remove_at(
			&(struct act){.r = a->r, .op = a->op, .node = a->node, .port = a->port, .sk = a->sk},
			RTM_DELTCLASS, TREE_MAJOR, CAP_ID);
	return rc;
}

static int pick_add(struct act *a, int ifindex)
{
	bool out = a->node->class == CLASS_FOREIGN && a->op->on == ON_LINK;

	return bpf_pick_add(a->r->bpf, ifindex, out, a->e);
}

static int pick_del(struct act *a, int ifindex)
{
	return bpf_pick_del(a->r->bpf, ifindex, a->e);
}

/* The shares of all together are less than the cap, or the sum of the guarantees could pass it. */
int bands_add(struct act *a)
{
	int rc = rest_send(a, true);

	rc = rc ? rc : bands_send(a);
	return rc ? rc : in_zone(a, pick_add);
}

int bands_del(struct act *a)
{
	int rc = 0;

	for (enum flow_priority p = FLOW_LOW; !rc && p <= FLOW_HIGH; p++) {
		rc = remove_at(a, RTM_DELTCLASS, CAP_ID, TREE_MAJOR | TREE_BAND(p));
		rc = rc == -ENOENT ? 0 : rc;
	}
	rc = rc ? rc : rest_send(a, false);
	return rc ? rc : in_zone(a, pick_del);
}

int cap_del(struct act *a)
{
	int rc = remove_at(a, RTM_DELTCLASS, CAP_ID, REST_ID);

	return rc && rc != -ENOENT ? rc : remove_at(a, RTM_DELTCLASS, TREE_MAJOR, CAP_ID);
}

/* Reading: single questions, no dumps of everything; NLM_F_ECHO because kernels before 6.18 answer these by
 * notification only. */

struct seen {
	char kind[IFNAMSIZ];
	uint32_t handle;
	struct nlattr *options;
	uint64_t drops;
	uint32_t qlen, backlog;
	/* What take is to make of it while the message is there. */
	void (*take)(const struct seen *s, void *arg);
	void *arg;
};

static void get_queue(struct nlattr *stats, struct seen *s)
{
	struct nlattr *tb[TCA_STATS_MAX + 1];
	struct gnet_stats_queue q;

	if (!stats || nla_parse_nested(tb, TCA_STATS_MAX, stats, NULL) || !tb[TCA_STATS_QUEUE])
		return;
	if (nla_memcpy(&q, tb[TCA_STATS_QUEUE], sizeof(q)) < (int)sizeof(q))
		return;
	s->drops = q.drops;
	s->qlen = q.qlen;
	s->backlog = q.backlog;
}

static int see(const struct nlmsghdr *h, void *arg)
{
	struct nlattr *tb[TCA_MAX + 1];
	struct seen *s = arg;

	if (nlmsg_parse((struct nlmsghdr *)h, sizeof(struct tcmsg), tb, TCA_MAX, NULL) < 0 || !tb[TCA_KIND])
		return -EBADMSG;
	s->handle = ((const struct tcmsg *)nlmsg_data(h))->tcm_handle;
	nla_strlcpy(s->kind, tb[TCA_KIND], sizeof(s->kind));
	s->options = tb[TCA_OPTIONS];
	get_queue(tb[TCA_STATS2], s);
	if (s->take)
		s->take(s, s->arg);
	s->options = NULL;
	return 0;
}

/* Asks for one qdisc. Not there: s->kind stays empty, 0 is returned. */
static int ask_kernel(struct nl_sock *sk, const struct where *w, struct seen *s, struct extack *x)
{
	MSG_AUTO msg = tc_msg(RTM_GETQDISC, NLM_F_ECHO, w, NULL);
	int rc;

	if (!msg)
		return -ENOMEM;
	rc = sock_get(sk, msg, see, s, x);
	return rc == -ENOENT || rc == -EINVAL ? 0 : rc;
}

/* The two classes that every tree has. */
struct classes {
	struct seen *cap, *rest;
};

static int see_class(const struct nlmsghdr *h, void *arg)
{
	uint32_t handle = ((const struct tcmsg *)nlmsg_data(h))->tcm_handle;
	struct classes *c = arg;

	if (handle == CAP_ID && c->cap)
		return see(h, c->cap);
	return handle == REST_ID ? see(h, c->rest) : 0;
}

/* From the list of all classes in our tree: a question about a class alone is told to everybody as news. */
static int ask_classes(struct nl_sock *sk, int ifindex, struct classes *c, struct extack *x)
{
	MSG_AUTO msg =
		tc_msg(RTM_GETTCLASS, 0, &(struct where){.ifindex = ifindex, .parent = TREE_MAJOR}, NULL);

	return msg ? sock_dump(sk, msg, see_class, c, x) : -ENOMEM;
}

static int ask(const struct real *r, struct nl_sock *sk, const struct where *w, struct seen *s,
	       struct extack *x)
{
	const struct nlmsghdr *h;

	if (view_qdisc(r, sk, w->ifindex, w->parent, &h))
		return ask_kernel(sk, w, s, x);
	return h ? see(h, s) : 0;
}

static int ask_leaf(const struct real *r, struct nl_sock *sk, int ifindex, struct seen *s, struct extack *x)
{
	return ask(r, sk, &(struct where){.ifindex = ifindex, .parent = REST_ID}, s, x);
}

static const struct leaf *our_leaf(const struct seen *s)
{
	for (size_t i = 0; i < LEAVES; i++)
		if (s->handle == leaves[i].handle && !strcmp(s->kind, leaves[i].kind))
			return &leaves[i];
	return NULL;
}

static int find_leaf(struct act *a, uint32_t parent, const struct leaf **ret)
{
	struct where w = {.parent = parent};
	struct seen s = {};
	struct extack x;
	int rc = act_ifindex(a, &w.ifindex);

	if (rc)
		return rc;
	rc = ask(a->r, a->sk, &w, &s, &x);
	if (rc)
		return act_fail(a, rc, &x);
	*ret = our_leaf(&s);
	return 0;
}

static int queue_send(struct act *a, const struct leaf *leaf, const struct where *w, const struct shape *s,
		      bool fresh)
{
	struct place p = {.r = a->r, .shape = s, .mtu = a->node->mtu, .fresh = fresh};

	if (disabled(leaf->kind))
		return -ENOENT;
	MSG_AUTO msg = tc_msg(RTM_NEWQDISC, NLM_F_CREATE | NLM_F_REPLACE, w, leaf->kind);

	if (!msg || leaf->put(msg, &p) < 0)
		return err_nomem(a->e);
	return act_send(a, msg);
}

static int leaf_send(struct act *a, const struct leaf *leaf, bool fresh)
{
	struct where w = {.parent = leaf->parent, .handle = leaf->handle};
	int rc = act_ifindex(a, &w.ifindex);

	return rc ? rc : queue_send(a, leaf, &w, act_shape(a), fresh);
}

/* Its handle is of the kernel's choice. Nothing hangs below one that segments: it has a plain queue. */
int leaf_put(struct act *a, int ifindex, uint32_t parent, const struct shape *s)
{
	struct where w = {.ifindex = ifindex, .parent = parent};
	int rc = -ENOENT;

	for (size_t i = 0; rc == -ENOENT && i < LEAVES; i++)
		if (leaves[i].segment == s->segment && !leaves[i].below && !(a->r->no_leaf & 1U << i)) {
			rc = queue_send(a, &leaves[i], &w, s, true);
			a->r->no_leaf |= rc == -ENOENT ? 1U << i : 0;
		}
	return rc;
}

/* The first kind that the kernel has. It loads what is a module: what is not there now is not asked for
 * again. */
static int leaf_make(struct act *a, bool below)
{
	bool segment = act_shape(a)->segment;
	int rc = below ? 0 : -ENOENT;

	for (size_t i = 0; i < LEAVES; i++) {
		if (leaves[i].segment != segment || leaves[i].below != below || a->r->no_leaf & 1U << i)
			continue;
		rc = leaf_send(a, &leaves[i], true);
		if (rc != -ENOENT)
			return rc;
		a->r->no_leaf |= 1U << i;
	}
	return below ? 0 : rc;
}

/* Of the same kind it is changed in place; another kind takes its place in one step. */
int leaf_set(struct act *a)
{
	const struct leaf *leaf = NULL, *below = NULL;
	int rc = a->op->kind == OP_LEAF_ADD ? 0 : find_leaf(a, REST_ID, &leaf);

	if (rc)
		return rc;
	if (!leaf || leaf->segment != act_shape(a)->segment) {
		rc = leaf_make(a, false);
		return rc ? rc : leaf_make(a, true);
	}
	rc = leaf_send(a, leaf, false);
	if (!rc && leaf->segment)
		rc = find_leaf(a, leaf->handle + 1, &below);
	return rc || !below ? rc : leaf_send(a, below, false);
}

int leaf_del(struct act *a)
{
	const struct leaf *leaf;
	int rc = find_leaf(a, REST_ID, &leaf);

	return rc || !leaf ? rc : remove_at(a, RTM_DELQDISC, REST_ID, leaf->handle);
}

struct view {
	const struct real *r;
	uint32_t mtu;
	const struct shape *want;
	struct tree *tree;
};

static uint64_t rate_of(const struct tc_ratespec *spec, const struct nlattr *rate64)
{
	return 8 * (rate64 && nla_len(rate64) >= 8 ? nla_get_u64((struct nlattr *)rate64) : spec->rate);
}

/* The wanted burst when the kernel cannot tell it from what it has, else that of its ticks. */
static uint32_t snap(const struct view *v, uint32_t ticks, uint64_t rate, uint32_t wanted, uint32_t usual)
{
	if (to_ticks(v->r, wanted, rate) == ticks)
		return wanted;
	return to_ticks(v->r, usual, rate) == ticks ? usual : to_bytes(v->r, ticks, rate);
}

static void take_class(const struct seen *s, void *arg)
{
	struct nlattr *tb[TCA_HTB_MAX + 1];
	const struct view *v = arg;
	struct shape *shape = &v->tree->shape;
	struct tc_htb_opt opt;
	uint64_t rate, ceil;

	if (!s->options || nla_parse_nested(tb, TCA_HTB_MAX, s->options, NULL) || !tb[TCA_HTB_PARMS])
		return;
	if (nla_memcpy(&opt, tb[TCA_HTB_PARMS], sizeof(opt)) < (int)sizeof(opt))
		return;
	rate = rate_of(&opt.rate, tb[TCA_HTB_RATE64]);
	ceil = rate_of(&opt.ceil, tb[TCA_HTB_CEIL64]);
	v->tree->cap = !strcmp(s->kind, "htb");
	v->tree->bands = rate == ceil / TREE_SHARES / 8 * 8;
	shape->rate = v->want->rate / 8 * 8 == ceil ? v->want->rate : ceil;
	shape->burst = snap(v, opt.cbuffer, ceil, v->want->burst, shape_for(ceil, v->mtu).burst);
	shape->quantum = opt.quantum;
	if (v->tree->bands)
		return;
	/* A rate or second bucket that differs is shown as a rate or burst that nobody wants. */
	if (rate != ceil)
		shape->rate = rate;
	if (opt.cbuffer != opt.buffer)
		shape->burst = to_bytes(v->r, opt.buffer, rate);
}

/* TBF reckons TCA_TBF_BURST in ns and tells the whole ticks in it. */
static uint32_t floor_ticks(const struct real *r, uint32_t bytes, uint64_t bits)
{
	return (uint32_t)(floor(bytes * 8e9 / (double)bits) / r->tick_ns);
}

/*
 * The kernel does not give TCA_TBF_BURST back, and its ticks are 3200 bytes at this rate. What we would have
 * written for the link's MTU stands for it when the ticks agree: so the leaf goes before the MTU in a plan.
 */
static void take_tbf(const struct seen *s, const struct view *v)
{
	struct nlattr *tb[TCA_TBF_MAX + 1];
	struct shape *shape = &v->tree->shape;
	struct tc_tbf_qopt opt;
	uint64_t rate;
	uint32_t usual;

	if (nla_parse_nested(tb, TCA_TBF_MAX, s->options, NULL) || !tb[TCA_TBF_PARMS])
		return;
	if (nla_memcpy(&opt, tb[TCA_TBF_PARMS], sizeof(opt)) < (int)sizeof(opt))
		return;
	rate = rate_of(&opt.rate, tb[TCA_TBF_RATE64]);
	usual = shape_for(BW_MIN, v->mtu).seg_burst;
	shape->segment = rate == RATE_OPEN && !opt.peakrate.rate;
	shape->limit = opt.limit;
	shape->seg_burst =
		floor_ticks(v->r, usual, rate) == opt.buffer ? usual : to_bytes(v->r, opt.buffer, rate);
}

static void take_bfifo(const struct seen *s, const struct view *v)
{
	struct tc_fifo_qopt opt;

	if (nla_memcpy(&opt, s->options, sizeof(opt)) == (int)sizeof(opt))
		v->tree->shape.limit = opt.limit;
}

/* Also of the one below a leaf: when the two limits differ, this one is the wrong one. */
static void take_fq_codel(const struct seen *s, const struct view *v)
{
	struct nlattr *tb[TCA_FQ_CODEL_MAX + 1];

	if (!nla_parse_nested(tb, TCA_FQ_CODEL_MAX, s->options, NULL) && tb[TCA_FQ_CODEL_MEMORY_LIMIT])
		v->tree->shape.limit = nla_get_u32(tb[TCA_FQ_CODEL_MEMORY_LIMIT]);
}

static void take_leaf(const struct seen *s, void *arg)
{
	static const struct {
		const char *kind;
		void (*take)(const struct seen *s, const struct view *v);
	} kinds[] = {{"tbf", take_tbf}, {"bfifo", take_bfifo}, {"fq_codel", take_fq_codel}};
	const struct view *v = arg;

	if (!our_leaf(s) || !s->options)
		return;
	v->tree->leaf = true;
	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++)
		if (!strcmp(s->kind, kinds[i].kind))
			kinds[i].take(s, v);
}

/* Two that are not the same are no cap. An inner class has no quantum that could be changed. */
static int observe_classes(const struct view *v, struct nl_sock *sk, int ifindex, struct extack *x)
{
	struct tree cap = {}, rest = {};
	struct view at_cap = *v, at_rest = *v;
	struct seen seen_cap = {.take = take_class, .arg = &at_cap};
	struct seen seen_rest = {.take = take_class, .arg = &at_rest};
	int rc;

	at_cap.tree = &cap;
	at_rest.tree = &rest;
	rc = ask_classes(sk, ifindex, &(struct classes){.cap = &seen_cap, .rest = &seen_rest}, x);
	v->tree->shape = rest.shape;
	v->tree->bands = rest.bands;
	v->tree->cap = cap.cap && rest.cap && cap.shape.rate == rest.shape.rate &&
		       cap.shape.burst == rest.shape.burst;
	return rc;
}

int tree_observe(const struct real *r, struct nl_sock *sk, int ifindex, uint32_t mtu,
		 const struct shape *want, struct tree *ret, struct extack *x)
{
	struct where root = {.ifindex = ifindex, .parent = TC_H_ROOT};
	struct where leaf = {.ifindex = ifindex, .parent = REST_ID};
	struct where below = {.ifindex = ifindex, .parent = TREE_LEAF_MAJOR + 1};
	struct tree tree = {};
	struct view v = {.r = r, .mtu = mtu, .want = want, .tree = &tree};
	struct seen seen_root = {}, seen_leaf = {.take = take_leaf, .arg = &v}, seen_below = seen_leaf;
	int rc = ask(r, sk, &root, &seen_root, x);

	tree.root = seen_root.handle == TREE_MAJOR && !strcmp(seen_root.kind, "htb");
	if (!rc && tree.root)
		rc = observe_classes(&v, sk, ifindex, x);
	if (!rc && tree.cap)
		rc = ask(r, sk, &leaf, &seen_leaf, x);
	if (!rc && tree.shape.segment)
		rc = ask(r, sk, &below, &seen_below, x);
	if (!rc)
		*ret = tree;
	return rc;
}

int tree_drops(const struct real *r, struct nl_sock *sk, int ifindex, uint64_t *ret, struct extack *x)
{
	struct seen leaf = {};
	int rc = ask_leaf(r, sk, ifindex, &leaf, x);

	if (!rc)
		*ret = our_leaf(&leaf) ? leaf.drops : 0;
	return rc;
}

/* The plan goes on when it has waited long enough: a few frames may then overtake each other. */
int tree_drain(struct act *a)
{
	int ifindex, rc = act_ifindex(a, &ifindex), tries = a->op->yes ? 600 : 4;

	for (int i = 0; !rc && i < tries; i++) {
		struct seen class = {};
		struct extack x;

		rc = ask_classes(a->sk, ifindex, &(struct classes){.rest = &class}, &x);
		if (rc)
			return act_fail(a, rc, &x);
		if (!class.backlog && !class.qlen)
			return 0;
		nanosleep(&(struct timespec){.tv_nsec = DRAIN_STEP_NS}, NULL);
	}
	return rc;
}
