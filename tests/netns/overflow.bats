#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# More notifications than there is room for: all is read again, seldom, and what others changed meanwhile is put right.

load common

setup() {
	vt_begin
	vt_wire
	vt_zone z1
	vt_zone z2
	start
}
teardown() { vt_cleanup; }

# flood TIMES: notifications of one link, many to a packet of nothing else
flood() {
	local i

	for ((i = 0; i < $1; i++)); do echo "link set dev eth0 alias flood$i"; done >"$VT_DIR/flood"
	in_ns h ip -batch "$VT_DIR/flood"
	in_ns h ip link set dev eth0 alias ''
}
resyncs() { grep -c 'the kernel dropped notifications' "$VT_DIR/log" || true; }

@test "notifications are dropped while others delete, move and change: all is as it was asked for, by few looks" {
	local before look

	adm create-vnic -l eth0 -m 2:8:20:0:0:1 -p maxbw=20M,zone=${VT}z1 vnic1
	adm create-vnic -l eth0 -m 2:8:20:0:0:2 -p maxbw=20M vnic2 2>/dev/null
	adm create-vnic -l eth0 -m 2:8:20:0:0:3 -p maxbw=20M vnic3 2>/dev/null
	adm create-vnic -l eth0 -m 2:8:20:0:0:4 -p maxbw=20M,zone=${VT}z2 vnic4
	adm create-vnic -l eth0 -m 2:8:20:0:0:5 vnic5 2>/dev/null
	before=$(adm show-vnic -o link,over,macaddress,bandwidth,mtu)
	look=$(steered | sort)
	kill -STOP "$(vt_daemon_pid)"
	flood 12000
	in_ns z1 tc qdisc del dev vnic1 root
	in_ns h ip link del vnic2
	in_ns h ip link set vnic3 netns "${VT}z1"
	in_ns z2 ip link set vnic4 netns "${VT}z1"
	in_ns h ip link set vnic5 mtu 1300
	in_ns h ip link set eth0 alias ''
	kill -CONT "$(vt_daemon_pid)"
	right() {
		in_ns z1 tc class show dev vnic1 | grep -q 'htb 7fd0:1 ' && in_ns h ip link show vnic2 | grep -q . &&
			in_ns z1 tc class show dev vnic3 | grep -q 'htb 7fd0:1 ' &&
			in_ns z1 tc class show dev vnic4 | grep -q 'htb 7fd0:1 ' &&
			in_ns h ip link show vnic5 | grep -q 'mtu 1500'
	}
	vt_until 50 right || complain "not right:" "$(tail -20 "$VT_DIR/log")" "$(adm show-vnic)"
	same "VNICs" "$before" "$(adm show-vnic -o link,over,macaddress,bandwidth,mtu)"
	same "steering" "$(wc -l <<<"$look")" "$(steered | wc -l)"
	[ "$(resyncs)" -ge 1 ] || skip "not one notification was dropped"
	# A flood that goes on is not answered by as many dumps.
	vt_bg flood 12000
	kill -STOP "$(vt_daemon_pid)"
	sleep 0.3
	kill -CONT "$(vt_daemon_pid)"
	vt_until 100 vt_gone "$VT_PID"
	sleep 0.5
	[ "$(resyncs)" -le 8 ] || complain "looks: $(resyncs)"
	stop TERM
	: >"$VT_DIR/log"
	start
	grep -q 'with 0 modifying acts' "$VT_DIR/log" || complain "not right:" "$(cat "$VT_DIR/log")"
}
