/* SPDX-License-Identifier: GPL-2.0-or-later */
/* set-linkprop, reset-linkprop and rename-link: takes the list apart; which properties there are the daemon
 * knows. */
#include "lib/cli/die.h"
#include "lib/cli/props.h"
#include "vnicadm/vnicadm.h"

int set_linkprop(struct cli *cli)
{
	json_t *props;
	struct err e;

	if (props_parse(&props_p, cli->repeated['p'], &props, &e))
		return die(&e);
	return verb_do(cli, "SetLinkprop",
		       json_pack("{s:s, s:o*, s:o}", "link", cli->args[0], "temporary", verb_switch(cli, 't'),
				 "props", props));
}

int rename_link(struct cli *cli)
{
	return verb_do(cli, "RenameLink",
		       json_pack("{s:s, s:s}", "link", cli->args[0], "name", cli->args[1]));
}

int reset_linkprop(struct cli *cli)
{
	json_t *names;
	struct err e;

	if (props_names(cli->repeated['p'], &names, &e))
		return die(&e);
	return verb_do(cli, "ResetLinkprop",
		       json_pack("{s:s, s:o*, s:o*}", "link", cli->args[0], "temporary",
				 verb_switch(cli, 't'), "props", names));
}
