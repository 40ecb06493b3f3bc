/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The daemon's options: from the configuration file (vnicd.conf(5)), below those of the command line. */
#pragma once

#include "vnicd/daemon.h"

#include <stdbool.h>

#define CONFIG_PATH "/etc/vnicd/vnicd.conf"

/* Takes ownership of nothing; a string stays valid until config_free(). */
struct config {
	char *socket, *state_dir, *bpf_dir; /* NULL: not given */
	int log_level;                      /* -1: not given */
};

/*
 * Reads path, an ini file (inih's ini.h), into *ret: on success to be given to config_free(). must: it has to
 * be there; else a missing file is an empty one. An unknown section, key or word is an error that names file
 * and line (e->mend), and *ret is as it was.
 */
int config_read(const char *path, bool must, struct config *ret, struct err *e);
void config_free(struct config *c);
/* What the file says where the command line said nothing (NULL, -1), and the defaults where neither did. */
void config_apply(const struct config *c, struct options *o);
