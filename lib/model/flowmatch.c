/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What a match as a whole says: contradictions in it, and how two of them lie to each other; never which
 * wins. */
#include "lib/model/flowattr.h"
#include "lib/model/flowword.h"

#include <errno.h>
#include <string.h>

/* What packets there are, of which each match takes some. */
enum kind { KIND_IP4 = 1, KIND_IP6 = 2, KIND_OTHER = 4, KIND_ALL = 7 };

static unsigned kinds_of_family(uint8_t family)
{
	return family == 4 ? KIND_IP4 : family == 6 ? KIND_IP6 : KIND_ALL;
}

static unsigned kinds_of_ethertype(uint16_t ethertype)
{
	return ethertype == ETHERTYPE_IP4   ? KIND_IP4
	       : ethertype == ETHERTYPE_IP6 ? KIND_IP6
	       : ethertype                  ? KIND_OTHER
					    : KIND_ALL;
}

static bool asks_ip(const struct flow_match *m)
{
	return m->has_proto || m->dsmask;
}

static unsigned kinds_of(const struct flow_match *m)
{
	return kinds_of_family(m->local.family) & kinds_of_family(m->remote.family) &
	       kinds_of_ethertype(m->ethertype) & (asks_ip(m) ? KIND_IP4 | KIND_IP6 : KIND_ALL);
}

static bool has_ports(const struct flow_match *m)
{
	return m->has_proto && transport_has_ports(m->proto);
}

static bool portless_local(const struct flow_match *m)
{
	return m->local_port.first && !has_ports(m);
}

static bool portless_remote(const struct flow_match *m)
{
	return m->remote_port.first && !has_ports(m);
}

static bool two_families(const struct flow_match *m)
{
	return m->local.family && m->remote.family && m->local.family != m->remote.family;
}

static bool foreign_address(const struct flow_match *m)
{
	unsigned kinds = kinds_of_family(m->local.family) & kinds_of_family(m->remote.family);

	return !(kinds & kinds_of_ethertype(m->ethertype));
}

static bool foreign_transport(const struct flow_match *m)
{
	return m->has_proto && kinds_of_ethertype(m->ethertype) == KIND_OTHER;
}

static bool foreign_dsfield(const struct flow_match *m)
{
	return m->dsmask && kinds_of_ethertype(m->ethertype) == KIND_OTHER;
}

static bool is_proto(const struct flow_match *m, const char *name)
{
	return m->has_proto && m->proto == word_named(&words_transport, name)->number;
}

static bool icmpv6_over_ipv4(const struct flow_match *m)
{
	return is_proto(m, "icmpv6") && kinds_of(m) == KIND_IP4;
}

static bool icmp_over_ipv6(const struct flow_match *m)
{
	return is_proto(m, "icmp") && kinds_of(m) == KIND_IP6;
}

/* Hop-by-hop options, routing, fragment, destination options: none of them is ever the transport. */
static bool extension_header(const struct flow_match *m)
{
	static const uint8_t headers[] = {0, 43, 44, 60};

	return m->has_proto && kinds_of(m) == KIND_IP6 && memchr(headers, m->proto, sizeof(headers));
}

static bool given(const struct flow_match *m)
{
	char text[FLOW_FIELD_TEXT_MAX];

	for (enum flow_field f = 0; f < FIELD_DIRECTION; f++)
		if (*flow_field_str(m, f, text))
			return true;
	return false;
}

static bool says_nothing(const struct flow_match *m)
{
	return !given(m) && !m->dir[FLOW_IN] && !m->dir[FLOW_OUT];
}

static bool says_direction(const struct flow_match *m)
{
	return !given(m);
}

#define PORT_TEXT "a port needs transport=tcp, udp or sctp"

static const struct contradiction {
	bool (*is)(const struct flow_match *m);
	const char *object, *text;
} contradictions[] = {
	{says_nothing, "", "a flow needs attributes: say for example transport=tcp,local_port=443"},
	{says_direction, "direction",
	 "a direction alone is no flow: add an attribute, such as ethertype=ip for all of IPv4"},
	{two_families, "remote_ip", "the address is not of local_ip's family: both are IPv4, or both IPv6"},
	{foreign_address, "ethertype", "it contradicts the address, which is enough: leave ethertype out"},
	{foreign_transport, "ethertype", "only IP has a transport: say ip or ip6, or leave one of them out"},
	{foreign_dsfield, "ethertype", "only IP has a DS field: say ip or ip6, or leave one of them out"},
	{portless_local, "local_port", PORT_TEXT},
	{portless_remote, "remote_port", PORT_TEXT},
	{icmpv6_over_ipv4, "transport", "icmpv6 is not sent over IPv4: say icmp"},
	{icmp_over_ipv6, "transport", "icmp is not sent over IPv6: say icmpv6"},
	{extension_header, "transport",
	 "an extension header of IPv6, the transport is what follows it: say that or leave it out"},
};

int flow_match_check(struct flow_match *m, struct err *e)
{
	for (size_t i = 0; i < sizeof(contradictions) / sizeof(*contradictions); i++)
		if (contradictions[i].is(m))
			return err_user(e, -EINVAL, contradictions[i].object, "%s", contradictions[i].text);
	if (!m->dir[FLOW_IN] && !m->dir[FLOW_OUT])
		m->dir[FLOW_IN] = m->dir[FLOW_OUT] = true;
	/* An address says as much: one spelling for each match. */
	if (m->local.family || m->remote.family)
		m->ethertype = 0;
	return 0;
}

static bool bits_equal(const uint8_t *a, const uint8_t *b, unsigned bits)
{
	if (memcmp(a, b, bits / 8) != 0)
		return false;
	return bits % 8 == 0 || !((a[bits / 8] ^ b[bits / 8]) & (0xff00 >> bits % 8) & 0xff);
}

/* Families are compared as kinds. */
static bool addr_overlaps(const struct flow_addr *a, const struct flow_addr *b)
{
	if (!a->family || !b->family)
		return true;
	return bits_equal(a->bytes, b->bytes, a->len < b->len ? a->len : b->len);
}

static bool addr_covers(const struct flow_addr *a, const struct flow_addr *b)
{
	return !a->family || (b->family && a->len <= b->len && bits_equal(a->bytes, b->bytes, a->len));
}

static bool ports_overlap(const struct flow_ports *a, const struct flow_ports *b)
{
	return !a->first || !b->first || (a->first <= b->last && b->first <= a->last);
}

static bool ports_cover(const struct flow_ports *a, const struct flow_ports *b)
{
	return !a->first || (b->first && a->first <= b->first && b->last <= a->last);
}

static bool kinds_overlap(const struct flow_match *a, const struct flow_match *b)
{
	unsigned common = kinds_of(a) & kinds_of(b);

	if (common & (KIND_IP4 | KIND_IP6))
		return true;
	return common && (!a->ethertype || !b->ethertype || a->ethertype == b->ethertype);
}

static bool kinds_cover(const struct flow_match *a, const struct flow_match *b)
{
	unsigned of_a = kinds_of(a), of_b = kinds_of(b);

	return !(of_b & ~of_a) && (of_a != KIND_OTHER || a->ethertype == b->ethertype);
}

bool flow_overlaps(const struct flow_match *a, const struct flow_match *b)
{
	return ((a->dir[FLOW_IN] && b->dir[FLOW_IN]) || (a->dir[FLOW_OUT] && b->dir[FLOW_OUT])) &&
	       kinds_overlap(a, b) && addr_overlaps(&a->local, &b->local) &&
	       addr_overlaps(&a->remote, &b->remote) &&
	       (!a->has_proto || !b->has_proto || a->proto == b->proto) &&
	       ports_overlap(&a->local_port, &b->local_port) &&
	       ports_overlap(&a->remote_port, &b->remote_port) &&
	       !((a->dsfield ^ b->dsfield) & a->dsmask & b->dsmask) &&
	       (!a->has_vid || !b->has_vid || a->vid == b->vid);
}

bool flow_covers(const struct flow_match *a, const struct flow_match *b)
{
	return a->dir[FLOW_IN] >= b->dir[FLOW_IN] && a->dir[FLOW_OUT] >= b->dir[FLOW_OUT] &&
	       kinds_cover(a, b) && addr_covers(&a->local, &b->local) &&
	       addr_covers(&a->remote, &b->remote) &&
	       (!a->has_proto || (b->has_proto && a->proto == b->proto)) &&
	       ports_cover(&a->local_port, &b->local_port) && ports_cover(&a->remote_port, &b->remote_port) &&
	       !(a->dsmask & ~b->dsmask) && !((a->dsfield ^ b->dsfield) & a->dsmask) &&
	       (!a->has_vid || (b->has_vid && a->vid == b->vid));
}
