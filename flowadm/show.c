/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The show verbs and match-flow: which columns their rows have and what they ask for; printing is the
 * library's. */
#include "lib/cli/show.h"
#include "flowadm/flowadm.h"
#include "lib/cli/die.h"
#include "lib/cli/props.h"
#include "lib/cli/stats.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define REMAINDER "-" /* what no flow of a link takes */

const struct column flow_columns[] = {
	{.name = "FLOW"},
	{.name = "LINK"},
	{.name = "PROTO"},
	{.name = "LADDR"},
	{.name = "LPORT"},
	{.name = "RADDR"},
	{.name = "RPORT"},
	{.name = "DSFLD"},
	{.name = "DIRECTION", .when = COLUMN_REQUEST},
	{.name = "ATTRIBUTES", .when = COLUMN_REQUEST},
	{.name = "RANK", .when = COLUMN_REQUEST, .right = true},
	{.name = "BANDWIDTH", .when = COLUMN_REQUEST},
	{.name = "PRIORITY", .when = COLUMN_REQUEST},
	{.name = "STATE", .when = COLUMN_REQUEST},
	{.name = "WHY", .when = COLUMN_REQUEST},
	{0},
};

const struct column flow_stats_columns[] = {
	{.name = "FLOW", .width = 12},
	{.name = "IPACKETS", .right = true, .width = 10, .text = stats_packets},
	{.name = "RBYTES", .right = true, .width = 13, .text = stats_bytes, .raw = true},
	{.name = "IDROPS", .right = true, .width = 8, .text = stats_packets},
	{.name = "OPACKETS", .right = true, .width = 10, .text = stats_packets},
	{.name = "OBYTES", .right = true, .width = 13, .text = stats_bytes, .raw = true},
	{.name = "ODROPS", .right = true, .width = 8, .text = stats_packets},
	{.name = "FRAGMENTS", .when = COLUMN_REQUEST, .right = true, .width = 9, .text = stats_packets},
	{.name = "UNPARSED", .when = COLUMN_REQUEST, .right = true, .width = 8, .text = stats_packets},
	{.name = "LINK", .when = COLUMN_REQUEST, .width = 12},
	{.name = "SAMPLE", .when = COLUMN_REQUEST, .width = 6},
	{.name = "SECONDS", .when = COLUMN_REQUEST, .right = true, .width = 8},
	{.name = "TIME", .when = COLUMN_REQUEST, .right = true, .width = 16},
	{0},
};

const struct column flowprop_columns[] = {
	{.name = "FLOW"},
	{.name = "PROPERTY"},
	{.name = "PERM"},
	{.name = "VALUE"},
	{.name = "EFFECTIVE"},
	{.name = "DEFAULT"},
	{.name = "POSSIBLE"},
	{.name = "LINK", .when = COLUMN_REQUEST},
	{0},
};

const struct column match_columns[] = {
	{.name = "FLOW"},      {.name = "ATTRIBUTES"}, {.name = "RANK", .right = true},
	{.name = "DIRECTION"}, {.name = "VERDICT"},    {0},
};

/* A flow has a name that no other has, also when its link gets another one; each link has a remainder. */
static char *stats_key(const json_t *row)
{
	const char *flow = json_string_value(json_object_get(row, "flow"));
	const char *link = json_string_value(json_object_get(row, "link"));
	char *key;

	if (!flow || !link)
		return NULL;
	if (strcmp(flow, REMAINDER) != 0)
		return strdup(flow);
	return asprintf(&key, REMAINDER " %s", link) < 0 ? NULL : key;
}

static const struct stats_kind flow_stats = {
	.method = "ShowFlowStats", .columns = flow_stats_columns, .object = "flow", .key = stats_key};

static int show_stats(struct cli *cli)
{
	if (cli->nargs && cli->value['l'])
		return verb_usage(cli, "-s shows the flows of -l LINK or those named: leave out -l, or '%s'",
				  cli->args[0]);
	return stats_show(cli, &flow_stats);
}

int show_flow(struct cli *cli)
{
	int rc = stats_check(cli, "P");

	if (rc || cli->value['s'])
		return rc ? rc : show_stats(cli);
	return show_rows(cli, "ShowFlow", "flows",
			 json_pack("{s:s*, s:s*, s:o*}", "name", verb_first(cli), "link", cli->value['l'],
				   "persistent", verb_switch(cli, 'P')));
}

int show_flowprop(struct cli *cli)
{
	json_t *names;
	struct err e;

	if (props_names(cli->repeated['p'], &names, &e))
		return die(&e);
	return show_rows(cli, "ShowFlowprop", "props",
			 json_pack("{s:s*, s:s*, s:o*, s:o*}", "flow", verb_first(cli), "link",
				   cli->value['l'], "props", names, "persistent", verb_switch(cli, 'P')));
}

int match_flow(struct cli *cli)
{
	json_t *attrs;
	struct err e;

	if (!cli->nargs && !cli->repeated['a'])
		return verb_usage(cli, "ATTR=VAL[,...] is required");
	if (attrs_given(cli, cli->nargs, &attrs, &e))
		return die(&e);
	return show_rows(cli, "MatchFlow", "flows",
			 json_pack("{s:s, s:o}", "link", cli->value['l'], "attributes", attrs));
}
