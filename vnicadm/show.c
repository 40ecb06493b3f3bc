/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The show verbs: which columns their rows have and what they ask for; printing is the library's. */
#include "lib/cli/show.h"
#include "lib/cli/die.h"
#include "lib/cli/props.h"
#include "lib/cli/stats.h"
#include "vnicadm/vnicadm.h"

#include <string.h>

const struct column link_columns[] = {
	{.name = "LINK"},
	{.name = "CLASS"},
	{.name = "MTU", .right = true},
	{.name = "STATE"},
	{.name = "OVER"},
	{.name = "ZONE", .when = COLUMN_REQUEST},
	{.name = "IFINDEX", .when = COLUMN_REQUEST, .right = true},
	{.name = "KIND", .when = COLUMN_REQUEST},
	{.name = "MACVALUE", .when = COLUMN_REQUEST},
	{.name = "WHY", .when = COLUMN_REQUEST},
	{.name = "MACADDRESS", .key = "macvalue", .when = COLUMN_ALIAS},
	{0},
};

const struct column phys_columns[] = {
	{.name = "LINK"},
	{.name = "MEDIA"},
	{.name = "STATE"},
	{.name = "SPEED", .right = true, .text = column_mbit},
	{.name = "DUPLEX"},
	{.name = "DEVICE"},
	{0},
};

/* The last three are dladm's words. */
const struct column vnic_columns[] = {
	{.name = "LINK"},
	{.name = "OVER"},
	{.name = "MACTYPE"},
	{.name = "MACVALUE"},
	{.name = "BANDWIDTH"},
	{.name = "CPUS"},
	{.name = "SPEED", .when = COLUMN_REQUEST, .right = true, .text = column_mbit},
	{.name = "MTU", .when = COLUMN_REQUEST, .right = true},
	{.name = "ZONE", .when = COLUMN_REQUEST},
	{.name = "STATE", .when = COLUMN_REQUEST},
	{.name = "IFINDEX", .when = COLUMN_REQUEST, .right = true},
	{.name = "ENFORCER", .when = COLUMN_REQUEST},
	{.name = "MAXBW_RX", .when = COLUMN_REQUEST, .right = true},
	{.name = "MAXBW_TX", .when = COLUMN_REQUEST, .right = true},
	{.name = "VID", .when = COLUMN_REQUEST, .right = true},
	{.name = "WHY", .when = COLUMN_REQUEST},
	{.name = "MACADDRESS", .key = "macvalue", .when = COLUMN_ALIAS},
	{.name = "MACADDRTYPE", .key = "mactype", .when = COLUMN_ALIAS},
	{0},
};

const struct column etherstub_columns[] = {
	{.name = "LINK"},
	{.name = "MTU", .when = COLUMN_REQUEST, .right = true},
	{.name = "STATE", .when = COLUMN_REQUEST},
	{.name = "VNICS", .when = COLUMN_REQUEST},
	{0},
};

const struct column linkprop_columns[] = {
	{.name = "LINK"},      {.name = "PROPERTY"}, {.name = "PERM"},     {.name = "VALUE"},
	{.name = "EFFECTIVE"}, {.name = "DEFAULT"},  {.name = "POSSIBLE"}, {0},
};

const struct column link_stats_columns[] = {
	{.name = "LINK", .width = 12},
	{.name = "IPACKETS", .right = true, .width = 10, .text = stats_packets},
	{.name = "RBYTES", .right = true, .width = 13, .text = stats_bytes, .raw = true},
	{.name = "IERRORS", .right = true, .width = 7, .text = stats_packets},
	{.name = "IDROPS", .right = true, .width = 8, .text = stats_packets},
	{.name = "OPACKETS", .right = true, .width = 10, .text = stats_packets},
	{.name = "OBYTES", .right = true, .width = 13, .text = stats_bytes, .raw = true},
	{.name = "OERRORS", .right = true, .width = 7, .text = stats_packets},
	{.name = "ODROPS", .right = true, .width = 8, .text = stats_packets},
	{.name = "SAMPLE", .when = COLUMN_REQUEST, .width = 6},
	{.name = "SECONDS", .when = COLUMN_REQUEST, .right = true, .width = 8},
	{.name = "TIME", .when = COLUMN_REQUEST, .right = true, .width = 16},
	{0},
};

static char *stats_key(const json_t *row)
{
	const char *link = json_string_value(json_object_get(row, "link"));

	return link ? strdup(link) : NULL;
}

static const struct stats_kind link_stats = {
	.method = "ShowStats", .columns = link_stats_columns, .object = "link", .key = stats_key};

int show_link(struct cli *cli)
{
	int rc = stats_check(cli, "aP");

	if (rc || cli->value['s'])
		return rc ? rc : stats_show(cli, &link_stats);
	if (cli->value['P'] && cli->value['a'])
		return verb_usage(cli, "-a cannot be used with -P");
	return show_rows(cli, "ShowLink", "links",
			 json_pack("{s:s*, s:o*, s:o*}", "name", verb_first(cli), "all",
				   verb_switch(cli, 'a'), "persistent", verb_switch(cli, 'P')));
}

int show_phys(struct cli *cli)
{
	return show_rows(cli, "ShowPhys", "phys", json_pack("{s:s*}", "name", verb_first(cli)));
}

int show_vnic(struct cli *cli)
{
	return show_rows(cli, "ShowVnic", "vnics",
			 json_pack("{s:s*, s:s*, s:o*}", "name", verb_first(cli), "link", cli->value['l'],
				   "persistent", verb_switch(cli, 'P')));
}

int show_etherstub(struct cli *cli)
{
	return show_rows(
		cli, "ShowEtherstub", "etherstubs",
		json_pack("{s:s*, s:o*}", "name", verb_first(cli), "persistent", verb_switch(cli, 'P')));
}

int show_linkprop(struct cli *cli)
{
	json_t *names;
	struct err e;

	if (props_names(cli->repeated['p'], &names, &e))
		return die(&e);
	return show_rows(cli, "ShowLinkprop", "props",
			 json_pack("{s:s*, s:o*, s:o*}", "link", verb_first(cli), "props", names,
				   "persistent", verb_switch(cli, 'P')));
}
