/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Counts what arrives at a device, as a cap counts it (layer 2, each GSO segment with its own headers), by
 * the kernel's time stamps: average, first second, worst sliding window, longest silence. Never sends a
 * frame.
 */
#include "tests/tools/tool.h"

#include <arpa/inet.h>
#include <linux/filter.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <linux/virtio_net.h>
#include <net/if.h>
#include <poll.h>
#include <sys/socket.h>

#ifndef VIRTIO_NET_HDR_GSO_UDP_L4 /* newer than Debian 12's headers */
#define VIRTIO_NET_HDR_GSO_UDP_L4 5
#endif

#define SNAP  128
#define BATCH 64

struct frame {
	int64_t at;
	uint32_t bytes;
	bool group;
};

static const char *dev;
static uint64_t seconds = 10, window_ms = 200, first_ms = 1000, start_min = 1000, idle_ms;
static bool list, stack;
static const struct opt opts[] = {
	{.name = "dev", .kind = OPT_STR, .where = &dev, .help = "device that receives"},
	{.name = "seconds", .kind = OPT_UINT, .where = &seconds, .help = "at most so long (10)"},
	{.name = "window", .kind = OPT_UINT, .where = &window_ms, .help = "sliding window in ms (200)"},
	{.name = "first",
	 .kind = OPT_UINT,
	 .where = &first_ms,
	 .help = "what the average leaves out, in ms (1000)"},
	{.name = "start",
	 .kind = OPT_UINT,
	 .where = &start_min,
	 .help = "a frame this long starts the clock (1000)"},
	{.name = "idle",
	 .kind = OPT_UINT,
	 .where = &idle_ms,
	 .help = "end after a silence of so many ms (off)"},
	{.name = "stack",
	 .kind = OPT_FLAG,
	 .where = &stack,
	 .help = "only IPv4 that passed the ingress programs"},
	{.name = "list", .kind = OPT_FLAG, .where = &list, .help = "print every window's rate, too"},
	{0},
};

static struct frame *frames;
static size_t count, room;

static int open_socket(void)
{
	/* Only the headers are looked at, so only they are copied. */
	struct sock_filter snap = BPF_STMT(BPF_RET | BPF_K, SNAP);
	struct sock_fprog prog = {.len = 1, .filter = &snap};
	/* A socket for all protocols sees a frame before the ingress programs do, one for a protocol after
	 * them. */
	struct sockaddr_ll sll = {.sll_family = AF_PACKET,
				  .sll_protocol = htons(stack ? ETH_P_IP : ETH_P_ALL)};
	int on = 1, room_bytes = 512 << 20, fd = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0);

	sll.sll_ifindex = (int)if_nametoindex(dev);
	if (fd < 0 || !sll.sll_ifindex)
		die(dev);
	if (setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &prog, sizeof(prog)) ||
	    setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &room_bytes, sizeof(room_bytes)) ||
	    setsockopt(fd, SOL_SOCKET, SO_TIMESTAMPNS, &on, sizeof(on)) ||
	    setsockopt(fd, SOL_PACKET, PACKET_AUXDATA, &on, sizeof(on)) ||
	    setsockopt(fd, SOL_PACKET, PACKET_VNET_HDR, &on, sizeof(on)) ||
	    setsockopt(fd, SOL_PACKET, PACKET_IGNORE_OUTGOING, &on, sizeof(on)))
		die("setsockopt");
	if (bind(fd, (struct sockaddr *)&sll, sizeof(sll)))
		die("bind");
	return fd;
}

/* Length of all headers up to the payload that GSO cuts. */
static unsigned header_len(const uint8_t *p, bool udp)
{
	unsigned type = p[12] << 8 | p[13], l4 = ETH_HLEN;

	if (type == ETH_P_IP)
		l4 += (p[ETH_HLEN] & 15) * 4;
	else if (type == ETH_P_IPV6)
		l4 += 40;
	else
		return 0;
	return udp ? l4 + 8 : l4 + (p[l4 + 12] >> 4) * 4;
}

/* As qdisc_pkt_len: every segment but the first brings its headers once more. */
static uint32_t counted_len(const struct virtio_net_hdr *vh, const uint8_t *p, uint32_t len)
{
	bool udp = vh->gso_type == VIRTIO_NET_HDR_GSO_UDP_L4 || vh->gso_type == VIRTIO_NET_HDR_GSO_UDP;
	unsigned hlen = vh->gso_type ? header_len(p, udp) : 0;

	if (!hlen || !vh->gso_size || len <= hlen)
		return len;
	return len + ((len - hlen + vh->gso_size - 1) / vh->gso_size - 1) * hlen;
}

static void keep(struct msghdr *m, const uint8_t *buf)
{
	const struct virtio_net_hdr *vh = (const void *)buf;
	const uint8_t *p = buf + sizeof(*vh);
	struct frame f = {.group = p[0] & 1};
	struct tpacket_auxdata aux = {0};
	struct timespec ts = {0};

	for (struct cmsghdr *c = CMSG_FIRSTHDR(m); c; c = CMSG_NXTHDR(m, c)) {
		if (c->cmsg_level == SOL_PACKET && c->cmsg_type == PACKET_AUXDATA)
			memcpy(&aux, CMSG_DATA(c), sizeof(aux));
		else if (c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_TIMESTAMPNS)
			memcpy(&ts, CMSG_DATA(c), sizeof(ts));
	}
	f.at = ts.tv_sec * NSEC + ts.tv_nsec;
	f.bytes = counted_len(vh, p, aux.tp_len);
	if (!count && f.bytes < start_min)
		return;
	if (count == room) {
		room = room ? room * 2 : 1 << 16;
		frames = realloc(frames, room * sizeof(*frames));
		if (!frames)
			die("memory");
	}
	frames[count++] = f;
}

static void receive(int fd)
{
	static uint8_t buf[BATCH][sizeof(struct virtio_net_hdr) + SNAP];
	static uint8_t control[BATCH][256];
	struct mmsghdr msg[BATCH] = {0};
	struct iovec iov[BATCH];

	for (int i = 0; i < BATCH; i++) {
		iov[i] = (struct iovec){.iov_base = buf[i], .iov_len = sizeof(buf[i])};
		msg[i].msg_hdr = (struct msghdr){.msg_iov = &iov[i],
						 .msg_iovlen = 1,
						 .msg_control = control[i],
						 .msg_controllen = sizeof(control[i])};
	}
	int n = recvmmsg(fd, msg, BATCH, MSG_DONTWAIT, NULL);

	for (int i = 0; i < n; i++)
		keep(&msg[i].msg_hdr, buf[i]);
}

static void watch(int fd)
{
	int64_t begin = now_ns(CLOCK_MONOTONIC), last = begin, now = begin;
	struct pollfd p = {.fd = fd, .events = POLLIN};

	while (!stopped && now - begin < (int64_t)seconds * NSEC) {
		size_t before = count;

		if (poll(&p, 1, 20) > 0)
			receive(fd);
		now = now_ns(CLOCK_MONOTONIC);
		if (count != before)
			last = now;
		if (idle_ms && count && now - last > (int64_t)idle_ms * 1000000)
			break;
	}
}

static double rate(uint64_t bytes, int64_t ns)
{
	return ns > 0 ? (double)bytes * 8e9 / (double)ns : 0;
}

static uint64_t bytes_between(int64_t from, int64_t to, bool group_only)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < count; i++)
		if (frames[i].at >= from && frames[i].at < to && (!group_only || frames[i].group))
			sum += frames[i].bytes;
	return sum;
}

/* The highest rate over any window, wherever it begins. */
static void print_worst(int64_t start, int64_t width)
{
	uint64_t in = 0, worst = 0;
	int64_t at = start;
	size_t tail = 0;

	for (size_t head = 0; head < count; head++) {
		in += frames[head].bytes;
		while (frames[head].at - frames[tail].at >= width)
			in -= frames[tail++].bytes;
		if (in > worst) {
			worst = in;
			at = frames[tail].at;
		}
	}
	printf("worst_window %.0f\nworst_window_at_ms %.1f\n", rate(worst, width),
	       (double)(at - start) / 1e6);
}

/* The longest silence within the load: a straggler after its end is none. */
static void print_gap(int64_t start, int64_t end)
{
	int64_t gap = 0, at = start;

	for (size_t i = 1; i < count && frames[i].at <= end; i++)
		if (frames[i].at - frames[i - 1].at > gap) {
			gap = frames[i].at - frames[i - 1].at;
			at = frames[i - 1].at;
		}
	printf("gap_max_ms %.2f\ngap_at_ms %.1f\n", (double)gap / 1e6, (double)(at - start) / 1e6);
}

/* Time of the last long frame: what trickles after a load is no part of its average. */
static int64_t load_end(void)
{
	for (size_t i = count; i > 0; i--)
		if (frames[i - 1].bytes >= start_min)
			return frames[i - 1].at;
	return 0;
}

static void report(int fd)
{
	struct tpacket_stats st = {0};
	socklen_t len = sizeof(st);
	int64_t width = (int64_t)window_ms * 1000000, skip = (int64_t)first_ms * 1000000;
	int64_t start = count ? frames[0].at : 0, end = load_end();

	getsockopt(fd, SOL_PACKET, PACKET_STATISTICS, &st, &len);
	printf("frames %zu\nlost_here %u\nseconds %.3f\n", count, st.tp_drops, (double)(end - start) / 1e9);
	if (!count)
		return;
	printf("bytes %llu\n", (unsigned long long)bytes_between(start, end + 1, false));
	printf("group_bytes %llu\n", (unsigned long long)bytes_between(start, end + 1, true));
	printf("rate %.0f\n", rate(bytes_between(start + skip, end, false), end - start - skip));
	printf("first_second %.0f\n", rate(bytes_between(start, start + NSEC, false), NSEC));
	print_worst(start, width);
	print_gap(start, end);
	for (int64_t t = start; list && t < end; t += width)
		printf("window %.1f %.0f\n", (double)(t - start) / 1e6,
		       rate(bytes_between(t, t + width, false), width));
}

int main(int argc, char **argv)
{
	options(argc, argv, opts);
	if (!dev)
		usage(opts);
	stop_on_signals();
	int fd = open_socket();

	watch(fd);
	report(fd);
	free(frames);
	return !count;
}
