/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Reads whole numbers, decimal and hexadecimal; never takes a part of a word for one. */
#include "lib/model/number.h"

#include <ctype.h>
#include <stddef.h>

static unsigned digit_of(char c)
{
	if (isdigit((unsigned char)c))
		return (unsigned)(c - '0');
	return isxdigit((unsigned char)c) ? (unsigned)(tolower((unsigned char)c) - 'a') + 10 : 16;
}

const char *number_read(const char *text, uint32_t *ret)
{
	unsigned base = text[0] == '0' && (text[1] == 'x' || text[1] == 'X') ? 16 : 10;
	const char *s = base == 16 ? text + 2 : text, *first = s;
	uint64_t n = 0;

	for (; digit_of(*s) < base; s++) {
		n = n * base + digit_of(*s);
		if (n > UINT32_MAX)
			n = UINT32_MAX;
	}
	if (s == first)
		return NULL;
	*ret = (uint32_t)n;
	return s;
}

bool number_parse(const char *text, uint32_t least, uint32_t most, uint32_t *ret)
{
	uint32_t n;
	const char *end = number_read(text, &n);

	if (!end || *end || n < least || n > most)
		return false;
	*ret = n;
	return true;
}
