/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The methods that look after the whole: putting links right on request, and taking everything of ours away.
 */
#pragma once

struct call;
struct daemon;
struct err;

void upkeep_reapply(struct daemon *d, struct call *c);
void upkeep_reset(struct daemon *d, struct call *c);

/* Takes every link of ours and what hangs on it out of the kernel; all of it stays wanted, and is made by the
 * next start. */
int upkeep_unmake(struct daemon *d, struct err *e);
