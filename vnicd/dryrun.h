/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Dry runs: a request goes its usual way, checks and plans, but its operations become text in the reply, and
 * the store's transaction is rolled back. While one is under way, daemon.dry is set.
 */
#pragma once

#include "vnicd/reconcile.h"

#include <jansson.h>

struct call;

/* Answers c by fn, as a dry run. */
void dryrun_call(struct daemon *d, struct call *c, void (*fn)(struct daemon *d, struct call *c));
/* Adds what would be done to reply, when a dry run is under way. */
void dryrun_reply(const struct daemon *d, json_t *reply);

/* As reconcile_run() and, for staged changes, reconcile_batch(); these stay their caller's. */
int dryrun_changes(struct daemon *d, struct change *changes, size_t count, struct err *e);
/* As reconcile_store(). */
int dryrun_store(struct daemon *d, struct vlink *old, struct vlink *new, struct err *e);
/* Does an operation that was told in this dry run decide whether parent has our hook? Then *ret says so. */
bool dryrun_hook(const struct daemon *d, int parent, bool *ret);
