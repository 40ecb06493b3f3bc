/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Traffic through VNICs that move among zones, both ways, and what of it arrived in every second, by the
 * kernel's time stamps at the receiving end. Told by standard input what is done to them; never moves a link.
 *
 * Link N of 1..255 is called PREFIX-of-links N and has the MAC 02:08:20:00:01:N. It sends from whatever zone
 * it is in, and the wire's end sends to it. On standard input, one a line: foreign N   somebody moves it now;
 * moved N: that is done, from now on its cap must stand within 100 ms away N      its zone is to die: what it
 * should carry does not count; back N: it counts again close K     no socket of ours keeps zone K alive any
 * more; open K
 */
#include "tests/tools/tool.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <poll.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#define MAX   256
#define BATCH 64
#define SNAP  14
#define TICK  1000000
#define LATE  (5 * TICK) /* a sender that could not run so long makes up for no more */
#define GRACE 100        /* ms */

static const char *zones = "z", *links = "vnic", *wire, *wire_dev = "peer0";
static uint64_t zone_count = 2, link_count = 1, cap, offer = 3, seconds = 10, len = 1514;
static const struct opt opts[] = {
	{.name = "zones", .kind = OPT_STR, .where = &zones, .help = "what the zones' names begin with (z)"},
	{.name = "zone-count", .kind = OPT_UINT, .where = &zone_count, .help = "so many (2)"},
	{.name = "links",
	 .kind = OPT_STR,
	 .where = &links,
	 .help = "what the links' names begin with (vnic)"},
	{.name = "link-count", .kind = OPT_UINT, .where = &link_count, .help = "so many (1)"},
	{.name = "wire", .kind = OPT_STR, .where = &wire, .help = "namespace of the wire's other end"},
	{.name = "dev", .kind = OPT_STR, .where = &wire_dev, .help = "device there (peer0)"},
	{.name = "cap", .kind = OPT_RATE, .where = &cap, .help = "cap of every link, each way, bits/s"},
	{.name = "offer", .kind = OPT_UINT, .where = &offer, .help = "so many times the cap is sent (3)"},
	{.name = "seconds", .kind = OPT_UINT, .where = &seconds, .help = "so long (10)"},
	{.name = "len", .kind = OPT_UINT, .where = &len, .help = "layer-2 length of a frame (1514)"},
	{0},
};

enum way { TX, RX, WAYS };

struct link {
	uint32_t *bytes[WAYS]; /* for each ms */
	bool *free;            /* ms in which the cap need not stand: others just moved it */
	int64_t due[WAYS];     /* until when it has been sent for */
	uint64_t foreign;      /* ms; when a move by others began */
	int64_t away;          /* ms since when nothing is expected of it; 0: all is */
	uint64_t away_ms;
	unsigned zone; /* where it was last, 0 unknown */
	int ifindex;
	unsigned moves; /* by others */
};

static struct link all[MAX];
static int sockets[MAX]; /* by zone; 0 is the wire */
static int wire_index;
static int64_t start, start_mono;
static uint64_t ms_count, lost;

static uint64_t now_ms(void)
{
	return (uint64_t)(now_ns(CLOCK_REALTIME) - start) / TICK;
}

static int open_socket(const char *ns)
{
	/* Only the addresses are looked at, so only they are copied. */
	struct sock_filter snap = BPF_STMT(BPF_RET | BPF_K, SNAP);
	struct sock_fprog prog = {.len = 1, .filter = &snap};
	int own = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC), on = 1, room = 64 << 20, there, fd;
	char path[256];

	snprintf(path, sizeof(path), "/run/netns/%s", ns);
	there = open(path, O_RDONLY | O_CLOEXEC);
	if (own < 0 || there < 0 || setns(there, CLONE_NEWNET))
		die(path);
	fd = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, htons(ETH_P_ALL));
	if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &prog, sizeof(prog)) ||
	    setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &room, sizeof(room)) ||
	    setsockopt(fd, SOL_SOCKET, SO_SNDBUFFORCE, &room, sizeof(room)) ||
	    setsockopt(fd, SOL_SOCKET, SO_TIMESTAMPNS, &on, sizeof(on)) ||
	    setsockopt(fd, SOL_PACKET, PACKET_IGNORE_OUTGOING, &on, sizeof(on)))
		die("socket");
	if (setns(own, CLONE_NEWNET))
		die("own namespace");
	close(own);
	close(there);
	return fd;
}

static void open_zone(unsigned k)
{
	char name[128];

	snprintf(name, sizeof(name), "%s%u", zones, k);
	sockets[k] = open_socket(name);
}

static void count_lost(int fd)
{
	struct tpacket_stats st = {0};
	socklen_t size = sizeof(st);

	getsockopt(fd, SOL_PACKET, PACKET_STATISTICS, &st, &size);
	lost += st.tp_drops;
}

static void close_zone(unsigned k)
{
	if (sockets[k] < 0)
		return;
	count_lost(sockets[k]);
	close(sockets[k]);
	sockets[k] = -1;
}

/* The link's number when this is a frame of ours with the address of one of them; else 0. */
static unsigned link_of(const uint8_t *frame, enum way way)
{
	static const uint8_t ours[5] = {0x02, 0x08, 0x20, 0x00, 0x01}, type[2] = {0x88, 0xb5};
	const uint8_t *mac = way == TX ? frame + ETH_ALEN : frame;

	if (memcmp(frame + 2 * ETH_ALEN, type, 2) != 0 || memcmp(mac, ours, 5) != 0)
		return 0;
	return mac[5] <= link_count ? mac[5] : 0;
}

static void arrived(struct msghdr *m, const uint8_t *frame, uint32_t bytes, enum way way)
{
	unsigned n = link_of(frame, way);
	struct timespec ts = {0};
	uint64_t ms;

	for (struct cmsghdr *c = CMSG_FIRSTHDR(m); c; c = CMSG_NXTHDR(m, c))
		if (c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_TIMESTAMPNS)
			memcpy(&ts, CMSG_DATA(c), sizeof(ts));
	ms = (uint64_t)(ts.tv_sec * NSEC + ts.tv_nsec - start) / TICK;
	if (n && ms < ms_count)
		all[n].bytes[way][ms] += bytes;
}

static void receive(int fd, enum way way)
{
	static uint8_t buf[BATCH][SNAP], control[BATCH][64];
	struct mmsghdr msg[BATCH] = {0};
	struct iovec iov[BATCH];
	int n;

	do {
		for (int i = 0; i < BATCH; i++) {
			iov[i] = (struct iovec){.iov_base = buf[i], .iov_len = SNAP};
			msg[i].msg_hdr = (struct msghdr){.msg_iov = &iov[i],
							 .msg_iovlen = 1,
							 .msg_control = control[i],
							 .msg_controllen = sizeof(control[i])};
		}
		/* What is cut has lost its length: all are len. */
		n = recvmmsg(fd, msg, BATCH, MSG_DONTWAIT, NULL);
		for (int i = 0; i < n; i++)
			arrived(&msg[i].msg_hdr, buf[i], (uint32_t)len, way);
	} while (n == BATCH);
}

static void receive_all(void)
{
	for (unsigned k = 0; k <= zone_count; k++)
		if (sockets[k] >= 0)
			receive(sockets[k], k ? RX : TX);
}

/* By its name: its number may be another link's by now. */
static int index_in(unsigned zone, unsigned n)
{
	struct ifreq ifr = {0};

	snprintf(ifr.ifr_name, sizeof(ifr.ifr_name), "%.8s%u", links, n);
	return sockets[zone] >= 0 && ioctl(sockets[zone], SIOCGIFINDEX, &ifr) == 0 ? ifr.ifr_ifindex : 0;
}

static bool find(struct link *l, unsigned n)
{
	l->ifindex = l->zone ? index_in(l->zone, n) : 0;
	for (unsigned k = 1; k <= zone_count && !l->ifindex; k++) {
		l->ifindex = index_in(k, n);
		l->zone = k;
	}
	if (!l->ifindex)
		l->zone = 0;
	return l->ifindex;
}

static void send_frames(int fd, int ifindex, uint8_t *frame, unsigned count)
{
	struct sockaddr_ll to = {.sll_family = AF_PACKET, .sll_ifindex = ifindex, .sll_halen = ETH_ALEN};
	struct iovec iov = {.iov_base = frame, .iov_len = len};
	struct mmsghdr msg[BATCH];

	for (unsigned i = 0; i < count; i++)
		msg[i] = (struct mmsghdr){.msg_hdr = {.msg_iov = &iov,
						      .msg_iovlen = 1,
						      .msg_name = &to,
						      .msg_namelen = sizeof(to)}};
	/* What a full queue eats is lost, and so is what a link that is down does. */
	for (unsigned i = 0; i < count;) {
		int r = sendmmsg(fd, msg + i, count - i, 0);

		i += r > 0 ? (unsigned)r : 1;
	}
}

static void send_due(struct link *l, unsigned n, enum way way, int64_t now)
{
	/* A protocol that no stack knows: nothing answers. */
	uint8_t frame[9018] = {
		[0] = 0x02, [1] = 0x08, [2] = 0x20, [3] = 0, [4] = 1, [12] = 0x88, [13] = 0xb5};
	static const uint8_t away[ETH_ALEN] = {0x02, 0x00, 0x5e, 0x00, 0x00, 0x02};
	int64_t each = (int64_t)(len * 8 * NSEC / (cap * offer));
	unsigned count = 0;

	if (now - l->due[way] > LATE)
		l->due[way] = now - LATE;
	for (; l->due[way] < now && count < BATCH; l->due[way] += each)
		count++;
	frame[5] = (uint8_t)n;
	if (way == TX) {
		memcpy(frame + ETH_ALEN, frame, ETH_ALEN);
		memcpy(frame, away, ETH_ALEN);
	} else {
		memcpy(frame + ETH_ALEN, away, ETH_ALEN);
	}
	if (count && way == RX)
		send_frames(sockets[0], wire_index, frame, count);
	else if (count && find(l, n))
		send_frames(sockets[l->zone], l->ifindex, frame, count);
}

static void moved(struct link *l)
{
	uint64_t to = now_ms() + GRACE;

	for (uint64_t ms = l->foreign; ms <= to && ms < ms_count; ms++)
		l->free[ms] = true;
	l->moves++;
}

static void told(const char *line)
{
	char what[16];
	unsigned n;

	if (sscanf(line, "%15s %u", what, &n) != 2 || n >= MAX) {
		fprintf(stderr, "zonetraffic: not understood: %s\n", line);
		exit(2);
	}
	if (!strcmp(what, "foreign")) {
		all[n].foreign = now_ms();
	} else if (!strcmp(what, "moved")) {
		moved(&all[n]);
	} else if (!strcmp(what, "away")) {
		all[n].away = (int64_t)now_ms();
	} else if (!strcmp(what, "back")) {
		all[n].away_ms += now_ms() - (uint64_t)all[n].away;
		all[n].away = 0;
	} else if (!strcmp(what, "close")) {
		close_zone(n);
	} else if (!strcmp(what, "open")) {
		open_zone(n);
	}
}

static void listen_to_input(void)
{
	static char buf[1024];
	static size_t have;
	ssize_t n = read(STDIN_FILENO, buf + have, sizeof(buf) - 1 - have);
	char *end;

	have += n > 0 ? (size_t)n : 0;
	buf[have] = '\0';
	while ((end = strchr(buf, '\n'))) {
		*end = '\0';
		told(buf);
		have -= (size_t)(end + 1 - buf);
		memmove(buf, end + 1, have + 1);
	}
}

static void run(void)
{
	struct timespec nap = {.tv_nsec = TICK};

	for (int64_t now = start_mono; !stopped && now - start_mono < (int64_t)seconds * NSEC;
	     now = now_ns(CLOCK_MONOTONIC)) {
		listen_to_input();
		for (unsigned n = 1; n <= link_count; n++) {
			send_due(&all[n], n, TX, now);
			send_due(&all[n], n, RX, now);
		}
		receive_all();
		nanosleep(&nap, NULL);
	}
	ms_count = now_ms() < ms_count ? now_ms() : ms_count;
	nap.tv_nsec = 50 * TICK;
	nanosleep(&nap, NULL);
	receive_all();
}

/* The fullest second that begins at any ms, over the cap. */
static double worst_second(const struct link *l, enum way way)
{
	uint64_t in = 0, worst = 0, free_in = 0;

	for (uint64_t ms = 0; ms < ms_count; ms++) {
		in += l->bytes[way][ms];
		free_in += way == TX && l->free[ms];
		if (ms >= 1000) {
			in -= l->bytes[way][ms - 1000];
			free_in -= way == TX && l->free[ms - 1000];
		}
		if (in > worst && !free_in)
			worst = in;
	}
	return (double)worst * 8 / (double)cap;
}

/*
 * How long it sent without a cap after a move: what went out above the cap, over what can go out above it in
 * a ms. What a cap saves up itself is in it.
 */
static double uncapped_ms(const struct link *l, uint64_t *ret_at)
{
	double each = (double)cap / 8000, over = 0, most = 0;

	for (uint64_t ms = 0; ms < ms_count; ms++) {
		over += l->bytes[TX][ms] - each;
		if (over < 0)
			over = 0;
		if (over > most) {
			most = over;
			*ret_at = ms;
		}
	}
	return most / (each * (double)(offer - 1));
}

static double whole(const struct link *l, enum way way)
{
	uint64_t sum = 0, expected = ms_count - l->away_ms - (l->away ? ms_count - (uint64_t)l->away : 0);

	for (uint64_t ms = 0; ms < ms_count; ms++)
		sum += l->bytes[way][ms];
	return (double)sum * 8000 / (double)cap / (double)expected;
}

static void report(void)
{
	static const char *const names[] = {"tx", "rx"};
	double uncapped = 0;
	uint64_t at = 0, when = 0;
	unsigned which = 0, moves = 0;

	for (int way = 0; way < WAYS; way++) {
		double worst = 0, sum = 0, least = 10;

		for (unsigned n = 1; n <= link_count; n++) {
			double w = worst_second(&all[n], (enum way)way), a = whole(&all[n], (enum way)way);

			worst = w > worst ? w : worst;
			least = a < least ? a : least;
			sum += a;
		}
		printf("%s_worst_second %.4f\n%s_whole %.4f\n%s_least %.4f\n", names[way], worst, names[way],
		       sum / (double)link_count, names[way], least);
	}
	for (unsigned n = 1; n <= link_count; n++) {
		double ms = uncapped_ms(&all[n], &at);

		moves += all[n].moves;
		if (ms <= uncapped)
			continue;
		uncapped = ms;
		which = n;
		when = at;
	}
	for (unsigned k = 0; k <= zone_count; k++)
		if (sockets[k] >= 0)
			count_lost(sockets[k]);
	printf("moved_by_others %u\nuncapped_ms %.1f\nuncapped_link %u\nuncapped_at_ms %llu\nlost_here "
	       "%llu\nseconds %.1f\n",
	       moves, uncapped, which, (unsigned long long)when, (unsigned long long)lost,
	       (double)ms_count / 1000);
}

int main(int argc, char **argv)
{
	options(argc, argv, opts);
	if (!wire || !cap || !offer || !link_count || link_count >= MAX || zone_count >= MAX || len > 9018)
		usage(opts);
	stop_on_signals();
	fcntl(STDIN_FILENO, F_SETFL, O_NONBLOCK);
	sockets[0] = open_socket(wire);
	struct ifreq ifr = {0};

	snprintf(ifr.ifr_name, sizeof(ifr.ifr_name), "%.15s", wire_dev);
	if (ioctl(sockets[0], SIOCGIFINDEX, &ifr))
		die(wire_dev);
	wire_index = ifr.ifr_ifindex;
	for (unsigned k = 1; k <= zone_count; k++)
		open_zone(k);
	ms_count = (seconds + 1) * 1000;
	start = now_ns(CLOCK_REALTIME);
	start_mono = now_ns(CLOCK_MONOTONIC);
	for (unsigned n = 1; n <= link_count; n++) {
		all[n].free = calloc(ms_count, sizeof(*all[n].free));
		for (int way = 0; way < WAYS; way++) {
			all[n].bytes[way] = calloc(ms_count, sizeof(uint32_t));
			all[n].due[way] = start_mono;
		}
	}
	run();
	report();
	return 0;
}
