# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash
# Everything that a machine's administrator may find changed, as text, from the kernel's side alone: for what must be as
# it was before. Nothing is left out but counters, ages and what other programs of the machine do.

# One namespace, with a sysfs of its own. Routes that the kernel caches and its random secrets are nobody's; a link's own state is in its flags.
# shellcheck disable=SC2016 # the other shell's
LOOK_CLOSELY='
mount -t sysfs sysfs /sys
ip -d -o link show | sed -E "s/_timer +[0-9.]+/_timer/g; s/^/link /"
ip -o addr show | sed -E "s/(valid|preferred)_lft [0-9]+sec//g; s/^/addr /"
ip maddr show | sed "s/^/maddr /"
ip -o netconf show | sed "s/^/netconf /"
for family in -4 -6; do
	ip $family rule show | sed "s/^/rule $family /"
	ip $family route show table all | sed -E "s/ expires [0-9]+sec//; s/^/route $family /"
done
bridge -d link show | sed "s/^/bridge /"
bridge fdb show | sed "s/^/fdb /"
find /proc/sys/net -type f -perm -u=r ! -name "*secret*" ! -name "*_key" ! -name "*count" -exec grep -sH "" {} + | sed "s/^/sysctl /"
tc -d qdisc show | sed "s/ direct_packets_stat [0-9]*//; s/^qdisc /qdisc /"
"$1" | sed "s/^/tcx /"
for dev in /sys/class/net/*; do
	dev=${dev##*/}
	tc -d class show dev "$dev" | sed "s/^/class $dev /"
	for where in "" ingress egress; do tc -d filter show dev "$dev" $where 2>/dev/null | sed "s/^/filter $dev $where /"; done
	ethtool -k "$dev" 2>/dev/null | sed "s/^/features $dev /"
	grep -sH "" /sys/class/net/$dev/queues/*/*_cpus /sys/class/net/$dev/napi_defer_hard_irqs \
		/sys/class/net/$dev/gro_flush_timeout /sys/class/net/$dev/threaded | sed "s,^/sys/class/net/,sysfs ,"
done
nft list ruleset 2>/dev/null | sed "s/^/nft /"'

# Of all namespaces of the test, and beside them: names and mounts of namespaces, what is pinned, temporary files.
machine_dump() {
	local zone

	while read -r zone; do
		nsenter --net="/run/netns/$VT$zone" unshare --mount sh -c "$LOOK_CLOSELY" sh "$TOOLS/hooks" </dev/null | sed "s/^/$zone: /"
	done <"$VT_DIR/zones" | sed -E 's/ +/ /g; s/ $//' | sort
	find /run/netns -name "$VT*" | sort
	grep -F -e "$VT" -e "$VT_DIR" /proc/self/mounts | sed -E 's/^[^ ]+ //' | sort
	find "$VT_DIR/bpf" | sort
}
