/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Sends frames to one MAC that are wrong in every way there is: cut off, with absurd lengths, endless
 * extension headers, too many tags, odd fragments, random bytes; and good ones among them. The same for the
 * same seed. Receives nothing.
 */
#include "tests/tools/tool.h"

#include <arpa/inet.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <netinet/in.h>
#include <netinet/ip.h>
#include <sys/socket.h>

#define FRAME_MAX  1400
#define TAGGED_MIN 20 /* addresses, a tag and what follows it */
#define COUNT(a)   (sizeof(a) / sizeof(*(a)))

static const char *dev, *mac = "ff:ff:ff:ff:ff:ff";
static const char *src4 = "10.99.0.1", *dst4 = "10.99.0.10", *src6 = "fd99::1", *dst6 = "fd99::10";
static uint64_t count = 10000, seed = 1;
static const struct opt opts[] = {
	{.name = "dev", .kind = OPT_STR, .where = &dev, .help = "device to send on"},
	{.name = "mac", .kind = OPT_STR, .where = &mac, .help = "destination"},
	{.name = "src4", .kind = OPT_STR, .where = &src4, .help = "addresses in the packets"},
	{.name = "dst4", .kind = OPT_STR, .where = &dst4, .help = ""},
	{.name = "src6", .kind = OPT_STR, .where = &src6, .help = ""},
	{.name = "dst6", .kind = OPT_STR, .where = &dst6, .help = ""},
	{.name = "count", .kind = OPT_UINT, .where = &count, .help = "frames (10000)"},
	{.name = "seed", .kind = OPT_UINT, .where = &seed, .help = "of the choices (1)"},
	{0},
};

/* A frame in the making. */
struct frame {
	uint8_t b[FRAME_MAX];
	size_t len;
	size_t l3;
};

static uint32_t pick(uint32_t most)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return (uint32_t)(seed >> 16) % (most + 1);
}

/* True one time in n. */
static bool once_in(uint32_t n)
{
	return !pick(n - 1);
}

static void put(struct frame *f, const void *data, size_t len)
{
	memcpy(f->b + f->len, data, len);
	f->len += len;
}

static void put8(struct frame *f, uint32_t v)
{
	f->b[f->len++] = (uint8_t)v;
}

static void put16(struct frame *f, uint32_t v)
{
	put8(f, v >> 8);
	put8(f, v);
}

static void put_random(struct frame *f, size_t len)
{
	while (len--)
		put8(f, pick(255));
}

static void put_tags(struct frame *f)
{
	for (uint32_t n = once_in(4) ? pick(4) : 0; n; n--) {
		put16(f, once_in(2) ? ETH_P_8021Q : ETH_P_8021AD);
		put16(f, once_in(4) ? 7 : pick(0xffff));
	}
}

static uint16_t checksum(const uint8_t *p, size_t len)
{
	uint32_t sum = 0;

	for (size_t i = 0; i + 1 < len; i += 2)
		sum += (uint32_t)(p[i] << 8 | p[i + 1]);
	while (sum >> 16)
		sum = (sum & 0xffff) + (sum >> 16);
	return (uint16_t)~sum;
}

/* Of the IPv4 header that is at l3, if it is one. */
static void sum_up(struct frame *f)
{
	uint8_t *ip = f->b + f->l3;
	size_t len = (size_t)(*ip & 15) * 4;
	uint16_t sum;

	if (f->l3 + 20 > f->len || *ip >> 4 != 4 || len < 20 || f->l3 + len > f->len)
		return;
	ip[10] = ip[11] = 0;
	sum = checksum(ip, len);
	ip[10] = (uint8_t)(sum >> 8);
	ip[11] = (uint8_t)sum;
}

static uint8_t some_transport(void)
{
	static const uint8_t likely[] = {IPPROTO_UDP, IPPROTO_UDP, IPPROTO_UDP, IPPROTO_TCP, IPPROTO_ICMP};

	return once_in(8) ? (uint8_t)pick(255) : likely[pick(COUNT(likely) - 1)];
}

static uint32_t some_port(void)
{
	return once_in(2) ? 9 : once_in(2) ? 80 : pick(0xffff);
}

/* Of any protocol the first words are ports: of UDP the length follows, right or not. */
static void put_transport(struct frame *f)
{
	uint32_t len = pick(100);

	put16(f, some_port());
	put16(f, some_port());
	put16(f, once_in(8) ? pick(0xffff) : len + 8);
	put16(f, 0);
	put_random(f, len);
}

/* More, at an offset, or both: the identification is one of few, so that they may find each other. */
static uint32_t some_fragment(void)
{
	uint32_t v = once_in(2) ? 0x2000 : 0;

	return once_in(4) ? v | (once_in(2) ? 1 + pick(12) : pick(0x1fff)) : 0;
}

static void put_ipv4(struct frame *f)
{
	uint32_t ihl = once_in(4) ? 5 + pick(10) : 5;
	size_t start = f->len, total;
	uint8_t addr[4];

	put8(f, 0x40 | ihl);
	put8(f, pick(255));
	put16(f, 0);
	put16(f, pick(3));
	put16(f, some_fragment());
	put8(f, 64);
	put8(f, some_transport());
	put16(f, 0);
	inet_pton(AF_INET, src4, addr);
	put(f, addr, sizeof(addr));
	inet_pton(AF_INET, dst4, addr);
	put(f, addr, sizeof(addr));
	for (uint32_t i = 5; i < ihl; i++)
		put(f, "\1\1\1\1", 4);
	put_transport(f);
	total = once_in(8) ? pick(0xffff) : f->len - start;
	f->b[start + 2] = (uint8_t)(total >> 8);
	f->b[start + 3] = (uint8_t)total;
}

/* One header that names the next one; its length is what it should be, or not. */
static void put_extension(struct frame *f, uint8_t kind, uint8_t next)
{
	uint32_t units = kind == IPPROTO_FRAGMENT || !once_in(4) ? 0 : pick(3);

	put8(f, next);
	put8(f, once_in(16) ? pick(255) : kind == IPPROTO_AH ? 2 * units : units);
	if (kind == IPPROTO_FRAGMENT) {
		put16(f, some_fragment() << 3 | once_in(2));
		put16(f, 0);
		put16(f, pick(3));
		return;
	}
	put(f, "\1\4\0\0\0\0", 6); /* one option that fills it */
	for (; units; units--)
		put(f, "\1\6\0\0\0\0\0\0", 8);
}

static uint8_t some_extension(void)
{
	static const uint8_t kinds[] = {IPPROTO_DSTOPTS, IPPROTO_DSTOPTS, IPPROTO_FRAGMENT,
					IPPROTO_HOPOPTS, IPPROTO_ROUTING, IPPROTO_AH};

	return kinds[pick(COUNT(kinds) - 1)];
}

static void put_ipv6(struct frame *f)
{
	uint32_t chain = once_in(2) ? 0 : pick(once_in(4) ? 14 : 3);
	size_t start = f->len, total;
	uint8_t next = chain ? some_extension() : some_transport(), addr[16];

	put16(f, 0x6000 | pick(0xfff));
	put16(f, 0);
	put16(f, 0);
	put8(f, next);
	put8(f, 64);
	inet_pton(AF_INET6, src6, addr);
	put(f, addr, sizeof(addr));
	inet_pton(AF_INET6, dst6, addr);
	put(f, addr, sizeof(addr));
	for (; chain; chain--) {
		uint8_t after = chain > 1 ? some_extension() : some_transport();

		put_extension(f, next, after);
		next = after;
	}
	put_transport(f);
	total = once_in(8) ? pick(0xffff) : f->len - start - 40;
	f->b[start + 4] = (uint8_t)(total >> 8);
	f->b[start + 5] = (uint8_t)total;
}

static void build(struct frame *f, const uint8_t to[6])
{
	uint32_t v6 = once_in(2);

	f->len = 0;
	put(f, to, 6);
	put(f, "\2\0\x5e\0\0\2", 6);
	put_tags(f);
	put16(f, once_in(16) ? pick(0xffff) : v6 ? ETH_P_IPV6 : ETH_P_IP);
	f->l3 = f->len;
	(v6 ? put_ipv6 : put_ipv4)(f);
}

/* What ends in its first tag the kernel drops before anybody sees it: it would not be counted. */
static void end_behind_tag(struct frame *f)
{
	uint32_t type = (uint32_t)(f->b[12] << 8 | f->b[13]);

	if ((type == ETH_P_8021Q || type == ETH_P_8021AD) && f->len < TAGGED_MIN)
		f->len = TAGGED_MIN;
}

/* One frame of two stays as it is. */
static void mangle(struct frame *f)
{
	switch (pick(7)) {
	case 0:
		f->len = ETH_HLEN + pick((uint32_t)(f->len - ETH_HLEN));
		break;
	case 1:
		for (uint32_t n = 1 + pick(7); n; n--)
			f->b[12 + pick((uint32_t)f->len - 13)] = (uint8_t)pick(255);
		break;
	case 2:
		f->len = f->l3;
		put_random(f, pick(80));
		break;
	case 3: /* the first byte decides of versions and lengths */
		f->b[f->l3] = (uint8_t)pick(255);
		break;
	}
	end_behind_tag(f);
	if (!once_in(8))
		sum_up(f);
}

static int open_socket(struct sockaddr_ll *to)
{
	int fd = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0);

	*to = (struct sockaddr_ll){
		.sll_family = AF_PACKET, .sll_ifindex = (int)if_nametoindex(dev), .sll_halen = 6};
	if (fd < 0 || !to->sll_ifindex)
		die(dev);
	return fd;
}

int main(int argc, char **argv)
{
	struct sockaddr_ll to;
	struct frame f;
	uint64_t sent = 0;
	uint8_t b[6];
	int fd;

	options(argc, argv, opts);
	if (!dev ||
	    sscanf(mac, "%hhx:%hhx:%hhx:%hhx:%hhx:%hhx", &b[0], &b[1], &b[2], &b[3], &b[4], &b[5]) != 6)
		usage(opts);
	seed = seed ? seed : 1;
	stop_on_signals();
	fd = open_socket(&to);
	for (uint64_t i = 0; i < count && !stopped; i++) {
		build(&f, b);
		mangle(&f);
		if (sendto(fd, f.b, f.len, 0, (struct sockaddr *)&to, sizeof(to)) != (ssize_t)f.len)
			die("send");
		sent++;
	}
	printf("sent %llu\n", (unsigned long long)sent);
	return 0;
}
