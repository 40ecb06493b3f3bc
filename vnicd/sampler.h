/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Counters: kernel readings plus what earlier objects had counted; live statistics going out to clients. */
#pragma once

#include "vnicd/world.h"

#include <jansson.h>

struct call;

/* Takes a fresh reading of v into v->counters. What cannot be read keeps its last value. */
void sampler_collect(struct daemon *d, struct vlink *v);
/* ShowStats: one reply, or a stream when the call has more. */
void sampler_show(struct daemon *d, struct call *c);
/*
 * Answers c with what fn gathers: once, or (more) every interval seconds, count times, as the call's
 * parameters say. what is handed to fn; the stream keeps a reference.
 */
typedef json_t *gather_fn(struct daemon *d, const json_t *what);
void sampler_answer(struct daemon *d, struct call *c, gather_fn *fn, json_t *what);
/* A link was renamed: streams that asked for it by name follow. */
void sampler_renamed(struct daemon *d, const char *old, const char *new);
/* Before the daemon goes: the counters of all links into the store. */
void sampler_save(struct daemon *d);
