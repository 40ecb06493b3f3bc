/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What keeps the traffic of a VNIC's addresses on the VNIC, in its parent's own namespace: which rules and
 * routes its addresses need, and which ARP settings. Pure: reading and writing them is lib/kern's.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Ours among rules and routes: by this protocol number, in a table of the VNIC's own. The manual page has the
 * ranges.
 */
#define ISOLATE_PROTOCOL   118u
#define ISOLATE_TABLE      0x76000000u /* + the VNIC's number */
#define ISOLATE_NUMBERS    0x01000000u
#define ISOLATE_PRIORITY   20000u /* + the number modulo ISOLATE_PRIORITIES */
#define ISOLATE_PRIORITIES 10000u

uint32_t isolate_table(uint32_t n);
uint32_t isolate_priority(uint32_t n);
/* The number of the VNIC that has this table; 0: it is nobody's. */
uint32_t isolate_number(uint32_t table);

/* How a link answers and asks by ARP (sysctl arp_ignore, arp_announce). */
struct arp {
	uint32_t ignore, announce;
};
bool arp_equal(struct arp a, struct arp b);
/* The least change of a that makes the link answer for its own addresses only, and ask with them only. */
struct arp arp_strict(struct arp a);

struct iso_addr {
	int family;
	unsigned plen;
	uint8_t local[16];
	uint8_t subnet[16]; /* the subnet's, or the peer's, address */
};

enum iso_kind { ISO_LINK, ISO_GATEWAY, ISO_UNREACHABLE };
struct iso_route {
	enum iso_kind kind;
	int family;
	unsigned plen;
	uint32_t metric;
	uint8_t dst[16], gateway[16];
};

#define ISO_MAX 64 /* addresses of one VNIC, and routes of its table */
struct iso_set {
	struct iso_addr from[ISO_MAX]; /* a rule for each */
	struct iso_route routes[ISO_MAX];
	size_t from_count, route_count;
};

/* gates: the main table's routes by a gateway over the VNIC or its parent. up: routes over the VNIC can be
 * there. */
void isolate_set(const struct iso_addr *addrs, size_t addr_count, const struct iso_route *gates,
		 size_t gate_count, bool up, struct iso_set *ret);
bool iso_addr_equal(const struct iso_addr *a, const struct iso_addr *b);
bool iso_route_equal(const struct iso_route *a, const struct iso_route *b);
bool iso_has_from(const struct iso_set *set, const struct iso_addr *a);
bool iso_has_route(const struct iso_set *set, const struct iso_route *r);
/* The same rules and routes, in whatever order. */
bool iso_set_equal(const struct iso_set *a, const struct iso_set *b);
