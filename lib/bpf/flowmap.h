/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The maps of one VNIC's flows as the loader's files see them; nobody outside lib/bpf includes it. */
#pragma once

#include "lib/bpf/flow.h"
#include "lib/bpf/flowmaps.h"
#include "lib/bpf/internal.h"

/* DIR/.../vnic-<N>/flows, or name in it ("%s"). */
int flow_pin(char ret[static PIN_MAX], const struct bpf *b, uint32_t n, const char *name, struct err *e);

/* The rules: where they are written, and the index that programs find them by. */
struct flowmap {
	struct flow_table *table;
	struct flow_value *entry; /* all of them, mapped */
	uint32_t room;            /* how many rules there may be */
	size_t mapped;            /* bytes */
	int rules;                /* the index in force */
};
#define FLOWMAP_NONE ((struct flowmap){.rules = -1})

/* -ENOENT when the VNIC has no flow programs. A change that was broken off is put right. */
int flowmap_open(const struct bpf *b, uint32_t n, struct flowmap *ret);
void flowmap_done(struct flowmap *m);
#define FLOWMAP __attribute__((cleanup(flowmap_done))) struct flowmap
/* Makes room for this many more rules; costs as much as there are. */
int flowmap_grow(const struct bpf *b, uint32_t n, struct flowmap *m, uint32_t more);
/* The index. An entry by its key, -ENOENT when there is none; count keys in or out of it. */
int flowmap_find(const struct flowmap *m, const union flow_block *key, uint32_t *ret_at);
int flowmap_put(const struct flowmap *m, const union flow_block *keys, const uint32_t *at, size_t count);
int flowmap_drop(const struct flowmap *m, const union flow_block *keys, size_t count);
/* A free entry; there has to be one. */
uint32_t flowmap_take(struct flowmap *m);
void flowmap_give(struct flowmap *m, uint32_t at);

/*
 * The kind of map that name is, as it was made (step 0) or as it is after that many steps, opened. Which one
 * is in force the table says: to ask a map of maps for what it holds waits for an RCU grace period before
 * Linux 6.8.
 */
int flow_step(const struct bpf *b, uint32_t n, const char *name, unsigned step);
/* A map like this one, but larger, pinned for that step. */
int flow_make_step(const struct bpf *b, uint32_t n, const char *name, unsigned step, int like, uint32_t size);
void flow_drop_step(const struct bpf *b, uint32_t n, const char *name, unsigned step);
/* The programs use this map from now on. */
int flow_swap(const struct bpf *b, uint32_t n, const char *name, int fd);
/* max_entries, 0 when it cannot be told. */
uint32_t flow_size(int fd);

/* The table's words without its masks. */
struct flow_header {
	struct flow_table *table;
};
int flow_header_open(const struct bpf *b, uint32_t n, struct flow_header *ret);
void flow_header_done(struct flow_header *h);
#define FLOW_HEADER __attribute__((cleanup(flow_header_done))) struct flow_header

/* flowslot.c: as many as this one slot asks for. */
int flow_slots_grow(const struct bpf *b, uint32_t n, uint32_t slot);
/* Cells of the smallest map. */
uint32_t flow_slots_min(void);
