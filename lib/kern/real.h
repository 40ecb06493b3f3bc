/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the files of the real kernel share: its handle, one act on its way to the kernel, and each file's
 * verbs. */
#pragma once

#include "lib/bpf/bpf.h"
#include "lib/kern/kern.h"
#include "lib/nl/genl.h"
#include "lib/nl/sock.h"

#include <netlink/attr.h>

#define UUID_MAX 64

struct real {
	struct kernel kernel;
	int own; /* the daemon's namespace */
	struct nl_sock
		*rt; /* requests there; for a zone a socket is opened for each call: it would keep the zone */
	struct nl_sock *events;
	struct genl *ethtool; /* NULL where the kernel has no such family */
	struct bpf *bpf;
	struct view *view; /* while many links are looked at */
	int *doomed;       /* ifindexes of links that the next sweep deletes */
	size_t doomed_count;
	bool hears_routes;
	unsigned no_leaf; /* kinds of leaf, one bit each, that the kernel has not */
	double tick_ns;   /* of tc's buckets */
	bool tried;       /* means is known */
	struct means means;
	char uuid[UUID_MAX];
};

static inline struct real *real_of(struct kernel *k)
{
	return (struct real *)k;
}

/* A request socket in zone; back with real_unsock(). -ENOENT when the zone is gone. */
int real_sock(struct real *r, const char *zone, struct nl_sock **ret, struct err *e);
void real_unsock(struct real *r, struct nl_sock *sk);
/* The calling thread enters zone ("" is no move) until real_leave(). */
int real_enter(struct real *r, const char *zone, struct err *e);
void real_leave(struct real *r, const char *zone);
/* The error of a question to the kernel about object. */
int real_fail(int rc, const char *object, const struct extack *x, struct err *e);

/* One operation under way. */
struct act {
	struct real *r;
	struct op *op;
	const struct node *node; /* what is to be, or what was for operations that take away */
	const struct port *port; /* the link it is about */
	struct nl_sock *sk;      /* in that link's zone */
	const char *what;        /* words for errors: "cannot WHAT" */
	struct err *e;
};

/* act.c: the one place where modifying acts are counted (lib/bpf adds to the same counter). */
int act_send(struct act *a, struct nl_msg *msg);
/* Writes a file under /proc/sys; one that does not exist is passed over. */
int act_write(struct act *a, const char *path, const char *text);
int act_fail(struct act *a, int rc, const struct extack *x);
/* The link's ifindex: what is known, else found by name. */
int act_ifindex(struct act *a, int *ret);

/* link.c */
struct link_view {
	struct sys_link sys;
	struct arp arp;
	bool quiet; /* no IPv6 address of its own; also where there is no IPv6 at all */
};
int link_view_parse(const struct nlmsghdr *h, struct link_view *ret);
int link_get(struct nl_sock *sk, int ifindex, const char *name, struct link_view *ret, struct extack *x);
/* Every link in the namespace of sk, of one kind or (NULL) of all. cb returns non-zero to stop. */
int link_each(struct nl_sock *sk, const char *kind, int (*cb)(const struct sys_link *l, void *arg), void *arg,
	      struct extack *x);

/* linkop.c */
int link_add(struct act *a);
int link_del(struct act *a);
int link_doom(struct act *a);
int link_sweep(struct act *a);
int link_mark(struct act *a);
int link_quiet(struct act *a);
int link_up(struct act *a);
int link_mtu(struct act *a);
int link_mac(struct act *a);
int link_rename(struct act *a);
int link_move(struct act *a);

/* keep.c: what a link loses by going down. The caller frees what keep() gave with kept_free(). */
struct kept;
int keep(struct nl_sock *sk, int ifindex, struct kept **ret);
/* The link is up again: what the kernel does not take by now is lost. */
void keep_give(const struct act *a, struct kept *k);
struct kept *kept_free(struct kept *k);

/* mark.c: the alias by which links are known as ours. */
void mark_text(const struct real *r, uint32_t n, char *buf, size_t size);
/* True when the alias is of this store; *ret_n is the number in it. */
bool mark_parse(const struct real *r, const char *alias, uint32_t *ret_n);

/* tree.c */
int root_add(struct act *a);
int root_del(struct act *a);
int cap_set(struct act *a);
int cap_del(struct act *a);
int bands_add(struct act *a);
int bands_del(struct act *a);
int leaf_set(struct act *a);
int leaf_del(struct act *a);
int tree_drain(struct act *a);
/* want: what was asked for (a figure that is the same to the kernel is given as it was); mtu: of the VNIC. */
int tree_observe(const struct real *r, struct nl_sock *sk, int ifindex, uint32_t mtu,
		 const struct shape *want, struct tree *ret, struct extack *x);
/* What the leaf of our tree on a link dropped; 0 when there is none. */
int tree_drops(const struct real *r, struct nl_sock *sk, int ifindex, uint64_t *ret, struct extack *x);
double tree_tick_ns(void);

/* isolate.c */
int arp_set(struct act *a);
int iso_set(struct act *a);
int iso_del(struct act *a);
/* Fills ret->iso; its link has been seen. */
int isolate_observe(struct real *r, struct node *ret, struct extack *x);
int real_iso(struct kernel *k, const struct node *n, bool up, struct iso_set *want, struct iso_set *have,
	     struct err *e);
int real_arp(struct kernel *k, int ifindex, struct arp *ret, struct err *e);
int real_isolated(struct kernel *k, int (*cb)(uint32_t n, void *arg), void *arg, struct err *e);
/* Whom a notification of a route or rule concerns (see kern_event), if any VNIC can be. */
bool isolate_event(const struct nlmsghdr *h, int *ret_ifindex, bool *ret_routing);

/* hook.c: operations that lib/bpf carries out. */
int prog_add(struct act *a);
int prog_set(struct act *a);
int prog_del(struct act *a);
int steer_add(struct act *a);
int steer_del(struct act *a);
int hook_add(struct act *a);
int hook_del(struct act *a);
/* Calls fn in the zone of the act's link, with its ifindex. */
int in_zone(struct act *a, int (*fn)(struct act *a, int ifindex));

/* flow.c */
int flows_add(struct act *a);
int flows_set(struct act *a);
int flows_del(struct act *a);
/* Fills ret->flows; its link, trees and ifb have been seen. */
int flows_observe(struct real *r, const struct flow_set *want, struct node *ret, struct err *e);
int real_flow_change(struct kernel *k, const struct node *n, const struct flow_set *have,
		     const struct flow_set *want, struct err *e);
int real_flow_counts(struct kernel *k, const struct node *n, const uint32_t *slots, size_t count,
		     struct flow_stats *ret, struct err *e);
int real_flow_odd(struct kernel *k, const struct node *n, struct flow_odd *ret, struct err *e);

/* Each fills its slot of kernel_ops: observe.c, stats.c, addr.c, ethtool.c, marked.c. */
int real_observe(struct kernel *k, const struct node *key, struct node *ret, struct err *e);
int real_stats(struct kernel *k, const char *zone, int ifindex, struct link_stats *ret, struct err *e);
int real_stats_all(struct kernel *k, int (*cb)(int ifindex, const struct link_stats *s, void *arg), void *arg,
		   struct err *e);
int real_drops(struct kernel *k, const struct node *n, struct drop_stats *ret, struct err *e);
int real_shares_subnet(struct kernel *k, int ifindex, int parent_ifindex, bool *ret, struct err *e);
int real_speed(struct kernel *k, int ifindex, uint64_t *bps, int *duplex);
int real_marked(struct kernel *k, const char *const *zones,
		int (*cb)(const struct port *port, uint32_t n, enum link_class class, void *arg), void *arg,
		struct err *e);
/* means.c */
int real_means(struct kernel *k, struct means *ret, struct err *e);
/* view.c */
void real_survey(struct kernel *k, bool on);
/* events.c */
int events_open(struct nl_sock **ret, struct err *e);
