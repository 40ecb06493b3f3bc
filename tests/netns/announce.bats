#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# A VNIC that was made again tells its neighbours of the addresses it gets, in both families; others are left to
# themselves.

load common

MAC=02:08:20:00:00:01
OLD=02:00:00:00:00:99

setup() {
	vt_begin
	vt_wire
	vt_zone z1
	start_faulty
}
teardown() { vt_cleanup; }

# The neighbour at the other end believes that the addresses are somewhere else.
mislead() {
	in_ns p ip -6 addr replace fd99::1/64 dev peer0 nodad
	in_ns p ip neigh replace 10.99.0.9 lladdr $OLD nud stale dev peer0
	in_ns p ip -6 neigh replace fd99::9 lladdr $OLD nud stale dev peer0
}
believed() { in_ns p ip -br neigh show | awk '/^10.99.0.9 |^fd99::9 /{print $3}' | sort -u | paste -sd,; }
addresses() {
	in_ns "$1" ip addr add 10.99.0.9/24 dev vnic1
	in_ns "$1" ip -6 addr add fd99::9/64 dev vnic1
}
settled() { [[ $(believed) == "$1" ]]; }
index() { in_ns "$1" ip -o link show vnic1 2>/dev/null | cut -d: -f1; }
remade() { [[ -n $(index "$1") && $(index "$1") != "$2" ]] && in_ns "$1" ip link show vnic1 up | grep -q vnic1; }

again() {
	local before

	before=$(index "$1")
	in_ns "$1" ip link del vnic1
	vt_until 50 remade "$1" "$before" || complain "not made again" "$(tail -5 "$VT_DIR/log")"
	mislead
	addresses "$1"
	vt_until 50 settled $MAC || complain "the neighbour believes: $(believed)"
}

@test "made again here: its neighbours hear of its new addresses" {
	adm create-vnic -l eth0 -m $MAC -p maxbw=100M vnic1 2>/dev/null
	in_ns h ip link set vnic1 up
	again h
}

@test "made again in a zone: its neighbours hear of its new addresses" {
	adm create-vnic -l eth0 -m $MAC -p "maxbw=100M,zone=${VT}z1" vnic1
	again z1
}

@test "one that was not made again says nothing by itself" {
	adm create-vnic -l eth0 -m $MAC -p "zone=${VT}z1" vnic1
	mislead
	in_ns z1 ip addr add 10.99.0.9/24 dev vnic1
	sleep 1
	[[ $(believed) == "$OLD" ]]
}
