/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The rows of the link properties and their checks; the algorithm over them is in prop.c. */
#include "lib/model/name.h"
#include "lib/model/prop.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MTU_LEAST 68u /* RFC 791; what the kernel takes as the least for Ethernet */
#define MTU_MOST  65535u

static int check_maxbw(const char *text, char ret[PROP_TEXT_MAX], struct err *e)
{
	return prop_check_bw("maxbw", text, ret, e);
}

static int check_maxbw_rx(const char *text, char ret[PROP_TEXT_MAX], struct err *e)
{
	return prop_check_bw("maxbw-rx", text, ret, e);
}

static int check_maxbw_tx(const char *text, char ret[PROP_TEXT_MAX], struct err *e)
{
	return prop_check_bw("maxbw-tx", text, ret, e);
}

static int check_mtu(const char *text, char ret[PROP_TEXT_MAX], struct err *e)
{
	char *end;
	unsigned long v;

	errno = 0;
	v = strtoul(text, &end, 10);
	if (text[0] < '0' || text[0] > '9' || *end || errno)
		return err_user(e, -EINVAL, "mtu", "%s is not a number of bytes, %u to %u", text, MTU_LEAST,
				MTU_MOST);
	if (v < MTU_LEAST || v > MTU_MOST)
		return err_user(e, -ERANGE, "mtu", "%s is out of range: %u to %u bytes", text, MTU_LEAST,
				MTU_MOST);
	snprintf(ret, PROP_TEXT_MAX, "%lu", v);
	return 0;
}

static int check_zone(const char *text, char ret[PROP_TEXT_MAX], struct err *e)
{
	int r = zone_check(text, e);

	if (r < 0)
		return r;
	snprintf(ret, PROP_TEXT_MAX, "%s", text);
	return 0;
}

static int check_isolate(const char *text, char ret[PROP_TEXT_MAX], struct err *e)
{
	if (strcmp(text, "on") != 0 && strcmp(text, "off") != 0)
		return err_user(e, -EINVAL, "isolate", "%s is neither on nor off", text);
	snprintf(ret, PROP_TEXT_MAX, "%s", text);
	return 0;
}

#define BIT(class) (1u << (class))
#define SHAPED     (BIT(CLASS_VNIC) | BIT(CLASS_FOREIGN))

const struct prop_row prop_rows[PROP_COUNT] = {
	[PROP_MAXBW] = {.name = "maxbw",
			.classes = SHAPED,
			.possible = PROP_BW_POSSIBLE,
			.check = check_maxbw},
	[PROP_MAXBW_RX] = {.name = "maxbw-rx",
			   .classes = SHAPED,
			   .possible = PROP_BW_POSSIBLE,
			   .check = check_maxbw_rx},
	[PROP_MAXBW_TX] = {.name = "maxbw-tx",
			   .classes = SHAPED,
			   .possible = PROP_BW_POSSIBLE,
			   .check = check_maxbw_tx},
	[PROP_MTU] = {.name = "mtu",
		      .classes = BIT(CLASS_VNIC) | BIT(CLASS_ETHERSTUB),
		      .readable = BIT(CLASS_OTHER) | BIT(CLASS_IFB) | BIT(CLASS_FOREIGN),
		      .possible = "68-65535",
		      .check = check_mtu},
	[PROP_ZONE] = {.name = "zone",
		       .classes = BIT(CLASS_VNIC),
		       .possible = "names under /run/netns",
		       .check = check_zone},
	[PROP_ISOLATE] = {.name = "isolate",
			  .classes = BIT(CLASS_VNIC),
			  .possible = "on,off",
			  .check = check_isolate},
};
