/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Properties, names, counters and the nearest word: every row, every rule. */
#include "lib/base/nearest.h"
#include "lib/model/counter.h"
#include "lib/model/name.h"
#include "lib/model/prop.h"

#include <check.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

START_TEST(every_row_is_whole)
{
	const struct prop_row *row = &prop_rows[_i];
	enum prop_id id;
	struct err e = {0};

	ck_assert_ptr_nonnull(row->name);
	ck_assert_ptr_nonnull(row->possible);
	ck_assert_ptr_nonnull(row->check);
	ck_assert(row->classes);
	ck_assert(!(row->classes & row->readable));
	ck_assert_int_eq(prop_find("vnic1", CLASS_VNIC, "vnic", row->name, true, &id, &e), 0);
	ck_assert_int_eq(id, _i);
}
END_TEST

START_TEST(a_property_is_refused_where_it_does_not_belong)
{
	static const struct {
		enum link_class class;
		const char *word, *prop, *text;
		int r;
	} rows[] = {
		{CLASS_OTHER, "ifb", "maxbw",
		 "maxbw cannot be set on an ifb link: only on a VNIC or a physical link", -EOPNOTSUPP},
		{CLASS_OTHER, "phys", "mtu", "mtu is read-only on a phys link: see ip-link(8)", -EROFS},
		{CLASS_FOREIGN, "phys", "mtu", "mtu is read-only on a phys link: see ip-link(8)", -EROFS},
		{CLASS_FOREIGN, "phys", "zone", "zone cannot be set on a phys link: only on a VNIC",
		 -EOPNOTSUPP},
		{CLASS_ETHERSTUB, "etherstub", "zone",
		 "zone cannot be set on an etherstub link: only on a VNIC", -EOPNOTSUPP},
		{CLASS_VNIC, "vnic", "maxbv", "no such property maxbv: did you mean maxbw?", -ENOENT},
		{CLASS_VNIC, "vnic", "colour",
		 "no such property colour: there are maxbw, maxbw-rx, maxbw-tx, mtu, zone, isolate", -ENOENT},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct err e = {0};
		enum prop_id id;

		ck_assert_int_eq(prop_find("eth0", rows[i].class, rows[i].word, rows[i].prop, true, &id, &e),
				 rows[i].r);
		ck_assert_str_eq(e.text, rows[i].text);
		ck_assert_str_eq(e.object, "eth0");
		ck_assert(e.mend);
	}
}
END_TEST

START_TEST(values_are_kept_in_one_spelling)
{
	static const struct {
		enum prop_id id;
		const char *given, *kept;
	} rows[] = {
		{PROP_MAXBW, "100", "100M"},     {PROP_MAXBW, "1000M", "1G"},
		{PROP_MAXBW, "100mbit", "100M"}, {PROP_MAXBW_RX, "1.5g", "1.5G"},
		{PROP_MAXBW_TX, "64k", "64K"},   {PROP_MAXBW, "25%", "25%"},
		{PROP_MAXBW, "none", "none"},    {PROP_MAXBW, "blocked", "blocked"},
		{PROP_MTU, "1400", "1400"},      {PROP_ZONE, "web", "web"},
		{PROP_ISOLATE, "on", "on"},      {PROP_ISOLATE, "off", "off"},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct props p = {0};
		struct err e = {0};

		ck_assert_int_eq(prop_set(&p, "vnic1", rows[i].id, rows[i].given, &e), 0);
		ck_assert_str_eq(p.value[rows[i].id], rows[i].kept);
		props_free(&p);
	}
}
END_TEST

START_TEST(a_bad_value_changes_nothing)
{
	static const struct {
		enum prop_id id;
		const char *bad;
	} rows[] = {
		{PROP_MAXBW, "0"},   {PROP_MAXBW, "10MB"}, {PROP_MAXBW, "1Mi"},   {PROP_MAXBW, ""},
		{PROP_MAXBW, "63K"}, {PROP_MAXBW, "401G"}, {PROP_MAXBW, "-1M"},   {PROP_MAXBW, "101%"},
		{PROP_MTU, "67"},    {PROP_MTU, "65536"},  {PROP_MTU, "1500b"},   {PROP_MTU, ""},
		{PROP_MTU, "-1500"}, {PROP_ZONE, ""},      {PROP_ISOLATE, "yes"}, {PROP_ZONE, "a/b"},
		{PROP_ZONE, ".."},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct props p = {0};
		struct err e = {0};

		ck_assert_int_eq(prop_set(&p, "vnic1", PROP_MAXBW, "5M", NULL), 0);
		ck_assert_int_lt(prop_set(&p, "vnic1", rows[i].id, rows[i].bad, &e), 0);
		ck_assert_str_eq(e.object, "vnic1");
		ck_assert(e.mend);
		ck_assert(!strncmp(e.text, prop_rows[rows[i].id].name, strlen(prop_rows[rows[i].id].name)));
		ck_assert_str_eq(p.value[PROP_MAXBW], "5M");
		props_free(&p);
	}
}
END_TEST

START_TEST(one_direction_overrides_the_cap)
{
	struct props p = {0};
	char text[100];

	ck_assert_int_eq(prop_cap(&p, false).kind, BW_NONE);
	ck_assert_str_eq(prop_bandwidth(&p, text, sizeof(text)), "");
	prop_set(&p, "v", PROP_MAXBW, "100M", NULL);
	prop_set(&p, "v", PROP_MAXBW_RX, "10M", NULL);
	ck_assert_uint_eq(prop_cap(&p, false).value, 10000000);
	ck_assert_uint_eq(prop_cap(&p, true).value, 100000000);
	ck_assert_str_eq(prop_bandwidth(&p, text, sizeof(text)), "max=100M,rx=10M");
	prop_set(&p, "v", PROP_MAXBW_RX, "none", NULL);
	ck_assert_int_eq(prop_cap(&p, false).kind, BW_NONE);
	prop_reset(&p, PROP_MAXBW_RX);
	prop_set(&p, "v", PROP_MAXBW, "blocked", NULL);
	ck_assert_str_eq(prop_bandwidth(&p, text, sizeof(text)), "blocked");
	prop_set(&p, "v", PROP_MAXBW_TX, "1M", NULL);
	ck_assert_str_eq(prop_bandwidth(&p, text, sizeof(text)), "max=blocked,tx=1M");
	ck_assert_int_eq(prop_cap(&p, false).kind, BW_BLOCKED);
	props_free(&p);
}
END_TEST

START_TEST(copies_are_deep)
{
	struct props p = {0}, q = {0};

	prop_set(&p, "v", PROP_MTU, "1400", NULL);
	ck_assert_int_eq(props_copy(&p, &q), 0);
	prop_reset(&p, PROP_MTU);
	ck_assert_str_eq(q.value[PROP_MTU], "1400");
	ck_assert_uint_eq(prop_mtu(&q), 1400);
	ck_assert_uint_eq(prop_mtu(&p), 0);
	props_free(&q);
}
END_TEST

START_TEST(names_follow_the_rules)
{
	static const char *const good[] = {"vnic1", "v0", "web-1", "a.b_c9", "abcdefghijklmn0"};
	static const struct {
		const char *name, *rule;
	} bad[] = {
		{"v", "2 to 15 characters"},
		{"abcdefghijklmno0", "2 to 15 characters"},
		{"vnic", "ends in a digit"},
		{"1vnic1", "starts with a letter"},
		{"-v1", "starts with a letter"},
		{"a/b1", "letters, digits"},
		{"a b1", "letters, digits"},
		{"v%d1", "letters, digits"},
		{"gso_ipv4", "keyword"},
		{"vi1", "kept for vnicd"},
		{"", "2 to 15 characters"},
		{"v\xc3\xa9"
		 "1",
		 "letters, digits"},
	};

	for (size_t i = 0; i < sizeof(good) / sizeof(*good); i++)
		ck_assert_int_eq(name_check(good[i], NULL), 0);
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		struct err e = {0};

		ck_assert_int_eq(name_check(bad[i].name, &e), -EINVAL);
		ck_assert_msg(strstr(e.text, bad[i].rule), "%s: %s", bad[i].name, e.text);
	}
}
END_TEST

START_TEST(the_nearest_word_is_near)
{
	static const char *const words[] = {"create-vnic", "delete-vnic", "show-link", "help"};

	ck_assert_str_eq(nearest("create-vnik", words, 4), "create-vnic");
	ck_assert_str_eq(nearest("show-lnik", words, 4), "show-link");
	ck_assert_str_eq(nearest("hepl", words, 4), "help");
	ck_assert_str_eq(nearest("HELP", words, 4), "help");
	ck_assert_str_eq(nearest("delete", words, 4), "delete-vnic");
	ck_assert_str_eq(nearest("hel", words, 4), "help");
	ck_assert_ptr_null(nearest("he", words, 4));
	ck_assert_ptr_null(nearest("flow", words, 4));
	ck_assert_ptr_null(nearest("", words, 4));
}
END_TEST

START_TEST(a_counter_never_decreases)
{
	struct counter c = {0};

	ck_assert_uint_eq(counter_step(&c, 10), 10);
	ck_assert_uint_eq(counter_step(&c, 25), 25);
	/* A new object began at zero. */
	ck_assert_uint_eq(counter_step(&c, 5), 30);
	ck_assert_uint_eq(counter_step(&c, 5), 30);
	counter_close(&c);
	/* Another one, whose first reading is already larger than the last of the old. */
	ck_assert_uint_eq(counter_step(&c, 100), 130);
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("prop");
	TCase *t = tcase_create("prop");

	tcase_add_loop_test(t, every_row_is_whole, 0, PROP_COUNT);
	tcase_add_test(t, a_property_is_refused_where_it_does_not_belong);
	tcase_add_test(t, values_are_kept_in_one_spelling);
	tcase_add_test(t, a_bad_value_changes_nothing);
	tcase_add_test(t, one_direction_overrides_the_cap);
	tcase_add_test(t, copies_are_deep);
	tcase_add_test(t, names_follow_the_rules);
	tcase_add_test(t, the_nearest_word_is_near);
	tcase_add_test(t, a_counter_never_decreases);
	suite_add_tcase(s, t);
	return s;
}

int main(void)
{
	SRunner *r = srunner_create(suite());
	int failed;

	srunner_run_all(r, CK_ENV);
	failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
