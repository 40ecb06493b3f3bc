/* SPDX-License-Identifier: GPL-2.0-or-later */
/* delete-vnic and delete-etherstub: all names in one call, so that all go or none. */
#include "vnicadm/vnicadm.h"

static json_t *names(const struct cli *cli)
{
	return json_pack("{s:o}", "names", verb_names(cli));
}

int delete_vnic(struct cli *cli)
{
	return verb_do(cli, "DeleteVnic", names(cli));
}

int delete_etherstub(struct cli *cli)
{
	return verb_do(cli, "DeleteEtherstub", names(cli));
}
