// SPDX-License-Identifier: GPL-2.0-or-later
/* Writes elements into maps that take their memory as they need it. Knows no map. */
#include "lib/bpf/internal.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <time.h>

/* For elements of such a map the kernel keeps a small reserve, which is filled up a moment after it was used:
 * -ENOMEM is no answer before that moment is over, on a busy machine. */
#define WAIT_NS 1000000L
#define TRIES   500

/* Writes some of count elements and says how many. */
static int fill_some(int fd, const void *keys, const void *values, size_t count, uint32_t *ret_done)
{
	uint32_t done = (uint32_t)count;

	*ret_done = 0;
	if (count == 1 ? !bpf_map_update_elem(fd, keys, values, BPF_ANY)
		       : !bpf_map_update_batch(fd, keys, values, &done, NULL)) {
		*ret_done = (uint32_t)count;
		return 0;
	}
	/* A kernel that came to none of them may leave the number as it was. */
	*ret_done = count > 1 && done < count ? done : 0;
	return -errno;
}

int map_fill(int fd, const void *keys, size_t key_size, const void *values, size_t value_size, size_t count)
{
	const struct timespec moment = {.tv_nsec = WAIT_NS};
	const char *key = keys, *value = values;
	unsigned tries = 0;
	uint32_t done;
	int r = 0;

	while (count) {
		r = fill_some(fd, key, value, count, &done);
		key += done * key_size;
		value += done * value_size;
		count -= done;
		tries = done ? 0 : tries + 1;
		if (r && (r != -ENOMEM || tries == TRIES))
			return r;
		if (r)
			nanosleep(&moment, NULL);
	}
	return 0;
}
