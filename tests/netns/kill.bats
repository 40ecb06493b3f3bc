#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# kill -9 at every step of every command: what was acknowledged is there afterwards, what was not is there wholly or not
# at all, nothing is left over, and the command can be given again.

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

@test "killed in create-vnic: capped, in a zone, beside another one" {
	adm create-vnic -l eth0 -m $STAY -p maxbw=20M stay0 2>/dev/null
	kill_every_step create "adm create-vnic -l eth0 -m $NEW -p maxbw=100M,zone=${VT}z1 vnic1" 'adm delete-vnic vnic1'
}

@test "killed in create-vnic: the first capped one of its parent, with one direction apart" {
	kill_every_step create "adm create-vnic -l eth0 -m $NEW -p maxbw=100M,maxbw-rx=500M,mtu=1400 vnic1" 'adm delete-vnic vnic1'
}

@test "killed in delete-vnic: capped, in a zone, beside another one" {
	adm create-vnic -l eth0 -m $STAY -p maxbw=20M stay0 2>/dev/null
	adm create-vnic -l eth0 -m $NEW -p "maxbw=100M,zone=${VT}z1" vnic1
	kill_every_step delete 'adm delete-vnic vnic1' "adm create-vnic -l eth0 -m $NEW -p maxbw=100M,zone=${VT}z1 vnic1"
}

@test "killed in delete-vnic of two, the last capped ones" {
	make_two() {
		adm create-vnic -l eth0 -m $STAY -p maxbw=20M vnic1 2>/dev/null
		adm create-vnic -l eth0 -m $NEW -p "maxbw=20M,zone=${VT}z1" vnic2
	}
	make_two
	kill_every_step 'delete two' 'adm delete-vnic vnic1 vnic2' make_two
}

@test "killed in set-linkprop: a cap comes, changes and goes" {
	adm create-vnic -l eth0 -m $NEW -p "zone=${VT}z1" vnic1
	kill_every_step 'cap comes' 'adm set-linkprop -p maxbw=50G vnic1' 'adm reset-linkprop -p maxbw vnic1'
	adm set-linkprop -p maxbw=50G vnic1
	kill_every_step 'cap goes' 'adm reset-linkprop -p maxbw vnic1' 'adm set-linkprop -p maxbw=50G vnic1'
	kill_every_step 'cap changes' 'adm set-linkprop -p maxbw=60G vnic1' 'adm set-linkprop -p maxbw=50G vnic1'
	kill_every_step 'blocked' 'adm set-linkprop -p maxbw=blocked vnic1' 'adm set-linkprop -p maxbw=50G vnic1'
}

@test "killed in set-linkprop zone: there and back" {
	adm create-vnic -l eth0 -m $NEW -p maxbw=50G vnic1 2>/dev/null
	kill_every_step 'into the zone' "adm set-linkprop -p zone=${VT}z1 vnic1" 'adm reset-linkprop -p zone vnic1 2>/dev/null'
	adm set-linkprop -p zone=${VT}z1 vnic1
	kill_every_step 'out of the zone' 'adm reset-linkprop -p zone vnic1' "adm set-linkprop -p zone=${VT}z1 vnic1"
}

@test "killed in create-flow, set-flowprop and delete-flow" {
	local f1='flow create-flow -l vnic1 transport=tcp,local_port=443 -p maxbw=20M f1'
	local f2='flow create-flow -l vnic1 transport=udp,remote_ip=10.0.0.0/8 -p maxbw=30M,priority=high f2'

	adm create-vnic -l eth0 -m $NEW -p "zone=${VT}z1,maxbw=50G" vnic1
	kill_every_step 'create the first' "$f1" 'flow delete-flow f1'
	eval "$f1"
	kill_every_step 'create another' "$f2" 'flow delete-flow f2'
	kill_every_step 'cap and rank' 'flow set-flowprop -p maxbw=40M,rank=3 f1' 'flow set-flowprop -p maxbw=20M f1; flow reset-flowprop -p rank f1'
	kill_every_step 'delete the last' 'flow delete-flow f1' "$f1"
}

@test "killed in the middle of a step: flows come and go" {
	command -v strace >/dev/null || skip "no strace"
	adm create-vnic -l eth0 -m $NEW -p "zone=${VT}z1,maxbw=50G" vnic1
	flow create-flow -l vnic1 transport=tcp,local_port=443 -p maxbw=20M f1
	kill_at_calls 'flow comes' 7 'flow create-flow -l vnic1 transport=udp -p maxbw=30M f2' 'flow delete-flow f2' A=
}

@test "killed in create-etherstub and delete-etherstub" {
	kill_every_step 'create stub' 'adm create-etherstub stub0' 'adm delete-etherstub stub0'
	adm create-etherstub stub0
	kill_every_step 'delete stub' 'adm delete-etherstub stub0' 'adm create-etherstub stub0'
}

@test "killed in the middle of a step: a cap comes and goes, programs on tcx" {
	command -v strace >/dev/null || skip "no strace"
	adm create-vnic -l eth0 -m $NEW -p "zone=${VT}z1" vnic1
	kill_at_calls 'cap comes' 11 'adm set-linkprop -p maxbw=50G vnic1' 'adm reset-linkprop -p maxbw vnic1' A=
}

@test "killed in the middle of a step: a cap comes and goes, programs in clsact filters" {
	command -v strace >/dev/null || skip "no strace"
	stop
	start_faulty VNICD_DISABLE=tcx
	adm create-vnic -l eth0 -m $NEW -p "zone=${VT}z1" vnic1
	kill_at_calls 'cap comes' 11 'adm set-linkprop -p maxbw=50G vnic1' 'adm reset-linkprop -p maxbw vnic1' VNICD_DISABLE=tcx
}
