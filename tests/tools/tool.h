/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the measuring programs share: options from a table, rates, time, and results as `key value` lines. */
#pragma once

#include <errno.h>
#include <getopt.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define NSEC    INT64_C(1000000000)
#define OPT_MAX 24

/* OPT_UINT and OPT_RATE store a uint64_t, OPT_STR a const char *, OPT_FLAG a bool. */
enum opt_kind { OPT_UINT, OPT_RATE, OPT_STR, OPT_FLAG };
struct opt {
	const char *name;
	enum opt_kind kind;
	void *where;
	const char *help;
};

static volatile sig_atomic_t stopped;

static inline void on_signal(int sig)
{
	(void)sig;
	stopped = 1;
}

/* SIGINT and SIGTERM end the measurement early; what was measured is still printed. */
static inline void stop_on_signals(void)
{
	struct sigaction sa = {.sa_handler = on_signal};

	sigaction(SIGINT, &sa, NULL);
	sigaction(SIGTERM, &sa, NULL);
}

static inline void die(const char *what)
{
	fprintf(stderr, "%s: %s: %s\n", program_invocation_short_name, what, strerror(errno));
	exit(1);
}

static inline int64_t now_ns(clockid_t clock)
{
	struct timespec ts;

	clock_gettime(clock, &ts);
	return ts.tv_sec * NSEC + ts.tv_nsec;
}

static inline void usage(const struct opt *opts)
{
	fprintf(stderr, "usage: %s OPTIONS\n", program_invocation_short_name);
	for (const struct opt *o = opts; o->name; o++)
		fprintf(stderr, "  --%-10s %s\n", o->name, o->help);
	exit(2);
}

/* A number with K, M or G behind it where that makes sense. */
static inline bool number(const char *text, bool scaled, uint64_t *ret)
{
	char *end;
	double v = strtod(text, &end);

	if (end == text || v < 0)
		return false;
	if (scaled && *end)
		switch (*end++) {
		case 'K':
			v *= 1e3;
			break;
		case 'M':
			v *= 1e6;
			break;
		case 'G':
			v *= 1e9;
			break;
		default:
			return false;
		}
	*ret = (uint64_t)v;
	return !*end;
}

static inline bool store_option(const struct opt *o, const char *text)
{
	switch (o->kind) {
	case OPT_STR:
		*(const char **)o->where = text;
		return true;
	case OPT_FLAG:
		*(bool *)o->where = true;
		return true;
	default:
		return number(text, o->kind == OPT_RATE, o->where);
	}
}

/* Fills what the table (ended by a row without name) points at, or prints the usage and exits. */
static inline void options(int argc, char **argv, const struct opt *opts)
{
	struct option longs[OPT_MAX] = {0};
	int i, n = 0;

	for (; opts[n].name && n < OPT_MAX - 1; n++)
		longs[n] = (struct option){
			.name = opts[n].name, .has_arg = opts[n].kind != OPT_FLAG, .val = n + 1};
	while ((i = getopt_long(argc, argv, "", longs, NULL)) != -1)
		if (i < 1 || i > n || !store_option(&opts[i - 1], optarg))
			usage(opts);
	if (optind != argc)
		usage(opts);
}
