/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The daemon's memory: the desired links (as in state.db) and the own namespace's links (kept by
 * notifications). Holds and finds; decides nothing and never touches the kernel.
 */
#pragma once

#include "lib/model/link.h"
#include "lib/model/prop.h"
#include "vnicd/daemon.h"
#include "vnicd/repair.h"
#include "vnicd/store.h"

#include <uthash.h>

struct dryrun;
struct flow;
struct flow_room;
struct kernel;
struct places;
struct stream;

/* Why a link is not as it was asked for; the STATE that show-link gives it. */
enum trouble { TROUBLE_NONE, TROUBLE_LOST, TROUBLE_WAITING, TROUBLE_OVERRIDDEN };

/* One VNIC, etherstub or VLAN as asked for, with what is known about it beside the kernel. */
struct vlink {
	struct store_link s;
	struct ident parent; /* of s.parent_row */
	struct props props;
	struct props kept; /* of them, what outlives this boot */
	struct counter counters[CTR_COUNT];
	int hook; /* ifindex of the parent whose hook steers to it, 0 none */
	enum trouble trouble;
	char why[200];  /* what the trouble is */
	char warn[300]; /* what the user should know; goes into WHY */

	unsigned staged;           /* its change in the batch under way, counted from 1 */
	struct slink *below;       /* the link a VNIC is over; NULL while that is not there */
	struct vlink *prev, *next; /* in below->above, or in daemon.waiting */

	bool seen;  /* at start: its link was found */
	bool raise; /* to be up when it can be made right: an earlier daemon did not come to that */
	char half_name[IFNAMSIZ]; /* at start: an interrupted request may have given it this name */
	struct flow *flows;       /* of it, the oldest first */
	struct flow *flow_texts;  /* by what they match */
	struct counter rest[FLOW_CTR_COUNT]; /* what no flow of it takes, since the daemon began */
	struct counter fragments, unparsed;  /* of struct flow_odd, both directions; as rest */
	struct flow_room *room;              /* see flowroom.h; NULL: it never had a flow */
	struct flow_set *flow_set;           /* want_flows() fills it; its own */
	bool moved; /* somebody moved it: it is in place, not where its zone property says */
	char place[ZONE_MAX];
	struct {
		int nsid, ifindex;
	} at; /* where it was seen last; nsid OWN_NS: in the own namespace; ifindex 0: nowhere */

	bool unkept;      /* that is to be noted in the store */
	bool leaving;     /* on its way to another namespace */
	uint64_t look_us; /* so long after it was last looked for there */
	uint64_t
		announce; /* until then (CLOCK_MONOTONIC, us) its new addresses are told: it was made again */
	bool rules;       /* others changed its rules or routes of isolation */
	bool dirty;       /* to be looked at: */
	bool foreign, expected; /* since others changed it; since its parent or zone did */
	struct vlink *dirty_next;
	struct repair repair;
	sd_event_source *repair_timer; /* runs while a repair waits */
	struct daemon *owner;          /* for the timer */
	struct {
		const struct slink *below;
		struct mac mac;
		uint16_t zero;
	} mac_key; /* while it is over a link: who there has this MAC */
	UT_hash_handle hh_n, hh_name, hh_at, hh_mac;
};

/* A link of the own namespace. */
struct slink {
	struct sys_link l;
	uint64_t speed;      /* as last read for a percentage; bits/s, 0 none */
	unsigned steered;    /* VNICs steered through its hook */
	struct vlink *above; /* the VNICs over it */
	unsigned vnics;      /* how many these are */
	bool seen;           /* in the dump that is being read */
	struct {
		int lower;
		struct mac mac;
		uint16_t zero;
	} mac_key;
	UT_hash_handle hh, hh_name, hh_mac;
};

/* How a link answered ARP before isolation changed it. */
struct arp_was {
	int ifindex;
	struct arp arp;
	UT_hash_handle hh;
};

struct daemon {
	const struct options *options;
	sd_event *event;
	struct store *store;
	struct kernel *kernel;
	struct vlink *by_n, *by_name, *by_at, *by_mac;
	struct slink *links, *links_by_name, *links_by_mac;
	struct arp_was *arps;
	struct flow *flows;    /* by name */
	struct vlink *waiting; /* VNICs whose link below is not there */
	struct vlink *dirty;   /* to be looked at when the notifications are read */
	sd_event_source *notify, *resync, *mend, *zones, *zones_again;
	unsigned zones_tries; /* so often a name without a namespace was looked at */
	/* Something about v may have changed; foreign: by others, and not by what became of its parent or
	 * zone. */
	void (*touched)(struct daemon *d, struct vlink *v, bool foreign);
	/* v is on its way to another namespace. */
	void (*leaving)(struct daemon *d, struct vlink *v);
	void (*speed_changed)(struct daemon *d, struct slink *parent);
	/* v was seen somewhere else than before. */
	void (*placed)(struct daemon *d, struct vlink *v);
	struct places *places;
	struct dryrun *dry;     /* a dry run is under way */
	struct stream *streams; /* live statistics going out */
	char world[128];        /* boot id and namespace */
	char boot[64];
	unsigned surveys; /* under way, one within the other */
	bool starting;    /* what no isolated VNIC needs is put back when all are adopted */
};

/* Desired links. */
int world_load(struct daemon *d, struct err *e);
struct vlink *vlink_find(const struct daemon *d, const char *name);
struct vlink *vlink_by_n(const struct daemon *d, uint32_t n);
struct vlink *vlink_new(void);
struct vlink *vlink_copy(const struct vlink *v); /* not in any table; NULL without memory */
struct vlink *vlink_free(struct vlink *v);
void world_add(struct daemon *d, struct vlink *v);    /* takes ownership */
void world_remove(struct daemon *d, struct vlink *v); /* frees v */
/* Takes v out without freeing it, and back in as it was: a batch sees the world as it will be. */
void world_take(struct daemon *d, struct vlink *v);
void world_put_back(struct daemon *d, struct vlink *v);
/* A VNIC of ours over below with this MAC, or NULL; the same for any link over it. */
struct vlink *vlink_by_mac(const struct daemon *d, const struct slink *below, struct mac mac);
struct slink *slink_by_mac(const struct daemon *d, int lower, struct mac mac);
void world_free(struct daemon *d);
/* Where v is: its zone property's zone, or where somebody moved it. */
const char *vlink_zone(const struct vlink *v);
/* Notes where v was seen; ifindex 0 forgets. */
void vlink_seen_at(struct daemon *d, struct vlink *v, int nsid, int ifindex);
struct vlink *vlink_at(const struct daemon *d, int nsid, int ifindex);

/* Links of the own namespace. */
struct slink *slink_find(const struct daemon *d, int ifindex);
struct slink *slink_by_name(const struct daemon *d, const char *name);
int slink_put(struct daemon *d, const struct sys_link *l); /* -ENOMEM */
void slink_drop(struct daemon *d, int ifindex);
/* v turned out to be over s, whatever name that had when it was last seen. */
void vlink_is_over(struct daemon *d, struct vlink *v, struct slink *s);

/* Another MAC address for v, which is a link that others made. */
void vlink_set_mac(struct daemon *d, struct vlink *v, struct mac mac);

/* The link below v in the own namespace, or NULL when it is not there now. */
static inline struct slink *vlink_parent(const struct daemon *d, const struct vlink *v)
{
	(void)d;
	return v->below;
}
/* v's own link in the own namespace, also under another name, or the one that is not ours; NULL when it is
 * not there. */
struct slink *vlink_own(const struct daemon *d, const struct vlink *v);
/* The VLAN link that v is over, or NULL. */
struct vlink *vlink_vlan(const struct daemon *d, const struct vlink *v);
/* The name of what v is over, as stored when it is not there; "" for an etherstub. For a VNIC of a VLAN, what
 * that is over. */
const char *vlink_over(const struct daemon *d, const struct vlink *v, char buf[IFNAMSIZ]);
/* The vlink a link of the own namespace is, by its alias; NULL when it is none of ours. class: CLASS_IFB for
 * an ifb. */
struct vlink *vlink_of_sys(const struct daemon *d, const struct sys_link *l, enum link_class *ret_class);
/* CLASS as shown: vnic, etherstub, phys, ifb or the kernel's kind. */
const char *sys_class(const struct daemon *d, const struct sys_link *l);
