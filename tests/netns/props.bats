#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck disable=SC2154 # bats sets output, stderr and status
# Properties: what they take and refuse, what show-linkprop says of them, what they do; caps in the counters.

load say.bash

setup_file() {
	vt_begin
	vt_wire
	vt_zone z1
	mute z1
	mute p
	vt_daemon
}
teardown_file() { vt_cleanup; }
teardown() { delete_all; }

# shell: the rate of the classes in the trees of a VNIC of the host and of its ifb: rates NAME
rates() {
	local ifb

	in_ns h tc class show dev "$1" | sed -n 's/.* 7fd0:1 .* rate \([^ ]*\) ceil.*/tx \1/p'
	for ifb in $(in_ns h ip -j link show type ifb | jq -r '.[].ifname // empty'); do
		in_ns h tc class show dev "$ifb" | sed -n 's/.* 7fd0:1 .* rate \([^ ]*\) ceil.*/rx \1/p'
	done
}

@test "maxbw: every form that is taken, as it is printed and as the kernel has it" {
	made create-vnic -l eth0 vnic1
	while read -r given shown kernel; do
		good set-linkprop -p "maxbw=$given" vnic1
		is "$shown" "$(prop vnic1 maxbw value)" "$given"
		is "max=$shown" "$(vnic vnic1 bandwidth)" "$given"
		is "tx $kernel rx $kernel" "$(rates vnic1 | tr '\n' ' ' | sed 's/ $//')" "$given"
	done <<-END
		100M 100M 100Mbit
		1.5G 1.5G 1500Mbit
		64K 64K 64Kbit
		100 100M 100Mbit
		0.5 500K 500Kbit
		2g 2G 2Gbit
		64k 64K 64Kbit
		20m 20M 20Mbit
		100mbit 100M 100Mbit
		10Mbit 10M 10Mbit
		1gbit 1G 1Gbit
		1000M 1G 1Gbit
		400G 400G 400Gbit
		10% 10% 1Gbit
	END
}

@test "maxbw: each wrong form has its own answer, and nothing changes" {
	made create-vnic -l eth0 -p maxbw=7M vnic1
	while IFS='|' read -r given answer; do
		refused 1 "vnic1: maxbw: $given: $answer" set-linkprop -p "maxbw=$given" vnic1
	done <<-'END'
		0|say none for no limit, or blocked to drop everything
		0%|say none for no limit, or blocked to drop everything
		10MB|bytes are not meant here: say 80M for 80 Mbit/s
		1GB|bytes are not meant here: say 8G for 8 Gbit/s
		10Mi|powers of 1024 are not meant here: say 10485.76K for 10485.76 Kbit/s
		63K|out of range: 64K to 400G
		401G|out of range: 64K to 400G
		0.01|out of range: 64K to 400G
		101%|a share is a whole number from 1% to 100%
		2.5%|a share is a whole number from 1% to 100%
		fast|not a bandwidth: say a rate like 100M, 1.5G or 64K (bit/s; a bare number is Mbit/s), a share like 25%, none or blocked
		-5M|not a bandwidth: say a rate like 100M, 1.5G or 64K (bit/s; a bare number is Mbit/s), a share like 25%, none or blocked
		10T|not a bandwidth: say a rate like 100M, 1.5G or 64K (bit/s; a bare number is Mbit/s), a share like 25%, none or blocked
	END
	is max=7M "$(vnic vnic1 bandwidth)"
	is "tx 7Mbit rx 7Mbit" "$(rates vnic1 | tr '\n' ' ' | sed 's/ $//')"
}

@test "maxbw-rx and maxbw-tx override one direction, none lifts it, reset gives it back" {
	made create-vnic -l eth0 -p maxbw=100M,maxbw-rx=10M vnic1
	is max=100M,rx=10M "$(vnic vnic1 bandwidth)"
	is "tx 100Mbit rx 10Mbit" "$(rates vnic1 | xargs)"
	good set-linkprop -p maxbw-tx=5M vnic1
	is max=100M,rx=10M,tx=5M "$(vnic vnic1 bandwidth)"
	is "tx 5Mbit rx 10Mbit" "$(rates vnic1 | xargs)"
	good set-linkprop -p maxbw-rx=none vnic1
	is max=100M,rx=none,tx=5M "$(vnic vnic1 bandwidth)"
	is "tx 5Mbit" "$(rates vnic1 | xargs)"
	is "none" "$(prop vnic1 maxbw-rx effective)"
	good reset-linkprop -p maxbw-rx,maxbw-tx vnic1
	is "tx 100Mbit rx 100Mbit" "$(rates vnic1 | xargs)"
	is 100M "$(prop vnic1 maxbw-tx effective)"
	good reset-linkprop vnic1
	is -- "$(vnic vnic1 bandwidth)"
	is '' "$(rates vnic1)"
}

@test "-p: several in one word, repeated, twice the same, without a value" {
	made create-vnic -l eth0 -p maxbw=10M,maxbw-rx=5M -p mtu=1400 vnic1
	is max=10M,rx=5M "$(vnic vnic1 bandwidth)"
	is 1400 "$(link vnic1 mtu)"
	refused 1 "maxbw: property given twice" set-linkprop -p maxbw=5M -p maxbw=6M vnic1
	refused 1 "'maxbw=' has no value: write -p maxbw=VALUE" set-linkprop -p maxbw= vnic1
	# A comma item without = continues the value before it.
	refused 1 "vnic1: maxbw: 5M,6M: not a bandwidth: say a rate like 100M, 1.5G or 64K (bit/s; a bare number is Mbit/s), a share like 25%, none or blocked" \
		set-linkprop -p maxbw=5M,6M vnic1
}

@test "a property that the class has not, that is read-only, that does not exist" {
	made create-vnic -l eth0 vnic1
	good create-etherstub stub0
	refused 1 "eth0: isolate cannot be set on a veth link: only on a VNIC" set-linkprop -p isolate=on eth0
	refused 1 "eth0: zone cannot be set on a veth link: only on a VNIC" set-linkprop -p zone=x eth0
	refused 1 "eth0: mtu is read-only on a veth link: see ip-link(8)" set-linkprop -p mtu=1400 eth0
	refused 1 "eth0: zone cannot be set on a veth link: only on a VNIC" reset-linkprop -p zone eth0
	refused 1 "eth0: zone cannot be set on a veth link: only on a VNIC" show-linkprop -p zone eth0
	refused 1 "lo: maxbw cannot be set on a loopback link: only on a VNIC or a physical link" show-linkprop -p maxbw lo
	refused 1 "stub0: maxbw cannot be set on an etherstub link: only on a VNIC or a physical link" set-linkprop -p maxbw=1M stub0
	refused 1 "stub1: zone cannot be set on an etherstub link: only on a VNIC" create-etherstub -p zone=x stub1
	refused 1 "vnic1: no such property cpus: there are maxbw, maxbw-rx, maxbw-tx, mtu, zone, isolate" set-linkprop -p cpus=1,2 vnic1
	refused 1 "vnic1: no such property maxbv: did you mean maxbw?" set-linkprop -p maxbv=1M vnic1
	is 1500 "$(in_ns h ip -j link show eth0 | jq '.[0].mtu')"
}

@test "show-linkprop: the columns, a row for every property that works, and only those" {
	made create-vnic -l eth0 -p maxbw=25%,maxbw-tx=64K vnic1
	good create-etherstub stub0
	good show-linkprop
	is "LINK PROPERTY PERM VALUE EFFECTIVE DEFAULT POSSIBLE" "$(tr -s ' ' <<<"${lines[0]}")"
	is "$(
		cat <<-'END'
			lo mtu r- 65536 65536 -- 65536
			eth0 maxbw rw -- -- -- 64K-400G,1%-100%,none,blocked
			eth0 maxbw-rx rw -- -- -- 64K-400G,1%-100%,none,blocked
			eth0 maxbw-tx rw -- -- -- 64K-400G,1%-100%,none,blocked
			eth0 mtu r- 1500 1500 -- 1500
			vnic1 maxbw rw 25% 2.5G -- 64K-400G,1%-100%,none,blocked
			vnic1 maxbw-rx rw -- 2.5G -- 64K-400G,1%-100%,none,blocked
			vnic1 maxbw-tx rw 64K 64K -- 64K-400G,1%-100%,none,blocked
			vnic1 mtu rw 1500 1500 1500 68-65535
			vnic1 zone rw -- -- -- names under /run/netns
			vnic1 isolate rw -- off off on,off
			stub0 mtu rw 9000 9000 9000 68-65535
		END
	)" "$(sed 1d <<<"$output" | tr -s ' ')"
	good show-linkprop -p maxbw
	is $'eth0 maxbw\nvnic1 maxbw' "$(sed 1d <<<"$output" | awk '{ print $1, $2 }')"
	refused 1 "no such property colour: there are maxbw, maxbw-rx, maxbw-tx, mtu, zone, isolate" show-linkprop -p colour
	refused 1 "vnic1: no such property colour: there are maxbw, maxbw-rx, maxbw-tx, mtu, zone, isolate" show-linkprop -p colour vnic1
	good show-linkprop -p maxbw-tx,mtu vnic1
	is 'maxbw-tx mtu' "$(sed 1d <<<"$output" | awk '{ print $2 }' | xargs)"
	is '["default","effective","link","perm","possible","property","value"]' \
		"$(adm show-linkprop -j vnic1 | jq -c '.[0] | keys')"
}

@test "mtu and zone: values that are refused" {
	refused 1 "vnic1: mtu: 67 is out of range: 68 to 65535 bytes" create-vnic -l eth0 -p mtu=67 vnic1
	refused 1 "vnic1: mtu: 65536 is out of range: 68 to 65535 bytes" create-vnic -l eth0 -p mtu=65536 vnic1
	refused 1 "vnic1: mtu: 9k is not a number of bytes, 68 to 65535" create-vnic -l eth0 -p mtu=9k vnic1
	refused 1 "vnic1: zone: ../h: give a name under /run/netns, as 'ip netns add NAME' makes it" \
		create-vnic -l eth0 -p zone=../h vnic1
	made create-vnic -l eth0 vnic1
	refused 1 "vnic1: no zone $VT-none: make it with 'ip netns add $VT-none'" set-linkprop -p "zone=$VT-none" vnic1
	is up "$(link vnic1 state)"
}

@test "a percentage is of the parent's speed; without one it is refused" {
	made create-vnic -l eth0 -p maxbw=25% vnic1
	is max=25% "$(vnic vnic1 bandwidth)"
	is 25%,2.5G "$(prop vnic1 maxbw value),$(prop vnic1 maxbw effective)"
	is "tx 2500Mbit rx 2500Mbit" "$(rates vnic1 | xargs)"
	is 2500000000 "$(vnic vnic1 speed)"
	good create-etherstub stub0
	refused 1 "vnic2: stub0 tells no speed now to take a percentage of: give a rate, as maxbw=100M" \
		create-vnic -l stub0 -p maxbw=10% vnic2
}

@test "a percentage follows the parent's speed, also after a restart" {
	in_ns h ip tuntap add mode tap tap0 || skip "no tap in this kernel: no device whose speed can be changed"
	in_ns h ip link set tap0 up
	in_ns h ethtool -s tap0 speed 10000 duplex full || skip "this kernel's tap has a fixed speed"
	made create-vnic -l tap0 -p maxbw=10% vnic1
	made create-vnic -l tap0 -p maxbw-tx=50% vnic2
	is "tx 1Gbit rx 1Gbit" "$(rates vnic1 | xargs)"
	in_ns h ethtool -s tap0 speed 1000 duplex full
	# A card tells of a new speed when its carrier returns.
	in_ns h ip link set tap0 down
	in_ns h ip link set tap0 up
	until_is "tx 100Mbit rx 100Mbit" eval 'rates vnic1 | xargs'
	until_is "tx 500Mbit rx 100Mbit" eval 'rates vnic2 | xargs'
	is 100M "$(prop vnic1 maxbw effective)"
	in_ns h ethtool -s tap0 speed 100 duplex full
	vt_daemon_restart
	is "tx 10Mbit rx 10Mbit" "$(rates vnic1 | xargs)"
	is 10M "$(prop vnic1 maxbw effective)"
	delete_all
	in_ns h ip link del tap0
}

@test "IPACKETS and OPACKETS count pings exactly, with and without a cap" {
	local before after

	for cap in '' maxbw=100M; do
		quiet_vnic vnic1 "$cap"
		before=$(counters vnic1)
		in_ns p ping -q -c 50 -i 0.002 -s 100 -W 2 10.99.0.9
		after=$(counters vnic1)
		# 142 bytes each: 100 + 8 ICMP + 20 IP + 14 Ethernet.
		is "50 7100 0 0 50 7100 0 0" "$(delta "$before" "$after")" "cap: ${cap:-none}"
		adm delete-vnic vnic1
	done
}
delta() { paste <(xargs -n1 <<<"$1") <(xargs -n1 <<<"$2") | awk '{ print $2 - $1 }' | xargs; }

@test "blocked drops everything both ways, and each drop counts; nothing passes, nothing is let through on lifting" {
	quiet_vnic vnic1 maxbw=blocked
	is blocked "$(vnic vnic1 bandwidth)"
	run in_ns p ping -q -c 20 -i 0.002 -W 0.2 10.99.0.9
	matches ' 0 received' "$output"
	datagrams z1 30 100 10.99.0.1
	is 20 "$(counter vnic1 idrops)"
	is 30 "$(counter vnic1 odrops)"
	is '0 0' "$(adm show-link -s -j vnic1 | jq -r '"\(.ierrors) \(.oerrors)"')"
	good set-linkprop -p maxbw=10M vnic1
	in_ns p ping -q -c 5 -i 0.002 -W 2 10.99.0.9
	in_ns z1 ping -q -c 5 -i 0.002 -W 2 10.99.0.1
	is '20 30' "$(counter vnic1 idrops) $(counter vnic1 odrops)"
}

@test "blocked one way: replies cannot leave, or requests cannot come" {
	quiet_vnic vnic1 maxbw-tx=blocked
	is tx=blocked "$(vnic vnic1 bandwidth)"
	run in_ns p ping -q -c 10 -i 0.002 -W 0.2 10.99.0.9
	matches ' 0 received' "$output"
	# Counted as they came in, dropped as they went out.
	is '10 0 10' "$(adm show-link -s -j vnic1 | jq -r '"\(.ipackets) \(.idrops) \(.odrops)"')"
	adm delete-vnic vnic1
	quiet_vnic vnic1 maxbw-rx=blocked
	run in_ns z1 ping -q -c 10 -i 0.002 -W 0.2 10.99.0.1
	matches ' 0 received' "$output"
	is '10 10' "$(adm show-link -s -j vnic1 | jq -r '"\(.idrops) \(.opackets)"')"
}

@test "what the cap drops counts: every frame sent either came in or is in IDROPS; the same out" {
	quiet_vnic vnic1 maxbw=64K
	datagrams p 200 1400 10.99.0.9
	# Whatever still waits under the cap comes within seconds.
	until_is 200 eval 'adm show-link -s -j vnic1 | jq ".ipackets + .idrops"'
	[ "$(counter vnic1 idrops)" -gt 150 ]
	[ "$(counter vnic1 ipackets)" -ge 10 ]
	adm delete-vnic vnic1
	quiet_vnic vnic1 maxbw-tx=64K
	datagrams z1 200 1400 10.99.0.1
	until_is 200 eval 'adm show-link -s -j vnic1 | jq ".opackets + .odrops"'
	[ "$(counter vnic1 odrops)" -gt 150 ]
	is 0 "$(counter vnic1 idrops)"
}

@test "counters do not fall when a cap comes, changes and goes, at both of its ends" {
	local old new

	quiet_vnic vnic1 maxbw=64K
	datagrams p 100 1400 10.99.0.9
	until_is 100 eval 'adm show-link -s -j vnic1 | jq ".ipackets + .idrops"'
	old=$(counters vnic1)
	[ "$(counter vnic1 idrops)" -gt 50 ]
	for caps in maxbw=none maxbw=20M maxbw=blocked maxbw=1M,maxbw-rx=none maxbw=100,maxbw-rx=50; do
		good set-linkprop -p $caps vnic1
		new=$(counters vnic1)
		not_less "$old" "$new"
		in_ns p ping -q -c 2 -i 0.002 -W 0.1 10.99.0.9 || true
		old=$(counters vnic1)
		not_less "$new" "$old"
	done
}
