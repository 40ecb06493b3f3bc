/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a link has room for: slots of its flows, and the ways in which these look at packets. Counts; holds no
 * flow. */
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
/* May f be one more? -E2BIG, saying in which ways v's flows look at packets already. */
int flow_room_check(const struct flow *f, struct err *e);
