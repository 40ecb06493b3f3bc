/* SPDX-License-Identifier: GPL-2.0-or-later */
/* From the flows of a link to what they need of it in the kernel. Reads the world only. */
#include "vnicd/flowwant.h"

#include "vnicd/flow.h"
#include "vnicd/want.h"

#include <string.h>
#include <utlist.h>

/* What maxbw in percent is of: the link's own cap, else its parent's speed. */
static uint64_t whole(const struct vlink *v)
{
	uint64_t speed = v->below ? v->below->speed : 0;
	struct eff_cap tx = want_cap(v, true, speed), rx = want_cap(v, false, speed);

	return tx.rate ? tx.rate : rx.rate ? rx.rate : speed;
}

struct flow_want flow_want_of(const struct flow *f)
{
	return flow_wants(f, whole(f->link));
}

bool want_flow_classes(const struct vlink *v, const struct flow_needs *n, enum flow_dir dir)
{
	return n->classes[dir] || (n->shares[dir] && whole(v));
}

int want_flow(const struct flow *f, const struct node *n, struct flow_set *set)
{
	uint64_t tree[FLOW_DIRS] = {n->rx.root ? n->rx.shape.rate : 0, n->tx.root ? n->tx.shape.rate : 0};
	struct flow_want w = flow_want_of(f);

	return flow_set_add(set, &w, n->mtu, tree);
}

const struct flow_set *want_flows(const struct vlink *v, const struct node *n)
{
	const struct flow *f;
	int r = 0;

	flow_set_free(v->flow_set);
	DL_FOREACH (v->flows, f)
		r = r < 0 ? r : want_flow(f, n, v->flow_set);
	if (r < 0)
		flow_set_free(v->flow_set);
	flow_set_sort(v->flow_set);
	return v->flow_set;
}

void want_flow_node(const struct daemon *d, const struct vlink *v, struct node *ret)
{
	struct node have = {.n = v->s.n, .class = v->s.class, .link = true, .up = true};
	struct slink *ifb;

	memcpy(have.port.name, v->s.name, sizeof(have.port.name));
	want_link(d, v, &have, ret);
	ret->port.ifindex = v->at.ifindex;
	ifb = slink_by_name(d, ret->ifb_port.name);
	ret->ifb_port.ifindex = ifb ? ifb->l.ifindex : 0;
}
