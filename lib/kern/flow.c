/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A VNIC's flows in the kernel: sees what is there as one set, and makes of one set another, in an order in
 * which no packet is without its cap. What a rule or a class is, lib/bpf and tree.c know.
 */
#include "lib/bpf/flow.h"
#include "lib/kern/flowclass.h"
#include "lib/kern/htb.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static struct bpf_flow_site site_of(const struct node *n)
{
	return (struct bpf_flow_site){.n = n->n,
				      .ifindex =
					      n->class == CLASS_FOREIGN ? n->parent.ifindex : n->port.ifindex,
				      .ifb = n->ifb ? n->ifb_port.ifindex : 0};
}

/* Where an act's hooks are: those of a link that is not ours are on the node's parent, as the site says. */
static void sit(struct bpf_flow_site *site, const struct act *a, int ifindex)
{
	if (a->node->class != CLASS_FOREIGN)
		site->ifindex = ifindex;
}

/* Seeing. */

struct seeing {
	struct flow_set *set;
};

static int see_entry(const struct flow_entry *entry, void *arg)
{
	return flow_set_entry(((struct seeing *)arg)->set, entry);
}

static int see_act(uint32_t slot, const struct flow_action *a, void *arg)
{
	return slot ? flow_set_act(((struct seeing *)arg)->set,
				   &(struct flow_act){.slot = slot, .action = *a})
		    : 0;
}

static int see_set(struct real *r, const struct node *n, const struct flow_set *want, struct flow_set *ret,
		   struct err *e)
{
	struct seeing seeing = {.set = ret};
	int rc = bpf_flows_rules(r->bpf, n->n, see_entry, &seeing, e);

	if (!rc)
		rc = bpf_flows_actions(r->bpf, n->n, see_act, &seeing, e);
	if (!rc && n->tx.root)
		rc = flow_classes_see(r, &n->port, FLOW_OUT, want, ret, e);
	if (!rc && n->rx.root)
		rc = flow_classes_see(r, &n->ifb_port, FLOW_IN, want, ret, e);
	flow_set_sort(ret);
	for (enum flow_dir dir = FLOW_IN; want && dir < FLOW_DIRS; dir++)
		ret->strict[dir] = want->strict[dir];
	return rc;
}

int flows_observe(struct real *r, const struct flow_set *want, struct node *ret, struct err *e)
{
	struct bpf_flow_site site = site_of(ret);
	struct flow_set seen = {0};
	bool there = false;
	int rc;

	ret->flow_set = want;
	rc = real_enter(r, ret->port.zone, e);
	if (rc)
		return rc;
	rc = bpf_flows_observe(r->bpf, &site, &there, e);
	real_leave(r, ret->port.zone);
	ret->flows = there ? FLOWS_STALE : FLOWS_OFF;
	if (rc || !there)
		return rc;
	rc = see_set(r, ret, want, &seen, e);
	if (!rc && want && flow_set_equal(want, &seen))
		ret->flows = FLOWS_ON;
	flow_set_free(&seen);
	return rc;
}

/* Changing. */

/* Frees list. */
static int acts_send(struct act *a, struct bpf_slot_action *list, size_t count)
{
	int rc = list ? 0 : err_nomem(a->e);

	if (!rc && count)
		rc = bpf_flows_actions_set(a->r->bpf, a->node->n, list, count, a->e);
	free(list);
	return rc;
}

/* What is done with a flow's packets is set before a rule leads to it, and cleared when none does. */
static int set_acts(struct act *a, const struct flow_set *have, const struct flow_set *want)
{
	struct bpf_slot_action *list = calloc(want->acts_count + 1, sizeof(*list));
	size_t h = 0, n = 0;

	for (size_t w = 0; list && w < want->acts_count; w++) {
		const struct flow_act *is = &want->acts[w];

		while (h < have->acts_count && flow_act_cmp(&have->acts[h], is) < 0)
			h++;
		if (h == have->acts_count || flow_act_cmp(&have->acts[h], is) != 0 ||
		    !flow_action_equal(&have->acts[h].action, &is->action))
			list[n++] = (struct bpf_slot_action){.slot = is->slot, .action = &is->action};
	}
	return acts_send(a, list, n);
}

static int clear_acts(struct act *a, const struct flow_set *have, const struct flow_set *want)
{
	struct bpf_slot_action *list = calloc(have->acts_count + 1, sizeof(*list));
	size_t w = 0, n = 0;

	for (size_t h = 0; list && h < have->acts_count; h++) {
		while (w < want->acts_count && flow_act_cmp(&want->acts[w], &have->acts[h]) < 0)
			w++;
		if (w == want->acts_count || flow_act_cmp(&want->acts[w], &have->acts[h]) != 0)
			list[n++] = (struct bpf_slot_action){.slot = have->acts[h].slot};
	}
	return acts_send(a, list, n);
}

/* Those of a that b has not; changed: nor in the same state. */
static size_t missing(const struct flow_set *a, const struct flow_set *b, bool changed,
		      struct flow_entry *ret)
{
	size_t j = 0, n = 0;

	for (size_t i = 0; i < a->entries_count; i++) {
		const struct flow_entry *entry = &a->entries[i];
		bool there;

		while (j < b->entries_count && flow_entry_cmp(&b->entries[j], entry) < 0)
			j++;
		there = j < b->entries_count && !flow_entry_cmp(&b->entries[j], entry);
		if (!there || (changed && !flow_entry_equal(&b->entries[j], entry)))
			ret[n++] = *entry;
	}
	return n;
}

static int swap_rules(struct act *a, const struct flow_set *have, const struct flow_set *want)
{
	struct flow_entry *del = calloc(have->entries_count + 1, sizeof(*del));
	struct flow_entry *add = calloc(want->entries_count + 1, sizeof(*add));
	int rc = err_nomem(a->e);

	if (del && add) {
		size_t dels = missing(have, want, false, del), adds = missing(want, have, true, add);
		bool same = !dels && !adds && have->strict[FLOW_IN] == want->strict[FLOW_IN] &&
			    have->strict[FLOW_OUT] == want->strict[FLOW_OUT];

		rc = same ? 0
			  : bpf_flows_change(a->r->bpf, a->node->n, del, dels, add, adds, want->strict, a->e);
	}
	free(del);
	free(add);
	return rc;
}

/* Classes stand before anything leads to them, and go when nothing does any more. */
static int shift(struct act *a, const struct flow_set *have, const struct flow_set *want)
{
	int rc = flow_classes_make(a, have, want);

	rc = rc ? rc : set_acts(a, have, want);
	rc = rc ? rc : swap_rules(a, have, want);
	rc = rc ? rc : clear_acts(a, have, want);
	return rc ? rc : flow_classes_drop(a, have, want);
}

static int by_act(const void *a, const void *b)
{
	return flow_act_cmp(a, b);
}

/* Has the set anything of the flow in this slot? */
static bool has_slot(const struct flow_set *s, uint32_t slot)
{
	struct flow_act key = {.slot = slot};

	return s->acts_count && bsearch(&key, s->acts, s->acts_count, sizeof(*s->acts), by_act);
}

/* Leaves in now what is of the flows in a or b: others' is none of a change's business. */
#define KEEP(now, what)                                                                           \
	do {                                                                                      \
		size_t kept = 0;                                                                  \
                                                                                                  \
		for (size_t i = 0; i < (now)->what##_count; i++)                                  \
			if (has_slot(a, (now)->what[i].slot) || has_slot(b, (now)->what[i].slot)) \
				(now)->what[kept++] = (now)->what[i];                             \
		(now)->what##_count = kept;                                                       \
	} while (0)

static void keep_slots(struct flow_set *now, const struct flow_set *a, const struct flow_set *b)
{
	KEEP(now, entries);
	KEEP(now, acts);
	KEEP(now, classes);
}

/* As it was before it went on towards want, as far as that goes. */
static void shift_back(struct act *a, const struct flow_set *to, const struct flow_set *want)
{
	struct flow_set now = {0};
	struct act back = *a;

	back.e = NULL;
	if (!see_set(a->r, a->node, to, &now, NULL)) {
		keep_slots(&now, to, want);
		memcpy(now.strict, want->strict, sizeof(now.strict)); /* it may be so by now */
		shift(&back, &now, to);
	}
	flow_set_free(&now);
}

static int flows_shift(struct act *a, const struct flow_set *have, const struct flow_set *want)
{
	int rc = shift(a, have, want);

	if (rc)
		shift_back(a, have, want);
	return rc;
}

static int do_flows_add(struct act *a, int ifindex)
{
	struct bpf_flow_site site = site_of(a->node);

	sit(&site, a, ifindex);
	return bpf_flows_add(a->r->bpf, &site, a->e);
}

static int do_flows_del(struct act *a, int ifindex)
{
	struct bpf_flow_site site = site_of(a->node);

	sit(&site, a, ifindex);
	return bpf_flows_del(a->r->bpf, &site, a->e);
}

int flows_add(struct act *a)
{
	return in_zone(a, do_flows_add);
}

/*
 * From what is there, whatever that is. Without a set, as where the deletion of a link's last flow is taken
 * back, nothing is known here of what it was: the caller brings the link in line.
 */
int flows_set(struct act *a)
{
	struct flow_set seen = {0};
	int rc;

	if (!a->node->flow_set)
		return 0;
	rc = see_set(a->r, a->node, a->node->flow_set, &seen, a->e);

	rc = rc ? rc : flows_shift(a, &seen, a->node->flow_set);
	flow_set_free(&seen);
	return rc;
}

int flows_del(struct act *a)
{
	static const struct flow_set none;
	struct flow_set seen = {0};
	int rc = see_set(a->r, a->node, NULL, &seen, a->e);

	rc = rc == -ENOENT ? 0 : rc;
	rc = rc ? rc : in_zone(a, do_flows_del);
	rc = rc ? rc : flow_classes_drop(a, &seen, &none);
	flow_set_free(&seen);
	return rc;
}

int real_flow_change(struct kernel *k, const struct node *n, const struct flow_set *have,
		     const struct flow_set *want, struct err *e)
{
	struct op op = {.kind = OP_FLOWS_SET, .on = ON_LINK, .to = *n};
	struct act a = {
		.r = real_of(k), .op = &op, .node = n, .port = &n->port, .what = "set its flows", .e = e};
	int rc = real_sock(a.r, n->port.zone, &a.sk, e);

	if (rc)
		return rc;
	rc = flows_shift(&a, have, want);
	real_unsock(a.r, a.sk);
	return rc;
}

int real_flow_counts(struct kernel *k, const struct node *n, const uint32_t *slots, size_t count,
		     struct flow_stats *ret, struct err *e)
{
	struct bpf_flow_count *counts = calloc(count + 1, sizeof(*counts));
	struct real *r = real_of(k);
	int rc = counts ? bpf_flows_counts(r->bpf, n->n, slots, count, counts, e) : err_nomem(e);

	for (size_t i = 0; !rc && i < count; i++) {
		ret[i] = (struct flow_stats){0};
		memcpy(ret[i].programs.packets, counts[i].packets, sizeof(counts[i].packets));
		memcpy(ret[i].programs.bytes, counts[i].bytes, sizeof(counts[i].bytes));
		memcpy(ret[i].programs.drops, counts[i].drops, sizeof(counts[i].drops));
	}
	free(counts);
	if (!rc && n->tx.bands)
		rc = flow_classes_count(r, &n->port, FLOW_OUT, slots, count, ret, e);
	if (!rc && n->rx.bands)
		rc = flow_classes_count(r, &n->ifb_port, FLOW_IN, slots, count, ret, e);
	return rc;
}

int real_flow_odd(struct kernel *k, const struct node *n, struct flow_odd *ret, struct err *e)
{
	return bpf_flows_odd(real_of(k)->bpf, n->n, ret, e);
}
