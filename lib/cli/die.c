/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Writes errors and notes to standard error in their one form; decides nothing but the exit status. */
#include "lib/cli/die.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

static char where[300];

void die_at(const char *file, unsigned line)
{
	where[0] = '\0';
	if (line)
		snprintf(where, sizeof(where), "%.280s:%u: ", file, line);
}

static void put_plain(const char *text)
{
	for (; *text; text++)
		fputc(iscntrl((unsigned char)*text) ? '?' : *text, stderr);
}

void die_say(const char *text)
{
	fflush(stdout);
	fprintf(stderr, "%s: ", program_invocation_short_name);
	put_plain(where);
	put_plain(text);
	fputc('\n', stderr);
}

int die(const struct err *e)
{
	char line[sizeof(e->object) + sizeof(e->text) + 4];

	die_say(err_str(e, line, sizeof(line)));
	return e->mend ? STATUS_USER : STATUS_SYS;
}

void die_notes(const json_t *reply)
{
	json_t *note;
	char line[1200];
	size_t i;

	json_array_foreach (json_object_get(reply, "notes"), i, note) {
		const char *level = json_string_value(json_object_get(note, "level"));
		const char *text = json_string_value(json_object_get(note, "text"));

		snprintf(line, sizeof(line), "%s: %s", level ? level : "note", text ? text : "");
		if (text)
			die_say(line);
	}
}

int die_flush(int status)
{
	if ((!fflush(stdout) && !ferror(stdout)) || errno == EPIPE)
		return status;
	fprintf(stderr, "%s: cannot write: %s\n", program_invocation_short_name, strerror(errno));
	return STATUS_SYS;
}
