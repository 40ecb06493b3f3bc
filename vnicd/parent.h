/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which links can carry VNICs, and why not. Pure over the world but for one look whether a link is wireless.
 */
#pragma once

#include "vnicd/world.h"

/* 0, or why l cannot be a parent and what to use instead. */
int parent_check(const struct daemon *d, const struct sys_link *l, struct err *e);
/* A warning about drivers behind which foreign MAC addresses are often dropped; NULL for none. */
const char *parent_driver_warning(const char *driver);
/* The kernel's driver of a link of the own namespace, "" when it tells none. */
const char *parent_driver(const char *name, char buf[32]);
