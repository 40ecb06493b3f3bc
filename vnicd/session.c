/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One client's connection: bytes in, one call at a time to request_handle() or service.c, bytes out. Knows
 * who the peer is and what it may; knows no VNIC.
 *
 * Only on_turn() and session_close_all() free a session: a reply may find the peer gone in the middle of a
 * request, so it only marks the session dead and asks for a turn of the event loop.
 */
#include "vnicd/session.h"

#include "lib/ipc/frame.h"
#include "vnicd/log.h"
#include "vnicd/request.h"
#include "vnicd/service.h"

#include <errno.h>
#include <grp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>
#include <utlist.h>

#define INTERFACE        "org.vnicd"
#define READ_SIZE        (64u << 10)
#define REQUEST_READER   (64u << 10) /* bytes of a request from those who may only look */
#define SESSION_FOR_ROOT 16u         /* of SESSION_MAX: nobody else can keep root out */

struct call {
	struct session *session;
	json_t *frame, *params; /* params is owned by frame, or by itself when the frame had none */
	const char *name;       /* "org.vnicd.ShowLink", in frame */
	bool more, oneway;
	void (*on_gone)(void *arg);
	void *arg;
};

struct session {
	struct daemon *d;
	sd_event *event;
	sd_event_source *io, *turn;
	int fd;
	struct ucred peer;
	struct frame_buf in;
	char *out; /* out[sent..len) waits for the peer */
	size_t sent, len, room;
	struct call *call; /* the one being answered */
	bool eof, closing, dead;
	struct session *prev, *next;
};

static struct session *sessions;
static unsigned session_count;

/* ---- who is it ---- */

/* The id of group vnicd, looked up each time: it may be made while we run. False when there is none. */
static bool group_id(gid_t *ret)
{
	char buf[16384];
	struct group group, *found = NULL;

	if (getgrnam_r("vnicd", &group, buf, sizeof(buf), &found) != 0 || !found)
		return false;
	*ret = found->gr_gid;
	return true;
}

static bool in_peer_groups(int fd, gid_t gid)
{
	socklen_t size = 0;
	gid_t *groups;
	bool found = false;

	/* Without room the kernel answers with the size that is needed. */
	if (getsockopt(fd, SOL_SOCKET, SO_PEERGROUPS, NULL, &size) == 0 || errno != ERANGE)
		return false;
	groups = malloc(size);
	if (groups && getsockopt(fd, SOL_SOCKET, SO_PEERGROUPS, groups, &size) == 0) {
		for (size_t i = 0; i < size / sizeof(*groups); i++)
			found |= groups[i] == gid;
	}
	free(groups);
	return found;
}

static bool may_change(const struct session *s)
{
	gid_t gid;

	if (s->peer.uid == 0)
		return true;
	return group_id(&gid) && (s->peer.gid == gid || in_peer_groups(s->fd, gid));
}

/* ---- bytes out ---- */

static void ask_turn(struct session *s)
{
	sd_event_source_set_enabled(s->turn, SD_EVENT_ONESHOT);
}

static void kill_session(struct session *s)
{
	s->dead = true;
	ask_turn(s);
}

/* Sends what waits, as far as the peer takes it. */
static void flush(struct session *s)
{
	ssize_t n;

	while (!s->dead && s->sent < s->len) {
		n = send(s->fd, s->out + s->sent, s->len - s->sent, MSG_NOSIGNAL | MSG_DONTWAIT);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno == EAGAIN)
			return;
		if (n < 0)
			kill_session(s);
		else
			s->sent += (size_t)n;
	}
	s->sent = s->len = 0;
}

/* The events we want now: nothing is read while a call is answered or a reply waits. */
static void arm(struct session *s)
{
	uint32_t events = s->len ? EPOLLOUT : s->call || s->eof || s->closing ? 0 : EPOLLIN;

	sd_event_source_set_io_events(s->io, events);
}

static bool make_room(struct session *s, size_t len)
{
	size_t room = s->room;
	char *out;

	if (s->sent) {
		memmove(s->out, s->out + s->sent, s->len - s->sent);
		s->len -= s->sent;
		s->sent = 0;
	}
	while (room < s->len + len)
		room = room ? 2 * room : 4096;
	if (room == s->room)
		return true;
	out = realloc(s->out, room);
	if (!out)
		return false;
	s->out = out;
	s->room = room;
	return true;
}

/* Queues one frame and sends what can be sent. Steals obj. */
static void queue(struct session *s, json_t *obj)
{
	char *bytes = NULL;
	struct err e;
	size_t len;

	if (!s->dead && (!obj || frame_pack(obj, &bytes, &len, &e) < 0)) {
		log_warning(NULL, "a reply could not be made: %s", obj ? e.text : "out of memory");
		kill_session(s);
	} else if (!s->dead && s->len - s->sent + len > SESSION_QUEUE_MAX) {
		log_warning(NULL, "client with pid %d does not read its replies: dropped", s->peer.pid);
		kill_session(s);
	} else if (!s->dead && !make_room(s, len)) {
		kill_session(s);
	} else if (!s->dead) {
		memcpy(s->out + s->len, bytes, len);
		s->len += len;
		flush(s);
		arm(s);
	}
	free(bytes);
	json_decref(obj);
}

/* ---- calls ---- */

static struct call *call_free(struct call *c)
{
	void (*on_gone)(void *arg) = c->on_gone;

	c->session->call = NULL;
	if (on_gone)
		on_gone(c->arg);
	json_decref(c->params);
	json_decref(c->frame);
	free(c);
	return NULL;
}

const char *call_method(const struct call *c)
{
	return strrchr(c->name, '.') + 1;
}

json_t *call_params(const struct call *c)
{
	return c->params;
}

bool call_more(const struct call *c)
{
	return c->more;
}

bool call_may_change(const struct call *c)
{
	return may_change(c->session);
}

sd_event *call_event(const struct call *c)
{
	return c->session->event;
}

void call_on_gone(struct call *c, void (*fn)(void *arg), void *arg)
{
	c->on_gone = fn;
	c->arg = arg;
}

/* The last reply of a call; the next call of this connection comes with the loop's next turn. */
static void finish(struct call *c, json_t *reply)
{
	struct session *s = c->session;

	if (c->oneway)
		json_decref(reply);
	else
		queue(s, reply);
	call_free(c);
	ask_turn(s);
}

void call_reply(struct call *c, json_t *params, bool continues)
{
	if (!params)
		params = json_object();
	if (!continues || !c->more)
		finish(c, json_pack("{s:o}", "parameters", params));
	else if (c->oneway)
		json_decref(params);
	else
		queue(c->session, json_pack("{s:o,s:b}", "parameters", params, "continues", 1));
}

static void call_error(struct call *c, const char *name, json_t *params)
{
	finish(c, json_pack("{s:s,s:o}", "error", name, "parameters", params));
}

json_t *call_text(const char *text)
{
	char plain[sizeof(((struct err *)0)->text)];
	json_t *ret = json_string(text);
	size_t i;

	if (ret)
		return ret;
	for (i = 0; text[i] && i < sizeof(plain) - 1; i++)
		plain[i] = (unsigned char)text[i] < 0x80 ? text[i] : '?';
	plain[i] = '\0';
	return json_string(plain);
}

static json_t *json_err(const struct err *e)
{
	return json_pack("{s:o,s:o,s:b}", "object", call_text(e->object), "text", call_text(e->text), "mend",
			 e->mend);
}

void call_fail(struct call *c, const struct err *e)
{
	call_error(c, INTERFACE ".Failed", json_err(e));
}

void call_denied(struct call *c)
{
	call_error(c, INTERFACE ".PermissionDenied", json_object());
}

void call_not_found(struct call *c)
{
	call_error(c, SERVICE ".MethodNotFound", json_pack("{s:s}", "method", c->name));
}

void call_no_interface(struct call *c, const char *interface)
{
	call_error(c, SERVICE ".InterfaceNotFound", json_pack("{s:s}", "interface", interface));
}

void call_invalid(struct call *c, const char *parameter)
{
	call_error(c, SERVICE ".InvalidParameter", json_pack("{s:s}", "parameter", parameter));
}

/* The length of the interface's part of a method's name; 0 when there is none. */
static size_t interface_len(const char *name)
{
	const char *dot = strrchr(name, '.');

	return dot && dot[1] ? (size_t)(dot - name) : 0;
}

static bool is_interface(const char *name, const char *interface)
{
	size_t len = interface_len(name);

	return len == strlen(interface) && !strncmp(name, interface, len);
}

static void call_dispatch(struct call *c)
{
	size_t len = interface_len(c->name);

	if (!len)
		call_invalid(c, "method");
	else if (!json_is_object(c->params))
		call_invalid(c, "parameters");
	else if (is_interface(c->name, INTERFACE))
		request_handle(c->session->d, c);
	else if (is_interface(c->name, SERVICE))
		service_handle(c);
	else
		call_error(c, SERVICE ".InterfaceNotFound", json_pack("{s:s%}", "interface", c->name, len));
}

/* A frame that is no call ends the connection, after an answer that says so. */
static void refuse(struct session *s, const struct err *e)
{
	queue(s, json_pack("{s:s,s:o}", "error", INTERFACE ".Failed", "parameters", json_err(e)));
	s->closing = true;
	ask_turn(s);
}

/* Steals frame. */
static void handle_frame(struct session *s, json_t *frame)
{
	const char *name = json_string_value(json_object_get(frame, "method"));
	json_t *params = json_object_get(frame, "parameters");
	struct call *c;
	struct err e;

	if (!name) {
		err_user(&e, -EBADMSG, NULL, "not a Varlink call: it has no method");
		refuse(s, &e);
		json_decref(frame);
		return;
	}
	c = calloc(1, sizeof(*c));
	if (!c) {
		json_decref(frame);
		kill_session(s);
		return;
	}
	*c = (struct call){
		.session = s,
		.frame = frame,
		.params = !params || json_is_null(params) ? json_object() : json_incref(params),
		.name = name,
		.more = json_is_true(json_object_get(frame, "more")),
		.oneway = json_is_true(json_object_get(frame, "oneway")),
	};
	s->call = c;
	call_dispatch(c);
}

/* ---- the loop's turns ---- */

static struct session *session_free(struct session *s)
{
	if (s->call)
		call_free(s->call);
	DL_DELETE(sessions, s);
	session_count--;
	sd_event_source_disable_unref(s->io);
	sd_event_source_disable_unref(s->turn);
	close(s->fd);
	frame_done(&s->in);
	free(s->out);
	sd_event_unref(s->event);
	free(s);
	return NULL;
}

/* One call, or what else is to be done; each turn does one thing, so that a busy client does not starve
 * others. */
static void take_turn(struct session *s)
{
	json_t *frame = NULL;
	struct err e;
	int r;

	if (s->dead || s->call || s->len)
		return;
	if (s->closing) {
		s->dead = true;
		return;
	}
	r = frame_next(&s->in, &frame, &e);
	if (r < 0)
		refuse(s, &e);
	else if (r > 0)
		handle_frame(s, frame);
	else if (s->eof)
		s->dead = true;
	if (r > 0)
		ask_turn(s);
}

static int on_turn(sd_event_source *source, void *arg)
{
	struct session *s = arg;

	(void)source;
	take_turn(s);
	if (s->dead)
		session_free(s);
	else
		arm(s);
	return 0;
}

static void receive(struct session *s)
{
	static char bytes[READ_SIZE];
	ssize_t n = recv(s->fd, bytes, sizeof(bytes), MSG_DONTWAIT);
	struct err e;

	if (n == 0)
		s->eof = true;
	else if (n < 0 && errno != EAGAIN && errno != EINTR)
		s->dead = true;
	else if (n > 0 && frame_feed(&s->in, bytes, (size_t)n, &e) < 0)
		refuse(s, &e);
}

static int on_io(sd_event_source *source, int fd, uint32_t revents, void *arg)
{
	struct session *s = arg;

	(void)source;
	(void)fd;
	/* A peer that is gone altogether gets no more answers; what it sent before is still read and done. */
	if (revents & (EPOLLHUP | EPOLLERR) && (s->call || s->len))
		s->dead = true;
	else if (revents & EPOLLOUT)
		flush(s);
	else if (revents & (EPOLLIN | EPOLLHUP | EPOLLERR) && !s->eof && !s->closing)
		receive(s);
	ask_turn(s);
	arm(s);
	return 0;
}

/* ---- beginning and end ---- */

static int refuse_crowd(int fd, struct err *e)
{
	static const char text[] = "{\"error\":\"" INTERFACE ".Failed\",\"parameters\":{\"object\":\"\","
				   "\"text\":\"too many clients: try again later\",\"mend\":false}}";

	send(fd, text, sizeof(text), MSG_NOSIGNAL | MSG_DONTWAIT);
	return err_sys(e, -EUSERS, NULL, "too many clients: one was sent away");
}

static int session_start(struct session *s, struct err *e)
{
	int r;

	if ((r = sd_event_add_io(s->event, &s->io, s->fd, EPOLLIN, on_io, s)) < 0 ||
	    (r = sd_event_add_defer(s->event, &s->turn, on_turn, s)) < 0)
		return err_sys(e, r, NULL, "cannot watch a client: %s", strerror(-r));
	return 0;
}

int session_new(struct daemon *d, sd_event *event, int fd, struct session **ret, struct err *e)
{
	struct ucred peer = {.uid = (uid_t)-1};
	socklen_t size = sizeof(peer);
	struct session *s;
	int r;

	getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size);
	if (session_count >= SESSION_MAX - (peer.uid == 0 ? 0 : SESSION_FOR_ROOT)) {
		r = refuse_crowd(fd, e);
		close(fd);
		return r;
	}
	s = calloc(1, sizeof(*s));
	if (!s) {
		close(fd);
		return err_nomem(e);
	}
	*s = (struct session){.d = d, .event = sd_event_ref(event), .fd = fd, .peer = peer};
	s->in.max = may_change(s) ? FRAME_REQUEST_MAX : REQUEST_READER;
	session_count++;
	DL_APPEND(sessions, s);
	r = session_start(s, e);
	if (r < 0)
		session_free(s);
	else
		*ret = s;
	return r;
}

void session_close_all(void)
{
	while (sessions)
		session_free(sessions);
}
