/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Automatic MAC addresses tied to this machine's id. Picks addresses and saves them; never touches a link. */
#pragma once

#include "vnicd/world.h"

/*
 * The automatic MAC address of a link called name, the first three bytes from prefix, the rest from the
 * machine's id and the name: try 0, 1, ... are addresses to take when those before are in use. -ENOMEDIUM
 * without a machine id.
 */
int machine_mac(const char *name, unsigned try, struct mac prefix, struct mac *ret);
/*
 * Before the links are adopted: a state.db of another machine (a copied image) draws new addresses for every
 * link whose address nobody gave, saved in one transaction.
 */
int machine_adopt(struct daemon *d, struct err *e);
