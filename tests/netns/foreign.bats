#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# Caps and flows on links that others made: what they do, and that all the rest of such a link stays as it was.

load common
load say

setup_file() {
	vt_begin
	vt_wire
	vt_zone z1
	vt_zone z2
	vt_addr h eth0 2
	start A=
	control_make
}
teardown_file() { vt_cleanup; }

teardown() {
	if vt_gone "$(vt_daemon_pid)"; then start A=; fi
	flow delete-flow -l eth0 2>/dev/null || true
	adm reset-linkprop eth0 2>/dev/null || true
	adm delete-vnic vnic1 2>/dev/null || true
	adm delete-vnic eth0 2>/dev/null || true
	in_ns h tc qdisc del dev eth0 root 2>/dev/null || true
	in_ns h tc qdisc del dev eth0 clsact 2>/dev/null || true
}

# What flowadm says, and its status: no STATUS TEXT COMMAND...
no() {
	local out status=0

	out=$(flow "${@:3}" 2>&1) || status=$?
	is "$1" "$status" "$out"
	is "flowadm: $2" "$out"
}
# A counter: count FLOW KEY
count() { flow show-flow -s -j -l eth0 | jq -r --arg f "$1" "select(.flow == \$f) | .$2"; }
# Our two ifbs, as they are called after the number of the link's row: out, in
ifbs() { in_ns h ip -br link show type ifb | sed 's/ .*//' | sort | tr '\n' ' '; }
out() { in_ns h ip -br link show type ifb | sed -n 's/^\(vo[0-9]*\) .*/\1/p' | head -1; }
in_ifb() { in_ns h ip -br link show type ifb | sed -n 's/^\(vi[0-9]*\) .*/\1/p' | head -1; }
# Everything of a link but what is ours: qdisc clsact, programs, filters at our own two priorities
foreign() {
	local side

	in_ns h ip -d -o link show "$1" | sed -E 's/promiscuity [0-9]+//; s/\\.*alias/alias/'
	in_ns h ip -o addr show "$1" | sed -E 's/valid_lft.*//; s/ tentative//'
	in_ns h tc qdisc show dev "$1" | grep -v clsact
	in_ns h tc class show dev "$1"
	in_ns h tc filter show dev "$1"
	for side in ingress egress; do
		in_ns h tc filter show dev "$1" "$side" | awk '/^filter/ { ours = / pref (3272[01]|6553[45]) / } !ours'
	done
}
# So many datagrams with this socket priority: sends COUNT PRIORITY
# shellcheck disable=SC2016 # perl's
sends() {
	in_ns h perl -MIO::Socket::INET -e '
		my ($count, $priority) = @ARGV;
		my $s = IO::Socket::INET->new(Proto => "udp", PeerAddr => "10.99.0.1", PeerPort => 7700);
		$s->setsockopt(1, 12, pack("i", hex $priority)) or die "SO_PRIORITY: $!";
		for (1 .. $count) { $s->send("x" x 100) or redo }
	' "$1" "$2"
	sleep 0.2
}
class_packets() { in_ns h tc -s class show dev eth0 classid "$1" | awk '/Sent/ { print $4 }'; }
ours() { in_ns h tc filter show dev eth0 "${1:-egress}" | sed -n 's/^filter protocol all pref \([0-9]*\) bpf .*handle .*/\1/p' | tr '\n' ' '; }

both_ways() {
	streams 5 "out $1 p 10.99.0.1 5301 tcp4 $2" "in p $1 $3 5302 tcp4 $2"
}

@test "a cap holds, out and in, whatever the size" {
	adm set-linkprop -p maxbw=50M eth0
	measured both_ways h 50M 10.99.0.2
	adm set-linkprop -p maxbw=300M eth0
	measured both_ways h 300M 10.99.0.2
	is "300M 300M" "$(prop eth0 maxbw value) $(prop eth0 maxbw-tx effective)"
	is 64K-400G,1%-100%,none,blocked "$(prop eth0 maxbw possible)"
	is "r- 1500" "$(prop eth0 mtu perm) $(prop eth0 mtu effective)"
	is "veth up" "$(link eth0 class) $(link eth0 state)"
}

# One after the other: the acknowledgements of 60M are 8 % of 20M, and the cap counts them.
apart() {
	streams 5 "out h p fd99::1 5301 tcp6 20M"
	streams 5 "in p h fd99::2 5302 tcp6 60M"
}

@test "each direction for itself, by IPv6; a share of the speed" {
	adm set-linkprop -p maxbw-tx=20M,maxbw-rx=60M eth0
	measured apart
	adm reset-linkprop -p maxbw-rx eth0
	is "$(out) " "$(ifbs)" "only what goes out has a tree"
	adm reset-linkprop -p maxbw-tx eth0
	is "" "$(ifbs)"
	adm set-linkprop -p maxbw=10% eth0
	is 1G "$(prop eth0 maxbw effective)"
	is 1Gbit "$(in_ns h tc class show dev "$(out)" | sed -n 's/.*ffff root .*ceil \([^ ]*\) .*/\1/p')"
}

@test "what others have on the link stays: root qdisc, classes, filters, address, MTU; and its priorities work" {
	local before during

	in_ns h tc qdisc replace dev eth0 root handle 5: htb default 10
	in_ns h tc class add dev eth0 parent 5: classid 5:10 htb rate 10gbit quantum 60000
	in_ns h tc class add dev eth0 parent 5: classid 5:20 htb rate 10gbit quantum 60000
	in_ns h tc filter add dev eth0 parent 5: protocol ip prio 7 u32 match ip protocol 1 0xff flowid 5:20
	before=$(foreign eth0)
	adm set-linkprop -p maxbw=50M eth0
	flow create-flow -l eth0 transport=udp,remote_port=7000 -p maxbw=10M udp1
	during=$(foreign eth0)
	same "with a cap and a flow" "$before" "$during"
	is "65534 65535 " "$(ours)"
	is "65534 " "$(ours ingress)"
	in_ns h ping -q -c 5 -i 0.1 10.99.0.1
	is 5 "$(class_packets 5:20)" "its filter still chooses"
	# A sender's own priority reaches the link's queues behind the cap, and chooses none of the cap's classes.
	sends 40 50020
	is 45 "$(class_packets 5:20)" "a priority still chooses"
	sends 40 7fd00000
	is 0 "$(in_ns h tc qdisc show dev "$(out)" | sed -n 's/.*direct_packets_stat \([0-9]*\).*/\1/p')"
	flow delete-flow udp1
	adm reset-linkprop -p maxbw eth0
	same "without them" "$before" "$(foreign eth0)"
	is "" "$(in_ns h tc qdisc show dev eth0 | grep clsact)"
	in_ns h tc qdisc del dev eth0 root
}

@test "filters of others see each frame first, and their clsact stays with them" {
	local before

	in_ns h tc qdisc add dev eth0 clsact
	# IPv4's frames are dropped, by a program of others: 12 is where the type is.
	in_ns h tc filter add dev eth0 egress protocol ip prio 9 bpf bytecode \
		'4,40 0 0 12,21 0 1 2048,6 0 0 2,6 0 0 4294967295' direct-action
	in_ns h tc filter add dev eth0 ingress protocol ip prio 9 u32 match ip dport 9 0xffff
	before=$(foreign eth0)
	adm set-linkprop -p maxbw=50M eth0
	flow create-flow -l eth0 transport=udp -p maxbw=5M udp1
	same "with a cap and a flow" "$before" "$(foreign eth0)"
	run ! in_ns h ping -q -c 2 -i 0.2 -W 1 10.99.0.1
	in_ns h ping -q -c 2 -i 0.2 -W 1 fd99::1
	flow delete-flow udp1
	adm reset-linkprop -p maxbw eth0
	same "without them" "$before" "$(foreign eth0)"
	is 1 "$(in_ns h tc qdisc show dev eth0 | grep -c clsact)"
	is "" "$(find "$VT_DIR/bpf" -name '*clsact')"
	in_ns h tc qdisc del dev eth0 clsact
}

# A VNIC over the link: caps its own, or none
beside() {
	LEAST=$1 streams 5 "host h p 10.99.0.1 5301 tcp4 40M" "host-in p h 10.99.0.2 5302 tcp4 40M" \
		"vnic z1 p 10.99.0.1 5303 tcp4 20M" "vnic-in p z1 10.99.0.10 5304 tcp4 20M"
}

@test "VNICs on the link have their own caps beside it, and the link's own cap is none of theirs" {
	adm create-vnic -l eth0 -p "zone=${VT}z1,maxbw=20M" vnic1
	vt_addr z1 vnic1 10
	adm set-linkprop -p maxbw=40M eth0
	measured beside 0.97
	# Without a cap of its own it has none of the link's.
	adm reset-linkprop -p maxbw vnic1
	adm set-linkprop -p maxbw=1M eth0
	serve p "$VT_DIR/free" 5305
	in_ns z1 iperf3 -c 10.99.0.1 -p 5305 -t 2 >/dev/null
	vt_until 30 vt_gone "$VT_PID"
	[ "$(goodput "$VT_DIR/free" | cut -d. -f1)" -gt 100000000 ]
}

# every_order BEFORE: caps of the link and of a VNIC come and go, and all is as before
every_order() {
	local order step

	for order in "link vnic -link -vnic" "link vnic -vnic -link" "vnic link -link -vnic" "vnic link -vnic -link"; do
		for step in $order; do
			case $step in
			link) adm set-linkprop -p maxbw=50M eth0 ;;
			-link) adm reset-linkprop -p maxbw eth0 ;;
			vnic) adm create-vnic -l eth0 -m 2:8:20:0:0:1 -p "zone=${VT}z1,maxbw=20M" vnic1 ;;
			-vnic) adm delete-vnic vnic1 ;;
			esac
		done
		same "$order" "$1" "$(dump remade)"
	done
}

@test "in whatever order caps of the link and of a VNIC come and go, nothing stays" {
	local before

	before=$(dump remade)
	every_order "$before"
}

flows_hold() {
	streams 5 "capped h p 10.99.0.1 5301 tcp4 20M" "capped-in p h 10.99.0.2 5311 tcp4 30M"
}

@test "flows: uncapped ones are counted and pay no way round; capped ones hold; blocked ones are dropped" {
	flow create-flow -l eth0 transport=icmp,direction=out pings
	is "$(out) " "$(ifbs)"
	is "65534 " "$(ours)" "no redirect"
	in_ns h ping -q -c 10 -i 0.05 10.99.0.1
	is "10 980" "$(count pings opackets) $(count pings obytes)"
	is 0 "$(in_ns h ip -j -s link show "$(out)" | jq '.[0].stats64.rx.packets')"
	flow create-flow -l eth0 transport=tcp,remote_port=5301,direction=out -p maxbw=20M out1
	flow create-flow -l eth0 transport=tcp,local_port=5311,direction=in -p maxbw=30M in1
	is "65534 65535 " "$(ours)"
	measured flows_hold
	in_ns h ping -q -c 10 -i 0.05 10.99.0.1
	is "20 1960" "$(count pings opackets) $(count pings obytes)"
	flow set-flowprop -p maxbw=blocked pings
	run ! in_ns h ping -q -c 3 -i 0.2 -W 1 10.99.0.1
	is 20 "$(count pings opackets)"
	[ "$(count pings odrops)" -ge 3 ]
	is "$(printf 'pings blocked\nout1 max=20M\nin1 max=30M')" "$(flow show-flow -l eth0 -p -o flow,bandwidth | tr ':' ' ' | sort -k2)"
	# The second ifb is for what comes in: it goes with what needs it.
	flow delete-flow in1
	is "$(out) " "$(ifbs)"
	flow delete-flow out1 pings
	is "" "$(ifbs)"
	is "" "$(flow show-flow -l eth0 -p -o flow)"
}

@test "flows are within the link's cap; what comes in by group frames is counted, too" {
	flow create-flow -l eth0 transport=tcp,remote_port=5301 -p maxbw=90M out1
	adm set-linkprop -p maxbw=30M eth0
	within() { streams 5 "both h p 10.99.0.1 5301 tcp4 30M"; }
	measured within
	is 30M "$(flow show-flowprop -c -o effective -p maxbw out1)"
	flow create-flow -l eth0 transport=udp,direction=in,local_port=9999 group1
	in_ns p ip route add 239.1.1.1 dev peer0
	in_ns p bash -c 'for i in 1 2 3; do echo x >/dev/udp/239.1.1.1/9999; done'
	until_is 3 count group1 ipackets
}

@test "every packet is counted once: with a cap and classes, and without" {
	local sent

	exactly() { # OFFERED
		local before
		before=$(count udp1 opackets)
		vt_bg in_ns_to "$VT_DIR/recv" p "$TOOLS/seqrecv" --port 7700 --seconds 20 --idle 500
		local recv=$VT_PID
		sleep 0.1
		in_ns h "$TOOLS/seqsend" --host 10.99.0.1 --port 7700 --rate "$1" --seconds 1 >"$VT_DIR/sent"
		vt_until 30 vt_gone "$recv" || vt_stop "$recv"
		sent=$(tool_value "$VT_DIR/sent" sent)
		((sent > 100)) || complain "sent: $(cat "$VT_DIR/sent")"
		is "$sent" "$(($(count udp1 opackets) - before))" "$2"
	}
	flow create-flow -l eth0 transport=udp,remote_port=7700 udp1
	exactly 5M "uncapped"
	adm set-linkprop -p maxbw=50M eth0
	exactly 5M "within the link's cap"
	flow set-flowprop -p maxbw=20M udp1
	exactly 5M "with a class"
}

@test "refused, with the reason" {
	refused 1 "lo: the loopback link has no caps and no flows: see 'vnicadm show-phys'" set-linkprop -p maxbw=10M lo
	refused 1 "eth0: zone cannot be set on a veth link: only on a VNIC" set-linkprop -p zone=x eth0
	refused 1 "eth0: mtu is read-only on a veth link: see ip-link(8)" set-linkprop -p mtu=1400 eth0
	refused 1 "nix0: no such link: see 'vnicadm show-link'" set-linkprop -p maxbw=10M nix0
	no 1 "lo: the loopback link has no caps and no flows: see 'vnicadm show-phys'" create-flow -l lo transport=tcp f
	adm create-etherstub stub0
	no 1 "stub0: it is an etherstub: flows are possible on VNICs only, make them there" create-flow -l stub0 transport=tcp f
	adm delete-etherstub stub0
	adm set-linkprop -p maxbw=10M eth0
	refused 1 "$(out): it is vnicd's own, for VNICs: caps and flows are possible on these" set-linkprop -p maxbw=10M "$(out)"
	no 1 "$(in_ifb): it is vnicd's own, for VNICs: caps and flows are possible on these" create-flow -l "$(in_ifb)" transport=tcp f
	refused 1 "eth0: vnicd did not make it: use 'ip link set dev eth0 name wan0'" rename-link eth0 wan0
	refused 1 "eth0: not a VNIC: vnicd did not make it (see 'vnicadm show-vnic')" delete-vnic eth0
	in_ns h ip link add br0 type bridge
	in_ns h ip link add t0 type veth peer name t1
	in_ns h ip link set t0 master br0
	refused 1 "t0: it carries the traffic of br0: use br0" set-linkprop -p maxbw=10M t0
	good set-linkprop -p maxbw=10M br0
	good reset-linkprop -p maxbw br0
	in_ns h ip link del t0
	in_ns h ip link del br0
}

@test "a VNIC in a zone may have the link's name" {
	adm set-linkprop -p maxbw=50M eth0
	adm create-vnic -l eth0 -p "zone=${VT}z1,maxbw=20M" eth0
	is $'50M\n20M' "$(adm show-linkprop -c -o value -p maxbw eth0)"
	adm delete-vnic eth0
	is 50M "$(prop eth0 maxbw value)"
	adm reset-linkprop -p maxbw eth0
	is "" "$(ifbs)"
}


# All that is in the host's namespace, but the handles of the kernel's choice
kernel() {
	cat <(look_at h) <(steered) | sed -E 's/\bv([io])[0-9]+/v\1N/g; s/(vnicd:[-0-9a-f]+):[0-9]+/\1:N/; s/\b[89a-f][0-9a-f]{3}:/H:/g
		s/\tindex [0-9]+ ref/\tindex N ref/; s/link [0-9]+: v/link v/; s/(link v[io]N.*ether) [^ ]+/\1/; / filter / s/ id [0-9]+//
		s/direct_packets_stat [0-9]*//; s/ (state|promiscuity|allmulti) [^ ]+//g; s/\[[0-9]+\]//' | sort
}

@test "what others take away comes back: filters, clsact, trees, ifbs" {
	local before step

	adm set-linkprop -p maxbw=50M eth0
	flow create-flow -l eth0 transport=udp -p maxbw=10M udp1
	before=$(kernel)
	for step in "tc filter del dev eth0 egress prio 65535" "tc filter del dev eth0 egress prio 65534" \
		"tc filter del dev eth0 ingress prio 65534" "tc qdisc del dev eth0 clsact" \
		"tc qdisc del dev $(out) root" "tc qdisc del dev $(in_ifb) root" "ip link del $(out)" \
		"ip link del $(in_ifb)" "ip link set $(out) down"; do
		# shellcheck disable=SC2086 # words
		in_ns h $step
		until_is "$before" kernel
		adm reapply eth0 # and the count of changes begins again
	done
}

# A cap is there, whatever else the machine does
roughly() {
	: >"$VT_DIR/figures"
	LEAST=0.05 streams 3 "out h p 10.99.0.1 5301 tcp4 50M" "in p h 10.99.0.2 5302 tcp4 50M"
	figures_hold || complain "name, figure, from, to:" "$(cat "$VT_DIR/figures")"
}
state() { link "$1" state; }

@test "the link is deleted and made again, renamed, changed in MAC and MTU, moved away and back" {
	local before

	adm set-linkprop -p maxbw=50M eth0
	flow create-flow -l eth0 transport=udp -p maxbw=10M udp1
	before=$(told | grep -v '^row\|viN\|voN')
	in_ns h ip link del eth0
	until_is waiting state eth0
	is "it is not there" "$(link eth0 why)"
	is waiting "$(flow show-flow -j -o state udp1 | jq -r '.[0].state')"
	until_is "" ifbs
	run --separate-stderr adm set-linkprop -p maxbw=60M eth0
	# shellcheck disable=SC2154 # bats sets it
	is "vnicadm: warning: eth0: stored; it is not there now: it is not there" "$stderr"
	vt_daemon_restart KILL
	is waiting "$(state eth0)"
	ip link add eth0 netns "${VT}h" address 02:00:5e:00:00:01 type veth peer name peer0 netns "${VT}p" address 02:00:5e:00:00:02
	in_ns h ip link set eth0 up
	in_ns p ip link set peer0 up
	vt_addr p peer0 1
	vt_addr h eth0 2
	until_is up state eth0
	is "$(in_ifb) $(out) " "$(ifbs)"
	is 60Mbit "$(in_ns h tc class show dev "$(out)" | sed -n 's/.*ffff root .*ceil \([^ ]*\) .*/\1/p')"
	adm set-linkprop -p maxbw=50M eth0
	roughly
	# Another name: it is the same link, its flows with it.
	vt_rename h eth0 wan0
	until_is up state wan0
	is "wan0 50M" "$(flow show-flow -p -o link udp1) $(prop wan0 maxbw value)"
	vt_daemon_restart KILL
	grep -q 'with 0 modifying acts' "$VT_DIR/log"
	is "wan0" "$(flow show-flow -p -o link udp1)"
	vt_rename h wan0 eth0
	until_is eth0 flow show-flow -p -o link udp1
	# Another MAC address: what is steered is another's frames.
	in_ns h ip link set eth0 address 02:00:5e:00:00:77
	steered_mac() { steered | sed 's/.*\[\(.*\)\].*/\1/' | tr '\n' ' '; }
	until_is "2,0,94,0,0,119 " steered_mac
	roughly
	in_ns h ip link set eth0 mtu 1400
	until_is 1400 eval 'in_ns h ip -j link show "$(out)" | jq ".[0].mtu"'
	in_ns h ip link set eth0 mtu 1500 address 02:00:5e:00:00:01
	until_is "2,0,94,0,0,1 " steered_mac
	# Away and back.
	in_ns h ip link set eth0 netns "${VT}z2"
	until_is waiting state eth0
	is "" "$(ifbs)"
	in_ns z2 ip link set eth0 netns "${VT}h"
	in_ns h ip link set eth0 up
	vt_addr h eth0 2
	until_is up state eth0
	roughly
	is "$before" "$(told | grep -v '^row\|viN\|voN')"
}

@test "a restart changes nothing, also with what is temporary; reset takes all" {
	local before

	adm set-linkprop -t -p maxbw=50M eth0
	flow create-flow -l eth0 transport=udp udp1
	flow create-flow -t -l eth0 transport=tcp -p maxbw=10M tcp1
	before=$(dump)
	for _ in 1 2; do
		vt_daemon_restart KILL
		is "adopted 3 links with 0 modifying acts" "$(sed -n 's/^vnicd: //; /adopted/p' "$VT_DIR/log" | tail -1)"
		same "after a restart" "$before" "$(dump)"
	done
	is "-- 50M" "$(adm show-linkprop -P -j -p maxbw eth0 | jq -r '.[0].value // "--"') $(prop eth0 maxbw value)"
	flow delete-flow -l eth0
	adm reset-linkprop -t -p maxbw eth0
	is "" "$(ifbs)"
	is 0 "$(sqlite3 -readonly "$VT_DIR/state/state.db" 'SELECT count(*) FROM link WHERE theirs')"
}

@test "a batch, all or nothing; a dry run tells, and does nothing" {
	local before plan

	before=$(dump)
	printf '%s\n' 'set-linkprop -p maxbw=50M eth0' 'set-linkprop -p maxbw=1X eth0' >"$VT_DIR/batch"
	run ! adm -b "$VT_DIR/batch"
	same "a batch that failed" "$before" "$(dump)"
	printf '%s\n' 'create-flow -l eth0 transport=tcp f1' 'create-flow -l eth0 transport=tcp f2' >"$VT_DIR/batch"
	run ! flow -b "$VT_DIR/batch"
	same "a batch of flows that failed" "$before" "$(dump)"
	plan=$(adm set-linkprop --dry-run -p maxbw=50M eth0)
	matches 'tc filter replace dev eth0 egress .* action mirred egress redirect dev vo[0-9]+' "$plan"
	matches 'ip link add name vo[0-9]+ numtxqueues 1 mtu 1500 group 1986947427 type ifb' "$plan"
	flow create-flow --dry-run -l eth0 transport=tcp -p maxbw=5M f1 | grep -q '# bpf: flows of eth0: 1, by 2 rules'
	same "dry runs" "$before" "$(dump)"
	printf '%s\n' 'set-linkprop -p maxbw=50M eth0' 'create-vnic -l eth0 vnic1' 'set-linkprop -p maxbw-rx=20M eth0' \
		>"$VT_DIR/batch"
	adm -b "$VT_DIR/batch" 2>/dev/null
	is "50M 20M" "$(prop eth0 maxbw value) $(prop eth0 maxbw-rx value)"
	printf '%s\n' 'reset-linkprop -p maxbw-rx eth0' 'reset-linkprop -p maxbw eth0' 'delete-vnic vnic1' >"$VT_DIR/batch"
	adm -b "$VT_DIR/batch"
	same "there and back" "$before" "$(dump)"
}

sent() { in_ns h ip -j -s link show eth0 | jq '.[0].stats64.tx.packets'; }
overload() {
	in_ns h "$TOOLS/seqsend" --host 10.99.0.1 --port 7700 --rate 20M --seconds 1 >/dev/null
	[ "$(counter eth0 odrops)" -gt 100 ]
}

@test "what a cap drops is in the link's counters" {
	local before now

	is 0 "$(counter eth0 odrops)"
	adm set-linkprop -p maxbw=1M eth0
	overload
	before=$(sent) now=$(counter eth0 opackets)
	((before <= now && now <= $(sent))) || complain "$before, $now, $(sent)"
}

# Stays last but one: all goes.
@test "reset takes everything, also where others made the clsact" {
	local before

	adm delete-vnic control1 control2
	in_ns h tc qdisc add dev eth0 clsact
	before=$(foreign eth0)
	adm set-linkprop -p maxbw=50M eth0
	flow create-flow -l eth0 transport=udp -p maxbw=10M udp1
	adm reset --yes
	same "after reset" "$before" "$(foreign eth0)"
	is "" "$(ifbs)"
	is "" "$(find "$VT_DIR/bpf" -mindepth 3 ! -name steer)"
	is "" "$(steered)"
	is 1 "$(in_ns h tc qdisc show dev eth0 | grep -c clsact)"
	is 0 "$(sqlite3 -readonly "$VT_DIR/state/state.db" 'SELECT count(*) FROM link')"
}

# Stays the last one: the daemon starts anew, without tcx.
@test "the same by clsact, in whatever order a VNIC's caps come and go" {
	local before

	in_ns h tc qdisc del dev eth0 clsact 2>/dev/null || true
	stop
	VNICD=$FAULTY start VNICD_DISABLE=tcx
	before=$(dump remade)
	every_order "$before"
	adm create-vnic -l eth0 -m 2:8:20:0:0:1 -p "zone=${VT}z1,maxbw=20M" vnic1
	adm set-linkprop -p maxbw=50M eth0
	before=$(dump)
	stop
	VNICD=$FAULTY start VNICD_DISABLE=tcx
	same "after a restart" "$before" "$(dump)"
	grep -q 'adopted 2 links with 0 modifying acts' "$VT_DIR/log"
	roughly
}
