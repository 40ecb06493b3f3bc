// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Filters on the root of a tree of ours: put a frame into the class that the flow program chose. Know no
 * flow; loaded once for all trees.
 */
#include "lib/bpf/flowmaps.h"

#include <linux/bpf.h>
#include <linux/pkt_cls.h>

#include <bpf/bpf_helpers.h>

/* The filter's own class gives the major number. What is read here goes no further down. */
SEC("tc")
int pick(struct __sk_buff *skb)
{
	__u32 carried = skb->priority;

	skb->priority = 0;
	if ((carried & 0xffff0000U) != FLOW_CARRIER)
		return TC_ACT_UNSPEC;
	skb->tc_classid = carried & 0xffff;
	return TC_ACT_OK;
}

/* The same on the way out of a link that is not ours, whose queues are to find skb->priority as it was. */
SEC("tc")
int pick_out(struct __sk_buff *skb)
{
	__u32 class = skb->tc_index;

	skb->tc_index = 0;
	if (!class)
		return TC_ACT_UNSPEC;
	skb->tc_classid = class;
	return TC_ACT_OK;
}

char _license[] SEC("license") = "GPL";
