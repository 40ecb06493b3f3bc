/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Carries generic netlink requests; knows the controller's answer and no other family's attributes. */
#include "lib/nl/genl.h"

#include <errno.h>
#include <linux/genetlink.h>
#include <stdlib.h>
#include <string.h>

#define MSG_SIZE 1024 /* requests of ours are a few dozen bytes */

struct genl {
	struct mnl_socket *sock;
	uint16_t family;
	uint32_t seq;
	char msg[MSG_SIZE] __attribute__((aligned(NLMSG_ALIGNTO)));
	char answer[32768] __attribute__((aligned(NLMSG_ALIGNTO)));
};

static struct nlmsghdr *new_msg(struct genl *g, uint16_t family, uint8_t cmd, uint8_t version)
{
	struct nlmsghdr *h = mnl_nlmsg_put_header(g->msg);
	struct genlmsghdr *gh = mnl_nlmsg_put_extra_header(h, sizeof(*gh));

	h->nlmsg_type = family;
	h->nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK;
	h->nlmsg_seq = ++g->seq;
	*gh = (struct genlmsghdr){.cmd = cmd, .version = version};
	return h;
}

struct nlmsghdr *genl_msg(struct genl *g, uint8_t cmd, uint8_t version)
{
	return new_msg(g, g->family, cmd, version);
}

/* Hands the messages of one datagram on. 1: the acknowledgement was there, its code is in *x. */
static int take(struct genl *g, size_t len, mnl_cb_t cb, void *arg, struct extack *x)
{
	const struct nlmsghdr *h = (const void *)g->answer;
	int left = (int)len;

	for (; mnl_nlmsg_ok(h, left); h = mnl_nlmsg_next(h, &left)) {
		if (h->nlmsg_seq != g->seq)
			continue;
		if (h->nlmsg_type == NLMSG_ERROR)
			return extack_parse(h, (size_t)left, x) ? -EBADMSG : 1;
		if (h->nlmsg_type >= NLMSG_MIN_TYPE && cb(h, arg) < 0)
			return -EBADMSG;
	}
	return 0;
}

int genl_get(struct genl *g, struct nlmsghdr *h, mnl_cb_t cb, void *arg, struct extack *x)
{
	ssize_t len;
	int rc;

	*x = (struct extack){};
	if (mnl_socket_sendto(g->sock, h, h->nlmsg_len) < 0)
		return -errno;
	do {
		len = mnl_socket_recvfrom(g->sock, g->answer, sizeof(g->answer));
		if (len < 0)
			return -errno;
		rc = take(g, (size_t)len, cb, arg, x);
	} while (!rc);
	return rc < 0 ? rc : x->code;
}

static int get_family(const struct nlmsghdr *h, void *arg)
{
	const struct nlattr *a;

	mnl_attr_for_each(a, h, sizeof(struct genlmsghdr))
	{
		if (mnl_attr_get_type(a) == CTRL_ATTR_FAMILY_ID && !mnl_attr_validate(a, MNL_TYPE_U16))
			*(uint16_t *)arg = mnl_attr_get_u16(a);
	}
	return MNL_CB_OK;
}

static int find_family(struct genl *g, const char *name, struct err *e)
{
	struct nlmsghdr *h = new_msg(g, GENL_ID_CTRL, CTRL_CMD_GETFAMILY, 1);
	struct extack x;
	int rc;

	mnl_attr_put_strz(h, CTRL_ATTR_FAMILY_NAME, name);
	rc = genl_get(g, h, get_family, &g->family, &x);
	if (!rc && !g->family)
		rc = -ENOENT;
	return rc ? err_sys(e, rc, name, "this kernel's netlink has no such family: %s", strerror(-rc)) : 0;
}

static int connect_sock(struct genl *g, struct err *e)
{
	int on = 1;

	g->sock = mnl_socket_open2(NETLINK_GENERIC, SOCK_CLOEXEC);
	if (!g->sock || mnl_socket_bind(g->sock, 0, MNL_SOCKET_AUTOPID))
		return err_sys(e, -errno, NULL, "cannot open generic netlink socket: %s", strerror(errno));
	mnl_socket_setsockopt(g->sock, NETLINK_EXT_ACK, &on, sizeof(on));
	mnl_socket_setsockopt(g->sock, NETLINK_CAP_ACK, &on, sizeof(on));
	return 0;
}

int genl_open(const char *family, struct genl **ret, struct err *e)
{
	struct genl *g = calloc(1, sizeof(*g));
	int rc;

	if (!g)
		return err_nomem(e);
	rc = connect_sock(g, e);
	if (!rc)
		rc = find_family(g, family, e);
	if (rc)
		genl_close(g);
	else
		*ret = g;
	return rc;
}

struct genl *genl_close(struct genl *g)
{
	if (g && g->sock)
		mnl_socket_close(g->sock);
	free(g);
	return NULL;
}
