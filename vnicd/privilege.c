/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Drops capabilities at start. Never takes one. */
#include "vnicd/privilege.h"

#include <cap-ng.h>
#include <errno.h>

static const struct {
	unsigned capability;
	bool must;
} kept[] = {
	{CAP_NET_ADMIN, true},      /* links, qdiscs, tcx */
	{CAP_SYS_ADMIN, true},      /* entering zones; eBPF before CAP_BPF */
	{CAP_NET_BROADCAST, false}, /* to hear of links in other zones */
	{CAP_NET_RAW, false},       /* to tell neighbours of an address */
	{CAP_BPF, false},           /* programs and maps */
	{CAP_PERFMON, false},       /* programs that read the clock and the packet */
	{CAP_SYS_RESOURCE, false},  /* the descriptor limit */
	{CAP_SYS_PTRACE, false},    /* namespaces that only a process holds */
	{CAP_DAC_OVERRIDE, false},  /* /proc/sys and pins that belong to another uid */
};

#define KEPT (sizeof(kept) / sizeof(*kept))

int privilege_drop(struct err *e)
{
	bool have[KEPT];

	if (capng_get_caps_process() < 0)
		return err_sys(e, -EPERM, NULL, "cannot read the process's capabilities");
	for (size_t i = 0; i < KEPT; i++) {
		have[i] = capng_have_capability(CAPNG_EFFECTIVE, kept[i].capability);
		if (kept[i].must && !have[i])
			return err_user(e, -EPERM, NULL, "cap_%s is missing: start vnicd as root",
					capng_capability_to_name(kept[i].capability));
	}
	capng_clear(CAPNG_SELECT_CAPS);
	for (size_t i = 0; i < KEPT; i++)
		if (have[i])
			capng_update(CAPNG_ADD, CAPNG_EFFECTIVE | CAPNG_PERMITTED, kept[i].capability);
	if (capng_apply(CAPNG_SELECT_CAPS) < 0)
		return err_sys(e, -EPERM, NULL, "cannot give up capabilities");
	return 0;
}
