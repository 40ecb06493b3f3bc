/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Turns code points into names and back; knows nothing of the two ECN bits below them. */
#include "lib/model/dscp.h"

#include "lib/base/nearest.h"
#include "lib/model/number.h"

#include <errno.h>
#include <stdio.h>
#include <strings.h>

#define DSCP_MOST 63u

/* RFC 2474, 2597, 3246, 5865, 8622: a name where there is one. */
static const char *const names[DSCP_MOST + 1] = {
	[0] = "cs0",   [1] = "le",    [8] = "cs1",   [10] = "af11", [12] = "af12", [14] = "af13",
	[16] = "cs2",  [18] = "af21", [20] = "af22", [22] = "af23", [24] = "cs3",  [26] = "af31",
	[28] = "af32", [30] = "af33", [32] = "cs4",  [34] = "af41", [36] = "af42", [38] = "af43",
	[40] = "cs5",  [44] = "va",   [46] = "ef",   [48] = "cs6",  [56] = "cs7",
};

static int unknown(const char *text, const char *object, struct err *e)
{
	const char *known[DSCP_MOST + 1], *near;
	size_t count = 0;

	for (size_t i = 0; i <= DSCP_MOST; i++)
		if (names[i])
			known[count++] = names[i];
	near = nearest(text, known, count);
	if (near)
		return err_user(e, -EINVAL, object, "%s is not a code point: did you mean %s?", text, near);
	return err_user(e, -EINVAL, object,
			"%s is not a code point: say ef, va, le, cs0 to cs7, af11 to af43, or 0 to 63",
			*text ? text : "nothing");
}

int dscp_parse(const char *text, const char *object, uint8_t *ret, struct err *e)
{
	uint32_t n;

	for (n = 0; n <= DSCP_MOST; n++)
		if (names[n] && !strcasecmp(text, names[n]))
			break;
	if (n > DSCP_MOST && !number_parse(text, 0, DSCP_MOST, &n))
		return unknown(text, object, e);
	*ret = (uint8_t)n;
	return 0;
}

const char *dscp_str(uint8_t dscp, char buf[DSCP_TEXT_MAX])
{
	if (dscp <= DSCP_MOST && names[dscp])
		snprintf(buf, DSCP_TEXT_MAX, "%s", names[dscp]);
	else
		snprintf(buf, DSCP_TEXT_MAX, "%u", dscp);
	return buf;
}
