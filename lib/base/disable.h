/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What is to be done without, as on a kernel that does not have it. Knows no word; whoever asks does. */
#pragma once

#include <stdbool.h>

/* Is word in $VNICD_DISABLE, a list with commas? Only the tests' daemon (-DVNICD_TEST) looks there: in all
 * other programs nothing is disabled. */
bool disabled(const char *word);
