/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The only vocabulary for change: named operations, each with its effect on a node and its inverse. Pure:
 * what an operation does to a kernel is in lib/kern, how a person would type it in say.h.
 */
#pragma once

#include "lib/model/node.h"

enum op_kind {
	OP_LINK_ADD, /* create the link (down, with MAC, MTU, group) in its zone */
	OP_LINK_DEL,
	OP_LINK_DOOM,  /* into the doomed group, to be deleted with others */
	OP_LINK_SWEEP, /* delete every doomed link of the own namespace at once */
	OP_LINK_MARK,  /* write alias and group; its inverse leaves them: the link goes anyway */
	OP_LINK_QUIET, /* no addresses of its own: addrgenmode none, accept_ra 0 (yes), the defaults (no) */
	OP_LINK_UP,    /* up (yes) or down (no) */
	OP_LINK_MTU,
	OP_LINK_MAC, /* back to its own */
	OP_LINK_RENAME,
	OP_LINK_MOVE, /* to another zone; the kernel takes it down, drops its qdiscs and addresses */
	OP_PROG_ADD,  /* the VNIC's two hooks, pinned */
	OP_PROG_SET,
	OP_PROG_DEL,
	OP_ROOT_ADD, /* HTB root 7fd0: */
	OP_ROOT_DEL,
	OP_CAP_ADD, /* classes 7fd0:ffff and 7fd0:1 */
	OP_CAP_SET, /* in place */
	OP_CAP_DEL,
	OP_LEAF_ADD,
	OP_LEAF_SET, /* in place, or replaced when the kind of leaf changes */
	OP_LEAF_DEL,
	OP_BANDS_ADD, /* classes 7fd0:2 to 4 and the filter that picks a flow's class */
	OP_BANDS_DEL,
	OP_FLOWS_ADD, /* the two hooks, and the ifb's, classify */
	OP_FLOWS_SET, /* rules, actions and classes as to.flow_set says */
	OP_FLOWS_DEL, /* plain hooks again; the flows' classes go */
	OP_DRAIN,     /* wait until the class has no backlog: 300 ms at most (yes), or 2 ms (no) */
	OP_STEER_ADD, /* map entry of the parent's hook */
	OP_STEER_DEL, /* deletes the entry; yes: closes it and waits for a gap in its traffic first */
	OP_HOOK_ADD,  /* the program on a parent's ingress */
	OP_HOOK_DEL,
	OP_ARP_SET, /* arp_ignore, arp_announce of the link or its parent */
	OP_ISO_SET, /* rules and table of an isolated VNIC: what its addresses need, and no more */
	OP_ISO_DEL,
	OP_COUNT
};

/* Which link of the node an operation is about. */
enum op_on { ON_LINK, ON_IFB, ON_PARENT };

/*
 * One operation. to and from are whole nodes after and before it, so that every field an operation needs, and
 * its inverse, is at hand. yes: the flag that LINK_UP, LINK_QUIET set.
 */
struct op {
	enum op_kind kind;
	enum op_on on;
	bool yes;
	struct node from;
	struct node to;
};

struct op_list {
	struct op *ops;
	size_t count, room;
};

/* Appends the operation and applies its effect to cur. 0 or -ENOMEM. */
int op_emit(struct op_list *list, enum op_kind kind, enum op_on on, bool yes, struct node *cur,
	    const struct node *want);
void op_list_free(struct op_list *list);
/*
 * Deleting links one by one costs an RCU grace period each (18 ms), deleting a group costs one in all. Where
 * list deletes several links of the own namespace, their deletions are dooms, and a sweep follows them at the
 * end. 0 or -ENOMEM.
 */
int op_list_group_deletions(struct op_list *list);
/*
 * Takes out of list what cannot be taken back: the deletions of links, with the addresses and routes that
 * others gave them, is appended to last (one sweep is enough); and what is left over of these links, to rest.
 * 0 or -ENOMEM, with all three as they were.
 */
int op_list_part(struct op_list *list, struct op_list *last, struct op_list *rest);

const char *op_name(enum op_kind kind);
/* What the operation makes of a node: sets the fields of n it is about to those of op->to. */
void op_effect(const struct op *op, struct node *n);
/* The operation that takes op back; false when there is nothing to take back (DRAIN, MARK). */
bool op_inverse(const struct op *op, struct op *ret);

/* The tree (TX or RX) an operation on ON_LINK or ON_IFB is about. */
struct tree *op_tree(struct node *n, enum op_on on);
const struct port *op_port(const struct node *n, enum op_on on);
