#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# Every step of every command fails: one line, status 2, everything as it was, and the command works the next time.

load common
# MACs. With a capped VNIC beside it, so that the parent's hook stays; and without one.
STAY=02:08:20:00:00:01
NEW=02:08:20:00:00:02

setup() {
	vt_begin
	vt_wire
	vt_zone z1
	start_faulty
}
teardown() { vt_cleanup; }

@test "failing in create-vnic: capped, in a zone, beside another one" {
	adm create-vnic -l eth0 -m $STAY -p maxbw=20M stay0 2>/dev/null
	fail_every_step create "adm create-vnic -l eth0 -m $NEW -p maxbw=100M,zone=${VT}z1 vnic1" 'adm delete-vnic vnic1'
}

@test "failing in create-vnic: the first capped one of its parent, with one direction apart" {
	fail_every_step create "adm create-vnic -l eth0 -m $NEW -p maxbw=100M,maxbw-rx=500M,mtu=1400 vnic1" 'adm delete-vnic vnic1'
}

@test "failing in delete-vnic: capped, in a zone, beside another one" {
	adm create-vnic -l eth0 -m $STAY -p maxbw=20M stay0 2>/dev/null
	adm create-vnic -l eth0 -m $NEW -p "maxbw=100M,zone=${VT}z1" vnic1
	fail_every_step delete 'adm delete-vnic vnic1' "adm create-vnic -l eth0 -m $NEW -p maxbw=100M,zone=${VT}z1 vnic1"
}

@test "failing in delete-vnic of two, the last capped ones" {
	make_two() {
		adm create-vnic -l eth0 -m $STAY -p maxbw=20M vnic1 2>/dev/null
		adm create-vnic -l eth0 -m $NEW -p "maxbw=20M,zone=${VT}z1" vnic2
	}
	make_two
	fail_every_step 'delete two' 'adm delete-vnic vnic1 vnic2' make_two remade
}

@test "failing in set-linkprop: a cap comes, changes and goes" {
	adm create-vnic -l eth0 -m $NEW -p "zone=${VT}z1" vnic1
	fail_every_step 'cap comes' 'adm set-linkprop -p maxbw=50G vnic1' 'adm reset-linkprop -p maxbw vnic1'
	adm set-linkprop -p maxbw=50G vnic1
	fail_every_step 'cap goes' 'adm reset-linkprop -p maxbw vnic1' 'adm set-linkprop -p maxbw=50G vnic1'
	fail_every_step 'cap changes' 'adm set-linkprop -p maxbw=60G vnic1' 'adm set-linkprop -p maxbw=50G vnic1'
	fail_every_step 'blocked' 'adm set-linkprop -p maxbw=blocked vnic1' 'adm set-linkprop -p maxbw=50G vnic1'
}

@test "failing in set-linkprop zone: there and back" {
	adm create-vnic -l eth0 -m $NEW -p maxbw=50G vnic1 2>/dev/null
	fail_every_step 'into the zone' "adm set-linkprop -p zone=${VT}z1 vnic1" 'adm reset-linkprop -p zone vnic1 2>/dev/null'
	adm set-linkprop -p zone=${VT}z1 vnic1
	fail_every_step 'out of the zone' 'adm reset-linkprop -p zone vnic1' "adm set-linkprop -p zone=${VT}z1 vnic1"
}

# Flows: the first one of a link brings programs, the first capped one classes; another one is changed by itself.
F1='flow create-flow -l vnic1 transport=tcp,local_port=443 -p maxbw=20M f1'
F2='flow create-flow -l vnic1 transport=udp,remote_ip=10.0.0.0/8 -p maxbw=30M,priority=high f2'

@test "failing in create-flow and delete-flow: the first one of an uncapped link and of a capped one" {
	adm create-vnic -l eth0 -m $NEW -p "zone=${VT}z1" vnic1
	fail_every_step 'create the first' "$F1" 'flow delete-flow f1'
	adm set-linkprop -p maxbw=50G vnic1
	fail_every_step 'create the first, capped' "$F1" 'flow delete-flow f1'
	eval "$F1"
	fail_every_step 'delete the last' 'flow delete-flow f1' "$F1"
}

@test "failing in create-flow, set-flowprop and delete-flow beside another one" {
	adm create-vnic -l eth0 -m $NEW -p "zone=${VT}z1,maxbw=50G" vnic1
	eval "$F1"
	fail_every_step 'create another' "$F2" 'flow delete-flow f2'
	eval "$F2"
	fail_every_step 'delete one' 'flow delete-flow f2' "$F2"
	fail_every_step 'cap changes' 'flow set-flowprop -p maxbw=40M f1' 'flow set-flowprop -p maxbw=20M f1'
	fail_every_step 'cap goes' 'flow reset-flowprop -p maxbw f1' 'flow set-flowprop -p maxbw=20M f1'
	fail_every_step 'blocked' 'flow set-flowprop -p maxbw=blocked f1' 'flow set-flowprop -p maxbw=20M f1'
	fail_every_step 'priority and rank' 'flow set-flowprop -p priority=low,rank=7 f1' 'flow reset-flowprop -p priority,rank f1'
}

@test "failing in a batch of flows on two links, and in delete-vnic of one with flows" {
	adm create-vnic -l eth0 -m $STAY -p maxbw=20M vnic2 2>/dev/null
	adm create-vnic -l eth0 -m $NEW -p "zone=${VT}z1,maxbw=50G" vnic1
	eval "$F1"
	printf '%s\n' 'delete-flow f1' 'create-flow -l vnic2 transport=tcp g1' "${F2#flow }" 'set-flowprop -p rank=3 g1' >"$VT_DIR/batch"
	printf '%s\n' 'delete-flow g1 f2' "${F1#flow }" >"$VT_DIR/back"
	fail_every_step batch "flow -b $VT_DIR/batch" "flow -b $VT_DIR/back"
	make() {
		adm create-vnic -l eth0 -m $NEW -p "zone=${VT}z1,maxbw=50G" vnic1
		eval "$F1"
	}
	fail_every_step 'delete with flows' 'adm delete-vnic vnic1' make remade
}

# What the kernel refuses in the midst of a change, whatever that is: fail_at_calls NAME EVERY 'COMMAND' 'COMMAND THAT UNDOES IT'
fail_at_calls() {
	local before after told now n total call tracer status failed=0

	states "$3" "$4"
	for call in sendmsg bpf; do
		trace "$call" error=EIO:when=60000
		eval "$3"
		vt_stop "$tracer"
		total=$(grep -c "$call(" "$VT_DIR/strace") || true
		eval "$4"
		for ((n = 1 + RANDOM % $2; n <= total; n += $2)); do
			trace "$call" "error=EIO:when=$n"
			status=0
			eval "$3" 2>"$VT_DIR/stderr" || status=$?
			vt_stop "$tracer"
			now=$(dump remade)
			if [[ $status == 0 ]]; then
				same "$1: $call $n failed in silence" "$after" "$now"
				eval "$4"
				continue
			fi
			failed=$((failed + 1))
			[[ $(wc -l <"$VT_DIR/stderr") == 1 ]] || complain "$1: $call $n failed:" "$(cat "$VT_DIR/stderr")"
			same "$1: $call $n failed ($(<"$VT_DIR/stderr"))" "$before" "$now"
			eval "$3" || complain "$1: $call $n failed, then given again: failed"
			same "$1: $call $n failed, then given again" "$told" "$(told)"
			eval "$4" || complain "$1: $call $n failed, then given again and undone: failed"
		done
	done
	((failed > 0)) || complain "$1: nothing failed"
	same "$1: failed at system calls, in the end" "$before" "$(dump remade)"
}

@test "failing in the middle of a change of flows: each call to the kernel" {
	command -v strace >/dev/null || skip "no strace"
	adm create-vnic -l eth0 -m $NEW -p "zone=${VT}z1,maxbw=50G" vnic1
	eval "$F1"
	fail_at_calls 'create another' 5 "$F2" 'flow delete-flow f2'
	fail_at_calls 'cap and rank change' 5 'flow set-flowprop -p maxbw=40M,rank=5 f1' 'flow set-flowprop -p maxbw=20M f1; flow reset-flowprop -p rank f1'
	eval "$F2"
	fail_at_calls 'delete one' 5 'flow delete-flow f2' "$F2"
}

@test "failing in create-etherstub and delete-etherstub" {
	fail_every_step 'create stub' 'adm create-etherstub stub0' 'adm delete-etherstub stub0'
	adm create-etherstub stub0
	fail_every_step 'delete stub' 'adm delete-etherstub stub0' 'adm create-etherstub stub0'
}
