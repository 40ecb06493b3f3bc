/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Words that several places on a command line may take; see complete.h for how they are offered. */
#pragma once

#include "lib/cli/complete.h"

#include <stdbool.h>

/* The values of a field in the rows of a show method; silent where the daemon cannot be asked. */
void words_rows(const struct words *w, const char *method, const char *rows, const char *field);
/* The links there are. */
void words_links(struct words *w);
/* The fields that the verb prints. */
void words_fields(struct words *w);
/* Of "64K-400G,1%-100%,none,blocked" the words, not the ranges. */
void words_possible(const struct words *w, const char *possible);
/* Moves w from "NAME=VALUE" on to the value when it is that name's. */
bool words_value_of(struct words *w, const char *name);
