/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Faults on demand, in the test build only (-DVNICD_TEST): the daemon dies or an operation fails at a given
 * step. In the released daemon there is nothing of this.
 */
#pragma once

#ifdef VNICD_TEST
#include "lib/base/err.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>

/*
 * Counts steps. $VNICD_KILL_AT=N: the daemon gets SIGKILL at step N. $VNICD_FAIL_AT=N: step N returns -EIO.
 * $VNICD_FAULT_FILE: counted only while this file exists, so that a test can choose the command, and from 1
 * again when it came back. It may say "kill N" or "fail N" instead of the environment.
 */
int fault_step(const char *where, struct err *e);
#else
#define fault_step(where, e) 0
#endif
