/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Traffic of many kinds between two namespaces, both ways, and what its senders and its receivers counted of
 * each kind, in packets and layer-2 bytes of the wire. One thread holds both ends and sends nothing before
 * what went before was received, so that nothing is lost. Then it waits for a signal: ends of TCP would be
 * packets that nobody counts. Makes no link.
 */
#include "tests/tools/tool.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <linux/tcp.h>
#include <net/if.h>
#include <netinet/ip.h>
#include <netinet/udp.h>
#include <poll.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#ifndef UDP_SEGMENT
#define UDP_SEGMENT 103
#endif
#define MTU       1500
#define UDP_HEAD  8
#define TCP_HEAD  32 /* with time stamps; no SACK, by the namespace's setting */
#define TCP_FIRST 40 /* of a packet with SYN */
#define TAG       4
#define BURST     8
#define WAIT_MS   3000
#define STILL_MS  300 /* longer than an acknowledgement is put off */

enum how { DATAGRAMS, FRAMES, STREAM };
enum way { OUT, IN }; /* from which end */

struct count {
	uint64_t packets, bytes;
};

/* gso: segment size; vid: tags in the frame, the outer one first. */
struct kind {
	const char *name;
	enum how how;
	bool v6;
	uint16_t port, gso, vid[2];
	uint32_t least, most;              /* payload of one sending */
	int fd[2];                         /* at each end */
	struct count sent[2], received[2]; /* by way */
};

static struct kind kinds[] = {
	{.name = "udp4", .port = 7001, .most = 1472},
	{.name = "udp6", .port = 7002, .most = 1452, .v6 = true},
	{.name = "gso4", .port = 7003, .least = 1, .most = 48000, .gso = 1200},
	{.name = "gso6", .port = 7004, .least = 1, .most = 48000, .gso = 1100, .v6 = true},
	{.name = "frag4", .port = 7005, .least = 1473, .most = 20000},
	{.name = "frag6", .port = 7006, .least = 1453, .most = 20000, .v6 = true},
	{.name = "tcp4", .port = 7007, .least = 1, .most = 200000, .how = STREAM},
	{.name = "tcp6", .port = 7008, .least = 1, .most = 200000, .how = STREAM, .v6 = true},
	{.name = "tag", .port = 7009, .most = 1400, .vid = {5}, .how = FRAMES},
	{.name = "tags", .port = 7010, .most = 1400, .vid = {6, 7}, .how = FRAMES},
	{.name = "-", .port = 7011, .most = 1472},
};
#define KINDS (sizeof(kinds) / sizeof(*kinds))

struct end {
	const char *spec;
	char ns[256], dev[IFNAMSIZ];
	unsigned host;
	int ifindex;
	uint8_t mac[6];
};

static struct end ends[2];
static uint64_t packets = 10000, seed = 1;
static const struct opt opts[] = {
	{.name = "here", .kind = OPT_STR, .where = &ends[OUT].spec, .help = "NAMESPACE:DEVICE:N of the link"},
	{.name = "there",
	 .kind = OPT_STR,
	 .where = &ends[IN].spec,
	 .help = "the other end's; N: of 10.99.0.N and fd99::N"},
	{.name = "packets", .kind = OPT_UINT, .where = &packets, .help = "at least so many (10000)"},
	{.name = "seed", .kind = OPT_UINT, .where = &seed, .help = "of the choices (1)"},
	{0},
};

static uint8_t payload[1 << 18], got[1 << 18];

static uint32_t pick(uint32_t least, uint32_t most)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return least + (uint32_t)(seed % (most - least + 1));
}

/* What is counted. */

static uint64_t head_of(const struct kind *k)
{
	return ETH_HLEN + (k->v6 ? 40 : 20);
}

static void add(struct count *c, uint64_t n, uint64_t bytes)
{
	c->packets += n;
	c->bytes += bytes;
}

/* A datagram with so much payload, in the fragments that it needs. */
static void add_datagram(struct count *c, const struct kind *k, uint64_t len)
{
	uint64_t body = len + UDP_HEAD, most = MTU - (head_of(k) - ETH_HLEN), head = head_of(k), n = 1;

	if (body > most) {
		uint64_t extra = k->v6 ? 8 : 0, piece = (most - extra) / 8 * 8;

		head += extra;
		n = (body + piece - 1) / piece;
	}
	add(c, n, body + n * head);
}

static void add_sending(struct count *c, const struct kind *k, uint64_t len)
{
	uint64_t n = k->gso ? (len + k->gso - 1) / k->gso : 1;

	if (k->gso)
		add(c, n, len + n * (head_of(k) + UDP_HEAD));
	else
		add_datagram(c, k, len);
}

/* What comes in has its outer tag in metadata, which no cap counts. */
static void add_frame(struct count *c, enum way way, uint64_t wire)
{
	add(c, 1, way == IN ? wire - TAG : wire);
}

/* The ends. */

static void enter(const struct end *e)
{
	char path[300];
	int fd;

	snprintf(path, sizeof(path), "/run/netns/%s", e->ns);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || setns(fd, CLONE_NEWNET))
		die(path);
	close(fd);
}

static void read_end(struct end *e)
{
	struct ifreq ifr = {0};
	int fd;

	if (!e->spec || sscanf(e->spec, "%255[^:]:%15[^:]:%u", e->ns, e->dev, &e->host) != 3)
		usage(opts);
	enter(e);
	fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	memcpy(ifr.ifr_name, e->dev, sizeof(e->dev));
	e->ifindex = (int)if_nametoindex(e->dev);
	if (fd < 0 || !e->ifindex || ioctl(fd, SIOCGIFHWADDR, &ifr))
		die(e->dev);
	memcpy(e->mac, ifr.ifr_hwaddr.sa_data, 6);
	close(fd);
}

static socklen_t address(const struct end *e, const struct kind *k, struct sockaddr_storage *ret)
{
	struct sockaddr_in6 *v6 = (void *)ret;
	struct sockaddr_in *v4 = (void *)ret;
	char text[64];

	memset(ret, 0, sizeof(*ret));
	snprintf(text, sizeof(text), k->v6 ? "fd99::%u" : "10.99.0.%u", e->host);
	ret->ss_family = k->v6 ? AF_INET6 : AF_INET;
	if (inet_pton(ret->ss_family, text, k->v6 ? (void *)&v6->sin6_addr : (void *)&v4->sin_addr) != 1)
		die(text);
	v4->sin_port = htons(k->port); /* where sin6_port is, too */
	return k->v6 ? sizeof(*v6) : sizeof(*v4);
}

/* A socket of the end where the thread is, on the kind's port. */
static int open_port(const struct kind *k, enum way at)
{
	int fd = socket(k->v6 ? AF_INET6 : AF_INET,
			(k->how == STREAM ? SOCK_STREAM : SOCK_DGRAM) | SOCK_CLOEXEC, 0);
	struct sockaddr_storage own;
	int big = 1 << 25, on = 1;

	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	if (k->how != STREAM)
		setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &big, sizeof(big));
	if (fd < 0 || bind(fd, (struct sockaddr *)&own, address(&ends[at], k, &own)))
		die(k->name);
	return fd;
}

static void connect_to(int fd, const struct kind *k, enum way other)
{
	struct sockaddr_storage to;

	if (connect(fd, (struct sockaddr *)&to, address(&ends[other], k, &to)))
		die(k->name);
}

static void open_datagrams(struct kind *k)
{
	int gso = k->gso;

	for (enum way at = OUT; at <= IN; at++) {
		enter(&ends[at]);
		k->fd[at] = open_port(k, at);
		connect_to(k->fd[at], k, !at);
		if (gso && setsockopt(k->fd[at], IPPROTO_UDP, UDP_SEGMENT, &gso, sizeof(gso)))
			die("UDP_SEGMENT");
	}
}

static void open_stream(struct kind *k)
{
	int listener, on = 1;

	enter(&ends[IN]);
	listener = open_port(k, IN);
	if (listen(listener, 1))
		die("listen");
	enter(&ends[OUT]);
	k->fd[OUT] = open_port(k, OUT);
	connect_to(k->fd[OUT], k, IN);
	k->fd[IN] = accept(listener, NULL, NULL);
	if (k->fd[IN] < 0)
		die("accept");
	close(listener);
	for (enum way at = OUT; at <= IN; at++) {
		setsockopt(k->fd[at], IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
		fcntl(k->fd[at], F_SETFL, O_NONBLOCK);
	}
}

/* Receives what comes with this VLAN in metadata, where the kernel puts the outer tag of what it receives. */
static void open_frames(struct kind *k)
{
	struct sock_filter code[] = {
		{BPF_LD | BPF_W | BPF_ABS, 0, 0, (uint32_t)(SKF_AD_OFF + SKF_AD_VLAN_TAG)},
		{BPF_ALU | BPF_AND | BPF_K, 0, 0, 0xfff},
		{BPF_JMP | BPF_JEQ | BPF_K, 0, 1, k->vid[0]},
		{BPF_RET | BPF_K, 0, 0, UINT32_MAX},
		{BPF_RET | BPF_K, 0, 0, 0},
	};
	struct sock_fprog filter = {.len = sizeof(code) / sizeof(*code), .filter = code};
	int big = 1 << 25;

	for (enum way at = OUT; at <= IN; at++) {
		struct sockaddr_ll own = {.sll_family = AF_PACKET,
					  .sll_protocol = htons(ETH_P_ALL),
					  .sll_ifindex = ends[at].ifindex};

		enter(&ends[at]);
		k->fd[at] = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0);
		setsockopt(k->fd[at], SOL_SOCKET, SO_RCVBUFFORCE, &big, sizeof(big));
		if (k->fd[at] < 0 ||
		    setsockopt(k->fd[at], SOL_SOCKET, SO_ATTACH_FILTER, &filter, sizeof(filter)) ||
		    bind(k->fd[at], (struct sockaddr *)&own, sizeof(own)))
			die(k->name);
	}
}

/* Sending and receiving. */

/* The Ethernet frame of a UDP packet of len bytes behind the tags; returns its length. */
static size_t build(const struct kind *k, enum way way, uint32_t len, uint8_t *frame)
{
	uint16_t *at = (void *)(frame + 12);
	struct iphdr ip = {.version = 4,
			   .ihl = 5,
			   .ttl = 9,
			   .protocol = IPPROTO_UDP,
			   .tot_len = htons((uint16_t)(sizeof(ip) + UDP_HEAD + len)),
			   .saddr = htonl(0x0a630000 | ends[way].host),
			   .daddr = htonl(0x0a630000 | ends[!way].host)};
	struct udphdr udp = {
		.source = htons(k->port), .dest = htons(k->port), .len = htons((uint16_t)(UDP_HEAD + len))};

	memcpy(frame, ends[!way].mac, 6);
	memcpy(frame + 6, ends[way].mac, 6);
	for (size_t i = 0; i < 2 && k->vid[i]; i++) {
		*at++ = htons(ETH_P_8021Q);
		*at++ = htons(k->vid[i]);
	}
	*at++ = htons(ETH_P_IP);
	memcpy(at, &ip, sizeof(ip));
	memcpy((uint8_t *)at + sizeof(ip), &udp, sizeof(udp));
	return (size_t)((uint8_t *)at - frame) + sizeof(ip) + sizeof(udp) + len;
}

static void send_one(struct kind *k, enum way way, uint32_t len)
{
	static uint8_t frame[MTU + 100] __attribute__((aligned(4)));
	size_t wire = k->how == FRAMES ? build(k, way, len, frame) : len;

	if (send(k->fd[way], k->how == FRAMES ? frame : payload, wire, 0) != (ssize_t)wire)
		die(k->name);
	if (k->how == FRAMES)
		add_frame(&k->sent[way], way, wire);
	else
		add_sending(&k->sent[way], k, len);
}

static bool readable(int fd, int ms)
{
	struct pollfd p = {.fd = fd, .events = POLLIN};

	return poll(&p, 1, ms) > 0;
}

static void lost(const struct kind *k, enum way way)
{
	fprintf(stderr, "mixed: %s %s: sent %llu packets, received %llu\n", k->name,
		way == OUT ? "out" : "in", (unsigned long long)k->sent[way].packets,
		(unsigned long long)k->received[way].packets);
	exit(1);
}

static void receive_all(struct kind *k, enum way way)
{
	while (k->received[way].packets < k->sent[way].packets) {
		ssize_t n;

		if (!readable(k->fd[!way], WAIT_MS))
			lost(k, way);
		n = recv(k->fd[!way], got, sizeof(got), 0);
		if (n < 0)
			die(k->name);
		if (k->how == FRAMES)
			add_frame(&k->received[way], way, (uint64_t)n + TAG);
		else
			add_datagram(&k->received[way], k, (uint64_t)n);
	}
}

/* Both ends of a connection at once: len bytes in at one, out at the other. */
static void stream(struct kind *k, enum way way, size_t len)
{
	size_t in = 0, out = 0;

	while (out < len) {
		ssize_t n = in < len ? send(k->fd[way], payload, len - in, MSG_NOSIGNAL) : 0;

		if (n < 0 && errno != EAGAIN)
			die(k->name);
		in += n > 0 ? (size_t)n : 0;
		if (!readable(k->fd[!way], WAIT_MS))
			lost(k, way);
		n = recv(k->fd[!way], got, sizeof(got), 0);
		if (n <= 0)
			die(k->name);
		out += (size_t)n;
	}
}

/* Returns about how many packets that was. */
static uint64_t burst(struct kind *k, enum way way)
{
	uint64_t before = k->sent[way].packets;
	uint32_t len = pick(k->least, k->most);

	if (k->how == STREAM) {
		stream(k, way, len);
		return len / MTU + 1;
	}
	for (uint32_t n = pick(1, BURST); n; n--)
		send_one(k, way, pick(k->least, k->most));
	receive_all(k, way);
	return k->sent[way].packets - before;
}

/* What TCP counted. */

static struct tcp_info info_of(int fd)
{
	struct tcp_info i = {0};
	socklen_t len = sizeof(i);

	if (getsockopt(fd, IPPROTO_TCP, TCP_INFO, &i, &len))
		die("TCP_INFO");
	return i;
}

/* Nothing is under way, and one end has received what the other one has sent. The first answer is no socket's
 * yet. */
static bool settled(const struct kind *k)
{
	struct tcp_info a = info_of(k->fd[OUT]), b = info_of(k->fd[IN]), later;

	usleep(STILL_MS * 1000);
	later = info_of(k->fd[OUT]);
	return !a.tcpi_unacked && !b.tcpi_unacked && a.tcpi_segs_out == b.tcpi_segs_in &&
	       a.tcpi_segs_in == b.tcpi_segs_out + 1 && later.tcpi_segs_out == a.tcpi_segs_out &&
	       later.tcpi_segs_in == a.tcpi_segs_in;
}

static void add_segments(struct count *c, const struct kind *k, uint64_t n, uint64_t bytes)
{
	add(c, n, bytes + n * (head_of(k) + TCP_HEAD) + TCP_FIRST - TCP_HEAD);
}

static void count_stream(struct kind *k)
{
	struct tcp_info a, b;

	for (int i = 0; !settled(k); i++)
		if (i == 20)
			die("TCP does not settle");
	a = info_of(k->fd[OUT]);
	b = info_of(k->fd[IN]);
	add_segments(&k->sent[OUT], k, a.tcpi_segs_out, a.tcpi_bytes_sent);
	add_segments(&k->sent[IN], k, b.tcpi_segs_out + 1, b.tcpi_bytes_sent);
	add_segments(&k->received[OUT], k, b.tcpi_segs_in, b.tcpi_bytes_received + a.tcpi_bytes_retrans);
	add_segments(&k->received[IN], k, a.tcpi_segs_in, a.tcpi_bytes_received + b.tcpi_bytes_retrans);
}

static void print(const struct kind *k)
{
	for (enum way way = OUT; way <= IN; way++) {
		const struct count *c[] = {&k->sent[way], &k->received[way]};

		for (int i = 0; i < 2; i++)
			printf("%s %s %s %llu %llu\n", i ? "received" : "sent", k->name,
			       way == OUT ? "out" : "in", (unsigned long long)c[i]->packets,
			       (unsigned long long)c[i]->bytes);
	}
}

static void open_kind(struct kind *k)
{
	static void (*const open_by[])(struct kind * k) = {
		[DATAGRAMS] = open_datagrams, [FRAMES] = open_frames, [STREAM] = open_stream};

	open_by[k->how](k);
}

int main(int argc, char **argv)
{
	uint64_t done = 0;

	options(argc, argv, opts);
	seed = seed ? seed : 1;
	stop_on_signals();
	for (enum way at = OUT; at <= IN; at++)
		read_end(&ends[at]);
	for (size_t i = 0; i < KINDS; i++)
		open_kind(&kinds[i]);
	while (done < packets && !stopped)
		done += burst(&kinds[pick(0, KINDS - 1)], pick(OUT, IN));
	for (size_t i = 0; i < KINDS; i++) {
		if (kinds[i].how == STREAM)
			count_stream(&kinds[i]);
		print(&kinds[i]);
	}
	printf("done\n");
	fflush(stdout);
	while (!stopped)
		usleep(20000);
	return 0;
}
