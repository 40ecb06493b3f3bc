#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# Flows on a VNIC: made, changed, counted, capped within their link, kept over everything that happens to it.

load common
load say

setup_file() {
	vt_begin
	vt_wire 1500
	vt_zone z1
	vt_zone z2
	start A=
	control_make
}
teardown_file() { vt_cleanup; }

setup() {
	delete_all
	adm create-vnic -l eth0 -m 2:8:20:0:0:1 -p "maxbw=100M,zone=${VT}z1" vnic1
	vt_addr z1 vnic1 10
}

# What flowadm says, and its status: no STATUS TEXT COMMAND...
no() {
	local out status=0

	out=$(flow "${@:3}" 2>&1) || status=$?
	is "$1" "$status" "$out"
	is "flowadm: $2" "$out"
}
# A field of the one flow of that name: field NAME FIELD
field() { flow show-flow -j -o "$2" "$1" | jq -r '.[0] | to_entries[0].value // "--"'; }
# A counter: count FLOW KEY
count() { flow show-flow -s -j | jq -r --arg f "$1" "select(.flow == \$f) | .$2"; }
# Classes of flows in a zone's VNIC: ceilings by minor number
ceilings() { in_ns "$1" tc class show dev "$2" | sed -n 's/.*htb 7fd0:\([0-9a-f]*\) parent 7fd0:[234] .* ceil \([^ ]*\) .*/\1 \2/p' | sort; }
ifb() { in_ns h ip -j link show type ifb | jq -r '.[].ifname' | head -1; }

@test "lines that must work word for word, and what they show" {
	flow create-flow -l vnic1 transport=tcp,local_port=443 -p maxbw=50M https1
	flow add-flow -l vnic1 -a protocol=udp,remote_ip=10.99.0.0/24,dscp=ef -p maxbw=10M voice
	flow set-flowprop -l vnic1 -p maxbw=20M https1
	is 'https1:vnic1:tcp::443:::' "$(flow show-flow -p -o flow,link,proto,laddr,lport,raddr,rport,dsfld https1)"
	is 'voice:udp:10.99.0.0/24:0xb8\:0xfc' "$(flow show-flow -p -o flow,proto,raddr,dsfld voice)"
	is 20M "$(flow show-flowprop -c -o value -p maxbw https1)"
	is 'max=20M' "$(field https1 bandwidth)"
	is $'14 20Mbit\n17 10Mbit' "$(ceilings z1 vnic1)"
	is $'14 20Mbit\n17 10Mbit' "$(ceilings h "$(ifb)")"
	is "$(printf 'https1 some\n- some')" "$(flow match-flow -l vnic1 transport=tcp -o flow,verdict | tail -n +2 | tr -s ' ' | sed 's/ $//')"
	flow remove-flow -l vnic1
	is '' "$(flow show-flow -p -o flow)"
	is '' "$(ceilings z1 vnic1)"
	is 7fd0:1 "$(in_ns z1 tc class show dev vnic1 | sed -n 's/^class htb \(7fd0:[^f ]*\) .*/\1/p')"
}

@test "refused with the reason and the holder, and nothing changed" {
	flow create-flow -l vnic1 transport=tcp,local_port=443 https1
	no 1 'https1: a flow of that name exists, on vnic1' create-flow -l vnic1 transport=tcp,local_port=80 https1
	no 1 'other: https1 on vnic1 has the same attributes' create-flow -l vnic1 local_port=443,transport=tcp other
	no 1 'vnic9: no such link: did you mean vnic1?' create-flow -l vnic9 transport=tcp other
	no 1 "lo: the loopback link has no caps and no flows: see 'vnicadm show-phys'" create-flow -l lo transport=tcp other
	no 1 'https2: no such flow: did you mean https1?' delete-flow https2
	no 1 'https1: no such property maxbv: did you mean maxbw?' set-flowprop -p maxbv=1M https1
	is 'https1' "$(flow show-flow -p -o flow)"
	is 'transport=tcp,local_port=443' "$(field https1 attributes)"
}

@test "each frame counts for one flow: the most specific, or that of the lowest rank; the rest counts too" {
	flow create-flow -l vnic1 transport=icmp pings
	flow create-flow -l vnic1 transport=icmp,remote_ip=10.99.0.1 near
	in_ns z1 ping -q -c 5 -i 0.05 10.99.0.1 >/dev/null
	is '5 5 490 490' "$(count near ipackets) $(count near opackets) $(count near rbytes) $(count near obytes)"
	is '0 0' "$(count pings ipackets) $(count pings opackets)"
	flow set-flowprop -p rank=1 pings
	in_ns z1 ping -q -c 3 -i 0.05 10.99.0.1 >/dev/null
	is '3 5' "$(count pings opackets) $(count near opackets)"
	is 'pings near -' "$(flow show-flow -s -j | jq -r .flow | tr '\n' ' ' | sed 's/ $//')"
	# With a class of its own it goes on counting, and without one again.
	flow set-flowprop -p maxbw=10M pings
	in_ns z1 ping -q -c 4 -i 0.05 10.99.0.1 >/dev/null
	is '7 7 686' "$(count pings opackets) $(count pings ipackets) $(count pings obytes)"
	flow reset-flowprop -p maxbw pings
	in_ns z1 ping -q -c 2 -i 0.05 10.99.0.1 >/dev/null
	is '9 9' "$(count pings opackets) $(count pings ipackets)"
}

@test "the rest is counted from a link's first flow on, and anew when all were gone" {
	local n

	for n in 5 8 3; do
		printf 'create-flow -l vnic1 %s\n' 'ethertype=arp arps' 'transport=icmpv6 discovery' | flow -b -
		in_ns z1 ping -q -c "$n" -i 0.02 10.99.0.1 >/dev/null
		is "$n" "$(count - opackets)"
		flow delete-flow -l vnic1
		is '' "$(flow show-flow -s -j)"
	done
}

@test "blocked: dropped and counted, both ways; the others pass" {
	flow create-flow -l vnic1 transport=icmp -p maxbw=blocked pings
	if in_ns z1 ping -q -c 3 -i 0.05 -W 1 10.99.0.1 >/dev/null; then complain "a blocked ping went through"; fi
	# ping sends again what was dropped at once
	is 0 "$(count pings opackets)"
	(($(count pings odrops) >= 3)) || complain "$(flow show-flow -s)"
	in_ns p ping -q -c 2 -i 0.05 -W 1 10.99.0.10 >/dev/null || true
	is '0 2' "$(count pings ipackets) $(count pings idrops)"
	flow set-flowprop -p maxbw=none pings
	in_ns z1 ping -q -c 2 -i 0.05 -W 1 10.99.0.1 >/dev/null
	is '2 2' "$(count pings opackets) $(count pings ipackets)"
}

@test "what a flow's cap drops the flow counts, and its link does not" {
	flow create-flow -l vnic1 transport=udp,remote_port=9 -p maxbw=64K dgrams
	datagrams z1 200 1400 10.99.0.1
	vt_until 100 eval '(($(count dgrams opackets) + $(count dgrams odrops) == 200))' || complain "$(flow show-flow -s)"
	(($(count dgrams odrops) > 150))
	is '0 0' "$(adm show-link -s -j vnic1 | jq -r '"\(.odrops) \(.idrops)"')"
}

# Sends vnic1 a frame from the wire, as it is: frame HEX, from its Ethernet type on
# shellcheck disable=SC2016 # perl's
frame() {
	in_ns p perl -e 'socket(my $s, 17, 3, 0) or die $!;
		send($s, pack("H*", $ARGV[1]), 0, pack("S n l S C C a8", 17, 0, $ARGV[0], 0, 0, 6, "")) or die $!' \
		"$(in_ns p ip -o link show peer0 | cut -d: -f1)" "020820000001""02005e000002$1"
}
odd() { flow show-flow -s -p -o flow,fragments,unparsed | xargs; }

@test "fragments without a first one, and packets dropped as nothing can be told of them, are shown with the remainder" {
	# A later fragment of UDP; a header of IPv4 that is cut off.
	local cut=08004500002412340000
	local later=08004500002412340010401100000a6300010a63000a00000000000000000000000000000000

	flow create-flow -l vnic1 transport=udp dgrams
	frame $later
	frame $cut
	until_is 'dgrams:: -:1:0' odd
	is '2 0' "$(count - ipackets) $(count dgrams ipackets)"
	# Where UDP is blocked they may be UDP.
	flow set-flowprop -p maxbw=blocked dgrams
	frame $later
	frame $cut
	frame $cut
	until_is 'dgrams:: -:2:3' odd
	is '2 0 0' "$(count - ipackets) $(count - idrops) $(count dgrams idrops)"
	is '{"flow":"-","fragments":2,"unparsed":3}' "$(flow show-flow -s -j -o flow,fragments,unparsed | jq -c . | tail -1)"
	stop
	start A=
	is 'dgrams:: -:2:3' "$(odd)"
}

# What came in and went out since the last time, of the flows of pings and of the rest: pinged IN-FLOW OUT-FLOW
pinged() {
	local before after

	before=$(by_flow)
	in_ns z1 ping -q -c 3 -i 0.02 -W 1 10.99.0.1 >/dev/null
	after=$(by_flow)
	is "$1 $2" "$(join -j 1 <(echo "$before") <(echo "$after") | awk '$4 - $2 == 3 { i = i $1 } $5 - $3 == 3 { o = o $1 } END { print i, o }')" "${*:3}: $before then $after"
}
by_flow() { flow show-flow -s -j -l vnic1 | jq -r '"\(.flow) \(.ipackets) \(.opackets)"' | sort; }
winner() { flow match-flow -l vnic1 -p -o flow transport=icmp,remote_ip=10.99.0.1,direction="$1" | head -1; }

# Two flows that differ in direction only have rules in common; whichever goes or changes, the other's packets stay its.
twins() {
	# Nothing but pings.
	in_ns z1 sysctl -qw net.ipv6.conf.vnic1.disable_ipv6=1
	knows z1 vnic1 10.99.0.1 02:00:5e:00:00:02
	knows p peer0 10.99.0.10 02:08:20:00:00:01
	flow create-flow -l vnic1 transport=icmp both
	pinged both both alone
	flow create-flow -l vnic1 transport=icmp,direction=in inward
	pinged inward both 'the narrow one comes'
	is 'inward both' "$(winner in) $(winner out)"
	flow set-flowprop -p rank=9 both
	pinged both both 'the wide one is ranked'
	is 'both both' "$(winner in) $(winner out)"
	flow set-flowprop -p rank=9 inward
	pinged inward both 'both are'
	flow set-flowprop -p maxbw=20M,priority=high both
	pinged inward both 'the wide one has a class'
	flow reset-flowprop -p rank inward
	pinged both both 'the narrow one is not any more'
	flow set-flowprop -p rank=1 inward
	flow delete-flow both
	pinged inward - 'the wide one is gone'
	is 'inward -' "$(winner in) $(winner out)"
	flow create-flow -l vnic1 transport=icmp both
	pinged inward both 'and back'
	printf '%s\n' 'delete-flow inward' 'create-flow -l vnic1 transport=icmp,direction=out outward' | flow -b -
	pinged both outward 'the other way round'
	stop
	start A=
	pinged both outward 'a new daemon'
	flow delete-flow outward
	pinged both both 'the narrow one is gone'
	flow delete-flow both
}

@test "two flows that differ in direction only: what is done to one leaves the other its packets" {
	adm reset-linkprop -p maxbw vnic1
	twins
	is '' "$(flow show-flow -p -o flow)"
}

@test "the same beside other flows, on a capped link" {
	flow create-flow -l vnic1 transport=tcp web
	flow create-flow -l vnic1 remote_ip=10.99.0.0/24,direction=in -p priority=low near
	flow create-flow -l vnic1 transport=icmp,remote_ip=10.99.0.77 other
	in_ns z1 ping -q -c 1 -W 1 10.99.0.1 >/dev/null
	flow delete-flow near
	twins
	is 'other web' "$(flow show-flow -p -o flow | sort | xargs)"
}

capped_both_ways() {
	streams 4 "flow-out z1 p 10.99.0.1 5301 tcp4 20M" "flow-in p z1 10.99.0.10 5302 tcp4 30M"
}

@test "a flow has its cap within its link's, out and in" {
	flow create-flow -l vnic1 transport=tcp,remote_port=5301 -p maxbw=20M up
	flow create-flow -l vnic1 transport=tcp,local_port=5302 -p maxbw=30M down
	measured capped_both_ways
}

nested() { streams 4 "flow-out z1 p 10.99.0.1 5301 tcp4 10M"; }

@test "no flow passes its link's cap; without one its own holds alone" {
	adm set-linkprop -p maxbw=10M vnic1
	flow create-flow -l vnic1 transport=tcp,remote_port=5301 -p maxbw=50M up
	is 10Mbit "$(ceilings z1 vnic1 | cut -d' ' -f2)"
	is 10M "$(flow show-flowprop -c -o effective -p maxbw up)"
	measured nested
	flow set-flowprop -p maxbw=10M up
	adm reset-linkprop -p maxbw vnic1
	measured nested
}

# Four streams fight; for two seconds in their midst the share of each in 100M: NAME RATIO. Their tenth is never kept from
# the lower ones; that the high one gets all that is left needs a machine that keeps its stream up.
levels() {
	local port before

	for port in 1 2 3 4; do
		serve p "$VT_DIR/level.$port" 530$port
		vt_bg in_ns_to "$VT_DIR/level.$port.client" z1 iperf3 -c 10.99.0.1 -p 530$port -t 6 -C cubic
	done
	sleep 2.5
	before=$(flow show-flow -s -j | jq -c '[.flow, .time, .obytes]')
	sleep 2
	flow show-flow -s -j | jq -c '[.flow, .time, .obytes]' | paste -d' ' <(echo "$before") - |
		sed 's/[][",]/ /g' | awk '{ print $1, ($6 - $3) * 8e9 / ($5 - $2) / 1e8 }' >"$VT_DIR/levels"
	while read -r name share; do
		case $name in
		high) figure high "$share" 0.5 0.735 ;;
		*) figure "${name/#-/rest}" "$share" 0.09 0.2 ;;
		esac
	done <"$VT_DIR/levels"
	figure total "$(awk '{ s += $2 } END { print s }' "$VT_DIR/levels")" 0.97 1.01
	wait
}

@test "priorities share a full link as documented" {
	[[ -z ${SLOW_BUILD:-}${VNICD_TEST_SLOW:-} ]] || skip "a slow build or machine does not keep four streams up"
	flow create-flow -l vnic1 transport=tcp,remote_port=5301 -p priority=high high
	flow create-flow -l vnic1 transport=tcp,remote_port=5302 -p priority=medium medium
	flow create-flow -l vnic1 transport=tcp,remote_port=5303 -p priority=low low
	measured levels
}

@test "flows stay through kill -9, restart, rename, move, a link that is made again, and foreign hands" {
	local before

	flow create-flow -l vnic1 transport=icmp pings
	flow create-flow -l vnic1 transport=tcp,local_port=443 -p maxbw=20M https1
	in_ns z1 ping -q -c 3 -i 0.05 10.99.0.1 >/dev/null
	before=$(ceilings z1 vnic1)
	stop KILL
	in_ns z1 ping -q -c 2 -i 0.05 10.99.0.1 >/dev/null
	: >"$VT_DIR/log"
	start A=
	grep -q ' 0 modifying acts' "$VT_DIR/log" || complain "$(cat "$VT_DIR/log")"
	is 5 "$(count pings opackets)"
	adm rename-link vnic1 web0
	is web0 "$(field pings link)"
	adm set-linkprop -p "zone=${VT}z2" web0
	vt_addr z2 web0 10
	is "$before" "$(ceilings z2 web0)"
	in_ns z2 ping -q -c 2 -i 0.05 10.99.0.1 >/dev/null
	is 7 "$(count pings opackets)"
	in_ns z2 tc qdisc del dev web0 root
	until_is "$before" ceilings z2 web0
	in_ns z2 ip link del web0
	until_is "$before" ceilings z2 web0
	vt_addr z2 web0 10
	in_ns z2 ping -q -c 2 -i 0.05 10.99.0.1 >/dev/null
	is 9 "$(count pings opackets)"
	is 'vnicadm: note: web0: its flows go with it: pings, https1' "$(adm delete-vnic web0 2>&1)"
	is '' "$(flow show-flow -p -o flow)"
	is '' "$(pins | grep flow || true)"
}

# A killed daemon's successor finds all in line: adopted
adopted() {
	stop KILL
	: >"$VT_DIR/log"
	start A=
	grep -q ' 0 modifying acts' "$VT_DIR/log" || complain "$(cat "$VT_DIR/log")"
}

@test "flows of a link without a cap stay through kill -9, counted, capped and blocked ones" {
	local now

	adm reset-linkprop -p maxbw vnic1
	flow create-flow -l vnic1 transport=icmp pings
	in_ns z1 ping -q -c 3 -i 0.02 10.99.0.1 >/dev/null
	adopted
	in_ns z1 ping -q -c 2 -i 0.02 10.99.0.1 >/dev/null
	is '5 5' "$(count pings opackets) $(count pings ipackets)"
	flow create-flow -l vnic1 transport=udp -p maxbw=20M dgrams
	now=$(ceilings z1 vnic1) && is "$now" "$(ceilings h "$(ifb)")"
	flow set-flowprop -p maxbw=blocked pings
	adopted
	if in_ns z1 ping -q -c 2 -i 0.02 -W 1 10.99.0.1 >/dev/null; then complain "a blocked ping went through"; fi
	is '5 5' "$(count pings opackets) $(count pings ipackets)"
	is "$now $now" "$(ceilings z1 vnic1) $(ceilings h "$(ifb)")"
	is 1 "$(steered | wc -l)"
	# Another VNIC's cap comes and goes with the hook that both need.
	adm create-vnic -l eth0 -p maxbw=10M vnic2 2>/dev/null
	adopted
	adm delete-vnic vnic2
	is 'ingress 1 egress 0 ' "$(hooks h eth0)"
}

@test "a batch is one transaction: all of it, or the line that is wrong" {
	printf 'create-flow -l vnic1 transport=udp,local_port=%d f%d\n' 1 1 2 2 3 3 >"$VT_DIR/batch"
	flow -b "$VT_DIR/batch"
	is 'f1 f2 f3' "$(flow show-flow -p -o flow | xargs)"
	printf '%s\n' 'delete-flow f1' 'create-flow -l vnic1 transport=udp,local_port=2 f4' >"$VT_DIR/batch"
	no 1 "$VT_DIR/batch:2: f4: f2 on vnic1 has the same attributes" -b "$VT_DIR/batch"
	is 'f1 f2 f3' "$(flow show-flow -p -o flow | xargs)"
	delete_all
	is '' "$(flow show-flow -p -o flow)"
}

@test "a dry run says what it would do and does nothing" {
	local out

	out=$(flow create-flow --dry-run -l vnic1 transport=tcp,local_port=443 -p maxbw=20M https1)
	matches 'tc -n .* class add dev vnic1 parent 7fd0:ffff classid 7fd0:4 htb rate 10000000bit ceil 100000000bit ' "$out"
	matches 'tc -n .* class replace dev vnic1 parent 7fd0:3 classid 7fd0:14 htb rate 8bit ceil 20000000bit ' "$out"
	matches '# bpf: flows of vnic1: 1, by 2 rules' "$out"
	is '' "$(flow show-flow -p -o flow)"
	is '' "$(ceilings z1 vnic1)"
}
