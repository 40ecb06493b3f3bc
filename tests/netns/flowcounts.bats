#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# Counters of flows are, to the packet and byte, what senders and receivers counted: TCP and UDP, bundles, fragments,
# tags, both ways. PACKETS=N for more of them, SEED=N for other choices.

load common
load say

setup() {
	vt_begin
	vt_wire
	vt_zone z1
	start A=
}
teardown() { vt_cleanup; }

# A link and a flow for each kind of traffic but one, and for what nobody here sends on purpose: world LINK-PROPERTIES
world() {
	local ns

	adm create-vnic -l eth0 -p "zone=${VT}z1${1:+,$1}" vnic1
	vt_addr z1 vnic1 10
	flow -b - <<-'END'
		create-flow -l vnic1 transport=udp,local_port=7001,remote_ip=10.99.0.1 udp4
		create-flow -l vnic1 transport=udp,remote_port=7002 udp6
		create-flow -l vnic1 transport=udp,local_port=7003,remote_port=7003 gso4
		create-flow -l vnic1 transport=udp,local_port=7004 gso6
		create-flow -l vnic1 transport=udp,local_port=7005 frag4
		create-flow -l vnic1 transport=udp,remote_port=7006,remote_ip=fd99::/64 frag6
		create-flow -l vnic1 transport=tcp,local_ip=10.99.0.10,local_port=7007 tcp4
		create-flow -l vnic1 transport=tcp,local_port=7000-7099 tcp6
		create-flow -l vnic1 vid=5 tag
		create-flow -l vnic1 vid=6,transport=udp,local_port=7010 tags
		create-flow -l vnic1 ethertype=arp arps
		create-flow -l vnic1 transport=icmpv6 discovery
	END
	# Of TCP's options only the time stamps, always of one length, and nothing sent twice in a hurry.
	for ns in z1 p; do in_ns $ns sysctl -qw net.ipv4.tcp_sack=0 net.ipv4.tcp_early_retrans=0; done
}

# What the tool counted, sent or received: told sent|received
told() { sed -n "s/^$1 //p" "$VT_DIR/mixed" | sort; }
counted() {
	flow show-flow -s -j | jq -r 'select(.flow != "arps" and .flow != "discovery") |
		"\(.flow) in \(.ipackets) \(.rbytes)", "\(.flow) out \(.opackets) \(.obytes)"' | sort
}
drops() { flow show-flow -s -j | jq -s 'map(.idrops + .odrops) | add'; }
done_or_gone() { grep -q '^done' "$VT_DIR/mixed" || vt_gone "$1"; }

# Traffic of all kinds, then all counts: exact PACKETS
exact() {
	local seed=${SEED:-$RANDOM} pid

	vt_bg in_ns_to "$VT_DIR/mixed" h "$TOOLS/mixed" --here "${VT}z1:vnic1:10" --there "${VT}p:peer0:1" \
		--packets "$1" --seed $((seed + 1))
	pid=$VT_PID
	vt_until 3000 done_or_gone "$pid" || complain "the traffic does not end"
	grep -q '^done' "$VT_DIR/mixed" || complain "SEED=$seed:" "$(cat "$VT_DIR/mixed")"
	same "SEED=$seed: sent and received" "$(told sent)" "$(told received)"
	same "SEED=$seed: sent and counted" "$(told sent)" "$(counted)"
	is 0 "$(drops)"
	echo "# $(told sent | awk '{ p += $3; b += $4 } END { print p " packets, " b " bytes" }'), SEED=$seed" >&3
	vt_stop "$pid"
}

@test "a link without a cap: programs count" {
	world
	exact "${PACKETS:-30000}"
}

@test "a capped link: programs count, and classes those flows that have one" {
	local name

	world maxbw=10G
	for name in udp4 frag4 tags; do flow set-flowprop -p maxbw=2G $name; done
	for name in gso6 tcp4; do flow set-flowprop -p priority=high $name; done
	exact "${PACKETS:-30000}"
}

@test "flows get and lose their class, over a killed daemon: nothing is counted twice or not at all" {
	local name before

	world maxbw=10G
	exact $((${PACKETS:-30000} / 3))
	before=$(counted)
	for name in udp4 gso4 tcp6 tags; do flow set-flowprop -p maxbw=2G $name; done
	same "with a cap" "$before" "$(counted)"
	stop
	start A=
	same "with a new daemon" "$before" "$(counted)"
	for name in udp4 gso4 tcp6 tags; do flow reset-flowprop -p maxbw $name; done
	same "without a cap again" "$before" "$(counted)"
}
