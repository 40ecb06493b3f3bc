/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The rows of flows in state.db. Decides nothing; transactions are store.c's. */
#include "vnicd/store_sql.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static const char *const words[FLOW_CTR_COUNT] = {
	[FLOW_CTR_IPACKETS] = "ipackets",
	[FLOW_CTR_RBYTES] = "rbytes",
	[FLOW_CTR_IDROPS] = "idrops",
	[FLOW_CTR_OPACKETS] = "opackets",
	[FLOW_CTR_OBYTES] = "obytes",
	[FLOW_CTR_ODROPS] = "odrops",
	[FLOW_CTR_CLASS_IPACKETS] = "class-ipackets",
	[FLOW_CTR_CLASS_RBYTES] = "class-rbytes",
	[FLOW_CTR_CLASS_IDROPS] = "class-idrops",
	[FLOW_CTR_CLASS_OPACKETS] = "class-opackets",
	[FLOW_CTR_CLASS_OBYTES] = "class-obytes",
	[FLOW_CTR_CLASS_ODROPS] = "class-odrops",
};

static void read_flow(sqlite3_stmt *stmt, struct store_flow *f)
{
	*f = (struct store_flow){
		.id = (uint32_t)sqlite3_column_int64(stmt, 0),
		.n = (uint32_t)sqlite3_column_int64(stmt, 1),
		.slot = (uint32_t)sqlite3_column_int64(stmt, 2),
		.text = column_text(stmt, 4),
		.temp = sqlite3_column_int(stmt, 5) != 0,
	};
	snprintf(f->name, sizeof(f->name), "%s", column_text(stmt, 3));
}

int store_flows(struct store *s, int (*cb)(const struct store_flow *f, void *arg), void *arg, struct err *e)
{
	sqlite3_stmt *stmt = sql_bind(s, S_FLOWS, "");
	struct store_flow f;
	int r;

	while ((r = sql_row(s, stmt, e)) > 0) {
		read_flow(stmt, &f);
		r = cb(&f, arg);
		if (r)
			break;
	}
	sqlite3_reset(stmt);
	return r;
}

int store_flow_put(struct store *s, struct store_flow *f, struct err *e)
{
	const char *boot = f->temp ? s->boot : "";
	int r;

	if (f->id)
		r = sql_run(s,
			    sql_bind(s, S_FLOW_PUT, "iittti", (int64_t)f->n, (int64_t)f->slot, f->name,
				     f->text, boot, (int64_t)f->id),
			    e);
	else
		r = sql_run(s,
			    sql_bind(s, S_FLOW_ADD, "iittt", (int64_t)f->n, (int64_t)f->slot, f->name,
				     f->text, boot),
			    e);
	if (r == -EEXIST)
		return err_user(e, r, f->name, "its name, or its slot on the link, is another flow's");
	if (r == 0 && !f->id)
		f->id = (uint32_t)sqlite3_last_insert_rowid(s->db);
	return r;
}

int store_flow_del(struct store *s, uint32_t id, struct err *e)
{
	return sql_run(s, sql_bind(s, S_FLOW_DEL, "i", (int64_t)id), e);
}

int store_flow_props(struct store *s, uint32_t id,
		     int (*cb)(const char *key, const char *value, const char *boot, void *arg), void *arg,
		     struct err *e)
{
	sqlite3_stmt *stmt = sql_bind(s, S_FLOWPROPS, "i", (int64_t)id);
	int r;

	while ((r = sql_row(s, stmt, e)) > 0) {
		r = cb(column_text(stmt, 0), column_text(stmt, 1), column_text(stmt, 2), arg);
		if (r)
			break;
	}
	sqlite3_reset(stmt);
	return r;
}

int store_flow_prop_put(struct store *s, uint32_t id, const char *key, const char *value, const char *boot,
			struct err *e)
{
	int r = save_begin(s, e);

	if (r < 0)
		return r;
	/* As of links: a persistent value ends a temporary one. */
	if (!*boot)
		r = sql_run(s, sql_bind(s, S_FLOWPROP_DEL_BOOT, "itt", (int64_t)id, key, ""), e);
	if (r == 0)
		r = sql_run(s, sql_bind(s, S_FLOWPROP_PUT, "ittt", (int64_t)id, key, boot, value), e);
	return save_end(s, r, e);
}

int store_flow_prop_del(struct store *s, uint32_t id, const char *key, struct err *e)
{
	return sql_run(s, sql_bind(s, S_FLOWPROP_DEL, "it", (int64_t)id, key), e);
}

int store_flow_counters_get(struct store *s, uint32_t id, struct counter ret[FLOW_CTR_COUNT], struct err *e)
{
	sqlite3_stmt *stmt = sql_bind(s, S_FLOWCOUNTERS, "i", (int64_t)id);
	struct counter read[FLOW_CTR_COUNT] = {0};
	int r, at;

	while ((r = sql_row(s, stmt, e)) > 0) {
		at = WORD(words, column_text(stmt, 0));
		if (at < 0)
			continue;
		read[at].base = (uint64_t)sqlite3_column_int64(stmt, 1);
		read[at].last = (uint64_t)sqlite3_column_int64(stmt, 2);
	}
	if (r == 0)
		memcpy(ret, read, sizeof(read));
	return r;
}

/* One that never counted has no row. */
int store_flow_counters_put(struct store *s, uint32_t id, const struct counter c[FLOW_CTR_COUNT],
			    struct err *e)
{
	int r = save_begin(s, e);

	if (r < 0)
		return r;
	for (int at = 0; r == 0 && at < FLOW_CTR_COUNT; at++)
		if (c[at].base || c[at].last)
			r = sql_run(s,
				    sql_bind(s, S_FLOWCOUNTER_PUT, "itii", (int64_t)id, words[at],
					     (int64_t)c[at].base, (int64_t)c[at].last),
				    e);
	return save_end(s, r, e);
}
