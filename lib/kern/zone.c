/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Numbers of other namespaces in the own one, and names for them. Holds none open: that would keep it alive.
 */
#include "lib/kern/real.h"

#include "lib/nl/netns.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <linux/net_namespace.h>
#include <linux/rtnetlink.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utarray.h>

static struct nl_msg *nsid_msg(int type, int fd)
{
	struct nl_msg *msg = nlmsg_alloc_simple(type, 0);
	struct rtgenmsg g = {.rtgen_family = AF_UNSPEC};

	if (msg && (nlmsg_append(msg, &g, sizeof(g), NLMSG_ALIGNTO) < 0 ||
		    nla_put_u32(msg, NETNSA_FD, (uint32_t)fd) < 0)) {
		nlmsg_free(msg);
		return NULL;
	}
	return msg;
}

static int see_nsid(const struct nlmsghdr *h, void *arg)
{
	struct nlattr *tb[NETNSA_MAX + 1];

	if (nlmsg_parse((struct nlmsghdr *)h, sizeof(struct rtgenmsg), tb, NETNSA_MAX, NULL) < 0 ||
	    !tb[NETNSA_NSID])
		return -EBADMSG;
	*(int *)arg = (int)nla_get_u32(tb[NETNSA_NSID]);
	return 0;
}

/* NETNSA_NSID_NOT_ASSIGNED (-1) when it has none. */
static int ask_nsid(struct nl_sock *sk, int fd, int *ret, struct extack *x)
{
	MSG_AUTO msg = nsid_msg(RTM_GETNSID, fd);

	*ret = NETNSA_NSID_NOT_ASSIGNED;
	return msg ? sock_get(sk, msg, see_nsid, ret, x) : -ENOMEM;
}

/* -1: the kernel chooses the number. Somebody who was quicker is no error. */
static int give_nsid(struct real *r, int fd, struct extack *x)
{
	MSG_AUTO msg = nsid_msg(RTM_NEWNSID, fd);
	int rc;

	if (!msg || nla_put_u32(msg, NETNSA_NSID, (uint32_t)-1) < 0)
		return -ENOMEM;
	r->kernel.acts++;
	rc = sock_act(r->rt, msg, x);
	return rc == -EEXIST ? 0 : rc;
}

int kern_real_nsid(struct kernel *k, const char *zone, int *ret, struct err *e)
{
	struct real *r = real_of(k);
	struct extack x = {};
	int fd, rc = netns_open(zone, &fd, e);

	if (rc)
		return rc;
	rc = ask_nsid(r->rt, fd, ret, &x);
	if (!rc && *ret == NETNSA_NSID_NOT_ASSIGNED) {
		rc = give_nsid(r, fd, &x);
		rc = rc ? rc : ask_nsid(r->rt, fd, ret, &x);
	}
	close(fd);
	return rc ? real_fail(rc, zone, &x, e) : 0;
}

int kern_real_lower(struct kernel *k, const char *zone, const struct sys_link *l)
{
	struct real *r = real_of(k);
	struct nl_sock *sk;
	struct extack x;
	int own, rc;

	if (!zone[0] || !l->lower_foreign)
		return zone[0] || l->lower_foreign ? 0 : l->lower;
	if (real_sock(r, zone, &sk, NULL))
		return 0;
	rc = ask_nsid(sk, r->own, &own, &x);
	real_unsock(r, sk);
	return !rc && own == l->lower_nsid ? l->lower : 0;
}

static bool is_zone(struct real *r, const char *zone, int nsid)
{
	struct extack x;
	int fd, seen, rc;

	if (netns_open(zone, &fd, NULL))
		return false;
	rc = ask_nsid(r->rt, fd, &seen, &x);
	close(fd);
	return !rc && seen == nsid;
}

/* Calls is_zone for each entry of dir that fits, its name put into format. */
static bool search(struct real *r, const char *dir, const char *format, bool numbers, int nsid,
		   char ret[ZONE_MAX])
{
	DIR *d = opendir(dir);
	bool found = false;
	struct dirent *x;

	while (d && !found && (x = readdir(d))) {
		if (x->d_name[0] == '.' || (numbers && !isdigit((unsigned char)x->d_name[0])))
			continue;
		snprintf(ret, ZONE_MAX, format, x->d_name);
		found = is_zone(r, ret, nsid);
	}
	if (d)
		closedir(d);
	return found;
}

int kern_real_zone(struct kernel *k, int nsid, char ret[ZONE_MAX], struct err *e)
{
	struct real *r = real_of(k);

	if (search(r, "/run/netns", "%.200s", false, nsid, ret) ||
	    search(r, "/proc", "/proc/%.20s/ns/net", true, nsid, ret))
		return 0;
	return err_sys(e, -ENOENT, NULL, "namespace number %d has no name and no process", nsid);
}

struct walk {
	UT_array *seen; /* ino_t */
	int (*cb)(const char *zone, void *arg);
	void *arg;
};

static int walk_one(struct walk *w, const char *zone)
{
	ino_t *i = NULL;
	struct stat st;
	int fd, rc;

	if (netns_open(zone, &fd, NULL))
		return 0;
	rc = fstat(fd, &st);
	close(fd);
	while (!rc && (i = (ino_t *)utarray_next(w->seen, i)))
		if (*i == st.st_ino)
			return 0;
	utarray_push_back(w->seen, &st.st_ino);
	return rc ? 0 : w->cb(zone, w->arg);
}

static int walk_dir(struct walk *w, const char *dir, const char *format, bool numbers)
{
	char zone[ZONE_MAX];
	DIR *d = opendir(dir);
	struct dirent *x;
	int rc = 0;

	while (d && !rc && (x = readdir(d))) {
		if (x->d_name[0] == '.' || (numbers && !isdigit((unsigned char)x->d_name[0])))
			continue;
		snprintf(zone, sizeof(zone), format, x->d_name);
		rc = walk_one(w, zone);
	}
	if (d)
		closedir(d);
	return rc;
}

int kern_real_zones(struct kernel *k, int (*cb)(const char *zone, void *arg), void *arg)
{
	static const UT_icd ino_icd = {.sz = sizeof(ino_t)};
	struct walk w = {.cb = cb, .arg = arg};
	struct stat own;
	int rc;

	utarray_new(w.seen, &ino_icd);
	if (!fstat(real_of(k)->own, &own))
		utarray_push_back(w.seen, &own.st_ino);
	rc = walk_dir(&w, "/run/netns", "%.200s", false);
	rc = rc ? rc : walk_dir(&w, "/proc", "/proc/%.20s/ns/net", true);
	utarray_free(w.seen);
	return rc;
}
