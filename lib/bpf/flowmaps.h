/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the flow programs and their loader share: the layout of the maps of one VNIC's flows. Plain data, no
 * function.
 */
#pragma once

#include "lib/bpf/maps.h"
#include "lib/model/flowkey.h"

#define FLOW_SHAPES    64 /* masks of one direction */
#define FLOW_NUMBERS   (2 * FLOW_SHAPES)
#define FLOW_WORDS     6
#define FLOW_RULES_MIN 64u /* what the maps hold before they grow */
#define FLOW_SLOTS_MIN 16u
#define FLOW_FRAGS     1024

#define FLOW_CARRIER 0x7fd10000U /* major of skb->priority between the flow program and the root's filter */
#define FLOW_TREE    0x7fd00000U /* major of our trees' handles */
#define FLOW_REST    1U          /* minor of the class of all that no flow has a class for */
#define FLOW_SEEN    0x7fd1U     /* skb->tc_index of a frame that was classified on the ifb */

/*
 * A packet's key, a rule's or a mask, for look-ups. shape: which mask it was made with, all ones in a packet,
 * so that laying a mask over a packet's block gives the key to look up; 0 in an entry that is free.
 */
union flow_block {
	__u64 word[FLOW_WORDS];
	struct {
		struct flow_key key;
		__u32 shape;
	};
};
#define FLOW_SHAPE(dir, number) (0x10000U | (dir) << 8 | (number))
#define FLOW_NUMBER(shape)      ((shape)&0xff)
#define FLOW_DIR(shape)         ((shape) >> 8 & 1)

/* The bit of a sieve that is set where a rule of this key may be: a few rules spare most look-ups. */
#define FLOW_SIEVE(block)                                                                       \
	(1ULL << ((((block)->word[0] ^ (block)->word[1] ^ (block)->word[2] ^ (block)->word[3] ^ \
		    (block)->word[4] ^ (block)->word[5]) *                                      \
		   0x9e3779b97f4a7c15ULL) >>                                                    \
		  58))

/* A mask in use; none of its rules is better than best, and the sieve has the bits of all of them. */
struct flow_shape {
	union flow_block mask;
	__u64 best_hi;
	__u32 best_lo;
	__u32 rules;
	__u64 sieve;
};

/* The masks of a direction, best first. */
struct flow_side {
	__u32 count;
	__u32 strict;
	__u32 stale; /* how many rules went, or were a mask's best, since all best and sieves were known */
	__u32 zero[13];
	struct flow_shape shape[FLOW_SHAPES];
};

/*
 * The halves of this and of each entry: what is in force is in the half of gen's parity, and is never
 * written. A change writes the other half, adds one to gen, and brings the half that was in line. So a
 * program that finds gen the same at its end as at its start has seen one set of rules.
 */
struct flow_table {
	__u32 gen;
	__u32 number; /* where the VNIC's state is in its map */
	__u32 cpus;   /* columns of a slot's counters */
	__u32 ifb;    /* unicast frames come through the VNIC's ifb */
	__u32 weak;   /* this machine may read late what it should have read before */
	/* The loader's own. */
	__u32 dirty;      /* a change is not through */
	__u32 used;       /* entries from this one on never were */
	__u32 free;       /* first free entry below, and 1 */
	__u32 rules;      /* entries that are not free */
	__u32 rules_step; /* which of the maps are in force, 0: the first */
	__u32 slots_step;
	__u32 slots_dirty; /* programs may not know of the last step of slots */
	__u32 zero[4];
	struct flow_side half[2][2]; /* by enum flow_dir */
};

/* What a rule says. slot1: the slot and 1; 0: no such rule. */
struct flow_hit {
	__u64 hi;
	__u32 lo;
	__u32 slot1;
};

/* A rule's place, which the index has by its key. A free one's first word is the next free one, and 1. */
struct flow_value {
	union flow_block key;
	struct flow_hit hit[2];
};

/*
 * A slot has a row of cells: what is done with its packets, then what each CPU counted of them, by direction.
 * Row 0 is no slot's: packets are later fragments without a first one, drops are what could not be parsed.
 */
union flow_cell {
	__u64 action;
	struct {
		__u64 packets[2];
		__u64 bytes[2];
		__u64 drops[2];
		__u64 zero[2];
	};
};
#define FLOW_ROW_ODD    0U
#define FLOW_ROW(slot)  ((slot) + 1)
#define FLOW_COLUMN_CPU 1U /* the first */

/* The bits of an action: a class for each direction, then these. */
#define FLOW_ACT_CLASS(word, dir) ((word) >> 16 * (dir)&0xffff)
#define FLOW_ACT_SET              (1ULL << 32)
#define FLOW_ACT_BLOCKED          (1ULL << 33)
#define FLOW_ACT_MARK             (1ULL << 34)
#define FLOW_ACT_DSCP_SHIFT       40

/* What the fragments of a datagram have in common. IPv6 knows them without the protocol. */
struct flow_frag_key {
	__u8 local[16];
	__u8 remote[16];
	__u32 id;
	__u8 family;
	__u8 proto;
	__u8 dir;
	__u8 zero;
};

/* What only the first of them says. */
struct flow_frag {
	__be16 local_port;
	__be16 remote_port;
	__u8 proto;
	__u8 has;
	__u16 zero;
};
