/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Counts which slots of a link are in use, how many rules look at packets in each way, and how many flows
 * need classes. Holds no flow. */
#include "vnicd/flowroom.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BITS 64u

/* One way of looking at packets, and how many rules share it. */
struct way {
	struct flow_key mask;
	uint32_t users;
};

struct ways {
	struct way *list;
	size_t count, room;
};

struct flow_room {
	uint64_t taken[(FLOW_SLOTS + BITS - 1) / BITS];
	uint32_t last; /* the slot that was given out last */
	struct ways ways[FLOW_DIRS];
	struct flow_needs needs;
};

int flow_room_open(struct vlink *v)
{
	if (!v->room)
		v->room = calloc(1, sizeof(*v->room));
	return v->room ? 0 : -ENOMEM;
}

void flow_room_free(struct vlink *v)
{
	for (enum flow_dir dir = FLOW_IN; v->room && dir < FLOW_DIRS; dir++)
		free(v->room->ways[dir].list);
	free(v->room);
	v->room = NULL;
}

static uint64_t bit(uint32_t slot)
{
	return UINT64_C(1) << slot % BITS;
}

/* What a flow had comes last: nothing that counted late for it is taken for another's. */
uint32_t flow_room_slot(struct vlink *v)
{
	struct flow_room *room = v->room;

	for (uint32_t i = 1; i < FLOW_SLOTS; i++) {
		room->last = room->last + 1 < FLOW_SLOTS ? room->last + 1 : 1;
		if (!(room->taken[room->last / BITS] & bit(room->last)))
			return room->last;
	}
	return 0;
}

static struct way *way_find(const struct ways *w, const struct flow_key *mask)
{
	for (size_t i = w->count; i-- > 0;)
		if (!memcmp(&w->list[i].mask, mask, sizeof(*mask)))
			return &w->list[i];
	return NULL;
}

/* NULL without memory: then the way is counted one time less, and the kernel is who says that it is too many.
 */
static struct way *way_add(struct ways *w, const struct flow_key *mask)
{
	if (w->count == w->room) {
		size_t room = w->room ? 2 * w->room : 4;
		struct way *more = reallocarray(w->list, room, sizeof(*more));

		if (!more)
			return NULL;
		w->list = more;
		w->room = room;
	}
	w->list[w->count] = (struct way){.mask = *mask};
	return &w->list[w->count++];
}

static void way_take(struct ways *w, const struct flow_key *mask)
{
	struct way *way = way_find(w, mask);

	way = way ? way : way_add(w, mask);
	if (way)
		way->users++;
}

static void way_give(struct ways *w, const struct flow_key *mask)
{
	struct way *way = way_find(w, mask);

	if (way && --way->users == 0)
		*way = w->list[--w->count];
}

static void each_way(const struct flow *f, void (*fn)(struct ways *w, const struct flow_key *mask))
{
	struct flow_rule rules[FLOW_RULES_MAX];
	size_t count = flow_rules(&f->match, rules);

	for (enum flow_dir dir = FLOW_IN; dir < FLOW_DIRS; dir++)
		for (size_t i = 0; f->match.dir[dir] && i < count; i++)
			fn(&f->link->room->ways[dir], &rules[i].mask);
}

void flow_room_take(const struct flow *f)
{
	struct flow_room *room = f->link->room;

	room->taken[f->s.slot / BITS] |= bit(f->s.slot);
	each_way(f, way_take);
	flow_needs_add(&room->needs, f, 1);
}

void flow_room_give(const struct flow *f)
{
	struct flow_room *room = f->link->room;

	room->taken[f->s.slot / BITS] &= ~bit(f->s.slot);
	each_way(f, way_give);
	flow_needs_add(&room->needs, f, -1);
}

static bool is_range(const struct flow_ports *p)
{
	return p->first != p->last;
}

struct flow_needs flow_room_needs(const struct vlink *v)
{
	return v->room ? v->room->needs : (struct flow_needs){0};
}

void flow_needs_add(struct flow_needs *n, const struct flow *f, int by)
{
	struct flow_want w = flow_wants(f, 0);
	bool classed = flow_want_classed(&w), strict = flow_want_strict(&w);
	bool share = !classed && flow_prop_cap(&f->props).kind == BW_PERCENT;

	n->flows += by;
	n->ranges += is_range(&f->match.local_port) || is_range(&f->match.remote_port) ? by : 0;
	for (enum flow_dir dir = FLOW_IN; dir < FLOW_DIRS; dir++) {
		if (!f->match.dir[dir])
			continue;
		n->classes[dir] += classed ? by : 0;
		n->shares[dir] += share ? by : 0;
		n->strict[dir] += strict ? by : 0;
	}
}

void flow_room_used(struct vlink *v, uint32_t slot)
{
	if (slot > v->room->last)
		v->room->last = slot;
}

/* The rarest are the easiest to do without. */
static int by_users(const void *a, const void *b)
{
	const struct way *x = a, *y = b;

	return (x->users > y->users) - (x->users < y->users);
}

#define RAREST 3

static int too_many(const struct flow *f, enum flow_dir dir, const struct flow_key *mask, struct err *e)
{
	struct ways *w = &f->link->room->ways[dir];
	char shape[RAREST + 1][96];

	qsort(w->list, w->count, sizeof(*w->list), by_users);
	for (int i = 0; i < RAREST; i++)
		flow_mask_str(&w->list[i].mask, shape[i], sizeof(shape[i]));
	flow_mask_str(mask, shape[RAREST], sizeof(shape[RAREST]));
	return err_user(
		e, -E2BIG, f->s.name,
		"%s's flows look at packets in %u ways %s already, which is the most; %s would be one "
		"more: use the same attributes and sizes as they, or do without the rarest: %s; %s; %s",
		f->link->s.name, FLOW_MASKS_MAX, dir == FLOW_IN ? "coming in" : "going out", shape[RAREST],
		shape[0], shape[1], shape[2]);
}

static int check_dir(const struct flow *f, enum flow_dir dir, const struct flow_rule *rules, size_t count,
		     struct err *e)
{
	const struct ways *now = &f->link->room->ways[dir];
	struct way list[FLOW_MASKS_MAX];
	struct ways more = {.list = list, .room = FLOW_MASKS_MAX};

	for (size_t i = 0; i < count; i++) {
		const struct flow_key *mask = &rules[i].mask;

		if (way_find(now, mask) || way_find(&more, mask))
			continue;
		if (now->count + more.count == FLOW_MASKS_MAX)
			return too_many(f, dir, mask, e);
		way_add(&more, mask);
	}
	return 0;
}

int flow_room_check(const struct flow *f, struct err *e)
{
	struct flow_rule rules[FLOW_RULES_MAX];
	size_t count = flow_rules(&f->match, rules);
	int r = f->match.dir[FLOW_IN] ? check_dir(f, FLOW_IN, rules, count, e) : 0;

	return r == 0 && f->match.dir[FLOW_OUT] ? check_dir(f, FLOW_OUT, rules, count, e) : r;
}
