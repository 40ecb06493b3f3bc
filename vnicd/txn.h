/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A transaction: what was seen before and is wanted after for some links, planned, applied and read back, and
 * taken back when anything of it fails. Saves nothing and leaves the world's links as they are.
 */
#pragma once

#include "lib/model/op.h"
#include "vnicd/observe.h"
#include "vnicd/reconcile.h"

/* One change with what was seen before and what is wanted after. */
struct item {
	struct change c;
	struct node have, want;
	bool zone_gone;
	bool seen;        /* have is filled already */
	bool swept;       /* it stays, but something of it goes with the sweep at the end */
	int ifindex, ifb; /* of its links after all was done */
};

/* So many new VNICs that their hooks had better be cheap to attach than cheap to keep: see seat_take(). */
#define TXN_MANY OBSERVE_MANY

struct txn {
	struct daemon *d;
	struct item *items;
	size_t count;
	size_t from, to; /* the chunk under way */
	bool swept;      /* last is done */
	struct op_list ops;
	struct op_list last; /* what cannot be taken back: after it is saved that it goes */
	struct op_list rest; /* what is left over then */
};

/* All of changes, none planned. -ENOMEM. To be given to txn_done(). */
int txn_open(struct txn *t, struct daemon *d, const struct change *changes, size_t count, struct err *e);
void txn_done(struct txn *t);

/* The new link, or the old one when it goes. */
static inline struct vlink *txn_subject(const struct change *c)
{
	return c->new ? c->new : c->old;
}

/* All that can be taken back; what cannot is left in last and rest. On failure nothing has changed. */
int txn_make(struct txn *t, struct err *e);
/* last, read back. On failure the caller undoes all. */
int txn_unmake(struct txn *t, struct err *e);
/* Back to what was seen before. */
void txn_undo(struct txn *t);
/* Links that came or went are known to the next request, whenever their notification is read. */
void txn_refresh(struct txn *t);

/* For one link that is in the world already: */
/* Where it should be, or where somebody moved it; into have. zone: where else an interrupted move may have
 * left it; then it is not looked for elsewhere. */
int txn_look(struct txn *t, const char *zone, struct err *e);
/* Makes it what is in want. */
int txn_align(struct txn *t, struct err *e);
/* The parents' hooks that want needs (adding) or does not need any more, as operations. */
int txn_plan_hooks(struct txn *t, bool adding, struct err *e);
int txn_emit_hook(struct txn *t, enum op_kind kind, const struct node *like);
/* The speed of v's parent, where a cap in percent asks for it. */
void txn_read_speed(struct daemon *d, const struct vlink *v);
/* The world's side of n, which v has become: whose hook steers to it. */
void txn_note_hook(struct daemon *d, struct vlink *v, const struct node *n);
void txn_count_steered(struct daemon *d, int parent, int by);
/* What objects that go had counted stays: they must not be mistaken for those that come. */
void txn_close_counters(struct counter *c, const struct node *have, const struct node *want);
