/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a desired link means now: its effective caps, MTU and place as a node. Pure over the world. */
#pragma once

#include "vnicd/world.h"

/* A cap resolved: blocked, none (rate 0), or a rate; unknown: a percentage of a speed that is not known now.
 */
struct eff_cap {
	bool blocked, unknown;
	uint64_t rate; /* bits/s */
};
/* speed: the parent's in bits/s, 0 unknown. */
struct eff_cap want_cap(const struct vlink *v, bool tx, uint64_t speed);
/* Does v ask for a percentage in either direction? */
bool want_percent(const struct vlink *v);
/* The MTU v gets: its own, else 1500 on an etherstub, the parent's over another link, 9000 for an etherstub.
 */
/* Is v to be isolated where it is now? */
bool want_isolate(const struct vlink *v);
uint32_t want_mtu(const struct daemon *d, const struct vlink *v);
/*
 * The node v should be. have: what is seen; a percentage of an unknown speed keeps the rate that is there.
 */
void want_node(const struct daemon *d, const struct vlink *v, const struct node *have, struct node *ret);
/* The same without the set of its flows, which takes its time with many. */
void want_link(const struct daemon *d, const struct vlink *v, const struct node *have, struct node *ret);
