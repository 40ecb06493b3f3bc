/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Blasts raw frames out of a device, to one MAC, a group or everybody, at full speed or a rate, for a bounded
 * time. Sends UDP packets so that receivers count them as such; never waits for an answer.
 */
#include "tests/tools/tool.h"

#include <arpa/inet.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <netinet/ip.h>
#include <netinet/udp.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#define BATCH     64
#define FRAME_MAX 9018

static const char *dev, *mac = "ff:ff:ff:ff:ff:ff", *src_ip = "10.255.255.1", *dst_ip = "255.255.255.255";
static uint64_t seconds = 5, rate, len = 1514, cpu = UINT64_MAX, port = 9, type = ETH_P_IP;
static const struct opt opts[] = {
	{.name = "dev", .kind = OPT_STR, .where = &dev, .help = "device to send on"},
	{.name = "mac", .kind = OPT_STR, .where = &mac, .help = "destination (ff:ff:ff:ff:ff:ff)"},
	{.name = "src", .kind = OPT_STR, .where = &src_ip, .help = "source address in the packets"},
	{.name = "dst", .kind = OPT_STR, .where = &dst_ip, .help = "destination address in the packets"},
	{.name = "port", .kind = OPT_UINT, .where = &port, .help = "destination port (9)"},
	{.name = "type", .kind = OPT_UINT, .where = &type, .help = "Ethernet type, in decimal (2048)"},
	{.name = "len", .kind = OPT_UINT, .where = &len, .help = "layer-2 length of a frame (1514)"},
	{.name = "rate", .kind = OPT_RATE, .where = &rate, .help = "bits/s on layer 2 (full speed)"},
	{.name = "seconds", .kind = OPT_UINT, .where = &seconds, .help = "so long (5)"},
	{.name = "cpu", .kind = OPT_UINT, .where = &cpu, .help = "run on this CPU"},
	{0},
};

static void pin(void)
{
	cpu_set_t set;

	if (cpu == UINT64_MAX)
		return;
	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	if (sched_setaffinity(0, sizeof(set), &set))
		die("cpu");
}

static void parse_mac(uint8_t out[6])
{
	unsigned b[6];

	if (sscanf(mac, "%x:%x:%x:%x:%x:%x", &b[0], &b[1], &b[2], &b[3], &b[4], &b[5]) != 6)
		usage(opts);
	for (int i = 0; i < 6; i++)
		out[i] = (uint8_t)b[i];
}

static int open_socket(struct sockaddr_ll *to, uint8_t own[6])
{
	struct ifreq ifr = {0};
	int fd = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0); /* protocol 0: receives nothing */

	*to = (struct sockaddr_ll){
		.sll_family = AF_PACKET, .sll_ifindex = (int)if_nametoindex(dev), .sll_halen = 6};
	strncpy(ifr.ifr_name, dev, IFNAMSIZ - 1);
	if (fd < 0 || !to->sll_ifindex || ioctl(fd, SIOCGIFHWADDR, &ifr))
		die(dev);
	memcpy(own, ifr.ifr_hwaddr.sa_data, 6);
	return fd;
}

static uint16_t checksum(const void *data, size_t bytes)
{
	const uint16_t *p = data;
	uint32_t sum = 0;

	for (size_t i = 0; i < bytes / 2; i++)
		sum += p[i];
	while (sum >> 16)
		sum = (sum & 0xffff) + (sum >> 16);
	return (uint16_t)~sum;
}

static void build(uint8_t *frame, const uint8_t own[6])
{
	struct ethhdr *eth = (void *)frame;
	struct iphdr *ip = (void *)(frame + ETH_HLEN);
	struct udphdr *udp = (void *)(ip + 1);

	parse_mac(eth->h_dest);
	memcpy(eth->h_source, own, 6);
	eth->h_proto = htons((uint16_t)type);
	*ip = (struct iphdr){.version = 4,
			     .ihl = 5,
			     .ttl = 1,
			     .protocol = IPPROTO_UDP,
			     .tot_len = htons((uint16_t)(len - ETH_HLEN)),
			     .saddr = inet_addr(src_ip),
			     .daddr = inet_addr(dst_ip)};
	ip->check = checksum(ip, sizeof(*ip));
	*udp = (struct udphdr){.source = htons(9),
			       .dest = htons((uint16_t)port),
			       .len = htons((uint16_t)(len - ETH_HLEN - sizeof(*ip)))};
}

/* How many frames may be out by now. */
static uint64_t allowed(int64_t elapsed)
{
	return rate ? (uint64_t)((double)rate * (double)elapsed / 8e9 / (double)len) + 1 : UINT64_MAX;
}

static void blast(int fd, uint8_t *frame, struct sockaddr_ll *to)
{
	struct iovec iov = {.iov_base = frame, .iov_len = len};
	struct timespec nap = {.tv_nsec = 200000};
	int64_t begin = now_ns(CLOCK_MONOTONIC), now = begin;
	struct mmsghdr msg[BATCH];
	uint64_t sent = 0, refused = 0;

	for (int i = 0; i < BATCH; i++)
		msg[i] = (struct mmsghdr){.msg_hdr = {.msg_iov = &iov,
						      .msg_iovlen = 1,
						      .msg_name = to,
						      .msg_namelen = sizeof(*to)}};
	for (; !stopped && now - begin < (int64_t)seconds * NSEC; now = now_ns(CLOCK_MONOTONIC)) {
		uint64_t left = allowed(now - begin) - sent;
		int n = left ? sendmmsg(fd, msg, left < BATCH ? (unsigned)left : BATCH, 0) : 0;

		if (n > 0)
			sent += (uint64_t)n;
		else if (n < 0)
			refused++; /* ENOBUFS: a full queue ate it */
		else
			nanosleep(&nap, NULL);
	}
	printf("sent %llu\nrefused %llu\nsent_bytes %llu\nsent_rate %.0f\n", (unsigned long long)sent,
	       (unsigned long long)refused, (unsigned long long)(sent * len),
	       (double)(sent * len) * 8e9 / (double)(now - begin));
}

int main(int argc, char **argv)
{
	uint8_t frame[FRAME_MAX] __attribute__((aligned(4))) = {0}, own[6];
	struct sockaddr_ll to;
	int fd;

	options(argc, argv, opts);
	if (!dev || len < 60 || len > FRAME_MAX)
		usage(opts);
	pin();
	stop_on_signals();
	fd = open_socket(&to, own);
	build(frame, own);
	blast(fd, frame, &to);
	close(fd);
	return 0;
}
