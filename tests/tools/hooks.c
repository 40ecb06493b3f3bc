/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Counts the tcx programs on a device, which tools older than tcx do not show. Attaches and changes nothing.
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
	{.name = "dev", .kind = OPT_STR, .where = &dev, .help = "device to look at"},
	{0},
};

int main(int argc, char **argv)
{
	unsigned ifindex;

	options(argc, argv, opts);
	if (!dev)
		usage(opts);
	ifindex = if_nametoindex(dev);
	if (!ifindex)
		die(dev);
	for (size_t i = 0; i < sizeof(hooks) / sizeof(hooks[0]); i++) {
		union bpf_attr attr = {.query = {.attach_type = hooks[i].type}};

		attr.query.target_fd = ifindex; /* an ifindex for tcx */
		/* ENOENT: nobody ever attached here. EINVAL: a kernel without tcx, so none. */
		if (syscall(SYS_bpf, BPF_PROG_QUERY, &attr, sizeof(attr)) && errno != ENOENT &&
		    errno != EINVAL)
			die(dev);
		printf("%s %u\n", hooks[i].name, attr.query.prog_cnt);
	}
	return 0;
}
