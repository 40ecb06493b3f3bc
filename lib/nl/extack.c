/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reads acknowledgements and the attributes behind them; never sends, never allocates. */
#include "lib/nl/extack.h"

#include <errno.h>
#include <string.h>

static void get_text(struct extack *x, const char *data, size_t len)
{
	len = strnlen(data, len);
	if (len >= sizeof(x->text))
		len = sizeof(x->text) - 1;
	memcpy(x->text, data, len);
	x->text[len] = '\0';
}

static void get_u32(uint32_t *to, const char *data, size_t len)
{
	if (len >= sizeof(*to))
		memcpy(to, data, sizeof(*to));
}

static void get_attr(struct extack *x, unsigned type, const char *data, size_t len)
{
	switch (type & NLA_TYPE_MASK) {
	case NLMSGERR_ATTR_MSG:
		get_text(x, data, len);
		break;
	case NLMSGERR_ATTR_OFFS:
		get_u32(&x->offset, data, len);
		break;
	case NLMSGERR_ATTR_MISS_TYPE:
		get_u32(&x->missing, data, len);
		break;
	}
}

static void get_attrs(struct extack *x, const char *p, size_t left)
{
	struct nlattr a;
	size_t step;

	while (left >= NLA_HDRLEN) {
		memcpy(&a, p, sizeof(a));
		if (a.nla_len < NLA_HDRLEN || a.nla_len > left)
			return;
		get_attr(x, a.nla_type, p + NLA_HDRLEN, a.nla_len - NLA_HDRLEN);
		step = NLA_ALIGN((size_t)a.nla_len);
		if (step >= left)
			return;
		p += step;
		left -= step;
	}
}

/* Where the attributes start: behind the request's header, or behind all of the request where it is repeated.
 */
static size_t attrs_at(const struct nlmsghdr *h, const char *msg)
{
	struct nlmsghdr request;

	if (h->nlmsg_type == NLMSG_DONE)
		return NLMSG_HDRLEN + sizeof(int);
	if ((h->nlmsg_flags & NLM_F_CAPPED) || h->nlmsg_len < NLMSG_LENGTH(sizeof(struct nlmsgerr)))
		return NLMSG_LENGTH(sizeof(struct nlmsgerr));
	memcpy(&request, msg + NLMSG_HDRLEN + sizeof(int), sizeof(request));
	return NLMSG_HDRLEN + sizeof(int) + NLMSG_ALIGN((size_t)request.nlmsg_len);
}

int extack_parse(const void *msg, size_t size, struct extack *ret)
{
	struct extack x = {};
	struct nlmsghdr h;
	size_t at;

	if (size < NLMSG_HDRLEN + sizeof(int))
		return -EBADMSG;
	memcpy(&h, msg, sizeof(h));
	if (h.nlmsg_len > size || h.nlmsg_len < NLMSG_HDRLEN + sizeof(int))
		return -EBADMSG;
	if (h.nlmsg_type != NLMSG_ERROR && h.nlmsg_type != NLMSG_DONE)
		return -EBADMSG;
	memcpy(&x.code, (const char *)msg + NLMSG_HDRLEN, sizeof(x.code));
	at = attrs_at(&h, msg);
	if ((h.nlmsg_flags & NLM_F_ACK_TLVS) && at < h.nlmsg_len)
		get_attrs(&x, (const char *)msg + at, h.nlmsg_len - at);
	*ret = x;
	return 0;
}
