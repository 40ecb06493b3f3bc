// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What a link that is not ours has beside its flow programs: the state that these obey, a note of which link
 * it is, the filter that redirects. Never touches a filter or qdisc of others.
 */
#include "lib/bpf/theirs.h"

#include "lib/bpf/maps.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static int note_path(char ret[static PIN_MAX], const char *dir, struct err *e)
{
	return pin_path(ret, e, "%s/on", dir);
}

int theirs_on(const char *dir)
{
	char path[PIN_MAX], text[16];
	ssize_t len = note_path(path, dir, NULL) ? -1 : readlink(path, text, sizeof(text) - 1);

	if (len < 0)
		return 0;
	text[len] = '\0';
	return atoi(text);
}

/* Before anything is attached, so that a killed daemon leaves nothing that nobody finds. */
static int note(struct bpf *b, const char *dir, int ifindex)
{
	char path[PIN_MAX], text[16];
	int r = note_path(path, dir, NULL);

	if (r || theirs_on(dir) == ifindex)
		return r;
	if (mkdir(dir, 0700) && errno != EEXIST)
		return -errno;
	snprintf(text, sizeof(text), "%d", ifindex);
	++*b->acts;
	return symlink(text, path) ? -errno : 0;
}

static int read_state(const struct pins *p, uint32_t n, struct vnic_state *ret)
{
	HOME h;
	int r = home_open(p, n, &h);

	return r ? r : bpf_map_lookup_elem(h.fd, &h.slot, ret) ? -errno : 0;
}

int bpf_theirs_observe(struct bpf *b, uint32_t n, int ifindex, int out, struct prog *ret, struct err *e)
{
	struct vnic_state st = {.theirs = 0};
	struct pins p;
	int ifb = 0, r = pins_of(b, n, ifindex, &p, e);

	if (r)
		return r;
	*ret = (struct prog){.present = false};
	r = p.theirs && p.seat[SIDE_EGRESS].ifindex == ifindex ? read_state(&p, n, &st) : -ENOENT;
	if (!r && st.theirs)
		r = out_get(b, ifindex, &ifb);
	if (r || !st.theirs)
		return !r || r == -ENOENT ? 0 : vnic_failed(n, r, "cannot read its hooks", e);
	*ret = (struct prog){.present = true,
			     .rx = st.rx,
			     .tx = st.tx,
			     .group_rate = st.rate,
			     .theirs = true,
			     .all = st.all,
			     .out = ifb && ifb == out && st.out == (uint32_t)out,
			     .out_index = (int)st.out};
	memcpy(ret->own.b, st.mac, sizeof(st.mac));
	return 0;
}

/* What was there for another link, which perhaps had this one's name, is of no use. */
static int clear_other(struct bpf *b, uint32_t n, int ifindex, struct err *e)
{
	struct pins p;
	int r = pins_of(b, n, ifindex, &p, e);

	if (r || access(p.dir, F_OK) || (p.theirs && p.seat[SIDE_EGRESS].ifindex == ifindex))
		return r;
	return bpf_vnic_del(b, n, ifindex, e);
}

static int failed(int code, struct err *e)
{
	if (code == -ENOENT)
		return err_sys(
			e, code, NULL,
			"cannot redirect what it sends: this kernel has no mirred action (act_mirred)");
	return said(e, code, NULL, "cannot redirect what it sends");
}

/* The program obeys first: it lets nothing through to a filter that goes, and all to one that is there. */
static int redirect(struct bpf *b, int ifindex, const struct prog *prog, struct err *e)
{
	int ifb = 0, r = out_get(b, ifindex, &ifb);

	if (!r && prog->out && ifb != prog->out_index)
		r = out_put(b, ifindex, prog->out_index);
	else if (!r && !prog->out && ifb)
		r = out_drop(b, ifindex);
	return r ? failed(r, e) : 0;
}

int bpf_theirs_set(struct bpf *b, uint32_t n, int ifindex, const struct prog *prog, struct err *e)
{
	int r = bpf_vnic_set(b, n, prog, e);

	return r ? r : redirect(b, ifindex, prog, e);
}

int bpf_theirs_add(struct bpf *b, uint32_t n, int ifindex, const struct prog *prog, struct err *e)
{
	struct pins p;
	bool fresh;
	int r = clear_other(b, n, ifindex, e);

	r = r ? r : pins_of(b, n, ifindex, &p, e);
	if (r)
		return r;
	fresh = !p.theirs;
	r = pins_stand(b, e);
	if (r)
		return r;
	r = note(b, p.dir, ifindex);
	if (r)
		return vnic_failed(n, r, "cannot make its pin directory", e);
	r = pins_of(b, n, ifindex, &p, e);
	r = r ? r : state_make(b, n, &p, prog, e);
	r = r ? r : redirect(b, ifindex, prog, e);
	if (r && fresh)
		bpf_vnic_del(b, n, ifindex, NULL);
	return r;
}

int theirs_leave(struct bpf *b, const struct pins *p, struct err *e)
{
	int r = p->theirs ? out_drop(b, p->seat[SIDE_EGRESS].ifindex) : 0;

	return r ? failed(r, e) : 0;
}
