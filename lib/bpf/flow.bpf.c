// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The hooks of a VNIC with flows: finds the flow that a frame belongs to, counts it, drops or marks it, and
 * says which class it is for. Loaded once per VNIC; does all that vnic.bpf.c does for a VNIC without flows.
 * Never shapes: the classes do.
 */
#define OWN_STATE
#include "lib/bpf/vnic.bpf.c"

#include "lib/bpf/parse.bpf.h"

#define TRIES  4
#define IN     0 /* the numbers of enum flow_dir */
#define OUT    1
#define ECN    3 /* of the DS octet */
#define NOBODY (~0ULL)

/* What classify() is told of a frame's way on: not through a tree of ours; through one whose filter reads the
 * class in skb->priority; perhaps through one that a redirect behind this program leads to. */
#define PLAIN 0
#define CARRY 1
#define LEAVE 2

struct flow_table table;

/* The map of the VNIC's own state, or that which many share: the loader puts the right one here. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct vnic_state);
} states SEC(".maps");

/*
 * Each of the maps that may have to grow is there twice: as it was made, and as the largest that took its
 * place, if one had to. A map in a map is put there without the programs being loaded again.
 */
#define GROWN(kind)                                       \
	struct {                                          \
		__uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS); \
		__uint(max_entries, 1);                   \
		__type(key, __u32);                       \
		__array(values, struct kind);             \
	} kind##_grown SEC(".maps")

/* The rules' keys, and where the rule is. */
struct rules {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, FLOW_RULES_MIN);
	__type(key, union flow_block);
	__type(value, __u32);
} rules SEC(".maps");
GROWN(rules);

struct entries {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE | BPF_F_INNER_MAP);
	__uint(max_entries, FLOW_RULES_MIN);
	__type(key, __u32);
	__type(value, struct flow_value);
} entries SEC(".maps");
GROWN(entries);

/* As many as there are cells: rows times columns. */
struct slots {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE | BPF_F_INNER_MAP);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, union flow_cell);
} slots SEC(".maps");
GROWN(slots);

static __always_inline void *grown(void *outer)
{
	__u32 zero = 0;

	return bpf_map_lookup_elem(outer, &zero);
}

#define FIND(kind, key)                                                                                \
	({                                                                                             \
		void *kind##_now = grown(&kind##_grown);                                               \
		kind##_now ? bpf_map_lookup_elem(kind##_now, key) : bpf_map_lookup_elem(&(kind), key); \
	})

static __always_inline struct vnic_state *own_state(const struct __sk_buff *skb)
{
	__u32 n = table.number;

	(void)skb;
	return bpf_map_lookup_elem(&states, &n);
}

static __always_inline union flow_cell *cell(__u32 row, __u32 column)
{
	__u32 at = row * (table.cpus + FLOW_COLUMN_CPU) + column;

	return FIND(slots, &at);
}

static __always_inline union flow_cell *own_cell(__u32 row)
{
	return cell(row, FLOW_COLUMN_CPU + bpf_get_smp_processor_id());
}

/* One look for a packet's flow, in one half; hi, lo and slot1 are of the best rule so far. */
struct search {
	union flow_block packet;
	union flow_block look;
	__u64 hi;
	__u32 lo;
	__u32 slot1;
	__u32 half;
	__u32 dir;
};

static __always_inline int wins(__u64 hi, __u32 lo, const struct search *s)
{
	return hi < s->hi || (hi == s->hi && lo < s->lo);
}

static __always_inline struct flow_side *side_of(const struct search *s)
{
	return &table.half[s->half & 1][s->dir & 1];
}

/* Returns 1 when no later mask can have a better rule. */
static long try_shape(__u32 i, struct search *s)
{
	const struct flow_shape *shape;
	const struct flow_value *entry;
	const struct flow_hit *hit;
	const __u32 *at;

	if (i >= FLOW_SHAPES)
		return 1;
	shape = &side_of(s)->shape[i];
	if (!wins(shape->best_hi, shape->best_lo, s))
		return 1;
#pragma unroll
	for (int w = 0; w < FLOW_WORDS; w++)
		s->look.word[w] = s->packet.word[w] & shape->mask.word[w];
	if (!(shape->sieve & FLOW_SIEVE(&s->look)))
		return 0;
	at = FIND(rules, &s->look);
	entry = at ? FIND(entries, at) : NULL;
	if (!entry)
		return 0;
	hit = &entry->hit[s->half & 1];
	if (!hit->slot1 || !wins(hit->hi, hit->lo, s))
		return 0;
	s->hi = hit->hi;
	s->lo = hit->lo;
	s->slot1 = hit->slot1;
	return 0;
}

static __always_inline __u64 action_of(__u32 row)
{
	const union flow_cell *c = cell(row, 0);

	return c ? *(volatile __u64 *)&c->action : 0;
}

/* Is the generation still the one? What was read before is read before where that has to be asked for. */
static __always_inline int holds(__u32 gen)
{
	__u32 fence = 0;

	if (table.weak)
		gen += __sync_fetch_and_add(&fence, 1);
	return *(volatile __u32 *)&table.gen == gen;
}

/* What becomes of a packet. row: of its flow's slot. */
struct verdict {
	__u64 action;
	__u32 row;
	__u32 strict;
	__u32 lone; /* it is of no flow, whatever the rules say */
};

_Static_assert(FLOW_ROW(0) == 1, "a hit's slot1 is the slot's row");

/* Returns 1 when it saw one set of rules. Not static for the reason that parse() has. */
__noinline int look_once(const union flow_block *packet, struct verdict *v, __u32 dir)
{
	__u32 gen = *(volatile __u32 *)&table.gen;
	struct search s = {.hi = NOBODY, .lo = ~0U, .half = gen & 1, .dir = dir};
	const struct flow_side *side = side_of(&s);

	if (!packet || !v)
		return 0;
	s.packet = *packet;
	if (!v->lone)
		bpf_loop(side->count, try_shape, &s, 0);
	v->row = s.slot1 ? s.slot1 : FLOW_ROW(0);
	v->action = action_of(v->row);
	v->strict = side->strict;
	return holds(gen);
}

/* A change in the middle of every one of the tries cannot be: each takes the loader longer. */
static __always_inline int look(const union flow_block *packet, struct verdict *v, __u32 dir)
{
	for (int i = 0; i < TRIES; i++)
		if (look_once(packet, v, dir))
			return 1;
	return 0;
}

/* IPv4: the old and the new first half word are what the checksum sees. */
static __always_inline void mark_ipv4(struct __sk_buff *skb, __u32 l3, __u8 ds)
{
	__be16 old;
	__u8 first;

	if (bpf_skb_load_bytes(skb, l3, &old, sizeof(old)))
		return;
	first = *(__u8 *)&old;
	if (bpf_l3_csum_replace(skb, l3 + offsetof(struct iphdr, check), old, bpf_htons(first << 8 | ds), 2))
		return;
	bpf_skb_store_bytes(skb, l3 + offsetof(struct iphdr, tos), &ds, sizeof(ds), 0);
}

static __always_inline void mark_ipv6(struct __sk_buff *skb, __u32 l3, __u8 ds)
{
	__u8 first[2];

	if (bpf_skb_load_bytes(skb, l3, first, sizeof(first)))
		return;
	first[0] = (first[0] & 0xf0) | ds >> 4;
	first[1] = (first[1] & 0x0f) | ds << 4;
	bpf_skb_store_bytes(skb, l3, first, sizeof(first), BPF_F_RECOMPUTE_CSUM);
}

static __always_inline void mark(struct __sk_buff *skb, const struct packet *p, __u8 dscp)
{
	__u8 old = p->block.key.dsfield, ds = dscp << 2 | (old & ECN);

	if (ds == old)
		return;
	if (p->block.key.family == 4)
		mark_ipv4(skb, p->l3, ds);
	else if (p->block.key.family == 6)
		mark_ipv6(skb, p->l3, ds);
}

static __always_inline void count(struct __sk_buff *skb, const struct packet *p, __u32 row, __u32 dir)
{
	__u32 hdr = skb->gso_size ? header_bytes(skb, p) : 0, segs = segments(skb, hdr);
	union flow_cell *c = own_cell(row);

	if (!c)
		return;
	c->packets[dir] += segs;
	c->bytes[dir] += skb->len + (segs - 1) * hdr;
}

static __always_inline int drop(__u32 row, __u32 dir)
{
	union flow_cell *c = own_cell(row);

	if (c)
		c->drops[dir]++;
	return TC_ACT_SHOT;
}

static __always_inline void note_orphan(__u32 dir)
{
	union flow_cell *c = own_cell(FLOW_ROW_ODD);

	if (c)
		c->packets[dir]++;
}

/*
 * On a link that is not ours: what has no class goes its way past the filter behind, which redirects the
 * rest. The link's own queues see skb->priority as it was set, but no class of the tree before them can be
 * chosen by it.
 */
static __always_inline int lead(struct __sk_buff *skb, __u32 class)
{
	if (!class)
		return TC_ACT_OK;
	skb->tc_index = class;
	if ((skb->priority & 0xffff0000U) == FLOW_TREE)
		skb->priority = 0;
	return TC_ACT_UNSPEC;
}

/* usual: the class of what has none. */
static __always_inline int classify(struct __sk_buff *skb, __u32 dir, int way, __u32 usual)
{
	struct packet p = {.l3 = 0};
	struct verdict v = {.row = 0};
	__u32 class = 0;

	parse(skb, &p, dir);
	v.lone = p.piece == PIECE_LATER && p.lost;
	if (v.lone)
		note_orphan(dir);
	if (!look(&p.block, &v, dir) || (p.lost && v.strict))
		return drop(FLOW_ROW_ODD, dir);
	if (v.action & FLOW_ACT_BLOCKED)
		return drop(v.row, dir);
	if (way != PLAIN)
		class = FLOW_ACT_CLASS(v.action, dir);
	if (!class)
		count(skb, &p, v.row, dir);
	if (way == CARRY)
		skb->priority = class ? FLOW_CARRIER | class : 0;
	if (v.action & FLOW_ACT_MARK)
		mark(skb, &p, v.action >> FLOW_ACT_DSCP_SHIFT);
	return way == LEAVE ? lead(skb, class ? class : usual) : TC_ACT_UNSPEC;
}

/*
 * Did the frame come through the ifb, where it was classified? Where there is one every unicast frame does;
 * elsewhere the mark is a sender's forgery. It must not stay, and no class either.
 */
static __always_inline int seen(struct __sk_buff *skb)
{
	const struct ethhdr *eth = (void *)(long)skb->data;

	if (skb->tc_index != FLOW_SEEN)
		return 0;
	skb->tc_index = 0;
	skb->priority = 0;
	return table.ifb && (void *)(eth + 1) <= (void *)(long)skb->data_end && !(eth->h_dest[0] & 1);
}

/* On a link that is not ours: is it from or to the link itself, or to everybody? */
static __always_inline int is_own(struct __sk_buff *skb, const struct vnic_state *st, int out)
{
	const struct ethhdr *eth = (void *)(long)skb->data;
	const __u8 *mac;

	if ((void *)(eth + 1) > (void *)(long)skb->data_end)
		return 0;
	mac = out ? eth->h_source : eth->h_dest;
	if (!out && mac[0] & 1)
		return 1;
	for (int i = 0; i < 6; i++)
		if (mac[i] != st->mac[i])
			return 0;
	return 1;
}

/* What is steered never comes here: it is classified on the ifb. */
static __always_inline int rx_theirs(struct __sk_buff *skb, const struct vnic_state *st)
{
	if (!is_own(skb, st, 0))
		return TC_ACT_UNSPEC;
	return let_in(skb) ? classify(skb, IN, PLAIN, 0) : TC_ACT_SHOT;
}

/* What the ifb sends comes by a second time. */
static __always_inline int tx_theirs(struct __sk_buff *skb, const struct vnic_state *st)
{
	__u32 out = *(volatile __u32 *)&st->out;

	if (!is_own(skb, st, 1) || (out && skb->ingress_ifindex == out))
		return TC_ACT_OK;
	return let_out(skb) ? classify(skb, OUT, LEAVE, st->all ? FLOW_REST : 0) : TC_ACT_SHOT;
}

SEC("tc")
int rx(struct __sk_buff *skb)
{
	const struct vnic_state *st = own_state(skb);

	if (st && st->theirs)
		return rx_theirs(skb, st);
	if (!let_in(skb))
		return TC_ACT_SHOT;
	return seen(skb) ? TC_ACT_UNSPEC : classify(skb, IN, PLAIN, 0);
}

SEC("tc")
int tx(struct __sk_buff *skb)
{
	const struct vnic_state *st = own_state(skb);

	if (st && st->theirs)
		return tx_theirs(skb, st);
	return let_out(skb) ? classify(skb, OUT, CARRY, 0) : TC_ACT_SHOT;
}

/* Nobody behind the ifb of a link that is not ours looks at its frames again: they pay for group frames here.
 */
SEC("tc")
int ifb(struct __sk_buff *skb)
{
	struct vnic_state *st = own_state(skb);

	if (st && st->theirs) {
		if (*(volatile __u32 *)&st->rx == VNIC_POLICE)
			__sync_fetch_and_add(&st->drained, wire_bytes(skb));
	} else {
		skb->tc_index = FLOW_SEEN;
	}
	return classify(skb, IN, CARRY, 0);
}
