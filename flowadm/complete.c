/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What flowadm's options and operands may be, for shells: flows, attributes, properties. */
#include "flowadm/flowadm.h"
#include "lib/cli/words.h"
#include "lib/model/dscp.h"
#include "lib/model/flow.h"
#include "lib/model/flowprop.h"

#include <ctype.h>
#include <string.h>

#define DSCP_COUNT 64

void words_flows(struct words *w)
{
	words_rows(w, "ShowFlow", "flows", "flow");
}

/* Code points have names that are no list. */
static void values(const struct words *w, const char *possible)
{
	char name[DSCP_TEXT_MAX];

	if (strcmp(possible, DSCP_POSSIBLE) != 0) {
		words_possible(w, possible);
		return;
	}
	for (uint8_t dscp = 0; dscp < DSCP_COUNT; dscp++)
		if (isalpha((unsigned char)*dscp_str(dscp, name)))
			words_add(w, name, "");
}

/* The values of the attribute before the '=', or names with one. */
void words_attrs(struct words *w)
{
	const char *name;
	bool value;

	words_last_item(w);
	value = strchr(w->text, '=');
	for (size_t i = 0; (name = flow_attr_name(i)); i++) {
		if (!value && words_fresh(w, name))
			words_add(w, name, "=");
		if (value && words_value_of(w, name)) {
			values(w, flow_attr_possible(i));
			return;
		}
	}
}

static void prop_names(struct words *w, const char *end)
{
	for (int i = 0; i < FLOW_PROP_COUNT; i++)
		if (words_fresh(w, flow_prop_rows[i].name))
			words_add(w, flow_prop_rows[i].name, end);
}

void words_flow_props(struct words *w)
{
	words_last_item(w);
	if (!strchr(w->text, '=')) {
		prop_names(w, "=");
		return;
	}
	for (int i = 0; i < FLOW_PROP_COUNT; i++)
		if (words_value_of(w, flow_prop_rows[i].name)) {
			values(w, flow_prop_rows[i].possible);
			return;
		}
}

void words_flow_prop_names(struct words *w)
{
	words_last_item(w);
	prop_names(w, "");
}
