/* SPDX-License-Identifier: GPL-2.0-or-later */
/* vnicadm's table of contents: its verbs with their options and operands. Does nothing itself. */
#include "vnicadm/vnicadm.h"

#define COUNT(a) (sizeof(a) / sizeof(*(a)))

#define FLAG_FIELDS                                                                                         \
	{                                                                                                   \
		.letter = 'o', .name = "output", .value = "FIELD[,...]", .help = "fields to print, or all", \
		.words = words_fields                                                                       \
	}
#define FLAG_JSON                                                   \
	{                                                           \
		.letter = 'j', .name = "json", .help = "print JSON" \
	}
/* -p as in dladm; -c where -p is the property list. */
#define FLAG_PARSABLE(c)                                                                       \
	{                                                                                      \
		.letter = (c), .name = "parsable", .help = "for scripts: FIELD:FIELD, with -o" \
	}
#define FLAG_PROPS(fn)                                                                              \
	{                                                                                           \
		.letter = 'p', .name = "prop", .value = "PROP=VAL[,...]", .help = "set a property", \
		.repeats = true, .words = (fn)                                                      \
	}

#define FLAG_TEMPORARY                                                                 \
	{                                                                              \
		.letter = 't', .name = "temporary", .help = "until the next boot only" \
	}
#define FLAG_PERSISTENT                                                                \
	{                                                                              \
		.letter = 'P', .name = "persistent", .help = "what is stored for good" \
	}

static const struct flag none[] = {{0}};

static const struct flag create_vnic_flags[] = {
	{.letter = 'l',
	 .name = "link",
	 .value = "LINK",
	 .help = "the link below",
	 .needed = true,
	 .words = words_parents},
	{.letter = 'd', .name = "down", .help = "leave the VNIC down"},
	FLAG_TEMPORARY,
	{.letter = 'm',
	 .name = "mac-address",
	 .value = "MAC",
	 .help = "auto, random or an address",
	 .words = words_mac},
	{.letter = 'r', .name = "mac-prefix", .value = "PREFIX", .help = "first bytes of a random address"},
	{.letter = 'v', .name = "vlan-id", .value = "VID", .help = "on the VLAN VID of that link, 1 to 4094"},
	FLAG_PROPS(words_vnic_props),
	{0},
};
static const struct flag create_etherstub_flags[] = {FLAG_TEMPORARY, FLAG_PROPS(words_etherstub_props), {0}};
static const struct flag show_flags[] = {FLAG_FIELDS, FLAG_PARSABLE('p'), FLAG_JSON, {0}};
static const struct flag show_stub_flags[] = {
	FLAG_PERSISTENT, FLAG_FIELDS, FLAG_PARSABLE('p'), FLAG_JSON, {0}};
static const struct flag show_link_flags[] = {
	FLAG_PERSISTENT,
	{.letter = 'a', .name = "all", .help = "vnicd's own ifb devices too"},
	{.letter = 's', .name = "statistics", .help = "print counters"},
	{.letter = 'i',
	 .name = "interval",
	 .value = "SECONDS",
	 .help = "with -s: again every SECONDS, COUNT times",
	 .count = true},
	{.letter = 'r', .name = "rates", .help = "with -s -i: what happens in a second, not in an interval"},
	FLAG_FIELDS,
	FLAG_PARSABLE('p'),
	FLAG_JSON,
	{0},
};
static const struct flag show_vnic_flags[] = {
	FLAG_PERSISTENT,
	{.letter = 'l',
	 .name = "link",
	 .value = "LINK",
	 .help = "only VNICs over this link",
	 .words = words_parents},
	FLAG_FIELDS,
	FLAG_PARSABLE('p'),
	FLAG_JSON,
	{0},
};
static const struct flag set_flags[] = {
	FLAG_TEMPORARY,
	{.letter = 'p',
	 .name = "prop",
	 .value = "PROP=VAL[,...]",
	 .help = "the properties",
	 .words = words_props,
	 .repeats = true,
	 .needed = true},
	{0},
};
static const struct flag reset_flags[] = {
	FLAG_TEMPORARY,
	{.letter = 'p',
	 .name = "prop",
	 .value = "PROP[,...]",
	 .help = "only these",
	 .repeats = true,
	 .words = words_prop_names},
	{0},
};
static const struct flag show_linkprop_flags[] = {
	FLAG_PERSISTENT,
	{.letter = 'p',
	 .name = "prop",
	 .value = "PROP[,...]",
	 .help = "only these",
	 .repeats = true,
	 .words = words_prop_names},
	FLAG_FIELDS,
	FLAG_PARSABLE('c'),
	FLAG_JSON,
	{0},
};

static const struct flag reset_all_flags[] = {{.letter = 'y', .name = "yes", .help = "do not ask"}, {0}};

/* The first one is what runs without operands. */
static const struct verb verbs[] = {
	{.name = "show-link",
	 .usage = "[-a | -P] [-s [-i SECONDS [COUNT]] [-r]] [-o FIELD,...] [-p | -j] [LINK...]",
	 .help = "List links, or their counters",
	 .flags = show_link_flags,
	 .operand = "LINK",
	 .most = -1,
	 .columns = link_columns,
	 .words = words_links,
	 .run = show_link},
	{.name = "show-phys",
	 .usage = "[-o FIELD,...] [-p | -j] [LINK]",
	 .help = "List the links that VNICs can be made over",
	 .flags = show_flags,
	 .operand = "LINK",
	 .most = 1,
	 .columns = phys_columns,
	 .words = words_phys,
	 .run = show_phys},
	{.name = "create-vnic",
	 .usage = "-l LINK [-d] [-t] [-m auto|random|MAC] [-r PREFIX] [-v VID] [-p PROP=VAL[,...]]... [NAME]",
	 .help = "Make a VNIC over a link or etherstub; without NAME, take the next free vnicN and print it",
	 .flags = create_vnic_flags,
	 .operand = "NAME",
	 .most = 1,
	 .batch = true,
	 .run = create_vnic},
	{.name = "delete-vnic",
	 .usage = "NAME...",
	 .help = "Delete VNICs, all or none",
	 .flags = none,
	 .operand = "NAME",
	 .least = 1,
	 .most = -1,
	 .batch = true,
	 .words = words_vnics,
	 .run = delete_vnic},
	{.name = "show-vnic",
	 .usage = "[-P] [-l LINK] [-o FIELD,...] [-p | -j] [NAME]",
	 .help = "List VNICs",
	 .flags = show_vnic_flags,
	 .operand = "NAME",
	 .most = 1,
	 .columns = vnic_columns,
	 .words = words_vnics,
	 .run = show_vnic},
	{.name = "create-etherstub",
	 .usage = "[-t] [-p PROP=VAL[,...]]... NAME",
	 .help = "Make an etherstub: a virtual switch without an uplink",
	 .flags = create_etherstub_flags,
	 .operand = "NAME",
	 .least = 1,
	 .most = 1,
	 .batch = true,
	 .run = create_etherstub},
	{.name = "delete-etherstub",
	 .usage = "NAME...",
	 .help = "Delete etherstubs that have no VNICs, all or none",
	 .flags = none,
	 .operand = "NAME",
	 .least = 1,
	 .most = -1,
	 .batch = true,
	 .words = words_etherstubs,
	 .run = delete_etherstub},
	{.name = "show-etherstub",
	 .usage = "[-P] [-o FIELD,...] [-p | -j] [NAME]",
	 .help = "List etherstubs",
	 .flags = show_stub_flags,
	 .operand = "NAME",
	 .most = 1,
	 .columns = etherstub_columns,
	 .words = words_etherstubs,
	 .run = show_etherstub},
	{.name = "rename-link",
	 .usage = "LINK NAME",
	 .help = "Give a VNIC or etherstub another name",
	 .flags = none,
	 .operand = "LINK NAME",
	 .least = 2,
	 .most = 2,
	 .batch = true,
	 .words = words_ours,
	 .run = rename_link},
	{.name = "set-linkprop",
	 .usage = "[-t] -p PROP=VAL[,...] [-p ...]... LINK",
	 .help = "Set properties of a link, all or none",
	 .flags = set_flags,
	 .operand = "LINK",
	 .least = 1,
	 .most = 1,
	 .batch = true,
	 .words = words_ours,
	 .run = set_linkprop},
	{.name = "reset-linkprop",
	 .usage = "[-t] [-p PROP[,...]]... LINK",
	 .help = "Take properties of a link back to their defaults; without -p, all of them",
	 .flags = reset_flags,
	 .operand = "LINK",
	 .least = 1,
	 .most = 1,
	 .batch = true,
	 .words = words_ours,
	 .run = reset_linkprop},
	{.name = "show-linkprop",
	 .usage = "[-P] [-p PROP[,...]]... [-o FIELD,...] [-c | -j] [LINK]",
	 .help = "List properties of links",
	 .flags = show_linkprop_flags,
	 .operand = "LINK",
	 .most = 1,
	 .columns = linkprop_columns,
	 .words = words_links,
	 .run = show_linkprop},
	{.name = "reapply",
	 .usage = "[LINK]",
	 .help = "Put a link of vnicd's right at once, or all of them, whoever changed it how often",
	 .flags = none,
	 .operand = "LINK",
	 .most = 1,
	 .changes = true,
	 .words = words_ours,
	 .run = reapply},
	{.name = "reset",
	 .usage = "[-y]",
	 .help = "Delete everything that vnicd made; asks before",
	 .flags = reset_all_flags,
	 .changes = true,
	 .run = reset_all},
};

int main(int argc, char **argv)
{
	return verb_main(verbs, COUNT(verbs), "Manages VNICs and etherstubs through vnicd.", argc, argv);
}
