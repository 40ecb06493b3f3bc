#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# While nothing happens the daemon does nothing: what it asks the kernel is no news to it.

load common

setup() {
	vt_begin
	vt_wire
	vt_zone z1
	start
}
teardown() { vt_cleanup; }

cpu_ns() { cut -d' ' -f1 "/proc/$(vt_daemon_pid)/schedstat"; }

@test "idle with a capped VNIC here, one in a zone and one that others moved: no CPU time" {
	local before

	adm create-vnic -l eth0 -p maxbw=20M vnic1 2>/dev/null
	adm create-vnic -l eth0 -p maxbw=20M,zone=${VT}z1 vnic2
	adm create-vnic -l eth0 -p maxbw=20M vnic3 2>/dev/null
	in_ns h ip link set vnic3 netns ${VT}z1
	in_ns z1 tc qdisc del dev vnic2 root
	sleep 1
	before=$(cpu_ns)
	sleep 2
	# It took half of a CPU once.
	(($(cpu_ns) - before < 100000000)) || complain "CPU time in 2 s: $(($(cpu_ns) - before)) ns"
}
