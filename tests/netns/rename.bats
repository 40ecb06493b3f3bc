#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# rename-link: live, wherever the link is, all or nothing.

load common

bats_require_minimum_version 1.5.0
MAC=02:08:20:00:00:01

setup() {
	vt_begin
	vt_wire
	vt_zone z1
	start_faulty
}
teardown() { vt_cleanup; }

index() { in_ns z1 ip -j link show "$1" | jq '.[0].ifindex'; }
refused() {
	local before status=0

	before=$(dump)
	run adm "${@:2}"
	[[ $status == 1 && $output == "$1" ]] || complain "$status: $output"
	same "$1" "$before" "$(dump)"
}

@test "a capped VNIC in a zone is renamed up and under traffic: same link, same cap, counters go on" {
	local index

	adm create-vnic -l eth0 -m $MAC -p "maxbw=100M,zone=${VT}z1" vnic1
	vt_addr z1 vnic1 9
	index=$(index vnic1)
	vt_bg in_ns z1 ping -q -i 0.01 -c 100 10.99.0.1
	sleep 0.3
	adm rename-link vnic1 web0
	wait "$VT_PID"
	[[ $(index web0) == "$index" ]]
	[[ $(adm show-vnic -o link,bandwidth,zone,state | tail -n +2 | tr -s ' ') == "web0 max=100M ${VT}z1 up" ]]
	[[ $(in_ns z1 tc class show dev web0) == *'rate 100Mbit ceil 100Mbit'* ]]
	(($(adm show-link -s -j web0 | jq '.ipackets' | tail -1) >= 95))
	[[ $(in_ns z1 ip -br addr show web0) == *10.99.0.9* ]]
	run -1 adm show-vnic vnic1
	stop
	start_faulty
	grep -q 'adopted 1 links with 0 modifying acts' "$VT_DIR/log"
	adm set-linkprop -p maxbw=50M web0
	[[ $(in_ns z1 tc class show dev web0) == *'rate 50Mbit ceil 50Mbit'* ]]
}

# All that users may have given it; labels of IPv4 addresses are the kernel's doing.
given() {
	in_ns z1 ip addr show "$1" | grep -w 'inet6*' | grep -v fe80 | sed -E 's/ (tentative|nodad|dynamic)//g; s/ [^ ]*$//'
	in_ns z1 ip -4 route show table all | grep "dev $1 "
	in_ns z1 ip -6 route show table all | grep -E "dev $1 |via fd98" | grep -v 'multicast\|fe80'
	in_ns z1 ip neigh show dev "$1" nud permanent
}

@test "where only a link that is down can be renamed: it is up again at once, with addresses, routes and neighbours" {
	local before

	stop
	start_faulty VNICD_DISABLE=rename-up
	adm create-vnic -l eth0 -m $MAC -p "maxbw=100M,zone=${VT}z1" vnic1
	vt_addr z1 vnic1 9
	in_ns z1 ip addr add fd98::9/64 dev vnic1 nodad
	in_ns z1 ip addr add fd97::9/64 dev vnic1 nodad noprefixroute valid_lft 1000 preferred_lft 500
	in_ns z1 ip addr add 10.97.0.9/32 dev vnic1
	in_ns z1 ip route add default via 10.99.0.1 src 10.97.0.9 metric 7
	in_ns z1 ip route add 10.1.0.0/16 via 10.2.0.1 dev vnic1 onlink
	in_ns z1 ip route add 10.3.0.0/16 dev vnic1 table 77 proto static mtu 1400
	in_ns z1 ip route add 10.4.0.0/16 nexthop via 10.99.0.1 nexthop via 10.99.0.2 weight 3
	in_ns z1 ip route add local 10.5.0.1 dev vnic1
	in_ns z1 ip -6 route add default via fd99::1
	# Listed before the one that it needs
	in_ns z1 ip -6 route add fd90::1 dev vnic1
	in_ns z1 ip -6 route add fd80::/16 via fd90::1
	in_ns z1 ip -6 route add fd81::/64 nexthop via fd98::1 dev vnic1 nexthop via fd98::2 dev vnic1
	in_ns z1 ip neigh add 10.99.0.77 lladdr 02:00:00:00:00:77 dev vnic1 nud permanent
	in_ns z1 ip neigh add fd99::77 lladdr 02:00:00:00:00:77 dev vnic1 nud permanent
	before=$(given vnic1)
	(($(wc -l <<<"$before") > 20))
	vt_bg in_ns_to "$VT_DIR/ping" z1 ping -q -i 0.01 -c 100 10.99.0.1
	sleep 0.3
	adm rename-link vnic1 web0
	wait "$VT_PID"
	(($(awk '/received/ { print $4 }' "$VT_DIR/ping") >= 90)) || complain "$(cat "$VT_DIR/ping")"
	same 'addresses, routes and neighbours' "$before" "$(given web0 | sed 's/web0/vnic1/g')"
	[[ $(adm show-vnic -o link,bandwidth,zone,state | tail -n +2 | tr -s ' ') == "web0 max=100M ${VT}z1 up" ]]
	[[ $(in_ns z1 tc class show dev web0) == *'rate 100Mbit ceil 100Mbit'* ]]
	! grep -E 'others changed|warning|error' "$VT_DIR/log" || complain "$(cat "$VT_DIR/log")"
	# One that its user took down stays so
	in_ns z1 ip link set web0 down
	adm rename-link web0 vnic1
	in_ns z1 ip -br link show vnic1 | grep -q DOWN
	in_ns z1 ip link set vnic1 up
	fail_every_step 'rename' 'adm rename-link vnic1 web0' 'adm rename-link web0 vnic1'
}

@test "where only a link that is down can be renamed: VNICs on an etherstub go on, an isolated one stays so" {
	local before

	stop
	start_faulty VNICD_DISABLE=rename-up
	vt_zone z2
	adm create-etherstub stub0
	adm create-vnic -l stub0 -p "maxbw=1G,zone=${VT}z1" vnic1
	adm create-vnic -l stub0 -p "zone=${VT}z2" vnic2
	vt_addr z1 vnic1 1 97
	vt_addr z2 vnic2 2 97
	adm rename-link stub0 hub0
	in_ns z1 ping -q -c 2 -i 0.01 -W 2 10.97.0.2
	in_ns z1 ping -q -c 2 -i 0.01 -W 2 fd97::2
	[[ $(adm show-vnic -o over,state | tail -n +2 | sort -u | tr -s ' ') == "hub0 up" ]]
	vt_addr h eth0 10
	adm create-vnic -l eth0 -p isolate=on iso1 2>/dev/null
	vt_addr h iso1 20
	vt_until 30 eval '(($(isolation iso1 | wc -l) == 6))' || complain "$(isolation iso1)"
	before=$(isolation iso1)
	adm rename-link iso1 iso2
	same 'rules and routes' "$before" "$(isolation iso2)"
	! grep -E 'others changed|error' "$VT_DIR/log" || complain "$(cat "$VT_DIR/log")"
}
isolation() { { in_ns h ip rule; in_ns h ip -6 rule; in_ns h ip route show table all; } | grep 'proto 118' | sed "s/ $1 / it /" | sort; }

@test "where only a link that is down can be renamed: killed in the middle it is up again" {
	command -v strace >/dev/null || skip "no strace"
	stop
	start_faulty VNICD_DISABLE=rename-up
	adm create-vnic -l eth0 -m $MAC -p "maxbw=50G,zone=${VT}z1" vnic1
	CALLS=sendmsg kill_at_calls 'rename' 1 'adm rename-link vnic1 web0' 'adm rename-link web0 vnic1' VNICD_DISABLE=rename-up
}

@test "an etherstub is renamed: the VNICs on it stay, and follow" {
	adm create-etherstub stub0
	adm create-vnic -l stub0 -p maxbw=1G vnic1
	adm rename-link stub0 hub0
	[[ $(adm show-vnic -o link,over | tail -n +2 | tr -s ' ') == 'vnic1 hub0' ]]
	adm create-vnic -l hub0 vnic2
	run -1 adm delete-etherstub hub0
	[[ $output == *'VNICs are on it (vnic1 vnic2)'* ]]
	stop
	start_faulty
	adm delete-vnic vnic1 vnic2
	adm delete-etherstub hub0
}

@test "names that cannot be" {
	adm create-vnic -l eth0 vnic1 2>/dev/null
	adm create-vnic -l eth0 -p "zone=${VT}z1" vnic2
	in_ns z1 ip link add taken0 type veth peer taken1
	refused 'vnicadm: vnic2: a VNIC of that name exists: choose another, or delete it first' rename-link vnic1 vnic2
	refused 'vnicadm: vnic1: it has that name already' rename-link vnic1 vnic1
	refused "vnicadm: nosuch: no such link: see 'vnicadm show-link'" rename-link nosuch vnic3
	refused "vnicadm: eth0: vnicd did not make it: use 'ip link set dev eth0 name wan0'" rename-link eth0 wan0
	refused "vnicadm: taken0: a link of that name exists in zone ${VT}z1: choose another name, or delete that link first" \
		rename-link vnic2 taken0
	refused 'vnicadm: eth0: a link of that name exists in this namespace: choose another name, or delete that link first' \
		rename-link vnic1 eth0
	run -1 adm rename-link vnic1 'a/b'
	run -1 adm rename-link vnic1
}

@test "a name that its user gave in a zone stays; ours is another" {
	adm create-vnic -l eth0 -p "maxbw=10M,zone=${VT}z1" vnic1
	in_ns z1 ip link set vnic1 down
	vt_rename z1 vnic1 lan0
	in_ns z1 ip link set lan0 up
	run -0 adm rename-link vnic1 web0
	[[ $output == 'vnicadm: note: its user calls it lan0, and will go on to' ]] || complain "$output"
	in_ns z1 ip link show lan0
	[[ $(adm show-vnic -o link | tail -n +2) == web0 ]]
	adm set-linkprop -p maxbw=20M web0
	[[ $(in_ns z1 tc class show dev lan0) == *'rate 20Mbit'* ]]
}

@test "one that waits for its parent is renamed, and comes back under its new name" {
	adm create-vnic -l eth0 -m $MAC -p maxbw=10M vnic1 2>/dev/null
	vt_rename h eth0 wan0
	in_ns h ip link set wan0 netns "$VT"p name other
	vt_until 30 eval '[[ $(adm show-link -o state vnic1 | tail -1) == waiting ]]'
	adm rename-link vnic1 web0 2>/dev/null
	in_ns p ip link set other netns "$VT"h name wan0
	vt_until 30 eval '[[ $(adm show-link -o state web0 | tail -1) != waiting ]]'
	in_ns h ip link show web0
}

@test "in a batch: later lines see the new name, and the old one is free" {
	adm create-vnic -l eth0 vnic1 2>/dev/null
	printf '%s\n' 'rename-link vnic1 web0' 'set-linkprop -p maxbw=10M web0' 'create-vnic -l eth0 vnic1' | adm -b - 2>/dev/null
	[[ $(adm show-vnic -o link,bandwidth | tail -n +2 | tr -s ' ' | paste -sd,) == 'web0 max=10M,vnic1 --' ]] ||
		complain "$(adm show-vnic)"
}

# Names and MACs side by side: who is who.
who() { adm show-vnic -o link,macvalue | tail -n +2 | sed -E 's/ +02:08:20:00:00:0/=/' | paste -sd' '; }

@test "in a batch: names go from one to the next, as far as each is free in its turn" {
	local before

	adm create-vnic -l eth0 -m $MAC vnic1 2>/dev/null
	adm create-vnic -l eth0 -m 02:08:20:00:00:02 vnic2 2>/dev/null
	printf '%s\n' 'rename-link vnic1 web0' 'rename-link vnic2 vnic1' | adm -b -
	[[ $(who) == 'web0=1 vnic1=2' ]] || complain "$(who)"
	printf '%s\n' 'delete-vnic web0' 'rename-link vnic1 web0' | adm -b -
	[[ $(who) == 'web0=2' ]] || complain "$(who)"
	adm create-vnic -l eth0 -m $MAC vnic1 2>/dev/null
	before=$(dump)
	run adm -b - <<<$'rename-link vnic1 tmp0\nrename-link web0 vnic1\nrename-link tmp0 web0'
	[[ $status == 1 && $output == "vnicadm: -:3: tmp0: web0 becomes free later in this batch than tmp0 is first named: rename it by another command" ]] ||
		complain "$status: $output"
	same 'a swap that is refused' "$before" "$(dump)"
	run adm -b - <<<$'set-linkprop -p mtu=1400 vnic1\ndelete-vnic web0\nrename-link vnic1 web0'
	[[ $status == 1 && $output == *':3: vnic1: web0 becomes free later in this batch'* ]] || complain "$status: $output"
	same 'a deletion that comes too late' "$before" "$(dump)"
}

adm_lines() { printf '%s\n' "$@" | adm -b -; }
batch() { adm_lines "$@" 2>/dev/null; }

@test "a batch of names, killed and failing at every step" {
	local chain back

	batch "create-vnic -l eth0 -m $MAC vnic1" 'create-vnic -l eth0 -m 02:08:20:00:00:02 web0'
	chain="batch 'rename-link web0 web1' 'rename-link vnic1 web0'"
	back="batch 'rename-link web0 vnic1' 'rename-link web1 web0'"
	kill_every_step 'chain' "$chain" "$back"
	fail_every_step 'chain' "${chain/batch/adm_lines}" "$back"
	kill_every_step 'name of one that goes' "batch 'delete-vnic web0' 'rename-link vnic1 web0'" \
		"batch 'rename-link web0 vnic1' 'create-vnic -l eth0 -m 02:08:20:00:00:02 web0'"
}

@test "renamed and moved in one batch, killed and failing at every step" {
	adm create-vnic -l eth0 -m $MAC -p maxbw=50G vnic1 2>/dev/null
	kill_every_step 'rename and move' "batch 'rename-link vnic1 web0' 'set-linkprop -p zone=${VT}z1 web0'" \
		"batch 'reset-linkprop -p zone web0' 'rename-link web0 vnic1'"
	fail_every_step 'rename and move' "adm_lines 'rename-link vnic1 web0' 'set-linkprop -p zone=${VT}z1 web0'" \
		"batch 'reset-linkprop -p zone web0' 'rename-link web0 vnic1'"
}

@test "who watches its counters goes on to" {
	adm create-vnic -l eth0 vnic1 2>/dev/null
	vt_bg in_ns_to "$VT_DIR/watch" h "$VNICADM" show-link -s -i 1 vnic1
	sleep 1.5
	adm rename-link vnic1 web0
	vt_until 30 grep -q ^web0 "$VT_DIR/watch" || complain "$(cat "$VT_DIR/watch")"
	vt_stop "$VT_PID"
}

@test "killed and failing at every step" {
	adm create-vnic -l eth0 -m $MAC -p "maxbw=50G,zone=${VT}z1" vnic1
	kill_every_step 'rename' 'adm rename-link vnic1 web0' 'adm rename-link web0 vnic1'
	fail_every_step 'rename' 'adm rename-link vnic1 web0' 'adm rename-link web0 vnic1'
	adm create-etherstub stub0
	kill_every_step 'rename stub' 'adm rename-link stub0 hub0' 'adm rename-link hub0 stub0'
}
