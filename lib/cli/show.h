/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What all show verbs share: -o, -j and -p or -c, one call, and its rows printed. */
#pragma once

#include "lib/cli/column.h"
#include "lib/cli/verb.h"

/* The fields that -o, -j and -p or -c ask for; returns an exit status. */
int show_choose(const struct cli *cli, const struct column *table, struct columns *ret);

/*
 * Asks and prints by the verb's columns; returns an exit status. rows: where they are in the reply. Takes
 * over params.
 */
int show_rows(const struct cli *cli, const char *method, const char *rows, json_t *params);
