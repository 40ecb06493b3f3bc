/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Counters: kernel readings plus what earlier objects had counted; live statistics going out to clients. */
#pragma once

#include "vnicd/world.h"

struct call;

/* Takes a fresh reading of v into v->counters. What cannot be read keeps its last value. */
void sampler_collect(struct daemon *d, struct vlink *v);
/* ShowStats: one reply, or a stream when the call has more. */
void sampler_show(struct daemon *d, struct call *c);
/* A link was renamed: streams that asked for it by name follow. */
void sampler_renamed(struct daemon *d, const char *old, const char *new);
/* Before the daemon goes: the counters of all links into the store. */
void sampler_save(struct daemon *d);
