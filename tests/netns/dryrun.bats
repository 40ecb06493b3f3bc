#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# --dry-run: what it prints, typed into an equal namespace, makes there what the command itself makes; but for eBPF. And
# it changes nothing. VNICs in zones and elsewhere, reapply, refusals.

load common
load dryrun

bats_require_minimum_version 1.5.0
stderr='' # of run

@test "dry run: a VNIC in a zone, its caps, MTU and name, from beginning to end" {
	does create-vnic -l eth0 -p "maxbw=100M,zone=${VT}z1" vnic1
	does set-linkprop -p maxbw=10M vnic1
	does set-linkprop -p maxbw-rx=1G vnic1
	does set-linkprop -p maxbw-tx=2.5G vnic1
	does set-linkprop -p mtu=1400 vnic1
	does set-linkprop -p maxbw=blocked,maxbw-rx=none vnic1
	does set-linkprop -p maxbw=5M,maxbw-tx=8M,mtu=1300 vnic1
	does set-linkprop -p "zone=${VT}z2" vnic1
	does rename-link vnic1 web0
	does reset-linkprop -p zone web0
	does rename-link web0 vnic1
	does set-linkprop -t -p "zone=${VT}z1,maxbw=64K" vnic1
	does reset-linkprop vnic1
	does delete-vnic vnic1
}

@test "dry run: more VNICs, one without a name, down, with a MAC address, without IPv6, deleted together" {
	does create-vnic -l eth0
	does create-vnic -l eth0 -d -m 02:08:20:00:00:07 -p maxbw=20M vnic7
	does create-vnic -l eth0 -p mtu=1000,maxbw-rx=20M vnic8
	does set-linkprop -p mtu=1400 vnic8
	does create-vnic -l eth0 -p "zone=${VT}z1,maxbw=30M" vnic9
	does delete-vnic vnic0 vnic7 vnic8 vnic9
}

@test "dry run: a link that others made" {
	does set-linkprop -p maxbw=50M eth0
	does set-linkprop -p maxbw=20M,maxbw-tx=1G eth0
	does set-linkprop -p maxbw-rx=blocked eth0
	does set-linkprop -p maxbw=none,maxbw-tx=3M eth0
	does create-vnic -l eth0 -p maxbw=100M vnic1
	does reset-linkprop eth0
	does delete-vnic vnic1
}

@test "dry run: reapply, and why not" {
	does create-vnic -l eth0 -p maxbw=100M vnic1
	echo 'fail 1' >"$VT_DIR/fault"
	both h tc qdisc del dev vnic1 root
	vt_until 50 eval 'adm show-vnic -o state vnic1 | grep -q lost'
	rm "$VT_DIR/fault"
	does reapply vnic1
	# Not typed: the daemon would take the copy for its own VNIC, moved.
	adm create-vnic -l eth0 -p "zone=${VT}z1" vnic2
	vt_zone_del z1
	vt_until 50 eval 'adm show-vnic -o state vnic2 | grep -q lost'
	run -1 --separate-stderr adm reapply --dry-run
	[[ $stderr == "vnicadm: vnic2: zone ${VT}z1 is gone" ]] || complain "$stderr"
	run -1 adm reapply
	[[ $output == "vnicadm: vnic2: zone ${VT}z1 is gone" ]] || complain "$output"
	before=$(stored)
	run -0 --separate-stderr adm set-linkprop -p maxbw=10M vnic2 --dry-run
	[[ $stderr == "vnicadm: warning: vnic2: stored; it is not there now: zone ${VT}z1 is gone" ]] || complain "$stderr"
	same 'not there' "$before" "$(stored)"
	run -0 adm delete-vnic --dry-run vnic2
	[[ $output == '# bpf: no hooks on vnic2' ]] || complain "$output"
	same 'not there' "$before" "$(stored)"
}

# refused_alike COMMAND...: the same words and status with --dry-run and without
refused_alike() {
	local dry real

	run adm "$@" --dry-run
	dry="$status $output"
	run adm "$@"
	real="$status $output"
	same "$*" "$real" "$dry"
	[[ $real == [12]' vnicadm: '* ]] || complain "$*: not refused: $real"
}

@test "dry run: it refuses what the command refuses, in the same words" {
	adm create-etherstub stub0
	adm create-vnic -l stub0 vnic1
	adm create-vnic -l eth0 -t vnic2
	before=$(ours)
	refused_alike create-vnic -l nosuch0 vnic3
	refused_alike create-vnic -l eth0 vnic1
	refused_alike create-vnic -l eth0 1vnic
	refused_alike create-vnic -l lo vnic3
	refused_alike create-vnic -l eth0 -p mtu=9000 vnic3
	refused_alike create-vnic -l eth0 -p maxbw=0 vnic3
	refused_alike create-vnic -l eth0 -p "zone=${VT}nosuch" vnic3
	refused_alike create-vnic -l eth0 -m 02:00:5e:00:00:01 vnic3
	refused_alike create-vnic -l eth0 -m random -r 2:8:20:1:2:3:4 vnic3
	refused_alike create-vnic -l vnic1 vnic3
	refused_alike create-etherstub stub0
	refused_alike delete-vnic vnic1 vnic1
	refused_alike delete-vnic stub0
	refused_alike delete-vnic vnic9
	refused_alike delete-etherstub stub0
	refused_alike rename-link vnic1 vnic2
	refused_alike rename-link vnic1 vnic1
	refused_alike rename-link eth0 vnic9
	refused_alike set-linkprop -p maxbw=1G lo
	refused_alike set-linkprop -p nosuch=1 vnic1
	refused_alike set-linkprop -p maxbw=10M vnic2
	refused_alike set-linkprop -p "isolate=on,zone=${VT}z1" vnic1
	refused_alike reset-linkprop -p mtu nosuch0
	refused_alike reapply eth0
	printf '%s\n' 'create-vnic -l eth0 vnic8' 'delete-vnic vnic9' >"$VT_DIR/file"
	refused_alike -b "$VT_DIR/file"
	same 'refused' "$before" "$(ours)"
}

@test "dry run: only for those who may change" {
	chmod 711 "$VT_DIR"
	[[ $(dirname "$VT_DIR") == /tmp ]] || chmod 711 "$(dirname "$VT_DIR")"
	install -m 755 "$VNICADM" "$VT_DIR/vnicadm" # others may not come near the tree
	run -1 setpriv --reuid=65534 --regid=65534 --clear-groups "$VT_DIR/vnicadm" create-etherstub stub0 --dry-run
	[[ $output == *'vnicadm: '*'group vnicd'* ]] || complain "$output"
}
