// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Changes the rules of one VNIC's flows so that every packet sees them as they were or as they are then, and
 * reads them back. The work is that of the rules that change, not of those that are there. Knows maps through
 * flowmap.h only.
 */
#include "lib/bpf/flowmap.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SCAN_SHARE \
	64 /* all rules are looked through after this share of them was the best of its mask, and went */

_Static_assert(FLOW_SHAPES == FLOW_MASKS_MAX, "a direction has as many masks here as there");
_Static_assert(sizeof(struct flow_key) % sizeof(__u32) == 0, "no hole between a key and its shape");

/* A key that is to have this hit. slot1 0: it goes. */
struct edit {
	union flow_block key;
	struct flow_hit hit;
	size_t order; /* in the caller's lists: of a key's edits the last one counts */
	uint32_t at;  /* its entry */
	bool fresh;   /* not there yet */
};

/* The masks of a direction while they are changed; there may be too many of them until the last rule is
 * known. */
struct sketch {
	struct flow_shape shape[FLOW_NUMBERS];
	unsigned count;
	unsigned stale;
	bool strict;
};

struct change {
	const struct bpf *b;
	uint32_t n;
	struct flowmap m;
	struct sketch side[FLOW_DIRS];
	struct edit *edit;
	size_t count;
	union flow_block *keys; /* room for the keys of all edits, and their entries */
	uint32_t *at;
};

static void change_done(struct change *c)
{
	flowmap_done(&c->m);
	free(c->edit);
	free(c->keys);
	free(c->at);
}

static struct sketch sketch_of(const struct flow_side *side, bool strict)
{
	struct sketch s = {.count = side->count, .stale = side->stale, .strict = strict};

	memcpy(s.shape, side->shape, side->count * sizeof(s.shape[0]));
	return s;
}

static bool same_mask(const union flow_block *a, const struct flow_key *mask)
{
	return !memcmp(&a->key, mask, sizeof(*mask));
}

static struct flow_shape *find_mask(struct sketch *s, const struct flow_key *mask)
{
	for (unsigned i = 0; i < s->count; i++)
		if (same_mask(&s->shape[i].mask, mask))
			return &s->shape[i];
	return NULL;
}

static struct flow_shape *find_number(struct sketch *s, uint32_t number)
{
	for (unsigned i = 0; i < s->count; i++)
		if (FLOW_NUMBER(s->shape[i].mask.shape) == number)
			return &s->shape[i];
	return NULL;
}

/* With a number that no rule in force has: its keys are no others' in either half. NULL: far too many. */
static struct flow_shape *add_mask(struct sketch *s, const struct flow_key *mask, enum flow_dir dir)
{
	struct flow_shape *x;
	uint32_t number = 0;

	if (s->count == FLOW_NUMBERS)
		return NULL;
	while (find_number(s, number))
		number++;
	x = &s->shape[s->count++];
	*x = (struct flow_shape){.best_hi = UINT64_MAX, .best_lo = UINT32_MAX};
	x->mask.key = *mask;
	x->mask.shape = FLOW_SHAPE((uint32_t)dir, number);
	return x;
}

static void put_edit(struct change *c, const struct flow_entry *rule, struct flow_shape *shape, bool add)
{
	struct edit *x = &c->edit[c->count];

	*x = (struct edit){.order = c->count};
	for (unsigned i = 0; i < FLOW_WORDS; i++)
		x->key.word[i] = shape->mask.word[i];
	for (size_t i = 0; i < sizeof(rule->rule.key); i++)
		((uint8_t *)&x->key)[i] &= ((const uint8_t *)&rule->rule.key)[i];
	c->count++;
	if (!add)
		return;
	x->hit = (struct flow_hit){.hi = rule->order.hi, .lo = rule->order.lo, .slot1 = FLOW_ROW(rule->slot)};
	shape->sieve |= FLOW_SIEVE(&x->key);
}

/* last: of the masks that are new. */
static int too_many(const struct change *c, enum flow_dir dir, unsigned count, const struct flow_key *last,
		    struct err *e)
{
	char object[24], shape[160];

	snprintf(object, sizeof(object), "VNIC number %u", c->n);
	return err_user(
		e, -E2BIG, object,
		"its flows would have %u different shapes %s, the last one \"%s\", at most %u can be: use "
		"attributes and prefix lengths that others have",
		count, dir == FLOW_IN ? "in" : "out", flow_mask_str(last, shape, sizeof(shape)), FLOW_SHAPES);
}

/* A rule whose mask is not there is not there either. */
static int collect(struct change *c, const struct flow_entry *list, size_t count, bool add, struct err *e)
{
	struct flow_shape *shape = NULL;
	enum flow_dir dir = FLOW_IN;

	for (size_t i = 0; i < count; i++) {
		const struct flow_entry *x = &list[i];

		if (add && x->slot >= FLOW_SLOTS_MAX)
			return vnic_failed(c->n, -ERANGE, "cannot have that many flows", e);
		if (!shape || dir != x->dir || !same_mask(&shape->mask, &x->rule.mask))
			shape = find_mask(&c->side[x->dir], &x->rule.mask);
		dir = x->dir;
		if (!shape && add)
			shape = add_mask(&c->side[dir], &x->rule.mask, dir);
		if (!shape && add)
			return too_many(c, dir, FLOW_NUMBERS + 1, &x->rule.mask, e);
		if (shape)
			put_edit(c, x, shape, add);
	}
	return 0;
}

static int by_key(const void *va, const void *vb)
{
	const struct edit *a = va, *b = vb;
	int r = memcmp(&a->key, &b->key, sizeof(a->key));

	return r ? r : (a->order > b->order) - (a->order < b->order);
}

static void keep_last_of_each(struct change *c)
{
	size_t kept = 0;

	qsort(c->edit, c->count, sizeof(c->edit[0]), by_key);
	for (size_t i = 0; i < c->count; i++)
		if (i + 1 == c->count || memcmp(&c->edit[i].key, &c->edit[i + 1].key, sizeof(c->edit[i].key)))
			c->edit[kept++] = c->edit[i];
	c->count = kept;
}

static bool same_hit(const struct flow_hit *a, const struct flow_hit *b)
{
	return a->hi == b->hi && a->lo == b->lo && a->slot1 == b->slot1;
}

static bool before(uint64_t hi, uint32_t lo, uint64_t than_hi, uint32_t than_lo)
{
	return hi < than_hi || (hi == than_hi && lo < than_lo);
}

static void offer_best(struct flow_shape *s, const struct flow_hit *hit)
{
	if (!before(hit->hi, hit->lo, s->best_hi, s->best_lo))
		return;
	s->best_hi = hit->hi;
	s->best_lo = hit->lo;
}

/* What the edit does to its mask. was: NULL when it is a new rule. */
static void account(struct change *c, const struct edit *x, const struct flow_hit *was)
{
	struct sketch *side = &c->side[FLOW_DIR(x->key.shape)];
	struct flow_shape *s = find_number(side, FLOW_NUMBER(x->key.shape));

	s->rules += !was;
	s->rules -= !x->hit.slot1;
	/* A rule that goes leaves its bit in the sieve. */
	if (!x->hit.slot1 || (was && !before(s->best_hi, s->best_lo, was->hi, was->lo)))
		side->stale++;
	if (x->hit.slot1)
		offer_best(s, &x->hit);
}

/* Looks the keys up. Edits that change nothing go. */
static int settle(struct change *c)
{
	unsigned now = c->m.table->gen & 1;
	size_t kept = 0;

	for (size_t i = 0; i < c->count; i++) {
		struct edit *x = &c->edit[i];
		const struct flow_hit *was;
		int r = flowmap_find(&c->m, &x->key, &x->at);

		if (r && r != -ENOENT)
			return r;
		x->fresh = r;
		was = r ? NULL : &c->m.entry[x->at].hit[now];
		if (was ? same_hit(was, &x->hit) : !x->hit.slot1)
			continue;
		account(c, x, was);
		c->edit[kept++] = *x;
	}
	c->count = kept;
	return 0;
}

static void drop_empty(struct sketch *s)
{
	unsigned kept = 0;

	for (unsigned i = 0; i < s->count; i++)
		if (s->shape[i].rules)
			s->shape[kept++] = s->shape[i];
	s->count = kept;
}

static int check_shapes(struct change *c, struct err *e)
{
	for (enum flow_dir d = FLOW_IN; d < FLOW_DIRS; d++) {
		const struct sketch *s = &c->side[d];

		drop_empty(&c->side[d]);
		if (s->count > FLOW_SHAPES)
			return too_many(c, d, s->count, &s->shape[s->count - 1].mask.key, e);
	}
	return 0;
}

static size_t fresh_count(const struct change *c)
{
	size_t count = 0;

	for (size_t i = 0; i < c->count; i++)
		count += c->edit[i].fresh;
	return count;
}

static uint32_t highest_slot(const struct change *c)
{
	uint32_t slot1 = 1;

	for (size_t i = 0; i < c->count; i++)
		slot1 = c->edit[i].hit.slot1 > slot1 ? c->edit[i].hit.slot1 : slot1;
	return slot1 - 1;
}

static int make_room(struct change *c)
{
	size_t fresh = fresh_count(c);
	int r = fresh > UINT32_MAX ? -ENOSPC : flowmap_grow(c->b, c->n, &c->m, (uint32_t)fresh);

	return r ? r : flow_slots_grow(c->b, c->n, highest_slot(c));
}

/* Into the half that is not in force. The key is complete before its shape makes the entry one that is used.
 */
static void write_edit(struct change *c, struct edit *x)
{
	unsigned next = !(c->m.table->gen & 1);
	struct flow_value *entry;

	if (x->fresh) {
		x->at = flowmap_take(&c->m);
		entry = &c->m.entry[x->at];
		memcpy(&entry->key.key, &x->key.key, sizeof(x->key.key));
		__atomic_store_n(&entry->key.shape, x->key.shape, __ATOMIC_RELEASE);
	}
	c->m.entry[x->at].hit[next] = x->hit;
}

/* The keys of some edits, for the index: of those that are new, or of those that go. */
static size_t gather(struct change *c, bool fresh)
{
	size_t count = 0;

	for (size_t i = 0; i < c->count; i++) {
		if (fresh ? !c->edit[i].fresh : c->edit[i].hit.slot1 != 0)
			continue;
		c->keys[count] = c->edit[i].key;
		c->at[count++] = c->edit[i].at;
	}
	return count;
}

static void take_back(struct change *c)
{
	unsigned now = c->m.table->gen & 1;

	flowmap_drop(&c->m, c->keys, gather(c, true));
	for (size_t i = 0; i < c->count; i++) {
		struct flow_value *entry = &c->m.entry[c->edit[i].at];

		entry->hit[!now] = entry->hit[now];
		if (c->edit[i].fresh)
			flowmap_give(&c->m, c->edit[i].at);
	}
}

/* Every mask's best rule and sieve as they will be, from all entries. */
static void scan(struct change *c, enum flow_dir dir)
{
	struct flow_shape *by_number[FLOW_NUMBERS] = {NULL};
	struct sketch *s = &c->side[dir];
	unsigned next = !(c->m.table->gen & 1);

	for (unsigned i = 0; i < s->count; i++) {
		by_number[FLOW_NUMBER(s->shape[i].mask.shape)] = &s->shape[i];
		s->shape[i].best_hi = UINT64_MAX;
		s->shape[i].best_lo = UINT32_MAX;
		s->shape[i].sieve = 0;
	}
	for (uint32_t i = 0; i < c->m.table->used; i++) {
		const struct flow_value *x = &c->m.entry[i];
		struct flow_shape *shape;

		if (!x->key.shape || FLOW_DIR(x->key.shape) != (uint32_t)dir || !x->hit[next].slot1)
			continue;
		shape = by_number[FLOW_NUMBER(x->key.shape)];
		offer_best(shape, &x->hit[next]);
		shape->sieve |= FLOW_SIEVE(&x->key);
	}
	s->stale = 0;
}

static int by_best(const void *va, const void *vb)
{
	const struct flow_shape *a = va, *b = vb;

	return before(a->best_hi, a->best_lo, b->best_hi, b->best_lo)   ? -1
	       : before(b->best_hi, b->best_lo, a->best_hi, a->best_lo) ? 1
									: 0;
}

static void write_side(struct change *c, enum flow_dir dir)
{
	struct flow_side *to = &c->m.table->half[!(c->m.table->gen & 1)][dir];
	struct sketch *s = &c->side[dir];

	if ((uint64_t)s->stale * SCAN_SHARE > c->m.table->used)
		scan(c, dir);
	qsort(s->shape, s->count, sizeof(s->shape[0]), by_best);
	to->count = s->count;
	to->strict = s->strict;
	to->stale = s->stale;
	memcpy(to->shape, s->shape, s->count * sizeof(s->shape[0]));
}

static int write_all(struct change *c)
{
	for (size_t i = 0; i < c->count; i++)
		write_edit(c, &c->edit[i]);
	for (enum flow_dir d = FLOW_IN; d < FLOW_DIRS; d++)
		write_side(c, d);
	return flowmap_put(&c->m, c->keys, c->at, gather(c, true));
}

/* The half that was in force. Nobody reads it any more whose result counts. */
static void align(struct change *c)
{
	struct flow_table *t = c->m.table;
	unsigned now = t->gen & 1;

	for (size_t i = 0; i < c->count; i++)
		c->m.entry[c->edit[i].at].hit[!now] = c->edit[i].hit;
	memcpy(t->half[!now], t->half[now], sizeof(t->half[now]));
	flowmap_drop(&c->m, c->keys, gather(c, false));
	for (size_t i = 0; i < c->count; i++)
		if (!c->edit[i].hit.slot1)
			flowmap_give(&c->m, c->edit[i].at);
}

static int apply(struct change *c)
{
	struct flow_table *t = c->m.table;
	int r;

	++*c->b->acts;
	__atomic_store_n(&t->dirty, 1, __ATOMIC_SEQ_CST);
	r = write_all(c);
	if (r) {
		take_back(c);
	} else {
		__atomic_store_n(&t->gen, t->gen + 1, __ATOMIC_SEQ_CST);
		align(c);
	}
	__atomic_store_n(&t->dirty, 0, __ATOMIC_SEQ_CST);
	return r;
}

static bool same_strict(const struct change *c)
{
	const struct flow_side *side = c->m.table->half[c->m.table->gen & 1];

	return !side[FLOW_IN].strict == !c->side[FLOW_IN].strict &&
	       !side[FLOW_OUT].strict == !c->side[FLOW_OUT].strict;
}

static int allot(struct change *c, size_t count)
{
	c->edit = calloc(count + 1, sizeof(*c->edit));
	c->keys = calloc(count + 1, sizeof(*c->keys));
	c->at = calloc(count + 1, sizeof(*c->at));
	return c->edit && c->keys && c->at ? 0 : -ENOMEM;
}

static int carry_through(struct change *c, struct err *e)
{
	int r = settle(c);

	if (r)
		return vnic_failed(c->n, r, "cannot read its flow rules", e);
	r = check_shapes(c, e);
	if (r || (!c->count && same_strict(c)))
		return r;
	r = make_room(c);
	r = r ? r : apply(c);
	return r ? vnic_failed(c->n, r, "cannot write its flow rules", e) : 0;
}

int bpf_flows_change(struct bpf *b, uint32_t n, const struct flow_entry *del, size_t del_count,
		     const struct flow_entry *add, size_t add_count, const bool strict[FLOW_DIRS],
		     struct err *e)
{
	__attribute__((cleanup(change_done))) struct change c = {.b = b, .n = n, .m = FLOWMAP_NONE};
	int r = allot(&c, del_count + add_count);

	r = r ? r : flowmap_open(b, n, &c.m);
	if (r)
		return vnic_failed(n, r, "cannot open its flow rules", e);
	for (enum flow_dir d = FLOW_IN; d < FLOW_DIRS; d++)
		c.side[d] = sketch_of(&c.m.table->half[c.m.table->gen & 1][d], strict[d]);
	r = collect(&c, del, del_count, false, e);
	r = r ? r : collect(&c, add, add_count, true, e);
	if (r)
		return r;
	keep_last_of_each(&c);
	return carry_through(&c, e);
}

static struct flow_entry rule_of(const struct flow_value *x, const struct flow_hit *hit,
				 const struct flow_shape *shape)
{
	return (struct flow_entry){.rule = {.key = x->key.key, .mask = shape->mask.key},
				   .order = {.hi = hit->hi, .lo = hit->lo},
				   .dir = (enum flow_dir)FLOW_DIR(x->key.shape),
				   .slot = hit->slot1 - FLOW_ROW(0)};
}

int bpf_flows_rules(struct bpf *b, uint32_t n, int (*cb)(const struct flow_entry *r, void *arg), void *arg,
		    struct err *e)
{
	const struct flow_shape *by_number[FLOW_DIRS][FLOW_NUMBERS] = {{NULL}};
	FLOWMAP m = FLOWMAP_NONE;
	unsigned now;
	int r = flowmap_open(b, n, &m);

	if (r)
		return vnic_failed(n, r, "cannot open its flow rules", e);
	now = m.table->gen & 1;
	for (enum flow_dir d = FLOW_IN; d < FLOW_DIRS; d++)
		for (unsigned i = 0; i < m.table->half[now][d].count; i++) {
			const struct flow_shape *s = &m.table->half[now][d].shape[i];

			by_number[d][FLOW_NUMBER(s->mask.shape)] = s;
		}
	for (uint32_t i = 0; !r && i < m.table->used; i++) {
		const struct flow_value *x = &m.entry[i];
		struct flow_entry rule;

		if (!x->key.shape || !x->hit[now].slot1)
			continue;
		rule = rule_of(x, &x->hit[now], by_number[FLOW_DIR(x->key.shape)][FLOW_NUMBER(x->key.shape)]);
		r = cb(&rule, arg);
	}
	return r;
}
