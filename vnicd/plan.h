/* SPDX-License-Identifier: GPL-2.0-or-later */
/* PURE: what is wanted minus what is seen = an ordered list of named operations. */
#pragma once

#include "lib/model/op.h"

/*
 * Appends to list the operations that turn have into want. want->link false: everything of the node goes.
 * Order: a link is up only once its caps stand; a tree stands before traffic is steered to it; a cap that
 * goes is opened and drained first; the hooks drop before anything opens. Nothing is appended when the two
 * are equal. 0 or -ENOMEM.
 */
int plan_node(const struct node *want, const struct node *have, struct op_list *list);
