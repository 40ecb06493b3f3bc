/* SPDX-License-Identifier: GPL-2.0-or-later */
/* create-vnic and create-etherstub: the command line as a call; whether it can be done the daemon says. */
#include "lib/cli/die.h"
#include "lib/cli/props.h"
#include "vnicadm/vnicadm.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <strings.h>

/* -v: NULL without it. False when it is no number; whether it is a VLAN's the daemon says. */
static bool given_vid(const struct cli *cli, json_t **ret)
{
	const char *text = cli->value['v'];
	char *end = NULL;
	long vid;

	*ret = NULL;
	if (!text)
		return true;
	errno = 0;
	vid = strtol(text, &end, 10);
	if (!isdigit((unsigned char)text[0]) || *end || errno)
		return false;
	*ret = json_integer(vid);
	return true;
}

static json_t *vnic_params(const struct cli *cli, json_t *vid, json_t *props)
{
	return json_pack("{s:s, s:s*, s:s*, s:s*, s:o*, s:o*, s:o*, s:o*}", "link", cli->value['l'], "name",
			 verb_first(cli), "mac", cli->value['m'], "prefix", cli->value['r'], "vid", vid,
			 "down", verb_switch(cli, 'd'), "temporary", verb_switch(cli, 't'), "props", props);
}

static bool fixed_mac(const char *mac)
{
	return mac && strcasecmp(mac, "auto") && strcasecmp(mac, "random");
}

int create_vnic(struct cli *cli)
{
	json_t *props, *vid, *reply;
	struct err e;

	if (!given_vid(cli, &vid))
		return verb_usage(cli, "-v %s is not a VLAN's number: give 1 to 4094", cli->value['v']);
	if (cli->value['r'] && fixed_mac(cli->value['m']))
		return verb_usage(cli, "-r PREFIX is for random addresses: leave it out with -m %s",
				  cli->value['m']);
	if (props_parse(&props_p, cli->repeated['p'], &props, &e))
		return die(&e);
	if (verb_call(cli, "CreateVnic", vnic_params(cli, vid, props), &reply, &e))
		return die(&e);
	if (!cli->nargs && !cli->batch && !cli->dry)
		printf("%s\n", json_string_value(json_object_get(reply, "name")));
	die_notes(reply);
	json_decref(reply);
	return 0;
}

int create_etherstub(struct cli *cli)
{
	json_t *props;
	struct err e;

	if (props_parse(&props_p, cli->repeated['p'], &props, &e))
		return die(&e);
	return verb_do(cli, "CreateEtherstub",
		       json_pack("{s:s, s:o*, s:o*}", "name", cli->args[0], "temporary",
				 verb_switch(cli, 't'), "props", props));
}
