/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The eBPF programs of the data path, their loading, attaching and pins. Knows VNICs by number.
 *
 * Pins, under DIR/<store uuid>/<SO_NETNS_COOKIE>/:
 *   steer                 map (ifindex of the hook, MAC) -> ifb
 *   hook-<ifindex>        link of the steering program on a parent's ingress
 *   vnic-<N>/state,rx,tx  map, links of VNIC N's ingress and egress programs
 *                         the state of VNICs that were made together is one map, pinned for each
 * Where tcx is not to be had, or somebody else's clsact is on the device, the programs sit in clsact filters
 * at our own priority and handle instead, at the end; the programs themselves are pinned then.
 */
#pragma once

#include "lib/base/err.h"
#include "lib/base/units.h"
#include "lib/model/node.h"

#include <stdint.h>

struct bpf; /* the pin directory and the loaded steering program */

/*
 * Opens or makes the pin directory for this uuid and namespace. Directories of the same uuid for other
 * cookies are removed. -EINVAL with the mount command in the text when dir is not on bpffs. acts: counter to
 * add one to for each modifying act (map update, attach, detach, pin, unpin).
 */
int bpf_open(const char *dir, const char *uuid, unsigned long *acts, struct bpf **ret, struct err *e);
struct bpf *bpf_close(struct bpf *b); /* leaves everything pinned */
/* Where nothing but an empty steering map is pinned, it and its directories go. Only bpf_close() may follow.
 */
void bpf_tidy(struct bpf *b);

/* The calling thread is in another namespace than its own, or back. */
void bpf_away(struct bpf *b, bool away);

/* Is the hook there, attached to this ifindex, and is its program the one of this build (tag compared)? */
int bpf_hook_observe(struct bpf *b, int ifindex, bool *ret, struct err *e);
/* Attaches (or, when an older program is there, replaces it without a gap). Idempotent. */
int bpf_hook_add(struct bpf *b, int ifindex, struct err *e);
int bpf_hook_del(struct bpf *b, int ifindex, struct err *e);

/* The map entry (hook, mac) -> ifb. Observe gives ifb 0 when there is none. */
int bpf_steer_observe(struct bpf *b, int hook, struct mac mac, int *ret_ifb, struct err *e);
int bpf_steer_add(struct bpf *b, int hook, struct mac mac, int ifb, struct err *e);
/*
 * Deletes the entry. gently: closes it first: from the first gap of 200 us in its traffic on, frames pass by
 * the ifb, so that none overtakes another; that is waited for, at most a second. Idempotent.
 */
int bpf_steer_del(struct bpf *b, int hook, struct mac mac, bool gently, struct err *e);

/*
 * The two programs of VNIC n on ifindex in the namespace of the calling thread (the caller has entered the
 * zone). prog->present is set by observe: both links are attached to this ifindex with this build's programs.
 */
int bpf_vnic_observe(struct bpf *b, uint32_t n, int ifindex, struct prog *ret, struct err *e);
int bpf_vnic_add(struct bpf *b, uint32_t n, int ifindex, const struct prog *prog, struct err *e);
int bpf_vnic_set(struct bpf *b, uint32_t n, const struct prog *prog, struct err *e);
int bpf_vnic_del(struct bpf *b, uint32_t n, int ifindex, struct err *e);
/* Frames dropped by each of the two; zero when not present. */
int bpf_vnic_drops(struct bpf *b, uint32_t n, uint64_t *ret_rx, uint64_t *ret_tx);

/*
 * The hooks of a link that is not ours (CLASS_FOREIGN), in the own namespace: what they do, whose frames they
 * see, and the filter on its egress that redirects to the ifb out. The programs themselves come with its
 * flows (flow.h), and prog->out only when they are there. observe: present when all but the programs is
 * there; out: the ifb's ifindex now. bpf_vnic_del() takes it all away, also when the link is gone or not
 * known (ifindex 0).
 */
int bpf_theirs_observe(struct bpf *b, uint32_t n, int ifindex, int out, struct prog *ret, struct err *e);
int bpf_theirs_add(struct bpf *b, uint32_t n, int ifindex, const struct prog *prog, struct err *e);
int bpf_theirs_set(struct bpf *b, uint32_t n, int ifindex, const struct prog *prog, struct err *e);

/* Every steering entry; cb returns non-zero to stop. */
int bpf_steers(struct bpf *b, int (*cb)(int hook, struct mac mac, void *arg), void *arg, struct err *e);

/* Every pinned VNIC (n) and hook (ifindex, with n 0; perhaps more than once), whole or in part. */
int bpf_pins(struct bpf *b, int (*cb)(uint32_t n, int ifindex, void *arg), void *arg, struct err *e);
