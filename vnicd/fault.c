/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The faults of the test build; empty in the released daemon. */
#include "vnicd/fault.h"

#ifdef VNICD_TEST
#include <stdio.h>

static unsigned env_number(const char *name)
{
	const char *s = getenv(name);

	return s ? (unsigned)strtoul(s, NULL, 10) : 0;
}

/* False: there is a file to be waited for, and it is not there. */
static bool ask_file(unsigned *kill_at, unsigned *fail_at)
{
	const char *path = getenv("VNICD_FAULT_FILE");
	FILE *f = path ? fopen(path, "re") : NULL;
	unsigned at;

	if (!f)
		return !path;
	if (fscanf(f, "kill %u", &at) == 1)
		*kill_at = at;
	else if (fscanf(f, "fail %u", &at) == 1)
		*fail_at = at;
	fclose(f);
	return true;
}

int fault_step(const char *where, struct err *e)
{
	static unsigned step;
	unsigned kill_at = env_number("VNICD_KILL_AT"), fail_at = env_number("VNICD_FAIL_AT");

	step = ask_file(&kill_at, &fail_at) ? step + 1 : 0;
	if (!step)
		return 0;
	if (step == kill_at)
		raise(SIGKILL);
	if (step == fail_at)
		return err_sys(e, -EIO, where, "made to fail at step %u", step);
	return 0;
}
#endif
