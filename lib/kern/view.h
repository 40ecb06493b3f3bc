/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The daemon's own namespace as a few dumps showed it, to be asked many times. It is good until the next
 * modifying act: from then on every question goes to the kernel again.
 */
#pragma once

#include "lib/kern/real.h"

struct view;

/* One dump of each kind. */
int view_open(struct real *r, struct view **ret, struct extack *x);
struct view *view_free(struct view *v);

/* Below: VIEW_NONE when there is no view of that socket's namespace (any more), and the kernel must be asked.
 */
#define VIEW_NONE 1

/* By ifindex, or (0) by name: alternative names are not known. 0 or -ENODEV. */
int view_link(const struct real *r, const struct nl_sock *sk, int ifindex, const char *name,
	      struct link_view *ret);
/* Every link, in the order of the dump, until cb gives something else than 0: that is *ret then. False
 * without a view. */
bool view_each(const struct real *r, const struct nl_sock *sk, int (*cb)(const struct sys_link *l, void *arg),
	       void *arg, int *ret);
/* The VNIC or etherstub with our alias and this number. */
int view_marked(const struct real *r, const struct nl_sock *sk, uint32_t n, int *ret_ifindex);
/* The qdisc below parent, as the kernel told it. NULL in *ret when there is none. */
int view_qdisc(const struct real *r, const struct nl_sock *sk, int ifindex, uint32_t parent,
	       const struct nlmsghdr **ret);
/* Counters of a link: 0 or -ENODEV. */
int view_stats(struct real *r, const struct nl_sock *sk, int ifindex, struct link_stats *ret);
/* Has the link any address that is not link-local? */
int view_addressed(const struct real *r, int ifindex, bool *ret);
/* Is our program on this parent's ingress? It is looked at once. */
int view_hook(struct real *r, int ifindex, bool *ret, struct err *e);
