#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck disable=SC2154 # bats sets output, stderr and status
# reapply: what others changed is put right at once, or the reason is given. reset: nothing of ours is left.

load common
load say.bash

setup() {
	vt_begin
	vt_wire
	vt_zone z1
	VNICD=$FAULTY start
}
teardown() { vt_cleanup; }

# The namespaces without what the daemon tells; its empty steering map goes with it.
quiet_dump() { dump | grep -v '^LINK\|^eth0\|^lo'; }

@test "reapply: a link that is right, one that is not, all, and those that are not ours" {
	local i

	adm create-etherstub stub0
	adm create-vnic -l eth0 -p maxbw=20M,zone=${VT}z1 vnic1
	adm create-vnic -l stub0 vnic2
	good reapply vnic1
	good reapply
	for ((i = 0; i < 6; i++)); do
		in_ns z1 tc qdisc del dev vnic1 root 2>/dev/null || true
		sleep 0.3
	done
	good reapply vnic1
	in_ns z1 tc class show dev vnic1 | grep -q 'htb 7fd0:1 '
	vt_zone_del z1
	refused 1 "vnic1: zone ${VT}z1 is gone" reapply vnic1
	refused 1 "vnic1: zone ${VT}z1 is gone" reapply
	refused 1 "eth0: vnicd did not make it: there is nothing to apply again" reapply eth0
	refused 1 "vnic9: no such link: did you mean vnic1?" reapply vnic9
}

@test "reset: refused without a terminal, asked for on one, and nothing of ours is left" {
	local before

	before=$(quiet_dump)
	adm create-etherstub stub0
	adm create-vnic -l stub0 -p maxbw=1G vnic0 2>/dev/null
	adm create-vnic -l eth0 -p maxbw=20M,zone=${VT}z1 vnic1
	adm create-vnic -l eth0 -p maxbw=blocked vnic2 2>/dev/null
	adm create-vnic -l eth0 vnic3 2>/dev/null
	refused 1 "reset deletes every VNIC and etherstub: say --yes where there is no terminal to ask on" reset </dev/null
	[ "$(adm show-vnic -o link -j | jq length)" = 4 ]
	! script -qefc "'$VNICADM' reset" /dev/null <<<n >"$VT_DIR/typescript" || false
	grep -q 'Delete every VNIC and etherstub that vnicd made? \[y/N\]' "$VT_DIR/typescript"
	grep -q 'vnicadm: nothing was changed' "$VT_DIR/typescript"
	[ "$(adm show-vnic -o link -j | jq length)" = 4 ]
	script -qefc "'$VNICADM' reset" /dev/null <<<y >/dev/null
	same "after reset" "$before" "$(quiet_dump)"
	good reset --yes
	same "after a second reset" "$before" "$(quiet_dump)"
	[ "$(sqlite3 -readonly "$VT_DIR/state/state.db" 'SELECT (SELECT count(*) FROM link) + (SELECT count(*) FROM prop)
		+ (SELECT count(*) FROM ident) + (SELECT count(*) FROM counter) + (SELECT count(*) FROM intent)')" = 0 ]
	good create-etherstub stub0
}

@test "reset takes a VNIC whose zone is gone, and killed leaves all or nothing" {
	make_all() {
		adm create-etherstub stub0
		adm create-vnic -l stub0 -m 2:8:20:0:0:1 vnic1 2>/dev/null
		adm create-vnic -l eth0 -m 2:8:20:0:0:2 -p "maxbw=20M,zone=${VT}z1" vnic2
	}
	stop
	start_faulty
	make_all
	kill_every_step reset 'adm reset --yes' make_all
	vt_zone_del z1
	good reset --yes
	[ "$(adm show-vnic -j)" = '[]' ]
}
