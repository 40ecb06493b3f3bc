// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * One capped VNIC's own two hooks: polices its group frames, blocks it, keeps senders from choosing a class.
 * Loaded once per VNIC, so that its state needs no look-up, or (many.bpf.c) once for all that are made
 * together; flow.bpf.c has its own programs on top (OWN_STATE). Never shapes unicast frames, which the trees
 * do.
 */
#include "lib/bpf/maps.h"

#include <linux/bpf.h>
#include <linux/if_ether.h>
#include <linux/in.h>
#include <linux/pkt_cls.h>

#include <bpf/bpf_helpers.h>

#define CAS_TRIES 4
#define GSO_MAX   65536 /* bytes */
#define SMALL     128   /* bytes */

#ifdef MANY
/* The filter that runs the program tells its VNIC's number. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, VNICS_MAX);
	__type(key, __u32);
	__type(value, struct vnic_state);
} states SEC(".maps");

static __always_inline struct vnic_state *own_state(const struct __sk_buff *skb)
{
	__u32 n = skb->tc_classid;

	return bpf_map_lookup_elem(&states, &n);
}
#elif defined(OWN_STATE)
static __always_inline struct vnic_state *own_state(const struct __sk_buff *skb);
#else
struct vnic_state state;

static __always_inline struct vnic_state *own_state(const struct __sk_buff *skb)
{
	(void)skb;
	return &state;
}
#endif

/* Length of a GSO frame's headers, layer 2 to 4; 0 when they are none we know. */
static __always_inline __u32 headers(struct __sk_buff *skb)
{
	__u32 at = ETH_HLEN;
	__u8 ip[10], doff;

	if (bpf_skb_load_bytes(skb, at, ip, sizeof(ip)))
		return 0;
	at += ip[0] >> 4 == 4 ? (ip[0] & 15) * 4 : 40;
	if ((ip[0] >> 4 == 4 ? ip[9] : ip[6]) != IPPROTO_TCP)
		return at + 8;
	return bpf_skb_load_bytes(skb, at + 12, &doff, 1) ? 0 : at + (doff >> 4) * 4;
}

/* How many frames a GSO frame with these headers becomes. */
static __always_inline __u32 segments(const struct __sk_buff *skb, __u32 hdr)
{
	__u32 len = skb->len, size = skb->gso_size, segs = skb->gso_segs;

	if (size && !segs && len > hdr)
		segs = (len - hdr + size - 1) / size;
	return size && segs ? segs : 1;
}

/* What qdisc_pkt_len is on the way out, every segment with its headers; nobody computes it on the way in. */
static __always_inline __u32 wire_bytes(struct __sk_buff *skb)
{
	__u32 hdr = skb->gso_size ? headers(skb) : 0;

	return skb->len + (segments(skb, hdr) - 1) * hdr;
}

static __always_inline __u64 cost(const struct bucket *b, __u64 bytes)
{
	return bytes * b->cost >> 16;
}

/* The time from which a bucket that saved up all it may would count as spent. */
static __always_inline __u64 full(const struct bucket *b, __u64 now)
{
	return now > b->depth ? now - b->depth : 0;
}

/*
 * The main bucket refills at the cap and pays for every frame, with what the others took since the last time.
 * They may drive it into debt by as much as an HTB can be ahead, its burst and one GSO frame, with some room;
 * its own debt is kept whole. A frame passes when anything is left, so that one of any size can.
 */
static __always_inline int main_bucket(struct vnic_state *st, __u64 now, __u32 len)
{
	__u64 bytes = __sync_lock_test_and_set(&st->drained, 0), taken = cost(&st->main, bytes);
	__u64 low = full(&st->main, now), debt = now + 2 * st->main.depth + cost(&st->main, GSO_MAX);

	for (int i = 0; i < CAS_TRIES; i++) {
		__u64 old = *(volatile __u64 *)&st->main_spent;
		__u64 t = old + taken, top = old > debt ? old : debt;
		int pass;

		t = t < low ? low : t > top ? top : t;
		pass = t <= now;
		t += pass ? cost(&st->main, len) : 0;
		if (__sync_val_compare_and_swap(&st->main_spent, old, t) == old)
			return pass;
	}
	__sync_fetch_and_add(&st->drained, bytes);
	return 0;
}

/*
 * The slow bucket is the group frames' own, so that ARP and neighbour discovery live beside any unicast load.
 * Its last half is for small frames, which these are, so that no flood of large ones starves them.
 */
static __always_inline int slow_bucket(struct vnic_state *st, __u64 now, __u32 len)
{
	__u64 low = full(&st->slow, now), spare = len > SMALL ? st->slow.depth / 2 : 0;

	for (int i = 0; i < CAS_TRIES; i++) {
		__u64 old = *(volatile __u64 *)&st->slow_spent;
		__u64 t = old < low ? low : old;

		if (t + spare > now)
			return 0;
		if (__sync_val_compare_and_swap(&st->slow_spent, old, t + cost(&st->slow, len)) == old) {
			__sync_fetch_and_add(&st->drained, len);
			return 1;
		}
	}
	return 0;
}

static __always_inline int police(struct vnic_state *st, struct __sk_buff *skb)
{
	const struct ethhdr *eth = (void *)(long)skb->data;
	int group = (void *)(eth + 1) <= (void *)(long)skb->data_end && eth->h_dest[0] & 1;
	__u32 len = wire_bytes(skb);
	__u64 now;

	if (!group) {
		__sync_fetch_and_add(&st->drained, len);
		return 1;
	}
	now = bpf_ktime_get_ns();
	return main_bucket(st, now, len) || slow_bucket(st, now, len);
}

/* What comes in: may it pass? */
static __always_inline int let_in(struct __sk_buff *skb)
{
	struct vnic_state *st = own_state(skb);
	__u32 mode = st ? *(volatile __u32 *)&st->rx : VNIC_PASS;

	if (!st || mode == VNIC_PASS || (mode == VNIC_POLICE && police(st, skb)))
		return 1;
	__sync_fetch_and_add(&st->rx_drops, 1);
	return 0;
}

static __always_inline int let_out(struct __sk_buff *skb)
{
	struct vnic_state *st = own_state(skb);

	if (!st || *(volatile __u32 *)&st->tx != VNIC_DROP)
		return 1;
	__sync_fetch_and_add(&st->tx_drops, 1);
	return 0;
}

#ifndef OWN_STATE
SEC("tc")
int rx(struct __sk_buff *skb)
{
	return let_in(skb) ? TC_ACT_UNSPEC : TC_ACT_SHOT;
}

SEC("tc")
int tx(struct __sk_buff *skb)
{
	if (!let_out(skb))
		return TC_ACT_SHOT;
	skb->priority = 0; /* or SO_PRIORITY picks a class of the HTB below */
	return TC_ACT_UNSPEC;
}
#endif

char _license[] SEC("license") = "GPL";
