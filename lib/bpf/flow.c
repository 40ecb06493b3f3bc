// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The three programs of a VNIC with flows: loads them on the VNIC's state and on pinned maps, and seats them
 * in place of the plain ones. Knows neither rules nor counters.
 */
#include "lib/bpf/flowmap.h"

#include "lib/bpf/flow.skel.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#define MAPS_MAX 16 /* of a program */

_Static_assert((int)FLOW_RX == SIDE_INGRESS && (int)FLOW_TX == SIDE_EGRESS, "seats are the VNIC's own");

static void skel_done(struct flow_bpf **s)
{
	flow_bpf__destroy(*s);
}
#define SKEL __attribute__((cleanup(skel_done))) struct flow_bpf *

static struct bpf_program *prog_of(const struct flow_bpf *s, enum flow_prog which)
{
	return which == FLOW_RX ? s->progs.rx : which == FLOW_TX ? s->progs.tx : s->progs.ifb;
}

/* Where a map is pinned; NULL: not with the flows. */
static const char *pin_name(const struct flow_bpf *s, const struct bpf_map *map)
{
	return map == s->maps.states ? NULL : map == s->maps.bss ? "table" : bpf_map__name(map);
}

static int pin_maps(const struct bpf *b, uint32_t n, struct flow_bpf *s)
{
	struct bpf_map *map;
	char path[PIN_MAX];
	int r = 0;

	bpf_object__for_each_map(map, s->obj)
	{
		const char *name = pin_name(s, map);

		r = r || !name ? r : flow_pin(path, b, n, name, NULL);
		r = r || !name ? r : bpf_map__set_pin_path(map, path);
	}
	return r;
}

static int remember_tags(struct bpf *b, const struct flow_bpf *s)
{
	int r = 0;

	for (enum flow_prog i = FLOW_RX; !r && !b->flow_tagged && i < FLOW_PROGS; i++)
		r = prog_tag(bpf_program__fd(prog_of(s, i)), b->flow_tag[i]);
	b->flow_tagged = !r;
	return r;
}

/* home NULL: only to learn the tags, on maps that go again. */
static int load_once(struct bpf *b, uint32_t n, const struct home *home, struct flow_bpf **ret)
{
	SKEL s = flow_bpf__open();
	int r;

	forget_said();
	if (!s)
		return -errno;
	r = bpf_map__set_max_entries(s->maps.slots, flow_slots_min());
	r = r || !home ? r : bpf_map__reuse_fd(s->maps.states, home->fd);
	r = r || !home ? r : pin_maps(b, n, s);
	r = r ? r : flow_bpf__load(s);
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
	int r = b->flow_tagged ? 0 : load_once(b, n, NULL, &s);

	return r ? vnic_failed(n, r, "cannot load its flow programs", e) : 0;
}

/* The maps that a VNIC's programs have to run on, by their ids; first that of its state. */
struct maps {
	uint32_t id[MAPS_MAX];
	unsigned count;
};

static int id_of(const char *pin, uint32_t *ret)
{
	struct bpf_map_info info = {.type = 0};
	uint32_t size = sizeof(info);
	FD fd = bpf_obj_get(pin);

	if (fd < 0 || bpf_obj_get_info_by_fd(fd, &info, &size))
		return -errno;
	*ret = info.id;
	return 0;
}

/* Every one is named: one that is lost has to be noticed. */
static int maps_of(const struct bpf *b, uint32_t n, const struct home *home, struct maps *ret)
{
	static const char *const NAMES[] = {"table",         "rules", "rules_grown", "entries",
					    "entries_grown", "slots", "slots_grown", "frags"};
	char path[PIN_MAX];
	int r = 0;

	*ret = (struct maps){.id = {home->map}, .count = 1};
	for (size_t i = 0; !r && i < sizeof(NAMES) / sizeof(NAMES[0]); i++) {
		r = flow_pin(path, b, n, NAMES[i], NULL);
		r = r ? r : id_of(path, &ret->id[ret->count++]);
	}
	return r;
}

static bool has(const uint32_t *ids, unsigned count, uint32_t id)
{
	while (count && ids[count - 1] != id)
		count--;
	return count;
}

/* from: the first of the maps that matters. */
static int runs_on(uint32_t prog_id, const struct maps *maps, unsigned from, bool *ret)
{
	uint32_t ids[MAPS_MAX], size = sizeof(struct bpf_prog_info);
	struct bpf_prog_info info = {.nr_map_ids = MAPS_MAX, .map_ids = (uintptr_t)ids};
	FD fd = bpf_prog_get_fd_by_id(prog_id);

	*ret = false;
	if (fd < 0 || bpf_obj_get_info_by_fd(fd, &info, &size))
		return errno == ENOENT ? 0 : -errno;
	*ret = true;
	for (unsigned i = from; i < maps->count; i++)
		*ret &= has(ids, info.nr_map_ids < MAPS_MAX ? info.nr_map_ids : MAPS_MAX, maps->id[i]);
	return 0;
}

/* The state, which is first, is nothing to the ifb's program. */
static int sits_on(const struct bpf *b, uint32_t n, const struct seat *s, enum flow_prog which,
		   const struct maps *maps, bool *ret, struct err *e)
{
	uint32_t id = 0;
	int r = seat_observe(s, b->flow_tag[which], ret, e);

	if (r || !*ret)
		return r;
	r = seat_prog(s, &id, e);
	if (r)
		return r;
	r = runs_on(id, maps, which == FLOW_IFB, ret);
	return r ? vnic_failed(n, r, "cannot read its flow programs", e) : 0;
}

/* What its programs run on; ret->count 0: not all of that is there. */
static int find_maps(struct bpf *b, uint32_t n, struct maps *ret, struct err *e)
{
	struct pins p;
	HOME home = {.fd = -1};
	int r = pins_of(b, n, 0, &p, e);

	if (r)
		return r;
	r = home_open(&p, n, &home);
	r = r ? r : maps_of(b, n, &home, ret);
	if (r)
		ret->count = 0;
	return r && r != -ENOENT ? vnic_failed(n, r, "cannot open its flow maps", e) : 0;
}

int flow_sits(struct bpf *b, uint32_t n, const struct seat *s, enum flow_prog which, bool *ret, struct err *e)
{
	struct maps maps;
	int r = find_maps(b, n, &maps, e);

	*ret = false;
	if (r || !maps.count)
		return r;
	r = know_tags(b, n, e);
	return r ? r : sits_on(b, n, s, which, &maps, ret, e);
}

/* The ifb is at home, where the thread may not be. */
static int go_home(const struct bpf *b, int *ret_back)
{
	int back;

	if (!b->away)
		return 0;
	back = open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC);
	if (back < 0)
		return -errno;
	if (setns(b->netns, CLONE_NEWNET)) {
		int code = -errno;

		close(back);
		return code;
	}
	*ret_back = back;
	return 0;
}

static void come_back(int *back)
{
	if (*back >= 0 && setns(*back, CLONE_NEWNET))
		*back = -1; /* the caller sees devices of the wrong namespace, and finds none of its own */
	close_fd(back);
}
#define BACK __attribute__((cleanup(come_back))) int

static int ifb_seat(const struct bpf *b, const struct bpf_flow_site *site, struct seat *s, struct err *e)
{
	int r = pin_path(s->pin, e, "%s/vnic-%u/ifb", b->dir, site->n);

	s->ifindex = site->ifb;
	s->side = SIDE_EGRESS;
	s->nl = b->nl;
	s->acts = b->acts;
	return r ? r : pin_path(s->mark, e, "%s/vnic-%u/ifb-clsact", b->dir, site->n);
}

static int at_home(const struct bpf *b, const struct bpf_flow_site *site, struct seat *s, int *ret_back,
		   struct err *e)
{
	int r = ifb_seat(b, site, s, e);

	if (r)
		return r;
	r = go_home(b, ret_back);
	return r ? vnic_failed(site->n, r, "cannot enter the own network namespace", e) : 0;
}

static int ifb_sits(struct bpf *b, const struct bpf_flow_site *site, const struct maps *maps, bool *ret,
		    struct err *e)
{
	struct seat s = {.ifindex = 0};
	BACK back = -1;
	int r = at_home(b, site, &s, &back, e);

	return r ? r : sits_on(b, site->n, &s, FLOW_IFB, maps, ret, e);
}

static int ifb_take(struct bpf *b, const struct bpf_flow_site *site, int prog, struct err *e)
{
	static const uint8_t ANY[BPF_TAG_SIZE]; /* no program's */
	struct seat s = {.ifindex = 0};
	BACK back = -1;
	int r = at_home(b, site, &s, &back, e);

	return r ? r : seat_take(&s, prog, ANY, e);
}

static int ifb_leave(struct bpf *b, const struct bpf_flow_site *site, struct err *e)
{
	struct seat s = {.ifindex = 0};
	BACK back = -1;
	int r = at_home(b, site, &s, &back, e);

	return r ? r : seat_leave(&s, e);
}

/* Are the table's words for the programs those that they need? */
static int table_fits(const struct bpf *b, const struct bpf_flow_site *site, bool *ret)
{
	FLOWMAP m = FLOWMAP_NONE;
	int r = flowmap_open(b, site->n, &m);

	*ret = !r && !m.table->ifb == !site->ifb;
	return r == -ENOENT ? 0 : r;
}

/* Most VNICs have no flows: one look tells. */
static bool is_pinned(const struct bpf *b, uint32_t n)
{
	char dir[PIN_MAX], ifb[PIN_MAX];

	return !flow_pin(dir, b, n, "", NULL) && !pin_path(ifb, NULL, "%s/vnic-%u/ifb", b->dir, n) &&
	       (!access(dir, F_OK) || !access(ifb, F_OK));
}

int bpf_flows_observe(struct bpf *b, const struct bpf_flow_site *site, bool *ret, struct err *e)
{
	bool there[FLOW_PROGS + 1] = {false};
	struct maps maps;
	struct pins p;
	int r;

	*ret = false;
	if (!is_pinned(b, site->n))
		return 0;
	r = pins_of(b, site->n, site->ifindex, &p, e);
	if (r)
		return r;
	r = find_maps(b, site->n, &maps, e);
	if (r)
		return r;
	if (!maps.count)
		return 0;
	r = know_tags(b, site->n, e);
	for (enum flow_prog i = FLOW_RX; !r && i <= FLOW_TX; i++)
		r = sits_on(b, site->n, &p.seat[i], i, &maps, &there[i], e);
	there[FLOW_IFB] = !site->ifb;
	if (!r && site->ifb)
		r = ifb_sits(b, site, &maps, &there[FLOW_IFB], e);
	if (r)
		return r;
	r = table_fits(b, site, &there[FLOW_PROGS]);
	*ret = !r && there[FLOW_RX] && there[FLOW_TX] && there[FLOW_IFB] && there[FLOW_PROGS];
	return r ? vnic_failed(site->n, r, "cannot open its flow maps", e) : 0;
}

/* On the maps that are there, or, where another build's are or none, on new ones. */
static int load(struct bpf *b, uint32_t n, const struct home *home, struct flow_bpf **ret, struct err *e)
{
	char dir[PIN_MAX];
	struct maps maps;
	int r = pins_stand(b, e);

	if (r)
		return r;
	r = maps_of(b, n, home, &maps) ? -EINVAL : load_once(b, n, home, ret);
	if (r != -EINVAL)
		return r ? vnic_failed(n, r, "cannot load its flow programs", e) : 0;
	r = flow_pin(dir, b, n, "", e);
	r = r ? r : pin_remove(dir, b->acts, e);
	if (r)
		return r;
	r = mkdir(dir, 0700) && errno != EEXIST ? -errno : load_once(b, n, home, ret);
	*b->acts += !r;
	return r ? vnic_failed(n, r, "cannot load its flow programs", e) : 0;
}

/* What is read late elsewhere is read in order here. */
#if defined(__x86_64__) || defined(__i386__) || defined(__s390x__)
#define WEAK 0
#else
#define WEAK 1
#endif

static void configure(struct flow_table *t, const struct home *home)
{
	t->number = home->slot;
	t->cpus = (uint32_t)libbpf_num_possible_cpus();
	t->weak = WEAK;
}

/*
 * While there is an ifb, what is marked is not looked at again: it has its program before the VNIC's know of
 * it, and they forget it before it loses its own.
 */
static int seat_ifb(struct bpf *b, const struct bpf_flow_site *site, const struct flow_bpf *s, struct err *e)
{
	uint32_t *ifb = &s->bss->table.ifb;
	int r;

	if (site->ifb) {
		r = ifb_take(b, site, bpf_program__fd(s->progs.ifb), e);
		__atomic_store_n(ifb, !r || *ifb, __ATOMIC_SEQ_CST);
		return r;
	}
	__atomic_store_n(ifb, 0, __ATOMIC_SEQ_CST);
	return ifb_leave(b, site, e);
}

static int seat_all(struct bpf *b, const struct bpf_flow_site *site, const struct pins *p,
		    const struct flow_bpf *s, struct err *e)
{
	static const uint8_t ANY[BPF_TAG_SIZE];
	int r = seat_ifb(b, site, s, e);

	for (enum flow_prog i = FLOW_RX; !r && i <= FLOW_TX; i++)
		r = seat_take(&p->seat[i], bpf_program__fd(prog_of(s, i)), ANY, e);
	return r;
}

static int make(struct bpf *b, const struct bpf_flow_site *site, struct err *e)
{
	SKEL s = NULL;
	struct pins p;
	HOME home = {.fd = -1};
	int r = pins_of(b, site->n, site->ifindex, &p, e);

	if (r)
		return r;
	r = home_open(&p, site->n, &home);
	if (r)
		return vnic_failed(site->n, r, "cannot open its state", e);
	r = load(b, site->n, &home, &s, e);
	if (r)
		return r;
	configure(&s->bss->table, &home);
	return seat_all(b, site, &p, s, e);
}

int bpf_flows_add(struct bpf *b, const struct bpf_flow_site *site, struct err *e)
{
	bool there = false, fresh = !is_pinned(b, site->n);
	int r = bpf_flows_observe(b, site, &there, e);

	if (r || there)
		return r;
	r = make(b, site, e);
	if (r && fresh)
		bpf_flows_del(b, site, NULL);
	return r;
}

/* A link that is not ours has no others. */
static int unseat(struct bpf *b, const struct bpf_flow_site *site, struct err *e)
{
	struct pins p;
	int r = pins_of(b, site->n, site->ifindex, &p, e);

	if (r)
		return r;
	return p.theirs ? pins_leave(&p, e) : vnic_plain(b, site->n, site->ifindex, e);
}

int bpf_flows_del(struct bpf *b, const struct bpf_flow_site *site, struct err *e)
{
	char dir[PIN_MAX];
	int r = flow_pin(dir, b, site->n, "", e);

	if (r || !is_pinned(b, site->n))
		return r;
	r = unseat(b, site, e);
	r = r ? r : ifb_leave(b, site, e);
	return r ? r : pin_remove(dir, b->acts, e);
}
