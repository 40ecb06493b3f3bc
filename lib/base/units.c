/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Turns bandwidths and MAC addresses into text and back, in whole numbers; never rounds what a person typed.
 */
#include "lib/base/units.h"

#include "lib/base/nearest.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/random.h>

#define HOW_TO_SAY                                                                                        \
	"say a rate like 100M, 1.5G or 64K (bit/s; a bare number is Mbit/s), a share like 25%%, none or " \
	"blocked"

/* Far over every limit, far under 64 bits. */
#define WHOLE_MAX UINT64_C(1000000000000000)

struct unit {
	char letter;
	uint64_t bits;
	uint64_t binary; /* what Ki, Mi and Gi are elsewhere */
};

static const struct unit units[] = {
	{.letter = 'G', .bits = 1000000000, .binary = UINT64_C(1) << 30},
	{.letter = 'M', .bits = 1000000, .binary = UINT64_C(1) << 20},
	{.letter = 'K', .bits = 1000, .binary = UINT64_C(1) << 10},
};
#define UNITS (sizeof(units) / sizeof(units[0]))
#define MEGA  (&units[1])

/* A decimal number as typed: whole + fraction / scale. */
struct number {
	uint64_t whole, fraction, scale;
	bool fine; /* more decimals than any unit has */
};

/* Digits with at most one point between digits; returns the first character after them, NULL when there is
 * none. */
static const char *number_read(const char *s, struct number *ret)
{
	struct number n = {.scale = 1};
	const char *end;

	if (!isdigit((unsigned char)*s))
		return NULL;
	for (; isdigit((unsigned char)*s); s++)
		n.whole = n.whole > WHOLE_MAX ? n.whole : n.whole * 10 + (uint64_t)(*s - '0');
	if (*s == '.') {
		end = s + 1 + strspn(s + 1, "0123456789");
		if (end == s + 1)
			return NULL;
		for (s++; s < end; s++) {
			if (n.scale == units[0].bits) {
				n.fine |= *s != '0';
				continue;
			}
			n.fraction = n.fraction * 10 + (uint64_t)(*s - '0');
			n.scale *= 10;
		}
	}
	*ret = n;
	return s;
}

/* n times unit; false when that is not a whole number. Saturates far over BW_MAX. */
static bool number_times(const struct number *n, uint64_t unit, uint64_t *ret)
{
	__extension__ unsigned __int128 part = (unsigned __int128)n->fraction * unit;
	uint64_t whole;

	if (n->fine || part % n->scale)
		return false;
	if (__builtin_mul_overflow(n->whole, unit, &whole) || whole > WHOLE_MAX * 1000)
		whole = WHOLE_MAX * 1000;
	*ret = whole + (uint64_t)(part / n->scale);
	return true;
}

static const struct unit *unit_of(char letter)
{
	for (size_t i = 0; i < UNITS; i++) {
		if (toupper((unsigned char)letter) == units[i].letter)
			return &units[i];
	}
	return NULL;
}

/* The error for a spelling that means something else elsewhere; bits: what it means there, in bit/s. */
static int refuse_spelling(const char *text, const char *object, const char *why, const struct number *n,
			   uint64_t bits, struct err *e)
{
	char say[32] = "";
	uint64_t value;
	size_t len;

	if (!number_times(n, bits, &value) || value < BW_MIN || value > BW_MAX)
		return err_user(e, -EINVAL, object, "%s: %s: K, M and G are decimal bit/s, from 64K to 400G",
				text, why);
	bw_str((struct bw){.kind = BW_RATE, .value = value}, say, sizeof(say));
	len = strlen(say) - 1;
	return err_user(e, -EINVAL, object, "%s: %s: say %s for %.*s %cbit/s", text, why, say, (int)len, say,
			say[len]);
}

/* What people write after the number and its letter. The first row that matches wins. */
static const struct spelling {
	const char *suffix;
	bool exact_case;
	bool binary;         /* powers of 1024 */
	unsigned factor;     /* 8 for bytes */
	const char *refused; /* why, or NULL: it is taken */
} spellings[] = {
	{.suffix = "", .factor = 1},
	{.suffix = "bit", .factor = 1},
	{.suffix = "B", .exact_case = true, .factor = 8, .refused = "bytes are not meant here"},
	{.suffix = "Bps", .exact_case = true, .factor = 8, .refused = "bytes are not meant here"},
	{.suffix = "B/s", .exact_case = true, .factor = 8, .refused = "bytes are not meant here"},
	{.suffix = "b", .factor = 1, .refused = "bits need no b"},
	{.suffix = "bps", .factor = 1, .refused = "bits need no bps, which tc reads as bytes"},
	{.suffix = "b/s", .factor = 1, .refused = "bits need no b/s"},
	{.suffix = "bit/s", .factor = 1, .refused = "bits need no bit/s"},
	{.suffix = "i", .binary = true, .factor = 1, .refused = "powers of 1024 are not meant here"},
	{.suffix = "ibit", .binary = true, .factor = 1, .refused = "powers of 1024 are not meant here"},
	{.suffix = "iB",
	 .exact_case = true,
	 .binary = true,
	 .factor = 8,
	 .refused = "bytes are not meant here"},
	{.suffix = "iBps",
	 .exact_case = true,
	 .binary = true,
	 .factor = 8,
	 .refused = "bytes are not meant here"},
	{.suffix = "iB/s",
	 .exact_case = true,
	 .binary = true,
	 .factor = 8,
	 .refused = "bytes are not meant here"},
	{.suffix = "ib", .binary = true, .factor = 1, .refused = "powers of 1024 are not meant here"},
	{.suffix = "ibps", .binary = true, .factor = 1, .refused = "powers of 1024 are not meant here"},
};

static const struct spelling *spelling_find(const char *suffix)
{
	for (size_t i = 0; i < sizeof(spellings) / sizeof(spellings[0]); i++) {
		const struct spelling *s = &spellings[i];

		if (s->exact_case ? !strcmp(suffix, s->suffix) : !strcasecmp(suffix, s->suffix))
			return s;
	}
	return NULL;
}

static bool number_zero(const struct number *n)
{
	return !n->whole && !n->fraction && !n->fine;
}

static int refuse_zero(const char *text, const char *object, struct err *e)
{
	return err_user(e, -EINVAL, object, "%s: say none for no limit, or blocked to drop everything", text);
}

static int percent_parse(const struct number *n, const char *text, const char *object, struct bw *ret,
			 struct err *e)
{
	if (number_zero(n))
		return refuse_zero(text, object, e);
	if (n->fine || n->fraction || n->whole < 1 || n->whole > 100)
		return err_user(e, -EINVAL, object, "%s: a share is a whole number from 1%% to 100%%", text);
	*ret = (struct bw){.kind = BW_PERCENT, .value = n->whole};
	return 0;
}

static int rate_check(const struct number *n, uint64_t unit, const char *text, const char *object,
		      struct bw *ret, struct err *e)
{
	uint64_t value;

	if (!number_times(n, unit, &value))
		return err_user(e, -EINVAL, object, "%s: not a whole number of bits per second", text);
	if (value < BW_MIN || value > BW_MAX)
		return err_user(e, -ERANGE, object, "%s: out of range: 64K to 400G", text);
	*ret = (struct bw){.kind = BW_RATE, .value = value};
	return 0;
}

static int rate_parse(const struct number *n, const char *suffix, const char *text, const char *object,
		      struct bw *ret, struct err *e)
{
	const struct unit *u = *suffix ? unit_of(*suffix) : MEGA;
	const struct spelling *s = u ? spelling_find(*suffix ? suffix + 1 : "") : NULL;

	if (!s)
		return err_user(e, -EINVAL, object, "%s: not a bandwidth: " HOW_TO_SAY, text);
	if (number_zero(n))
		return refuse_zero(text, object, e);
	if (s->refused)
		return refuse_spelling(text, object, s->refused, n,
				       s->factor * (s->binary ? u->binary : u->bits), e);
	return rate_check(n, u->bits, text, object, ret, e);
}

int bw_parse(const char *text, const char *object, struct bw *ret, struct err *e)
{
	static const char *const words[] = {"none", "blocked"};
	struct number n;
	const char *rest;

	if (!strcmp(text, "none") || !strcmp(text, "blocked")) {
		*ret = (struct bw){.kind = *text == 'n' ? BW_NONE : BW_BLOCKED};
		return 0;
	}
	rest = number_read(text, &n);
	if (!rest && nearest(text, words, 2))
		return err_user(e, -EINVAL, object, "%s: not a bandwidth: did you mean %s?", text,
				nearest(text, words, 2));
	if (!rest)
		return err_user(e, -EINVAL, object, "%s: not a bandwidth: " HOW_TO_SAY,
				*text ? text : "nothing");
	if (!strcmp(rest, "%"))
		return percent_parse(&n, text, object, ret, e);
	return rate_parse(&n, rest, text, object, ret, e);
}

/* Removes the zeros at the end of a fraction, and its point when nothing is left. */
static void trim_zeros(char *s)
{
	size_t len = strlen(s);

	if (!strchr(s, '.'))
		return;
	while (s[len - 1] == '0')
		len--;
	s[s[len - 1] == '.' ? len - 1 : len] = '\0';
}

/* The largest unit in which at most three decimals tell it exactly; in K they always do. */
static const char *rate_str(uint64_t value, char *buf, size_t size)
{
	const struct unit *u = units;
	char text[40];

	while (u < units + UNITS - 1 && (value < u->bits || value % (u->bits / 1000)))
		u++;
	snprintf(text, sizeof(text), "%llu.%03llu", (unsigned long long)(value / u->bits),
		 (unsigned long long)(value % u->bits / (u->bits / 1000)));
	trim_zeros(text);
	snprintf(buf, size, "%s%c", text, u->letter);
	return buf;
}

const char *bw_str(struct bw bw, char *buf, size_t size)
{
	static const char *const words[] = {
		[BW_UNSET] = "--",
		[BW_NONE] = "none",
		[BW_BLOCKED] = "blocked",
	};

	if (bw.kind == BW_RATE)
		return rate_str(bw.value, buf, size);
	if (bw.kind == BW_PERCENT)
		snprintf(buf, size, "%llu%%", (unsigned long long)bw.value);
	else
		snprintf(buf, size, "%s", words[bw.kind]);
	return buf;
}

const char *rate_human(double bits_per_second, char *buf, size_t size)
{
	static const char letters[] = {'\0', 'K', 'M', 'G', 'T'};
	double v = bits_per_second > 0 ? bits_per_second : 0;
	char text[400]; /* the largest double has 309 digits */
	size_t i = 0;

	/* What would be printed as 1000 is 1 of the next unit. */
	for (; v >= 999.5 && i < sizeof(letters) - 1; i++)
		v /= 1000;
	snprintf(text, sizeof(text), "%.*f", v < 10 ? 2 : v < 100 ? 1 : 0, v);
	trim_zeros(text);
	snprintf(buf, size, "%s%.1s", text, letters[i] ? &letters[i] : "");
	return buf;
}

static int hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c = (char)tolower((unsigned char)c);
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* One or two hex digits; returns the first character after them, NULL when there is none. */
static const char *byte_read(const char *s, uint8_t *ret)
{
	int hi = hex_digit(s[0]), lo = hi < 0 ? -1 : hex_digit(s[1]);

	if (hi < 0)
		return NULL;
	*ret = (uint8_t)(lo < 0 ? hi : hi << 4 | lo);
	return s + (lo < 0 ? 1 : 2);
}

/* The number of colon-joined bytes that text consists of, 0 when it is anything else. */
static unsigned bytes_read(const char *text, struct mac *ret)
{
	const char *s = text;

	for (unsigned len = 0; len < sizeof(ret->b); s++) {
		s = byte_read(s, &ret->b[len++]);
		if (!s)
			return 0;
		if (!*s)
			return len;
		if (*s != ':')
			return 0;
	}
	return 0;
}

int mac_parse(const char *text, struct mac *ret, struct err *e)
{
	static const struct mac zero;
	struct mac mac = {0};

	if (bytes_read(text, &mac) != sizeof(mac.b))
		return err_user(e, -EINVAL, text,
				"not a MAC address: say six bytes like 2:8:20:1:2:3, auto or random");
	if (mac.b[0] & 1)
		return err_user(e, -EINVAL, text, "a group address: the first byte of a VNIC's own is even");
	if (mac_equal(mac, zero))
		return err_user(e, -EINVAL, text,
				"the zero address is nobody's: say another, auto or random");
	*ret = mac;
	return 0;
}

int mac_prefix_parse(const char *text, struct mac *prefix, unsigned *ret_len, struct err *e)
{
	struct mac mac = {0};
	unsigned len = bytes_read(text, &mac);

	if (len < 1 || len >= sizeof(mac.b))
		return err_user(e, -EINVAL, text, "not a MAC prefix: say one to five bytes like 2:8:20");
	if (mac.b[0] & 1)
		return err_user(e, -EINVAL, text, "a prefix of group addresses: its first byte must be even");
	*prefix = mac;
	*ret_len = len;
	return 0;
}

const char *mac_str(struct mac mac, char buf[18])
{
	snprintf(buf, 18, "%02x:%02x:%02x:%02x:%02x:%02x", mac.b[0], mac.b[1], mac.b[2], mac.b[3], mac.b[4],
		 mac.b[5]);
	return buf;
}

bool mac_equal(struct mac a, struct mac b)
{
	return !memcmp(a.b, b.b, sizeof(a.b));
}

int mac_random(struct mac prefix, unsigned prefix_len, struct mac *ret, struct err *e)
{
	static const struct mac zero;
	struct mac mac = prefix;

	do {
		if (prefix_len < sizeof(mac.b) &&
		    getrandom(mac.b + prefix_len, sizeof(mac.b) - prefix_len, 0) < 0)
			return err_sys(e, -errno, "", "no random numbers from the kernel: %s",
				       strerror(errno));
		/* Without a prefix: locally administered, and nobody's group. */
		if (!prefix_len)
			mac.b[0] = (uint8_t)((mac.b[0] & ~1) | 2);
	} while (prefix_len < sizeof(mac.b) && mac_equal(mac, zero));
	*ret = mac;
	return 0;
}
