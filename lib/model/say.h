/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Operations as the ip, tc and sysctl commands that a person would type, in the daemon's own namespace, for
 * --dry-run. Pure: what a command depends on beside its operation is given.
 */
#pragma once

#include "lib/model/isolate.h"
#include "lib/model/op.h"

#include <stdio.h>

/* What a kernel has, where the commands differ by it. */
struct means {
	bool dummy;       /* links of that kind: what an etherstub is made of, else a bridge */
	bool fq_codel;    /* the queue under a cap, else a plain one */
	bool live_rename; /* links that are up can be renamed */
};

struct say {
	const char *uuid; /* of the marks */
	struct means means;
	const struct iso_set *want, *have; /* the rules and routes that OP_ISO_SET makes of those there are */
};

/* Lines, each ended by a newline, if there is anything to type; "# bpf: ..." and "# wait ..." where there is
 * no command. */
void say_op(const struct op *op, const struct say *how, FILE *out);
