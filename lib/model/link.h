/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A link as the system has it, whoever made it. Plain values; owns nothing. */
#pragma once

#include "lib/base/units.h"

#include <net/if.h>
#include <stdbool.h>
#include <stdint.h>

/* One link of a namespace. */
struct sys_link {
	int ifindex;
	char name[IFNAMSIZ];
	char kind[IFNAMSIZ];       /* IFLA_INFO_KIND, "" for hardware */
	char slave_kind[IFNAMSIZ]; /* IFLA_INFO_SLAVE_KIND: bridge, bond, ... */
	int master;                /* ifindex, 0 none */
	int lower;                 /* IFLA_LINK, 0 none */
	int lower_nsid;     /* the number of lower's namespace where this link is, when lower_foreign */
	bool lower_foreign; /* IFLA_LINK_NETNSID given: lower is in another namespace */
	uint16_t type;      /* ARPHRD_* */
	unsigned flags;     /* IFF_* */
	uint8_t operstate;
	uint32_t mtu;
	uint32_t group;
	struct mac mac, perm_mac; /* perm_mac zero when the kernel gives none */
	bool has_mac;
	char alias[80]; /* cut off when longer: ours are shorter */
	char bus[64];   /* IFLA_PARENT_DEV_NAME, e.g. 0000:3b:00.0 */
};
