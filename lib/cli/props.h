/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Property lists as typed after -p. Pure: which properties there are is not known here. */
#pragma once

#include "lib/base/err.h"

#include <jansson.h>

/*
 * values: an array of strings "NAME=VALUE[,NAME=VALUE]..."; NULL counts as empty. A comma item without '='
 * continues the value before it: "cpus=4,5,6" is one. *ret: an array of {name, value} as on the wire (caller
 * json_decref).
 */
int props_parse(const json_t *values, json_t **ret, struct err *e);

/* The same for lists of names alone, "NAME[,NAME]...": *ret is an array of strings, NULL for NULL values. */
int props_names(const json_t *values, json_t **ret, struct err *e);
