/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The two programs that many VNICs share, with the array of their states: loads them once, on the pinned
 * array. Attaches nothing and knows no VNIC but by its number.
 */
#include "lib/bpf/internal.h"
#include "lib/bpf/maps.h"

#include "lib/bpf/many.skel.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <fcntl.h>

static void skel_done(struct many_bpf **s)
{
	many_bpf__destroy(*s);
}
#define SKEL __attribute__((cleanup(skel_done))) struct many_bpf *

static int keep(int fd)
{
	return fcntl(fd, F_DUPFD_CLOEXEC, 0);
}

/* Of the loaded object only descriptors are kept: it is as large as everything else here. */
static int keep_all(struct many *m, const struct many_bpf *s)
{
	const struct bpf_program *progs[] = {[SIDE_INGRESS] = s->progs.rx, [SIDE_EGRESS] = s->progs.tx};
	int r = 0;

	for (enum side i = SIDE_INGRESS; !r && i <= SIDE_EGRESS; i++) {
		m->prog[i] = keep(bpf_program__fd(progs[i]));
		r = m->prog[i] < 0 ? -errno : prog_tag(m->prog[i], m->tag[i]);
	}
	if (!r)
		m->states = keep(bpf_map__fd(s->maps.states));
	return r || m->states >= 0 ? r : -errno;
}

static int load(struct many *m, int states)
{
	SKEL s = many_bpf__open();
	int r;

	forget_said();
	if (!s)
		return -errno;
	r = states < 0 ? 0 : bpf_map__reuse_fd(s->maps.states, states);
	r = r ? r : many_bpf__load(s);
	return r ? r : keep_all(m, s);
}

int many_open(struct bpf *b, int states)
{
	int r;

	if (b->many.states >= 0)
		return 0;
	r = load(&b->many, states);
	if (r)
		many_done(&b->many);
	return r;
}

void many_done(struct many *m)
{
	for (enum side i = SIDE_INGRESS; i <= SIDE_EGRESS; i++)
		close_fd(&m->prog[i]);
	close_fd(&m->states);
	*m = MANY_NONE;
}
