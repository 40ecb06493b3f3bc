// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The flows of a VNIC in the running kernel: seats and pins, rules, actions and counters, and real frames
 * through tree, ifb and VNIC. How a packet finds its rule is tested in test_classify.c.
 */
#include "tests/unit/flowlab.h"

#include "lib/bpf/flowmap.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>

#define UDP_BYTES 80 /* of a frame below */

static const struct mac V1 = {{2, 0, 0, 0, 0, 1}}, ALL = {{255, 255, 255, 255, 255, 255}};
static const bool LENIENT[FLOW_DIRS] = {false, false};

/* UDP over IPv4 to a port, with a good header checksum and ECN bits. */
static size_t udp(uint8_t *f, struct mac to, uint16_t port)
{
	static const uint8_t IP[] = {0x45, 0x03, 0,  66, 0, 1, 0x40, 0, 64, 17,
				     0x26, 0xa5, 10, 0,  0, 1, 10,   0, 0,  2};

	memset(f, 0, UDP_BYTES);
	memcpy(f, to.b, 6);
	f[6] = 2;
	f[11] = 9;
	f[12] = 8;
	memcpy(f + 14, IP, sizeof(IP));
	f[36] = (uint8_t)(port >> 8);
	f[37] = (uint8_t)port;
	return UDP_BYTES;
}

static bool checksum_holds(const uint8_t *ip)
{
	uint32_t sum = 0;

	for (unsigned i = 0; i < 20; i += 2)
		sum += (uint32_t)(ip[i] << 8 | ip[i + 1]);
	while (sum >> 16)
		sum = (sum & 0xffff) + (sum >> 16);
	return sum == 0xffff;
}

static void send_frame(const char *from, const uint8_t *f, size_t len, unsigned count, int priority)
{
	struct sockaddr_ll at = {.sll_family = AF_PACKET, .sll_ifindex = index_of(from), .sll_halen = 6};
	FD fd = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0);

	ck_assert_int_ge(fd, 0);
	ck_assert(!setsockopt(fd, SOL_SOCKET, SO_PRIORITY, &priority, sizeof(priority)));
	for (unsigned i = 0; i < count; i++)
		ck_assert(sendto(fd, f, len, 0, (struct sockaddr *)&at, sizeof(at)) == (ssize_t)len ||
			  errno == ENOBUFS); /* dropped on its way out */
}

static void send_udp(const char *from, struct mac to, uint16_t port, unsigned count)
{
	uint8_t f[UDP_BYTES];

	send_frame(from, f, udp(f, to, port), count, 0);
}

static void wait_a_little(void)
{
	usleep(50000);
}

/* In for local, out for remote: the port is the destination's. */
static struct flow_entry port_rule(enum flow_dir dir, uint16_t port, uint32_t slot)
{
	struct flow_entry r = {.dir = dir, .slot = slot, .order = {.hi = 10, .lo = slot}};

	r.rule.mask.has = r.rule.key.has = FLOW_HAS_PORTS;
	r.rule.mask.proto = 0xff;
	r.rule.key.proto = 17;
	*(dir == FLOW_IN ? &r.rule.mask.local_port : &r.rule.mask.remote_port) = 0xffff;
	*(dir == FLOW_IN ? &r.rule.key.local_port : &r.rule.key.remote_port) = htons(port);
	return r;
}

static void add_rule(struct flow_entry r)
{
	ck_ok(bpf_flows_change(b, 1, NULL, 0, &r, 1, LENIENT, &e));
}

static void del_rule(struct flow_entry r)
{
	ck_ok(bpf_flows_change(b, 1, &r, 1, NULL, 0, LENIENT, &e));
}

static void flow(uint16_t port, uint32_t slot, struct flow_action a)
{
	ck_ok(bpf_flows_action_set(b, 1, slot, &a, &e));
	add_rule(port_rule(FLOW_IN, port, slot));
	add_rule(port_rule(FLOW_OUT, port, slot));
}

static bool flows_there(void)
{
	bool there;

	ck_ok(bpf_flows_observe(b, &site, &there, &e));
	return there;
}

static bool vnic_there(void)
{
	struct prog p;

	ck_ok(bpf_vnic_observe(b, 1, site.ifindex, &p, &e));
	return p.present;
}

static int one_rule(const struct flow_entry *r, void *arg)
{
	*(struct flow_entry *)arg = *r;
	return 0;
}

static int count_rules(const struct flow_entry *r, void *arg)
{
	(void)r;
	++*(unsigned *)arg;
	return 0;
}

static unsigned rules_there(void)
{
	unsigned count = 0;

	ck_ok(bpf_flows_rules(b, 1, count_rules, &count, &e));
	return count;
}

/* What of a VNIC's directory is there. */
static bool pinned(const char *name)
{
	char path[PIN_MAX];

	ck_ok(pin_path(path, &e, "%s/vnic-1/%s", b->dir, name));
	return !access(path, F_OK);
}

static void comes_and_goes(void)
{
	struct prog p = {.rx = HOOK_DROP, .tx = HOOK_DROP};
	uint64_t rx, tx;

	ck_assert(!flows_there());
	ck_assert(vnic_there());
	ck_ok(bpf_flows_add(b, &site, &e));
	ck_assert(flows_there());
	ck_assert(vnic_there());
	flow(53, 1, (struct flow_action){.blocked = false});
	acts = 0;
	reopen();
	ck_assert(flows_there());
	ck_ok(bpf_flows_add(b, &site, &e));
	ck_ok(bpf_vnic_add(b, 1, site.ifindex, &(struct prog){.rx = HOOK_PASS}, &e));
	flow(53, 1, (struct flow_action){.blocked = false});
	ck_assert_uint_eq(acts, 0);
	/* The VNIC's own state is obeyed still. */
	ck_ok(bpf_vnic_set(b, 1, &p, &e));
	send_udp("w0", V1, 53, 3);
	send_udp("v1", V1, 53, 4);
	wait_a_little();
	ck_ok(bpf_vnic_drops(b, 1, &rx, &tx));
	ck_assert_uint_eq(rx, 3);
	ck_assert_uint_eq(tx, 4);
	ck_assert_uint_eq(counted(1).packets[FLOW_IN] + counted(1).packets[FLOW_OUT], 0);
	p.rx = p.tx = HOOK_PASS;
	ck_ok(bpf_vnic_set(b, 1, &p, &e));
	send_udp("w0", V1, 53, 5);
	wait_a_little();
	ck_assert_uint_eq(counted(1).packets[FLOW_IN], 5);
	ck_assert_uint_eq(counted(1).bytes[FLOW_IN], 5 * UDP_BYTES);
	ck_ok(bpf_flows_del(b, &site, &e));
	ck_assert(!flows_there());
	ck_assert(vnic_there());
	ck_assert(!pinned("flows") && !pinned("ifb") && pinned("rx"));
	ck_ok(bpf_vnic_drops(b, 1, &rx, &tx));
	ck_assert_uint_eq(rx, 3);
	acts = 0;
	ck_ok(bpf_flows_del(b, &site, &e));
	ck_assert_uint_eq(acts, 0);
}

START_TEST(programs_come_and_go)
{
	comes_and_goes();
	ck_ok(bpf_flows_add(b, &site, &e));
	ck_ok(bpf_vnic_del(b, 1, site.ifindex, &e));
	ck_assert(!pinned(""));
}
END_TEST

START_TEST(works_on_clsact)
{
	ck_ok(bpf_vnic_del(b, 1, site.ifindex, &e));
	bpf_force_clsact(true);
	ck_ok(bpf_vnic_add(b, 1, site.ifindex, &(struct prog){.rx = HOOK_PASS}, &e));
	comes_and_goes();
	sh("! tc qdisc show dev vi1 | grep clsact");
	sh("tc qdisc show dev v1 | grep -q clsact");
	ck_ok(bpf_vnic_del(b, 1, site.ifindex, &e));
	sh("! tc qdisc show | grep clsact");
}
END_TEST

/* The state in the map that many VNICs share. */
START_TEST(works_on_a_shared_state)
{
	ck_ok(bpf_vnic_del(b, 1, site.ifindex, &e));
	ck_ok(bpf_vnic_add(b, 1, site.ifindex, &(struct prog){.rx = HOOK_PASS, .clsact = true}, &e));
	ck_ok(bpf_vnic_add(b, 2, index_of("v2"), &(struct prog){.rx = HOOK_DROP, .clsact = true}, &e));
	comes_and_goes();
}
END_TEST

START_TEST(half_made_is_repaired)
{
	static const char *const LOST[] = {
		"ifb", "rx", "tx", "flows/table", "flows/rules", "flows/slots_grown", "flows/frags"};

	for (size_t i = 0; i < sizeof(LOST) / sizeof(LOST[0]); i++) {
		ck_ok(bpf_flows_add(b, &site, &e));
		ck_assert(flows_there());
		sh("rm %s/vnic-1/%s", b->dir, LOST[i]);
		ck_assert_msg(!flows_there(), "%s", LOST[i]);
	}
	ck_ok(bpf_vnic_add(b, 1, site.ifindex, &(struct prog){.rx = HOOK_PASS}, &e));
	ck_ok(bpf_flows_add(b, &site, &e));
	/* A state made anew, on which no flow program sits. */
	sh("rm %s/vnic-1/state", b->dir);
	ck_assert(!flows_there() && !vnic_there());
	ck_ok(bpf_vnic_add(b, 1, site.ifindex, &(struct prog){.rx = HOOK_PASS}, &e));
	ck_assert(vnic_there() && !flows_there());
	ck_ok(bpf_flows_add(b, &site, &e));
	ck_assert(flows_there());
}
END_TEST

/* v1 is in a zone then, and so is the thread. */
static int give_away(void)
{
	FD home = open("/proc/self/ns/net", O_RDONLY);
	int zone;

	ck_assert(!unshare(CLONE_NEWNET));
	zone = open("/proc/self/ns/net", O_RDONLY);
	ck_assert(!setns(home, CLONE_NEWNET));
	sh("ip link set v1 netns /proc/self/fd/%d", zone);
	ck_assert(!setns(zone, CLONE_NEWNET));
	sh("ip link set v1 up");
	bpf_away(b, true);
	return zone;
}

/* An ifb comes and goes; it is in the own namespace, the VNIC in a zone. */
START_TEST(the_ifb_is_at_home)
{
	struct bpf_flow_site here = site, none = site;
	FD home = open("/proc/self/ns/net", O_RDONLY), zone = -1;
	bool there;

	none.ifb = 0;
	site.ifb = 0;
	ck_ok(bpf_flows_add(b, &none, &e));
	ck_assert(flows_there() && !pinned("ifb"));
	zone = give_away();
	site.ifindex = here.ifindex = none.ifindex = index_of("v1");
	if (!flows_there()) /* a clsact does not move along */
		ck_ok(bpf_vnic_add(b, 1, site.ifindex, &(struct prog){.rx = HOOK_PASS}, &e));
	ck_ok(bpf_flows_add(b, &here, &e));
	ck_assert(pinned("ifb"));
	ck_ok(bpf_flows_observe(b, &here, &there, &e));
	ck_assert(there);
	ck_assert(!flows_there()); /* there is an ifb that is not asked for */
	ck_assert_int_eq(index_of("vi1"), 0);
	ck_ok(bpf_flows_add(b, &none, &e));
	ck_assert(flows_there() && !pinned("ifb"));
	ck_ok(bpf_flows_del(b, &none, &e));
	ck_assert(!setns(home, CLONE_NEWNET));
}
END_TEST

static int first_action(uint32_t slot, const struct flow_action *a, void *arg)
{
	struct flow_action *ret = arg;

	*ret = *a;
	return (int)slot;
}

START_TEST(rules_and_actions_are_told_back)
{
	struct flow_entry r = port_rule(FLOW_OUT, 443, 77), seen;
	struct flow_action a = {.blocked = true, .mark = true, .dscp = 46, .class = {0x1234, 0xffff}}, got;

	ck_assert_int_eq(bpf_flows_rules(b, 1, one_rule, &seen, &e), -ENOENT);
	ck_ok(bpf_flows_add(b, &site, &e));
	add_rule(r);
	ck_ok(bpf_flows_rules(b, 1, one_rule, &seen, &e));
	ck_assert(!memcmp(&seen, &r, sizeof(r)));
	r.slot = 78;
	r.order.hi = 3;
	add_rule(r);
	ck_ok(bpf_flows_rules(b, 1, one_rule, &seen, &e));
	ck_assert(!memcmp(&seen, &r, sizeof(r)));
	ck_assert_uint_eq(rules_there(), 1);
	ck_ok(bpf_flows_action_set(b, 1, 77, &a, &e));
	ck_assert_int_eq(bpf_flows_actions(b, 1, first_action, &got, &e), 77);
	ck_assert(got.blocked && got.mark && got.dscp == 46);
	ck_assert(got.class[FLOW_IN] == 0x1234 && got.class[FLOW_OUT] == 0xffff);
	ck_ok(bpf_flows_action_set(b, 1, 77, NULL, &e));
	ck_assert_int_eq(bpf_flows_actions(b, 1, first_action, &got, &e), 0);
	ck_assert_int_eq(bpf_flows_action_set(b, 1, FLOW_SLOTS_MAX, &a, &e), -ERANGE);
	del_rule(r);
	del_rule(r);
	ck_assert_uint_eq(rules_there(), 0);
}
END_TEST

static struct flow_entry shape_rule(unsigned i)
{
	struct flow_entry r = {.dir = FLOW_IN, .slot = i, .order = {.hi = i}};

	memset(r.rule.mask.local, 0xff, i / 8);
	r.rule.mask.local[i / 8] = (uint8_t)(0xff00 >> i % 8);
	r.rule.mask.family = r.rule.key.family = 6;
	return r;
}

START_TEST(masks_are_limited)
{
	struct flow_entry r[FLOW_MASKS_MAX + 1];

	ck_ok(bpf_flows_add(b, &site, &e));
	for (unsigned i = 0; i <= FLOW_MASKS_MAX; i++)
		r[i] = shape_rule(i);
	ck_assert_int_eq(bpf_flows_change(b, 1, NULL, 0, r, FLOW_MASKS_MAX + 1, LENIENT, &e), -E2BIG);
	ck_assert(strstr(e.text, "65 different shapes in") && strstr(e.text, "\"local_ip/64\"") && e.mend);
	ck_assert_uint_eq(rules_there(), 0);
	ck_ok(bpf_flows_change(b, 1, NULL, 0, r, FLOW_MASKS_MAX, LENIENT, &e));
	ck_assert_int_eq(bpf_flows_change(b, 1, NULL, 0, &r[FLOW_MASKS_MAX], 1, LENIENT, &e), -E2BIG);
	ck_assert_uint_eq(rules_there(), FLOW_MASKS_MAX);
	/* One for another, and all 64 for others, are no more than there are. */
	ck_ok(bpf_flows_change(b, 1, r, 1, &r[FLOW_MASKS_MAX], 1, LENIENT, &e));
	ck_ok(bpf_flows_change(b, 1, r + 1, FLOW_MASKS_MAX, r, 1, LENIENT, &e));
	ck_assert_uint_eq(rules_there(), 1);
}
END_TEST

/* Rules, slots, actions and counts outlive the maps that they began in. */
START_TEST(maps_grow)
{
	ck_ok(bpf_flows_add(b, &site, &e));
	flow(53, 1, (struct flow_action){.mark = true, .dscp = 10});
	FD out = program(FLOW_TX);
	for (uint32_t slot = 2; slot < 5000; slot += slot < 200 ? 1 : 600) {
		uint8_t f[UDP_BYTES];
		struct ran r = run_on(out, f, udp(f, V1, 53), 0, 1);

		ck_assert_uint_eq(r.frame[15], 10 << 2 | 3);
		flow((uint16_t)(1000 + slot), slot, (struct flow_action){.class = {0, (uint16_t)slot}});
		r = run_on(out, f, udp(f, V1, (uint16_t)(1000 + slot)), 0, 1);
		ck_assert_uint_eq(r.priority, 0x7fd10000 | slot);
	}
	ck_assert_uint_eq(rules_there(), 2 + 2 * (198 + 8));
	ck_assert_uint_eq(counted(1).packets[FLOW_OUT], 198 + 8);
	ck_assert_uint_eq(counted(1).bytes[FLOW_OUT], (198 + 8) * UDP_BYTES);
	ck_assert(flows_there() && pinned("flows/slots-1") && pinned("flows/slots-3") &&
		  !pinned("flows/slots-4"));
	ck_ok(bpf_flows_action_set(b, 1, 1, NULL, &e));
	ck_assert_uint_eq(counted(1).packets[FLOW_OUT], 0);
}
END_TEST

/* A daemon that dies in the middle of a change: what was in force is, and nothing else. */
START_TEST(a_broken_change_is_put_right)
{
	const struct flow_entry kept = port_rule(FLOW_OUT, 1, 1), lost = port_rule(FLOW_OUT, 2, 2);
	uint8_t f[UDP_BYTES];
	uint32_t at;

	ck_ok(bpf_flows_add(b, &site, &e));
	add_rule(kept);
	{
		FLOWMAP m = FLOWMAP_NONE;
		unsigned now;

		ck_ok(flowmap_open(b, 1, &m));
		now = m.table->gen & 1;
		m.table->dirty = 1;
		at = flowmap_take(&m);
		m.entry[at].key = m.entry[0].key;
		m.entry[at].key.key.remote_port = htons(2);
		m.entry[at].hit[!now] = (struct flow_hit){.hi = 1, .slot1 = 3};
		ck_ok(flowmap_put(&m, &m.entry[at].key, &at, 1));
		m.entry[0].hit[!now].slot1 = 0;
		m.table->half[!now][FLOW_OUT].count = 0;
		m.table->free = 99999;
	}
	ck_assert_uint_eq(rules_there(), 1);
	{
		FLOWMAP m = FLOWMAP_NONE;

		ck_ok(flowmap_open(b, 1, &m));
		ck_assert_uint_eq(m.table->dirty, 0);
		ck_assert_uint_eq(m.table->rules, 1);
		ck_assert_uint_eq(m.table->free, at + 1);
		ck_assert(!memcmp(&m.entry[0].hit[0], &m.entry[0].hit[1], sizeof(m.entry[0].hit[0])));
		m.entry[at].key = m.entry[0].key;
		m.entry[at].key.key.remote_port = htons(2);
		ck_assert_int_eq(flowmap_find(&m, &m.entry[at].key, &at), -ENOENT);
		m.entry[at].key = (union flow_block){.word = {0}};
	}
	add_rule(lost);
	FD out = program(FLOW_TX);
	flow(1, 1, (struct flow_action){.class = {1, 1}});
	flow(2, 2, (struct flow_action){.class = {2, 2}});
	ck_assert_uint_eq(run_on(out, f, udp(f, V1, 1), 0, 1).priority, 0x7fd10001);
	ck_assert_uint_eq(run_on(out, f, udp(f, V1, 2), 0, 1).priority, 0x7fd10002);
}
END_TEST

/* As if the programs had never been told of the maps that took the place of the first. */
static void forget_grown(const char *name)
{
	uint32_t zero = 0;
	FD outer = flow_step(b, 1, name, 0);

	ck_assert(!bpf_map_delete_elem(outer, &zero));
}

START_TEST(a_broken_growth_is_put_right)
{
	uint8_t f[UDP_BYTES];

	ck_ok(bpf_flows_add(b, &site, &e));
	FD out = program(FLOW_TX);
	for (uint16_t i = 1; i < 40; i++)
		flow(i, i, (struct flow_action){.class = {0, i}});
	{
		FLOW_HEADER h = {.table = NULL};

		ck_ok(flow_header_open(b, 1, &h));
		ck_assert(h.table->rules_step == 1 && h.table->slots_step == 1);
		h.table->dirty = h.table->slots_dirty = 1;
	}
	forget_grown("rules_grown");
	forget_grown("entries_grown");
	forget_grown("slots_grown");
	flow(99, 40, (struct flow_action){.class = {0, 40}});
	ck_assert_uint_eq(run_on(out, f, udp(f, V1, 99), 0, 1).priority, 0x7fd10028);
	ck_assert_uint_eq(run_on(out, f, udp(f, V1, 39), 0, 1).priority, 0x7fd10027);
	ck_assert_uint_eq(rules_there(), 80);
}
END_TEST

#define SET 24

/* Ports 1000 on, of slot 1 or 2; the two sets have not one mask in common. */
static void make_set(struct flow_entry *set, bool second)
{
	for (uint16_t i = 0; i < SET; i++) {
		set[i] = port_rule(FLOW_OUT, (uint16_t)(1000 + i), second ? 2 : 1);
		set[i].rule.mask.family = second ? 0xff : 0;
		set[i].rule.key.family = second ? 4 : 0;
	}
}

/* A daemon of its own, which changes one set for the other and back until it is killed. */
static void change_until_killed(struct flow_entry set[2][SET])
{
	for (unsigned i = 0;; i++)
		if (bpf_flows_change(b, 1, set[i % 2], SET, set[!(i % 2)], SET, LENIENT, &e))
			_exit(1);
}

/* A child that has not begun is not killed in the middle of anything. */
static void wait_for_change(uint32_t gen)
{
	FLOW_HEADER h = {.table = NULL};

	ck_ok(flow_header_open(b, 1, &h));
	while (__atomic_load_n(&h.table->gen, __ATOMIC_RELAXED) == gen)
		usleep(100);
}

static uint32_t gen_now(void)
{
	FLOW_HEADER h = {.table = NULL};

	ck_ok(flow_header_open(b, 1, &h));
	return h.table->gen;
}

static bool is_dirty(void)
{
	FLOW_HEADER h = {.table = NULL};

	ck_ok(flow_header_open(b, 1, &h));
	return h.table->dirty;
}

static int sum_slots(const struct flow_entry *r, void *arg)
{
	unsigned *slots = arg;

	slots[r->slot]++;
	return 0;
}

START_TEST(killed_at_any_instant)
{
	unsigned times = getenv("SLOW_BUILD") ? 30 : 150, whole[2] = {0, 0}, broken = 0;
	struct flow_entry set[2][SET];
	uint8_t f[UDP_BYTES];

	seed("kills");
	make_set(set[0], false);
	make_set(set[1], true);
	ck_ok(bpf_flows_add(b, &site, &e));
	for (uint16_t i = 1; i < 3; i++)
		ck_ok(bpf_flows_action_set(b, 1, i, &(struct flow_action){.class = {0, i}}, &e));
	FD out = program(FLOW_TX);
	for (unsigned i = 0; i < times || (!broken && i < 20 * times); i++) {
		unsigned slots[3] = {0};
		uint32_t gen;
		pid_t child;

		ck_ok(bpf_flows_change(b, 1, set[1], SET, set[0], SET, LENIENT, &e));
		gen = gen_now();
		child = fork();
		ck_assert_int_ge(child, 0);
		if (!child)
			change_until_killed(set);
		wait_for_change(gen);
		usleep(roll(4000));
		kill(child, SIGKILL);
		ck_assert_int_eq(waitpid(child, NULL, 0), child);
		broken += is_dirty();
		/* By the programs alone, and by what the next daemon finds. */
		uint32_t first = run_on(out, f, udp(f, V1, 1000), 0, 1).priority;

		ck_assert(first == 0x7fd10001 || first == 0x7fd10002);
		for (uint16_t k = 1; k < SET; k++)
			ck_assert_uint_eq(run_on(out, f, udp(f, V1, 1000 + k), 0, 1).priority, first);
		ck_ok(bpf_flows_rules(b, 1, sum_slots, slots, &e));
		ck_assert_uint_eq(slots[first & 3], SET);
		ck_assert_uint_eq(slots[1] + slots[2], SET);
		for (uint16_t k = 0; k < SET; k++)
			ck_assert_uint_eq(run_on(out, f, udp(f, V1, 1000 + k), 0, 1).priority, first);
		whole[first & 1]++;
	}
	ck_assert_uint_gt(whole[0], 0);
	ck_assert_uint_gt(whole[1], 0);
	printf("# %u of %u kills or more were in the middle of a change\n", broken, times);
	ck_assert_uint_gt(broken, 0);
}
END_TEST

START_TEST(frames_are_marked)
{
	static const uint8_t IP6[] = {0x60, 0x30, 0x12, 0x34, 0, 26, 17, 64};
	uint8_t f[UDP_BYTES];
	struct ran r;

	ck_ok(bpf_flows_add(b, &site, &e));
	flow(53, 1, (struct flow_action){.mark = true, .dscp = 46});
	FD out = program(FLOW_TX);
	udp(f, V1, 53);
	ck_assert(checksum_holds(f + 14));
	r = run_on(out, f, UDP_BYTES, 0, 1);
	ck_assert_uint_eq(r.frame[15], 0xbb);
	ck_assert(checksum_holds(r.frame + 14));
	ck_assert_uint_eq(r.len, UDP_BYTES);
	r.frame[15] = f[15];
	memcpy(r.frame + 24, f + 24, 2);
	ck_assert(!memcmp(r.frame, f, UDP_BYTES));
	/* Traffic class 3 of IPv6, the flow label stays. */
	memset(f + 12, 0, UDP_BYTES - 12);
	f[12] = 0x86;
	f[13] = 0xdd;
	memcpy(f + 14, IP6, sizeof(IP6));
	f[57] = 53;
	r = run_on(out, f, UDP_BYTES, 0, 1);
	ck_assert(!memcmp(r.frame + 14, (uint8_t[]){0x6b, 0xb0, 0x12, 0x34}, 4));
	ck_assert_uint_eq(counted(1).packets[FLOW_OUT], 2);
}
END_TEST

/* Segments with their headers: 42 bytes of those, 38 of data in pieces of 10. */
START_TEST(segments_are_counted)
{
	uint8_t f[UDP_BYTES];

	ck_ok(bpf_flows_add(b, &site, &e));
	flow(53, 1, (struct flow_action){.blocked = false});
	FD out = program(FLOW_TX);
	run_on(out, f, udp(f, V1, 53), 10, 1);
	ck_assert_uint_eq(counted(1).packets[FLOW_OUT], 4);
	ck_assert_uint_eq(counted(1).bytes[FLOW_OUT], UDP_BYTES + 3 * 42);
	ck_assert_uint_eq(counted(0).packets[FLOW_OUT], 0);
}
END_TEST

static void tree(const char *dev)
{
	sh("tc qdisc add dev %s root handle 7fd0: htb default 1", dev);
	for (unsigned i = 1; i < 4; i++)
		sh("tc class add dev %s parent 7fd0: classid 7fd0:%x htb rate 1gbit quantum 1514", dev, i);
	ck_ok(bpf_pick_add(b, index_of(dev), false, &e));
}

static void in_class(const char *dev, unsigned class, unsigned packets)
{
	sh("tc -s class show dev %s classid 7fd0:%x | grep -q ' %u pkt' || "
	   "{ tc -s class show dev %s; false; }",
	   dev, class, packets, dev);
}

/* By its own flow alone, whatever the sender asks for. */
START_TEST(a_frame_gets_its_class)
{
	uint8_t f[UDP_BYTES];
	bool there;

	ck_ok(bpf_pick_observe(b, site.ifindex, false, &there, &e));
	ck_assert(!there);
	tree("v1");
	ck_ok(bpf_flows_add(b, &site, &e));
	flow(53, 1, (struct flow_action){.class = {0, 2}});
	send_udp("v1", V1, 53, 5);
	in_class("v1", 2, 5);
	udp(f, V1, 99);
	send_frame("v1", f, UDP_BYTES, 6, 0x7fd00003);
	send_frame("v1", f, UDP_BYTES, 7, 0x7fd10003);
	in_class("v1", 3, 0);
	in_class("v1", 1, 13);
	ck_assert_uint_eq(counted(1).packets[FLOW_OUT], 0);
	ck_assert_uint_eq(counted(0).packets[FLOW_OUT], 13);
	acts = 0;
	reopen();
	ck_ok(bpf_pick_observe(b, site.ifindex, false, &there, &e));
	ck_assert(there);
	ck_ok(bpf_pick_add(b, site.ifindex, false, &e));
	ck_assert_uint_eq(acts, 0);
	ck_ok(bpf_pick_del(b, site.ifindex, &e));
	ck_ok(bpf_pick_del(b, site.ifindex, &e));
	ck_ok(bpf_pick_observe(b, site.ifindex, false, &there, &e));
	ck_assert(!there);
	ck_assert_int_lt(bpf_pick_add(b, index_of("v2"), false, &e), 0);
}
END_TEST

/* Through the ifb and its tree: classified there, and not once more at the VNIC; group frames only at it. */
static void stand_ready(void)
{
	ck_ok(bpf_hook_add(b, index_of("w1"), &e));
	ck_ok(bpf_steer_add(b, index_of("w1"), V1, site.ifb, &e));
	tree("vi1");
	ck_ok(bpf_flows_add(b, &site, &e));
}

/* Five to a flow with a class, some to one without, to one that is blocked and to none. */
static void it_comes(void)
{
	flow(53, 1, (struct flow_action){.class = {3, 0}});
	flow(54, 2, (struct flow_action){.class = {0, 0}});
	flow(55, 3, (struct flow_action){.blocked = true});
	send_udp("w0", V1, 53, 5);
	send_udp("w0", V1, 54, 6);
	send_udp("w0", V1, 55, 7);
	send_udp("v2", V1, 54, 2);
	send_udp("w0", V1, 99, 8);
	send_udp("w0", ALL, 54, 3);
	wait_a_little();
	in_class("vi1", 3, 5);
	in_class("vi1", 1, 6 + 2 + 8);
	ck_assert_uint_eq(counted(1).packets[FLOW_IN], 0);
	ck_assert_uint_eq(counted(2).packets[FLOW_IN], 6 + 2 + 3);
	ck_assert_uint_eq(counted(3).drops[FLOW_IN], 7);
	ck_assert_uint_eq(counted(3).packets[FLOW_IN], 0);
	ck_assert_uint_eq(counted(0).packets[FLOW_IN], 8);
}

START_TEST(what_comes_in_is_classified_once)
{
	stand_ready();
	it_comes();
}
END_TEST

/* The mark goes along to where the VNIC is. */
START_TEST(what_comes_into_a_zone)
{
	FD home = open("/proc/self/ns/net", O_RDONLY), zone = -1;

	stand_ready();
	zone = give_away();
	site.ifindex = index_of("v1");
	ck_ok(bpf_vnic_add(b, 1, site.ifindex, &(struct prog){.rx = HOOK_PASS}, &e));
	ck_ok(bpf_flows_add(b, &site, &e));
	ck_assert(!setns(home, CLONE_NEWNET));
	bpf_away(b, false);
	it_comes();
}
END_TEST

START_TEST(what_comes_in_by_clsact)
{
	ck_ok(bpf_vnic_del(b, 1, site.ifindex, &e));
	bpf_force_clsact(true);
	ck_ok(bpf_vnic_add(b, 1, site.ifindex, &(struct prog){.rx = HOOK_PASS}, &e));
	stand_ready();
	it_comes();
}
END_TEST

/* The kernel takes the outer tag off what comes in; a second one stays in the frame. */
START_TEST(tags_are_found_in_metadata)
{
	struct flow_entry r = {.dir = FLOW_IN, .slot = 1, .order = {.hi = 1}};
	uint8_t f[UDP_BYTES + 8];

	r.rule.mask =
		(struct flow_key){.has = FLOW_HAS_TAG | FLOW_HAS_PORTS, .vid = 0xfff, .local_port = 0xffff};
	r.rule.key =
		(struct flow_key){.has = FLOW_HAS_TAG | FLOW_HAS_PORTS, .vid = 7, .local_port = htons(53)};
	site.ifb = 0;
	ck_ok(bpf_flows_add(b, &site, &e));
	add_rule(r);
	udp(f + 8, V1, 53);
	memmove(f, f + 8, 12);
	memcpy(f + 12, (uint8_t[]){0x88, 0xa8, 0x60, 7, 0x81, 0, 0, 9}, 8);
	send_frame("w0", f, sizeof(f), 3, 0);
	f[15] = 8;
	send_frame("w0", f, sizeof(f), 4, 0);
	memmove(f + 4, f, 12);
	f[16] = 0x81;
	f[17] = 0;
	f[19] = 7;
	send_frame("w0", f + 4, sizeof(f) - 4, 5, 0);
	wait_a_little();
	ck_assert_uint_eq(counted(1).packets[FLOW_IN], 3 + 5);
	ck_assert_uint_eq(counted(0).packets[FLOW_IN], 4);
	ck_assert_uint_eq(counted(1).bytes[FLOW_IN], 3 * (UDP_BYTES + 4) + 5 * UDP_BYTES);
}
END_TEST

int main(void)
{
	const TTest *const TESTS[] = {
		programs_come_and_go,
		works_on_clsact,
		works_on_a_shared_state,
		half_made_is_repaired,
		the_ifb_is_at_home,
		rules_and_actions_are_told_back,
		masks_are_limited,
		maps_grow,
		a_broken_change_is_put_right,
		a_broken_growth_is_put_right,
		killed_at_any_instant,
		frames_are_marked,
		segments_are_counted,
		a_frame_gets_its_class,
		what_comes_in_is_classified_once,
		what_comes_into_a_zone,
		what_comes_in_by_clsact,
		tags_are_found_in_metadata,
	};

	return lab_main("flowbpf", TESTS, sizeof(TESTS) / sizeof(TESTS[0]), 60);
}
