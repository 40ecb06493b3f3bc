/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The daemon's memory of flows: what is wanted, as in state.db, by name and by link. Holds and finds; carries
 * nothing out.
 */
#pragma once

#include "lib/model/flowset.h"
#include "vnicd/store.h"
#include "vnicd/world.h"

#include <uthash.h>

/* One flow of a link of ours. */
struct flow {
	struct store_flow s;
	char *text; /* s.text, owned */
	struct flow_match match;
	struct flow_props props;
	struct flow_props kept; /* of them, what outlives this boot */
	struct counter counters[FLOW_CTR_COUNT];
	struct vlink *link;
	unsigned staged;          /* its edit in the request under way, counted from 1 */
	struct flow *prev, *next; /* in link->flows */
	UT_hash_handle hh_name;   /* in d->flows */
	UT_hash_handle hh_text;   /* in link->flow_texts: what it matches */
};

/* Takes all of store into the world; their links are there already. */
int flows_load(struct daemon *d, struct err *e);
struct flow *flow_new(void);
int flow_text_set(struct flow *f, const char *text); /* a copy. -ENOMEM */
struct flow *flow_copy(const struct flow *f);        /* not in any table; NULL without memory */
struct flow *flow_free(struct flow *f);
struct flow *flow_find(const struct daemon *d, const char *name);
/* f->link is set, and its room open (flowroom.h). flow_take_out() does not free. */
void flow_put_in(struct daemon *d, struct flow *f);
void flow_take_out(struct daemon *d, struct flow *f);
/* The flow of v that matches what text, canonical, says; NULL for none. */
struct flow *flow_by_text(const struct vlink *v, const char *text);
/* Another flow of f's link that differs from it in direction only, or NULL. */
struct flow *flow_twin(const struct flow *f);
/* v goes for good: its flows are freed. */
void flows_drop(struct daemon *d, struct vlink *v);
/* v, a copy, is in the world now: its flows are told so. */
void flows_hand_over(struct vlink *v);
/* All of v's flows into the store, as they are in the world; in the transaction under way. */
int flows_save(struct daemon *d, const struct vlink *v, struct err *e);
/* What f asks of the kernel; link_cap: what maxbw in percent is of, bits per second, 0 unknown. */
struct flow_want flow_wants(const struct flow *f, uint64_t link_cap);

/* old NULL: created. new NULL: deleted. Both: new is a copy of old, of the same id and slot. The world has
 * new in the place of old already. */
struct flow_edit {
	struct flow *old, *new;
};
/*
 * All of edits or none, in kernel and store; of one link or several, in the store's transaction that is under
 * way: it is ended. On success every old is freed; on failure, and in a dry run, kernel and store are as they
 * were, and old, new and the world are the caller's to put back.
 */
int reconcile_flows(struct daemon *d, const struct flow_edit *edits, size_t count, struct err *e);
