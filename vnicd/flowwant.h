/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the flows of a link need of it in the kernel. */
#pragma once

#include "vnicd/flow.h"

/* What f asks for, with a share of the link's cap or speed as a rate. */
struct flow_want flow_want_of(const struct flow *f);
/* Has v a flow that needs a class in this direction? */
bool want_flow_classes(const struct vlink *v, enum flow_dir dir);
/* All of v's flows; tree: see flow_set_add(). v's, until the next call. */
const struct flow_set *want_flows(const struct vlink *v, uint32_t mtu, const uint64_t tree[FLOW_DIRS]);
/* v's link with its trees and programs, up, as far as that is known without a look at the kernel. */
void want_flow_node(const struct daemon *d, const struct vlink *v, struct node *ret);
