/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * For eBPF programs: what of a frame decides its flow, read into a key. Reads the frame and remembers the
 * first fragments of datagrams; never changes a frame and knows no rule.
 */
#pragma once

#include "lib/bpf/flowmaps.h"

#include <linux/bpf.h>
#include <linux/if_ether.h>
#include <linux/in.h>
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/udp.h>

#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>

#define TAGS    2 /* VLAN tags in the frame, beside one in metadata */
#define EXT_MAX 8

/* Not everywhere in the headers of user space. */
#define IPV4_OFFSET  0x1fff
#define IPV4_MORE    0x2000
#define IPV6_OFFSET  0xfff8
#define IPV6_MORE    0x0001
#define VLAN_VID     0x0fff
#define PROTO_DCCP   33
#define PROTO_ROUTE  43
#define PROTO_FRAG   44
#define PROTO_AH     51
#define PROTO_DST    60
#define PROTO_LITE   136
#define OFFSET_DOFF  12 /* of a TCP header */
#define OFFSET_PROTO 12 /* of an Ethernet frame: where its first tag or its protocol begins */

enum piece { PIECE_WHOLE, PIECE_FIRST, PIECE_LATER };

struct packet {
	union flow_block block;
	struct flow_frag_key frag; /* of a piece */
	__u32 l3;
	__u32 l4; /* 0: the transport header was not reached */
	__u32 piece;
	__u32 lost; /* it has one, or may have one, that was not reached and is not known otherwise */
};

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, FLOW_FRAGS);
	__type(key, struct flow_frag_key);
	__type(value, struct flow_frag);
} frags SEC(".maps");

struct tag {
	__be16 tci;
	__be16 proto;
};

static __always_inline int is_tag(__be16 proto)
{
	return proto == bpf_htons(ETH_P_8021Q) || proto == bpf_htons(ETH_P_8021AD);
}

static __always_inline void put_vid(struct flow_key *k, __u32 tci)
{
	if (!(k->has & FLOW_HAS_TAG))
		k->vid = tci & VLAN_VID;
	k->has |= FLOW_HAS_TAG;
}

/* Up to what is behind the tags. Returns 0, or negative when the frame ends before. */
static __always_inline int parse_link(struct __sk_buff *skb, struct packet *p)
{
	struct flow_key *k = &p->block.key;
	__u32 at = OFFSET_PROTO;
	struct tag tag;

	if (skb->vlan_present)
		put_vid(k, skb->vlan_tci);
	if (bpf_skb_load_bytes(skb, at, &k->ethertype, 2))
		return -1;
#pragma unroll
	for (int i = 0; i < TAGS && is_tag(k->ethertype); i++) {
		at += sizeof(k->ethertype);
		if (bpf_skb_load_bytes(skb, at, &tag, sizeof(tag)))
			return -1;
		put_vid(k, bpf_ntohs(tag.tci));
		k->ethertype = tag.proto;
		at += sizeof(tag.tci);
	}
	p->l3 = at + sizeof(k->ethertype);
	return is_tag(k->ethertype) ? -1 : 0;
}

/* bytes: of an address; the words behind it stay zero. */
static __always_inline void put_addresses(struct packet *p, const void *src, const void *dst, int bytes,
					  __u32 dir)
{
	struct flow_key *k = &p->block.key;

	__builtin_memcpy(k->local, dir ? src : dst, bytes);
	__builtin_memcpy(k->remote, dir ? dst : src, bytes);
}

static __always_inline void put_piece(struct packet *p, __u32 piece, __u32 id, __u8 proto, __u32 dir)
{
	struct flow_key *k = &p->block.key;

	p->piece = piece;
	__builtin_memcpy(p->frag.local, k->local, sizeof(k->local));
	__builtin_memcpy(p->frag.remote, k->remote, sizeof(k->remote));
	p->frag.id = id;
	p->frag.family = k->family;
	p->frag.proto = proto;
	p->frag.dir = dir;
}

static __always_inline int parse_ipv4(struct __sk_buff *skb, struct packet *p, __u32 dir)
{
	struct flow_key *k = &p->block.key;
	struct iphdr ip;
	__u32 frag;

	if (bpf_skb_load_bytes(skb, p->l3, &ip, sizeof(ip)) || ip.version != 4 || ip.ihl < 5)
		return -1;
	put_addresses(p, &ip.saddr, &ip.daddr, sizeof(ip.saddr), dir);
	k->family = 4;
	k->proto = ip.protocol;
	k->dsfield = ip.tos;
	p->l4 = p->l3 + ip.ihl * 4;
	frag = bpf_ntohs(ip.frag_off);
	if (frag & IPV4_OFFSET)
		put_piece(p, PIECE_LATER, ip.id, ip.protocol, dir);
	else if (frag & IPV4_MORE)
		put_piece(p, PIECE_FIRST, ip.id, ip.protocol, dir);
	return 0;
}

static __always_inline int is_extension(__u8 proto)
{
	const __u64 kinds = 1ULL << IPPROTO_HOPOPTS | 1ULL << PROTO_ROUTE | 1ULL << PROTO_FRAG |
			    1ULL << PROTO_AH | 1ULL << PROTO_DST;

	return proto < 64 && kinds >> proto & 1;
}

struct extension {
	__u8 next;
	__u8 len;
	__be16 offset; /* this and the next of a fragment header */
	__u32 id;
};

/* On the way through the extension headers. at: of the next one; negative when it is not to be reached. */
struct walk {
	struct __sk_buff *skb;
	struct packet *p;
	__u32 dir;
	int at;
};

static __always_inline int put_ipv6_piece(struct packet *p, const struct extension *x, __u32 dir)
{
	__u32 frag = bpf_ntohs(x->offset);

	if (p->piece) /* a fragment of a fragment */
		return -1;
	if (frag & IPV6_OFFSET)
		put_piece(p, PIECE_LATER, x->id, 0, dir);
	else if (frag & IPV6_MORE)
		put_piece(p, PIECE_FIRST, x->id, 0, dir);
	return sizeof(*x);
}

static long pass_extension(__u32 i, struct walk *w)
{
	struct packet *p = w->p;
	__u8 *proto = &p->block.key.proto;
	struct extension x;
	int len;

	(void)i;
	if (w->at < 0 || p->piece == PIECE_LATER || !is_extension(*proto))
		return 1;
	if (bpf_skb_load_bytes(w->skb, w->at, &x, sizeof(x)))
		len = -1;
	else if (*proto == PROTO_FRAG)
		len = put_ipv6_piece(p, &x, w->dir);
	else
		len = *proto == PROTO_AH ? (x.len + 2) * 4 : (x.len + 1) * 8;
	if (len < 0) {
		w->at = -1;
		return 1;
	}
	*proto = x.next;
	w->at += len;
	return 0;
}

static __always_inline int parse_ipv6(struct __sk_buff *skb, struct packet *p, __u32 dir)
{
	struct walk w = {.skb = skb, .p = p, .dir = dir, .at = p->l3 + sizeof(struct ipv6hdr)};
	struct flow_key *k = &p->block.key;
	struct ipv6hdr ip;

	if (bpf_skb_load_bytes(skb, p->l3, &ip, sizeof(ip)) || ip.version != 6)
		return -1;
	put_addresses(p, &ip.saddr, &ip.daddr, sizeof(ip.saddr), dir);
	k->family = 6;
	k->proto = ip.nexthdr;
	k->dsfield = ip.priority << 4 | ip.flow_lbl[0] >> 4;
	if (is_extension(k->proto))
		bpf_loop(EXT_MAX, pass_extension, &w, 0);
	if (w.at < 0 || (p->piece != PIECE_LATER && is_extension(k->proto)))
		return -1;
	p->l4 = w.at;
	return 0;
}

static __always_inline int has_ports(__u8 proto)
{
	return proto == IPPROTO_TCP || proto == IPPROTO_UDP || proto == IPPROTO_SCTP || proto == PROTO_DCCP ||
	       proto == PROTO_LITE;
}

static __always_inline int parse_ports(struct __sk_buff *skb, struct packet *p, __u32 dir)
{
	struct flow_key *k = &p->block.key;
	__be16 ports[2]; /* source, destination */

	if (!has_ports(k->proto))
		return p->l4 > skb->len ? -1 : 0;
	if (bpf_skb_load_bytes(skb, p->l4, ports, sizeof(ports)))
		return -1;
	k->local_port = ports[!dir];
	k->remote_port = ports[!!dir];
	k->has |= FLOW_HAS_PORTS;
	return 0;
}

/* Both copy the key: Linux 6.1 takes none that is not on the function's own stack. */
static __always_inline void remember(const struct packet *p)
{
	const struct flow_key *k = &p->block.key;
	struct flow_frag f = {.local_port = k->local_port,
			      .remote_port = k->remote_port,
			      .proto = k->proto,
			      .has = k->has & FLOW_HAS_PORTS};

	struct flow_frag_key key = p->frag;

	bpf_map_update_elem(&frags, &key, &f, BPF_ANY);
}

static __always_inline int recall(struct packet *p)
{
	struct flow_frag_key key = p->frag;
	const struct flow_frag *f = bpf_map_lookup_elem(&frags, &key);
	struct flow_key *k = &p->block.key;

	p->l4 = 0;
	if (!f)
		return -1;
	k->local_port = f->local_port;
	k->remote_port = f->remote_port;
	k->proto = f->proto;
	k->has |= f->has;
	return 0;
}

static __always_inline int parse_ip(struct __sk_buff *skb, struct packet *p, __u32 dir)
{
	__be16 type = p->block.key.ethertype;
	int r;

	if (type == bpf_htons(ETH_P_IP))
		r = parse_ipv4(skb, p, dir);
	else if (type == bpf_htons(ETH_P_IPV6))
		r = parse_ipv6(skb, p, dir);
	else
		return 0;
	if (r)
		return r;
	if (p->piece == PIECE_LATER)
		return recall(p);
	if (parse_ports(skb, p, dir))
		return -1;
	if (p->piece == PIECE_FIRST)
		remember(p);
	return 0;
}

/*
 * Fills p, which is all zero. Not static, so that the verifier looks at it once, and at what comes after it
 * for any packet: every path through here would be followed to the program's end otherwise.
 */
__noinline int parse(struct __sk_buff *skb, struct packet *p, __u32 dir)
{
	if (!p)
		return 0;
	p->lost = parse_link(skb, p) || parse_ip(skb, p, dir);
	if (p->lost)
		p->l4 = 0;
	p->block.shape = ~0U;
	return 0;
}

/* Length of all headers, which each segment of a GSO frame has. */
static __always_inline __u32 header_bytes(struct __sk_buff *skb, const struct packet *p)
{
	__u8 doff;

	if (!p->l4)
		return 0;
	if (p->block.key.proto != IPPROTO_TCP)
		return p->l4 + sizeof(struct udphdr);
	return bpf_skb_load_bytes(skb, p->l4 + OFFSET_DOFF, &doff, 1) ? 0 : p->l4 + (doff >> 4) * 4;
}
