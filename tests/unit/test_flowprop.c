/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Properties of flows: every row, every spelling, and what they come to. */
#include "lib/model/flowprop.h"

#include <check.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

START_TEST(every_row_is_whole)
{
	const struct prop_row *row = &flow_prop_rows[_i];
	enum flow_prop_id id;
	struct err e = {0};

	ck_assert_ptr_nonnull(row->name);
	ck_assert_ptr_nonnull(row->possible);
	ck_assert_ptr_nonnull(row->check);
	ck_assert_int_eq(flow_prop_find("http1", row->name, &id, &e), 0);
	ck_assert_int_eq(id, _i);
}
END_TEST

START_TEST(unknown_names_are_refused)
{
	enum flow_prop_id id = FLOW_PROP_RANK;
	struct err e = {0};

	ck_assert_int_eq(flow_prop_find("http1", "maxbv", &id, &e), -ENOENT);
	ck_assert_str_eq(e.object, "http1");
	ck_assert_str_eq(e.text, "no such property maxbv: did you mean maxbw?");
	ck_assert_int_eq(flow_prop_find("http1", "zone", &id, &e), -ENOENT);
	ck_assert_str_eq(e.text, "no such property zone: there are maxbw, priority, rank, dscp-mark");
	ck_assert(e.mend);
	ck_assert_int_eq(id, FLOW_PROP_RANK);
}
END_TEST

START_TEST(values_are_kept_in_one_spelling)
{
	static const struct {
		enum flow_prop_id id;
		const char *given, *kept;
	} rows[] = {
		{FLOW_PROP_MAXBW, "50", "50M"},
		{FLOW_PROP_MAXBW, "1000M", "1G"},
		{FLOW_PROP_MAXBW, "25%", "25%"},
		{FLOW_PROP_MAXBW, "none", "none"},
		{FLOW_PROP_MAXBW, "blocked", "blocked"},
		{FLOW_PROP_PRIORITY, "low", "low"},
		{FLOW_PROP_PRIORITY, "Medium", "medium"},
		{FLOW_PROP_PRIORITY, "HIGH", "high"},
		{FLOW_PROP_RANK, "1", "1"},
		{FLOW_PROP_RANK, "065535", "65535"},
		{FLOW_PROP_DSCP_MARK, "EF", "ef"},
		{FLOW_PROP_DSCP_MARK, "46", "ef"},
		{FLOW_PROP_DSCP_MARK, "0", "cs0"},
		{FLOW_PROP_DSCP_MARK, "63", "63"},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct flow_props p = {0};
		struct err e = {0};

		ck_assert_msg(flow_prop_set(&p, "http1", rows[i].id, rows[i].given, &e) == 0, "%s", e.text);
		ck_assert_str_eq(p.value[rows[i].id], rows[i].kept);
		/* What is kept is taken again. */
		ck_assert_int_eq(flow_prop_set(&p, "http1", rows[i].id, rows[i].kept, &e), 0);
		ck_assert_str_eq(p.value[rows[i].id], rows[i].kept);
		flow_props_free(&p);
	}
}
END_TEST

START_TEST(a_bad_value_changes_nothing)
{
	static const struct {
		enum flow_prop_id id;
		const char *good, *bad, *text;
	} rows[] = {
		{FLOW_PROP_MAXBW, "5M", "0",
		 "maxbw: 0: say none for no limit, or blocked to drop everything"},
		{FLOW_PROP_MAXBW, "5M", "63K", "maxbw: 63K: out of range: 64K to 400G"},
		{FLOW_PROP_PRIORITY, "low", "hgih", "priority: hgih is not a priority: did you mean high?"},
		{FLOW_PROP_PRIORITY, "low", "7", "priority: 7 is not a priority: say low, medium or high"},
		{FLOW_PROP_PRIORITY, "low", "",
		 "priority: nothing is not a priority: say low, medium or high"},
		{FLOW_PROP_RANK, "9", "0", "rank: 0 is not a rank: say 1 to 65535, lower comes first"},
		{FLOW_PROP_RANK, "9", "65536",
		 "rank: 65536 is not a rank: say 1 to 65535, lower comes first"},
		{FLOW_PROP_RANK, "9", "-1", "rank: -1 is not a rank: say 1 to 65535, lower comes first"},
		{FLOW_PROP_RANK, "9", "first",
		 "rank: first is not a rank: say 1 to 65535, lower comes first"},
		{FLOW_PROP_RANK, "9", "", "rank: nothing is not a rank: say 1 to 65535, lower comes first"},
		{FLOW_PROP_DSCP_MARK, "ef", "64",
		 "dscp-mark: 64 is not a code point: say ef, va, le, cs0 to cs7, af11 to af43, or 0 to 63"},
		{FLOW_PROP_DSCP_MARK, "ef", "af14",
		 "dscp-mark: af14 is not a code point: did you mean af11?"},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct flow_props p = {0};
		struct err e = {0};

		ck_assert_int_eq(flow_prop_set(&p, "http1", rows[i].id, rows[i].good, NULL), 0);
		ck_assert_int_lt(flow_prop_set(&p, "http1", rows[i].id, rows[i].bad, &e), 0);
		ck_assert_str_eq(e.object, "http1");
		ck_assert_str_eq(e.text, rows[i].text);
		ck_assert(e.mend);
		ck_assert_str_eq(p.value[rows[i].id], rows[i].good);
		flow_props_free(&p);
	}
}
END_TEST

START_TEST(what_they_come_to)
{
	struct flow_props p = {0};

	ck_assert_int_eq(flow_prop_cap(&p).kind, BW_NONE);
	ck_assert_int_eq(flow_prop_priority(&p), FLOW_MEDIUM);
	ck_assert_uint_eq(flow_prop_rank(&p), 0);
	ck_assert_int_eq(flow_prop_dscp(&p), -1);
	ck_assert_str_eq(flow_prop_default(FLOW_PROP_PRIORITY), "medium");
	ck_assert_str_eq(flow_prop_default(FLOW_PROP_RANK), "");

	flow_prop_set(&p, "f", FLOW_PROP_MAXBW, "1.5M", NULL);
	flow_prop_set(&p, "f", FLOW_PROP_PRIORITY, "high", NULL);
	flow_prop_set(&p, "f", FLOW_PROP_RANK, "65535", NULL);
	flow_prop_set(&p, "f", FLOW_PROP_DSCP_MARK, "cs0", NULL);
	ck_assert_int_eq(flow_prop_cap(&p).kind, BW_RATE);
	ck_assert_uint_eq(flow_prop_cap(&p).value, 1500000);
	ck_assert_int_eq(flow_prop_priority(&p), FLOW_HIGH);
	ck_assert_uint_eq(flow_prop_rank(&p), 65535);
	ck_assert_int_eq(flow_prop_dscp(&p), 0);

	flow_prop_set(&p, "f", FLOW_PROP_MAXBW, "blocked", NULL);
	flow_prop_set(&p, "f", FLOW_PROP_PRIORITY, "low", NULL);
	flow_prop_set(&p, "f", FLOW_PROP_DSCP_MARK, "af43", NULL);
	ck_assert_int_eq(flow_prop_cap(&p).kind, BW_BLOCKED);
	ck_assert_int_eq(flow_prop_priority(&p), FLOW_LOW);
	ck_assert_int_eq(flow_prop_dscp(&p), 38);
	flow_prop_set(&p, "f", FLOW_PROP_MAXBW, "10%", NULL);
	ck_assert_int_eq(flow_prop_cap(&p).kind, BW_PERCENT);
	ck_assert_uint_eq(flow_prop_cap(&p).value, 10);
	flow_props_free(&p);
	ck_assert_int_eq(flow_prop_cap(&p).kind, BW_NONE);
}
END_TEST

START_TEST(copies_are_deep)
{
	struct flow_props p = {0}, q;

	flow_prop_set(&p, "f", FLOW_PROP_RANK, "7", NULL);
	ck_assert_int_eq(flow_props_copy(&p, &q), 0);
	flow_prop_reset(&p, FLOW_PROP_RANK);
	ck_assert_uint_eq(flow_prop_rank(&q), 7);
	ck_assert_uint_eq(flow_prop_rank(&p), 0);
	ck_assert_ptr_null(q.value[FLOW_PROP_MAXBW]);
	flow_props_free(&q);
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("flowprop");
	TCase *t = tcase_create("flowprop");

	tcase_add_loop_test(t, every_row_is_whole, 0, FLOW_PROP_COUNT);
	tcase_add_test(t, unknown_names_are_refused);
	tcase_add_test(t, values_are_kept_in_one_spelling);
	tcase_add_test(t, a_bad_value_changes_nothing);
	tcase_add_test(t, what_they_come_to);
	tcase_add_test(t, copies_are_deep);
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
