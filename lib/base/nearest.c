/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Edit distance over short words; never allocates. */
#include "lib/base/nearest.h"

#include <string.h>

#define WORD_MAX 64

static size_t min3(size_t a, size_t b, size_t c)
{
	size_t m = a < b ? a : b;

	return m < c ? m : c;
}

/* Levenshtein distance by the two-row method; WORD_MAX when either word is too long to be a slip. */
static size_t distance(const char *a, const char *b)
{
	size_t la = strlen(a), lb = strlen(b);
	size_t row[WORD_MAX];

	if (la >= WORD_MAX || lb >= WORD_MAX)
		return WORD_MAX;
	for (size_t j = 0; j <= lb; j++)
		row[j] = j;
	for (size_t i = 1; i <= la; i++) {
		size_t diagonal = row[0];

		row[0] = i;
		for (size_t j = 1; j <= lb; j++) {
			size_t up = row[j];

			row[j] = min3(up + 1, row[j - 1] + 1, diagonal + (a[i - 1] != b[j - 1]));
			diagonal = up;
		}
	}
	return row[lb];
}

const char *nearest(const char *word, const char *const *words, size_t count)
{
	size_t best = strlen(word) / 3 + 2;
	const char *found = NULL;

	for (size_t i = 0; i < count; i++) {
		size_t d = distance(word, words[i]);

		if (d < best) {
			best = d;
			found = words[i];
		}
	}
	return found;
}
