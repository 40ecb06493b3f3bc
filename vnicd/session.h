/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One client's connection: reads frames, checks who it is, hands each call to request_handle(), writes
 * replies. Knows no VNIC. Calls of one connection are answered in order; a connection that stops reading is
 * dropped when its output queue passes SESSION_QUEUE_MAX.
 */
#pragma once

#include "lib/base/err.h"

#include <jansson.h>
#include <stdbool.h>
#include <systemd/sd-event.h>

#define SESSION_MAX       256u        /* clients at once; one more is refused with an error reply */
#define SESSION_QUEUE_MAX (32u << 20) /* bytes waiting for one client */

struct daemon;
struct session;

/* Takes over fd, also on failure. The session frees itself when the peer goes. */
int session_new(struct daemon *d, sd_event *event, int fd, struct session **ret, struct err *e);
/* Ends all sessions and their calls, before daemon_close(). */
void session_close_all(void);

/*
 * One request. Lives from request_handle() until its last reply: call_reply() without continues, or one of
 * the error replies, ends it, and so does the peer's going; then the on_gone function is called (if set) and
 * call must not be touched again. A call_reply() with continues never ends a call by itself: what it finds
 * out about the peer is acted on in the event loop's next turn.
 */
struct call;
const char *call_method(const struct call *c); /* without the interface: "ShowLink" */
json_t *call_params(const struct call *c);     /* borrowed object, never NULL */
bool call_more(const struct call *c);          /* the peer wants a stream */
bool call_may_change(const struct call *c); /* root or member of group vnicd (SO_PEERCRED, SO_PEERGROUPS) */
sd_event *call_event(const struct call *c);
void call_on_gone(struct call *c, void (*fn)(void *arg), void *arg);

/* A text for a reply. What is no UTF-8, as links' names can be, and texts that are cut off, is no text for
 * JSON: question marks are in its place. */
json_t *call_text(const char *text);

void call_reply(struct call *c, json_t *params, bool continues); /* steals params */
void call_fail(struct call *c, const struct err *e);             /* org.vnicd.Failed */
void call_denied(struct call *c);                                /* org.vnicd.PermissionDenied */
void call_not_found(struct call *c);                             /* org.varlink.service.MethodNotFound */
void call_no_interface(struct call *c, const char *interface);   /* org.varlink.service.InterfaceNotFound */
void call_invalid(struct call *c, const char *parameter);        /* org.varlink.service.InvalidParameter */
