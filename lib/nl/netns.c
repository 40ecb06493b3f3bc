/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Opens and enters network namespaces; keeps none open by itself, knows no links. */
#include "lib/nl/netns.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/vfs.h>
#include <unistd.h>

#define NETNS_DIR "/run/netns"

int netns_own(int *ret, struct err *e)
{
	int fd = open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return err_sys(e, -errno, NULL, "cannot open the own network namespace: %s", strerror(errno));
	*ret = fd;
	return 0;
}

/* A name whose namespace was unmounted is an empty file that stayed. */
static bool is_namespace(int fd)
{
	struct statfs fs;

	return !fstatfs(fd, &fs) && fs.f_type == NSFS_MAGIC;
}

int netns_open(const char *name, int *ret, struct err *e)
{
	char path[sizeof(NETNS_DIR) + 256];
	int fd;

	if (!name[0] || (name[0] != '/' && strchr(name, '/')) || !strcmp(name, ".") || !strcmp(name, ".."))
		return err_user(e, -EINVAL, name, "not a name under " NETNS_DIR);
	if (name[0] == '/')
		snprintf(path, sizeof(path), "%s", name);
	else
		snprintf(path, sizeof(path), NETNS_DIR "/%s", name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 && errno != ENOENT)
		return err_sys(e, -errno, name, "cannot open zone: %s", strerror(errno));
	if (fd < 0 || !is_namespace(fd)) {
		if (fd >= 0)
			close(fd);
		return err_user(e, -ENOENT, name, "no such zone: make it with 'ip netns add %s'", name);
	}
	*ret = fd;
	return 0;
}

int netns_enter(int fd, struct err *e)
{
	if (setns(fd, CLONE_NEWNET))
		return err_sys(e, -errno, NULL, "cannot enter network namespace: %s", strerror(errno));
	return 0;
}

void netns_leave(int own)
{
	if (setns(own, CLONE_NEWNET))
		abort();
}
