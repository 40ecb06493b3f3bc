/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What of a packet decides its flow, as one block of bytes that a mask can be laid over; shared with the
 * eBPF classifier. Plain data, no function.
 */
#pragma once

#include <linux/types.h>

/* What of the key is there in the packet: a mask that asks for ports or a tag asks for these, too. */
#define FLOW_HAS_PORTS 1 /* the transport header was reached and has ports */
#define FLOW_HAS_TAG   2 /* a VLAN tag, in metadata or in the frame */

/*
 * The same layout serves a packet, a rule and a mask. Local is the destination of what comes in and the
 * source of what goes out. IPv4 addresses are in the first four bytes, the others zero. Ports and ethertype
 * are in network order, as in the packet; vid is the outermost tag's, in host order.
 */
struct flow_key {
	__u8 local[16];
	__u8 remote[16];
	__be16 local_port;
	__be16 remote_port;
	__be16 ethertype; /* behind all VLAN tags */
	__u16 vid;
	__u8 family;  /* 4, 6; 0: no IP */
	__u8 proto;   /* behind IPv6 extension headers */
	__u8 dsfield; /* the whole octet, ECN bits too */
	__u8 has;     /* FLOW_HAS_* */
};

/*
 * Which of two rules wins: the smaller hi, then the smaller lo. hi: rank before unranked, then more specific
 * before less; lo: the older flow.
 */
struct flow_order {
	__u64 hi;
	__u32 lo;
	__u32 zero;
};
