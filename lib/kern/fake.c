/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The in-memory kernel for tests: nodes move on by the operations' own effects, and any apply can be made to
 * fail. Never touches a real one.
 */
#include "lib/kern/kern.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define PARENTS_MAX 16

struct fake_node {
	struct node node;
	struct fake_node *next;
};

struct fake {
	struct kernel kernel;
	struct fake_node *nodes;
	struct sys_link parents[PARENTS_MAX];
	bool hooks[PARENTS_MAX];
	unsigned parent_count;
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

static int fake_observe(struct kernel *k, const struct node *key, struct node *ret, struct err *e)
{
	struct node *n = find(fake_of(k), key->n);

	(void)e;
	*ret = n ? *n : *key;
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

static int parent_slot(struct fake *f, int ifindex)
{
	for (unsigned i = 0; i < f->parent_count; i++)
		if (f->parents[i].ifindex == ifindex)
			return (int)i;
	return -1;
}

static int fake_observe_hook(struct kernel *k, int parent_ifindex, bool *ret, struct err *e)
{
	int i = parent_slot(fake_of(k), parent_ifindex);

	(void)e;
	*ret = i >= 0 && fake_of(k)->hooks[i];
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

static int fake_apply(struct kernel *k, struct op *op, struct err *e)
{
	struct fake *f = fake_of(k);
	struct node *n;

	if (++f->calls == f->fail_at)
		return err_sys(e, -EIO, op_port(&op->to, op->on)->name, "made to fail at %s",
			       op_name(op->kind));
	if (op->kind != OP_DRAIN)
		k->acts++;
	if (op->kind == OP_HOOK_ADD || op->kind == OP_HOOK_DEL) {
		int i = parent_slot(f, op->to.parent.ifindex);

		if (i < 0)
			return err_sys(e, -ENODEV, op->to.parent.name, "no such link");
		f->hooks[i] = op->kind == OP_HOOK_ADD;
		return 0;
	}
	if (op->kind == OP_LINK_SWEEP) {
		for (struct fake_node *i = f->nodes; i; i = i->next)
			op_effect(&(struct op){.kind = op->kind, .to.n = i->node.n}, &i->node);
		return 0;
	}
	n = find_or_add(f, &op->to);
	if (!n)
		return err_nomem(e);
	op_effect(op, n);
	give_ifindex(f, op, n);
	return 0;
}

/* A node's link as the system would list it. */
static struct sys_link node_sys(const struct node *n)
{
	struct sys_link l = {.ifindex = n->port.ifindex,
			     .mtu = n->mtu,
			     .mac = n->mac,
			     .has_mac = true,
			     .type = 1,
			     .lower = n->parent.ifindex,
			     .group = GROUP_LIVE,
			     .flags = n->up ? 1 : 0};

	memcpy(l.name, n->port.name, sizeof(l.name));
	memcpy(l.kind, n->kind, sizeof(l.kind));
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
			struct sys_link l = node_sys(&i->node);

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

	if (!zone[0]) {
		if (fake_links(k, match_link, &w, e) == 1)
			return 0;
	} else {
		for (struct fake_node *i = fake_of(k)->nodes; i; i = i->next) {
			struct sys_link l = node_sys(&i->node);

			if (i->node.link && !strcmp(i->node.port.zone, zone) && match_link(&l, &w))
				return 0;
		}
	}
	return err_user(e, -ENODEV, name, "no such link");
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
		if (i->node.link)
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
	for (unsigned i = 0; i < f->parent_count && !r; i++)
		if (f->hooks[i])
			r = cb(0, f->parents[i].ifindex, arg);
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

static void fake_free(struct kernel *k)
{
	struct fake *f = fake_of(k);

	while (f->nodes) {
		struct fake_node *next = f->nodes->next;

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
	.shares_subnet = fake_shares_subnet,
	.marked = fake_marked,
	.pins = fake_pins,
	.steers = fake_steers,
	.isolated = fake_isolated,
	.arp = fake_arp,
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
