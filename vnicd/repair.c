/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The back-off of repairs. No I/O, no clock, no globals. */
#include "vnicd/repair.h"

#include <string.h>

#define SECOND_US UINT64_C(1000000)

static uint64_t wait_for(unsigned streak)
{
	uint64_t us;

	if (streak < 2)
		return 0;
	us = streak < 32 ? SECOND_US << (streak - 2) : REPAIR_WAIT_MAX_US;
	return us < REPAIR_WAIT_MAX_US ? us : REPAIR_WAIT_MAX_US;
}

uint64_t repair_next(struct repair *r, uint64_t now_us)
{
	uint64_t last = r->at_us[0], fifth;

	r->streak = r->streak && now_us - last < REPAIR_WINDOW_US ? r->streak + 1 : 1;
	memmove(&r->at_us[1], &r->at_us[0], sizeof(r->at_us) - sizeof(r->at_us[0]));
	r->at_us[0] = now_us;
	fifth = r->at_us[REPAIR_TIMES - 1];
	if (r->streak >= REPAIR_TIMES && now_us - fifth < REPAIR_WINDOW_US)
		return REPAIR_NEVER;
	return wait_for(r->streak);
}
