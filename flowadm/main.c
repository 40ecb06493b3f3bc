/* SPDX-License-Identifier: GPL-2.0-or-later */
/* flowadm's table of contents: its verbs with their options and operands. Does nothing itself. */
#include "flowadm/flowadm.h"

#include "lib/cli/flags.h"

#define COUNT(a) (sizeof(a) / sizeof(*(a)))

#define FLAG_LINK(text)                                                                              \
	{                                                                                            \
		.letter = 'l', .name = "link", .value = "LINK", .help = (text), .words = words_links \
	}
#define FLAG_LINK_NEEDED                                                                            \
	{                                                                                           \
		.letter = 'l', .name = "link", .value = "LINK", .help = "the link", .needed = true, \
		.words = words_links                                                                \
	}
#define FLAG_ATTRS                                                                              \
	{                                                                                       \
		.letter = 'a', .name = "attr", .value = "ATTR=VAL[,...]",                       \
		.help = "attributes; -a can be left out", .repeats = true, .words = words_attrs \
	}

static const struct flag create_flags[] = {
	FLAG_LINK_NEEDED, FLAG_TEMPORARY, FLAG_ATTRS, FLAG_PROPS(words_flow_props), {0}};
static const struct flag delete_flags[] = {FLAG_LINK("all flows of this link"), {0}};
static const struct flag show_flags[] = {
	FLAG_PERSISTENT,
	FLAG_LINK("only flows of this link"),
	FLAG_STATS,
	FLAG_INTERVAL,
	FLAG_RATES,
	FLAG_FIELDS,
	FLAG_PARSABLE('p'),
	FLAG_JSON,
	{0},
};
static const struct flag set_flags[] = {
	FLAG_TEMPORARY, FLAG_LINK("the flow must be this link's"), FLAG_PROPS_NEEDED(words_flow_props), {0}};
static const struct flag reset_flags[] = {FLAG_TEMPORARY,
					  FLAG_LINK("the flow must be this link's"),
					  FLAG_PROP_NAMES(words_flow_prop_names),
					  {0}};
static const struct flag show_prop_flags[] = {
	FLAG_PERSISTENT,
	FLAG_LINK("only flows of this link"),
	FLAG_PROP_NAMES(words_flow_prop_names),
	FLAG_FIELDS,
	FLAG_PARSABLE('c'),
	FLAG_JSON,
	{0},
};
static const struct flag match_flags[] = {FLAG_LINK_NEEDED,   FLAG_ATTRS, FLAG_FIELDS,
					  FLAG_PARSABLE('p'), FLAG_JSON,  {0}};

/* The first one is what runs without operands. */
static const struct verb verbs[] = {
	{.name = "show-flow",
	 .usage = "[-P] [-l LINK] [-s [-i SECONDS [COUNT]] [-r]] [-o FIELD,...] [-p | -j] [NAME...]",
	 .help = "List flows, or their counters",
	 .flags = show_flags,
	 .operand = "NAME",
	 .most = -1,
	 .columns = flow_columns,
	 .stats = flow_stats_columns,
	 .words = words_flows,
	 .run = show_flow},
	{.name = "create-flow",
	 .alias = "add-flow",
	 .usage = "-l LINK [-t] [-a] ATTR=VAL[,...] [-p PROP=VAL[,...]]... NAME",
	 .help = "Make a flow of the packets of a link that have all the attributes",
	 .flags = create_flags,
	 .operand = "NAME",
	 .least = 1,
	 .most = -1,
	 .batch = true,
	 .words = words_attrs,
	 .run = create_flow},
	{.name = "delete-flow",
	 .alias = "remove-flow",
	 .usage = "{-l LINK | NAME...}",
	 .help = "Delete flows, or all of a link, all or none",
	 .flags = delete_flags,
	 .operand = "NAME",
	 .most = -1,
	 .batch = true,
	 .words = words_flows,
	 .run = delete_flow},
	{.name = "set-flowprop",
	 .usage = "[-t] [-l LINK] -p PROP=VAL[,...] [-p ...]... NAME",
	 .help = "Set properties of a flow, all or none",
	 .flags = set_flags,
	 .operand = "NAME",
	 .least = 1,
	 .most = 1,
	 .batch = true,
	 .words = words_flows,
	 .run = set_flowprop},
	{.name = "reset-flowprop",
	 .usage = "[-t] [-l LINK] [-p PROP[,...]]... NAME",
	 .help = "Take properties of a flow back to their defaults; without -p, all of them",
	 .flags = reset_flags,
	 .operand = "NAME",
	 .least = 1,
	 .most = 1,
	 .batch = true,
	 .words = words_flows,
	 .run = reset_flowprop},
	{.name = "show-flowprop",
	 .usage = "[-P] [-l LINK] [-p PROP[,...]]... [-o FIELD,...] [-c | -j] [NAME]",
	 .help = "List properties of flows",
	 .flags = show_prop_flags,
	 .operand = "NAME",
	 .most = 1,
	 .columns = flowprop_columns,
	 .words = words_flows,
	 .run = show_flowprop},
	{.name = "match-flow",
	 .usage = "-l LINK [-o FIELD,...] [-p | -j] [-a] ATTR=VAL[,...]",
	 .help = "List the flows that packets of these attributes may belong to, the one that wins first",
	 .flags = match_flags,
	 .operand = "ATTR=VAL",
	 .most = -1,
	 .columns = match_columns,
	 .words = words_attrs,
	 .run = match_flow},
};

int main(int argc, char **argv)
{
	return verb_main(verbs, COUNT(verbs),
			 "Manages flows, named classes of a link's traffic, through vnicd.", argc, argv);
}
