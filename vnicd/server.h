/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The daemon's doors: the lock that keeps a second vnicd out of this network namespace, and the socket that
 * clients connect to. What a client says is session.c's.
 */
#pragma once

#include "lib/base/err.h"

#include <systemd/sd-event.h>

struct daemon;
struct server;

/* Takes the lock of the calling network namespace; -EBUSY with the holder's pid in the text. */
int server_lock(sd_event *event, struct server **ret, struct err *e);
/*
 * Makes the socket at path (mode 0666, its directory too) and serves d. A socket that nobody listens on is
 * replaced; the new one appears only when it listens. path is borrowed.
 */
int server_listen(struct server *s, struct daemon *d, const char *path, struct err *e);
/* Ends all sessions, removes the socket (if it is still ours) and lets the lock go. */
struct server *server_close(struct server *s);
