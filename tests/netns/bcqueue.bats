#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# The queue for broadcast and multicast grows with the number of VNICs over a parent, and never twice for a restart.

load common

setup() {
	vt_begin
	vt_wire
	start
}
teardown() { vt_cleanup; }

used() { in_ns h ip -d link show "$1" | sed -nE 's/.* usedbcqueuelen ([0-9]+).*/\1/p'; }
vnics() { for ((i = $1; i <= $2; i++)); do echo "create-vnic -l eth0 -d vnic$i"; done; }

@test "1000 frames up to 125 VNICs, 8 for each above; read back; a restart changes nothing" {
	adm -b - <<<"$(vnics 1 125)" 2>/dev/null
	[[ $(used vnic1) == 1000 ]] || complain "$(used vnic1)"
	adm create-vnic -l eth0 -d vnic126 2>/dev/null
	[[ $(used vnic1) == 1008 ]] || complain "$(used vnic1)"
	adm -b - <<<"$(vnics 127 200)" 2>/dev/null
	[[ $(used vnic1) == 1600 ]] || complain "$(used vnic1)"
	stop TERM
	start
	[[ $(grep adopted "$VT_DIR/log" | tail -1) == *"adopted 200 links with 0 modifying acts" ]]
	[[ $(used vnic1) == 1600 ]]
}

@test "what finds it full is in the parent's IDROPS" {
	local before after

	vt_floods || skip "$VT_NO_FLOOD"
	adm -b - <<<"$(vnics 1 60 | sed 's/ -d / /')" 2>/dev/null
	before=$(adm show-link -s -j eth0 | jq .idrops)
	in_ns p "$TOOLS/flood" --dev peer0 --seconds 1 >"$VT_DIR/flood"
	after=$(adm show-link -s -j eth0 | jq .idrops)
	((after > before)) || complain "IDROPS: $before, then $after"
	((after - before <= $(in_ns h ip -s -j link show eth0 | jq '.[0].stats64.rx.dropped')))
}
