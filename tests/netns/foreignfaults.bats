#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# Every step of every change of caps and flows on a link that others made fails, or is the daemon's last: everything is
# as it was, or wholly as asked for, and works the next time.

load common

setup() {
	vt_begin
	vt_wire
	vt_zone z1
	vt_addr h eth0 2
	start_faulty
}
teardown() { vt_cleanup; }

SET='adm set-linkprop -p maxbw=50G eth0'
RESET='adm reset-linkprop -p maxbw eth0'
CREATE='flow create-flow -l eth0 transport=udp -p maxbw=10G udp1'
DELETE='flow delete-flow udp1'

@test "failing in set-linkprop and reset-linkprop: the first cap of the link, and the last" {
	fail_every_step 'cap comes' "$SET" "$RESET"
	$SET
	fail_every_step 'cap goes' "$RESET" "$SET" remade
}

@test "failing in create-flow and delete-flow: the first flow of the link, and the last" {
	fail_every_step 'flow comes' "$CREATE" "$DELETE"
	$CREATE
	fail_every_step 'flow goes' "$DELETE" "$CREATE" remade
}

@test "killed in set-linkprop and reset-linkprop, beside a capped VNIC" {
	adm create-vnic -l eth0 -m 02:08:20:00:00:01 -p "zone=${VT}z1,maxbw=20M" vnic1
	kill_every_step 'cap comes' "$SET" "$RESET"
	$SET
	kill_every_step 'cap goes' "$RESET" "$SET"
}

@test "killed in create-flow and delete-flow" {
	kill_every_step 'flow comes' "$CREATE" "$DELETE"
	$CREATE
	kill_every_step 'flow goes' "$DELETE" "$CREATE"
}
