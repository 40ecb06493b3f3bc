// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A parent's ingress: sends capped VNICs' unicast frames to their ifb, or lets them go on to the filters that
 * do; never drops, never touches others.
 */
#include "lib/bpf/maps.h"

#include <linux/bpf.h>
#include <linux/if_ether.h>
#include <linux/pkt_cls.h>

#include <bpf/bpf_helpers.h>

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, STEER_MAX);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, struct steer_key);
	__type(value, struct steer_value);
} steer SEC(".maps");

/*
 * May this frame of an entry that is being closed pass by the ifb? Only after a gap in which the ifb has
 * surely sent what it had. When another CPU moved the time under us, a frame has just gone to the ifb and
 * ours follows it.
 */
static __always_inline int shut(struct steer_value *v, __u64 last)
{
	__u64 now = bpf_ktime_get_ns();
	int gap = now > last && now - last > STEER_GAP_NS;
	__u64 seen;

	if (last == STEER_SHUT)
		return 1;
	seen = __sync_val_compare_and_swap(&v->last, last, gap ? STEER_SHUT : now);
	return seen == last ? gap : seen == STEER_SHUT;
}

static __always_inline struct steer_value *find(struct __sk_buff *skb)
{
	const struct ethhdr *eth = (void *)(long)skb->data;
	struct steer_key key = {.ifindex = skb->ifindex};

	if ((void *)(eth + 1) > (void *)(long)skb->data_end || eth->h_dest[0] & 1)
		return NULL;
	__builtin_memcpy(key.mac, eth->h_dest, sizeof(key.mac));
	return bpf_map_lookup_elem(&steer, &key);
}

static __always_inline int passes_by(struct steer_value *v)
{
	__u64 last = *(volatile __u64 *)&v->last;

	return last != STEER_OPEN && shut(v, last);
}

SEC("tc")
int hook(struct __sk_buff *skb)
{
	struct steer_value *v = find(skb);

	return v && !passes_by(v) ? bpf_redirect(v->ifb, 0) : TC_ACT_UNSPEC;
}

/* For kernels whose bpf_redirect does not reach an ifb: the filters behind this one redirect what is left to
 * them. */
SEC("tc")
int gate(struct __sk_buff *skb)
{
	struct steer_value *v = find(skb);

	return v && passes_by(v) ? TC_ACT_OK : TC_ACT_UNSPEC;
}

char _license[] SEC("license") = "GPL";
