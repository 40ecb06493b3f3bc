/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reads counters from the kernel, adds what earlier objects had counted, and sends them: once, or at
 * intervals. Never changes a link.
 */
#include "vnicd/sampler.h"

#include "lib/kern/kern.h"
#include "vnicd/flowshow.h"
#include "vnicd/foreign.h"
#include "vnicd/observe.h"
#include "vnicd/session.h"
#include "vnicd/unknown.h"

#include <errno.h>
#include <stdio.h>

#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <utlist.h>

#define INTERVAL_MAX 86400

/* One client's live statistics. */
struct stream {
	struct daemon *d;
	struct call *call;
	sd_event_source *timer;
	gather_fn *gather;
	json_t *names; /* what it gathers; of links: an array of names, or NULL for all */
	uint64_t interval_us, next_us;
	json_int_t left; /* replies still to send; 0 = until the peer goes */
	struct stream *prev, *next;
};

static void step_links(struct vlink *v, const struct link_stats *s)
{
	const uint64_t now[] = {s->ipackets, s->rbytes, s->ierrors, s->idrops,
				s->opackets, s->obytes, s->oerrors, s->odrops};

	for (int i = 0; i < 8; i++)
		counter_step(&v->counters[CTR_IPACKETS + i], now[i]);
}

static void step_drops(struct vlink *v, const struct drop_stats *s)
{
	counter_step(&v->counters[CTR_TX_LEAF], s->tx_leaf);
	counter_step(&v->counters[CTR_RX_LEAF], s->rx_leaf);
	counter_step(&v->counters[CTR_RX_GROUP], s->rx_group);
	counter_step(&v->counters[CTR_TX_BLOCKED], s->tx_blocked);
}

static bool shaped(const struct vlink *v, bool tx)
{
	enum bw_kind kind = prop_cap(&v->props, tx).kind;

	return kind == BW_RATE || kind == BW_PERCENT;
}

/* Where what our own objects dropped is counted for v, whose link has this ifindex. */
static void drops_key(const struct daemon *d, const struct vlink *v, int ifindex, struct node *key)
{
	const struct slink *ifb;

	*key = (struct node){.n = v->s.n,
			     .class = v->s.class,
			     .port.ifindex = v->s.class == CLASS_FOREIGN ? v->at.ifindex : ifindex,
			     .prog.present = true};
	snprintf(key->port.zone, sizeof(key->port.zone), "%s", vlink_zone(v));
	memcpy(key->port.name, v->s.name, sizeof(key->port.name));
	node_ifb_name(v->s.n, key->ifb_port.name);
	ifb = slink_by_name(d, key->ifb_port.name);
	key->ifb_port.ifindex = ifb ? ifb->l.ifindex : 0;
	key->tx.leaf = shaped(v, true);
	key->rx.leaf = shaped(v, false) && ifb;
}

void sampler_collect(struct daemon *d, struct vlink *v)
{
	const char *zone = vlink_zone(v);
	struct drop_stats drops;
	struct link_stats stats;
	struct sys_link l;
	enum link_class class;
	struct node key;
	bool theirs = v->s.class == CLASS_FOREIGN;

	if (v->trouble == TROUBLE_LOST || v->trouble == TROUBLE_WAITING || observe_vlink_sys(d, v, &l) < 0 ||
	    (!theirs && vlink_of_sys(d, &l, &class) != v))
		return;
	if (!theirs && d->kernel->ops->stats(d->kernel, zone, l.ifindex, &stats, NULL) == 0)
		step_links(v, &stats);
	drops_key(d, v, l.ifindex, &key);
	if (!prop_capped(&v->props))
		return;
	if (d->kernel->ops->drops(d->kernel, &key, &drops, NULL) == 0)
		step_drops(v, &drops);
}

static uint64_t total(const struct vlink *v, enum counter_id id)
{
	return v->counters[id].base + v->counters[id].last;
}

static uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
}

static json_t *row(const char *name, const struct link_stats *s)
{
	return json_pack("{s:o, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I}", "link", call_text(name),
			 "time", (json_int_t)now_ns(), "ipackets", (json_int_t)s->ipackets, "rbytes",
			 (json_int_t)s->rbytes, "ierrors", (json_int_t)s->ierrors, "idrops",
			 (json_int_t)s->idrops, "opackets", (json_int_t)s->opackets, "obytes",
			 (json_int_t)s->obytes, "oerrors", (json_int_t)s->oerrors, "odrops",
			 (json_int_t)s->odrops);
}

static json_t *vlink_row(struct daemon *d, struct vlink *v)
{
	struct link_stats s;

	sampler_collect(d, v);
	s = (struct link_stats){
		.ipackets = total(v, CTR_IPACKETS),
		.rbytes = total(v, CTR_RBYTES),
		.ierrors = total(v, CTR_IERRORS),
		.idrops = total(v, CTR_IDROPS) + total(v, CTR_RX_LEAF) + total(v, CTR_RX_GROUP),
		.opackets = total(v, CTR_OPACKETS),
		.obytes = total(v, CTR_OBYTES),
		.oerrors = total(v, CTR_OERRORS),
		.odrops = total(v, CTR_ODROPS) + total(v, CTR_TX_LEAF) + total(v, CTR_TX_BLOCKED),
	};
	return row(v->s.name, &s);
}

static bool asked_for(const json_t *names, const char *name)
{
	size_t i;
	json_t *n;

	if (!names)
		return true;
	json_array_foreach (names, i, n)
		if (!strcmp(json_string_value(n), name))
			return true;
	return false;
}

struct gather {
	struct daemon *d;
	const json_t *names;
	json_t *rows;
};

/* What our queues and programs dropped of a link's frames is no news to the kernel's counters of it. */
static struct link_stats with_drops(const struct vlink *v, const struct link_stats *s)
{
	struct link_stats sum = *s;

	sum.idrops += total(v, CTR_RX_LEAF) + total(v, CTR_RX_GROUP);
	sum.odrops += total(v, CTR_TX_LEAF) + total(v, CTR_TX_BLOCKED);
	return sum;
}

/* Links that are not ours: the kernel's own counters. */
static int gather_foreign(int ifindex, const struct link_stats *s, void *arg)
{
	struct gather *g = arg;
	struct slink *l = slink_find(g->d, ifindex);
	enum link_class class;

	struct vlink *v = l ? foreign_on(l) : NULL;
	struct link_stats sum = v ? with_drops(v, s) : *s;

	if (l && !vlink_of_sys(g->d, &l->l, &class) && asked_for(g->names, l->l.name))
		json_array_append_new(g->rows, row(l->l.name, &sum));
	return 0;
}

static int by_link(const void *a, const void *b)
{
	json_t *const *x = a, *const *y = b;

	return strverscmp(json_string_value(json_object_get(*x, "link")),
			  json_string_value(json_object_get(*y, "link")));
}

static json_t *sorted(json_t *rows)
{
	size_t n = json_array_size(rows);
	json_t **at = calloc(n + 1, sizeof(*at));
	json_t *out = json_array();

	for (size_t i = 0; at && i < n; i++)
		at[i] = json_array_get(rows, i);
	if (at)
		qsort(at, n, sizeof(*at), by_link);
	for (size_t i = 0; at && i < n; i++)
		json_array_append(out, at[i]);
	free(at);
	json_decref(rows);
	return out;
}

static json_t *gather(struct daemon *d, const json_t *names)
{
	struct gather g = {.d = d, .names = names, .rows = json_array()};
	struct vlink *v, *next;

	HASH_ITER (hh_n, d->by_n, v, next)
		if (v->s.class == CLASS_FOREIGN && asked_for(names, v->s.name))
			sampler_collect(d, v);
	d->kernel->ops->stats_all(d->kernel, gather_foreign, &g, NULL);
	observe_survey(d, names ? json_array_size(names) : HASH_CNT(hh_n, d->by_n));
	HASH_ITER (hh_n, d->by_n, v, next)
		if (v->trouble != TROUBLE_LOST && v->trouble != TROUBLE_WAITING &&
		    v->s.class != CLASS_FOREIGN && asked_for(names, v->s.name))
			json_array_append_new(g.rows, vlink_row(d, v));
	observe_survey_end(d);
	return json_pack("{s:o}", "stats", sorted(g.rows));
}

static void stream_free(struct stream *s)
{
	DL_DELETE(s->d->streams, s);
	sd_event_source_disable_unref(s->timer);
	json_decref(s->names);
	free(s);
}

static void stream_gone(void *arg)
{
	stream_free(arg);
}

/* Who looks at a link goes on to when it gets another name. */
void sampler_renamed(struct daemon *d, const char *old, const char *new)
{
	struct stream *s;
	size_t i;
	json_t *n;

	if (!strcmp(old, new))
		return;
	DL_FOREACH (d->streams, s)
		json_array_foreach (s->gather == gather ? s->names : NULL, i, n)
			if (!strcmp(json_string_value(n), old))
				json_array_set_new(s->names, i, json_string(new));
}

static int stream_tick(sd_event_source *source, uint64_t usec, void *arg)
{
	struct stream *s = arg;
	struct call *call = s->call;
	json_t *reply = s->gather(s->d, s->names);

	(void)usec;
	if (s->left && --s->left == 0) {
		call_on_gone(call, NULL, NULL);
		stream_free(s);
		call_reply(call, reply, false);
		return 0;
	}
	s->next_us += s->interval_us;
	sd_event_source_set_time(source, s->next_us);
	sd_event_source_set_enabled(source, SD_EVENT_ONESHOT);
	call_reply(call, reply, true);
	return 0;
}

static void stream_start(struct daemon *d, struct call *c, gather_fn *fn, json_t *names, json_int_t interval,
			 json_int_t count)
{
	struct stream *s = calloc(1, sizeof(*s));
	struct err e = {0};

	if (!s) {
		err_nomem(&e);
		call_fail(c, &e);
		return;
	}
	*s = (struct stream){.d = d, .call = c, .gather = fn, .names = json_incref(names), .left = count};
	s->interval_us = (uint64_t)interval * 1000000;
	DL_APPEND(d->streams, s);
	call_on_gone(c, stream_gone, s);
	sd_event_now(d->event, CLOCK_MONOTONIC, &s->next_us);
	if (sd_event_add_time(d->event, &s->timer, CLOCK_MONOTONIC, s->next_us, 1000, stream_tick, s) < 0) {
		err_sys(&e, -ENOMEM, NULL, "cannot start a timer");
		call_on_gone(c, NULL, NULL);
		stream_free(s);
		call_fail(c, &e);
	}
}

/* Puts names in the place of alternative ones; or an error that names the first name that is no link. */
static int check_names(struct daemon *d, json_t *names, struct err *e)
{
	char buf[IFNAMSIZ];
	size_t i;
	json_t *n;

	json_array_foreach (names, i, n) {
		const char *name = json_string_value(n);

		if (!name)
			return err_user(e, -EINVAL, "names", "not a list of link names");
		name = observe_name(d, name, buf);
		if (!vlink_find(d, name) && !slink_by_name(d, name))
			return unknown_link(d, UNKNOWN_LINK, name, e);
		if (name == buf)
			json_array_set_new(names, i, json_string(name));
	}
	return 0;
}

void sampler_answer(struct daemon *d, struct call *c, gather_fn *fn, json_t *what)
{
	json_int_t interval = json_integer_value(json_object_get(call_params(c), "interval"));
	json_int_t count = json_integer_value(json_object_get(call_params(c), "count"));

	if (!call_more(c))
		call_reply(c, fn(d, what), false);
	else if (interval < 1 || interval > INTERVAL_MAX)
		call_invalid(c, "interval");
	else if (count < 0)
		call_invalid(c, "count");
	else
		stream_start(d, c, fn, what, interval, count);
}

void sampler_show(struct daemon *d, struct call *c)
{
	json_t *names = json_object_get(call_params(c), "names");
	struct err e = {0};

	if (json_array_size(names) == 0)
		names = NULL;
	if (check_names(d, names, &e) < 0)
		call_fail(c, &e);
	else
		sampler_answer(d, c, gather, names);
}

static void save_flows(struct daemon *d, struct vlink *v)
{
	struct flow *f;

	if (v->flows)
		flows_collect(d, v);
	DL_FOREACH (v->flows, f)
		store_flow_counters_put(d->store, f->s.id, f->counters, NULL);
}

void sampler_save(struct daemon *d)
{
	struct vlink *v, *next;

	if (store_begin(d->store, NULL) < 0)
		return;
	observe_survey(d, HASH_CNT(hh_n, d->by_n));
	HASH_ITER (hh_n, d->by_n, v, next) {
		sampler_collect(d, v);
		store_counters_put(d->store, v->s.n, v->counters, NULL);
		save_flows(d, v);
	}
	observe_survey_end(d);
	store_commit(d->store, NULL);
}
