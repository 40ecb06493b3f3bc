/* SPDX-License-Identifier: GPL-2.0-or-later */
/* set-flowprop and reset-flowprop: takes the list apart; which properties there are the daemon knows. */
#include "flowadm/flowadm.h"
#include "lib/cli/die.h"
#include "lib/cli/props.h"

/* Takes over props. */
static int change(const struct cli *cli, const char *method, json_t *props)
{
	return verb_do(cli, method,
		       json_pack("{s:s, s:s*, s:o*, s:o*}", "flow", cli->args[0], "link", cli->value['l'],
				 "temporary", verb_switch(cli, 't'), "props", props));
}

int set_flowprop(struct cli *cli)
{
	json_t *props;
	struct err e;

	if (props_parse(&props_p, cli->repeated['p'], &props, &e))
		return die(&e);
	return change(cli, "SetFlowprop", props);
}

int reset_flowprop(struct cli *cli)
{
	json_t *names;
	struct err e;

	if (props_names(cli->repeated['p'], &names, &e))
		return die(&e);
	return change(cli, "ResetFlowprop", names);
}
