/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Flows in the daemon's memory: by name, and by link what each matches. Carries nothing out. */
#include "vnicd/flow.h"

#include "vnicd/flowroom.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <utlist.h>

struct flow *flow_new(void)
{
	return calloc(1, sizeof(struct flow));
}

struct flow *flow_free(struct flow *f)
{
	if (f) {
		flow_props_free(&f->props);
		flow_props_free(&f->kept);
		free(f->text);
		free(f);
	}
	return NULL;
}

int flow_text_set(struct flow *f, const char *text)
{
	f->s.text = f->text = strdup(text);
	return f->text ? 0 : -ENOMEM;
}

struct flow *flow_copy(const struct flow *f)
{
	struct flow *c = flow_new();

	if (!c)
		return NULL;
	*c = *f;
	c->props = c->kept = (struct flow_props){0};
	c->s.text = c->text = NULL;
	c->prev = c->next = NULL;
	memset(&c->hh_name, 0, sizeof(c->hh_name));
	memset(&c->hh_text, 0, sizeof(c->hh_text));
	if (flow_text_set(c, f->text) < 0 || flow_props_copy(&f->props, &c->props) < 0 ||
	    flow_props_copy(&f->kept, &c->kept) < 0)
		return flow_free(c);
	return c;
}

struct flow *flow_find(const struct daemon *d, const char *name)
{
	struct flow *f;

	HASH_FIND(hh_name, d->flows, name, strlen(name), f);
	return f;
}

struct flow *flow_by_text(const struct vlink *v, const char *text)
{
	struct flow *f;

	HASH_FIND(hh_text, v->flow_texts, text, strlen(text), f);
	return f;
}

struct flow *flow_twin(const struct flow *f)
{
	static const bool dirs[][FLOW_DIRS] = {{true, true}, {true, false}, {false, true}};
	struct flow_match m = f->match;
	char text[FLOW_TEXT_MAX];
	struct flow *other;

	for (size_t i = 0; i < sizeof(dirs) / sizeof(*dirs); i++) {
		if (!memcmp(dirs[i], f->match.dir, sizeof(dirs[i])))
			continue;
		memcpy(m.dir, dirs[i], sizeof(m.dir));
		other = flow_by_text(f->link, flow_match_str(&m, text));
		if (other)
			return other;
	}
	return NULL;
}

static int by_age(const struct flow *a, const struct flow *b)
{
	return (a->s.id > b->s.id) - (a->s.id < b->s.id);
}

/* Most are the youngest. */
static void insert(struct vlink *v, struct flow *f)
{
	if (!v->flows || by_age(v->flows->prev, f) < 0)
		DL_APPEND(v->flows, f);
	else
		DL_INSERT_INORDER(v->flows, f, by_age);
}

void flow_put_in(struct daemon *d, struct flow *f)
{
	HASH_ADD_KEYPTR(hh_name, d->flows, f->s.name, strlen(f->s.name), f);
	HASH_ADD_KEYPTR(hh_text, f->link->flow_texts, f->s.text, strlen(f->s.text), f);
	insert(f->link, f);
	flow_room_take(f);
}

void flow_take_out(struct daemon *d, struct flow *f)
{
	HASH_DELETE(hh_name, d->flows, f);
	HASH_DELETE(hh_text, f->link->flow_texts, f);
	DL_DELETE(f->link->flows, f);
	flow_room_give(f);
}

void flows_drop(struct daemon *d, struct vlink *v)
{
	struct flow *f, *next;

	DL_FOREACH_SAFE(v->flows, f, next)
	{
		flow_take_out(d, f);
		flow_free(f);
	}
	flow_room_free(v);
}

void flows_hand_over(struct vlink *v)
{
	struct flow *f;

	DL_FOREACH (v->flows, f)
		f->link = v;
}

struct flow_want flow_wants(const struct flow *f, uint64_t link_cap)
{
	struct bw cap = flow_prop_cap(&f->props);
	uint64_t share = link_cap / 100 * cap.value;

	return (struct flow_want){
		.id = f->s.id,
		.slot = f->s.slot,
		.match = &f->match,
		.rank = flow_prop_rank(&f->props),
		.blocked = cap.kind == BW_BLOCKED,
		.classed = f->props.value[FLOW_PROP_PRIORITY] != NULL,
		.dscp = flow_prop_dscp(&f->props),
		.rate = cap.kind == BW_RATE      ? cap.value
			: cap.kind != BW_PERCENT ? 0
			: share < BW_MIN         ? (link_cap ? BW_MIN : 0)
						 : share,
		.priority = flow_prop_priority(&f->props),
	};
}

/* Loading. */

struct load {
	struct daemon *d;
	struct flow *f;
	struct err *e;
};

static int load_prop(const char *key, const char *value, const char *boot, void *arg)
{
	struct load *l = arg;
	enum flow_prop_id id;
	int r = flow_prop_find(l->f->s.name, key, &id, l->e);

	if (r < 0)
		return r;
	if (!*boot)
		r = flow_prop_set(&l->f->kept, l->f->s.name, id, value, l->e);
	if (r == 0 && *value)
		r = flow_prop_set(&l->f->props, l->f->s.name, id, value, l->e);
	else if (r == 0)
		flow_prop_reset(&l->f->props, id);
	return r;
}

/* f->link is known by s. */
static int load_match(struct flow *f, struct err *e)
{
	if (!f->link)
		return err_sys(e, -EUCLEAN, f->s.name, "its link is not in state.db");
	if (!f->s.slot || f->s.slot >= FLOW_SLOTS)
		return err_sys(e, -EUCLEAN, f->s.name, "its slot in state.db is %u, the last is %u",
			       f->s.slot, FLOW_SLOTS - 1);
	if (flow_room_open(f->link) < 0)
		return err_nomem(e);
	flow_room_used(f->link, f->s.slot);
	return flow_match_parse(f->text, &f->match, e);
}

static int load_flow(const struct store_flow *s, void *arg)
{
	struct load *l = arg;
	int r;

	l->f = flow_new();
	if (!l->f)
		return err_nomem(l->e);
	l->f->s = *s;
	l->f->link = vlink_by_n(l->d, s->n);
	r = flow_text_set(l->f, s->text) < 0 ? err_nomem(l->e) : load_match(l->f, l->e);
	if (r == 0)
		r = store_flow_props(l->d->store, s->id, load_prop, l, l->e);
	if (r == 0)
		r = store_flow_counters_get(l->d->store, s->id, l->f->counters, l->e);
	if (r < 0)
		flow_free(l->f);
	else
		flow_put_in(l->d, l->f);
	return r;
}

int flows_load(struct daemon *d, struct err *e)
{
	struct load l = {.d = d, .e = e};

	return store_flows(d->store, load_flow, &l, e);
}
