/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The functions behind flowadm's verb table, one family of verbs a file. Each returns an exit status. */
#pragma once

#include "lib/cli/column.h"
#include "lib/cli/complete.h"
#include "lib/cli/verb.h"

/* attrs.c */
/*
 * The attributes of -a and of the first n operands, which have "ATTR=VALUE[,...]" each, as on the wire; the
 * caller sees to there being some.
 */
int attrs_given(const struct cli *cli, int n, json_t **ret, struct err *e);

/* create.c */
int create_flow(struct cli *cli);
int delete_flow(struct cli *cli);

/* set.c */
int set_flowprop(struct cli *cli);
int reset_flowprop(struct cli *cli);

/* show.c */
extern const struct column flow_columns[], flow_stats_columns[], flowprop_columns[], match_columns[];

int show_flow(struct cli *cli);
int show_flowprop(struct cli *cli);
int match_flow(struct cli *cli);

/* complete.c */
words_fn words_flows, words_attrs, words_flow_props, words_flow_prop_names;
