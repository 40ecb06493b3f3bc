/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Finds the verb, reads its options by its table, prints help and usage errors; knows no verb itself. */
#include "lib/cli/verb.h"
#include "lib/base/nearest.h"
#include "lib/cli/complete.h"
#include "lib/cli/die.h"
#include "lib/ipc/client.h"

#include <ctype.h>
#include <errno.h>
#include <getopt.h>
#include <locale.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FLAGS_MAX   16
#define VERBS_MAX   64
#define WORDS_MAX   4096 /* of a line of a batch */
#define OPERAND_MAX 16
#define RUN         (-1) /* not an exit status: go on */
#define DRY_RUN     1    /* --dry-run has no letter: dladm's create-vnic has -n for something else */

#define UNKNOWN_OPTION "unrecognized option '%s'"

/* A program's verbs, and what was asked of it. */
struct program {
	const struct verb *verbs;
	size_t n;
	const char *about;
};

static const char *program_name(void)
{
	return program_invocation_short_name;
}

static void vcomplain(const char *fmt, va_list ap)
{
	char *text;

	if (vasprintf(&text, fmt, ap) < 0)
		return;
	die_say(text);
	free(text);
}

__attribute__((format(printf, 1, 2))) static void complain(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vcomplain(fmt, ap);
	va_end(ap);
}

static void usage_line(FILE *out, const struct verb *verb)
{
	fprintf(out, "usage: %s %s%s%s\n", program_name(), verb->name, *verb->usage ? " " : "", verb->usage);
}

int verb_usage(const struct cli *cli, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vcomplain(fmt, ap);
	va_end(ap);
	usage_line(stderr, cli->verb);
	return STATUS_USER;
}

static void program_line(FILE *out)
{
	fprintf(out, "usage: %s [--socket PATH] COMMAND [OPTION...] [OPERAND...]\n", program_name());
	fprintf(out, "       %s [--socket PATH] -b FILE [--dry-run]\n", program_name());
}

static void flag_help(char letter, const char *name, const char *value, const char *help)
{
	char left[64];

	snprintf(left, sizeof(left), "-%c, --%s%s%s", letter, name, value ? " " : "", value ? value : "");
	printf("  %-26s %s\n", left, help);
}

static int help_verb(const struct verb *verb)
{
	usage_line(stdout, verb);
	printf("%s.\n", verb->help);
	if (verb->alias)
		printf("%s is the same.\n", verb->alias);
	for (const struct flag *f = verb->flags; f->letter; f++)
		flag_help(f->letter, f->name, f->value, f->help);
	if (verb_changes(verb))
		printf("      --dry-run              print ip and tc commands instead, and change nothing\n");
	flag_help('h', "help", NULL, "show this");
	return 0;
}

static void help_line(const struct verb *verb)
{
	printf("  %s", verb->name);
	if (verb->alias)
		printf(" (%s)", verb->alias);
	printf(" %s\n", verb->usage);
}

static int help_program(const struct program *p)
{
	program_line(stdout);
	printf("%s\n\n", p->about);
	for (size_t i = 0; i < p->n; i++)
		help_line(&p->verbs[i]);
	printf("  help [COMMAND]\n\n"
	       "  --socket PATH   where vnicd listens (default $VNICD_SOCKET, else /run/vnicd/vnicd.sock)\n"
	       "  -b, --batch FILE\n"
	       "                  do the commands in FILE (- for standard input), one a line, all or none\n"
	       "  --dry-run       with -b, and after a command that changes something: print what would be "
	       "done as\n"
	       "                  ip and tc commands, and change nothing\n"
	       "  --version       print the version\n"
	       "  --help          show this; after a command: show its options\n\n"
	       "Without a command: %s. See %s(8).\n",
	       p->verbs[0].name, program_name());
	return 0;
}

static void unknown_verb(const struct program *p, const char *name)
{
	const char *names[2 * VERBS_MAX], *near;
	size_t n = 0;

	for (size_t i = 0; i < p->n && i < VERBS_MAX; i++) {
		names[n++] = p->verbs[i].name;
		if (p->verbs[i].alias)
			names[n++] = p->verbs[i].alias;
	}
	near = nearest(name, names, n);
	if (near)
		complain("unknown command '%s': did you mean '%s'?", name, near);
	else
		complain("unknown command '%s': see '%s help'", name, program_name());
}

static const struct verb *find_verb(const struct program *p, const char *name)
{
	for (size_t i = 0; i < p->n; i++)
		if (verb_is(&p->verbs[i], name))
			return &p->verbs[i];
	unknown_verb(p, name);
	return NULL;
}

static int help(const struct program *p, int argc, char **argv)
{
	const struct verb *verb;

	if (argc > 2) {
		complain("unexpected operand '%s'", argv[2]);
		fprintf(stderr, "usage: %s help [COMMAND]\n", program_name());
		return STATUS_USER;
	}
	if (argc < 2 || !strcmp(argv[1], "--help") || !strcmp(argv[1], "-h") || !strcmp(argv[1], "help"))
		return help_program(p);
	verb = find_verb(p, argv[1]);
	return verb ? help_verb(verb) : STATUS_USER;
}

static const struct flag *find_flag(const struct verb *verb, int letter)
{
	for (const struct flag *f = verb->flags; f->letter; f++)
		if (f->letter == letter)
			return f;
	return NULL;
}

/* The verb's table as getopt wants it. A leading ':' tells a missing value from an unknown option. */
static void getopt_tables(const struct verb *verb, char *letters, struct option *longs)
{
	*letters++ = ':';
	*letters++ = 'h';
	*longs++ = (struct option){.name = "help", .val = 'h'};
	if (verb_changes(verb))
		*longs++ = (struct option){.name = "dry-run", .val = DRY_RUN};
	for (const struct flag *f = verb->flags; f->letter; f++) {
		*letters++ = f->letter;
		if (f->value)
			*letters++ = ':';
		*longs++ = (struct option){.name = f->name, .has_arg = !!f->value, .val = f->letter};
	}
	*letters = '\0';
	*longs = (struct option){0};
}

/*
 * What is wrong with the option getopt returned c for, and as the user typed it into buf. A long option that
 * is known sets optopt to its letter, an unknown one to 0; a cluster of letters may not be passed yet.
 */
static const char *option_fault(const char *letters, int c, char **argv, char *buf, size_t size)
{
	bool known = optopt == DRY_RUN || (optopt && strchr(letters + 1, optopt));
	const char *word = argv[optind - 1];

	if ((known || !optopt) && !strncmp(word, "--", 2))
		snprintf(buf, size, "%.*s", (int)strcspn(word, "="), word);
	else
		snprintf(buf, size, "-%c", optopt);
	if (c == ':')
		return "option '%s' needs a value";
	return known ? "option '%s' takes no value" : UNKNOWN_OPTION;
}

/* The option that was meant by an unknown one: a long one that is near, a letter in the other case. */
static const char *meant_option(const struct option *longs, const char *typed, char buf[64])
{
	const char *names[FLAGS_MAX + 2], *near;
	size_t n = 0;

	for (; longs[n].name; n++) {
		names[n] = longs[n].name;
		if (typed[1] != '-' && typed[1] != longs[n].val && toupper(typed[1]) == toupper(longs[n].val))
			return snprintf(buf, 64, "-%c", longs[n].val) > 0 ? buf : NULL;
	}
	near = typed[1] == '-' ? nearest(typed + 2, names, n) : NULL;
	return near && snprintf(buf, 64, "--%s", near) > 0 ? buf : NULL;
}

static void complain_option(const char *fault, const char *typed, const struct option *longs)
{
	char buf[64], line[200];
	const char *meant = strcmp(fault, UNKNOWN_OPTION) ? NULL : meant_option(longs, typed, buf);

	snprintf(line, sizeof(line), fault, typed);
	complain("%s%s%s%s", line, meant ? ": did you mean '" : "", meant ? meant : "", meant ? "'?" : "");
}

static bool all_digits(const char *s)
{
	return *s && !s[strspn(s, "0123456789")];
}

static int take_flag(struct cli *cli, const struct flag *f, int argc, char **argv)
{
	unsigned char c = (unsigned char)f->letter;

	if (f->repeats) {
		if (!cli->repeated[c])
			cli->repeated[c] = json_array();
		json_array_append_new(cli->repeated[c], json_string(optarg));
		return RUN;
	}
	if (cli->value[c])
		return verb_usage(cli, "option '-%c' given twice", c);
	cli->value[c] = optarg ? optarg : "";
	if (f->count && optind < argc && all_digits(argv[optind]))
		cli->count = argv[optind++];
	return RUN;
}

static int take_dry_run(struct cli *cli)
{
	if (cli->batch)
		return verb_usage(cli, "--dry-run is for the whole file: say -b FILE --dry-run");
	cli->dry = true;
	return RUN;
}

static int read_options(struct cli *cli, int argc, char **argv)
{
	char letters[2 * FLAGS_MAX + 3], typed[64];
	struct option longs[FLAGS_MAX + 3];
	int c, rc = RUN;

	getopt_tables(cli->verb, letters, longs);
	opterr = 0;
	optind = 0; /* the global options were read by another pass */
	while (rc == RUN && (c = getopt_long(argc, argv, letters, longs, NULL)) != -1) {
		if (c == 'h')
			return help_verb(cli->verb);
		if (c == ':' || c == '?') {
			complain_option(option_fault(letters, c, argv, typed, sizeof(typed)), typed, longs);
			return usage_line(stderr, cli->verb), STATUS_USER;
		}
		rc = c == DRY_RUN ? take_dry_run(cli) : take_flag(cli, find_flag(cli->verb, c), argc, argv);
	}
	cli->nargs = argc - optind;
	cli->args = argv + optind;
	return rc;
}

static int check_needed(const struct cli *cli)
{
	for (const struct flag *f = cli->verb->flags; f->letter; f++)
		if (f->needed && !cli->value[(int)f->letter] && !cli->repeated[(int)f->letter])
			return verb_usage(cli, "option '-%c %s' is required", f->letter, f->value);
	return RUN;
}

/* What the nth operand is. */
static const char *verb_operand(const struct verb *verb, int n, char buf[OPERAND_MAX])
{
	const char *word = verb->operand;

	for (; n > 0 && strchr(word, ' '); n--)
		word = strchr(word, ' ') + 1;
	snprintf(buf, OPERAND_MAX, "%.*s", (int)strcspn(word, " "), word);
	return buf;
}

static int check_operands(const struct cli *cli)
{
	const struct verb *verb = cli->verb;
	char word[OPERAND_MAX];

	if (cli->nargs < verb->least)
		return verb_usage(cli, "%s is required", verb_operand(verb, cli->nargs, word));
	if (verb->most >= 0 && cli->nargs > verb->most)
		return verb_usage(cli, "unexpected operand '%s'", cli->args[verb->most]);
	for (int i = 0; i < cli->nargs; i++)
		if (!*cli->args[i])
			return verb_usage(cli, "%s is empty", verb_operand(verb, i, word));
	return RUN;
}

/* What is no UTF-8 cannot travel in JSON. */
static int check_text(const struct cli *cli, int argc, char **argv)
{
	for (int i = 0; i < argc; i++) {
		json_t *text = json_string(argv[i]);

		if (!text)
			return verb_usage(cli, "argument %d is not UTF-8", i);
		json_decref(text);
	}
	return RUN;
}

static int run_verb(struct cli *cli, int argc, char **argv)
{
	int rc = check_text(cli, argc, argv);

	if (rc == RUN)
		rc = read_options(cli, argc, argv);
	if (rc == RUN)
		rc = check_needed(cli);
	if (rc == RUN)
		rc = check_operands(cli);
	if (rc == RUN)
		rc = cli->verb->run(cli);
	for (size_t i = 0; i < sizeof(cli->repeated) / sizeof(*cli->repeated); i++)
		json_decref(cli->repeated[i]);
	return rc;
}

static int global_usage(const char *what, const char *typed)
{
	complain(what, typed);
	program_line(stderr);
	return STATUS_USER;
}

/* Options before the verb; RUN when there is a verb, or none at all, to go on with. */
static int global_options(const struct program *p, struct cli *cli, int argc, char **argv)
{
	static const struct option longs[] = {
		{.name = "socket", .has_arg = 1, .val = 's'},
		{.name = "batch", .has_arg = 1, .val = 'b'},
		{.name = "dry-run", .val = DRY_RUN},
		{.name = "version", .val = 'V'},
		{.name = "help", .val = 'h'},
		{0},
	};
	char typed[64];
	int c;

	opterr = 0;
	while ((c = getopt_long(argc, argv, "+:b:hV", longs, NULL)) != -1) {
		if ((c == 's' && cli->socket) || (c == 'b' && cli->file))
			return global_usage("option '%s' given twice", c == 's' ? "--socket" : "--batch");
		if (c == 's')
			cli->socket = optarg;
		else if (c == 'b')
			cli->file = optarg;
		else if (c == DRY_RUN)
			cli->dry = true;
		else if (c == 'h')
			return help_program(p);
		else if (c == 'V')
			return printf("%s " VERSION "\n", program_name()) < 0;
		else
			return complain_option(option_fault("+:b:hVs", c, argv, typed, sizeof(typed)), typed,
					       longs),
			       program_line(stderr), STATUS_USER;
	}
	if (cli->socket && !*cli->socket)
		return global_usage("option '%s' needs a value", "--socket");
	if (cli->file && !*cli->file)
		return global_usage("option '%s' needs a value", "--batch");
	if (cli->dry && !cli->file)
		return global_usage("option '%s' comes after the command", "--dry-run");
	return RUN;
}

/*
 * Batch: each line is read as a command line whose calls are only noted; if all can be read, they are made as
 * one.
 */

/* Takes the next word out of the line at *at, in place: quotes and backslashes as in a shell. NULL: none. */
static char *next_word(char **at, const char **fault)
{
	char *in = *at + strspn(*at, " \t\r\n"), *out = in, *word = in, quote = '\0';

	if (!*in || *in == '#')
		return NULL;
	for (; *in && (quote || !strchr(" \t\r\n", *in)); in++) {
		if (*in == quote)
			quote = '\0';
		else if (!quote && (*in == '\'' || *in == '"'))
			quote = *in;
		else if (*in == '\\' && quote != '\'' && strchr("\r\n", in[1]))
			*fault = "nothing follows a backslash: a command is one line";
		else if (*in == '\\' && quote != '\'')
			*out++ = *++in;
		else
			*out++ = *in;
	}
	*fault = quote ? "a quote is not closed" : *fault;
	*at = *in ? in + 1 : in;
	*out = '\0';
	return word;
}

/* The words of a line as an argument vector: their number, or -1. */
static int split(char *line, char **argv, const char **fault)
{
	int argc = 0;
	char *word;

	while (!*fault && (word = next_word(&line, fault))) {
		if (!argc && !strcmp(word, program_name()))
			continue;
		if (argc == WORDS_MAX)
			*fault = "too many words";
		else
			argv[argc++] = word;
	}
	argv[argc] = NULL;
	return *fault ? -1 : argc;
}

static int batch_line(const struct program *p, const struct cli *all, char *line)
{
	static char *argv[WORDS_MAX + 1];
	struct cli cli = {.batch = all->batch, .line = all->line};
	const char *fault = NULL;
	int argc = split(line, argv, &fault);

	if (argc < 0)
		return complain("%s", fault), STATUS_USER;
	if (!argc)
		return RUN;
	cli.verb = find_verb(p, argv[0]);
	if (!cli.verb)
		return STATUS_USER;
	if (!cli.verb->batch)
		return complain("%s cannot be in a batch: give it by itself", argv[0]), STATUS_USER;
	return run_verb(&cli, argc, argv) ? STATUS_USER : RUN;
}

#define LINE_MOST 65536 /* bytes */

/* Why what was read is no line, or NULL. */
static const char *line_fault(const char *line, size_t len)
{
	if (len == LINE_MOST - 1 && line[len - 1] != '\n')
		return "the line is too long";
	return strlen(line) < len ? "a line of text has no NUL in it" : NULL;
}

/* As fgets(), but what follows a NUL counts. */
static size_t read_line(char *line, FILE *in)
{
	size_t len = 0;
	int c;

	while (len < LINE_MOST - 1 && (c = getc(in)) != EOF) {
		line[len++] = (char)c;
		if (c == '\n')
			break;
	}
	line[len] = '\0';
	return len;
}

/* A file that is read in part is not what was asked for. */
static int batch_read(const struct program *p, struct cli *cli, FILE *in)
{
	static char line[LINE_MOST];
	const char *fault;
	int rc = RUN;
	size_t len;

	while (rc == RUN && (len = read_line(line, in)) > 0 && !ferror(in)) {
		die_at(cli->file, ++cli->line);
		fault = line_fault(line, len);
		if (fault)
			complain("%s", fault);
		rc = fault ? STATUS_USER : batch_line(p, cli, line);
	}
	die_at(NULL, 0);
	if (rc == RUN && ferror(in)) {
		complain("%s: cannot be read: %s", cli->file, strerror(errno));
		rc = STATUS_USER;
	}
	return rc;
}

/* "line 12" is the daemon's word for where in the file it is. */
static int batch_fail(const struct cli *cli, struct err *e)
{
	unsigned line;

	if (sscanf(e->object, "line %u", &line) == 1) {
		die_at(cli->file, line);
		e->object[0] = '\0';
	}
	return die(e);
}

static int batch_send(struct cli *cli)
{
	json_t *calls = cli->batch, *reply, *name;
	struct err e;
	size_t i;

	cli->batch = NULL;
	if (verb_call(cli, "Batch", json_pack("{s:o}", "commands", calls), &reply, &e))
		return batch_fail(cli, &e);
	json_array_foreach (json_object_get(reply, "names"), i, name) {
		if (!cli->dry)
			printf("%s\n", json_string_value(name));
	}
	die_notes(reply);
	json_decref(reply);
	return 0;
}

static int batch(const struct program *p, struct cli *cli)
{
	bool standard = !strcmp(cli->file, "-");
	FILE *in = standard ? stdin : fopen(cli->file, "re");
	int rc;

	if (!in)
		return complain("%s: cannot be read: %s", cli->file, strerror(errno)), STATUS_USER;
	cli->batch = json_array();
	rc = batch_read(p, cli, in);
	if (!standard)
		fclose(in);
	if (rc == RUN)
		return batch_send(cli);
	json_decref(cli->batch);
	return rc;
}

static int dispatch(const struct program *p, int argc, char **argv)
{
	struct cli cli = {0};
	int rc = global_options(p, &cli, argc, argv);

	if (rc != RUN)
		return rc;
	argc -= optind;
	argv += optind;
	if (cli.file && argc)
		return global_usage("unexpected operand '%s'", *argv);
	if (cli.file)
		return batch(p, &cli);
	if (argc && !strcmp(*argv, "help"))
		return help(p, argc, argv);
	if (argc && !strcmp(*argv, "complete"))
		return complete(p->verbs, p->n, argc - 1, argv + 1);
	cli.verb = argc ? find_verb(p, *argv) : &p->verbs[0];
	if (!cli.verb)
		return STATUS_USER;
	return run_verb(&cli, argc, argv);
}

int verb_main(const struct verb *verbs, size_t n, const char *about, int argc, char **argv)
{
	struct program p = {.verbs = verbs, .n = n, .about = about};

	setlocale(LC_CTYPE, "");
	signal(SIGPIPE, SIG_IGN); /* a closed pipe is an answer, not a fault */
	return die_flush(dispatch(&p, argc, argv));
}

static void print_plan(const json_t *reply)
{
	json_t *line;
	size_t i;

	json_array_foreach (json_object_get(reply, "plan"), i, line) {
		printf("%s\n", json_string_value(line));
	}
}

int verb_call(const struct cli *cli, const char *method, json_t *params, json_t **ret, struct err *e)
{
	struct client *c = NULL;
	int rc;

	if (cli->batch) {
		json_array_append_new(cli->batch, json_pack("{s:s, s:o, s:i}", "method", method, "parameters",
							    params, "line", (int)cli->line));
		*ret = json_object();
		return 0;
	}
	if (cli->dry)
		json_object_set_new(params, "dryrun", json_true());
	rc = params ? client_open(cli->socket, &c, e) : err_nomem(e);

	if (!rc)
		rc = client_call(c, method, params, ret, e);
	if (!rc && cli->dry)
		print_plan(*ret);
	client_close(c);
	json_decref(params);
	return rc;
}

json_t *verb_names(const struct cli *cli)
{
	json_t *names = cli->nargs ? json_array() : NULL;

	for (int i = 0; i < cli->nargs; i++)
		json_array_append_new(names, json_string(cli->args[i]));
	return names;
}

int verb_do(const struct cli *cli, const char *method, json_t *params)
{
	json_t *reply;
	struct err e;

	if (verb_call(cli, method, params, &reply, &e))
		return die(&e);
	die_notes(reply);
	json_decref(reply);
	return 0;
}
