/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The show verbs: which columns their rows have and what they ask for; counters are in stats.c. */
#include "lib/cli/die.h"
#include "lib/cli/props.h"
#include "vnicadm/vnicadm.h"

#include <stdio.h>
#include <strings.h>

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

/* -p, or -c where -p is the property list; 0 when neither was given. */
static char parsable_flag(const struct cli *cli)
{
	return cli->value['c'] ? 'c' : cli->value['p'] ? 'p' : '\0';
}

/* A script that does not name its fields would break when there are more of them. */
static int check_parsable(const struct cli *cli, char flag)
{
	const char *fields = cli->value['o'];

	if (cli->value['j'])
		return verb_usage(cli, "-j cannot be used with -%c", flag);
	if (!fields)
		return verb_usage(cli, "-%c needs -o FIELD[,...]: name the fields", flag);
	if (!strcasecmp(fields, "all"))
		return verb_usage(cli, "-o all cannot be used with -%c: name the fields", flag);
	return 0;
}

int show_choose(const struct cli *cli, const struct column *table, struct columns *ret)
{
	const char *fields = cli->value['o'];
	char flag = parsable_flag(cli);
	struct err e;
	int rc = flag ? check_parsable(cli, flag) : 0;

	if (rc)
		return rc;
	rc = flag ? columns_choose_parsable(table, fields, ret, &e)
		  : columns_choose(table, fields, cli->value['j'], ret, &e);
	return rc ? die(&e) : 0;
}

/* Asks and prints: the part all shows share. rows: where the rows are in the reply. Takes over params. */
static int show(const struct cli *cli, const char *method, const char *rows, json_t *params)
{
	struct columns columns;
	struct err e;
	json_t *reply;
	int rc = show_choose(cli, cli->verb->columns, &columns);

	if (rc) {
		json_decref(params);
		return rc;
	}
	if (verb_call(cli, method, params, &reply, &e))
		return die(&e);
	rc = columns_print(&columns, json_object_get(reply, rows), stdout, &e);
	die_notes(reply);
	json_decref(reply);
	return rc ? die(&e) : 0;
}

static const char *operand(const struct cli *cli)
{
	return cli->nargs ? cli->args[0] : NULL;
}

/* What only counters know: -i and -r go with -s, many links too; -a does not. */
static int check_stats(const struct cli *cli)
{
	if (!cli->value['s'] && cli->value['i'])
		return verb_usage(cli, "-i needs -s");
	if (!cli->value['s'] && cli->value['r'])
		return verb_usage(cli, "-r needs -s");
	if (!cli->value['s'] && cli->nargs > 1)
		return verb_usage(cli, "unexpected operand '%s'", cli->args[1]);
	if (cli->value['s'] && (cli->value['a'] || cli->value['P']))
		return verb_usage(cli, "-%c cannot be used with -s", cli->value['a'] ? 'a' : 'P');
	if (cli->value['P'] && cli->value['a'])
		return verb_usage(cli, "-a cannot be used with -P");
	return 0;
}

int show_link(struct cli *cli)
{
	int rc = check_stats(cli);

	if (rc || cli->value['s'])
		return rc ? rc : show_stats(cli);
	return show(cli, "ShowLink", "links",
		    json_pack("{s:s*, s:o*, s:o*}", "name", operand(cli), "all", given(cli, 'a'),
			      "persistent", given(cli, 'P')));
}

int show_phys(struct cli *cli)
{
	return show(cli, "ShowPhys", "phys", json_pack("{s:s*}", "name", operand(cli)));
}

int show_vnic(struct cli *cli)
{
	return show(cli, "ShowVnic", "vnics",
		    json_pack("{s:s*, s:s*, s:o*}", "name", operand(cli), "link", cli->value['l'],
			      "persistent", given(cli, 'P')));
}

int show_etherstub(struct cli *cli)
{
	return show(cli, "ShowEtherstub", "etherstubs",
		    json_pack("{s:s*, s:o*}", "name", operand(cli), "persistent", given(cli, 'P')));
}

int show_linkprop(struct cli *cli)
{
	json_t *names;
	struct err e;

	if (props_names(cli->repeated['p'], &names, &e))
		return die(&e);
	return show(cli, "ShowLinkprop", "props",
		    json_pack("{s:s*, s:o*, s:o*}", "link", operand(cli), "props", names, "persistent",
			      given(cli, 'P')));
}
