#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck disable=SC2154 # bats sets output, stderr and status
# What a VNIC can go over and what it cannot, its MAC, the links that are shown, and the parent that stays as it was.

load say.bash

setup_file() {
	vt_begin
	vt_wire
	in_ns h ip link add br0 up type bridge
	ip link add port0 netns "${VT}h" up type veth peer name pport0 netns "${VT}p"
	in_ns h ip link set port0 master br0
	in_ns p ip link set pport0 up
	vt_zone z1
	vt_daemon
}
teardown_file() { vt_cleanup; }
teardown() { delete_all; }

@test "a bridge port is refused with the way out; the bridge itself is a parent" {
	refused 1 "port0 is a port of br0: use -l br0" create-vnic -l port0 vnic1
	refused 1 "port0 is a port of br0: use -l br0" show-phys port0
	made create-vnic -l br0 vnic1
	is br0 "$(vnic vnic1 over)"
	matches 'vnic1@br0' "$(in_ns h ip link show vnic1)"
}

@test "a bond's slave is refused with the way out" {
	in_ns h ip link add bond0 type bond || skip "no bond in this kernel"
	ip link add s0 netns "${VT}h" type veth peer name ps0 netns "${VT}p"
	in_ns h ip link set s0 master bond0
	refused 1 "s0 is a slave of bond0: use -l bond0" create-vnic -l s0 vnic1
	in_ns h ip link del s0
	in_ns h ip link del bond0
}

@test "a VNIC over a VNIC is refused with the way out, also over one that went into a zone" {
	made create-vnic -l eth0 vnic1
	refused 1 "vnic1: a VNIC over a VNIC is not possible: use -l eth0" create-vnic -l vnic1 vnic2
	good create-vnic -l eth0 -p "zone=${VT}z1" vnic3
	refused 1 "vnic3: a VNIC over a VNIC is not possible: use -l eth0" create-vnic -l vnic3 vnic2
}

@test "somebody's macvlan, loopback and a link without Ethernet are refused" {
	in_ns h ip link add mv0 link eth0 type macvlan mode bridge
	refused 1 "mv0: a VNIC over a macvlan is not possible: use -l eth0" create-vnic -l mv0 vnic1
	in_ns h ip link del mv0
	refused 1 "lo: the loopback link carries no Ethernet frames: see 'vnicadm show-phys'" create-vnic -l lo vnic1
	in_ns h ip tuntap add mode tun tun0 || skip "no tun in this kernel"
	refused 1 "tun0: not an Ethernet link, as VNICs need: see 'vnicadm show-phys'" create-vnic -l tun0 vnic1
	in_ns h ip link del tun0
}

@test "an alternative name is a LINK for every verb, however long" {
	local alt=a-very-long-alternative-name-of-eth0

	in_ns h ip link property add dev eth0 altname enp3s0f0np0 altname "$alt"
	made create-vnic -l enp3s0f0np0 vnic1
	is eth0 "$(vnic vnic1 over)"
	made create-vnic -l "$alt" vnic2
	is eth0 "$(vnic vnic2 over)"
	for name in enp3s0f0np0 "$alt"; do
		good show-vnic -l "$name" -o link
		is $'LINK\nvnic1\nvnic2' "$output"
		is eth0 "$(adm show-link -j "$name" | jq -r '.[].link')"
		is eth0 "$(adm show-phys -j "$name" | jq -r '.[].link')"
		is eth0 "$(adm show-link -s -j "$name" | jq -r '.link')"
		is eth0 "$(adm show-linkprop -j "$name" | jq -r ".[].link" | sort -u)"
		good set-linkprop -p maxbw=1M "$name"
		is 1M "$(prop eth0 maxbw value)"
		good reset-linkprop -p maxbw "$name"
	done
	in_ns h ip link property del dev eth0 altname enp3s0f0np0 altname "$alt"
	in_ns h ip link property add dev vnic1 altname web-front-end-0
	good set-linkprop -p maxbw=5M web-front-end-0
	is max=5M "$(vnic web-front-end-0 bandwidth)"
	good delete-vnic web-front-end-0
	run ! in_ns h ip link show vnic1
}

@test "any existing name is a LINK: no rule of ours for names of others" {
	in_ns h ip link add br-lan up type bridge
	made create-vnic -l br-lan vnic1
	is br-lan "$(vnic vnic1 over)"
	adm delete-vnic vnic1
	in_ns h ip link del br-lan
}

# How often a link of that name is in the rows of a show's JSON, or of show-link -s.
rows_of() { adm "$1" -j | jq "[.[] | select(.link == \"$2\")] | length"; }

@test "names of others' links that are no text, or speak to a terminal: shown, and used, and harmless" {
	local odd=$'\xff\xfe0' loud=$'l\x1b[31m0' verb

	in_ns h ip link add "$odd" up type veth peer name "$loud"
	for verb in show-link show-phys; do
		vt_until 50 eval "[[ \$(rows_of $verb '??0') == 1 ]]" || is 1 "$(rows_of $verb '??0')" "$verb"
	done
	matches '[?][?]0 ' "$(adm show-link -s)"
	matches 'l[?]\[31m0 ' "$(adm show-link -s)"
	is 1 "$(adm show-linkprop -p mtu -j | jq '[.[] | select(.link == "??0")] | length')"
	made create-vnic -l "$loud" vnic1
	matches 'l[?]\[31m0' "$stderr"
	[[ $stderr != *$'\x1b'* ]]
	in_ns h ip link set "$loud" name eth7
	in_ns h ip link set eth7 name $'\xfe1'
	until_is '?1' vnic vnic1 over
	made set-linkprop -p maxbw=10M vnic1 --dry-run
	good set-linkprop -p maxbw=10M vnic1
	adm delete-vnic vnic1
	in_ns h ip link del $'\xfe1'
}

@test "a name that a zone's user gives, and that is no text or a shell's, is in WHY, and harmless in a dry run" {
	good create-vnic -l eth0 -p "zone=${VT}z1,maxbw=10M" vnic1
	vt_rename z1 vnic1 $'\xff'
	until_is 'others gave it another name: ?' vnic vnic1 why
	vt_rename z1 $'\xff' '$(>HERE)'
	made set-linkprop -p maxbw=20M vnic1 --dry-run
	# Or it would put right what is typed here.
	vt_daemon_stop
	(cd "$BATS_TEST_TMPDIR" && in_ns h sh <<<"$output")
	[[ ! -e $BATS_TEST_TMPDIR/HERE ]]
	matches 'rate 20Mbit ' "$(in_ns z1 tc class show dev '$(>HERE)')"
	vt_daemon
}

@test "MAC: auto and random have our prefix and differ, -r gives another prefix" {
	made create-vnic -l eth0 vnic1
	made create-vnic -l eth0 -m random vnic2
	made create-vnic -l eth0 -m random -r 2:9:a:b:c vnic3
	made create-vnic -l eth0 -r 02:09 vnic4
	for n in 1 2; do
		matches '^02:08:20:' "$(vnic vnic$n macvalue)"
		is random "$(vnic vnic$n mactype)"
	done
	[ "$(vnic vnic1 macvalue)" != "$(vnic vnic2 macvalue)" ]
	matches '^02:09:0a:0b:0c:..$' "$(vnic vnic3 macvalue)"
	matches '^02:09:' "$(vnic vnic4 macvalue)"
	for n in 1 2 3 4; do
		is "$(vnic vnic$n macvalue)" "$(in_ns h ip -j link show vnic$n | jq -r '.[0].address')"
	done
}

@test "MAC: dladm's form is taken, two digits are printed" {
	made create-vnic -l eth0 -m 2:8:20:a:B:0 vnic1
	is fixed "$(vnic vnic1 mactype)"
	is 02:08:20:0a:0b:00 "$(vnic vnic1 macvalue)"
	matches 'link/ether 02:08:20:0a:0b:00 ' "$(in_ns h ip link show vnic1)"
}

@test "MAC: one that is in use on the parent is refused: by a VNIC here or in a zone, the parent, somebody's macvlan" {
	in_ns h ip link add mv0 link eth0 address 02:08:20:00:00:03 type macvlan mode bridge
	made create-vnic -l eth0 -m 2:8:20:0:0:1 vnic1
	good create-vnic -l eth0 -m 2:8:20:0:0:2 -p "zone=${VT}z1" vnic2
	local way="choose another or use -m random"
	refused 1 "vnic9: MAC address 2:8:20:0:0:1 is in use by vnic1: $way" create-vnic -l eth0 -m 2:8:20:0:0:1 vnic9
	refused 1 "vnic9: MAC address 02:08:20:00:00:02 is in use by vnic2: $way" create-vnic -l eth0 -m 02:08:20:00:00:02 vnic9
	refused 1 "vnic9: MAC address 2:8:20:0:0:3 is in use by mv0: $way" create-vnic -l eth0 -m 2:8:20:0:0:3 vnic9
	refused 1 "vnic9: MAC address 2:0:5e:0:0:1 is in use by eth0: $way" create-vnic -l eth0 -m 2:0:5e:0:0:1 vnic9
	# On another parent it is free.
	made create-vnic -l br0 -m 2:8:20:0:0:1 vnic9
	in_ns h ip link del mv0
}

@test "MAC: a random one that is taken is drawn again" {
	local n

	# Five bytes given leave 256 addresses: among 40 two would be the same in 95 of 100 runs.
	for n in {1..40}; do made create-vnic -l eth0 -m random -r 2:9:9:9:9 "vnic$n"; done
	is 40 "$(adm show-vnic -j | jq -r '.[].macvalue' | sort -u | wc -l)"
}

@test "MAC: a group address, zero, a wrong form and a prefix with a fixed one are refused" {
	refused 1 "1:2:3:4:5:6: a group address: the first byte of a VNIC's own is even" create-vnic -l eth0 -m 1:2:3:4:5:6 vnic1
	refused 1 "0:0:0:0:0:0: the zero address is nobody's: say another, auto or random" create-vnic -l eth0 -m 0:0:0:0:0:0 vnic1
	refused 1 "2:8:20: not a MAC address: say six bytes like 2:8:20:1:2:3, auto or random" create-vnic -l eth0 -m 2:8:20 vnic1
	refused 1 "3:9: a prefix of group addresses: its first byte must be even" create-vnic -l eth0 -r 3:9 vnic1
	refused 1 "2:8:20:1:2:3: not a MAC prefix: say one to five bytes like 2:8:20" create-vnic -l eth0 -r 2:8:20:1:2:3 vnic1
	run --separate-stderr adm create-vnic -l eth0 -m 2:8:20:1:2:3 -r 2:8 vnic1
	is 1 "$status"
	is "vnicadm: -r PREFIX is for random addresses: leave it out with -m 2:8:20:1:2:3" "${stderr_lines[0]}"
}

@test "show-link: every link with its class, ours with their own; our ifbs only with -a" {
	made create-vnic -l eth0 -p maxbw=10M vnic1
	good create-etherstub stub0
	good create-vnic -l stub0 -p "zone=${VT}z1" vnic2
	good show-link
	is "$(printf '%s\n' 'lo loopback 65536 unknown --' 'eth0 veth 1500 up ?' 'br0 bridge 1500 up --' 'port0 veth 1500 up ?' \
		'vnic1 vnic 1500 up eth0' 'stub0 etherstub 9000 up --' 'vnic2 vnic 1500 up stub0' | sort)" \
		"$(sed 1d <<<"$output" | tr -s ' ' | sort)"
	good show-link -a
	ifbs=$(awk '$2 == "ifb"' <<<"$output")
	matches '^vi[0-9]+ +ifb +1500' "$ifbs"
	is 1 "$(wc -l <<<"$ifbs")"
	matches '^vnic1 vnic +1500 up' "$(adm show-link vnic1 | sed 1d)"
}

@test "show-link follows what others do: links come, go, change their names" {
	in_ns h ip link add newbr0 type bridge
	until_is bridge link newbr0 class
	until_is down link newbr0 state
	vt_rename h newbr0 newbr1
	until_is bridge link newbr1 class
	refused 1 "newbr0: no such link: did you mean newbr1?" show-link newbr0
	in_ns h ip link del newbr1
	vt_until 100 bash -c "! $VNICADM show-link newbr1"
}

@test "show-phys: what can be a parent, with speed, duplex and device" {
	good show-phys
	is "LINK MEDIA    STATE SPEED DUPLEX  DEVICE" "${lines[0]}"
	is "eth0 Ethernet up    10000 full    eth0" "${lines[1]}"
	is 'br0 eth0' "$(adm show-phys -j | jq -r '[.[].link] | sort | join(" ")')"
	is 10000000000 "$(adm show-phys -j eth0 | jq '.[0].speed')"
	made create-vnic -l eth0 vnic1
	is 'br0 eth0' "$(adm show-phys -j | jq -r '[.[].link] | sort | join(" ")')"
	refused 1 "lo: the loopback link carries no Ethernet frames: see 'vnicadm show-phys'" show-phys lo
}

@test "MTU: a VNIC has its parent's, 1500 on an etherstub of 9000; over the parent's it is refused" {
	made create-vnic -l eth0 vnic1
	is 1500 "$(link vnic1 mtu)"
	refused 1 "vnic2: parent eth0 has MTU 1500, asked for 1501" create-vnic -l eth0 -p mtu=1501 vnic2
	refused 1 "vnic1: parent eth0 has MTU 1500, asked for 9000" set-linkprop -p mtu=9000 vnic1
	good create-etherstub stub0
	is 9000 "$(link stub0 mtu)"
	is 9000 "$(in_ns h ip -j link show stub0 | jq '.[0].mtu')"
	good create-vnic -l stub0 vnic3
	is 1500 "$(in_ns h ip -j link show vnic3 | jq '.[0].mtu')"
	good create-vnic -l stub0 -p mtu=9000 vnic4
	is 9000 "$(in_ns h ip -j link show vnic4 | jq '.[0].mtu')"
	refused 1 "vnic5: parent stub0 has MTU 9000, asked for 9001" create-vnic -l stub0 -p mtu=9001 vnic5
	refused 1 "stub0: vnic4 on it has MTU 9000, asked for 8999: lower that first" set-linkprop -p mtu=8999 stub0
	good create-etherstub -p mtu=1600 stub1
	is 1600 "$(in_ns h ip -j link show stub1 | jq '.[0].mtu')"
}

@test "MTU: the parent's going down takes the VNIC's along, and EFFECTIVE says so" {
	made create-vnic -l eth0 -p mtu=1450 vnic1
	in_ns h ip link set eth0 mtu 1400
	until_is 1400 link vnic1 mtu
	is 1450,1400 "$(prop vnic1 mtu value),$(prop vnic1 mtu effective)"
	in_ns h ip link set eth0 mtu 1500
	until_is 1500 link eth0 mtu
	is "$(in_ns h ip -j link show vnic1 | jq -r '.[0].mtu')" "$(prop vnic1 mtu effective)"
	good set-linkprop -p mtu=1450 vnic1
	is 1450 "$(in_ns h ip -j link show vnic1 | jq '.[0].mtu')"
}

@test "the parent's own qdiscs, filters, addresses and MTU are as they were before, meanwhile and after" {
	local before with

	in_ns h ip addr add 10.9.8.7/24 dev eth0
	in_ns h ip link set eth0 mtu 1480
	in_ns h tc qdisc add dev eth0 root handle 5: htb default 1
	in_ns h tc class add dev eth0 parent 5: classid 5:1 htb rate 1gbit
	in_ns h tc filter add dev eth0 parent 5: prio 7 protocol all bpf bytecode '1,6 0 0 0,' flowid 5:1
	before=$(link_dump eth0)
	made create-vnic -l eth0 -p maxbw=10M vnic1
	made create-vnic -l eth0 -p maxbw=blocked vnic2
	made create-vnic -l eth0 vnic3
	with=$(link_dump eth0 | foreign clsact)
	adm delete-vnic vnic1 vnic2 vnic3
	is "$before" "$(link_dump eth0)" after
	is "$before" "$with" meanwhile
	in_ns h tc qdisc del dev eth0 root
	in_ns h ip addr del 10.9.8.7/24 dev eth0
	in_ns h ip link set eth0 mtu 1500
}

@test "somebody's clsact and its filters on the parent stay, and still see every frame of a capped VNIC" {
	local before got

	mute z1
	mute p
	in_ns h tc qdisc add dev eth0 clsact
	# What goes to UDP port 7 goes astray, unless our program sees it first.
	in_ns h tc filter add dev eth0 ingress prio 7 protocol ip bpf bytecode \
		'4,40 0 0 36,21 0 1 7,6 0 0 4294967295,6 0 0 0,' action mirred egress redirect dev lo
	before=$(link_dump eth0)
	quiet_vnic vnic1 maxbw=100M
	is "$before" "$(link_dump eth0 | foreign)" meanwhile
	got=$(counter vnic1 ipackets)
	datagrams p 10 100 10.99.0.9 7
	datagrams p 20 100 10.99.0.9 9
	until_is $((got + 20)) counter vnic1 ipackets
	adm delete-vnic vnic1
	is "$before" "$(link_dump eth0)" after
	in_ns h tc qdisc del dev eth0 clsact
}
# Without filters that are ours, as their priority (7fd0, 7fd1) tells; and without the clsact that kernels before tcx
# need for them, where it is ours, too.
foreign() { awk -v ours="${1:-none}" '/^[^ \t]/ { drop = / pref 3272[01] / || $2 == ours } !drop'; }

@test "an uncapped VNIC and its parent have the qdiscs, hooks and filters of a bare macvlan: none" {
	in_ns h ip link add mv0 link eth0 up type macvlan mode bridge
	made create-vnic -l eth0 vnic1
	is "$(in_ns h tc qdisc show dev mv0 | sed s/mv0/vnic1/)" "$(in_ns h tc qdisc show dev vnic1)"
	is '' "$(in_ns h tc filter show dev vnic1 ingress)$(in_ns h tc filter show dev vnic1 egress)"
	is '' "$(in_ns h ip -j link show type ifb | jq -r '.[].ifname // empty')"
	is '' "$(find "$VT_DIR/bpf" -name 'vnic-*' -o -name 'hook-*')"
	is '[]' "$(in_ns h bpftool -j net show | jq -c '[.[0] | .tc[], .xdp[]]')"
	# A cap makes them, its going takes them away.
	good set-linkprop -p maxbw=10M vnic1
	[ "$(find "$VT_DIR/bpf" -name 'vnic-*' -o -name 'hook-*' | wc -l)" = 2 ]
	matches 'qdisc htb 7fd0:' "$(in_ns h tc qdisc show dev vnic1)"
	good set-linkprop -p maxbw=none vnic1
	is "$(in_ns h tc qdisc show dev mv0 | sed s/mv0/vnic1/)" "$(in_ns h tc qdisc show dev vnic1)"
	is '' "$(in_ns h ip -j link show type ifb | jq -r '.[].ifname // empty')"
	is '' "$(find "$VT_DIR/bpf" -name 'vnic-*' -o -name 'hook-*')"
	in_ns h ip link del mv0
}

@test "a VNIC with an address in its parent's subnet and namespace: WHY and one line in the log, gone with the address" {
	local text="has an address in the subnet and namespace of eth0: traffic between them bypasses it, uncapped (use -p zone=NAME or isolate=on)"

	in_ns h ip addr add 10.96.0.1/24 dev eth0
	in_ns h ip addr add fd96::1/64 dev eth0 nodad
	made create-vnic -l eth0 vnic1
	is -- "$(vnic vnic1 why)"
	for address in 10.96.0.9/24 fd96::9/64; do
		: >"$VT_DIR/log"
		in_ns h ip addr add $address dev vnic1
		until_is "$text" vnic vnic1 why
		is "$text" "$(link vnic1 why)"
		is "vnicd: warning: vnic1: $text" "$(grep warning "$VT_DIR/log")"
		in_ns h ip addr del $address dev vnic1
		until_is -- vnic vnic1 why
	done
	# Another subnet is no reason, until the parent gets an address in it.
	in_ns h ip addr add 10.95.0.9/24 dev vnic1
	good show-vnic
	is -- "$(vnic vnic1 why)"
	in_ns h ip addr add 10.95.0.1/24 dev eth0
	until_is "$text" vnic vnic1 why
	in_ns h ip addr flush dev eth0
	until_is -- vnic vnic1 why
}

# Old kernels rename no link that is up.
rename() {
	in_ns h ip link set "$1" name "$2" 2>/dev/null && return
	in_ns h ip link set "$1" down
	in_ns h ip link set "$1" name "$2" up
}

@test "a parent that gets another name: its VNICs, caps and orders go on, also after a restart" {
	made create-vnic -l br0 -p maxbw=10M vnic1
	good create-vnic -l br0 -p "maxbw=10M,zone=${VT}z1" vnic2
	rename br0 lan-bridge
	until_is lan-bridge vnic vnic1 over
	is lan-bridge "$(vnic vnic2 over)"
	: >"$VT_DIR/log"
	vt_daemon_restart
	matches 'with 0 modifying acts' "$(cat "$VT_DIR/log")"
	is 'lan-bridge up' "$(vnic vnic2 over) $(vnic vnic2 state)"
	# The hook and its entries are found under the new name: the last cap takes them along.
	good set-linkprop -p maxbw=none vnic1
	good set-linkprop -p maxbw=none vnic2
	is '' "$(in_ns h ip -j link show type ifb | jq -r '.[].ifname // empty')"
	is '' "$(find "$VT_DIR/bpf" -name 'vnic-*' -o -name 'hook-*')"
	delete_all
	rename lan-bridge br0
	until_is bridge link br0 class
}
