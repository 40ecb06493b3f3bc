/* SPDX-License-Identifier: GPL-2.0-or-later */
/* PURE: how long to wait before what others changed is put right again. */
#pragma once

#include <stdint.h>

#define REPAIR_TIMES       5                   /* from the 5th time ... */
#define REPAIR_WINDOW_US   UINT64_C(600000000) /* ... within 10 minutes the link is left alone */
#define REPAIR_WAIT_MAX_US UINT64_C(60000000)
#define REPAIR_NEVER       UINT64_MAX

/* When the last times were, newest first; all zero: never. */
struct repair {
	uint64_t at_us[REPAIR_TIMES];
	unsigned streak; /* times in a row without 10 quiet minutes between two */
};

/*
 * Something of ours was found changed by others at now_us (a monotonic clock). Notes it and returns after how
 * many microseconds it is to be put right: 0 at first, then 1, 2, 4 ... 60 s; REPAIR_NEVER from the 5th time
 * within 10 minutes on.
 */
uint64_t repair_next(struct repair *r, uint64_t now_us);
