/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Finds the known word somebody probably meant. Pure. */
#pragma once

#include <stddef.h>

/* The word with the smallest edit distance to word, or NULL when none is within a third of its length (at
 * least 1). */
const char *nearest(const char *word, const char *const *words, size_t count);
