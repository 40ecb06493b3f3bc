/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Asks the environment, in test builds only; keeps nothing. */
#include "lib/base/disable.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#ifdef VNICD_TEST
bool disabled(const char *word)
{
	const char *list = getenv("VNICD_DISABLE");
	size_t len = strlen(word);

	while (list && *list) {
		size_t n = strcspn(list, ",");

		if (n == len && !memcmp(list, word, len))
			return true;
		list += n + (list[n] == ',');
	}
	return false;
}
#else
bool disabled(const char *word)
{
	(void)word;
	return false;
}
#endif
