/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a dry run prints of each operation, word by word. That these words do it, tests/netns/dryrun.bats
 * shows. */
#include "lib/model/flowset.h"
#include "lib/model/say.h"

#include <arpa/inet.h>
#include <check.h>
#include <stdlib.h>
#include <string.h>

/* Variations of a VNIC in zone a: on it what 10M receives and 1G sends. */
#define OWN     1u  /* in the own namespace */
#define PLAIN   2u  /* the kernel has neither dummy nor fq_codel, and renames no link that is up */
#define STUB    4u  /* an etherstub */
#define NO      8u  /* op.yes is false */
#define PATH    16u /* its namespace has no name */
#define DOTTED  32u
#define KIND    64u  /* the kind of leaf changes */
#define TINY    128u /* an MTU without IPv6 */
#define QUEUE   256u
#define BLOCKED 512u

static struct node node_of(unsigned how)
{
	struct node n = {.n = 3, .class = CLASS_VNIC, .link = true, .up = true, .mtu = 1500};

	n.mac = (struct mac){{2, 8, 0x20, 1, 2, 3}};
	snprintf(n.port.zone, sizeof(n.port.zone), "%s",
		 how & OWN    ? ""
		 : how & PATH ? "/proc/42/ns/net"
			      : "a");
	snprintf(n.port.name, sizeof(n.port.name), how & DOTTED ? "web.3" : "vnic3");
	snprintf(n.parent.name, sizeof(n.parent.name), "eth0");
	snprintf(n.kind, sizeof(n.kind), "macvlan");
	node_ifb_name(3, n.ifb_port.name);
	n.bc_queue = how & QUEUE ? 2000 : 0;
	n.prog = (struct prog){.present = true, .rx = HOOK_POLICE, .group_rate = 10000000};
	if (how & BLOCKED)
		n.prog = (struct prog){.present = true, .rx = HOOK_DROP, .tx = HOOK_DROP};
	n.rx = (struct tree){.root = true, .cap = true, .leaf = true, .shape = shape_for(10000000, 1500)};
	n.tx = (struct tree){.root = true, .cap = true, .leaf = true, .shape = shape_for(1000000000, 1500)};
	n.arp = n.parent_arp = arp_strict((struct arp){0});
	return n;
}

static void as_stub(struct node *n)
{
	n->class = CLASS_ETHERSTUB;
	n->kind[0] = n->parent.name[0] = '\0';
	snprintf(n->port.name, sizeof(n->port.name), "stub0");
}

#define TC_A "tc -n a "
#define ROWS (sizeof(rows) / sizeof(*rows))

static const struct {
	enum op_kind kind;
	enum op_on on;
	unsigned how;
	const char *text;
} rows[] = {
	{OP_LINK_ADD, ON_LINK, 0,
	 "ip link add name vnic3 link eth0 address 02:08:20:01:02:03 mtu 1500 group 1986947427 netns a type "
	 "macvlan mode bridge\n"},
	{OP_LINK_ADD, ON_LINK, OWN | QUEUE,
	 "ip link add name vnic3 link eth0 address 02:08:20:01:02:03 mtu 1500 group 1986947427 type macvlan "
	 "mode bridge bcqueuelen 2000\n"},
	{OP_LINK_ADD, ON_LINK, OWN | STUB,
	 "ip link add name stub0 address 02:08:20:01:02:03 mtu 1500 group 1986947427 type dummy\n"},
	{OP_LINK_ADD, ON_LINK, OWN | STUB | PLAIN,
	 "ip link add name stub0 mtu 1500 group 1986947427 type bridge stp_state 0 mcast_snooping 0\n"},
	{OP_LINK_ADD, ON_IFB, 0, "ip link add name vi3 numtxqueues 1 group 1986947427 type ifb\n"},
	{OP_LINK_DEL, ON_LINK, 0, "ip -n a link del dev vnic3\n"},
	{OP_LINK_DEL, ON_IFB, 0, "ip link del dev vi3\n"},
	{OP_LINK_DEL, ON_LINK, PATH, "nsenter --net=/proc/42/ns/net ip link del dev vnic3\n"},
	{OP_LINK_DOOM, ON_LINK, OWN, "ip link set dev vnic3 group 1986947428\n"},
	{OP_LINK_SWEEP, ON_LINK, OWN, "ip link del group 1986947428\n"},
	{OP_LINK_MARK, ON_LINK, 0, "ip -n a link set dev vnic3 group 1986947427 alias vnicd:abc:3\n"},
	{OP_LINK_QUIET, ON_LINK, OWN,
	 "ip link set dev vnic3 addrgenmode none\nsysctl -qw net.ipv6.conf.vnic3.accept_ra=0\n"},
	{OP_LINK_QUIET, ON_IFB, NO,
	 "ip link set dev vi3 addrgenmode eui64\nsysctl -qw net.ipv6.conf.vi3.accept_ra=1\n"},
	{OP_LINK_QUIET, ON_LINK, OWN | DOTTED,
	 "ip link set dev web.3 addrgenmode none\nsysctl -qw net/ipv6/conf/web.3/accept_ra=0\n"},
	{OP_LINK_QUIET, ON_LINK, OWN | TINY, ""},
	{OP_LINK_UP, ON_LINK, 0, "ip -n a link set dev vnic3 up\n"},
	{OP_LINK_UP, ON_LINK, OWN | NO, "ip link set dev vnic3 down\n"},
	{OP_LINK_MTU, ON_LINK, 0, "ip -n a link set dev vnic3 mtu 1500\n"},
	{OP_LINK_MAC, ON_LINK, 0, "ip -n a link set dev vnic3 address 02:08:20:01:02:03\n"},
	{OP_LINK_RENAME, ON_LINK, 0, "ip -n a link set dev vnic3 name new0\n"},
	{OP_LINK_RENAME, ON_LINK, PLAIN,
	 "ip -n a link set dev vnic3 down\nip -n a link set dev vnic3 name new0\n"
	 "ip -n a link set dev new0 up\n"},
	{OP_LINK_MOVE, ON_LINK, 0, "ip -n a link set dev vnic3 netns b\n"},
	{OP_LINK_MOVE, ON_LINK, NO, "ip -n a link set dev vnic3 netns $$\n"},
	{OP_PROG_ADD, ON_LINK, 0,
	 "# bpf: hooks of vnic3: rx police (broadcast and multicast within 10000000bit), tx pass\n"},
	{OP_PROG_SET, ON_LINK, BLOCKED, "# bpf: hooks of vnic3: rx drop, tx drop\n"},
	{OP_PROG_DEL, ON_LINK, 0, "# bpf: no hooks on vnic3\n"},
	{OP_ROOT_ADD, ON_LINK, 0,
	 TC_A "qdisc replace dev vnic3 root handle 7fd0: htb default 1 direct_qlen 1000\n"},
	{OP_ROOT_DEL, ON_IFB, 0, "tc qdisc del dev vi3 root\n"},
	{OP_CAP_ADD, ON_IFB, 0,
	 "tc class add dev vi3 parent 7fd0: classid 7fd0:ffff htb rate 10000000bit ceil 10000000bit burst "
	 "5000 cburst 5000 quantum 1514 prio 0\n"
	 "tc class add dev vi3 parent 7fd0:ffff classid 7fd0:1 htb rate 10000000bit ceil 10000000bit burst "
	 "5000 cburst 5000 quantum 1514 prio 1\n"},
	{OP_CAP_SET, ON_LINK, 0,
	 TC_A "class change dev vnic3 parent 7fd0: classid 7fd0:ffff htb rate 1000000000bit ceil "
	      "1000000000bit burst 500000 cburst 500000 quantum 60000 prio 0\n" TC_A
	      "class change dev vnic3 parent 7fd0:ffff classid 7fd0:1 htb rate 1000000000bit ceil "
	      "1000000000bit burst 500000 cburst 500000 quantum 60000 prio 1\n"},
	{OP_CAP_DEL, ON_LINK, 0,
	 TC_A "class del dev vnic3 classid 7fd0:1\n" TC_A "class del dev vnic3 classid 7fd0:ffff\n"},
	{OP_LEAF_ADD, ON_LINK, 0,
	 TC_A "qdisc replace dev vnic3 parent 7fd0:1 handle 7fd3: fq_codel memory_limit 375000 target 5000us "
	      "interval 100000us drop_batch 1 flows 128\n"},
	{OP_LEAF_ADD, ON_LINK, PLAIN,
	 TC_A "qdisc replace dev vnic3 parent 7fd0:1 handle 7fd2: bfifo limit 375000\n"},
	{OP_LEAF_ADD, ON_IFB, 0,
	 "tc qdisc replace dev vi3 parent 7fd0:1 handle 7fd1: tbf rate 400000000000bit burst 3028 limit "
	 "62500\n"
	 "tc qdisc replace dev vi3 parent 7fd1:1 handle 7fd4: fq_codel memory_limit 62500 target 5000us "
	 "interval 100000us drop_batch 1 flows 128\n"},
	{OP_LEAF_SET, ON_IFB, PLAIN,
	 "tc qdisc replace dev vi3 parent 7fd0:1 handle 7fd1: tbf rate 400000000000bit burst 3028 limit "
	 "62500\n"},
	{OP_LEAF_SET, ON_LINK, 0,
	 TC_A "qdisc replace dev vnic3 parent 7fd0:1 handle 7fd3: fq_codel memory_limit 375000 target 5000us "
	      "interval 100000us drop_batch 1\n"},
	{OP_LEAF_SET, ON_LINK, KIND,
	 TC_A "qdisc replace dev vnic3 parent 7fd0:1 handle 7fd3: fq_codel memory_limit 375000 target 5000us "
	      "interval 100000us drop_batch 1 flows 128\n"},
	{OP_LEAF_DEL, ON_LINK, 0, TC_A "qdisc del dev vnic3 parent 7fd0:1 handle 7fd3:\n"},
	{OP_LEAF_DEL, ON_LINK, PLAIN, TC_A "qdisc del dev vnic3 parent 7fd0:1 handle 7fd2:\n"},
	{OP_LEAF_DEL, ON_IFB, 0, "tc qdisc del dev vi3 parent 7fd0:1 handle 7fd1:\n"},
	{OP_DRAIN, ON_IFB, 0, "# wait until class 7fd0:1 of vi3 has no backlog, 300 ms at most\n"},
	{OP_DRAIN, ON_IFB, NO, "# wait until class 7fd0:1 of vi3 has no backlog, 2 ms at most\n"},
	{OP_STEER_ADD, ON_IFB, 0, "# bpf: frames from eth0 to 02:08:20:01:02:03 go through vi3\n"},
	{OP_BANDS_ADD, ON_IFB, 0,
	 "tc class change dev vi3 parent 7fd0:ffff classid 7fd0:1 htb rate 1000000bit ceil 10000000bit burst "
	 "5000 cburst 5000 quantum 1514 prio 1\n"
	 "tc class add dev vi3 parent 7fd0:ffff classid 7fd0:2 htb rate 1000000bit ceil 10000000bit burst "
	 "5000 cburst 5000 quantum 1514 prio 2\n"
	 "tc class add dev vi3 parent 7fd0:ffff classid 7fd0:3 htb rate 1000000bit ceil 10000000bit burst "
	 "5000 cburst 5000 quantum 1514 prio 1\n"
	 "tc class add dev vi3 parent 7fd0:ffff classid 7fd0:4 htb rate 1000000bit ceil 10000000bit burst "
	 "5000 cburst 5000 quantum 1514 prio 0\n"
	 "# bpf: a filter on the root of vi3 leads a flow's frames to its class\n"},
	{OP_BANDS_DEL, ON_LINK, 0,
	 TC_A "class del dev vnic3 classid 7fd0:2\n" TC_A "class del dev vnic3 classid 7fd0:3\n" TC_A
	      "class del dev vnic3 classid 7fd0:4\n" TC_A
	      "class change dev vnic3 parent 7fd0:ffff classid 7fd0:1 htb rate 1000000000bit ceil "
	      "1000000000bit burst 500000 cburst 500000 quantum 60000 prio 1\n"
	      "# bpf: no filter on the root of vnic3 leads a flow's frames to its class\n"},
	{OP_FLOWS_ADD, ON_LINK, 0, "# bpf: hooks of vnic3 tell its flows apart\n"},
	{OP_FLOWS_SET, ON_LINK, 0,
	 "tc class replace dev vi3 parent 7fd0:3 classid 7fd0:14 htb rate 8bit ceil 5000000bit burst 1 "
	 "cburst "
	 "3028 quantum 1514 prio 1\n"
	 "tc qdisc replace dev vi3 parent 7fd0:14 tbf rate 400000000000bit burst 3028 limit 31250\n" TC_A
	 "class replace dev vnic3 parent 7fd0:4 classid 7fd0:18 htb rate 8bit ceil 300000000bit burst 1 "
	 "cburst 150000 quantum 60000 prio 0\n" TC_A
	 "qdisc replace dev vnic3 parent 7fd0:18 fq_codel memory_limit 150000 target 5000us interval "
	 "100000us drop_batch 1 flows 128\n"
	 "# bpf: flows of vnic3: 2, by 3 rules\n"},
	{OP_FLOWS_DEL, ON_LINK, 0,
	 "# bpf: hooks of vnic3 do not tell flows apart, and the flows' classes go\n"},
	{OP_STEER_DEL, ON_IFB, 0, "# bpf: frames from eth0 to 02:08:20:01:02:03 no longer go through vi3\n"},
	{OP_HOOK_ADD, ON_PARENT, 0, "# bpf: steering program on the ingress of eth0\n"},
	{OP_HOOK_DEL, ON_PARENT, 0, "# bpf: no steering program on the ingress of eth0\n"},
	{OP_ARP_SET, ON_PARENT, OWN,
	 "sysctl -qw net.ipv4.conf.eth0.arp_ignore=1 net.ipv4.conf.eth0.arp_announce=2\n"},
	{OP_ARP_SET, ON_LINK, OWN | DOTTED,
	 "sysctl -qw net/ipv4/conf/web.3/arp_ignore=1 net/ipv4/conf/web.3/arp_announce=2\n"},
	/* The set that is wanted has 10.1.2.3/24 and its gateway, the one that is there 10.1.2.9 and fd01::9.
	 */
	{OP_ISO_SET, ON_LINK, OWN,
	 "ip -6 route replace unreachable default table 1979711491 protocol 118 metric 2147483647\n"
	 "ip route replace 10.1.2.0/24 dev vnic3 table 1979711491 protocol 118\n"
	 "ip route replace default via 10.1.2.1 dev vnic3 onlink table 1979711491 protocol 118 metric 50\n"
	 "ip rule add from 10.1.2.3 lookup 1979711491 priority 20003 protocol 118\n"
	 "ip rule del from 10.1.2.9 lookup 1979711491 protocol 118\n"
	 "ip -6 rule del from fd01::9 lookup 1979711491 protocol 118\n"
	 "ip -6 route del fd01::/64 table 1979711491 protocol 118 metric 256\n"},
	{OP_ISO_DEL, ON_LINK, OWN,
	 "ip rule del from 10.1.2.9 lookup 1979711491 protocol 118\n"
	 "ip -6 rule del from fd01::9 lookup 1979711491 protocol 118\n"
	 "ip route del unreachable default table 1979711491 protocol 118 metric 2147483647\n"
	 "ip -6 route del fd01::/64 table 1979711491 protocol 118 metric 256\n"},
};

static struct iso_addr addr_of(int family, const char *text, unsigned plen)
{
	struct iso_addr a = {.family = family, .plen = plen};

	ck_assert_int_eq(inet_pton(family, text, a.local), 1);
	memcpy(a.subnet, a.local, sizeof(a.subnet));
	return a;
}

static void iso_of(struct iso_set *want, struct iso_set *have)
{
	struct iso_addr is = addr_of(AF_INET, "10.1.2.3", 24);
	struct iso_addr was[] = {addr_of(AF_INET, "10.1.2.9", 32), addr_of(AF_INET6, "fd01::9", 64)};
	struct iso_route gate = {
		.kind = ISO_GATEWAY, .family = AF_INET, .metric = 50, .gateway = {10, 1, 2, 1}};
	struct iso_set all;

	isolate_set(&is, 1, &gate, 1, true, want);
	isolate_set(was, 2, NULL, 0, true, &all);
	*have = all;
	have->route_count = 0;
	for (size_t i = 0; i < all.route_count; i++)
		if (all.routes[i].kind != ISO_UNREACHABLE || all.routes[i].family == AF_INET)
			have->routes[have->route_count++] = all.routes[i];
}

static struct flow_class flow_classes[] = {
	{.dir = FLOW_IN,
	 .slot = 1,
	 .priority = FLOW_MEDIUM,
	 .shape = {.rate = 5000000,
		   .burst = 3028,
		   .quantum = 1514,
		   .limit = 31250,
		   .segment = true,
		   .seg_burst = 3028}},
	{.dir = FLOW_OUT,
	 .slot = 2,
	 .priority = FLOW_HIGH,
	 .shape = {.rate = 300000000, .burst = 150000, .quantum = 60000, .limit = 150000}},
};
static const struct flow_set flows = {
	.classes = flow_classes, .classes_count = 2, .acts_count = 2, .entries_count = 3};

static struct op op_of(size_t i)
{
	unsigned how = rows[i].how;
	struct node n = node_of(how);
	struct op op;

	if (how & STUB)
		as_stub(&n);
	if (how & TINY)
		n.mtu = 1279;
	op = (struct op){.kind = rows[i].kind, .on = rows[i].on, .yes = !(how & NO), .from = n, .to = n};
	if (op.kind == OP_LINK_RENAME)
		snprintf(op.to.port.name, sizeof(op.to.port.name), "new0");
	if (op.kind == OP_LINK_MOVE)
		snprintf(op.to.port.zone, sizeof(op.to.port.zone), how & NO ? "" : "b");
	op.from.tx.shape.segment ^= (how & KIND) != 0;
	op.to.flow_set = &flows;
	return op;
}

START_TEST(each_text_is_what_a_person_would_type)
{
	struct iso_set want, have;
	struct say how = {.uuid = "abc", .want = &want, .have = &have};
	struct op op = op_of((size_t)_i);
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	if (!(rows[_i].how & PLAIN))
		how.means = (struct means){.dummy = true, .fq_codel = true, .live_rename = true};
	iso_of(&want, &have);
	say_op(&op, &how, out);
	fclose(out);
	ck_assert_str_eq(text, rows[_i].text);
	free(text);
}
END_TEST

/* Names that a tenant can give, each in the place of one that is a word of a shell's. */
static const struct {
	const char *plain, *odd;
} names[][3] = {
	{{"ZONE", "a b"}, {"LINK", "$(id)"}, {"PARENT", "a;id"}},
	{{"ZONE", "`id`"}, {"LINK", "'\"\\'"}, {"PARENT", "~root"}},
	{{"ZONE", "a&b<c"}, {"LINK", "\x1b[31m"}, {"PARENT", "\xff\xfe*"}},
	{{"ZONE", "a\nid"}, {"LINK", "#x"}, {"PARENT", "{a,b}|"}},
};

/* With how->uuid as it is. odd: with those names, else with the plain ones. */
static char *text_of(struct op op, const struct say *how, size_t set, bool odd)
{
	const char *zone = odd ? names[set][0].odd : names[set][0].plain;
	struct node *both[] = {&op.from, &op.to};
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	for (size_t i = 0; i < 2; i++) {
		if (both[i]->port.zone[0] && both[i]->port.zone[0] != '/')
			snprintf(both[i]->port.zone, sizeof(both[i]->port.zone), "%s", zone);
		snprintf(both[i]->port.name, sizeof(both[i]->port.name), "%s",
			 odd ? names[set][1].odd : names[set][1].plain);
		if (both[i]->parent.name[0])
			snprintf(both[i]->parent.name, sizeof(both[i]->parent.name), "%s",
				 odd ? names[set][2].odd : names[set][2].plain);
	}
	say_op(&op, how, out);
	fclose(out);
	return text;
}

/* What a shell that is given the text calls, a line for each word. */
static void words_of(char *text, char *ret, size_t size)
{
	char script[8192], *pid;
	FILE *out;
	size_t n;

	/* Each shell is another process. */
	if ((pid = strstr(text, "$$")))
		memcpy(pid, "ME", 2);
	n = (size_t)snprintf(
		script, sizeof(script),
		"w() { printf '<%%s>\\n' \"$@\"; }; ip() { w ip \"$@\"; }; tc() { w tc \"$@\"; }\n"
		"sysctl() { w sysctl \"$@\"; }; nsenter() { w nsenter \"$@\"; }\n%s",
		text);
	ck_assert_uint_lt(n, sizeof(script));
	out = popen(script, "r");
	ck_assert_ptr_nonnull(out);
	ret[fread(ret, 1, size - 1, out)] = '\0';
	ck_assert_int_eq(pclose(out), 0);
}

/* The plain names for the odd ones in the text. */
static void made_plain(char *text, size_t set)
{
	for (size_t i = 0; i < 3; i++) {
		const char *plain = names[set][i].plain, *odd = names[set][i].odd;
		char *at = text;

		while ((at = strstr(at, odd))) {
			memmove(at + strlen(plain), at + strlen(odd), strlen(at + strlen(odd)) + 1);
			memcpy(at, plain, strlen(plain));
			at += strlen(plain);
		}
	}
}

START_TEST(a_name_is_one_word_to_the_shell)
{
	struct iso_set want, have;
	struct say how = {.uuid = "abc", .want = &want, .have = &have};
	struct op op = op_of((size_t)_i);
	char plain[16384], odd[16384];

	iso_of(&want, &have);
	for (size_t set = 0; set < sizeof(names) / sizeof(*names); set++) {
		char *text = text_of(op, &how, set, true);

		for (const char *c = text; *c; c++)
			ck_assert_msg((*c >= ' ' && *c <= '~') || *c == '\n', "for a terminal: %s", text);
		words_of(text, odd, sizeof(odd));
		free(text);
		made_plain(odd, set);
		text = text_of(op, &how, set, false);
		words_of(text, plain, sizeof(plain));
		free(text);
		ck_assert_str_eq(odd, plain);
	}
}
END_TEST

START_TEST(every_operation_has_its_row)
{
	size_t found = 0;

	for (size_t i = 0; i < ROWS; i++)
		found += (int)rows[i].kind == _i;
	ck_assert_msg(found > 0, "no text of %s is tested", op_name((enum op_kind)_i));
}
END_TEST

int main(void)
{
	Suite *s = suite_create("say");
	TCase *t = tcase_create("say");
	SRunner *r;
	int failed;

	tcase_add_loop_test(t, every_operation_has_its_row, 0, OP_COUNT);
	tcase_add_loop_test(t, each_text_is_what_a_person_would_type, 0, ROWS);
	tcase_add_loop_test(t, a_name_is_one_word_to_the_shell, 0, ROWS);
	suite_add_tcase(s, t);
	r = srunner_create(s);
	srunner_run_all(r, CK_ENV);
	failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
