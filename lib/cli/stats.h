/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Counters of links or flows, once or block after block, until all are shown or the user has seen enough. */
#pragma once

#include "lib/cli/column.h"
#include "lib/cli/verb.h"

/* What one program counts. */
struct stats_kind {
	const char *method; /* takes names, link, interval, count; replies with stats */
	const struct column *columns;
	const char *object; /* what a row is of, for messages */
	/* What a row is of, the same from block to block; malloc'ed, NULL when the row does not say. */
	char *(*key)(const json_t *row);
};

/* Cells of such columns: counts, or rates where the row has these. */
char *stats_packets(const json_t *row, const json_t *value);
char *stats_bytes(const json_t *row, const json_t *value);

/*
 * Refuses -i and -r without -s, what goes without -s only (the letters in without), and more than one operand
 * without -s; returns an exit status.
 */
int stats_check(const struct cli *cli, const char *without);

/* Operands are the names, -l the link, -i the interval with its count, -r asks for rates. */
int stats_show(struct cli *cli, const struct stats_kind *kind);
