/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The flows of one link as the kernel has them: rules, what is done with each flow's packets, and classes in
 * the two trees. The same struct says what is wanted and what is seen. Pure.
 */
#pragma once

#include "lib/model/flow.h"
#include "lib/model/flowprop.h"
#include "lib/model/node.h"

/*
 * Minor numbers of the classes in a tree with flows: one for each priority, between the cap's class and the
 * flows', and the flows' own. A class cannot be put below another: with its priority a flow gets another
 * class.
 */
#define PRIORITIES                3u
#define TREE_PRIO(priority)       (2u - (unsigned)(priority)) /* HTB serves smaller numbers first */
#define TREE_BAND(priority)       (2u + (unsigned)(priority))
#define TREE_FLOW(slot, priority) (16u + PRIORITIES * (slot) + (unsigned)(priority))
#define FLOW_SLOTS                ((TREE_CAP - 16u) / PRIORITIES) /* slots are smaller, and from 1 on */

/* What one flow asks for. rate: its cap in bits per second, 0 none. */
struct flow_want {
	uint32_t id; /* row in state.db: smaller is older */
	uint32_t slot;
	const struct flow_match *match;
	uint16_t rank;
	bool blocked, classed;
	int dscp; /* -1: left as it is */
	uint64_t rate;
	enum flow_priority priority;
};

/* One rule of a direction, and whose it is. */
struct flow_entry {
	struct flow_rule rule;
	struct flow_order order;
	enum flow_dir dir;
	uint32_t slot;
};

/*
 * What becomes of a flow's packets. class: minor number of a class in the tree of that direction, 0: none,
 * the tree's default.
 */
struct flow_action {
	bool blocked;
	bool mark; /* DSCP is set to dscp */
	uint8_t dscp;
	uint16_t class[FLOW_DIRS];
};

/* A flow's class in one tree, with its leaf. */
struct flow_class {
	enum flow_dir dir;
	uint32_t slot;
	enum flow_priority priority;
	struct shape shape; /* rate: its ceiling */
};

struct flow_act {
	uint32_t slot;
	struct flow_action action;
};

/* Owns its arrays; each is sorted by flow_set_sort(). */
struct flow_set {
	struct flow_entry *entries;
	size_t entries_count, entries_room;
	struct flow_act *acts;
	size_t acts_count, acts_room;
	struct flow_class *classes;
	size_t classes_count, classes_room;
	bool strict[FLOW_DIRS]; /* packets whose transport header is out of reach are dropped */
};
void flow_set_free(struct flow_set *s);

/* Appends a copy. -ENOMEM. */
int flow_set_entry(struct flow_set *set, const struct flow_entry *entry);
int flow_set_act(struct flow_set *set, const struct flow_act *act);
int flow_set_class(struct flow_set *set, const struct flow_class *class);
/* The order in a sorted set: 0 for what is the same thing, perhaps in another state. */
int flow_entry_cmp(const struct flow_entry *a, const struct flow_entry *b);
int flow_act_cmp(const struct flow_act *a, const struct flow_act *b);
int flow_class_cmp(const struct flow_class *a, const struct flow_class *b);
bool flow_entry_equal(const struct flow_entry *a, const struct flow_entry *b);
bool flow_action_equal(const struct flow_action *a, const struct flow_action *b);
bool flow_class_equal(const struct flow_class *a, const struct flow_class *b);

/*
 * Adds what a flow is in the kernel to set. mtu: of its link; tree: the rate of its link's tree by direction,
 * in bits per second, which no class exceeds; 0: there is no tree, and so no class. -ENOMEM.
 */
int flow_set_add(struct flow_set *set, const struct flow_want *f, uint32_t mtu,
		 const uint64_t tree[FLOW_DIRS]);
/* In the order in which two sets are compared; of rules that are the same the one that wins stays. */
void flow_set_sort(struct flow_set *set);
bool flow_set_equal(const struct flow_set *a, const struct flow_set *b);
/* Must packets be dropped whose transport header is out of reach: is it blocked by what stands there? */
bool flow_want_strict(const struct flow_want *f);
/* Does a flow need classes? */
bool flow_want_classed(const struct flow_want *f);
/* Are there any in this direction? */
bool flow_set_classed(const struct flow_set *set, enum flow_dir dir);
