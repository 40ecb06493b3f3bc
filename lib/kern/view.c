/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Keeps what one dump of each kind tells of the own namespace, for questions about many links at once.
 * Changes nothing, and answers nothing any more once something was changed.
 */
#include "lib/kern/view.h"

#include <errno.h>
#include <linux/pkt_sched.h>
#include <linux/rtnetlink.h>
#include <stdlib.h>
#include <string.h>
#include <uthash.h>

struct seen_link {
	struct link_view link;
	uint32_t n;
	bool addressed, counted;
	struct link_stats stats;
	UT_hash_handle by_index, by_name, by_n;
};

struct place {
	int ifindex;
	uint32_t parent;
};

struct seen_qdisc {
	struct place at;
	UT_hash_handle hh;
	struct nlmsghdr msg[];
};

struct seen_hook {
	int ifindex;
	bool there;
	UT_hash_handle hh;
};

struct view {
	const struct real *r;
	unsigned long acts;
	bool counted;
	struct seen_link *by_index, *by_name, *by_n;
	struct seen_qdisc *qdiscs;
	struct seen_hook *hooks;
};

static struct seen_link *find(const struct view *v, int ifindex)
{
	struct seen_link *s;

	HASH_FIND(by_index, v->by_index, &ifindex, sizeof(ifindex), s);
	return s;
}

static bool is_ifb(const struct sys_link *l)
{
	return !strcmp(l->kind, "ifb");
}

static int take_link(const struct nlmsghdr *h, void *arg)
{
	struct seen_link *s = calloc(1, sizeof(*s));
	struct view *v = arg;
	int rc = s ? link_view_parse(h, &s->link) : -ENOMEM;

	if (rc || find(v, s->link.sys.ifindex)) {
		free(s);
		return rc;
	}
	HASH_ADD(by_index, v->by_index, link.sys.ifindex, sizeof(int), s);
	HASH_ADD_KEYPTR(by_name, v->by_name, s->link.sys.name, strlen(s->link.sys.name), s);
	if (!is_ifb(&s->link.sys) && mark_parse(v->r, s->link.sys.alias, &s->n))
		HASH_ADD(by_n, v->by_n, n, sizeof(s->n), s);
	return 0;
}

/* Of what others have nothing is kept: our trees hang on our own handles. */
static int take_qdisc(const struct nlmsghdr *h, void *arg)
{
	const struct tcmsg *t = nlmsg_data(h);
	struct view *v = arg;
	struct seen_qdisc *q;

	if (nlmsg_datalen(h) < (int)sizeof(*t) || t->tcm_parent == TC_H_CLSACT ||
	    (t->tcm_parent != TC_H_ROOT && t->tcm_handle < TREE_MAJOR))
		return 0;
	q = calloc(1, sizeof(*q) + h->nlmsg_len);
	if (!q)
		return -ENOMEM;
	q->at = (struct place){.ifindex = t->tcm_ifindex, .parent = t->tcm_parent};
	memcpy(q->msg, h, h->nlmsg_len);
	HASH_ADD(hh, v->qdiscs, at, sizeof(q->at), q);
	return 0;
}

static int take_addr(const struct nlmsghdr *h, void *arg)
{
	const struct ifaddrmsg *m = nlmsg_data(h);
	struct seen_link *s = find(arg, (int)m->ifa_index);

	if (s && m->ifa_scope != RT_SCOPE_LINK)
		s->addressed = true;
	return 0;
}

static int dump(struct view *v, int type, const void *body, size_t size, sock_fn *fn, struct extack *x)
{
	MSG_AUTO msg = nlmsg_alloc_simple(type, 0);

	if (!msg || nlmsg_append(msg, (void *)body, size, NLMSG_ALIGNTO) < 0)
		return -ENOMEM;
	return sock_dump(v->r->rt, msg, fn, v, x);
}

int view_open(struct real *r, struct view **ret, struct extack *x)
{
	struct view *v = calloc(1, sizeof(*v));
	struct ifinfomsg link = {.ifi_family = AF_UNSPEC};
	struct ifaddrmsg addr = {.ifa_family = AF_UNSPEC};
	struct tcmsg qdisc = {.tcm_family = AF_UNSPEC};
	int rc;

	if (!v)
		return -ENOMEM;
	*v = (struct view){.r = r, .acts = r->kernel.acts};
	rc = dump(v, RTM_GETLINK, &link, sizeof(link), take_link, x);
	rc = rc ? rc : dump(v, RTM_GETQDISC, &qdisc, sizeof(qdisc), take_qdisc, x);
	rc = rc ? rc : dump(v, RTM_GETADDR, &addr, sizeof(addr), take_addr, x);
	if (rc) {
		view_free(v);
		return rc;
	}
	*ret = v;
	return 0;
}

struct view *view_free(struct view *v)
{
	struct seen_link *s, *next;
	struct seen_qdisc *q, *next_q;
	struct seen_hook *h, *next_h;

	if (!v)
		return NULL;
	HASH_CLEAR(by_name, v->by_name);
	HASH_CLEAR(by_n, v->by_n);
	HASH_ITER (by_index, v->by_index, s, next) {
		HASH_DELETE(by_index, v->by_index, s);
		free(s);
	}
	HASH_ITER (hh, v->qdiscs, q, next_q) {
		HASH_DEL(v->qdiscs, q);
		free(q);
	}
	HASH_ITER (hh, v->hooks, h, next_h) {
		HASH_DEL(v->hooks, h);
		free(h);
	}
	free(v);
	return NULL;
}

static struct view *valid(const struct real *r)
{
	return r->view && r->view->acts == r->kernel.acts ? r->view : NULL;
}

static struct view *of_sock(const struct real *r, const struct nl_sock *sk)
{
	return sk == r->rt ? valid(r) : NULL;
}

int view_link(const struct real *r, const struct nl_sock *sk, int ifindex, const char *name,
	      struct link_view *ret)
{
	const struct view *v = of_sock(r, sk);
	struct seen_link *s;

	if (!v)
		return VIEW_NONE;
	if (ifindex)
		s = find(v, ifindex);
	else
		HASH_FIND(by_name, v->by_name, name, strlen(name), s);
	if (!s)
		return -ENODEV;
	*ret = s->link;
	return 0;
}

bool view_each(const struct real *r, const struct nl_sock *sk, int (*cb)(const struct sys_link *l, void *arg),
	       void *arg, int *ret)
{
	const struct view *v = of_sock(r, sk);
	struct seen_link *s, *next;

	*ret = 0;
	if (!v)
		return false;
	HASH_ITER (by_index, v->by_index, s, next)
		if (!*ret)
			*ret = cb(&s->link.sys, arg);
	return true;
}

int view_marked(const struct real *r, const struct nl_sock *sk, uint32_t n, int *ret_ifindex)
{
	const struct view *v = of_sock(r, sk);
	struct seen_link *s;

	if (!v)
		return VIEW_NONE;
	HASH_FIND(by_n, v->by_n, &n, sizeof(n), s);
	if (!s)
		return -ENODEV;
	*ret_ifindex = s->link.sys.ifindex;
	return 0;
}

int view_qdisc(const struct real *r, const struct nl_sock *sk, int ifindex, uint32_t parent,
	       const struct nlmsghdr **ret)
{
	const struct view *v = of_sock(r, sk);
	struct place at = {.ifindex = ifindex, .parent = parent};
	struct seen_qdisc *q;

	if (!v)
		return VIEW_NONE;
	HASH_FIND(hh, v->qdiscs, &at, sizeof(at), q);
	*ret = q ? q->msg : NULL;
	return 0;
}

static int take_stats(int ifindex, const struct link_stats *stats, void *arg)
{
	struct seen_link *s = find(arg, ifindex);

	if (s) {
		s->stats = *stats;
		s->counted = true;
	}
	return 0;
}

int view_stats(struct real *r, const struct nl_sock *sk, int ifindex, struct link_stats *ret)
{
	struct view *v = of_sock(r, sk);
	struct seen_link *s;

	if (!v || (!v->counted && real_stats_all(&r->kernel, take_stats, v, NULL) < 0))
		return VIEW_NONE;
	v->counted = true;
	s = find(v, ifindex);
	if (!s || !s->counted)
		return -ENODEV;
	*ret = s->stats;
	return 0;
}

int view_addressed(const struct real *r, int ifindex, bool *ret)
{
	const struct view *v = valid(r);
	struct seen_link *s = v ? find(v, ifindex) : NULL;

	if (!s)
		return VIEW_NONE;
	*ret = s->addressed;
	return 0;
}

int view_hook(struct real *r, int ifindex, bool *ret, struct err *e)
{
	struct view *v = valid(r);
	struct seen_hook *h = NULL;
	int rc;

	if (v)
		HASH_FIND_INT(v->hooks, &ifindex, h);
	if (h) {
		*ret = h->there;
		return 0;
	}
	rc = bpf_hook_observe(r->bpf, ifindex, ret, e);
	h = rc || !v ? NULL : calloc(1, sizeof(*h));
	if (!h)
		return rc;
	*h = (struct seen_hook){.ifindex = ifindex, .there = *ret};
	HASH_ADD_INT(v->hooks, ifindex, h);
	return 0;
}

void real_survey(struct kernel *k, bool on)
{
	struct real *r = real_of(k);
	struct extack x;

	if (on && valid(r))
		return;
	r->view = view_free(r->view);
	if (on && view_open(r, &r->view, &x))
		r->view = NULL; /* every question goes to the kernel then */
}
