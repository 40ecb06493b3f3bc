/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The real kernel: every operation, seen afterwards by observe. Each test has a network and a mount namespace
 * to itself, which go with its process. Skipped, with the reason, without the rights for that.
 */
#include "lib/kern/kern.h"
#include "lib/kern/real.h"

#include <check.h>
#include <errno.h>
#include <linux/if_packet.h>
#include <net/ethernet.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#define DIR_BPF "/sys/fs/bpf"
#define UUID    "00000000-1111-2222-3333-444444444444"
#define SLOW    60 /* seconds a test may take on a loaded machine */
#define FRAME   1000

static struct kernel *k;
static struct err e;

#define ck_ok(expr)                                                                               \
	do {                                                                                      \
		int ck_r = (expr);                                                                \
		ck_assert_msg(!ck_r, "%s: %s: %s: %s", #expr, strerror(-ck_r), e.object, e.text); \
	} while (0)

__attribute__((format(printf, 1, 2))) static void sh(const char *fmt, ...)
{
	char cmd[512];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(cmd, sizeof(cmd), fmt, ap);
	va_end(ap);
	ck_assert_msg(!system(cmd), "%s", cmd);
}

static void reopen(void)
{
	struct kern_config cfg = {.bpf_dir = DIR_BPF "/vnicd", .uuid = UUID};

	k = kern_free(k);
	ck_ok(kern_real_new(&cfg, &k, &e));
}

/* wire1 is the parent, wire0 its far end; /run is a private one, so that zones go with us. */
static void setup(void)
{
	ck_assert(!unshare(CLONE_NEWNET | CLONE_NEWNS));
	ck_assert(!mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL));
	ck_assert(!mount("bpf", DIR_BPF, "bpf", 0, "mode=0700"));
	ck_assert(!mount("run", "/run", "tmpfs", 0, "mode=0755"));
	ck_assert(!mkdir("/run/netns", 0755));
	sh("ip link add wire0 type veth peer name wire1 && ip link set wire0 up && ip link set wire1 up");
	sh("ip netns add z1");
	reopen();
}

static void teardown(void)
{
	k = kern_free(k);
}

static struct node vnic(const char *zone)
{
	struct node n = {
		.n = 7,
		.class = CLASS_VNIC,
		.link = true,
		.port.name = "vnic7",
		.kind = "macvlan",
		.parent.name = "wire1",
		.mac = {{2, 8, 0x20, 1, 2, 3}},
		.mtu = 1500,
	};

	snprintf(n.port.zone, sizeof(n.port.zone), "%s", zone);
	n.parent.ifindex = (int)if_nametoindex("wire1");
	node_ifb_name(n.n, n.ifb_port.name);
	return n;
}

/* Carries out one operation as the plan would put it. cur moves on. */
static int act(struct node *cur, const struct node *want, enum op_kind kind, enum op_on on, bool yes)
{
	struct op_list list = {};
	int rc = op_emit(&list, kind, on, yes, cur, want);

	ck_assert_int_eq(rc, 0);
	rc = k->ops->apply(k, &list.ops[0], &e);
	if (!rc && (kind == OP_LINK_ADD || kind == OP_LINK_MOVE)) {
		cur->port.ifindex = list.ops[0].to.port.ifindex;
		cur->ifb_port.ifindex = list.ops[0].to.ifb_port.ifindex;
		memcpy(cur->kind, list.ops[0].to.kind, sizeof(cur->kind));
	}
	op_list_free(&list);
	return rc;
}

#define ACT(kind, on, yes) ck_ok(act(&cur, &want, kind, on, yes))

static struct node observe(const struct node *key)
{
	unsigned long acts = k->acts;
	struct node seen;

	ck_ok(k->ops->observe(k, key, &seen, &e));
	ck_assert_uint_eq(k->acts, acts);
	return seen;
}

static void ck_tree(const struct tree *seen, const struct tree *want)
{
	const struct shape *a = &seen->shape, *b = &want->shape;

	ck_assert_int_eq(seen->root, want->root);
	ck_assert_int_eq(seen->cap, want->cap);
	ck_assert_int_eq(seen->leaf, want->leaf);
	ck_assert_uint_eq(a->rate, b->rate);
	ck_assert_uint_eq(a->burst, b->burst);
	ck_assert_uint_eq(a->quantum, b->quantum);
	ck_assert_uint_eq(a->limit, b->limit);
	ck_assert_int_eq(a->segment, b->segment);
	ck_assert_uint_eq(a->seg_burst, b->seg_burst);
	ck_assert(tree_equal(seen, want));
}

static void ck_seen(const struct node *cur)
{
	struct node seen = observe(cur), blind = *cur;

	ck_tree(&seen.tx, &cur->tx);
	ck_tree(&seen.rx, &cur->rx);
	ck_assert_int_eq(seen.up, cur->up);
	ck_assert_int_eq(seen.marked, cur->marked);
	ck_assert_int_eq(seen.quiet, cur->quiet);
	ck_assert_int_eq(seen.ifb_quiet, cur->ifb_quiet);
	ck_assert_int_eq(seen.ifb_marked, cur->ifb_marked);
	ck_assert_int_eq(seen.ifb_up, cur->ifb_up);
	ck_assert_int_eq(seen.steer, cur->steer);
	ck_assert_int_eq(seen.parent.ifindex, cur->parent.ifindex);
	ck_assert_str_eq(seen.kind, cur->kind);
	ck_assert(node_equal(&seen, cur));
	/* The same without a word of what was wanted: figures come out of the kernel alone, which has whole
	 * bytes. */
	if (cur->tx.shape.rate % 8)
		return;
	blind.tx = blind.rx = (struct tree){};
	blind.port.ifindex = 0;
	seen = observe(&blind);
	ck_assert(node_equal(&seen, cur));
}

static struct tree tree_for(uint64_t rate, uint32_t mtu)
{
	return (struct tree){.root = true, .cap = true, .leaf = true, .shape = shape_for(rate, mtu)};
}

/* A whole capped VNIC, the way plan.c goes. */
static struct node build(const char *zone, uint64_t rate)
{
	struct node want = vnic(zone);
	struct node cur = {.n = want.n,
			   .class = want.class,
			   .port = want.port,
			   .parent = want.parent,
			   .mac = want.mac,
			   .ifb_port = want.ifb_port};

	want.tx = want.rx = tree_for(rate, 1500);
	want.prog = (struct prog){.present = true, .rx = HOOK_POLICE, .group_rate = rate};
	ACT(OP_LINK_ADD, ON_LINK, true);
	ACT(OP_LINK_MARK, ON_LINK, true);
	if (!zone[0])
		ACT(OP_LINK_QUIET, ON_LINK, true);
	ACT(OP_LINK_ADD, ON_IFB, true);
	ACT(OP_LINK_MARK, ON_IFB, true);
	ACT(OP_LINK_QUIET, ON_IFB, true);
	ACT(OP_ROOT_ADD, ON_IFB, true);
	ACT(OP_CAP_ADD, ON_IFB, true);
	ACT(OP_LEAF_ADD, ON_IFB, true);
	ACT(OP_LINK_UP, ON_IFB, true);
	ACT(OP_ROOT_ADD, ON_LINK, true);
	ACT(OP_CAP_ADD, ON_LINK, true);
	ACT(OP_LEAF_ADD, ON_LINK, true);
	ACT(OP_PROG_ADD, ON_LINK, true);
	ACT(OP_HOOK_ADD, ON_PARENT, true);
	ACT(OP_STEER_ADD, ON_LINK, true);
	ACT(OP_LINK_UP, ON_LINK, true);
	return cur;
}

static uint64_t number(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
static uint64_t number(const char *fmt, ...)
{
	char cmd[512];
	uint64_t n = 0;
	va_list ap;
	FILE *f;

	va_start(ap, fmt);
	vsnprintf(cmd, sizeof(cmd), fmt, ap);
	va_end(ap);
	f = popen(cmd, "r");
	ck_assert_ptr_nonnull(f);
	ck_assert_msg(fscanf(f, "%lu", &n) == 1, "%s", cmd);
	pclose(f);
	return n;
}

static uint64_t class_bytes(const char *dev)
{
	return number("tc -s class show dev %s classid 7fd0:1 | awk '$1 == \"Sent\" {print $2}'", dev);
}

static void send_frames(const char *from, struct mac to, unsigned count)
{
	struct sockaddr_ll at = {
		.sll_family = AF_PACKET, .sll_halen = 6, .sll_ifindex = (int)if_nametoindex(from)};
	unsigned char frame[FRAME] = {0};
	int fd = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0);

	ck_assert_int_ge(fd, 0);
	memcpy(frame, to.b, 6);
	frame[6] = 2;
	frame[12] = 0x88;
	frame[13] = 0xb5;
	for (unsigned i = 0; i < count; i++)
		ck_assert(sendto(fd, frame, sizeof(frame), 0, (struct sockaddr *)&at, sizeof(at)) == FRAME ||
			  errno == ENOBUFS); /* dropped on its way out */
	close(fd);
}

/* Segmenting and plain leaves, rates in and beyond 32 bits of bytes. */
static const uint64_t rates[] = {
	64000,
	64007,
	1000000,
	1234567,
	10000000,
	100000000,
	200000000,
	200000008,
	1000000000,
	UINT64_C(5000000000),
	UINT64_C(20000000000),
	UINT64_C(40000000000),
	RATE_OPEN,
};
#define RATES (int)(sizeof(rates) / sizeof(*rates))

START_TEST(as_written)
{
	struct node cur = build("", rates[_i]);

	ck_seen(&cur);
	ck_assert(cur.steer && cur.prog.present && cur.quiet);
}
END_TEST

START_TEST(in_a_zone)
{
	struct node cur = build("z1", rates[_i]);

	ck_seen(&cur);
	ck_assert_uint_eq(number("ip -n z1 -o link show vnic7 | wc -l"), 1);
}
END_TEST

/* From each rate to each: the class keeps its counters, what is read is what was written. */
START_TEST(in_place)
{
	struct node cur = build("", rates[_i]);

	for (int i = 0; i < RATES; i++) {
		uint64_t before = class_bytes("vnic7"), after;
		struct node want = cur;

		want.tx = want.rx = tree_for(rates[i], 1500);
		ACT(OP_CAP_SET, ON_LINK, true);
		ACT(OP_LEAF_SET, ON_LINK, true);
		ACT(OP_CAP_SET, ON_IFB, true);
		ACT(OP_LEAF_SET, ON_IFB, true);
		ck_seen(&cur);
		ck_assert_uint_ge(class_bytes("vnic7"), before);
		before = class_bytes("vnic7");
		send_frames("vnic7", (struct mac){{2}}, 1);
		ACT(OP_DRAIN, ON_LINK, true);
		after = class_bytes("vnic7");
		ck_assert_uint_ge(after, before + FRAME);
	}
}
END_TEST

START_TEST(mtu)
{
	struct node cur = build("", 10000000), want = cur;

	sh("ip link set wire1 mtu 9000");
	want.mtu = 9000;
	want.tx = want.rx = tree_for(10000000, 9000);
	ck_assert_uint_eq(observe(&want).tx.shape.seg_burst, 2 * 1514);
	ACT(OP_CAP_SET, ON_LINK, true);
	ACT(OP_LEAF_SET, ON_LINK, true);
	ACT(OP_CAP_SET, ON_IFB, true);
	ACT(OP_LEAF_SET, ON_IFB, true);
	ACT(OP_LINK_MTU, ON_LINK, true);
	ck_seen(&cur);
	want.mtu = 9001;
	ck_assert_int_lt(act(&cur, &want, OP_LINK_MTU, ON_LINK, true), 0);
	ck_assert_str_eq(e.object, "vnic7");
	ck_assert(e.mend);
}
END_TEST

/* A queue that is full drains in the time its rate needs; the wait has an end. */
START_TEST(drain)
{
	struct node cur = build("", 1000000), want = cur, open = cur;

	open.tx.shape.rate = RATE_OPEN;
	send_frames("vnic7", (struct mac){{2}}, 30);
	ck_assert_uint_gt(number("tc -s class show dev vnic7 classid 7fd0:1 | sed -n 's/.*backlog [^ ]* "
				 "\\([0-9]*\\)p.*/\\1/p'"),
			  0);
	ck_ok(act(&cur, &open, OP_CAP_SET, ON_LINK, true));
	ACT(OP_DRAIN, ON_LINK, true);
	ck_assert_uint_eq(number("tc -s class show dev vnic7 classid 7fd0:1 | sed -n 's/.*backlog [^ ]* "
				 "\\([0-9]*\\)p.*/\\1/p'"),
			  0);
}
END_TEST

static int count_mark(const struct port *port, uint32_t n, enum link_class class, void *arg)
{
	ck_assert(n == 7 || n == 0);
	ck_assert(class == CLASS_VNIC || class == CLASS_IFB);
	ck_assert_int_gt(port->ifindex, 0);
	++*(int *)arg;
	return 0;
}

static int count_marks(void)
{
	static const char *const zones[] = {"z1", "no-such-zone", NULL};
	int n = 0;

	ck_ok(k->ops->marked(k, zones, count_mark, &n, &e));
	return n;
}

static void strip(struct node *c)
{
	struct node cur = *c, want = cur;

	ACT(OP_LINK_UP, ON_LINK, false);
	ACT(OP_LEAF_DEL, ON_LINK, true);
	ACT(OP_CAP_DEL, ON_LINK, true);
	ACT(OP_ROOT_DEL, ON_LINK, true);
	ACT(OP_PROG_DEL, ON_LINK, true);
	*c = cur;
}

START_TEST(there_and_back)
{
	struct node cur = build("", 100000000), want = cur;

	strip(&cur);
	snprintf(want.port.zone, sizeof(want.port.zone), "z1");
	ACT(OP_LINK_MOVE, ON_LINK, true);
	ACT(OP_ROOT_ADD, ON_LINK, true);
	ACT(OP_CAP_ADD, ON_LINK, true);
	ACT(OP_LEAF_ADD, ON_LINK, true);
	ACT(OP_PROG_ADD, ON_LINK, true);
	ACT(OP_LINK_UP, ON_LINK, true);
	ck_seen(&cur);
	ck_assert_int_eq(count_marks(), 2);
	strip(&cur);
	want.port.zone[0] = '\0';
	ACT(OP_LINK_MOVE, ON_LINK, true);
	ACT(OP_LINK_QUIET, ON_LINK, true);
	ck_seen(&cur);
}
END_TEST

START_TEST(away)
{
	struct node cur = build("z1", 100000000), want = cur, seen;
	struct node was = cur;

	ACT(OP_STEER_DEL, ON_LINK, true);
	ACT(OP_HOOK_DEL, ON_PARENT, true);
	strip(&cur);
	ACT(OP_LINK_DEL, ON_LINK, true);
	ACT(OP_LINK_DEL, ON_IFB, true);
	seen = observe(&was);
	ck_assert(!seen.link && !seen.ifb && !seen.steer && !seen.prog.present && !seen.tx.root);
	ck_assert_int_eq(count_marks(), 0);
	cur = was; /* once more: what is gone is done */
	ACT(OP_LINK_DEL, ON_LINK, true);
	ACT(OP_LINK_DEL, ON_IFB, true);
}
END_TEST

START_TEST(zone_gone)
{
	struct node cur = build("z1", 100000000), want = cur, seen;

	sh("ip netns del z1");
	ck_assert_int_eq(k->ops->observe(k, &cur, &seen, &e), -ENOENT);
	ck_assert_str_eq(e.object, "z1");
	ACT(OP_PROG_DEL, ON_LINK, true);
	ACT(OP_LINK_DEL, ON_LINK, true);
	ck_assert_int_eq(act(&cur, &want, OP_LINK_ADD, ON_LINK, true), -ENOENT);
}
END_TEST

/* Renamed: found by number, and by alias where the number is not known. Somebody else's of that name is not
 * ours. */
START_TEST(whose)
{
	struct node cur = build("", 100000000), key = cur, seen;

	sh("ip link set vnic7 down && ip link set vnic7 name other0 && ip link set other0 up");
	seen = observe(&key);
	ck_assert(seen.link && !strcmp(seen.port.name, "other0"));
	sh("ip link add vnic7 link wire1 address 02:00:00:00:00:99 type macvlan");
	key.port.ifindex = 0;
	seen = observe(&key);
	ck_assert(seen.link && !strcmp(seen.port.name, "other0"));
	ck_assert_int_eq(seen.port.ifindex, cur.port.ifindex);
	ck_tree(&seen.tx, &cur.tx);
	sh("ip link del other0");
	ck_assert(!observe(&key).link);
	ck_assert_int_eq(act(&cur, &key, OP_LINK_ADD, ON_LINK, true), -EEXIST);
	ck_assert_str_eq(e.object, "vnic7");
	ck_assert_ptr_nonnull(strstr(e.text, "a link of that name exists"));
}
END_TEST

/* Between creating and marking: ours by group and MAC, or the number it is known by. */
START_TEST(unmarked)
{
	struct node want = vnic(""), cur = want, seen;

	cur.link = false;
	ACT(OP_LINK_ADD, ON_LINK, true);
	seen = observe(&cur);
	ck_assert(seen.link && !seen.marked);
	ck_assert_int_eq(count_marks(), 1);
	cur.mac.b[5]++;
	ck_assert(observe(&cur).link);
	cur.port.ifindex = 0;
	ck_assert(!observe(&cur).link);
}
END_TEST

START_TEST(etherstub)
{
	struct node want = {.n = 3,
			    .class = CLASS_ETHERSTUB,
			    .link = true,
			    .port.name = "stub0",
			    .mac = {{2, 8, 0x20, 4, 4, 4}},
			    .mtu = 9000};
	struct node cur = {.n = 3, .class = CLASS_ETHERSTUB, .port = want.port};

	ACT(OP_LINK_ADD, ON_LINK, true);
	ACT(OP_LINK_MARK, ON_LINK, true);
	ACT(OP_LINK_QUIET, ON_LINK, true);
	ACT(OP_LINK_UP, ON_LINK, true);
	ck_assert(!strcmp(cur.kind, "dummy") || !strcmp(cur.kind, "bridge"));
	ck_seen(&cur);
	if (!strcmp(cur.kind, "bridge"))
		ck_assert_uint_eq(number("ip -d link show stub0 | grep -o 'mcast_snooping 0' | wc -l"), 1);
	ACT(OP_LINK_DEL, ON_LINK, true);
}
END_TEST

static int count_link(const struct sys_link *l, void *arg)
{
	if (l->ifindex == (int)if_nametoindex("wire1"))
		ck_assert(!strcmp(l->kind, "veth") && l->has_mac);
	++*(int *)arg;
	return 0;
}

static int stop_at_once(const struct sys_link *l, void *arg)
{
	(void)l;
	++*(int *)arg;
	return 5;
}

START_TEST(links)
{
	struct sys_link l;
	int n = 0;

	ck_ok(k->ops->links(k, count_link, &n, &e));
	ck_assert_int_ge(n, 3);
	n = 0;
	ck_assert_int_eq(k->ops->links(k, stop_at_once, &n, &e), 5);
	ck_assert_int_eq(n, 1);
	sh("ip link property add dev wire1 altname a-name-longer-than-fifteen altname short1");
	ck_ok(k->ops->link(k, "", 0, "a-name-longer-than-fifteen", &l, &e));
	ck_assert_str_eq(l.name, "wire1");
	ck_ok(k->ops->link(k, "", 0, "short1", &l, &e));
	ck_ok(k->ops->link(k, "", l.ifindex, NULL, &l, &e));
	ck_assert_str_eq(l.name, "wire1");
	ck_ok(k->ops->link(k, "z1", 0, "lo", &l, &e));
	ck_assert_int_eq(k->ops->link(k, "", 0, "nothere0", &l, &e), -ENODEV);
	ck_assert_str_eq(e.object, "nothere0");
	ck_assert_int_eq(k->ops->link(k, "", 99999, NULL, &l, &e), -ENODEV);
}
END_TEST

static int add_stats(int ifindex, const struct link_stats *s, void *arg)
{
	if (ifindex == (int)if_nametoindex("wire1"))
		*(struct link_stats *)arg = *s;
	return 0;
}

START_TEST(counters)
{
	struct node cur = build("z1", 1000000);
	struct link_stats one, all = {};
	struct drop_stats drops;
	uint64_t bps;
	int duplex;

	send_frames("wire0", cur.mac, 100);
	usleep(50000);
	ck_ok(k->ops->stats(k, "", cur.parent.ifindex, &one, &e));
	ck_assert_uint_ge(one.ipackets, 100);
	ck_ok(k->ops->stats_all(k, add_stats, &all, &e));
	ck_assert_uint_ge(all.rbytes, 100 * FRAME);
	ck_ok(k->ops->stats(k, "z1", cur.port.ifindex, &one, &e));
	ck_assert_uint_ge(one.ipackets, 1);
	cur = observe(&cur);
	ck_ok(k->ops->drops(k, &cur, &drops, &e));
	ck_assert_uint_ge(drops.rx_leaf, 50); /* 15 kB may wait */
	ck_assert_uint_eq(drops.tx_leaf, 0);
	ck_ok(k->ops->speed(k, cur.parent.ifindex, &bps, &duplex));
	ck_assert_uint_eq(bps, UINT64_C(10000000000));
	ck_assert_int_eq(duplex, 1);
	ck_ok(k->ops->speed(k, 1, &bps, &duplex));
	ck_assert_uint_eq(bps, 0);
	ck_assert_int_eq(duplex, 2);
}
END_TEST

static const struct {
	const char *vnic, *parent;
	bool shared;
} subnets[] = {
	{"10.1.0.2/24", "10.1.0.1/24", true},      {"10.1.0.2/32", "10.1.0.1/24", true},
	{"10.1.1.2/24", "10.1.0.1/24", false},     {"10.1.1.2/24", "10.1.0.1/23", true},
	{"10.1.1.2/24", "fd00::1/64", false},      {"fd00::2/64", "fd00::1/64", true},
	{"fd00:0:0:1::2/64", "fd00::1/64", false}, {"fd00:0:0:1::2/64", "fd00::1/63", true},
	{"fe80::2/64", "fe80::1/64", false},
};

START_TEST(shares_subnet)
{
	int v, p = (int)if_nametoindex("wire1");
	bool shared;

	sh("ip link add v1 link wire1 type macvlan mode bridge && ip link set v1 up");
	v = (int)if_nametoindex("v1");
	sh("ip addr add %s dev v1 && ip addr add %s dev wire1", subnets[_i].vnic, subnets[_i].parent);
	ck_ok(k->ops->shares_subnet(k, v, p, &shared, &e));
	ck_assert_int_eq(shared, subnets[_i].shared);
}
END_TEST

struct news {
	int calls, gone, links;
};

static void hear(const struct kern_event *ev, void *arg)
{
	struct news *n = arg;

	if (ev->nsid != OWN_NS)
		return;
	ck_assert_int_gt(ev->ifindex, 0);
	n->calls++;
	n->gone += ev->gone;
	n->links += !ev->gone && ev->l;
}

static struct news news(void)
{
	struct news n = {};

	ck_assert_int_eq(kern_real_events(k, hear, &n), 0);
	return n;
}

START_TEST(events)
{
	struct node cur;
	struct news n;

	news();
	sh("ip link add v1 link wire1 type macvlan && ip link set v1 up && ip link set v1 mtu 1400");
	n = news();
	ck_assert(n.calls >= 1 && n.links >= 1);
	sh("ip addr add 10.0.0.1/24 dev wire1");
	n = news();
	ck_assert_int_eq(n.calls, 1);
	ck_assert_int_eq(n.links, 0);
	sh("ip link del v1");
	ck_assert_int_eq(news().gone, 1);
	cur = build("", 100000000);
	usleep(100000);
	news();
	observe(&cur);
	ck_assert_int_eq(news().calls, 0); /* asking is no news */
	sh("tc qdisc del dev vnic7 root");
	ck_assert_int_eq(news().calls, 1);
	sh("ip link add br0 type bridge && ip link set wire0 master br0 && ip link set wire0 nomaster");
	ck_assert_int_eq(news().gone, 0);
}
END_TEST

/* More than the buffer holds: told, and well again afterwards. */
START_TEST(events_lost)
{
	int small = 1, rc = 0;
	struct news n = {};

	ck_assert(!setsockopt(kern_real_event_fd(k), SOL_SOCKET, SO_RCVBUFFORCE, &small, sizeof(small)));
	sh("for i in $(seq 50); do ip link set wire1 mtu $((1400 + i)); done");
	for (int i = 0; i < 100 && !rc; i++)
		rc = kern_real_events(k, hear, &n);
	ck_assert_int_eq(rc, -ENOBUFS);
	while (kern_real_events(k, hear, &n))
		;
	ck_assert_int_eq(news().calls, 0);
}
END_TEST

static int count_pin(uint32_t n, int ifindex, void *arg)
{
	ck_assert(n == 7 || ifindex == (int)if_nametoindex("wire1"));
	*(int *)arg |= n ? 1 : 2; /* a hook may be listed twice */
	return 0;
}

/* A new daemon finds all as it was, without one act. */
START_TEST(adopt)
{
	struct node cur = build("z1", 100000000), seen;
	bool hook = false;
	int pins = 0;

	reopen();
	seen = observe(&cur);
	ck_assert(node_equal(&seen, &cur));
	ck_ok(k->ops->observe_hook(k, cur.parent.ifindex, &hook, &e));
	ck_assert(hook);
	ck_ok(k->ops->pins(k, count_pin, &pins, &e));
	ck_assert_int_eq(pins, 3);
	ck_assert_uint_eq(k->acts, 0);
}
END_TEST

/* The kernel's own words are at the end of the text. */
START_TEST(words)
{
	struct node cur = build("", 100000000), want = cur;

	ck_assert_int_eq(act(&cur, &want, OP_ROOT_ADD, ON_LINK, true), -EINVAL);
	ck_assert_ptr_nonnull(strstr(e.text, "(Change operation not supported"));
	ck_assert_ptr_nonnull(strstr(e.text, "cannot add its root qdisc"));
	snprintf(want.port.zone, sizeof(want.port.zone), "z1");
	sh("ip -n z1 link add vnic7 type veth peer name other0");
	ck_assert_int_eq(act(&cur, &want, OP_LINK_MOVE, ON_LINK, true), -EEXIST);
	ck_assert_ptr_nonnull(strstr(e.text, "the zone has a link of that name"));
	ck_assert(e.mend);
}
END_TEST

/* A name that is taken here is free in the zone, and the other way round. */
START_TEST(names_by_zone)
{
	struct node want = vnic("z1"), cur = want;

	cur.link = false;
	sh("ip link add vnic7 type veth peer name other0");
	ACT(OP_LINK_ADD, ON_LINK, true);
	ck_assert(observe(&cur).link);
}
END_TEST

static const char *why_not(void)
{
	if (geteuid() != 0)
		return "not root";
	if (system("exec unshare -n -m sh -c 'ip link add w0 type veth && ip link add i0 type ifb' "
		   "2>/dev/null"))
		return "no namespace, veth or ifb to be had here";
	return NULL;
}

int main(void)
{
	const char *why = why_not();
	Suite *s = suite_create("kern_real");
	TCase *t = tcase_create("kern_real");
	SRunner *r = srunner_create(s);
	int failed;

	if (why) {
		printf("test_kern_real: skipped: %s\n", why);
		srunner_free(r);
		return 77;
	}
	suite_add_tcase(s, t);
	tcase_set_timeout(t, SLOW);
	tcase_add_checked_fixture(t, setup, teardown);
	tcase_add_loop_test(t, as_written, 0, RATES);
	tcase_add_loop_test(t, in_a_zone, 0, RATES);
	tcase_add_loop_test(t, in_place, 0, RATES);
	tcase_add_loop_test(t, shares_subnet, 0, (int)(sizeof(subnets) / sizeof(*subnets)));
	tcase_add_test(t, mtu);
	tcase_add_test(t, drain);
	tcase_add_test(t, there_and_back);
	tcase_add_test(t, away);
	tcase_add_test(t, zone_gone);
	tcase_add_test(t, whose);
	tcase_add_test(t, unmarked);
	tcase_add_test(t, etherstub);
	tcase_add_test(t, links);
	tcase_add_test(t, counters);
	tcase_add_test(t, events);
	tcase_add_test(t, events_lost);
	tcase_add_test(t, adopt);
	tcase_add_test(t, words);
	tcase_add_test(t, names_by_zone);
	srunner_run_all(r, CK_NORMAL);
	failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
