/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Receives seqsend's numbered packets and counts what is missing, doubled or out of order, and the longest
 * silence. Knows every number it has seen, so a late packet is told from a doubled one. Sends nothing.
 */
#include "tests/tools/tool.h"

#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

static uint64_t port = 7777, seconds = 10, idle_ms = 1000;
static const struct opt opts[] = {
	{.name = "port", .kind = OPT_UINT, .where = &port, .help = "UDP port (7777)"},
	{.name = "seconds", .kind = OPT_UINT, .where = &seconds, .help = "at most so long (10)"},
	{.name = "idle",
	 .kind = OPT_UINT,
	 .where = &idle_ms,
	 .help = "end after a silence of so many ms (1000)"},
	{0},
};

static struct {
	uint64_t received, duplicates, reordered, next, first;
	int64_t last, gap;
	uint8_t *seen; /* one bit a number */
	uint64_t room;
} s;

static bool mark(uint64_t seq)
{
	if (seq / 8 >= s.room) {
		uint64_t room = (seq / 8 + 1) * 2;

		s.seen = realloc(s.seen, room);
		if (!s.seen)
			die("memory");
		memset(s.seen + s.room, 0, room - s.room);
		s.room = room;
	}
	bool before = s.seen[seq / 8] & 1 << seq % 8;

	s.seen[seq / 8] |= (uint8_t)(1 << seq % 8);
	return before;
}

static void take(uint64_t seq, int64_t at)
{
	if (seq >= UINT64_C(1) << 32)
		return; /* not seqsend's */
	if (mark(seq)) {
		s.duplicates++;
		return;
	}
	if (!s.received++)
		s.next = s.first = seq;
	else if (at - s.last > s.gap)
		s.gap = at - s.last;
	if (seq < s.next)
		s.reordered++;
	else
		s.next = seq + 1;
	s.last = at;
}

static int open_socket(void)
{
	struct sockaddr_in6 any = {.sin6_family = AF_INET6, .sin6_port = htons((uint16_t)port)};
	int room = 64 << 20, fd = socket(AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	if (fd < 0 || bind(fd, (struct sockaddr *)&any, sizeof(any)))
		die("bind");
	if (setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &room, sizeof(room)))
		die("setsockopt");
	return fd;
}

static void receive(int fd)
{
	int64_t begin = now_ns(CLOCK_MONOTONIC), now = begin;
	struct pollfd p = {.fd = fd, .events = POLLIN};
	uint64_t seq;

	while (!stopped && now - begin < (int64_t)seconds * NSEC) {
		int ready = poll(&p, 1, s.received ? (int)idle_ms : 100);

		now = now_ns(CLOCK_MONOTONIC);
		if (ready > 0 && recv(fd, &seq, sizeof(seq), 0) == sizeof(seq))
			take(seq, now);
		else if (!ready && s.received)
			break;
	}
}

int main(int argc, char **argv)
{
	int fd;

	options(argc, argv, opts);
	stop_on_signals();
	fd = open_socket();
	receive(fd);
	printf("received %llu\nlost %llu\nduplicates %llu\nreordered %llu\ngap_max_ms %.2f\n",
	       (unsigned long long)s.received, (unsigned long long)(s.next - s.first - s.received),
	       (unsigned long long)s.duplicates, (unsigned long long)s.reordered, (double)s.gap / 1e6);
	close(fd);
	free(s.seen);
	return !s.received;
}
