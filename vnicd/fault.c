/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The faults of the test build; empty in the released daemon. */
#include "vnicd/fault.h"

#ifdef VNICD_TEST
#include <unistd.h>

static unsigned env_number(const char *name)
{
	const char *s = getenv(name);

	return s ? (unsigned)strtoul(s, NULL, 10) : 0;
}

int fault_step(const char *where, struct err *e)
{
	static unsigned step;
	const char *file = getenv("VNICD_FAULT_FILE");

	if (file && access(file, F_OK) < 0)
		return 0;
	step++;
	if (step == env_number("VNICD_KILL_AT"))
		raise(SIGKILL);
	if (step == env_number("VNICD_FAIL_AT"))
		return err_sys(e, -EIO, where, "made to fail at step %u", step);
	return 0;
}
#endif
