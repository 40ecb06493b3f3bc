/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Opens rtnetlink sockets and carries requests over them; builds no message of its own and keeps no state. */
#include "lib/nl/sock.h"

#include "lib/nl/netns.h"

#include <errno.h>
#include <linux/netlink.h>
#include <netlink/errno.h>
#include <stdalign.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define EVENT_BUFFER (8 << 20)
#define DUMP_TRIES   20
#define ANSWER_MAX   65536

/* The few library errors of sending and receiving. A lost notification (ENOBUFS) comes as NLE_NOMEM. */
static int nl_errno(int rc)
{
	switch (-rc) {
	case NLE_AGAIN:
		return -EAGAIN;
	case NLE_NOMEM:
		return -ENOBUFS;
	case NLE_PERM:
	case NLE_NOACCESS:
		return -EPERM;
	default:
		return -EIO;
	}
}

/* Kernels before 4.20 know not all of these; they only make answers stricter and more telling. */
static void set_options(struct nl_sock *sk)
{
	static const int options[] = {NETLINK_EXT_ACK, NETLINK_CAP_ACK, NETLINK_GET_STRICT_CHK};
	int on = 1;

	for (size_t i = 0; i < sizeof(options) / sizeof(*options); i++)
		setsockopt(nl_socket_get_fd(sk), SOL_NETLINK, options[i], &on, sizeof(on));
}

/* port 0: whatever is free. */
static int open_at(uint32_t port, struct nl_sock **ret, struct err *e)
{
	struct nl_sock *sk = nl_socket_alloc();
	int rc;

	if (!sk)
		return err_nomem(e);
	if (port)
		nl_socket_set_local_port(sk, port);
	rc = nl_connect(sk, NETLINK_ROUTE);
	if (rc) {
		nl_socket_free(sk);
		return err_sys(e, nl_errno(rc), NULL, "cannot open netlink socket: %s", nl_geterror(rc));
	}
	set_options(sk);
	*ret = sk;
	return 0;
}

int sock_open(struct nl_sock **ret, struct err *e)
{
	return open_at(0, ret, e);
}

int sock_open_in(int ns, int own, uint32_t port, struct nl_sock **ret, struct err *e)
{
	int rc = netns_enter(ns, e);

	if (rc)
		return rc;
	rc = open_at(port, ret, NULL);
	if (rc)
		rc = open_at(0, ret, e);
	netns_leave(own);
	return rc;
}

int sock_open_events(const int *groups, struct nl_sock **ret, struct err *e)
{
	struct nl_sock *sk;
	int size = EVENT_BUFFER, on = 1, rc;

	rc = sock_open(&sk, e);
	if (rc)
		return rc;
	nl_socket_set_nonblocking(sk);
	/* Without CAP_NET_ADMIN the buffer stays small; lost notifications are told either way. */
	setsockopt(nl_socket_get_fd(sk), SOL_SOCKET, SO_RCVBUFFORCE, &size, sizeof(size));
	setsockopt(nl_socket_get_fd(sk), SOL_NETLINK, NETLINK_LISTEN_ALL_NSID, &on, sizeof(on));
	for (; !rc && *groups; groups++)
		rc = nl_socket_add_memberships(sk, *groups, 0);
	if (rc) {
		sock_close(sk);
		return err_sys(e, nl_errno(rc), NULL, "cannot listen to netlink group: %s", nl_geterror(rc));
	}
	*ret = sk;
	return 0;
}

struct nl_sock *sock_close(struct nl_sock *sk)
{
	if (sk)
		nl_socket_free(sk);
	return NULL;
}

/* The datagrams of one answer, kept until it is complete. */
struct answer {
	struct part {
		struct part *next;
		int len;
		alignas(struct nlmsghdr) unsigned char data[];
	} * first, **last;
	bool interrupted;
};

static void answer_drop(struct answer *a)
{
	struct part *p;

	while ((p = a->first)) {
		a->first = p->next;
		free(p);
	}
	a->last = &a->first;
	a->interrupted = false;
}

static int answer_add(struct answer *a, const unsigned char *data, int len)
{
	struct part *p = malloc(sizeof(*p) + (size_t)len);

	if (!p)
		return -ENOMEM;
	p->next = NULL;
	p->len = len;
	memcpy(p->data, data, (size_t)len);
	*a->last = p;
	a->last = &p->next;
	return 0;
}

static bool ends(const struct nlmsghdr *h)
{
	return h->nlmsg_type == NLMSG_ERROR || h->nlmsg_type == NLMSG_DONE;
}

/* Looks through the newest datagram for the end of the answer to seq. 1: it is there, its code is in *x. */
static int answer_end(struct answer *a, unsigned char *data, int len, uint32_t seq, struct extack *x)
{
	struct nlmsghdr *h;

	for (h = (struct nlmsghdr *)data; nlmsg_ok(h, len); h = nlmsg_next(h, &len)) {
		if (h->nlmsg_seq != seq)
			continue;
		a->interrupted |= !!(h->nlmsg_flags & NLM_F_DUMP_INTR);
		if (ends(h))
			return extack_parse(h, (size_t)len, x) ? -EBADMSG : 1;
	}
	return 0;
}

/* One datagram. The kernel makes none that is larger for what is asked here, and a peek costs as much again.
 */
static int next_answer(int fd, unsigned char *buf)
{
	ssize_t len;

	do
		len = recv(fd, buf, ANSWER_MAX, MSG_TRUNC);
	while (len < 0 && errno == EINTR);
	if (len < 0)
		return -errno;
	return len > 0 && len <= ANSWER_MAX ? (int)len : -EIO;
}

/* Most answers are: nothing of them is kept. */
static bool only_end(const struct nlmsghdr *h, int len)
{
	return ends(h) && NLMSG_ALIGN(h->nlmsg_len) >= (unsigned)len;
}

static int receive(struct nl_sock *sk, uint32_t seq, struct answer *a, struct extack *x)
{
	static _Thread_local alignas(struct nlmsghdr) unsigned char buf[ANSWER_MAX];
	int len, rc;

	do {
		len = next_answer(nl_socket_get_fd(sk), buf);
		if (len < 0)
			return len;
		rc = answer_end(a, buf, len, seq, x);
		if (rc >= 0 && !only_end((const struct nlmsghdr *)buf, len))
			rc = answer_add(a, buf, len) ? -ENOMEM : rc;
	} while (!rc);
	return rc < 0 ? rc : x->code;
}

static int replay(const struct answer *a, uint32_t seq, sock_fn *fn, void *arg)
{
	const struct part *p;
	struct nlmsghdr *h;
	int len, rc = 0;

	for (p = a->first; p && !rc; p = p->next) {
		len = p->len;
		for (h = (struct nlmsghdr *)p->data; !rc && nlmsg_ok(h, len); h = nlmsg_next(h, &len))
			if (h->nlmsg_seq == seq && h->nlmsg_type >= NLMSG_MIN_TYPE)
				rc = fn(h, arg);
	}
	return rc;
}

/* One request and its whole answer. The library numbers a message that has no number yet. */
static int request(struct nl_sock *sk, struct nl_msg *msg, struct answer *a, struct extack *x)
{
	struct nlmsghdr *h = nlmsg_hdr(msg);
	int rc;

	*x = (struct extack){};
	h->nlmsg_seq = NL_AUTO_SEQ;
	rc = nl_send_auto(sk, msg);
	if (rc < 0)
		return nl_errno(rc);
	return receive(sk, h->nlmsg_seq, a, x);
}

static int request_drop(struct answer *a, int rc)
{
	answer_drop(a);
	return rc;
}

int sock_act(struct nl_sock *sk, struct nl_msg *msg, struct extack *x)
{
	struct answer a = {.last = &a.first};

	nl_socket_enable_auto_ack(sk);
	return request_drop(&a, request(sk, msg, &a, x));
}

int sock_get(struct nl_sock *sk, struct nl_msg *msg, sock_fn *fn, void *arg, struct extack *x)
{
	struct answer a = {.last = &a.first};
	int rc;

	nl_socket_enable_auto_ack(sk);
	rc = request(sk, msg, &a, x);
	if (!rc)
		rc = replay(&a, nlmsg_hdr(msg)->nlmsg_seq, fn, arg);
	return request_drop(&a, rc);
}

int sock_dump(struct nl_sock *sk, struct nl_msg *msg, sock_fn *fn, void *arg, struct extack *x)
{
	struct answer a = {.last = &a.first};
	int rc, tries = DUMP_TRIES;

	nlmsg_hdr(msg)->nlmsg_flags |= NLM_F_DUMP;
	nl_socket_disable_auto_ack(sk);
	do {
		answer_drop(&a);
		rc = request(sk, msg, &a, x);
	} while (!rc && a.interrupted && --tries);
	if (!rc && a.interrupted)
		rc = -EBUSY;
	if (!rc)
		rc = replay(&a, nlmsg_hdr(msg)->nlmsg_seq, fn, arg);
	return request_drop(&a, rc);
}

static int each(unsigned char *data, int len, int nsid, sock_event_fn *fn, void *arg)
{
	struct nlmsghdr *h;
	int rc = 0;

	for (h = (struct nlmsghdr *)data; !rc && nlmsg_ok(h, len); h = nlmsg_next(h, &len))
		if (h->nlmsg_type >= NLMSG_MIN_TYPE)
			rc = fn(h, nsid, arg);
	return rc;
}

/* The namespace a notification comes from, as the own one numbers it; SOCK_OWN_NS for itself. */
static int nsid_of(struct msghdr *m)
{
	int nsid = SOCK_OWN_NS;

	for (struct cmsghdr *c = CMSG_FIRSTHDR(m); c; c = CMSG_NXTHDR(m, c))
		if (c->cmsg_level == SOL_NETLINK && c->cmsg_type == NETLINK_LISTEN_ALL_NSID)
			memcpy(&nsid, CMSG_DATA(c), sizeof(nsid));
	return nsid;
}

/* One datagram into *buf, which grows to its size. Its length, 0 when none is waiting, or a negative errno.
 */
static int next_event(int fd, unsigned char **buf, size_t *room, struct sockaddr_nl *from, int *nsid)
{
	char control[CMSG_SPACE(sizeof(int)) + CMSG_SPACE(64)];
	ssize_t len = recv(fd, NULL, 0, MSG_PEEK | MSG_TRUNC | MSG_DONTWAIT);
	struct iovec iov;
	struct msghdr m = {.msg_name = from, .msg_namelen = sizeof(*from), .msg_iov = &iov, .msg_iovlen = 1};

	if (len < 0)
		return errno == EAGAIN || errno == EINTR ? 0 : -errno;
	if ((size_t)len > *room) {
		unsigned char *more = realloc(*buf, (size_t)len);

		if (!more)
			return -ENOMEM;
		*buf = more;
		*room = (size_t)len;
	}
	iov = (struct iovec){.iov_base = *buf, .iov_len = *room};
	m.msg_control = control;
	m.msg_controllen = sizeof(control);
	len = recvmsg(fd, &m, MSG_DONTWAIT);
	*nsid = nsid_of(&m);
	return len < 0 ? (errno == EAGAIN ? 0 : -errno) : (int)len;
}

int sock_events(struct nl_sock *sk, sock_event_fn *fn, void *arg)
{
	unsigned char *buf = NULL;
	size_t room = 0;
	int len, rc = 0;

	while (!rc) {
		struct sockaddr_nl from = {0};
		int nsid = SOCK_OWN_NS;

		len = next_event(nl_socket_get_fd(sk), &buf, &room, &from, &nsid);
		if (len <= 0) {
			rc = len;
			break;
		}
		if (from.nl_pid == 0) /* others may send to us, only the kernel tells */
			rc = each(buf, len, nsid, fn, arg);
	}
	free(buf);
	return rc;
}
