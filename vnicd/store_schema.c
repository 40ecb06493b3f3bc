/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Owns the tables of state.db: one function per schema version, never changed once it was released. */
#include "vnicd/store_schema.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <systemd/sd-id128.h>

#define APPLICATION_ID 0x766e6963 /* "vnic": tells our file from any other */

/*
 * A link's number (column n) is in the kernel's objects, so it must never be given twice: AUTOINCREMENT, and
 * a row in sqlite_sequence from the start so that intents can raise it too.
 */
static const char first_schema[] =
	"CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT, WITHOUT ROWID;"
	"CREATE TABLE ident ("
	"  id INTEGER PRIMARY KEY AUTOINCREMENT,"
	"  bus TEXT NOT NULL,"
	"  perm_mac BLOB NOT NULL CHECK (length(perm_mac) = 6),"
	"  name TEXT NOT NULL) STRICT;"
	"CREATE TABLE link ("
	"  n INTEGER PRIMARY KEY AUTOINCREMENT,"
	"  class TEXT NOT NULL CHECK (class IN ('vnic', 'etherstub')),"
	"  name TEXT NOT NULL UNIQUE,"
	"  parent INTEGER REFERENCES ident (id),"
	"  over INTEGER REFERENCES link (n),"
	"  mac_type TEXT NOT NULL CHECK (mac_type IN ('auto', 'random', 'fixed')),"
	"  mac BLOB NOT NULL CHECK (length(mac) = 6),"
	"  down INTEGER NOT NULL CHECK (down IN (0, 1))) STRICT;"
	"CREATE INDEX link_over ON link (over);"
	"CREATE TABLE prop ("
	"  n INTEGER NOT NULL REFERENCES link (n) ON DELETE CASCADE,"
	"  key TEXT NOT NULL,"
	"  boot TEXT NOT NULL," /* '' or the boot id the row is valid for */
	"  value TEXT NOT NULL,"
	"  PRIMARY KEY (n, key, boot)) STRICT, WITHOUT ROWID;"
	"CREATE TABLE counter ("
	"  n INTEGER NOT NULL REFERENCES link (n) ON DELETE CASCADE,"
	"  id TEXT NOT NULL,"
	"  base INTEGER NOT NULL," /* unsigned 64 bits in a signed column */
	"  last INTEGER NOT NULL,"
	"  PRIMARY KEY (n, id)) STRICT, WITHOUT ROWID;"
	"CREATE TABLE intent ("
	"  id INTEGER PRIMARY KEY,"
	"  n INTEGER NOT NULL,"
	"  kind TEXT NOT NULL,"
	"  name TEXT NOT NULL,"
	"  mac BLOB NOT NULL CHECK (length(mac) = 6),"
	"  zone TEXT NOT NULL) STRICT;"
	"INSERT INTO sqlite_sequence (name, seq) VALUES ('link', 0);";

static int run(sqlite3 *db, const char *path, const char *sql, struct err *e)
{
	return sqlite3_exec(db, sql, NULL, NULL, NULL) == SQLITE_OK ? 0 : store_fail(db, path, e);
}

/* Version 1: the tables and the store's own uuid. */
static int first(sqlite3 *db, const char *path, struct err *e)
{
	sd_id128_t id;
	char sql[160];
	int r = run(db, path, first_schema, e);

	if (r < 0)
		return r;
	r = sd_id128_randomize(&id);
	if (r < 0)
		return err_sys(e, r, path, "no random uuid: %s", strerror(-r));
	snprintf(sql, sizeof(sql),
		 "INSERT INTO meta (key, value) VALUES ('uuid', '" SD_ID128_UUID_FORMAT_STR "')",
		 SD_ID128_FORMAT_VAL(id));
	return run(db, path, sql, e);
}

/* Version 2: links for one boot only, as properties have had from the start. */
static int second(sqlite3 *db, const char *path, struct err *e)
{
	return run(db, path, "ALTER TABLE link ADD COLUMN boot TEXT NOT NULL DEFAULT ''", e);
}

/* Version 3: how links answered ARP before that was changed for isolated VNICs. */
static int third(sqlite3 *db, const char *path, struct err *e)
{
	return run(db, path,
		   "CREATE TABLE arp ("
		   "  ifindex INTEGER PRIMARY KEY,"
		   "  world TEXT NOT NULL," /* boot and namespace the number is valid in */
		   "  ignore INTEGER NOT NULL,"
		   "  announce INTEGER NOT NULL) STRICT",
		   e);
}

/* Version 4: where links were seen last, for those that others take every mark from. */
static int fourth(sqlite3 *db, const char *path, struct err *e)
{
	return run(db, path,
		   "CREATE TABLE place ("
		   "  n INTEGER PRIMARY KEY REFERENCES link (n) ON DELETE CASCADE,"
		   "  world TEXT NOT NULL," /* boot and namespace the number is valid in */
		   "  ifindex INTEGER NOT NULL,"
		   "  zone TEXT NOT NULL) STRICT",
		   e);
}

/* Version 5: an etherstub with a VLAN identifier is a VLAN link over a parent or etherstub. */
static int fifth(sqlite3 *db, const char *path, struct err *e)
{
	return run(
		db, path,
		"ALTER TABLE link ADD COLUMN vid INTEGER NOT NULL DEFAULT 0 CHECK (vid BETWEEN 0 AND 4094)",
		e);
}

/* Version 6: flows. */
static int sixth(sqlite3 *db, const char *path, struct err *e)
{
	return run(db, path,
		   "CREATE TABLE flow ("
		   "  id INTEGER PRIMARY KEY AUTOINCREMENT," /* the smaller the older */
		   "  n INTEGER NOT NULL REFERENCES link (n) ON DELETE CASCADE,"
		   "  slot INTEGER NOT NULL," /* its number in the kernel's objects of the link */
		   "  name TEXT NOT NULL UNIQUE,"
		   "  text TEXT NOT NULL," /* attributes */
		   "  boot TEXT NOT NULL) STRICT;"
		   "CREATE UNIQUE INDEX flow_slot ON flow (n, slot);"
		   "CREATE TABLE flowprop ("
		   "  id INTEGER NOT NULL REFERENCES flow (id) ON DELETE CASCADE,"
		   "  key TEXT NOT NULL,"
		   "  boot TEXT NOT NULL,"
		   "  value TEXT NOT NULL,"
		   "  PRIMARY KEY (id, key, boot)) STRICT, WITHOUT ROWID;"
		   "CREATE TABLE flowcounter ("
		   "  id INTEGER NOT NULL REFERENCES flow (id) ON DELETE CASCADE,"
		   "  name TEXT NOT NULL,"
		   "  base INTEGER NOT NULL,"
		   "  last INTEGER NOT NULL,"
		   "  PRIMARY KEY (id, name)) STRICT, WITHOUT ROWID;",
		   e);
}

/* Version 7: an etherstub that is theirs is what is wanted of a link that others made. */
static int seventh(sqlite3 *db, const char *path, struct err *e)
{
	return run(db, path,
		   "ALTER TABLE link ADD COLUMN theirs INTEGER NOT NULL DEFAULT 0 CHECK (theirs IN (0, 1))",
		   e);
}

/* migrations[i] makes schema version i + 1 of version i. */
static int (*const migrations[])(sqlite3 *db, const char *path, struct err *e) = {
	first, second, third, fourth, fifth, sixth, seventh,
};
#define SCHEMA_VERSION ((int)(sizeof(migrations) / sizeof(migrations[0])))

static int read_int(sqlite3 *db, const char *path, const char *sql, int *ret, struct err *e)
{
	sqlite3_stmt *stmt = NULL;
	int r = 0;

	if (sqlite3_prepare_v2(db, sql, -1, &stmt, NULL) != SQLITE_OK || sqlite3_step(stmt) != SQLITE_ROW)
		r = store_fail(db, path, e);
	else
		*ret = sqlite3_column_int(stmt, 0);
	sqlite3_finalize(stmt);
	return r;
}

static int migrate(sqlite3 *db, const char *path, int version, struct err *e)
{
	char done[96];
	int r = run(db, path, "BEGIN IMMEDIATE", e);

	if (r < 0)
		return r;
	snprintf(done, sizeof(done), "PRAGMA application_id = %d; PRAGMA user_version = %d; COMMIT",
		 APPLICATION_ID, version + 1);
	r = migrations[version](db, path, e);
	if (r == 0)
		r = run(db, path, done, e);
	if (r < 0 && !sqlite3_get_autocommit(db))
		sqlite3_exec(db, "ROLLBACK", NULL, NULL, NULL);
	return r;
}

int store_schema_upgrade(sqlite3 *db, const char *path, struct err *e)
{
	int r, version, application, tables;

	if ((r = read_int(db, path, "PRAGMA user_version", &version, e)) < 0 ||
	    (r = read_int(db, path, "PRAGMA application_id", &application, e)) < 0 ||
	    (r = read_int(db, path, "SELECT count(*) FROM sqlite_schema", &tables, e)) < 0)
		return r;
	if (application != APPLICATION_ID && (application || version || tables))
		return err_user(e, -EINVAL, path,
				"not a file of vnicd: move it away, or give another --state-dir");
	if (version < 0 || version > SCHEMA_VERSION)
		return err_user(e, -EPROTO, path,
				"schema version %d, this vnicd knows versions up to %d: install the newer "
				"vnicd again",
				version, SCHEMA_VERSION);
	while (r == 0 && version < SCHEMA_VERSION)
		r = migrate(db, path, version++, e);
	return r;
}

/* How SQLite's codes become errors; the first row whose code (primary or extended) matches. */
static const struct failure {
	int code, err;
	bool mend;
	const char *text;
} failures[] = {
	{SQLITE_FULL, -ENOSPC, true, "no space left: make room on its file system; nothing was changed"},
	{SQLITE_CORRUPT, -EUCLEAN, true,
	 "damaged: bring it back from a backup, or move state.db* away to start with an empty state"},
	{SQLITE_NOTADB, -EUCLEAN, true,
	 "damaged: bring it back from a backup, or move state.db* away to start with an empty state"},
	{SQLITE_READONLY, -EROFS, true,
	 "not writable: mount its file system for writing, or give another --state-dir"},
	{SQLITE_CANTOPEN, -EACCES, true, "cannot be opened: look at the directory's owner and mode"},
	{SQLITE_BUSY, -EBUSY, true, "another program keeps it locked: close that program"},
	{SQLITE_CONSTRAINT_UNIQUE, -EEXIST, false, NULL}, /* whose, its caller knows */
	{SQLITE_CONSTRAINT, -EINVAL, false, NULL},
	{SQLITE_NOMEM, -ENOMEM, false, NULL},
	{0, -EIO, false, NULL},
};

int store_fail(sqlite3 *db, const char *path, struct err *e)
{
	int code = sqlite3_extended_errcode(db);
	const struct failure *f = failures;

	while (f->code && f->code != code && f->code != (code & 0xff))
		f++;
	if (!f->text)
		return err_sys(e, f->err, path, "%s", sqlite3_errmsg(db));
	return (f->mend ? err_user : err_sys)(e, f->err, path, "%s", f->text);
}
