/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reads the configuration file by a table of keys. Applies nothing to a running daemon. */
#include "vnicd/config.h"

#include "lib/base/nearest.h"
#include "vnicd/log.h"

#include <errno.h>
#include <ini.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct reading {
	struct config c;
	struct err e; /* the first line's that is wrong */
};

static bool set_path(struct config *c, size_t at, const char *value)
{
	char **field = (char **)((char *)c + at);

	if (value[0] != '/')
		return false;
	free(*field);
	*field = strdup(value);
	return *field != NULL;
}

static bool set_level(struct config *c, size_t at, const char *value)
{
	(void)at;
	c->log_level = log_level_parse(value);
	return c->log_level >= 0;
}

static const struct {
	const char *name;
	bool (*set)(struct config *c, size_t at, const char *value);
	size_t at;
	const char *what; /* it has to be */
} keys[] = {
	{"socket", set_path, offsetof(struct config, socket), "an absolute path"},
	{"state-dir", set_path, offsetof(struct config, state_dir), "an absolute path"},
	{"bpf-dir", set_path, offsetof(struct config, bpf_dir), "an absolute path"},
	{"log-level", set_level, 0, "error, warning, info or debug"},
};
#define KEYS (sizeof(keys) / sizeof(keys[0]))

/* Only the first fault is kept: inih goes on, and tells only its line. */
#define FAULT(r, ...) ((r)->e.code ? 0 : err_user(&(r)->e, -EINVAL, "", __VA_ARGS__), 0)

static const char *meant(const char *name)
{
	const char *words[KEYS];

	for (size_t i = 0; i < KEYS; i++)
		words[i] = keys[i].name;
	return nearest(name, words, KEYS);
}

static int on_key(void *arg, const char *section, const char *name, const char *value)
{
	struct reading *r = arg;
	const char *other;

	if (strcmp(section, "vnicd") != 0)
		return FAULT(r, "%s is outside section [vnicd], the only one there is", name);
	for (size_t i = 0; i < KEYS; i++) {
		if (strcmp(name, keys[i].name) != 0)
			continue;
		if (keys[i].set(&r->c, keys[i].at, value))
			return 1;
		return FAULT(r, "%s has to be %s, not '%s'", name, keys[i].what, value);
	}
	other = meant(name);
	return FAULT(r, "no such key: %s%s%s%s", name, other ? " (did you mean " : "", other ? other : "",
		     other ? "?)" : "");
}

static int read_file(const char *path, FILE *f, struct reading *r, struct err *e)
{
	int line = ini_parse_file(f, on_key, r);

	if (line < 0)
		return err_nomem(e);
	if (line > 0)
		return err_user(e, -EINVAL, path, "line %d: %s", line,
				r->e.code ? r->e.text : "neither [section] nor KEY = VALUE");
	return 0;
}

int config_read(const char *path, bool must, struct config *ret, struct err *e)
{
	struct reading r = {.c.log_level = -1};
	FILE *f = fopen(path, "re");
	int rc;

	if (!f && errno == ENOENT && !must) {
		*ret = r.c;
		return 0;
	}
	if (!f)
		return err_user(e, -errno, path, "cannot be read: %s", strerror(errno));
	rc = read_file(path, f, &r, e);
	fclose(f);
	if (rc < 0)
		config_free(&r.c);
	else
		*ret = r.c;
	return rc;
}

void config_free(struct config *c)
{
	free(c->socket);
	free(c->state_dir);
	free(c->bpf_dir);
	*c = (struct config){.log_level = -1};
}

static const char *first(const char *a, const char *b, const char *c)
{
	return a ? a : b ? b : c;
}

void config_apply(const struct config *c, struct options *o)
{
	o->socket = first(o->socket, c->socket, "/run/vnicd/vnicd.sock");
	o->state_dir = first(o->state_dir, c->state_dir, "/var/lib/vnicd");
	o->bpf_dir = first(o->bpf_dir, c->bpf_dir, "/sys/fs/bpf/vnicd");
	if (o->log_level < 0)
		o->log_level = c->log_level < 0 ? LOG_NOTE : c->log_level;
}
