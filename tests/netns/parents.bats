#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck disable=SC2154 # bats sets output, stderr and status
# Parents that come and go, change their name, MTU or namespace, or get a master: their VNICs wait and come back whole.

load common.bash
load say.bash

setup_file() {
	vt_begin
	vt_wire
	vt_zone z1
	vt_zone z2
	vt_daemon
}
teardown_file() { vt_cleanup; }
setup() { : >"$VT_DIR/log"; }
teardown() {
	delete_all
	in_ns z2 ip link del eth0 2>/dev/null || true
	in_ns h ip link show eth0 >/dev/null 2>&1 || vt_rename h eth9 eth0 2>/dev/null || wire_again
}

# shellcheck disable=SC2120 # by one of its callers
wire_again() {
	ip link add "${1:-eth0}" netns "${VT}h" address 02:00:5e:00:00:01 type veth \
		peer name peer0 netns "${VT}p" address 02:00:5e:00:00:02
	in_ns h ip link set "${1:-eth0}" up
	in_ns p ip link set peer0 up
	vt_addr p peer0 1
}

# All there is of ours and of others, but for what is new with a new parent; addresses are their owners'.
whole() {
	dump remade | grep -vE '^[^ ]+ (addr|route6?|accept_ra) ' |
		sed -E 's/(link (eth0|eth9|stub0)) [0-9]+/\1/; s/hook-[0-9]+/hook-N/; s/ link-netns[^ ]*( [0-9]+)?//; s/numtxqueues.*//'
}
is_whole() { [[ $(whole) == "$1" ]]; }
until_whole() { vt_until 50 is_whole "$1" || same "not as before" "$1" "$(whole)"; }
states_of() { adm show-vnic -j | jq -r '[.[].state] | join(" ")'; }
# Capped in both directions and in one, here and in a zone, with an MTU of its own, and with none of all that
three() {
	made create-vnic -l eth0 -p maxbw=10M,mtu=1400 vnic1
	good create-vnic -l eth0 -p "maxbw=20M,zone=${VT}z1" vnic2
	made create-vnic -l eth0 vnic3
	until_is 'up up up' states_of
}
traffic() {
	in_ns h ip addr add 10.98.0.9/24 dev vnic1
	in_ns p ip addr replace 10.98.0.1/24 dev peer0
	in_ns h ping -q -c 3 -i 0.01 -W 2 10.98.0.1 >/dev/null
}
# Nothing may lead a frame anywhere: no program on the parent, no entry, no ifb
no_steering() {
	is '' "$(steered)"
	is '' "$(pins | grep -v 'pin steer')"
	is '' "$(in_ns h ip -j link show type ifb | jq -r '.[].ifname // empty')"
}

@test "a parent that is deleted and made again: its VNICs wait, say why, and come back whole, their counters going on" {
	local before old

	three
	traffic
	in_ns h ip addr flush dev vnic1
	before=$(whole)
	old=$(counters vnic1)
	in_ns h ip link del eth0
	until_is 'waiting waiting waiting' states_of
	is "its parent eth0 is not there" "$(vnic vnic1 why)"
	is "its parent eth0 is not there" "$(link vnic2 why)"
	is waiting "$(link vnic3 state)"
	is eth0 "$(vnic vnic2 over)"
	no_steering
	wire_again
	until_is 'up up up' states_of
	until_whole "$before"
	traffic
	not_less "$old" "$(counters vnic1)"
	[ "$(counter vnic1 ipackets)" -ge 6 ]
}

@test "with many VNICs, quickly, ten times" {
	local i before

	for i in {1..20}; do
		echo "-l eth0 -p zone=${VT}z1,maxbw=10M vnic$i"
	done | while read -r i; do
		# shellcheck disable=SC2086 # words
		adm create-vnic $i
	done
	before=$(whole)
	for i in {1..10}; do
		in_ns h ip link del eth0
		wire_again
	done
	until_whole "$before"
}

@test "while they wait: properties are stored, deletion leaves nothing, a restart changes nothing" {
	three
	in_ns h ip link del eth0
	until_is 'waiting waiting waiting' states_of
	run --separate-stderr adm set-linkprop -p maxbw=30M vnic1
	is 0 "$status"
	is "vnicadm: warning: vnic1: stored; it is not there now: its parent eth0 is not there" "$stderr"
	good delete-vnic vnic2
	vt_daemon_restart
	is 'waiting waiting' "$(states_of)"
	is "its parent eth0 is not there" "$(vnic vnic1 why)"
	wire_again
	until_is 'up up' states_of
	is 30Mbit "$(in_ns h tc class show dev vnic1 | sed -n 's/.*htb 7fd0:1 .* rate \([^ ]*\) .*/\1/p')"
	is 1400 "$(link vnic1 mtu)"
}

@test "the parent goes, comes or is another's while no daemon runs" {
	local before

	three
	before=$(whole)
	vt_daemon_kill9
	in_ns h ip link del eth0
	vt_daemon
	is 'waiting waiting waiting' "$(states_of)"
	no_steering
	vt_daemon_kill9
	wire_again
	vt_daemon
	is 'up up up' "$(states_of)"
	until_whole "$before"
	vt_daemon_kill9
	in_ns h ip link del eth0
	wire_again
	vt_daemon
	until_whole "$before"
}

@test "a parent that is renamed is followed, also over a restart, also when its old name is another's" {
	local before index

	three
	before=$(whole)
	index=$(vnic vnic1 ifindex)
	vt_rename h eth0 eth9
	until_is eth9 vnic vnic1 over
	is eth9 "$(vnic vnic2 over)"
	in_ns h ip link add eth0 type bridge
	good set-linkprop -p maxbw=11M vnic1
	vt_daemon_restart
	is eth9 "$(vnic vnic1 over)"
	is 'up up up' "$(states_of)"
	good set-linkprop -p maxbw=10M vnic1
	in_ns h ip link del eth0
	vt_rename h eth9 eth0
	until_is eth0 vnic vnic1 over
	until_whole "$before"
	is "$index" "$(vnic vnic1 ifindex)"
}

@test "a parent that is renamed while no daemon runs: its VNICs are adopted where they are" {
	local before index

	three
	before=$(whole)
	index=$(vnic vnic1 ifindex)
	vt_daemon_stop
	vt_rename h eth0 eth9
	: >"$VT_DIR/log"
	vt_daemon
	is 'up up up' "$(states_of)"
	is eth9 "$(vnic vnic1 over)"
	is "$index" "$(vnic vnic1 ifindex)"
	grep -q 'with 0 modifying acts' "$VT_DIR/log"
	vt_daemon_kill9
	vt_rename h eth9 eth0
	vt_daemon
	until_is eth0 vnic vnic1 over
	until_whole "$before"
}

@test "a parent under another name: known by bus address or permanent MAC" {
	skip "no link that a namespace can have has either here"
}

@test "a parent that is down: its VNICs are, say so, and come up alone" {
	local before

	three
	before=$(whole)
	in_ns h ip link set eth0 down
	until_is 'down down down' states_of
	is "its parent eth0 is down" "$(link vnic2 why)"
	in_ns h ip link set eth0 up
	until_is 'up up up' states_of
	until_whole "$before"
	# The wire is broken and mended
	in_ns p ip link set peer0 down
	until_is 'down down down' states_of
	in_ns p ip link set peer0 up
	until_is 'up up up' states_of
}

@test "a parent's MTU that is lowered and raised: VNICs and their queues follow and come back, here and in zones" {
	local before

	three
	before=$(whole)
	in_ns h ip link set eth0 mtu 1300
	for n in 1 2 3; do until_is 1300 link vnic$n mtu; done
	is 1300 "$(in_ns z1 ip -j link show vnic2 | jq '.[0].mtu')"
	in_ns h ip link set eth0 mtu 1450
	until_is 1450 link vnic2 mtu
	until_is 1400 link vnic1 mtu
	in_ns h ip link set eth0 mtu 1500
	until_whole "$before"
	# Below IPv6's least
	in_ns h ip link set eth0 mtu 1000
	until_is 1000 link vnic3 mtu
	in_ns h ip link set eth0 mtu 1500
	until_whole "$before"
	# While no daemon runs
	vt_daemon_kill9
	in_ns h ip link set eth0 mtu 1300
	in_ns h ip link set eth0 mtu 1500
	vt_daemon
	until_whole "$before"
	# None of that was anybody's meddling
	run grep -E 'others changed' "$VT_DIR/log"
	is '' "$output"
}

@test "a parent that is moved to another namespace, and back: no frame is led anywhere meanwhile" {
	local before

	three
	before=$(whole)
	in_ns h ip link set eth0 netns "${VT}z2"
	until_is 'waiting waiting waiting' states_of
	is "its parent eth0 is not there" "$(vnic vnic2 why)"
	no_steering
	is '0 0' "$(in_ns z2 "$TOOLS/hooks" --dev eth0 | awk '{ print $2 }' | xargs)"
	is '' "$(in_ns z1 ip -o link show type macvlan)"
	in_ns z2 ip link set eth0 netns "${VT}h"
	in_ns h ip link set eth0 up
	until_is 'up up up' states_of
	until_whole "$before"
	traffic
	# And while no daemon runs
	in_ns h ip addr flush dev vnic1
	vt_daemon_kill9
	in_ns h ip link set eth0 netns "${VT}z2"
	vt_daemon
	is 'waiting waiting waiting' "$(states_of)"
	no_steering
	is '0 0' "$(in_ns z2 "$TOOLS/hooks" --dev eth0 | awk '{ print $2 }' | xargs)"
	in_ns z2 ip link set eth0 netns "${VT}h"
	in_ns h ip link set eth0 up
	until_whole "$before"
}

@test "a parent that has a master: refused while VNICs are on it; those that wait come back when it is free" {
	local before

	three
	before=$(whole)
	in_ns h ip link add br0 type bridge
	run ! in_ns h ip link set eth0 master br0
	until_is 'up up up' states_of
	in_ns h ip link del eth0
	until_is 'waiting waiting waiting' states_of
	in_ns h ip link add eth0 master br0 address 02:00:5e:00:00:01 type veth \
		peer name peer0 netns "${VT}p" address 02:00:5e:00:00:02
	in_ns h ip link set eth0 up
	in_ns p ip link set peer0 up
	until_is "its parent eth0 is a port of br0: use -l br0" vnic vnic1 why
	is 'waiting waiting waiting' "$(states_of)"
	vt_daemon_restart
	is 'waiting waiting waiting' "$(states_of)"
	is "its parent eth0 is a port of br0: use -l br0" "$(link vnic2 why)"
	no_steering
	in_ns h ip link set eth0 nomaster
	until_is 'up up up' states_of
	in_ns h ip link del br0
	until_whole "$before"
}

@test "an etherstub that others delete is made again, and the VNICs on it" {
	local before

	good create-etherstub stub0
	good create-vnic -l stub0 -p "maxbw=10M,zone=${VT}z1" vnic1
	good create-vnic -l stub0 -p "zone=${VT}z2,mtu=9000" vnic2
	before=$(whole)
	in_ns h ip link del stub0
	until_is 'up up' states_of
	until_whole "$before"
	in_ns z1 ip addr add 10.50.0.1/24 dev vnic1
	in_ns z2 ip addr add 10.50.0.2/24 dev vnic2
	in_ns z1 ping -q -c 3 -i 0.01 -W 2 10.50.0.2
	is 1 "$(grep -c 'stub0: others changed it' "$VT_DIR/log")"
	is 0 "$(grep -c 'vnic[12]: others changed it' "$VT_DIR/log")"
	vt_daemon_kill9
	in_ns h ip link del stub0
	vt_daemon
	until_whole "$before"
	adm delete-vnic vnic1 vnic2
	adm delete-etherstub stub0
}
