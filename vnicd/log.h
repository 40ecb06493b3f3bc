/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The daemon's log: to the journal with fields when stderr is the journal's (JOURNAL_STREAM), else one line
 * on stderr. Only vnicd/ logs; libraries return a struct err.
 */
#pragma once

#include "lib/base/err.h"

enum log_level { LOG_ERR_, LOG_WARN, LOG_NOTE, LOG_DBG };

void log_set_level(int level);
/* "error", "warning", "info", "debug" -> level, or -1. */
int log_level_parse(const char *word);
/* link: the link it is about (journal field VNIC=), or NULL. */
void log_line(int level, const char *link, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
#define log_error(link, ...)   log_line(LOG_ERR_, link, __VA_ARGS__)
#define log_warning(link, ...) log_line(LOG_WARN, link, __VA_ARGS__)
#define log_info(link, ...)    log_line(LOG_NOTE, link, __VA_ARGS__)
#define log_debug(link, ...)   log_line(LOG_DBG, link, __VA_ARGS__)
