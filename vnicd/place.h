/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Where links are, kept for the next start: what others took alias, MAC and name from is known by its number
 * and namespace. Late by a second, so that no request waits for it.
 */
#pragma once

#include "vnicd/world.h"

int place_start(struct daemon *d, struct err *e);
void place_stop(struct daemon *d); /* notes what is not noted yet */

/* Every link that was not found by its marks, but is where it was seen last: cb gets it. */
int place_robbed(struct daemon *d, void (*cb)(struct daemon *d, struct vlink *v, const struct port *port),
		 struct err *e);
