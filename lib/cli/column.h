/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Rows of the wire as tables, JSON and lines for scripts: which columns there are, which are wanted, how a
 * cell reads. */
#pragma once

#include "lib/base/err.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#define COLUMNS_MAX 24

enum column_when {
	COLUMN_DEFAULT, /* without -o */
	COLUMN_REQUEST, /* with -o, -o all and -j */
	COLUMN_ALIAS,   /* only by its name: another word for a column */
};

struct column {
	const char *name; /* header; in lower case the JSON key */
	const char *key;  /* of the wire's row; NULL: the JSON key */
	enum column_when when;
	bool right;     /* aligned */
	unsigned width; /* of a streamed row, where cells to come are not known */
	/* A cell for people, malloc'ed, NULL for "--"; NULL: the value as it is. */
	char *(*text)(const json_t *row, const json_t *value);
	bool raw; /* for scripts the value as it is, whatever people see */
};

/* What was asked for. */
struct columns {
	const struct column *col[COLUMNS_MAX];
	size_t n;
	bool json;
	bool parsable; /* no header, fields joined by ':' */
};

/* table: ended by a NULL name. fields: the value of -o, "all" or names in either case; NULL: the default. */
int columns_choose(const struct column *table, const char *fields, bool json, struct columns *ret,
		   struct err *e);

/* The same for scripts, which name their fields: fields is never "all". */
int columns_choose_parsable(const struct column *table, const char *fields, struct columns *ret,
			    struct err *e);

/* rows: an array of objects. As a table, nothing at all when there are none; as a JSON array; or
 * one a line. */
int columns_print(const struct columns *c, const json_t *rows, FILE *out, struct err *e);

/* One row at a time. */
void columns_stream_header(const struct columns *c, FILE *out);
int columns_stream_row(const struct columns *c, const json_t *row, FILE *out, struct err *e);

/* Cells. */
char *column_mbit(const json_t *row, const json_t *value); /* bit/s as Mbit/s, 0 as nothing */
