/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Rtnetlink sockets over libnl: one request, its answer or its reason. Knows the wire, knows no VNIC.
 * All functions return 0 or a negative errno; what the kernel said about it is in *x (never NULL).
 */
#pragma once

#include "lib/base/err.h"
#include "lib/nl/extack.h"

#include <netlink/msg.h>
#include <netlink/netlink.h>

/* Called with each message of an answer; a return other than 0 ends it and is handed on. */
typedef int sock_fn(const struct nlmsghdr *h, void *arg);

/*
 * A socket in the calling thread's namespace, or in ns (own: the way back), there with this port if it is
 * free. Strict checks and extended acks are on.
 */
int sock_open(struct nl_sock **ret, struct err *e);
int sock_open_in(int ns, int own, uint32_t port, struct nl_sock **ret, struct err *e);
/*
 * A non-blocking one that hears the groups (ends with 0), with a large buffer; also from every namespace that
 * has a number in the own one (NETLINK_LISTEN_ALL_NSID).
 */
int sock_open_events(const int *groups, struct nl_sock **ret, struct err *e);
struct nl_sock *sock_close(struct nl_sock *sk);

/* Sends msg and waits for its acknowledgement. */
int sock_act(struct nl_sock *sk, struct nl_msg *msg, struct extack *x);
/* Sends msg, calls fn with what is answered, waits for the acknowledgement. No answer at all is no error. */
int sock_get(struct nl_sock *sk, struct nl_msg *msg, sock_fn *fn, void *arg, struct extack *x);
/*
 * Sends msg as a dump; fn is called when all is there and the kernel says that nothing changed meanwhile
 * (asked again otherwise), so fn may use the socket too.
 */
int sock_dump(struct nl_sock *sk, struct nl_msg *msg, sock_fn *fn, void *arg, struct extack *x);
#define SOCK_OWN_NS (-1)
/* nsid: the namespace it happened in, as the own one numbers it, or SOCK_OWN_NS. */
typedef int sock_event_fn(const struct nlmsghdr *h, int nsid, void *arg);
/* Calls fn with what is waiting on an event socket. -ENOBUFS when notifications were lost. */
int sock_events(struct nl_sock *sk, sock_event_fn *fn, void *arg);

static inline void msg_freep(struct nl_msg **msg)
{
	nlmsg_free(*msg);
}
#define MSG_AUTO __attribute__((cleanup(msg_freep))) struct nl_msg *
