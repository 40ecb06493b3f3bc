#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# What the data path leaves alone, and how caps change under traffic: nothing foreign is touched, no class loses its
# count, no frame overtakes another.

load common

setup_file() {
	vt_begin
	vt_wire
	start A=
	control_make
}
teardown_file() { vt_cleanup; }
setup() {
	vt_zone z1
	adm create-vnic -l eth0 -p "zone=${VT}z1" vnic1
	vt_addr z1 vnic1 9
}
teardown() {
	adm delete-vnic vnic1 2>/dev/null || true
	adm delete-vnic vnic2 2>/dev/null || true
	vt_zone_del z1
}

# The sum of a class's bytes: sent NS DEV
sent() { in_ns "$1" tc -s class show dev "$2" | awk '/^class htb 7fd0:1 / { found = 1 } found && /Sent/ { print $2; exit }'; }
ifb() { in_ns h ip -o link show type ifb | sed -E 's/^[0-9]+: ([^:@]+).*/\1/'; }

# --- who pays -----------------------------------------------------------------------------------------------------------

@test "an uncapped VNIC is a bare macvlan: same qdiscs, hooks, filters, also beside a capped one" {
	bare() { in_ns z1 tc qdisc show dev "$1" | sed "s/$1/X/"; hooks z1 "$1"; in_ns z1 tc filter show dev "$1"; }
	in_ns h ip link add mv0 link eth0 netns "${VT}z1" type macvlan mode bridge
	in_ns z1 ip link set mv0 up
	same "qdiscs, hooks and filters" "$(bare mv0)" "$(bare vnic1)"
	[[ $(hooks h eth0) == "ingress 0 egress 0 " ]]
	adm create-vnic -l eth0 -p maxbw=10M vnic2 2>/dev/null
	same "beside a capped one" "$(bare mv0)" "$(bare vnic1)"
	adm delete-vnic vnic2
}

@test "the hook comes with the first capped VNIC of a parent and goes with the last" {
	[[ $(hooks h eth0) == "ingress 0 egress 0 " && $(pins) == "pin steer" ]]
	adm create-vnic -l eth0 -p maxbw=10M vnic2 2>/dev/null
	[[ $(hooks h eth0) == "ingress 1 egress 0 " ]]
	adm set-linkprop -p maxbw=10M vnic1
	adm delete-vnic vnic2
	[[ $(hooks h eth0) == "ingress 1 egress 0 " ]]
	# Only the way out is capped: nothing has to be steered.
	adm set-linkprop -p maxbw-rx=none vnic1
	[[ $(hooks h eth0) == "ingress 0 egress 0 " ]]
	adm reset-linkprop -p maxbw-rx vnic1
	[[ $(hooks h eth0) == "ingress 1 egress 0 " ]]
	adm set-linkprop -p maxbw=blocked vnic1
	[[ $(hooks h eth0) == "ingress 0 egress 0 " ]]
	adm reset-linkprop -p maxbw vnic1
	[[ $(hooks h eth0) == "ingress 0 egress 0 " && $(pins) == "pin steer" ]]
}

# --- whose is it ----------------------------------------------------------------------------------------------------------

# What somebody else has put on the parent, with the ids of his programs
foreign() {
	in_ns h tc qdisc show dev eth0
	in_ns h tc class show dev eth0
	in_ns h tc filter show dev eth0
	in_ns h tc filter show dev eth0 ingress
	in_ns h tc filter show dev eth0 egress
	in_ns h ip -d addr show dev eth0 | sed -E 's/promiscuity [0-9]* *//; s/allmulti [0-9]* *//; s/valid_lft.*//; s/ (tentative|dadfailed)//'
}

there_and_back() {
	adm create-vnic -l eth0 -p maxbw=10M vnic2 2>/dev/null
	adm set-linkprop -p maxbw=100M vnic1
	adm set-linkprop -p maxbw=2G vnic1
	adm set-linkprop -p maxbw=blocked vnic1
	adm reset-linkprop -p maxbw vnic1
	adm delete-vnic vnic2
}

@test "somebody else's root qdisc, clsact and filters on the parent are untouched by all that we do" {
	local before

	in_ns h tc qdisc add dev eth0 root handle 1: htb default 10
	in_ns h tc class add dev eth0 parent 1: classid 1:10 htb rate 1gbit quantum 1514
	in_ns h tc qdisc add dev eth0 clsact
	in_ns h tc filter add dev eth0 ingress prio 5 protocol ip bpf bytecode '1,6 0 0 0,'
	in_ns h tc filter add dev eth0 egress prio 7 protocol ip bpf bytecode '1,6 0 0 0,'
	before=$(foreign)
	there_and_back
	same "foreign objects" "$before" "$(foreign)"
	in_ns h tc qdisc del dev eth0 root
	in_ns h tc qdisc del dev eth0 clsact
}

@test "an empty clsact of somebody else's stays when our filters go" {
	in_ns h tc qdisc add dev eth0 clsact
	there_and_back
	in_ns h tc qdisc show dev eth0 | grep -q clsact
	in_ns h tc qdisc del dev eth0 clsact
}

@test "somebody deletes our ifb: the next change of the cap mends it, and without a cap nothing is swallowed" {
	adm set-linkprop -p maxbw=50M vnic1
	in_ns h ip link del "$(ifb)"
	adm set-linkprop -p maxbw=60M vnic1
	in_ns p ping -q -c 1 -W 2 10.99.0.9
	in_ns h ip link del "$(ifb)"
	adm reset-linkprop -p maxbw vnic1
	[[ $(steered) == "" ]]
	in_ns p ping -q -c 1 -W 2 10.99.0.9
	adm set-linkprop -p maxbw=50M vnic1
	in_ns h ip link del "$(ifb)"
	adm delete-vnic vnic1
	[[ $(steered) == "" && $(pins) == "pin steer" ]]
}

# --- changes under traffic ------------------------------------------------------------------------------------------------

identity() {
	in_ns z1 tc qdisc show dev vnic1 | sed 's/direct_packets_stat [0-9]*//; s/limit.*//; s/rate.*//'
	in_ns h tc qdisc show dev "$(ifb)" | sed 's/direct_packets_stat [0-9]*//; s/limit.*//; s/rate.*//'
	in_ns z1 ip -o link show vnic1 | cut -d' ' -f1
	in_ns h ip -o link show type ifb | cut -d' ' -f1
	steered
	in_ns h tc filter show dev eth0 ingress 2>/dev/null | grep -o ' id [0-9]*' || in_ns h bpftool -j link show pinned \
		"$(find "$VT_DIR/bpf" -name 'hook-*')" | jq -c '.id, .prog_id'
}

@test "a cap is changed in place: 20 changes delete no qdisc, class counters go on, ifindexes stay" {
	local i before out in

	adm set-linkprop -p maxbw=60M vnic1
	before=$(identity)
	monitor z1
	monitor h
	sleep 0.2
	load_both_ways 20M
	out=0 in=0
	for i in {1..10}; do
		adm set-linkprop -p maxbw=90M vnic1
		(($(sent z1 vnic1) > out && $(sent h "$(ifb)") > in)) || complain "change $i: a counter fell"
		out=$(sent z1 vnic1) in=$(sent h "$(ifb)")
		adm set-linkprop -p maxbw=60M vnic1
		sleep 0.05
	done
	load_end
	sleep 0.2
	grep -q '60Mbit' "$VT_DIR/monitor.z1"
	! grep -hi 'deleted' "$VT_DIR/monitor.z1" "$VT_DIR/monitor.h" || complain "something was deleted"
	same "handles, ifindexes, entry, program" "$before" "$(identity)"
	for i in in out; do
		[[ $(tool_value "$VT_DIR/seq.$i" reordered) == 0 && $(tool_value "$VT_DIR/seq.$i" lost) == 0 ]] ||
			complain "$i:" "$(cat "$VT_DIR/seq.$i")"
	done
}

@test "a change from one kind of leaf to the other: no other qdisc and no class goes, counters go on" {
	local i out=0

	adm set-linkprop -p maxbw=100M vnic1
	monitor z1
	sleep 0.2
	load_both_ways 20M
	for i in 1 2 3; do
		adm set-linkprop -p maxbw=1G vnic1
		(($(sent z1 vnic1) > out)) || complain "the class's counter fell"
		out=$(sent z1 vnic1)
		adm set-linkprop -p maxbw=100M vnic1
	done
	load_end
	! grep -hi 'deleted' "$VT_DIR/monitor.z1" | grep -v 'parent 7fd0:1 ' || complain "more than the leaf was deleted"
	for i in in out; do
		[[ $(tool_value "$VT_DIR/seq.$i" reordered) == 0 ]] || complain "$i:" "$(cat "$VT_DIR/seq.$i")"
	done
}

come_and_go() {
	local i

	load_both_ways 30M
	for i in 1 2 3; do
		adm set-linkprop -p maxbw=20M vnic1
		sleep 0.2
		adm reset-linkprop -p maxbw vnic1
		sleep 0.2
	done
	load_end
	for i in in out; do
		figure "received-$i" "$(tool_value "$VT_DIR/seq.$i" received)" 1000 -
		figure "reordered-$i" "$(tool_value "$VT_DIR/seq.$i" reordered)" - 0
		figure "duplicates-$i" "$(tool_value "$VT_DIR/seq.$i" duplicates)" - 0
	done
}

@test "a cap that comes and goes under more than it lets through: no frame overtakes another" {
	measured come_and_go
}
