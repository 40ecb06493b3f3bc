/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Whole numbers as people write them. Pure. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* Digits, or 0x and hex digits; neither sign nor blank, and leading zeros mean nothing. Returns the first
 * character after them, NULL when there is none; what is over 32 bits becomes UINT32_MAX. */
const char *number_read(const char *text, uint32_t *ret);
/* All of text, from least to most. */
bool number_parse(const char *text, uint32_t least, uint32_t most, uint32_t *ret);
