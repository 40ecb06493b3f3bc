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

static int step_pin(const struct bpf *b, uint32_t n, unsigned step, char ret[static PIN_MAX])
{
	char name[16];

	snprintf(name, sizeof(name), step ? "slots-%u" : "slots", step);
	return flow_pin(ret, b, n, name, NULL);
}

/* -ENOENT: it was never that large. */
static int step_open(const struct bpf *b, uint32_t n, unsigned step)
{
	char path[PIN_MAX];
	int r = step_pin(b, n, step, path), fd = r ? -1 : bpf_obj_get(path);

	return r ? r : fd < 0 ? -errno : fd;
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

/* The pin comes first: what is counted in a map is found by it. */
static int take_place(const struct bpf *b, uint32_t n, unsigned step, int fd)
{
	char path[PIN_MAX];
	int r = step_pin(b, n, step, path);

	if (r)
		return r;
	unlink(path); /* of a daemon that died before the map was in use */
	++*b->acts;
	r = bpf_obj_pin(fd, path) ? -errno : 0;
	return r ? r : flow_swap(b, n, "slots", fd);
}

/* From now, the map in force, to one with this slot. */
static int grow(const struct bpf *b, uint32_t n, int now, uint32_t slot)
{
	unsigned step = step_for(slot);
	FD fresh = flow_like(now, FLOW_ROW(slots_of(step)) * columns());
	int r = fresh < 0 ? fresh : copy_actions(now, fresh);

	return r ? r : take_place(b, n, step, fresh);
}

/* The map in force, with this slot; to be closed. */
static int with_slot(const struct bpf *b, uint32_t n, uint32_t slot)
{
	int now = flow_now(b, n, "slots"), r;

	if (now < 0 || FLOW_ROW(slot) < rows_in(now))
		return now;
	r = grow(b, n, now, slot);
	close(now);
	return r ? r : flow_now(b, n, "slots");
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

static int put_word(const struct bpf *b, int fd, uint32_t slot, uint64_t word)
{
	WINDOW w = {.pages = NULL};
	int r = window_open(fd, FLOW_ROW(slot), 1, &w);

	if (r || __atomic_load_n(&w.cell->action, __ATOMIC_RELAXED) == word)
		return r;
	++*b->acts;
	__atomic_store_n(&w.cell->action, word, __ATOMIC_SEQ_CST);
	return 0;
}

static int clear_row(int fd, uint32_t slot)
{
	WINDOW w = {.pages = NULL};
	int r = FLOW_ROW(slot) < rows_in(fd) ? window_open(fd, FLOW_ROW(slot), 1, &w) : 0;

	if (w.cell)
		memset(&w.cell[FLOW_COLUMN_CPU], 0, (columns() - FLOW_COLUMN_CPU) * sizeof(*w.cell));
	return r;
}

/* In all maps where it may have been counted. */
static int clear_counts(const struct bpf *b, uint32_t n, uint32_t slot)
{
	int r = 0;

	for (unsigned step = 0; !r && step < STEPS; step++) {
		FD fd = step_open(b, n, step);

		r = fd < 0 ? fd : clear_row(fd, slot);
		r = r == -ENOENT ? 0 : r;
	}
	return r;
}

static int act_on(const struct bpf *b, uint32_t n, uint32_t slot, const struct flow_action *a)
{
	FD fd = a ? with_slot(b, n, slot) : flow_now(b, n, "slots");
	int r = 0;

	if (fd < 0)
		return fd;
	if (a)
		return put_word(b, fd, slot, word_of(a));
	if (FLOW_ROW(slot) < rows_in(fd))
		r = put_word(b, fd, slot, 0);
	return r ? r : clear_counts(b, n, slot);
}

int bpf_flows_action_set(struct bpf *b, uint32_t n, uint32_t slot, const struct flow_action *a, struct err *e)
{
	int r = slot < FLOW_SLOTS_MAX ? act_on(b, n, slot, a) : -ERANGE;

	return r ? vnic_failed(n, r, "cannot say what is done with a flow's packets", e) : 0;
}

int bpf_flows_actions(struct bpf *b, uint32_t n,
		      int (*cb)(uint32_t slot, const struct flow_action *a, void *arg), void *arg,
		      struct err *e)
{
	FD fd = flow_now(b, n, "slots");
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

/* From the first of these rows to the last. */
static struct window_rows {
	uint32_t first, last;
} span(const uint32_t *rows, size_t count)
{
	struct window_rows s = {.first = UINT32_MAX};

	for (size_t i = 0; i < count; i++) {
		s.first = rows[i] < s.first ? rows[i] : s.first;
		s.last = rows[i] > s.last ? rows[i] : s.last;
	}
	return s;
}

static int add_map(int fd, const uint32_t *rows, size_t count, struct bpf_flow_count *sum)
{
	struct window_rows s = span(rows, count);
	uint32_t there = rows_in(fd);
	WINDOW w = {.pages = NULL};
	int r;

	if (s.first >= there)
		return 0;
	s.last = s.last < there ? s.last : there - 1;
	r = window_open(fd, s.first, s.last - s.first + 1, &w);
	for (size_t i = 0; !r && i < count; i++)
		if (rows[i] <= s.last)
			add_row(w.cell + (rows[i] - s.first) * columns(), &sum[i]);
	return r;
}

/* rows: of slots, or the odd one. */
static int add_all(const struct bpf *b, uint32_t n, const uint32_t *rows, size_t count,
		   struct bpf_flow_count *sum)
{
	int r = 0;

	memset(sum, 0, count * sizeof(*sum));
	for (unsigned step = 0; !r && step < STEPS; step++) {
		FD fd = step_open(b, n, step);

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

int bpf_flows_odd(struct bpf *b, uint32_t n, struct bpf_flow_odd *ret, struct err *e)
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
