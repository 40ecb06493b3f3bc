/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Writes the daemon's log lines, to the journal with fields or to stderr; decides nothing and keeps only the
 * level. */
#define SD_JOURNAL_SUPPRESS_LOCATION /* it would always be this file */

#include "vnicd/log.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <systemd/sd-journal.h>
#include <unistd.h>

static const struct {
	const char *word;     /* of --log-level */
	const char *prefix;   /* on stderr */
	const char *priority; /* of syslog */
} levels[] = {
	[LOG_ERR_] = {.word = "error", .prefix = "", .priority = "PRIORITY=3"},
	[LOG_WARN] = {.word = "warning", .prefix = "warning: ", .priority = "PRIORITY=4"},
	[LOG_NOTE] = {.word = "info", .prefix = "", .priority = "PRIORITY=6"},
	[LOG_DBG] = {.word = "debug", .prefix = "debug: ", .priority = "PRIORITY=7"},
};
#define LEVELS (int)(sizeof(levels) / sizeof(levels[0]))

static int log_up_to = LOG_NOTE;

void log_set_level(int level)
{
	log_up_to = level;
}

int log_level_parse(const char *word)
{
	for (int i = 0; i < LEVELS; i++) {
		if (!strcmp(word, levels[i].word))
			return i;
	}
	return -1;
}

/* systemd tells in JOURNAL_STREAM which device and inode of stderr belong to the journal. */
static bool to_journal(void)
{
	const char *stream = getenv("JOURNAL_STREAM");
	unsigned long long dev, ino;
	struct stat st;

	return stream && sscanf(stream, "%llu:%llu", &dev, &ino) == 2 && fstat(STDERR_FILENO, &st) == 0 &&
	       st.st_dev == dev && st.st_ino == ino;
}

static void write_journal(int level, const char *link, const char *text)
{
	/* The last field is left out without a link: NULL ends the list. */
	sd_journal_send(levels[level].priority, "MESSAGE=%s", text, "SYSLOG_IDENTIFIER=vnicd",
			link ? "VNIC=%s" : NULL, link, NULL);
}

/* One write, so that lines of several programs on one terminal stay whole. */
static void write_stderr(int level, const char *text)
{
	dprintf(STDERR_FILENO, "vnicd: %s%s\n", levels[level].prefix, text);
}

void log_line(int level, const char *link, const char *fmt, ...)
{
	char text[1024];
	int said = 0;
	va_list ap;

	if (level > log_up_to)
		return;
	if (link)
		said = snprintf(text, sizeof(text), "%.100s: ", link);
	va_start(ap, fmt);
	vsnprintf(text + said, sizeof(text) - (size_t)said, fmt, ap);
	va_end(ap);
	/* Who names a link in a zone must not write the log's next line, nor to its reader's terminal. */
	for (char *c = text; *c; c++)
		if (iscntrl((unsigned char)*c))
			*c = '?';
	if (to_journal())
		write_journal(level, link, text);
	else
		write_stderr(level, text);
}
