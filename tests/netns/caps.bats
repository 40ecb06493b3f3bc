#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# A cap is an exact upper limit for everything, on every path, in both directions: real traffic, wide bounds.

load common

# Ten VNICs in zones of their own names: capped ones a to e, s and t with their uncapped peers u and w
# (eth0), v and x (stub0).
setup_file() {
	vt_begin
	vt_wire
	start A=
	control_make
	adm create-etherstub stub0
	vnic a eth0 maxbw=50M 10
	vnic b eth0 maxbw=40M,maxbw-rx=20M 11
	vnic e eth0 maxbw=40M,maxbw-rx=200M 20
	vnic c eth0 maxbw=30M 12
	vnic d eth0 maxbw=60M,maxbw-tx=25M 13
	vnic u eth0 "" 14
	vnic w eth0 "" 15
	vnic s stub0 maxbw=45M 16
	vnic t stub0 maxbw=35M 17
	vnic v stub0 "" 18
	vnic x stub0 "" 19
}
teardown_file() { vt_cleanup; }

# vnic NAME PARENT CAPS NUMBER: zone NAME, VNIC NAME0
vnic() {
	vt_zone "$1"
	adm create-vnic -l "$2" -p "zone=$VT$1${3:+,$3}" "${1}0"
	vt_addr "$1" "${1}0" "$4"
}

# every_path KIND ADDRESS-PREFIX: eight streams at once
every_path() {
	streams 4 \
		"to-the-wire a p ${2}1 5301 $1 50M" "from-the-wire p b ${2}11 5302 $1 20M" \
		"to-a-sibling d u ${2}14 5303 $1 25M" "from-a-sibling w c ${2}12 5304 $1 30M" \
		"to-the-wire-with-rx-apart e p ${2}1 5305 $1 40M" \
		"out-on-a-stub s v ${2}18 5306 $1 45M" "in-on-a-stub x t ${2}17 5307 $1 35M"
}

@test "TCP over IPv4: to the wire, from it, between siblings, on an etherstub, one direction overridden" {
	measured every_path tcp4 10.99.0.
}

@test "TCP over IPv6: the same" {
	measured every_path tcp6 fd99::
}

both_ways_1g() {
	streams 4 "1G-out d p 10.99.0.1 5301 tcp4 1G"
	streams 4 "1G-in p d 10.99.0.13 5302 tcp4 1G"
}

@test "1G, out and in" {
	[[ -z ${VNICD_TEST_SLOW:-} ]] || skip "emulation carries no 1G"
	adm set-linkprop -p maxbw=1G,maxbw-tx=1G d0
	measured both_ways_1g
	adm set-linkprop -p maxbw=60M,maxbw-tx=25M d0
}

mac() { in_ns "$1" ip -j link show "${1}0" | jq -r '.[0].address'; }

# So much is a flood, for a cap of 20M; more than a slow machine can count would be lost before it is capped.
FLOOD=300M
[[ -z ${VNICD_TEST_SLOW:-} ]] || FLOOD=60M
measurable() { vt_floods || skip "$VT_NO_FLOOD"; }

# flood_to ZONE CAP HIGH MAC...: floods from the wire; what arrives behind the VNIC's own program
flood_to() {
	local to=$1 cap=$2 high=$3 mac pids=()

	shift 3
	vt_bg in_ns_to "$VT_DIR/arrived" "$to" "$TOOLS/capwatch" --dev "${to}0" --stack --seconds 6 --idle 700
	local watch=$VT_PID
	sleep 0.1
	for mac; do
		vt_bg in_ns_to "$VT_DIR/flood" p "$TOOLS/flood" --dev peer0 --mac "$mac" --dst 10.99.0.250 --rate "$FLOOD" --seconds 3
		pids+=("$VT_PID")
	done
	"${MEANWHILE[@]}"
	for mac in "${pids[@]}"; do vt_until 60 vt_gone "$mac"; done
	vt_until 60 vt_gone "$watch" || vt_stop "$watch"
	figure "flood-of-${#pids[@]}" "$(awk -v r="$(tool_value "$VT_DIR/arrived" rate)" -v c="$(bps "$cap")" \
		'BEGIN { print r / c }')" 0.9 "$high"
}

@test "a UDP flood from the wire: at most 103 %" {
	MEANWHILE=(true)
	measurable
	measured flood_to b 20M 1.03 "$(mac b)"
}

@test "unicast and broadcast floods together: at most 105 %" {
	MEANWHILE=(true)
	measurable
	measured flood_to b 20M 1.05 "$(mac b)" ff:ff:ff:ff:ff:ff
}

# The neighbours must find each other anew in the middle of the flood.
neighbours() {
	in_ns p ip neigh flush dev peer0
	in_ns b ip neigh flush dev b0
	in_ns p ping -q -c 15 -i 0.1 -W 1 10.99.0.11 >"$VT_DIR/ping4" || true
	in_ns p ping -q -c 15 -i 0.1 -W 1 fd99::b >"$VT_DIR/ping6" || true
	local family
	for family in 4 6; do
		figure "pings$family" "$(awk '/received/ { print $4 }' "$VT_DIR/ping$family")" 5 -
	done
}

@test "ARP and neighbour discovery survive a flood of group frames" {
	in_ns b ip addr add fd99::b/64 dev b0 nodad
	MEANWHILE=(neighbours)
	measurable
	measured flood_to b 20M 1.05 ff:ff:ff:ff:ff:ff 33:33:00:00:00:01
}

# A sender with a socket priority: blast ZONE ADDRESS PRIORITY SECONDS
# shellcheck disable=SC2016 # perl's
blast() {
	in_ns "$1" perl -MIO::Socket::INET -MTime::HiRes=time -e '
		my ($to, $priority, $seconds) = @ARGV;
		my $s = IO::Socket::INET->new(Proto => "udp", PeerAddr => $to, PeerPort => 9);
		$s->setsockopt(1, 12, pack("i", hex $priority)) or die "SO_PRIORITY: $!";
		my $end = time + $seconds;
		while (time < $end) { $s->send("x" x 1400) for 1 .. 50 }
	' "$2" "$3" "$4"
}

priorities() {
	local priority watch

	for priority in 7fd00000 7fd00001 7fd10000; do
		vt_bg in_ns_to "$VT_DIR/arrived" p "$TOOLS/capwatch" --dev peer0 --seconds 5 --idle 400 --first 500
		watch=$VT_PID
		sleep 0.1
		blast a 10.99.0.1 "$priority" 2
		vt_until 40 vt_gone "$watch" || vt_stop "$watch"
		figure "$priority" "$(awk -v r="$(tool_value "$VT_DIR/arrived" rate)" 'BEGIN { print r / 50e6 }')" 0.9 1.03
	done
}

@test "a sender in the zone cannot choose a class by SO_PRIORITY" {
	measured priorities
}

ping_under_load() {
	vt_bg ping_to "$VT_DIR/ping.a" a 10.99.0.1
	vt_bg ping_to "$VT_DIR/ping.b" p 10.99.0.11
	# Only a load: at 10M a stream has not found its rate after so short a time.
	TOGETHER=1 LEAST=0.8 streams 3 "out a p 10.99.0.1 5301 tcp4 100M" "in p b 10.99.0.11 5302 tcp4 10M"
	sleep 0.5
	figure 'ping-at-100M' "$(awk -F/ '/^rtt/ { print $5 }' "$VT_DIR/ping.a")" - 75
	figure 'ping-at-10M' "$(awk -F/ '/^rtt/ { print $5 }' "$VT_DIR/ping.b")" - 300
}
ping_to() { in_ns_to "$1" "$2" ping -q -c 50 -i 0.06 -W 2 "$3"; }

@test "a ping under load stays short" {
	adm set-linkprop -p maxbw=100M a0
	adm set-linkprop -p maxbw=10M,maxbw-rx=10M b0
	measured ping_under_load
	adm set-linkprop -p maxbw=50M a0
	adm set-linkprop -p maxbw=40M,maxbw-rx=20M b0
}

# From here on the daemon starts anew.
@test "the same paths without tcx: the programs are clsact filters" {
	stop
	VNICD=$FAULTY start VNICD_DISABLE=tcx
	local name
	for name in a b c d e s t; do
		adm reset-linkprop -p maxbw,maxbw-rx,maxbw-tx "${name}0"
	done
	[[ $(in_ns h "$TOOLS/hooks" --dev eth0) == $'tcx_ingress 0\ntcx_egress 0' ]]
	adm set-linkprop -p maxbw=50M a0
	adm set-linkprop -p maxbw=40M,maxbw-rx=20M b0
	adm set-linkprop -p maxbw=30M c0
	adm set-linkprop -p maxbw=60M,maxbw-tx=25M d0
	adm set-linkprop -p maxbw=40M,maxbw-rx=200M e0
	adm set-linkprop -p maxbw=45M s0
	adm set-linkprop -p maxbw=35M t0
	[[ $(in_ns h "$TOOLS/hooks" --dev eth0) == $'tcx_ingress 0\ntcx_egress 0' ]]
	in_ns h tc filter show dev eth0 ingress | grep -q bpf
	in_ns a tc filter show dev a0 egress | grep -q bpf
	measured every_path tcp4 10.99.0.
	MEANWHILE=(true)
	! vt_floods || measured flood_to b 20M 1.05 "$(mac b)" ff:ff:ff:ff:ff:ff
	stop
	VNICD=$FAULTY start VNICD_DISABLE=tcx
	grep 'adopted' "$VT_DIR/log" | tail -1 | grep -q ' 0 modifying acts'
	for name in a b c d e s t; do
		adm reset-linkprop -p maxbw,maxbw-rx,maxbw-tx "${name}0"
	done
	! in_ns h tc qdisc show | grep -q clsact || complain "a clsact of ours stayed"
	! in_ns a tc qdisc show | grep -q clsact || complain "a clsact of ours stayed"
}

@test "the same without fq_codel, where the leaf is a plain queue" {
	stop
	VNICD=$FAULTY start VNICD_DISABLE=fq_codel
	adm set-linkprop -p maxbw=300M a0
	adm set-linkprop -p maxbw=40M,maxbw-rx=20M b0
	[[ $(in_ns a tc qdisc show dev a0) == *bfifo* ]]
	! in_ns a tc qdisc show dev a0 | grep -q codel || complain "a leaf that is not there"
	measured plain_leaf
	stop
	start A=
	grep 'adopted' "$VT_DIR/log" | tail -1 | grep -q ' 0 modifying acts'
	adm reset-linkprop -p maxbw,maxbw-rx,maxbw-tx a0
	adm reset-linkprop -p maxbw,maxbw-rx,maxbw-tx b0
}
plain_leaf() {
	streams 4 "to-the-wire a p 10.99.0.1 5301 tcp4 300M" "from-the-wire p b 10.99.0.11 5302 tcp4 20M"
}
