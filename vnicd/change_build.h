/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What single changes and batches share: from parameters to a checked change that is not carried out. Does
 * nothing to kernel or store but give a parent its row. */
#pragma once

#include "vnicd/reconcile.h"

#include <jansson.h>

/* A parameter that is a text; NULL for none, and for an empty one: varlink clients send both. */
const char *change_text(const json_t *params, const char *key);
/* What change_note_place() has said, and of how many; starts as zeros. */
struct place_notes {
	unsigned beside, apart; /* VNICs in their parents' namespaces, and out of these' reach */
	int parent;             /* asked for last: has it addresses? */
	bool addressed;
};
/* Adds to notes what the user should know of where a new VNIC is, or one that is somewhere else now; of many
 * only of the first, and for the others change_note_more() speaks in the end. */
void change_note_place(struct daemon *d, const struct change *c, json_t *notes, struct place_notes *p);
void change_note_more(const struct place_notes *p, json_t *notes);
/* ... and of its parent's driver. */
void change_note_driver(const struct slink *parent, json_t *notes);
/* Fills v from the parameters of CreateVnic or CreateEtherstub, and checks it. */
int change_build_vnic(struct daemon *d, const json_t *c, struct vlink *v, struct slink **ret_parent,
		      struct err *e);
/* A VLAN link over parent. */
int change_build_vlan(struct daemon *d, struct slink *parent, uint16_t vid, struct vlink *v, struct err *e);
int change_build_stub(struct daemon *d, const json_t *c, struct vlink *v, struct err *e);
/* The link of this class called name, if it can be deleted now. */
int change_deletable(struct daemon *d, const char *name, enum link_class class, struct vlink **ret,
		     struct err *e);

/* Changes props of v by list; temp: until the next boot. */
typedef int edit_fn(struct vlink *v, const json_t *list, bool temp, struct err *e);
/* ret->new is a copy of the link with the change made and checked; it is the caller's, also on failure. Of a
 * link that is not ours (CLASS_FOREIGN) old is NULL when nothing was wanted until now, and new when nothing
 * is any more. */
int change_build(struct daemon *d, const json_t *c, edit_fn *edit, struct change *ret, struct err *e);
int change_build_rename(struct daemon *d, const json_t *c, struct change *ret, json_t *notes, struct err *e);
/* Edits for change_build(). */
int change_edit_set(struct vlink *v, const json_t *list, bool temp, struct err *e);
int change_edit_reset(struct vlink *v, const json_t *list, bool temp, struct err *e);
/* Is v's link in the kernel now? */
bool change_is_there(struct daemon *d, struct vlink *v);
