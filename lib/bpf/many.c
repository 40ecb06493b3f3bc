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

static int load_once(struct many *m, const char *pin)
{
	SKEL s = many_bpf__open();
	int r;

	forget_said();
	if (!s)
		return -errno;
	r = bpf_map__set_pin_path(s->maps.states, pin);
	r = r ? r : many_bpf__load(s);
	return r ? r : keep_all(m, s);
}

static int load(struct bpf *b, struct many *m)
{
	char pin[PIN_MAX];
	int r = pin_path(pin, NULL, "%s/states", b->dir);
	bool fresh = !r && access(pin, F_OK);

	r = r ? r : load_once(m, pin);
	/* Another build's layout. Whose states are in it keeps them, by pins of its own. */
	if (r == -EINVAL && !fresh && !pin_remove(pin, b->acts, NULL)) {
		many_done(m);
		fresh = true;
		r = load_once(m, pin);
	}
	*b->acts += !r && fresh;
	return r;
}

int many_open(struct bpf *b)
{
	int r;

	if (b->many.states >= 0)
		return 0;
	r = load(b, &b->many);
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
