/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a user should know of a flow that can be, but not as it was meant. Refuses nothing. */
#pragma once

#include "vnicd/flow.h"

#include <jansson.h>

/* f is new (old NULL) or changed: notes get what was not so before. */
void flow_note(const struct flow *f, const struct flow *old, json_t *notes);
