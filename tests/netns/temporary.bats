#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# -t: until the next boot; -P: what is stored for good. A boot is made by giving what is temporary in state.db another
# boot's id, and taking our links away, as a boot does.

load common

bats_require_minimum_version 1.5.0
MAC=02:08:20:00:00:01

setup() {
	vt_begin
	vt_wire
	vt_zone z1
	start_faulty
}
teardown() { vt_cleanup; }

reboot() {
	stop TERM
	sqlite3 "$VT_DIR/state/state.db" "UPDATE link SET boot = 'before' WHERE boot <> '';
		UPDATE prop SET boot = 'before' WHERE boot <> ''; UPDATE meta SET value = '' WHERE key = 'world'"
	in_ns h ip link del group 1986947427 2>/dev/null || true
	start_faulty
}
restart() {
	stop
	start_faulty
}
vnics() { adm show-vnic "$@" | tail -n +2 | tr -s ' ' | paste -sd,; }
value() { adm show-linkprop -p "$1" -o value "${@:2}" | tail -n +2 | tr -d ' ' | sed 's,^--$,,'; }
refused() {
	run adm "${@:2}"
	[[ $status == 1 && $output == "vnicadm: $1" ]] || complain "$status: $output"
}
is() { [[ $1 == "$2" ]] || complain "is: $1" "should be: $2"; }

@test "a temporary VNIC outlives a restart, and no boot" {
	adm create-vnic -l eth0 -p maxbw=10M vnic1 2>/dev/null
	adm create-vnic -t -l eth0 -p maxbw=20M vnic2 2>/dev/null
	restart
	is "$(vnics -o link,bandwidth)" 'vnic1 max=10M,vnic2 max=20M'
	is "$(vnics -P -o link,bandwidth)" 'vnic1 max=10M'
	reboot
	is "$(vnics -o link,bandwidth)" 'vnic1 max=10M'
	in_ns h ip -o link show | grep -c vnic2 && complain 'vnic2 is there'
	adm create-vnic -l eth0 vnic2 2>/dev/null
}

@test "what is over a temporary etherstub is temporary, and both go together" {
	adm create-etherstub -t stub0
	refused 'stub0: it is temporary, and so is what is over it: use -t' create-vnic -l stub0 vnic1
	adm create-vnic -l stub0 --temporary vnic1
	is "$(adm show-link -P)" ''
	reboot
	is "$(vnics)" ''
	is "$(adm show-etherstub)" ''
}

@test "a temporary value: in force now, the stored one after the boot" {
	adm create-vnic -l eth0 -p "maxbw=10M,zone=${VT}z1" vnic1
	adm set-linkprop -t -p maxbw=20M,mtu=1400 vnic1
	restart
	is "$(value maxbw vnic1)" 20M
	is "$(value maxbw -P vnic1)" 10M
	is "$(value mtu -P vnic1)" ''
	[[ $(in_ns z1 tc class show dev vnic1) == *'rate 20Mbit'* ]]
	adm reset-linkprop -t -p zone vnic1 2>/dev/null
	is "$(vnics -o link,bandwidth,zone,mtu)" 'vnic1 max=20M -- 1400'
	is "$(vnics -P -o link,bandwidth,zone,mtu)" "vnic1 max=10M ${VT}z1 --"
	restart
	is "$(vnics -o link,bandwidth,zone,mtu)" 'vnic1 max=20M -- 1400'
	reboot
	vt_until 30 eval '[[ $(vnics -o link,bandwidth,zone,mtu) == "vnic1 max=10M ${VT}z1 1500" ]]' ||
		complain "$(vnics -o link,bandwidth,zone,mtu)"
}

@test "a value for good ends the temporary one" {
	adm create-vnic -l eth0 vnic1 2>/dev/null
	adm set-linkprop -t -p maxbw=20M vnic1
	adm set-linkprop -p maxbw=30M vnic1
	is "$(value maxbw vnic1) $(value maxbw -P vnic1)" '30M 30M'
	adm set-linkprop -t -p maxbw=20M vnic1
	adm reset-linkprop -p maxbw vnic1
	is "$(value maxbw vnic1)$(value maxbw -P vnic1)" ''
	adm set-linkprop -t -p maxbw=20M vnic1
	adm set-linkprop -p mtu=1400 vnic1
	is "$(value maxbw vnic1) $(value mtu -P vnic1)" '20M 1400'
	reboot
	is "$(value maxbw vnic1) $(value mtu vnic1)" ' 1400'
}

@test "properties of a temporary VNIC are temporary" {
	adm create-vnic -t -l eth0 vnic1 2>/dev/null
	refused 'vnic1: it is temporary, and so are its properties: use -t' set-linkprop -p maxbw=1M vnic1
	refused 'vnic1: it is temporary, and so are its properties: use -t' reset-linkprop vnic1
	adm set-linkprop -t -p maxbw=1M vnic1
	restart
	is "$(vnics -o link,bandwidth)" 'vnic1 max=1M'
}

@test "-P of a link of which nothing is stored" {
	adm create-vnic -t -l eth0 vnic1 2>/dev/null
	for verb in show-link show-vnic show-linkprop; do
		refused 'vnic1: it is temporary, and nothing of it is stored for good: leave -P out' "$verb" -P vnic1
		what=$([[ $verb == show-vnic ]] && echo "VNIC: see 'vnicadm show-vnic'" || echo "link: see 'vnicadm show-link'")
		refused "nosuch: no such $what" "$verb" -P nosuch
	done
	refused 'eth0: vnicd did not make it, and stores nothing of it: leave -P out' show-link -P eth0
	refused 'eth0: vnicd did not make it, and stores nothing of it: leave -P out' show-linkprop -P eth0
}

@test "-P with what does not go with it" {
	run adm show-link -P -s
	[[ $status == 1 && $output == *'-P cannot be used with -s'* ]]
	run adm show-link -P -a
	[[ $status == 1 && $output == *'-a cannot be used with -P'* ]]
}

@test "killed and failing at every step of -t" {
	adm create-vnic -l eth0 -m $MAC -p maxbw=50G vnic1 2>/dev/null
	kill_every_step 'set -t' 'adm set-linkprop -t -p maxbw=60G vnic1' 'adm set-linkprop -p maxbw=50G vnic1'
	kill_every_step 'create -t' 'adm create-vnic -t -l eth0 -m 02:08:20:00:00:02 -p maxbw=1G vnic2 2>/dev/null' \
		'adm delete-vnic vnic2'
	kill_every_step 'create-etherstub -t' 'adm create-etherstub -t stub0' 'adm delete-etherstub stub0'
	kill_every_step 'reset -t' 'adm reset-linkprop -t -p maxbw vnic1' 'adm set-linkprop -p maxbw=50G vnic1'
	fail_every_step 'set -t' 'adm set-linkprop -t -p maxbw=60G vnic1' 'adm set-linkprop -p maxbw=50G vnic1'
}

@test "a state.db of the version before" {
	adm create-vnic -l eth0 -p maxbw=10M vnic1 2>/dev/null
	stop TERM
	sqlite3 "$VT_DIR/state/state.db" 'ALTER TABLE link DROP COLUMN boot; ALTER TABLE link DROP COLUMN vid; ALTER TABLE link DROP COLUMN theirs; DROP TABLE arp; DROP TABLE place; DROP TABLE flowcounter; DROP TABLE flowprop; DROP TABLE flow; PRAGMA user_version = 1'
	start_faulty
	is "$(vnics -o link,bandwidth)" 'vnic1 max=10M'
	grep -q 'adopted 1 links with 0 modifying acts' "$VT_DIR/log"
	adm create-vnic -t -l eth0 vnic2 2>/dev/null
}
