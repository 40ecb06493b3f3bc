/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What both kernels share: the end of their life. */
#include "lib/kern/kern.h"

#include <stddef.h>

struct kernel *kern_free(struct kernel *k)
{
	if (k)
		k->ops->free(k);
	return NULL;
}
