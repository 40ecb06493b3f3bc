// SPDX-License-Identifier: GPL-2.0-or-later
/* The map from (hook, MAC) to ifb: sets entries and closes them without a frame overtaking another. */
#include "lib/bpf/internal.h"
#include "lib/bpf/maps.h"

#include "lib/bpf/hook.skel.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <linux/if_ether.h>
#include <linux/pkt_cls.h>
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

/* An entry that is being closed counts as none. */
int bpf_steer_observe(struct bpf *b, int hook, struct mac mac, int *ret_ifb, struct err *e)
{
	struct steer_key k = key_of(hook, mac);
	struct steer_value v;

	if (get(b, &k, &v))
		return failed(mac, "read", e);
	*ret_ifb = v.last == STEER_OPEN ? (int)v.ifb : 0;
	return 0;
}

static int put(struct bpf *b, const struct steer_key *k, int ifb, uint64_t last)
{
	struct steer_value v = {.ifb = (uint32_t)ifb, .last = last};

	++*b->acts;
	return bpf_map_update_elem(b->steer, k, &v, BPF_ANY);
}

int bpf_steer_add(struct bpf *b, int hook, struct mac mac, int ifb, struct err *e)
{
	struct steer_key k = key_of(hook, mac);
	int seen, r = bpf_steer_observe(b, hook, mac, &seen, e);

	if (r || seen == ifb)
		return r;
	return put(b, &k, ifb, STEER_OPEN) ? failed(mac, "write", e) : 0;
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
	if (bpf_prog_test_run_opts(bpf_program__fd(b->hook->progs.hook), &o))
		return true; /* the hook's device is gone, and so is its traffic */
	return o.retval != TC_ACT_REDIRECT;
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

static int drop(struct bpf *b, const struct steer_key *k)
{
	++*b->acts;
	return bpf_map_delete_elem(b->steer, k) && errno != ENOENT ? -errno : 0;
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
	return drop(b, &k) ? failed(mac, "delete", e) : 0;
}

/* An entry that goes may take the walk back to the start, which then finds fewer. */
int steer_purge(struct bpf *b, int hook, struct err *e)
{
	struct steer_key at, next;
	const struct steer_key *from = NULL;

	while (!bpf_map_get_next_key(b->steer, from, &next)) {
		if (next.ifindex == (uint32_t)hook) {
			if (drop(b, &next))
				return err_sys(e, -errno, "steer", "cannot delete an entry: %s",
					       strerror(errno));
			continue;
		}
		at = next;
		from = &at;
	}
	return 0;
}
