// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What is done with the packets of one VNIC's flows, and how many they were: one row of cells for each slot.
 * Knows no rule. When the map of cells is too small a larger one takes its place for what is done from then
 * on; what was counted in the smaller one stays there, and the sum of all is told, so that no count is lost.
 */
#include "lib/bpf/flowmap.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define STEP  8u /* times as many slots, each time */
#define STEPS 5u /* with the first: FLOW_SLOTS_MIN, ... FLOW_SLOTS_MAX */

static uint32_t columns(void)
{
	return FLOW_COLUMN_CPU + (uint32_t)libbpf_num_possible_cpus();
}

/* Slots of the map of a step. */
static uint32_t slots_of(unsigned step)
{
	uint32_t slots = FLOW_SLOTS_MIN;

	while (step-- && slots < FLOW_SLOTS_MAX)
		slots = slots > FLOW_SLOTS_MAX / STEP ? FLOW_SLOTS_MAX : slots * STEP;
	return slots;
}

uint32_t flow_slots_min(void)
{
	return FLOW_ROW(slots_of(0)) * columns();
}

/* Some rows of a map of cells, mapped. */
struct window {
	char *pages;
	size_t bytes;
	union flow_cell *cell; /* the first row's first */
};

static void window_done(struct window *w)
{
	if (w->pages)
		munmap(w->pages, w->bytes);
}
#define WINDOW __attribute__((cleanup(window_done))) struct window

static int window_open(int fd, uint32_t row, uint32_t rows, struct window *ret)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE), line = columns() * sizeof(union flow_cell);
	size_t from = row * line, start = from / page * page;
	size_t bytes = (from + rows * line - start + page - 1) / page * page;
	void *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, (off_t)start);

	if (at == MAP_FAILED)
		return -errno;
	ret->pages = at;
	ret->bytes = bytes;
	ret->cell = (union flow_cell *)((char *)at + (from - start));
	return 0;
}

static uint32_t rows_in(int fd)
{
	return flow_size(fd) / columns();
}

/* The smallest step with this slot. */
static unsigned step_for(uint32_t slot)
{
	unsigned step = 0;

	while (slot >= slots_of(step))
		step++;
	return step;
}

static int copy_actions(int from, int to)
{
	uint32_t rows = rows_in(from);
	WINDOW old = {.pages = NULL}, fresh = {.pages = NULL};
	int r = window_open(from, 0, rows, &old);

	r = r ? r : window_open(to, 0, rows, &fresh);
	for (uint32_t i = 0; !r && i < rows * columns(); i += columns())
		fresh.cell[i].action = old.cell[i].action;
	return r;
}

/*
 * The new map is pinned already, since what is counted in it is found by that; it is written down as the one
 * in force before programs know of it, so that what is broken off is done again.
 */
static int put_in_force(const struct bpf *b, uint32_t n, struct flow_table *t, unsigned step, int fd)
{
	int r;

	__atomic_store_n(&t->slots_dirty, 1, __ATOMIC_SEQ_CST);
	__atomic_store_n(&t->slots_step, step, __ATOMIC_SEQ_CST);
	r = flow_swap(b, n, "slots", fd);
	__atomic_store_n(&t->slots_dirty, r != 0, __ATOMIC_SEQ_CST);
	return r;
}

/* From now, the map in force, to one with this slot. Returns its descriptor. */
static int grow(const struct bpf *b, uint32_t n, struct flow_table *t, int now, uint32_t slot)
{
	unsigned step = step_for(slot);
	int fresh = flow_make_step(b, n, "slots", step, now, FLOW_ROW(slots_of(step)) * columns()), r;

	if (fresh < 0)
		return fresh;
	r = copy_actions(now, fresh);
	r = r ? r : put_in_force(b, n, t, step, fresh);
	if (r)
		close(fresh);
	return r ? r : fresh;
}

/* The map in force, which the programs know of. */
static int open_now(const struct bpf *b, uint32_t n, struct flow_table *t)
{
	int fd = flow_step(b, n, "slots", t->slots_step), r;

	if (fd < 0 || !t->slots_dirty)
		return fd;
	r = put_in_force(b, n, t, t->slots_step, fd);
	if (r)
		close(fd);
	return r ? r : fd;
}

/* The map in force, with this slot; to be closed. */
static int with_slot(const struct bpf *b, uint32_t n, uint32_t slot)
{
	FLOW_HEADER h = {.table = NULL};
	int r = flow_header_open(b, n, &h), now = r ? -1 : open_now(b, n, h.table);

	if (r || now < 0 || FLOW_ROW(slot) < rows_in(now))
		return r ? r : now;
	r = grow(b, n, h.table, now, slot);
	close(now);
	return r;
}

int flow_slots_grow(const struct bpf *b, uint32_t n, uint32_t slot)
{
	FD fd = with_slot(b, n, slot);

	return fd < 0 ? fd : 0;
}

static uint64_t word_of(const struct flow_action *a)
{
	uint64_t word = FLOW_ACT_SET | (a->blocked ? FLOW_ACT_BLOCKED : 0) | (a->mark ? FLOW_ACT_MARK : 0);

	return word | (uint64_t)(a->dscp & 63) << FLOW_ACT_DSCP_SHIFT | a->class[FLOW_IN] |
	       (uint64_t)a->class[FLOW_OUT] << 16;
}

static struct flow_action action_of(uint64_t word)
{
	return (struct flow_action){
		.blocked = word & FLOW_ACT_BLOCKED,
		.mark = word & FLOW_ACT_MARK,
		.dscp = word >> FLOW_ACT_DSCP_SHIFT & 63,
		.class = {[FLOW_IN] = FLOW_ACT_CLASS(word, 0), [FLOW_OUT] = FLOW_ACT_CLASS(word, 1)}};
}

/* A list's rows, from the first to the last. */
struct span {
	uint32_t first, last;
};

static struct span span_of(const uint32_t *rows, size_t count)
{
	struct span s = {.first = UINT32_MAX};

	for (size_t i = 0; i < count; i++) {
		s.first = rows[i] < s.first ? rows[i] : s.first;
		s.last = rows[i] > s.last ? rows[i] : s.last;
	}
	return s;
}

/* These rows of a map, as far as it has them; an empty span: none of them. */
static int open_rows(int fd, const uint32_t *rows, size_t count, struct window *w, struct span *ret)
{
	struct span s = span_of(rows, count);
	uint32_t there = rows_in(fd);
	int r;

	*ret = (struct span){.first = 1, .last = 0};
	if (!count || s.first >= there)
		return 0;
	s.last = s.last < there ? s.last : there - 1;
	r = window_open(fd, s.first, s.last - s.first + 1, w);
	if (!r)
		*ret = s;
	return r;
}

static union flow_cell *row_at(const struct window *w, const struct span *s, uint32_t row)
{
	return row < s->first || row > s->last ? NULL : w->cell + (row - s->first) * columns();
}

static void put_word(const struct bpf *b, union flow_cell *cell, uint64_t word)
{
	if (__atomic_load_n(&cell->action, __ATOMIC_RELAXED) == word)
		return;
	++*b->acts;
	__atomic_store_n(&cell->action, word, __ATOMIC_SEQ_CST);
}

static int put_words(const struct bpf *b, int fd, const struct bpf_slot_action *list, const uint32_t *rows,
		     size_t count)
{
	WINDOW w = {.pages = NULL};
	struct span s;
	int r = open_rows(fd, rows, count, &w, &s);

	for (size_t i = 0; !r && i < count; i++) {
		union flow_cell *row = row_at(&w, &s, rows[i]);

		if (row)
			put_word(b, row, list[i].action ? word_of(list[i].action) : 0);
	}
	return r;
}

static int clear_rows(int fd, const uint32_t *rows, size_t count)
{
	WINDOW w = {.pages = NULL};
	struct span s;
	int r = open_rows(fd, rows, count, &w, &s);

	for (size_t i = 0; !r && i < count; i++) {
		union flow_cell *row = row_at(&w, &s, rows[i]);

		if (row)
			memset(row + FLOW_COLUMN_CPU, 0, (columns() - FLOW_COLUMN_CPU) * sizeof(*row));
	}
	return r;
}

/* In all maps where it may have been counted. */
static int clear_counts(const struct bpf *b, uint32_t n, const uint32_t *rows, size_t count)
{
	int r = 0;

	for (unsigned step = 0; !r && count && step < STEPS; step++) {
		FD fd = flow_step(b, n, "slots", step);

		r = fd < 0 ? fd : clear_rows(fd, rows, count);
		r = r == -ENOENT ? 0 : r;
	}
	return r;
}

static int check_list(const struct bpf_slot_action *list, size_t count, uint32_t *ret_highest)
{
	*ret_highest = 0;
	for (size_t i = 0; i < count; i++) {
		if (list[i].slot >= FLOW_SLOTS_MAX)
			return -ERANGE;
		if (list[i].action && list[i].slot > *ret_highest)
			*ret_highest = list[i].slot;
	}
	return 0;
}

/* rows: room for one of each in the list. */
static int set_all(const struct bpf *b, uint32_t n, const struct bpf_slot_action *list, size_t count,
		   uint32_t *rows)
{
	uint32_t highest;
	size_t gone = 0;
	int r = check_list(list, count, &highest);
	FD fd = r ? -1 : with_slot(b, n, highest);

	if (r || fd < 0)
		return r ? r : fd;
	for (size_t i = 0; i < count; i++)
		rows[i] = FLOW_ROW(list[i].slot);
	r = put_words(b, fd, list, rows, count);
	for (size_t i = 0; i < count; i++)
		if (!list[i].action)
			rows[gone++] = FLOW_ROW(list[i].slot);
	return r ? r : clear_counts(b, n, rows, gone);
}

int bpf_flows_actions_set(struct bpf *b, uint32_t n, const struct bpf_slot_action *list, size_t count,
			  struct err *e)
{
	uint32_t *rows = calloc(count + 1, sizeof(*rows));
	int r = rows ? set_all(b, n, list, count, rows) : -ENOMEM;

	free(rows);
	return r ? vnic_failed(n, r, "cannot say what is done with its flows' packets", e) : 0;
}

int bpf_flows_action_set(struct bpf *b, uint32_t n, uint32_t slot, const struct flow_action *a, struct err *e)
{
	return bpf_flows_actions_set(b, n, &(struct bpf_slot_action){.slot = slot, .action = a}, 1, e);
}

int bpf_flows_actions(struct bpf *b, uint32_t n,
		      int (*cb)(uint32_t slot, const struct flow_action *a, void *arg), void *arg,
		      struct err *e)
{
	FD fd = with_slot(b, n, 0);
	WINDOW w = {.pages = NULL};
	uint32_t rows = fd < 0 ? 0 : rows_in(fd);
	int r = fd < 0 ? fd : window_open(fd, 0, rows, &w);

	if (r)
		return vnic_failed(n, r, "cannot read what is done with its flows' packets", e);
	for (uint32_t slot = 0; !r && FLOW_ROW(slot) < rows; slot++) {
		uint64_t word = w.cell[FLOW_ROW(slot) * columns()].action;
		struct flow_action a = action_of(word);

		r = word & FLOW_ACT_SET ? cb(slot, &a, arg) : 0;
	}
	return r;
}

static void add_row(const union flow_cell *row, struct bpf_flow_count *sum)
{
	for (uint32_t c = FLOW_COLUMN_CPU; c < columns(); c++)
		for (enum flow_dir d = FLOW_IN; d < FLOW_DIRS; d++) {
			sum->packets[d] += __atomic_load_n(&row[c].packets[d], __ATOMIC_RELAXED);
			sum->bytes[d] += __atomic_load_n(&row[c].bytes[d], __ATOMIC_RELAXED);
			sum->drops[d] += __atomic_load_n(&row[c].drops[d], __ATOMIC_RELAXED);
		}
}

static int add_map(int fd, const uint32_t *rows, size_t count, struct bpf_flow_count *sum)
{
	WINDOW w = {.pages = NULL};
	struct span s;
	int r = open_rows(fd, rows, count, &w, &s);

	for (size_t i = 0; !r && i < count; i++) {
		const union flow_cell *row = row_at(&w, &s, rows[i]);

		if (row)
			add_row(row, &sum[i]);
	}
	return r;
}

/* rows: of slots, or the odd one. */
static int add_all(const struct bpf *b, uint32_t n, const uint32_t *rows, size_t count,
		   struct bpf_flow_count *sum)
{
	int r = 0;

	memset(sum, 0, count * sizeof(*sum));
	for (unsigned step = 0; !r && step < STEPS; step++) {
		FD fd = flow_step(b, n, "slots", step);

		r = fd < 0 ? fd : add_map(fd, rows, count, sum);
		r = step && r == -ENOENT ? 0 : r;
	}
	return r;
}

static int read_counts(const struct bpf *b, uint32_t n, const uint32_t *slots, size_t count,
		       struct bpf_flow_count *sum)
{
	uint32_t *rows = calloc(count + 1, sizeof(*rows));
	int r = rows ? 0 : -ENOMEM;

	for (size_t i = 0; !r && i < count; i++)
		rows[i] = FLOW_ROW(slots[i]);
	r = r ? r : add_all(b, n, rows, count, sum);
	free(rows);
	return r;
}

int bpf_flows_counts(struct bpf *b, uint32_t n, const uint32_t *slots, size_t count,
		     struct bpf_flow_count *ret, struct err *e)
{
	struct bpf_flow_count *sum = calloc(count + 1, sizeof(*sum));
	int r = sum ? read_counts(b, n, slots, count, sum) : -ENOMEM;

	if (!r)
		memcpy(ret, sum, count * sizeof(*ret));
	free(sum);
	return r ? vnic_failed(n, r, "cannot read its flows' counters", e) : 0;
}

int bpf_flows_odd(struct bpf *b, uint32_t n, struct flow_odd *ret, struct err *e)
{
	const uint32_t row = FLOW_ROW_ODD;
	struct bpf_flow_count sum;
	int r = add_all(b, n, &row, 1, &sum);

	if (r)
		return vnic_failed(n, r, "cannot read its flows' counters", e);
	for (enum flow_dir d = FLOW_IN; d < FLOW_DIRS; d++) {
		ret->fragments[d] = sum.packets[d];
		ret->unparsed[d] = sum.drops[d];
	}
	return 0;
}
