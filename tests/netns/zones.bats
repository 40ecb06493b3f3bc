#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck disable=SC2154 # bats sets output, stderr and status
# zone=: into a namespace at birth, later, and back; caps and counters that go along; zones and VNICs that are gone.

load say.bash

setup_file() {
	export VT_LOG_LEVEL=debug
	vt_begin
	vt_wire
	vt_zone z1
	vt_zone z2
	vt_daemon
}
teardown_file() { vt_cleanup; }
teardown() { delete_all; }

# In which namespaces is a link of that name? where NAME
where() {
	local zone

	for zone in h z1 z2; do
		! in_ns $zone ip link show "$1" >/dev/null 2>&1 || printf '%s ' $zone
	done
}
reach() { in_ns p ping -q -c 3 -i 0.01 -W 2 10.99.0.9; }
htb() { in_ns "$1" tc class show dev "$2" | sed -n 's/.*htb 7fd0:1 .* rate \([^ ]*\) .*/\1/p'; }

@test "zone= at birth: straight into the namespace, up, its caps standing before it is up" {
	: >"$VT_DIR/log"
	good create-vnic -l eth0 -m 2:8:20:0:0:9 -p "maxbw=10M,zone=${VT}z1" vnic1
	is 'z1 ' "$(where vnic1)"
	is "${VT}z1" "$(vnic vnic1 zone)"
	is up "$(vnic vnic1 state)"
	is 10Mbit "$(htb z1 vnic1)"
	is "vnic (tenant can remove)" "$(vnic vnic1 enforcer)"
	is "$(in_ns z1 ip -j link show vnic1 | jq '.[0].ifindex')" "$(vnic vnic1 ifindex)"
	# Born there: nobody moved it. And the last that is done is to raise it.
	is '' "$(grep link-move "$VT_DIR/log")"
	is "vnicd: debug: vnic1: link-up on vnic1" "$(tail -1 "$VT_DIR/log")"
	in_ns z1 ip addr add 10.99.0.9/24 dev vnic1
	reach
}

@test "zone= later, to another one, reset: the VNIC goes with MAC, caps and counters, and works" {
	local old new

	made create-vnic -l eth0 -m 2:8:20:0:0:9 -p maxbw=10M vnic1
	for zone in z1 z2; do
		: >"$VT_DIR/log"
		good set-linkprop -p "zone=$VT$zone" vnic1
		is "$zone " "$(where vnic1)"
		is 10Mbit "$(htb $zone vnic1)"
		matches 'link/ether 02:08:20:00:00:09' "$(in_ns $zone ip link show vnic1)"
		is "vnicd: debug: vnic1: link-up on vnic1" "$(tail -1 "$VT_DIR/log")"
		in_ns $zone ip addr add 10.99.0.9/24 dev vnic1
		reach
		new=$(counters vnic1)
		not_less "${old:-0 0 0 0 0 0 0 0}" "$new"
		old=$new
	done
	[ "$(counter vnic1 ipackets)" -ge 6 ]
	made reset-linkprop -p zone vnic1
	is "vnicadm: note: vnic1 is in eth0's namespace: addresses in eth0's subnet bypass it, uncapped (use -p zone=NAME or isolate=on); this host and vnic1 cannot reach each other over eth0" "$stderr"
	is 'h ' "$(where vnic1)"
	is 10Mbit "$(htb h vnic1)"
	is -- "$(vnic vnic1 zone)"
	is up "$(vnic vnic1 state)"
	is 0 "$(in_ns h cat /proc/sys/net/ipv6/conf/vnic1/accept_ra)"
	matches 'addrgenmode none' "$(in_ns h ip -d link show vnic1)"
	not_less "$old" "$(counters vnic1)"
}

@test "an uncapped VNIC goes into a zone and back, and stays without qdisc and hook" {
	good create-vnic -l eth0 -p "zone=${VT}z1" vnic1
	matches 'qdisc noqueue' "$(in_ns z1 tc qdisc show dev vnic1)"
	good set-linkprop -p "zone=${VT}z2" vnic1
	matches 'qdisc noqueue' "$(in_ns z2 tc qdisc show dev vnic1)"
	made reset-linkprop vnic1
	matches 'qdisc noqueue' "$(in_ns h tc qdisc show dev vnic1)"
	is '' "$(find "$VT_DIR/bpf" -name 'vnic-*' -o -name 'hook-*')"
}

@test "a change of cap and zone in one command; a cap changed while it is there" {
	made create-vnic -l eth0 -p maxbw=10M vnic1
	good set-linkprop -p "zone=${VT}z1,maxbw=20M" vnic1
	is 20Mbit "$(htb z1 vnic1)"
	good set-linkprop -p maxbw=30M vnic1
	is 30Mbit "$(htb z1 vnic1)"
	good set-linkprop -p maxbw=none,mtu=1400 vnic1
	is '' "$(htb z1 vnic1)"
	is 1400 "$(in_ns z1 ip -j link show vnic1 | jq '.[0].mtu')"
}

@test "VNICs of an etherstub in two zones reach each other, and nobody else" {
	good create-etherstub stub0
	good create-vnic -l stub0 -p "zone=${VT}z1" vnic1
	good create-vnic -l stub0 -p "zone=${VT}z2,maxbw=50M" vnic2
	in_ns z1 ip addr add 10.50.0.1/24 dev vnic1
	in_ns z2 ip addr add 10.50.0.2/24 dev vnic2
	in_ns z1 ping -q -c 3 -i 0.01 -W 2 10.50.0.2
	refused 1 "stub0: VNICs are on it (vnic1 vnic2): delete them first" delete-etherstub stub0
}

@test "a name that is taken in the zone is refused, and the VNIC stays where it was" {
	in_ns z1 ip link add vnic1 type bridge
	refused 1 "vnic1: a link of that name exists in zone ${VT}z1: choose another name, or delete that link first" \
		create-vnic -l eth0 -p "zone=${VT}z1" vnic1
	made create-vnic -l eth0 -p maxbw=10M vnic1
	refused 1 "vnic1: a link of that name exists in zone ${VT}z1: choose another name, or delete that link first" \
		set-linkprop -p "zone=${VT}z1" vnic1
	is 10Mbit "$(htb h vnic1)"
	is up "$(vnic vnic1 state)"
	in_ns z1 ip link del vnic1
}

@test "the daemon's own namespace under a name is no zone" {
	refused 1 "vnic1: zone ${VT}h is vnicd's own namespace: leave zone= out" create-vnic -l eth0 -p "zone=${VT}h" vnic1
	made create-vnic -l eth0 -p maxbw=10M vnic1
	refused 1 "vnic1: zone ${VT}h is vnicd's own namespace: leave zone= out" set-linkprop -p "zone=${VT}h" vnic1
	is 10Mbit "$(htb h vnic1)"
}

@test "what its user does in the zone: down is seen and stays, another MTU is put right" {
	good create-vnic -l eth0 -p "zone=${VT}z1" vnic1
	in_ns z1 ip link set vnic1 down mtu 1300
	is down "$(vnic vnic1 state)"
	is "taken down: 'ip link set up' brings it up" "$(vnic vnic1 why)"
	until_is 1500 link vnic1 mtu
	is 1500 "$(in_ns z1 ip -j link show vnic1 | jq '.[0].mtu')"
	# A cap changes nothing of it.
	good set-linkprop -p maxbw=10M vnic1
	is down "$(vnic vnic1 state)"
}

@test "a parent that is down: its VNICs say why" {
	good create-vnic -l eth0 -p "zone=${VT}z1" vnic1
	in_ns h ip link set eth0 down
	until_is "its parent eth0 is down" vnic vnic1 why
	is down "$(vnic vnic1 state)"
	in_ns h ip link set eth0 up
	until_is up vnic vnic1 state
	is -- "$(vnic vnic1 why)"
}

@test "a VNIC that somebody deletes is made again, with MAC and caps" {
	local mac

	good create-vnic -l eth0 -p "zone=${VT}z1,maxbw=10M" vnic1
	made create-vnic -l eth0 -p maxbw=10M vnic2
	mac=$(vnic vnic1 macvalue)
	in_ns z1 ip link del vnic1
	in_ns h ip link del vnic2
	until_is 10Mbit htb z1 vnic1
	until_is 10Mbit htb h vnic2
	until_is up vnic vnic1 state
	until_is up vnic vnic2 state
	is "$mac" "$(in_ns z1 ip -j link show vnic1 | jq -r '.[0].address')"
	good delete-vnic vnic1 vnic2
	left_behind
}
# Nothing of any VNIC: no ifb, no pin but the map, no row.
left_behind() {
	is '' "$(in_ns h ip -j link show type ifb | jq -r '.[].ifname // empty')"
	is '' "$(find "$VT_DIR/bpf" -name 'vnic-*' -o -name 'hook-*')"
	is '[]' "$(adm show-vnic -j | jq -c .)"
}

@test "a zone that is gone: lost, and delete-vnic works without a word" {
	vt_zone z3
	good create-vnic -l eth0 -p "zone=${VT}z3,maxbw=10M" vnic1
	good create-vnic -l eth0 -p "zone=${VT}z3" vnic2
	vt_zone_del z3
	for n in 1 2; do
		until_is lost vnic vnic$n state
		is "zone ${VT}z3 is gone" "$(vnic vnic$n why)"
		is "zone ${VT}z3 is gone" "$(link vnic$n why)"
	done
	good show-link -s vnic1
	# Stored, and made again where there is a place for it
	made set-linkprop -p maxbw=20M vnic1
	matches 'vnic1: stored; it is not there now: zone .* is gone' "$stderr"
	made reset-linkprop -p zone vnic1
	is up "$(vnic vnic1 state)"
	is 20Mbit "$(htb h vnic1)"
	good delete-vnic vnic1 vnic2
	left_behind
}

@test "a restart: what was deleted is made again, what has no zone is lost until that comes back" {
	vt_zone z3
	good create-vnic -l eth0 -p "zone=${VT}z3,maxbw=10M" vnic1
	good create-vnic -l eth0 -p "zone=${VT}z1,maxbw=10M" vnic2
	vt_daemon_stop
	vt_zone_del z3
	in_ns z1 ip link del vnic2
	vt_daemon
	is 'lost up' "$(vnic vnic1 state) $(vnic vnic2 state)"
	is "zone ${VT}z3 is gone" "$(vnic vnic1 why)"
	is 'z1 ' "$(where vnic2)"
	good delete-vnic vnic1 vnic2
	left_behind
}

@test "a foreign link in the place of a VNIC that is gone is left alone, and said" {
	made create-vnic -l eth0 -p maxbw=10M vnic1
	vt_daemon_stop
	in_ns h ip link del vnic1
	in_ns h ip link add vnic1 type bridge
	vt_daemon
	is lost "$(vnic vnic1 state)"
	matches 'vnic1' "$(vnic vnic1 why)"
	good delete-vnic vnic1
	in_ns h ip -d link show vnic1 | grep -q bridge
	in_ns h ip link del vnic1
	left_behind
}

@test "VNICs with one name in two zones cannot be: the name is ours, once" {
	good create-vnic -l eth0 -p "zone=${VT}z1" vnic1
	refused 1 "vnic1: a VNIC of that name exists: choose another, or delete it first" create-vnic -l eth0 -p "zone=${VT}z2" vnic1
	# The free number is one that no VNIC has anywhere.
	made create-vnic -l eth0
	[ "$output" != vnic1 ]
}
