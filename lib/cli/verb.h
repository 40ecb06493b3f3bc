/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What every command has in common: a table of verbs, their options and operands, help and usage errors. A
 * verb's function runs only when its command line is whole.
 */
#pragma once

#include "lib/base/err.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

struct cli;
struct words;

/* Offers what may stand somewhere on an unfinished command line, see complete.h. */
typedef void words_fn(struct words *w);

/*
 * One option of a verb. In no table are -h, --help, which is everywhere, and --dry-run, which is at every
 * verb that changes something.
 */
struct flag {
	char letter;
	const char *name;  /* long option */
	const char *value; /* what it takes, NULL for a switch */
	const char *help;
	bool repeats;    /* may come more than once; the values are gathered */
	bool needed;     /* the verb cannot do without */
	words_fn *words; /* what its value may be; NULL: cannot be told */
	bool count;      /* an operand of digits right after the value belongs to it */
};

struct column;

struct verb {
	const char *name;
	const char *alias;            /* another word for the same, or NULL */
	const char *usage;            /* the line after the name */
	const char *help;             /* one line */
	const struct flag *flags;     /* ended by letter 0 */
	const struct column *columns; /* of what a show verb prints, NULL: it prints none */
	const struct column *stats;   /* with -s instead */
	const char *operand;          /* what they are, for messages: a word for each; NULL: takes none */
	int least, most;              /* how many operands; most -1: any number */
	words_fn *words;              /* what the operands may be; NULL: cannot be told */
	bool batch;                   /* may be a line of a batch */
	bool changes;                 /* changes something; what may be in a batch does, too */
	int (*run)(struct cli *cli);  /* exit status */
};

/* Is it called so? */
static inline bool verb_is(const struct verb *verb, const char *name)
{
	return !strcmp(verb->name, name) || (verb->alias && !strcmp(verb->alias, name));
}

static inline bool verb_changes(const struct verb *verb)
{
	return verb->changes || verb->batch;
}

struct cli {
	const struct verb *verb;
	const char *socket; /* --socket, or NULL */
	const char *file;   /* -b, or NULL */
	bool dry;           /* --dry-run: calls only ask what would be done, and that is printed */
	json_t *batch;      /* where calls are gathered that are made as one; NULL: they are made at once */
	unsigned line;      /* of the file */
	const char *value[128]; /* by option letter: NULL not given, "" for a switch */
	json_t *repeated[128];  /* by option letter: array of strings, or NULL */
	const char *count;      /* the operand that belongs to a flag with count, or NULL */
	int nargs;
	char **args; /* operands */
};

/* A switch as a parameter of a call: true, or NULL when it was not given. */
static inline json_t *verb_switch(const struct cli *cli, char letter)
{
	return cli->value[(unsigned char)letter] ? json_true() : NULL;
}

/* The first operand, or NULL; all of them as an array, NULL when there are none. */
static inline const char *verb_first(const struct cli *cli)
{
	return cli->nargs ? cli->args[0] : NULL;
}
json_t *verb_names(const struct cli *cli);

/*
 * The whole of main: global options, the verb (the first one where none is given), its options, its function.
 * about: what the program is, one line of its help.
 */
int verb_main(const struct verb *verbs, size_t n, const char *about, int argc, char **argv);

/* Prints "PROGRAM: text" and the usage line of the verb; returns the exit status. */
int verb_usage(const struct cli *cli, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/*
 * One call over a connection of its own; takes over params. *ret: the reply (caller json_decref). In a batch
 * the call is only noted, and the reply is empty. In a dry run what would be done is printed.
 */
int verb_call(const struct cli *cli, const char *method, json_t *params, json_t **ret, struct err *e);

/* A call whose reply is only notes: prints them, or the error; returns the exit status. */
int verb_do(const struct cli *cli, const char *method, json_t *params);
