/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Requests that change flows. */
#pragma once

#include "vnicd/flow.h"

#include <jansson.h>

struct call;

void flowchange_create(struct daemon *d, struct call *c);
void flowchange_delete(struct daemon *d, struct call *c);
void flowchange_set(struct daemon *d, struct call *c);
void flowchange_reset(struct daemon *d, struct call *c);
/* Batch, of which every command is one of flows. */
void flowchange_batch(struct daemon *d, struct call *c);
/* Is it one of the methods above, but Batch? */
bool flowchange_is(const char *method);

/* The link of that name, if flows are possible on it. blank: what stands for a link that others made and of
 * which nothing is wanted as yet; with its name. */
int flow_link(const struct daemon *d, const char *name, struct vlink *blank, struct vlink **ret,
	      struct err *e);
/* The flow of that name, and of that link if one is given. */
int flow_known(const struct daemon *d, const char *name, const char *link, struct flow **ret, struct err *e);
/* attributes: an array of {name, value}. */
int flow_read_match(const json_t *attributes, struct flow_match *ret, struct err *e);
