/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Generic netlink over libmnl: finds a family by name and asks it single questions. */
#pragma once

#include "lib/base/err.h"
#include "lib/nl/extack.h"

#include <libmnl/libmnl.h>
#include <stdint.h>

struct genl;

/* A socket in the calling thread's namespace that speaks to one family. -ENOENT where the kernel has it not.
 */
int genl_open(const char *family, struct genl **ret, struct err *e);
struct genl *genl_close(struct genl *g);

/* A request of cmd in a buffer of g, to which the caller puts attributes before genl_get(). */
struct nlmsghdr *genl_msg(struct genl *g, uint8_t cmd, uint8_t version);
/* Sends it and calls cb with each answer. 0 or -errno, with the kernel's words in *x. */
int genl_get(struct genl *g, struct nlmsghdr *h, mnl_cb_t cb, void *arg, struct extack *x);
