/* SPDX-License-Identifier: GPL-2.0-or-later */
/* From properties to a node. Reads the world only; no kernel, no store writes. */
#include "vnicd/want.h"

#include "vnicd/flowwant.h"

#include <stdio.h>
#include <string.h>

#define STUB_MTU      9000u
#define STUB_VNIC_MTU 1500u

struct eff_cap want_cap(const struct vlink *v, bool tx, uint64_t speed)
{
	struct bw bw = prop_cap(&v->props, tx);
	uint64_t rate;

	switch (bw.kind) {
	case BW_BLOCKED:
		return (struct eff_cap){.blocked = true};
	case BW_RATE:
		return (struct eff_cap){.rate = bw.value};
	case BW_PERCENT:
		if (!speed)
			return (struct eff_cap){.unknown = true};
		rate = speed / 100 * bw.value;
		return (struct eff_cap){.rate = rate < BW_MIN ? BW_MIN : rate > BW_MAX ? BW_MAX : rate};
	default:
		return (struct eff_cap){0};
	}
}

bool want_percent(const struct vlink *v)
{
	return prop_cap(&v->props, false).kind == BW_PERCENT || prop_cap(&v->props, true).kind == BW_PERCENT;
}

/* In a zone it is alone with its addresses. */
bool want_isolate(const struct vlink *v)
{
	return v->s.class == CLASS_VNIC && prop_isolate(&v->props) && !vlink_zone(v)[0] && v->below;
}

static void want_iso(const struct vlink *v, const struct node *have, struct node *ret)
{
	ret->iso = want_isolate(v) ? ISO_ON : ISO_OFF;
	ret->arp = ret->iso ? arp_strict(have->arp) : have->arp;
	ret->parent_arp = ret->iso ? arp_strict(have->parent_arp) : have->parent_arp;
}

uint32_t want_mtu(const struct daemon *d, const struct vlink *v)
{
	uint32_t own = prop_mtu(&v->props);
	const struct slink *parent;

	if (v->s.class == CLASS_ETHERSTUB)
		return own ? own : STUB_MTU;
	parent = vlink_parent(d, v);
	if (!own)
		own = !parent || (v->s.over && !vlink_vlan(d, v)) ? STUB_VNIC_MTU : parent->l.mtu;
	/* A parent whose MTU went down takes its VNICs along; they come back when it does. */
	return parent && parent->l.mtu < own ? parent->l.mtu : own;
}

static void want_tree(struct tree *t, struct eff_cap cap, const struct tree *have, uint32_t mtu)
{
	uint64_t rate = cap.unknown && have->cap ? have->shape.rate : cap.rate;

	if (rate)
		*t = (struct tree){.root = true, .cap = true, .leaf = true, .shape = shape_for(rate, mtu)};
}

static void want_caps(struct node *n, struct eff_cap rx, struct eff_cap tx, const struct node *have)
{
	want_tree(&n->tx, tx, &have->tx, n->mtu);
	want_tree(&n->rx, rx, &have->rx, n->mtu);
	n->ifb = n->ifb_marked = n->ifb_quiet = n->ifb_up = n->steer = n->rx.root;
	if (!n->tx.root && !n->rx.root && !tx.blocked && !rx.blocked)
		return;
	n->prog = (struct prog){
		.present = true,
		.rx = rx.blocked   ? HOOK_DROP
		      : n->rx.root ? HOOK_POLICE
				   : HOOK_PASS,
		.tx = tx.blocked ? HOOK_DROP : HOOK_PASS,
		.group_rate = n->rx.root ? n->rx.shape.rate : 0,
	};
}

/* Classes of flows are in a tree, an open one where the link has no cap. */
static void want_bands(const struct vlink *v, struct tree *t, enum flow_dir dir, bool blocked, uint32_t mtu)
{
	struct flow_needs needs = flow_room_needs(v);

	if (blocked || !want_flow_classes(v, &needs, dir))
		return;
	if (!t->root)
		*t = (struct tree){
			.root = true, .cap = true, .leaf = true, .shape = shape_for(RATE_OPEN, mtu)};
	t->bands = true;
}

static void want_flow_trees(const struct vlink *v, struct eff_cap rx, struct eff_cap tx, struct node *n)
{
	if (!v->flows)
		return;
	want_bands(v, &n->tx, FLOW_OUT, tx.blocked, n->mtu);
	want_bands(v, &n->rx, FLOW_IN, rx.blocked, n->mtu);
	n->ifb = n->ifb_marked = n->ifb_quiet = n->ifb_up = n->steer = n->rx.root;
	n->prog.present = true;
	n->prog.rx = rx.blocked ? HOOK_DROP : rx.rate || rx.unknown ? n->prog.rx : HOOK_PASS;
	n->prog.tx = tx.blocked ? HOOK_DROP : HOOK_PASS;
	n->flows = FLOWS_ON;
}

/* Caps and flows of a link that others made: of the ifb for what it sends all is ours, and it is never down.
 */
static void want_foreign(const struct daemon *d, const struct vlink *v, const struct node *have,
			 struct node *ret)
{
	const struct slink *link = vlink_parent(d, v);
	uint64_t speed = link ? link->speed : 0;
	struct eff_cap rx = want_cap(v, false, speed), tx = want_cap(v, true, speed);

	ret->up = ret->quiet = true;
	node_out_name(v->s.n, ret->port.name);
	node_ifb_name(v->s.n, ret->ifb_port.name);
	snprintf(ret->kind, sizeof(ret->kind), "ifb");
	ret->mtu = link ? link->l.mtu : have->mtu;
	if (link) {
		memcpy(ret->parent.name, link->l.name, sizeof(ret->parent.name));
		ret->parent.ifindex = link->l.ifindex;
	}
	want_caps(ret, rx, tx, have);
	ret->prog.all = ret->tx.root;
	want_flow_trees(v, rx, tx, ret);
	ret->prog.present = ret->prog.theirs = true;
	ret->prog.out = ret->tx.root;
	ret->prog.own = v->s.mac;
	ret->flows = FLOWS_ON;
}

void want_link(const struct daemon *d, const struct vlink *v, const struct node *have, struct node *ret)
{
	const struct slink *parent = vlink_parent(d, v);
	uint64_t speed = parent ? parent->speed : 0;

	*ret = (struct node){.n = v->s.n, .class = v->s.class, .link = true, .mac = v->s.mac, .marked = true};
	if (v->s.class == CLASS_FOREIGN) {
		want_foreign(d, v, have, ret);
		return;
	}
	/* Up or down is its user's once it is there. */
	ret->up = have->link ? have->up : !v->s.down;
	snprintf(ret->port.zone, sizeof(ret->port.zone), "%s", vlink_zone(v));
	/* Whoever has it may call it what he likes. */
	memcpy(ret->port.name, have->link ? have->port.name : v->s.name, sizeof(ret->port.name));
	ret->quiet = !ret->port.zone[0];
	ret->mtu = want_mtu(d, v);
	if (v->s.class == CLASS_ETHERSTUB)
		return;
	snprintf(ret->kind, sizeof(ret->kind), v->s.class == CLASS_VLAN ? "vlan" : "macvlan");
	ret->vid = v->s.vid;
	if (parent) {
		memcpy(ret->parent.name, parent->l.name, sizeof(ret->parent.name));
		ret->parent.ifindex = parent->l.ifindex;
		ret->bc_queue = bc_queue_for(parent->vnics + !vlink_by_n(d, v->s.n));
	}
	if (v->s.class == CLASS_VLAN) {
		/* It cannot be up while its parent is down, and comes up with it. */
		ret->up = have->link ? have->up : parent && parent->l.flags & IFF_UP;
		return;
	}
	node_ifb_name(v->s.n, ret->ifb_port.name);
	want_iso(v, have, ret);
	want_caps(ret, want_cap(v, false, speed), want_cap(v, true, speed), have);
	want_flow_trees(v, want_cap(v, false, speed), want_cap(v, true, speed), ret);
}

void want_node(const struct daemon *d, const struct vlink *v, const struct node *have, struct node *ret)
{
	want_link(d, v, have, ret);
	if (ret->flows)
		ret->flow_set = want_flows(v, ret);
}
