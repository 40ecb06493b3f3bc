/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Owns the namespace's lock and the listening socket; accepts clients and hands them to session.c, never
 * reads them. */
#include "vnicd/server.h"

#include "vnicd/log.h"
#include "vnicd/session.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#define LOCK_NAME "vnicd" /* abstract: one per network namespace, gone with its owner */

/* A client storm, or no free descriptors: rest for the remainder of a second. */
#define ACCEPTS_PER_SECOND 5000u

struct server {
	sd_event *event;
	struct daemon *d;
	int lock, listener;
	sd_event_source *lock_source, *listen_source;
	const char *path;
	dev_t dev; /* of our socket at path */
	ino_t ino;
};

static int unix_socket(void)
{
	return socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
}

/* The pid of who listens there, 0 when it cannot be told, -errno when nobody does. */
static int holder_pid(const struct sockaddr_un *addr, socklen_t len)
{
	struct ucred peer = {0};
	socklen_t size = sizeof(peer);
	int fd = unix_socket(), r;

	if (fd < 0)
		return -errno;
	r = connect(fd, (const struct sockaddr *)addr, len) < 0 ? -errno : 0;
	if (r == 0 && getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0)
		r = peer.pid;
	close(fd);
	return r == -EAGAIN ? 0 : r;
}

static int say_busy(struct err *e, int pid, const char *object, const char *what, const char *way_out)
{
	char who[32] = "pid unknown";

	if (pid > 0)
		snprintf(who, sizeof(who), "pid %d", pid);
	return err_user(e, -EBUSY, object, "%s, %s: %s", what, who, way_out);
}

/* ---- the lock ---- */

static int lock_bind(int fd, struct err *e)
{
	struct sockaddr_un addr = {.sun_family = AF_UNIX};
	socklen_t len = offsetof(struct sockaddr_un, sun_path) + sizeof(LOCK_NAME);
	int error;

	memcpy(addr.sun_path + 1, LOCK_NAME, sizeof(LOCK_NAME) - 1);
	if (bind(fd, (struct sockaddr *)&addr, len) == 0 && listen(fd, 16) == 0)
		return 0;
	error = errno;
	if (error == EADDRINUSE)
		return say_busy(e, holder_pid(&addr, len), NULL,
				"this network namespace is managed by another vnicd", "stop that one first");
	return err_sys(e, -error, NULL, "cannot lock the network namespace: %s", strerror(error));
}

/* Whoever connects to the lock only wants our pid, and has it. */
static int on_lock(sd_event_source *source, int fd, uint32_t revents, void *arg)
{
	int peer = accept4(fd, NULL, NULL, SOCK_CLOEXEC);

	(void)source;
	(void)revents;
	(void)arg;
	if (peer >= 0)
		close(peer);
	return 0;
}

static int watch(struct server *s, int fd, sd_event_io_handler_t handler, sd_event_source **ret,
		 struct err *e)
{
	int r = sd_event_add_io(s->event, ret, fd, EPOLLIN, handler, s);

	if (r >= 0)
		r = sd_event_source_set_ratelimit(*ret, 1000000, ACCEPTS_PER_SECOND);
	return r < 0 ? err_sys(e, r, NULL, "cannot watch a socket: %s", strerror(-r)) : 0;
}

int server_lock(sd_event *event, struct server **ret, struct err *e)
{
	struct server *s = calloc(1, sizeof(*s));
	int r;

	if (!s)
		return err_nomem(e);
	*s = (struct server){.event = sd_event_ref(event), .listener = -1, .lock = unix_socket()};
	if (s->lock < 0)
		r = err_sys(e, -errno, NULL, "no socket: %s", strerror(errno));
	else
		r = lock_bind(s->lock, e);
	if (r == 0)
		r = watch(s, s->lock, on_lock, &s->lock_source, e);
	if (r < 0)
		server_close(s);
	else
		*ret = s;
	return r;
}

/* ---- the socket ---- */

static int on_client(sd_event_source *source, int fd, uint32_t revents, void *arg)
{
	struct server *s = arg;
	struct session *session;
	struct err e;
	char text[640];
	int peer = accept4(fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

	(void)source;
	(void)revents;
	if (peer < 0) {
		if (errno != EAGAIN && errno != EINTR && errno != ECONNABORTED)
			log_debug(NULL, "cannot accept a client: %s", strerror(errno));
		return 0;
	}
	if (session_new(s->d, s->event, peer, &session, &e) < 0)
		log_debug(NULL, "%s", err_str(&e, text, sizeof(text)));
	return 0;
}

/* Makes the directories above path. */
static int make_parents(const char *path, struct err *e)
{
	char dir[sizeof(((struct sockaddr_un *)0)->sun_path)];
	int error;

	snprintf(dir, sizeof(dir), "%s", path);
	for (char *slash = strchr(dir + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		if (mkdir(dir, 0755) < 0 && errno != EEXIST) {
			error = errno;
			return err_user(e, -error, dir, "cannot be made: %s", strerror(error));
		}
		*slash = '/';
	}
	return 0;
}

/* What is at the place of our socket must be nothing, or a socket that nobody serves. */
static int check_place(const struct sockaddr_un *addr, struct err *e)
{
	struct stat st;
	int pid;

	if (lstat(addr->sun_path, &st) < 0)
		return errno == ENOENT ? 0 : err_user(e, -errno, addr->sun_path, "%s", strerror(errno));
	if (!S_ISSOCK(st.st_mode))
		return err_user(e, -EEXIST, addr->sun_path,
				"is there and is no socket: move it away, or give another --socket");
	pid = holder_pid(addr, sizeof(*addr));
	return pid < 0 ? 0
		       : say_busy(e, pid, addr->sun_path, "is served by another vnicd",
				  "give another --socket");
}

/* Bound and listening under another name first, so that nobody ever finds it not serving. */
static int appear(struct server *s, const struct sockaddr_un *addr, struct err *e)
{
	struct sockaddr_un early = *addr;
	size_t len = strlen(early.sun_path);
	struct stat st;
	int error;

	snprintf(early.sun_path + len, sizeof(early.sun_path) - len, ".new");
	unlink(early.sun_path);
	if (bind(s->listener, (struct sockaddr *)&early, sizeof(early)) == 0) {
		if (chmod(early.sun_path, 0666) == 0 && listen(s->listener, SOMAXCONN) == 0 &&
		    stat(early.sun_path, &st) == 0 && rename(early.sun_path, addr->sun_path) == 0) {
			s->dev = st.st_dev;
			s->ino = st.st_ino;
			return 0;
		}
		error = errno;
		unlink(early.sun_path);
		errno = error;
	}
	error = errno;
	return err_user(e, -error, addr->sun_path, "cannot listen: %s", strerror(error));
}

int server_listen(struct server *s, struct daemon *d, const char *path, struct err *e)
{
	struct sockaddr_un addr = {.sun_family = AF_UNIX};
	int r;

	if (strlen(path) + sizeof(".new") > sizeof(addr.sun_path))
		return err_user(e, -ENAMETOOLONG, path, "too long for a socket: at most %zu characters",
				sizeof(addr.sun_path) - sizeof(".new"));
	strcpy(addr.sun_path, path);
	s->d = d;
	s->path = path;
	s->listener = unix_socket();
	if (s->listener < 0)
		return err_sys(e, -errno, NULL, "no socket: %s", strerror(errno));
	if ((r = make_parents(path, e)) < 0 || (r = check_place(&addr, e)) < 0 ||
	    (r = appear(s, &addr, e)) < 0)
		return r;
	return watch(s, s->listener, on_client, &s->listen_source, e);
}

/* Only what we put there ourselves: a later vnicd may have taken the path over. */
static void disappear(struct server *s)
{
	struct stat st;

	if (s->ino && stat(s->path, &st) == 0 && st.st_dev == s->dev && st.st_ino == s->ino)
		unlink(s->path);
}

struct server *server_close(struct server *s)
{
	if (!s)
		return NULL;
	disappear(s);
	session_close_all();
	sd_event_source_disable_unref(s->listen_source);
	sd_event_source_disable_unref(s->lock_source);
	if (s->listener >= 0)
		close(s->listener);
	if (s->lock >= 0)
		close(s->lock);
	sd_event_unref(s->event);
	free(s);
	return NULL;
}
