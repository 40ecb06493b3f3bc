/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the daemon may do: it keeps the capabilities it needs and gives the others up. */
#pragma once

#include "lib/base/err.h"

/*
 * Keeps of the process's capabilities only those in the table. -EPERM when one that nothing works without is
 * missing. Rests on capabilities(7) and libcap-ng.
 */
int privilege_drop(struct err *e);
