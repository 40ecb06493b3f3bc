/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What must hold before a link is made or changed: names, addresses, MTUs, zones, speeds. Changes nothing. */
#pragma once

#include "vnicd/world.h"

/* Is it one of ours that an earlier line of a batch deletes? Then it counts as gone. */
bool check_going(const struct daemon *d, const struct sys_link *l);
/* The link called name (or with that altname) if VNICs can be made over it. */
int check_parent(struct daemon *d, const char *name, struct slink **ret, struct err *e);
/* Is name fit for a new link of ours, and free among ours? */
int check_new_name(struct daemon *d, const char *name, struct err *e);
/* Can v, which is called old so far, be called as it now is, where it is? */
int check_rename(struct daemon *d, const struct vlink *v, const struct vlink *old, struct err *e);
/* The lowest vnicN that is free. */
void check_next_name(struct daemon *d, char ret[IFNAMSIZ]);
/* Is vid a VLAN identifier? link: for errors. */
int check_vid(const char *link, long long vid, struct err *e);
/* A free name for a VLAN link: parent.vid, where that fits and is free. */
void check_vlan_name(struct daemon *d, const struct slink *parent, uint16_t vid, char ret[IFNAMSIZ]);
/* Picks or checks v's MAC: how is NULL, "auto", "random" or an address; prefix NULL or 1 to 5 bytes. */
int check_mac(struct daemon *d, struct vlink *v, const char *how, const char *prefix, struct err *e);
/* Another MAC for a link whose MAC nobody gave: the automatic one of this machine, or the first three bytes
 * and three random ones. */
int check_redraw(struct daemon *d, struct vlink *v, struct err *e);
/*
 * Do v's properties hold here and now: MTU within the parent's and over that of the VNICs on it, a speed for
 * a percentage, a zone that is there and has no other link of that name? old: what it was, NULL for a new
 * link.
 */
int check_props(struct daemon *d, const struct vlink *v, const struct vlink *old, struct err *e);
