/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Network namespaces by the names under /run/netns, and the calling thread's way in and back. */
#pragma once

#include "lib/base/err.h"

/* A descriptor of the calling thread's namespace. */
int netns_own(int *ret, struct err *e);
/* A descriptor of one by its name under /run/netns, or by the path of a file like /proc/PID/ns/net. -ENOENT
 * when there is none of that name. The caller closes either. */
int netns_open(const char *name, int *ret, struct err *e);
/* The calling thread enters fd; it must come back by netns_leave() before anything else runs. */
int netns_enter(int fd, struct err *e);
/* Back to own. Cannot fail: a thread in the wrong namespace would act on somebody else's links, so it aborts.
 */
void netns_leave(int own);
