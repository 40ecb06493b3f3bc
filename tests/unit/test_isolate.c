/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What isolated addresses need: rules, subnets, gateways, and ARP settings. */
#include "lib/model/isolate.h"

#include <arpa/inet.h>
#include <check.h>
#include <stdlib.h>
#include <string.h>

static struct iso_addr addr_of(int family, const char *text, unsigned plen)
{
	struct iso_addr a = {.family = family, .plen = plen};

	ck_assert_int_eq(inet_pton(family, text, a.local), 1);
	memcpy(a.subnet, a.local, sizeof(a.subnet));
	return a;
}

static struct iso_route gate_of(int family, const char *gateway, uint32_t metric)
{
	struct iso_route r = {.kind = ISO_GATEWAY, .family = family, .metric = metric};

	ck_assert_int_eq(inet_pton(family, gateway, r.gateway), 1);
	return r;
}

START_TEST(addresses_become_rules_and_subnets)
{
	struct iso_addr addrs[] = {addr_of(AF_INET, "10.1.2.3", 24), addr_of(AF_INET, "10.1.2.4", 24),
				   addr_of(AF_INET, "10.9.9.9", 32), addr_of(AF_INET6, "fd01::3", 64)};
	struct iso_route subnet = {.kind = ISO_LINK, .family = AF_INET, .plen = 24, .dst = {10, 1, 2, 0}};
	struct iso_set set, again;

	isolate_set(addrs, 4, NULL, 0, true, &set);
	ck_assert_uint_eq(set.from_count, 4);
	/* Two subnets, and unreachable in each family. */
	ck_assert_uint_eq(set.route_count, 4);
	ck_assert(iso_has_route(&set, &subnet));
	isolate_set(addrs, 4, NULL, 0, true, &again);
	ck_assert(iso_set_equal(&set, &again));
	isolate_set(addrs, 3, NULL, 0, true, &again);
	ck_assert(!iso_set_equal(&set, &again));
	/* Down, nothing leads anywhere. */
	isolate_set(addrs, 4, NULL, 0, false, &set);
	ck_assert_uint_eq(set.from_count, 4);
	ck_assert_uint_eq(set.route_count, 2);
}
END_TEST

START_TEST(gateways_in_the_subnets_alone)
{
	struct iso_addr addrs[] = {addr_of(AF_INET, "10.1.2.3", 23), addr_of(AF_INET6, "fd01::3", 64)};
	struct iso_route gates[] = {gate_of(AF_INET, "10.1.3.1", 0), gate_of(AF_INET, "10.1.4.1", 10),
				    gate_of(AF_INET, "10.1.3.2", 0), gate_of(AF_INET6, "fe80::1", 1024)};
	struct iso_set set;

	isolate_set(addrs, 2, gates, 4, true, &set);
	ck_assert(iso_has_route(&set, &gates[0]));
	ck_assert(!iso_has_route(&set, &gates[1]));
	ck_assert(!iso_has_route(&set, &gates[2]));
	ck_assert(iso_has_route(&set, &gates[3]));
	isolate_set(addrs, 1, gates, 4, true, &set);
	ck_assert(!iso_has_route(&set, &gates[3]));
}
END_TEST

START_TEST(arp_is_never_made_weaker)
{
	static const struct {
		struct arp from, to;
	} rows[] = {
		{{0, 0}, {1, 2}}, {{1, 2}, {1, 2}}, {{2, 1}, {2, 2}}, {{3, 0}, {1, 2}}, {{8, 2}, {8, 2}},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		ck_assert(arp_equal(arp_strict(rows[i].from), rows[i].to));
}
END_TEST

START_TEST(tables_are_told_from_others)
{
	ck_assert_uint_eq(isolate_number(isolate_table(5)), 5);
	ck_assert_uint_eq(isolate_number(254), 0);
	ck_assert_uint_eq(isolate_number(ISOLATE_TABLE + ISOLATE_NUMBERS), 0);
	ck_assert_uint_lt(isolate_priority(123456), 30000);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("isolate");
	TCase *t = tcase_create("isolate");
	SRunner *r;
	int failed;

	tcase_add_test(t, addresses_become_rules_and_subnets);
	tcase_add_test(t, gateways_in_the_subnets_alone);
	tcase_add_test(t, arp_is_never_made_weaker);
	tcase_add_test(t, tables_are_told_from_others);
	suite_add_tcase(s, t);
	r = srunner_create(s);
	srunner_run_all(r, CK_ENV);
	failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
