/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Making the kernel equal to the desired world: observe, plan, apply, read back; and saving it, one
 * transaction a request. The only caller of plan and apply.
 */
#pragma once

#include "vnicd/world.h"

/* old NULL: created. new NULL: deleted. Both: changed; new is a copy of old (same n). */
struct change {
	struct vlink *old, *new;
	bool staged; /* the world has new in the place of old already */
	bool placed; /* the request says where new should be: it goes there, wherever others moved it */
	bool early;  /* old's name or MAC is taken again in the same request: it goes before its row does */
};

/*
 * All of it or none: intents saved, operations applied and read back, rows saved, world updated. On success
 * the world owns every new and has freed every old; on failure nothing has changed, and the new ones are
 * still the caller's. A created vlink with n 0 gets its number.
 */
int reconcile_run(struct daemon *d, struct change *changes, size_t count, struct err *e);

/*
 * The same for staged changes, in the store's transaction that is under way: it is ended. On failure the
 * world is still the staged one, and old and new are the caller's.
 */
int reconcile_batch(struct daemon *d, struct change *changes, size_t count, struct err *e);

/*
 * Brings a link that is in the world already in line with the kernel: it is adopted, mended or made, or it
 * gets a trouble: waiting without its parent, lost without its zone or when it cannot be made.
 */
void reconcile_link(struct daemon *d, struct vlink *v);
/* The same, and up: in a new world, where a killed daemon may not have come to that. */
void reconcile_raise(struct daemon *d, struct vlink *v);
/* Is anything of v not as it should be? what: the first thing to do about it; zone_gone: nobody but its zone
 * is to blame. Changes nothing. */
bool reconcile_differs(struct daemon *d, struct vlink *v, bool *zone_gone, char *what, size_t size);
/* In a dry run: what reconcile_link() would do to v, and the trouble it would have, with why. */
enum trouble reconcile_preview(struct daemon *d, struct vlink *v, char *why, size_t size);
/* Takes v out of the kernel; it stays wanted. */
void reconcile_unmake(struct daemon *d, struct vlink *v);
/* Puts back the program on the parent that v is steered by. */
void reconcile_hook(struct daemon *d, struct vlink *v);
/* new in the place of old, a link that is not there: saved, and made if that is possible now. new's on
 * success. */
int reconcile_store(struct daemon *d, struct vlink *old, struct vlink *new, struct err *e);
/* The same for a link that an interrupted move may have left in zone. */
void reconcile_moved(struct daemon *d, struct vlink *v, const char *zone);
/* Removes what hangs on n without a row: orphans of a killed daemon. like: where its link is, if anywhere. */
void reconcile_orphan(struct daemon *d, const struct node *like);
/* After a change of the parent's speed: caps in percent. */
void reconcile_percent(struct daemon *d, struct slink *parent);
