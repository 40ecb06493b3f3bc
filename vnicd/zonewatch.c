/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Watches the names under /run/netns for links that were lost with a zone. Never enters a namespace. */
#include "vnicd/zonewatch.h"

#include <errno.h>
#include <linux/magic.h>
#include <stdio.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <time.h>

#define ZONES_DIR   "/run/netns"
#define AGAIN_US    10000
#define AGAIN_MAX   500000
#define AGAIN_TIMES 100

enum name_is { NAME_NONE, NAME_EMPTY, NAME_NAMESPACE };

static enum name_is look_up(const char *zone)
{
	char path[sizeof(ZONES_DIR) + ZONE_MAX];
	struct statfs fs;

	snprintf(path, sizeof(path), ZONES_DIR "/%s", zone);
	if (statfs(path, &fs) < 0)
		return NAME_NONE;
	return fs.f_type == NSFS_MAGIC ? NAME_NAMESPACE : NAME_EMPTY;
}

/* What was lost with the zone of that name (NULL: any) can be made again. True when a name is still empty. */
static bool wake(struct daemon *d, const char *name)
{
	struct vlink *v, *next;
	bool empty = false;

	HASH_ITER (hh_n, d->by_n, v, next) {
		const char *zone = prop_zone(&v->props);
		enum name_is is;

		if (v->trouble != TROUBLE_LOST || !zone[0] || (name && strcmp(zone, name) != 0))
			continue;
		is = look_up(zone);
		empty |= is == NAME_EMPTY;
		if (is == NAME_NAMESPACE)
			d->touched(d, v, false);
	}
	return empty;
}

static int on_again(sd_event_source *source, uint64_t usec, void *arg);

/*
 * A name is made before the namespace is mounted on it, which takes as long as the machine is busy, and no
 * news tells of that.
 */
static void again(struct daemon *d)
{
	uint64_t us = AGAIN_US << (d->zones_tries < 6 ? d->zones_tries : 6);

	d->zones_again = sd_event_source_disable_unref(d->zones_again);
	if (d->zones_tries++ < AGAIN_TIMES)
		sd_event_add_time_relative(d->event, &d->zones_again, CLOCK_MONOTONIC,
					   us < AGAIN_MAX ? us : AGAIN_MAX, 0, on_again, d);
}

static int on_again(sd_event_source *source, uint64_t usec, void *arg)
{
	struct daemon *d = arg;

	(void)source;
	(void)usec;
	if (wake(d, NULL))
		again(d);
	return 0;
}

static int on_name(sd_event_source *source, const struct inotify_event *event, void *arg)
{
	struct daemon *d = arg;

	(void)source;
	if (!event->len || !wake(d, event->name))
		return 0;
	d->zones_tries = 0;
	again(d);
	return 0;
}

int zonewatch_start(struct daemon *d)
{
	if (mkdir(ZONES_DIR, 0755) < 0 && errno != EEXIST)
		return -errno;
	return sd_event_add_inotify(d->event, &d->zones, ZONES_DIR, IN_CREATE | IN_MOVED_TO, on_name, d);
}
