/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the loader's files share among themselves; nobody outside lib/bpf but its unit test includes it. */
#pragma once

#include "lib/bpf/bpf.h"

#include <linux/bpf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <unistd.h>

#define PIN_MAX 512

/* The last of all likely priorities, so that foreign filters come first: our programs', then our filters'. */
#define FILTER_PRIO 0x7fd0u
#define MIRROR_PRIO 0x7fd1u
/* On a link that is not ours: behind all filters of others, the last one redirects. */
#define LATE_PRIO 0xfffeu
#define OUT_PRIO  0xffffu

struct hook_bpf;
struct mnl_socket;
struct nlmsghdr;

/* What many VNICs share; states is -1 while it is not loaded. */
struct many {
	int prog[2]; /* by enum side */
	int states;  /* the array, by a VNIC's number */
	uint8_t tag[2][BPF_TAG_SIZE];
};
#define MANY_NONE ((struct many){.prog = {-1, -1}, .states = -1})

/* The programs of a VNIC with flows; the first two are in the seats of enum side. */
enum flow_prog { FLOW_RX, FLOW_TX, FLOW_IFB, FLOW_PROGS };

struct bpf {
	char dir[PIN_MAX]; /* DIR/<uuid>/<cookie> */
	int kept;  /* dir, open: who unmounts its file system has to force it, and the pins stay all the same
		    */
	int netns; /* the own one */
	unsigned long *acts;
	struct hook_bpf *hook; /* loaded, with the pinned steer map */
	bool mirror;           /* filters of mirror.c do what a program cannot */
	int steer;             /* fd, owned by hook */
	struct mnl_socket *nl; /* in the own namespace */
	bool away;             /* the thread is in another */
	struct many many;
	int pick[2];      /* the filters for our trees' roots; -1: not loaded yet */
	bool tagged;      /* vnic_tag is known */
	bool flow_tagged; /* flow_tag is */
	uint8_t hook_tag[BPF_TAG_SIZE];
	uint8_t vnic_tag[2][BPF_TAG_SIZE]; /* by enum side */
	uint8_t flow_tag[FLOW_PROGS][BPF_TAG_SIZE];
	uint8_t pick_tag[2][BPF_TAG_SIZE];
};

enum side { SIDE_INGRESS, SIDE_EGRESS };

/* A place for one program: a device's hook, and the pin that keeps the program there. */
struct seat {
	int ifindex;
	enum side side;
	bool yield;            /* sits behind foreign clsact filters, because it redirects past them */
	bool clsact;           /* a filter is wanted even where there is tcx */
	bool late;             /* behind all filters of others */
	char pin[PIN_MAX];     /* of the tcx link, or of the program where a clsact filter holds it */
	char mark[PIN_MAX];    /* a directory: the clsact qdisc is ours */
	uint32_t number;       /* told by the filter to a program that many share; 0: none */
	struct mnl_socket *nl; /* for the device's namespace; NULL: one is opened */
	unsigned long *acts;
};

/* Is dir where it was? Else an error that tells what to mount. */
int pins_stand(const struct bpf *b, struct err *e);

/* many.c: loads what is not loaded yet, on this array of states, or (-1) a new one. */
int many_open(struct bpf *b, int states);
void many_done(struct many *m);

/* The pins of one VNIC. Its seats are on the link that theirs_on() tells, if that is one. */
struct pins {
	char dir[PIN_MAX];
	bool theirs;
	char state[PIN_MAX];
	struct seat seat[2]; /* by enum side */
};
int pins_of(struct bpf *b, uint32_t n, int ifindex, struct pins *p, struct err *e);

/* Where a VNIC's state is: in a map of its own, or in that of many. Made by home_open(), -ENOENT: nowhere. */
struct home {
	int fd;
	uint32_t map, slot;
	bool shared;
};
int home_open(const struct pins *p, uint32_t n, struct home *h);
void home_done(struct home *h);
#define HOME __attribute__((cleanup(home_done))) struct home

int pins_leave(const struct pins *p, struct err *e);
/* The ifindex of the link that is not ours whose pins are in dir; 0: they are a VNIC's. */
int theirs_on(const char *dir);
/* Takes the filter away that redirects what such a link sends; nothing is done for a VNIC. */
int theirs_leave(struct bpf *b, const struct pins *p, struct err *e);
/* The state for these pins, made where there is none. Nothing is seated. */
int state_make(struct bpf *b, uint32_t n, struct pins *p, const struct prog *prog, struct err *e);

/* Programs without flows into the seats of a VNIC that has a state; nothing is done for one without. */
int vnic_plain(struct bpf *b, uint32_t n, int ifindex, struct err *e);
/* err_sys for VNIC number n. */
int vnic_failed(uint32_t n, int code, const char *what, struct err *e);

/* flow.c: does this build's flow program sit there, on maps that are pinned? */
int flow_sits(struct bpf *b, uint32_t n, const struct seat *s, enum flow_prog which, bool *ret,
	      struct err *e);

/* tc.c. A message on kept, or on a socket of its own; each answer to cb. */
struct mnl_socket *tc_open(void);
int tc_talk(struct mnl_socket *kept, const struct nlmsghdr *h, int (*cb)(const struct nlmsghdr *h, void *arg),
	    void *arg);
int tc_clsact_add(const struct seat *s);
int tc_filter_put(const struct seat *s, int prog_fd);
int tc_filter_get(const struct seat *s, uint32_t *ret_id);

/* Does a program with this tag sit there, held by the pin? Changes nothing. */
int seat_observe(const struct seat *s, const uint8_t *tag, bool *ret, struct err *e);
/* Puts the program there, in place of an older one without a gap; nothing is done when tag sits there. */
int seat_take(const struct seat *s, int prog_fd, const uint8_t *tag, struct err *e);
/* Also when the device is gone or not known (ifindex 0). Idempotent. */
int seat_leave(const struct seat *s, struct err *e);
/* The id of the program that sits there, held by the pin; 0: none. */
int seat_prog(const struct seat *s, uint32_t *ret_id, struct err *e);
/* Does a program's redirect reach an ifb? */
bool seat_redirects(void);
/* For tests: behave as a kernel without tcx. */
void bpf_force_clsact(bool on);

/* The program of hooks that is loaded. */
int hook_fd(const struct bpf *b);

/* The filter that takes a MAC's frames to its ifb; removing one that is not there is no error. */
int mirror_add(struct bpf *b, int hook, struct mac mac, int ifb);
int mirror_del(struct bpf *b, int hook, int ifb);
/* All filters behind a hook, also those that no entry of the map knows any more. */
int mirror_purge(struct bpf *b, int hook, struct err *e);
int mirror_observe(int hook, struct mac mac, int ifb, bool *ret);

int pin_path(char ret[static PIN_MAX], struct err *e, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
/* Removes path and what is under it; a path that is not there is no error. */
int pin_remove(const char *path, unsigned long *acts, struct err *e);
/* err_sys with libbpf's own words, if it said any, else those of the errno. */
int said(struct err *e, int code, const char *object, const char *what);
/* Drops what libbpf said before, so that it is no reason for a later failure. */
void forget_said(void);
/* Writes count elements, in order; of those before the one that failed all are there. */
int map_fill(int fd, const void *keys, size_t key_size, const void *values, size_t value_size, size_t count);
int prog_tag(int prog_fd, uint8_t ret[static BPF_TAG_SIZE]);
/* Every steer entry of a hook. */
int steer_purge(struct bpf *b, int hook, struct err *e);

static inline void close_fd(int *fd)
{
	if (*fd >= 0)
		close(*fd);
}
#define FD __attribute__((cleanup(close_fd))) int
