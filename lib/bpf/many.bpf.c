// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The programs of vnic.bpf.c for any number of VNICs: loading them for each takes as long as everything else
 * that makes it. Holds no code of its own.
 */
#define MANY
#include "lib/bpf/vnic.bpf.c"
