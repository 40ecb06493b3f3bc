/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The rules for names we give to links. Pure. */
#pragma once

#include "lib/base/err.h"

/*
 * 0 when name may be given to a VNIC or etherstub: 2 to 15 characters of [A-Za-z0-9_.-], a letter first, a
 * digit last, no word that ip reads as a keyword, not one of our ifbs' names. Else -EINVAL and the rule that
 * is broken.
 */
int name_check(const char *name, struct err *e);
/* 0 when zone can be the name of a file under /run/netns. */
int zone_check(const char *zone, struct err *e);
