/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Messages about qdiscs and classes, for the files that build our trees; decides nothing. */
#pragma once

#include "lib/kern/real.h"
#include "lib/model/flowset.h"

#define CAP_ID  (TREE_MAJOR | TREE_CAP)
#define REST_ID (TREE_MAJOR | TREE_REST)

struct where {
	int ifindex;
	uint32_t parent, handle;
};

/* One class; rates in bits per second, buckets and quantum in bytes. */
struct htb {
	uint64_t rate, ceil;
	uint32_t burst, cburst, quantum, prio;
};

/* kind NULL: none is named. NULL without memory. */
struct nl_msg *tc_msg(int type, int flags, const struct where *w, const char *kind);
/* Makes (flags NLM_F_CREATE) or changes a class. */
int htb_put(struct act *a, const struct where *w, int flags, const struct htb *h);
/* The best leaf there is for this shape, under a class. */
int leaf_put(struct act *a, int ifindex, uint32_t parent, const struct shape *s);
