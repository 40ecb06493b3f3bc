#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# MAC addresses belong to the machine: the same command gives the same one, a copied system draws new ones.

load common

bats_require_minimum_version 1.5.0

setup() {
	vt_begin
	vt_wire
	machine 1
}
teardown() { vt_cleanup; }

# The machine id of the daemons started from now on: machine N, or none
machine() {
	: >"$VT_DIR/machine-id"
	[[ $1 == none ]] || printf '%032x\n' "$1" >"$VT_DIR/machine-id"
}

# In its own mount namespace /etc/machine-id is ours.
start_machine() {
	# shellcheck disable=SC2016
	start unshare --mount --propagation slave sh -c \
		'mount --bind "$0" /etc/machine-id && exec "$@"' "$VT_DIR/machine-id"
}

mac() { in_ns h ip -o link show "$1" | sed -nE 's/.*link.ether ([^ ]+).*/\1/p'; }
create() { adm create-vnic -l eth0 "$@" 2>/dev/null; }

@test "the same create gives the same MAC on the same machine, another where it is taken" {
	local first

	start_machine
	create vnic1
	first=$(mac vnic1)
	adm delete-vnic vnic1
	create vnic1
	[[ $(mac vnic1) == "$first" ]]
	adm delete-vnic vnic1
	create -m "$first" vnic2
	create vnic1
	[[ $(mac vnic1) != "$first" ]]
}

@test "a state.db on another machine: new MACs for automatic and random ones, a line each; fixed ones stay" {
	local auto random fixed caps

	start_machine
	create -p maxbw=50M vnic1
	create -m random -r 2:aa:bb vnic2
	create -m 02:00:00:00:00:77 vnic3
	auto=$(mac vnic1) random=$(mac vnic2) fixed=$(mac vnic3)
	stop TERM
	start_machine
	[[ $(mac vnic1) == "$auto" && $(mac vnic2) == "$random" ]]
	run ! grep -q "another machine" "$VT_DIR/log"

	stop TERM
	machine 2
	start_machine
	[[ $(mac vnic1) != "$auto" && $(mac vnic2) != "$random" && $(mac vnic3) == "$fixed" ]]
	[[ $(mac vnic2) == 02:aa:bb:* ]]
	[[ $(grep -c "this is another machine" "$VT_DIR/log") == 2 ]]
	caps=$(steered)
	[[ $(wc -l <<<"$caps") == 1 ]] || complain "$caps"
	[[ $(adm show-vnic -o state vnic1) == *up ]]

	stop TERM
	start_machine
	[[ $(grep adopted "$VT_DIR/log" | tail -1) == *"adopted 3 links with 0 modifying acts" ]]
}

@test "without a machine id: random MACs, said in the log, nothing changes; with one they become its own" {
	local before

	start_machine
	create vnic1
	before=$(mac vnic1)
	stop TERM
	machine none
	start_machine
	grep -q "no machine id" "$VT_DIR/log"
	[[ $(mac vnic1) == "$before" ]]
	stop TERM
	machine 1
	start_machine
	[[ $(mac vnic1) == "$before" ]]
}

@test "an image made without a machine id: every machine that starts from it draws its own" {
	local before

	machine none
	start_machine
	create vnic1
	before=$(mac vnic1)
	stop TERM
	machine 3
	start_machine
	[[ $(mac vnic1) != "$before" ]]
	grep -q "vnic1.*this is another machine" "$VT_DIR/log"
}
