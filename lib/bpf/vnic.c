// SPDX-License-Identifier: GPL-2.0-or-later
/* One VNIC's two programs and their state: loads them, sets mode and rate, reads drops. Knows no parent. */
#include "lib/bpf/internal.h"
#include "lib/bpf/maps.h"

#include "lib/bpf/vnic.skel.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#define FRAME        1514ULL /* bytes */
#define DEPTH_NS     4000000ULL
#define SLOW_PERCENT 2

_Static_assert(VNIC_PASS == HOOK_PASS && VNIC_POLICE == HOOK_POLICE && VNIC_DROP == HOOK_DROP,
	       "modes are one set");

static void skel_done(struct vnic_bpf **s)
{
	vnic_bpf__destroy(*s);
}
#define SKEL __attribute__((cleanup(skel_done))) struct vnic_bpf *

int pins_of(struct bpf *b, uint32_t n, int ifindex, struct pins *p, struct err *e)
{
	static const char *const NAMES[] = {[SIDE_INGRESS] = "rx", [SIDE_EGRESS] = "tx"};
	int on, r = pin_path(p->dir, e, "%s/vnic-%u", b->dir, n);

	r = r ? r : pin_path(p->state, e, "%s/state", p->dir);
	if (r)
		return r;
	on = theirs_on(p->dir);
	p->theirs = on > 0;
	for (enum side i = SIDE_INGRESS; !r && i <= SIDE_EGRESS; i++) {
		p->seat[i] = (struct seat){.ifindex = p->theirs ? on : ifindex,
					   .side = i,
					   .clsact = p->theirs,
					   .late = p->theirs,
					   .nl = b->away ? NULL : b->nl,
					   .acts = b->acts};
		r = pin_path(p->seat[i].pin, e, "%s/%s", p->dir, NAMES[i]);
		/* The qdisc of such a link may be that of its VNICs' hook as well. */
		if (!r && p->theirs)
			r = pin_path(p->seat[i].mark, e, "%s/hook-%d-clsact", b->dir, on);
		else if (!r)
			r = pin_path(p->seat[i].mark, e, "%s/clsact", p->dir);
	}
	return r;
}

static const char *object(uint32_t n, char buf[static 24])
{
	snprintf(buf, 24, "VNIC number %u", n);
	return buf;
}

int vnic_failed(uint32_t n, int code, const char *what, struct err *e)
{
	char buf[24];

	return said(e, code, object(n, buf), what);
}

static int prog_fd(const struct vnic_bpf *s, enum side side)
{
	return bpf_program__fd(side == SIDE_INGRESS ? s->progs.rx : s->progs.tx);
}

static int remember_tags(struct bpf *b, const struct vnic_bpf *s)
{
	int r = 0;

	for (enum side i = SIDE_INGRESS; !r && !b->tagged && i <= SIDE_EGRESS; i++)
		r = prog_tag(prog_fd(s, i), b->vnic_tag[i]);
	b->tagged = !r;
	return r;
}

/* On the state pinned there, or a new one that is pinned there then; pin NULL: only to learn the tags. */
static int load_once(struct bpf *b, const char *pin, struct vnic_bpf **ret)
{
	SKEL s = vnic_bpf__open();
	int r;

	forget_said();
	if (!s)
		return -errno;
	r = pin ? bpf_map__set_pin_path(s->maps.bss, pin) : 0;
	r = r ? r : vnic_bpf__load(s);
	r = r ? r : remember_tags(b, s);
	if (r)
		return r;
	*ret = s;
	s = NULL;
	return 0;
}

static int know_tags(struct bpf *b, uint32_t n, struct err *e)
{
	SKEL s = NULL;
	int r = b->tagged ? 0 : load_once(b, NULL, &s);

	return r ? vnic_failed(n, r, "cannot load its programs", e) : 0;
}

int pins_leave(const struct pins *p, struct err *e)
{
	int r = 0;

	for (enum side i = SIDE_INGRESS; !r && i <= SIDE_EGRESS; i++)
		r = seat_leave(&p->seat[i], e);
	return r;
}

/* Programs that run on a state that is pinned no more would not obey: they go before a new state is there. */
static int load_fresh(struct bpf *b, const struct pins *p, struct vnic_bpf **ret, struct err *e)
{
	int r = pin_remove(p->state, b->acts, e);

	r = r ? r : pins_leave(p, e);
	r = r ? r : load_once(b, p->state, ret);
	*b->acts += !r;
	return r;
}

static int load(struct bpf *b, uint32_t n, const struct pins *p, struct vnic_bpf **ret, struct err *e)
{
	int r = access(p->state, F_OK) ? -EINVAL : load_once(b, p->state, ret);

	if (r == -EINVAL) /* not there, or another build's layout */
		r = load_fresh(b, p, ret, e);
	return r ? vnic_failed(n, r, "cannot load its programs", e) : 0;
}

void home_done(struct home *h)
{
	close_fd(&h->fd);
}

/* A layout of another size reads as not there: the loader makes it anew. */
int home_open(const struct pins *p, uint32_t n, struct home *h)
{
	struct bpf_map_info info = {.type = 0};
	uint32_t size = sizeof(info);

	*h = (struct home){.fd = bpf_obj_get(p->state)};
	if (h->fd < 0 || bpf_obj_get_info_by_fd(h->fd, &info, &size))
		return -errno;
	if (info.value_size != sizeof(struct vnic_state))
		return -ENOENT;
	h->map = info.id;
	h->shared = info.max_entries > 1;
	h->slot = h->shared ? n : 0;
	return 0;
}

static int read_home(const struct home *h, struct vnic_state *ret)
{
	return bpf_map_lookup_elem(h->fd, &h->slot, ret) ? -errno : 0;
}

static int read_state(const struct pins *p, uint32_t n, struct vnic_state *ret)
{
	HOME h;
	int r = home_open(p, n, &h);

	return r ? r : read_home(&h, ret);
}

/* The tags of the programs on this state. */
static int tags_of(struct bpf *b, uint32_t n, const struct home *h, uint8_t (**ret)[BPF_TAG_SIZE],
		   struct err *e)
{
	int r = h->shared ? many_open(b, h->fd) : 0;

	if (r)
		return vnic_failed(n, r, "cannot load its programs", e);
	*ret = h->shared ? b->many.tag : b->vnic_tag;
	return h->shared ? 0 : know_tags(b, n, e);
}

/* A program that classifies does all that the plain one does. */
static int sits(struct bpf *b, uint32_t n, const struct pins *p, enum side side, const uint8_t *tag,
		bool *ret, struct err *e)
{
	int r = seat_observe(&p->seat[side], tag, ret, e);

	return r || *ret ? r : flow_sits(b, n, &p->seat[side], (enum flow_prog)side, ret, e);
}

int bpf_vnic_observe(struct bpf *b, uint32_t n, int ifindex, struct prog *ret, struct err *e)
{
	uint8_t(*tags)[BPF_TAG_SIZE] = NULL;
	struct vnic_state st;
	struct pins p;
	HOME h = {.fd = -1};
	bool there[2];
	int r = pins_of(b, n, ifindex, &p, e);

	if (r)
		return r;
	*ret = (struct prog){.present = false};
	r = home_open(&p, n, &h);
	r = r ? r : read_home(&h, &st);
	/* Nothing there says something only where all pins are. */
	if (r)
		return r == -ENOENT ? pins_stand(b, e) : vnic_failed(n, r, "cannot read its state", e);
	r = tags_of(b, n, &h, &tags, e);
	for (enum side i = SIDE_INGRESS; !r && i <= SIDE_EGRESS; i++)
		r = sits(b, n, &p, i, tags[i], &there[i], e);
	if (r || !there[SIDE_INGRESS] || !there[SIDE_EGRESS])
		return r;
	*ret = (struct prog){.present = true, .rx = st.rx, .tx = st.tx, .group_rate = st.rate};
	return 0;
}

/* Two frames, or 4 ms of the rate: what the trees have, too. */
static struct bucket bucket_for(uint64_t rate, uint64_t min_ns)
{
	struct bucket b = {.cost = rate ? (8000000000ULL << 16) / rate : 0};
	uint64_t frames = 2 * FRAME * b.cost >> 16;

	b.depth = frames > min_ns ? frames : min_ns;
	return b;
}

/* The programs are running: every word is written whole, the modes last; what the programs write stays. */
static void write_config(struct vnic_state *st, const struct prog *prog)
{
	struct bucket full = bucket_for(prog->group_rate, DEPTH_NS);
	struct bucket slow = bucket_for(prog->group_rate * SLOW_PERCENT / 100, DEPTH_NS);

	__atomic_store_n(&st->rate, prog->group_rate, __ATOMIC_RELAXED);
	__atomic_store_n(&st->main.cost, full.cost, __ATOMIC_RELAXED);
	__atomic_store_n(&st->main.depth, full.depth, __ATOMIC_RELAXED);
	__atomic_store_n(&st->slow.cost, slow.cost, __ATOMIC_RELAXED);
	__atomic_store_n(&st->slow.depth, slow.depth, __ATOMIC_RELAXED);
	memcpy(st->mac, prog->own.b, sizeof(st->mac));
	__atomic_store_n(&st->out, (uint32_t)prog->out_index, __ATOMIC_RELAXED);
	__atomic_store_n(&st->all, prog->all, __ATOMIC_RELAXED);
	__atomic_store_n(&st->theirs, prog->theirs, __ATOMIC_RELAXED);
	__atomic_store_n(&st->tx, (uint32_t)prog->tx, __ATOMIC_RELEASE);
	__atomic_store_n(&st->rx, (uint32_t)prog->rx, __ATOMIC_RELEASE);
}

static bool same_config(const struct vnic_state *st, const struct prog *prog)
{
	return st->rx == (uint32_t)prog->rx && st->tx == (uint32_t)prog->tx && st->rate == prog->group_rate &&
	       st->theirs == prog->theirs && st->all == prog->all && st->out == (uint32_t)prog->out_index &&
	       !memcmp(st->mac, prog->own.b, sizeof(st->mac));
}

static int seats_take(struct bpf *b, const struct vnic_bpf *s, const struct pins *p, struct err *e)
{
	int r = 0;

	for (enum side i = SIDE_INGRESS; !r && i <= SIDE_EGRESS; i++)
		r = seat_take(&p->seat[i], prog_fd(s, i), b->vnic_tag[i], e);
	return r;
}

/* A state that is shared has part of a page: all of it is mapped. */
static int write_slot(int fd, uint32_t slot, const struct prog *prog)
{
	size_t at = slot * sizeof(struct vnic_state), page = (size_t)sysconf(_SC_PAGESIZE);
	char *map = mmap(NULL, page, PROT_READ | PROT_WRITE, MAP_SHARED, fd, (off_t)(at / page * page));

	if (map == MAP_FAILED)
		return -errno;
	write_config((struct vnic_state *)(map + at % page), prog);
	munmap(map, page);
	return 0;
}

static uint32_t map_id(int fd)
{
	struct bpf_map_info info = {.type = 0};
	uint32_t size = sizeof(info);

	return bpf_obj_get_info_by_fd(fd, &info, &size) ? 0 : info.id;
}

/* One that is to have a filter shares its programs and the map of states, and what did stays with it. */
static bool shares(struct bpf *b, uint32_t n, const struct pins *p, const struct prog *prog)
{
	HOME h;
	int r = home_open(p, n, &h);

	if (r ? !prog->clsact || n >= VNICS_MAX || !access(p->state, F_OK) : !h.shared)
		return false;
	return !many_open(b, r ? -1 : h.fd) && (r || h.map == map_id(b->many.states));
}

static int make_shared(struct bpf *b, uint32_t n, struct pins *p, const struct prog *prog, struct err *e)
{
	struct vnic_state st = {.rx = VNIC_PASS};
	int r = 0;

	if (access(p->state, F_OK)) {
		r = bpf_map_update_elem(b->many.states, &n, &st, BPF_ANY) ||
				    bpf_obj_pin(b->many.states, p->state)
			    ? -errno
			    : 0;
		*b->acts += 2;
	}
	r = r ? r : read_state(p, n, &st);
	if (!r && !same_config(&st, prog)) {
		r = write_slot(b->many.states, n, prog);
		++*b->acts;
	}
	if (r)
		return vnic_failed(n, r, "cannot write its state", e);
	for (enum side i = SIDE_INGRESS; !r && i <= SIDE_EGRESS; i++) {
		p->seat[i].clsact = true;
		p->seat[i].number = n;
		r = seat_take(&p->seat[i], b->many.prog[i], b->many.tag[i], e);
	}
	return r;
}

/* The two programs share the state: both are put in place from one load, on the state that is there. */
static int make(struct bpf *b, uint32_t n, struct pins *p, const struct prog *prog, struct err *e)
{
	SKEL s = NULL;
	int r = pins_stand(b, e);

	if (r)
		return r;
	p->seat[SIDE_INGRESS].clsact = p->seat[SIDE_EGRESS].clsact = prog->clsact;
	if (mkdir(p->dir, 0700) && errno != EEXIST)
		return vnic_failed(n, -errno, "cannot make its pin directory", e);
	if (shares(b, n, p, prog))
		return make_shared(b, n, p, prog, e);
	r = load(b, n, p, &s, e);
	if (r)
		return r;
	if (!same_config(&s->bss->state, prog)) {
		write_config(&s->bss->state, prog);
		++*b->acts;
	}
	return seats_take(b, s, p, e);
}

int state_make(struct bpf *b, uint32_t n, struct pins *p, const struct prog *prog, struct err *e)
{
	SKEL s = NULL;
	int r = load(b, n, p, &s, e);

	if (r || same_config(&s->bss->state, prog))
		return r;
	write_config(&s->bss->state, prog);
	++*b->acts;
	return 0;
}

int vnic_plain(struct bpf *b, uint32_t n, int ifindex, struct err *e)
{
	struct vnic_state st;
	struct pins p;
	struct prog prog;
	int r = pins_of(b, n, ifindex, &p, e);

	if (r)
		return r;
	r = read_state(&p, n, &st);
	if (r)
		return r == -ENOENT ? 0 : vnic_failed(n, r, "cannot read its state", e);
	prog = (struct prog){.rx = st.rx, .tx = st.tx, .group_rate = st.rate};
	return make(b, n, &p, &prog, e);
}

int bpf_vnic_add(struct bpf *b, uint32_t n, int ifindex, const struct prog *prog, struct err *e)
{
	struct prog seen;
	struct pins p;
	bool fresh;
	int r = bpf_vnic_observe(b, n, ifindex, &seen, e);

	if (!r && seen.present)
		return bpf_vnic_set(b, n, prog, e);
	r = r ? r : pins_of(b, n, ifindex, &p, e);
	if (r)
		return r;
	fresh = access(p.dir, F_OK);
	r = make(b, n, &p, prog, e);
	if (r && fresh)
		bpf_vnic_del(b, n, ifindex, NULL);
	return r;
}

int bpf_vnic_set(struct bpf *b, uint32_t n, const struct prog *prog, struct err *e)
{
	struct vnic_state st;
	struct pins p;
	HOME h = {.fd = -1};
	int r = pins_of(b, n, 0, &p, e);

	if (r)
		return r;
	r = home_open(&p, n, &h);
	r = r ? r : read_home(&h, &st);
	if (!r && same_config(&st, prog))
		return 0;
	r = r ? r : write_slot(h.fd, h.slot, prog);
	if (r)
		return vnic_failed(n, r, "cannot write its state", e);
	++*b->acts;
	return 0;
}

int bpf_vnic_del(struct bpf *b, uint32_t n, int ifindex, struct err *e)
{
	struct pins p;
	int r = pins_of(b, n, ifindex, &p, e);

	r = r ? r : theirs_leave(b, &p, e);
	r = r ? r : pins_leave(&p, e);
	return r ? r : pin_remove(p.dir, b->acts, e);
}

int bpf_vnic_drops(struct bpf *b, uint32_t n, uint64_t *ret_rx, uint64_t *ret_tx)
{
	struct vnic_state st;
	struct pins p;
	int r = pins_of(b, n, 0, &p, NULL);

	r = r ? r : read_state(&p, n, &st);
	if (r && r != -ENOENT)
		return r;
	*ret_rx = r ? 0 : st.rx_drops;
	*ret_tx = r ? 0 : st.tx_drops;
	return 0;
}
