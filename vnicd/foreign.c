/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Judges, finds and describes links of others that have caps or flows. Carries nothing out. */
#include "vnicd/foreign.h"

#include <errno.h>
#include <linux/if_arp.h>
#include <string.h>
#include <utlist.h>

/* What a link's frames pass anyway on their way to or from its master is the master's. */
static int check_master(const struct daemon *d, const struct sys_link *l, struct err *e)
{
	static const char *const kinds[] = {"bridge", "bond", "team", "openvswitch"};
	const struct slink *master = slink_find(d, l->master);

	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++)
		if (!strcmp(l->slave_kind, kinds[i]))
			return err_user(e, -EBUSY, l->name, "it carries the traffic of %s: use %s",
					master ? master->l.name : "another link",
					master ? master->l.name : "that");
	return 0;
}

static int check_kind(const struct daemon *d, const struct sys_link *l, struct err *e)
{
	static const char *const refused[] = {"macvlan", "macvtap", "ipvlan", "ipvtap", "ifb"};
	const struct slink *lower = l->lower_foreign ? NULL : slink_find(d, l->lower);

	for (size_t i = 0; i < sizeof(refused) / sizeof(*refused); i++) {
		if (strcmp(l->kind, refused[i]) != 0)
			continue;
		if (lower)
			return err_user(e, -EOPNOTSUPP, l->name,
					"a link of kind %s has no caps and no flows: make a VNIC on %s",
					l->kind, lower->l.name);
		return err_user(e, -EOPNOTSUPP, l->name,
				"a link of kind %s has no caps and no flows: see 'vnicadm show-phys'",
				l->kind);
	}
	return 0;
}

/* Of links of ours a VNIC has caps and flows as such. */
static int check_ours(const struct daemon *d, const struct sys_link *l, struct err *e)
{
	enum link_class class;
	const struct vlink *v = vlink_of_sys(d, l, &class);

	if (!v || class == CLASS_VNIC)
		return 0;
	if (class == CLASS_ETHERSTUB)
		return err_user(e, -EOPNOTSUPP, l->name,
				"it is an etherstub: caps and flows are possible on the VNICs there");
	return err_user(e, -EOPNOTSUPP, l->name,
			"it is vnicd's own, for VNICs: caps and flows are possible on these");
}

int foreign_check(const struct daemon *d, const struct sys_link *l, struct err *e)
{
	int r = check_ours(d, l, e);

	if (r == 0 && l->flags & IFF_LOOPBACK)
		r = err_user(e, -EOPNOTSUPP, l->name,
			     "the loopback link has no caps and no flows: see 'vnicadm show-phys'");
	if (r == 0 && l->type != ARPHRD_ETHER)
		r = err_user(e, -EOPNOTSUPP, l->name,
			     "not an Ethernet link, as caps and flows need: see 'vnicadm show-phys'");
	if (r == 0)
		r = check_kind(d, l, e);
	return r < 0 ? r : check_master(d, l, e);
}

struct vlink *foreign_on(const struct slink *s)
{
	struct vlink *v;

	DL_SEARCH_SCALAR(s->above, v, s.class, CLASS_FOREIGN);
	return v;
}

struct vlink *foreign_find(const struct daemon *d, const char *name)
{
	const struct slink *s = slink_by_name(d, name);
	struct vlink *v;

	if (s)
		return foreign_on(s);
	DL_FOREACH (d->waiting, v)
		if (v->s.class == CLASS_FOREIGN && !strcmp(v->s.name, name))
			return v;
	return NULL;
}

struct vlink *foreign_or_own(const struct daemon *d, const char *name)
{
	struct vlink *v = vlink_find(d, name);

	return v ? v : foreign_find(d, name);
}

bool foreign_idle(const struct vlink *v)
{
	return v->s.class == CLASS_FOREIGN && !v->flows && !prop_capped(&v->props) && !prop_capped(&v->kept);
}

int foreign_new(struct daemon *d, const struct slink *s, struct vlink **ret, struct err *e)
{
	struct vlink *v;
	int r = foreign_check(d, &s->l, e);

	if (r < 0)
		return r;
	v = vlink_new();
	if (!v)
		return err_nomem(e);
	v->s.class = CLASS_FOREIGN;
	v->s.mac = s->l.mac;
	v->s.mac_type = MAC_FIXED;
	memcpy(v->s.name, s->l.name, sizeof(v->s.name));
	v->parent.perm_mac = s->l.perm_mac;
	memcpy(v->parent.bus, s->l.bus, sizeof(v->parent.bus));
	memcpy(v->parent.name, s->l.name, sizeof(v->parent.name));
	v->below = slink_find(d, s->l.ifindex);
	r = store_ident_put(d->store, &v->parent, &v->s.parent_row, e);
	if (r < 0) {
		vlink_free(v);
		return r;
	}
	*ret = v;
	return 0;
}

const char *foreign_class(const struct vlink *v)
{
	bool theirs = v->s.class == CLASS_FOREIGN && v->below && v->below->l.kind[0];

	return theirs ? v->below->l.kind : link_class_str(v->s.class);
}
