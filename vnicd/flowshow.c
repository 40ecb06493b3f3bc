/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Answers what flows there are, what they may do and which a packet belongs to. Changes nothing. */
#include "vnicd/flowshow.h"

#include "vnicd/change_build.h"
#include "vnicd/flowchange.h"
#include "vnicd/flowwant.h"
#include "vnicd/observe.h"
#include "vnicd/session.h"
#include "vnicd/want.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <utlist.h>

/* Which flows: of a name, of a link, or all. */
struct asked {
	struct daemon *d;
	const char *name;
	struct vlink *link;
	struct vlink blank; /* see flow_link() */
	bool persistent;
};

static int read_asked(struct daemon *d, const json_t *params, const char *key, struct asked *ret,
		      struct err *e)
{
	const char *link = change_text(params, "link");
	struct flow *f;
	int r = 0;

	*ret = (struct asked){.d = d,
			      .name = change_text(params, key),
			      .persistent = json_is_true(json_object_get(params, "persistent"))};
	if (link)
		r = flow_link(d, link, &ret->blank, &ret->link, e);
	if (r == 0 && ret->name)
		r = flow_known(d, ret->name, link, &f, e);
	if (r == 0 && ret->name && ret->persistent && f->s.temp)
		r = err_user(e, -ENOENT, ret->name,
			     "it is temporary, and nothing of it is stored for good: leave -P out");
	return r;
}

static int by_link_and_age(const void *a, const void *b)
{
	struct flow *const *x = a, *const *y = b;
	int r = strverscmp((*x)->link->s.name, (*y)->link->s.name);

	return r ? r : ((*x)->s.id > (*y)->s.id) - ((*x)->s.id < (*y)->s.id);
}

static bool is_asked(const struct asked *a, const struct flow *f)
{
	return (!a->name || !strcmp(a->name, f->s.name)) && (!a->link || a->link == f->link) &&
	       !(a->persistent && f->s.temp);
}

/* Those that were asked for, by link and age; the caller frees the array. NULL without memory. */
static struct flow **collect(const struct asked *a, size_t *ret_count)
{
	struct flow **all = calloc(HASH_CNT(hh_name, a->d->flows) + 1, sizeof(*all)), *f, *next;

	*ret_count = 0;
	if (!all)
		return NULL;
	HASH_ITER (hh_name, a->d->flows, f, next)
		if (is_asked(a, f))
			all[(*ret_count)++] = f;
	qsort(all, *ret_count, sizeof(struct flow *), by_link_and_age);
	return all;
}

static void put(json_t *row, const char *key, const char *text)
{
	if (text && *text)
		json_object_set_new(row, key, json_string(text));
}

static const char *direction(const struct flow_match *m)
{
	return m->dir[FLOW_IN] && m->dir[FLOW_OUT] ? "both" : m->dir[FLOW_IN] ? "in" : "out";
}

/* As of a link. */
static void put_bandwidth(json_t *row, const char *maxbw)
{
	char text[PROP_TEXT_MAX + sizeof("max=")];

	if (!maxbw || !strcmp(maxbw, "none"))
		return;
	snprintf(text, sizeof(text), "%s%s", !strcmp(maxbw, "blocked") ? "" : "max=", maxbw);
	put(row, "bandwidth", text);
}

static void put_rank(json_t *row, const struct flow_props *p)
{
	uint16_t rank = flow_prop_rank(p);

	if (rank)
		json_object_set_new(row, "rank", json_integer(rank));
}

static void put_state(json_t *row, const struct vlink *v)
{
	static const char *const words[] = {[TROUBLE_NONE] = "up",
					    [TROUBLE_LOST] = "lost",
					    [TROUBLE_WAITING] = "waiting",
					    [TROUBLE_OVERRIDDEN] = "overridden"};

	put(row, "state", words[v->trouble]);
	put(row, "why", v->trouble == TROUBLE_NONE ? NULL : v->why);
}

static json_t *flow_row(const struct flow *f, bool persistent)
{
	const struct flow_props *p = persistent ? &f->kept : &f->props;
	json_t *row = json_pack("{s:s, s:s, s:s, s:s}", "flow", f->s.name, "link", f->link->s.name,
				"direction", direction(&f->match), "attributes", f->s.text);
	char buf[48];

	put(row, "proto", flow_proto_str(&f->match, buf));
	put(row, "laddr", flow_addr_str(&f->match.local, buf));
	put(row, "lport", flow_ports_str(&f->match.local_port, buf));
	put(row, "raddr", flow_addr_str(&f->match.remote, buf));
	put(row, "rport", flow_ports_str(&f->match.remote_port, buf));
	put(row, "dsfld", flow_ds_str(&f->match, buf));
	put_rank(row, p);
	put_bandwidth(row, p->value[FLOW_PROP_MAXBW]);
	put(row, "priority", p->value[FLOW_PROP_PRIORITY]);
	json_object_set_new(row, "temporary", json_boolean(f->s.temp));
	if (!persistent)
		put_state(row, f->link);
	return row;
}

/* fn makes rows of one flow. */
static void show(struct daemon *d, struct call *c, const char *key, const char *rows_key,
		 void (*fn)(const struct flow *f, const struct asked *a, const json_t *params, json_t *rows))
{
	json_t *params = call_params(c), *rows = json_array();
	struct err e = {0};
	struct asked a;
	struct flow **all = NULL;
	size_t count = 0;
	int r = read_asked(d, params, key, &a, &e);

	if (r == 0)
		all = collect(&a, &count);
	if (r < 0 || !all) {
		json_decref(rows);
		if (r == 0)
			err_nomem(&e);
		call_fail(c, &e);
		return;
	}
	for (size_t i = 0; i < count; i++)
		fn(all[i], &a, params, rows);
	free(all);
	call_reply(c, json_pack("{s:o}", rows_key, rows), false);
}

static void add_flow(const struct flow *f, const struct asked *a, const json_t *params, json_t *rows)
{
	(void)params;
	json_array_append_new(rows, flow_row(f, a->persistent));
}

void flowshow_flow(struct daemon *d, struct call *c)
{
	show(d, c, "name", "flows", add_flow);
}

/* Properties. */

/* The least of its own and its link's; a share as a rate. */
static void effective_cap(const struct flow *f, char *buf, size_t size)
{
	uint64_t speed = f->link->below ? f->link->below->speed : 0;
	struct flow_want w = flow_want_of(f);
	uint64_t rate = w.rate;

	buf[0] = '\0';
	for (enum flow_dir dir = FLOW_IN; dir < FLOW_DIRS; dir++) {
		struct eff_cap cap = want_cap(f->link, dir == FLOW_OUT, speed);

		if (f->match.dir[dir] && cap.rate && (!rate || cap.rate < rate))
			rate = cap.rate;
		w.blocked |= f->match.dir[dir] && cap.blocked;
	}
	if (w.blocked)
		bw_str((struct bw){.kind = BW_BLOCKED}, buf, size);
	else if (rate)
		bw_str((struct bw){.kind = BW_RATE, .value = rate}, buf, size);
}

static json_t *prop_row(const struct flow *f, enum flow_prop_id id, bool persistent)
{
	const struct flow_props *p = persistent ? &f->kept : &f->props;
	const char *value = p->value[id], *usual = flow_prop_default(id);
	json_t *row = json_pack("{s:s, s:s, s:s, s:s}", "flow", f->s.name, "link", f->link->s.name,
				"property", flow_prop_rows[id].name, "perm", "rw");
	char buf[64];

	put(row, "value", value);
	put(row, "default", usual);
	put(row, "possible", flow_prop_rows[id].possible);
	if (persistent)
		return row;
	effective_cap(f, buf, sizeof(buf));
	put(row, "effective", id == FLOW_PROP_MAXBW ? buf : value ? value : usual);
	return row;
}

static bool names_prop(const json_t *props, const char *name)
{
	json_t *one;
	size_t i;

	json_array_foreach (props, i, one)
		if (json_is_string(one) && !strcmp(json_string_value(one), name))
			return true;
	return !json_array_size(props);
}

static void add_props(const struct flow *f, const struct asked *a, const json_t *params, json_t *rows)
{
	const json_t *props = json_object_get(params, "props");

	for (int id = 0; id < FLOW_PROP_COUNT; id++)
		if (names_prop(props, flow_prop_rows[id].name))
			json_array_append_new(rows, prop_row(f, id, a->persistent));
}

void flowshow_prop(struct daemon *d, struct call *c)
{
	const char *flow = change_text(call_params(c), "flow");
	json_t *props = json_object_get(call_params(c), "props"), *name;
	enum flow_prop_id id;
	struct err e = {0};
	size_t i;

	json_array_foreach (props, i, name)
		if (flow_prop_find(flow ? flow : "flows", json_is_string(name) ? json_string_value(name) : "",
				   &id, &e) < 0) {
			call_fail(c, &e);
			return;
		}
	show(d, c, "flow", "props", add_props);
}

/* Matching. */

struct candidate {
	const struct flow *f;
	struct flow_order order;
};

static int by_order(const void *a, const void *b)
{
	const struct candidate *x = a, *y = b;

	return flow_order_cmp(&x->order, &y->order);
}

/* Those of v that packets of m may belong to, in the order of looking. */
static size_t candidates(const struct vlink *v, const struct flow_match *m, struct candidate *ret)
{
	const struct flow *f;
	size_t n = 0;

	DL_FOREACH (v->flows, f)
		if (flow_overlaps(&f->match, m))
			ret[n++] = (struct candidate){
				.f = f, .order = flow_order(&f->match, flow_prop_rank(&f->props), f->s.id)};
	qsort(ret, n, sizeof(*ret), by_order);
	return n;
}

static json_t *match_rows(const struct vlink *v, const struct candidate *all, size_t count,
			  const struct flow_match *m)
{
	json_t *rows = json_array();
	bool whole = false;

	for (size_t i = 0; i < count && !whole; i++) {
		const struct flow *f = all[i].f;
		json_t *row;

		whole = flow_covers(&f->match, m);
		row = json_pack("{s:s, s:s, s:s, s:s, s:s}", "flow", f->s.name, "link", v->s.name,
				"attributes", f->s.text, "direction", direction(&f->match), "verdict",
				whole ? "all" : "some");
		put_rank(row, &f->props);
		json_array_append_new(rows, row);
	}
	if (!whole)
		json_array_append_new(rows, json_pack("{s:s, s:s, s:s, s:s, s:s}", "flow", "-", "link",
						      v->s.name, "attributes", "", "direction", direction(m),
						      "verdict", count ? "some" : "all"));
	return rows;
}

void flowshow_match(struct daemon *d, struct call *c)
{
	const char *link = change_text(call_params(c), "link");
	struct vlink *v = NULL, blank = {.flows = NULL};
	struct candidate *all = NULL;
	struct flow_match m;
	struct err e = {0};
	int r = link ? flow_link(d, link, &blank, &v, &e) : err_user(&e, -EINVAL, "link", "name the link");

	if (r == 0)
		r = flow_read_match(json_object_get(call_params(c), "attributes"), &m, &e);
	if (r == 0) {
		all = calloc(HASH_CNT(hh_name, d->flows) + 1, sizeof(*all));
		r = all ? 0 : err_nomem(&e);
	}
	if (r < 0)
		call_fail(c, &e);
	else
		call_reply(c, json_pack("{s:o}", "flows", match_rows(v, all, candidates(v, &m, all), &m)),
			   false);
	free(all);
}

/* Going. */

#define FLOWS_NAMED 10

void flowshow_going(const struct vlink *v, json_t *notes)
{
	unsigned count = 0, more = 0;
	char names[400] = "";
	const struct flow *f;

	DL_FOREACH (v->flows, f)
		if (count++ < FLOWS_NAMED && strlen(names) + sizeof(f->s.name) + 2 < sizeof(names))
			snprintf(names + strlen(names), sizeof(names) - strlen(names), "%s%s",
				 names[0] ? ", " : "", f->s.name);
		else
			more++;
	if (!count)
		return;
	if (more)
		snprintf(names + strlen(names), sizeof(names) - strlen(names), " and %u more", more);
	json_array_append_new(notes,
			      json_pack("{s:s, s:o}", "level", "note", "text",
					json_sprintf("%s: its flows go with it: %s", v->s.name, names)));
}
