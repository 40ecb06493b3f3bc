/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The daemon's start: what is there is taken over, what a killed daemon left half done is finished or
 * removed. */
#pragma once

#include "vnicd/world.h"

/* The world must be loaded and its links read. Single links that cannot be brought in line become lost, with
 * a log line. */
int adopt_all(struct daemon *d, struct err *e);
/* Removes whatever of ours belongs to no link of the world. */
int adopt_sweep(struct daemon *d, struct err *e);
