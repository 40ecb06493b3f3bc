/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How links answered ARP before isolation changed it: remembered on disk before the change, and put back when
 * no isolated VNIC needs it any more. Rules and tables are the plan's.
 */
#pragma once

#include "lib/model/op.h"
#include "vnicd/world.h"

/* What was remembered in this boot and namespace. */
int isolate_load(struct daemon *d, struct err *e);
/* Remembers what the operations are to change, as far as their links are there and nothing is remembered yet.
 */
int isolate_remember(struct daemon *d, const struct op_list *ops, struct err *e);
/* Puts back what no isolated VNIC needs any more, and forgets it. */
void isolate_settle(struct daemon *d);
/* Removes rules and routes of VNICs that are not isolated or not there: at start. */
void isolate_sweep(struct daemon *d);
void isolate_free(struct daemon *d);
