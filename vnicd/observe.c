/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reads the kernel into the world. Never changes anything there and never plans. */
#include "vnicd/observe.h"

#include "lib/kern/kern.h"
#include "vnicd/log.h"
#include "vnicd/want.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>

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

	HASH_ITER (hh, d->links, s, next)
		slink_drop(d, s->l.ifindex);
	return d->kernel->ops->links(d->kernel, put, d, e);
}

static void key_for(struct daemon *d, const struct vlink *v, const char *zone, struct node *key)
{
	struct slink *parent = vlink_parent(d, v);

	*key = (struct node){.n = v->s.n, .class = v->s.class, .mac = v->s.mac, .mtu = want_mtu(d, v)};
	snprintf(key->port.zone, sizeof(key->port.zone), "%s", zone);
	memcpy(key->port.name, v->s.name, sizeof(key->port.name));
	if (parent && v->s.class == CLASS_VNIC) {
		memcpy(key->parent.name, parent->l.name, sizeof(key->parent.name));
		key->parent.ifindex = parent->l.ifindex;
	}
	node_ifb_name(v->s.n, key->ifb_port.name);
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

int observe_hook(struct daemon *d, int parent, bool *ret, struct err *e)
{
	return d->kernel->ops->observe_hook(d->kernel, parent, ret, e);
}

int observe_find(struct daemon *d, const char *zone, const char *name, struct sys_link *ret, struct err *e)
{
	return d->kernel->ops->link(d->kernel, zone, 0, name, ret, e);
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
	struct sys_link l;

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

void observe_subnets(struct daemon *d, struct vlink *v)
{
	struct slink *parent = vlink_parent(d, v), *self = slink_by_name(d, v->s.name);
	bool shares = false, warned = v->warn[0];

	if (v->s.class != CLASS_VNIC || v->s.over || !parent || !self || prop_zone(&v->props)[0])
		v->warn[0] = '\0';
	else if (d->kernel->ops->shares_subnet(d->kernel, self->l.ifindex, parent->l.ifindex, &shares,
					       NULL) == 0)
		snprintf(v->warn, sizeof(v->warn),
			 shares ? "has an address in the subnet and namespace of %s: traffic between them "
				  "bypasses it, uncapped "
				  "(use -p zone=NAME)"
				: "%.0s",
			 parent->l.name);
	if (v->warn[0] && !warned)
		log_warning(v->s.name, "%s", v->warn);
}

struct events {
	struct daemon *d;
	void (*changed)(struct daemon *d, int ifindex, bool link_news);
};

/* News from before a link of ours was marked must not hide it: while it is down, none follows of the mark. */
static void one_event(int ifindex, bool gone, const struct sys_link *l, void *arg)
{
	struct events *ev = arg;

	if (gone)
		slink_drop(ev->d, ifindex);
	else if (l && l->group == GROUP_LIVE && !l->alias[0])
		observe_refresh(ev->d, ifindex);
	else if (l)
		slink_put(ev->d, l);
	ev->changed(ev->d, ifindex, gone || l);
}

static void resync(struct events *ev)
{
	struct slink *s, *next;
	struct err e = {0};
	char text[600];

	log_info(NULL, "the kernel dropped notifications: reading all links again");
	if (observe_links(ev->d, &e) < 0)
		log_error(NULL, "cannot read the links: %s", err_str(&e, text, sizeof(text)));
	HASH_ITER (hh, ev->d->links, s, next)
		ev->changed(ev->d, s->l.ifindex, true);
}

static int on_events(sd_event_source *source, int fd, uint32_t revents, void *arg)
{
	struct events ev = {.d = arg};

	(void)source;
	(void)fd;
	(void)revents;
	ev.changed = ev.d->changed;
	if (kern_real_events(ev.d->kernel, one_event, &ev) == -ENOBUFS)
		resync(&ev);
	return 0;
}

int observe_start(struct daemon *d, void (*changed)(struct daemon *d, int ifindex, bool link_news),
		  struct err *e)
{
	int r;

	d->changed = changed;
	r = sd_event_add_io(d->event, &d->notify, kern_real_event_fd(d->kernel), EPOLLIN, on_events, d);
	return r < 0 ? err_sys(e, r, NULL, "cannot wait for notifications: %s", strerror(-r)) : 0;
}
