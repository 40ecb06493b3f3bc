/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The operation table: name, effect, inverse and text of each. Pure; the doing is in lib/kern. */
#include "lib/model/op.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

struct tree *op_tree(struct node *n, enum op_on on)
{
	return on == ON_IFB ? &n->rx : &n->tx;
}

const struct port *op_port(const struct node *n, enum op_on on)
{
	static const size_t at[] = {
		[ON_LINK] = offsetof(struct node, port),
		[ON_IFB] = offsetof(struct node, ifb_port),
		[ON_PARENT] = offsetof(struct node, parent),
	};

	return (const struct port *)((const char *)n + at[on]);
}

static const struct tree *ctree(const struct node *n, enum op_on on)
{
	return on == ON_IFB ? &n->rx : &n->tx;
}

/* Effects: what each operation makes of a node. */

static void link_add(const struct op *op, struct node *n)
{
	const struct node *to = &op->to;

	if (op->on == ON_IFB) {
		n->ifb = true;
		n->ifb_port = to->ifb_port;
		n->ifb_port.ifindex = 0;
		n->ifb_marked = n->ifb_quiet = n->ifb_up = false;
		n->rx = (struct tree){0};
		return;
	}
	n->link = true;
	n->class = to->class;
	n->port = to->port;
	n->port.ifindex = 0;
	memcpy(n->kind, to->kind, sizeof(n->kind));
	n->parent = to->parent;
	n->mac = to->mac;
	n->bc_queue = to->bc_queue;
	n->vid = to->vid;
	n->mtu = to->mtu;
	n->up = n->marked = n->quiet = false;
	n->tx = (struct tree){0};
}

static void link_del(const struct op *op, struct node *n)
{
	if (op->on == ON_IFB) {
		n->ifb = n->ifb_marked = n->ifb_doomed = n->ifb_quiet = n->ifb_up = false;
		n->ifb_port.ifindex = 0;
		n->rx = (struct tree){0};
		return;
	}
	n->link = n->up = n->marked = n->doomed = n->quiet = false;
	n->port.ifindex = 0;
	n->tx = (struct tree){0};
}

static void link_mark(const struct op *op, struct node *n)
{
	*(op->on == ON_IFB ? &n->ifb_marked : &n->marked) = true;
	*(op->on == ON_IFB ? &n->ifb_doomed : &n->doomed) = false;
}

static void link_doom(const struct op *op, struct node *n)
{
	*(op->on == ON_IFB ? &n->ifb_doomed : &n->doomed) = true;
}

static void link_sweep(const struct op *op, struct node *n)
{
	(void)op;
	if (n->doomed)
		link_del(&(struct op){.on = ON_LINK}, n);
	if (n->ifb_doomed)
		link_del(&(struct op){.on = ON_IFB}, n);
}

static void link_quiet(const struct op *op, struct node *n)
{
	*(op->on == ON_IFB ? &n->ifb_quiet : &n->quiet) = op->yes;
}

static void link_up(const struct op *op, struct node *n)
{
	*(op->on == ON_IFB ? &n->ifb_up : &n->up) = op->yes;
}

static void link_mtu(const struct op *op, struct node *n)
{
	n->mtu = op->to.mtu;
}

static void link_mac(const struct op *op, struct node *n)
{
	n->mac = op->to.mac;
}

static void link_rename(const struct op *op, struct node *n)
{
	memcpy(n->port.name, op->to.port.name, sizeof(n->port.name));
}

static void link_move(const struct op *op, struct node *n)
{
	memcpy(n->port.zone, op->to.port.zone, sizeof(n->port.zone));
	n->port.ifindex = 0;
	n->up = n->quiet = false;
	n->tx = (struct tree){0};
}

static void prog_set(const struct op *op, struct node *n)
{
	n->prog = op->to.prog;
	n->prog.present = true;
}

static void prog_del(const struct op *op, struct node *n)
{
	(void)op;
	n->prog = (struct prog){0};
}

static void root_add(const struct op *op, struct node *n)
{
	op_tree(n, op->on)->root = true;
}

static void root_del(const struct op *op, struct node *n)
{
	*op_tree(n, op->on) = (struct tree){0};
}

static void cap_set(const struct op *op, struct node *n)
{
	struct tree *t = op_tree(n, op->on);
	const struct shape *s = &ctree(&op->to, op->on)->shape;

	t->cap = true;
	t->shape.rate = s->rate;
	t->shape.burst = s->burst;
	t->shape.quantum = s->quantum;
}

static void cap_del(const struct op *op, struct node *n)
{
	struct tree *t = op_tree(n, op->on);

	*t = (struct tree){.root = t->root};
}

static void leaf_set(const struct op *op, struct node *n)
{
	struct tree *t = op_tree(n, op->on);
	const struct shape *s = &ctree(&op->to, op->on)->shape;

	t->leaf = true;
	t->shape.limit = s->limit;
	t->shape.segment = s->segment;
	t->shape.seg_burst = s->seg_burst;
}

static void leaf_del(const struct op *op, struct node *n)
{
	struct tree *t = op_tree(n, op->on);

	t->leaf = t->shape.segment = false;
	t->shape.limit = t->shape.seg_burst = 0;
}

static void steer_add(const struct op *op, struct node *n)
{
	(void)op;
	n->steer = true;
}

static void steer_del(const struct op *op, struct node *n)
{
	(void)op;
	n->steer = false;
}

static void arp_set(const struct op *op, struct node *n)
{
	if (op->on == ON_PARENT)
		n->parent_arp = op->to.parent_arp;
	else
		n->arp = op->to.arp;
}

static void iso_set(const struct op *op, struct node *n)
{
	(void)op;
	n->iso = ISO_ON;
}

static void iso_del(const struct op *op, struct node *n)
{
	(void)op;
	n->iso = ISO_OFF;
}

static void nothing(const struct op *op, struct node *n)
{
	(void)op;
	(void)n;
}

/* Texts: the command a person would type. Where: "ip", "ip -n ZONE", the same for tc. */

static const char *in_zone(const char *tool, const struct port *p, char *buf, size_t size)
{
	if (p->zone[0])
		snprintf(buf, size, "%s -n %s", tool, p->zone);
	else
		snprintf(buf, size, "%s", tool);
	return buf;
}

#define IN_ZONE(tool, p) in_zone(tool, p, (char[ZONE_MAX + 16]){0}, ZONE_MAX + 16)

static void text_add(const struct op *op, FILE *out)
{
	const struct node *n = &op->to;
	char mac[18];

	if (op->on == ON_IFB) {
		fprintf(out, "ip link add name %s numtxqueues 1 group %u type ifb", n->ifb_port.name,
			GROUP_LIVE);
		return;
	}
	fprintf(out, "ip link add name %s", n->port.name);
	if (n->parent.name[0])
		fprintf(out, " link %s", n->parent.name);
	fprintf(out, " address %s mtu %u group %u", mac_str(n->mac, mac), n->mtu, GROUP_LIVE);
	if (n->port.zone[0])
		fprintf(out, " netns %s", n->port.zone);
	fprintf(out, " type %s%s", n->kind[0] ? n->kind : "dummy",
		!strcmp(n->kind, "macvlan")  ? " mode bridge"
		: !strcmp(n->kind, "bridge") ? " stp_state 0 mcast_snooping 0"
					     : "");
	if (n->bc_queue)
		fprintf(out, " bcqueuelen %u", n->bc_queue);
}

static void text_del(const struct op *op, FILE *out)
{
	const struct port *p = op_port(&op->from, op->on);

	fprintf(out, "%s link del dev %s", IN_ZONE("ip", p), p->name);
}

static void text_doom(const struct op *op, FILE *out)
{
	fprintf(out, "ip link set dev %s group %u", op_port(&op->to, op->on)->name, GROUP_DOOMED);
}

static void text_sweep(const struct op *op, FILE *out)
{
	(void)op;
	fprintf(out, "ip link del group %u", GROUP_DOOMED);
}

static void text_mark(const struct op *op, FILE *out)
{
	const struct port *p = op_port(&op->to, op->on);

	fprintf(out, "%s link set dev %s group %u alias vnicd:%u", IN_ZONE("ip", p), p->name, GROUP_LIVE,
		op->to.n);
}

static void text_quiet(const struct op *op, FILE *out)
{
	const struct port *p = op_port(&op->to, op->on);

	fprintf(out, "ip link set dev %s addrgenmode %s; sysctl -qw net.ipv6.conf.%s.accept_ra=%d", p->name,
		op->yes ? "none" : "eui64", p->name, op->yes ? 0 : 1);
}

static void text_up(const struct op *op, FILE *out)
{
	const struct port *p = op_port(&op->to, op->on);

	fprintf(out, "%s link set dev %s %s", IN_ZONE("ip", p), p->name, op->yes ? "up" : "down");
}

static void text_mtu(const struct op *op, FILE *out)
{
	fprintf(out, "%s link set dev %s mtu %u", IN_ZONE("ip", &op->to.port), op->to.port.name, op->to.mtu);
}

static void text_mac(const struct op *op, FILE *out)
{
	char mac[18];

	fprintf(out, "%s link set dev %s address %s", IN_ZONE("ip", &op->to.port), op->to.port.name,
		mac_str(op->to.mac, mac));
}

static void text_rename(const struct op *op, FILE *out)
{
	fprintf(out, "%s link set dev %s name %s", IN_ZONE("ip", &op->from.port), op->from.port.name,
		op->to.port.name);
}

static void text_move(const struct op *op, FILE *out)
{
	fprintf(out, "%s link set dev %s netns %s", IN_ZONE("ip", &op->from.port), op->from.port.name,
		op->to.port.zone[0] ? op->to.port.zone : "1");
}

static const char *const mode_words[] = {
	[HOOK_PASS] = "pass", [HOOK_POLICE] = "police", [HOOK_DROP] = "drop"};

static void text_prog(const struct op *op, FILE *out)
{
	const struct prog *p = &op->to.prog;

	fprintf(out, "# bpf: hooks of %s: rx %s (group frames within %" PRIu64 " bit/s), tx %s",
		op->to.port.name, mode_words[p->rx], p->group_rate, mode_words[p->tx]);
}

static void text_prog_del(const struct op *op, FILE *out)
{
	fprintf(out, "# bpf: no hooks on %s", op->from.port.name);
}

static void text_root_add(const struct op *op, FILE *out)
{
	const struct port *p = op_port(&op->to, op->on);

	fprintf(out, "%s qdisc add dev %s root handle 7fd0: htb default 1", IN_ZONE("tc", p), p->name);
}

static void text_root_del(const struct op *op, FILE *out)
{
	const struct port *p = op_port(&op->from, op->on);

	fprintf(out, "%s qdisc del dev %s root", IN_ZONE("tc", p), p->name);
}

static void text_cap(const struct op *op, FILE *out)
{
	const struct port *p = op_port(&op->to, op->on);
	const struct shape *s = &ctree(&op->to, op->on)->shape;

	fprintf(out,
		"%s class %s dev %s parent 7fd0: classid 7fd0:1 htb rate %" PRIu64 "bit ceil %" PRIu64
		"bit burst %u cburst %u quantum %u",
		IN_ZONE("tc", p), op->kind == OP_CAP_ADD ? "add" : "change", p->name, s->rate, s->rate,
		s->burst, s->burst, s->quantum);
}

static void text_cap_del(const struct op *op, FILE *out)
{
	const struct port *p = op_port(&op->from, op->on);

	fprintf(out, "%s class del dev %s classid 7fd0:1", IN_ZONE("tc", p), p->name);
}

/* The two kinds of leaf cannot share a handle: one could not replace the other. */
static const char *leaf_handle(const struct shape *s)
{
	return s->segment ? "7fd1" : "7fd2";
}

static void text_leaf(const struct op *op, FILE *out)
{
	const struct port *p = op_port(&op->to, op->on);
	const struct shape *s = &ctree(&op->to, op->on)->shape;

	fprintf(out, "%s qdisc replace dev %s parent 7fd0:1 handle %s: ", IN_ZONE("tc", p), p->name,
		leaf_handle(s));
	if (s->segment)
		fprintf(out, "tbf rate 400gbit burst %u limit %u", s->seg_burst, s->limit);
	else
		fprintf(out, "bfifo limit %u", s->limit);
}

static void text_leaf_del(const struct op *op, FILE *out)
{
	const struct port *p = op_port(&op->from, op->on);

	fprintf(out, "%s qdisc del dev %s parent 7fd0:1 handle %s:", IN_ZONE("tc", p), p->name,
		leaf_handle(&ctree(&op->from, op->on)->shape));
}

static void text_drain(const struct op *op, FILE *out)
{
	fprintf(out, "# wait until %s's class 7fd0:1 has no backlog", op_port(&op->to, op->on)->name);
}

static void text_steer(const struct op *op, FILE *out)
{
	char mac[18];

	fprintf(out, "# bpf: %s: unicast to %s %s %s", op->to.parent.name, mac_str(op->to.mac, mac),
		op->kind == OP_STEER_ADD ? "goes through" : "no longer goes through", op->to.ifb_port.name);
}

static void text_hook(const struct op *op, FILE *out)
{
	fprintf(out, "# bpf: %s steering program on the ingress of %s",
		op->kind == OP_HOOK_ADD ? "attach the" : "detach the", op->to.parent.name);
}

static void text_arp(const struct op *op, FILE *out)
{
	struct arp arp = op->on == ON_PARENT ? op->to.parent_arp : op->to.arp;
	const char *name = op_port(&op->to, op->on)->name;

	fprintf(out, "sysctl -qw net.ipv4.conf.%s.arp_ignore=%u net.ipv4.conf.%s.arp_announce=%u", name,
		arp.ignore, name, arp.announce);
}

static void text_iso(const struct op *op, FILE *out)
{
	uint32_t n = op->to.n;

	fprintf(out,
		"# for each address of %s: ip rule add from ADDRESS lookup %u priority %u protocol %u; "
		"its subnets and gateways over %s in that table",
		op->to.port.name, isolate_table(n), isolate_priority(n), ISOLATE_PROTOCOL, op->to.port.name);
}

static void text_iso_del(const struct op *op, FILE *out)
{
	uint32_t table = isolate_table(op->from.n);

	fprintf(out, "ip rule flush table %u protocol %u; ip route flush table %u protocol %u", table,
		ISOLATE_PROTOCOL, table, ISOLATE_PROTOCOL);
}

/* inverse: the kind that takes it back with from and to exchanged; OP_COUNT: there is nothing to take back.
 */
static const struct {
	const char *name;
	void (*effect)(const struct op *op, struct node *n);
	enum op_kind inverse;
	void (*text)(const struct op *op, FILE *out);
} table[] = {
	[OP_LINK_ADD] = {"link-add", link_add, OP_LINK_DEL, text_add},
	[OP_LINK_DEL] = {"link-del", link_del, OP_LINK_ADD, text_del},
	[OP_LINK_DOOM] = {"link-doom", link_doom, OP_LINK_MARK, text_doom},
	[OP_LINK_SWEEP] = {"link-sweep", link_sweep, OP_COUNT, text_sweep},
	[OP_LINK_MARK] = {"link-mark", link_mark, OP_COUNT, text_mark},
	[OP_LINK_QUIET] = {"link-quiet", link_quiet, OP_LINK_QUIET, text_quiet},
	[OP_LINK_UP] = {"link-up", link_up, OP_LINK_UP, text_up},
	[OP_LINK_MTU] = {"link-mtu", link_mtu, OP_LINK_MTU, text_mtu},
	[OP_LINK_MAC] = {"link-mac", link_mac, OP_LINK_MAC, text_mac},
	[OP_LINK_RENAME] = {"link-rename", link_rename, OP_LINK_RENAME, text_rename},
	[OP_LINK_MOVE] = {"link-move", link_move, OP_LINK_MOVE, text_move},
	[OP_PROG_ADD] = {"prog-add", prog_set, OP_PROG_DEL, text_prog},
	[OP_PROG_SET] = {"prog-set", prog_set, OP_PROG_SET, text_prog},
	[OP_PROG_DEL] = {"prog-del", prog_del, OP_PROG_ADD, text_prog_del},
	[OP_ROOT_ADD] = {"root-add", root_add, OP_ROOT_DEL, text_root_add},
	[OP_ROOT_DEL] = {"root-del", root_del, OP_ROOT_ADD, text_root_del},
	[OP_CAP_ADD] = {"cap-add", cap_set, OP_CAP_DEL, text_cap},
	[OP_CAP_SET] = {"cap-set", cap_set, OP_CAP_SET, text_cap},
	[OP_CAP_DEL] = {"cap-del", cap_del, OP_CAP_ADD, text_cap_del},
	[OP_LEAF_ADD] = {"leaf-add", leaf_set, OP_LEAF_DEL, text_leaf},
	[OP_LEAF_SET] = {"leaf-set", leaf_set, OP_LEAF_SET, text_leaf},
	[OP_LEAF_DEL] = {"leaf-del", leaf_del, OP_LEAF_ADD, text_leaf_del},
	[OP_DRAIN] = {"drain", nothing, OP_COUNT, text_drain},
	[OP_STEER_ADD] = {"steer-add", steer_add, OP_STEER_DEL, text_steer},
	[OP_STEER_DEL] = {"steer-del", steer_del, OP_STEER_ADD, text_steer},
	[OP_HOOK_ADD] = {"hook-add", nothing, OP_HOOK_DEL, text_hook},
	[OP_HOOK_DEL] = {"hook-del", nothing, OP_HOOK_ADD, text_hook},
	[OP_ARP_SET] = {"arp-set", arp_set, OP_ARP_SET, text_arp},
	[OP_ISO_SET] = {"iso-set", iso_set, OP_ISO_DEL, text_iso},
	[OP_ISO_DEL] = {"iso-del", iso_del, OP_ISO_SET, text_iso_del},
};

const char *op_name(enum op_kind kind)
{
	return table[kind].name;
}

void op_effect(const struct op *op, struct node *n)
{
	n->n = op->to.n;
	table[op->kind].effect(op, n);
}

bool op_inverse(const struct op *op, struct op *ret)
{
	enum op_kind inverse = table[op->kind].inverse;

	if (inverse == OP_COUNT)
		return false;
	*ret = (struct op){.kind = inverse, .on = op->on, .yes = !op->yes, .from = op->to, .to = op->from};
	return true;
}

void op_text(const struct op *op, FILE *out)
{
	table[op->kind].text(op, out);
}

static int list_room(struct op_list *list)
{
	size_t room = list->room ? 2 * list->room : 16;
	struct op *ops;

	if (list->count < list->room)
		return 0;
	ops = reallocarray(list->ops, room, sizeof(*ops));
	if (!ops)
		return -ENOMEM;
	list->ops = ops;
	list->room = room;
	return 0;
}

int op_emit(struct op_list *list, enum op_kind kind, enum op_on on, bool yes, struct node *cur,
	    const struct node *want)
{
	struct op *op;

	if (list_room(list) < 0)
		return -ENOMEM;
	op = &list->ops[list->count++];
	*op = (struct op){.kind = kind, .on = on, .yes = yes, .from = *cur, .to = *want};
	op->to.n = want->n;
	op_effect(op, cur);
	op->to = *cur;
	return 0;
}

#define GROUP_FROM 3 /* deletions: fewer are not worth reading all links for the check before the sweep */

static bool groupable(const struct op *op)
{
	return op->kind == OP_LINK_DEL && !op_port(&op->from, op->on)->zone[0];
}

/* Hooks go after the links they are on: until then they drop. */
static bool after_sweep(const struct op *op)
{
	return op->kind == OP_PROG_DEL || op->kind == OP_HOOK_DEL;
}

static int insert_sweep(struct op_list *list)
{
	struct op_list sorted = {.ops = calloc(list->count + 1, sizeof(*sorted.ops)),
				 .room = list->count + 1};

	if (!sorted.ops)
		return -ENOMEM;
	for (size_t i = 0; i < list->count; i++)
		if (!after_sweep(&list->ops[i]))
			sorted.ops[sorted.count++] = list->ops[i];
	sorted.ops[sorted.count++] = (struct op){.kind = OP_LINK_SWEEP, .on = ON_LINK, .yes = true};
	for (size_t i = 0; i < list->count; i++)
		if (after_sweep(&list->ops[i]))
			sorted.ops[sorted.count++] = list->ops[i];
	op_list_free(list);
	*list = sorted;
	return 0;
}

int op_list_group_deletions(struct op_list *list)
{
	size_t count = 0;

	for (size_t i = 0; i < list->count; i++)
		count += groupable(&list->ops[i]);
	if (count < GROUP_FROM)
		return 0;
	for (size_t i = 0; i < list->count; i++) {
		struct op *op = &list->ops[i];

		if (!groupable(op))
			continue;
		op->kind = OP_LINK_DOOM;
		op->to = op->from;
		op_effect(op, &op->to);
	}
	return insert_sweep(list);
}

static int push(struct op_list *list, const struct op *op)
{
	if (list_room(list) < 0)
		return -ENOMEM;
	list->ops[list->count++] = *op;
	return 0;
}

static bool is_final(const struct op *op)
{
	return op->kind == OP_LINK_SWEEP || (op->kind == OP_LINK_DEL && op->on == ON_LINK);
}

static bool is_leftover(const struct op *op)
{
	return op->kind == OP_PROG_DEL && !op->from.link;
}

static bool has_sweep(const struct op_list *list)
{
	for (size_t i = 0; i < list->count; i++)
		if (list->ops[i].kind == OP_LINK_SWEEP)
			return true;
	return false;
}

static int part_one(const struct op *op, struct op_list *keep, struct op_list *last, struct op_list *rest)
{
	if (is_leftover(op))
		return push(rest, op);
	if (!is_final(op))
		return push(keep, op);
	return op->kind == OP_LINK_SWEEP && has_sweep(last) ? 0 : push(last, op);
}

int op_list_part(struct op_list *list, struct op_list *last, struct op_list *rest)
{
	struct op_list keep = {0};
	size_t finals = last->count, lefts = rest->count;
	int r = 0;

	for (size_t i = 0; i < list->count && r == 0; i++)
		r = part_one(&list->ops[i], &keep, last, rest);
	if (r < 0) {
		op_list_free(&keep);
		last->count = finals;
		rest->count = lefts;
		return r;
	}
	op_list_free(list);
	*list = keep;
	return 0;
}

void op_list_free(struct op_list *list)
{
	free(list->ops);
	*list = (struct op_list){0};
}
