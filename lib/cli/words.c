/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Offers rows' names, fields and values for any command; knows no property and no attribute. */
#include "lib/cli/words.h"

#include "lib/cli/column.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

void words_rows(const struct words *w, const char *method, const char *rows, const char *field)
{
	struct err e;
	json_t *reply, *row;
	size_t i;

	if (verb_call(w->cli, method, json_object(), &reply, &e))
		return;
	json_array_foreach (json_object_get(reply, rows), i, row) {
		const char *name = json_string_value(json_object_get(row, field));

		if (name)
			words_add(w, name, "");
	}
	json_decref(reply);
}

void words_links(struct words *w)
{
	words_rows(w, "ShowLink", "links", "link");
}

void words_fields(struct words *w)
{
	const struct verb *verb = w->cli->verb;
	const struct column *col = w->cli->value['s'] && verb->stats ? verb->stats : verb->columns;
	char name[32];

	words_last_item(w);
	for (; col && col->name; col++) {
		size_t i = 0;

		for (; col->name[i] && i + 1 < sizeof(name); i++)
			name[i] = (char)tolower((unsigned char)col->name[i]);
		name[i] = '\0';
		if (words_fresh(w, name))
			words_add(w, name, "");
	}
	if (!memchr(w->before, ',', (size_t)w->before_len))
		words_add(w, "all", "");
}

void words_possible(const struct words *w, const char *possible)
{
	while (*possible) {
		size_t len = strcspn(possible, ",");
		char word[32];

		snprintf(word, sizeof(word), "%.*s", (int)len, possible);
		if (islower((unsigned char)word[0]) &&
		    !word[strspn(word, "abcdefghijklmnopqrstuvwxyz0123456789")])
			words_add(w, word, "");
		possible += len + (possible[len] == ',');
	}
}

bool words_value_of(struct words *w, const char *name)
{
	size_t len = strlen(name);

	if (strncmp(w->text, name, len) != 0 || w->text[len] != '=')
		return false;
	w->before_len += (int)len + 1;
	w->text += len + 1;
	return true;
}
