/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Sends numbered UDP packets at a set rate, for seqrecv to find loss, duplicates and reordering. Reads
 * nothing. */
#include "tests/tools/tool.h"

#include <netdb.h>
#include <sys/socket.h>

static const char *host, *port = "7777";
static uint64_t seconds = 5, rate = 1000000, len = 1400;
static const struct opt opts[] = {
	{.name = "host", .kind = OPT_STR, .where = &host, .help = "address of seqrecv"},
	{.name = "port", .kind = OPT_STR, .where = &port, .help = "its port (7777)"},
	{.name = "rate", .kind = OPT_RATE, .where = &rate, .help = "bits/s of payload (1M)"},
	{.name = "len", .kind = OPT_UINT, .where = &len, .help = "bytes of payload in a packet (1400)"},
	{.name = "seconds", .kind = OPT_UINT, .where = &seconds, .help = "so long (5)"},
	{0},
};

static int open_socket(void)
{
	struct addrinfo hints = {.ai_socktype = SOCK_DGRAM, .ai_flags = AI_NUMERICHOST}, *ai;
	int fd;

	if (getaddrinfo(host, port, &hints, &ai))
		usage(opts);
	fd = socket(ai->ai_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd < 0 || connect(fd, ai->ai_addr, ai->ai_addrlen))
		die(host);
	freeaddrinfo(ai);
	return fd;
}

/* Packet i is due at i * gap: a late wake-up is caught up with, so that the rate holds. */
static uint64_t send_all(int fd, char *buf, int64_t gap)
{
	int64_t begin = now_ns(CLOCK_MONOTONIC), due;
	uint64_t seq = 0, refused = 0;

	for (; !stopped; seq++) {
		due = begin + (int64_t)seq * gap;
		if (due - begin >= (int64_t)seconds * NSEC)
			break;
		struct timespec at = {.tv_sec = due / NSEC, .tv_nsec = due % NSEC};

		clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, NULL);
		memcpy(buf, &seq, sizeof(seq));
		if (send(fd, buf, len, 0) < 0)
			refused++;
	}
	printf("sent %llu\nrefused %llu\n", (unsigned long long)seq, (unsigned long long)refused);
	return seq;
}

int main(int argc, char **argv)
{
	char buf[65507] = {0};
	int fd;

	options(argc, argv, opts);
	if (!host || len < sizeof(uint64_t) || len > sizeof(buf) || !rate)
		usage(opts);
	stop_on_signals();
	fd = open_socket();
	send_all(fd, buf, (int64_t)((double)len * 8e9 / (double)rate));
	close(fd);
	return 0;
}
