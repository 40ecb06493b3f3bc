/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The hooks of a link that is not ours, for its caps and flows: state and redirect. The programs are those of
 * a VNIC with flows (flow.h), in clsact filters behind all filters of others; they know whose they are by the
 * state.
 *
 * Pins, under DIR/<store uuid>/<SO_NETNS_COOKIE>/vnic-<N>/, beside what a VNIC with flows has:
 *   on                     a symbolic link to nowhere: the link's ifindex
 * The clsact qdisc has its mark where that of a hook for VNICs has it: whoever leaves last takes it along.
 */
#pragma once

#include "lib/bpf/internal.h"

/* out.c. The filter that redirects. Removing one that is not there is no error; ifb 0: there is none. */
int out_put(struct bpf *b, int ifindex, int ifb);
int out_drop(struct bpf *b, int ifindex);
int out_get(struct bpf *b, int ifindex, int *ret_ifb);
