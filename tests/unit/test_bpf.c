// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The eBPF loader on the running kernel: every test has a network and a mount namespace to itself, which go
 * with its process. Skipped, with the reason, where that needs rights we do not have.
 */
#include "lib/bpf/internal.h"
#include "lib/bpf/maps.h"

#include <arpa/inet.h>
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <check.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ifaddrs.h>
#include <linux/if_ether.h>
#include <linux/if_link.h>
#include <linux/if_packet.h>
#include <linux/pkt_cls.h>
#include <net/if.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>

#define DIR_BPF "/sys/fs/bpf"
#define UUID    "00000000-1111-2222-3333-444444444444"
#define FRAME   100
#define SLOW    60 /* seconds a test may take on a loaded machine */

static const struct mac V1 = {{2, 0, 0, 0, 0, 1}}, V2 = {{2, 0, 0, 0, 0, 2}},
			ALL = {{255, 255, 255, 255, 255, 255}};
static const struct prog POLICE_1M = {.rx = HOOK_POLICE, .tx = HOOK_PASS, .group_rate = 1000000};

static unsigned long acts;
static struct bpf *b;
static struct err e;
static int w1; /* the parent's ifindex */

#define ck_ok(expr)                                                                 \
	do {                                                                        \
		int ck_r = (expr);                                                  \
		ck_assert_msg(!ck_r, "%s: %s: %s", #expr, strerror(-ck_r), e.text); \
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
	b = bpf_close(b);
	ck_ok(bpf_open(DIR_BPF "/vnicd", UUID, &acts, &b, &e));
}

static int index_of(const char *name)
{
	return (int)if_nametoindex(name);
}

/* How many marks of a clsact each place has: one in a kernel without tcx. */
static unsigned marks(void)
{
	return !seat_redirects();
}

/* w0 is the wire's far end, w1 the parent, v1 and v2 VNICs over it, vi1 an ifb. */
static void setup(void)
{
	acts = 0;
	ck_assert(!unshare(CLONE_NEWNET | CLONE_NEWNS));
	ck_assert(!mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL));
	ck_assert(!mount("bpf", DIR_BPF, "bpf", 0, "mode=0700"));
	sh("sysctl -qw net.ipv6.conf.default.disable_ipv6=1");
	sh("ip link add w0 type veth peer name w1 && ip link set w0 up && ip link set w1 up");
	sh("ip link add link w1 name v1 address 02:00:00:00:00:01 type macvlan mode bridge && ip link set v1 "
	   "up");
	sh("ip link add link w1 name v2 address 02:00:00:00:00:02 type macvlan mode bridge && ip link set v2 "
	   "up");
	sh("ip link add vi1 type ifb && ip link set vi1 up");
	w1 = index_of("w1");
	reopen();
}

static void teardown(void)
{
	b = bpf_close(b);
}

static void send_frames(const char *from, struct mac to, unsigned count, int priority)
{
	struct sockaddr_ll at = {.sll_family = AF_PACKET, .sll_ifindex = index_of(from), .sll_halen = 6};
	unsigned char frame[FRAME] = {0};
	FD fd = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0);

	ck_assert_int_ge(fd, 0);
	ck_assert(!setsockopt(fd, SOL_SOCKET, SO_PRIORITY, &priority, sizeof(priority)));
	memcpy(frame, to.b, 6);
	frame[6] = 2;
	frame[12] = 0x88;
	frame[13] = 0xb5;
	for (unsigned i = 0; i < count; i++)
		ck_assert(sendto(fd, frame, sizeof(frame), 0, (struct sockaddr *)&at, sizeof(at)) == FRAME ||
			  errno == ENOBUFS); /* dropped on its way out */
}

/* Frames a link has sent so far, from its counters. */
static unsigned sent_by(const char *name)
{
	struct ifaddrs *all;
	unsigned n = 0;

	ck_assert(!getifaddrs(&all));
	for (struct ifaddrs *a = all; a; a = a->ifa_next)
		if (!strcmp(a->ifa_name, name) && a->ifa_addr && a->ifa_addr->sa_family == AF_PACKET)
			n = ((struct rtnl_link_stats *)a->ifa_data)->tx_packets;
	freeifaddrs(all);
	return n;
}

/* How many of 10 unicast frames from the wire take the way through the ifb. */
static unsigned through_ifb(struct mac to)
{
	unsigned before = sent_by("vi1");

	send_frames("w0", to, 10, 0);
	usleep(20000);
	return sent_by("vi1") - before;
}

/* Group frames go through a work queue of macvlan's: wait until the count stands still. */
static uint64_t rx_drops(uint32_t n)
{
	uint64_t rx = 0, before, tx;

	do {
		before = rx;
		usleep(50000);
		ck_ok(bpf_vnic_drops(b, n, &rx, &tx));
	} while (rx != before);
	return rx;
}

static bool hook_there(void)
{
	bool there;

	ck_ok(bpf_hook_observe(b, w1, &there, &e));
	return there;
}

static struct prog seen(uint32_t n, const char *name)
{
	struct prog p;

	ck_ok(bpf_vnic_observe(b, n, index_of(name), &p, &e));
	return p;
}

static unsigned pins_in(const char *sub)
{
	char path[PIN_MAX * 2];
	struct dirent **list;
	int n;

	snprintf(path, sizeof(path), "%s/%s", b->dir, sub);
	n = scandir(path, &list, NULL, NULL);
	for (int i = 0; i < n; i++)
		free(list[i]);
	if (n > 0)
		free(list);
	return n < 2 ? 0 : (unsigned)n - 2;
}

START_TEST(open_refuses_other_filesystems)
{
	struct bpf *x = NULL;

	ck_assert_int_eq(bpf_open("/proc/x", UUID, &acts, &x, &e), -EINVAL);
	ck_assert_ptr_nonnull(strstr(e.text, "mount -t bpf bpf"));
	ck_assert(e.mend && !x);
	ck_assert(!umount2(DIR_BPF, MNT_DETACH));
	while (!umount2(DIR_BPF, MNT_DETACH))
		;
	ck_assert_int_eq(bpf_open(DIR_BPF "/vnicd", UUID, &acts, &x, &e), -EINVAL);
	ck_assert_ptr_nonnull(strstr(e.text, "mount -t bpf bpf " DIR_BPF));
}
END_TEST

START_TEST(open_sweeps_other_namespaces)
{
	ck_ok(bpf_hook_add(b, w1, &e));
	sh("mkdir -p " DIR_BPF "/vnicd/" UUID "/999/vnic-1 " DIR_BPF "/vnicd/other/999");
	sh("bpftool map create " DIR_BPF "/vnicd/" UUID
	   "/999/vnic-1/state type array key 4 value 4 entries 1 name x");
	reopen();
	ck_assert_int_eq(access(DIR_BPF "/vnicd/" UUID "/999", F_OK), -1);
	ck_assert_int_eq(access(DIR_BPF "/vnicd/other/999", F_OK), 0);
	ck_assert(hook_there());
}
END_TEST

static void steers(void)
{
	int ifb;

	ck_assert(!hook_there());
	ck_ok(bpf_hook_add(b, w1, &e));
	ck_assert(hook_there());
	ck_assert_uint_eq(through_ifb(V1), 0);
	ck_ok(bpf_steer_observe(b, w1, V1, &ifb, &e));
	ck_assert_int_eq(ifb, 0);
	ck_ok(bpf_steer_add(b, w1, V1, index_of("vi1"), &e));
	ck_assert_uint_eq(through_ifb(V1), 10);
	ck_assert_uint_eq(through_ifb(V2), 0);
	ck_assert_uint_eq(through_ifb(ALL), 0);
}

START_TEST(steer_and_hook)
{
	int ifb;

	steers();
	ck_ok(bpf_steer_observe(b, w1, V1, &ifb, &e));
	ck_assert_int_eq(ifb, index_of("vi1"));
	ck_ok(bpf_steer_del(b, w1, V1, true, &e));
	ck_assert_uint_eq(through_ifb(V1), 0);
	ck_ok(bpf_steer_del(b, w1, V1, true, &e));
	ck_ok(bpf_hook_del(b, w1, &e));
	ck_ok(bpf_hook_del(b, w1, &e));
	ck_assert(!hook_there());
	ck_assert_uint_eq(pins_in(""), 1);
}
END_TEST

START_TEST(siblings_pass_the_hook)
{
	unsigned before;

	steers();
	before = sent_by("vi1");
	send_frames("v2", V1, 10, 0);
	usleep(20000);
	ck_assert_uint_eq(sent_by("vi1") - before, 10);
}
END_TEST

START_TEST(restart_changes_nothing)
{
	steers();
	ck_ok(bpf_vnic_add(b, 1, index_of("v1"), &POLICE_1M, &e));
	acts = 0;
	reopen();
	ck_ok(bpf_hook_add(b, w1, &e));
	ck_ok(bpf_steer_add(b, w1, V1, index_of("vi1"), &e));
	ck_ok(bpf_vnic_add(b, 1, index_of("v1"), &POLICE_1M, &e));
	ck_ok(bpf_vnic_set(b, 1, &POLICE_1M, &e));
	ck_assert_uint_eq(acts, 0);
	ck_assert_uint_eq(through_ifb(V1), 10);
}
END_TEST

START_TEST(deleting_a_hook_drops_its_entries)
{
	int ifb, w0 = index_of("w0");

	steers();
	ck_ok(bpf_steer_add(b, w1, V2, index_of("vi1"), &e));
	ck_ok(bpf_hook_add(b, w0, &e));
	ck_ok(bpf_steer_add(b, w0, V2, index_of("vi1"), &e));
	ck_ok(bpf_hook_del(b, w1, &e));
	ck_ok(bpf_steer_observe(b, w1, V2, &ifb, &e));
	ck_assert_int_eq(ifb, 0);
	ck_ok(bpf_steer_observe(b, w0, V2, &ifb, &e));
	ck_assert_int_ne(ifb, 0);
}
END_TEST

START_TEST(a_lost_map_takes_its_hooks_along)
{
	steers();
	sh("rm %s/steer", b->dir);
	reopen();
	ck_assert(!hook_there());
	ck_assert_uint_eq(through_ifb(V1), 0);
	steers();
}
END_TEST

START_TEST(vnic_modes)
{
	struct prog p = POLICE_1M;
	uint64_t rx, tx;

	ck_assert(!seen(1, "v1").present);
	ck_ok(bpf_vnic_add(b, 1, index_of("v1"), &p, &e));
	ck_ok(bpf_vnic_add(b, 2, index_of("v2"), &p, &e));
	ck_assert(seen(1, "v1").present && seen(2, "v2").present);
	ck_assert(!seen(1, "v2").present && !seen(3, "v1").present);
	ck_assert_uint_eq(seen(1, "v1").group_rate, 1000000);
	send_frames("w0", V1, 10, 0);
	ck_assert_uint_eq(rx_drops(1), 0);
	p.rx = p.tx = HOOK_DROP;
	ck_ok(bpf_vnic_set(b, 1, &p, &e));
	ck_assert_int_eq(seen(1, "v1").tx, HOOK_DROP);
	send_frames("w0", V1, 10, 0);
	send_frames("w0", V2, 10, 0);
	send_frames("v1", V2, 7, 0);
	ck_assert_uint_eq(rx_drops(1), 10);
	ck_assert_uint_eq(rx_drops(2), 0);
	ck_ok(bpf_vnic_drops(b, 1, &rx, &tx));
	ck_assert_uint_eq(tx, 7);
	ck_ok(bpf_vnic_del(b, 1, index_of("v1"), &e));
	ck_assert(!seen(1, "v1").present);
	ck_ok(bpf_vnic_drops(b, 1, &rx, &tx));
	ck_assert_uint_eq(rx + tx, 0);
	ck_assert_uint_eq(pins_in("vnic-1"), 0);
}
END_TEST

/* The main bucket holds two full frames, the slow one two more; each may overdraw by one frame. */
START_TEST(group_frames_are_policed)
{
	const unsigned most = 2 * (2 * 1514 / FRAME + 2);
	struct prog p = POLICE_1M;
	uint64_t passed;

	p.group_rate = 64000;
	ck_ok(bpf_vnic_add(b, 1, index_of("v1"), &p, &e));
	send_frames("w0", ALL, 500, 0);
	passed = 500 - rx_drops(1);
	ck_assert_msg(passed >= 2 * 1514 / FRAME && passed <= most, "%u passed", (unsigned)passed);
	p.rx = HOOK_PASS;
	ck_ok(bpf_vnic_set(b, 1, &p, &e));
	send_frames("w0", ALL, 500, 0);
	ck_assert_uint_eq(rx_drops(1), 500 - passed);
}
END_TEST

/* Unicast frames pass always, and take the group frames' share of the cap but for the slow bucket's. */
START_TEST(unicast_drains_the_bucket)
{
	const struct prog p = {.rx = HOOK_POLICE, .group_rate = 64000};
	uint64_t passed;

	ck_ok(bpf_vnic_add(b, 1, index_of("v1"), &p, &e));
	send_frames("w0", ALL, 1, 0);
	usleep(20000);
	send_frames("w0", V1, 2000, 0);
	ck_assert_uint_eq(rx_drops(1), 0);
	send_frames("w0", ALL, 500, 0);
	passed = 500 - rx_drops(1);
	ck_assert_msg(passed >= 5 && passed <= 2 * 1514 / FRAME + 2, "%u passed", (unsigned)passed);
}
END_TEST

START_TEST(priority_is_reset)
{
	sh("tc qdisc add dev v1 root handle 7fd0: htb default 1");
	sh("tc class add dev v1 parent 7fd0: classid 7fd0:1 htb rate 1gbit quantum 1514");
	sh("tc class add dev v1 parent 7fd0: classid 7fd0:2 htb rate 1gbit quantum 1514");
	send_frames("v1", V2, 5, 0x7fd00002);
	sh("tc -s class show dev v1 classid 7fd0:2 | grep -q 'Sent 500 bytes 5 pkt'");
	ck_ok(bpf_vnic_add(b, 1, index_of("v1"), &POLICE_1M, &e));
	send_frames("v1", V2, 5, 0x7fd00002);
	sh("tc -s class show dev v1 classid 7fd0:2 | grep -q 'Sent 500 bytes 5 pkt'");
	sh("tc -s class show dev v1 classid 7fd0:1 | grep -q 'Sent 500 bytes 5 pkt'");
}
END_TEST

static void repaired(void)
{
	ck_assert(!seen(1, "v1").present);
	ck_ok(bpf_vnic_add(b, 1, index_of("v1"), &POLICE_1M, &e));
	ck_assert(seen(1, "v1").present);
	ck_assert_uint_eq(pins_in("vnic-1"), 3 + marks());
}

START_TEST(half_made_is_repaired)
{
	static const char *const LOST[] = {"rx", "tx", "state"};
	uint64_t drops;

	repaired();
	for (size_t i = 0; i < sizeof(LOST) / sizeof(LOST[0]); i++) {
		sh("rm %s/vnic-1/%s", b->dir, LOST[i]);
		repaired();
	}
	/* The programs obey the state that is pinned now. */
	ck_ok(bpf_vnic_set(b, 1, &(struct prog){.rx = HOOK_DROP}, &e));
	drops = rx_drops(1);
	send_frames("w0", V1, 10, 0);
	ck_assert_uint_eq(rx_drops(1), drops + 10);
	sh("find %s/vnic-1 -type f -delete", b->dir);
	repaired();
	if (marks()) /* without its mark the qdisc counts as somebody else's */
		return;
	sh("rm -r %s/vnic-1", b->dir);
	sh("mkdir %s/vnic-1", b->dir);
	repaired();
}
END_TEST

START_TEST(a_gone_link_leaves_nothing)
{
	ck_ok(bpf_vnic_add(b, 1, index_of("v1"), &POLICE_1M, &e));
	ck_ok(bpf_vnic_add(b, 2, index_of("v2"), &POLICE_1M, &e));
	sh("ip link del v1");
	ck_ok(bpf_vnic_del(b, 1, 0, &e));
	ck_ok(bpf_vnic_del(b, 1, 0, &e));
	ck_assert_uint_eq(pins_in("vnic-1"), 0);
	ck_ok(bpf_vnic_del(b, 2, 0, &e));
	ck_assert_uint_eq(pins_in(""), 1);
	/* A new link in the place of a gone one. */
	sh("ip link add link w1 name v1 address 02:00:00:00:00:01 type macvlan mode bridge");
	ck_ok(bpf_vnic_add(b, 1, index_of("v1"), &POLICE_1M, &e));
	sh("ip link del v1; ip link add link w1 name v1 address 02:00:00:00:00:01 type macvlan mode bridge");
	repaired();
}
END_TEST

/* The same ifindex in another namespace is another device. */
START_TEST(a_moved_link_keeps_its_programs)
{
	int zone, home = open("/proc/self/ns/net", O_RDONLY), index = index_of("v1");

	if (marks()) /* a clsact does not move along */
		return;
	ck_ok(bpf_vnic_add(b, 1, index, &POLICE_1M, &e));
	ck_assert(!unshare(CLONE_NEWNET));
	zone = open("/proc/self/ns/net", O_RDONLY);
	sh("ip link add name br0 index %d type bridge", index);
	ck_assert_int_eq(index_of("br0"), index);
	ck_assert(!seen(1, "br0").present);
	sh("ip link del br0");
	ck_assert(!setns(home, CLONE_NEWNET));
	sh("ip link set v1 netns /proc/self/fd/%d", zone);
	ck_assert(!setns(zone, CLONE_NEWNET));
	ck_assert(seen(1, "v1").present);
	acts = 0;
	ck_ok(bpf_vnic_add(b, 1, index_of("v1"), &POLICE_1M, &e));
	ck_assert_uint_eq(acts, 0);
	close(zone);
	close(home);
}
END_TEST

static int count_cb(uint32_t n, int ifindex, void *arg)
{
	unsigned *sum = arg;

	*sum += n ? n : 1000;
	ck_assert_int_eq(ifindex, n ? 0 : w1);
	return n == 3 ? -ECANCELED : 0;
}

START_TEST(pins_are_listed)
{
	unsigned sum = 0;

	ck_ok(bpf_hook_add(b, w1, &e));
	ck_ok(bpf_vnic_add(b, 1, index_of("v1"), &POLICE_1M, &e));
	ck_ok(bpf_vnic_add(b, 2, index_of("v2"), &POLICE_1M, &e));
	ck_ok(bpf_pins(b, count_cb, &sum, &e));
	ck_assert_uint_eq(sum, 1003 + 1000 * marks());
}
END_TEST

START_TEST(works_on_clsact)
{
	const struct prog drop = {.rx = HOOK_DROP, .tx = HOOK_DROP};
	uint64_t rx, tx;

	bpf_force_clsact(true);
	steers();
	sh("tc qdisc show dev w1 | grep -q clsact");
	ck_ok(bpf_vnic_add(b, 1, index_of("v1"), &drop, &e));
	send_frames("w0", V1, 10, 0);
	send_frames("v1", V2, 7, 0);
	ck_assert_uint_eq(rx_drops(1), 10);
	ck_ok(bpf_vnic_drops(b, 1, &rx, &tx));
	ck_assert_uint_eq(tx, 7);
	acts = 0;
	reopen();
	ck_ok(bpf_hook_add(b, w1, &e));
	ck_ok(bpf_vnic_add(b, 1, index_of("v1"), &drop, &e));
	ck_assert_uint_eq(acts, 0);
	sh("rm %s/vnic-1/tx", b->dir);
	ck_assert(!seen(1, "v1").present);
	ck_ok(bpf_vnic_add(b, 1, index_of("v1"), &drop, &e));
	ck_assert(seen(1, "v1").present);
	ck_ok(bpf_vnic_del(b, 1, index_of("v1"), &e));
	ck_ok(bpf_hook_del(b, w1, &e));
	sh("! tc qdisc show | grep clsact");
	ck_assert_uint_eq(pins_in(""), 1);
}
END_TEST

static void foreign(int verdict, bool on)
{
	const struct bpf_insn insns[] = {
		{.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0, .imm = verdict},
		{.code = BPF_JMP | BPF_EXIT},
	};
	FD fd = bpf_prog_load(BPF_PROG_TYPE_SCHED_CLS, "foreign", "GPL", insns, 2, NULL);
	LIBBPF_OPTS(bpf_tc_hook, hook, .ifindex = w1, .attach_point = BPF_TC_INGRESS);
	LIBBPF_OPTS(bpf_tc_opts, at, .handle = 7, .priority = 100);

	if (!on) {
		ck_ok(bpf_tc_detach(&hook, &at));
		return;
	}
	at.prog_fd = fd;
	at.flags = BPF_TC_F_REPLACE;
	ck_ok(bpf_tc_attach(&hook, &at));
}

/* Somebody else's filter decides first, wherever our hook sat when it came, and survives us. */
START_TEST(foreign_filters_come_first)
{
	steers();
	sh("tc qdisc show dev w1 | grep -q clsact || tc qdisc add dev w1 clsact");
	ck_assert(hook_there());
	foreign(TC_ACT_SHOT, true);
	ck_assert(hook_there() == marks()); /* in a clsact it is at the end from the start */
	ck_ok(bpf_hook_add(b, w1, &e));
	ck_assert(hook_there());
	ck_assert_uint_eq(through_ifb(V1), 0);
	foreign(TC_ACT_UNSPEC, true);
	ck_assert_uint_eq(through_ifb(V1), 10);
	ck_ok(bpf_hook_del(b, w1, &e));
	ck_assert_uint_eq(through_ifb(V1), 0);
	sh("tc filter show dev w1 ingress | grep -q foreign");
	foreign(0, false);
	sh("! tc filter show dev w1 ingress | grep bpf");
	sh("tc qdisc show dev w1 | grep -q clsact");
	steers();
}
END_TEST

/* The link stays the same one, so that there is no moment without a program. */
START_TEST(an_older_program_is_replaced)
{
	const struct bpf_insn insns[] = {
		{.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0, .imm = TC_ACT_UNSPEC},
		{.code = BPF_JMP | BPF_EXIT},
	};
	FD old = bpf_prog_load(BPF_PROG_TYPE_SCHED_CLS, "old", "GPL", insns, 2, NULL);
	char pin[PIN_MAX * 2];
	struct bpf_link_info was = {.id = 0}, is = {.id = 0};
	uint32_t size = sizeof(was);

	if (marks()) /* no links there */
		return;
	steers();
	snprintf(pin, sizeof(pin), "%s/hook-%d", b->dir, w1);
	FD link = bpf_obj_get(pin);
	ck_assert(!bpf_obj_get_info_by_fd(link, &was, &size));
	ck_assert(!bpf_link_update(link, old, NULL));
	ck_assert(!hook_there());
	ck_assert_uint_eq(through_ifb(V1), 0);
	ck_ok(bpf_hook_add(b, w1, &e));
	ck_assert(hook_there());
	ck_assert_uint_eq(through_ifb(V1), 10);
	ck_assert(!bpf_obj_get_info_by_fd(link, &is, &size));
	ck_assert_uint_eq(was.id, is.id);
}
END_TEST

static double seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* Traffic without a gap keeps the entry alive for its second; silence ends it at once. */
START_TEST(closing_waits_for_a_gap)
{
	struct steer_key k = {.ifindex = (uint32_t)w1, .mac = {2, 0, 0, 0, 0, 1}};
	struct steer_value v = {.ifb = 1};
	double t;

	steers();
	t = seconds();
	ck_ok(bpf_steer_del(b, w1, V1, true, &e));
	ck_assert_double_lt(seconds() - t, 0.5);
	ck_ok(bpf_steer_add(b, w1, V1, index_of("vi1"), &e));
	/* An entry whose last frame lies in the future has no gap before that. */
	v.ifb = (uint32_t)index_of("vi1");
	v.last = (uint64_t)(seconds() * 1e9) + 10000000000;
	ck_assert(!bpf_map_update_elem(b->steer, &k, &v, BPF_ANY));
	/* Under emulation there is one between the first two frames. */
	ck_assert_uint_ge(through_ifb(V1), getenv("SLOW_BUILD") ? 1 : 10);
	v.last = (uint64_t)(seconds() * 1e9) - 400000000;
	ck_assert(!bpf_map_update_elem(b->steer, &k, &v, BPF_ANY));
	ck_assert_uint_eq(through_ifb(V1), 0);
	ck_assert(!bpf_map_lookup_elem(b->steer, &k, &v));
	ck_assert(v.last == STEER_SHUT);
}
END_TEST

static const char *reason_to_skip(void)
{
	if (geteuid())
		return "needs root";
	if (system("unshare -n -m true 2>/dev/null"))
		return "may not make namespaces";
	if (system("unshare -n ip link add x type macvlan 2>&1 | grep -q 'Unknown device type'") == 0 ||
	    system("unshare -n ip link add x type ifb 2>/dev/null"))
		return "the kernel has no macvlan or no ifb";
	return access(DIR_BPF, F_OK) ? "the kernel has no BPF file system" : NULL;
}

int main(void)
{
	const TTest *const TESTS[] = {
		open_refuses_other_filesystems,
		open_sweeps_other_namespaces,
		steer_and_hook,
		siblings_pass_the_hook,
		restart_changes_nothing,
		deleting_a_hook_drops_its_entries,
		a_lost_map_takes_its_hooks_along,
		vnic_modes,
		group_frames_are_policed,
		unicast_drains_the_bucket,
		priority_is_reset,
		half_made_is_repaired,
		a_gone_link_leaves_nothing,
		a_moved_link_keeps_its_programs,
		pins_are_listed,
		works_on_clsact,
		foreign_filters_come_first,
		an_older_program_is_replaced,
		closing_waits_for_a_gap,
	};
	const char *reason = reason_to_skip();
	Suite *s = suite_create("bpf");
	TCase *c = tcase_create("kernel");
	SRunner *r = srunner_create(s);
	int failed;

	if (reason) {
		printf("SKIP bpf: %s\n", reason);
		srunner_free(r);
		return 77; /* what test drivers read as skipped */
	}
	tcase_set_timeout(c, SLOW);
	tcase_add_checked_fixture(c, setup, teardown);
	for (size_t i = 0; i < sizeof(TESTS) / sizeof(TESTS[0]); i++)
		tcase_add_test(c, TESTS[i]);
	suite_add_tcase(s, c);
	srunner_run_all(r, CK_NORMAL);
	failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
