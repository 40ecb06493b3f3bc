/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Random choices of unit tests, from a seed that is printed; SEED=N for the same ones again. */
#pragma once

#include <check.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static uint64_t seed_state;

/* For many rounds: libcheck notes down every assertion that holds. */
#define expect(that, ...)                          \
	do {                                       \
		if (!(that))                       \
			ck_abort_msg(__VA_ARGS__); \
	} while (0)

/* In main(), before libcheck forks: every test begins with the same choices. */
static inline void seed_start(void)
{
	const char *given = getenv("SEED");

	seed_state = given ? strtoull(given, NULL, 10) : (uint64_t)time(NULL);
	printf("seed %llu\n", (unsigned long long)seed_state);
	fflush(stdout);
}

/* 0 to below - 1 (splitmix64). */
static inline uint32_t some(uint32_t below)
{
	uint64_t z = seed_state += UINT64_C(0x9e3779b97f4a7c15);

	z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
	return (uint32_t)((z ^ (z >> 31)) >> 32) % below;
}
