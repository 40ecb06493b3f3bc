/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Attributes of flows as text: every spelling, every refusal, and back again. */
#include "lib/model/flow.h"
#include "seed.h"

#include <check.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define ROUNDS 20000

static bool same_addr(const struct flow_addr *a, const struct flow_addr *b)
{
	return a->family == b->family && a->len == b->len && !memcmp(a->bytes, b->bytes, sizeof(a->bytes));
}

static bool same_ports(const struct flow_ports *a, const struct flow_ports *b)
{
	return a->first == b->first && a->last == b->last;
}

static bool same(const struct flow_match *a, const struct flow_match *b)
{
	return same_addr(&a->local, &b->local) && same_addr(&a->remote, &b->remote) &&
	       a->has_proto == b->has_proto && a->has_vid == b->has_vid && a->proto == b->proto &&
	       same_ports(&a->local_port, &b->local_port) && same_ports(&a->remote_port, &b->remote_port) &&
	       a->dsfield == b->dsfield && a->dsmask == b->dsmask && a->vid == b->vid &&
	       a->ethertype == b->ethertype && a->dir[FLOW_IN] == b->dir[FLOW_IN] &&
	       a->dir[FLOW_OUT] == b->dir[FLOW_OUT];
}

static const struct {
	const char *name, *value, *canonical;
} good[] = {
	{"local_ip", "10.0.0.1", "local_ip=10.0.0.1"},
	{"local_ip", "10.0.0.1/32", "local_ip=10.0.0.1"},
	{"local_ip", "0.0.0.0", "local_ip=0.0.0.0"},
	{"local_ip", "10.0.0.0/8", "local_ip=10.0.0.0/8"},
	{"remote_ip", "10.1.2.4/30", "remote_ip=10.1.2.4/30"},
	{"remote_ip", "128.0.0.0/1", "remote_ip=128.0.0.0/1"},
	{"remote_ip", "2001:DB8:0:0::1", "remote_ip=2001:db8::1"},
	{"remote_ip", "2001:db8::/32", "remote_ip=2001:db8::/32"},
	{"remote_ip", "2001:db8::/128", "remote_ip=2001:db8::"},
	{"remote_ip", "fe80::/10", "remote_ip=fe80::/10"},
	{"transport", "tcp", "transport=tcp"},
	{"transport", "UDP", "transport=udp"},
	{"protocol", "sctp", "transport=sctp"},
	{"transport", "icmp", "transport=icmp"},
	{"transport", "icmpv6", "transport=icmpv6"},
	{"transport", "icmp6", "transport=icmpv6"},
	{"transport", "dccp", "transport=dccp"},
	{"transport", "udplite", "transport=udplite"},
	{"transport", "6", "transport=tcp"},
	{"protocol", "0x11", "transport=udp"},
	{"transport", "47", "transport=47"},
	{"transport", "0", "transport=0"},
	{"transport", "255", "transport=255"},
	{"dsfield", "0xb8", "dscp=ef"},
	{"dsfield", "184", "dscp=ef"},
	{"dsfield", "0xb8:0xfc", "dscp=ef"},
	{"dsfield", "0xb8:252", "dscp=ef"},
	{"dsfield", "0xb8:0xff", "dsfield=0xb8:0xff"},
	{"dsfield", "0:0xfc", "dscp=cs0"},
	{"dsfield", "3:3", "dsfield=0x03:0x03"},
	{"dsfield", "0x04", "dscp=le"},
	{"dscp", "EF", "dscp=ef"},
	{"dscp", "46", "dscp=ef"},
	{"dscp", "af11", "dscp=af11"},
	{"dscp", "10", "dscp=af11"},
	{"dscp", "af43", "dscp=af43"},
	{"dscp", "38", "dscp=af43"},
	{"dscp", "va", "dscp=va"},
	{"dscp", "44", "dscp=va"},
	{"dscp", "cs7", "dscp=cs7"},
	{"dscp", "0", "dscp=cs0"},
	{"dscp", "63", "dscp=63"},
	{"vid", "0", "vid=0"},
	{"vid", "4094", "vid=4094"},
	{"ethertype", "ip", "ethertype=ip"},
	{"ethertype", "ipv6", "ethertype=ip6"},
	{"ethertype", "0x0800", "ethertype=ip"},
	{"ethertype", "0x806", "ethertype=arp"},
	{"ethertype", "ARP", "ethertype=arp"},
	{"ethertype", "0x88B5", "ethertype=0x88b5"},
	{"ethertype", "0x0600", "ethertype=0x0600"},
};

START_TEST(values_have_one_spelling)
{
	char text[FLOW_TEXT_MAX];
	struct flow_match m = {0}, again;
	struct err e = {0};

	ck_assert_msg(flow_attr_set(&m, good[_i].name, good[_i].value, &e) == 0, "%s=%s: %s", good[_i].name,
		      good[_i].value, e.text);
	ck_assert_int_eq(flow_match_check(&m, &e), 0);
	ck_assert_str_eq(flow_match_str(&m, text), good[_i].canonical);
	ck_assert_int_eq(flow_match_parse(text, &again, &e), 0);
	ck_assert(same(&m, &again));
}
END_TEST

START_TEST(code_points_are_what_the_rfcs_say)
{
	static const struct {
		const char *name;
		uint8_t octet;
	} rows[] = {
		{"cs0", 0x00},  {"le", 0x04},   {"cs1", 0x20},  {"af11", 0x28}, {"af12", 0x30},
		{"af13", 0x38}, {"cs2", 0x40},  {"af21", 0x48}, {"af22", 0x50}, {"af23", 0x58},
		{"cs3", 0x60},  {"af31", 0x68}, {"af32", 0x70}, {"af33", 0x78}, {"cs4", 0x80},
		{"af41", 0x88}, {"af42", 0x90}, {"af43", 0x98}, {"cs5", 0xa0},  {"va", 0xb0},
		{"ef", 0xb8},   {"cs6", 0xc0},  {"cs7", 0xe0},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct flow_match m = {0};

		ck_assert_int_eq(flow_attr_set(&m, "dscp", rows[i].name, NULL), 0);
		ck_assert_uint_eq(m.dsfield, rows[i].octet);
		ck_assert_uint_eq(m.dsmask, 0xfc);
	}
}
END_TEST

#define NO_ADDR  "is not an address: say one like 10.0.0.1 or 2001:db8::1, or a prefix like 10.0.0.0/24"
#define NO_PORT  "is not a port: say 1 to 65535, or a range like 8000-8080"
#define NO_PROTO "is not a transport: say tcp, udp, sctp, icmp, icmpv6, dccp, udplite, or a number 0 to 255"
#define NO_DS    "is not a DS field: say VALUE:MASK like 0xb8:0xfc, each 0 to 0xff, or dscp=ef"
#define NO_TYPE                                                                                             \
	"is not an ethertype: say ip, ip6, arp, rarp, mpls, pppoe, eapol, lldp, macsec, ptp, or 0x0600 to " \
	"0xffff"
#define NO_POINT "is not a code point: say ef, va, le, cs0 to cs7, af11 to af43, or 0 to 63"

static const struct {
	const char *name, *value, *text;
} bad[] = {
	{"local_ip", "", "nothing " NO_ADDR},
	{"local_ip", "10.0.0", "10.0.0 " NO_ADDR},
	{"local_ip", "10.0.0.256", "10.0.0.256 " NO_ADDR},
	{"local_ip", "web.example.org", "web.example.org " NO_ADDR},
	{"local_ip", "fe80::1%eth0", "fe80::1%eth0 " NO_ADDR},
	{"local_ip", "/24", "/24 " NO_ADDR},
	{"local_ip", " 10.0.0.1", " 10.0.0.1 " NO_ADDR},
	{"local_ip", "10.0.0.0/", "10.0.0.0/: a prefix of IPv4 has 1 to 32 bits"},
	{"local_ip", "10.0.0.0/33", "10.0.0.0/33: a prefix of IPv4 has 1 to 32 bits"},
	{"local_ip", "10.0.0.0/-1", "10.0.0.0/-1: a prefix of IPv4 has 1 to 32 bits"},
	{"local_ip", "10.0.0.0/8/8", "10.0.0.0/8/8: a prefix of IPv4 has 1 to 32 bits"},
	{"local_ip", "10.0.0.0/255.0.0.0", "10.0.0.0/255.0.0.0: a prefix of IPv4 has 1 to 32 bits"},
	{"local_ip", "2001:db8::/129", "2001:db8::/129: a prefix of IPv6 has 1 to 128 bits"},
	{"local_ip", "10.0.0.5/24",
	 "10.0.0.5/24 has bits beyond its prefix: say 10.0.0.0/24, or 10.0.0.5 for that address alone"},
	{"remote_ip", "10.0.0.5/31",
	 "10.0.0.5/31 has bits beyond its prefix: say 10.0.0.4/31, or 10.0.0.5 for that address alone"},
	{"remote_ip", "2001:db8::1/33",
	 "2001:db8::1/33 has bits beyond its prefix: say 2001:db8::/33, or 2001:db8::1 for that address "
	 "alone"},
	{"local_ip", "0.0.0.0/0",
	 "0.0.0.0/0 is every address: leave it out, or say ethertype=ip for all of IPv4"},
	{"local_ip", "::/0", "::/0 is every address: leave it out, or say ethertype=ip6 for all of IPv6"},
	{"local_ip", "::ffff:10.0.0.1",
	 "::ffff:10.0.0.1 is IPv4 written as IPv6, no packet has it: say 10.0.0.1"},
	{"local_ip", "::ffff:10.0.0.0/104",
	 "::ffff:10.0.0.0/104 is IPv4 written as IPv6, no packet has it: say 10.0.0.0/8"},
	{"local_ip", "::ffff:10.0.0.5/104",
	 "::ffff:10.0.0.5/104 is IPv4 written as IPv6, no packet has it: say 10.0.0.0/8"},
	{"local_ip", "::ffff:0:0/96",
	 "::ffff:0:0/96 is IPv4 written as IPv6, no packet has it: say ethertype=ip"},
	{"transport", "", "nothing " NO_PROTO},
	{"transport", "tcpx", "tcpx is not a transport: did you mean tcp?"},
	{"protocol", "icmp66", "icmp66 is not a transport: did you mean icmpv6?"},
	{"transport", "quic", "quic " NO_PROTO},
	{"transport", "256", "256 " NO_PROTO},
	{"transport", "6x", "6x " NO_PROTO},
	{"local_port", "", "nothing " NO_PORT},
	{"local_port", "0", "0 " NO_PORT},
	{"local_port", "65536", "65536 " NO_PORT},
	{"local_port", "4294967297", "4294967297 " NO_PORT},
	{"local_port", "-80", "-80 " NO_PORT},
	{"local_port", "+80", "+80 " NO_PORT},
	{"local_port", "http", "http " NO_PORT},
	{"remote_port", "80-", "80- " NO_PORT},
	{"remote_port", "0-80", "0-80 " NO_PORT},
	{"remote_port", "80-65536", "80-65536 " NO_PORT},
	{"remote_port", "1-2-3", "1-2-3 " NO_PORT},
	{"remote_port", "80:90", "80:90 " NO_PORT},
	{"remote_port", "90-80", "90-80 runs backwards: say 80-90"},
	{"remote_port", "80-80", "80-80 is one port: say 80"},
	{"dsfield", "", "nothing " NO_DS},
	{"dsfield", "ef", "ef " NO_DS},
	{"dsfield", "0x100", "0x100 " NO_DS},
	{"dsfield", "0xb8:", "0xb8: " NO_DS},
	{"dsfield", "0xb8:0x1fc", "0xb8:0x1fc " NO_DS},
	{"dsfield", "0x", "0x " NO_DS},
	{"dsfield", "0x2e:0xfc",
	 "0x2e:0xfc never matches, the DSCP is in the upper six bits: EF is dsfield=0xb8:0xfc, or dscp=ef"},
	{"dsfield", "46",
	 "46 never matches, the DSCP is in the upper six bits: EF is dsfield=0xb8:0xfc, or dscp=ef"},
	{"dsfield", "47",
	 "47 never matches, the DSCP is in the upper six bits: DSCP 47 is dsfield=0xbc:0xfc, or dscp=47"},
	{"dsfield", "0xb9", "0xb9 never matches, its mask leaves out 0x01: say 0xb9:0xfd, or 0xb8:0xfc"},
	{"dsfield", "0x2e:0xf0",
	 "0x2e:0xf0 never matches, its mask leaves out 0x0e: say 0x2e:0xfe, or 0x20:0xf0"},
	{"dsfield", "0:0", "0:0 asks for no bit: leave it out"},
	{"dscp", "", "nothing " NO_POINT},
	{"dscp", "64", "64 " NO_POINT},
	{"dscp", "af44", "af44 is not a code point: did you mean af41?"},
	{"dscp", "gold", "gold " NO_POINT},
	{"vid", "", "nothing is not a VLAN: say 0 to 4094"},
	{"vid", "4095", "4095 is not a VLAN: say 0 to 4094"},
	{"vid", "10-20", "10-20 is not a VLAN: say 0 to 4094"},
	{"ethertype", "", "nothing " NO_TYPE},
	{"ethertype", "0806", "0806 is not an ethertype: say 0x0806 if it is hexadecimal"},
	{"ethertype", "86dd", "86dd is not an ethertype: say 0x86dd if it is hexadecimal"},
	{"ethertype", "2048x", "2048x " NO_TYPE},
	{"ethertype", "0x05ff", "0x05ff " NO_TYPE},
	{"ethertype", "0x10000", "0x10000 " NO_TYPE},
	{"ethertype", "appr", "appr " NO_TYPE},
	{"ethertype", "arpp", "arpp is not an ethertype: did you mean arp?"},
	{"ethertype", "0x8100", "0x8100 is a VLAN tag, the ethertype is what follows it: say vid="},
	{"ethertype", "0x88a8", "0x88a8 is a VLAN tag, the ethertype is what follows it: say vid="},
	{"direction", "", "nothing is not a direction: say in, out or both"},
	{"direction", "outt", "outt is not a direction: did you mean out?"},
	{"direction", "bidirectional", "bidirectional is not a direction: say in, out or both"},
	{"local_prt", "80", "no such attribute: did you mean local_port?"},
	{"colour", "80",
	 "no such attribute: there are local_ip, remote_ip, transport, protocol, local_port, remote_port, "
	 "dsfield, dscp, vid, ethertype, direction"},
	{"", "80",
	 "no such attribute: there are local_ip, remote_ip, transport, protocol, local_port, remote_port, "
	 "dsfield, dscp, vid, ethertype, direction"},
};

START_TEST(bad_values_are_refused)
{
	static const struct flow_match zero;
	struct flow_match m = {0};
	struct err e = {0};

	ck_assert_int_lt(flow_attr_set(&m, bad[_i].name, bad[_i].value, &e), 0);
	ck_assert_str_eq(e.text, bad[_i].text);
	ck_assert_str_eq(e.object, bad[_i].name);
	ck_assert(e.mend);
	ck_assert(same(&m, &zero));
}
END_TEST

START_TEST(twice_is_refused)
{
	static const struct {
		const char *first, *value, *second, *again, *text;
	} rows[] = {
		{"transport", "tcp", "protocol", "udp", "given twice: transport=tcp is there already"},
		{"dscp", "ef", "dsfield", "0xb8", "given twice: dscp=ef is there already"},
		{"dsfield", "0x3:0x3", "dscp", "ef", "given twice: dsfield=0x03:0x03 is there already"},
		{"local_ip", "10.0.0.1", "local_ip", "10.0.0.1",
		 "given twice: local_ip=10.0.0.1 is there already"},
		{"transport", "0", "transport", "0", "given twice: transport=0 is there already"},
		{"vid", "0", "vid", "0", "given twice: vid=0 is there already"},
		{"direction", "both", "direction", "in", "given twice: direction=both is there already"},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct flow_match m = {0}, before;
		struct err e = {0};

		ck_assert_int_eq(flow_attr_set(&m, rows[i].first, rows[i].value, &e), 0);
		before = m;
		ck_assert_int_eq(flow_attr_set(&m, rows[i].second, rows[i].again, &e), -EINVAL);
		ck_assert_str_eq(e.text, rows[i].text);
		ck_assert_str_eq(e.object, rows[i].second);
		ck_assert(same(&m, &before));
	}
}
END_TEST

#define PORT_NEEDS "a port needs transport=tcp, udp or sctp"
#define IP_HAS(s)  "only IP has a " s ": say ip or ip6, or leave one of them out"
#define NOT_THEIRS "it contradicts the address, which is enough: leave ethertype out"
#define HEADER     "an extension header of IPv6, the transport is what follows it: say that or leave it out"

static const struct {
	const char *list, *object, *text;
} contradictory[] = {
	{"", "", "a flow needs attributes: say for example transport=tcp,local_port=443"},
	{"direction=in", "direction",
	 "a direction alone is no flow: add an attribute, such as ethertype=ip for all of IPv4"},
	{"direction=both", "direction",
	 "a direction alone is no flow: add an attribute, such as ethertype=ip for all of IPv4"},
	{"local_port=80", "local_port", PORT_NEEDS},
	{"remote_port=80", "remote_port", PORT_NEEDS},
	{"transport=icmp,local_port=80", "local_port", PORT_NEEDS},
	{"transport=0,local_port=80", "local_port", PORT_NEEDS},
	{"transport=47,remote_port=80-90", "remote_port", PORT_NEEDS},
	{"local_ip=10.0.0.1,remote_ip=2001:db8::1", "remote_ip",
	 "the address is not of local_ip's family: both are IPv4, or both IPv6"},
	{"local_ip=10.0.0.1,ethertype=ip6", "ethertype", NOT_THEIRS},
	{"remote_ip=2001:db8::1,ethertype=ip", "ethertype", NOT_THEIRS},
	{"remote_ip=10.0.0.1,ethertype=arp", "ethertype", NOT_THEIRS},
	{"transport=tcp,ethertype=arp", "ethertype", IP_HAS("transport")},
	{"transport=0,ethertype=arp", "ethertype", IP_HAS("transport")},
	{"dscp=ef,ethertype=0x88b5", "ethertype", IP_HAS("DS field")},
	{"dscp=cs0,ethertype=arp", "ethertype", IP_HAS("DS field")},
	{"transport=icmpv6,local_ip=10.0.0.1", "transport", "icmpv6 is not sent over IPv4: say icmp"},
	{"transport=58,ethertype=ip", "transport", "icmpv6 is not sent over IPv4: say icmp"},
	{"transport=icmp,remote_ip=2001:db8::/32", "transport", "icmp is not sent over IPv6: say icmpv6"},
	{"transport=icmp,ethertype=ip6", "transport", "icmp is not sent over IPv6: say icmpv6"},
	{"transport=44,remote_ip=2001:db8::/32", "transport", HEADER},
	{"transport=0,ethertype=ip6", "transport", HEADER},
	{"transport", "transport", "an attribute needs a value: say ATTR=VALUE"},
	{"transport=tcp,,vid=1", "", "an attribute needs a value: say ATTR=VALUE"},
	{"transport=tcp,vid=1,protocol=udp", "protocol", "given twice: transport=tcp is there already"},
};

START_TEST(contradictions_are_refused)
{
	struct flow_match m = {.vid = 77}, before = m;
	struct err e = {0};

	ck_assert_int_eq(flow_match_parse(contradictory[_i].list, &m, &e), -EINVAL);
	ck_assert_str_eq(e.text, contradictory[_i].text);
	ck_assert_str_eq(e.object, contradictory[_i].object);
	ck_assert(e.mend);
	ck_assert(same(&m, &before));
}
END_TEST

START_TEST(lists_have_one_order)
{
	static const struct {
		const char *given, *canonical;
	} rows[] = {
		{"local_port=443,transport=tcp", "transport=tcp,local_port=443"},
		{"direction=out,vid=5,dscp=ef,remote_port=1-65535,local_port=80-90,protocol=17,"
		 "remote_ip=10.0.0.0/8,local_ip=10.1.0.1",
		 "local_ip=10.1.0.1,remote_ip=10.0.0.0/8,transport=udp,local_port=80-90,remote_port=1-65535,"
		 "dscp=ef,vid=5,direction=out"},
		{"ethertype=arp,direction=in", "ethertype=arp,direction=in"},
		{"ethertype=arp,direction=both", "ethertype=arp"},
		{"ethertype=ip,transport=icmp", "transport=icmp,ethertype=ip"},
		{"ethertype=ip6,transport=tcp", "transport=tcp,ethertype=ip6"},
		/* The address says it. */
		{"ethertype=ip,local_ip=10.0.0.1", "local_ip=10.0.0.1"},
		{"ethertype=ip6,remote_ip=fe80::/10,direction=both", "remote_ip=fe80::/10"},
		{"transport=dccp,local_port=0x50", "transport=dccp,local_port=80"},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		char text[FLOW_TEXT_MAX];
		struct flow_match m;
		struct err e = {0};

		ck_assert_msg(flow_match_parse(rows[i].given, &m, &e) == 0, "%s: %s", rows[i].given, e.text);
		ck_assert_str_eq(flow_match_str(&m, text), rows[i].canonical);
	}
}
END_TEST

START_TEST(cells_are_what_show_flow_prints)
{
	struct flow_match m;
	char a[16], b[48], c[16];

	ck_assert_int_eq(
		flow_match_parse("transport=tcp,local_ip=10.0.0.0/24,local_port=443,dscp=ef", &m, NULL), 0);
	ck_assert_str_eq(flow_proto_str(&m, a), "tcp");
	ck_assert_str_eq(flow_addr_str(&m.local, b), "10.0.0.0/24");
	ck_assert_str_eq(flow_addr_str(&m.remote, b), "");
	ck_assert_str_eq(flow_ports_str(&m.local_port, c), "443");
	ck_assert_str_eq(flow_ports_str(&m.remote_port, c), "");
	ck_assert_str_eq(flow_ds_str(&m, a), "0xb8:0xfc");
	ck_assert_int_eq(flow_match_parse("vid=5", &m, NULL), 0);
	ck_assert_str_eq(flow_proto_str(&m, a), "");
	ck_assert_str_eq(flow_ds_str(&m, a), "");
	ck_assert(m.dir[FLOW_IN] && m.dir[FLOW_OUT]);
}
END_TEST

START_TEST(every_attribute_has_its_row)
{
	size_t n = 0;

	for (; flow_attr_name(n); n++) {
		struct flow_match m = {0};
		struct err e = {0};

		ck_assert(*flow_attr_possible(n));
		ck_assert_int_eq(flow_attr_set(&m, flow_attr_name(n), "?", &e), -EINVAL);
		ck_assert_msg(!strncmp(e.text, "? is not a", 10), "%s", e.text);
	}
	ck_assert_uint_eq(n, 11);
	ck_assert_ptr_null(flow_attr_possible(n));
}
END_TEST

static struct flow_addr some_addr(uint8_t family)
{
	uint8_t width = family == 4 ? 32 : 128;
	struct flow_addr a = {.family = family, .len = (uint8_t)(some(width) + 1)};

	for (unsigned bit = 0; bit < a.len; bit++)
		a.bytes[bit / 8] |= (uint8_t)(some(2) << (7 - bit % 8));
	/* No address of a packet is ::ffff:0:0/96. */
	a.bytes[0] |= family == 6 ? 0x80 : 0;
	return a;
}

static struct flow_ports some_ports(void)
{
	struct flow_ports p = {.first = (uint16_t)(1 + some(65535))};

	p.last = (uint16_t)(some(2) ? p.first : p.first + some(65536u - p.first));
	return p;
}

static void some_ip(struct flow_match *m)
{
	static const uint8_t with_ports[] = {6, 17, 33, 132, 136};
	uint8_t family = some(2) ? 4 : 6;

	if (some(2))
		m->local = some_addr(family);
	if (some(2))
		m->remote = some_addr(family);
	if (some(2)) {
		m->has_proto = true;
		m->proto = (uint8_t)(200 + some(50));
	}
	if (some(2)) {
		m->has_proto = true;
		m->proto = with_ports[some(sizeof(with_ports))];
		m->local_port = some(2) ? some_ports() : m->local_port;
		m->remote_port = some(2) ? some_ports() : m->remote_port;
	}
	if (some(2)) {
		m->dsmask = (uint8_t)(some(2) ? 0xfc : 1 + some(255));
		m->dsfield = (uint8_t)(some(256) & m->dsmask);
	}
	if (!m->local.family && !m->remote.family && !some(3))
		m->ethertype = some(2) ? 0x0800 : 0x86dd;
}

static struct flow_match some_match(void)
{
	struct flow_match m = {0};

	if (some(8))
		some_ip(&m);
	else
		m.ethertype = (uint16_t)(0x9000 + some(0x1000));
	if (!some(3) || (!m.ethertype && !m.has_proto && !m.dsmask && !m.local.family && !m.remote.family)) {
		m.has_vid = true;
		m.vid = (uint16_t)some(4095);
	}
	m.dir[FLOW_IN] = some(2);
	m.dir[FLOW_OUT] = !m.dir[FLOW_IN] || some(2);
	return m;
}

START_TEST(what_is_written_is_read_back)
{
	for (int i = 0; i < ROUNDS; i++) {
		char text[FLOW_TEXT_MAX], again[FLOW_TEXT_MAX];
		struct flow_match m = some_match(), n;
		struct err e = {0};

		flow_match_str(&m, text);
		expect(flow_match_parse(text, &n, &e) == 0, "%s: %s: %s", text, e.object, e.text);
		expect(same(&m, &n), "%s", text);
		expect(!strcmp(flow_match_str(&n, again), text), "%s", text);
	}
}
END_TEST

/* Nonsense made of what attributes are made of. */
static void some_text(char *buf, size_t size)
{
	static const char *const parts[] = {
		"local_ip", "remote_ip", "transport", "local_port", "remote_port", "dsfield",    "dscp",
		"vid",      "ethertype", "direction", "protocol",   "=",           "=",          "=",
		",",        ",",         "10.0.0.0",  "/",          "8",           "2001:db8::", ":",
		"-",        "tcp",       "udp",       "80",         "65535",       "0x",         "fc",
		"ef",       "ip",        "in",        "both",       "\xff",        " ",          "%s",
	};
	size_t len = 0;

	buf[0] = '\0';
	for (uint32_t n = some(16); n > 0 && len + 16 < size; n--)
		len += (size_t)snprintf(buf + len, size - len, "%s",
					parts[some(sizeof(parts) / sizeof(*parts))]);
}

START_TEST(nonsense_is_refused_or_means_something)
{
	unsigned taken = 0;

	for (int i = 0; i < ROUNDS * 10; i++) {
		char text[256], once[FLOW_TEXT_MAX], twice[FLOW_TEXT_MAX];
		struct flow_match m = {0};
		struct err e = {0};

		some_text(text, sizeof(text));
		if (flow_match_parse(text, &m, &e) < 0) {
			expect(e.mend && *e.text, "%s", text);
			continue;
		}
		taken++;
		flow_match_str(&m, once);
		expect(flow_match_parse(once, &m, &e) == 0, "%s: %s: %s", text, once, e.text);
		expect(!strcmp(flow_match_str(&m, twice), once), "%s", once);
	}
	ck_assert_uint_gt(taken, 0);
}
END_TEST

START_TEST(a_long_list_is_refused)
{
	char text[FLOW_TEXT_MAX * 2];
	struct flow_match m;
	struct err e = {0};

	memset(text, 'a', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	ck_assert_int_eq(flow_match_parse(text, &m, &e), -EINVAL);
	ck_assert_str_eq(e.text, "attributes of more than 511 characters");
}
END_TEST

START_TEST(names_follow_the_rules)
{
	static const char *const names[] = {"http-1", "-",   ".a",  "a/b",    "",       "_x",
					    "9",      "a b", "a,b", "https1", "A.b_c-D"};
	static const bool fine[] = {true, false, false, false, false, true, true, false, false, true, true};
	char longest[FLOW_NAME_MAX + 1] = "";
	struct err e = {0};

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		ck_assert_msg((flow_name_check(names[i], &e) == 0) == fine[i], "%s", names[i]);
	memset(longest, 'x', FLOW_NAME_MAX - 1);
	ck_assert_int_eq(flow_name_check(longest, &e), 0);
	longest[FLOW_NAME_MAX - 1] = 'x';
	ck_assert_int_eq(flow_name_check(longest, &e), -EINVAL);
	ck_assert_str_eq(e.text, "a flow's name has 1 to 63 characters, this one has 64");
	flow_name_check("-", &e);
	ck_assert_str_eq(e.text, "a flow's name starts with a letter, a digit or '_'");
	flow_name_check("a/b", &e);
	ck_assert_str_eq(e.text, "a flow's name is made of letters, digits, '_', '.' and '-'");
}
END_TEST

#define ROWS(table) (int)(sizeof(table) / sizeof(*(table)))

static Suite *suite(void)
{
	Suite *s = suite_create("flow");
	TCase *t = tcase_create("flow");

	tcase_set_timeout(t, 60);
	tcase_add_loop_test(t, values_have_one_spelling, 0, ROWS(good));
	tcase_add_test(t, code_points_are_what_the_rfcs_say);
	tcase_add_loop_test(t, bad_values_are_refused, 0, ROWS(bad));
	tcase_add_test(t, twice_is_refused);
	tcase_add_loop_test(t, contradictions_are_refused, 0, ROWS(contradictory));
	tcase_add_test(t, lists_have_one_order);
	tcase_add_test(t, cells_are_what_show_flow_prints);
	tcase_add_test(t, every_attribute_has_its_row);
	tcase_add_test(t, what_is_written_is_read_back);
	tcase_add_test(t, nonsense_is_refused_or_means_something);
	tcase_add_test(t, a_long_list_is_refused);
	tcase_add_test(t, names_follow_the_rules);
	suite_add_tcase(s, t);
	return s;
}

int main(void)
{
	SRunner *r;
	int failed;

	seed_start();
	r = srunner_create(suite());
	srunner_run_all(r, CK_ENV);
	failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
