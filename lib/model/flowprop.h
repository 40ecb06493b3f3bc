/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The properties of a flow: what is done with its packets, and before which flows it comes. See prop.h. */
#pragma once

#include "lib/model/prop.h"

enum flow_prop_id {
	FLOW_PROP_MAXBW,
	FLOW_PROP_PRIORITY,
	FLOW_PROP_RANK,
	FLOW_PROP_DSCP_MARK,
	FLOW_PROP_COUNT
};
extern const struct prop_row flow_prop_rows[FLOW_PROP_COUNT];

/* Values of one flow; NULL = unset. Owned by the struct. */
struct flow_props {
	char *value[FLOW_PROP_COUNT];
};
void flow_props_free(struct flow_props *p);
int flow_props_copy(const struct flow_props *from, struct flow_props *ret); /* -ENOMEM */

/* Unknown name: an error with the nearest one. The errors' object is flow. */
int flow_prop_find(const char *flow, const char *name, enum flow_prop_id *ret, struct err *e);
/* Checks text and sets it; p is unchanged on failure. */
int flow_prop_set(struct flow_props *p, const char *flow, enum flow_prop_id id, const char *text,
		  struct err *e);
void flow_prop_reset(struct flow_props *p, enum flow_prop_id id);
/* What an unset one amounts to: "medium"; "" for nothing. */
const char *flow_prop_default(enum flow_prop_id id);

enum flow_priority { FLOW_LOW, FLOW_MEDIUM, FLOW_HIGH };

/* For each direction. BW_NONE when there is none. */
struct bw flow_prop_cap(const struct flow_props *p);
enum flow_priority flow_prop_priority(const struct flow_props *p); /* FLOW_MEDIUM = unset */
uint16_t flow_prop_rank(const struct flow_props *p);               /* 0 = unset */
int flow_prop_dscp(const struct flow_props *p);                    /* -1 = unset, else 0..63 */
