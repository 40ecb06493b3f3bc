/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a link's flows take up and need, and what it has room for: slots, and the ways in which they look at
 * packets. Counts; holds no flow. */
#pragma once

#include "vnicd/flow.h"

/* v's, made when it has none. -ENOMEM. */
int flow_room_open(struct vlink *v);
void flow_room_free(struct vlink *v);
/* f, of an open link, is one more, or one less, of those there are. */
void flow_room_take(const struct flow *f);
void flow_room_give(const struct flow *f);
/* A slot that no flow of v has, the one longest out of use; 0 when there is none left. */
uint32_t flow_room_slot(struct vlink *v);
/* At start: this one was in use. */
void flow_room_used(struct vlink *v, uint32_t slot);
/* How many of a link's flows need what of it, by direction. */
struct flow_needs {
	int flows;
	int ranges; /* some rules may be those of several flows: one alone cannot be changed */
	int classes[FLOW_DIRS];
	int shares[FLOW_DIRS]; /* classes, too, if it is known of what maxbw in percent is */
	int strict[FLOW_DIRS];
};
/* Those of the flows that v has, ... */
struct flow_needs flow_room_needs(const struct vlink *v);
/* ... and with f by times more. */
void flow_needs_add(struct flow_needs *n, const struct flow *f, int by);
/* May f be one more? -E2BIG, saying in which ways v's flows look at packets already. */
int flow_room_check(const struct flow *f, struct err *e);
