/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a packet costs on path A against path B: one thread on one CPU sends UDP, the kernel carries each
 * packet in line up to a device that drops it, and the time per packet is all there is. A and B take turns in
 * short slices, so that other work on the machine hits both. Makes no link; what it attaches goes when it
 * ends.
 */
#include "tests/tools/tool.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <linux/bpf.h>
#include <linux/if_ether.h>
#include <linux/pkt_cls.h>
#include <net/if.h>
#include <sched.h>
#include <stddef.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#define TCX_INGRESS 46 /* BPF_TCX_INGRESS, newer than Debian 12's headers */
#define BATCH       32
#define PAIRS_MAX   1000
#define PORT        10000
#define STRIDE      7919

struct side {
	const char *from, *host, *at;
	int fd;         /* sends */
	int netns;      /* where the packets end */
	uint64_t ports; /* sent to in turns, from PORT on; 0: to port 9 */
	char dev[IFNAMSIZ];
	uint64_t sent, arrived;
};

static struct side side[2];
static uint64_t pairs = 15, slice_ms = 200, len = 64, cpu;
static bool pass;
#define SIDE_OPTS(i, c)                                                                               \
	{.name = c "-from", .kind = OPT_STR, .where = &side[i].from, .help = "namespace that sends"}, \
		{.name = c "-host",                                                                   \
		 .kind = OPT_STR,                                                                     \
		 .where = &side[i].host,                                                              \
		 .help = "IPv4 address sent to"},                                                     \
		{.name = c "-ports",                                                                  \
		 .kind = OPT_UINT,                                                                    \
		 .where = &side[i].ports,                                                             \
		 .help = "so many ports in turns, from 10000 on (port 9)"},                           \
	{                                                                                             \
		.name = c "-at", .kind = OPT_STR, .where = &side[i].at,                               \
		.help = "NAMESPACE:DEVICE that drops"                                                 \
	}
static const struct opt opts[] = {
	SIDE_OPTS(0, "a"),
	SIDE_OPTS(1, "b"),
	{.name = "pairs", .kind = OPT_UINT, .where = &pairs, .help = "turns (15)"},
	{.name = "slice", .kind = OPT_UINT, .where = &slice_ms, .help = "length of a turn in ms (200)"},
	{.name = "len", .kind = OPT_UINT, .where = &len, .help = "bytes of payload (64)"},
	{.name = "pass", .kind = OPT_FLAG, .where = &pass, .help = "do not drop there, the stack does"},
	{.name = "cpu", .kind = OPT_UINT, .where = &cpu, .help = "CPU that does everything (0)"},
	{0},
};

static int enter(const char *ns)
{
	char path[300];
	int fd;

	snprintf(path, sizeof(path), "/run/netns/%s", ns);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || setns(fd, CLONE_NEWNET))
		die(path);
	return fd;
}

/* Drops IPv4 and lets ARP through. */
static int load_drop(void)
{
	struct bpf_insn insns[] = {
		{.code = BPF_LDX | BPF_MEM | BPF_W,
		 .dst_reg = BPF_REG_2,
		 .src_reg = BPF_REG_1,
		 .off = offsetof(struct __sk_buff, protocol)},
		{.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0, .imm = TC_ACT_SHOT},
		{.code = BPF_JMP | BPF_JEQ | BPF_K, .dst_reg = BPF_REG_2, .off = 1, .imm = htons(ETH_P_IP)},
		{.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0, .imm = TC_ACT_UNSPEC},
		{.code = BPF_JMP | BPF_EXIT},
	};
	union bpf_attr attr = {.prog_type = BPF_PROG_TYPE_SCHED_CLS,
			       .insns = (uintptr_t)insns,
			       .insn_cnt = sizeof(insns) / sizeof(insns[0]),
			       .license = (uintptr_t) "GPL"};

	return (int)syscall(SYS_bpf, BPF_PROG_LOAD, &attr, sizeof(attr));
}

static void attach_drop(const char *dev)
{
	union bpf_attr attr = {.link_create = {.attach_type = TCX_INGRESS}};
	int prog = load_drop();

	attr.link_create.prog_fd = (uint32_t)prog;
	attr.link_create.target_fd = if_nametoindex(dev);
	if (prog < 0 || !attr.link_create.target_fd ||
	    syscall(SYS_bpf, BPF_LINK_CREATE, &attr, sizeof(attr)) < 0)
		die(dev);
}

static int open_sender(const char *host)
{
	struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(9)};
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	if (inet_pton(AF_INET, host, &to.sin_addr) != 1 || fd < 0 ||
	    connect(fd, (struct sockaddr *)&to, sizeof(to)))
		die(host);
	return fd;
}

static void open_side(struct side *s)
{
	char ns[256];

	if (!s->from || !s->host || !s->at || sscanf(s->at, "%255[^:]:%15s", ns, s->dev) != 2)
		usage(opts);
	close(enter(s->from));
	s->fd = open_sender(s->host);
	s->netns = enter(ns);
	if (!pass)
		attach_drop(s->dev);
	send(s->fd, "", 1, 0); /* resolves the address */
}

/* Packets received by the device, of the namespace the thread is in. */
static uint64_t arrived(const struct side *s)
{
	char line[512], name[64];
	unsigned long long packets, ret = 0;
	FILE *f;

	if (setns(s->netns, CLONE_NEWNET))
		die("setns");
	f = fopen("/proc/thread-self/net/dev", "re");
	if (!f)
		die("net/dev");
	while (fgets(line, sizeof(line), f))
		if (sscanf(line, " %63[^:]: %*u %llu", name, &packets) == 2 && !strcmp(name, s->dev))
			ret = packets;
	fclose(f);
	return ret;
}

/* The next ports, not one after the other. */
static void aim(struct side *s, struct sockaddr_in to[BATCH])
{
	static uint64_t n;

	for (int i = 0; s->ports && i < BATCH; i++)
		to[i].sin_port = htons((uint16_t)(PORT + n++ * STRIDE % s->ports));
}

static void prepare(const struct side *s, struct iovec *iov, struct sockaddr_in to[BATCH],
		    struct mmsghdr msg[BATCH])
{
	for (int i = 0; i < BATCH; i++) {
		to[i] = (struct sockaddr_in){.sin_family = AF_INET};
		inet_pton(AF_INET, s->host, &to[i].sin_addr);
		msg[i].msg_hdr = (struct msghdr){.msg_iov = iov, .msg_iovlen = 1};
		if (s->ports) {
			msg[i].msg_hdr.msg_name = &to[i];
			msg[i].msg_hdr.msg_namelen = sizeof(to[i]);
		}
	}
}

/* One turn: nanoseconds per packet. */
static double turn(struct side *s)
{
	static char payload[65000];
	struct iovec iov = {.iov_base = payload, .iov_len = len};
	struct mmsghdr msg[BATCH] = {0};
	struct sockaddr_in to[BATCH];
	uint64_t before = arrived(s), sent = 0;
	int64_t begin, now;

	prepare(s, &iov, to, msg);
	begin = now = now_ns(CLOCK_MONOTONIC);
	while (!stopped && now - begin < (int64_t)slice_ms * 1000000) {
		int n;

		aim(s, to);
		n = sendmmsg(s->fd, msg, BATCH, 0);
		sent += n > 0 ? (uint64_t)n : 0;
		now = now_ns(CLOCK_MONOTONIC);
	}
	s->sent += sent;
	s->arrived += arrived(s) - before;
	return sent ? (double)(now - begin) / (double)sent : 0;
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static void print_spread(const char *key, double *v, size_t n)
{
	qsort(v, n, sizeof(*v), by_value);
	printf("%s %.4g\n%s_q1 %.4g\n%s_q3 %.4g\n", key, v[n / 2], key, v[n / 4], key, v[n * 3 / 4]);
}

static void measure(void)
{
	static double ns[2][PAIRS_MAX], ratio[PAIRS_MAX];
	size_t n = 0;

	turn(&side[0]);
	turn(&side[1]);
	for (; n < pairs && !stopped; n++) {
		unsigned first = n & 1; /* A B, B A, ... */

		ns[first][n] = turn(&side[first]);
		ns[!first][n] = turn(&side[!first]);
		ratio[n] = ns[0][n] / ns[1][n];
	}
	if (!n)
		return;
	printf("pairs %zu\n", n);
	print_spread("a_ns", ns[0], n);
	print_spread("b_ns", ns[1], n);
	print_spread("ratio", ratio, n);
	for (int i = 0; i < 2; i++)
		printf("%c_arrived %.4f\n", 'a' + i, (double)side[i].arrived / (double)side[i].sent);
}

int main(int argc, char **argv)
{
	cpu_set_t set;

	options(argc, argv, opts);
	if (!pairs || pairs > PAIRS_MAX || len > 65000)
		usage(opts);
	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	if (sched_setaffinity(0, sizeof(set), &set))
		die("cpu");
	setpriority(PRIO_PROCESS, 0, -20);
	stop_on_signals();
	open_side(&side[0]);
	open_side(&side[1]);
	usleep(200000);
	measure();
	return 0;
}
