/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The functions behind vnicadm's verb table, one family of verbs a file. Each returns an exit status. */
#pragma once

#include "lib/cli/column.h"
#include "lib/cli/complete.h"
#include "lib/cli/verb.h"

/* create.c */
int create_vnic(struct cli *cli);
int create_etherstub(struct cli *cli);

/* delete.c */
int delete_vnic(struct cli *cli);
int delete_etherstub(struct cli *cli);

/* set.c */
int set_linkprop(struct cli *cli);
int rename_link(struct cli *cli);
int reset_linkprop(struct cli *cli);

/* complete.c */
words_fn words_phys, words_vnics, words_etherstubs, words_parents, words_ours, words_mac, words_vnic_props,
	words_etherstub_props, words_props, words_prop_names;

/* upkeep.c */
int reapply(struct cli *cli);
int reset_all(struct cli *cli);

/* show.c */
extern const struct column link_columns[], phys_columns[], vnic_columns[], etherstub_columns[],
	linkprop_columns[], link_stats_columns[];

int show_link(struct cli *cli);
int show_phys(struct cli *cli);
int show_vnic(struct cli *cli);
int show_etherstub(struct cli *cli);
int show_linkprop(struct cli *cli);
