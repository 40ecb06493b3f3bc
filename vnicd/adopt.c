/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Start-up: intents, orphans, then every link in the order of its number, so that an etherstub comes before
 * the VNICs on it. With nothing changed not one modifying act happens.
 */
#include "vnicd/adopt.h"

#include "vnicd/apply.h"
#include "vnicd/flowwant.h"
#include "vnicd/isolate.h"
#include "vnicd/log.h"
#include "vnicd/observe.h"
#include "vnicd/place.h"
#include "vnicd/reconcile.h"
#include "vnicd/want.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <utarray.h>

struct intent {
	uint32_t n;
	char kind[16];
	char name[IFNAMSIZ];
	char zone[ZONE_MAX];
	struct mac mac;
};

/* Where a link was when the last daemon ended. */
struct noted {
	uint32_t n;
	struct port port;
	UT_hash_handle hh;
};

/* A link somewhere else that carries the alias of n. */
struct claim {
	uint32_t n;
	struct port port;
};

struct adopt {
	struct daemon *d;
	struct noted *noted; /* by number */
	UT_array *claims;    /* struct claim */
	UT_array *intents;   /* struct intent */
	UT_array *zones;     /* char *: every zone that something of ours may be in */
	UT_array *orphans;   /* struct node */
	UT_array *pins;      /* struct node */
	bool new_world;
};

static const UT_icd intent_icd = {.sz = sizeof(struct intent)};
static const UT_icd claim_icd = {.sz = sizeof(struct claim)};
static const UT_icd node_icd = {.sz = sizeof(struct node)};

static void add_zone(struct adopt *a, const char *zone)
{
	char **z = NULL;

	if (!zone[0])
		return;
	while ((z = (char **)utarray_next(a->zones, z)))
		if (!strcmp(*z, zone))
			return;
	utarray_push_back(a->zones, &zone);
}

static int add_intent(uint32_t n, const char *kind, const char *name, struct mac mac, const char *zone,
		      void *arg)
{
	struct adopt *a = arg;
	struct intent i = {.n = n, .mac = mac};

	snprintf(i.kind, sizeof(i.kind), "%s", kind);
	snprintf(i.name, sizeof(i.name), "%s", name);
	snprintf(i.zone, sizeof(i.zone), "%s", zone);
	utarray_push_back(a->intents, &i);
	add_zone(a, zone);
	return 0;
}

static struct intent *intent_of(struct adopt *a, uint32_t n, const char *kind)
{
	struct intent *i = NULL;

	while ((i = (struct intent *)utarray_next(a->intents, i)))
		if (i->n == n && (!kind || !strcmp(i->kind, kind)))
			return i;
	return NULL;
}

/* Somebody may have moved it while no daemon was there to hear of it. Its own zone is looked into before
 * others. */
static void seen_in(struct daemon *d, struct vlink *v, const struct port *port, enum link_class class)
{
	/* What others took of a link's that is not ours is of no use where it is. */
	if (class != v->s.class || v->seen || (class == CLASS_FOREIGN && port->zone[0]))
		return;
	v->seen = true;
	if (class != CLASS_VNIC) {
		observe_place(d, v, port->ifindex);
		observe_below(d, v);
		return;
	}
	v->moved = strcmp(port->zone, prop_zone(&v->props)) != 0;
	snprintf(v->place, sizeof(v->place), "%s", port->zone);
	observe_place(d, v, port->ifindex);
	observe_below(d, v);
}

static void seen_robbed(struct daemon *d, struct vlink *v, const struct port *port)
{
	seen_in(d, v, port, v->s.class);
}

static int add_noted(uint32_t n, int ifindex, const char *zone, void *arg)
{
	struct adopt *a = arg;
	struct noted *p;

	HASH_FIND(hh, a->noted, &n, sizeof(n), p);
	if (p)
		return 0;
	p = calloc(1, sizeof(*p));
	if (!p)
		return -ENOMEM;
	p->n = n;
	p->port.ifindex = ifindex;
	snprintf(p->port.zone, sizeof(p->port.zone), "%s", zone);
	HASH_ADD(hh, a->noted, n, sizeof(p->n), p);
	return 0;
}

/*
 * Who is root in a zone can give any alias to any link there: a VNIC is first looked for where it was, and
 * only one that is not there is what has its alias elsewhere.
 */
static bool is_claim(struct adopt *a, const struct port *port, uint32_t n, enum link_class class)
{
	struct noted *p;

	HASH_FIND(hh, a->noted, &n, sizeof(n), p);
	return p && class == CLASS_VNIC && port->zone[0] &&
	       (p->port.ifindex != port->ifindex || strcmp(p->port.zone, port->zone) != 0);
}

static void add_claim(struct adopt *a, const struct port *port, uint32_t n)
{
	struct claim c = {.n = n, .port = *port};

	utarray_push_back(a->claims, &c);
}

static void settle_claims(struct adopt *a)
{
	struct claim *c = NULL;

	while ((c = (struct claim *)utarray_next(a->claims, c))) {
		struct vlink *v = vlink_by_n(a->d, c->n);

		if (v && !v->seen && !observe_at(a->d, &c->port))
			seen_in(a->d, v, &c->port, CLASS_VNIC);
	}
}

/* A link with our mark belongs to a row, or to a creation or deletion that did not come to its end. */
static int on_marked(const struct port *port, uint32_t n, enum link_class class, void *arg)
{
	struct adopt *a = arg;
	struct node o = {.n = n, .class = class == CLASS_IFB ? CLASS_VNIC : class, .port = *port};
	struct intent *i = intent_of(a, n, NULL);

	/* Without a number only an intent can tell whose it is: see unmarked(). */
	if (!n)
		return 0;
	if (vlink_by_n(a->d, n)) {
		if (!a->d->dry && is_claim(a, port, n, class))
			add_claim(a, port, n);
		else if (!a->d->dry)
			seen_in(a->d, vlink_by_n(a->d, n), port, class);
		return 0;
	}
	if (class == CLASS_IFB && i) {
		memcpy(o.port.name, i->name, sizeof(o.port.name));
		memcpy(o.port.zone, i->zone, sizeof(o.port.zone));
	}
	if (i)
		o.mac = i->mac;
	utarray_push_back(a->orphans, &o);
	return 0;
}

/*
 * A creation killed between making the link and marking it: our group, the intent's name and MAC; an
 * etherstub may have its MAC from the kernel.
 */
static void unmarked(struct adopt *a, const struct intent *i, const char *name)
{
	struct node o = {.n = i->n, .mac = i->mac};
	struct sys_link l;

	if (observe_find(a->d, i->zone, name, &l, NULL) < 0 || l.group != GROUP_LIVE || l.alias[0])
		return;
	o.class = !strcmp(l.kind, "ifb")       ? CLASS_FOREIGN
		  : !strcmp(l.kind, "macvlan") ? CLASS_VNIC
		  : !strcmp(l.kind, "vlan")    ? CLASS_VLAN
					       : CLASS_ETHERSTUB;
	if (o.class == CLASS_VNIC && !mac_equal(l.mac, i->mac))
		return;
	memcpy(o.port.name, l.name, sizeof(o.port.name));
	memcpy(o.port.zone, i->zone, sizeof(o.port.zone));
	o.port.ifindex = l.ifindex;
	utarray_push_back(a->orphans, &o);
}

static int on_pin(uint32_t n, int parent, void *arg)
{
	struct adopt *a = arg;
	struct node o = {.n = n, .class = CLASS_VNIC, .parent = {.ifindex = parent}};

	utarray_push_back(a->pins, &o);
	return 0;
}

static void add_all_zones(struct adopt *a)
{
	UT_array *all;
	char **z = NULL;

	utarray_new(all, &ut_str_icd);
	observe_zones(a->d, all);
	while ((z = (char **)utarray_next(all, z)))
		add_zone(a, *z);
	utarray_free(all);
}

static int gather(struct adopt *a, struct err *e)
{
	struct vlink *v, *next;
	struct intent *i = NULL;
	char *none = NULL, interim[IFNAMSIZ];
	int r = store_intents(a->d->store, add_intent, a, e);

	r = r < 0 ? r : store_places(a->d->store, a->d->world, add_noted, a, e);
	if (r < 0)
		return r;
	HASH_ITER (hh_n, a->d->by_n, v, next)
		add_zone(a, prop_zone(&v->props));
	add_all_zones(a);
	utarray_push_back(a->zones, &none);
	r = observe_marked(a->d, (const char *const *)utarray_front(a->zones), on_marked, a, e);
	while (r == 0 && (i = (struct intent *)utarray_next(a->intents, i)))
		if (!strcmp(i->kind, "create") && !vlink_by_n(a->d, i->n)) {
			node_interim_name(i->n, interim);
			unmarked(a, i, i->name);
			unmarked(a, i, interim);
			node_out_name(i->n, interim);
			unmarked(a, i, interim);
		}
	return r < 0 ? r : observe_pins(a->d, on_pin, a, e);
}

static void sweep(struct adopt *a)
{
	struct node *o = NULL;

	while ((o = (struct node *)utarray_next(a->orphans, o)))
		reconcile_orphan(a->d, o);
}

static void remove_leftover(struct adopt *a, enum op_kind kind, enum op_on on, const struct node *n)
{
	struct op op = {.kind = kind, .on = on, .from = *n, .to = *n};
	struct err e = {0};
	char text[600];

	if (apply_op(a->d->kernel, &op, &e) < 0)
		log_warning(NULL, "cannot remove what was left behind: %s", err_str(&e, text, sizeof(text)));
}

/* A VNIC's programs may be there in part only, which is seen as nothing there: its caps and flows tell. */
static bool has_programs(const struct vlink *v)
{
	return v->flows || v->s.class == CLASS_FOREIGN || prop_capped(&v->props);
}

static void sweep_programs(struct adopt *a, struct node *o)
{
	struct vlink *v = vlink_by_n(a->d, o->n);

	if (v && has_programs(v))
		return;
	if (v) {
		snprintf(o->port.zone, sizeof(o->port.zone), "%s", vlink_zone(v));
		memcpy(o->port.name, v->s.name, sizeof(o->port.name));
	}
	remove_leftover(a, OP_PROG_DEL, ON_LINK, o);
}

/* Hooks and pins that nobody needs any more, once every link is in line. */
static void sweep_pins(struct adopt *a)
{
	struct node *o = NULL;

	while ((o = (struct node *)utarray_next(a->pins, o))) {
		struct slink *s = o->n ? NULL : slink_find(a->d, o->parent.ifindex);

		if (o->n)
			sweep_programs(a, o);
		else if (!s || !s->steered)
			remove_leftover(a, OP_HOOK_DEL, ON_PARENT, o);
	}
}

static int sweep_steer(int parent, struct mac mac, void *arg)
{
	struct adopt *a = arg;
	struct node o = {.class = CLASS_VNIC, .parent.ifindex = parent, .mac = mac};
	struct slink *below = slink_find(a->d, parent);
	struct vlink *v = below ? vlink_by_mac(a->d, below, mac) : NULL;

	if (v && v->hook == parent)
		return 0;
	remove_leftover(a, OP_STEER_DEL, ON_IFB, &o);
	return 0;
}

/* Frames are led to its ifb for its own cap, or for classes of its flows. */
static bool is_steered(const struct daemon *d, const struct vlink *v)
{
	struct eff_cap cap = want_cap(v, false, 0);
	struct node n;

	if (cap.rate || cap.unknown || !v->flows)
		return cap.rate || cap.unknown;
	want_flow_node(d, v, &n);
	return n.steer;
}

/* Which parents' hooks will be needed, before the first link asks whether its parent's can go. */
static void count_hooks(struct adopt *a)
{
	struct vlink *v, *next;

	HASH_ITER (hh_n, a->d->by_n, v, next) {
		struct slink *parent = class_shaped(v->s.class) ? vlink_parent(a->d, v) : NULL;

		if (!parent || !is_steered(a->d, v))
			continue;
		v->hook = parent->l.ifindex;
		parent->steered++;
	}
}

/* A deletion or move that was not saved did not happen: the link is made whole again. */
static void adopt_link(struct adopt *a, struct vlink *v)
{
	struct intent *moved = intent_of(a, v->s.n, "move"), *renamed = intent_of(a, v->s.n, "rename");

	if (moved || renamed)
		memcpy(v->half_name, moved ? moved->name : renamed->name, sizeof(v->half_name));
	if (moved) {
		/* We were moving it: it goes back to where it is stored to be. */
		v->moved = false;
		reconcile_moved(a->d, v, moved->zone);
	} else if (intent_of(a, v->s.n, "delete")) {
		reconcile_moved(a->d, v, vlink_zone(v));
	} else {
		/* Some kernels rename only what is down, and it may still be. */
		(a->new_world || renamed ? reconcile_raise : reconcile_link)(a->d, v);
	}
}

static bool half_done(struct adopt *a, uint32_t n)
{
	return !a->new_world && (intent_of(a, n, "move") || intent_of(a, n, "rename"));
}

/* Names may have gone from one link to the next: they go back last first, so that each finds its own free. */
static void adopt_half_done(struct adopt *a)
{
	struct intent *i = NULL;

	while ((i = (struct intent *)utarray_prev(a->intents, i))) {
		struct vlink *v = half_done(a, i->n) ? vlink_by_n(a->d, i->n) : NULL;

		if (v)
			adopt_link(a, v);
	}
}

static int by_number(struct vlink *x, struct vlink *y)
{
	return x->s.n < y->s.n ? -1 : x->s.n > y->s.n;
}

static int adopt_in_order(struct adopt *a, struct err *e)
{
	struct daemon *d = a->d;
	struct vlink *v, *next;
	char before[sizeof(d->world)];
	int r = store_world_get(d->store, before, e);

	if (r < 0)
		return r;
	a->new_world = strcmp(before, d->world) != 0;
	adopt_half_done(a);
	HASH_SRT(hh_n, d->by_n, by_number);
	HASH_ITER (hh_n, d->by_n, v, next)
		if (!half_done(a, v->s.n))
			adopt_link(a, v);
	if (a->new_world)
		r = store_world_put(d->store, d->world, e);
	if (r == 0 && utarray_len(a->intents))
		r = store_intents_clear(d->store, e);
	return r;
}

static void begin(struct adopt *a, struct daemon *d)
{
	*a = (struct adopt){.d = d};
	utarray_new(a->intents, &intent_icd);
	utarray_new(a->zones, &ut_str_icd);
	utarray_new(a->claims, &claim_icd);
	utarray_new(a->orphans, &node_icd);
	utarray_new(a->pins, &node_icd);
}

static void end(struct adopt *a)
{
	struct noted *p, *next;

	HASH_ITER (hh, a->noted, p, next) {
		HASH_DEL(a->noted, p);
		free(p);
	}
	utarray_free(a->claims);
	utarray_free(a->intents);
	utarray_free(a->zones);
	utarray_free(a->orphans);
	utarray_free(a->pins);
}

/* What no link needs any more. */
static int sweep_rest(struct adopt *a, struct err *e)
{
	sweep_pins(a);
	isolate_sweep(a->d);
	return observe_steers(a->d, sweep_steer, a, e);
}

int adopt_all(struct daemon *d, struct err *e)
{
	struct adopt a;
	unsigned long acts = apply_acts(d->kernel);
	int r;

	d->starting = true;
	begin(&a, d);
	observe_survey(d, HASH_CNT(hh_n, d->by_n));
	r = gather(&a, e);
	if (r == 0)
		r = place_robbed(d, seen_robbed, e);
	if (r == 0) {
		settle_claims(&a);
		sweep(&a);
		count_hooks(&a);
		r = adopt_in_order(&a, e);
	}
	d->starting = false;
	if (r == 0)
		r = sweep_rest(&a, e);
	observe_survey_end(d);
	log_info(NULL, "adopted %u links with %lu modifying acts", HASH_CNT(hh_n, d->by_n),
		 apply_acts(d->kernel) - acts);
	end(&a);
	return r;
}

int adopt_sweep(struct daemon *d, struct err *e)
{
	struct adopt a;
	int r;

	begin(&a, d);
	r = gather(&a, e);
	if (r == 0) {
		sweep(&a);
		r = sweep_rest(&a, e);
	}
	end(&a);
	return r;
}
