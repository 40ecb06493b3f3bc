/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What ethtool netlink tells of a link: its speed and duplex. Sets nothing. */
#include "lib/kern/real.h"

#include <linux/ethtool.h>
#include <linux/ethtool_netlink.h>
#include <linux/genetlink.h>

#define DUPLEX_NOT_KNOWN 2

struct modes {
	uint64_t bps;
	int duplex;
};

static void take_speed(const struct nlattr *a, struct modes *m)
{
	if (mnl_attr_validate(a, MNL_TYPE_U32) >= 0 && mnl_attr_get_u32(a) != (uint32_t)SPEED_UNKNOWN)
		m->bps = UINT64_C(1000000) * mnl_attr_get_u32(a);
}

static void take_duplex(const struct nlattr *a, struct modes *m)
{
	if (mnl_attr_validate(a, MNL_TYPE_U8) >= 0 && mnl_attr_get_u8(a) <= DUPLEX_FULL)
		m->duplex = mnl_attr_get_u8(a);
}

static int take(const struct nlmsghdr *h, void *arg)
{
	const struct nlattr *a;

	mnl_attr_for_each(a, h, sizeof(struct genlmsghdr))
	{
		if (mnl_attr_get_type(a) == ETHTOOL_A_LINKMODES_SPEED)
			take_speed(a, arg);
		else if (mnl_attr_get_type(a) == ETHTOOL_A_LINKMODES_DUPLEX)
			take_duplex(a, arg);
	}
	return MNL_CB_OK;
}

/* A link whose driver knows no speed is no error: it has none. */
int real_speed(struct kernel *k, int ifindex, uint64_t *bps, int *duplex)
{
	struct genl *g = real_of(k)->ethtool;
	struct modes m = {.duplex = DUPLEX_NOT_KNOWN};
	struct nlmsghdr *h;
	struct nlattr *nest;
	struct extack x;

	if (g) {
		h = genl_msg(g, ETHTOOL_MSG_LINKMODES_GET, ETHTOOL_GENL_VERSION);
		nest = mnl_attr_nest_start(h, ETHTOOL_A_LINKMODES_HEADER);
		mnl_attr_put_u32(h, ETHTOOL_A_HEADER_DEV_INDEX, (uint32_t)ifindex);
		mnl_attr_put_u32(h, ETHTOOL_A_HEADER_FLAGS, ETHTOOL_FLAG_COMPACT_BITSETS);
		mnl_attr_nest_end(h, nest);
		if (genl_get(g, h, take, &m, &x))
			m = (struct modes){.duplex = DUPLEX_NOT_KNOWN};
	}
	*bps = m.bps;
	*duplex = m.duplex;
	return 0;
}
