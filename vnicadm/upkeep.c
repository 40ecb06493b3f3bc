/* SPDX-License-Identifier: GPL-2.0-or-later */
/* reapply and reset: what the user is asked before, and told after. */
#include "lib/cli/die.h"
#include "vnicadm/vnicadm.h"

#include <errno.h>
#include <stdio.h>
#include <unistd.h>

static void say(const char *object, const char *text)
{
	char line[700];

	snprintf(line, sizeof(line), "%s%s%s", object, *object ? ": " : "", text);
	die_say(line);
}

int reapply(struct cli *cli)
{
	json_t *reply, *row;
	struct err e;
	size_t i;
	int rc = 0;

	if (verb_call(cli, "Reapply", json_pack("{s:s*}", "link", verb_first(cli)), &reply, &e))
		return die(&e);
	json_array_foreach (json_object_get(reply, "failed"), i, row) {
		const char *link = json_string_value(json_object_get(row, "link"));
		const char *text = json_string_value(json_object_get(row, "text"));

		say(link ? link : "", text ? text : "not as it should be");
		rc = STATUS_USER;
	}
	json_decref(reply);
	return rc;
}

static bool agreed(void)
{
	char answer[8] = "";

	fprintf(stderr, "Delete every VNIC, etherstub and flow, and the caps of other links? [y/N] ");
	return fgets(answer, sizeof(answer), stdin) && (answer[0] == 'y' || answer[0] == 'Y');
}

int reset_all(struct cli *cli)
{
	if (cli->value['y'] || cli->dry)
		return verb_do(cli, "Reset", json_object());
	if (!isatty(STDIN_FILENO)) {
		say("", "reset deletes every VNIC, etherstub and flow, and the caps of other links: say "
			"--yes where there is no terminal to ask on");
		return STATUS_USER;
	}
	if (agreed())
		return verb_do(cli, "Reset", json_object());
	say("", "nothing was changed");
	return STATUS_USER;
}
