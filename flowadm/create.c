/* SPDX-License-Identifier: GPL-2.0-or-later */
/* create-flow and delete-flow: the command line as a call; whether it can be done the daemon says. */
#include "flowadm/flowadm.h"
#include "lib/cli/die.h"
#include "lib/cli/props.h"

#include <string.h>

/* The last operand is the name, those before it are attributes; 0 when it can be so. */
static int check_name(const struct cli *cli)
{
	const char *name = cli->args[cli->nargs - 1];

	if (strchr(name, '='))
		return verb_usage(cli, "NAME is required, after the attributes");
	if (cli->nargs == 1 && !cli->repeated['a'])
		return verb_usage(cli, "ATTR=VAL[,...] is required, before the name");
	return 0;
}

int create_flow(struct cli *cli)
{
	json_t *attrs = NULL, *props = NULL;
	struct err e;
	int rc = check_name(cli);

	if (rc)
		return rc;
	rc = attrs_given(cli, cli->nargs - 1, &attrs, &e);
	if (!rc)
		rc = props_parse(&props_p, cli->repeated['p'], &props, &e);
	if (rc) {
		json_decref(attrs);
		return die(&e);
	}
	return verb_do(cli, "CreateFlow",
		       json_pack("{s:s, s:s, s:o, s:o*, s:o*}", "link", cli->value['l'], "name",
				 cli->args[cli->nargs - 1], "attributes", attrs, "temporary",
				 verb_switch(cli, 't'), "props", props));
}

int delete_flow(struct cli *cli)
{
	if (!cli->nargs && !cli->value['l'])
		return verb_usage(cli, "NAME is required, or -l LINK for all of a link");
	if (cli->nargs && cli->value['l'])
		return verb_usage(cli, "-l LINK deletes all flows of the link: leave it out, or '%s'",
				  cli->args[0]);
	return verb_do(cli, "DeleteFlow",
		       json_pack("{s:o*, s:s*}", "names", verb_names(cli), "link", cli->value['l']));
}
