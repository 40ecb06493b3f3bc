/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Rows of options that mean the same in every command. Data only. */
#pragma once

#include "lib/cli/verb.h"
#include "lib/cli/words.h"

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
/* Properties with values, at a create and at a set verb; names of properties. */
#define FLAG_PROPS(fn)                                                                              \
	{                                                                                           \
		.letter = 'p', .name = "prop", .value = "PROP=VAL[,...]", .help = "set a property", \
		.repeats = true, .words = (fn)                                                      \
	}
#define FLAG_PROPS_NEEDED(fn)                                                                       \
	{                                                                                           \
		.letter = 'p', .name = "prop", .value = "PROP=VAL[,...]", .help = "the properties", \
		.repeats = true, .needed = true, .words = (fn)                                      \
	}
#define FLAG_PROP_NAMES(fn)                                                                                  \
	{                                                                                                    \
		.letter = 'p', .name = "prop", .value = "PROP[,...]", .help = "only these", .repeats = true, \
		.words = (fn)                                                                                \
	}
#define FLAG_TEMPORARY                                                                 \
	{                                                                              \
		.letter = 't', .name = "temporary", .help = "until the next boot only" \
	}
#define FLAG_PERSISTENT                                                                \
	{                                                                              \
		.letter = 'P', .name = "persistent", .help = "what is stored for good" \
	}
/* See stats.h. */
#define FLAG_STATS                                                            \
	{                                                                     \
		.letter = 's', .name = "statistics", .help = "print counters" \
	}
#define FLAG_INTERVAL                                                              \
	{                                                                          \
		.letter = 'i', .name = "interval", .value = "SECONDS",             \
		.help = "with -s: again every SECONDS, COUNT times", .count = true \
	}
#define FLAG_RATES                                                                 \
	{                                                                          \
		.letter = 'r', .name = "rates",                                    \
		.help = "with -s -i: what happens in a second, not in an interval" \
	}
