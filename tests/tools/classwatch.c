/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Watches one tc class: its byte counter over the time in which its queue was not empty, by which a shaper's
 * rate is known exactly whatever the senders do. Asks the kernel by raw rtnetlink, changes nothing.
 */
#include "tests/tools/tool.h"

#include <linux/gen_stats.h>
#include <linux/netlink.h>
#include <linux/pkt_sched.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <sys/socket.h>

static const char *dev, *class = "7fd0:1";
static uint64_t seconds = 10, step_ms = 5, skip_ms = 1000;
static const struct opt opts[] = {
	{.name = "dev", .kind = OPT_STR, .where = &dev, .help = "device that carries the class"},
	{.name = "class", .kind = OPT_STR, .where = &class, .help = "its handle (7fd0:1)"},
	{.name = "seconds", .kind = OPT_UINT, .where = &seconds, .help = "so long (10)"},
	{.name = "step", .kind = OPT_UINT, .where = &step_ms, .help = "time between two looks in ms (5)"},
	{.name = "skip",
	 .kind = OPT_UINT,
	 .where = &skip_ms,
	 .help = "not counted after the first backlog, in ms (1000)"},
	{0},
};

struct look {
	int64_t at;
	uint64_t bytes;
	uint32_t backlog;
	uint32_t drops;
	bool found;
};

static void read_stats(struct rtattr *nest, struct look *l)
{
	int len = (int)RTA_PAYLOAD(nest);

	for (struct rtattr *a = RTA_DATA(nest); RTA_OK(a, len); a = RTA_NEXT(a, len)) {
		struct gnet_stats_queue q;

		if (a->rta_type == TCA_STATS_BASIC) {
			memcpy(&l->bytes, RTA_DATA(a), sizeof(l->bytes));
		} else if (a->rta_type == TCA_STATS_QUEUE) {
			memcpy(&q, RTA_DATA(a), sizeof(q));
			l->backlog = q.backlog;
			l->drops = q.drops;
		}
	}
}

static void read_class(struct nlmsghdr *h, uint32_t handle, struct look *l)
{
	struct tcmsg *t = NLMSG_DATA(h);
	int len = (int)TCA_PAYLOAD(h);

	if (t->tcm_handle != handle)
		return;
	for (struct rtattr *a = TCA_RTA(t); RTA_OK(a, len); a = RTA_NEXT(a, len))
		if ((a->rta_type & NLA_TYPE_MASK) == TCA_STATS2) {
			l->found = true;
			read_stats(a, l);
		}
}

static bool read_answer(int fd, uint32_t handle, struct look *l)
{
	static char buf[1 << 16];
	ssize_t got = recv(fd, buf, sizeof(buf), 0);
	unsigned len = got < 0 ? 0 : (unsigned)got;

	for (struct nlmsghdr *h = (void *)buf; NLMSG_OK(h, len); h = NLMSG_NEXT(h, len)) {
		if (h->nlmsg_type == NLMSG_DONE || h->nlmsg_type == NLMSG_ERROR)
			return false;
		read_class(h, handle, l);
	}
	return got > 0;
}

static struct look look(int fd, int ifindex, uint32_t handle)
{
	struct {
		struct nlmsghdr h;
		struct tcmsg t;
	} req = {
		.h = {.nlmsg_len = sizeof(req),
		      .nlmsg_type = RTM_GETTCLASS,
		      .nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP},
		.t = {.tcm_family = AF_UNSPEC, .tcm_ifindex = ifindex},
	};
	struct look l = {.at = now_ns(CLOCK_MONOTONIC)};

	if (send(fd, &req, sizeof(req), 0) != sizeof(req))
		die("netlink");
	while (read_answer(fd, handle, &l))
		;
	return l;
}

static uint32_t parse_handle(const char *text)
{
	unsigned major, minor;

	if (sscanf(text, "%x:%x", &major, &minor) != 2)
		usage(opts);
	return major << 16 | minor;
}

/* Adds up runs of looks that all saw a backlog: bytes between the first and the last of a run over its time.
 */
static void watch(int fd, int ifindex, uint32_t handle)
{
	struct timespec step = {.tv_nsec = (long)step_ms * 1000000};
	int64_t begin = now_ns(CLOCK_MONOTONIC), from = 0, busy = 0;
	struct look first = {0}, prev = {0}, l;
	uint64_t bytes = 0, backlog_max = 0;

	do {
		l = look(fd, ifindex, handle);
		if (!l.found)
			break;
		if (!first.found)
			first = l;
		if (!from && l.backlog)
			from = l.at + (int64_t)skip_ms * 1000000;
		if (from && prev.found && prev.at >= from && prev.backlog && l.backlog) {
			busy += l.at - prev.at;
			bytes += l.bytes - prev.bytes;
		}
		if (l.backlog > backlog_max)
			backlog_max = l.backlog;
		prev = l;
		nanosleep(&step, NULL);
	} while (!stopped && l.at - begin < (int64_t)seconds * NSEC);
	if (!first.found) {
		fprintf(stderr, "classwatch: no class %s on %s\n", class, dev);
		exit(1);
	}
	printf("busy_seconds %.3f\nrate %.0f\n", (double)busy / 1e9,
	       busy ? (double)bytes * 8e9 / (double)busy : 0);
	printf("bytes %llu\ndrops %u\nbacklog_max %llu\n", (unsigned long long)(prev.bytes - first.bytes),
	       prev.drops - first.drops, (unsigned long long)backlog_max);
}

int main(int argc, char **argv)
{
	int fd, ifindex;

	options(argc, argv, opts);
	if (!dev)
		usage(opts);
	ifindex = (int)if_nametoindex(dev);
	fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);
	if (!ifindex || fd < 0)
		die(dev);
	stop_on_signals();
	watch(fd, ifindex, parse_handle(class));
	close(fd);
	return 0;
}
