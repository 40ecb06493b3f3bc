/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The table of texts, one for each operation. What an operation is and does to a node is op.c's. */
#include "lib/model/say.h"

#include "lib/model/flowset.h"

#include <arpa/inet.h>
#include <assert.h>
#include <inttypes.h>
#include <netinet/in.h>
#include <string.h>

static const struct tree *tree_at(const struct node *n, enum op_on on)
{
	return on == ON_IFB ? &n->rx : &n->tx;
}

#define IPV6_LEAST 1280u /* MTU */

/* What a shell must be kept from: names of links and zones are others' to choose. */
#define PLAIN                                                            \
	"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789" \
	"_.,:/@%+=-"
#define QUOTE_MOST 4 /* characters for one */
#define WORD_MAX   (QUOTE_MOST * ZONE_MAX + sizeof("\"$(printf '')\""))

static bool printable(const char *s)
{
	for (; *s; s++)
		if (*s < ' ' || *s > '~')
			return false;
	return true;
}

/* For printf(1): a terminal is told nothing, and JSON takes it. */
static void octal(const char *s, char *at, const char *end)
{
	at += snprintf(at, (size_t)(end - at), "\"$(printf '");
	for (; *s; s++)
		at += snprintf(at, (size_t)(end - at), "\\%03o", (unsigned char)*s);
	snprintf(at, (size_t)(end - at), "')\"");
}

static void quoted(const char *s, char *at)
{
	*at++ = '\'';
	for (; *s; s++)
		if (*s == '\'')
			at = stpcpy(at, "'\\''");
		else
			*at++ = *s;
	memcpy(at, "'", 2);
}

/* s as one word of a shell's; as it is, where that is one. */
static const char *word(const char *s, char buf[WORD_MAX])
{
	if (*s && !s[strspn(s, PLAIN)])
		return s;
	if (printable(s))
		quoted(s, buf);
	else
		octal(s, buf, buf + WORD_MAX);
	return buf;
}
#define WORD(s) word(s, (char[WORD_MAX]){0})

/* "ip", "ip -n ZONE", the same for tc. A namespace without a name is entered by its file. */
static void in_zone(FILE *out, const char *tool, const struct port *p)
{
	if (p->zone[0] == '/')
		fprintf(out, "nsenter --net=%s %s ", WORD(p->zone), tool);
	else if (p->zone[0])
		fprintf(out, "%s -n %s ", tool, WORD(p->zone));
	else
		fprintf(out, "%s ", tool);
}

/* "ip link set dev NAME " */
static void link_set(FILE *out, const struct port *p)
{
	in_zone(out, "ip", p);
	fprintf(out, "link set dev %s ", WORD(p->name));
}

/* "tc qdisc WHAT dev NAME " */
static void tc(FILE *out, const struct port *p, const char *what)
{
	in_zone(out, "tc", p);
	fprintf(out, "%s dev %s ", what, WORD(p->name));
}

/* A key of a link; with slashes where the link's name has a dot. */
static void sysctl_key(FILE *out, int version, const char *name, const char *key)
{
	char sep = strchr(name, '.') ? '/' : '.';

	fprintf(out, "net%cipv%d%cconf%c%s%c%s", sep, version, sep, sep, WORD(name), sep, key);
}

/* Links */

static const char *kind_of(const struct op *op, const struct say *how)
{
	if (op->on == ON_IFB)
		return "ifb";
	if (op->to.kind[0])
		return op->to.kind;
	return how->means.dummy ? "dummy" : "bridge";
}

static void kind_options(const struct node *n, const char *kind, FILE *out)
{
	if (!strcmp(kind, "bridge"))
		fprintf(out, " stp_state 0 mcast_snooping 0");
	if (!strcmp(kind, "vlan"))
		fprintf(out, " id %u", n->vid);
	if (strcmp(kind, "macvlan") != 0)
		return;
	fprintf(out, " mode bridge");
	if (n->bc_queue)
		fprintf(out, " bcqueuelen %u", n->bc_queue);
}

/* A bridge keeps the MAC address that the kernel gives it: with another one it has no carrier; and a VLAN its
 * parent's. */
static void say_add(const struct op *op, const struct say *how, FILE *out)
{
	const struct port *p = op_port(&op->to, op->on);
	const char *kind = kind_of(op, how);
	char mac[18];

	fprintf(out, "ip link add name %s", WORD(p->name));
	if (op->on == ON_IFB) {
		fprintf(out, " numtxqueues 1 group %u type ifb\n", GROUP_LIVE);
		return;
	}
	if (op->to.class == CLASS_FOREIGN) {
		fprintf(out, " numtxqueues 1 mtu %u group %u type ifb\n", op->to.mtu, GROUP_LIVE);
		return;
	}
	if (op->to.parent.name[0])
		fprintf(out, " link %s", WORD(op->to.parent.name));
	if (strcmp(kind, "bridge") != 0 && strcmp(kind, "vlan") != 0)
		fprintf(out, " address %s", mac_str(op->to.mac, mac));
	fprintf(out, " mtu %u group %u", op->to.mtu, GROUP_LIVE);
	if (p->zone[0])
		fprintf(out, " netns %s", WORD(p->zone));
	fprintf(out, " type %s", kind);
	kind_options(&op->to, kind, out);
	fputc('\n', out);
}

static void say_del(const struct op *op, const struct say *how, FILE *out)
{
	const struct port *p = op_port(&op->from, op->on);

	(void)how;
	in_zone(out, "ip", p);
	fprintf(out, "link del dev %s\n", WORD(p->name));
}

static void say_doom(const struct op *op, const struct say *how, FILE *out)
{
	(void)how;
	link_set(out, op_port(&op->to, op->on));
	fprintf(out, "group %u\n", GROUP_DOOMED);
}

static void say_sweep(const struct op *op, const struct say *how, FILE *out)
{
	(void)op;
	(void)how;
	fprintf(out, "ip link del group %u\n", GROUP_DOOMED);
}

static void say_mark(const struct op *op, const struct say *how, FILE *out)
{
	link_set(out, op_port(&op->to, op->on));
	fprintf(out, "group %u alias vnicd:%s:%u\n", GROUP_LIVE, how->uuid, op->to.n);
}

/* On a link whose MTU leaves it without IPv6 there is nothing to silence. */
static void say_quiet(const struct op *op, const struct say *how, FILE *out)
{
	const struct port *p = op_port(&op->to, op->on);

	(void)how;
	if (op->on == ON_LINK && op->to.mtu && op->to.mtu < IPV6_LEAST)
		return;
	link_set(out, p);
	fprintf(out, "addrgenmode %s\nsysctl -qw ", op->yes ? "none" : "eui64");
	sysctl_key(out, 6, p->name, "accept_ra");
	fprintf(out, "=%d\n", op->yes ? 0 : 1);
}

static void say_flag(const struct port *p, bool up, FILE *out)
{
	link_set(out, p);
	fprintf(out, "%s\n", up ? "up" : "down");
}

static void say_up(const struct op *op, const struct say *how, FILE *out)
{
	(void)how;
	say_flag(op_port(&op->to, op->on), op->yes, out);
}

static void say_mtu(const struct op *op, const struct say *how, FILE *out)
{
	(void)how;
	link_set(out, &op->to.port);
	fprintf(out, "mtu %u\n", op->to.mtu);
}

static void say_mac(const struct op *op, const struct say *how, FILE *out)
{
	char mac[18];

	(void)how;
	link_set(out, &op->to.port);
	fprintf(out, "address %s\n", mac_str(op->to.mac, mac));
}

static void say_rename(const struct op *op, const struct say *how, FILE *out)
{
	bool down = op->from.up && !how->means.live_rename;

	if (down)
		say_flag(&op->from.port, false, out);
	link_set(out, &op->from.port);
	fprintf(out, "name %s\n", WORD(op->to.port.name));
	if (down)
		say_flag(&op->to.port, true, out);
}

/* The own namespace is that of the shell. */
static void say_move(const struct op *op, const struct say *how, FILE *out)
{
	(void)how;
	link_set(out, &op->from.port);
	fprintf(out, "netns %s\n", op->to.port.zone[0] ? WORD(op->to.port.zone) : "$$");
}

/* Programs */

static const char *const mode_words[] = {
	[HOOK_PASS] = "pass", [HOOK_POLICE] = "police", [HOOK_DROP] = "drop"};

static const char *hooked(const struct node *n)
{
	return n->class == CLASS_FOREIGN ? n->parent.name : n->port.name;
}

/* The filter behind the hooks of a link that is not ours; the class that a frame has is the program's word.
 */
static void say_out(const struct node *was, const struct node *is, FILE *out)
{
	static const char where[] = "egress protocol all prio 65535 handle 1 bpf";

	if (is->prog.out && !was->prog.out)
		fprintf(out,
			"tc filter replace dev %s %s bytecode '1,6 0 0 4294967295' skip_hw action mirred "
			"egress "
			"redirect dev %s\n",
			WORD(is->parent.name), where, WORD(is->port.name));
	else if (!is->prog.out && was->prog.out)
		fprintf(out, "tc filter del dev %s %s\n", WORD(was->parent.name), where);
}

static void say_prog(const struct op *op, const struct say *how, FILE *out)
{
	const struct prog *p = &op->to.prog;
	char mac[18];

	(void)how;
	/* Where there is one already, this changes nothing. */
	if (p->theirs && !op->from.prog.present)
		fprintf(out, "tc qdisc replace dev %s clsact\n", WORD(hooked(&op->to)));
	fprintf(out, "# bpf: hooks of %s%s: rx %s", WORD(hooked(&op->to)),
		p->theirs ? ", in its clsact qdisc" : "", mode_words[p->rx]);
	if (p->rx == HOOK_POLICE)
		fprintf(out, " (broadcast and multicast within %" PRIu64 "bit)", p->group_rate);
	fprintf(out, ", tx %s", mode_words[p->tx]);
	if (p->theirs)
		fprintf(out, ", of %s%s", mac_str(p->own, mac),
			p->all ? ", all of it to the filter behind" : "");
	fputc('\n', out);
	say_out(&op->from, &op->to, out);
}

static void say_prog_del(const struct op *op, const struct say *how, FILE *out)
{
	static const struct node none;

	(void)how;
	say_out(&op->from, &none, out);
	fprintf(out, "# bpf: no hooks on %s\n", WORD(hooked(&op->from)));
}

static void say_steer(const struct op *op, const struct say *how, FILE *out)
{
	const struct node *n = op->kind == OP_STEER_ADD ? &op->to : &op->from;
	char mac[18];

	(void)how;
	fprintf(out, "# bpf: frames from %s to %s %s through %s\n", WORD(n->parent.name),
		mac_str(n->mac, mac), op->kind == OP_STEER_ADD ? "go" : "no longer go",
		WORD(n->ifb_port.name));
}

static void say_hook(const struct op *op, const struct say *how, FILE *out)
{
	(void)how;
	fprintf(out, "# bpf: %s the ingress of %s\n",
		op->kind == OP_HOOK_ADD ? "steering program on" : "no steering program on",
		WORD(op->to.parent.name));
}

/* Caps */

static void say_root(const struct op *op, const struct say *how, FILE *out)
{
	(void)how;
	tc(out, op_port(&op->to, op->on), "qdisc replace");
	fprintf(out, "root handle 7fd0: htb default 1 direct_qlen %u\n", TREE_DIRECT_QLEN);
}

static void say_root_del(const struct op *op, const struct say *how, FILE *out)
{
	(void)how;
	tc(out, op_port(&op->from, op->on), "qdisc del");
	fprintf(out, "root\n");
}

static void say_cap(const struct op *op, const struct say *how, FILE *out)
{
	const struct shape *s = &tree_at(&op->to, op->on)->shape;

	static const char *const classes[] = {"parent 7fd0: classid 7fd0:ffff",
					      "parent 7fd0:ffff classid 7fd0:1"};

	(void)how;
	for (size_t i = 0; i < sizeof(classes) / sizeof(*classes); i++) {
		tc(out, op_port(&op->to, op->on), op->kind == OP_CAP_ADD ? "class add" : "class change");
		fprintf(out,
			"%s htb rate %" PRIu64 "bit ceil %" PRIu64
			"bit burst %u cburst %u quantum %u prio %u\n",
			classes[i], s->rate, s->rate, s->burst, s->burst, s->quantum,
			i ? TREE_PRIO(FLOW_MEDIUM) : 0);
	}
}

static void say_cap_del(const struct op *op, const struct say *how, FILE *out)
{
	(void)how;
	tc(out, op_port(&op->from, op->on), "class del");
	fprintf(out, "classid 7fd0:1\n");
	tc(out, op_port(&op->from, op->on), "class del");
	fprintf(out, "classid 7fd0:ffff\n");
}

/* The kinds of leaf cannot share a handle: one could not replace the other. */
static const char *leaf_handle(const struct shape *s, const struct say *how)
{
	if (s->segment)
		return "7fd1";
	return how->means.fq_codel ? "7fd3" : "7fd2";
}

/* fresh: it is made, not changed: only then it takes a number of flows. */
static void say_queue(const struct shape *s, uint32_t mtu, bool fresh, const struct say *how, FILE *out)
{
	struct codel c = codel_for(s, mtu);

	if (!how->means.fq_codel) {
		fprintf(out, "bfifo limit %u\n", s->limit);
		return;
	}
	fprintf(out, "fq_codel memory_limit %u target %uus interval %uus drop_batch 1", s->limit, c.target_us,
		c.interval_us);
	if (fresh)
		fprintf(out, " flows %u", CODEL_FLOWS);
	fputc('\n', out);
}

/* A leaf that segments has a plain queue in it, unless there is a better one to be had. */
static void say_leaf(const struct op *op, const struct say *how, FILE *out)
{
	const struct port *p = op_port(&op->to, op->on);
	const struct tree *was = tree_at(&op->from, op->on), *is = tree_at(&op->to, op->on);
	const struct shape *s = &is->shape;
	bool fresh = op->kind == OP_LEAF_ADD || was->shape.segment != s->segment;

	tc(out, p, "qdisc replace");
	fprintf(out, "parent 7fd0:1 handle %s: ", leaf_handle(s, how));
	if (!s->segment) {
		say_queue(s, op->to.mtu, fresh, how, out);
		return;
	}
	fprintf(out, "tbf rate %" PRIu64 "bit burst %u limit %u\n", RATE_OPEN, s->seg_burst, s->limit);
	if (!how->means.fq_codel)
		return;
	tc(out, p, "qdisc replace");
	fprintf(out, "parent 7fd1:1 handle 7fd4: ");
	say_queue(s, op->to.mtu, fresh, how, out);
}

static void say_leaf_del(const struct op *op, const struct say *how, FILE *out)
{
	tc(out, op_port(&op->from, op->on), "qdisc del");
	fprintf(out, "parent 7fd0:1 handle %s:\n", leaf_handle(&tree_at(&op->from, op->on)->shape, how));
}

static void say_drain(const struct op *op, const struct say *how, FILE *out)
{
	(void)how;
	fprintf(out, "# wait until class 7fd0:1 of %s has no backlog, %s at most\n",
		WORD(op_port(&op->to, op->on)->name), op->yes ? "300 ms" : "2 ms");
}

/* Isolation */

static void say_arp(const struct op *op, const struct say *how, FILE *out)
{
	struct arp arp = op->on == ON_PARENT ? op->to.parent_arp : op->to.arp;
	const char *name = op_port(&op->to, op->on)->name;

	(void)how;
	fprintf(out, "sysctl -qw ");
	sysctl_key(out, 4, name, "arp_ignore");
	fprintf(out, "=%u ", arp.ignore);
	sysctl_key(out, 4, name, "arp_announce");
	fprintf(out, "=%u\n", arp.announce);
}

static const char *addr_str(int family, const uint8_t *addr, char buf[INET6_ADDRSTRLEN])
{
	return inet_ntop(family, addr, buf, INET6_ADDRSTRLEN);
}

static const char *ip_for(int family)
{
	return family == AF_INET ? "ip" : "ip -6";
}

static void say_rule(uint32_t n, const struct iso_addr *a, bool add, FILE *out)
{
	char addr[INET6_ADDRSTRLEN];

	fprintf(out, "%s rule %s from %s lookup %u", ip_for(a->family), add ? "add" : "del",
		addr_str(a->family, a->local, addr), isolate_table(n));
	if (add)
		fprintf(out, " priority %u", isolate_priority(n));
	fprintf(out, " protocol %u\n", ISOLATE_PROTOCOL);
}

static void say_target(const struct iso_route *r, FILE *out)
{
	char addr[INET6_ADDRSTRLEN];

	if (r->kind == ISO_UNREACHABLE)
		fprintf(out, "unreachable ");
	if (r->plen)
		fprintf(out, "%s/%u", addr_str(r->family, r->dst, addr), r->plen);
	else
		fprintf(out, "default");
	if (r->kind == ISO_GATEWAY)
		fprintf(out, " via %s", addr_str(r->family, r->gateway, addr));
}

static void say_route(const struct node *n, const struct iso_route *r, bool add, FILE *out)
{
	fprintf(out, "%s route %s ", ip_for(r->family), add ? "replace" : "del");
	say_target(r, out);
	if (add && r->kind != ISO_UNREACHABLE)
		fprintf(out, " dev %s", WORD(n->port.name));
	if (add && r->kind == ISO_GATEWAY)
		fprintf(out, " onlink");
	fprintf(out, " table %u protocol %u", isolate_table(n->n), ISOLATE_PROTOCOL);
	if (r->metric)
		fprintf(out, " metric %u", r->metric);
	fputc('\n', out);
}

static void say_missing(const struct node *n, const struct iso_set *want, const struct iso_set *have,
			FILE *out)
{
	for (size_t i = 0; i < want->route_count; i++)
		if (!iso_has_route(have, &want->routes[i]))
			say_route(n, &want->routes[i], true, out);
	for (size_t i = 0; i < want->from_count; i++)
		if (!iso_has_from(have, &want->from[i]))
			say_rule(n->n, &want->from[i], true, out);
}

static void say_others(const struct node *n, const struct iso_set *want, const struct iso_set *have,
		       FILE *out)
{
	for (size_t i = 0; i < have->from_count; i++)
		if (!iso_has_from(want, &have->from[i]))
			say_rule(n->n, &have->from[i], false, out);
	for (size_t i = 0; i < have->route_count; i++)
		if (!iso_has_route(want, &have->routes[i]))
			say_route(n, &have->routes[i], false, out);
}

static void say_iso(const struct op *op, const struct say *how, FILE *out)
{
	say_missing(&op->to, how->want, how->have, out);
	say_others(&op->to, how->want, how->have, out);
}

static void say_iso_del(const struct op *op, const struct say *how, FILE *out)
{
	static const struct iso_set none;

	say_others(&op->from, &none, how->have, out);
}

/* Flows */

/* prio: TREE_BAND's classes and the rest borrow in this order. */
static void say_class(const struct port *p, const char *verb, uint32_t parent, uint32_t minor, uint64_t rate,
		      const struct shape *s, unsigned prio, FILE *out)
{
	tc(out, p, verb);
	fprintf(out,
		"parent 7fd0:%x classid 7fd0:%x htb rate %" PRIu64 "bit ceil %" PRIu64
		"bit burst %u cburst %u quantum %u prio %u\n",
		parent, minor, rate, s->rate, s->burst, s->burst, s->quantum, prio);
}

static void say_bands(const struct op *op, const struct say *how, FILE *out)
{
	bool add = op->kind == OP_BANDS_ADD;
	const struct node *n = add ? &op->to : &op->from;
	const struct port *p = op_port(n, op->on);
	const struct shape *s = &tree_at(n, op->on)->shape;
	uint64_t share = s->rate / TREE_SHARES;

	(void)how;
	if (add)
		say_class(p, "class change", TREE_CAP, TREE_REST, share, s, TREE_PRIO(FLOW_MEDIUM), out);
	for (enum flow_priority i = FLOW_LOW; i <= FLOW_HIGH; i++) {
		if (add) {
			say_class(p, "class add", TREE_CAP, TREE_BAND(i), share, s, TREE_PRIO(i), out);
			continue;
		}
		tc(out, p, "class del");
		fprintf(out, "classid 7fd0:%x\n", TREE_BAND(i));
	}
	if (!add)
		say_class(p, "class change", TREE_CAP, TREE_REST, s->rate, s, TREE_PRIO(FLOW_MEDIUM), out);
	fprintf(out, "# bpf: %s the root of %s leads a flow's frames to its class\n",
		add ? "a filter on" : "no filter on", WORD(p->name));
}

static void say_flows_add(const struct op *op, const struct say *how, FILE *out)
{
	(void)how;
	fprintf(out, "# bpf: hooks of %s%s%s tell its flows apart\n", WORD(hooked(&op->to)),
		op->to.ifb ? " and " : "", op->to.ifb ? WORD(op->to.ifb_port.name) : "");
}

static void say_flow_class(const struct node *n, const struct flow_class *c, const struct say *how, FILE *out)
{
	const struct port *p = op_port(n, c->dir == FLOW_IN ? ON_IFB : ON_LINK);

	tc(out, p, "class replace");
	fprintf(out,
		"parent 7fd0:%x classid 7fd0:%x htb rate 8bit ceil %" PRIu64
		"bit burst 1 cburst %u quantum %u prio %u\n",
		TREE_BAND(c->priority), TREE_FLOW(c->slot, c->priority), c->shape.rate, c->shape.burst,
		c->shape.quantum, TREE_PRIO(c->priority));
	tc(out, p, "qdisc replace");
	fprintf(out, "parent 7fd0:%x ", TREE_FLOW(c->slot, c->priority));
	if (c->shape.segment)
		fprintf(out, "tbf rate %" PRIu64 "bit burst %u limit %u\n", RATE_OPEN, c->shape.seg_burst,
			c->shape.limit);
	else
		say_queue(&c->shape, n->mtu, true, how, out);
}

static void say_flows(const struct op *op, const struct say *how, FILE *out)
{
	const struct flow_set *set = op->to.flow_set;

	for (size_t i = 0; set && i < set->classes_count; i++)
		say_flow_class(&op->to, &set->classes[i], how, out);
	fprintf(out, "# bpf: flows of %s: %zu, by %zu rules\n", WORD(hooked(&op->to)),
		set ? set->acts_count : 0, set ? set->entries_count : 0);
}

static void say_flows_del(const struct op *op, const struct say *how, FILE *out)
{
	(void)how;
	fprintf(out, "# bpf: hooks of %s do not tell flows apart, and the flows' classes go\n",
		WORD(hooked(&op->from)));
}

static void (*const texts[])(const struct op *op, const struct say *how, FILE *out) = {
	[OP_LINK_ADD] = say_add,       [OP_LINK_DEL] = say_del,        [OP_LINK_DOOM] = say_doom,
	[OP_LINK_SWEEP] = say_sweep,   [OP_LINK_MARK] = say_mark,      [OP_LINK_QUIET] = say_quiet,
	[OP_LINK_UP] = say_up,         [OP_LINK_MTU] = say_mtu,        [OP_LINK_MAC] = say_mac,
	[OP_LINK_RENAME] = say_rename, [OP_LINK_MOVE] = say_move,      [OP_PROG_ADD] = say_prog,
	[OP_PROG_SET] = say_prog,      [OP_PROG_DEL] = say_prog_del,   [OP_ROOT_ADD] = say_root,
	[OP_ROOT_DEL] = say_root_del,  [OP_CAP_ADD] = say_cap,         [OP_CAP_SET] = say_cap,
	[OP_CAP_DEL] = say_cap_del,    [OP_LEAF_ADD] = say_leaf,       [OP_LEAF_SET] = say_leaf,
	[OP_LEAF_DEL] = say_leaf_del,  [OP_DRAIN] = say_drain,         [OP_STEER_ADD] = say_steer,
	[OP_STEER_DEL] = say_steer,    [OP_HOOK_ADD] = say_hook,       [OP_HOOK_DEL] = say_hook,
	[OP_ARP_SET] = say_arp,        [OP_ISO_SET] = say_iso,         [OP_ISO_DEL] = say_iso_del,
	[OP_BANDS_ADD] = say_bands,    [OP_BANDS_DEL] = say_bands,     [OP_FLOWS_ADD] = say_flows_add,
	[OP_FLOWS_SET] = say_flows,    [OP_FLOWS_DEL] = say_flows_del,
};
static_assert(sizeof(texts) / sizeof(*texts) == OP_COUNT, "each operation has its text");

void say_op(const struct op *op, const struct say *how, FILE *out)
{
	texts[op->kind](op, how, out);
}
