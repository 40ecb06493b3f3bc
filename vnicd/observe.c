/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reads the kernel into the world. Never changes anything there and never plans. */
#include "vnicd/observe.h"

#include "lib/kern/kern.h"
#include "vnicd/foreign.h"
#include "vnicd/log.h"
#include "vnicd/want.h"
#include "vnicd/zonewatch.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <time.h>
#include <utlist.h>

#define RESYNC_US   200000
#define ANNOUNCE_US 600000000

int observe_open(struct daemon *d, struct err *e)
{
	struct kern_config cfg = {.bpf_dir = d->options->bpf_dir, .uuid = store_uuid(d->store)};

	return kern_real_new(&cfg, &d->kernel, e);
}

void observe_close(struct daemon *d)
{
	d->kernel = kern_free(d->kernel);
}

static int put(const struct sys_link *l, void *arg)
{
	return slink_put(arg, l);
}

int observe_links(struct daemon *d, struct err *e)
{
	struct slink *s, *next;
	int r;

	HASH_ITER (hh, d->links, s, next)
		s->seen = false;
	r = d->kernel->ops->links(d->kernel, put, d, e);
	HASH_ITER (hh, d->links, s, next)
		if (r == 0 && !s->seen)
			slink_drop(d, s->l.ifindex);
	return r;
}

static void key_for(struct daemon *d, const struct vlink *v, const char *zone, struct node *key)
{
	struct slink *parent = vlink_parent(d, v), *ifb;

	*key = (struct node){.n = v->s.n, .class = v->s.class, .mac = v->s.mac, .mtu = want_mtu(d, v)};
	snprintf(key->port.zone, sizeof(key->port.zone), "%s", zone);
	memcpy(key->port.name, v->s.name, sizeof(key->port.name));
	if (v->s.class == CLASS_FOREIGN)
		node_out_name(v->s.n, key->port.name);
	if (!strcmp(zone, vlink_zone(v)))
		key->port.ifindex = v->at.ifindex;
	if (parent) {
		memcpy(key->parent.name, parent->l.name, sizeof(key->parent.name));
		key->parent.ifindex = parent->l.ifindex;
	}
	node_ifb_name(v->s.n, key->ifb_port.name);
	key->iso = prop_isolate(&v->props) ? ISO_ON : ISO_OFF;
	ifb = slink_by_name(d, key->ifb_port.name);
	key->ifb_port.ifindex = ifb ? ifb->l.ifindex : 0;
	if (v->flows || (v->s.class == CLASS_FOREIGN && v->flow_set)) {
		struct node want;

		want_node(d, v, key, &want);
		key->flow_set = want.flow_set;
	}
}

int observe_vlink(struct daemon *d, const struct vlink *v, const char *zone, struct node *ret, bool *ret_gone,
		  struct err *e)
{
	struct node key;
	int r;

	key_for(d, v, zone, &key);
	*ret_gone = false;
	r = d->kernel->ops->observe(d->kernel, &key, ret, e);
	if (r == -ENOENT && zone[0]) {
		/* The ifb and the hook's entry are in the own namespace whatever became of the zone. */
		*ret_gone = true;
		if (e)
			*e = (struct err){0};
		key.port.zone[0] = '\0';
		r = d->kernel->ops->observe(d->kernel, &key, ret, e);
		ret->link = ret->up = false;
		ret->tx = (struct tree){0};
		snprintf(ret->port.zone, sizeof(ret->port.zone), "%s", zone);
	}
	return r;
}

void observe_survey(struct daemon *d, size_t count)
{
	d->surveys++;
	if (count >= OBSERVE_MANY && d->kernel->ops->survey)
		d->kernel->ops->survey(d->kernel, true);
}

void observe_survey_end(struct daemon *d)
{
	if (!--d->surveys && d->kernel->ops->survey)
		d->kernel->ops->survey(d->kernel, false);
}

int observe_hook(struct daemon *d, int parent, bool *ret, struct err *e)
{
	return d->kernel->ops->observe_hook(d->kernel, parent, ret, e);
}

int observe_find(struct daemon *d, const char *zone, const char *name, struct sys_link *ret, struct err *e)
{
	return d->kernel->ops->link(d->kernel, zone, 0, name, ret, e);
}

int observe_numbered(struct daemon *d, const char *zone, int ifindex, struct sys_link *ret, int *ret_lower)
{
	int r = d->kernel->ops->link(d->kernel, zone, ifindex, NULL, ret, NULL);

	if (r == 0)
		*ret_lower = ret->lower ? kern_real_lower(d->kernel, zone, ret) : 0;
	return r;
}

int observe_vlink_sys(struct daemon *d, const struct vlink *v, struct sys_link *ret)
{
	if (v->s.class == CLASS_FOREIGN && v->below)
		*ret = v->below->l;
	if (v->s.class == CLASS_FOREIGN)
		return v->below ? 0 : -ENODEV;
	int r = v->at.ifindex ? d->kernel->ops->link(d->kernel, vlink_zone(v), v->at.ifindex, NULL, ret, NULL)
			      : -ENODEV;

	return r == -ENODEV ? d->kernel->ops->link(d->kernel, vlink_zone(v), 0, v->s.name, ret, NULL) : r;
}

int observe_marked(struct daemon *d, const char *const *zones,
		   int (*cb)(const struct port *port, uint32_t n, enum link_class class, void *arg),
		   void *arg, struct err *e)
{
	return d->kernel->ops->marked(d->kernel, zones, cb, arg, e);
}

int observe_steers(struct daemon *d, int (*cb)(int parent, struct mac mac, void *arg), void *arg,
		   struct err *e)
{
	return d->kernel->ops->steers(d->kernel, cb, arg, e);
}

int observe_pins(struct daemon *d, int (*cb)(uint32_t n, int parent, void *arg), void *arg, struct err *e)
{
	return d->kernel->ops->pins(d->kernel, cb, arg, e);
}

const char *observe_name(struct daemon *d, const char *name, char buf[IFNAMSIZ])
{
	struct slink *s = slink_by_name(d, name);
	enum link_class class = CLASS_OTHER;
	struct vlink *renamed = s ? vlink_of_sys(d, &s->l, &class) : NULL;
	struct sys_link l;

	if (renamed && class != CLASS_IFB && !vlink_find(d, name))
		return renamed->s.name;
	if (vlink_find(d, name) || slink_by_name(d, name) || observe_find(d, "", name, &l, NULL) < 0)
		return name;
	memcpy(buf, l.name, IFNAMSIZ);
	return buf;
}

void observe_refresh(struct daemon *d, int ifindex)
{
	struct sys_link l;

	if (d->kernel->ops->link(d->kernel, "", ifindex, NULL, &l, NULL) == 0)
		slink_put(d, &l);
	else
		slink_drop(d, ifindex);
}

int observe_isolated(struct daemon *d, int (*cb)(uint32_t n, void *arg), void *arg, struct err *e)
{
	return d->kernel->ops->isolated(d->kernel, cb, arg, e);
}

int observe_iso(struct daemon *d, const struct node *n, bool up, struct iso_set *want, struct iso_set *have,
		struct err *e)
{
	return d->kernel->ops->iso(d->kernel, n, up, want, have, e);
}

int observe_means(struct daemon *d, struct means *ret, struct err *e)
{
	return d->kernel->ops->means(d->kernel, ret, e);
}

/* A parent that another line of a batch makes has no number yet: it will be like any new link. */
void observe_arp(struct daemon *d, int parent, struct node *n)
{
	bool there = n->link && !n->port.zone[0];

	d->kernel->ops->arp(d->kernel, parent > 0 ? parent : 0, &n->parent_arp, NULL);
	d->kernel->ops->arp(d->kernel, there ? n->port.ifindex : 0, &n->arp, NULL);
}

uint64_t observe_speed(struct daemon *d, int ifindex, int *ret_duplex)
{
	uint64_t bps = 0;
	int duplex = 2;

	if (d->kernel->ops->speed(d->kernel, ifindex, &bps, &duplex) < 0)
		bps = 0;
	if (ret_duplex)
		*ret_duplex = duplex;
	return bps;
}

void observe_below(struct daemon *d, struct vlink *v)
{
	static const struct mac none;
	enum link_class class;
	struct sys_link l;
	struct slink *s;

	if (!v->s.parent_row || v->parent.bus[0] || !mac_equal(v->parent.perm_mac, none) ||
	    observe_vlink_sys(d, v, &l) < 0 || vlink_of_sys(d, &l, &class) != v)
		return;
	s = slink_find(d, kern_real_lower(d->kernel, vlink_zone(v), &l));
	if (s)
		vlink_is_over(d, v, s);
}

void observe_subnets(struct daemon *d, struct vlink *v)
{
	struct slink *parent = vlink_parent(d, v), *self = slink_by_name(d, v->s.name);
	bool shares = false, warned = v->warn[0];

	if (v->s.class != CLASS_VNIC || v->s.over || !parent || !self || vlink_zone(v)[0] || want_isolate(v))
		v->warn[0] = '\0';
	else if (d->kernel->ops->shares_subnet(d->kernel, self->l.ifindex, parent->l.ifindex, &shares,
					       NULL) == 0)
		snprintf(v->warn, sizeof(v->warn),
			 shares ? "has an address in the subnet and namespace of %s: traffic between them "
				  "bypasses it, uncapped "
				  "(use -p zone=NAME or isolate=on)"
				: "%.0s",
			 parent->l.name);
	if (v->warn[0] && !warned)
		log_warning(v->s.name, "%s", v->warn);
}

/* It shares a subnet with itself. */
bool observe_addressed(struct daemon *d, int ifindex)
{
	bool any = false;

	d->kernel->ops->shares_subnet(d->kernel, ifindex, ifindex, &any, NULL);
	return any;
}

void observe_announce(struct daemon *d, struct vlink *v)
{
	uint64_t now = 0;

	sd_event_now(d->event, CLOCK_MONOTONIC, &now);
	v->announce = now + ANNOUNCE_US;
}

/* Others may still send to where it was before. */
static void announce(struct daemon *d, struct vlink *v, const struct kern_event *ev)
{
	struct kern_addr a;
	struct err e = {0};
	char text[600];
	uint64_t now = 0;

	if (!ev->added || sd_event_now(d->event, CLOCK_MONOTONIC, &now) < 0 || now > v->announce)
		return;
	a = *ev->added;
	a.mac = v->s.mac;
	if (kern_real_announce(d->kernel, vlink_zone(v), ev->ifindex, &a, &e) < 0)
		log_info(v->s.name, "%s", err_str(&e, text, sizeof(text)));
}

/* Notifications: what each may concern is looked at later, when all of them are read. */

static void touch_waiting(struct daemon *d)
{
	struct vlink *v;

	DL_FOREACH (d->waiting, v)
		if (v->trouble != TROUBLE_WAITING)
			d->touched(d, v, false);
}

/* Where somebody moved v to: a look into every namespace, since the kernel tells only in the words of the old
 * one. */
struct search {
	struct daemon *d;
	const struct vlink *v;
	bool found;
	char zone[ZONE_MAX];
};

static int search_link(const struct port *port, uint32_t n, enum link_class class, void *arg)
{
	struct search *s = arg;
	struct sys_link l;

	if (n != s->v->s.n || class != s->v->s.class)
		return 0;
	/* Others can give its alias to any link; two of one MAC address cannot be. */
	if (class == CLASS_VNIC && port->zone[0] &&
	    (s->d->kernel->ops->link(s->d->kernel, port->zone, 0, port->name, &l, NULL) < 0 ||
	     !mac_equal(l.mac, s->v->s.mac)))
		return 0;
	s->found = true;
	memcpy(s->zone, port->zone, sizeof(s->zone));
	return 1;
}

static void search(struct daemon *d, struct search *s)
{
	char *end = NULL;
	UT_array *zones;

	utarray_new(zones, &ut_str_icd);
	observe_zones(d, zones);
	utarray_push_back(zones, &end);
	d->kernel->ops->marked(d->kernel, (const char *const *)utarray_front(zones), search_link, s, NULL);
	utarray_free(zones);
}

static void set_place(struct vlink *v, const char *zone)
{
	bool news = strcmp(zone, vlink_zone(v)) != 0;

	v->moved = strcmp(zone, prop_zone(&v->props)) != 0;
	snprintf(v->place, sizeof(v->place), "%s", zone);
	if (news)
		log_info(v->s.name, "was moved to %s%s: it stays ours", zone[0] ? "zone " : "this namespace",
			 zone);
}

/* Where it was seen last there is one of its kind with its number: what alias that has is its user's doing.
 */
static bool is_in_place(struct daemon *d, const struct vlink *v)
{
	struct sys_link l;
	enum link_class class;

	if (v->s.class == CLASS_FOREIGN)
		return v->below;
	if (observe_vlink_sys(d, v, &l) < 0)
		return false;
	return vlink_of_sys(d, &l, &class) == v ||
	       (v->s.class == CLASS_VNIC && l.ifindex == v->at.ifindex && !strcmp(l.kind, "macvlan"));
}

bool observe_locate(struct daemon *d, struct vlink *v)
{
	struct search s = {.d = d, .v = v};

	if (is_in_place(d, v))
		return true;
	search(d, &s);
	if (s.found)
		set_place(v, s.zone);
	return s.found;
}

static void came(struct daemon *d, struct vlink *v, const char *zone)
{
	set_place(v, zone);
	v->leaving = false;
	v->repair_timer = sd_event_source_disable_unref(v->repair_timer);
	d->touched(d, v, false);
}

/* Told of as gone long before it arrives where somebody moves it to. */
static void went(struct daemon *d, struct vlink *v, const struct kern_event *ev)
{
	if (ev->new_ifindex)
		d->leaving(d, v);
	else
		d->touched(d, v, true);
}

static void own_gone(struct daemon *d, const struct kern_event *ev)
{
	struct slink *s = slink_find(d, ev->ifindex);
	enum link_class class = CLASS_OTHER;
	struct vlink *v = s ? vlink_of_sys(d, &s->l, &class) : NULL;

	slink_drop(d, ev->ifindex);
	touch_waiting(d);
	if (v)
		went(d, v, ev);
}

static void touch_above(struct daemon *d, struct slink *s, bool all)
{
	struct vlink *v;

	DL_FOREACH (s->above, v)
		if (all || v->trouble == TROUBLE_WAITING)
			d->touched(d, v, false);
}

/* What decides about the caps and flows of a link that others made? */
static bool is_another(const struct sys_link *was, const struct sys_link *is)
{
	return was->mtu != is->mtu || !mac_equal(was->mac, is->mac) || was->master != is->master ||
	       strcmp(was->slave_kind, is->slave_kind) != 0;
}

static void own_link(struct daemon *d, const struct kern_event *ev)
{
	struct slink *s = slink_find(d, ev->ifindex);
	uint32_t mtu = s ? s->l.mtu : ev->l->mtu;
	enum link_class class, was_class = CLASS_OTHER;
	struct vlink *v, *was = s ? vlink_of_sys(d, &s->l, &was_class) : NULL;
	/* Its routes go with it and come again: nobody meddled. */
	bool turned = s && ((s->l.flags ^ ev->l->flags) & IFF_UP);
	bool another = s && is_another(&s->l, ev->l);

	/* As it was before it was marked: no news tells that of a down link. */
	if (ev->l->group == GROUP_LIVE && !ev->l->alias[0])
		observe_refresh(d, ev->ifindex);
	else
		slink_put(d, ev->l);
	s = slink_find(d, ev->ifindex);
	if (!s)
		return;
	touch_above(d, s, mtu != s->l.mtu);
	if (another && foreign_on(s))
		d->touched(d, foreign_on(s), false);
	if (s->speed)
		d->speed_changed(d, s);
	v = vlink_of_sys(d, &s->l, &class);
	/* Others took its alias away. */
	if (!v && was)
		d->touched(d, was, true);
	else if (v && class == CLASS_VNIC && vlink_zone(v)[0])
		came(d, v, "");
	else if (v)
		d->touched(d, v, !(turned && want_isolate(v)));
}

/* A parent's addresses, or the routes over it, are others than they were. */
static void readdressed(struct daemon *d, struct slink *parent)
{
	struct vlink *v;

	observe_survey(d, parent->vnics);
	DL_FOREACH (parent->above, v) {
		if (want_isolate(v))
			d->touched(d, v, false);
		observe_subnets(d, v);
	}
	observe_survey_end(d);
}

/* Addresses or qdiscs. One VNIC's look is enough to see whether a parent's hook still stands. */
static void own_other(struct daemon *d, const struct kern_event *ev)
{
	int ifindex = ev->ifindex;
	struct slink *s = slink_find(d, ifindex);
	enum link_class class;
	struct vlink *v = s ? vlink_of_sys(d, &s->l, &class) : NULL, *first;

	if (v) {
		d->touched(d, v, !(ev->routing && want_isolate(v)));
		if (ev->routing)
			observe_subnets(d, v);
		announce(d, v, ev);
	}
	if (!s)
		return;
	DL_SEARCH_SCALAR(s->above, first, hook, ifindex);
	if (first && !ev->routing)
		d->touched(d, first, true);
	if (foreign_on(s) && !ev->routing)
		d->touched(d, foreign_on(s), true);
	if (ev->routing)
		readdressed(d, s);
}

static void own_rules(struct daemon *d, const struct kern_event *ev)
{
	struct vlink *v = vlink_by_n(d, (uint32_t)-ev->ifindex);

	if (!v || !want_isolate(v))
		return;
	v->rules |= !ev->routing;
	d->touched(d, v, !ev->routing);
}

/* The VNIC whose alias a link in another namespace carries that is not known by its numbers. Who is root
 * there can give any alias to any link: it is no other's that is where it was, or that did not leave. */
static struct vlink *claimed(struct daemon *d, const struct kern_event *ev)
{
	enum link_class class = CLASS_OTHER;
	struct vlink *v = ev->l && !ev->gone ? vlink_of_sys(d, ev->l, &class) : NULL;

	if (!v || class != CLASS_VNIC || v->trouble == TROUBLE_LOST || is_in_place(d, v))
		return NULL;
	return v->leaving || mac_equal(ev->l->mac, v->s.mac) ? v : NULL;
}

/* In another namespace: a link known by its numbers, or one that carries our alias. */
static void other_ns(struct daemon *d, const struct kern_event *ev)
{
	struct vlink *at = vlink_at(d, ev->nsid, ev->ifindex), *v = at ? at : claimed(d, ev);
	char zone[ZONE_MAX];

	if (!v)
		return;
	if (ev->gone) {
		vlink_seen_at(d, v, 0, 0);
		went(d, v, ev);
	} else if (v == at) {
		announce(d, v, ev);
		/* Its addresses are its user's. */
		if (ev->l || ev->queues || !ev->routing)
			d->touched(d, v, true);
	} else if (kern_real_zone(d->kernel, ev->nsid, zone, NULL) == 0) {
		vlink_seen_at(d, v, ev->nsid, ev->ifindex);
		came(d, v, zone);
	}
}

static void ns_gone(struct daemon *d, int nsid)
{
	struct vlink *v, *next;

	HASH_ITER (hh_at, d->by_at, v, next)
		if (v->at.nsid == nsid) {
			vlink_seen_at(d, v, 0, 0);
			d->touched(d, v, false);
		}
}

static void one_event(const struct kern_event *ev, void *arg)
{
	struct daemon *d = arg;

	if (ev->nsid != OWN_NS && !ev->ifindex)
		ns_gone(d, ev->nsid);
	else if (ev->nsid != OWN_NS)
		other_ns(d, ev);
	else if (ev->gone)
		own_gone(d, ev);
	else if (ev->l)
		own_link(d, ev);
	else if (ev->ifindex < 0)
		own_rules(d, ev);
	else
		own_other(d, ev);
}

/* Everything may have changed: all is read and looked at again. */
static void resync(struct daemon *d)
{
	struct vlink *v, *next;
	struct err e = {0};
	char text[600];

	log_info(NULL, "the kernel dropped notifications: reading all links again");
	if (observe_links(d, &e) < 0)
		log_error(NULL, "cannot read the links: %s", err_str(&e, text, sizeof(text)));
	HASH_ITER (hh_n, d->by_n, v, next)
		d->touched(d, v, true);
}

static int on_resync(sd_event_source *source, uint64_t usec, void *arg)
{
	struct daemon *d = arg;

	(void)usec;
	sd_event_source_disable_unref(source);
	d->resync = NULL;
	resync(d);
	return 0;
}

/* At most once in RESYNC_US, however often the kernel drops notifications: a storm must not be answered by
 * dumps. */
static void resync_soon(struct daemon *d)
{
	if (!d->resync)
		sd_event_add_time_relative(d->event, &d->resync, CLOCK_MONOTONIC, RESYNC_US, 0, on_resync, d);
}

static int on_events(sd_event_source *source, int fd, uint32_t revents, void *arg)
{
	struct daemon *d = arg;

	(void)source;
	(void)fd;
	(void)revents;
	if (kern_real_events(d->kernel, one_event, d) == -ENOBUFS)
		resync_soon(d);
	return 0;
}

int observe_start(struct daemon *d, struct err *e)
{
	int r = sd_event_add_io(d->event, &d->notify, kern_real_event_fd(d->kernel), EPOLLIN, on_events, d);

	if (r >= 0)
		r = zonewatch_start(d);
	return r < 0 ? err_sys(e, r, NULL, "cannot wait for notifications: %s", strerror(-r)) : 0;
}

void observe_place(struct daemon *d, struct vlink *v, int ifindex)
{
	const char *zone = vlink_zone(v);
	int nsid;

	if (!zone[0] || !ifindex)
		vlink_seen_at(d, v, OWN_NS, ifindex);
	else if (kern_real_nsid(d->kernel, zone, &nsid, NULL) == 0)
		vlink_seen_at(d, v, nsid, ifindex);
}

struct vlink *observe_at(struct daemon *d, const struct port *port)
{
	int nsid = OWN_NS;

	if (port->zone[0] && kern_real_nsid(d->kernel, port->zone, &nsid, NULL) < 0)
		return NULL;
	return vlink_at(d, nsid, port->ifindex);
}

static int add_zone(const char *zone, void *arg)
{
	utarray_push_back((UT_array *)arg, &zone);
	return 0;
}

void observe_zones(struct daemon *d, UT_array *zones)
{
	kern_real_zones(d->kernel, add_zone, zones);
}

int observe_flows(struct daemon *d, const struct node *n, const uint32_t *slots, size_t count,
		  struct flow_stats *ret)
{
	return d->kernel->ops->flow_counts(d->kernel, n, slots, count, ret, NULL);
}

int observe_flow_odd(struct daemon *d, const struct node *n, struct flow_odd *ret)
{
	return d->kernel->ops->flow_odd(d->kernel, n, ret, NULL);
}
