/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Counts the tcx programs on a device, or on each of the namespace's, which tools older than tcx do not show.
 * Attaches and changes nothing.
 */
#include "tests/tools/tool.h"

#include <linux/bpf.h>
#include <net/if.h>
#include <sys/syscall.h>

/* BPF_TCX_INGRESS and _EGRESS, newer than Debian 12's headers. */
static const struct {
	const char *name;
	unsigned type;
} hooks[] = {{"tcx_ingress", 46}, {"tcx_egress", 47}};

static const char *dev;
static const struct opt opts[] = {
	{.name = "dev", .kind = OPT_STR, .where = &dev, .help = "device to look at (every one)"},
	{0},
};

static void look(unsigned ifindex, const char *name)
{
	for (size_t i = 0; i < sizeof(hooks) / sizeof(hooks[0]); i++) {
		union bpf_attr attr = {.query = {.attach_type = hooks[i].type}};

		attr.query.target_fd = ifindex; /* an ifindex for tcx */
		/* ENOENT: nobody ever attached here. EINVAL: a kernel without tcx, so none. */
		if (syscall(SYS_bpf, BPF_PROG_QUERY, &attr, sizeof(attr)) && errno != ENOENT &&
		    errno != EINVAL)
			die(name);
		printf("%s%s%s %u\n", dev ? "" : name, dev ? "" : " ", hooks[i].name, attr.query.prog_cnt);
	}
}

int main(int argc, char **argv)
{
	struct if_nameindex *all;

	options(argc, argv, opts);
	if (dev) {
		if (!if_nametoindex(dev))
			die(dev);
		look(if_nametoindex(dev), dev);
		return 0;
	}
	all = if_nameindex();
	if (!all)
		die("if_nameindex");
	for (struct if_nameindex *i = all; i->if_index; i++)
		look(i->if_index, i->if_name);
	if_freenameindex(all);
	return 0;
}
