/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The methods that look after the whole: putting links right on request, and taking everything of ours away.
 */
#pragma once

struct call;
struct daemon;

void upkeep_reapply(struct daemon *d, struct call *c);
void upkeep_reset(struct daemon *d, struct call *c);
