#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck disable=SC2154 # bats sets output, stderr and status
# Wrong command lines against the real daemon: the table wrong.case, its exact messages and statuses; none of them may
# change anything. {z1} stands for the zone z1, and {dir} for a directory of the test's own.

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

# Runs one command line of the table and prints the case as it should be written there.
wrong_case() {
	local words status=0

	printf '$ %s\n' "$1"
	eval "words=($(words <<<"$1"))"
	timeout 20 "$VNICADM" "${words[@]}" >"$VT_DIR/stdout" 2>"$VT_DIR/stderr" </dev/null || status=$?
	sed 's/^/| /' "$VT_DIR/stdout"
	sed "s|$VT_DIR|{dir}|g; s|\b${VT}\(z[0-9]\)|{\1}|g; /^usage: vnicadm\|^       vnicadm/d; s/^vnicadm: /! /; t; s/^/  /" "$VT_DIR/stderr"
	[[ $status == 1 ]] || printf '? %s\n' "$status"
}

@test "each wrong command line: its message, its status, and nothing is changed" {
	local table=$BATS_TEST_DIRNAME/wrong.case before line

	before=$(dump)
	while IFS= read -r line; do
		case $line in
		'$ '*) wrong_case "${line:2}" ;;
		'#'* | '') printf '%s\n' "$line" ;;
		esac
	done <"$table" >"$VT_DIR/answers"
		diff -u "$table" "$VT_DIR/answers"
	[ "$(grep -c '^\$' "$table")" -ge 100 ]
	same "the wrong command lines" "$before" "$(dump)"
}

@test "each is answered by one message, without a full stop" {
	local table=$BATS_TEST_DIRNAME/wrong.case

	is '' "$(awk 'function done() { if (line && n != 1) print "not one message: " line; line = "" }
		/^\$/ { done(); line = $0; n = 0 } /^!/ { n++ } /^!.*[^.][.]$/ { print "a full stop: " $0 }
		/^\|/ { print "says something on standard output: " line } END { done() }' "$table")"
}
