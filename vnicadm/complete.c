/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What vnicadm's options and operands may be, for shells: links by their kind, properties, zones. */
#include "lib/cli/words.h"
#include "lib/model/prop.h"
#include "vnicadm/vnicadm.h"

#include <dirent.h>
#include <string.h>

void words_phys(struct words *w)
{
	words_rows(w, "ShowPhys", "phys", "link");
}

void words_vnics(struct words *w)
{
	words_rows(w, "ShowVnic", "vnics", "link");
}

void words_etherstubs(struct words *w)
{
	words_rows(w, "ShowEtherstub", "etherstubs", "link");
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

static void props(struct words *w, unsigned classes, const char *end)
{
	for (int i = 0; i < PROP_COUNT; i++)
		if (prop_rows[i].classes & classes && words_fresh(w, prop_rows[i].name))
			words_add(w, prop_rows[i].name, end);
}

/* The values of the property before the '=', or names with one. */
static void assignments(struct words *w, unsigned classes)
{
	words_last_item(w);
	if (!strchr(w->text, '=')) {
		props(w, classes, "=");
		return;
	}
	for (int i = 0; i < PROP_COUNT; i++) {
		if (!words_value_of(w, prop_rows[i].name))
			continue;
		if (i == PROP_ZONE)
			zones(w);
		else
			words_possible(w, prop_rows[i].possible);
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
