/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Attributes on the command line, behind -a or without it, as pairs; what they mean the daemon says. */
#include "flowadm/flowadm.h"
#include "lib/cli/props.h"

#include <errno.h>
#include <string.h>

static const struct props_kind attrs = {.option = "", .word = "ATTR", .noun = "attribute"};

/* Most often a second name, or another character in the place of '='. */
static int check_list(const char *text, struct err *e)
{
	if (!*text || strchr(text, '='))
		return 0;
	return err_user(e, -EINVAL, NULL, "'%s' is not an attribute: write ATTR=VALUE[,ATTR=VALUE]...", text);
}

/* Everything that is a list of attributes, as it was typed; NULL without memory. */
static json_t *lists_given(const struct cli *cli, int n)
{
	json_t *lists = cli->repeated['a'] ? json_copy(cli->repeated['a']) : json_array();

	for (int i = 0; i < n; i++)
		json_array_append_new(lists, json_string(cli->args[i]));
	return lists;
}

int attrs_given(const struct cli *cli, int n, json_t **ret, struct err *e)
{
	json_t *lists = lists_given(cli, n), *list;
	int rc = lists ? 0 : err_nomem(e);
	size_t i;

	json_array_foreach (lists, i, list) {
		rc = rc ? rc : check_list(json_string_value(list), e);
	}
	if (!rc)
		rc = props_parse(&attrs, lists, ret, e);
	json_decref(lists);
	return rc;
}
