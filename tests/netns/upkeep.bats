#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck disable=SC2154 # bats sets output, stderr and status
# reapply: what others changed is put right at once, or the reason is given. reset: nothing of ours is left.

load common
load say.bash
load machine.bash

setup() {
	vt_begin
	vt_wire
	vt_zone z1
	VNICD=$FAULTY start
}
teardown() { vt_cleanup; }

# Addresses are in use at once, or the machine would change by itself.
settled() { ! in_ns "$1" ip addr show | grep -q tentative; }
machine_settled() {
	vt_until 50 settled h && vt_until 50 settled p && vt_until 50 settled z1
	machine_dump
}

@test "reapply: a link that is right, one that is not, all, and those that are not ours" {
	local i

	adm create-etherstub stub0
	adm create-vnic -l eth0 -p "maxbw=20M,zone=${VT}z1" vnic1
	adm create-vnic -l stub0 vnic2
	good reapply vnic1
	good reapply
	for ((i = 0; i < 6; i++)); do
		in_ns z1 tc qdisc del dev vnic1 root 2>/dev/null || true
		sleep 0.3
	done
	good reapply vnic1
	in_ns z1 tc class show dev vnic1 | grep -q 'htb 7fd0:1 '
	vt_zone_del z1
	refused 1 "vnic1: zone ${VT}z1 is gone" reapply vnic1
	refused 1 "vnic1: zone ${VT}z1 is gone" reapply
	refused 1 "eth0: vnicd did not make it: there is nothing to apply again" reapply eth0
	refused 1 "vnic9: no such link: did you mean vnic1?" reapply vnic9
}

@test "reset: refused without a terminal, asked for on one, and nothing of ours is left" {
	local before

	before=$(machine_settled)
	adm create-etherstub stub0
	adm create-vnic -l stub0 -p maxbw=1G vnic0 2>/dev/null
	adm create-vnic -l eth0 -p "maxbw=20M,zone=${VT}z1" vnic1
	adm create-vnic -l eth0 -p maxbw=blocked vnic2 2>/dev/null
	adm create-vnic -l eth0 vnic3 2>/dev/null
	refused 1 "reset deletes every VNIC, etherstub and flow, and the caps of other links: say --yes where there is no terminal to ask on" reset </dev/null
	[ "$(adm show-vnic -o link -j | jq length)" = 4 ]
	! script -qefc "'$VNICADM' reset" /dev/null <<<n >"$VT_DIR/typescript" || false
	grep -q 'Delete every VNIC, etherstub and flow, and the caps of other links? \[y/N\]' "$VT_DIR/typescript"
	grep -q 'vnicadm: nothing was changed' "$VT_DIR/typescript"
	[ "$(adm show-vnic -o link -j | jq length)" = 4 ]
	script -qefc "'$VNICADM' reset" /dev/null <<<y >/dev/null
	same "after reset" "$before" "$(machine_settled)"
	good reset --yes
	same "after a second reset" "$before" "$(machine_settled)"
	[ "$(sqlite3 -readonly "$VT_DIR/state/state.db" 'SELECT (SELECT count(*) FROM link) + (SELECT count(*) FROM prop)
		+ (SELECT count(*) FROM ident) + (SELECT count(*) FROM counter) + (SELECT count(*) FROM intent)
		+ (SELECT count(*) FROM place) + (SELECT count(*) FROM arp)')" = 0 ]
	good create-etherstub stub0
}

# A machine as an administrator keeps it: addresses, routes, rules and filters of his own, another bridge to be a parent.
furnish() {
	in_ns h ip link add br0 address 02:00:5e:00:00:0b type bridge
	in_ns h ip link set br0 up mtu 1400
	in_ns h ip addr add 10.97.0.1/24 dev br0
	in_ns h ip addr add 10.99.0.7/24 dev eth0
	in_ns h ip addr add fd99::7/64 dev eth0 nodad
	in_ns h ip route add 10.40.0.0/16 via 10.99.0.1 dev eth0 table 77
	in_ns h ip rule add from 10.40.0.0/16 table 77 pref 7000
	in_ns h sysctl -qw net.ipv4.conf.eth0.arp_ignore=0 net.ipv4.conf.br0.arp_announce=1 net.ipv6.conf.eth0.accept_ra=2
	in_ns h tc qdisc add dev eth0 root handle 5: htb
	# One parent is hooked by tcx, the other where somebody has filters already.
	in_ns h tc qdisc add dev br0 clsact
	in_ns h tc filter add dev br0 ingress pref 7 protocol ip u32 match ip dst 192.0.2.1 classid 1:1
	in_ns z1 ip link add vlan7 type bridge
	in_ns z1 sysctl -qw net.ipv4.conf.all.rp_filter=2
}

# Every kind of link, property and command, and what others may do to them.
use_everything() {
	adm create-etherstub stub0
	adm create-etherstub -t stub1
	adm create-vnic -l stub0 -p maxbw=1G,mtu=4000 s1
	adm create-vnic -l stub0 -p "maxbw-tx=64K,zone=${VT}z1" s2
	adm create-vnic -t -l stub1 -p maxbw=blocked s3
	adm create-vnic -l eth0 -p maxbw=20M i1
	in_ns h ip addr add 10.99.0.20/24 dev i1
	in_ns h ip addr add fd99::20/64 dev i1 nodad
	adm set-linkprop -p isolate=on i1
	adm create-vnic -l br0 -p isolate=on,maxbw=5M i2
	in_ns h ip addr add 10.97.0.20/24 dev i2
	adm create-vnic -l eth0 -p "maxbw=10M,maxbw-rx=blocked,zone=${VT}z1" z1
	adm create-vnic -l eth0 -p maxbw=10M,mtu=1300 m1
	printf 'create-vnic -l eth0 -p maxbw=%dM,zone=%s b%d\n' 1 "${VT}z1" 1 2 "${VT}z1" 2 3 "${VT}z2" 3 | adm -b -
	printf '%s\n' 'rename-link b1 b9' 'set-linkprop -p maxbw=7M b9' 'delete-vnic b2' 'set-linkprop -t -p maxbw=none m1' | adm -b -
	in_ns h ip link set m1 netns "${VT}z1" up
	until_is "${VT}z1" vnic m1 zone
	vt_rename z1 b9 tenant0
	in_ns z1 tc qdisc del dev s2 root
	in_ns h tc qdisc del dev i1 root
	in_ns h ip link set i1 alias ''
	in_ns h ip rule del from 10.99.0.20
	in_ns h ip link set stub0 mtu 8000
	vt_zone_del z2
	until_is lost vnic b3 state
	adm set-linkprop -p "zone=${VT}z1,isolate=off" i2
	adm reset-linkprop -p zone z1
	vt_until 50 isolated
}
# What others took is put back, so that there is something to remove.
isolated() { in_ns h ip rule show | grep -q 'from 10.99.0.20'; }

# Each kind of thing that must go is there: in_use DUMP
in_use() {
	local what

	for what in '^h: tcx eth0 tcx_ingress 1' '^h: filter br0 ingress filter .* bpf .* direct-action' '^h: qdisc htb 7fd0: dev vi' \
		'^z1: qdisc htb 7fd0: dev tenant0' '^z1: tcx tenant0 tcx_ingress 1' '^h: rule -4 .*from 10.99.0.20 ' '^h: rule -6 .*from fd99::20 ' \
		'^h: sysctl /proc/sys/net/ipv4/conf/eth0/arp_ignore:1' '^h: link .* stub0: ' '^h: link .* eth0@.* promiscuity' '/steer$'; do
		grep -q -e "$what" <<<"$1" || complain "not in use: $what"
	done
}

@test "reset: everything was used, by others too, and the machine is as it was, also when the daemon died in between" {
	local bare before way

	furnish
	# Without the daemon and with it, but for the empty map that it keeps pinned while it runs.
	stop TERM
	bare=$(machine_settled)
	VNICD=$FAULTY start
	before=$(machine_settled)
	for way in at-once restarted; do
		vt_zone z2
		use_everything
		in_use "$(machine_dump)"
		if [[ $way == restarted ]]; then
			sleep 1.5 # where links are is noted within a second
			stop KILL
			in_ns z1 ip link set tenant0 alias ''
			VNICD=$FAULTY start
		fi
		good reset --yes
		same "after reset, $way" "$before" "$(machine_settled)"
	done
	stop TERM
	same "after reset and without the daemon" "$bare" "$(machine_settled)"
}

@test "reset takes a VNIC whose zone is gone, and killed leaves all or nothing" {
	make_all() {
		adm create-etherstub stub0
		adm create-vnic -l stub0 -m 2:8:20:0:0:1 vnic1 2>/dev/null
		adm create-vnic -l eth0 -m 2:8:20:0:0:2 -p "maxbw=20M,zone=${VT}z1" vnic2
	}
	stop
	start_faulty
	make_all
	kill_every_step reset 'adm reset --yes' make_all
	vt_zone_del z1
	good reset --yes
	[ "$(adm show-vnic -j)" = '[]' ]
}
