/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The back-off of repairs by a clock of its own. */
#include "vnicd/repair.h"

#include <check.h>
#include <stdlib.h>

#define S UINT64_C(1000000)

START_TEST(a_quarrel_ends_at_the_fifth_time)
{
	static const uint64_t waits[] = {0, 1 * S, 2 * S, 4 * S, REPAIR_NEVER, REPAIR_NEVER};
	struct repair r = {0};
	uint64_t now = 7 * S;

	for (int i = 0; i < 6; i++) {
		ck_assert_uint_eq(repair_next(&r, now), waits[i]);
		now += 10 * S;
	}
}
END_TEST

START_TEST(a_rare_change_is_put_right_at_once)
{
	struct repair r = {0};

	for (int i = 1; i < 50; i++)
		ck_assert_uint_eq(repair_next(&r, (uint64_t)i * 601 * S), 0);
}
END_TEST

START_TEST(a_slow_quarrel_waits_a_minute_at_most)
{
	/* One change in 170 s: four in ten minutes, so it goes on, slower and slower. */
	static const uint64_t waits[] = {0, 1, 2, 4, 8, 16, 32, 60, 60, 60};
	struct repair r = {0};

	for (unsigned i = 0; i < 40; i++)
		ck_assert_uint_eq(repair_next(&r, (i + 1) * 170 * S), (i < 10 ? waits[i] : 60) * S);
}
END_TEST

START_TEST(after_quiet_minutes_it_begins_anew)
{
	struct repair r = {0};

	for (int i = 0; i < 4; i++)
		repair_next(&r, (uint64_t)(i + 1) * S);
	ck_assert_uint_eq(repair_next(&r, 4 * S + REPAIR_WINDOW_US), 0);
	ck_assert_uint_eq(repair_next(&r, 5 * S + REPAIR_WINDOW_US), 1 * S);
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("repair");
	TCase *t = tcase_create("repair");

	tcase_add_test(t, a_quarrel_ends_at_the_fifth_time);
	tcase_add_test(t, a_rare_change_is_put_right_at_once);
	tcase_add_test(t, a_slow_quarrel_waits_a_minute_at_most);
	tcase_add_test(t, after_quiet_minutes_it_begins_anew);
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
