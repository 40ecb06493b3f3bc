/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* From addresses to rules and routes, as values. Never allocates or does I/O. */
#include "lib/model/isolate.h"

#include <netinet/in.h>
#include <string.h>

#define METRIC_LAST 0x7fffffffu /* behind whatever else is in the table */
#define METRIC_IP6  256u        /* the kernel's own for a subnet; of 0 it makes another */

uint32_t isolate_table(uint32_t n)
{
	return ISOLATE_TABLE + n;
}

uint32_t isolate_priority(uint32_t n)
{
	return ISOLATE_PRIORITY + n % ISOLATE_PRIORITIES;
}

uint32_t isolate_number(uint32_t table)
{
	return table - ISOLATE_TABLE < ISOLATE_NUMBERS ? table - ISOLATE_TABLE : 0;
}

bool arp_equal(struct arp a, struct arp b)
{
	return a.ignore == b.ignore && a.announce == b.announce;
}

struct arp arp_strict(struct arp a)
{
	bool enough = a.ignore == 1 || a.ignore == 2 || a.ignore == 8;

	return (struct arp){.ignore = enough ? a.ignore : 1, .announce = a.announce > 2 ? a.announce : 2};
}

static size_t bytes_of(int family)
{
	return family == AF_INET ? 4 : 16;
}

bool iso_addr_equal(const struct iso_addr *a, const struct iso_addr *b)
{
	return a->family == b->family && !memcmp(a->local, b->local, bytes_of(a->family));
}

bool iso_route_equal(const struct iso_route *a, const struct iso_route *b)
{
	size_t bytes = bytes_of(a->family);

	return a->kind == b->kind && a->family == b->family && a->plen == b->plen && a->metric == b->metric &&
	       !memcmp(a->dst, b->dst, bytes) &&
	       (a->kind != ISO_GATEWAY || !memcmp(a->gateway, b->gateway, bytes));
}

bool iso_has_from(const struct iso_set *set, const struct iso_addr *a)
{
	for (size_t i = 0; i < set->from_count; i++)
		if (iso_addr_equal(&set->from[i], a))
			return true;
	return false;
}

bool iso_has_route(const struct iso_set *set, const struct iso_route *r)
{
	for (size_t i = 0; i < set->route_count; i++)
		if (iso_route_equal(&set->routes[i], r))
			return true;
	return false;
}

bool iso_set_equal(const struct iso_set *a, const struct iso_set *b)
{
	if (a->from_count != b->from_count || a->route_count != b->route_count)
		return false;
	for (size_t i = 0; i < a->from_count; i++)
		if (!iso_has_from(b, &a->from[i]))
			return false;
	for (size_t i = 0; i < a->route_count; i++)
		if (!iso_has_route(b, &a->routes[i]))
			return false;
	return true;
}

/* Two routes to the same place of the same metric cannot be: the first one stays. */
static void add_route(struct iso_set *set, const struct iso_route *r)
{
	if (set->route_count == ISO_MAX)
		return;
	for (size_t i = 0; i < set->route_count; i++) {
		const struct iso_route *o = &set->routes[i];

		if (o->family == r->family && o->plen == r->plen && o->metric == r->metric &&
		    !memcmp(o->dst, r->dst, bytes_of(r->family)))
			return;
	}
	set->routes[set->route_count++] = *r;
}

static void mask(uint8_t *addr, unsigned plen, size_t bytes)
{
	for (size_t i = 0; i < bytes; i++) {
		unsigned bits = plen > 8 * i ? plen - 8 * (unsigned)i : 0;

		if (bits < 8)
			addr[i] &= (uint8_t)(0xff00u >> bits);
	}
}

static bool inside(const uint8_t *addr, const struct iso_addr *net)
{
	uint8_t a[16] = {0}, b[16] = {0};
	size_t bytes = bytes_of(net->family);

	memcpy(a, addr, bytes);
	memcpy(b, net->subnet, bytes);
	mask(a, net->plen, bytes);
	mask(b, net->plen, bytes);
	return !memcmp(a, b, bytes);
}

static void add_subnet(struct iso_set *set, const struct iso_addr *a)
{
	size_t bytes = bytes_of(a->family);
	struct iso_route r = {.kind = ISO_LINK,
			      .family = a->family,
			      .plen = a->plen,
			      .metric = a->family == AF_INET ? 0 : METRIC_IP6};

	/* An address without a subnet. */
	if (a->plen == 8 * bytes && !memcmp(a->local, a->subnet, bytes))
		return;
	memcpy(r.dst, a->subnet, bytes);
	mask(r.dst, a->plen, bytes);
	add_route(set, &r);
}

static bool is_link_local(int family, const uint8_t *addr)
{
	return family == AF_INET6 && addr[0] == 0xfe && (addr[1] & 0xc0) == 0x80;
}

/* A router's link-local address is on any link there. */
static bool reachable(const struct iso_addr *addrs, size_t count, const struct iso_route *gate)
{
	for (size_t i = 0; i < count; i++)
		if (addrs[i].family == gate->family &&
		    (is_link_local(gate->family, gate->gateway) || inside(gate->gateway, &addrs[i])))
			return true;
	return false;
}

/* Where no route leads nothing goes, rather than around the VNIC. */
static void add_last(struct iso_set *set, int family)
{
	struct iso_route r = {.kind = ISO_UNREACHABLE, .family = family, .metric = METRIC_LAST};

	add_route(set, &r);
}

void isolate_set(const struct iso_addr *addrs, size_t addr_count, const struct iso_route *gates,
		 size_t gate_count, bool up, struct iso_set *ret)
{
	*ret = (struct iso_set){0};
	add_last(ret, AF_INET);
	add_last(ret, AF_INET6);
	for (size_t i = 0; i < addr_count; i++)
		if (ret->from_count < ISO_MAX && !iso_has_from(ret, &addrs[i]))
			ret->from[ret->from_count++] = addrs[i];
	for (size_t i = 0; i < addr_count && up; i++)
		add_subnet(ret, &addrs[i]);
	for (size_t i = 0; i < gate_count && up; i++)
		if (reachable(addrs, addr_count, &gates[i]))
			add_route(ret, &gates[i]);
}
