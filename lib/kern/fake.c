/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The in-memory kernel for tests: nodes move on by the operations' own effects, and any apply can be made to
 * fail. Never touches a real one.
 */
#include "lib/kern/kern.h"

#include "lib/model/flowset.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PARENTS_MAX 16
#define HOOKS_MAX   64
#define ZONES_MAX   16

struct fake_node {
	struct node node;
	struct flow_set flows; /* sorted */
	struct fake_node *next;
};

struct fake {
	struct kernel kernel;
	struct fake_node *nodes;
	struct sys_link parents[PARENTS_MAX];
	unsigned parent_count;
	int hooks[HOOKS_MAX];            /* ifindexes of the links that have our program; 0: free */
	char zones[ZONES_MAX][ZONE_MAX]; /* "": free */
	bool zoned;                      /* zones are told of: others are not there */
	char uuid[40];
	unsigned calls, fail_at;
	int next_ifindex;
};

static struct fake *fake_of(struct kernel *k)
{
	return (struct fake *)k;
}

static struct node *find(struct fake *f, uint32_t n)
{
	for (struct fake_node *i = f->nodes; i; i = i->next)
		if (i->node.n == n)
			return &i->node;
	return NULL;
}

static bool has_zone(const struct fake *f, const char *zone)
{
	for (unsigned i = 0; i < ZONES_MAX && zone[0] && f->zoned; i++)
		if (!strcmp(f->zones[i], zone))
			return true;
	return !zone[0] || !f->zoned;
}

static struct node *find_or_add(struct fake *f, const struct node *like)
{
	struct node *n = find(f, like->n);
	struct fake_node *i;

	if (n)
		return n;
	i = calloc(1, sizeof(*i));
	if (!i)
		return NULL;
	i->node = (struct node){.n = like->n, .class = like->class, .parent = like->parent, .mac = like->mac};
	i->next = f->nodes;
	f->nodes = i;
	return &i->node;
}

static struct fake_node *f_node(struct node *n)
{
	return (struct fake_node *)((char *)n - offsetof(struct fake_node, node));
}

static void see_flows(struct fake_node *i, const struct node *key, struct node *ret)
{
	ret->flow_set = key->flow_set;
	if (ret->flows != FLOWS_OFF)
		ret->flows =
			ret->flows == FLOWS_ON && key->flow_set && flow_set_equal(key->flow_set, &i->flows)
				? FLOWS_ON
				: FLOWS_STALE;
	if (!ret->prog.present)
		ret->flows = FLOWS_OFF;
}

/* Appends those of from that but has not. */
static int add_flows(struct flow_set *to, const struct flow_set *from, const struct flow_set *but)
{
	int r = 0;

	for (size_t i = 0; i < from->entries_count && r == 0; i++)
		if (!but->entries_count ||
		    !bsearch(&from->entries[i], but->entries, but->entries_count, sizeof(*but->entries),
			     (int (*)(const void *, const void *))flow_entry_cmp))
			r = flow_set_entry(to, &from->entries[i]);
	for (size_t i = 0; i < from->acts_count && r == 0; i++)
		if (!but->acts_count ||
		    !bsearch(&from->acts[i], but->acts, but->acts_count, sizeof(*but->acts),
			     (int (*)(const void *, const void *))flow_act_cmp))
			r = flow_set_act(to, &from->acts[i]);
	for (size_t i = 0; i < from->classes_count && r == 0; i++)
		if (!but->classes_count ||
		    !bsearch(&from->classes[i], but->classes, but->classes_count, sizeof(*but->classes),
			     (int (*)(const void *, const void *))flow_class_cmp))
			r = flow_set_class(to, &from->classes[i]);
	memcpy(to->strict, from->strict, sizeof(to->strict));
	return r;
}

/* What was, without have, and with want. */
static int change_flows(struct fake_node *i, const struct flow_set *have, const struct flow_set *want)
{
	static const struct flow_set none;
	struct flow_set now = {0};
	int r = add_flows(&now, &i->flows, have);

	r = r < 0 ? r : add_flows(&now, want, &none);
	if (r < 0) {
		flow_set_free(&now);
		return r;
	}
	flow_set_free(&i->flows);
	i->flows = now;
	flow_set_sort(&i->flows);
	return 0;
}

static int fake_flow_change(struct kernel *k, const struct node *n, const struct flow_set *have,
			    const struct flow_set *want, struct err *e)
{
	struct node *is = find(fake_of(k), n->n);

	if (!is || is->flows == FLOWS_OFF)
		return err_sys(e, -ENODEV, n->port.name, "no flows there");
	k->acts++;
	return change_flows(f_node(is), have, want) < 0 ? err_nomem(e) : 0;
}

static int fake_flow_counts(struct kernel *k, const struct node *n, const uint32_t *slots, size_t count,
			    struct flow_stats *ret, struct err *e)
{
	(void)k;
	(void)n;
	(void)slots;
	(void)e;
	memset(ret, 0, count * sizeof(*ret));
	return 0;
}

static int fake_flow_odd(struct kernel *k, const struct node *n, struct flow_odd *ret, struct err *e)
{
	(void)k;
	(void)n;
	(void)e;
	*ret = (struct flow_odd){0};
	return 0;
}

static int fake_observe(struct kernel *k, const struct node *key, struct node *ret, struct err *e)
{
	struct node *n = find(fake_of(k), key->n);

	if (!has_zone(fake_of(k), key->port.zone))
		return err_sys(e, -ENOENT, key->port.zone, "no such zone");
	*ret = n ? *n : *key;
	/* Programs go with their link. */
	if (n && !n->link)
		ret->prog = (struct prog){0};
	if (n)
		see_flows(f_node(n), key, ret);
	if (!n || (n->link && strcmp(n->port.zone, key->port.zone) != 0))
		ret->link = false;
	if (!n) {
		*ret = (struct node){.n = key->n,
				     .class = key->class,
				     .port = key->port,
				     .parent = key->parent,
				     .mac = key->mac};
		ret->port.ifindex = 0;
	}
	return 0;
}

static int *hook_slot(struct fake *f, int ifindex)
{
	for (unsigned i = 0; i < HOOKS_MAX; i++)
		if (f->hooks[i] == ifindex)
			return &f->hooks[i];
	return NULL;
}

/* Is there a link of this number that VNICs can be over? */
static bool is_below(struct fake *f, int ifindex)
{
	for (unsigned i = 0; i < f->parent_count; i++)
		if (f->parents[i].ifindex == ifindex)
			return true;
	for (struct fake_node *i = f->nodes; i; i = i->next)
		if (i->node.link && i->node.class != CLASS_VNIC && i->node.port.ifindex == ifindex)
			return true;
	return false;
}

static int fake_observe_hook(struct kernel *k, int parent_ifindex, bool *ret, struct err *e)
{
	(void)e;
	*ret = parent_ifindex && hook_slot(fake_of(k), parent_ifindex);
	return 0;
}

static void give_ifindex(struct fake *f, struct op *op, struct node *n)
{
	struct port *p = op->on == ON_IFB ? &n->ifb_port : &n->port;

	if (op->kind != OP_LINK_ADD && op->kind != OP_LINK_MOVE)
		return;
	p->ifindex = ++f->next_ifindex;
	if (op->on == ON_IFB)
		op->to.ifb_port.ifindex = p->ifindex;
	else
		op->to.port.ifindex = p->ifindex;
}

static int apply_hook(struct fake *f, const struct op *op, struct err *e)
{
	int at = op->to.parent.ifindex, *slot = hook_slot(f, at);

	if (op->kind == OP_HOOK_DEL) {
		if (slot)
			*slot = 0;
		return 0;
	}
	if (!is_below(f, at))
		return err_sys(e, -ENODEV, op->to.parent.name, "no such link");
	if (!slot)
		slot = hook_slot(f, 0);
	if (!slot)
		return err_sys(e, -ENOSPC, op->to.parent.name, "too many hooks for a fake");
	*slot = at;
	return 0;
}

/* Is the name another link's in this zone? */
static bool taken(struct fake *f, const char *zone, const char *name, const struct node *but)
{
	for (unsigned i = 0; i < f->parent_count && !zone[0]; i++)
		if (!strcmp(f->parents[i].name, name))
			return true;
	for (struct fake_node *i = f->nodes; i; i = i->next)
		if (i->node.link && &i->node != but && !strcmp(i->node.port.zone, zone) &&
		    !strcmp(i->node.port.name, name))
			return true;
	return false;
}

/* What the kernel would not do, once it was told of zones. */
static int refuse(struct fake *f, const struct op *op, const struct node *n, struct err *e)
{
	const struct port *p = &op->to.port;

	if (!f->zoned || op->on != ON_LINK ||
	    (op->kind != OP_LINK_ADD && op->kind != OP_LINK_MOVE && op->kind != OP_LINK_RENAME))
		return 0;
	if (!has_zone(f, p->zone))
		return err_sys(e, -ENOENT, p->zone, "no such zone");
	if (taken(f, p->zone, p->name, n))
		return err_user(e, -EEXIST, p->name, "there is a link of that name");
	return 0;
}

static int fake_apply(struct kernel *k, struct op *op, struct err *e)
{
	struct fake *f = fake_of(k);
	struct node *n;
	int r;

	if (++f->calls == f->fail_at)
		return err_sys(e, -EIO, op_port(&op->to, op->on)->name, "made to fail at %s",
			       op_name(op->kind));
	if (op->kind != OP_DRAIN)
		k->acts++;
	if (op->kind == OP_HOOK_ADD || op->kind == OP_HOOK_DEL)
		return apply_hook(f, op, e);
	if (op->kind == OP_LINK_SWEEP) {
		for (struct fake_node *i = f->nodes; i; i = i->next)
			op_effect(&(struct op){.kind = op->kind, .to.n = i->node.n}, &i->node);
		return 0;
	}
	n = find_or_add(f, &op->to);
	if (!n)
		return err_nomem(e);
	r = refuse(f, op, n, e);
	if (r < 0)
		return r;
	op_effect(op, n);
	give_ifindex(f, op, n);
	if (op->kind == OP_FLOWS_SET && op->to.flow_set &&
	    change_flows(f_node(n), &f_node(n)->flows, op->to.flow_set) < 0)
		return err_nomem(e);
	n->flow_set = NULL;
	return 0;
}

/* A node's link as the system would list it. */
static struct sys_link node_sys(const struct fake *f, const struct node *n)
{
	struct sys_link l;

	/* Whole, since links are compared by their bytes. */
	memset(&l, 0, sizeof(l));
	l.ifindex = n->port.ifindex;
	l.mtu = n->mtu;
	l.mac = n->mac;
	l.has_mac = true;
	l.type = 1;
	l.lower = n->parent.ifindex;
	l.group = GROUP_LIVE;
	l.flags = n->up ? 1 : 0;
	memcpy(l.name, n->port.name, sizeof(l.name));
	memcpy(l.kind, n->kind, sizeof(l.kind));
	if (n->marked && f->uuid[0])
		snprintf(l.alias, sizeof(l.alias), "vnicd:%s:%u", f->uuid, n->n);
	return l;
}

static int fake_links(struct kernel *k, int (*cb)(const struct sys_link *l, void *arg), void *arg,
		      struct err *e)
{
	struct fake *f = fake_of(k);
	int r = 0;

	(void)e;
	for (unsigned i = 0; i < f->parent_count && !r; i++)
		r = cb(&f->parents[i], arg);
	for (struct fake_node *i = f->nodes; i && !r; i = i->next)
		if (i->node.link && !i->node.port.zone[0]) {
			struct sys_link l = node_sys(fake_of(k), &i->node);

			r = cb(&l, arg);
		}
	return r;
}

struct wanted_link {
	int ifindex;
	const char *name;
	struct sys_link *ret;
};

static int match_link(const struct sys_link *l, void *arg)
{
	struct wanted_link *w = arg;

	if (w->ifindex ? l->ifindex != w->ifindex : strcmp(l->name, w->name) != 0)
		return 0;
	*w->ret = *l;
	return 1;
}

static int fake_link(struct kernel *k, const char *zone, int ifindex, const char *name, struct sys_link *ret,
		     struct err *e)
{
	struct wanted_link w = {.ifindex = ifindex, .name = name, .ret = ret};

	if (!has_zone(fake_of(k), zone))
		return err_sys(e, -ENOENT, zone, "no such zone");
	if (!zone[0]) {
		if (fake_links(k, match_link, &w, e) == 1)
			return 0;
	} else {
		for (struct fake_node *i = fake_of(k)->nodes; i; i = i->next) {
			struct sys_link l = node_sys(fake_of(k), &i->node);

			if (i->node.link && !strcmp(i->node.port.zone, zone) && match_link(&l, &w))
				return 0;
		}
	}
	return err_user(e, -ENODEV, name ? name : "", "no such link");
}

static int fake_speed(struct kernel *k, int ifindex, uint64_t *bps, int *duplex)
{
	(void)k;
	(void)ifindex;
	*bps = UINT64_C(1000000000);
	*duplex = 1;
	return 0;
}

static int fake_stats(struct kernel *k, const char *zone, int ifindex, struct link_stats *ret, struct err *e)
{
	(void)k;
	(void)zone;
	(void)ifindex;
	(void)e;
	*ret = (struct link_stats){0};
	return 0;
}

static int fake_stats_all(struct kernel *k, int (*cb)(int ifindex, const struct link_stats *s, void *arg),
			  void *arg, struct err *e)
{
	struct link_stats zero = {0};
	struct fake *f = fake_of(k);
	int r = 0;

	(void)e;
	for (unsigned i = 0; i < f->parent_count && !r; i++)
		r = cb(f->parents[i].ifindex, &zero, arg);
	return r;
}

static int fake_drops(struct kernel *k, const struct node *n, struct drop_stats *ret, struct err *e)
{
	(void)k;
	(void)n;
	(void)e;
	*ret = (struct drop_stats){0};
	return 0;
}

static int fake_shares_subnet(struct kernel *k, int ifindex, int parent_ifindex, bool *ret, struct err *e)
{
	(void)k;
	(void)ifindex;
	(void)parent_ifindex;
	(void)e;
	*ret = false;
	return 0;
}

static int fake_marked(struct kernel *k, const char *const *zones,
		       int (*cb)(const struct port *port, uint32_t n, enum link_class class, void *arg),
		       void *arg, struct err *e)
{
	int r = 0;

	(void)zones;
	(void)e;
	for (struct fake_node *i = fake_of(k)->nodes; i && !r; i = i->next) {
		if (i->node.link && i->node.marked)
			r = cb(&i->node.port, i->node.n, i->node.class, arg);
		if (i->node.ifb && !r)
			r = cb(&i->node.ifb_port, i->node.n, CLASS_IFB, arg);
	}
	return r;
}

static int fake_pins(struct kernel *k, int (*cb)(uint32_t n, int parent_ifindex, void *arg), void *arg,
		     struct err *e)
{
	struct fake *f = fake_of(k);
	int r = 0;

	(void)e;
	for (struct fake_node *i = f->nodes; i && !r; i = i->next)
		if (i->node.prog.present)
			r = cb(i->node.n, 0, arg);
	for (unsigned i = 0; i < HOOKS_MAX && !r; i++)
		if (f->hooks[i])
			r = cb(0, f->hooks[i], arg);
	return r;
}

static int fake_steers(struct kernel *k, int (*cb)(int parent_ifindex, struct mac mac, void *arg), void *arg,
		       struct err *e)
{
	int r = 0;

	(void)e;
	for (struct fake_node *i = fake_of(k)->nodes; i && !r; i = i->next)
		if (i->node.steer)
			r = cb(i->node.parent.ifindex, i->node.mac, arg);
	return r;
}

static int fake_isolated(struct kernel *k, int (*cb)(uint32_t n, void *arg), void *arg, struct err *e)
{
	int r = 0;

	(void)e;
	for (struct fake_node *i = fake_of(k)->nodes; i && !r; i = i->next)
		if (i->node.iso != ISO_OFF)
			r = cb(i->node.n, arg);
	return r;
}

static int fake_arp(struct kernel *k, int ifindex, struct arp *ret, struct err *e)
{
	(void)e;
	*ret = (struct arp){0};
	for (struct fake_node *i = fake_of(k)->nodes; i; i = i->next)
		if (i->node.link && i->node.port.ifindex == ifindex)
			*ret = i->node.arp;
	return 0;
}

/* Its links have no addresses. */
static int fake_iso(struct kernel *k, const struct node *n, bool up, struct iso_set *want,
		    struct iso_set *have, struct err *e)
{
	const struct node *now = find(fake_of(k), n->n);

	(void)e;
	isolate_set(NULL, 0, NULL, 0, up, want);
	*have = now && now->iso != ISO_OFF ? *want : (struct iso_set){0};
	return 0;
}

static int fake_means(struct kernel *k, struct means *ret, struct err *e)
{
	(void)k;
	(void)e;
	*ret = (struct means){.dummy = true, .fq_codel = true, .live_rename = true};
	return 0;
}

static void fake_free(struct kernel *k)
{
	struct fake *f = fake_of(k);

	while (f->nodes) {
		struct fake_node *next = f->nodes->next;

		flow_set_free(&f->nodes->flows);
		free(f->nodes);
		f->nodes = next;
	}
	free(f);
}

static const struct kernel_ops fake_ops = {
	.observe = fake_observe,
	.observe_hook = fake_observe_hook,
	.apply = fake_apply,
	.links = fake_links,
	.link = fake_link,
	.speed = fake_speed,
	.stats = fake_stats,
	.stats_all = fake_stats_all,
	.drops = fake_drops,
	.flow_change = fake_flow_change,
	.flow_counts = fake_flow_counts,
	.flow_odd = fake_flow_odd,
	.shares_subnet = fake_shares_subnet,
	.marked = fake_marked,
	.pins = fake_pins,
	.steers = fake_steers,
	.isolated = fake_isolated,
	.arp = fake_arp,
	.iso = fake_iso,
	.means = fake_means,
	.free = fake_free,
};

int kern_fake_new(struct kernel **ret)
{
	struct fake *f = calloc(1, sizeof(*f));

	if (!f)
		return -ENOMEM;
	f->kernel.ops = &fake_ops;
	f->next_ifindex = 100;
	*ret = &f->kernel;
	return 0;
}

void kern_fake_fail_at(struct kernel *k, unsigned call)
{
	fake_of(k)->calls = 0;
	fake_of(k)->fail_at = call;
}

int kern_fake_add_link(struct kernel *k, const struct sys_link *l)
{
	struct fake *f = fake_of(k);

	if (f->parent_count == PARENTS_MAX)
		return -ENOSPC;
	f->parents[f->parent_count++] = *l;
	return 0;
}

/* Others' doings. */

void kern_fake_uuid(struct kernel *k, const char *uuid)
{
	snprintf(fake_of(k)->uuid, sizeof(fake_of(k)->uuid), "%s", uuid);
}

struct node *kern_fake_node(struct kernel *k, uint32_t n)
{
	return find(fake_of(k), n);
}

struct sys_link *kern_fake_link(struct kernel *k, const char *name)
{
	struct fake *f = fake_of(k);

	for (unsigned i = 0; i < f->parent_count; i++)
		if (!strcmp(f->parents[i].name, name))
			return &f->parents[i];
	return NULL;
}

int kern_fake_new_ifindex(struct kernel *k)
{
	return ++fake_of(k)->next_ifindex;
}

static void lose_link(struct fake *f, struct node *n);

/* What is over a link goes with it. */
static void lose_above(struct fake *f, int ifindex)
{
	int *slot = hook_slot(f, ifindex);

	if (slot)
		*slot = 0;
	for (struct fake_node *i = f->nodes; i; i = i->next) {
		if (i->node.parent.ifindex != ifindex)
			continue;
		i->node.steer = false;
		if (i->node.link)
			lose_link(f, &i->node);
	}
}

static void lose_link(struct fake *f, struct node *n)
{
	int ifindex = n->port.ifindex;

	op_effect(&(struct op){.kind = OP_LINK_DEL, .on = ON_LINK, .to.n = n->n}, n);
	n->prog = (struct prog){0};
	if (n->class != CLASS_VNIC)
		lose_above(f, ifindex);
}

void kern_fake_lose(struct kernel *k, uint32_t n)
{
	struct node *node = find(fake_of(k), n);

	if (node && node->link)
		lose_link(fake_of(k), node);
}

void kern_fake_drop_link(struct kernel *k, const char *name)
{
	struct fake *f = fake_of(k);
	struct sys_link *l = kern_fake_link(k, name);
	int ifindex = l ? l->ifindex : 0;

	if (!l)
		return;
	*l = f->parents[--f->parent_count];
	lose_above(f, ifindex);
}

void kern_fake_zone(struct kernel *k, const char *zone, bool there)
{
	struct fake *f = fake_of(k);

	f->zoned = true;
	if (has_zone(f, zone) == there)
		return;
	for (unsigned i = 0; i < ZONES_MAX; i++)
		if (!strcmp(f->zones[i], there ? "" : zone)) {
			snprintf(f->zones[i], sizeof(f->zones[i]), "%s", there ? zone : "");
			break;
		}
	for (struct fake_node *i = f->nodes; i && !there; i = i->next)
		if (i->node.link && !strcmp(i->node.port.zone, zone))
			lose_link(f, &i->node);
}
