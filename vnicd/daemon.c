/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Opens and closes the daemon's parts in order. Serves nobody: that is server.c's. */
#include "vnicd/adopt.h"
#include "vnicd/apply.h"
#include "vnicd/isolate.h"
#include "vnicd/log.h"
#include "vnicd/machine.h"
#include "vnicd/mend.h"
#include "vnicd/observe.h"
#include "vnicd/place.h"
#include "vnicd/sampler.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#ifndef SO_NETNS_COOKIE
#define SO_NETNS_COOKIE 71
#endif

static int read_boot_id(char *buf, size_t size, struct err *e)
{
	static const char path[] = "/proc/sys/kernel/random/boot_id";
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd >= 0 ? read(fd, buf, size - 1) : -1;
	int saved = errno;

	if (fd >= 0)
		close(fd);
	if (n < 0)
		return err_sys(e, -saved, path, "%s", strerror(saved));
	buf[n] = '\0';
	buf[strcspn(buf, "\n")] = '\0';
	return 0;
}

/* Links live as long as this boot and this network namespace: in another world they have to be made again. */
static int read_world(struct daemon *d, struct err *e)
{
	uint64_t cookie = 0;
	socklen_t len = sizeof(cookie);
	int fd, r = read_boot_id(d->boot, sizeof(d->boot), e);

	if (r < 0)
		return r;
	fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return err_sys(e, -errno, NULL, "cannot make a socket: %s", strerror(errno));
	if (getsockopt(fd, SOL_SOCKET, SO_NETNS_COOKIE, &cookie, &len) < 0)
		cookie = 0;
	close(fd);
	snprintf(d->world, sizeof(d->world), "%s:%llx", d->boot, (unsigned long long)cookie);
	return 0;
}

static int read_all(struct daemon *d, struct err *e)
{
	int r = observe_links(d, e);

	if (r == 0)
		r = world_load(d, e);
	if (r == 0)
		r = machine_adopt(d, e);
	if (r == 0)
		r = isolate_load(d, e);
	return r < 0 ? r : adopt_all(d, e);
}

static int open_all(struct daemon *d, struct err *e)
{
	int r = read_world(d, e);

	if (r == 0)
		r = store_open(d->options->state_dir, &d->store, e);
	if (r == 0)
		r = observe_open(d, e);
	if (r == 0)
		r = mend_start(d, e);
	if (r == 0)
		r = place_start(d, e);
	if (r == 0)
		r = observe_start(d, e);
	if (r < 0)
		return r;
	observe_survey(d, OBSERVE_MANY); /* however few they are, each is asked for more than once */
	r = read_all(d, e);
	observe_survey_end(d);
	return r;
}

int daemon_open(const struct options *o, sd_event *event, struct daemon **ret, struct err *e)
{
	struct daemon *d = calloc(1, sizeof(*d));
	int r;

	if (!d)
		return err_nomem(e);
	d->options = o;
	d->event = sd_event_ref(event);
	r = open_all(d, e);
	if (r < 0) {
		daemon_close(d);
		return r;
	}
	*ret = d;
	return 0;
}

struct daemon *daemon_close(struct daemon *d)
{
	if (!d)
		return NULL;
	if (d->store && d->kernel)
		sampler_save(d);
	if (d->store)
		place_stop(d);
	sd_event_source_disable_unref(d->notify);
	sd_event_source_disable_unref(d->zones);
	sd_event_source_disable_unref(d->zones_again);
	sd_event_source_disable_unref(d->resync);
	mend_stop(d);
	if (d->kernel && !d->by_n)
		apply_tidy(d->kernel);
	isolate_free(d);
	world_free(d);
	observe_close(d);
	store_close(d->store);
	sd_event_unref(d->event);
	free(d);
	return NULL;
}
