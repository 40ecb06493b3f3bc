#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck disable=SC2154 # bats sets output, stderr and status
# vnicadm -b: many commands as one transaction, on the real kernel; an error anywhere, a failure or kill -9 at any step
# changes nothing.

load common

bats_require_minimum_version 1.5.0

setup() {
	vt_begin
	vt_wire
	start_faulty
}
teardown() { vt_cleanup; }

# 200 capped VNICs, w0 to w199
many() { for ((i = 0; i < 200; i++)); do echo "create-vnic -l eth0 -p maxbw=100M w$i"; done; }

# batch TEXT: lines separated by ;
batch() { tr ';' '\n' <<<"$1" | adm -b - 2>"$VT_DIR/notes"; }
refused() {
	run -1 adm -b "$VT_DIR/file"
	[[ $output == "$1" ]] || complain "$output"
}

@test "batch: 200 capped VNICs, made and deleted" {
	before=$(dump remade)
	many >"$VT_DIR/file"
	adm -b "$VT_DIR/file" 2>"$VT_DIR/notes"
	[[ $(wc -l <"$VT_DIR/notes") == 2 && $(head -n 1 "$VT_DIR/notes") == "vnicadm: note: w0 is in eth0's namespace: "* ]]
	[[ $(tail -n 1 "$VT_DIR/notes") == 'vnicadm: note: the same holds for 199 more VNICs of this batch' ]]
	[[ $(adm show-vnic -o bandwidth | grep -c max=100M) == 200 ]]
	[[ $(in_ns h tc class show dev w199) == *'rate 100Mbit ceil 100Mbit'* ]]
	for ((i = 0; i < 200; i++)); do echo "delete-vnic w$i"; done | adm -b -
	same 'made and deleted' "$before" "$(dump remade)"
}

@test "batch: its notes are of what there is afterwards" {
	batch "create-vnic -l eth0 w1;create-vnic -l eth0 w2;create-vnic -l eth0 w3;delete-vnic w1"
	[[ $(head -n 1 "$VT_DIR/notes") == "vnicadm: note: w2 is in eth0's namespace: "* ]] || complain "$(cat "$VT_DIR/notes")"
	[[ $(tail -n 1 "$VT_DIR/notes") == 'vnicadm: note: the same holds for 1 more VNIC of this batch' ]]
	vt_zone z1
	batch "create-vnic -l eth0 -p zone=${VT}z1 w4;reset-linkprop -p zone w4;set-linkprop -p mtu=1400 w2"
	[[ $(<"$VT_DIR/notes") == "vnicadm: note: w4 is in eth0's namespace: "* && $(wc -l <"$VT_DIR/notes") == 1 ]] ||
		complain "$(cat "$VT_DIR/notes")"
	batch "create-vnic -l eth0 w5;set-linkprop -p isolate=on w5;delete-vnic w5;delete-vnic w2 w3 w4"
	[[ ! -s $VT_DIR/notes ]] || complain "$(cat "$VT_DIR/notes")"
}

@test "batch: an error in the middle names its line and changes nothing" {
	before=$(dump)
	{
		many
		echo '# a comment'
		echo 'delete-vnic vnic9'
		echo 'create-etherstub stub0'
	} >"$VT_DIR/file"
	refused "vnicadm: $VT_DIR/file:202: vnic9: no such VNIC: see 'vnicadm show-vnic'"
	same 'no such VNIC' "$before" "$(dump)"
	printf 'create-etherstub stub0\ncreate-vnic -l stub0 a1\ncreate-vnic -l eth0 a1\n' >"$VT_DIR/file"
	refused "vnicadm: $VT_DIR/file:3: a1: a VNIC of that name exists: choose another, or delete it first"
	same 'a name twice' "$before" "$(dump)"
}

@test "batch: later lines see what earlier ones do" {
	batch 'create-etherstub stub0;create-vnic -l stub0 a1;set-linkprop -p maxbw=10M,mtu=1400 a1;create-vnic -l stub0 a2;delete-vnic a2'
	[[ $(adm show-vnic -o link,over,bandwidth,mtu | tail -n +2 | tr -s ' ') == 'a1 stub0 max=10M 1400' ]]
	index=$(in_ns h ip -j link show a1 | jq '.[0].ifindex')
	batch 'delete-vnic a1;create-vnic -l eth0 a1;delete-etherstub stub0'
	[[ $(adm show-vnic -o link,over,bandwidth | tail -n +2 | tr -s ' ') == 'a1 eth0 --' ]]
	[[ $(in_ns h ip -j link show a1 | jq '.[0].ifindex') != "$index" ]]
	[[ $(adm show-etherstub) == '' ]]
	printf 'delete-vnic a1\nset-linkprop -p maxbw=1M a1\n' >"$VT_DIR/file"
	refused "vnicadm: $VT_DIR/file:2: a1: no such link: see 'vnicadm show-link'"
	adm show-vnic a1
}

# Six VNICs, or twenty-two, with caps and flows; a third goes, a third is changed in one way, a third in another, all in one
# batch; a fresh daemon finds nothing to do then: at_once COUNT ZONE CHANGE OTHER
at_once() {
	local i over=$VT_DIR/file

	for ((i = 0; i < $1; i++)); do echo "create-vnic -l eth0 -p maxbw=${i}1M${2:+,zone=$2} a$i"; done >"$over"
	adm -b "$over" 2>/dev/null
	for ((i = 0; i < $1; i++)); do
		echo "create-flow -l a$i transport=udp,remote_port=7000$([[ $((i % 2)) == 0 ]] || echo ' -p maxbw=1M') f$i"
	done >"$over"
	flow -b "$over"
	for ((i = 0; i < $1; i++)); do
		case $((i % 3)) in
			0) echo "delete-vnic a$i" ;;
			1) echo "set-linkprop -p $3 a$i" ;;
			2) echo "set-linkprop -p $4 a$i" ;;
		esac
	done >"$over"
	adm -b "$over" 2>/dev/null
	stop KILL
	start A=
	grep -q "adopted $(($1 - $1 / 3 - ($1 % 3 > 0))) links with 0 modifying acts" <(tail -n 2 "$VT_DIR/log") ||
		complain "$*" "$(tail -n 3 "$VT_DIR/log")"
	for ((i = 0; i < $1; i++)); do ((i % 3 == 0)) || echo "delete-vnic a$i"; done | adm -b - 2>/dev/null
	[[ $(ours) == '' ]] || complain "$*: left: $(ours)"
}
ours() { in_ns h ip -br link show | grep -E '^(vi[0-9]|a[0-9])' || true; }

@test "batch: whatever is deleted and changed together, all of it is done" {
	local zone change changes=(maxbw=none maxbw=blocked maxbw=7M 'maxbw=none,mtu=1400')

	vt_zone z1
	vt_zone z2
	changes+=("zone=${VT}z2" "maxbw=blocked,zone=${VT}z2" "maxbw=none,zone=${VT}z2")
	for zone in '' "${VT}z1"; do
		for change in "${changes[@]}"; do at_once 6 "$zone" "$change" "${changes[RANDOM % ${#changes[@]}]}"; done
		at_once 22 "$zone" maxbw=none "maxbw=blocked,zone=${VT}z2"
		at_once 22 "$zone" "zone=${VT}z2" maxbw=blocked
	done
}

@test "batch: a stub goes with its VNICs, and not before them" {
	batch 'create-etherstub stub0;create-vnic -l stub0 -p maxbw=1G a1;create-vnic -l stub0 a2;create-vnic -l stub0 a3'
	printf 'delete-vnic a1\ndelete-etherstub stub0\n' >"$VT_DIR/file"
	run -1 adm -b "$VT_DIR/file"
	[[ $output == *'file:2: stub0: VNICs are on it ('*'): delete them first' ]]
	batch 'delete-vnic a1 a2 a3;delete-etherstub stub0'
	[[ $(adm show-link -a -o link | grep -cE '^(stub0|a[123]|vi)') == 0 ]]
}

@test "batch: kill -9 at every step" {
	adm create-vnic -l eth0 -m 02:08:20:00:00:09 -p maxbw=50G old1 2>/dev/null
	kill_every_step batch "batch 'create-etherstub stub0;create-vnic -l stub0 -m 02:08:20:00:00:01 a1;create-vnic -l eth0 -m 02:08:20:00:00:02 -p maxbw=10M a2;set-linkprop -p maxbw=60G old1'" \
		"batch 'delete-vnic a1 a2;delete-etherstub stub0;set-linkprop -p maxbw=50G old1'"
}

@test "batch: every step fails" {
	adm create-vnic -l eth0 -m 02:08:20:00:00:09 -p maxbw=50G old1 2>/dev/null
	fail_every_step batch "batch_out 'create-etherstub stub0;create-vnic -l stub0 -m 02:08:20:00:00:01 a1;create-vnic -l eth0 -m 02:08:20:00:00:02 -p maxbw=10M a2;set-linkprop -p maxbw=60G old1'" \
		"batch 'delete-vnic a1 a2;delete-etherstub stub0;set-linkprop -p maxbw=50G old1'" remade
}

@test "batch: every step fails where some of it comes, some goes, and names change hands" {
	adm create-vnic -l eth0 -m 02:08:20:00:00:07 -p maxbw=20M x1 2>/dev/null
	adm create-vnic -l eth0 -m 02:08:20:00:00:08 old1 2>/dev/null
	adm create-vnic -l eth0 -m 02:08:20:00:00:09 old2 2>/dev/null
	fail_every_step batch "batch_out 'create-etherstub stub0;create-vnic -l stub0 -m 02:08:20:00:00:01 a1;rename-link old1 tmp1;rename-link old2 old1;delete-vnic x1'" \
		"batch 'delete-vnic a1;delete-etherstub stub0;rename-link old1 old2;rename-link tmp1 old1;create-vnic -l eth0 -m 02:08:20:00:00:07 -p maxbw=20M x1'" remade
}
batch_out() { tr ';' '\n' <<<"$1" | adm -b -; }

@test "batch: kill -9 and failures in the middle of 200" {
	many >"$VT_DIR/file"
	before=$(dump remade)
	for at in 1 500 1500; do
		run_faulty "fail $at" 'adm -b "$VT_DIR/file"'
		[[ $status == 2 ]]
		same "failed at step $at" "$before" "$(dump remade)"
		stop
		start_faulty
		run_faulty "kill $at" 'adm -b "$VT_DIR/file"'
		await_end
		start_faulty
		same "killed at step $at" "$before" "$(dump remade)"
	done
}

# Made together they share their programs: what one does is not the others'.
@test "batch: of twenty VNICs made together, one is blocked and the others are not" {
	vt_zone z1
	vt_zone z2
	for ((i = 0; i < 20; i++)); do
		echo "create-vnic -l eth0 -p maxbw=50M,zone=${VT}z$((1 + i % 2)) w$i"
	done | adm -b -
	vt_addr z1 w4 14
	vt_addr z2 w5 15
	reaches() { in_ns p ping -q -c 2 -i 0.1 -W 1 "10.99.0.$1"; }
	reaches 14
	reaches 15
	adm set-linkprop -p maxbw=blocked w4
	run -1 reaches 14
	reaches 15
	adm set-linkprop -p maxbw=50M w4
	adm set-linkprop -p maxbw=blocked w5
	reaches 14
	run -1 reaches 15
	adm delete-vnic w5
	reaches 14
}

@test "batch: what follows a NUL is not left out in silence" {
	printf 'create-vnic -l eth0 vnic1\0 -p maxbw=1M\n' >"$VT_DIR/batch"
	run -1 --separate-stderr adm -b "$VT_DIR/batch"
	[[ $stderr == "vnicadm: $VT_DIR/batch:1: a line of text has no NUL in it" ]] || complain "$stderr"
	[[ -z $(adm show-vnic) ]]
}
