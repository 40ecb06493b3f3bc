/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Says of a name that is not there which was meant, or where those are listed. Never looks one up for use. */
#include "vnicd/unknown.h"

#include "lib/base/nearest.h"
#include "vnicd/check.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

static const struct kind {
	const char *what, *verb;
	bool theirs; /* links that vnicd did not make, too */
	bool ours[CLASS_OTHER + 1];
} kinds[] = {
	[UNKNOWN_LINK] = {"link", "show-link", true, {[CLASS_VNIC] = true, [CLASS_ETHERSTUB] = true}},
	[UNKNOWN_PHYS] = {"physical link", "show-phys", .theirs = true},
	[UNKNOWN_VNIC] = {"VNIC", "show-vnic", .ours = {[CLASS_VNIC] = true}},
	[UNKNOWN_ETHERSTUB] = {"etherstub", "show-etherstub", .ours = {[CLASS_ETHERSTUB] = true}},
};

static size_t collect(const struct daemon *d, const struct kind *kind, const char **names)
{
	struct slink *s, *snext;
	struct vlink *v, *vnext;
	enum link_class class;
	size_t n = 0;

	HASH_ITER (hh_n, d->by_n, v, vnext)
		if (kind->ours[v->s.class])
			names[n++] = v->s.name;
	HASH_ITER (hh, d->links, s, snext)
		if (kind->theirs && !vlink_of_sys(d, &s->l, &class) && !check_going(d, &s->l))
			names[n++] = s->l.name;
	return n;
}

static int not_there(const struct daemon *d, const struct kind *kind, const char *name, struct err *e)
{
	const char **names = calloc(HASH_CNT(hh_n, d->by_n) + HASH_COUNT(d->links) + 1, sizeof(*names));
	const char *near = names ? nearest(name, names, collect(d, kind, names)) : NULL;

	if (near)
		err_user(e, -ENODEV, name, "no such %s: did you mean %s?", kind->what, near);
	else
		err_user(e, -ENODEV, name, "no such %s: see 'vnicadm %s'", kind->what, kind->verb);
	free(names);
	return -ENODEV;
}

int unknown_link(const struct daemon *d, enum unknown kind, const char *name, struct err *e)
{
	const struct kind *k = &kinds[kind];
	const struct vlink *v = vlink_find(d, name);
	const struct slink *s = slink_by_name(d, name);

	if (v && !k->ours[v->s.class])
		return err_user(e, -ENODEV, name, "it is %s",
				v->s.class == CLASS_VNIC ? "a VNIC: use show-vnic"
							 : "an etherstub: use show-etherstub");
	if (!v && s && !k->theirs && !check_going(d, &s->l))
		return err_user(e, -ENODEV, name, "not %s %s: vnicd did not make it (see 'vnicadm %s')",
				kind == UNKNOWN_VNIC ? "a" : "an", k->what, k->verb);
	return not_there(d, k, name, e);
}

/* Both of the directory's own entries are never near a name. */
static size_t zone_names(char **names, size_t most)
{
	DIR *dir = opendir("/run/netns");
	struct dirent *entry;
	size_t n = 0;

	while (dir && n < most && (entry = readdir(dir)))
		if (entry->d_name[0] != '.' && (names[n] = strdup(entry->d_name)))
			n++;
	if (dir)
		closedir(dir);
	return n;
}

int unknown_zone(const char *link, const char *zone, struct err *e)
{
	char *names[256];
	size_t n = zone_names(names, sizeof(names) / sizeof(*names));
	const char *near = nearest(zone, (const char *const *)names, n);

	if (near)
		err_user(e, -ENOENT, link, "no zone %s: did you mean %s? Or make it with 'ip netns add %s'",
			 zone, near, zone);
	else
		err_user(e, -ENOENT, link, "no zone %s: make it with 'ip netns add %s'", zone, zone);
	while (n > 0)
		free(names[--n]);
	return -ENOENT;
}
