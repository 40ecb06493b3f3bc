/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * When links of ours are looked at again: after notifications, after a wait when others keep changing them,
 * on request. What is then done is reconcile.c's.
 */
#pragma once

#include "vnicd/world.h"

/* Makes the world call us (d->touched, d->speed_changed). */
int mend_start(struct daemon *d, struct err *e);
void mend_stop(struct daemon *d);
/* At once, whatever was before: forgets how often others changed v. 0, or why it is not as it should be. */
int mend_now(struct daemon *d, struct vlink *v, struct err *e);
