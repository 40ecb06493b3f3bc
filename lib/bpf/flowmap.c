// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The maps of one VNIC's rules: opens them, makes larger ones when they are full, hands out entries, and puts
 * right what a daemon left in the middle of a change. Knows no rule's meaning.
 */
#include "lib/bpf/flowmap.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define ROOM_MAX (1u << 20)
#define STEP     4 /* times as many, each time */

int flow_pin(char ret[static PIN_MAX], const struct bpf *b, uint32_t n, const char *name, struct err *e)
{
	return pin_path(ret, e, "%s/vnic-%u/flows%s%s", b->dir, n, *name ? "/" : "", name);
}

static int step_pin(char ret[static PIN_MAX], const struct bpf *b, uint32_t n, const char *name,
		    unsigned step)
{
	char full[32];

	snprintf(full, sizeof(full), step ? "%s-%u" : "%s", name, step);
	return flow_pin(ret, b, n, full, NULL);
}

int flow_step(const struct bpf *b, uint32_t n, const char *name, unsigned step)
{
	char path[PIN_MAX];
	int r = step_pin(path, b, n, name, step), fd = r ? -1 : bpf_obj_get(path);

	return r ? r : fd < 0 ? -errno : fd;
}

void flow_drop_step(const struct bpf *b, uint32_t n, const char *name, unsigned step)
{
	char path[PIN_MAX];

	if (step && !step_pin(path, b, n, name, step))
		*b->acts += !unlink(path);
}

int flow_swap(const struct bpf *b, uint32_t n, const char *name, int fd)
{
	char full[32];
	uint32_t zero = 0;

	snprintf(full, sizeof(full), "%s_grown", name);
	FD outer = flow_step(b, n, full, 0);

	if (outer < 0)
		return outer;
	++*b->acts;
	return bpf_map_update_elem(outer, &zero, &fd, BPF_ANY) ? -errno : 0;
}

static int info_of(int fd, struct bpf_map_info *ret)
{
	uint32_t size = sizeof(*ret);

	memset(ret, 0, sizeof(*ret));
	return bpf_obj_get_info_by_fd(fd, ret, &size) ? -errno : 0;
}

uint32_t flow_size(int fd)
{
	struct bpf_map_info info;

	return info_of(fd, &info) ? 0 : info.max_entries;
}

/* With the type information that the first one has: before Linux 6.2 a map of maps takes no others. */
static int make_like(int fd, uint32_t size)
{
	LIBBPF_OPTS(bpf_map_create_opts, opts);
	struct bpf_map_info info;
	int r = info_of(fd, &info);
	FD btf = r || !info.btf_id ? -1 : bpf_btf_get_fd_by_id(info.btf_id);

	if (r)
		return r;
	opts.map_flags = info.map_flags;
	if (btf >= 0) {
		opts.btf_fd = (uint32_t)btf;
		opts.btf_key_type_id = info.btf_key_type_id;
		opts.btf_value_type_id = info.btf_value_type_id;
	}
	r = bpf_map_create((enum bpf_map_type)info.type, info.name, info.key_size, info.value_size, size,
			   &opts);
	return r < 0 ? -errno : r;
}

int flow_make_step(const struct bpf *b, uint32_t n, const char *name, unsigned step, int like, uint32_t size)
{
	char path[PIN_MAX];
	int fd = make_like(like, size), r;

	if (fd < 0)
		return fd;
	flow_drop_step(b, n, name, step); /* of a daemon that died before it was in force */
	++*b->acts;
	r = step_pin(path, b, n, name, step);
	r = r ? r : bpf_obj_pin(fd, path) ? -errno : 0;
	if (r)
		close(fd);
	return r ? r : fd;
}

static int map_shared(int fd, size_t bytes, void *ret)
{
	void *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	if (at == MAP_FAILED)
		return -errno;
	*(void **)ret = at;
	return 0;
}

static size_t pages(size_t bytes)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);

	return (bytes + page - 1) / page * page;
}

int flow_header_open(const struct bpf *b, uint32_t n, struct flow_header *ret)
{
	FD table = flow_step(b, n, "table", 0);

	return table < 0 ? table : map_shared(table, pages(1), &ret->table);
}

void flow_header_done(struct flow_header *h)
{
	if (h->table)
		munmap(h->table, pages(1));
}

static int map_entries(struct flowmap *m, int fd, uint32_t room)
{
	m->mapped = pages(room * sizeof(struct flow_value));
	return map_shared(fd, m->mapped, &m->entry);
}

static void unmap_entries(struct flowmap *m)
{
	if (m->entry)
		munmap(m->entry, m->mapped);
	m->entry = NULL;
}

/* A key goes although it may not be there: a daemon died before it was, or after it was no more. */
static void forget(struct flowmap *m, uint32_t at)
{
	bpf_map_delete_elem(m->rules, &m->entry[at].key);
	m->entry[at].key.shape = 0;
}

static void repair_entries(struct flowmap *m)
{
	struct flow_table *t = m->table;
	unsigned now = t->gen & 1;

	t->free = t->rules = 0;
	for (uint32_t i = t->used < m->room ? t->used : m->room; i-- > 0;) {
		struct flow_value *x = &m->entry[i];

		if (x->key.shape && !x->hit[now].slot1)
			forget(m, i);
		x->hit[!now] = x->hit[now];
		t->rules += x->key.shape != 0;
		if (x->key.shape)
			continue;
		x->key.word[0] = t->free;
		t->free = i + 1;
	}
	memcpy(t->half[!now], t->half[now], sizeof(t->half[now]));
}

static int swap_both(const struct bpf *b, uint32_t n, int entries, int rules)
{
	int r = flow_swap(b, n, "entries", entries);

	return r ? r : flow_swap(b, n, "rules", rules);
}

static void done(struct flow_table *t)
{
	__atomic_store_n(&t->dirty, 0, __ATOMIC_SEQ_CST);
}

/*
 * What is in force stays; the other half is brought in line, and nothing else is left. The programs may not
 * know of the maps that took the place of others yet: what is in both is the same.
 */
static int repair(const struct bpf *b, uint32_t n, struct flowmap *m, int entries)
{
	int r = m->table->rules_step ? swap_both(b, n, entries, m->rules) : 0;

	if (r)
		return r;
	repair_entries(m);
	done(m->table);
	return 0;
}

/* One of an older layout is not there, above all not to be repaired. */
static int open_table(const struct bpf *b, uint32_t n, struct flowmap *m)
{
	FD table = flow_step(b, n, "table", 0);
	struct bpf_map_info info = {.type = 0};
	uint32_t size = sizeof(info);

	if (table >= 0 &&
	    (bpf_obj_get_info_by_fd(table, &info, &size) || info.value_size < sizeof(*m->table)))
		return -ENOENT;
	return table < 0 ? table : map_shared(table, pages(sizeof(*m->table)), &m->table);
}

int flowmap_open(const struct bpf *b, uint32_t n, struct flowmap *ret)
{
	FLOWMAP m = FLOWMAP_NONE;
	int r = open_table(b, n, &m);
	unsigned step = r ? 0 : m.table->rules_step;
	FD entries = r ? -1 : flow_step(b, n, "entries", step);

	if (r)
		return r;
	m.rules = flow_step(b, n, "rules", step);
	if (entries < 0 || m.rules < 0)
		return entries < 0 ? entries : m.rules;
	m.room = flow_size(entries);
	r = map_entries(&m, entries, m.room);
	if (!r && m.table->dirty)
		r = repair(b, n, &m, entries);
	if (r)
		return r;
	*ret = m;
	m = FLOWMAP_NONE;
	return 0;
}

void flowmap_done(struct flowmap *m)
{
	unmap_entries(m);
	if (m->table)
		munmap(m->table, pages(sizeof(*m->table)));
	close_fd(&m->rules);
	*m = FLOWMAP_NONE;
}

uint32_t flowmap_take(struct flowmap *m)
{
	struct flow_table *t = m->table;
	uint32_t at = t->free ? t->free - 1 : t->used;

	if (t->free)
		t->free = (uint32_t)m->entry[at].key.word[0];
	else
		t->used++;
	t->rules++;
	memset(&m->entry[at], 0, sizeof(m->entry[at]));
	return at;
}

void flowmap_give(struct flowmap *m, uint32_t at)
{
	struct flow_value *x = &m->entry[at];

	memset(x, 0, sizeof(*x));
	x->key.word[0] = m->table->free;
	m->table->free = at + 1;
	m->table->rules--;
}

int flowmap_find(const struct flowmap *m, const union flow_block *key, uint32_t *ret_at)
{
	uint32_t at;

	if (bpf_map_lookup_elem(m->rules, key, &at))
		return -errno;
	*ret_at = at;
	return 0;
}

int flowmap_put(const struct flowmap *m, const union flow_block *keys, const uint32_t *at, size_t count)
{
	return map_fill(m->rules, keys, sizeof(*keys), at, sizeof(*at), count);
}

int flowmap_drop(const struct flowmap *m, const union flow_block *keys, size_t count)
{
	int r = 0;

	for (size_t i = 0; !r && i < count;) {
		uint32_t done = (uint32_t)(count - i);

		if (done > 1 && !bpf_map_delete_batch(m->rules, keys + i, &done, NULL))
			return 0;
		i += done > 1 ? done : 0;
		r = i < count && bpf_map_delete_elem(m->rules, keys + i++) && errno != ENOENT ? -errno : 0;
	}
	return r;
}

struct keys {
	union flow_block *key;
	uint32_t *at;
	size_t count;
};

static void keys_done(struct keys *k)
{
	free(k->key);
	free(k->at);
}

static int keys_of(const struct flowmap *m, struct keys *k)
{
	k->key = calloc(m->table->used + 1, sizeof(*k->key));
	k->at = calloc(m->table->used + 1, sizeof(*k->at));
	if (!k->key || !k->at)
		return -ENOMEM;
	for (uint32_t i = 0; i < m->table->used; i++) {
		if (!m->entry[i].key.shape)
			continue;
		k->key[k->count] = m->entry[i].key;
		k->at[k->count++] = i;
	}
	return 0;
}

/* The same entries in larger maps. to: where they are now. */
static int copy_rules(const struct flowmap *from, int entries, struct flowmap *to)
{
	__attribute__((cleanup(keys_done))) struct keys k = {.count = 0};
	int r = keys_of(from, &k);

	r = r ? r : map_entries(to, entries, to->room);
	if (r)
		return r;
	memcpy(to->entry, from->entry, from->table->used * sizeof(*from->entry));
	return flowmap_put(to, k.key, k.at, k.count);
}

/* Filled and pinned. Returns the descriptor of the entries. */
static int make_larger(const struct bpf *b, uint32_t n, const struct flowmap *m, unsigned step,
		       struct flowmap *to)
{
	FD like = flow_step(b, n, "entries", m->table->rules_step);
	int entries = like < 0 ? like : flow_make_step(b, n, "entries", step, like, to->room), r;

	if (entries < 0)
		return entries;
	to->rules = flow_make_step(b, n, "rules", step, m->rules, to->room);
	r = to->rules < 0 ? to->rules : copy_rules(m, entries, to);
	if (r)
		close(entries);
	return r ? r : entries;
}

static void drop_steps(const struct bpf *b, uint32_t n, unsigned step)
{
	flow_drop_step(b, n, "entries", step);
	flow_drop_step(b, n, "rules", step);
}

/* Written down before it is done, so that what is broken off is done again. */
static int put_in_force(const struct bpf *b, uint32_t n, struct flow_table *t, unsigned step, int entries,
			int rules)
{
	unsigned old = t->rules_step;
	int r;

	__atomic_store_n(&t->dirty, 1, __ATOMIC_SEQ_CST);
	__atomic_store_n(&t->rules_step, step, __ATOMIC_SEQ_CST);
	r = swap_both(b, n, entries, rules);
	if (r)
		return r;
	drop_steps(b, n, old);
	done(t);
	return 0;
}

static int move(const struct bpf *b, uint32_t n, struct flowmap *m, unsigned step, uint32_t room)
{
	FLOWMAP to = FLOWMAP_NONE;
	int r;

	to.room = room;
	FD entries = make_larger(b, n, m, step, &to);

	r = entries < 0 ? entries : put_in_force(b, n, m->table, step, entries, to.rules);
	if (r)
		return r;
	to.table = m->table;
	m->table = NULL;
	flowmap_done(m);
	*m = to;
	to = FLOWMAP_NONE;
	return 0;
}

int flowmap_grow(const struct bpf *b, uint32_t n, struct flowmap *m, uint32_t more)
{
	unsigned step = m->table->rules_step;
	uint32_t room = m->room;

	if (more > ROOM_MAX - m->table->rules)
		return -ENOSPC;
	while (room < m->table->rules + more) {
		room = room > ROOM_MAX / STEP ? ROOM_MAX : room * STEP;
		step++;
	}
	return room == m->room ? 0 : move(b, n, m, step, room);
}
