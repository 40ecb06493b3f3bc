/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* One connection to vnicd and the calls over it, one at a time; the only way out of a CLI. Never prints. */
#include "lib/ipc/client.h"
#include "lib/ipc/frame.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#define SOCKET_DEFAULT "/run/vnicd/vnicd.sock"
#define INTERFACE      "org.vnicd."
#define CHUNK          65536

struct client {
	int fd;
	bool continues; /* the call under way has more replies to come */
	struct frame_buf in;
};

static int unreachable(const char *path, int code, struct err *e)
{
	bool not_running = code == -ENOENT || code == -ECONNREFUSED;

	return err_sys(e, code, NULL, "cannot reach vnicd at %s: %s: %s", path, strerror(-code),
		       not_running ? "start it with 'systemctl start vnicd'"
				   : "say where it listens by --socket");
}

static int gone(struct err *e)
{
	return err_sys(e, -ECONNRESET, NULL, "vnicd went away before it answered: see 'journalctl -u vnicd'");
}

static const char *socket_path(const char *path)
{
	if (!path)
		path = getenv("VNICD_SOCKET");
	return path && *path ? path : SOCKET_DEFAULT;
}

static int connect_to(const char *path, int *ret_fd)
{
	struct sockaddr_un to = {.sun_family = AF_UNIX};
	int fd;

	if (strlen(path) >= sizeof(to.sun_path))
		return -ENAMETOOLONG;
	strcpy(to.sun_path, path);
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return -errno;
	if (connect(fd, (struct sockaddr *)&to, sizeof(to)) < 0) {
		int code = -errno;

		close(fd);
		return code;
	}
	*ret_fd = fd;
	return 0;
}

int client_open(const char *path, struct client **ret, struct err *e)
{
	struct client *c = calloc(1, sizeof(*c));
	int rc;

	if (!c)
		return err_nomem(e);
	c->in.max = FRAME_MAX;
	path = socket_path(path);
	rc = connect_to(path, &c->fd);
	if (rc) {
		free(c);
		return unreachable(path, rc, e);
	}
	*ret = c;
	return 0;
}

struct client *client_close(struct client *c)
{
	if (!c)
		return NULL;
	close(c->fd);
	frame_done(&c->in);
	free(c);
	return NULL;
}

/* A daemon that hangs up early may have said why: what cannot be sent shows when the reply is read. */
static void send_all(struct client *c, const char *data, size_t len)
{
	while (len) {
		ssize_t n = send(c->fd, data, len, MSG_NOSIGNAL);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return;
		data += n;
		len -= (size_t)n;
	}
}

static int send_call(struct client *c, const char *method, json_t *params, bool more, struct err *e)
{
	json_t *call = json_pack("{s:s+, s:O*, s:o*}", "method", INTERFACE, method, "parameters", params,
				 "more", more ? json_true() : NULL);
	char *frame;
	size_t len;
	int rc;

	if (!call)
		return err_nomem(e);
	rc = frame_pack(call, &frame, &len, e);
	json_decref(call);
	if (rc)
		return rc;
	send_all(c, frame, len);
	free(frame);
	return 0;
}

/* A frame that cannot be read is the daemon's doing, and said so. */
static int bad_frame(int rc, struct err *e)
{
	if (e)
		snprintf(e->object, sizeof(e->object), "vnicd");
	return rc;
}

static int read_frame(struct client *c, json_t **ret, struct err *e)
{
	char chunk[CHUNK];
	ssize_t n;
	int rc;

	while (!(rc = frame_next(&c->in, ret, e))) {
		n = recv(c->fd, chunk, sizeof(chunk), 0);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return gone(e);
		rc = frame_feed(&c->in, chunk, (size_t)n, e);
		if (rc)
			return bad_frame(rc, e);
	}
	return rc < 0 ? bad_frame(rc, e) : 0;
}

/* Failed(object, text, mend), the daemon's own words. */
static int failed(json_t *params, struct err *e)
{
	const char *object = "", *text = "failed without saying why";
	int mend = 0;

	json_unpack(params, "{s?s, s?s, s?b}", "object", &object, "text", &text, "mend", &mend);
	return mend ? err_user(e, -EINVAL, object, "%s", text) : err_sys(e, -EIO, object, "%s", text);
}

static int error_reply(const char *name, json_t *params, struct err *e)
{
	if (!strcmp(name, INTERFACE "Failed"))
		return failed(params, e);
	if (!strcmp(name, INTERFACE "PermissionDenied"))
		return err_user(e, -EPERM, NULL, "permission denied: be root or join group vnicd");
	return err_sys(e, -EPROTO, NULL, "vnicd answered %s: it may be of another version than this program",
		       name);
}

/* Turns one reply into its parameters, an empty object where it has none. */
static int open_reply(json_t *reply, json_t **ret, bool *ret_continues, struct err *e)
{
	json_t *params = json_object_get(reply, "parameters");
	const char *error = json_string_value(json_object_get(reply, "error"));

	if (error)
		return error_reply(error, params, e);
	params = json_is_object(params) ? json_incref(params) : json_object();
	if (!params)
		return err_nomem(e);
	*ret = params;
	*ret_continues = json_is_true(json_object_get(reply, "continues"));
	return 0;
}

static int read_reply(struct client *c, json_t **ret, bool *ret_continues, struct err *e)
{
	json_t *reply;
	int rc = read_frame(c, &reply, e);

	if (rc)
		return rc;
	c->continues = false;
	rc = open_reply(reply, ret, &c->continues, e);
	json_decref(reply);
	*ret_continues = c->continues;
	return rc;
}

int client_call(struct client *c, const char *method, json_t *params, json_t **ret, struct err *e)
{
	bool continues;
	int rc = send_call(c, method, params, false, e);

	return rc ? rc : read_reply(c, ret, &continues, e);
}

int client_call_more(struct client *c, const char *method, json_t *params, json_t **ret, bool *ret_continues,
		     struct err *e)
{
	int rc = send_call(c, method, params, true, e);

	return rc ? rc : read_reply(c, ret, ret_continues, e);
}

int client_next(struct client *c, json_t **ret, bool *ret_continues, struct err *e)
{
	int rc;

	if (!c->continues)
		return 0;
	rc = read_reply(c, ret, ret_continues, e);
	return rc ? rc : 1;
}
