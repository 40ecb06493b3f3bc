// SPDX-License-Identifier: GPL-2.0-or-later
/* The map from (hook, MAC) to ifb: sets entries and closes them without a frame overtaking another. */
#include "lib/bpf/internal.h"
#include "lib/bpf/maps.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <linux/if_ether.h>
#include <linux/pkt_cls.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define CLOSE_MAX_NS  1000000000ULL
#define CLOSE_POLL_NS 100000L

static struct steer_key key_of(int hook, struct mac mac)
{
	struct steer_key k = {.ifindex = (uint32_t)hook};

	memcpy(k.mac, mac.b, sizeof(k.mac));
	return k;
}

static int failed(struct mac mac, const char *what, struct err *e)
{
	char buf[18];
	int code = -errno;

	return err_sys(e, code, mac_str(mac, buf), "cannot %s its map entry: %s", what, strerror(-code));
}

/* 0 with ifb 0 when there is no entry. */
static int get(struct bpf *b, const struct steer_key *k, struct steer_value *v)
{
	*v = (struct steer_value){.ifb = 0};
	return !bpf_map_lookup_elem(b->steer, k, v) || errno == ENOENT ? 0 : -errno;
}

/* The functions of mirror.c in the manner of the system calls here. */
static int sees_filter(struct bpf *b, int hook, struct mac mac, int ifb, bool *ret)
{
	int r = b->mirror ? mirror_observe(hook, mac, ifb, ret) : 0;

	errno = -r;
	return r;
}

/* An entry that is being closed counts as none, and so does one without its filter. */
int bpf_steer_observe(struct bpf *b, int hook, struct mac mac, int *ret_ifb, struct err *e)
{
	struct steer_key k = key_of(hook, mac);
	struct steer_value v;
	bool there = true;

	if (get(b, &k, &v) || (v.ifb && sees_filter(b, hook, mac, (int)v.ifb, &there)))
		return failed(mac, "read", e);
	*ret_ifb = there && v.last == STEER_OPEN ? (int)v.ifb : 0;
	return 0;
}

static int put(struct bpf *b, const struct steer_key *k, int ifb, uint64_t last)
{
	struct steer_value v = {.ifb = (uint32_t)ifb, .last = last};

	++*b->acts;
	return map_fill(b->steer, k, sizeof(*k), &v, sizeof(v), 1);
}

/* An entry and the filter to its ifb. */
static int drop(struct bpf *b, const struct steer_key *k, int ifb)
{
	int r = b->mirror && ifb ? mirror_del(b, (int)k->ifindex, ifb) : 0;

	errno = -r;
	if (r)
		return r;
	++*b->acts;
	return bpf_map_delete_elem(b->steer, k) && errno != ENOENT ? -errno : 0;
}

/* After the entry, and in place of what led to another ifb. */
static int filter_add(struct bpf *b, const struct steer_key *k, struct mac mac, int old, int ifb)
{
	int r = old && old != ifb ? mirror_del(b, (int)k->ifindex, old) : 0;

	r = r ? r : mirror_add(b, (int)k->ifindex, mac, ifb);
	if (r)
		drop(b, k, 0);
	return r;
}

int bpf_steer_add(struct bpf *b, int hook, struct mac mac, int ifb, struct err *e)
{
	struct steer_key k = key_of(hook, mac);
	struct steer_value old;
	char buf[18];
	int seen, r = bpf_steer_observe(b, hook, mac, &seen, e);

	if (r || seen == ifb)
		return r;
	if (get(b, &k, &old) || put(b, &k, ifb, STEER_OPEN))
		return failed(mac, "write", e);
	r = b->mirror ? filter_add(b, &k, mac, (int)old.ifb, ifb) : 0;
	return r ? err_sys(e, r, mac_str(mac, buf), "cannot add its flower filter: %s", strerror(-r)) : 0;
}

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000ULL + (uint64_t)t.tv_nsec;
}

/*
 * In a silent entry nobody notices the gap. A frame of ours through the program (never sent anywhere)
 * decides, by the same compare-and-swap as every frame, so that none slips in between a look and the
 * deletion. True: it passed by.
 */
static bool probe(struct bpf *b, const struct steer_key *k)
{
	struct {
		struct ethhdr eth;
		uint8_t rest[46];
	} frame = {.eth.h_proto = 0xffff};
	struct __sk_buff ctx = {.ifindex = k->ifindex};
	LIBBPF_OPTS(bpf_test_run_opts, o, .data_in = &frame, .data_size_in = sizeof(frame), .ctx_in = &ctx,
		    .ctx_size_in = sizeof(ctx));

	memcpy(frame.eth.h_dest, k->mac, sizeof(k->mac));
	if (bpf_prog_test_run_opts(hook_fd(b), &o))
		return true; /* the hook's device is gone, and so is its traffic */
	return b->mirror ? o.retval == TC_ACT_OK : o.retval != TC_ACT_REDIRECT;
}

/* Until the entry is shut, or a second has passed. */
static void wait_shut(struct bpf *b, const struct steer_key *k, uint64_t start)
{
	struct steer_value v;

	while (now_ns() - start < CLOSE_MAX_NS) {
		nanosleep(&(struct timespec){.tv_nsec = CLOSE_POLL_NS}, NULL);
		if (get(b, k, &v) || !v.ifb || v.last == STEER_SHUT)
			return;
		if (now_ns() > v.last + STEER_GAP_NS && probe(b, k))
			return;
	}
}

int bpf_steer_del(struct bpf *b, int hook, struct mac mac, bool gently, struct err *e)
{
	struct steer_key k = key_of(hook, mac);
	uint64_t start = now_ns();
	struct steer_value v;

	if (get(b, &k, &v))
		return failed(mac, "read", e);
	if (!v.ifb)
		return 0;
	if (gently && v.last == STEER_OPEN && put(b, &k, (int)v.ifb, start))
		return failed(mac, "close", e);
	if (gently)
		wait_shut(b, &k, start);
	return drop(b, &k, (int)v.ifb) ? failed(mac, "delete", e) : 0;
}

/* An entry that goes may take the walk back to the start, which then finds fewer. */
int steer_purge(struct bpf *b, int hook, struct err *e)
{
	struct steer_key at, next;
	const struct steer_key *from = NULL;

	while (!bpf_map_get_next_key(b->steer, from, &next)) {
		if (next.ifindex == (uint32_t)hook) {
			if (drop(b, &next, 0))
				return err_sys(e, -errno, "steer", "cannot delete an entry: %s",
					       strerror(errno));
			continue;
		}
		at = next;
		from = &at;
	}
	return 0;
}

/* The walk comes first, since cb may delete what it is shown. */
int bpf_steers(struct bpf *b, int (*cb)(int hook, struct mac mac, void *arg), void *arg, struct err *e)
{
	struct steer_key *keys = calloc(STEER_MAX, sizeof(*keys));
	size_t count = 0;
	int r = 0;

	if (!keys)
		return err_nomem(e);
	while (count < STEER_MAX &&
	       !bpf_map_get_next_key(b->steer, count ? &keys[count - 1] : NULL, &keys[count]))
		count++;
	for (size_t i = 0; i < count && r == 0; i++) {
		struct mac mac;

		memcpy(mac.b, keys[i].mac, sizeof(mac.b));
		r = cb((int)keys[i].ifindex, mac, arg);
	}
	free(keys);
	return r;
}
