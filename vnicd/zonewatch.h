/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Waits for zones whose VNICs are lost to come back under their names. */
#pragma once

#include "vnicd/world.h"

/* From now on d->touched() is called for what was lost with a zone whose name is a namespace again. 0 or a
 * negative errno. */
int zonewatch_start(struct daemon *d);
