/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * One VNIC, etherstub or VLAN with everything in the kernel that hangs on it: the same struct says what is
 * wanted and what is seen, so that a plan is the difference of two nodes. Owns no memory, does no I/O.
 */
#pragma once

#include "lib/base/units.h"
#include "lib/model/isolate.h"

#include <net/if.h>
#include <stdbool.h>
#include <stdint.h>

#define ZONE_MAX        256
#define TREE_MAJOR      0x7fd00000u /* our tc handles are 7fd0:x */
#define TREE_CAP        0xffffu     /* minor of the class that carries a link's cap */
#define TREE_REST       1u          /* of the one below it for all that no flow has a class for */
#define TREE_SHARES     10u         /* with bands, each of them and the rest get one of these at least */
#define TREE_LEAF_MAJOR 0x7fd10000u /* handle of the leaf qdisc under it */
#define TREE_DIRECT_QLEN \
	1000u             /* frames that come between root and class; their device's own default may be 32 */
#define CODEL_FLOWS  128u /* 9 KB; the 1024 of its default take 70 */
#define RATE_OPEN    UINT64_C(400000000000) /* an open class: no limit in practice */
#define GROUP_LIVE   0x766e6963u            /* IFLA_GROUP of every link of ours ("vnic") */
#define GROUP_DOOMED 0x766e6964u

/*
 * CLASS_VLAN: a VLAN link of ours on a VNIC's parent, for all VNICs of one VID there. CLASS_FOREIGN: caps and
 * flows of a link that others made, which is the node's parent; the node's link is an ifb of ours for what
 * that one sends.
 */
enum link_class { CLASS_VNIC, CLASS_ETHERSTUB, CLASS_VLAN, CLASS_FOREIGN, CLASS_IFB, CLASS_OTHER };
const char *link_class_str(enum link_class class);

/* Has it caps and flows, and so an ifb and an entry at its parent's hook? */
static inline bool class_shaped(enum link_class class)
{
	return class == CLASS_VNIC || class == CLASS_FOREIGN;
}

/* A link in a zone. zone "" is the daemon's own namespace. ifindex 0: not there, or not known yet. */
struct port {
	char zone[ZONE_MAX];
	char name[IFNAMSIZ];
	int ifindex;
};

/*
 * One class on a tree: what a cap, a flow and a policer have in common. Derived figures (burst, quantum,
 * limit) come from shape_for(); they are kept here so that what the kernel says can be compared with what is
 * wanted.
 */
struct shape {
	uint64_t rate;      /* bits per second */
	uint32_t burst;     /* bytes, rate bucket and ceil bucket alike */
	uint32_t quantum;   /* bytes */
	uint32_t limit;     /* bytes waiting in the leaf at most */
	bool segment;       /* the leaf cuts GSO frames before the class meters them */
	uint32_t seg_burst; /* bytes: the segmenting leaf's bucket */
};

/*
 * An HTB root with a class for the cap, one below it for what no flow has a class for, and that one's leaf.
 * What is seen half-built has root but not cap.
 */
struct tree {
	bool root;
	bool cap; /* classes 7fd0:ffff and 7fd0:1 */
	bool leaf;
	bool bands; /* classes 7fd0:2 to 4 for the flows of each priority; the rest has its share only */
	struct shape shape;
};

/* What the VNIC's own two hooks do. */
enum hook_mode { HOOK_PASS, HOOK_POLICE, HOOK_DROP };
struct prog {
	bool present;
	enum hook_mode rx;   /* POLICE: group frames; DROP: blocked */
	enum hook_mode tx;   /* PASS: only resets skb->priority; DROP: blocked */
	uint64_t group_rate; /* bits per second: the RX cap group frames are policed against */
	bool clsact;         /* how they are attached when they are: no matter afterwards */

	/* CLASS_FOREIGN: they are on the parent, and let frames of other MACs alone. */
	bool theirs;
	bool all; /* each frame that it sends goes through the link of ours; else those that have a class */
	bool out; /* the filter that takes them there is on the parent's egress */
	int out_index; /* the number of that link, for whoever carries an operation out; not compared */
	struct mac own;
};

/* Programs that classify, with rules, actions and classes; STALE: the programs are there, the others not as
 * flow_set says. */
enum flows { FLOWS_OFF, FLOWS_STALE, FLOWS_ON };
struct flow_set;

/* The rules and the routing table of an isolated VNIC; STALE: not what its addresses need. */
enum iso { ISO_OFF, ISO_STALE, ISO_ON };

struct node {
	uint32_t n; /* row number in state.db; the ifb is vi<N> */
	enum link_class class;

	bool link; /* the link itself is there */
	struct port port;
	char kind[IFNAMSIZ]; /* macvlan, dummy, bridge, vlan */
	struct port parent;  /* VNIC, VLAN: the link below, in the daemon's namespace */
	uint16_t vid;        /* VLAN */
	struct mac mac;
	uint32_t mtu;
	uint32_t bc_queue; /* VNIC: frames of its parent's broadcast queue, asked for when it is made; 0
			      default */
	bool up;
	bool marked; /* alias vnicd:<uuid>:<N> and group are ours */
	bool doomed; /* in the group that is deleted next */
	bool quiet;  /* accept_ra=0, addrgenmode none; asked for only in the daemon's own namespace */

	struct prog prog;
	struct tree tx; /* on the VNIC */

	enum flows flows;
	const struct flow_set *flow_set; /* what is wanted, also of what is seen; not the node's */

	enum iso iso;          /* of a key: is there to be anything to look at? */
	struct arp arp;        /* of a link that is not there: what it will have */
	struct arp parent_arp; /* both seen with iso only */

	bool ifb;
	struct port ifb_port;
	bool ifb_marked;
	bool ifb_doomed;
	bool ifb_quiet;
	bool ifb_up;
	struct tree rx; /* on the ifb */
	bool steer;     /* the parent's hook sends this MAC's unicast frames to the ifb */
};

/* The name of node n's ifb, and of the link of a CLASS_FOREIGN node. */
void node_ifb_name(uint32_t n, char name[IFNAMSIZ]);
void node_out_name(uint32_t n, char name[IFNAMSIZ]);
/* Its link's name until it has its own, where the kernel cannot make it under that; none that a user may
 * give. */
void node_interim_name(uint32_t n, char name[IFNAMSIZ]);

/*
 * The kernel delivers group frames to all VNICs of a parent from one queue, as long as the longest that any
 * of them asked for. When a parent comes back each VNIC sends some of these at once. 0: the kernel's 1000
 * will do.
 */
uint32_t bc_queue_for(unsigned vnics);
/* The one place where a rate becomes HTB and leaf parameters (DESIGN 6). mtu: of the link, in bytes. */
struct shape shape_for(uint64_t rate, uint32_t mtu);
/* How long a flow's frames may wait in a leaf before CoDel drops. */
struct codel {
	uint32_t target_us, interval_us;
};
struct codel codel_for(const struct shape *s, uint32_t mtu);
bool shape_equal(const struct shape *a, const struct shape *b);
bool tree_equal(const struct tree *a, const struct tree *b);
bool prog_equal(const struct prog *a, const struct prog *b);
/* True when every wanted thing is as seen; ifindexes are not compared. */
bool node_equal(const struct node *a, const struct node *b);
/* What the first difference is about ("mtu", "tx tree", ...), for messages; "nothing" when they are equal. */
const char *node_differs(const struct node *a, const struct node *b);
