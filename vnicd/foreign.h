/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Links that others made and that have caps or flows of ours (CLASS_FOREIGN): which can, which do. Changes
 * nothing in the kernel. Such a link is known by what it is, as a VNIC's parent is; its name is its own, and
 * may be a VNIC's in a zone as well.
 */
#pragma once

#include "vnicd/world.h"

/* 0, or why l can have neither caps nor flows, and what to use instead. */
int foreign_check(const struct daemon *d, const struct sys_link *l, struct err *e);
/* What is wanted of the link s, or of the one of that name (also one that is not there now); NULL: nothing.
 */
struct vlink *foreign_on(const struct slink *s);
struct vlink *foreign_find(const struct daemon *d, const char *name);
/* The link of ours of that name, else what is wanted of one that is not. */
struct vlink *foreign_or_own(const struct daemon *d, const char *name);
/* Is v such a link of which nothing is wanted any more? Of another class: no. */
bool foreign_idle(const struct vlink *v);
/* For the link s, of which nothing is wanted as yet; not in the world. s has its row of parents then. */
int foreign_new(struct daemon *d, const struct slink *s, struct vlink **ret, struct err *e);
/* The class as shown. */
const char *foreign_class(const struct vlink *v);
