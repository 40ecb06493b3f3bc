/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * For tests of the flow programs: a VNIC in namespaces of the test's own, its programs run on frames that the
 * test makes, and a generator of random numbers that says its seed.
 */
#pragma once

#include "lib/bpf/flow.h"
#include "lib/bpf/internal.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <check.h>
#include <errno.h>
#include <linux/pkt_cls.h>
#include <net/if.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <time.h>

#define DIR_BPF   "/sys/fs/bpf"
#define UUID      "00000000-1111-2222-3333-444444444444"
#define FRAME_MAX 2048

static unsigned long acts;
static struct bpf *b;
static struct err e;
static struct bpf_flow_site site; /* VNIC 1, its links v1 and vi1 */

#define ck_ok(expr)                                                                 \
	do {                                                                        \
		int ck_r = (expr);                                                  \
		ck_assert_msg(!ck_r, "%s: %s: %s", #expr, strerror(-ck_r), e.text); \
	} while (0)

__attribute__((format(printf, 1, 2))) static inline void sh(const char *fmt, ...)
{
	char cmd[512];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(cmd, sizeof(cmd), fmt, ap);
	va_end(ap);
	ck_assert_msg(!system(cmd), "%s", cmd);
}

static inline int index_of(const char *name)
{
	return (int)if_nametoindex(name);
}

static inline void reopen(void)
{
	b = bpf_close(b);
	ck_ok(bpf_open(DIR_BPF "/vnicd", UUID, &acts, &b, &e));
}

/* w0 is the wire's far end, w1 the parent, v1 and v2 VNICs over it, vi1 the first one's ifb. */
static inline void lab_setup(void)
{
	acts = 0;
	ck_assert(!unshare(CLONE_NEWNET | CLONE_NEWNS));
	ck_assert(!mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL));
	ck_assert(!mount("bpf", DIR_BPF, "bpf", 0, "mode=0700"));
	sh("sysctl -qw net.ipv6.conf.default.disable_ipv6=1");
	sh("ip link add w0 type veth peer name w1 && ip link set w0 up && ip link set w1 up");
	sh("ip link add link w1 name v1 address 02:00:00:00:00:01 type macvlan mode bridge && "
	   "ip link set v1 up");
	sh("ip link add link w1 name v2 address 02:00:00:00:00:02 type macvlan mode bridge && "
	   "ip link set v2 up");
	sh("ip link add vi1 type ifb && ip link set vi1 up");
	reopen();
	site = (struct bpf_flow_site){.n = 1, .ifindex = index_of("v1"), .ifb = index_of("vi1")};
	ck_ok(bpf_vnic_add(b, 1, site.ifindex, &(struct prog){.rx = HOOK_PASS, .tx = HOOK_PASS}, &e));
}

static inline void lab_teardown(void)
{
	b = bpf_close(b);
}

/* The program that is seated; to be closed. */
static inline int program(enum flow_prog which)
{
	struct pins p;
	struct seat ifb = {.ifindex = site.ifb, .side = SIDE_EGRESS, .acts = &acts};
	uint32_t id = 0;
	int fd;

	ck_ok(pins_of(b, 1, site.ifindex, &p, &e));
	ck_ok(pin_path(ifb.pin, &e, "%s/vnic-1/ifb", b->dir));
	ck_ok(seat_prog(which == FLOW_IFB ? &ifb : &p.seat[which], &id, &e));
	fd = bpf_prog_get_fd_by_id(id);
	ck_assert_int_ge(fd, 0);
	return fd;
}

/* What a program did with a frame. */
struct ran {
	bool refused; /* the kernel makes no frame of that */
	uint32_t verdict, priority, ns;
	size_t len;
	uint8_t frame[FRAME_MAX];
};

/* gso: size of a segment, 0: none. times: how often in a row. */
static inline struct ran run_on(int prog, const uint8_t *frame, size_t len, uint32_t gso, int times)
{
	struct __sk_buff in = {.priority = 0x1234, .gso_size = gso}, out = {.priority = 0};
	struct ran r = {.verdict = 0};
	LIBBPF_OPTS(bpf_test_run_opts, o, .data_in = frame, .data_size_in = (uint32_t)len, .ctx_in = &in,
		    .ctx_size_in = sizeof(in), .ctx_out = &out, .ctx_size_out = sizeof(out),
		    .data_out = r.frame, .data_size_out = FRAME_MAX, .repeat = times);

	r.refused = bpf_prog_test_run_opts(prog, &o);
	ck_assert_msg(!r.refused || errno == EINVAL, "test run of %zu bytes: %s", len, strerror(errno));
	r.verdict = o.retval;
	r.priority = out.priority;
	r.len = o.data_size_out;
	r.ns = o.duration;
	return r;
}

static inline struct bpf_flow_count counted(uint32_t slot)
{
	struct bpf_flow_count c;

	ck_ok(bpf_flows_counts(b, 1, &slot, 1, &c, &e));
	return c;
}

static inline double seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static inline unsigned long setting(const char *name, unsigned long normal)
{
	const char *v = getenv(name);

	return v ? strtoul(v, NULL, 0) : normal;
}

/* xorshift64*: the same numbers everywhere for one seed. */
static uint64_t dice;

static inline uint32_t roll(uint32_t below)
{
	dice ^= dice >> 12;
	dice ^= dice << 25;
	dice ^= dice >> 27;
	return (uint32_t)((dice * 2685821657736338717ULL) >> 32) % below;
}

static inline void seed(const char *what)
{
	dice = setting("SEED", (unsigned long)time(NULL));
	printf("# %s: SEED=%llu\n", what, (unsigned long long)dice);
	fflush(stdout);
	dice = dice * 2 + 1;
}

static inline const char *lab_missing(void)
{
	if (geteuid())
		return "needs root";
	if (system("unshare -n -m true 2>/dev/null"))
		return "may not make namespaces";
	if (system("unshare -n ip link add x type macvlan 2>&1 | grep -q 'Unknown device type'") == 0 ||
	    system("unshare -n ip link add x type ifb 2>/dev/null"))
		return "the kernel has no macvlan or no ifb";
	return access(DIR_BPF, F_OK) ? "the kernel has no BPF file system" : NULL;
}

static inline int lab_main(const char *name, const TTest *const *tests, size_t count, double limit)
{
	const char *reason = lab_missing();
	Suite *s = suite_create(name);
	TCase *c = tcase_create("kernel");
	SRunner *r = srunner_create(s);
	int failed;

	if (reason) {
		printf("SKIP %s: %s\n", name, reason);
		srunner_free(r);
		return 77; /* what test drivers read as skipped */
	}
	tcase_set_timeout(c, limit);
	tcase_add_checked_fixture(c, lab_setup, lab_teardown);
	for (size_t i = 0; i < count; i++)
		tcase_add_test(c, tests[i]);
	suite_add_tcase(s, c);
	srunner_run_all(r, CK_NORMAL);
	failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
