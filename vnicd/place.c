/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Notes in the store where links were seen last, and finds those again that have nothing else. Changes
 * nothing in the kernel. */
#include "vnicd/place.h"

#include "vnicd/log.h"
#include "vnicd/observe.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <utarray.h>

/* Several links that are seen one after the other are noted together. */
#define KEEP_US 1000000

struct places {
	UT_array *unkept; /* uint32_t: by number, as a link may be gone by then */
	sd_event_source *timer;
};

static const UT_icd number_icd = {.sz = sizeof(uint32_t)};

/* One that is nowhere has nothing to be noted: its old number is no other link's in this boot. */
static void keep_one(struct daemon *d, uint32_t n)
{
	struct vlink *v = vlink_by_n(d, n);

	if (!v || !v->unkept)
		return;
	v->unkept = false;
	if (v->at.ifindex)
		store_place_put(d->store, n, d->world, v->at.ifindex, vlink_zone(v), NULL);
}

static void keep(struct daemon *d)
{
	uint32_t *n = NULL;

	if (!utarray_len(d->places->unkept) || store_begin(d->store, NULL) < 0)
		return;
	while ((n = (uint32_t *)utarray_next(d->places->unkept, n)))
		keep_one(d, *n);
	utarray_clear(d->places->unkept);
	store_commit(d->store, NULL);
}

static int on_keep(sd_event_source *source, uint64_t usec, void *arg)
{
	(void)source;
	(void)usec;
	keep(arg);
	return 0;
}

static void placed(struct daemon *d, struct vlink *v)
{
	if (v->unkept)
		return;
	v->unkept = true;
	if (!utarray_len(d->places->unkept)) {
		sd_event_source_set_time_relative(d->places->timer, KEEP_US);
		sd_event_source_set_enabled(d->places->timer, SD_EVENT_ONESHOT);
	}
	utarray_push_back(d->places->unkept, &v->s.n);
}

int place_start(struct daemon *d, struct err *e)
{
	int r;

	d->places = calloc(1, sizeof(*d->places));
	if (!d->places)
		return err_nomem(e);
	utarray_new(d->places->unkept, &number_icd);
	r = sd_event_add_time_relative(d->event, &d->places->timer, CLOCK_MONOTONIC, KEEP_US, 0, on_keep, d);
	if (r < 0)
		return err_sys(e, r, NULL, "cannot wait for work: %s", strerror(-r));
	sd_event_source_set_enabled(d->places->timer, SD_EVENT_OFF);
	d->placed = placed;
	return 0;
}

void place_stop(struct daemon *d)
{
	if (!d->places)
		return;
	keep(d);
	d->placed = NULL;
	sd_event_source_disable_unref(d->places->timer);
	utarray_free(d->places->unkept);
	free(d->places);
	d->places = NULL;
}

/* Our group is no mark that others would give, and what has another's alias is another's but for its MAC
 * address. */
static bool is_robbed(const struct vlink *v, const struct sys_link *l, int lower)
{
	if (l->group != GROUP_LIVE)
		return false;
	if (!strncmp(l->alias, "vnicd:", 6) && (v->s.class != CLASS_VNIC || !mac_equal(l->mac, v->s.mac)))
		return false;
	if (v->s.class == CLASS_ETHERSTUB)
		return !strcmp(l->kind, "bridge") || !strcmp(l->kind, "dummy");
	if (v->s.class == CLASS_FOREIGN)
		return !strcmp(l->kind, "ifb");
	return !strcmp(l->kind, v->s.class == CLASS_VLAN ? "vlan" : "macvlan") &&
	       (!v->below || lower == v->below->l.ifindex);
}

struct hunt {
	struct daemon *d;
	void (*cb)(struct daemon *d, struct vlink *v, const struct port *port);
};

static int on_row(uint32_t n, int ifindex, const char *zone, void *arg)
{
	struct hunt *h = arg;
	struct vlink *v = vlink_by_n(h->d, n);
	struct port port = {.ifindex = ifindex};
	struct sys_link l;
	int lower;

	if (!v || v->seen || observe_numbered(h->d, zone, ifindex, &l, &lower) < 0 ||
	    !is_robbed(v, &l, lower))
		return 0;
	snprintf(port.zone, sizeof(port.zone), "%s", zone);
	memcpy(port.name, l.name, sizeof(port.name));
	log_info(v->s.name, "is %s%s%s: known by its number, as others took its marks", l.name,
		 zone[0] ? " in zone " : "", zone);
	h->cb(h->d, v, &port);
	return 0;
}

int place_robbed(struct daemon *d, void (*cb)(struct daemon *d, struct vlink *v, const struct port *port),
		 struct err *e)
{
	struct hunt h = {.d = d, .cb = cb};

	return store_places(d->store, d->world, on_row, &h, e);
}
