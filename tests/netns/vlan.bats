#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# VNICs on VLANs: one VLAN link of ours for all VNICs of one VID, made with the first and gone with the last.

load common
load say

setup() {
	vt_begin
	vt_wire
	vt_zone z1
	start
}
teardown() {
	tail -n 5 "$VT_DIR/log" >&2 # shown when a test fails
	vt_cleanup
}

has_vlans() { in_ns h ip link add link eth0 name probe.1 type vlan id 1 2>/dev/null && in_ns h ip link del probe.1; }
need_vlans() { has_vlans || skip 'this kernel has no VLAN links (8021q)'; }
vlans() {
	in_ns h ip -j -d link |
		jq -r '.[] | select(.linkinfo.info_kind == "vlan") | "\(.ifname) \(.link) \(.linkinfo.info_data.id)"' | xargs
}
# A VLAN link that was made again has another number, and so has its hook.
remade() {
	sed -E 's/(link [^ ]+) [0-9]+ (.* (macvlan|vlan|dummy) )/\1 \2/; s/hook-[0-9]+/hook-N/
		s/(link [^ ]+) [0-9]+ (.*ether) [^ ]+ (.* bridge )/\1 \2 \3/'
}
row() { adm show-vnic -o link,over,vid,mtu,state "$1" | tail -n +2 | xargs; }
# shellcheck disable=SC2120 # by one of its callers
wire_again() {
	ip link add "${1:-eth0}" netns "${VT}h" address 02:00:5e:00:00:01 type veth \
		peer name peer0 netns "${VT}p" address 02:00:5e:00:00:02
	in_ns h ip link set "${1:-eth0}" up
	in_ns p ip link set peer0 up
}

@test "vlan: a kernel that has no VLAN links is told so, and nothing is left" {
	run ! has_vlans || skip 'this kernel has VLAN links'
	before=$(dump)
	refused 1 'eth0: VLAN 100 cannot be had: this kernel has no VLAN links (8021q)' create-vnic -l eth0 -v 100 -p maxbw=10M v0
	same 'refused' "$before" "$(dump)"
	printf 'create-vnic -l eth0 a0\ncreate-vnic -l eth0 -v 7 a1\n' >"$VT_DIR/file"
	run -1 adm -b "$VT_DIR/file"
	[[ $output == *'VLAN 7 cannot be had: this kernel has no VLAN links (8021q)' ]] || complain "$output"
	same 'refused in a batch' "$before" "$(dump)"
}

@test "vlan: what is no VLAN identifier is refused" {
	before=$(dump)
	for vid in 0 4095 99999999999; do
		refused 1 "eth0: VLAN $vid is out of range: 1 to 4094" create-vnic -l eth0 -v "$vid" v0
	done
	for vid in x -1 1x ''; do
		run -1 adm create-vnic -l eth0 -v "$vid" v0
		[[ $output == *"-v $vid is not a VLAN's number: give 1 to 4094"* ]] || complain "$output"
	done
	refused 1 "nolink: no such link: see 'vnicadm show-link'" create-vnic -l nolink -v 5 v0
	same 'refused' "$before" "$(dump)"
}

@test "vlan: VNICs of one VID share its link, and the last takes it along" {
	need_vlans
	before=$(dump remade)
	good create-vnic -l eth0 -v 100 -p maxbw=10M v0
	good create-vnic -l eth0 -v 100 v1
	good create-vnic -l eth0 -v 200 v2
	is 'eth0.100 eth0 100 eth0.200 eth0 200' "$(vlans)"
	is 'v0 eth0 100 1500 up' "$(row v0)"
	is 'v2 eth0 200 1500 up' "$(row v2)"
	is 'eth0.100' "$(in_ns h ip -j -d link show v1 | jq -r '.[0].link')"
	refused 1 'eth0.100: it is a VLAN link, and goes with the last VNIC on it' delete-vnic eth0.100
	adm delete-vnic v0
	is 'eth0.100 eth0 100 eth0.200 eth0 200' "$(vlans)"
	adm delete-vnic v1 v2
	is '' "$(vlans)"
	same 'deleted' "$before" "$(dump remade)"
}

@test "vlan: a VLAN link that is somebody else's is not touched" {
	need_vlans
	in_ns h ip link add link eth0 name theirs type vlan id 100
	in_ns h ip link set theirs up
	before=$(dump)
	refused 1 'eth0: VLAN 100 is there already, on a link that is not vnicd'"'"'s: use -l with that link' \
		create-vnic -l eth0 -v 100 v0
	same 'refused' "$before" "$(dump)"
	adm create-vnic -l theirs v0 2>/dev/null
	is 'v0 theirs -- 1500 up' "$(row v0)"
}

both_ways() {
	streams 4 "out z1 p 10.77.0.1 5301 tcp4 10M" "in p z1 10.77.0.2 5302 tcp4 10M"
}

@test "vlan: frames are tagged, the cap holds both ways, and a restart changes nothing" {
	need_vlans
	control_make
	good create-vnic -l eth0 -v 100 -p "maxbw=10M,zone=${VT}z1" v0
	in_ns p ip link add link peer0 name far type vlan id 100
	in_ns p ip link set far up
	vt_addr p far 1 77
	vt_addr z1 v0 2 77
	in_ns z1 ping -q -c 3 -i 0.2 -W 2 10.77.0.1
	measured both_ways
	stop TERM
	start
	grep -q 'adopted 4 links with 0 modifying acts' "$VT_DIR/log"
	in_ns z1 ping -q -c 1 -W 2 10.77.0.1
}

@test "vlan: the parent goes, comes back and is renamed: all of it stands again" {
	need_vlans
	good create-vnic -l eth0 -v 100 -p maxbw=10M v0
	in_ns h ip link del eth0
	until_is 'v0 eth0 100 1500 waiting' row v0
	wire_again
	until_is 'v0 eth0 100 1500 up' row v0
	is 'eth0.100 eth0 100' "$(vlans)"
	vt_rename h eth0 eth9
	until_is 'v0 eth9 100 1500 up' row v0
	in_ns h ip link set eth9 mtu 1400
	until_is 'v0 eth9 100 1400 up' row v0
	in_ns h ip link set eth9 mtu 1500
	until_is 'v0 eth9 100 1500 up' row v0
}

@test "vlan: its link deleted by others is made again, and the VNICs on it with it" {
	need_vlans
	made create-vnic -l eth0 -v 100 -p maxbw=10M v0
	whole=$(dump remade)
	in_ns h ip link del eth0.100
	until_is 'v0 eth0 100 1500 up' row v0
	until_is "$whole" dump remade
}

@test "vlan: kill -9 and failures at every step" {
	need_vlans
	stop TERM
	start_faulty
	kill_every_step 'create-vnic -v' 'adm create-vnic -l eth0 -v 100 -p maxbw=10M v0' 'adm delete-vnic v0'
	fail_every_step 'create-vnic -v' 'adm create-vnic -l eth0 -v 100 -p maxbw=10M v0' 'adm delete-vnic v0'
}

@test "vlan: over an etherstub, in batches and in reset" {
	need_vlans
	before=$(dump remade)
	printf '%s\n' 'create-etherstub stub0' 'create-vnic -l stub0 -v 5 a0' 'create-vnic -l stub0 -v 5 a1' \
		'create-vnic -l eth0 -v 6 a2' 'delete-vnic a2' | adm -b -
	is 'stub0.5 stub0 5' "$(vlans)"
	adm reset --yes
	same 'reset' "$before" "$(dump remade)"
}

@test "vlan: a dry run tells the VLAN link, too, and makes none" {
	need_vlans
	before=$(dump)
	good create-vnic -l eth0 -v 100 --dry-run v0
	matches '^ip link add name eth0.100 link eth0 mtu 1500 group [0-9]+ type vlan id 100$' "$(head -n 1 <<<"$output")"
	matches 'ip link add name v0 link eth0.100 address ' "$output"
	same 'dry' "$before" "$(dump)"
}
