/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Hands the operations on eBPF hooks to lib/bpf, in the right namespace; knows no program. */
#include "lib/kern/real.h"

#include <errno.h>
#include <string.h>

/* The ifindex of another of the node's links, which is in the daemon's own namespace. */
static int own_ifindex(struct act *a, const struct port *port, int *ret)
{
	struct act other = *a;

	other.port = port;
	other.sk = a->r->rt;
	return act_ifindex(&other, ret);
}

int in_zone(struct act *a, int (*fn)(struct act *a, int ifindex))
{
	const char *zone = a->port->zone;
	int ifindex, rc = act_ifindex(a, &ifindex);

	if (rc)
		return rc;
	rc = real_enter(a->r, zone, a->e);
	if (rc)
		return rc;
	rc = fn(a, ifindex);
	real_leave(a->r, zone);
	return rc;
}

/* On a link that is not ours the hooks are the parent's, and obey to a number that an operation before gave.
 */
static int theirs(struct act *a,
		  int (*fn)(struct bpf *b, uint32_t n, int ifindex, const struct prog *prog, struct err *e))
{
	struct prog prog = a->node->prog;
	int hook, rc = own_ifindex(a, &a->node->parent, &hook);

	rc = rc ? rc : own_ifindex(a, &a->node->port, &prog.out_index);
	return rc ? rc : fn(a->r->bpf, a->node->n, hook, &prog, a->e);
}

static int do_prog_add(struct act *a, int ifindex)
{
	return bpf_vnic_add(a->r->bpf, a->node->n, ifindex, &a->node->prog, a->e);
}

static int do_prog_del(struct act *a, int ifindex)
{
	return bpf_vnic_del(a->r->bpf, a->node->n, ifindex, a->e);
}

int prog_add(struct act *a)
{
	if (a->node->class == CLASS_FOREIGN)
		return theirs(a, bpf_theirs_add);
	return in_zone(a, do_prog_add);
}

int prog_set(struct act *a)
{
	if (a->node->class == CLASS_FOREIGN)
		return theirs(a, bpf_theirs_set);
	return bpf_vnic_set(a->r->bpf, a->node->n, &a->node->prog, a->e);
}

/* Pins outlive a link that is gone (with its zone, perhaps): they are removed all the same. */
int prog_del(struct act *a)
{
	struct err none;
	struct act quiet = *a;
	int ifindex;

	quiet.e = &none;
	if (!a->sk || a->node->class == CLASS_FOREIGN || act_ifindex(&quiet, &ifindex))
		return bpf_vnic_del(a->r->bpf, a->node->n, 0, a->e);
	return in_zone(a, do_prog_del);
}

int steer_add(struct act *a)
{
	int hook, ifb, rc = own_ifindex(a, &a->node->parent, &hook);

	if (!rc)
		rc = own_ifindex(a, &a->node->ifb_port, &ifb);
	return rc ? rc : bpf_steer_add(a->r->bpf, hook, a->node->mac, ifb, a->e);
}

int steer_del(struct act *a)
{
	int hook, rc = own_ifindex(a, &a->node->parent, &hook);

	return rc ? rc : bpf_steer_del(a->r->bpf, hook, a->node->mac, a->op->yes, a->e);
}

int hook_add(struct act *a)
{
	int hook, rc = own_ifindex(a, &a->node->parent, &hook);

	return rc ? rc : bpf_hook_add(a->r->bpf, hook, a->e);
}

int hook_del(struct act *a)
{
	int hook, rc = own_ifindex(a, &a->node->parent, &hook);

	return rc ? rc : bpf_hook_del(a->r->bpf, hook, a->e);
}
