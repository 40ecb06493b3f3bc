#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# VNICs over parents that are several links at once, of which one works: when that fails, traffic, caps and VNICs go on
# over the other. For kernels with bonding and team.

load common

# Two wires, port0 and port1, to a bridge in p that has its address.
setup() {
	local i

	vt_begin
	vt_zone p
	in_ns p ip link add br0 type bridge
	in_ns p ip link set br0 up
	for i in 0 1; do
		ip link add "port$i" netns "${VT}h" type veth peer name "peer$i" netns "${VT}p"
		in_ns p ip link set "peer$i" master br0 up
	done
	vt_addr p br0 1
	vt_zone z1
}
teardown() {
	[[ ! -e $VT_DIR/teamd.pid ]] || kill "$(<"$VT_DIR/teamd.pid")" 2>/dev/null || true
	vt_cleanup
}

# What arrives at DEV in each second, in kbit/s: arrives NS DEV SECONDS
arrives() {
	local i bytes at before from file=/sys/class/net/$2/statistics/rx_bytes

	look() { read -r bytes < <(in_ns_sysfs "$1" cat "$2"); at=${EPOCHREALTIME/[.,]/}; }
	look "$1" "$file"
	for ((i = 0; i < $3; i++)); do
		before=$bytes from=$at
		sleep 1
		look "$1" "$file"
		echo $(((bytes - before) * 8000 / (at - from)))
	done
}
# sysfs shows the namespace that it was mounted in.
# shellcheck disable=SC2016
in_ns_sysfs() { nsenter --net="/run/netns/$VT$1" unshare -m sh -c 'mount -t sysfs sysfs /sys && "$@"' sh "${@:2}"; }

who() { in_ns z1 ip -o link show vnic1 | sed -E 's/ (qdisc|state) [^ ]+//g'; in_ns h ip -o link show type ifb | cut -d: -f1,2; }

# A stream at its cap; the active port's wire is cut at its far end, then mended and the other one cut. Seconds without
# enough are those of the change; none is above the cap, and nothing of ours is made again. fail_over FROM TO ADDRESS
fail_over() {
	local before rates port from=$1 to=$2 dev=br0

	[[ $to == p ]] || dev=vnic1
	before=$(who)
	serve "$to" "$VT_DIR/stream"
	vt_bg in_ns_to "$VT_DIR/client" "$from" iperf3 -c "$3" -t 120
	sleep 2
	arrives "$to" "$dev" 12 >"$VT_DIR/rates" &
	local watch=$!
	sleep 3
	port=$(active)
	in_ns p ip link set "peer$port" down
	sleep 4
	[[ $(active) == $((1 - port)) ]] || complain "port$port is cut, and port$(active) active"
	in_ns p ip link set peer0 up
	in_ns p ip link set peer1 up
	wait "$watch"
	vt_stop "$VT_PID" INT
	rates=$(tr '\n' ' ' <"$VT_DIR/rates")
	echo "# $from to $to: $rates kbit/s" >&3
	awk '$1 > 21000 { over++ } $1 < 5000 { gap++ } END { exit over > 0 || gap > 3 || $1 < 5000 }' "$VT_DIR/rates" ||
		complain "arrived, in kbit/s: $rates" "$(cat "$VT_DIR/client")"
	same 'links and their indexes' "$before" "$(who)"
	[[ $(adm show-vnic -o link,over,zone,state | sed -n '2s/  */ /gp') == "vnic1 $PARENT ${VT}z1 up"* ]] ||
		complain "$(adm show-vnic)"
}

over_both() {
	start A=
	adm create-vnic -l "$PARENT" -p "maxbw=20M,zone=${VT}z1" vnic1
	vt_addr z1 vnic1 9
	vt_until 100 in_ns z1 ping -q -c 1 -W 1 10.99.0.1
	fail_over z1 p 10.99.0.1
	fail_over p z1 10.99.0.9
	stop TERM
	start A=
	grep 'adopted' "$VT_DIR/log" | tail -1 | grep -q ' 0 modifying acts'
}

@test "over a bond, active-backup: the other port takes over, the cap holds" {
	in_ns h ip link add bond0 type bond mode active-backup miimon 100 2>/dev/null || skip 'this kernel has no bonding'
	in_ns h ip link set port0 master bond0
	in_ns h ip link set port1 master bond0
	in_ns h ip link set bond0 up
	active() { in_ns h ip -d -j link show bond0 | jq -r '.[0].linkinfo.info_data.active_slave[-1:]'; }
	PARENT=bond0 over_both
}

@test "over a team, activebackup: the other port takes over, the cap holds" {
	in_ns h ip link add team0 type team 2>/dev/null || skip 'this kernel has no team'
	in_ns h ip link del team0
	type teamd >/dev/null 2>&1 || skip 'teamd is not installed (libteam-utils)'
	vt_bg in_ns_to "$VT_DIR/teamd" h teamd -U -p "$VT_DIR/teamd.pid" -c '{"device": "team0",
		"runner": {"name": "activebackup"}, "link_watch": {"name": "ethtool"}, "ports": {"port0": {}, "port1": {}}}'
	vt_until 100 in_ns h ip link set team0 up || complain "$(cat "$VT_DIR/teamd")"
	active() { in_ns h ip -o link | sed -nE "s/^$(in_ns h teamnl team0 getoption activeport): port([01]).*/\\1/p"; }
	PARENT=team0 over_both
}
