/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Nodes and shapes as values: comparing them, and the figures a rate is turned into. Never allocates or does
 * I/O. */
#include "lib/model/node.h"

#include <stdio.h>
#include <string.h>

#define ETH_HEADER    14u
#define SEGMENT_UP_TO UINT64_C(200000000)
#define BURST_US      4000u
#define QUANTUM_MAX   60000u
#define USUAL_FRAME   1514u
#define LIMIT_FRAMES  10u

#define CODEL_TARGET_US   5000u
#define CODEL_INTERVAL_US 100000u

static const char *const class_names[] = {
	[CLASS_VNIC] = "vnic", [CLASS_ETHERSTUB] = "etherstub",
	[CLASS_VLAN] = "vlan", [CLASS_FOREIGN] = "phys",
	[CLASS_IFB] = "ifb",   [CLASS_OTHER] = "phys",
};

const char *link_class_str(enum link_class class)
{
	return class_names[class];
}

void node_ifb_name(uint32_t n, char name[IFNAMSIZ])
{
	snprintf(name, IFNAMSIZ, "vi%u", n);
}

void node_out_name(uint32_t n, char name[IFNAMSIZ])
{
	snprintf(name, IFNAMSIZ, "vo%u", n);
}

void node_interim_name(uint32_t n, char name[IFNAMSIZ])
{
	snprintf(name, IFNAMSIZ, "vi+%u", n);
}

/* How long a full queue may take to drain, by rate: what a ping under load waits. Linear between the points.
 */
static const struct {
	uint64_t rate;
	uint32_t us;
} queue_time[] = {
	{UINT64_C(10000000), 50000},  {UINT64_C(20000000), 33000},    {UINT64_C(50000000), 18000},
	{UINT64_C(100000000), 12000}, {UINT64_C(200000000), 8600},    {UINT64_C(500000000), 5600},
	{UINT64_C(1000000000), 3000}, {UINT64_C(400000000000), 3000},
};

static uint32_t queue_us(uint64_t rate)
{
	if (rate <= queue_time[0].rate)
		return queue_time[0].us;
	for (size_t i = 1; i < sizeof(queue_time) / sizeof(*queue_time); i++) {
		uint64_t r0 = queue_time[i - 1].rate, r1 = queue_time[i].rate;
		uint32_t t0 = queue_time[i - 1].us, t1 = queue_time[i].us;

		if (rate <= r1)
			return t0 - (uint32_t)((t0 - t1) * (double)(rate - r0) / (double)(r1 - r0));
	}
	return queue_time[sizeof(queue_time) / sizeof(*queue_time) - 1].us;
}

static uint64_t max64(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

/* Enough frames for TCP to make something of a small cap; of jumbo frames fewer, or a ping waits for all of
 * them. */
static uint64_t least_queue(uint64_t frame)
{
	return max64(LIMIT_FRAMES * (frame < USUAL_FRAME ? frame : USUAL_FRAME), LIMIT_FRAMES / 2 * frame);
}

struct shape shape_for(uint64_t rate, uint32_t mtu)
{
	uint64_t bytes = rate / 8, frame = mtu + ETH_HEADER;
	uint64_t quantum = max64(bytes / 1000, frame);

	return (struct shape){
		.rate = bytes * 8, /* the kernel counts bytes a second */
		.burst = (uint32_t)max64(bytes * BURST_US / 1000000, 2 * frame),
		.quantum = (uint32_t)(quantum > QUANTUM_MAX ? max64(QUANTUM_MAX, frame) : quantum),
		.limit = (uint32_t)max64(bytes * queue_us(rate) / 1000000, least_queue(frame)),
		.segment = rate <= SEGMENT_UP_TO,
		.seg_burst = rate <= SEGMENT_UP_TO ? (uint32_t)(2 * frame) : 0,
	};
}

/*
 * Two frames' time at least. Where the least queue holds less than its usual time, that of the smallest cap,
 * since the leaf is not told of each change of a cap.
 */
struct codel codel_for(const struct shape *s, uint32_t mtu)
{
	bool least = s->limit == shape_for(BW_MIN, mtu).limit;
	uint64_t us = 2 * 8000000 * (uint64_t)(mtu + ETH_HEADER) / (least ? BW_MIN : s->rate);
	uint32_t target = us > CODEL_TARGET_US ? (uint32_t)us : CODEL_TARGET_US;

	return (struct codel){.target_us = target,
			      .interval_us = 2 * target > CODEL_INTERVAL_US ? 2 * target : CODEL_INTERVAL_US};
}

bool shape_equal(const struct shape *a, const struct shape *b)
{
	return a->rate == b->rate && a->burst == b->burst && a->quantum == b->quantum &&
	       a->limit == b->limit && a->segment == b->segment && a->seg_burst == b->seg_burst;
}

bool tree_equal(const struct tree *a, const struct tree *b)
{
	return a->root == b->root && a->cap == b->cap && a->leaf == b->leaf && a->bands == b->bands &&
	       (!a->cap || shape_equal(&a->shape, &b->shape));
}

bool prog_equal(const struct prog *a, const struct prog *b)
{
	return a->present == b->present &&
	       (!a->present || (a->rx == b->rx && a->tx == b->tx && a->group_rate == b->group_rate &&
				a->theirs == b->theirs && a->all == b->all && a->out == b->out &&
				mac_equal(a->own, b->own)));
}

static const char *link_differs(const struct node *a, const struct node *b)
{
	if (a->link != b->link)
		return "the link";
	if (!a->link)
		return NULL;
	return strcmp(a->port.zone, b->port.zone) != 0                ? "zone"
	       : strcmp(a->port.name, b->port.name) != 0              ? "name"
	       : a->class == CLASS_VNIC && !mac_equal(a->mac, b->mac) ? "MAC address"
	       : a->mtu != b->mtu                                     ? "mtu"
	       : a->up != b->up                                       ? "up"
	       : a->marked != b->marked                               ? "alias"
	       : a->quiet != b->quiet                                 ? "address generation"
								      : NULL;
}

static bool ifb_equal(const struct node *a, const struct node *b)
{
	if (a->ifb != b->ifb)
		return false;
	return !a->ifb || (a->ifb_marked == b->ifb_marked && a->ifb_quiet == b->ifb_quiet &&
			   a->ifb_up == b->ifb_up && tree_equal(&a->rx, &b->rx));
}

/* ARP settings are of interest while they have to be strict; afterwards others' wishes are theirs. */
static bool iso_equal(const struct node *a, const struct node *b)
{
	return a->iso == b->iso &&
	       (a->iso == ISO_OFF || (arp_equal(a->arp, b->arp) && arp_equal(a->parent_arp, b->parent_arp)));
}

const char *node_differs(const struct node *a, const struct node *b)
{
	const char *link = link_differs(a, b);

	return a->n != b->n                      ? "number"
	       : link                            ? link
	       : !prog_equal(&a->prog, &b->prog) ? "hooks"
	       : !tree_equal(&a->tx, &b->tx)     ? "tx tree"
	       : !ifb_equal(a, b)                ? "rx tree"
	       : a->steer != b->steer            ? "steering"
	       : a->flows != b->flows            ? "flows"
	       : !iso_equal(a, b)                ? "isolation"
						 : "nothing";
}

bool node_equal(const struct node *a, const struct node *b)
{
	return !strcmp(node_differs(a, b), "nothing");
}

#define BC_QUEUE_KERNEL 1000u  /* what the kernel takes unasked */
#define BC_QUEUE_EACH   8u     /* ARP, duplicate address detection and MLD of a VNIC that comes up */
#define BC_QUEUE_MAX    32768u /* frames: about 25 MB of small ones */

uint32_t bc_queue_for(unsigned vnics)
{
	if (vnics <= BC_QUEUE_KERNEL / BC_QUEUE_EACH)
		return 0;
	return vnics < BC_QUEUE_MAX / BC_QUEUE_EACH ? vnics * BC_QUEUE_EACH : BC_QUEUE_MAX;
}
