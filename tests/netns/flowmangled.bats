#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# Frames that are wrong in every way never pass a blocked flow, and none is counted twice, wrongly or not at all. The
# kernel's own stack in the zone is the judge of what is UDP. FRAMES=N for more of them, SEED=N for the same again.

load common
load say

# The wire's other end is silent, so that all that comes in was sent on purpose; peer0 sends by a packet socket.
setup() {
	vt_begin
	vt_wire
	vt_zone z1
	mute p
	in_ns p ip addr flush dev peer0
	start A=
	seed=${SEED:-$RANDOM}
}
teardown() { vt_cleanup; }

# world LINK-PROPERTIES
world() {
	adm create-vnic -l eth0 -m 2:8:20:0:0:1 -p "zone=${VT}z1${1:+,$1}" vnic1
	vt_addr z1 vnic1 10
	knows z1 vnic1 10.99.0.1 02:00:5e:00:00:02
	knows z1 vnic1 fd99::1 02:00:5e:00:00:02
	flow -b - <<-'END'
		create-flow -l vnic1 transport=udp,local_port=9 discard
		create-flow -l vnic1 transport=udp,remote_port=1-30000 low
		create-flow -l vnic1 transport=tcp,local_port=80,remote_ip=10.99.0.0/24 web
		create-flow -l vnic1 remote_ip=fd99::1,dscp=ef voice
		create-flow -l vnic1 vid=7 seven
		create-flow -l vnic1 ethertype=ip old
	END
}
mangled() {
	in_ns p "$TOOLS/mangle" --dev peer0 --mac 2:8:20:0:0:1 --count "${FRAMES:-20000}" --seed $((seed + 1)) >"$VT_DIR/mangled"
	tool_value "$VT_DIR/mangled" sent
}
# Packets that the zone's stack took for UDP: udp 4|6
udp() {
	in_ns z1 sh -c "case $1 in
		4) awk '/^Udp: [0-9]/ { print \$2 + \$3 + \$4 }' /proc/self/net/snmp ;;
		6) awk '/^Udp6(InDatagrams|NoPorts|InErrors) / { n += \$2 } END { print n }' /proc/self/net/snmp6 ;;
	esac"
}
# Sum of fields of all rows: total FIELD...
total() {
	local filter=0 field

	for field; do filter+=" + (.$field // 0)"; done
	flow show-flow -s -j -l vnic1 | jq -s "map($filter) | add"
}
# What the VNIC received: device packets|bytes
device() { in_ns z1 ip -s -j link show vnic1 | jq ".[0].stats64.rx.$1"; }

# Of the link, whatever became of them
packets() { total ipackets idrops unparsed; }
# Nothing is blocked: every frame and byte that the VNIC received is some flow's. received LINK-PROPERTIES
received() {
	local sent before packets_before device_packets_before bytes_before device_bytes_before

	world "$1"
	before="$(packets) $(device packets) $(total rbytes) $(device bytes)"
	sent=$(mangled)
	sleep 0.3
	read -r packets_before device_packets_before bytes_before device_bytes_before <<<"$before"
	is "$sent" $(($(device packets) - device_packets_before)) "SEED=$seed: received"
	is "$sent" $(($(packets) - packets_before)) "SEED=$seed: packets of all flows"
	is $(($(device bytes) - device_bytes_before)) $(($(total rbytes) - bytes_before)) "SEED=$seed: bytes of all flows"
	is 0 "$(total idrops unparsed)" "SEED=$seed: drops"
	(($(udp 4) > sent / 50 && $(udp 6) > sent / 50)) || complain "SEED=$seed: too little was UDP: $(udp 4), $(udp 6)"
	is '' "$(flow show-flow -s -j | jq -r 'select(.ipackets == 0) | .flow')" "SEED=$seed: flows that got none"
}

# UDP is blocked: the stack sees none, and every frame is some flow's, dropped or unparsed. blocked LINK-PROPERTIES
blocked() {
	local sent before packets_before bytes_before device_bytes_before

	world "$1"
	flow create-flow -l vnic1 transport=udp -p maxbw=blocked,rank=1 no-udp 2>/dev/null
	before="$(packets) $(total rbytes) $(device bytes)"
	sent=$(mangled)
	sleep 0.3
	read -r packets_before bytes_before device_bytes_before <<<"$before"
	is '0 0' "$(udp 4) $(udp 6)" "SEED=$seed: UDP in the zone"
	is "$sent" $(($(packets) - packets_before)) "SEED=$seed: packets of all flows and drops"
	# On a link without a cap the VNIC has counted what its own programs drop.
	[[ -z $1 ]] || is $(($(device bytes) - device_bytes_before)) $(($(total rbytes) - bytes_before)) "SEED=$seed: bytes of all flows"
	(($(total unparsed) > 0 && $(total idrops) > sent / 50)) || complain "$(flow show-flow -s)"
}

@test "malformed frames are counted once, by packet and byte" { received; }
@test "malformed frames are counted once, on a capped link" { received maxbw=10G; }
@test "malformed frames never pass a blocked flow" {
	blocked
	# It was the flow that kept them away.
	flow set-flowprop -p maxbw=none no-udp
	mangled >/dev/null
	(($(udp 4) > 0 && $(udp 6) > 0)) || complain "nothing would have been UDP"
}
@test "malformed frames never pass a blocked flow of a capped link" { blocked maxbw=10G; }
