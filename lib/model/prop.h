/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Link properties: the row type, the set of values a link has, and the one algorithm find, class, read-only,
 * check. The rows are in linkprop.c. Values are kept as canonical text, as they are stored and travel.
 */
#pragma once

#include "lib/base/units.h"
#include "lib/model/node.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum prop_id { PROP_MAXBW, PROP_MAXBW_RX, PROP_MAXBW_TX, PROP_MTU, PROP_ZONE, PROP_ISOLATE, PROP_COUNT };
#define PROP_TEXT_MAX 256

/* classes, readable: bit masks of enum link_class: where it can be set, where it is shown read-only. */
struct prop_row {
	const char *name;
	unsigned classes;
	unsigned readable;
	const char *possible;
	/* text -> canonical text in ret; an error names the property. */
	int (*check)(const char *text, char ret[PROP_TEXT_MAX], struct err *e);
};
extern const struct prop_row prop_rows[PROP_COUNT];

/* Values of one link; NULL = unset. Owned by the struct. */
struct props {
	char *value[PROP_COUNT];
};
void props_free(struct props *p);
int props_copy(const struct props *from, struct props *ret); /* -ENOMEM */

/*
 * Finds the row by name for a link of this class; class_word is the class as shown (phys, bridge, ...).
 * Unknown name: an error with the nearest one. write: it must be settable there.
 */
int prop_find(const char *link, enum link_class class, const char *class_word, const char *name, bool write,
	      enum prop_id *ret, struct err *e);
/* Checks text and sets it; p is unchanged on failure. The error's object is link. */
int prop_set(struct props *p, const char *link, enum prop_id id, const char *text, struct err *e);
void prop_reset(struct props *p, enum prop_id id);

/* The caps a link asks for, by direction: rx or tx if set, else maxbw. BW_NONE when nothing is. */
struct bw prop_cap(const struct props *p, bool tx);
uint32_t prop_mtu(const struct props *p);     /* 0 = unset */
bool prop_isolate(const struct props *p);     /* false = unset */
const char *prop_zone(const struct props *p); /* "" = unset */
/* BANDWIDTH as show-vnic prints it: "max=100M", "max=100M,rx=10M", "blocked"; "" for none. Returns buf. */
const char *prop_bandwidth(const struct props *p, char *buf, size_t size);
