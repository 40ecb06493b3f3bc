/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The tables of state.db and how an older file becomes a newer one. Used by store.c alone. */
#pragma once

#include "lib/base/err.h"

#include <sqlite3.h>

/*
 * Brings the file to the newest schema, each step in a transaction of its own. A file of a newer vnicd:
 * -EPROTO; a file that is not vnicd's: -EINVAL.
 */
int store_schema_upgrade(sqlite3 *db, const char *path, struct err *e);

/* The error of the last call on db, as a negative errno, with what to do about it; path names the file. */
int store_fail(sqlite3 *db, const char *path, struct err *e);
