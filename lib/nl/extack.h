/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The kernel's own words in a netlink acknowledgement; works on the raw message, so that it serves any
 * library. */
#pragma once

#include <linux/netlink.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct extack {
	int code;         /* 0 or a negative errno */
	char text[256];   /* the kernel's message, "" for none; may come with code 0 as a warning */
	uint32_t offset;  /* of the attribute at fault in the request, 0 unknown */
	uint32_t missing; /* type of the attribute that was not given, 0 none */
};

/*
 * Reads an NLMSG_ERROR or NLMSG_DONE of which size bytes are there. -EBADMSG for anything else and for a
 * message that is cut short; ret is untouched then. Attributes that make no sense are passed over.
 */
int extack_parse(const void *msg, size_t size, struct extack *ret);
