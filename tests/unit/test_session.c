/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Sessions and server over real sockets, with a request_handle() of the test's own (the linker wraps it in).
 */
#include "lib/ipc/frame.h"
#include "vnicd/log.h"
#include "vnicd/request.h"
#include "vnicd/server.h"
#include "vnicd/session.h"

#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

static sd_event *event;
static struct session *session;
static int peer = -1;
static struct frame_buf in;
static struct err e;

static struct call *kept; /* a call that is answered later */
static int gone, handled;

static void on_gone(void *arg)
{
	ck_assert_ptr_eq(arg, &kept);
	kept = NULL;
	gone++;
}

static void keep(struct call *c)
{
	kept = c;
	call_on_gone(c, on_gone, &kept);
	if (call_more(c))
		call_reply(c, json_pack("{s:i}", "i", 0), true);
}

static void echo(struct call *c)
{
	call_reply(c, json_incref(call_params(c)), false);
}

static void go_wrong(struct call *c)
{
	err_user(&e, -EINVAL, "vnic1", "cut in a character: \xc3");
	call_fail(c, &e);
}

static void change(struct call *c)
{
	if (call_may_change(c))
		call_reply(c, NULL, false);
	else
		call_denied(c);
}

static void big(struct call *c)
{
	char *text = calloc(1, 3u << 20);

	memset(text, 'x', (3u << 20) - 1);
	call_reply(c, json_pack("{s:s}", "x", text), false);
	free(text);
}

static void invalid(struct call *c)
{
	call_invalid(c, "link");
}

static const struct {
	const char *name;
	void (*answer)(struct call *c);
} methods[] = {
	{"Echo", echo},     {"Keep", keep}, {"Fail", go_wrong},
	{"Change", change}, {"Big", big},   {"Invalid", invalid},
};

void __wrap_request_handle(struct daemon *d, struct call *c);
void __wrap_request_handle(struct daemon *d, struct call *c)
{
	ck_assert_ptr_null(d);
	handled++;
	for (size_t i = 0; i < sizeof(methods) / sizeof(methods[0]); i++) {
		if (!strcmp(methods[i].name, call_method(c))) {
			methods[i].answer(c);
			return;
		}
	}
	call_not_found(c);
}

/* Runs the loop until it has nothing to do. */
static void pump(void)
{
	while (sd_event_run(event, 0) > 0)
		;
}

static int start_session(void)
{
	int fds[2];

	ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, fds), 0);
	ck_assert_int_eq(session_new(NULL, event, fds[0], &session, &e), 0);
	return fds[1];
}

static void setup(void)
{
	log_set_level(LOG_ERR_);
	ck_assert_int_ge(sd_event_new(&event), 0);
	peer = start_session();
	in.max = FRAME_MAX;
}

static void teardown(void)
{
	session_close_all();
	if (peer >= 0)
		close(peer);
	sd_event_unref(event);
	frame_done(&in);
}

static void say_bytes(const char *bytes, size_t len)
{
	ck_assert_int_eq(send(peer, bytes, len, MSG_NOSIGNAL), (ssize_t)len);
}

/* Sends one frame, its NUL included. */
static void say(const char *frame)
{
	say_bytes(frame, strlen(frame) + 1);
}

/* The next frame as text, NULL when none comes; "eof" when the other side has closed. */
static const char *hear(void)
{
	static char text[4096], bytes[1 << 16];
	json_t *frame = NULL;
	size_t len;
	ssize_t n;

	for (;;) {
		pump();
		if (frame_next(&in, &frame, &e) > 0)
			break;
		n = recv(peer, bytes, sizeof(bytes), 0);
		if (n == 0)
			return "eof";
		if (n < 0)
			return errno == EAGAIN ? NULL : "eof";
		ck_assert_int_eq(frame_feed(&in, bytes, (size_t)n, &e), 0);
	}
	len = json_dumpb(frame, text, sizeof(text) - 1, JSON_COMPACT | JSON_SORT_KEYS);
	text[len < sizeof(text) ? len : 0] = '\0';
	json_decref(frame);
	return text;
}

static const struct {
	const char *say, *hear;
} talks[] = {
	{"{\"method\":\"org.vnicd.Echo\",\"parameters\":{\"a\":1}}", "{\"parameters\":{\"a\":1}}"},
	{"{\"method\":\"org.vnicd.Echo\"}", "{\"parameters\":{}}"},
	{"{\"method\":\"org.vnicd.Echo\",\"parameters\":null}", "{\"parameters\":{}}"},
	{"{\"method\":\"org.vnicd.Echo\",\"parameters\":[1]}",
	 "{\"error\":\"org.varlink.service.InvalidParameter\",\"parameters\":{\"parameter\":\"parameters\"}"
	 "}"},
	{"{\"method\":\"org.vnicd.Change\"}", "{\"parameters\":{}}"},
	{"{\"method\":\"org.vnicd.Fail\"}",
	 "{\"error\":\"org.vnicd.Failed\",\"parameters\":{\"mend\":true,\"object\":"
	 "\"vnic1\",\"text\":\"cut in a character: ?\"}}"},
	{"{\"method\":\"org.vnicd.Invalid\"}",
	 "{\"error\":\"org.varlink.service.InvalidParameter\",\"parameters\":{\"parameter\":\"link\"}}"},
	{"{\"method\":\"org.vnicd.Nothing\"}", "{\"error\":\"org.varlink.service.MethodNotFound\","
					       "\"parameters\":{\"method\":\"org.vnicd.Nothing\"}}"},
	{"{\"method\":\"org.vnic.Echo\"}",
	 "{\"error\":\"org.varlink.service.InterfaceNotFound\",\"parameters\":{\"interface\":\"org.vnic\"}}"},
	{"{\"method\":\"org.vnicd.x.Echo\"}", "{\"error\":\"org.varlink.service.InterfaceNotFound\","
					      "\"parameters\":{\"interface\":\"org.vnicd.x\"}}"},
	{"{\"method\":\"Echo\"}",
	 "{\"error\":\"org.varlink.service.InvalidParameter\",\"parameters\":{\"parameter\":\"method\"}}"},
	{"{\"method\":\"org.vnicd.\"}",
	 "{\"error\":\"org.varlink.service.InvalidParameter\",\"parameters\":{\"parameter\":\"method\"}}"},
	{"{\"method\":\"org.varlink.service.GetInfo\"}",
	 "{\"parameters\":{\"interfaces\":[\"org.varlink.service\",\"org.vnicd\"],\"product\":\"vnicd\","
	 "\"url\":"
	 "\"man:vnicd(8)\",\"vendor\":\"vnicd\",\"version\":\"" VERSION "\"}}"},
	{"{\"method\":\"org.varlink.service.GetInterfaceDescription\",\"parameters\":{\"interface\":\"a.b\"}"
	 "}",
	 "{\"error\":\"org.varlink.service.InterfaceNotFound\",\"parameters\":{\"interface\":\"a.b\"}}"},
	{"{\"method\":\"org.varlink.service.GetInterfaceDescription\"}",
	 "{\"error\":\"org.varlink.service.InvalidParameter\",\"parameters\":{\"parameter\":\"interface\"}}"},
	{"{\"method\":\"org.varlink.service.Nothing\"}",
	 "{\"error\":\"org.varlink.service.MethodNotFound\",\"parameters\":{\"method\":"
	 "\"org.varlink.service.Nothing\"}}"},
};

START_TEST(talk)
{
	say(talks[_i].say);
	ck_assert_str_eq(hear(), talks[_i].hear);
	/* The connection goes on after every one of them. */
	say(talks[0].say);
	ck_assert_str_eq(hear(), talks[0].hear);
}
END_TEST

START_TEST(description)
{
	static char want[65536];
	FILE *f = fopen("lib/ipc/org.vnicd.varlink", "re");
	json_t *frame;
	char bytes[65536];
	ssize_t n;

	if (!f)
		return; /* not run from the top of the tree */
	want[fread(want, 1, sizeof(want) - 1, f)] = '\0';
	fclose(f);
	say("{\"method\":\"org.varlink.service.GetInterfaceDescription\",\"parameters\":{\"interface\":\"org."
	    "vnicd\"}}");
	pump();
	n = recv(peer, bytes, sizeof(bytes), 0);
	ck_assert_int_gt(n, 0);
	ck_assert_int_eq(frame_feed(&in, bytes, (size_t)n, &e), 0);
	ck_assert_int_eq(frame_next(&in, &frame, &e), 1);
	ck_assert_str_eq(
		json_string_value(json_object_get(json_object_get(frame, "parameters"), "description")),
		want);
	json_decref(frame);
}
END_TEST

START_TEST(order_and_pipelining)
{
	char want[64];

	say("{\"method\":\"org.vnicd.Keep\"}");
	for (int i = 0; i < 100; i++) {
		snprintf(want, sizeof(want), "{\"method\":\"org.vnicd.Echo\",\"parameters\":{\"i\":%d}}", i);
		say(want);
	}
	ck_assert_ptr_null(hear());
	ck_assert_int_eq(handled, 1);
	call_reply(kept, json_pack("{s:b}", "kept", 1), false);
	ck_assert_int_eq(gone, 1);
	ck_assert_str_eq(hear(), "{\"parameters\":{\"kept\":true}}");
	for (int i = 0; i < 100; i++) {
		snprintf(want, sizeof(want), "{\"parameters\":{\"i\":%d}}", i);
		ck_assert_str_eq(hear(), want);
	}
}
END_TEST

START_TEST(bytes_one_by_one)
{
	const char *frame = "{\"method\":\"org.vnicd.Echo\"}";

	for (size_t i = 0; i <= strlen(frame); i++) {
		ck_assert_ptr_null(hear());
		say_bytes(frame + i, 1);
	}
	ck_assert_str_eq(hear(), "{\"parameters\":{}}");
}
END_TEST

START_TEST(stream)
{
	say("{\"method\":\"org.vnicd.Keep\",\"more\":true}");
	ck_assert_str_eq(hear(), "{\"continues\":true,\"parameters\":{\"i\":0}}");
	call_reply(kept, json_pack("{s:i}", "i", 1), true);
	call_reply(kept, json_pack("{s:i}", "i", 2), true);
	ck_assert_str_eq(hear(), "{\"continues\":true,\"parameters\":{\"i\":1}}");
	ck_assert_str_eq(hear(), "{\"continues\":true,\"parameters\":{\"i\":2}}");
	ck_assert_int_eq(gone, 0);
	close(peer);
	peer = -1;
	pump();
	ck_assert_int_eq(gone, 1);
	ck_assert_ptr_null(kept);
}
END_TEST

START_TEST(stream_to_a_peer_gone)
{
	say("{\"method\":\"org.vnicd.Keep\",\"more\":true}");
	pump();
	close(peer);
	peer = -1;
	/* The reply that finds it out does not end the call under its caller. */
	call_reply(kept, json_pack("{s:i}", "i", 1), true);
	ck_assert_int_eq(gone, 0);
	call_reply(kept, json_pack("{s:i}", "i", 2), true);
	pump();
	ck_assert_int_eq(gone, 1);
}
END_TEST

START_TEST(oneway)
{
	say("{\"method\":\"org.vnicd.Echo\",\"oneway\":true}");
	say("{\"method\":\"org.vnicd.Nothing\",\"oneway\":true}");
	say("{\"method\":\"org.vnicd.Keep\",\"oneway\":true,\"more\":true}");
	ck_assert_ptr_null(hear());
	ck_assert_int_eq(handled, 3);
	call_reply(kept, NULL, false);
	say("{\"method\":\"org.vnicd.Echo\"}");
	ck_assert_str_eq(hear(), "{\"parameters\":{}}");
}
END_TEST

/* What was sent before the peer went is done: so a oneway call may be the last thing it says. */
START_TEST(said_and_gone)
{
	for (int i = 0; i < 3; i++)
		say("{\"method\":\"org.vnicd.Echo\",\"oneway\":true}");
	close(peer);
	peer = -1;
	pump();
	ck_assert_int_eq(handled, 3);
}
END_TEST

START_TEST(half_closed)
{
	say("{\"method\":\"org.vnicd.Keep\"}");
	say("{\"method\":\"org.vnicd.Echo\"}");
	shutdown(peer, SHUT_WR);
	ck_assert_ptr_null(hear());
	call_reply(kept, NULL, false);
	ck_assert_str_eq(hear(), "{\"parameters\":{}}");
	ck_assert_str_eq(hear(), "{\"parameters\":{}}");
	ck_assert_str_eq(hear(), "eof");
}
END_TEST

static const char *const no_calls[] = {
	"", "[]", "{", "{}", "{\"method\":1}", "\"x\"", "{\"method\":\"\xff.x\"}"};

START_TEST(no_call)
{
	const char *answer;

	say(no_calls[_i]);
	answer = hear();
	ck_assert_ptr_nonnull(answer);
	ck_assert_msg(!strncmp(answer, "{\"error\":\"org.vnicd.Failed\"", 27), "%s", answer);
	ck_assert_str_eq(hear(), "eof");
	ck_assert_int_eq(handled, 0);
}
END_TEST

START_TEST(too_large)
{
	static char junk[1 << 16];
	ssize_t n = 0;

	memset(junk, 'x', sizeof(junk));
	for (int i = 0; i < 80 && n >= 0; i++) {
		n = send(peer, junk, sizeof(junk), MSG_NOSIGNAL);
		pump();
	}
	ck_assert_int_lt(n, 0);
	ck_assert_str_eq(strstr(hear(), "org.vnicd.Failed") ? "refused" : "taken", "refused");
	ck_assert_str_eq(hear(), "eof");
}
END_TEST

START_TEST(slow_reader)
{
	/* Calls wait while a reply does: memory stays bounded without dropping the client. */
	for (int i = 0; i < 8; i++)
		say("{\"method\":\"org.vnicd.Big\"}");
	pump();
	ck_assert_int_eq(handled, 1);
	for (int i = 0; i < 8; i++)
		ck_assert_ptr_nonnull(hear());
	ck_assert_int_eq(handled, 8);
}
END_TEST

START_TEST(stream_without_reader)
{
	char *text = calloc(1, 1u << 20);
	int i;

	memset(text, 'x', (1u << 20) - 1);
	say("{\"method\":\"org.vnicd.Keep\",\"more\":true}");
	pump();
	for (i = 0; i < 100 && !gone; i++) {
		call_reply(kept, json_pack("{s:s}", "x", text), true);
		pump();
	}
	free(text);
	ck_assert_int_ge(i, (int)(SESSION_QUEUE_MAX >> 20) - 1);
	ck_assert_int_eq(gone, 1);
}
END_TEST

START_TEST(closing_ends_calls)
{
	say("{\"method\":\"org.vnicd.Keep\",\"more\":true}");
	pump();
	session_close_all();
	ck_assert_int_eq(gone, 1);
}
END_TEST

START_TEST(too_many)
{
	int fds[SESSION_MAX], extra[2];
	char text[256] = "";

	for (unsigned i = 1; i < SESSION_MAX; i++)
		fds[i] = start_session();
	ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, extra), 0);
	ck_assert_int_eq(session_new(NULL, event, extra[0], &session, &e), -EUSERS);
	ck_assert_int_gt(recv(extra[1], text, sizeof(text), 0), 0);
	ck_assert_ptr_nonnull(strstr(text, "too many clients"));
	ck_assert_int_eq(recv(extra[1], text, sizeof(text), 0), 0);
	close(extra[1]);
	/* One goes, one comes. */
	close(fds[1]);
	pump();
	fds[1] = start_session();
	for (unsigned i = 1; i < SESSION_MAX; i++)
		close(fds[i]);
}
END_TEST

/* A session whose peer is uid with only this supplementary group; credentials are taken when the pair is
 * made. */
static bool may(uid_t uid, gid_t gid, gid_t extra)
{
	pid_t pid = fork();
	int status;

	if (pid == 0) {
		/* An event loop does not cross a fork. */
		if (sd_event_new(&event) < 0 || setgroups(1, &extra) < 0 || setresgid(gid, gid, gid) < 0 ||
		    setresuid(uid, uid, uid) < 0)
			_exit(2);
		peer = start_session();
		say("{\"method\":\"org.vnicd.Change\"}");
		_exit(!strstr(hear(), "PermissionDenied"));
	}
	waitpid(pid, &status, 0);
	ck_assert(WIFEXITED(status) && WEXITSTATUS(status) < 2);
	return WEXITSTATUS(status);
}

#define GROUP 4242

/* Makes group vnicd, for this process alone. */
static bool make_group(void)
{
	char name[] = "/tmp/test_session.group.XXXXXX";
	int fd = mkstemp(name), r;

	ck_assert_int_ge(dprintf(fd, "root:x:0:\nvnicd:x:%d:\n", GROUP), 0);
	ck_assert_int_eq(fchmod(fd, 0644), 0);
	close(fd);
	r = mount(name, "/etc/group", NULL, MS_BIND, NULL);
	unlink(name);
	return r == 0;
}

START_TEST(who_may_change)
{
	if (unshare(CLONE_NEWNS) < 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
	    mount("/dev/null", "/etc/group", NULL, MS_BIND, NULL) < 0)
		return; /* not root */
	ck_assert(may(0, 0, 0));
	ck_assert(may(0, 65534, 65534));
	ck_assert(!may(65534, 65534, 65534));
	ck_assert(!may(65534, 0, 0));
	ck_assert(!may(65534, GROUP, GROUP));
	/* The group comes while we run. */
	ck_assert(make_group());
	ck_assert(may(65534, GROUP, 65534));
	ck_assert(may(65534, 65534, GROUP));
	ck_assert(!may(65534, 65534, 65534));
	ck_assert(may(0, 65534, 65534));
}
END_TEST

/* ---- the server, in a network namespace of its own: the lock is one per namespace ---- */

static char dir[64], path[128];

static bool server_setup(void)
{
	if (unshare(CLONE_NEWNET) < 0)
		return false;
	snprintf(dir, sizeof(dir), "/tmp/test_session.XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(dir));
	snprintf(path, sizeof(path), "%s/run/vnicd.sock", dir);
	return true;
}

static void server_teardown(void)
{
	char run[80];

	snprintf(run, sizeof(run), "%s/run", dir);
	rmdir(run);
	ck_assert_int_eq(rmdir(dir), 0);
}

static int dial(void)
{
	struct sockaddr_un addr = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

	strcpy(addr.sun_path, path);
	if (connect(fd, (struct sockaddr *)&addr, sizeof(addr)) == 0)
		return fd;
	close(fd);
	return -errno;
}

START_TEST(serves)
{
	struct server *s = NULL;
	struct stat st;

	if (!server_setup())
		return;
	ck_assert_int_eq(server_lock(event, &s, &e), 0);
	ck_assert_int_lt(dial(), 0);
	ck_assert_msg(server_listen(s, NULL, path, &e) == 0, "%s", e.text);
	ck_assert_int_eq(stat(path, &st), 0);
	ck_assert_uint_eq(st.st_mode, S_IFSOCK | 0666);
	close(peer);
	peer = dial();
	ck_assert_int_ge(peer, 0);
	say("{\"method\":\"org.vnicd.Echo\"}");
	ck_assert_str_eq(hear(), "{\"parameters\":{}}");
	server_close(s);
	ck_assert_str_eq(hear(), "eof");
	ck_assert_int_lt(stat(path, &st), 0);
	server_teardown();
}
END_TEST

START_TEST(second_is_refused)
{
	struct server *s = NULL, *second = NULL;
	char want[128];

	if (!server_setup())
		return;
	snprintf(want, sizeof(want),
		 "this network namespace is managed by another vnicd, pid %d: stop that one first", getpid());
	ck_assert_int_eq(server_lock(event, &s, &e), 0);
	/* However often it is asked, with the loop running now and then. */
	for (int i = 0; i < 40; i++) {
		ck_assert_int_eq(server_lock(event, &second, &e), -EBUSY);
		ck_assert_str_eq(e.text, want);
		ck_assert(e.mend && !second);
		pump();
	}
	server_close(s);
	ck_assert_int_eq(server_lock(event, &second, &e), 0);
	server_close(second);
	server_teardown();
}
END_TEST

START_TEST(places)
{
	struct server *s = NULL, *other = NULL;
	char long_path[200], want[128];
	int fd;

	if (!server_setup())
		return;
	ck_assert_int_eq(server_lock(event, &s, &e), 0);
	memset(long_path, 'x', sizeof(long_path) - 1);
	long_path[sizeof(long_path) - 1] = '\0';
	ck_assert_int_eq(server_listen(s, NULL, long_path, &e), -ENAMETOOLONG);
	server_close(s);
	/* A stale socket: made, bound, its owner gone. */
	ck_assert_int_eq(server_lock(event, &s, &e), 0);
	ck_assert_int_eq(server_listen(s, NULL, path, &e), 0);
	/* Another vnicd, of another namespace, at the same place. */
	ck_assert_int_eq(unshare(CLONE_NEWNET), 0);
	ck_assert_int_eq(server_lock(event, &other, &e), 0);
	ck_assert_int_eq(server_listen(other, NULL, path, &e), -EBUSY);
	snprintf(want, sizeof(want), "is served by another vnicd, pid %d: give another --socket", getpid());
	ck_assert_str_eq(e.text, want);
	server_close(other);
	server_close(s);
	fd = open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
	close(fd);
	ck_assert_int_eq(server_lock(event, &s, &e), 0);
	ck_assert_int_eq(server_listen(s, NULL, path, &e), -EEXIST);
	server_close(s);
	unlink(path);
	server_teardown();
}
END_TEST

START_TEST(stale_is_replaced)
{
	struct server *s = NULL;
	pid_t pid;

	if (!server_setup())
		return;
	pid = fork();
	if (pid == 0) {
		if (sd_event_new(&event) >= 0 && server_lock(event, &s, NULL) == 0 &&
		    server_listen(s, NULL, path, NULL) == 0)
			_exit(0);
		_exit(1);
	}
	waitpid(pid, NULL, 0);
	ck_assert_int_eq(access(path, F_OK), 0);
	ck_assert_int_eq(dial(), -ECONNREFUSED);
	ck_assert_int_eq(server_lock(event, &s, &e), 0);
	ck_assert_msg(server_listen(s, NULL, path, &e) == 0, "%s", e.text);
	ck_assert_int_ge(peer = dial(), 0);
	server_close(s);
	server_teardown();
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("session");
	TCase *t = tcase_create("session");
	SRunner *runner;
	int failed;

	tcase_add_checked_fixture(t, setup, teardown);
	tcase_add_loop_test(t, talk, 0, (int)(sizeof(talks) / sizeof(talks[0])));
	tcase_add_test(t, description);
	tcase_add_test(t, order_and_pipelining);
	tcase_add_test(t, bytes_one_by_one);
	tcase_add_test(t, stream);
	tcase_add_test(t, stream_to_a_peer_gone);
	tcase_add_test(t, oneway);
	tcase_add_test(t, said_and_gone);
	tcase_add_test(t, half_closed);
	tcase_add_loop_test(t, no_call, 0, (int)(sizeof(no_calls) / sizeof(no_calls[0])));
	tcase_add_test(t, too_large);
	tcase_add_test(t, slow_reader);
	tcase_add_test(t, stream_without_reader);
	tcase_add_test(t, closing_ends_calls);
	tcase_add_test(t, too_many);
	tcase_add_test(t, who_may_change);
	tcase_add_test(t, serves);
	tcase_add_test(t, second_is_refused);
	tcase_add_test(t, places);
	tcase_add_test(t, stale_is_replaced);
	suite_add_tcase(suite, t);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed != 0;
}
