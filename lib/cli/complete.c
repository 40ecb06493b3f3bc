/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Finds the place on an unfinished command line by the verbs' tables; what may stand there others know. */
#include "lib/cli/complete.h"

#include <stdio.h>
#include <string.h>

/* Options before the verb, and which of them a value follows. */
static const struct option_word {
	const char *word;
	bool file;
} globals[] = {
	{"--socket", true},   {"--batch", true}, {"-b", true},
	{"--version", false}, {"--help", false}, {"-h", false},
};

void words_add(const struct words *w, const char *word, const char *end)
{
	if (strncmp(word, w->text, strlen(w->text)) != 0)
		return;
	for (int i = 0; i < w->cli->nargs; i++)
		if (!strcmp(w->cli->args[i], word))
			return;
	printf("%.*s%s%s\n", w->before_len, w->before, word, end);
}

static void move_to(struct words *w, const char *text)
{
	w->before_len += (int)(text - w->text);
	w->text = text;
}

void words_last_item(struct words *w)
{
	const char *comma = strrchr(w->text, ',');

	if (comma)
		move_to(w, comma + 1);
}

bool words_fresh(const struct words *w, const char *item)
{
	size_t len = strlen(item);
	const char *in = w->before, *end = w->before + w->before_len;

	/* Behind the '=' of a long option. */
	if (!strncmp(in, "--", 2))
		in += strcspn(in, "=") + 1;
	for (; in < end; in += strcspn(in, ",") + 1)
		if (!strncmp(in, item, len) && (in[len] == ',' || in[len] == '='))
			return false;
	return true;
}

static const struct flag *flag_by_name(const struct verb *verb, const char *name, size_t len)
{
	for (const struct flag *f = verb->flags; f->letter; f++)
		if (!strncmp(f->name, name, len) && !f->name[len])
			return f;
	return NULL;
}

static const struct flag *flag_by_letter(const struct verb *verb, char letter)
{
	for (const struct flag *f = verb->flags; f->letter; f++)
		if (f->letter == letter)
			return f;
	return NULL;
}

/* Notes an option; the flag whose value is the next word, or NULL. */
static const struct flag *take_long(struct cli *cli, const char *word)
{
	size_t len = strcspn(word + 2, "=");
	const struct flag *f = flag_by_name(cli->verb, word + 2, len);

	cli->dry |= !strcmp(word, "--dry-run");
	if (f)
		cli->value[(unsigned char)f->letter] = word[2 + len] ? word + 2 + len + 1 : "";
	return f && f->value && !word[2 + len] ? f : NULL;
}

static const struct flag *take_letters(struct cli *cli, const char *word)
{
	while (*++word) {
		const struct flag *f = flag_by_letter(cli->verb, *word);

		if (f)
			cli->value[(unsigned char)*word] = f->value ? word + 1 : "";
		if (f && f->value)
			return word[1] ? NULL : f;
	}
	return NULL;
}

/* Reads the words before the last one; the flag that waits for a value, or NULL. */
static const struct flag *take_words(struct cli *cli, int argc, char **argv)
{
	const struct flag *waits = NULL;

	cli->args = argv; /* options before operands are overwritten by them */
	for (int i = 0; i + 1 < argc; i++) {
		if (waits) {
			cli->value[(unsigned char)waits->letter] = argv[i];
			waits = NULL;
		} else if (!strncmp(argv[i], "--", 2)) {
			waits = take_long(cli, argv[i]);
		} else if (argv[i][0] == '-' && argv[i][1]) {
			waits = take_letters(cli, argv[i]);
		} else {
			cli->args[cli->nargs++] = argv[i];
		}
	}
	return waits;
}

static void add_flags(const struct words *w, bool needed_only)
{
	char letter[3] = "-", name[64];

	for (const struct flag *f = w->cli->verb->flags; f->letter; f++) {
		bool given = w->cli->value[(unsigned char)f->letter];

		if ((given && !f->repeats) || (needed_only && (given || !f->needed)))
			continue;
		letter[1] = f->letter;
		snprintf(name, sizeof(name), "--%s", f->name);
		words_add(w, letter, "");
		if (!needed_only)
			words_add(w, name, "");
	}
	if (!needed_only && verb_changes(w->cli->verb) && !w->cli->dry)
		words_add(w, "--dry-run", "");
	if (!needed_only)
		words_add(w, "--help", "");
}

static void value_words(struct words *w, const struct flag *f)
{
	if (f && f->words)
		f->words(w);
}

static void last_word(struct words *w, const struct flag *waits)
{
	const struct verb *verb = w->cli->verb;
	size_t name = strcspn(w->text, "=");

	if (waits) {
		value_words(w, waits);
	} else if (!strncmp(w->text, "--", 2) && w->text[name]) {
		const struct flag *f = flag_by_name(verb, w->text + 2, name - 2);

		move_to(w, w->text + name + 1);
		value_words(w, f);
	} else if (w->text[0] == '-') {
		add_flags(w, false);
	} else {
		add_flags(w, true);
		if (verb->words && (verb->most < 0 || w->cli->nargs < verb->most))
			verb->words(w);
	}
}

static int verb_words(const struct words *w, const struct verb *verbs, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		words_add(w, verbs[i].name, "");
		if (verbs[i].alias)
			words_add(w, verbs[i].alias, "");
	}
	words_add(w, "help", "");
	for (size_t i = 0; w->text[0] == '-' && i < sizeof(globals) / sizeof(*globals); i++)
		words_add(w, globals[i].word, "");
	return 0;
}

static const struct option_word *global_of(const char *word)
{
	size_t len = strcspn(word, "=");

	for (size_t i = 0; i < sizeof(globals) / sizeof(*globals); i++)
		if (!strncmp(globals[i].word, word, len) && !globals[i].word[len])
			return &globals[i];
	return NULL;
}

/* How many of the words are options before the verb, with their values; -1: the last one is a file's name. */
static int skip_globals(struct cli *cli, int argc, char **argv)
{
	int i = 0;

	while (i + 1 < argc && argv[i][0] == '-') {
		const struct option_word *o = global_of(argv[i]);
		const char *value = strchr(argv[i], '=');

		i++;
		if (!o || !o->file)
			continue;
		if (!value && i + 1 == argc)
			return -1;
		value = value ? value + 1 : argv[i++];
		*(!strcmp(o->word, "--socket") ? &cli->socket : &cli->file) = value;
	}
	return i;
}

static const struct verb *verb_named(const struct verb *verbs, size_t n, const char *name)
{
	for (size_t i = 0; i < n; i++)
		if (verb_is(&verbs[i], name))
			return &verbs[i];
	return NULL;
}

int complete(const struct verb *verbs, size_t n, int argc, char **argv)
{
	struct cli cli = {0};
	struct words w = {.cli = &cli};
	const struct flag *waits;
	int skip = argc ? skip_globals(&cli, argc, argv) : 0;

	if (!argc || skip < 0)
		return argc ? COMPLETE_FILES : 0;
	w.before = w.text = argv[argc - 1];
	argc -= skip;
	argv += skip;
	if (cli.file) {
		words_add(&w, "--dry-run", "");
		return 0;
	}
	if (argc == 1 || (argc == 2 && !strcmp(*argv, "help")))
		return verb_words(&w, verbs, n);
	cli.verb = verb_named(verbs, n, *argv);
	if (!cli.verb)
		return 0;
	waits = take_words(&cli, argc - 1, argv + 1);
	last_word(&w, waits);
	return 0;
}
