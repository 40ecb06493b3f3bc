/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Brings links that are in the world already in line with the kernel, at start and on events: adopts, mends
 * and makes them, or says what their trouble is. Saves nothing.
 */
#include "vnicd/reconcile.h"

#include "vnicd/apply.h"
#include "vnicd/flowshow.h"
#include "vnicd/foreign.h"
#include "vnicd/isolate.h"
#include "vnicd/log.h"
#include "vnicd/observe.h"
#include "vnicd/parent.h"
#include "vnicd/plan.h"
#include "vnicd/txn.h"
#include "vnicd/want.h"

#include <stdio.h>
#include <string.h>
#include <utlist.h>

/* At start and on events: links that are in the world already. */

static const char *const trouble_words[] = {
	[TROUBLE_LOST] = "is lost", [TROUBLE_WAITING] = "waits", [TROUBLE_OVERRIDDEN] = "is overridden"};

static void set_trouble(struct vlink *v, enum trouble trouble, const char *why)
{
	if (v->trouble != trouble || strcmp(v->why, why) != 0)
		log_warning(v->s.name, "%s: %s", trouble_words[trouble], why);
	v->trouble = trouble;
	snprintf(v->why, sizeof(v->why), "%s", why);
}

/* A link of others is there, and not taken for something that carries the traffic of another. */
static enum trouble missing_foreign(const struct daemon *d, const struct vlink *v, char *why, size_t size)
{
	struct err e = {0};

	if (!v->below)
		snprintf(why, size, "it is not there");
	else if (foreign_check(d, &v->below->l, &e) < 0)
		snprintf(why, size, "%.180s", e.text);
	else
		return TROUBLE_NONE;
	return TROUBLE_WAITING;
}

/* Is what v needs there? Else says what is missing. */
static enum trouble missing(const struct daemon *d, const struct vlink *v, const struct item *it, char *why,
			    size_t size)
{
	const struct slink *parent = vlink_parent(d, v);
	char over[IFNAMSIZ];
	struct err e = {0};

	if (v->s.class == CLASS_FOREIGN)
		return missing_foreign(d, v, why, size);
	if (v->s.class != CLASS_ETHERSTUB && !parent) {
		snprintf(why, size, "its parent %s is not there", vlink_over(d, v, over));
		return TROUBLE_WAITING;
	}
	/* It was taken for something else before it came back. */
	if (parent && !it->have.link && parent_check(d, &parent->l, &e) < 0) {
		snprintf(why, size, "its parent %.180s", e.text);
		return TROUBLE_WAITING;
	}
	if (it->zone_gone) {
		snprintf(why, size, "zone %s is gone", vlink_zone(v));
		return TROUBLE_LOST;
	}
	return TROUBLE_NONE;
}

static void clear_hook(struct txn *t, int parent)
{
	struct node n = {.n = t->items[0].c.old->s.n, .class = CLASS_VNIC, .parent.ifindex = parent};

	txn_emit_hook(t, OP_HOOK_DEL, &n);
}

/* What is left of a link that cannot be there now would stand in its way when it comes back. */
static int take_away(struct txn *t, const struct vlink *v, struct err *e)
{
	struct item *it = &t->items[0];
	struct slink *parent = v->hook ? slink_find(t->d, v->hook) : NULL;

	it->want = (struct node){.n = v->s.n, .class = v->s.class};
	it->have.prog.present |= class_shaped(v->s.class);
	it->have.steer = v->hook != 0;
	it->have.parent.ifindex = v->hook;
	if (plan_node(&it->want, &it->have, &t->ops) < 0)
		return err_nomem(e);
	if (v->hook && (!parent || parent->steered == 1))
		clear_hook(t, v->hook);
	return apply_ops(t->d->kernel, &t->ops, e);
}

static void set_aside(struct txn *t, struct vlink *v)
{
	struct item *it = &t->items[0];
	struct err e = {0};
	char text[600];

	if (take_away(t, v, &e) < 0)
		log_warning(v->s.name, "cannot be set aside: %s", err_str(&e, text, sizeof(text)));
	txn_close_counters(v->counters, &it->want, &it->want);
	flows_close_counters(v, true, true);
	txn_note_hook(t->d, v, &it->want);
	observe_place(t->d, v, 0);
}

/* A link whose zone or parent is gone and that was moved: when it is made again, then where it belongs. */
static void go_home(struct vlink *v)
{
	v->moved = false;
	v->place[0] = '\0';
}

static int make_right(struct txn *t, struct vlink *v, struct err *e)
{
	struct item *it = &t->items[0];
	int r = txn_align(t, e);

	if (r < 0)
		return r;
	txn_close_counters(v->counters, &it->have, &it->want);
	if (!it->have.link) {
		observe_announce(t->d, v);
		flows_close_counters(v, false, true);
	}
	v->trouble = TROUBLE_NONE;
	v->raise = false;
	v->half_name[0] = '\0';
	txn_note_hook(t->d, v, &it->want);
	observe_place(t->d, v, it->ifindex);
	txn_refresh(t);
	observe_subnets(t->d, v);
	return 0;
}

static void want_it(struct daemon *d, const struct vlink *v, struct item *it)
{
	want_node(d, v, &it->have, &it->want);
	if (v->half_name[0] && !strcmp(it->have.port.name, v->half_name))
		memcpy(it->want.port.name, v->s.name, sizeof(v->s.name));
	if (v->raise)
		it->want.up = !v->s.down;
}

static bool is_another(const struct vlink *v)
{
	return v->s.class == CLASS_FOREIGN && v->below && !mac_equal(v->s.mac, v->below->l.mac);
}

/* zone: where else it may be, or NULL. */
static void in_line(struct daemon *d, struct vlink *v, const char *zone, bool raise)
{
	struct change c = {.old = v, .new = v};
	char why[sizeof(v->why)], text[600];
	enum trouble trouble;
	struct err e = {0};
	struct txn t;

	if (txn_open(&t, d, &c, 1, &e) < 0)
		return;
	txn_read_speed(d, v);
	if (txn_look(&t, zone, &e) < 0) {
		set_trouble(v, TROUBLE_LOST, err_str(&e, text, sizeof(text)));
		txn_done(&t);
		return;
	}
	trouble = missing(d, v, &t.items[0], why, sizeof(why));
	if (trouble != TROUBLE_NONE && v->moved) {
		go_home(v);
		txn_done(&t);
		in_line(d, v, zone, raise);
		return;
	}
	if (trouble == TROUBLE_NONE && v->hook && v->below && v->hook != v->below->l.ifindex &&
	    !t.items[0].have.link) {
		/* Its parent is another one now: what it had through the old one goes first. */
		set_aside(&t, v);
		txn_done(&t);
		in_line(d, v, zone, raise);
		return;
	}
	if (trouble == TROUBLE_NONE && is_another(v)) {
		/* What was for its old MAC address goes first. */
		set_aside(&t, v);
		txn_done(&t);
		vlink_set_mac(d, v, v->below->l.mac);
		in_line(d, v, zone, raise);
		return;
	}
	v->raise |= raise;
	want_it(d, v, &t.items[0]);
	if (trouble != TROUBLE_NONE) {
		set_aside(&t, v);
		set_trouble(v, trouble, why);
	} else if (make_right(&t, v, &e) < 0) {
		set_trouble(v, TROUBLE_LOST, err_str(&e, text, sizeof(text)));
	}
	txn_done(&t);
	if (!d->starting)
		isolate_settle(d);
}

void reconcile_unmake(struct daemon *d, struct vlink *v)
{
	struct change c = {.old = v, .new = v};
	struct err e = {0};
	char text[600];
	struct txn t;

	if (txn_open(&t, d, &c, 1, &e) < 0)
		return;
	if (txn_look(&t, NULL, &e) < 0)
		log_warning(v->s.name, "cannot be looked for: %s", err_str(&e, text, sizeof(text)));
	else
		set_aside(&t, v);
	txn_done(&t);
}

void reconcile_link(struct daemon *d, struct vlink *v)
{
	in_line(d, v, NULL, false);
}

void reconcile_raise(struct daemon *d, struct vlink *v)
{
	in_line(d, v, NULL, true);
}

void reconcile_moved(struct daemon *d, struct vlink *v, const char *zone)
{
	in_line(d, v, zone, true);
}

static enum trouble preview(struct txn *t, struct vlink *v, char *why, size_t size)
{
	struct item *it = &t->items[0];
	struct err e = {0};
	char text[600];
	enum trouble trouble;
	int r = txn_look(t, NULL, &e);

	txn_read_speed(t->d, v);
	trouble = r < 0 ? TROUBLE_LOST : missing(t->d, v, it, why, size);
	if (trouble != TROUBLE_NONE && v->moved)
		return trouble;
	if (r == 0 && trouble != TROUBLE_NONE) {
		r = take_away(t, v, &e);
	} else if (r == 0) {
		want_it(t->d, v, it);
		r = txn_align(t, &e);
	}
	if (r == 0)
		return trouble;
	snprintf(why, size, "%s", err_str(&e, text, sizeof(text)));
	return TROUBLE_LOST;
}

enum trouble reconcile_preview(struct daemon *d, struct vlink *v, char *why, size_t size)
{
	struct change c = {.old = v, .new = v};
	bool moved = v->moved;
	enum trouble trouble = TROUBLE_LOST;
	struct err e = {0};
	struct txn t;

	why[0] = '\0';
	if (txn_open(&t, d, &c, 1, &e) < 0)
		return TROUBLE_LOST;
	trouble = preview(&t, v, why, size);
	txn_done(&t);
	/* Where it was moved to it cannot be: it would go home, see in_line(). */
	if (trouble != TROUBLE_NONE && moved) {
		v->moved = false;
		trouble = reconcile_preview(d, v, why, size);
		v->moved = true;
	}
	return trouble;
}

bool reconcile_differs(struct daemon *d, struct vlink *v, bool *zone_gone, char *what, size_t size)
{
	struct change c = {.old = v, .new = v};
	struct err e = {0};
	struct txn t;
	bool differs = false;

	if (txn_open(&t, d, &c, 1, &e) < 0)
		return false;
	if (txn_look(&t, NULL, &e) == 0) {
		want_node(d, v, &t.items[0].have, &t.items[0].want);
		if (plan_node(&t.items[0].want, &t.items[0].have, &t.ops) == 0)
			differs = t.ops.count > 0;
		*zone_gone = t.items[0].zone_gone;
		if (differs)
			snprintf(what, size, "%s", op_name(t.ops.ops[0].kind));
	}
	txn_done(&t);
	return differs;
}

/* The hook of v's parent alone. */
void reconcile_hook(struct daemon *d, struct vlink *v)
{
	struct change c = {.old = v, .new = v};
	struct err e = {0};
	struct txn t;

	if (!v->hook || txn_open(&t, d, &c, 1, &e) < 0)
		return;
	t.items[0].want =
		(struct node){.n = v->s.n, .class = v->s.class, .steer = true, .parent.ifindex = v->hook};
	if (txn_plan_hooks(&t, true, &e) == 0)
		apply_ops(d->kernel, &t.ops, &e);
	txn_done(&t);
}

void reconcile_orphan(struct daemon *d, const struct node *like)
{
	struct vlink v = {.s = {.n = like->n, .class = like->class, .mac = like->mac}};
	struct op_list ops = {0};
	struct node have, want = {.n = like->n, .class = like->class};
	struct err e = {0};
	char text[600];
	bool gone;
	int r;

	memcpy(v.s.name, like->port.name, sizeof(v.s.name));
	log_info(like->port.name, "removing %s (number %u), left behind by an interrupted command",
		 like->port.name, like->n);
	r = observe_vlink(d, &v, like->port.zone, &have, &gone, &e);
	/* Where its hooks are only their pins know. */
	have.prog.present |= r == 0 && like->class == CLASS_FOREIGN;
	if (r < 0 || plan_node(&want, &have, &ops) < 0 || apply_ops(d->kernel, &ops, &e) < 0)
		log_error(like->port.name, "cannot remove %s: %s", like->port.name,
			  err_str(&e, text, sizeof(text)));
	op_list_free(&ops);
}

void reconcile_percent(struct daemon *d, struct slink *parent)
{
	uint64_t speed = observe_speed(d, parent->l.ifindex, NULL);
	struct vlink *v, *next;

	if (speed == parent->speed || !speed)
		return;
	DL_FOREACH_SAFE(parent->above, v, next)
	if (want_percent(v) && v->trouble == TROUBLE_NONE)
		reconcile_link(d, v);
}
