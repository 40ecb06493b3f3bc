/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the eBPF programs and their loader share: the layout of maps. Plain data, no function. */
#pragma once

#include <linux/types.h>

#define STEER_MAX 16384
#define VNICS_MAX 16384 /* numbers of VNICs that share their programs; a filter can tell 16 bits */

/* The hook by its ifindex (one steer map per network namespace) and the VNIC's MAC. */
struct steer_key {
	__u32 ifindex;
	__u8 mac[6];
	__u16 zero;
};

/*
 * last: STEER_OPEN while frames are to go to the ifb; the time (CLOCK_MONOTONIC, ns) of the last one that did
 * since closing began; STEER_SHUT from the first gap on. One word, so that several CPUs agree by
 * compare-and-swap.
 */
#define STEER_OPEN   0ULL
#define STEER_SHUT   (~0ULL)
#define STEER_GAP_NS 200000ULL
struct steer_value {
	__u32 ifb;
	__u32 zero;
	__u64 last;
};

/* The modes of a VNIC's two programs; the numbers of enum hook_mode. */
#define VNIC_PASS   0U
#define VNIC_POLICE 1U
#define VNIC_DROP   2U

/* A bucket as nanoseconds: what a byte costs (16 fractional bits), and how much time may be saved up. */
struct bucket {
	__u64 cost;
	__u64 depth;
};

/*
 * One VNIC's programs. The first line is written by the loader only and read for every frame, so what the
 * programs write stays off it. main, slow: the time up to which each bucket is spent; a bucket is empty when
 * that is now.
 */
struct vnic_state {
	__u32 rx;
	__u32 tx;
	__u64 rate; /* bits per second, as asked for */
	struct bucket main;
	struct bucket slow;
	/* Of a link that is not ours: frames of other MACs are none of its programs' business. */
	__u8 mac[6];
	__u8 theirs;
	__u8 all;  /* each frame of its own that goes out goes through out */
	__u32 out; /* the ifb with its tree; 0: none yet */
	__u32 spare;
	__u64 drained; /* bytes that passed since the main bucket was last looked at */
	__u64 main_spent;
	__u64 slow_spent;
	__u64 rx_drops;
	__u64 tx_drops;
} __attribute__((aligned(64)));
