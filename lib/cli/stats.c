/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Counters: totals, then what came since the block before, as counts or rates. Differences are taken here
 * from the daemon's totals, over the time the daemon measured; the daemon is waited for when it restarts.
 */
#include "lib/cli/stats.h"

#include "lib/base/units.h"
#include "lib/cli/die.h"
#include "lib/cli/show.h"
#include "lib/ipc/client.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#define RETRY_MS  200
#define RETRY_FOR 5 /* seconds */
#define ROWS_TTY  24
#define NSEC      1000000000

enum unit { PACKETS, BYTES };

/* All that there are; a row has some of them. */
static const struct counter {
	const char *key;
	enum unit unit;
} counters[] = {
	{"ipackets", PACKETS},  {"rbytes", BYTES},     {"ierrors", PACKETS}, {"idrops", PACKETS},
	{"opackets", PACKETS},  {"obytes", BYTES},     {"oerrors", PACKETS}, {"odrops", PACKETS},
	{"fragments", PACKETS}, {"unparsed", PACKETS},
};

struct stats {
	const struct cli *cli;
	const struct stats_kind *kind;
	struct columns columns;
	unsigned interval, count; /* 0: not given */
	unsigned blocks;          /* shown */
	unsigned rows;            /* of the screen, since the last header */
	json_t *last;             /* by key: its row in the block before */
	struct timespec gone;     /* when the daemon went, 0 while it is there */
};

static bool is_rate(const json_t *row)
{
	return !strcmp(json_string_value(json_object_get(row, "sample")), "rate");
}

static char *text_number(double number, int decimals)
{
	char *text = malloc(64);

	if (text)
		snprintf(text, 64, "%.*f", decimals, number);
	return text;
}

/* Counts are not negative. */
static json_int_t round_off(double number)
{
	return (json_int_t)(number + 0.5);
}

/* A few packets a second are not none. */
char *stats_packets(const json_t *row, const json_t *value)
{
	double number = json_number_value(value);

	if (!json_is_number(value))
		return NULL;
	return text_number(number, is_rate(row) && number < 10 && number != (double)round_off(number));
}

char *stats_bytes(const json_t *row, const json_t *value)
{
	char *text;

	if (!is_rate(row))
		return text_number(json_number_value(value), 0);
	text = malloc(32);
	if (text)
		rate_human(json_number_value(value), text, 32);
	return text;
}

static json_int_t number_of(const json_t *row, const char *key)
{
	return json_integer_value(json_object_get(row, key));
}

static double seconds_between(const json_t *old, const json_t *new)
{
	return (double)(number_of(new, "time") - number_of(old, "time")) / NSEC;
}

/* Only when time went on and no counter began anew, as one of a link re-made by somebody else does. */
static bool can_differ(const json_t *old, const json_t *new)
{
	if (!old || number_of(new, "time") <= number_of(old, "time"))
		return false;
	for (size_t i = 0; i < sizeof(counters) / sizeof(*counters); i++)
		if (number_of(new, counters[i].key) < number_of(old, counters[i].key))
			return false;
	return true;
}

static json_t *rate(const struct counter *c, json_int_t count, double seconds)
{
	if (c->unit == BYTES)
		return json_integer(round_off(8.0 * (double)count / seconds));
	return json_real((double)round_off(10.0 * (double)count / seconds) / 10);
}

static void differ(json_t *row, const json_t *old, const json_t *new, bool rates)
{
	double seconds = seconds_between(old, new);

	json_object_set_new(row, "sample", json_string(rates ? "rate" : "delta"));
	json_object_set_new(row, "seconds", json_real((double)round_off(seconds * 1000) / 1000));
	for (size_t i = 0; i < sizeof(counters) / sizeof(*counters); i++) {
		const struct counter *c = &counters[i];
		json_int_t count = number_of(new, c->key) - number_of(old, c->key);

		if (json_object_get(new, c->key))
			json_object_set_new(row, c->key,
					    rates ? rate(c, count, seconds) : json_integer(count));
	}
}

/* The row to print for new: itself as a total, or what came since old. */
static json_t *row_for(const json_t *old, json_t *new, bool rates)
{
	json_t *row = json_copy(new);

	if (!row)
		return NULL;
	json_object_set_new(row, "sample", json_string("total"));
	if (can_differ(old, new))
		differ(row, old, new, rates);
	return row;
}

static unsigned screen_rows(void)
{
	struct winsize size;

	if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) || size.ws_row < 3)
		return ROWS_TTY;
	return size.ws_row;
}

/* Again every screenful on a terminal, once in a pipe, never for scripts. */
static void header_if_due(struct stats *s)
{
	bool due = !s->rows || (isatty(STDOUT_FILENO) && s->rows >= screen_rows() - 1);

	if (s->columns.json || s->columns.parsable || !due)
		return;
	columns_stream_header(&s->columns, stdout);
	s->rows = 1;
}

static int print_row(struct stats *s, const json_t *row, struct err *e)
{
	int rc;

	header_if_due(s);
	rc = columns_stream_row(&s->columns, row, stdout, e);
	s->rows++;
	if (!rc && fflush(stdout))
		rc = err_sys(e, -errno, NULL, "cannot write: %s", strerror(errno));
	return rc;
}

/* Notes the row under its key for the next block, and prints what came since the last one. */
static int show_one(struct stats *s, json_t *now, json_t *new, struct err *e)
{
	char *key = s->kind->key(new);
	json_t *row;
	int rc;

	if (!key)
		return err_sys(e, -EPROTO, NULL, "vnicd sent a row without a %s", s->kind->object);
	row = row_for(json_object_get(s->last, key), new, s->cli->value['r']);
	rc = row ? print_row(s, row, e) : err_nomem(e);
	if (!rc)
		json_object_set(now, key, new);
	json_decref(row);
	free(key);
	return rc;
}

/* What is not in this block is forgotten: should it come back, it begins with totals. */
static int show_block(struct stats *s, const json_t *reply, struct err *e)
{
	json_t *now = json_object(), *row;
	size_t i;
	int rc = 0;

	json_array_foreach (json_object_get(reply, "stats"), i, row) {
		rc = rc ? rc : show_one(s, now, row, e);
	}
	json_decref(s->last);
	s->last = now;
	s->blocks++;
	s->gone = (struct timespec){0};
	return rc;
}

static json_t *call_params(const struct stats *s)
{
	return json_pack("{s:o*, s:s*, s:o*, s:o*}", "names", verb_names(s->cli), "link", s->cli->value['l'],
			 "interval", s->interval ? json_integer(s->interval) : NULL, "count",
			 s->count ? json_integer(s->count - s->blocks) : NULL);
}

static int call(struct stats *s, struct client *c, json_t **ret, bool *ret_continues, struct err *e)
{
	json_t *params = call_params(s);
	int rc;

	*ret_continues = false;
	if (!params)
		return err_nomem(e);
	if (s->interval)
		rc = client_call_more(c, s->kind->method, params, ret, ret_continues, e);
	else
		rc = client_call(c, s->kind->method, params, ret, e);
	json_decref(params);
	return rc;
}

/* One connection, until the last block or until it breaks. */
static int follow(struct stats *s, struct err *e)
{
	struct client *c = NULL;
	json_t *reply = NULL;
	bool continues;
	int rc;

	rc = client_open(s->cli->socket, &c, e);
	if (!rc)
		rc = call(s, c, &reply, &continues, e);
	while (!rc) {
		rc = show_block(s, reply, e);
		json_decref(reply);
		if (rc || !continues)
			break;
		rc = client_next(c, &reply, &continues, e);
		rc = rc > 0 ? 0 : rc;
	}
	client_close(c);
	return rc;
}

/* True, after a pause, when the daemon went no longer than RETRY_FOR ago and was there before. */
static bool wait_for_daemon(struct stats *s, int rc)
{
	struct timespec now, pause = {.tv_nsec = RETRY_MS * 1000000L};

	if (!s->blocks || !s->interval || (rc != -ECONNRESET && rc != -ECONNREFUSED && rc != -ENOENT))
		return false;
	clock_gettime(CLOCK_MONOTONIC, &now);
	if (!s->gone.tv_sec)
		s->gone = now;
	if (now.tv_sec - s->gone.tv_sec >= RETRY_FOR)
		return false;
	nanosleep(&pause, NULL);
	return true;
}

/* Every row is flushed when it is written: there is nothing left to do. */
static void stop(int sig)
{
	(void)sig;
	_exit(0);
}

static bool whole_number(const char *text, unsigned *ret)
{
	char *end;
	unsigned long n;

	errno = 0;
	n = strtoul(text, &end, 10);
	if (*text < '0' || *text > '9' || *end || errno || !n || n > INT_MAX)
		return false;
	*ret = (unsigned)n;
	return true;
}

static int read_numbers(const struct cli *cli, struct stats *s)
{
	if (cli->value['i'] && !whole_number(cli->value['i'], &s->interval))
		return verb_usage(cli, "invalid interval '%s': whole seconds from 1", cli->value['i']);
	if (cli->count && !whole_number(cli->count, &s->count))
		return verb_usage(cli, "invalid count '%s': a whole number from 1", cli->count);
	if (cli->value['r'] && !s->interval)
		return verb_usage(cli, "-r needs -i SECONDS: a rate is measured between two samples");
	return 0;
}

int stats_check(const struct cli *cli, const char *without)
{
	for (const char *flag = "ir"; !cli->value['s'] && *flag; flag++)
		if (cli->value[(unsigned char)*flag])
			return verb_usage(cli, "-%c needs -s", *flag);
	if (!cli->value['s'] && cli->nargs > 1)
		return verb_usage(cli, "unexpected operand '%s'", cli->args[1]);
	for (; cli->value['s'] && *without; without++)
		if (cli->value[(unsigned char)*without])
			return verb_usage(cli, "-%c cannot be used with -s", *without);
	return 0;
}

int stats_show(struct cli *cli, const struct stats_kind *kind)
{
	struct stats s = {.cli = cli, .kind = kind};
	struct err e;
	int rc = read_numbers(cli, &s);

	if (rc)
		return rc;
	rc = show_choose(cli, kind->columns, &s.columns);
	if (rc)
		return rc;
	signal(SIGINT, stop);
	signal(SIGTERM, stop);
	while ((rc = follow(&s, &e)) && wait_for_daemon(&s, rc))
		;
	json_decref(s.last);
	return !rc || rc == -EPIPE ? 0 : die(&e);
}
