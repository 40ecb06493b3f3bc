#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# Random requests and random changes by others: the daemon over the real kernel and over the in-memory one say the same
# after each step, and have what they want. STEPS=N for more of them, SEED=N for the same again.

load common

setup() {
	vt_begin
	vt_wire
	vt_zone z1
	vt_zone z2
	vt_zone z3
	in_ns h ip link add eth1 type veth peer name peer1
	in_ns h ip link set eth1 up
}
teardown() { vt_cleanup; }

@test "random steps: the real kernel and the in-memory one end in the same, which is what was asked for" {
	local seed=${SEED:-1}

	in_ns h "$BUILD/tests/unit/random" "$seed" "${STEPS:-200}" "$VT_DIR" "$VT_DIR/bpf" "${VT}h" "${VT}z1" "${VT}z2" "${VT}z3" ||
		complain "with SEED=$seed"
	echo "SEED=$seed: what is left:"
	[ -z "$(for zone in h z1 z2 z3; do in_ns "$zone" ip -d -o link show; done 2>/dev/null |
		grep -E 'alias vnicd|type (ifb|macvlan|bridge)')" ]
	[ -z "$(in_ns h "$TOOLS/hooks" | grep -v '^eth[01] *$' | grep vnicd)" ]
	[ -z "$(find "$VT_DIR/bpf" -name '*vnic-*' -o -name '*hook-*')" ]
}
