/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Checks names; never looks whether a link, zone or flow of that name exists. */
#include "lib/model/name.h"

#include "lib/model/flow.h"
#include "lib/model/node.h"

#include <ctype.h>
#include <errno.h>
#include <string.h>

#define CHARACTERS "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.-"

/*
 * ip takes any beginning of its keywords for the keyword. Only beginnings that end in a digit matter here;
 * these are all of them in ip-link(8), ip-address(8) and ip-route(8).
 */
static const char *const keywords[] = {"gso_ipv4", "gro_ipv4", "inet6", "ip6", "ip4"};

static bool is_keyword(const char *name)
{
	for (size_t i = 0; i < sizeof(keywords) / sizeof(*keywords); i++)
		if (!strcmp(name, keywords[i]))
			return true;
	return false;
}

static bool is_ifb_name(const char *name)
{
	return !strncmp(name, "vi", 2) && name[2] && name[2 + strspn(name + 2, "0123456789")] == '\0';
}

int name_check(const char *name, struct err *e)
{
	size_t len = strlen(name);
	const char *bad = name + strspn(name, CHARACTERS);

	if (len < 2 || len >= IFNAMSIZ)
		return err_user(e, -EINVAL, name, "a link's name has 2 to %d characters, this one has %zu",
				IFNAMSIZ - 1, len);
	if (*bad)
		return err_user(e, -EINVAL, name,
				"a link's name is made of letters, digits, '_', '.' and '-'");
	if (!isalpha((unsigned char)name[0]))
		return err_user(e, -EINVAL, name, "a link's name starts with a letter");
	if (!isdigit((unsigned char)name[len - 1]))
		return err_user(e, -EINVAL, name, "a link's name ends in a digit: try %.*s0", IFNAMSIZ - 2,
				name);
	if (is_keyword(name))
		return err_user(e, -EINVAL, name, "ip(8) reads this name as a keyword: choose another");
	if (is_ifb_name(name))
		return err_user(e, -EINVAL, name,
				"names vi<number> are kept for vnicd's own ifb links: choose another");
	return 0;
}

int zone_check(const char *zone, struct err *e)
{
	size_t len = strlen(zone);

	if (len == 0 || len >= ZONE_MAX)
		return err_user(e, -EINVAL, "zone", "a zone's name has 1 to %d characters", ZONE_MAX - 1);
	if (strchr(zone, '/') || !strcmp(zone, ".") || !strcmp(zone, ".."))
		return err_user(e, -EINVAL, "zone",
				"%s: give a name under /run/netns, as 'ip netns add NAME' makes it", zone);
	return 0;
}

int flow_name_check(const char *name, struct err *e)
{
	size_t len = strlen(name);

	if (len == 0 || len >= FLOW_NAME_MAX)
		return err_user(e, -EINVAL, name, "a flow's name has 1 to %d characters, this one has %zu",
				FLOW_NAME_MAX - 1, len);
	if (name[strspn(name, CHARACTERS)])
		return err_user(e, -EINVAL, name,
				"a flow's name is made of letters, digits, '_', '.' and '-'");
	if (name[0] == '-' || name[0] == '.')
		return err_user(e, -EINVAL, name, "a flow's name starts with a letter, a digit or '_'");
	return 0;
}
