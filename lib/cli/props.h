/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Lists of names with values as typed, and of names alone. Pure: which there are is not known here. */
#pragma once

#include "lib/base/err.h"

#include <jansson.h>

/* What the items of a list are, for messages. */
struct props_kind {
	const char *option; /* what stands before the list: "-p ", or "" */
	const char *word;   /* PROP */
	const char *noun;   /* property */
};
extern const struct props_kind props_p; /* properties after -p */

/*
 * values: an array of strings "NAME=VALUE[,NAME=VALUE]...". A comma item without '=' continues the value
 * before it: "cpus=4,5,6" is one. *ret: an array of {name, value} as on the wire (caller json_decref), NULL
 * for NULL values.
 */
int props_parse(const struct props_kind *kind, const json_t *values, json_t **ret, struct err *e);

/* The same for lists after -p of names alone, "NAME[,NAME]...": *ret is an array of strings. */
int props_names(const json_t *values, json_t **ret, struct err *e);
