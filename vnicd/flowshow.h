/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Requests that look at flows. */
#pragma once

#include "vnicd/flow.h"

#include <jansson.h>

struct call;

void flowshow_flow(struct daemon *d, struct call *c);
void flowshow_prop(struct daemon *d, struct call *c);
void flowshow_match(struct daemon *d, struct call *c);
/* Adds to notes which flows go with v, if any. */
void flowshow_going(const struct vlink *v, json_t *notes);
/* ShowFlowStats: one reply, or a stream when the call has more. */
void flowshow_stats(struct daemon *d, struct call *c);
/* Takes fresh readings of v's flows; the rest's into v->rest. What cannot be read keeps its last value. */
void flows_collect(struct daemon *d, struct vlink *v);
/* Programs or classes of v's flows that are gone had counted so far: those that come begin anew. */
void flows_close_counters(struct vlink *v, bool programs, bool classes);
