/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Bandwidths and MAC addresses as people write them; no I/O but getrandom for random addresses. */
#pragma once

#include "lib/base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define BW_MIN UINT64_C(64000)        /* 64 kbit/s */
#define BW_MAX UINT64_C(400000000000) /* 400 Gbit/s */

enum bw_kind { BW_UNSET, BW_NONE, BW_BLOCKED, BW_RATE, BW_PERCENT };

/* value: bits per second for BW_RATE, 1..100 for BW_PERCENT, else 0. */
struct bw {
	enum bw_kind kind;
	uint64_t value;
};

struct mac {
	uint8_t b[6];
};

/*
 * Reads "100M", "1.5G", "64K", "100" (Mbit/s as in dladm), "100mbit", "25%", "none" or "blocked".
 * K, M and G are decimal, in either case. object names what the error is about (e.g. "maxbw").
 */
int bw_parse(const char *text, const char *object, struct bw *ret, struct err *e);

/* The canonical text: "100M", "1.5G", "64K", "1234567" has its exact form "1234.567K"; "25%", "none", ... */
const char *bw_str(struct bw bw, char *buf, size_t size);

/* A rate scaled for people with at most three significant decimals: 94.7M, 1.2G, 640. */
const char *rate_human(double bits_per_second, char *buf, size_t size);

/* Takes 02:08:20:aa:bb:cc and dladm's 2:8:20:aa:bb:c; -EINVAL with the reason else. Group and zero addresses
 * are refused. */
int mac_parse(const char *text, struct mac *ret, struct err *e);
/* Takes 1 to 5 colon-joined bytes; the group bit is refused. */
int mac_prefix_parse(const char *text, struct mac *prefix, unsigned *ret_len, struct err *e);
const char *mac_str(struct mac mac, char buf[18]);
bool mac_equal(struct mac a, struct mac b);
/* prefix_len bytes from prefix, the rest from getrandom(2). */
int mac_random(struct mac prefix, unsigned prefix_len, struct mac *ret, struct err *e);
