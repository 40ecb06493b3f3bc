/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The gate through which every modifying act leaves: counts it, sends it, and says in words what went wrong.
 */
#include "lib/kern/real.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

/* What an errno means to the user; kind OP_COUNT: whatever the operation. */
static const struct {
	enum op_kind kind;
	int code;
	bool mend;
	const char *text;
} words[] = {
	{.kind = OP_LINK_ADD, .code = EEXIST, .mend = true, .text = "a link of that name exists"},
	{.kind = OP_LINK_MOVE, .code = EEXIST, .mend = true, .text = "the zone has a link of that name"},
	{.kind = OP_LINK_ADD,
	 .code = EBUSY,
	 .mend = true,
	 .text = "the parent is in use by a bridge, bond or other"},
	{.kind = OP_LINK_ADD,
	 .code = EADDRINUSE,
	 .mend = true,
	 .text = "another link on the parent has that MAC"},
	{.kind = OP_LINK_ADD, .code = ENODEV, .mend = true, .text = "the parent is gone"},
	{.kind = OP_LINK_MTU, .code = EINVAL, .mend = true, .text = "the kernel refuses that MTU"},
	{.kind = OP_LINK_MTU, .code = ERANGE, .mend = true, .text = "the kernel refuses that MTU"},
	{.kind = OP_COUNT, .code = EEXIST, .mend = true, .text = "somebody else's stands in its place"},
	{.kind = OP_COUNT, .code = ENODEV, .mend = true, .text = "no such link"},
	{.kind = OP_COUNT, .code = EPERM, .text = "not permitted: vnicd needs CAP_NET_ADMIN"},
	{.kind = OP_COUNT, .code = EOPNOTSUPP, .text = "this kernel cannot do it"},
};

static int find_words(enum op_kind kind, int code)
{
	for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++)
		if (words[i].code == code && (words[i].kind == kind || words[i].kind == OP_COUNT))
			return (int)i;
	return -1;
}

int act_fail(struct act *a, int rc, const struct extack *x)
{
	int i = find_words(a->op->kind, -rc);
	const char *text = i < 0 ? strerror(-rc) : words[i].text;
	const char *more = x && x->text[0] ? x->text : NULL;
	bool mend = i >= 0 && words[i].mend;

	return (mend ? err_user : err_sys)(a->e, rc, a->port->name, "cannot %s: %s%s%s%s", a->what, text,
					   more ? " (" : "", more ? more : "", more ? ")" : "");
}

static void count(struct act *a)
{
	a->r->kernel.acts++;
}

int act_send(struct act *a, struct nl_msg *msg)
{
	struct extack x;
	int rc;

	count(a);
	rc = sock_act(a->sk, msg, &x);
	return rc ? act_fail(a, rc, &x) : 0;
}

int act_write(struct act *a, const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	int rc = 0;

	if (fd < 0)
		return errno == ENOENT ? 0 : act_fail(a, -errno, NULL);
	count(a);
	if (write(fd, text, strlen(text)) < 0)
		rc = act_fail(a, -errno, NULL);
	close(fd);
	return rc;
}

int act_ifindex(struct act *a, int *ret)
{
	struct link_view v;
	struct extack x;
	int rc;

	if (a->port->ifindex > 0) {
		*ret = a->port->ifindex;
		return 0;
	}
	rc = link_get(a->sk, 0, a->port->name, &v, &x);
	if (rc)
		return act_fail(a, rc, &x);
	*ret = v.sys.ifindex;
	return 0;
}
