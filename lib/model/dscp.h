/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The code points of differentiated services and their names. Pure. */
#pragma once

#include "lib/base/err.h"

#include <stdint.h>

#define DSCP_TEXT_MAX 8
#define DSCP_POSSIBLE "ef,va,le,cs0-cs7,af11-af43,0-63"

/* "ef", "AF31", "46"; object names what the error is about. */
int dscp_parse(const char *text, const char *object, uint8_t *ret, struct err *e);
/* Its name, or the number when it has none. Returns buf. */
const char *dscp_str(uint8_t dscp, char buf[DSCP_TEXT_MAX]);
