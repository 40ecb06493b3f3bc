/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What matches do with packets: their rules, their order, overlap and cover, against brute force over packets
 * that are looked at attribute by attribute.
 */
#include "lib/model/flow.h"
#include "seed.h"

#include <arpa/inet.h>
#include <check.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

static struct flow_match match(const char *text)
{
	struct flow_match m = {0};
	struct err e = {0};

	ck_assert_msg(flow_match_parse(text, &m, &e) == 0, "%s: %s: %s", text, e.object, e.text);
	return m;
}

/* --- packets ----------------------------------------------------------------------------------------------
 */

static bool addr_in(const struct flow_addr *a, const struct flow_key *p, const uint8_t bytes[16])
{
	if (!a->family)
		return true;
	if (a->family != p->family)
		return false;
	for (unsigned bit = 0; bit < a->len; bit++)
		if (((a->bytes[bit / 8] ^ bytes[bit / 8]) >> (7 - bit % 8)) & 1)
			return false;
	return true;
}

static bool port_in(const struct flow_ports *r, const struct flow_key *p, uint16_t port)
{
	return !r->first || ((p->has & FLOW_HAS_PORTS) && ntohs(port) >= r->first && ntohs(port) <= r->last);
}

/* As the manual says it. */
static bool takes(const struct flow_match *m, const struct flow_key *p)
{
	return addr_in(&m->local, p, p->local) && addr_in(&m->remote, p, p->remote) &&
	       (!m->has_proto || (p->family && p->proto == m->proto)) &&
	       port_in(&m->local_port, p, p->local_port) && port_in(&m->remote_port, p, p->remote_port) &&
	       (!m->dsmask || (p->family && (p->dsfield & m->dsmask) == m->dsfield)) &&
	       (!m->has_vid || ((p->has & FLOW_HAS_TAG) && p->vid == m->vid)) &&
	       (!m->ethertype || ntohs(p->ethertype) == m->ethertype);
}

/* As the classifier does it. */
static bool rule_takes(const struct flow_rule *r, const struct flow_key *p)
{
	const uint8_t *key = (const uint8_t *)&r->key, *mask = (const uint8_t *)&r->mask;
	const uint8_t *packet = (const uint8_t *)p;

	for (size_t i = 0; i < sizeof(*p); i++)
		if ((packet[i] & mask[i]) != key[i])
			return false;
	return true;
}

static bool rules_take(const struct flow_rule *rules, size_t count, const struct flow_key *p)
{
	for (size_t i = 0; i < count; i++)
		if (rule_takes(&rules[i], p))
			return true;
	return false;
}

/* --- a small world, in which every packet can be tried: two of each, and one that nobody asks for ----------
 */

#define TWO   2u
#define OTHER 3u

static struct flow_addr small_addr(uint8_t family)
{
	struct flow_addr a = {.family = family, .len = family == 4 ? 32 : 128};

	a.bytes[0] = family == 4 ? 10 : 0xfd;
	if (some(2))
		a.len--;
	else
		a.bytes[a.len / 8 - 1] = (uint8_t)some(TWO);
	return a;
}

static struct flow_ports small_ports(void)
{
	uint16_t first = (uint16_t)(1 + some(TWO));

	return (struct flow_ports){first, (uint16_t)(first + some(TWO + 1 - first))};
}

static void small_ip(struct flow_match *m)
{
	static const uint8_t protos[] = {6, 17, 0};
	uint8_t family = some(2) ? 4 : 6;

	if (!some(3))
		m->local = small_addr(family);
	if (!some(3))
		m->remote = small_addr(family);
	if (some(2)) {
		m->has_proto = true;
		m->proto = protos[some(3)];
	}
	if (m->proto && some(2))
		m->local_port = small_ports();
	if (m->proto && some(2))
		m->remote_port = small_ports();
	if (some(2)) {
		m->dsmask = (uint8_t)((1 + some(3)) << 2);
		m->dsfield = (uint8_t)(some(4) << 2 & m->dsmask);
	}
	if (!m->local.family && !m->remote.family && !some(3))
		m->ethertype = some(2) ? 0x0800 : 0x86dd;
}

static struct flow_match small_match(void)
{
	static const uint16_t others[] = {0x0806, 0x88cc, 0};
	struct flow_match m = {0};

	if (some(6))
		small_ip(&m);
	else
		m.ethertype = others[some(3)];
	if (!some(3)) {
		m.has_vid = true;
		m.vid = (uint16_t)some(TWO);
	}
	m.dir[FLOW_IN] = some(3);
	m.dir[FLOW_OUT] = !m.dir[FLOW_IN] || some(3);
	return m;
}

struct world {
	struct flow_key *packets;
	size_t count;
};

static void put_ip(struct flow_key *p, uint8_t family, unsigned local, unsigned remote)
{
	size_t last = family == 4 ? 3 : 15;

	p->family = family;
	p->ethertype = htons(family == 4 ? 0x0800 : 0x86dd);
	p->local[0] = p->remote[0] = family == 4 ? 10 : 0xfd;
	/* 0, 1 and 2: the last is in no prefix. */
	p->local[last] = (uint8_t)local;
	p->remote[last] = (uint8_t)remote;
}

/* 0: they could not be reached. */
static void put_ports(struct flow_key *p, unsigned proto, unsigned ports)
{
	static const uint8_t protos[] = {6, 17, 0, 1};

	p->proto = protos[proto];
	if (proto > 1 || !ports)
		return;
	p->has |= FLOW_HAS_PORTS;
	p->local_port = htons((uint16_t)(1 + (ports - 1) / OTHER));
	p->remote_port = htons((uint16_t)(1 + (ports - 1) % OTHER));
}

static void world_ip(struct world *w)
{
	for (unsigned family = 4; family <= 6; family += 2)
		for (unsigned addrs = 0; addrs < OTHER * OTHER; addrs++)
			for (unsigned proto = 0; proto < 4; proto++)
				for (unsigned ports = 0; ports <= (proto < 2 ? OTHER * OTHER : 0); ports++)
					for (unsigned ds = 0; ds < 4; ds++) {
						struct flow_key *p = &w->packets[w->count++];

						put_ip(p, (uint8_t)family, addrs / OTHER, addrs % OTHER);
						put_ports(p, proto, ports);
						/* ECN bits that disturb nothing. */
						p->dsfield = (uint8_t)(ds << 2 | ports % 4);
					}
}

#define WORLD_MAX 8192

/* Every packet without a tag, and with each tag. */
static struct world world_new(void)
{
	static const uint16_t others[] = {0x0806, 0x88cc, 0x88b5};
	struct world w = {.packets = calloc(WORLD_MAX, sizeof(struct flow_key))};
	size_t plain;

	world_ip(&w);
	for (size_t i = 0; i < 3; i++)
		w.packets[w.count++].ethertype = htons(others[i]);
	plain = w.count;
	for (uint16_t vid = 0; vid < OTHER; vid++)
		for (size_t i = 0; i < plain; i++) {
			struct flow_key *p = &w.packets[w.count++];

			*p = w.packets[i];
			p->vid = vid;
			p->has |= FLOW_HAS_TAG;
		}
	ck_assert_uint_le(w.count, WORLD_MAX);
	return w;
}

#define SMALL_ROUNDS 1500

START_TEST(rules_take_what_the_attributes_say)
{
	static struct flow_rule rules[FLOW_RULES_MAX];
	struct world w = world_new();
	size_t taken = 0;

	for (int i = 0; i < SMALL_ROUNDS; i++) {
		struct flow_match m = small_match();
		size_t count = flow_rules(&m, rules);
		char text[FLOW_TEXT_MAX];

		for (size_t p = 0; p < w.count; p++) {
			bool expected = takes(&m, &w.packets[p]);

			taken += expected;
			expect(rules_take(rules, count, &w.packets[p]) == expected,
			       "%s: packet %zu, expected %d", flow_match_str(&m, text), p, expected);
		}
	}
	ck_assert_uint_gt(taken, SMALL_ROUNDS);
	free(w.packets);
}
END_TEST

/* What brute force finds out about two matches. */
struct both {
	bool common, a_in_b, b_in_a;
};

static struct both brute(const struct world *w, const struct flow_match *a, const struct flow_match *b)
{
	struct both r = {.a_in_b = true, .b_in_a = true};

	for (size_t p = 0; p < w->count; p++) {
		bool of_a = takes(a, &w->packets[p]), of_b = takes(b, &w->packets[p]);

		for (enum flow_dir d = 0; d < FLOW_DIRS; d++) {
			bool in_a = of_a && a->dir[d], in_b = of_b && b->dir[d];

			r.common |= in_a && in_b;
			r.a_in_b &= !in_a || in_b;
			r.b_in_a &= !in_b || in_a;
		}
	}
	return r;
}

START_TEST(overlap_and_cover_are_exact)
{
	struct world w = world_new();
	unsigned common = 0, covered = 0;

	for (int i = 0; i < SMALL_ROUNDS * 3; i++) {
		struct flow_match a = small_match(), b = small_match();
		struct flow_order of_a = flow_order(&a, 0, 0), of_b = flow_order(&b, 0, 0);
		struct both r = brute(&w, &a, &b);
		char x[FLOW_TEXT_MAX], y[FLOW_TEXT_MAX];

		flow_match_str(&a, x);
		flow_match_str(&b, y);
		ck_assert_msg(flow_overlaps(&a, &b) == r.common, "%s overlaps %s: %d", x, y, r.common);
		ck_assert_msg(flow_overlaps(&b, &a) == r.common, "%s overlaps %s: %d", y, x, r.common);
		ck_assert_msg(flow_covers(&a, &b) == r.b_in_a, "%s covers %s: %d", x, y, r.b_in_a);
		ck_assert_msg(flow_covers(&b, &a) == r.a_in_b, "%s covers %s: %d", y, x, r.a_in_b);
		common += r.common;
		covered += r.b_in_a && !r.a_in_b;
		/* What lies within comes first. */
		if (r.b_in_a && !r.a_in_b)
			ck_assert_msg(flow_order_cmp(&of_b, &of_a) < 0, "%s lies within %s", y, x);
	}
	ck_assert_uint_gt(common, SMALL_ROUNDS / 10);
	ck_assert_uint_gt(covered, SMALL_ROUNDS / 100);
	free(w.packets);
}
END_TEST

START_TEST(overlap_and_cover_of_well_known_pairs)
{
	static const struct {
		const char *a, *b;
		bool overlap, a_covers, b_covers;
	} rows[] = {
		{"local_ip=10.0.0.0/8", "local_ip=10.1.0.0/16", true, true, false},
		{"local_ip=10.0.0.0/8", "local_ip=11.0.0.0/8", false, false, false},
		{"local_ip=10.0.0.0/7", "local_ip=11.0.0.0/8", true, true, false},
		{"local_ip=10.0.0.0/8", "remote_ip=10.0.0.0/8", true, false, false},
		{"local_ip=10.0.0.1", "local_ip=fd00::1", false, false, false},
		{"ethertype=ip", "local_ip=10.0.0.1", true, true, false},
		{"ethertype=ip", "transport=tcp", true, false, false},
		{"ethertype=ip6", "local_ip=10.0.0.1", false, false, false},
		{"ethertype=arp", "transport=tcp", false, false, false},
		{"ethertype=arp", "dscp=cs0", false, false, false},
		{"ethertype=arp", "vid=5", true, false, false},
		{"ethertype=arp", "ethertype=lldp", false, false, false},
		{"ethertype=arp", "ethertype=arp,vid=5", true, true, false},
		{"transport=tcp", "transport=tcp,local_port=1-65535", true, true, false},
		{"transport=tcp,local_port=80-90", "transport=tcp,local_port=90-99", true, false, false},
		{"transport=tcp,local_port=80-90", "transport=tcp,local_port=91-99", false, false, false},
		{"transport=tcp,local_port=80", "transport=udp,local_port=80", false, false, false},
		{"dscp=ef", "dsfield=0xb8:0xff", true, true, false},
		{"dscp=ef", "dsfield=0xb9:0xff", true, true, false},
		{"dscp=ef", "dsfield=0x01:0x03", true, false, false},
		{"dscp=ef", "dscp=af41", false, false, false},
		{"vid=5", "vid=6", false, false, false},
		{"vid=5,direction=in", "vid=5,direction=out", false, false, false},
		{"vid=5,direction=in", "vid=5", true, false, true},
		{"transport=tcp", "transport=6", true, true, true},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct flow_match a = match(rows[i].a), b = match(rows[i].b);

		ck_assert_msg(flow_overlaps(&a, &b) == rows[i].overlap, "%s %s", rows[i].a, rows[i].b);
		ck_assert_msg(flow_overlaps(&b, &a) == rows[i].overlap, "%s %s", rows[i].a, rows[i].b);
		ck_assert_msg(flow_covers(&a, &b) == rows[i].a_covers, "%s %s", rows[i].a, rows[i].b);
		ck_assert_msg(flow_covers(&b, &a) == rows[i].b_covers, "%s %s", rows[i].a, rows[i].b);
	}
}
END_TEST

/* --- the whole space of ports and addresses ---------------------------------------------------------------
 */

static struct flow_ports some_ports(void)
{
	/* Narrow and wide, low and high, alike. */
	uint32_t width = 1 + some(1u << some(17)), first = 1 + some(65535);

	if (width > 65536 - first)
		width = 65536 - first;
	return (struct flow_ports){(uint16_t)first, (uint16_t)(first + width - 1)};
}

/* How often each port is taken: once by one rule, never twice. */
static void check_range(const struct flow_ports *range)
{
	static struct flow_rule rules[FLOW_RULES_MAX];
	struct flow_match m = {.has_proto = true, .proto = 6, .local_port = *range, .dir = {true, true}};
	size_t count = flow_rules(&m, rules);
	struct flow_key p = {.family = 4, .proto = 6, .has = FLOW_HAS_PORTS};

	ck_assert_msg(count >= 1 && count <= 30, "%u-%u: %zu", range->first, range->last, count);
	for (uint32_t port = 0; port <= UINT16_MAX; port++) {
		unsigned taken = 0;

		p.local_port = htons((uint16_t)port);
		for (size_t i = 0; i < count; i++)
			taken += (p.local_port & rules[i].mask.local_port) == rules[i].key.local_port;
		expect(taken == (port >= range->first && port <= range->last), "%u-%u: port %u: %u",
		       range->first, range->last, port, taken);
	}
}

START_TEST(a_range_is_at_most_30_prefixes)
{
	static const struct flow_ports edges[] = {{1, 65535},     {1, 65534},     {2, 65535},
						  {1, 1},         {65535, 65535}, {1, 2},
						  {32767, 32768}, {32768, 65535}, {0x5555, 0xaaaa}};
	struct flow_match worst = match("transport=tcp,local_port=1-65534,remote_port=1-65534");
	static struct flow_rule rules[FLOW_RULES_MAX];

	for (size_t i = 0; i < sizeof(edges) / sizeof(*edges); i++)
		check_range(&edges[i]);
	for (int i = 0; i < 200; i++) {
		struct flow_ports range = some_ports();

		check_range(&range);
	}
	ck_assert_uint_eq(flow_rules(&worst, rules), 900);
}
END_TEST

START_TEST(two_ranges_multiply)
{
	static struct flow_rule rules[FLOW_RULES_MAX];
	size_t taken = 0;

	for (int i = 0; i < 300; i++) {
		struct flow_match m = {.has_proto = true, .proto = 17, .dir = {true, true}};
		size_t count, of_local, of_remote;

		m.local_port = some_ports();
		of_local = flow_rules(&m, rules);
		m.remote_port = m.local_port;
		m.local_port.first = 0;
		of_remote = flow_rules(&m, rules);
		m.local_port = some_ports();
		m.remote_port = some_ports();
		count = flow_rules(&m, rules);
		ck_assert_uint_eq(of_local, of_remote);
		ck_assert_uint_le(count, FLOW_RULES_MAX);
		for (int j = 0; j < 300; j++) {
			struct flow_key p = {.family = 6, .proto = 17, .has = FLOW_HAS_PORTS};
			uint16_t from = (uint16_t)some(8);

			/* Around the ends as often as anywhere. */
			p.local_port =
				htons((uint16_t)(some(2) ? some(65536) : m.local_port.first - 4u + from));
			p.remote_port =
				htons((uint16_t)(some(2) ? some(65536) : m.remote_port.last - 4u + from));
			expect(rules_take(rules, count, &p) == takes(&m, &p), "ports %u, %u",
			       ntohs(p.local_port), ntohs(p.remote_port));
			taken += takes(&m, &p);
		}
	}
	ck_assert_uint_gt(taken, 100);
}
END_TEST

static bool ports_common(const struct flow_ports *a, const struct flow_ports *b, bool *a_in_b)
{
	bool common = false;

	*a_in_b = true;
	for (uint32_t port = 1; port <= UINT16_MAX; port++) {
		bool in_a = port >= a->first && port <= a->last, in_b = port >= b->first && port <= b->last;

		common |= in_a && in_b;
		*a_in_b &= !in_a || in_b;
	}
	return common;
}

START_TEST(ranges_overlap_where_they_have_a_port_in_common)
{
	for (int i = 0; i < 1000; i++) {
		struct flow_match a = {.has_proto = true, .proto = 6, .dir = {true, true}}, b = a;
		bool a_in_b;

		a.remote_port = some_ports();
		b.remote_port = some_ports();
		ck_assert_int_eq(flow_overlaps(&a, &b),
				 ports_common(&a.remote_port, &b.remote_port, &a_in_b));
		ck_assert_int_eq(flow_covers(&b, &a), a_in_b);
	}
}
END_TEST

static struct flow_addr some_prefix(uint8_t family)
{
	struct flow_addr a = {.family = family, .len = (uint8_t)(1 + some(family == 4 ? 32 : 128))};

	/* Few ones, so that many share their beginning. */
	for (unsigned bit = 0; bit < a.len; bit++)
		a.bytes[bit / 8] |= (uint8_t)(!some(40) << (7 - bit % 8));
	return a;
}

static bool bits_alike(const struct flow_addr *a, const struct flow_addr *b, unsigned bits)
{
	for (unsigned bit = 0; bit < bits; bit++)
		if (((a->bytes[bit / 8] ^ b->bytes[bit / 8]) >> (7 - bit % 8)) & 1)
			return false;
	return true;
}

START_TEST(prefixes_contain_each_other_or_are_apart)
{
	unsigned overlaps = 0;

	for (int i = 0; i < 20000; i++) {
		uint8_t family = some(2) ? 4 : 6;
		struct flow_match a = {.local = some_prefix(family), .dir = {true, true}};
		struct flow_match b = {.local = some_prefix(family), .dir = {true, true}};
		unsigned shorter = a.local.len < b.local.len ? a.local.len : b.local.len;
		bool alike = bits_alike(&a.local, &b.local, shorter);

		expect(flow_overlaps(&a, &b) == alike, "round %d", i);
		expect(flow_covers(&a, &b) == (alike && a.local.len <= b.local.len), "round %d", i);
		overlaps += alike;
	}
	ck_assert_uint_gt(overlaps, 1000);
}
END_TEST

/* --- rules as the classifier gets them --------------------------------------------------------------------
 */

static size_t rules_of(const char *text, struct flow_rule *ret)
{
	static struct flow_rule rules[FLOW_RULES_MAX];
	struct flow_match m = match(text);
	size_t count = flow_rules(&m, rules);

	*ret = rules[0];
	return count;
}

START_TEST(a_rule_is_in_the_packets_layout)
{
	static const uint8_t ones[16] = {[0 ... 15] = 0xff}, zeros[16] = {0};
	struct flow_rule r;

	ck_assert_uint_eq(rules_of("local_ip=10.1.2.0/23,remote_ip=192.0.2.7,transport=tcp,local_port=443,"
				   "dscp=ef,vid=5",
				   &r),
			  1);
	ck_assert_mem_eq(r.key.local, ((uint8_t[16]){10, 1, 2}), 16);
	ck_assert_mem_eq(r.mask.local, ((uint8_t[16]){0xff, 0xff, 0xfe}), 16);
	ck_assert_mem_eq(r.key.remote, ((uint8_t[16]){192, 0, 2, 7}), 16);
	ck_assert_mem_eq(r.mask.remote, ((uint8_t[16]){0xff, 0xff, 0xff, 0xff}), 16);
	ck_assert_uint_eq(r.key.family, 4);
	ck_assert_uint_eq(r.mask.family, 0xff);
	ck_assert_uint_eq(r.key.proto, 6);
	ck_assert_uint_eq(r.mask.proto, 0xff);
	ck_assert_uint_eq(ntohs(r.key.local_port), 443);
	ck_assert_uint_eq(r.mask.local_port, 0xffff);
	ck_assert_uint_eq(r.mask.remote_port, 0);
	ck_assert_uint_eq(r.key.dsfield, 0xb8);
	ck_assert_uint_eq(r.mask.dsfield, 0xfc);
	ck_assert_uint_eq(r.key.vid, 5);
	ck_assert_uint_eq(r.mask.vid, 0x0fff);
	ck_assert_uint_eq(r.key.has, FLOW_HAS_PORTS | FLOW_HAS_TAG);
	ck_assert_uint_eq(r.mask.has, FLOW_HAS_PORTS | FLOW_HAS_TAG);
	ck_assert_uint_eq(r.mask.ethertype, 0);

	rules_of("local_ip=2001:db8::1", &r);
	ck_assert_mem_eq(r.mask.local, ones, 16);
	ck_assert_mem_eq(r.mask.remote, zeros, 16);
	ck_assert_uint_eq(r.key.family, 6);
	ck_assert_uint_eq(r.mask.has, 0);
	/* Both families by one rule. */
	ck_assert_uint_eq(rules_of("transport=udp", &r), 1);
	ck_assert_uint_eq(r.mask.family, 0);
	ck_assert_uint_eq(rules_of("dscp=ef", &r), 1);
	ck_assert_uint_eq(r.mask.family, 0);
	/* Not ARP, whose DSCP looks like 0. */
	ck_assert_uint_eq(rules_of("dscp=cs0", &r), 2);
	ck_assert_uint_eq(r.mask.family, 0xff);
	ck_assert_uint_eq(rules_of("dscp=cs0,transport=tcp", &r), 1);
	ck_assert_uint_eq(rules_of("ethertype=arp", &r), 1);
	ck_assert_uint_eq(ntohs(r.key.ethertype), 0x0806);
	ck_assert_uint_eq(r.mask.ethertype, 0xffff);
	ck_assert_uint_eq(r.mask.family, 0);
}
END_TEST

START_TEST(a_mask_has_words)
{
	static const struct {
		const char *match, *words;
	} rows[] = {
		{"remote_ip=10.0.0.0/24,transport=tcp,remote_port=80", "remote_ip/24 transport remote_port"},
		{"local_ip=2001:db8::1", "local_ip/128"},
		{"transport=tcp,local_port=80-81", "transport local_port/15"},
		{"dscp=ef,vid=5", "dscp vid"},
		{"dsfield=0x3:0x3", "dsfield:0x03"},
		{"ethertype=arp,vid=0", "vid ethertype"},
		{"ethertype=ip,transport=tcp", "transport ethertype"},
		{"dscp=cs0", "dscp family"},
	};
	struct flow_rule r;
	char text[100], small[12];

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		rules_of(rows[i].match, &r);
		ck_assert_str_eq(flow_mask_str(&r.mask, text, sizeof(text)), rows[i].words);
	}
	rules_of(rows[0].match, &r);
	ck_assert_str_eq(flow_mask_str(&r.mask, small, sizeof(small)), "remote_ip/2");
}
END_TEST

/* --- order ------------------------------------------------------------------------------------------------
 */

/* first comes before second, though it is the younger. */
static const struct pair {
	const char *first;
	uint16_t first_rank;
	const char *second;
	uint16_t second_rank;
} pairs[] = {
	{"transport=tcp", 1, "transport=tcp,local_ip=10.0.0.1", 2},
	{"transport=tcp", 1, "transport=tcp,local_ip=10.0.0.1", 32769},
	{"transport=tcp", 65535, "transport=tcp,local_ip=10.0.0.1", 0},
	{"transport=tcp,local_ip=10.0.0.1", 7, "transport=tcp", 7},
	{"transport=tcp,local_ip=10.0.0.1", 65535, "transport=tcp", 65535},
	{"remote_ip=10.0.0.0/25", 0, "remote_ip=10.0.0.0/24", 0},
	{"remote_ip=10.0.0.0/24", 0, "transport=tcp", 0},
	{"remote_ip=2001:db8::/64", 0, "remote_ip=2001:db8::/63", 0},
	{"remote_ip=2001:db8::1", 0, "remote_ip=2001:db8::/127", 0},
	{"remote_ip=8.0.0.0/5", 0, "local_ip=10.0.0.1", 0},
	{"remote_ip=10.0.0.0/24,local_ip=10.0.0.1", 0, "remote_ip=10.0.0.0/24,local_ip=10.0.0.0/31", 0},
	{"local_ip=10.0.0.0/8", 0, "transport=tcp,remote_port=80,local_port=80", 0},
	{"transport=tcp,remote_port=80", 0, "transport=tcp,local_port=80", 0},
	{"transport=tcp,remote_port=80", 0, "transport=tcp,remote_port=80-81", 0},
	{"transport=tcp,remote_port=80-81", 0, "transport=tcp,remote_port=80-82", 0},
	{"transport=tcp,remote_port=1-1023", 0, "transport=tcp,remote_port=1-1024", 0},
	{"transport=tcp,remote_port=1-32768", 0, "transport=tcp,remote_port=1-33000", 0},
	{"transport=tcp,remote_port=1-65535", 0, "transport=tcp,local_port=80", 0},
	{"transport=tcp,local_port=1-65535", 0, "transport=tcp,dscp=ef", 0},
	{"transport=tcp", 0, "dsfield=0xb8:0xff", 0},
	{"dsfield=0xb8:0xff", 0, "dscp=ef", 0},
	{"dsfield=0x80:0x80", 0, "vid=5", 0},
	{"vid=5", 0, "ethertype=ip", 0},
	{"transport=tcp,ethertype=ip", 0, "transport=tcp,direction=in", 0},
	{"vid=5,ethertype=ip", 0, "vid=5,direction=in", 0},
	{"vid=5,direction=in", 0, "vid=5", 0},
};

START_TEST(the_more_specific_comes_first)
{
	const struct pair *p = &pairs[_i];
	struct flow_match a = match(p->first), b = match(p->second);
	struct flow_order of_a = flow_order(&a, p->first_rank, 9), of_b = flow_order(&b, p->second_rank, 3);

	ck_assert_msg(flow_order_cmp(&of_a, &of_b) < 0, "%s before %s", p->first, p->second);
	ck_assert_msg(flow_order_cmp(&of_b, &of_a) > 0, "%s after %s", p->second, p->first);
	/* As the classifier compares. */
	ck_assert_uint_lt(of_a.hi, of_b.hi);
	ck_assert_uint_eq(of_a.zero, 0);
}
END_TEST

START_TEST(then_the_older)
{
	struct flow_match a = match("remote_ip=10.0.0.0/24"), b = match("remote_ip=10.0.1.0/24");
	struct flow_order old = flow_order(&a, 0, 3), young = flow_order(&b, 0, UINT32_MAX);

	ck_assert_int_lt(flow_order_cmp(&old, &young), 0);
	ck_assert_int_gt(flow_order_cmp(&young, &old), 0);
	ck_assert_int_eq(flow_order_cmp(&old, &old), 0);
	ck_assert_uint_eq(old.hi, young.hi);
}
END_TEST

/* Every number of ports, one after the other. */
START_TEST(fewer_ports_never_come_later)
{
	struct flow_match m = match("transport=tcp,remote_port=1"), none = match("transport=tcp");
	struct flow_order before = flow_order(&m, 0, 0), without = flow_order(&none, 0, 0);

	for (uint32_t last = 2; last <= UINT16_MAX; last++) {
		struct flow_order o, much;
		uint32_t wider = last + last / 400 + 1;

		m.remote_port.last = (uint16_t)last;
		o = flow_order(&m, 0, 0);
		expect(before.hi <= o.hi, "%u ports", last);
		expect(last >= 1024 || before.hi < o.hi, "%u ports", last);
		expect(o.hi < without.hi, "%u ports", last);
		before = o;
		m.remote_port.last = (uint16_t)(wider > UINT16_MAX ? UINT16_MAX : wider);
		much = flow_order(&m, 0, 0);
		expect(wider > UINT16_MAX || o.hi < much.hi, "%u ports", last);
	}
}
END_TEST

static struct flow_order some_order(void)
{
	struct flow_match m = {.dir = {true, some(2)}};
	uint8_t family = some(2) ? 4 : 6;

	m.remote = some(2) ? some_prefix(family) : m.remote;
	m.local = some(2) ? some_prefix(family) : m.local;
	m.has_proto = some(2);
	m.remote_port = some(2) ? some_ports() : m.remote_port;
	m.local_port = some(2) ? some_ports() : m.local_port;
	m.dsmask = (uint8_t)(some(2) ? some(256) : 0);
	m.has_vid = some(2);
	m.ethertype = some(2) ? 0x0800 : 0;
	return flow_order(&m, some(2) ? (uint16_t)some(4) : 0, some(4));
}

static int sign(int n)
{
	return (n > 0) - (n < 0);
}

START_TEST(the_order_is_one)
{
	for (int i = 0; i < 50000; i++) {
		struct flow_order a = some_order(), b = some_order(), c = some_order();
		int ab = flow_order_cmp(&a, &b), bc = flow_order_cmp(&b, &c), ac = flow_order_cmp(&a, &c);

		expect(sign(ab) == -sign(flow_order_cmp(&b, &a)), "round %d", i);
		expect(flow_order_cmp(&a, &a) == 0, "round %d", i);
		expect(ab > 0 || bc > 0 || ac <= 0, "round %d", i);
		expect(ab < 0 || bc < 0 || ac >= 0, "round %d", i);
		expect((ab == 0) == (a.hi == b.hi && a.lo == b.lo), "round %d", i);
	}
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("flowmatch");
	TCase *t = tcase_create("flowmatch");

	tcase_set_timeout(t, 120);
	tcase_add_test(t, rules_take_what_the_attributes_say);
	tcase_add_test(t, overlap_and_cover_are_exact);
	tcase_add_test(t, overlap_and_cover_of_well_known_pairs);
	tcase_add_test(t, a_range_is_at_most_30_prefixes);
	tcase_add_test(t, two_ranges_multiply);
	tcase_add_test(t, ranges_overlap_where_they_have_a_port_in_common);
	tcase_add_test(t, prefixes_contain_each_other_or_are_apart);
	tcase_add_test(t, a_rule_is_in_the_packets_layout);
	tcase_add_test(t, a_mask_has_words);
	tcase_add_loop_test(t, the_more_specific_comes_first, 0, sizeof(pairs) / sizeof(*pairs));
	tcase_add_test(t, then_the_older);
	tcase_add_test(t, fewer_ports_never_come_later);
	tcase_add_test(t, the_order_is_one);
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
