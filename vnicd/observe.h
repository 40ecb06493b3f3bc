/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Kernel -> observed world: the first dump, the notifications after it, and the reading of single objects.
 * Changes nothing in the kernel.
 */
#pragma once

#include "lib/model/say.h"
#include "lib/model/stats.h"
#include "vnicd/world.h"

#include <utarray.h>

/* Opens the kernel of the own namespace as d->kernel, with d->store's marks; observe_close() closes it, also
 * twice. */
int observe_open(struct daemon *d, struct err *e);
void observe_close(struct daemon *d);

/* One full dump into the world's links; those that it does not have are dropped. */
int observe_links(struct daemon *d, struct err *e);
/* What the kernel has for v, looked for in zone. A zone that is gone counts as nothing there, with *ret_gone
 * set. */
int observe_vlink(struct daemon *d, const struct vlink *v, const char *zone, struct node *ret, bool *ret_gone,
		  struct err *e);
int observe_hook(struct daemon *d, int parent, bool *ret, struct err *e);
/* Finds a link by name or altname in a zone. -ENODEV when there is none, -ENOENT when there is no such zone.
 */
int observe_find(struct daemon *d, const char *zone, const char *name, struct sys_link *ret, struct err *e);
/* By its number; lower: the own namespace's link below it, or 0. */
int observe_numbered(struct daemon *d, const char *zone, int ifindex, struct sys_link *ret, int *ret_lower);
/* v's link in the zone it is in, by the number it has there, else by name. -ENODEV, -ENOENT as above. */
int observe_vlink_sys(struct daemon *d, const struct vlink *v, struct sys_link *ret);
/* The name of the own namespace's link that name is an alternative name of, in buf; else name itself. */
const char *observe_name(struct daemon *d, const char *name, char buf[IFNAMSIZ]);
/* Brings one link of the own namespace up to date in the world at once, without waiting for its notification.
 */
void observe_refresh(struct daemon *d, int ifindex);
/* The number of every VNIC that has a rule or route of isolation; one may come more than once. */
int observe_isolated(struct daemon *d, int (*cb)(uint32_t n, void *arg), void *arg, struct err *e);
/* What a dry run needs to know: see kernel_ops. */
int observe_iso(struct daemon *d, const struct node *n, bool up, struct iso_set *want, struct iso_set *have,
		struct err *e);
int observe_means(struct daemon *d, struct means *ret, struct err *e);
/* ARP settings of n's parent and of n, or of what n will be in the own namespace. */
void observe_arp(struct daemon *d, int parent, struct node *n);
/*
 * count links are looked at next: when they are many, the own namespace is read once, and asked there until
 * something is changed. Every survey has its end, after the last look; one may hold others.
 */
#define OBSERVE_MANY 16
void observe_survey(struct daemon *d, size_t count);
void observe_survey_end(struct daemon *d);
/* v was made again: for ten minutes the addresses that it gets are told to its neighbours. */
void observe_announce(struct daemon *d, struct vlink *v);
/* Bits/s, 0 when the link has or tells none; duplex as kernel_ops. */
uint64_t observe_speed(struct daemon *d, int ifindex, int *ret_duplex);
/* A VNIC that is there is over the link that it is over, whatever that is called now: for a parent that
 * nothing but its name tells from others. */
void observe_below(struct daemon *d, struct vlink *v);
/* Does the VNIC have an address inside one of its parent's subnets? Sets or clears v->warn. */
void observe_subnets(struct daemon *d, struct vlink *v);
/* What the flows of n in these slots have counted; see kernel_ops. */
int observe_flows(struct daemon *d, const struct node *n, const uint32_t *slots, size_t count,
		  struct flow_stats *ret);
int observe_flow_odd(struct daemon *d, const struct node *n, struct flow_odd *ret);
/* Has a link of the own namespace an address, other than link-local ones? */
bool observe_addressed(struct daemon *d, int ifindex);

/* Everything of ours in the own namespace and the zones (a list ended by NULL); see kernel_ops. */
int observe_marked(struct daemon *d, const char *const *zones,
		   int (*cb)(const struct port *port, uint32_t n, enum link_class class, void *arg),
		   void *arg, struct err *e);
int observe_steers(struct daemon *d, int (*cb)(int parent, struct mac mac, void *arg), void *arg,
		   struct err *e);
int observe_pins(struct daemon *d, int (*cb)(uint32_t n, int parent, void *arg), void *arg, struct err *e);

/*
 * Reads notifications from d->event from now on, of the own namespace and of the zones that have VNICs:
 * d->touched() is called for each link of ours that one may concern, d->speed_changed() for a parent with
 * caps in percent.
 */
int observe_start(struct daemon *d, struct err *e);
/* Hears of v from now on in the zone it is in; ifindex: its number there. */
void observe_place(struct daemon *d, struct vlink *v, int ifindex);
/* Is v where it is thought to be? Else it is looked for in every namespace, and its place noted. False: it is
 * gone. */
bool observe_locate(struct daemon *d, struct vlink *v);
/* The link of ours that was seen there, by its numbers; NULL: none. */
struct vlink *observe_at(struct daemon *d, const struct port *port);
/* Appends the name or path of every other namespace (char *). */
void observe_zones(struct daemon *d, UT_array *zones);
