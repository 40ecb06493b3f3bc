/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Operations -> kernel, in order, undone in reverse when one fails. */
#pragma once

#include "lib/base/err.h"
#include "lib/model/op.h"

struct flow_set;
struct kernel;

/* All of list, or none of it: on failure what was done is taken back (e says what failed) and the code
 * returned. */
int apply_ops(struct kernel *k, struct op_list *list, struct err *e);
/* Takes all of list back, as far as that goes: what cannot be taken back is logged. */
void apply_undo(struct kernel *k, struct op_list *list);
/* Of the flows of n, whose programs are there, what is in have becomes what is in want, or all stays. */
int apply_flows(struct kernel *k, const struct node *n, const struct flow_set *have,
		const struct flow_set *want, struct err *e);
/* One operation that nothing is taken back for: leftovers. */
int apply_op(struct kernel *k, struct op *op, struct err *e);
/* All of list, each for itself; what fails is logged and left to the next start. */
void apply_leftovers(struct kernel *k, struct op_list *list);
/* From now on operations are told to tell and not carried out; NULL: carried out again. */
void apply_tell(struct kernel *k, int (*tell)(const struct op *op, void *arg, struct err *e), void *arg);
/* The last to be done when no link of ours is left. */
void apply_tidy(struct kernel *k);
/* Modifying acts so far. */
unsigned long apply_acts(const struct kernel *k);
