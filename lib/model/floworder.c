/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Which of two flows a packet belongs to that matches both; never whether one does.
 *
 * A flow with a rank comes before one without, the lower rank first. Of the same rank, or both without, the
 * more specific one comes first. The first of these on which two flows differ decides:
 *
 *   1. remote_ip: the longer prefix; any before none
 *   2. local_ip: likewise
 *   3. remote_port: the fewer ports; any before none
 *   4. local_port: likewise
 *   5. transport: given before not given
 *   6. dsfield: the more bits in its mask
 *   7. vid, then ethertype: given before not given
 *   8. direction: one before both
 *
 * When nothing differs the older flow comes first. So, but for ranks, a flow that lies within another comes
 * before it. Prefixes of IPv4 and IPv6 are never really compared: no packet matches both. Ranges of 1024
 * ports and more count as equal when they differ by less than 1/512.
 *
 * All but the age is packed into the 64 bits of hi, each as what it lacks: the most specific is 0.
 */
#include "lib/model/flow.h"

#define RANK_NONE   UINT64_C(0xffff)
#define PREFIX_MOST 128u
#define DS_BITS     8u

/* A number of ports, 1 to 65535, in 12 bits: exact below 1024, then 512 steps until it has doubled. */
#define WIDTH_EXACT 9u
#define WIDTH_NONE  0xfffu

static unsigned width_code(const struct flow_ports *p)
{
	uint32_t width = (uint32_t)p->last - p->first + 1, shift = 0;

	if (!p->first)
		return WIDTH_NONE;
	while (width >> shift >= 2u << WIDTH_EXACT)
		shift++;
	return (shift << WIDTH_EXACT) + (width >> shift) - 1;
}

struct part {
	unsigned value, bits;
};

struct flow_order flow_order(const struct flow_match *m, uint16_t rank, uint32_t age)
{
	const struct part parts[] = {
		{PREFIX_MOST - m->remote.len, 8},
		{PREFIX_MOST - m->local.len, 8},
		{width_code(&m->remote_port), 12},
		{width_code(&m->local_port), 12},
		{!m->has_proto, 1},
		{DS_BITS - (unsigned)__builtin_popcount(m->dsmask), 4},
		{!m->has_vid, 1},
		{!m->ethertype, 1},
		{m->dir[FLOW_IN] && m->dir[FLOW_OUT], 1},
	};
	struct flow_order order = {.hi = rank ? rank - 1u : RANK_NONE, .lo = age};

	for (size_t i = 0; i < sizeof(parts) / sizeof(*parts); i++)
		order.hi = order.hi << parts[i].bits | parts[i].value;
	return order;
}

int flow_order_cmp(const struct flow_order *a, const struct flow_order *b)
{
	if (a->hi != b->hi)
		return a->hi < b->hi ? -1 : 1;
	return (a->lo > b->lo) - (a->lo < b->lo);
}
