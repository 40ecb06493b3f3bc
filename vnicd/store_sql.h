/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the store's files share: the open file and its statements. Used by store.c and store_flow.c alone. */
#pragma once

#include "vnicd/store.h"

#include <sqlite3.h>
#include <systemd/sd-id128.h>

enum sql {
	S_BEGIN,
	S_COMMIT,
	S_LINKS,
	S_LINK_ADD,
	S_LINK_PUT,
	S_LINK_DEL,
	S_LINK_OLD_BOOTS,
	S_LINK_IDLE_VLANS,
	S_LINK_IDLE_THEIRS,
	S_IDENT_GET,
	S_IDENT_FIND,
	S_IDENT_ADD,
	S_IDENT_PUT,
	S_IDENTS_CLEAR,
	S_PROPS,
	S_PROP_PUT,
	S_PROP_DEL,
	S_PROP_DEL_BOOT,
	S_PROP_OLD_BOOTS,
	S_INTENT_PUT,
	S_INTENT_NUMBER,
	S_INTENTS,
	S_INTENTS_CLEAR,
	S_COUNTERS,
	S_COUNTER_PUT,
	S_ARPS,
	S_ARP_PUT,
	S_ARP_DEL,
	S_PLACES,
	S_PLACE_PUT,
	S_FLOWS,
	S_FLOW_ADD,
	S_FLOW_PUT,
	S_FLOW_DEL,
	S_FLOW_OLD_BOOTS,
	S_FLOWPROPS,
	S_FLOWPROP_PUT,
	S_FLOWPROP_DEL,
	S_FLOWPROP_DEL_BOOT,
	S_FLOWPROP_OLD_BOOTS,
	S_FLOWCOUNTERS,
	S_FLOWCOUNTER_PUT,
	S_META_GET,
	S_META_PUT,
	S_COUNT
};

struct store {
	sqlite3 *db;
	int lock;
	char *path;
	char uuid[SD_ID128_UUID_STRING_MAX];
	char boot[SD_ID128_UUID_STRING_MAX];
	sqlite3_stmt *stmt[S_COUNT];
};

/* One letter per parameter: i int64_t, t text, m struct mac *. What is bound lives until the statement is
 * reset. */
sqlite3_stmt *sql_bind(struct store *s, enum sql which, const char *types, ...);
/* Runs a statement that gives no rows. */
int sql_run(struct store *s, sqlite3_stmt *stmt, struct err *e);
/* 1 with a row, 0 after the last one (then the statement is reset, as on an error). */
int sql_row(struct store *s, sqlite3_stmt *stmt, struct err *e);
const char *column_text(sqlite3_stmt *stmt, int column);
/* Several statements as one: a savepoint works inside a transaction and outside. */
int save_begin(struct store *s, struct err *e);
int save_end(struct store *s, int r, struct err *e);
/* The word's number, -1 for none. */
int word_find(const char *const *words, size_t count, const char *text);
#define WORD(words, text) word_find(words, sizeof(words) / sizeof((words)[0]), text)
