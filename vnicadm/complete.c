/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What vnicadm's options and operands may be, for shells: links by their kind, fields, properties. Silent
 * where the daemon cannot be asked. */
#include "lib/model/prop.h"
#include "vnicadm/vnicadm.h"

#include <ctype.h>
#include <dirent.h>
#include <stdio.h>
#include <string.h>

/* The names in the rows of a show method. */
static void names(const struct words *w, const char *method, const char *rows)
{
	struct err e;
	json_t *reply, *row;
	size_t i;

	if (verb_call(w->cli, method, json_object(), &reply, &e))
		return;
	json_array_foreach (json_object_get(reply, rows), i, row) {
		const char *name = json_string_value(json_object_get(row, "link"));

		if (name)
			words_add(w, name, "");
	}
	json_decref(reply);
}

void words_links(struct words *w)
{
	names(w, "ShowLink", "links");
}

void words_phys(struct words *w)
{
	names(w, "ShowPhys", "phys");
}

void words_vnics(struct words *w)
{
	names(w, "ShowVnic", "vnics");
}

void words_etherstubs(struct words *w)
{
	names(w, "ShowEtherstub", "etherstubs");
}

void words_parents(struct words *w)
{
	words_phys(w);
	words_etherstubs(w);
}

/* The second operand of rename-link is a new name. */
void words_ours(struct words *w)
{
	if (w->cli->nargs)
		return;
	words_vnics(w);
	words_etherstubs(w);
}

void words_mac(struct words *w)
{
	words_add(w, "auto", "");
	words_add(w, "random", "");
}

void words_fields(struct words *w)
{
	const struct column *col = w->cli->value['s'] ? stats_columns : w->cli->verb->columns;
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

static void zones(const struct words *w)
{
	DIR *dir = opendir("/run/netns");
	struct dirent *entry;

	while (dir && (entry = readdir(dir)))
		if (entry->d_name[0] != '.')
			words_add(w, entry->d_name, "");
	if (dir)
		closedir(dir);
}

/* Of "64K-400G,1%-100%,none,blocked" the words, not the ranges. */
static void values(const struct words *w, const char *possible)
{
	while (*possible) {
		size_t len = strcspn(possible, ",");
		char word[32];

		snprintf(word, sizeof(word), "%.*s", (int)len, possible);
		if (!word[strspn(word, "abcdefghijklmnopqrstuvwxyz")])
			words_add(w, word, "");
		possible += len + (possible[len] == ',');
	}
}

static void props(struct words *w, unsigned classes, const char *end)
{
	for (int i = 0; i < PROP_COUNT; i++)
		if (prop_rows[i].classes & classes && words_fresh(w, prop_rows[i].name))
			words_add(w, prop_rows[i].name, end);
}

/* The values of the property before the '=', or names with one. */
static void assignments(struct words *w, unsigned classes)
{
	const char *equals;

	words_last_item(w);
	equals = strchr(w->text, '=');
	if (!equals) {
		props(w, classes, "=");
		return;
	}
	for (int i = 0; i < PROP_COUNT; i++) {
		size_t len = (size_t)(equals - w->text);

		if (strncmp(prop_rows[i].name, w->text, len) != 0 || prop_rows[i].name[len])
			continue;
		w->before_len += (int)len + 1;
		w->text = equals + 1;
		if (i == PROP_ZONE)
			zones(w);
		else
			values(w, prop_rows[i].possible);
		return;
	}
}

#define VNICS      (1u << CLASS_VNIC)
#define ETHERSTUBS (1u << CLASS_ETHERSTUB)

void words_vnic_props(struct words *w)
{
	assignments(w, VNICS);
}

void words_etherstub_props(struct words *w)
{
	assignments(w, ETHERSTUBS);
}

void words_props(struct words *w)
{
	assignments(w, VNICS | ETHERSTUBS);
}

void words_prop_names(struct words *w)
{
	words_last_item(w);
	props(w, VNICS | ETHERSTUBS, "");
}
