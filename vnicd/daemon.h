/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The daemon as a whole: what main() opens and closes, and requests work on. */
#pragma once

#include "lib/base/err.h"

#include <systemd/sd-event.h>

struct daemon;

/* From the command line; strings are borrowed for the daemon's life. */
struct options {
	const char *socket;
	const char *state_dir;
	const char *bpf_dir;
	int log_level;
};

/*
 * Opens store and kernel of the calling namespace, adopts what is there, sweeps orphans, makes what is
 * missing in a new world, and subscribes to notifications on event. No socket: that is server.c's.
 */
int daemon_open(const struct options *o, sd_event *event, struct daemon **ret, struct err *e);
/* Leaves every link, cap and pin as it is. */
struct daemon *daemon_close(struct daemon *d);
