/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The frame splitter: whole frames out of any chunks, and a named refusal of everything that is not one. */
#include "lib/ipc/frame.h"

#include <check.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define COUNT(a) ((int)(sizeof(a) / sizeof((a)[0])))
#define MAX      1024u

/* Feeds bytes without their terminating NUL. */
static int feed(struct frame_buf *b, const char *text)
{
	return frame_feed(b, text, strlen(text), NULL);
}

static json_t *next(struct frame_buf *b)
{
	struct err e = {0};
	json_t *obj = NULL;

	ck_assert_msg(frame_next(b, &obj, &e) == 1, "%s", e.text);
	return obj;
}

static void next_is(struct frame_buf *b, const char *key, json_int_t value)
{
	json_t *obj = next(b);

	ck_assert_int_eq(json_integer_value(json_object_get(obj, key)), value);
	json_decref(obj);
}

static void none_left(struct frame_buf *b)
{
	json_t *obj = NULL;

	ck_assert_int_eq(frame_next(b, &obj, NULL), 0);
	ck_assert_ptr_null(obj);
}

START_TEST(one_frame)
{
	struct frame_buf b = {.max = MAX};

	none_left(&b);
	ck_assert_int_eq(feed(&b, "{\"a\":"), 0);
	none_left(&b);
	ck_assert_int_eq(feed(&b, "1}"), 0);
	none_left(&b);
	ck_assert_int_eq(frame_feed(&b, "", 1, NULL), 0);
	next_is(&b, "a", 1);
	none_left(&b);
	frame_done(&b);
}
END_TEST

START_TEST(several_frames_at_once)
{
	struct frame_buf b = {.max = MAX};
	static const char bytes[] = "{\"a\":1}\0{\"a\":2}\0{\"a\"";

	ck_assert_int_eq(frame_feed(&b, bytes, sizeof(bytes) - 1, NULL), 0);
	next_is(&b, "a", 1);
	next_is(&b, "a", 2);
	none_left(&b);
	ck_assert_int_eq(frame_feed(&b, ":3}", 4, NULL), 0);
	next_is(&b, "a", 3);
	none_left(&b);
	frame_done(&b);
}
END_TEST

/* What is no frame, with its NUL, and a word of the reason. */
#define BYTES(literal) literal, sizeof(literal)
static const struct {
	const char *bytes;
	size_t len;
	const char *why;
} bad[] = {
	{BYTES(""), "not JSON"},
	{BYTES(" "), "not JSON"},
	{BYTES("[]"), "not a JSON object"},
	{BYTES("1"), "not JSON"},
	{BYTES("\"a\""), "not JSON"},
	{BYTES("null"), "not JSON"},
	{BYTES("{"), "not JSON"},
	{BYTES("{\"a\":1"), "not JSON"},
	{BYTES("{\"a\":1}}"), "not JSON"},
	{BYTES("{} {}"), "not JSON"},
	{BYTES("{\"a\":1,\"a\":2}"), "not JSON"},
	{BYTES("{\"a\":\"\xff\"}"), "not JSON"},
	{BYTES("{\"a\":\"\xc0\x80\"}"), "not JSON"},
	{BYTES("{\"a\":\"\\u0000\"}"), "not JSON"},
	{BYTES("{\"\\u0000a\":1}"), "not JSON"},
	{BYTES("{\"a\":1e999}"), "not JSON"},
	{BYTES("{\"a\":99999999999999999999}"), "not JSON"},
	{BYTES("\xef\xbb\xbf{}"), "not JSON"},
	{BYTES("{\"a\":\"\n\"}"), "not JSON"},
	{BYTES("[[[[[[[[[[[[[[[[[]]]]]]]]]]]]]]]]]"), "deeper"},
	{BYTES("[[[[[[[[[[[[[[[[["), "deeper"},
};

START_TEST(bad_frame)
{
	struct frame_buf b = {.max = MAX};
	struct err e = {0};
	json_t *obj = NULL;

	ck_assert_int_eq(frame_feed(&b, bad[_i].bytes, bad[_i].len, NULL), 0);
	ck_assert_int_eq(frame_next(&b, &obj, &e), -EBADMSG);
	ck_assert_ptr_null(obj);
	ck_assert_int_eq(e.code, -EBADMSG);
	ck_assert_msg(strstr(e.text, bad[_i].why), "%s", e.text);
	/* It is out of the way of the next one. */
	ck_assert_int_eq(frame_feed(&b, "{\"a\":5}", 8, NULL), 0);
	next_is(&b, "a", 5);
	frame_done(&b);
}
END_TEST

/* A NUL inside a string ends the frame all the same: both halves are refused, and what follows is read. */
START_TEST(nul_in_a_string)
{
	static const char bytes[] = "{\"a\":\"x\0y\"}\0\0{\"a\":7}";
	struct frame_buf b = {.max = MAX};
	json_t *obj = NULL;

	ck_assert_int_eq(frame_feed(&b, bytes, sizeof(bytes), NULL), 0);
	for (int i = 0; i < 3; i++)
		ck_assert_int_eq(frame_next(&b, &obj, NULL), -EBADMSG);
	next_is(&b, "a", 7);
	none_left(&b);
	frame_done(&b);
}
END_TEST

static void feed_depth(struct frame_buf *b, unsigned depth)
{
	char text[256] = "{\"a\":";
	size_t n = strlen(text);

	for (unsigned i = 1; i < depth; i++)
		text[n++] = '[';
	if (depth == 1)
		text[n++] = '1';
	for (unsigned i = 1; i < depth; i++)
		text[n++] = ']';
	text[n++] = '}';
	text[n++] = '\0';
	ck_assert_int_eq(frame_feed(b, text, n, NULL), 0);
}

START_TEST(depth)
{
	struct frame_buf b = {.max = MAX};
	json_t *obj = NULL;

	for (unsigned d = 1; d <= FRAME_DEPTH_MAX; d++) {
		feed_depth(&b, d);
		json_decref(next(&b));
	}
	feed_depth(&b, FRAME_DEPTH_MAX + 1);
	ck_assert_int_eq(frame_next(&b, &obj, NULL), -EBADMSG);
	/* Brackets in a string are text, a quote behind a backslash too. */
	ck_assert_int_eq(feed(&b, "{\"a\":\"\\\"[[[[[[[[[[[[[[[[[[[[[{{{{{{{{{{{{{{{{{{{{\",\"b\":9}"), 0);
	ck_assert_int_eq(frame_feed(&b, "", 1, NULL), 0);
	next_is(&b, "b", 9);
	frame_done(&b);
}
END_TEST

/* A million brackets: refused without a stack for them. */
START_TEST(very_deep)
{
	struct frame_buf b = {.max = FRAME_REQUEST_MAX};
	size_t len = 1u << 20;
	char *text = malloc(len);
	json_t *obj = NULL;

	memset(text, '[', len - 1);
	text[len - 1] = '\0';
	ck_assert_int_eq(frame_feed(&b, text, len, NULL), 0);
	ck_assert_int_eq(frame_next(&b, &obj, NULL), -EBADMSG);
	free(text);
	frame_done(&b);
}
END_TEST

/* {"a":"xxx"} of exactly len bytes, without its NUL; caller frees. */
static char *long_frame(size_t len)
{
	char *text = malloc(len + 1);

	memset(text, 'x', len);
	memcpy(text, "{\"a\":\"", 6);
	strcpy(text + len - 2, "\"}");
	return text;
}

START_TEST(size_limit)
{
	char *fits = long_frame(MAX), *over = long_frame(MAX + 1);
	struct frame_buf b = {.max = MAX};
	struct err e;

	ck_assert_int_eq(frame_feed(&b, fits, MAX + 1, NULL), 0);
	json_decref(next(&b));
	/* Unfinished and too long, finished and too long: refused, and b is as it was. */
	ck_assert_int_eq(frame_feed(&b, over, MAX + 1, &e), -EMSGSIZE);
	ck_assert_int_eq(frame_feed(&b, over, MAX + 2, &e), -EMSGSIZE);
	ck_assert_msg(strstr(e.text, "1024 bytes"), "%s", e.text);
	none_left(&b);
	ck_assert_int_eq(frame_feed(&b, fits, MAX, NULL), 0);
	ck_assert_int_eq(frame_feed(&b, "}", 1, NULL), -EMSGSIZE);
	ck_assert_int_eq(frame_feed(&b, "", 1, NULL), 0);
	json_decref(next(&b));
	/* Many small frames may be longer together. */
	for (int i = 0; i < 1000; i++)
		ck_assert_int_eq(frame_feed(&b, "{\"a\":1}", 8, NULL), 0);
	for (int i = 0; i < 1000; i++)
		next_is(&b, "a", 1);
	none_left(&b);
	free(fits);
	free(over);
	frame_done(&b);
}
END_TEST

/* A small frame before an oversized one in one chunk: nothing of the chunk is taken. */
START_TEST(size_limit_behind_a_frame)
{
	char chunk[8 + MAX + 1], *over = long_frame(MAX + 1);
	struct frame_buf b = {.max = MAX};

	memcpy(chunk, "{\"a\":1}", 8);
	memcpy(chunk + 8, over, MAX + 1);
	ck_assert_int_eq(frame_feed(&b, chunk, sizeof(chunk), NULL), -EMSGSIZE);
	none_left(&b);
	free(over);
	frame_done(&b);
}
END_TEST

START_TEST(pack_and_back)
{
	json_t *obj = json_pack("{s:s, s:I, s:[n,b]}", "text", "a\"\\\n\x01 \xc3\xa9", "big",
				(json_int_t)400000000000, "list", 1);
	struct frame_buf b = {.max = MAX};
	json_t *back;
	char *bytes;
	size_t len;

	ck_assert_int_eq(frame_pack(obj, &bytes, &len, NULL), 0);
	ck_assert_uint_eq(strlen(bytes) + 1, len);
	ck_assert_int_eq(frame_feed(&b, bytes, len, NULL), 0);
	back = next(&b);
	ck_assert(json_equal(obj, back));
	json_decref(back);
	json_decref(obj);
	free(bytes);
	frame_done(&b);
}
END_TEST

START_TEST(pack_too_large)
{
	char *text = malloc(FRAME_MAX + 1);
	json_t *obj;
	char *bytes = NULL;
	size_t len = 0;

	memset(text, 'x', FRAME_MAX);
	text[FRAME_MAX] = '\0';
	obj = json_pack("{s:s}", "a", text);
	ck_assert_int_eq(frame_pack(obj, &bytes, &len, NULL), -EMSGSIZE);
	ck_assert_ptr_null(bytes);
	json_decref(obj);
	free(text);
}
END_TEST

/* Numbered frames of random lengths in chunks of random lengths come out whole and in order. */
START_TEST(random_chunks)
{
	enum { FRAMES = 300 };
	struct frame_buf b = {.max = MAX};
	char *stream = NULL;
	size_t len = 0, at = 0;
	FILE *out = open_memstream(&stream, &len);
	int seen = 0;

	srandom((unsigned)_i);
	for (int i = 0; i < FRAMES; i++)
		fprintf(out, "{\"n\":%d,\"pad\":\"%*s\"}%c", i, (int)(random() % 900), "", '\0');
	fclose(out);
	while (at < len) {
		size_t chunk = 1 + (size_t)random() % (random() % 8 ? 40 : 4000);
		json_t *obj;

		if (chunk > len - at)
			chunk = len - at;
		ck_assert_int_eq(frame_feed(&b, stream + at, chunk, NULL), 0);
		at += chunk;
		while (random() % 4 && frame_next(&b, &obj, NULL) == 1) {
			ck_assert_int_eq(json_integer_value(json_object_get(obj, "n")), seen++);
			json_decref(obj);
		}
	}
	while (seen < FRAMES)
		next_is(&b, "n", seen++);
	none_left(&b);
	free(stream);
	frame_done(&b);
}
END_TEST

/* Damaged frames: whatever comes, the splitter answers and the count of NULs is the count of answers. */
START_TEST(random_bytes)
{
	static const char alphabet[] = "{}[]\":,\\ \n01eEtruefalsenull\xff\xc3\xa9\x01";
	struct frame_buf b = {.max = MAX};
	long nuls = 0, answers = 0;

	srandom((unsigned)_i);
	for (int round = 0; round < 2000; round++) {
		char chunk[64];
		size_t n = 1 + (size_t)random() % sizeof(chunk);
		json_t *obj = NULL;
		long more = 0;
		int rc;

		for (size_t i = 0; i < n; i++) {
			chunk[i] = random() % 20 ? alphabet[(size_t)random() % (sizeof(alphabet) - 1)] : '\0';
			more += !chunk[i];
		}
		if (!frame_feed(&b, chunk, n, NULL))
			nuls += more;
		while ((rc = frame_next(&b, &obj, NULL))) {
			ck_assert(rc == 1 || rc == -EBADMSG);
			if (rc == 1)
				json_decref(obj);
			answers++;
		}
	}
	ck_assert_int_eq(nuls, answers);
	frame_done(&b);
}
END_TEST

static Suite *frame_suite(void)
{
	Suite *s = suite_create("frame");
	TCase *t = tcase_create("frame");

	tcase_set_timeout(t, 30);
	tcase_add_test(t, one_frame);
	tcase_add_test(t, several_frames_at_once);
	tcase_add_loop_test(t, bad_frame, 0, COUNT(bad));
	tcase_add_test(t, nul_in_a_string);
	tcase_add_test(t, depth);
	tcase_add_test(t, very_deep);
	tcase_add_test(t, size_limit);
	tcase_add_test(t, size_limit_behind_a_frame);
	tcase_add_test(t, pack_and_back);
	tcase_add_test(t, pack_too_large);
	tcase_add_loop_test(t, random_chunks, 0, 20);
	tcase_add_loop_test(t, random_bytes, 0, 20);
	suite_add_tcase(s, t);
	return s;
}

int main(void)
{
	SRunner *r = srunner_create(frame_suite());
	int failed;

	srunner_run_all(r, CK_ENV);
	failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
