/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The daemon's memory: the desired links (as in state.db) and the own namespace's links (kept by
 * notifications). Holds and finds; decides nothing and never touches the kernel.
 */
#pragma once

#include "lib/model/link.h"
#include "lib/model/prop.h"
#include "vnicd/daemon.h"
#include "vnicd/store.h"

#include <uthash.h>

struct kernel;
struct stream;

/* One VNIC or etherstub as asked for, with what is known about it beside the kernel. */
struct vlink {
	struct store_link s;
	struct ident parent; /* of s.parent_row */
	struct props props;
	struct counter counters[CTR_COUNT];
	int hook;       /* ifindex of the parent whose hook steers to it, 0 none */
	char lost[200]; /* why it is not where it was put; "" when it is */
	char warn[300]; /* what the user should know; goes into WHY */
	UT_hash_handle hh_n, hh_name;
};

/* A link of the own namespace. */
struct slink {
	struct sys_link l;
	uint64_t speed;   /* as last read for a percentage; bits/s, 0 none */
	unsigned steered; /* VNICs steered through its hook */
	UT_hash_handle hh, hh_name;
};

struct daemon {
	const struct options *options;
	sd_event *event;
	struct store *store;
	struct kernel *kernel;
	struct vlink *by_n, *by_name;
	struct slink *links, *links_by_name;
	sd_event_source *notify;
	void (*changed)(struct daemon *d, int ifindex,
			bool link_news); /* a link of the own namespace is new, changed or gone; !link_news:
					    its addresses or qdiscs are */
	struct stream *streams;          /* live statistics going out */
	char world[128];                 /* boot id and namespace */
	char boot[64];
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
void world_free(struct daemon *d);

/* Links of the own namespace. */
struct slink *slink_find(const struct daemon *d, int ifindex);
struct slink *slink_by_name(const struct daemon *d, const char *name);
int slink_put(struct daemon *d, const struct sys_link *l); /* -ENOMEM */
void slink_drop(struct daemon *d, int ifindex);

/* The link below v in the own namespace, or NULL when it is not there now. */
struct slink *vlink_parent(const struct daemon *d, const struct vlink *v);
/* The name of what v is over, as stored when it is not there; "" for an etherstub. */
const char *vlink_over(const struct daemon *d, const struct vlink *v, char buf[IFNAMSIZ]);
/* The vlink a link of the own namespace is, by its alias; NULL when it is none of ours. class: CLASS_IFB for
 * an ifb. */
struct vlink *vlink_of_sys(const struct daemon *d, const struct sys_link *l, enum link_class *ret_class);
/* CLASS as shown: vnic, etherstub, phys, ifb or the kernel's kind. */
const char *sys_class(const struct daemon *d, const struct sys_link *l);
