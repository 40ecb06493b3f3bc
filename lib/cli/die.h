/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What a command says on standard error, and the exit status that goes with it. Never exits. */
#pragma once

#include "lib/base/err.h"

#include <jansson.h>

#define STATUS_USER 1 /* the user can mend it */
#define STATUS_SYS  2 /* the rest */

/* Prints "PROGRAM: FILE:LINE: text". Control characters become question marks: names of links and zones are
 * not the user's own, and would speak to his terminal. */
void die_say(const char *text);

/* Prints "PROGRAM: object: text"; returns the exit status. */
int die(const struct err *e);

/* From now on messages begin with FILE:LINE; line 0: no more. */
void die_at(const char *file, unsigned line);

/* Prints the notes of a reply, one a line: "PROGRAM: note: text", "PROGRAM: warning: text". */
void die_notes(const json_t *reply);

/* Flushes standard output: status, or STATUS_SYS with a line when it cannot be written. A closed pipe is
 * fine. */
int die_flush(int status);
