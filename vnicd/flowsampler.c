/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Counters of flows: readings of programs and classes, with what earlier ones had counted; never changes one.
 */
#include "vnicd/flowshow.h"

#include "vnicd/flowchange.h"
#include "vnicd/flowwant.h"
#include "vnicd/observe.h"
#include "vnicd/sampler.h"
#include "vnicd/session.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <utlist.h>

/* In the order of flow_counter_id. */
static void step(struct counter *c, const struct flow_counts *now)
{
	for (enum flow_dir dir = FLOW_IN; dir < FLOW_DIRS; dir++) {
		counter_step(c++, now->packets[dir]);
		counter_step(c++, now->bytes[dir]);
		counter_step(c++, now->drops[dir]);
	}
}

static void step_both(struct counter c[FLOW_CTR_COUNT], const struct flow_stats *s)
{
	step(&c[FLOW_CTR_IPACKETS], &s->programs);
	step(&c[FLOW_CTR_CLASS_IPACKETS], &s->classes);
}

void flows_close_counters(struct vlink *v, bool programs, bool classes)
{
	struct flow *f;

	for (int i = 0; i < FLOW_CTR_COUNT; i++) {
		if (i < FLOW_CTR_CLASS_IPACKETS ? !programs : !classes)
			continue;
		counter_close(&v->rest[i]);
		DL_FOREACH (v->flows, f)
			counter_close(&f->counters[i]);
	}
	if (programs) {
		counter_close(&v->fragments);
		counter_close(&v->unparsed);
	}
}

static int by_slot(const void *a, const void *b)
{
	struct flow *const *x = a, *const *y = b;

	return ((*x)->s.slot > (*y)->s.slot) - ((*x)->s.slot < (*y)->s.slot);
}

static void read_odd(struct daemon *d, struct vlink *v, const struct node *key)
{
	struct flow_odd odd;

	if (observe_flow_odd(d, key, &odd) < 0)
		return;
	counter_step(&v->fragments, odd.fragments[FLOW_IN] + odd.fragments[FLOW_OUT]);
	counter_step(&v->unparsed, odd.unparsed[FLOW_IN] + odd.unparsed[FLOW_OUT]);
}

/* Readings of the rest and of count flows, which are by slot. */
static void read_counts(struct daemon *d, struct vlink *v, struct flow **flows, size_t count)
{
	uint32_t *slots = calloc(count + 1, sizeof(*slots));
	struct flow_stats *stats = calloc(count + 1, sizeof(*stats));
	struct node key;

	for (size_t i = 0; slots && i < count; i++)
		slots[i + 1] = flows[i]->s.slot;
	want_flow_node(d, v, &key);
	if (slots && stats && observe_flows(d, &key, slots, count + 1, stats) == 0) {
		step_both(v->rest, &stats[0]);
		for (size_t i = 0; i < count; i++)
			step_both(flows[i]->counters, &stats[i + 1]);
		read_odd(d, v, &key);
	}
	free(slots);
	free(stats);
}

void flows_collect(struct daemon *d, struct vlink *v)
{
	struct flow **flows, *f;
	size_t count = 0;

	if (v->trouble == TROUBLE_LOST || v->trouble == TROUBLE_WAITING || !v->at.ifindex)
		return;
	DL_COUNT(v->flows, f, count);
	flows = calloc(count + 1, sizeof(struct flow *));
	if (!flows)
		return;
	count = 0;
	DL_FOREACH (v->flows, f)
		flows[count++] = f;
	qsort(flows, count, sizeof(struct flow *), by_slot);
	read_counts(d, v, flows, count);
	free(flows);
}

static json_int_t total(const struct counter *c, enum flow_counter_id id)
{
	const struct counter *class = &c[id + FLOW_CTR_CLASS_IPACKETS];

	return (json_int_t)(c[id].base + c[id].last + class->base + class->last);
}

static json_t *row(const char *flow, const struct vlink *v, const struct counter c[FLOW_CTR_COUNT])
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return json_pack("{s:s, s:s, s:I, s:I, s:I, s:I, s:I, s:I, s:I}", "flow", flow, "link", v->s.name,
			 "time", (json_int_t)now.tv_sec * 1000000000 + now.tv_nsec, "ipackets",
			 total(c, FLOW_CTR_IPACKETS), "rbytes", total(c, FLOW_CTR_RBYTES), "idrops",
			 total(c, FLOW_CTR_IDROPS), "opackets", total(c, FLOW_CTR_OPACKETS), "obytes",
			 total(c, FLOW_CTR_OBYTES), "odrops", total(c, FLOW_CTR_ODROPS));
}

static json_int_t sum(const struct counter *c)
{
	return (json_int_t)(c->base + c->last);
}

static json_t *rest_row(const struct vlink *v)
{
	json_t *rest = row("-", v, v->rest);

	json_object_set_new(rest, "fragments", json_integer(sum(&v->fragments)));
	json_object_set_new(rest, "unparsed", json_integer(sum(&v->unparsed)));
	return rest;
}

static bool asked_for(const json_t *names, const char *name)
{
	json_t *one;
	size_t i;

	json_array_foreach (names, i, one)
		if (!strcmp(json_string_value(one), name))
			return true;
	return !json_array_size(names);
}

/* The rest is of no use to who asks for flows by name. */
static void gather_link(struct daemon *d, struct vlink *v, const json_t *names, json_t *rows)
{
	struct flow *f;

	flows_collect(d, v);
	DL_FOREACH (v->flows, f)
		if (asked_for(names, f->s.name))
			json_array_append_new(rows, row(f->s.name, v, f->counters));
	if (!json_array_size(names))
		json_array_append_new(rows, rest_row(v));
}

static int by_name(const void *a, const void *b)
{
	struct vlink *const *x = a, *const *y = b;

	return strverscmp((*x)->s.name, (*y)->s.name);
}

/* what: the call's parameters. */
static json_t *gather(struct daemon *d, const json_t *what)
{
	const json_t *names = json_object_get(what, "names");
	const char *link = json_string_value(json_object_get(what, "link"));
	struct vlink **all = calloc(HASH_CNT(hh_n, d->by_n) + 1, sizeof(*all)), *v, *next;
	json_t *rows = json_array();
	size_t n = 0;

	HASH_ITER (hh_n, d->by_n, v, next)
		if (all && v->flows && (!link || !*link || !strcmp(link, v->s.name)))
			all[n++] = v;
	if (all)
		qsort(all, n, sizeof(struct vlink *), by_name);
	for (size_t i = 0; i < n; i++)
		gather_link(d, all[i], names, rows);
	free(all);
	return json_pack("{s:o}", "stats", rows);
}

void flowshow_stats(struct daemon *d, struct call *c)
{
	json_t *params = call_params(c), *names = json_object_get(params, "names"), *one;
	const char *link = json_string_value(json_object_get(params, "link"));
	struct err e = {0};
	struct vlink *v, blank = {.flows = NULL};
	struct flow *f;
	size_t i;
	int r = 0;

	link = link && *link ? link : NULL;
	if (link)
		r = flow_link(d, link, &blank, &v, &e);

	json_array_foreach (names, i, one)
		if (r == 0)
			r = flow_known(d, json_is_string(one) ? json_string_value(one) : "", link, &f, &e);
	if (r < 0)
		call_fail(c, &e);
	else
		sampler_answer(d, c, gather, params);
}
