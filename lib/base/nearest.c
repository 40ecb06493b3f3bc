/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Which word was meant: edit distance over short words; never allocates. */
#include "lib/base/nearest.h"

#include <ctype.h>
#include <stdbool.h>
#include <string.h>
#include <strings.h>

#define WORD_MAX   64
#define EDITS_MOST 3
#define BEGINNING  3 /* so many letters may stand for a word that begins with them */

static unsigned least(unsigned a, unsigned b)
{
	return a < b ? a : b;
}

static bool same(char a, char b)
{
	return tolower((unsigned char)a) == tolower((unsigned char)b);
}

/* Insertions, deletions, replacements and swaps of neighbours; WORD_MAX when a word is too long for a slip.
 */
static unsigned distance(const char *a, const char *b)
{
	unsigned char d[WORD_MAX][WORD_MAX];
	size_t la = strlen(a), lb = strlen(b);

	if (la >= WORD_MAX || lb >= WORD_MAX)
		return WORD_MAX;
	for (size_t i = 0; i <= la; i++) {
		for (size_t j = 0; j <= lb; j++) {
			unsigned best = i && j ? d[i - 1][j - 1] + (same(a[i - 1], b[j - 1]) ? 0u : 1u)
					       : (unsigned)(i + j);

			if (i && j)
				best = least(best, least(d[i - 1][j], d[i][j - 1]) + 1u);
			if (i > 1 && j > 1 && same(a[i - 1], b[j - 2]) && same(a[i - 2], b[j - 1]))
				best = least(best, d[i - 2][j - 2] + 1u);
			d[i][j] = (unsigned char)best;
		}
	}
	return d[la][lb];
}

static const char *beginning(const char *word, const char *const *words, size_t count)
{
	size_t len = strlen(word);

	for (size_t i = 0; i < count && len >= BEGINNING; i++)
		if (!strncasecmp(word, words[i], len))
			return words[i];
	return NULL;
}

const char *nearest(const char *word, const char *const *words, size_t count)
{
	unsigned most = least(((unsigned)strlen(word) + 1) / 3, EDITS_MOST), best = most + 1;
	const char *found = NULL, *begun = beginning(word, words, count);

	for (size_t i = 0; i < count; i++) {
		unsigned d = distance(word, words[i]);

		if (d >= best)
			continue;
		best = d;
		found = words[i];
	}
	return begun && best > 1 ? begun : found;
}
