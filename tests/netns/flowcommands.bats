#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck disable=SC2154 # bats sets output, stderr and status
# What flowadm's commands mean to the daemon: batches, notes, limits, -t, a boot, ten thousand flows. No traffic.

load common
load say

setup() {
	vt_begin
	vt_wire
	start A=
	adm create-vnic -l eth0 -p maxbw=100M vnic1 2>/dev/null
}
teardown() { vt_cleanup; }

# Succeeds, and says: says LINES COMMAND...
says() {
	run --separate-stderr flow "${@:2}"
	is 0 "$status" "$stderr"
	is "$1" "$stderr" "${*:2}"
}
# Refuses: no TEXT COMMAND...
no() {
	run --separate-stderr flow "${@:2}"
	is 1 "$status" "$stderr"
	is "flowadm: $1" "$stderr" "${*:2}"
}
# Commands on standard input are one batch
batch() { flow -b -; }
flows() { flow show-flow -p -o flow | xargs; }
value() { flow show-flowprop -c -o value -p "$1" "${@:2}"; }
boot() {
	stop TERM
	sqlite3 "$VT_DIR/state/state.db" "UPDATE flow SET boot = 'before' WHERE boot <> '';
		UPDATE flowprop SET boot = 'before' WHERE boot <> ''; UPDATE meta SET value = '' WHERE key = 'world'"
	in_ns h ip link del group 1986947427 2>/dev/null || true
	start A=
}

@test "a batch: each command sees those before it, and what they do to one flow is one change" {
	printf '%s\n' 'create-flow -l vnic1 transport=tcp f1' 'set-flowprop -p maxbw=1M f1' 'set-flowprop -p rank=7 f1' | batch
	is '1M 7' "$(value maxbw f1) $(value rank f1)"
	# The name and the attributes are free again in the same batch, for another flow.
	printf '%s\n' 'delete-flow f1' 'create-flow -l vnic1 transport=tcp f1' | batch
	is '' "$(value maxbw f1)"
	printf '%s\n' 'delete-flow f1' 'create-flow -l vnic1 transport=tcp f2' | batch
	is 'f2' "$(flows)"
	# Made and deleted again is nothing.
	printf '%s\n' 'create-flow -l vnic1 transport=udp f3' 'set-flowprop -p maxbw=1M f3' 'delete-flow f3' | batch
	is 'f2' "$(flows)"
	stop
	start A=
	is 'f2' "$(flows)"
}

@test "a batch that fails at any line leaves all as it was, also what it had changed twice" {
	printf '%s\n' 'create-flow -l vnic1 transport=tcp -p maxbw=1M f1' 'create-flow -l vnic1 transport=udp f2' | batch
	printf '%s\n' 'set-flowprop -p maxbw=2M f1' 'set-flowprop -p maxbw=3M f1' 'delete-flow f2' \
		'create-flow -l vnic1 transport=udp f2' 'delete-flow f9' >"$VT_DIR/batch"
	no "$VT_DIR/batch:5: f9: no such flow: did you mean f1?" -b "$VT_DIR/batch"
	is 'f1 f2' "$(flows)"
	is 1M "$(value maxbw f1)"
	stop
	start A=
	is 'f1 f2 1M' "$(flows) $(value maxbw f1)"
}

@test "a VNIC with flows is changed and deleted in one batch of vnicadm" {
	flow create-flow -l vnic1 transport=tcp -p maxbw=1M f1
	printf '%s\n' 'set-linkprop -p maxbw=blocked vnic1' 'delete-vnic vnic1' 'create-etherstub stub0' | adm -b - 2>/dev/null
	is '' "$(flows)"
	is stub0 "$(adm show-etherstub -p -o link)"
}

@test "64 ways of looking at packets; one more is refused at its line, naming it and the rarest" {
	local i p

	for ((i = 1; i <= 32; i++)); do
		p=$(((0xffffffff << (32 - i)) & 0xffffffff))
		p=$((p >> 24)).$((p >> 16 & 255)).$((p >> 8 & 255)).$((p & 255))/$i
		printf 'create-flow -l vnic1 %s_ip=%s %s%d\n' remote $p r $i local $p l $i
	done >"$VT_DIR/batch"
	echo 'create-flow -l vnic1 transport=tcp x' | cat "$VT_DIR/batch" - >"$VT_DIR/more"
	run --separate-stderr flow -b "$VT_DIR/more"
	is 1 "$status"
	matches "more:65: x: vnic1's flows look at packets in 64 ways coming in already, .*; transport would be one more: " "$stderr"
	is '' "$(flows)"
	flow -b "$VT_DIR/batch"
	is 64 "$(flow show-flow -p -o flow | wc -l)"
	# What two flows look at in one way is one way, and it is free when the last of them goes; also after a restart.
	flow create-flow -l vnic1 remote_ip=10.0.0.0/8 same
	stop
	start A=
	flow delete-flow r8
	run flow create-flow -l vnic1 transport=tcp x
	is 1 "$status"
	flow delete-flow same
	flow create-flow -l vnic1 transport=tcp x
}

@test "notes: more than its link has, packets that others take" {
	says 'flowadm: note: f1: maxbw 200M is more than vnic1 has: it gets 100M at most' create-flow -l vnic1 transport=tcp,local_port=1 -p maxbw=200M f1
	says '' set-flowprop -p maxbw=50M f1
	says 'flowadm: warning: f2: it comes first and takes all packets of f1' create-flow -l vnic1 transport=tcp -p rank=1 f2
	says 'flowadm: warning: f3: f2 comes first and takes all of its packets' create-flow -l vnic1 transport=tcp,local_port=3 f3
	# A better rank, yet not good enough.
	says 'flowadm: warning: f3: f2 comes first and takes all of its packets' set-flowprop -p rank=2 f3
	says '' reset-flowprop -p rank f2
}

@test "-t: over a restart, over no boot; a value for good stands behind it" {
	flow create-flow -l vnic1 transport=tcp -p maxbw=10M f1
	flow create-flow -t -l vnic1 transport=udp f2
	flow set-flowprop -t -p maxbw=20M f1
	no 'f2: it is temporary, and so are its properties: use -t' set-flowprop -p maxbw=1M f2
	no 'f2: it is temporary, and nothing of it is stored for good: leave -P out' show-flow -P f2
	stop
	start A=
	is 'f1 f2 20M' "$(flows) $(value maxbw f1)"
	is 'f1' "$(flow show-flow -P -p -o flow)"
	is 10M "$(value maxbw -P f1)"
	boot
	is 'f1 10M' "$(flows) $(value maxbw f1)"
	adm create-vnic -t -l eth0 vnic2 2>/dev/null
	no 'vnic2: it is temporary, and so are its flows: use -t' create-flow -l vnic2 transport=tcp f3
}

@test "an etherstub and the loopback link have no flows, whatever asks" {
	local verb

	adm create-etherstub stub0
	for verb in 'create-flow -l LINK transport=tcp f1' 'delete-flow -l LINK' 'show-flow -l LINK' 'match-flow -l LINK transport=tcp'; do
		# shellcheck disable=SC2086 # words
		no 'stub0: it is an etherstub: flows are possible on VNICs only, make them there' ${verb/LINK/stub0}
		# shellcheck disable=SC2086
		no "lo: the loopback link has no caps and no flows: see 'vnicadm show-phys'" ${verb/LINK/lo}
	done
}

seconds() { date +%s.%N; }
since() { awk -v a="$1" -v b="$(seconds)" 'BEGIN { printf "%.3f\n", b - a }'; }

@test "ten thousand flows in one batch, three times over: slots come round, and no flow is lost" {
	local i t took

	for ((i = 0; i < 10000; i++)); do
		echo "create-flow -l vnic1 transport=tcp,local_port=80,remote_ip=10.0.$((i / 256)).$((i % 256)) f$i"
	done >"$VT_DIR/batch"
	for _ in 1 2 3; do
		t=$(seconds)
		flow -b "$VT_DIR/batch"
		took=$(since "$t")
		echo "# 10,000 flows in $took s" >&3
		awk -v t="$took" -v slow="${VNICD_TEST_SLOW:-1}" 'BEGIN { exit !(t < 30 * slow) }' || complain "$took s"
		is 10000 "$(flow show-flow -p -o flow | wc -l)"
		is 10000 "$(sqlite3 "$VT_DIR/state/state.db" 'SELECT count(DISTINCT slot) FROM flow')"
		flow delete-flow -l vnic1
		is '' "$(flows)"
	done
}
