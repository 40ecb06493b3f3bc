/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The fields of a match as text: what reading and checking attributes share. For the flow files alone. */
#pragma once

#include "lib/model/flow.h"

#define FLOW_FIELD_TEXT_MAX 64

/* In the order of the canonical text. Two names may fill one field: transport and protocol, dsfield and dscp.
 */
enum flow_field {
	FIELD_LOCAL_IP,
	FIELD_REMOTE_IP,
	FIELD_TRANSPORT,
	FIELD_LOCAL_PORT,
	FIELD_REMOTE_PORT,
	FIELD_DS,
	FIELD_VID,
	FIELD_ETHERTYPE,
	FIELD_DIRECTION,
	FIELDS
};

/* "ATTR=VALUE"; "" when it was not given. Returns buf. */
const char *flow_field_str(const struct flow_match *m, enum flow_field field, char buf[FLOW_FIELD_TEXT_MAX]);

/* The mask that a dsfield without one has: the DSCP, not the ECN bits. */
#define DSCP_MASK  0xfcu
#define DSCP_SHIFT 2
