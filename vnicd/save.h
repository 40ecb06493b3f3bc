/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A transaction's rows in the store: what is about to be done, and what became of it.
 */
#pragma once

#include "vnicd/txn.h"

/* What is about to be done, so that the next start finds it; numbers for what is created. begun: the store's
 * transaction is under way already. */
int save_intents(struct txn *t, bool begun, struct err *e);
/* What is wanted, as rows. While links are still to be deleted the intents stay. */
int save_rows(struct txn *t, struct err *e);
/* What was to go stays after all. */
void save_rows_again(struct txn *t);
/* One link's row, properties and counters; fresh: of its number there is no row yet. */
int save_link(struct daemon *d, struct vlink *v, bool fresh, struct err *e);
/* A number for what is created, so that its links carry it before its row is there. */
int save_number(struct daemon *d, struct vlink *v, struct err *e);
