#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# Links of the same name in several namespaces, ours and others': never taken for one another.

load common

bats_require_minimum_version 1.5.0

setup() {
	vt_begin
	vt_wire
	vt_zone z1
	vt_zone z2
	start_faulty
}
teardown() { vt_cleanup; }

other() { in_ns "$1" ip link add "$2" type veth peer name "peer-$2"; }
row() { adm show-vnic -o link,bandwidth,zone,state | tail -n +2 | tr -s ' '; }
is() { [[ $1 == "$2" ]] || complain "is: $1" "should be: $2"; }
refused() {
	local before

	before=$(dump)
	run adm "${@:2}"
	[[ $status == 1 && $output == "vnicadm: $1" ]] || complain "$status: $output"
	same "$1" "$before" "$(dump)"
}

@test "others' links of a VNIC's name, here and in another zone: shown apart, changed and deleted apart" {
	local here there

	adm create-vnic -l eth0 -p "maxbw=10M,zone=${VT}z1" v1
	other h v1
	other z2 v1
	in_ns z2 tc qdisc add dev v1 root handle 1: pfifo
	here=$(in_ns h ip -d -o link show v1)
	there=$(in_ns z2 ip -d -o link show v1; in_ns z2 tc qdisc show dev v1)
	is "$(row)" "v1 max=10M ${VT}z1 up"
	adm set-linkprop -p maxbw=20M v1
	[[ $(in_ns z1 tc class show dev v1) == *'rate 20Mbit'* ]]
	adm set-linkprop -p maxbw=blocked v1
	adm reset-linkprop -p maxbw v1
	stop
	start_faulty
	grep -q 'adopted 1 links with 0 modifying acts' "$VT_DIR/log"
	adm delete-vnic v1
	is "$(in_ns h ip -d -o link show v1)" "$here"
	is "$(in_ns z2 ip -d -o link show v1; in_ns z2 tc qdisc show dev v1)" "$there"
	run -1 in_ns z1 ip link show v1
}

@test "a zone or this namespace with a link of that name is refused" {
	other h v1
	other z1 v2
	refused 'v1: a link of that name exists in this namespace: choose another name, or delete that link first' \
		create-vnic -l eth0 v1
	refused "v2: a link of that name exists in zone ${VT}z1: choose another name, or delete that link first" \
		create-vnic -l eth0 -p "zone=${VT}z1" v2
	adm create-vnic -l eth0 -p "zone=${VT}z1,maxbw=10M" v1
	refused 'v1: a link of that name exists in this namespace: choose another name, or delete that link first' \
		reset-linkprop -p zone v1
	adm create-vnic -l eth0 -p "zone=${VT}z2,maxbw=10M" v2
	refused "v2: a link of that name exists in zone ${VT}z1: choose another name, or delete that link first" \
		set-linkprop -p "zone=${VT}z1" v2
}

@test "a name is one VNIC's on the whole machine" {
	adm create-vnic -l eth0 -p "zone=${VT}z1" v1
	refused 'v1: a VNIC of that name exists: choose another, or delete it first' create-vnic -l eth0 -p "zone=${VT}z2" v1
}

@test "a VNIC whose name was taken while its zone was away: lost with the reason, and back when the name is free" {
	adm create-vnic -l eth0 -p "maxbw=10M,zone=${VT}z1" v1
	ip netns del "${VT}z1"
	vt_until 30 eval '[[ $(row) == *" lost" ]]' || complain "$(row)"
	ip netns add "${VT}z1"
	vt_until 30 eval '[[ $(row) != *" lost" ]]' || complain "$(row)"
	in_ns z1 ip link del v1
	vt_until 30 eval 'in_ns z1 ip link show v1 >/dev/null 2>&1'
	stop
	in_ns z1 ip link del v1
	other z1 v1
	start_faulty
	vt_until 30 eval '[[ $(row) == *" lost" ]]' || complain "$(row)"
	adm show-link -o why v1 | grep -q 'exists' || complain "$(adm show-link -o state,why v1)"
	in_ns z1 ip link del v1
	adm reapply v1
	[[ $(in_ns z1 tc class show dev v1) == *'rate 10Mbit'* ]]
}

@test "two VNICs given each other's name by their zones' users are still themselves" {
	adm create-vnic -l eth0 -p "maxbw=10M,zone=${VT}z1" v1
	adm create-vnic -l eth0 -p "maxbw=20M,zone=${VT}z2" v2
	for pair in "z1 v1 v2" "z2 v2 v1"; do
		read -r zone from to <<<"$pair"
		in_ns "$zone" ip link set "$from" down
		vt_rename "$zone" "$from" "$to"
	done
	adm set-linkprop -p maxbw=11M v1
	adm set-linkprop -p maxbw=21M v2
	[[ $(in_ns z1 tc class show dev v2) == *'rate 11Mbit'* ]]
	[[ $(in_ns z2 tc class show dev v1) == *'rate 21Mbit'* ]]
	stop
	start_faulty
	grep -q 'adopted 2 links with 0 modifying acts' "$VT_DIR/log" || complain "$(cat "$VT_DIR/log")"
	adm delete-vnic v1
	run -1 in_ns z1 ip link show v2
	in_ns z2 ip link show v1
}
