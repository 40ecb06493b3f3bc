/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Properties: the row type, the one algorithm find, class, read-only, check, and the values that a link has.
 * The rows are in linkprop.c and flowprop.c. Values are kept as canonical text, as they are stored and
 * travel.
 */
#pragma once

#include "lib/base/units.h"
#include "lib/model/node.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum prop_id { PROP_MAXBW, PROP_MAXBW_RX, PROP_MAXBW_TX, PROP_MTU, PROP_ZONE, PROP_ISOLATE, PROP_COUNT };
#define PROP_TEXT_MAX 256
#define PROP_ROWS_MAX 16 /* of one table */

/* classes, readable: bit masks of enum link_class: where it can be set, where it is shown read-only; a flow's
 * rows have neither. */
struct prop_row {
	const char *name;
	unsigned classes;
	unsigned readable;
	const char *possible;
	/* text -> canonical text in ret; an error names the property. */
	int (*check)(const char *text, char ret[PROP_TEXT_MAX], struct err *e);
};
extern const struct prop_row prop_rows[PROP_COUNT];

/*
 * The algorithm over any table's rows. object: the link or flow, for errors. value, values: as many as there
 * are rows, in their order; NULL = unset.
 */
struct prop_table {
	const struct prop_row *rows;
	size_t count;
};
/* Unknown name: -ENOENT with the nearest one. */
int prop_table_find(const struct prop_table *t, const char *object, const char *name, size_t *ret,
		    struct err *e);
int prop_value_set(const struct prop_row *row, char **value, const char *object, const char *text,
		   struct err *e);
void prop_value_reset(char **value);
void prop_values_free(char **values, size_t count);
int prop_values_copy(char *const *from, size_t count, char **ret); /* -ENOMEM */

/* What rows of both tables share. */
#define PROP_BW_POSSIBLE "64K-400G,1%-100%,none,blocked"
int prop_check_bw(const char *name, const char *text, char ret[PROP_TEXT_MAX], struct err *e);

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
/* Is there a cap in either direction? */
bool prop_capped(const struct props *p);
uint32_t prop_mtu(const struct props *p);     /* 0 = unset */
bool prop_isolate(const struct props *p);     /* false = unset */
const char *prop_zone(const struct props *p); /* "" = unset */
/* BANDWIDTH as show-vnic prints it: "max=100M", "max=100M,rx=10M", "blocked"; "" for none. Returns buf. */
const char *prop_bandwidth(const struct props *p, char *buf, size_t size);
