/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The CLIs' side of the socket: connect, call, and read the replies of a call with more. Never prints. */
#pragma once

#include "lib/base/err.h"

#include <jansson.h>
#include <stdbool.h>

struct client;

/*
 * Connects to path (NULL: $VNICD_SOCKET, else /run/vnicd/vnicd.sock). On failure e reads
 * "cannot reach vnicd at PATH: REASON: start it with 'systemctl start vnicd'", not mendable (exit 2).
 */
int client_open(const char *path, struct client **ret, struct err *e);
struct client *client_close(struct client *c);

/*
 * Calls org.vnicd.<method>; params is borrowed and may be NULL. *ret: the reply's parameters (caller
 * json_decref). An error reply of the daemon becomes e. A daemon that goes away: -ECONNRESET.
 */
int client_call(struct client *c, const char *method, json_t *params, json_t **ret, struct err *e);

/*
 * The same with "more": first reply in *ret. client_next gives each further one: 1 and *ret, 0 without one
 * when the last was read.
 */
int client_call_more(struct client *c, const char *method, json_t *params, json_t **ret, bool *ret_continues,
		     struct err *e);
int client_next(struct client *c, json_t **ret, bool *ret_continues, struct err *e);
