/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Counters that outlive the kernel objects they are read from. Pure. */
#pragma once

#include <stdint.h>

/* total = base + last. last: the value read most recently; base: what earlier objects had counted. */
struct counter {
	uint64_t base, last;
};

/* Takes a fresh reading: one smaller than the last comes from a new object, so the last goes into the base.
 */
static inline uint64_t counter_step(struct counter *c, uint64_t now)
{
	if (now < c->last)
		c->base += c->last;
	c->last = now;
	return c->base + now;
}

/* The object is about to go: the next reading is of another one, whatever its value. */
static inline void counter_close(struct counter *c)
{
	c->base += c->last;
	c->last = 0;
}
