#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# --dry-run of etherstubs, isolation, batches and reset; see dryrun.bats.

load common
load dryrun

bats_require_minimum_version 1.5.0

@test "dry run: an etherstub with VNICs on it" {
	does create-etherstub -p mtu=3000 stub0
	does create-vnic -l stub0 -p maxbw=100M vnic1
	does set-linkprop -p mtu=4000 stub0
	does create-vnic -l stub0 -p "zone=${VT}z1,mtu=4000" vnic2
	does rename-link stub0 hub0
	does delete-vnic vnic1 vnic2
	does delete-etherstub hub0
}

@test "dry run: a name that is in use in this namespace, for a VNIC in a zone" {
	both h ip link add vnic1 address 02:00:5e:00:00:03 type veth peer name other0 address 02:00:5e:00:00:04
	does create-vnic -l eth0 -p "zone=${VT}z1" vnic1
	does delete-vnic vnic1
}

@test "dry run: isolation, with addresses and gateways" {
	both h ip addr add 10.99.0.8/24 dev eth0
	both h ip route add default via 10.99.0.1 dev eth0 metric 50
	does create-vnic -l eth0 vnic1
	both h ip addr add 10.99.0.9/24 dev vnic1
	both h ip addr add fd99::9/64 dev vnic1 nodad
	does set-linkprop -p isolate=on vnic1
	does rename-link vnic1 web.1
	does set-linkprop -p maxbw=100M web.1
	does set-linkprop -p isolate=off web.1
	does set-linkprop -p isolate=on web.1
	does set-linkprop -p "isolate=off,zone=${VT}z1" web.1
	does reset-linkprop -p zone web.1
	does create-vnic -l eth0 -p isolate=on vnic2
	does delete-vnic web.1
	does delete-vnic vnic2
}

@test "dry run: a batch, its own names and numbers, and its etherstub" {
	printf '%s\n' 'create-etherstub stub0' 'create-vnic -l stub0 -p maxbw=1G,isolate=on' \
		'create-vnic -l eth0 vnic5' "set-linkprop -p maxbw=10M,zone=${VT}z1 vnic5" \
		"create-vnic -l stub0 -p maxbw=100M,zone=${VT}z2 vnic6" >"$VT_DIR/file"
	does -b "$VT_DIR/file"
	printf '%s\n' 'rename-link vnic5 web5' 'delete-vnic vnic6' "create-vnic -l eth0 -p zone=${VT}z2 vnic6" \
		'reset-linkprop -p maxbw vnic0' 'create-vnic -l eth0 vnic7' 'delete-vnic vnic7' >"$VT_DIR/file"
	does -b "$VT_DIR/file"
	printf '%s\n' 'delete-vnic vnic0 web5 vnic6' 'delete-etherstub stub0' >"$VT_DIR/file"
	does -b "$VT_DIR/file"
}

@test "dry run: a batch of seventy, all deleted by a reset" {
	for ((i = 0; i < 66; i++)); do echo "create-vnic -l eth0 w$i"; done >"$VT_DIR/file"
	for ((; i < 70; i++)); do echo "create-vnic -l eth0 -p maxbw=${i}M w$i"; done >>"$VT_DIR/file"
	does -b "$VT_DIR/file"
	[[ $(grep -c 'bpf: steering program' "$VT_DIR/plan") == 1 ]]
	# A reset takes what carries its marks out of every namespace: it is typed first.
	rehearse reset -y
	typed reset
	adm reset -y
	equal_worlds reset
	run -1 adm show-vnic w1
}
