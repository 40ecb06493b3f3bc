/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The queue of links to look at, and the back-off against whoever keeps changing them. Changes nothing
 * itself. */
#include "vnicd/mend.h"

#include "lib/model/op.h"
#include "vnicd/log.h"
#include "vnicd/observe.h"
#include "vnicd/reconcile.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <utlist.h>

/* So long after the first notification of several: a parent that goes takes its VNICs along, and tells it
 * last. */
#define GATHER_US 10000
/*
 * A link that is moved is told of in its new namespace, but not where that has no number here: it is looked
 * for, later and later, and by the last of these times it should have been found.
 */
#define LOOK_US   5000
#define ARRIVE_US 500000

static void touched(struct daemon *d, struct vlink *v, bool foreign)
{
	*(foreign ? &v->foreign : &v->expected) = true;
	if (v->dirty)
		return;
	v->dirty = true;
	LL_APPEND2(d->dirty, v, dirty_next);
	if (d->dirty != v)
		return;
	sd_event_source_set_time_relative(d->mend, GATHER_US);
	sd_event_source_set_enabled(d->mend, SD_EVENT_ONESHOT);
}

static int on_wait_over(sd_event_source *source, uint64_t usec, void *arg)
{
	struct vlink *v = arg;
	struct daemon *d = v->owner;

	(void)source;
	(void)usec;
	v->repair_timer = sd_event_source_disable_unref(v->repair_timer);
	v->leaving = false;
	reconcile_link(d, v);
	return 0;
}

static int on_look(sd_event_source *source, uint64_t usec, void *arg);

static void look_for(struct daemon *d, struct vlink *v, uint64_t us)
{
	v->look_us = us;
	sd_event_add_time_relative(d->event, &v->repair_timer, CLOCK_MONOTONIC, us, 0, on_look, v);
}

static int on_look(sd_event_source *source, uint64_t usec, void *arg)
{
	struct vlink *v = arg;
	struct daemon *d = v->owner;

	if (v->look_us >= ARRIVE_US || observe_locate(d, v))
		return on_wait_over(source, usec, v);
	v->repair_timer = sd_event_source_disable_unref(v->repair_timer);
	look_for(d, v, 2 * v->look_us);
	return 0;
}

static void leaving(struct daemon *d, struct vlink *v)
{
	if (v->repair_timer)
		return;
	v->owner = d;
	v->leaving = true;
	look_for(d, v, LOOK_US);
}

static void give_up(struct vlink *v, const char *what)
{
	v->trouble = TROUBLE_OVERRIDDEN;
	snprintf(v->why, sizeof(v->why),
		 "others changed it %d times in 10 minutes (last: %s): 'vnicadm reapply %s' puts it right",
		 REPAIR_TIMES, what, v->s.name);
	log_warning(v->s.name, "%s", v->why);
}

static void wait_then_mend(struct daemon *d, struct vlink *v, uint64_t us, const char *what)
{
	log_info(v->s.name, "others changed it again (%s): to be put right in %llu s", what,
		 (unsigned long long)(us / 1000000));
	v->owner = d;
	if (sd_event_add_time_relative(d->event, &v->repair_timer, CLOCK_MONOTONIC, us, 0, on_wait_over, v) <
	    0)
		reconcile_link(d, v);
}

static uint64_t now_us(struct daemon *d)
{
	uint64_t us = 0;

	sd_event_now(d->event, CLOCK_MONOTONIC, &us);
	return us;
}

/* Others changed it: at once, later, or not any more. */
static void answer(struct daemon *d, struct vlink *v, const char *what)
{
	uint64_t us;

	if (v->repair_timer || v->trouble == TROUBLE_OVERRIDDEN)
		return;
	us = repair_next(&v->repair, now_us(d));
	if (us == REPAIR_NEVER) {
		give_up(v, what);
		return;
	}
	if (us) {
		wait_then_mend(d, v, us, what);
		return;
	}
	log_info(v->s.name, "others changed it (%s): put right", what);
	reconcile_link(d, v);
}

static bool was_moved(struct daemon *d, struct vlink *v)
{
	bool before = v->moved;
	char place[ZONE_MAX];

	memcpy(place, v->place, sizeof(place));
	return observe_locate(d, v) && (v->moved != before || strcmp(place, v->place) != 0);
}

static void look_at(struct daemon *d, struct vlink *v, bool foreign)
{
	bool zone_gone = false, rules = v->rules, differs;
	char what[80] = "";

	v->rules = false;

	/* A link that goes with its parent is told of first, while the parent is already out of the list. */
	if (foreign && v->below)
		observe_refresh(d, v->below->l.ifindex);
	/* Or it turned out to be over another one by now: it is looked at again, and nobody is to blame. */
	if (v->leaving || v->dirty)
		return;
	if (foreign && v->s.class == CLASS_VNIC)
		foreign = v->below && !was_moved(d, v);
	foreign = foreign && v->trouble != TROUBLE_LOST && v->trouble != TROUBLE_WAITING;
	differs = foreign && reconcile_differs(d, v, &zone_gone, what, sizeof(what));
	/* Routes go and come with addresses and with up and down: that is nobody's meddling. */
	if (differs && !rules && !strcmp(what, op_name(OP_ISO_SET)))
		foreign = false;
	if (!foreign || zone_gone)
		reconcile_link(d, v);
	else if (differs)
		answer(d, v, what);
	else
		reconcile_hook(d, v);
}

static size_t dirty(const struct daemon *d)
{
	const struct vlink *v;
	size_t n;

	LL_COUNT2(d->dirty, v, n, dirty_next);
	return n;
}

static int on_mend(sd_event_source *source, uint64_t usec, void *arg)
{
	struct daemon *d = arg;

	(void)source;
	(void)usec;
	observe_survey(d, dirty(d));
	while (d->dirty) {
		struct vlink *v = d->dirty;
		bool foreign = v->foreign && !v->expected;

		LL_DELETE2(d->dirty, v, dirty_next);
		v->dirty = v->foreign = v->expected = false;
		look_at(d, v, foreign);
	}
	observe_survey_end(d);
	return 0;
}

int mend_start(struct daemon *d, struct err *e)
{
	int r = sd_event_add_time_relative(d->event, &d->mend, CLOCK_MONOTONIC, GATHER_US, 1000, on_mend, d);

	if (r < 0)
		return err_sys(e, r, NULL, "cannot wait for work: %s", strerror(-r));
	sd_event_source_set_enabled(d->mend, SD_EVENT_OFF);
	d->touched = touched;
	d->leaving = leaving;
	d->speed_changed = reconcile_percent;
	return 0;
}

void mend_stop(struct daemon *d)
{
	d->mend = sd_event_source_disable_unref(d->mend);
}

int mend_now(struct daemon *d, struct vlink *v, struct err *e)
{
	v->repair = (struct repair){0};
	v->repair_timer = sd_event_source_disable_unref(v->repair_timer);
	v->trouble = TROUBLE_NONE;
	v->leaving = false;
	reconcile_link(d, v);
	if (v->trouble == TROUBLE_NONE)
		return 0;
	return err_user(e, -EAGAIN, v->s.name, "%s", v->why);
}
