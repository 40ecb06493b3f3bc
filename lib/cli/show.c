/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Chooses the fields by the options, asks, and prints the rows; knows no verb and no row. */
#include "lib/cli/show.h"

#include "lib/cli/die.h"

#include <stdio.h>
#include <strings.h>

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

int show_rows(const struct cli *cli, const char *method, const char *rows, json_t *params)
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
