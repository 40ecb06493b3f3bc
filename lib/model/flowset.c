/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* From flows to what the kernel has of them, and comparing two such sets. Pure; see flowset.h. */
#include "lib/model/flowset.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

void flow_set_free(struct flow_set *s)
{
	free(s->entries);
	free(s->acts);
	free(s->classes);
	*s = (struct flow_set){0};
}

/* Room for more of them, each of size bytes. */
static int room_for(void **array, size_t count, size_t *room, size_t more, size_t size)
{
	size_t wanted = *room ? *room : 16;
	void *grown;

	while (wanted < count + more)
		wanted *= 2;
	if (wanted == *room)
		return 0;
	grown = reallocarray(*array, wanted, size);
	if (!grown)
		return -ENOMEM;
	*array = grown;
	*room = wanted;
	return 0;
}
#define ROOM(set, what, more) \
	room_for((void **)&(set)->what, (set)->what##_count, &(set)->what##_room, more, sizeof(*(set)->what))

int flow_set_entry(struct flow_set *set, const struct flow_entry *entry)
{
	if (ROOM(set, entries, 1) < 0)
		return -ENOMEM;
	set->entries[set->entries_count++] = *entry;
	return 0;
}

int flow_set_act(struct flow_set *set, const struct flow_act *act)
{
	if (ROOM(set, acts, 1) < 0)
		return -ENOMEM;
	set->acts[set->acts_count++] = *act;
	return 0;
}

int flow_set_class(struct flow_set *set, const struct flow_class *class)
{
	if (ROOM(set, classes, 1) < 0)
		return -ENOMEM;
	set->classes[set->classes_count++] = *class;
	return 0;
}

static int add_entries(struct flow_set *set, const struct flow_want *f)
{
	struct flow_rule rules[FLOW_RULES_MAX];
	size_t count = flow_rules(f->match, rules);
	struct flow_entry entry = {.order = flow_order(f->match, f->rank, f->id), .slot = f->slot};

	for (enum flow_dir dir = FLOW_IN; dir < FLOW_DIRS; dir++)
		for (size_t i = 0; f->match->dir[dir] && i < count; i++) {
			entry.rule = rules[i];
			entry.dir = dir;
			if (flow_set_entry(set, &entry) < 0)
				return -ENOMEM;
		}
	return 0;
}

static uint64_t ceiling(uint64_t rate, uint64_t tree)
{
	return rate && rate < tree ? rate : tree;
}

static int add_classes(struct flow_set *set, const struct flow_want *f, uint32_t mtu,
		       const uint64_t tree[FLOW_DIRS])
{
	for (enum flow_dir dir = FLOW_IN; dir < FLOW_DIRS; dir++) {
		struct flow_class class = {.dir = dir,
					   .slot = f->slot,
					   .priority = f->priority,
					   .shape = shape_for(ceiling(f->rate, tree[dir]), mtu)};

		/* They and the rest take turns: as many bytes each. */
		class.shape.quantum = shape_for(tree[dir], mtu).quantum;
		if (f->match->dir[dir] && tree[dir] && flow_set_class(set, &class) < 0)
			return -ENOMEM;
	}
	return 0;
}

/* A blocked flow has nothing that could wait. */
bool flow_want_classed(const struct flow_want *f)
{
	return !f->blocked && (f->rate || f->classed);
}

bool flow_want_strict(const struct flow_want *f)
{
	return f->blocked &&
	       (f->match->has_proto || f->match->local_port.first || f->match->remote_port.first);
}

int flow_set_add(struct flow_set *set, const struct flow_want *f, uint32_t mtu,
		 const uint64_t tree[FLOW_DIRS])
{
	struct flow_act act = {
		.slot = f->slot,
		.action = {.blocked = f->blocked, .mark = f->dscp >= 0, .dscp = (uint8_t)(f->dscp & 63)},
	};
	int r = add_entries(set, f);

	if (!act.action.mark)
		act.action.dscp = 0;
	for (enum flow_dir dir = FLOW_IN; dir < FLOW_DIRS; dir++) {
		if (flow_want_classed(f) && f->match->dir[dir] && tree[dir])
			act.action.class[dir] = (uint16_t)TREE_FLOW(f->slot, f->priority);
		set->strict[dir] |= flow_want_strict(f) && f->match->dir[dir];
	}
	if (r == 0 && flow_want_classed(f))
		r = add_classes(set, f, mtu, tree);
	return r < 0 ? r : flow_set_act(set, &act);
}

/* Orders, by what tells two of a kind apart. */

static int by_entry(const void *a, const void *b)
{
	const struct flow_entry *x = a, *y = b;
	int r = (int)x->dir - (int)y->dir;

	return r ? r : memcmp(&x->rule, &y->rule, sizeof(x->rule));
}

static int by_act(const void *a, const void *b)
{
	const struct flow_act *x = a, *y = b;

	return (x->slot > y->slot) - (x->slot < y->slot);
}

static int by_class(const void *a, const void *b)
{
	const struct flow_class *x = a, *y = b;
	int r = (int)x->dir - (int)y->dir;

	if (!r)
		r = (x->slot > y->slot) - (x->slot < y->slot);
	return r ? r : (int)x->priority - (int)y->priority;
}

int flow_entry_cmp(const struct flow_entry *a, const struct flow_entry *b)
{
	return by_entry(a, b);
}

int flow_act_cmp(const struct flow_act *a, const struct flow_act *b)
{
	return by_act(a, b);
}

int flow_class_cmp(const struct flow_class *a, const struct flow_class *b)
{
	return by_class(a, b);
}

static int by_entry_and_order(const void *a, const void *b)
{
	int r = by_entry(a, b);

	return r ? r
		 : flow_order_cmp(&((const struct flow_entry *)a)->order,
				  &((const struct flow_entry *)b)->order);
}

/* Port ranges of two flows may have a prefix in common: it is that of the flow that wins. */
static void keep_winners(struct flow_set *set)
{
	size_t kept = 0;

	for (size_t i = 0; i < set->entries_count; i++)
		if (!kept || by_entry(&set->entries[kept - 1], &set->entries[i]) != 0)
			set->entries[kept++] = set->entries[i];
	set->entries_count = kept;
}

/* An empty array may be NULL, which qsort(3) does not take. */
static void sort(void *array, size_t count, size_t size, int (*cmp)(const void *a, const void *b))
{
	if (count)
		qsort(array, count, size, cmp);
}

void flow_set_sort(struct flow_set *set)
{
	sort(set->entries, set->entries_count, sizeof(*set->entries), by_entry_and_order);
	keep_winners(set);
	sort(set->acts, set->acts_count, sizeof(*set->acts), by_act);
	sort(set->classes, set->classes_count, sizeof(*set->classes), by_class);
}

bool flow_entry_equal(const struct flow_entry *a, const struct flow_entry *b)
{
	return !by_entry(a, b) && a->slot == b->slot && !flow_order_cmp(&a->order, &b->order);
}

bool flow_action_equal(const struct flow_action *a, const struct flow_action *b)
{
	return a->blocked == b->blocked && a->mark == b->mark && a->dscp == b->dscp &&
	       a->class[FLOW_IN] == b->class[FLOW_IN] && a->class[FLOW_OUT] == b->class[FLOW_OUT];
}

bool flow_class_equal(const struct flow_class *a, const struct flow_class *b)
{
	return !by_class(a, b) && shape_equal(&a->shape, &b->shape);
}

static bool all_equal(const struct flow_set *a, const struct flow_set *b)
{
	for (size_t i = 0; i < a->entries_count; i++)
		if (!flow_entry_equal(&a->entries[i], &b->entries[i]))
			return false;
	for (size_t i = 0; i < a->acts_count; i++)
		if (by_act(&a->acts[i], &b->acts[i]) ||
		    !flow_action_equal(&a->acts[i].action, &b->acts[i].action))
			return false;
	for (size_t i = 0; i < a->classes_count; i++)
		if (!flow_class_equal(&a->classes[i], &b->classes[i]))
			return false;
	return true;
}

bool flow_set_equal(const struct flow_set *a, const struct flow_set *b)
{
	return a->entries_count == b->entries_count && a->acts_count == b->acts_count &&
	       a->classes_count == b->classes_count && a->strict[FLOW_IN] == b->strict[FLOW_IN] &&
	       a->strict[FLOW_OUT] == b->strict[FLOW_OUT] && all_equal(a, b);
}

bool flow_set_classed(const struct flow_set *set, enum flow_dir dir)
{
	for (size_t i = 0; i < set->classes_count; i++)
		if (set->classes[i].dir == dir)
			return true;
	return false;
}
