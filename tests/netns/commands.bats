#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck disable=SC2154 # bats sets output, stderr and status
# The verbs against the real daemon: what they make, print and refuse; names; one command, one transaction.

load say.bash

setup_file() {
	vt_begin
	vt_wire
	local name
	for name in bge1 ixgbe0; do
		ip link add $name netns "${VT}h" up type veth peer name p$name netns "${VT}p"
	done
	vt_daemon
}
teardown_file() { vt_cleanup; }
teardown() { delete_all; }

@test "the command lines of the source documents work word for word" {
	made create-vnic -l bge1 vnic1
	is '' "$output"
	made create-vnic -l bge1 -m random -p maxbw=100M vnic2
	good create-etherstub vswitch1
	good show-etherstub
	is $'LINK\nvswitch1' "$output"
	good create-vnic -l vswitch1 -p maxbw=1000M vnic3
	made create-vnic -l ixgbe0 -p maxbw=500M vnic9
	good show-vnic
	is "LINK  OVER     MACTYPE MACVALUE          BANDWIDTH CPUS" "${lines[0]}"
	matches '^vnic2 bge1     random  0[0-9a-f:]{16} max=100M  --$' "${lines[2]}"
	matches '^vnic3 vswitch1 random  0[0-9a-f:]{16} max=1G    --$' "${lines[3]}"
	matches '^vnic9 ixgbe0   random  0[0-9a-f:]{16} max=500M  --$' "${lines[4]}"
}

@test "without operands vnicadm is show-link" {
	made create-vnic -l eth0 vnic1
	good
	is "$(adm show-link)" "$output"
	is "LINK   CLASS      MTU STATE   OVER" "${lines[0]}"
}

@test "a name left out is the next free vnicN, printed" {
	made create-vnic -l eth0
	first=$output
	matches '^vnic[0-9]+$' "$first"
	n=${first#vnic}
	made create-vnic -l eth0
	is "vnic$((n + 1))" "$output"
	in_ns h ip link show "$output"
	adm delete-vnic "$first"
	made create-vnic -l eth0
	is "$first" "$output"
	# Somebody else's link has the next name.
	in_ns h ip link add "vnic$((n + 2))" type bridge
	made create-vnic -l eth0
	in_ns h ip link del "vnic$((n + 2))"
	is "vnic$((n + 3))" "$output"
}

@test "a VNIC in the parent's namespace: the note, whole; none for a zone or an etherstub" {
	made create-vnic -l eth0 vnic1
	is "vnicadm: note: vnic1 is in eth0's namespace: addresses in eth0's subnet bypass it, uncapped (use -p zone=NAME or isolate=on); this host and vnic1 cannot reach each other over eth0" "$stderr"
	vt_zone zn
	good create-vnic -l eth0 -p "zone=${VT}zn" vnic2
	good create-etherstub stub0
	good create-vnic -l stub0 vnic3
	adm delete-vnic vnic2
	vt_zone_del zn
}

@test "a new link is up without an address; -d leaves it down" {
	made create-vnic -l eth0 -p maxbw=10M vnic1
	made create-vnic -l eth0 -d vnic2
	is up "$(link vnic1 state)"
	is down "$(link vnic2 state)"
	is "taken down: 'ip link set up' brings it up" "$(link vnic2 why)"
	is '' "$(in_ns h ip addr show dev vnic1 | grep inet)"
	in_ns h ip link set vnic2 up
	until_is up link vnic2 state
}

@test "in the daemon's namespace: accept_ra 0, addrgenmode none; and again when IPv6 comes back with a larger MTU" {
	made create-vnic -l eth0 vnic1
	good create-etherstub stub0
	for dev in vnic1 stub0; do
		is 0 "$(in_ns h cat /proc/sys/net/ipv6/conf/$dev/accept_ra)"
		matches 'addrgenmode none' "$(in_ns h ip -d link show $dev)"
	done
	good set-linkprop -p mtu=1000 vnic1
	run ! in_ns h cat /proc/sys/net/ipv6/conf/vnic1/accept_ra
	good reset-linkprop -p mtu vnic1
	is 0 "$(in_ns h cat /proc/sys/net/ipv6/conf/vnic1/accept_ra)"
	matches 'addrgenmode none' "$(in_ns h ip -d link show vnic1)"
}

@test "names: each rule has its own error" {
	local link="a link's name"

	refused 1 "v: $link has 2 to 15 characters, this one has 1" create-vnic -l eth0 v
	refused 1 "a234567890123456: $link has 2 to 15 characters, this one has 16" create-vnic -l eth0 a234567890123456
	refused 1 "vn+ic1: $link is made of letters, digits, '_', '.' and '-'" create-vnic -l eth0 vn+ic1
	refused 1 "vn/ic1: $link is made of letters, digits, '_', '.' and '-'" create-vnic -l eth0 vn/ic1
	refused 1 "1vnic1: $link starts with a letter" create-vnic -l eth0 1vnic1
	refused 1 "_vnic1: $link starts with a letter" create-vnic -l eth0 _vnic1
	refused 1 "vnic: $link ends in a digit: try vnic0" create-vnic -l eth0 vnic
	refused 1 "inet6: ip(8) reads this name as a keyword: choose another" create-vnic -l eth0 inet6
	refused 1 "vi7: names vi<number> are kept for vnicd's own ifb links: choose another" create-vnic -l eth0 vi7
	refused 1 "stub: $link ends in a digit: try stub0" create-etherstub stub
	good show-vnic
	is '' "$output"
	made create-vnic -l eth0 a.B_c-345678901
	is a.B_c-345678901 "$(adm show-vnic -j | jq -r '.[].link')"
	made create-vnic -l eth0 v1
}

@test "names that are taken: by a VNIC, an etherstub, any other link, an alternative name" {
	made create-vnic -l eth0 vnic1
	good create-etherstub stub0
	in_ns h ip link property add dev ixgbe0 altname enp3s0f0
	refused 1 "vnic1: a VNIC of that name exists: choose another, or delete it first" create-vnic -l eth0 vnic1
	refused 1 "stub0: an etherstub of that name exists: choose another, or delete it first" create-vnic -l eth0 stub0
	refused 1 "vnic1: a VNIC of that name exists: choose another, or delete it first" create-etherstub vnic1
	for name in bge1 enp3s0f0; do
		refused 1 "$name: a link of that name exists in this namespace: choose another name, or delete that link first" \
			create-vnic -l eth0 $name
	done
	in_ns h ip link property del dev ixgbe0 altname enp3s0f0
}

@test "links that are not there, exit 1: one line that names them" {
	refused 1 "eth9: no such link: did you mean eth0?" create-vnic -l eth9 vnic1
	refused 1 "vnic9: no such VNIC: see 'vnicadm show-vnic'" delete-vnic vnic9
	refused 1 "stub9: no such etherstub: see 'vnicadm show-etherstub'" delete-etherstub stub9
	refused 1 "vnic9: no such VNIC: see 'vnicadm show-vnic'" show-vnic vnic9
	refused 1 "eth9: no such link: did you mean eth0?" show-vnic -l eth9
	refused 1 "vnic9: no such link: see 'vnicadm show-link'" show-link vnic9
	refused 1 "vnic9: no such link: see 'vnicadm show-link'" show-link -s vnic9
	refused 1 "vnic9: no such link: see 'vnicadm show-link'" show-link -s -i 1 eth0 vnic9
	refused 1 "vnic9: no such link: see 'vnicadm show-link'" show-linkprop vnic9
	refused 1 "vnic9: no such link: see 'vnicadm show-link'" set-linkprop -p maxbw=1M vnic9
	refused 1 "vnic9: no such link: see 'vnicadm show-link'" reset-linkprop vnic9
	refused 1 "stub9: no such etherstub: see 'vnicadm show-etherstub'" show-etherstub stub9
	refused 1 "eth9: no such physical link: did you mean eth0?" show-phys eth9
}

@test "delete: the wrong verb, somebody else's link, a name twice" {
	made create-vnic -l eth0 vnic1
	good create-etherstub stub0
	refused 1 "vnic1: it is a VNIC: use delete-vnic" delete-etherstub vnic1
	refused 1 "stub0: it is an etherstub: use delete-etherstub" delete-vnic stub0
	refused 1 "eth0: not a VNIC: vnicd did not make it (see 'vnicadm show-vnic')" delete-vnic eth0
	refused 1 "eth0: not an etherstub: vnicd did not make it (see 'vnicadm show-etherstub')" delete-etherstub eth0
	refused 1 "vnic1: given twice" delete-vnic vnic1 vnic1
	in_ns h ip link show vnic1
}

@test "delete-vnic and delete-etherstub take many, all or none" {
	for i in 1 2 3; do made create-vnic -l eth0 -p maxbw=${i}0M vnic$i; done
	refused 1 "vnic9: no such VNIC: did you mean vnic1?" delete-vnic vnic1 vnic9 vnic3
	is 'vnic1 vnic2 vnic3' "$(adm show-vnic -j | jq -r '[.[].link] | join(" ")')"
	in_ns h tc class show dev vnic1 | grep -q 'rate 10Mbit'
	good delete-vnic vnic1 vnic3
	is vnic2 "$(adm show-vnic -j | jq -r '[.[].link] | join(" ")')"
	run ! in_ns h ip link show vnic1
	run ! in_ns h ip link show vnic3
	good create-etherstub stub0
	good create-etherstub stub1
	good delete-etherstub stub0 stub1
	run ! in_ns h ip link show stub1
}

@test "an etherstub with VNICs on it is not deleted, and they are named" {
	good create-etherstub stub0
	good create-vnic -l stub0 vnic1
	good create-vnic -l stub0 vnic2
	run --separate-stderr adm delete-etherstub stub0
	is 1 "$status"
	matches '^vnicadm: stub0: .*vnic1.*vnic2' "$stderr"
	in_ns h ip link show stub0
	is "vnic1 vnic2" "$(adm show-etherstub -j -o vnics stub0 | jq -r '.[0].vnics | join(" ")')"
	good delete-vnic vnic1 vnic2
	good delete-etherstub stub0
	run ! in_ns h ip link show stub0
}

@test "a refused create leaves nothing: no link, no hook, no ifb, no row" {
	local before
	before=$(in_ns h ip link; find "$VT_DIR/bpf" -name 'vnic-*' -o -name 'hook-*')
	refused 1 "vnic1: no zone $VT-none: make it with 'ip netns add $VT-none'" create-vnic -l eth0 -p "maxbw=10M,zone=$VT-none" vnic1
	refused 1 "vnic1: parent eth0 has MTU 1500, asked for 9000" create-vnic -l eth0 -p maxbw=10M,mtu=9000 vnic1
	is "$before" "$(in_ns h ip link; find "$VT_DIR/bpf" -name 'vnic-*' -o -name 'hook-*')"
	is '[]' "$(adm show-vnic -j | jq -c .)"
}

@test "set-linkprop of several properties is one transaction" {
	made create-vnic -l eth0 -p maxbw=10M vnic1
	refused 1 "vnic1: parent eth0 has MTU 1500, asked for 9000" set-linkprop -p maxbw=20M,mtu=9000 vnic1
	is max=10M "$(vnic vnic1 bandwidth)"
	in_ns h tc class show dev vnic1 | grep -q 'rate 10Mbit'
	good set-linkprop -p maxbw=20M,mtu=1400 vnic1
	in_ns h tc class show dev vnic1 | grep -q 'rate 20Mbit'
	is 1400 "$(link vnic1 mtu)"
}

@test "show-vnic: what it prints on request, in any case, dladm's names too" {
	made create-vnic -l eth0 -m 2:8:20:1:2:3 -p maxbw=5,maxbw-rx=1.5M vnic1
	good show-vnic -o Link,SPEED,mtu,Zone,state,enforcer,why,macaddress,MACADDRTYPE,vid vnic1
	is 'vnic1     5 1500 --   up    vnic     --  02:08:20:01:02:03 fixed        --' "${lines[1]}"
	is "$(in_ns h ip -j link show vnic1 | jq '.[0].ifindex')" "$(vnic vnic1 ifindex)"
	is 'max=5M,rx=1.5M' "$(vnic vnic1 bandwidth)"
	good show-vnic -l eth0
	matches '^vnic1 eth0 fixed   02:08:20:01:02:03 max=5M,rx=1.5M --$' "${lines[1]}"
	good show-vnic -l bge1
	is '' "$output"
}

@test "show-vnic -j: numbers as numbers, bits/s, every key" {
	made create-vnic -l eth0 -p maxbw=1.5G vnic1
	made create-vnic -l eth0 vnic2
	run --separate-stderr adm show-vnic -j
	is 1500000000,1500000000,1500000000,1500,null "$(jq -r '.[0] | [.speed, .maxbw_rx, .maxbw_tx, .mtu, .zone] | map(tostring) | join(",")' <<<"$output")"
	is null,null,null "$(jq -r '.[1] | [.maxbw_rx, .maxbw_tx, .bandwidth] | map(tostring) | join(",")' <<<"$output")"
	is "$(jq -c '.[0] | keys' <<<"$output")" "$(jq -c '.[1] | keys' <<<"$output")"
	# The parent's where there is no cap.
	is 10000000000 "$(jq '.[1].speed' <<<"$output")"
}

@test "help, help VERB and VERB --help need no daemon" {
	export VNICD_SOCKET=/nonexistent
	good help
	matches 'create-vnic -l LINK' "$output"
	good help set-linkprop
	matches '^usage: vnicadm set-linkprop' "$output"
	good set-linkprop --help
	matches '^usage: vnicadm set-linkprop' "$output"
	good --help
}

@test "VNICs are in the order they were made, zones apart from links of the same name elsewhere" {
	for n in 3 1 2; do made create-vnic -l eth0 vnic$n; done
	is 'vnic3 vnic1 vnic2' "$(adm show-vnic -j | jq -r '[.[].link] | join(" ")')"
}
