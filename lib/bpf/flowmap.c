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

static int open_pin(const struct bpf *b, uint32_t n, const char *name, const char *tail)
{
	char path[PIN_MAX], full[64];
	int fd = -ENAMETOOLONG;

	snprintf(full, sizeof(full), "%s%s", name, tail);
	if (!flow_pin(path, b, n, full, NULL))
		fd = bpf_obj_get(path);
	return fd < 0 && fd != -ENAMETOOLONG ? -errno : fd;
}

int flow_now(const struct bpf *b, uint32_t n, const char *name)
{
	FD outer = open_pin(b, n, name, "_grown");
	uint32_t zero = 0, id;
	int fd;

	if (outer < 0)
		return outer;
	if (bpf_map_lookup_elem(outer, &zero, &id))
		return errno == ENOENT ? open_pin(b, n, name, "") : -errno;
	fd = bpf_map_get_fd_by_id(id);
	return fd < 0 ? -errno : fd;
}

int flow_swap(const struct bpf *b, uint32_t n, const char *name, int fd)
{
	FD outer = open_pin(b, n, name, "_grown");
	uint32_t zero = 0;

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

int flow_like(int fd, uint32_t entries)
{
	LIBBPF_OPTS(bpf_map_create_opts, opts);
	struct bpf_map_info info;
	int r = info_of(fd, &info);

	if (r)
		return r;
	opts.map_flags = info.map_flags;
	r = bpf_map_create((enum bpf_map_type)info.type, info.name, info.key_size, info.value_size, entries,
			   &opts);
	return r < 0 ? -errno : r;
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

/* What is in force stays; the other half is brought in line, and nothing else is left. */
static void repair(struct flowmap *m)
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
	__atomic_store_n(&t->dirty, 0, __ATOMIC_RELEASE);
}

int flowmap_open(const struct bpf *b, uint32_t n, struct flowmap *ret)
{
	FD table = open_pin(b, n, "table", ""), entries = flow_now(b, n, "entries");
	FLOWMAP m = FLOWMAP_NONE;
	uint32_t keys;
	int r;

	m.rules = flow_now(b, n, "rules");
	r = table < 0 ? table : entries < 0 ? entries : m.rules < 0 ? m.rules : 0;
	if (r)
		return r;
	keys = flow_size(m.rules);
	m.room = flow_size(entries);
	m.room = keys < m.room ? keys : m.room;
	r = map_shared(table, pages(sizeof(*m.table)), &m.table);
	r = r ? r : map_entries(&m, entries, m.room);
	if (r)
		return r;
	if (m.table->dirty)
		repair(&m);
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
	uint32_t done = (uint32_t)count;
	int r;

	if (!count)
		return 0;
	if (count == 1)
		r = bpf_map_update_elem(m->rules, keys, at, BPF_ANY);
	else
		r = bpf_map_update_batch(m->rules, keys, at, &done, NULL);
	return r ? -errno : 0;
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

static int move(const struct bpf *b, uint32_t n, struct flowmap *m, uint32_t room)
{
	FD entries = flow_now(b, n, "entries"), fresh = flow_like(entries, room);
	FLOWMAP to = FLOWMAP_NONE;
	int r;

	to.rules = flow_like(m->rules, room);
	to.room = room;
	r = fresh < 0 ? fresh : to.rules < 0 ? to.rules : copy_rules(m, fresh, &to);
	r = r ? r : flow_swap(b, n, "entries", fresh);
	r = r ? r : flow_swap(b, n, "rules", to.rules);
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
	uint32_t room = m->room;

	if (more > ROOM_MAX - m->table->rules)
		return -ENOSPC;
	while (room < m->table->rules + more)
		room = room > ROOM_MAX / STEP ? ROOM_MAX : room * STEP;
	return room == m->room ? 0 : move(b, n, m, room);
}
