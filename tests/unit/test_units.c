/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Bandwidths and MAC addresses: what is taken, what is refused and with which words. */
#include "lib/base/units.h"

#include <check.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define COUNT(a) ((int)(sizeof(a) / sizeof((a)[0])))

static const struct {
	const char *text;
	enum bw_kind kind;
	uint64_t value;
	const char *canonical;
} taken[] = {
	{"100M", BW_RATE, 100000000, "100M"},
	{"1.5G", BW_RATE, 1500000000, "1.5G"},
	{"64K", BW_RATE, 64000, "64K"},
	{"400G", BW_RATE, BW_MAX, "400G"},
	{"100", BW_RATE, 100000000, "100M"},
	{"1", BW_RATE, 1000000, "1M"},
	{"0.064", BW_RATE, 64000, "64K"},
	{"2.5", BW_RATE, 2500000, "2.5M"},
	{"100m", BW_RATE, 100000000, "100M"},
	{"1g", BW_RATE, 1000000000, "1G"},
	{"64k", BW_RATE, 64000, "64K"},
	{"100mbit", BW_RATE, 100000000, "100M"},
	{"100kbit", BW_RATE, 100000, "100K"},
	{"1gbit", BW_RATE, 1000000000, "1G"},
	{"1.5Gbit", BW_RATE, 1500000000, "1.5G"},
	{"100MBIT", BW_RATE, 100000000, "100M"},
	{"1234.567K", BW_RATE, 1234567, "1234.567K"},
	{"1.234567M", BW_RATE, 1234567, "1234.567K"},
	{"1.234567891G", BW_RATE, 1234567891, "1234567.891K"},
	{"1.2345670G", BW_RATE, 1234567000, "1234.567M"},
	{"1.50000000000000G", BW_RATE, 1500000000, "1.5G"},
	{"0000100M", BW_RATE, 100000000, "100M"},
	{"399.999999999G", BW_RATE, 399999999999, "399999999.999K"},
	{"400000000K", BW_RATE, BW_MAX, "400G"},
	{"400000", BW_RATE, BW_MAX, "400G"},
	{"25%", BW_PERCENT, 25, "25%"},
	{"1%", BW_PERCENT, 1, "1%"},
	{"100%", BW_PERCENT, 100, "100%"},
	{"none", BW_NONE, 0, "none"},
	{"blocked", BW_BLOCKED, 0, "blocked"},
};

START_TEST(bw_taken)
{
	struct bw bw = {.kind = BW_UNSET}, again;
	struct err e = {0};
	char buf[32];

	ck_assert_msg(bw_parse(taken[_i].text, "maxbw", &bw, &e) == 0, "%s: %s", taken[_i].text, e.text);
	ck_assert_int_eq(bw.kind, taken[_i].kind);
	ck_assert_uint_eq(bw.value, taken[_i].value);
	ck_assert_str_eq(bw_str(bw, buf, sizeof(buf)), taken[_i].canonical);
	ck_assert_int_eq(bw_parse(buf, "maxbw", &again, NULL), 0);
	ck_assert(again.kind == bw.kind && again.value == bw.value);
}
END_TEST

#define RANGE "out of range: 64K to 400G"
#define ZERO  "say none for no limit, or blocked to drop everything"
#define NONSENSE                                                                                             \
	"not a bandwidth: say a rate like 100M, 1.5G or 64K (bit/s; a bare number is Mbit/s), a share like " \
	"25%, none or blocked"
static const struct {
	const char *text;
	int code;
	const char *why;
} refused[] = {
	{"63.999K", -ERANGE, RANGE},
	{"400.000000001G", -ERANGE, RANGE},
	{"401G", -ERANGE, RANGE},
	{"400001", -ERANGE, RANGE},
	{"18446744073709551616", -ERANGE, RANGE},
	{"18446744073709.551616M", -ERANGE, RANGE},
	{"99999999999999999999999999999999999999G", -ERANGE, RANGE},
	{"64.0001K", -EINVAL, "not a whole number of bits per second"},
	{"1.2345678901G", -EINVAL, "not a whole number of bits per second"},
	{"0.00000000000001G", -EINVAL, "not a whole number of bits per second"},
	{"0", -EINVAL, ZERO},
	{"0M", -EINVAL, ZERO},
	{"0.00", -EINVAL, ZERO},
	{"0%", -EINVAL, ZERO},
	{"101%", -EINVAL, "a share is a whole number from 1% to 100%"},
	{"12.5%", -EINVAL, "a share is a whole number from 1% to 100%"},
	{"10MB", -EINVAL, "bytes are not meant here: say 80M for 80 Mbit/s"},
	{"1.5GB", -EINVAL, "bytes are not meant here: say 12G for 12 Gbit/s"},
	{"100MBps", -EINVAL, "bytes are not meant here: say 800M for 800 Mbit/s"},
	{"100MB/s", -EINVAL, "bytes are not meant here: say 800M for 800 Mbit/s"},
	{"400GB", -EINVAL, "bytes are not meant here: K, M and G are decimal bit/s, from 64K to 400G"},
	{"10Mi", -EINVAL, "powers of 1024 are not meant here: say 10485.76K for 10485.76 Kbit/s"},
	{"64Kibit", -EINVAL, "powers of 1024 are not meant here: say 65.536K for 65.536 Kbit/s"},
	{"125MiB", -EINVAL, "bytes are not meant here: say 1048.576M for 1048.576 Mbit/s"},
	{"100Mb", -EINVAL, "bits need no b: say 100M for 100 Mbit/s"},
	{"100mbps", -EINVAL, "bits need no bps, which tc reads as bytes: say 100M for 100 Mbit/s"},
	{"100Mbit/s", -EINVAL, "bits need no bit/s: say 100M for 100 Mbit/s"},
	{"1T", -EINVAL, NONSENSE},
	{"100X", -EINVAL, NONSENSE},
	{"100bit", -EINVAL, NONSENSE},
	{"-1", -EINVAL, NONSENSE},
	{"+1", -EINVAL, NONSENSE},
	{" 1", -EINVAL, NONSENSE},
	{"1 M", -EINVAL, NONSENSE},
	{"1M ", -EINVAL, NONSENSE},
	{"1e9", -EINVAL, NONSENSE},
	{"0x10", -EINVAL, NONSENSE},
	{"0MB", -EINVAL, ZERO},
	{"1.", -EINVAL, NONSENSE},
	{".5G", -EINVAL, NONSENSE},
	{"1..5G", -EINVAL, NONSENSE},
	{"1,5G", -EINVAL, NONSENSE},
	{"25%%", -EINVAL, NONSENSE},
	{"%", -EINVAL, NONSENSE},
	{"None", -EINVAL, "not a bandwidth: did you mean none?"},
	{"nonesuch", -EINVAL, NONSENSE},
	{"inf", -EINVAL, NONSENSE},
};

START_TEST(bw_refused)
{
	struct bw bw = {.kind = BW_PERCENT, .value = 77};
	struct err e = {0};
	char want[512], got[640];

	ck_assert_int_eq(bw_parse(refused[_i].text, "maxbw", &bw, &e), refused[_i].code);
	snprintf(want, sizeof(want), "maxbw: %s: %s", refused[_i].text, refused[_i].why);
	ck_assert_str_eq(err_str(&e, got, sizeof(got)), want);
	ck_assert(e.mend && bw.kind == BW_PERCENT && bw.value == 77);
}
END_TEST

START_TEST(bw_empty_and_unset)
{
	struct bw bw;
	struct err e;
	char buf[32];

	ck_assert_int_eq(bw_parse("", "maxbw-rx", &bw, &e), -EINVAL);
	ck_assert_int_eq(strncmp(e.text, "nothing: not a bandwidth", 24), 0);
	ck_assert_str_eq(bw_str((struct bw){.kind = BW_UNSET}, buf, sizeof(buf)), "--");
}
END_TEST

/* Every text of a rate is read back as that rate. */
START_TEST(bw_round_trip)
{
	struct bw bw = {.kind = BW_RATE}, back;
	char buf[32];

	srandom(1);
	for (int i = 0; i < 100000; i++) {
		bw.value = BW_MIN + (((uint64_t)random() << 31) ^ (uint64_t)random()) % (BW_MAX - BW_MIN + 1);
		if (i % 3)
			bw.value -= bw.value % (i % 3 == 1 ? 1000 : 1000000);
		if (bw.value < BW_MIN)
			continue;
		ck_assert_int_eq(bw_parse(bw_str(bw, buf, sizeof(buf)), "x", &back, NULL), 0);
		ck_assert_msg(back.value == bw.value, "%s", buf);
	}
}
END_TEST

static const struct {
	double rate;
	const char *text;
} rates[] = {
	{0, "0"},         {-5, "0"},          {0.5, "0.5"},        {640, "640"},
	{999.4, "999"},   {999.6, "1K"},      {1000, "1K"},        {94712345, "94.7M"},
	{9996000, "10M"}, {99960000, "100M"}, {999499999, "999M"}, {999600000, "1G"},
	{1.2e9, "1.2G"},  {1.234e9, "1.23G"}, {4e11, "400G"},      {2.5e12, "2.5T"},
};

START_TEST(rate_scaled)
{
	char buf[32];

	ck_assert_str_eq(rate_human(rates[_i].rate, buf, sizeof(buf)), rates[_i].text);
	rate_human((double)INFINITY, buf, sizeof(buf));
	rate_human((double)NAN, buf, sizeof(buf));
	ck_assert_str_eq(buf, "0");
	ck_assert_uint_lt(strlen(rate_human(1e308, buf, sizeof(buf))), sizeof(buf));
}
END_TEST

static const struct {
	const char *text, *printed; /* printed NULL: refused */
} macs[] = {
	{"02:08:20:aa:bb:cc", "02:08:20:aa:bb:cc"},
	{"2:8:20:aa:bb:c", "02:08:20:aa:bb:0c"},
	{"2:8:20:AA:bB:C", "02:08:20:aa:bb:0c"},
	{"0:0:0:0:0:1", "00:00:00:00:00:01"},
	{"01:00:5e:00:00:01", NULL},
	{"ff:ff:ff:ff:ff:ff", NULL},
	{"0:0:0:0:0:0", NULL},
	{"2:8:20:aa:bb", NULL},
	{"2:8:20:aa:bb:c:d", NULL},
	{"2:8:20:aa:bb:", NULL},
	{":2:8:20:aa:bb", NULL},
	{"2::20:aa:bb:c", NULL},
	{"2:8:20:aa:bb:ccc", NULL},
	{"2:8:20:aa:bb:gg", NULL},
	{"2-8-20-aa-bb-cc", NULL},
	{"020820aabbcc", NULL},
	{" 2:8:20:aa:bb:cc", NULL},
	{"2:8:20:aa:bb:cc ", NULL},
	{"", NULL},
	{"random", NULL},
};

START_TEST(mac_texts)
{
	struct mac mac = {.b = {9}};
	struct err e = {0};
	char buf[18];

	if (macs[_i].printed) {
		ck_assert_int_eq(mac_parse(macs[_i].text, &mac, &e), 0);
		ck_assert_str_eq(mac_str(mac, buf), macs[_i].printed);
		return;
	}
	ck_assert_msg(mac_parse(macs[_i].text, &mac, &e) == -EINVAL, "%s", macs[_i].text);
	ck_assert(e.mend && e.text[0] && mac.b[0] == 9);
}
END_TEST

START_TEST(mac_prefixes)
{
	static const char *const bad[] = {"", "2:8:20:1:2:3", "1:2", "2:", "g", "2:8:20:"};
	struct mac p = {0};
	unsigned len = 99;

	ck_assert_int_eq(mac_prefix_parse("2:8:20", &p, &len, NULL), 0);
	ck_assert_uint_eq(len, 3);
	ck_assert(p.b[0] == 2 && p.b[1] == 8 && p.b[2] == 0x20);
	ck_assert_int_eq(mac_prefix_parse("2", &p, &len, NULL), 0);
	ck_assert_uint_eq(len, 1);
	for (int i = 0; i < COUNT(bad); i++)
		ck_assert_msg(mac_prefix_parse(bad[i], &p, &len, NULL) == -EINVAL, "%s", bad[i]);
}
END_TEST

START_TEST(mac_drawn)
{
	struct mac p = {.b = {2, 8, 0x20}}, a, b, c;

	ck_assert_int_eq(mac_random(p, 3, &a, NULL), 0);
	ck_assert_int_eq(mac_random(p, 3, &b, NULL), 0);
	ck_assert(!memcmp(a.b, p.b, 3) && !memcmp(b.b, p.b, 3));
	for (int i = 0; i < 1000; i++) {
		ck_assert_int_eq(mac_random((struct mac){0}, 0, &c, NULL), 0);
		ck_assert_int_eq(c.b[0] & 3, 2);
	}
	ck_assert(mac_equal(a, a) && !mac_equal(a, p));
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("units");
	TCase *t = tcase_create("units");
	SRunner *runner;
	int failed;

	tcase_add_loop_test(t, bw_taken, 0, COUNT(taken));
	tcase_add_loop_test(t, bw_refused, 0, COUNT(refused));
	tcase_add_test(t, bw_empty_and_unset);
	tcase_add_test(t, bw_round_trip);
	tcase_add_loop_test(t, rate_scaled, 0, COUNT(rates));
	tcase_add_loop_test(t, mac_texts, 0, COUNT(macs));
	tcase_add_test(t, mac_prefixes);
	tcase_add_test(t, mac_drawn);
	suite_add_tcase(suite, t);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed != 0;
}
