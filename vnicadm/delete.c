/* SPDX-License-Identifier: GPL-2.0-or-later */
/* delete-vnic and delete-etherstub: all names in one call, so that all go or none. */
#include "vnicadm/vnicadm.h"

static json_t *names(const struct cli *cli)
{
	json_t *array = json_array();

	for (int i = 0; i < cli->nargs; i++)
		json_array_append_new(array, json_string(cli->args[i]));
	return json_pack("{s:o}", "names", array);
}

int delete_vnic(struct cli *cli)
{
	return verb_do(cli, "DeleteVnic", names(cli));
}

int delete_etherstub(struct cli *cli)
{
	return verb_do(cli, "DeleteEtherstub", names(cli));
}
