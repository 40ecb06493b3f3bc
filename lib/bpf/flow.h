/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The flows of one VNIC in the kernel: rules, what is done with each flow's packets, counters. Knows flows by
 * their slot, a small number that its caller gives; slot 0 is what no flow takes.
 *
 * Pins, beside those of the VNIC (see bpf.h), under DIR/<store uuid>/<SO_NETNS_COOKIE>/vnic-<N>/:
 *   flows/...    the maps
 *   ifb          link of the program on the egress of the VNIC's ifb
 *   rx, tx       as ever; with flows the programs in these seats classify, too
 */
#pragma once

#include "lib/bpf/bpf.h"
#include "lib/model/flowset.h"
#include "lib/model/stats.h"

#define FLOW_SLOTS_MAX 65536u

/*
 * Of one flow, both directions. A frame is counted by what is sent for it: each segment of a GSO frame, with
 * its own headers. drops: blocked ones, a GSO frame as one. A frame that a class counts is not counted here;
 * group frames that come in pass by the ifb and its classes, so they are, also of a flow that has a class.
 */
struct bpf_flow_count {
	uint64_t packets[FLOW_DIRS], bytes[FLOW_DIRS], drops[FLOW_DIRS];
};

/* Where a VNIC's three programs sit. ifb 0: it has none, and what comes in is classified at the VNIC. */
struct bpf_flow_site {
	uint32_t n;
	int ifindex; /* of the VNIC, in the namespace the thread is in */
	int ifb;     /* in the own namespace */
};

/*
 * Are the flow programs of this build in the seats rx, tx and (site->ifb) that of the ifb, on maps that are
 * pinned? An ifb that has the program though site->ifb is 0 does not count.
 */
int bpf_flows_observe(struct bpf *b, const struct bpf_flow_site *site, bool *ret, struct err *e);
/*
 * Puts the flow programs into the seats in place of the plain ones, without a gap, with no rule and no action
 * where none are pinned; the VNIC's state (bpf_vnic_add) is there already and is used on. Idempotent; with
 * what is in the maps kept. Also when an ifb came or went.
 */
int bpf_flows_add(struct bpf *b, const struct bpf_flow_site *site, struct err *e);
/* The plain programs again, without a gap (a VNIC that goes: bpf_vnic_del alone is enough). Idempotent. */
int bpf_flows_del(struct bpf *b, const struct bpf_flow_site *site, struct err *e);

/*
 * Takes del out and puts add in; every packet sees the rules as they were or as they are then. A rule of both
 * lists (same key, mask and direction) changes its slot or order, and so does one that is there already and
 * is added again. There is one rule of a key, mask and direction: where two flows have it in common (port
 * ranges that share a prefix) the caller gives that of the flow that wins, and the other's when that one
 * goes. strict[dir]: packets whose transport header cannot be reached are dropped (and counted as unparsed),
 * because a blocked flow asks for it; also later fragments that found no first one. -E2BIG, naming the
 * shapes, when a direction would have more than FLOW_MASKS_MAX masks; nothing is changed then.
 */
int bpf_flows_change(struct bpf *b, uint32_t n, const struct flow_entry *del, size_t del_count,
		     const struct flow_entry *add, size_t add_count, const bool strict[FLOW_DIRS],
		     struct err *e);
/* Every rule in force; cb returns non-zero to stop. Not there at all: -ENOENT. */
int bpf_flows_rules(struct bpf *b, uint32_t n, int (*cb)(const struct flow_entry *r, void *arg), void *arg,
		    struct err *e);

/* What is done with the packets of a slot, in one step. NULL: nothing (and its counters are zero again). */
int bpf_flows_action_set(struct bpf *b, uint32_t n, uint32_t slot, const struct flow_action *a,
			 struct err *e);
/* The same for many: that is a hundred times faster than one by one. */
struct bpf_slot_action {
	uint32_t slot;
	const struct flow_action *action; /* may be NULL */
};
int bpf_flows_actions_set(struct bpf *b, uint32_t n, const struct bpf_slot_action *list, size_t count,
			  struct err *e);
int bpf_flows_actions(struct bpf *b, uint32_t n,
		      int (*cb)(uint32_t slot, const struct flow_action *a, void *arg), void *arg,
		      struct err *e);

/* Of each of these slots. */
int bpf_flows_counts(struct bpf *b, uint32_t n, const uint32_t *slots, size_t count,
		     struct bpf_flow_count *ret, struct err *e);
int bpf_flows_odd(struct bpf *b, uint32_t n, struct flow_odd *ret, struct err *e);

/*
 * The filter on our tree's root (7fd0:) on a device of the namespace the thread is in, that reads the class
 * which the flow program left in skb->priority, and clears it. What has none goes to the default class. out:
 * the tree is that of what leaves a link that is not ours, where skb->tc_index has the class.
 */
int bpf_pick_observe(struct bpf *b, int ifindex, bool out, bool *ret, struct err *e);
int bpf_pick_add(struct bpf *b, int ifindex, bool out, struct err *e);
int bpf_pick_del(struct bpf *b, int ifindex, struct err *e);
