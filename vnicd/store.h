/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The desired world on disk: one SQLite file, state.db. Durable before it returns. Holds no kernel state and
 * decides nothing; a request is one transaction.
 */
#pragma once

#include "lib/base/err.h"
#include "lib/model/counter.h"
#include "lib/model/flow.h"
#include "lib/model/node.h"

#include <stdbool.h>
#include <stdint.h>

struct store;

/* How a link that is not ours (a parent) is known: never by its name alone. */
struct ident {
	char bus[64];        /* bus address, "" where it has none */
	struct mac perm_mac; /* zero where it has none */
	char name[IFNAMSIZ]; /* the last one seen */
};

enum mac_type { MAC_AUTO, MAC_RANDOM, MAC_FIXED };

/* A VNIC or etherstub as asked for. Properties are rows of their own. */
struct store_link {
	uint32_t n;
	enum link_class class;
	char name[IFNAMSIZ];
	uint32_t parent_row; /* row of a struct ident, or 0 */
	uint32_t over;       /* n of the etherstub or VLAN below, or 0 */
	uint16_t vid;        /* VLAN */
	enum mac_type mac_type;
	struct mac mac;
	bool down; /* created with -d */
	bool temp; /* only until the next boot */
};

/* One counter that never decreases: total = base + last; see counter_step() in lib/model/counter.h. */
enum counter_id {
	CTR_IPACKETS,
	CTR_RBYTES,
	CTR_IERRORS,
	CTR_IDROPS,
	CTR_OPACKETS,
	CTR_OBYTES,
	CTR_OERRORS,
	CTR_ODROPS,
	CTR_TX_LEAF,
	CTR_RX_LEAF,
	CTR_RX_GROUP,
	CTR_TX_BLOCKED,
	CTR_COUNT
};

/*
 * Opens or creates dir/state.db (WAL, synchronous FULL, foreign keys on), takes the lock of the directory and
 * runs the migrations. Another holder of the directory: -EBUSY with its pid in the text. A newer schema:
 * -EPROTO.
 */
int store_open(const char *dir, struct store **ret, struct err *e);
struct store *store_close(struct store *s);
/* The store's uuid, made with the file; 36 characters. */
const char *store_uuid(const struct store *s);

/* This boot's id, for values that last no longer. */
const char *store_boot(const struct store *s);

/* Transactions do not nest. A failed commit leaves the transaction rolled back. */
int store_begin(struct store *s, struct err *e);
int store_commit(struct store *s, struct err *e);
void store_rollback(struct store *s);

/* Rows. Every function below may be called inside or outside a transaction. */
int store_links(struct store *s, int (*cb)(const struct store_link *l, void *arg), void *arg, struct err *e);
/* Inserts (l->n 0: a new number is given and written back; numbers are never used twice) or updates. */
int store_link_put(struct store *s, struct store_link *l, struct err *e);
int store_link_del(struct store *s, uint32_t n, struct err *e); /* its properties and counters go with it */

int store_ident_get(struct store *s, uint32_t row, struct ident *ret, struct err *e);
/* Finds the row with this bus address, else this permanent MAC, else (neither given) this name, or inserts
 * one. */
int store_ident_put(struct store *s, const struct ident *id, uint32_t *ret_row, struct err *e);

/* Forgets all parents; no link may be left. */
int store_idents_clear(struct store *s, struct err *e);

/*
 * Properties as canonical text. boot "" = persistent, else the boot id it is valid for: rows of other boots
 * are deleted by store_open(), links of other boots too (the caller's boot id is read from
 * /proc/sys/kernel/random/boot_id).
 */
int store_props(struct store *s, uint32_t n,
		int (*cb)(const char *key, const char *value, const char *boot, void *arg), void *arg,
		struct err *e);
int store_prop_put(struct store *s, uint32_t n, const char *key, const char *value, const char *boot,
		   struct err *e);
int store_prop_del(struct store *s, uint32_t n, const char *key, struct err *e);

/* A flow as asked for. Properties are rows of their own. */
struct store_flow {
	uint32_t id; /* never used twice */
	uint32_t n;  /* of its link */
	uint32_t slot;
	char name[FLOW_NAME_MAX];
	const char *text; /* its attributes, canonical; not the row's */
	bool temp;        /* only until the next boot */
};

/* Counters of a flow, as counter_id; CLASS: what its classes in the two trees counted. */
enum flow_counter_id {
	FLOW_CTR_IPACKETS,
	FLOW_CTR_RBYTES,
	FLOW_CTR_IDROPS,
	FLOW_CTR_OPACKETS,
	FLOW_CTR_OBYTES,
	FLOW_CTR_ODROPS,
	FLOW_CTR_CLASS_IPACKETS,
	FLOW_CTR_CLASS_RBYTES,
	FLOW_CTR_CLASS_IDROPS,
	FLOW_CTR_CLASS_OPACKETS,
	FLOW_CTR_CLASS_OBYTES,
	FLOW_CTR_CLASS_ODROPS,
	FLOW_CTR_COUNT
};

/* In the order of their ids. Inserts (f->id 0: a new one is given and written back) or updates. A link's
 * flows go with it. */
int store_flows(struct store *s, int (*cb)(const struct store_flow *f, void *arg), void *arg, struct err *e);
int store_flow_put(struct store *s, struct store_flow *f, struct err *e);
int store_flow_del(struct store *s, uint32_t id, struct err *e);
/* As store_props() and its kin. */
int store_flow_props(struct store *s, uint32_t id,
		     int (*cb)(const char *key, const char *value, const char *boot, void *arg), void *arg,
		     struct err *e);
int store_flow_prop_put(struct store *s, uint32_t id, const char *key, const char *value, const char *boot,
			struct err *e);
int store_flow_prop_del(struct store *s, uint32_t id, const char *key, struct err *e);
int store_flow_counters_get(struct store *s, uint32_t id, struct counter ret[FLOW_CTR_COUNT], struct err *e);
int store_flow_counters_put(struct store *s, uint32_t id, const struct counter c[FLOW_CTR_COUNT],
			    struct err *e);

/*
 * Intents: what a request is about to do to the kernel, committed before it does. An intent left behind by a
 * killed daemon tells the next one where to look for orphans. kind: "create", "delete", "move".
 */
int store_intent_put(struct store *s, uint32_t n, const char *kind, const char *name, struct mac mac,
		     const char *zone, struct err *e);
int store_intents(struct store *s,
		  int (*cb)(uint32_t n, const char *kind, const char *name, struct mac mac, const char *zone,
			    void *arg),
		  void *arg, struct err *e);
int store_intents_clear(struct store *s, struct err *e);

int store_counters_get(struct store *s, uint32_t n, struct counter ret[CTR_COUNT], struct err *e);
int store_counters_put(struct store *s, uint32_t n, const struct counter c[CTR_COUNT], struct err *e);

/* How a link of the own namespace answered ARP before that was changed; a row of another world is none. */
int store_arps(struct store *s, const char *world, int (*cb)(int ifindex, struct arp arp, void *arg),
	       void *arg, struct err *e);
int store_arp_put(struct store *s, const char *world, int ifindex, struct arp arp, struct err *e);
int store_arp_del(struct store *s, int ifindex, struct err *e);

/* Where a link was seen last; a row of another world is none. cb returns non-zero to stop. */
int store_places(struct store *s, const char *world,
		 int (*cb)(uint32_t n, int ifindex, const char *zone, void *arg), void *arg, struct err *e);
int store_place_put(struct store *s, uint32_t n, const char *world, int ifindex, const char *zone,
		    struct err *e);

/* The world (boot id and namespace cookie) in which the links were last made; "" at first. */
int store_world_get(struct store *s, char ret[128], struct err *e);
int store_world_put(struct store *s, const char *world, struct err *e);

/* Whose state this is: what store_machine_put() was last given; "" at first. */
int store_machine_get(struct store *s, char ret[64], struct err *e);
int store_machine_put(struct store *s, const char *machine, struct err *e);
