/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The errors for names that are not there: what was meant, or where to look. */
#pragma once

#include "vnicd/world.h"

/* What was to have that name. */
enum unknown { UNKNOWN_LINK, UNKNOWN_PHYS, UNKNOWN_VNIC, UNKNOWN_ETHERSTUB };

/* Each returns a negative errno. A link that has the name but is something else is called what it is. */
int unknown_link(const struct daemon *d, enum unknown kind, const char *name, struct err *e);
/* link: whose zone it was to be. */
int unknown_zone(const char *link, const char *zone, struct err *e);
