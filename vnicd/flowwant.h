/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the flows of a link need of it in the kernel. */
#pragma once

#include "vnicd/flowroom.h"

/* What f asks for, with a share of the link's cap or speed as a rate. */
struct flow_want flow_want_of(const struct flow *f);
/* Has v classes in this direction, with flows that need n? */
bool want_flow_classes(const struct vlink *v, const struct flow_needs *n, enum flow_dir dir);
/* All of v's flows on n, its link as wanted. v's, until the next call. */
const struct flow_set *want_flows(const struct vlink *v, const struct node *n);
/* One more flow in set. -ENOMEM. */
int want_flow(const struct flow *f, const struct node *n, struct flow_set *set);
/* v's link with its trees and programs, up, as far as that is known without a look at the kernel; no set. */
void want_flow_node(const struct daemon *d, const struct vlink *v, struct node *ret);
