// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Seats programs on devices: tcx links, or clsact filters at the end where tcx cannot be had or would pass by
 * somebody else's filters. Never leaves anything attached that no pin knows; never touches a foreign filter
 * or qdisc.
 */
#include "lib/bpf/internal.h"

#include "lib/base/disable.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <libmnl/libmnl.h>
#include <linux/pkt_sched.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* Newer than the headers of Debian 12. */
#define ATTACH_TCX_INGRESS 46
#define ATTACH_TCX_EGRESS  47
#define LINK_TYPE_TCX      11

#define FILTER_HANDLE 1
#define LOOPBACK      1 /* its ifindex, in every namespace */

static const struct {
	enum bpf_attach_type tcx;
	enum bpf_tc_attach_point clsact;
	uint32_t parent;
} SIDES[] = {
	[SIDE_INGRESS] = {.tcx = (enum bpf_attach_type)ATTACH_TCX_INGRESS,
			  .clsact = BPF_TC_INGRESS,
			  .parent = TC_H_MAKE(TC_H_CLSACT, TC_H_MIN_INGRESS)},
	[SIDE_EGRESS] = {.tcx = (enum bpf_attach_type)ATTACH_TCX_EGRESS,
			 .clsact = BPF_TC_EGRESS,
			 .parent = TC_H_MAKE(TC_H_CLSACT, TC_H_MIN_EGRESS)},
};

static bool forced;

void bpf_force_clsact(bool on)
{
	forced = on;
}

static bool no_tcx(void)
{
	return forced || disabled("tcx");
}

/*
 * A kernel with tcx (6.6) has it: nothing short of sending a frame would tell more. One without may have it
 * (6.4), and is served as well by filters.
 */
bool seat_redirects(void)
{
	uint32_t ids[64], count = sizeof(ids) / sizeof(ids[0]);

	return !disabled("redirect") &&
	       (!bpf_prog_query(LOOPBACK, SIDES[SIDE_INGRESS].tcx, 0, NULL, ids, &count) || errno != EINVAL);
}

/* What a pin holds. fd is -1 when there is no pin. */
struct holder {
	int fd;
	bool link; /* a tcx link; else a program */
	uint32_t prog_id;
	uint8_t tag[BPF_TAG_SIZE]; /* of a program; a link does not tell */
	int ifindex;               /* of a link; 0 when its device is gone */
	uint32_t attach;
};

static void holder_done(struct holder *h)
{
	close_fd(&h->fd);
}
#define HOLDER __attribute__((cleanup(holder_done))) struct holder

/* Both kinds of info begin with their type; LINK_TYPE_TCX is none of the program types a pin of ours has. */
union info {
	uint32_t type;
	struct bpf_prog_info prog;
	struct {
		uint32_t type, id, prog_id, zero, ifindex, attach;
	} link;
};

static int holder_open(const char *pin, struct holder *h)
{
	union info info = {.type = 0};
	uint32_t size = sizeof(info);

	*h = (struct holder){.fd = bpf_obj_get(pin)};
	if (h->fd < 0)
		return errno == ENOENT ? 0 : -errno;
	if (bpf_obj_get_info_by_fd(h->fd, &info, &size))
		return -errno;
	h->link = info.type == LINK_TYPE_TCX;
	h->prog_id = h->link ? info.link.prog_id : info.prog.id;
	h->ifindex = h->link ? (int)info.link.ifindex : 0;
	h->attach = h->link ? info.link.attach : 0;
	if (!h->link)
		memcpy(h->tag, info.prog.tag, sizeof(h->tag));
	return 0;
}

int prog_tag(int prog_fd, uint8_t ret[static BPF_TAG_SIZE])
{
	struct bpf_prog_info info = {.type = 0};
	uint32_t size = sizeof(info);

	if (bpf_obj_get_info_by_fd(prog_fd, &info, &size))
		return -errno;
	memcpy(ret, info.tag, BPF_TAG_SIZE);
	return 0;
}

/* No answer is not the answer no, here and below: what is there would be taken for gone. */
static int same_tag(uint32_t prog_id, const uint8_t *tag, bool *ret)
{
	FD fd = bpf_prog_get_fd_by_id(prog_id);
	uint8_t seen[BPF_TAG_SIZE];
	int r = fd < 0 ? -errno : prog_tag(fd, seen);

	*ret = !r && !memcmp(seen, tag, BPF_TAG_SIZE);
	return r == -ENOENT ? 0 : r;
}

/*
 * The link's own word on its ifindex is not enough, since every namespace counts from 1: the device of this
 * namespace has to know the program too.
 */
static int link_sits(const struct seat *s, const struct holder *h, bool *ret)
{
	uint32_t ids[64], count = sizeof(ids) / sizeof(ids[0]);

	if (h->ifindex != s->ifindex || h->attach != SIDES[s->side].tcx)
		return 0;
	if (bpf_prog_query(s->ifindex, SIDES[s->side].tcx, 0, NULL, ids, &count))
		return errno == ENOENT || errno == ENODEV || errno == EINVAL ? 0 : -errno;
	for (uint32_t i = 0; i < count && !*ret; i++)
		*ret = ids[i] == h->prog_id;
	return 0;
}

static struct bpf_tc_hook tc_hook(const struct seat *s)
{
	return (struct bpf_tc_hook){.sz = sizeof(struct bpf_tc_hook),
				    .ifindex = s->ifindex,
				    .attach_point = SIDES[s->side].clsact};
}

static struct bpf_tc_opts tc_opts(const struct seat *s)
{
	return (struct bpf_tc_opts){.sz = sizeof(struct bpf_tc_opts),
				    .handle = FILTER_HANDLE,
				    .priority = s->late ? LATE_PRIO : FILTER_PRIO};
}

static int filter_sits(const struct seat *s, const struct holder *h, bool *ret)
{
	uint32_t id = 0;
	int r = tc_filter_get(s, &id);

	*ret = !r && id == h->prog_id;
	return r == -ENOENT || r == -ENODEV || r == -EINVAL ? 0 : r;
}

static int sits(const struct seat *s, const struct holder *h, bool *ret)
{
	*ret = false;
	if (h->fd < 0 || s->ifindex <= 0)
		return 0;
	return h->link ? link_sits(s, h, ret) : filter_sits(s, h, ret);
}

/* Does what the pin holds sit there, and is it the program with this tag? */
static int sits_tagged(const struct seat *s, const struct holder *h, const uint8_t *tag, bool *ret)
{
	int r = sits(s, h, ret);

	if (r || !*ret)
		return r;
	if (h->link)
		return same_tag(h->prog_id, tag, ret);
	*ret = !memcmp(h->tag, tag, sizeof(h->tag));
	return 0;
}

struct filters {
	unsigned foreign, all;
};

static int filter_cb(const struct nlmsghdr *nlh, void *arg)
{
	const struct tcmsg *tc = mnl_nlmsg_get_payload(nlh);
	uint32_t prio = TC_H_MAJ(tc->tcm_info) >> 16;
	struct filters *f = arg;

	f->all++;
	f->foreign += prio != FILTER_PRIO && prio != MIRROR_PRIO && prio != LATE_PRIO && prio != OUT_PRIO;
	return MNL_CB_OK;
}

static int filters_dump(struct mnl_socket *nl, int ifindex, enum side side, struct filters *f)
{
	char buf[16384];
	struct nlmsghdr *nlh = mnl_nlmsg_put_header(buf);
	struct tcmsg *tc = mnl_nlmsg_put_extra_header(nlh, sizeof(*tc));
	ssize_t len;
	int r = MNL_CB_OK;

	nlh->nlmsg_type = RTM_GETTFILTER;
	nlh->nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP;
	*tc = (struct tcmsg){.tcm_ifindex = ifindex, .tcm_parent = SIDES[side].parent};
	if (mnl_socket_sendto(nl, nlh, nlh->nlmsg_len) < 0)
		return -errno;
	while (r > MNL_CB_STOP) {
		len = mnl_socket_recvfrom(nl, buf, sizeof(buf));
		r = len < 0 ? MNL_CB_ERROR : mnl_cb_run(buf, (size_t)len, 0, 0, filter_cb, f);
	}
	/* A device without such a hook has no filters. */
	return r == MNL_CB_ERROR && errno != EINVAL && errno != EOPNOTSUPP ? -errno : 0;
}

static int filters_count(int ifindex, enum side side, struct filters *f)
{
	struct mnl_socket *nl = mnl_socket_open2(NETLINK_ROUTE, SOCK_CLOEXEC);
	int r;

	*f = (struct filters){.all = 0};
	if (!nl)
		return -errno;
	r = mnl_socket_bind(nl, 0, MNL_SOCKET_AUTOPID) ? -errno : filters_dump(nl, ifindex, side, f);
	mnl_socket_close(nl);
	return r;
}

/* Would a tcx program here keep frames from somebody's filters? */
static int must_yield(const struct seat *s, bool *ret)
{
	struct filters f;
	int r = s->yield ? filters_count(s->ifindex, s->side, &f) : 0;

	*ret = !r && s->yield && f.foreign;
	return r;
}

static const char *device(const struct seat *s, char buf[static IF_NAMESIZE + 16])
{
	if (s->ifindex <= 0 || !if_indextoname((unsigned)s->ifindex, buf))
		snprintf(buf, IF_NAMESIZE + 16, "ifindex %d", s->ifindex);
	return buf;
}

static int failed(const struct seat *s, int code, const char *what, struct err *e)
{
	char buf[IF_NAMESIZE + 16];

	return said(e, code, device(s, buf), what);
}

int seat_observe(const struct seat *s, const uint8_t *tag, bool *ret, struct err *e)
{
	HOLDER h;
	bool yield = false, there = false;
	int r = holder_open(s->pin, &h);

	r = r ? r : sits_tagged(s, &h, tag, &there);
	if (r)
		return failed(s, r, "cannot read the pinned program", e);
	r = there && h.link ? must_yield(s, &yield) : 0;
	if (r)
		return failed(s, r, "cannot list its filters", e);
	*ret = there && !yield;
	return 0;
}

int seat_prog(const struct seat *s, uint32_t *ret_id, struct err *e)
{
	HOLDER h;
	bool there = false;
	int r = holder_open(s->pin, &h);

	r = r ? r : sits(s, &h, &there);
	if (r)
		return failed(s, r, "cannot read the pinned program", e);
	*ret_id = there ? h.prog_id : 0;
	return 0;
}

/* Pins fd at path in one step, whatever was pinned there. */
static int pin_at(int fd, const char *path, unsigned long *acts)
{
	char fresh[PIN_MAX + 8];

	if (!bpf_obj_pin(fd, path))
		return ++*acts, 0;
	if (errno != EEXIST)
		return -errno;
	snprintf(fresh, sizeof(fresh), "%s-new", path);
	unlink(fresh);
	if (bpf_obj_pin(fd, fresh) || rename(fresh, path))
		return -errno;
	++*acts;
	return 0;
}

/* The link dies with its descriptor until it is pinned. -EINVAL where the kernel has no tcx. */
static int link_take(const struct seat *s, int prog_fd)
{
	FD fd = no_tcx() ? -1 : bpf_link_create(prog_fd, s->ifindex, SIDES[s->side].tcx, NULL);

	if (fd < 0)
		return no_tcx() ? -EINVAL : -errno;
	++*s->acts;
	return pin_at(fd, s->pin, s->acts);
}

/* The mark comes before the qdisc, or a crash between the two would leave a qdisc that nobody removes. */
static int clsact_make(const struct seat *s)
{
	bool fresh = !mkdir(s->mark, 0700);
	int r;

	if (!fresh && errno != EEXIST)
		return -errno;
	r = tc_clsact_add(s);
	*s->acts += !r;
	if (r && fresh)
		rmdir(s->mark);
	return r == -EEXIST ? 0 : r;
}

/* A filter, unlike a link, outlives us: it is pinned first. */
static int filter_take(const struct seat *s, int prog_fd)
{
	int r = clsact_make(s);

	r = r ? r : pin_at(prog_fd, s->pin, s->acts);
	if (r)
		return r;
	++*s->acts;
	return tc_filter_put(s, prog_fd);
}

static int replace(const struct seat *s, const struct holder *old, int prog_fd)
{
	if (!old->link)
		return filter_take(s, prog_fd);
	++*s->acts;
	return bpf_link_update(old->fd, prog_fd, NULL) ? -errno : 0;
}

/*
 * old stays open, and so attached, until the new one stands. Every tcx link that is attached waits for an RCU
 * grace period under rtnl (5 to 20 ms, two for each VNIC), a clsact filter for none: a thousand VNICs at once
 * take filters. For one VNIC tcx is the better seat, since it stays on when others move the link.
 */
static int occupy(const struct seat *s, const struct holder *old, bool yield, int prog_fd)
{
	bool there;
	int r = sits(s, old, &there);

	if (r)
		return r;
	if (there && !(old->link && yield))
		return replace(s, old, prog_fd);
	r = -EINVAL;
	if (!yield && !s->clsact)
		r = link_take(s, prog_fd);
	if (r == -EINVAL)
		r = filter_take(s, prog_fd);
	if (!r && old->link)
		bpf_link_detach(old->fd);
	return r;
}

int seat_take(const struct seat *s, int prog_fd, const uint8_t *tag, struct err *e)
{
	HOLDER old;
	bool yield = false, there = false;
	int r = holder_open(s->pin, &old);

	r = r ? r : must_yield(s, &yield);
	r = r ? r : sits_tagged(s, &old, tag, &there);
	if (!r && there && !(old.link && yield))
		return 0;
	r = r ? r : occupy(s, &old, yield, prog_fd);
	return r ? failed(s, r, "cannot attach a program", e) : 0;
}

/* The qdisc goes when we made it and nobody uses it by now; it is others' once only they do. */
static int clsact_drop(const struct seat *s)
{
	struct filters in, out;
	struct bpf_tc_hook hook = tc_hook(s);
	int r;

	if (s->ifindex <= 0 || access(s->mark, F_OK))
		return 0;
	r = filters_count(s->ifindex, SIDE_INGRESS, &in);
	r = r ? r : filters_count(s->ifindex, SIDE_EGRESS, &out);
	if (!r && (in.all || out.all) && in.all == in.foreign && out.all == out.foreign)
		rmdir(s->mark);
	if (r || in.all || out.all)
		return r;
	hook.attach_point = BPF_TC_INGRESS | BPF_TC_EGRESS;
	++*s->acts;
	r = bpf_tc_hook_destroy(&hook);
	if (r == -ENOENT || r == -EINVAL || r == -ENODEV)
		r = 0;
	if (!r)
		rmdir(s->mark);
	return r;
}

static int filter_leave(const struct seat *s, const struct holder *h)
{
	struct bpf_tc_hook hook = tc_hook(s);
	struct bpf_tc_opts opts = tc_opts(s);
	bool there;
	int r = sits(s, h, &there);

	if (r || !there)
		return r;
	++*s->acts;
	r = bpf_tc_detach(&hook, &opts);
	return r == -ENOENT ? 0 : r;
}

int seat_leave(const struct seat *s, struct err *e)
{
	HOLDER h;
	int r = holder_open(s->pin, &h);

	if (!r && h.fd >= 0 && h.link) {
		++*s->acts;
		bpf_link_detach(h.fd); /* at once; the last reference would go at some later time */
	} else if (!r && h.fd >= 0) {
		r = filter_leave(s, &h);
	}
	/* Also without a pin: a daemon may have died after it made the qdisc. */
	r = r ? r : clsact_drop(s);
	if (r)
		return failed(s, r, "cannot detach a program", e);
	return pin_remove(s->pin, s->acts, e);
}
