/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The classes of flows in the two trees of a VNIC. Knows no rule. */
#pragma once

#include "lib/kern/real.h"
#include "lib/model/flowset.h"

/* Appends the classes in the tree on port; a figure that is the same to the kernel as in want (NULL: none) is
 * given as it is there. */
int flow_classes_see(struct real *r, const struct port *port, enum flow_dir dir, const struct flow_set *want,
		     struct flow_set *ret, struct err *e);
/* Makes and changes those of want that have has not, or not so. */
int flow_classes_make(struct act *a, const struct flow_set *have, const struct flow_set *want);
/* Lets those of have that are not in want run dry, and deletes them. */
int flow_classes_drop(struct act *a, const struct flow_set *have, const struct flow_set *want);
/* Into ret[i].classes what the class of slots[i] counted; slots in rising order. */
int flow_classes_count(struct real *r, const struct port *port, enum flow_dir dir, const uint32_t *slots,
		       size_t count, struct flow_stats *ret, struct err *e);
