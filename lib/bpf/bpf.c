// SPDX-License-Identifier: GPL-2.0-or-later
/* The pin directory: where it is, what is in it, whose it is. Attaches nothing itself. */
#include "lib/bpf/internal.h"

#include "lib/bpf/hook.skel.h"
#include "lib/bpf/maps.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <libmnl/libmnl.h>
#include <linux/magic.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/vfs.h>

#ifndef SO_NETNS_COOKIE
#define SO_NETNS_COOKIE 71
#endif

static _Thread_local char last_words[400];

/* libbpf speaks through one function per process; its last warning is the reason for what fails next. */
static int listen_to(enum libbpf_print_level level, const char *fmt, va_list ap)
{
	if (level == LIBBPF_WARN)
		vsnprintf(last_words, sizeof(last_words), fmt, ap);
	return 0;
}

void forget_said(void)
{
	last_words[0] = '\0';
}

int said(struct err *e, int code, const char *object, const char *what)
{
	last_words[strcspn(last_words, "\n")] = '\0';
	err_sys(e, code, object, "%s: %s%s%s", what, strerror(-code), last_words[0] ? ": " : "", last_words);
	forget_said();
	return code;
}

int pin_path(char ret[static PIN_MAX], struct err *e, const char *fmt, ...)
{
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(ret, PIN_MAX, fmt, ap);
	va_end(ap);
	return n < PIN_MAX ? 0 : err_user(e, -ENAMETOOLONG, ret, "the path of the pin directory is too long");
}

static void close_dir(DIR **d)
{
	if (*d)
		closedir(*d);
}
#define DIRP __attribute__((cleanup(close_dir))) DIR *

/* Pins hang on a tree two levels deep, but a stranger's deeper one goes as well. */
static int remove_at(int at, const char *name, unsigned long *acts)
{
	DIRP d = NULL;
	int fd;

	if (!unlinkat(at, name, 0))
		return ++*acts, 0;
	if (errno != EISDIR && errno != EPERM)
		return errno == ENOENT ? 0 : -errno;
	fd = openat(at, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	d = fd < 0 ? NULL : fdopendir(fd);
	if (!d)
		return -errno;
	for (struct dirent *x; (x = readdir(d));) {
		int r = !strcmp(x->d_name, ".") || !strcmp(x->d_name, "..") ? 0
									    : remove_at(fd, x->d_name, acts);

		if (r)
			return r;
	}
	return unlinkat(at, name, AT_REMOVEDIR) ? -errno : 0;
}

int pin_remove(const char *path, unsigned long *acts, struct err *e)
{
	int r = remove_at(AT_FDCWD, path, acts);

	return r ? err_sys(e, r, path, "cannot remove the pin: %s", strerror(-r)) : 0;
}

static bool on_bpffs(const char *path)
{
	struct statfs s;

	return !statfs(path, &s) && s.f_type == BPF_FS_MAGIC;
}

/* dir itself may not be there yet: it can be made where its parent is on bpffs. */
static int check_bpffs(const char *dir, struct err *e)
{
	char up[PIN_MAX];
	int r = pin_path(up, e, "%s", dir);

	if (r || on_bpffs(dir) || (access(dir, F_OK) && on_bpffs(dirname(up))))
		return r;
	if (!strncmp(dir, "/sys/fs/bpf/", 12))
		return err_user(e, -EINVAL, dir, "is not on a BPF file system: mount -t bpf bpf /sys/fs/bpf");
	return err_user(e, -EINVAL, dir, "is not on a BPF file system: mkdir -p %s && mount -t bpf bpf %s",
			dir, dir);
}

int pins_stand(const struct bpf *b, struct err *e)
{
	char dir[PIN_MAX];
	int r;

	if (!access(b->dir, F_OK))
		return 0;
	snprintf(dir, sizeof(dir), "%s", b->dir);
	r = check_bpffs(dirname(dirname(dir)), e);
	return r ? r : err_user(e, -ENOENT, dir, "was emptied or mounted anew: restart vnicd");
}

static int make_dir(const char *path, struct err *e)
{
	if (!mkdir(path, 0700) || errno == EEXIST)
		return 0;
	return err_sys(e, -errno, path, "cannot make the directory: %s", strerror(errno));
}

static int netns_cookie(uint64_t *ret, struct err *e)
{
	FD fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	socklen_t len = sizeof(*ret);

	if (fd < 0 || getsockopt(fd, SOL_SOCKET, SO_NETNS_COOKIE, ret, &len))
		return err_sys(e, -errno, NULL, "cannot read the network namespace's cookie: %s",
			       strerror(errno));
	return 0;
}

/* A namespace inode is used again, a cookie never: what hangs on another is of a namespace that was. */
static int sweep(const char *store, const char *keep, unsigned long *acts, struct err *e)
{
	DIRP d = opendir(store);
	int r = 0;

	if (!d)
		return err_sys(e, -errno, store, "cannot read the directory: %s", strerror(errno));
	for (struct dirent *x; !r && (x = readdir(d));) {
		if (x->d_name[0] == '.' || !strcmp(x->d_name, keep))
			continue;
		r = remove_at(dirfd(d), x->d_name, acts);
	}
	return r ? err_sys(e, r, store, "cannot remove an old directory: %s", strerror(-r)) : 0;
}

static int make_dirs(struct bpf *b, const char *dir, const char *uuid, struct err *e)
{
	char store[PIN_MAX], name[24];
	uint64_t cookie;
	int r = check_bpffs(dir, e);

	r = r ? r : netns_cookie(&cookie, e);
	if (r)
		return r;
	snprintf(name, sizeof(name), "%llu", (unsigned long long)cookie);
	r = pin_path(store, e, "%s/%s", dir, uuid);
	r = r ? r : pin_path(b->dir, e, "%s/%s", store, name);
	r = r ? r : make_dir(dir, e);
	r = r ? r : make_dir(store, e);
	r = r ? r : make_dir(b->dir, e);
	return r ? r : sweep(store, name, b->acts, e);
}

int hook_fd(const struct bpf *b)
{
	return bpf_program__fd(b->mirror ? b->hook->progs.gate : b->hook->progs.hook);
}

/* Loads the steering program on the pinned map, which is made from the program's definition where missing. */
static int load_once(struct bpf *b, const char *steer)
{
	int r;

	forget_said();
	b->hook = hook_bpf__open();
	if (!b->hook)
		return -errno;
	r = bpf_program__set_autoload(b->mirror ? b->hook->progs.hook : b->hook->progs.gate, false);
	r = r ? r : bpf_map__set_pin_path(b->hook->maps.steer, steer);
	r = r ? r : hook_bpf__load(b->hook);
	if (!r)
		return prog_tag(hook_fd(b), b->hook_tag);
	hook_bpf__destroy(b->hook);
	b->hook = NULL;
	return r;
}

static int drop_hook(uint32_t n, int ifindex, void *arg)
{
	return n ? 0 : bpf_hook_del(arg, ifindex, NULL);
}

/* A hook on a map that is pinned no more can only be made anew. The map goes first: so a crash is noticed. */
static int load_fresh(struct bpf *b, const char *steer, struct err *e)
{
	int r = pin_remove(steer, b->acts, e);

	r = r ? r : bpf_pins(b, drop_hook, b, e);
	r = r ? r : load_once(b, steer);
	*b->acts += !r;
	return r;
}

static int load_hook(struct bpf *b, struct err *e)
{
	char steer[PIN_MAX];
	int r = pin_path(steer, e, "%s/steer", b->dir);

	if (r)
		return r;
	b->mirror = !seat_redirects();
	r = access(steer, F_OK) ? -EINVAL : load_once(b, steer);
	if (r == -EINVAL) /* not there, or another build's layout */
		r = load_fresh(b, steer, e);
	if (r)
		return said(e, r, "steer", "cannot load the steering program");
	b->steer = bpf_map__fd(b->hook->maps.steer);
	return 0;
}

int bpf_open(const char *dir, const char *uuid, unsigned long *acts, struct bpf **ret, struct err *e)
{
	struct bpf *b = calloc(1, sizeof(*b));
	int r;

	if (!b)
		return err_nomem(e);
	libbpf_set_print(listen_to);
	b->acts = acts;
	b->many = MANY_NONE;
	b->pick[false] = b->pick[true] = -1;
	b->kept = -1;
	b->netns = open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC);
	b->nl = tc_open(); /* or a socket for each question */
	r = make_dirs(b, dir, uuid, e);
	if (!r)
		b->kept = open(b->dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
	r = r ? r : load_hook(b, e);
	if (r) {
		bpf_close(b);
		return r;
	}
	*ret = b;
	return 0;
}

static int other_pin(const struct dirent *d)
{
	return d->d_name[0] != '.' && strcmp(d->d_name, "steer") != 0;
}

static bool is_empty(const struct bpf *b)
{
	struct dirent **list;
	struct steer_key key;
	int count = scandir(b->dir, &list, other_pin, NULL);

	for (int i = 0; i < count; i++)
		free(list[i]);
	if (count >= 0)
		free(list);
	return count == 0 && bpf_map_get_next_key(b->steer, NULL, &key) && errno == ENOENT;
}

void bpf_tidy(struct bpf *b)
{
	char store[PIN_MAX];

	if (!is_empty(b) || pin_path(store, NULL, "%s", b->dir) || pin_remove(b->dir, b->acts, NULL))
		return;
	rmdir(dirname(store)); /* not where another namespace's pins are */
}

struct bpf *bpf_close(struct bpf *b)
{
	if (!b)
		return NULL;
	if (b->nl)
		mnl_socket_close(b->nl);
	close_fd(&b->pick[false]);
	close_fd(&b->pick[true]);
	close_fd(&b->netns);
	close_fd(&b->kept);
	many_done(&b->many);
	hook_bpf__destroy(b->hook);
	free(b);
	return NULL;
}

void bpf_away(struct bpf *b, bool away)
{
	b->away = away;
}

/* A hook that a daemon died in the middle of may have a mark or a half-made pin, and no pin. */
static int by_name(const struct dirent *d)
{
	unsigned n;
	int end = 0;

	if (sscanf(d->d_name, "vnic-%u%n", &n, &end) == 1)
		return !d->d_name[end];
	return sscanf(d->d_name, "hook-%u%n", &n, &end) == 1 &&
	       (!d->d_name[end] || !strcmp(d->d_name + end, "-clsact") || !strcmp(d->d_name + end, "-new"));
}

/* The names are read first: cb may remove what it is shown. */
int bpf_pins(struct bpf *b, int (*cb)(uint32_t n, int ifindex, void *arg), void *arg, struct err *e)
{
	struct dirent **list;
	int count = scandir(b->dir, &list, by_name, NULL), r = 0;

	if (count < 0)
		return err_sys(e, -errno, b->dir, "cannot read the directory: %s", strerror(errno));
	for (int i = 0; i < count; i++) {
		unsigned n = (unsigned)strtoul(list[i]->d_name + 5, NULL, 10);
		bool vnic = list[i]->d_name[0] == 'v';

		r = r ? r : cb(vnic ? n : 0, vnic ? 0 : (int)n, arg);
		free(list[i]);
	}
	free(list);
	return r;
}
