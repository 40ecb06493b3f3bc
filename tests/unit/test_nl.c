/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Extended acknowledgements: recorded ones, synthetic ones, and every way to cut one short. Asks no kernel.
 */
#include "lib/nl/extack.h"

#include <check.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Linux 6.18 (little-endian) to a second `tc qdisc add dev lo root handle 1: htb`, request capped. */
static const unsigned char recorded[] = {
	0x4c, 0x00, 0x00, 0x00, 0x02, 0x00, 0x00, 0x03, 0x01, 0x00, 0x00, 0x00, 0x5f, 0x58, 0x00, 0x00,
	0xef, 0xff, 0xff, 0xff, 0x48, 0x00, 0x00, 0x00, 0x24, 0x00, 0x05, 0x06, 0x01, 0x00, 0x00, 0x00,
	0x00, 0x00, 0x00, 0x00, 0x27, 0x00, 0x01, 0x00, 0x45, 0x78, 0x63, 0x6c, 0x75, 0x73, 0x69, 0x76,
	0x69, 0x74, 0x79, 0x20, 0x66, 0x6c, 0x61, 0x67, 0x20, 0x6f, 0x6e, 0x2c, 0x20, 0x63, 0x61, 0x6e,
	0x6e, 0x6f, 0x74, 0x20, 0x6d, 0x6f, 0x64, 0x69, 0x66, 0x79, 0x00, 0x00,
};

/* A message under construction; requests of any size can be repeated in it. */
struct made {
	char *data;
	size_t len;
};

static void put(struct made *m, const void *data, size_t len)
{
	m->data = realloc(m->data, m->len + NLMSG_ALIGN(len));
	ck_assert_ptr_nonnull(m->data);
	memset(m->data + m->len, 0, NLMSG_ALIGN(len));
	memcpy(m->data + m->len, data, len);
	m->len += NLMSG_ALIGN(len);
}

static void put_attr(struct made *m, unsigned short type, const void *data, size_t len)
{
	struct nlattr a = {.nla_type = type, .nla_len = (unsigned short)(NLA_HDRLEN + len)};

	put(m, &a, sizeof(a));
	put(m, data, len);
}

static struct made start(unsigned short type, unsigned short flags, int code)
{
	struct nlmsghdr h = {.nlmsg_type = type, .nlmsg_flags = flags, .nlmsg_seq = 7};
	struct made m = {};

	put(&m, &h, sizeof(h));
	put(&m, &code, sizeof(code));
	return m;
}

static void put_request(struct made *m, size_t payload)
{
	struct nlmsghdr h = {.nlmsg_type = 36, .nlmsg_len = (unsigned)NLMSG_LENGTH(payload)};
	char *zeros = calloc(1, payload + 1);

	ck_assert_ptr_nonnull(zeros);
	put(m, &h, sizeof(h));
	if (payload)
		put(m, zeros, payload);
	free(zeros);
}

static void finish(struct made *m)
{
	((struct nlmsghdr *)m->data)->nlmsg_len = (unsigned)m->len;
}

START_TEST(recorded_bytes)
{
	unsigned char buf[sizeof(recorded)] __attribute__((aligned(4)));
	struct extack x;

	memcpy(buf, recorded, sizeof(buf));
	ck_assert_int_eq(extack_parse(buf, sizeof(buf), &x), 0);
	ck_assert_int_eq(x.code, -EEXIST);
	ck_assert_str_eq(x.text, "Exclusivity flag on, cannot modify");
	ck_assert_uint_eq(x.offset, 0);
}
END_TEST

/* The request is repeated where NETLINK_CAP_ACK is not known: the attributes come behind all of it. */
START_TEST(uncapped)
{
	static const size_t sizes[] = {0, 1, 20, 4096, 60000, 300000};

	for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
		struct made m = start(NLMSG_ERROR, NLM_F_ACK_TLVS, -EINVAL);
		unsigned missing = 9, offset = 44;
		struct extack x;

		put_request(&m, sizes[i]);
		put_attr(&m, NLMSGERR_ATTR_MSG, "no", 3);
		put_attr(&m, NLMSGERR_ATTR_OFFS, &offset, sizeof(offset));
		put_attr(&m, NLMSGERR_ATTR_MISS_TYPE, &missing, sizeof(missing));
		finish(&m);
		ck_assert_int_eq(extack_parse(m.data, m.len, &x), 0);
		ck_assert_int_eq(x.code, -EINVAL);
		ck_assert_str_eq(x.text, "no");
		ck_assert_uint_eq(x.offset, 44);
		ck_assert_uint_eq(x.missing, 9);
		free(m.data);
	}
}
END_TEST

START_TEST(warning_and_done)
{
	struct made m = start(NLMSG_DONE, NLM_F_MULTI | NLM_F_ACK_TLVS, -EOPNOTSUPP);
	struct extack x;

	put_attr(&m, NLMSGERR_ATTR_MSG, "not dumped", 11);
	finish(&m);
	ck_assert_int_eq(extack_parse(m.data, m.len, &x), 0);
	ck_assert_int_eq(x.code, -EOPNOTSUPP);
	ck_assert_str_eq(x.text, "not dumped");
	free(m.data);

	m = start(NLMSG_ERROR, NLM_F_ACK_TLVS | NLM_F_CAPPED, 0);
	put_request(&m, 0);
	put_attr(&m, NLMSGERR_ATTR_MSG, "mind this", 10);
	finish(&m);
	ck_assert_int_eq(extack_parse(m.data, m.len, &x), 0);
	ck_assert_int_eq(x.code, 0);
	ck_assert_str_eq(x.text, "mind this");
	free(m.data);
}
END_TEST

/* A text longer than we keep is cut; one without its NUL is ended by us. */
START_TEST(big_texts)
{
	char text[8192];

	memset(text, 'x', sizeof(text));
	for (size_t len = 0; len < sizeof(text); len = 3 * len + 1) {
		struct made m = start(NLMSG_ERROR, NLM_F_ACK_TLVS | NLM_F_CAPPED, -EPERM);
		struct extack x;

		put_request(&m, 0);
		put_attr(&m, NLMSGERR_ATTR_MSG, text, len);
		finish(&m);
		ck_assert_int_eq(extack_parse(m.data, m.len, &x), 0);
		ck_assert_uint_eq(strlen(x.text), len < sizeof(x.text) ? len : sizeof(x.text) - 1);
		free(m.data);
	}
}
END_TEST

/* Each length of the recorded message, in memory of just that size for the sanitizers to watch. */
START_TEST(cut_short)
{
	for (size_t len = 0; len < sizeof(recorded); len++) {
		unsigned char *copy = malloc(len + 1);
		struct extack x = {.code = 1};
		unsigned claimed = (unsigned)len;

		ck_assert_ptr_nonnull(copy);
		memcpy(copy, recorded, len);
		ck_assert_int_eq(extack_parse(copy, len, &x), -EBADMSG);
		ck_assert_int_eq(x.code, 1);
		if (len >= sizeof(claimed))
			memcpy(copy, &claimed, sizeof(claimed));
		ck_assert_int_eq(extack_parse(copy, len, &x), len < 20 ? -EBADMSG : 0);
		free(copy);
	}
}
END_TEST

/* Attributes whose lengths lie, and every single byte turned over: no crash, a code or -EBADMSG. */
START_TEST(hostile)
{
	unsigned char buf[sizeof(recorded)];
	struct extack x;

	for (size_t at = 0; at < sizeof(buf); at++)
		for (int with = 0; with < 256; with++) {
			memcpy(buf, recorded, sizeof(buf));
			buf[at] = (unsigned char)with;
			if (!extack_parse(buf, sizeof(buf), &x))
				ck_assert_uint_lt(strlen(x.text), sizeof(x.text));
		}
}
END_TEST

START_TEST(other_messages)
{
	struct made m = start(16, 0, 0);
	struct extack x;

	finish(&m);
	ck_assert_int_eq(extack_parse(m.data, m.len, &x), -EBADMSG);
	free(m.data);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("nl");
	TCase *t = tcase_create("extack");
	SRunner *r = srunner_create(s);
	int failed;

	suite_add_tcase(s, t);
	tcase_add_test(t, recorded_bytes);
	tcase_add_test(t, uncapped);
	tcase_add_test(t, warning_and_done);
	tcase_add_test(t, big_texts);
	tcase_add_test(t, cut_short);
	tcase_add_test(t, hostile);
	tcase_add_test(t, other_messages);
	srunner_run_all(r, CK_NORMAL);
	failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
