// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * One capped VNIC's own two hooks: polices its group frames, blocks it, keeps senders from choosing a class.
 * Loaded once per VNIC, so that its state needs no look-up; never shapes unicast frames, which the trees do.
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

struct vnic_state state;

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

/* What qdisc_pkt_len is on the way out, every segment with its headers; nobody computes it on the way in. */
static __always_inline __u32 wire_bytes(struct __sk_buff *skb)
{
	__u32 len = skb->len, size = skb->gso_size, segs = skb->gso_segs, hdr;

	if (!size)
		return len;
	hdr = headers(skb);
	if (!segs && len > hdr)
		segs = (len - hdr + size - 1) / size;
	return segs > 1 ? len + (segs - 1) * hdr : len;
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
static __always_inline int main_bucket(__u64 now, __u32 len)
{
	__u64 bytes = __sync_lock_test_and_set(&state.drained, 0), taken = cost(&state.main, bytes);
	__u64 low = full(&state.main, now), debt = now + 2 * state.main.depth + cost(&state.main, GSO_MAX);

	for (int i = 0; i < CAS_TRIES; i++) {
		__u64 old = *(volatile __u64 *)&state.main_spent;
		__u64 t = old + taken, top = old > debt ? old : debt;
		int pass;

		t = t < low ? low : t > top ? top : t;
		pass = t <= now;
		t += pass ? cost(&state.main, len) : 0;
		if (__sync_val_compare_and_swap(&state.main_spent, old, t) == old)
			return pass;
	}
	__sync_fetch_and_add(&state.drained, bytes);
	return 0;
}

/*
 * The slow bucket is the group frames' own, so that ARP and neighbour discovery live beside any unicast load.
 * Its last half is for small frames, which these are, so that no flood of large ones starves them.
 */
static __always_inline int slow_bucket(__u64 now, __u32 len)
{
	__u64 low = full(&state.slow, now), spare = len > SMALL ? state.slow.depth / 2 : 0;

	for (int i = 0; i < CAS_TRIES; i++) {
		__u64 old = *(volatile __u64 *)&state.slow_spent;
		__u64 t = old < low ? low : old;

		if (t + spare > now)
			return 0;
		if (__sync_val_compare_and_swap(&state.slow_spent, old, t + cost(&state.slow, len)) == old) {
			__sync_fetch_and_add(&state.drained, len);
			return 1;
		}
	}
	return 0;
}

static __always_inline int police(struct __sk_buff *skb)
{
	const struct ethhdr *eth = (void *)(long)skb->data;
	int group = (void *)(eth + 1) <= (void *)(long)skb->data_end && eth->h_dest[0] & 1;
	__u32 len = wire_bytes(skb);
	__u64 now;

	if (!group) {
		__sync_fetch_and_add(&state.drained, len);
		return 1;
	}
	now = bpf_ktime_get_ns();
	return main_bucket(now, len) || slow_bucket(now, len);
}

SEC("tc")
int rx(struct __sk_buff *skb)
{
	__u32 mode = *(volatile __u32 *)&state.rx;

	if (mode == VNIC_PASS || (mode == VNIC_POLICE && police(skb)))
		return TC_ACT_UNSPEC;
	__sync_fetch_and_add(&state.rx_drops, 1);
	return TC_ACT_SHOT;
}

SEC("tc")
int tx(struct __sk_buff *skb)
{
	if (*(volatile __u32 *)&state.tx == VNIC_DROP) {
		__sync_fetch_and_add(&state.tx_drops, 1);
		return TC_ACT_SHOT;
	}
	skb->priority = 0; /* or SO_PRIORITY picks a class of the HTB below */
	return TC_ACT_UNSPEC;
}

char _license[] SEC("license") = "GPL";
