/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The desired world in DIR/state.db: its lock, transactions and rows. Durable before it returns; decides
 * nothing and never sees the kernel's state. The tables themselves are store_schema.c's.
 */
#include "vnicd/store.h"

#include "vnicd/store_schema.h"
#include "vnicd/store_sql.h"

#include <errno.h>
#include <fcntl.h>
#include <sqlite3.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <systemd/sd-id128.h>
#include <unistd.h>

#define BUSY_WAIT_MS 2000 /* somebody else's reading or backing up of the file */

static const char *const sql_text[S_COUNT] = {
	[S_BEGIN] = "BEGIN IMMEDIATE",
	[S_COMMIT] = "COMMIT",
	[S_LINKS] = "SELECT n, class, name, ifnull(parent, 0), ifnull(over, 0), mac_type, mac, down, boot <> "
		    "'', vid, theirs FROM link"
		    " ORDER BY n",
	[S_LINK_ADD] = "INSERT INTO link (class, name, parent, over, mac_type, mac, down, boot, vid, theirs)"
		       " VALUES (?2, ?3, nullif(?4, 0), nullif(?5, 0), ?6, ?7, ?8, ?9, ?10, ?11)",
	[S_LINK_PUT] =
		"INSERT INTO link (n, class, name, parent, over, mac_type, mac, down, boot, vid, theirs)"
		" VALUES (?1, ?2, ?3, nullif(?4, 0), nullif(?5, 0), ?6, ?7, ?8, ?9, ?10, ?11)"
		" ON CONFLICT (n) DO UPDATE SET class = ?2, name = ?3, parent = nullif(?4, 0),"
		" over = nullif(?5, 0), mac_type = ?6, mac = ?7, down = ?8, boot = ?9",
	[S_LINK_OLD_BOOTS] = "DELETE FROM link WHERE boot <> '' AND boot <> ?1",
	[S_LINK_IDLE_VLANS] =
		"DELETE FROM link WHERE vid > 0 AND n NOT IN (SELECT over FROM link WHERE over IS NOT NULL)",
	/* A killed daemon had not come to what the row is for. */
	[S_LINK_IDLE_THEIRS] = "DELETE FROM link WHERE theirs = 1 AND n NOT IN (SELECT n FROM flow)"
			       " AND n NOT IN (SELECT n FROM prop WHERE value NOT IN ('', 'none'))",
	[S_LINK_DEL] = "DELETE FROM link WHERE n = ?1",
	[S_IDENT_GET] = "SELECT bus, perm_mac, name FROM ident WHERE id = ?1",
	/* Both alike is better than the bus address alone, and that is better than the MAC address alone. */
	[S_IDENT_FIND] = "SELECT id FROM ident WHERE ?1 <> '' AND bus = ?1"
			 " OR ?2 <> zeroblob(6) AND perm_mac = ?2"
			 " OR ?1 = '' AND ?2 = zeroblob(6) AND bus = '' AND perm_mac = ?2 AND name = ?3"
			 " ORDER BY bus <> ?1, perm_mac <> ?2, id LIMIT 1",
	[S_IDENT_ADD] = "INSERT INTO ident (bus, perm_mac, name) VALUES (?1, ?2, ?3)",
	/* What is not known this time stays as it was. */
	[S_IDENT_PUT] = "UPDATE ident SET bus = iif(?1 = '', bus, ?1),"
			" perm_mac = iif(?2 = zeroblob(6), perm_mac, ?2), name = ?3 WHERE id = ?4",
	[S_IDENTS_CLEAR] = "DELETE FROM ident",
	/* A value for this boot comes after the persistent one, so that the last one read is in force. */
	[S_PROPS] = "SELECT key, value, boot FROM prop WHERE n = ?1 ORDER BY key, boot",
	[S_PROP_PUT] = "INSERT INTO prop (n, key, boot, value) VALUES (?1, ?2, ?3, ?4)"
		       " ON CONFLICT (n, key, boot) DO UPDATE SET value = ?4",
	[S_PROP_DEL] = "DELETE FROM prop WHERE n = ?1 AND key = ?2",
	[S_PROP_DEL_BOOT] = "DELETE FROM prop WHERE n = ?1 AND key = ?2 AND boot <> ?3",
	[S_PROP_OLD_BOOTS] = "DELETE FROM prop WHERE boot <> '' AND boot <> ?1",
	[S_INTENT_PUT] = "INSERT INTO intent (n, kind, name, mac, zone) VALUES (?1, ?2, ?3, ?4, ?5)",
	/* A number in an intent is spent, even if the row of its link never comes. */
	[S_INTENT_NUMBER] = "UPDATE sqlite_sequence SET seq = max(seq, ?1) WHERE name = 'link'",
	[S_INTENTS] = "SELECT n, kind, name, mac, zone FROM intent ORDER BY id",
	[S_INTENTS_CLEAR] = "DELETE FROM intent",
	[S_COUNTERS] = "SELECT id, base, last FROM counter WHERE n = ?1",
	[S_COUNTER_PUT] = "INSERT INTO counter (n, id, base, last) VALUES (?1, ?2, ?3, ?4)"
			  " ON CONFLICT (n, id) DO UPDATE SET base = ?3, last = ?4",
	[S_ARPS] = "SELECT ifindex, ignore, announce FROM arp WHERE world = ?1",
	[S_ARP_PUT] = "INSERT INTO arp (ifindex, world, ignore, announce) VALUES (?1, ?2, ?3, ?4)"
		      " ON CONFLICT (ifindex) DO UPDATE SET world = ?2, ignore = ?3, announce = ?4",
	[S_ARP_DEL] = "DELETE FROM arp WHERE ifindex = ?1",
	[S_PLACES] = "SELECT n, ifindex, zone FROM place WHERE world = ?1 ORDER BY n",
	/* What is there already costs no write, and nobody waits for the disk. */
	[S_PLACE_PUT] = "INSERT INTO place (n, world, ifindex, zone) VALUES (?1, ?2, ?3, ?4)"
			" ON CONFLICT (n) DO UPDATE SET world = ?2, ifindex = ?3, zone = ?4"
			" WHERE world <> ?2 OR ifindex <> ?3 OR zone <> ?4",
	[S_FLOWS] = "SELECT id, n, slot, name, text, boot <> '' FROM flow ORDER BY id",
	[S_FLOW_ADD] = "INSERT INTO flow (n, slot, name, text, boot) VALUES (?1, ?2, ?3, ?4, ?5)",
	[S_FLOW_PUT] = "INSERT INTO flow (n, slot, name, text, boot, id) VALUES (?1, ?2, ?3, ?4, ?5, ?6)"
		       " ON CONFLICT (id) DO UPDATE SET n = ?1, slot = ?2, name = ?3, text = ?4, boot = ?5",
	[S_FLOW_DEL] = "DELETE FROM flow WHERE id = ?1",
	[S_FLOW_OLD_BOOTS] = "DELETE FROM flow WHERE boot <> '' AND boot <> ?1",
	[S_FLOWPROPS] = "SELECT key, value, boot FROM flowprop WHERE id = ?1 ORDER BY key, boot",
	[S_FLOWPROP_PUT] = "INSERT INTO flowprop (id, key, boot, value) VALUES (?1, ?2, ?3, ?4)"
			   " ON CONFLICT (id, key, boot) DO UPDATE SET value = ?4",
	[S_FLOWPROP_DEL] = "DELETE FROM flowprop WHERE id = ?1 AND key = ?2",
	[S_FLOWPROP_DEL_BOOT] = "DELETE FROM flowprop WHERE id = ?1 AND key = ?2 AND boot <> ?3",
	[S_FLOWPROP_OLD_BOOTS] = "DELETE FROM flowprop WHERE boot <> '' AND boot <> ?1",
	[S_FLOWCOUNTERS] = "SELECT name, base, last FROM flowcounter WHERE id = ?1",
	[S_FLOWCOUNTER_PUT] = "INSERT INTO flowcounter (id, name, base, last) VALUES (?1, ?2, ?3, ?4)"
			      " ON CONFLICT (id, name) DO UPDATE SET base = ?3, last = ?4",
	[S_META_GET] = "SELECT value FROM meta WHERE key = ?1",
	[S_META_PUT] =
		"INSERT INTO meta (key, value) VALUES (?1, ?2) ON CONFLICT (key) DO UPDATE SET value = ?2",
};

/* Words on disk, so that an enum may change its order. */
static const char *const class_words[] = {[CLASS_VNIC] = "vnic",
					  [CLASS_ETHERSTUB] = "etherstub",
					  [CLASS_VLAN] = "etherstub",
					  [CLASS_FOREIGN] = "etherstub"};
static const char *const mac_type_words[] = {
	[MAC_AUTO] = "auto", [MAC_RANDOM] = "random", [MAC_FIXED] = "fixed"};
static const char *const counter_words[CTR_COUNT] = {
	[CTR_IPACKETS] = "ipackets", [CTR_RBYTES] = "rbytes",     [CTR_IERRORS] = "ierrors",
	[CTR_IDROPS] = "idrops",     [CTR_OPACKETS] = "opackets", [CTR_OBYTES] = "obytes",
	[CTR_OERRORS] = "oerrors",   [CTR_ODROPS] = "odrops",     [CTR_TX_LEAF] = "tx-leaf",
	[CTR_RX_LEAF] = "rx-leaf",   [CTR_RX_GROUP] = "rx-group", [CTR_TX_BLOCKED] = "tx-blocked",
};
int word_find(const char *const *words, size_t count, const char *text)
{
	for (size_t i = 0; i < count; i++) {
		if (words[i] && !strcmp(words[i], text))
			return (int)i;
	}
	return -1;
}

/* ---- statements: bind with sql_bind(), go with sql_run() or sql_row(); each leaves the statement reset ----
 */

static int fail(struct store *s, struct err *e)
{
	return store_fail(s->db, s->path, e);
}

/* One letter per parameter: i int64_t, t text, m struct mac *. What is bound lives until the statement is
 * reset. */
sqlite3_stmt *sql_bind(struct store *s, enum sql which, const char *types, ...)
{
	sqlite3_stmt *stmt = s->stmt[which];
	va_list ap;

	sqlite3_reset(stmt);
	va_start(ap, types);
	for (int i = 1; types[i - 1]; i++) {
		if (types[i - 1] == 'i')
			sqlite3_bind_int64(stmt, i, va_arg(ap, int64_t));
		else if (types[i - 1] == 't')
			sqlite3_bind_text(stmt, i, va_arg(ap, const char *), -1, SQLITE_STATIC);
		else
			sqlite3_bind_blob(stmt, i, va_arg(ap, const struct mac *), sizeof(struct mac),
					  SQLITE_STATIC);
	}
	va_end(ap);
	return stmt;
}

/* Runs a statement that gives no rows. */
int sql_run(struct store *s, sqlite3_stmt *stmt, struct err *e)
{
	int r = sqlite3_step(stmt) == SQLITE_DONE ? 0 : fail(s, e);

	sqlite3_reset(stmt);
	return r;
}

/* 1 with a row, 0 after the last one (then the statement is reset, as on an error). */
int sql_row(struct store *s, sqlite3_stmt *stmt, struct err *e)
{
	int r = sqlite3_step(stmt);

	if (r == SQLITE_ROW)
		return 1;
	r = r == SQLITE_DONE ? 0 : fail(s, e);
	sqlite3_reset(stmt);
	return r;
}

const char *column_text(sqlite3_stmt *stmt, int column)
{
	const char *text = (const char *)sqlite3_column_text(stmt, column);

	return text ? text : "";
}

static struct mac column_mac(sqlite3_stmt *stmt, int column)
{
	const void *blob = sqlite3_column_blob(stmt, column);
	struct mac mac = {0};

	if (blob && sqlite3_column_bytes(stmt, column) == sizeof(mac))
		memcpy(&mac, blob, sizeof(mac));
	return mac;
}

/* Several statements as one: a savepoint works inside a transaction and outside. */
int save_begin(struct store *s, struct err *e)
{
	return sqlite3_exec(s->db, "SAVEPOINT several", NULL, NULL, NULL) == SQLITE_OK ? 0 : fail(s, e);
}

int save_end(struct store *s, int r, struct err *e)
{
	if (r == 0 && sqlite3_exec(s->db, "RELEASE several", NULL, NULL, NULL) == SQLITE_OK)
		return 0;
	if (r == 0)
		r = fail(s, e);
	sqlite3_exec(s->db, "ROLLBACK TO several; RELEASE several", NULL, NULL, NULL);
	return r;
}

/* ---- opening ---- */

static int lock_busy(const char *dir, int fd, struct err *e)
{
	char pid[32] = "";
	ssize_t len = pread(fd, pid, sizeof(pid) - 1, 0);

	if (len > 0)
		pid[strcspn(pid, "\n")] = '\0';
	return err_user(e, -EBUSY, NULL, "state directory %s is in use by vnicd, pid %s", dir,
			*pid ? pid : "unknown");
}

/* The lock lives as long as the descriptor, so a killed daemon leaves none behind. */
static int lock_take(struct store *s, const char *dir, struct err *e)
{
	char path[4096];
	int error;

	if (mkdir(dir, 0700) < 0 && errno != EEXIST)
		return err_user(e, -errno, dir, "cannot be made: %s", strerror(errno));
	snprintf(path, sizeof(path), "%s/lock", dir);
	s->lock = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	if (s->lock < 0)
		return err_user(e, -errno, path, "cannot be opened: %s", strerror(errno));
	if (flock(s->lock, LOCK_EX | LOCK_NB) < 0) {
		error = errno;
		return error == EWOULDBLOCK
			       ? lock_busy(dir, s->lock, e)
			       : err_sys(e, -error, path, "cannot be locked: %s", strerror(error));
	}
	if (ftruncate(s->lock, 0) < 0 || dprintf(s->lock, "%d\n", getpid()) < 0)
		return err_user(e, -errno, path, "cannot be written: %s", strerror(errno));
	return 0;
}

/* One statement for its first row's text; what is wrong with the whole file comes out here. */
static int check_whole(struct store *s, struct err *e)
{
	sqlite3_stmt *stmt = NULL;
	int r = 0;

	if (sqlite3_prepare_v2(s->db, "PRAGMA quick_check(1)", -1, &stmt, NULL) != SQLITE_OK ||
	    sqlite3_step(stmt) != SQLITE_ROW)
		r = fail(s, e);
	else if (strcmp(column_text(stmt, 0), "ok") != 0)
		r = err_user(e, -EUCLEAN, s->path,
			     "damaged (%.200s): bring it back from a backup, or move state.db* away to start "
			     "with an "
			     "empty state",
			     column_text(stmt, 0));
	sqlite3_finalize(stmt);
	return r;
}

static int file_open(struct store *s, struct err *e)
{
	static const char settings[] = "PRAGMA journal_mode = WAL;"
				       "PRAGMA synchronous = FULL;"
				       "PRAGMA foreign_keys = ON;"
				       "PRAGMA trusted_schema = OFF;";
	int r = sqlite3_open_v2(s->path, &s->db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, NULL);

	if (r != SQLITE_OK)
		return s->db ? fail(s, e) : err_nomem(e);
	sqlite3_busy_timeout(s->db, BUSY_WAIT_MS);
	if (sqlite3_exec(s->db, settings, NULL, NULL, NULL) != SQLITE_OK)
		return fail(s, e);
	r = check_whole(s, e);
	return r < 0 ? r : store_schema_upgrade(s->db, s->path, e);
}

static int prepare(struct store *s, struct err *e)
{
	for (int i = 0; i < S_COUNT; i++) {
		if (sqlite3_prepare_v3(s->db, sql_text[i], -1, SQLITE_PREPARE_PERSISTENT, &s->stmt[i],
				       NULL) != SQLITE_OK)
			return fail(s, e);
	}
	return 0;
}

static int meta_get(struct store *s, const char *key, char *buf, size_t size, struct err *e)
{
	sqlite3_stmt *stmt = sql_bind(s, S_META_GET, "t", key);
	int r = sql_row(s, stmt, e);

	if (r < 0)
		return r;
	snprintf(buf, size, "%s", r ? column_text(stmt, 0) : "");
	sqlite3_reset(stmt);
	return 0;
}

static int drop_old_boots(struct store *s, struct err *e)
{
	static const enum sql others[] = {S_PROP_OLD_BOOTS, S_FLOW_OLD_BOOTS, S_FLOWPROP_OLD_BOOTS};
	sd_id128_t id;
	int r = sd_id128_get_boot(&id);

	if (r < 0)
		return err_sys(e, r, NULL, "cannot read this boot's id: %s", strerror(-r));
	snprintf(s->boot, sizeof(s->boot), SD_ID128_UUID_FORMAT_STR, SD_ID128_FORMAT_VAL(id));
	r = sql_run(s, sql_bind(s, S_LINK_OLD_BOOTS, "t", s->boot), e);
	if (r == 0)
		r = sql_run(s, s->stmt[S_LINK_IDLE_VLANS], e);
	for (size_t i = 0; r == 0 && i < sizeof(others) / sizeof(*others); i++)
		r = sql_run(s, sql_bind(s, others[i], "t", s->boot), e);
	return r < 0 ? r : sql_run(s, s->stmt[S_LINK_IDLE_THEIRS], e);
}

static int open_all(struct store *s, const char *dir, struct err *e)
{
	int r;

	if (asprintf(&s->path, "%s/state.db", dir) < 0) {
		s->path = NULL;
		return err_nomem(e);
	}
	if ((r = lock_take(s, dir, e)) < 0 || (r = file_open(s, e)) < 0 || (r = prepare(s, e)) < 0 ||
	    (r = meta_get(s, "uuid", s->uuid, sizeof(s->uuid), e)) < 0)
		return r;
	return drop_old_boots(s, e);
}

int store_open(const char *dir, struct store **ret, struct err *e)
{
	struct store *s = calloc(1, sizeof(*s));
	int r;

	if (!s)
		return err_nomem(e);
	s->lock = -1;
	r = open_all(s, dir, e);
	if (r < 0)
		store_close(s);
	else
		*ret = s;
	return r;
}

struct store *store_close(struct store *s)
{
	if (!s)
		return NULL;
	for (int i = 0; i < S_COUNT; i++)
		sqlite3_finalize(s->stmt[i]);
	sqlite3_close(s->db);
	if (s->lock >= 0)
		close(s->lock);
	free(s->path);
	free(s);
	return NULL;
}

const char *store_boot(const struct store *s)
{
	return s->boot;
}

const char *store_uuid(const struct store *s)
{
	return s->uuid;
}

/* ---- transactions ---- */

int store_begin(struct store *s, struct err *e)
{
	return sql_run(s, s->stmt[S_BEGIN], e);
}

int store_commit(struct store *s, struct err *e)
{
	int r = sql_run(s, s->stmt[S_COMMIT], e);

	if (r < 0)
		store_rollback(s);
	return r;
}

void store_rollback(struct store *s)
{
	if (!sqlite3_get_autocommit(s->db))
		sqlite3_exec(s->db, "ROLLBACK", NULL, NULL, NULL);
}

/* ---- links ---- */

static void read_link(sqlite3_stmt *stmt, struct store_link *l)
{
	*l = (struct store_link){
		.n = (uint32_t)sqlite3_column_int64(stmt, 0),
		.class = (enum link_class)WORD(class_words, column_text(stmt, 1)),
		.parent_row = (uint32_t)sqlite3_column_int64(stmt, 3),
		.over = (uint32_t)sqlite3_column_int64(stmt, 4),
		.mac_type = (enum mac_type)WORD(mac_type_words, column_text(stmt, 5)),
		.mac = column_mac(stmt, 6),
		.down = sqlite3_column_int(stmt, 7),
		.temp = sqlite3_column_int(stmt, 8),
		.vid = (uint16_t)sqlite3_column_int(stmt, 9),
	};
	if (l->vid)
		l->class = CLASS_VLAN;
	if (sqlite3_column_int(stmt, 10))
		l->class = CLASS_FOREIGN;
	snprintf(l->name, sizeof(l->name), "%s", column_text(stmt, 2));
}

int store_links(struct store *s, int (*cb)(const struct store_link *l, void *arg), void *arg, struct err *e)
{
	sqlite3_stmt *stmt = sql_bind(s, S_LINKS, "");
	struct store_link l;
	int r;

	while ((r = sql_row(s, stmt, e)) > 0) {
		read_link(stmt, &l);
		r = cb(&l, arg);
		if (r)
			break;
	}
	sqlite3_reset(stmt);
	return r;
}

/* The name of a link that is not ours may be another's of ours as well, in a zone: its row has one of ours.
 */
int store_link_put(struct store *s, struct store_link *l, struct err *e)
{
	bool theirs = l->class == CLASS_FOREIGN;
	char out[IFNAMSIZ];
	int r;

	node_out_name(l->n, out);
	r = sql_run(s,
		    sql_bind(s, l->n ? S_LINK_PUT : S_LINK_ADD, "ittiitmitii", (int64_t)l->n,
			     class_words[l->class], theirs && l->n ? out : l->name, (int64_t)l->parent_row,
			     (int64_t)l->over, mac_type_words[l->mac_type], &l->mac, (int64_t)l->down,
			     l->temp ? s->boot : "", (int64_t)l->vid, (int64_t)theirs),
		    e);

	if (r == -EEXIST)
		return err_user(e, r, l->name, "a VNIC or etherstub of this name exists: give another name");
	if (r == 0 && !l->n)
		l->n = (uint32_t)sqlite3_last_insert_rowid(s->db);
	return r;
}

int store_link_del(struct store *s, uint32_t n, struct err *e)
{
	return sql_run(s, sql_bind(s, S_LINK_DEL, "i", (int64_t)n), e);
}

/* ---- identities of links that are not ours ---- */

int store_ident_get(struct store *s, uint32_t row, struct ident *ret, struct err *e)
{
	sqlite3_stmt *stmt = sql_bind(s, S_IDENT_GET, "i", (int64_t)row);
	int r = sql_row(s, stmt, e);

	if (r < 0)
		return r;
	if (r == 0)
		return err_sys(e, -ENOENT, s->path, "no parent has row %u", row);
	*ret = (struct ident){.perm_mac = column_mac(stmt, 1)};
	snprintf(ret->bus, sizeof(ret->bus), "%s", column_text(stmt, 0));
	snprintf(ret->name, sizeof(ret->name), "%s", column_text(stmt, 2));
	sqlite3_reset(stmt);
	return 0;
}

int store_ident_put(struct store *s, const struct ident *id, uint32_t *ret_row, struct err *e)
{
	sqlite3_stmt *find = sql_bind(s, S_IDENT_FIND, "tmt", id->bus, &id->perm_mac, id->name);
	int found = sql_row(s, find, e), r;
	int64_t row;

	if (found < 0)
		return found;
	row = found ? sqlite3_column_int64(find, 0) : 0;
	sqlite3_reset(find);
	r = sql_run(s,
		    found ? sql_bind(s, S_IDENT_PUT, "tmti", id->bus, &id->perm_mac, id->name, row)
			  : sql_bind(s, S_IDENT_ADD, "tmt", id->bus, &id->perm_mac, id->name),
		    e);
	if (r == 0)
		*ret_row = (uint32_t)(found ? row : sqlite3_last_insert_rowid(s->db));
	return r;
}

int store_idents_clear(struct store *s, struct err *e)
{
	return sql_run(s, s->stmt[S_IDENTS_CLEAR], e);
}

/* ---- properties ---- */

int store_props(struct store *s, uint32_t n,
		int (*cb)(const char *key, const char *value, const char *boot, void *arg), void *arg,
		struct err *e)
{
	sqlite3_stmt *stmt = sql_bind(s, S_PROPS, "i", (int64_t)n);
	int r;

	while ((r = sql_row(s, stmt, e)) > 0) {
		r = cb(column_text(stmt, 0), column_text(stmt, 1), column_text(stmt, 2), arg);
		if (r)
			break;
	}
	sqlite3_reset(stmt);
	return r;
}

int store_prop_put(struct store *s, uint32_t n, const char *key, const char *value, const char *boot,
		   struct err *e)
{
	int r = save_begin(s, e);

	if (r < 0)
		return r;
	/* A persistent value ends a temporary one; the temporary one only hides the persistent. */
	if (!*boot)
		r = sql_run(s, sql_bind(s, S_PROP_DEL_BOOT, "itt", (int64_t)n, key, ""), e);
	if (r == 0)
		r = sql_run(s, sql_bind(s, S_PROP_PUT, "ittt", (int64_t)n, key, boot, value), e);
	return save_end(s, r, e);
}

int store_prop_del(struct store *s, uint32_t n, const char *key, struct err *e)
{
	return sql_run(s, sql_bind(s, S_PROP_DEL, "it", (int64_t)n, key), e);
}

/* ---- intents ---- */

int store_intent_put(struct store *s, uint32_t n, const char *kind, const char *name, struct mac mac,
		     const char *zone, struct err *e)
{
	int r = save_begin(s, e);

	if (r < 0)
		return r;
	r = sql_run(s, sql_bind(s, S_INTENT_PUT, "ittmt", (int64_t)n, kind, name, &mac, zone), e);
	if (r == 0)
		r = sql_run(s, sql_bind(s, S_INTENT_NUMBER, "i", (int64_t)n), e);
	return save_end(s, r, e);
}

int store_intents(struct store *s,
		  int (*cb)(uint32_t n, const char *kind, const char *name, struct mac mac, const char *zone,
			    void *arg),
		  void *arg, struct err *e)
{
	sqlite3_stmt *stmt = sql_bind(s, S_INTENTS, "");
	int r;

	while ((r = sql_row(s, stmt, e)) > 0) {
		r = cb((uint32_t)sqlite3_column_int64(stmt, 0), column_text(stmt, 1), column_text(stmt, 2),
		       column_mac(stmt, 3), column_text(stmt, 4), arg);
		if (r)
			break;
	}
	sqlite3_reset(stmt);
	return r;
}

int store_intents_clear(struct store *s, struct err *e)
{
	return sql_run(s, s->stmt[S_INTENTS_CLEAR], e);
}

/* ---- counters and the world ---- */

int store_counters_get(struct store *s, uint32_t n, struct counter ret[CTR_COUNT], struct err *e)
{
	sqlite3_stmt *stmt = sql_bind(s, S_COUNTERS, "i", (int64_t)n);
	struct counter read[CTR_COUNT] = {0};
	int r, id;

	while ((r = sql_row(s, stmt, e)) > 0) {
		id = WORD(counter_words, column_text(stmt, 0));
		if (id < 0)
			continue;
		read[id].base = (uint64_t)sqlite3_column_int64(stmt, 1);
		read[id].last = (uint64_t)sqlite3_column_int64(stmt, 2);
	}
	if (r == 0)
		memcpy(ret, read, sizeof(read));
	return r;
}

int store_counters_put(struct store *s, uint32_t n, const struct counter c[CTR_COUNT], struct err *e)
{
	int r = save_begin(s, e);

	if (r < 0)
		return r;
	for (int id = 0; r == 0 && id < CTR_COUNT; id++)
		r = sql_run(s,
			    sql_bind(s, S_COUNTER_PUT, "itii", (int64_t)n, counter_words[id],
				     (int64_t)c[id].base, (int64_t)c[id].last),
			    e);
	return save_end(s, r, e);
}

int store_arps(struct store *s, const char *world, int (*cb)(int ifindex, struct arp arp, void *arg),
	       void *arg, struct err *e)
{
	sqlite3_stmt *stmt = sql_bind(s, S_ARPS, "t", world);
	int r;

	while ((r = sql_row(s, stmt, e)) > 0) {
		struct arp arp = {.ignore = (uint32_t)sqlite3_column_int(stmt, 1),
				  .announce = (uint32_t)sqlite3_column_int(stmt, 2)};

		r = cb(sqlite3_column_int(stmt, 0), arp, arg);
		if (r < 0) {
			sqlite3_reset(stmt);
			return err_nomem(e);
		}
	}
	return r;
}

int store_arp_put(struct store *s, const char *world, int ifindex, struct arp arp, struct err *e)
{
	return sql_run(s,
		       sql_bind(s, S_ARP_PUT, "itii", (int64_t)ifindex, world, (int64_t)arp.ignore,
				(int64_t)arp.announce),
		       e);
}

int store_arp_del(struct store *s, int ifindex, struct err *e)
{
	return sql_run(s, sql_bind(s, S_ARP_DEL, "i", (int64_t)ifindex), e);
}

int store_places(struct store *s, const char *world,
		 int (*cb)(uint32_t n, int ifindex, const char *zone, void *arg), void *arg, struct err *e)
{
	sqlite3_stmt *stmt = sql_bind(s, S_PLACES, "t", world);
	int r;

	while ((r = sql_row(s, stmt, e)) > 0) {
		r = cb((uint32_t)sqlite3_column_int64(stmt, 0), sqlite3_column_int(stmt, 1),
		       column_text(stmt, 2), arg);
		if (r)
			break;
	}
	sqlite3_reset(stmt);
	return r;
}

int store_place_put(struct store *s, uint32_t n, const char *world, int ifindex, const char *zone,
		    struct err *e)
{
	return sql_run(s, sql_bind(s, S_PLACE_PUT, "itit", (int64_t)n, world, (int64_t)ifindex, zone), e);
}

int store_world_get(struct store *s, char ret[128], struct err *e)
{
	return meta_get(s, "world", ret, 128, e);
}

int store_world_put(struct store *s, const char *world, struct err *e)
{
	return sql_run(s, sql_bind(s, S_META_PUT, "tt", "world", world), e);
}

int store_machine_get(struct store *s, char ret[64], struct err *e)
{
	return meta_get(s, "machine", ret, 64, e);
}

int store_machine_put(struct store *s, const char *machine, struct err *e)
{
	return sql_run(s, sql_bind(s, S_META_PUT, "tt", "machine", machine), e);
}
