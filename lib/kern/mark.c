/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Writes and reads the alias of our links, and finds every link that carries one of this store. */
#include "lib/kern/real.h"

#include "lib/kern/view.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void mark_text(const struct real *r, uint32_t n, char *buf, size_t size)
{
	snprintf(buf, size, "vnicd:%s:%u", r->uuid, n);
}

bool mark_parse(const struct real *r, const char *alias, uint32_t *ret_n)
{
	char prefix[UUID_MAX + 16];
	unsigned long n;
	size_t len;
	char *end;

	len = (size_t)snprintf(prefix, sizeof(prefix), "vnicd:%s:", r->uuid);
	if (strncmp(alias, prefix, len) || alias[len] < '0' || alias[len] > '9')
		return false;
	errno = 0;
	n = strtoul(alias + len, &end, 10);
	if (errno || *end || n > UINT32_MAX)
		return false;
	*ret_n = (uint32_t)n;
	return true;
}

struct sweep {
	struct real *r;
	const char *zone;
	int (*cb)(const struct port *port, uint32_t n, enum link_class class, void *arg);
	void *arg;
	bool stopped;
};

static enum link_class class_of(const struct sys_link *l, uint32_t n)
{
	char out[IFNAMSIZ];

	static const struct {
		const char *kind;
		enum link_class class;
	} kinds[] = {
		{"macvlan", CLASS_VNIC},     {"ifb", CLASS_IFB},   {"dummy", CLASS_ETHERSTUB},
		{"bridge", CLASS_ETHERSTUB}, {"vlan", CLASS_VLAN},
	};

	node_out_name(n, out);
	if (!strcmp(l->kind, "ifb") && !strcmp(l->name, out))
		return CLASS_FOREIGN;
	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++)
		if (!strcmp(l->kind, kinds[i].kind))
			return kinds[i].class;
	return CLASS_OTHER;
}

/* Ours by alias; or by group alone, when a daemon died between creating and marking. */
static int sweep_link(const struct sys_link *l, void *arg)
{
	struct sweep *s = arg;
	struct port port = {.ifindex = l->ifindex};
	uint32_t n = 0;
	int rc;

	if (!mark_parse(s->r, l->alias, &n) &&
	    (l->alias[0] || (l->group != GROUP_LIVE && l->group != GROUP_DOOMED)))
		return 0;
	snprintf(port.zone, sizeof(port.zone), "%s", s->zone);
	memcpy(port.name, l->name, sizeof(port.name));
	rc = s->cb(&port, n, class_of(l, n), s->arg);
	s->stopped = rc != 0;
	return rc;
}

static int sweep_zone(struct sweep *s, const char *zone, struct err *e)
{
	struct nl_sock *sk;
	struct extack x;
	int rc;

	s->zone = zone;
	rc = real_sock(s->r, zone, &sk, e);
	if (rc)
		return rc == -ENOENT ? 0 : rc; /* a zone that is gone has nothing of ours */
	if (!view_each(s->r, sk, sweep_link, s, &rc))
		rc = link_each(sk, NULL, sweep_link, s, &x);
	real_unsock(s->r, sk);
	/* Somebody makes and deletes links there without a pause: no reason for us not to start. */
	if (rc == -EBUSY && zone[0] && !s->stopped)
		return 0;
	return rc < 0 && !s->stopped ? real_fail(rc, zone, &x, e) : rc;
}

int real_marked(struct kernel *k, const char *const *zones,
		int (*cb)(const struct port *port, uint32_t n, enum link_class class, void *arg), void *arg,
		struct err *e)
{
	struct sweep s = {.r = real_of(k), .cb = cb, .arg = arg};
	int rc = sweep_zone(&s, "", e);

	for (; !rc && zones && *zones; zones++)
		rc = sweep_zone(&s, *zones, e);
	return rc;
}
