/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What may come next on a command line, for shells: "PROGRAM complete WORD..." prints, one a line, what the
 * last of the words can become. What options and verbs take says a function beside them in the tables.
 */
#pragma once

#include "lib/cli/verb.h"

#include <stddef.h>

#define COMPLETE_FILES 3 /* exit status: names of files, which the shell knows */

/* One place that is to be completed. */
struct words {
	const struct cli *cli; /* what is before it on the line: options with "" or their values, operands */
	const char *before;    /* what stands before the part to complete in the same word */
	int before_len;
	const char *text; /* the part to complete, as far as it is typed */
};

/* Offers a word, if it begins with what is typed; end is put behind it. Operands are not offered twice. */
void words_add(const struct words *w, const char *word, const char *end);

/* Of a list with commas only the last item is completed; false when item is in what is before. */
void words_last_item(struct words *w);
bool words_fresh(const struct words *w, const char *item);

/* The lines for the last of argv; returns the exit status. */
int complete(const struct verb *verbs, size_t n, int argc, char **argv);
