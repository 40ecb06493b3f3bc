#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck disable=SC2154 # bats sets output, stderr and status
# Wrong command lines against the real daemon: the tables wrong.case and, of flowadm, flowwrong.case, their exact
# messages and statuses; none of them may change anything. {z1} stands for the zone z1, and {dir} for a directory of the test's own.

load say.bash
load common.bash

setup_file() {
	vt_begin
	vt_wire
	vt_zone z1
	vt_zone z2
	touch "/run/netns/${VT}z0"
	mount --bind "/run/netns/${VT}h" "/run/netns/${VT}z0"
	in_ns h ip link add br0 type bridge
	in_ns h ip link add port0 type veth peer port1
	in_ns h ip link set port0 master br0
	in_ns h ip link add mv0 link eth0 type macvlan
	in_ns h ip tuntap add tun0 mode tun
	in_ns z1 ip link add taken0 type bridge
	vt_daemon
	adm create-etherstub stub0
	adm create-etherstub -t stub1
	adm create-vnic -l eth0 -m 2:8:20:0:0:1 -p maxbw=10M vnic1
	adm create-vnic -l stub0 -m 2:8:20:0:0:2 -p mtu=1400 vnic2
	adm create-vnic -l eth0 -t vnic3
	adm create-vnic -l eth0 -p "zone=${VT}z1" web0
	adm create-vnic -l eth0 -p "zone=${VT}z2" lost0
	vt_zone_del z2
	vt_until 100 is_lost
	flow create-flow -l vnic1 transport=tcp,local_port=443 -p maxbw=5M https1
	flow create-flow -l vnic1 transport=udp,remote_ip=10.0.0.0/8 voice
	flow create-flow -t -l vnic3 transport=sctp brief
	flow create-flow -l lost0 transport=icmp pings
	printf 'create-flow -l vnic1 vid=5 v5\n%s\n' 'delete-flow voise' >"$VT_DIR/flows1"
	printf '%s\n' 'set-flowprop -p maxbw=1M https1' 'create-flow -l vnic1 vid=6 https1' >"$VT_DIR/flows2"
	printf '%s\n' '# one' 'show-flow' >"$VT_DIR/flows3"
	printf 'create-etherstub stub9\n%s\n' 'delete-vnic vnic8' >"$VT_DIR/batch1"
	printf '%s\n' 'create-vnic -l stub0 -p maxbw=1M vnic7' 'create-vnic -l stub0 -p maxbv=1M vnic8' >"$VT_DIR/batch2"
	printf '%s\n' '# one' 'rename-link vnic1 vnic2' >"$VT_DIR/batch3"
}
teardown_file() {
	ip netns del "${VT}z0"
	vt_cleanup
}
is_lost() { [[ $(link lost0 state) == lost ]]; }

words() { sed "s|{\(z[0-9]\)}|${VT}\1|g; s|{dir}|$VT_DIR|g"; }

# Runs one command line of vnicadm or flowadm and prints the case as it should be written there: wrong_case PROGRAM WORDS
wrong_case() {
	local words status=0 name

	name=$(basename "$1")
	printf '$ %s\n' "$2"
	eval "words=($(words <<<"$2"))"
	timeout 20 "$1" "${words[@]}" >"$VT_DIR/stdout" 2>"$VT_DIR/stderr" </dev/null || status=$?
	sed 's/^/| /' "$VT_DIR/stdout"
	sed "s|$VT_DIR|{dir}|g; s|\b${VT}\(z[0-9]\)|{\1}|g; /^usage: $name\|^       $name/d; s/^$name: /! /; t; s/^/  /" "$VT_DIR/stderr"
	[[ $status == 1 ]] || printf '? %s\n' "$status"
}

# all_wrong PROGRAM TABLE LEAST
all_wrong() {
	local table=$BATS_TEST_DIRNAME/$2 before line

	before=$(dump)
	while IFS= read -r line; do
		case $line in
		'$ '*) wrong_case "$1" "${line:2}" ;;
		'#'* | '') printf '%s\n' "$line" ;;
		esac
	done <"$table" >"$VT_DIR/answers"
	diff -u "$table" "$VT_DIR/answers"
	[ "$(grep -c '^\$' "$table")" -ge "$3" ]
	same "the wrong command lines" "$before" "$(dump)"
}

@test "each wrong command line: its message, its status, and nothing is changed" { all_wrong "$VNICADM" wrong.case 100; }

@test "the same of flowadm" { all_wrong "$FLOWADM" flowwrong.case 60; }

@test "each is answered by one message, without a full stop" {
	local table

	for table in "$BATS_TEST_DIRNAME/wrong.case" "$BATS_TEST_DIRNAME/flowwrong.case"; do
		is '' "$(awk 'function done() { if (line && n != 1) print "not one message: " line; line = "" }
			/^\$/ { done(); line = $0; n = 0 } /^!/ { n++ } /^!.*[^.][.]$/ { print "a full stop: " $0 }
			/^\|/ { print "says something on standard output: " line } END { done() }' "$table")" "$table"
	done
}
