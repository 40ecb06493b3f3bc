#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck disable=SC2154 # bats sets output, stderr and status
# isolate=on: the traffic of a VNIC's addresses goes over the VNIC in its parent's own namespace, within its cap; rules,
# table and ARP settings follow the addresses, and off leaves nothing.

load common.bash
load say.bash

NEW=02:08:20:00:00:02

setup() {
	vt_begin
	vt_wire
	vt_addr h eth0 10
	start_faulty
}
teardown() { vt_cleanup; }

# A VNIC with an address of each family in its parent's subnet
beside() {
	made create-vnic -l eth0 -m $NEW "$@" vnic1
	in_ns h ip link set vnic1 up
	vt_addr h vnic1 2
}
rules() { { in_ns h ip rule; in_ns h ip -6 rule; } | sed -nE 's/.*from ([^ ]+) lookup ([0-9]+) proto 118.*/\1 \2/p' | sort; }
froms() { rules | cut -d' ' -f1 | tr '\n' ' '; }
routes() { in_ns h ip route show table all | grep 'proto 118' | sed -E 's/ table [0-9]+//; s/ +$//' | sort; }
arp() { in_ns h cat "/proc/sys/net/ipv4/conf/$1/arp_ignore" "/proc/sys/net/ipv4/conf/$1/arp_announce" | tr '\n' ' '; }
has_from() { is "$1" "$(froms)" 2>/dev/null; }

# Goodput in bits/s of TCP: to_vnic ADDRESS; from_vnic PEER ADDRESS; between two addresses of the host: within A B
to_vnic() {
	in_ns p ip neigh flush all 2>/dev/null
	tcp_load p h "$1" "$VT_DIR/flow" 3
	goodput "$VT_DIR/flow"
}
from_vnic() { sent p "$1" "$2"; }
sent() {
	serve "$1" "$VT_DIR/flow" >/dev/null
	in_ns h timeout 20 iperf3 -c "$2" -B "$3" -t 3 >/dev/null 2>&1
	vt_until 30 vt_gone "$VT_PID" || vt_stop "$VT_PID"
	goodput "$VT_DIR/flow"
}
# more RATE / between LOW HIGH: of $rate, in Mbit/s; what was disturbed is measured once more
between() {
	local rate

	for _ in 1 2; do
		rate=$("${@:3}")
		! awk -v r="$rate" -v a="$1" -v b="$2" 'BEGIN { exit !(r >= a * 1e6 && r <= b * 1e6) }' || return 0
	done
	complain "${*:3}: $(human "$rate") is not from $1 to $2 Mbit/s"
}

@test "without it traffic passes the cap by, both ways, and the user is told; with it the cap holds, in both families" {
	beside -p maxbw=20M
	matches "addresses in eth0's subnet bypass it, uncapped" "$stderr"
	until_is "has an address in the subnet and namespace of eth0: traffic between them bypasses it, uncapped (use -p zone=NAME or isolate=on)" vnic vnic1 why
	between 200 999999 to_vnic 10.99.0.2
	between 200 999999 from_vnic 10.99.0.1 10.99.0.2
	between 200 999999 from_vnic fd99::1 fd99::2
	made set-linkprop -p isolate=on vnic1
	matches "between their addresses traffic stays in this host, uncapped" "$stderr"
	is -- "$(vnic vnic1 why)"
	is 'on on off' "$(prop vnic1 isolate value) $(prop vnic1 isolate effective) $(prop vnic1 isolate default)"
	between 15 20 to_vnic 10.99.0.2
	between 15 20 from_vnic 10.99.0.1 10.99.0.2
	between 15 20 to_vnic fd99::2
	between 15 20 from_vnic fd99::1 fd99::2
}

@test "two addresses of one host talk within it, as the manual says" {
	beside -p maxbw=20M,isolate=on
	serve h "$VT_DIR/flow"
	in_ns h timeout 20 iperf3 -c 10.99.0.2 -B 10.99.0.10 -t 2 >/dev/null 2>&1
	vt_until 30 vt_gone "$VT_PID"
	awk -v r="$(goodput "$VT_DIR/flow")" 'BEGIN { exit !(r > 2e8) }'
}

@test "strict reverse path filters let it through" {
	beside -p isolate=on
	in_ns h sysctl -qw net.ipv4.conf.all.rp_filter=1 net.ipv4.conf.vnic1.rp_filter=1 net.ipv4.conf.eth0.rp_filter=1
	in_ns p ping -qc 3 -i 0.1 10.99.0.2
	in_ns p ping -qc 3 -i 0.1 10.99.0.10
	in_ns h ping -qc 3 -i 0.1 -I 10.99.0.2 10.99.0.1
}

@test "rules and routes follow addresses, gateways, renaming and up and down" {
	beside -p isolate=on
	until_is '10.99.0.2 fd99::2 ' froms
	in_ns h ip addr add 10.98.0.7/24 dev vnic1
	until_is '10.98.0.7 10.99.0.2 fd99::2 ' froms
	matches '10.98.0.0/24 dev vnic1' "$(routes)"
	in_ns h ip addr del 10.98.0.7/24 dev vnic1
	until_is '10.99.0.2 fd99::2 ' froms
	! grep 10.98 <<<"$(routes)" || false
	# A gateway in the subnet is one for the VNIC, too, whichever of the two has the route.
	in_ns h ip route add default via 10.99.0.1 dev eth0
	in_ns h ip -6 route add default via fd99::1 dev eth0
	until_is 2 eval 'routes | grep -c "default via .*99.* dev vnic1"'
	in_ns h ip route del default
	until_is 1 eval 'routes | grep -c "default via"'
	vt_rename h vnic1 other1
	until_is other1 eval 'routes | sed -n "s/.*10.99.0.0.24 dev \([^ ]*\).*/\1/p"'
	vt_rename h other1 vnic1
	# Down, nothing goes around it.
	in_ns h ip link set vnic1 down
	until_is 2 eval 'routes | wc -l'
	! in_ns h ping -qc 1 -W 1 -I 10.99.0.2 10.99.0.1 || false
	in_ns h ip link set vnic1 up
	until_is 1 eval 'routes | grep -c "10.99.0.0/24 dev vnic1"'
	# None of this was meddling.
	is '' "$(grep 'others changed' "$VT_DIR/log")"
}

@test "what others delete comes back; what others put in is left alone" {
	beside -p isolate=on
	until_is '10.99.0.2 fd99::2 ' froms
	in_ns h ip rule del from 10.99.0.2
	until_is '10.99.0.2 fd99::2 ' froms
	matches 'others changed it' "$(cat "$VT_DIR/log")"
	in_ns h ip route add 192.0.2.0/24 via 10.99.0.1 dev eth0 table 77
	in_ns h ip rule add from 192.0.2.1 lookup 77 pref 20001
	made set-linkprop -p isolate=off vnic1
	matches 'lookup 77' "$(in_ns h ip rule)"
	matches 192.0.2 "$(in_ns h ip route show table 77)"
}

@test "a table that others use is refused" {
	beside
	in_ns h ip route add 192.0.2.0/24 via 10.99.0.1 dev eth0 table 1979711489
	run --separate-stderr adm set-linkprop -p isolate=on vnic1
	is 1 "$status"
	matches 'vnicadm: vnic1: cannot isolate it: routing table 1979711489 is used by others' "$stderr"
	is '0 0 ' "$(arp eth0)"
	is off "$(prop vnic1 isolate effective)"
}

@test "refused in a zone and on other links; a VNIC that is moved leaves nothing behind and gets it back" {
	local before

	vt_zone z1
	refused 1 "vnic1: in zone ${VT}z1 it is isolated already: use isolate=off, or no zone (reset-linkprop -p zone)" \
		create-vnic -l eth0 -p "isolate=on,zone=${VT}z1" vnic1
	refused 1 'eth0: isolate cannot be set on a veth link: only on a VNIC' set-linkprop -p isolate=on eth0
	refused 1 'vnic1: isolate: yes is neither on nor off' create-vnic -l eth0 -p isolate=yes vnic1
	before=$(look_at h)
	beside -p isolate=on
	in_ns h ip link set vnic1 netns "${VT}z1"
	until_is '' froms
	until_is '0 0 ' arp eth0
	is 'on off' "$(prop vnic1 isolate value) $(prop vnic1 isolate effective)"
	same 'moved away' "$before" "$(look_at h)"
	in_ns z1 ip link set vnic1 netns "${VT}h"
	until_is 2 eval 'routes | grep -c unreachable'
	is '1 2 ' "$(arp eth0)"
}

@test "two on one parent: ARP settings stay strict until the last one goes; own settings of the user come back" {
	in_ns h sysctl -qw net.ipv4.conf.eth0.arp_announce=1
	beside
	in_ns h sysctl -qw net.ipv4.conf.vnic1.arp_ignore=3
	made set-linkprop -p isolate=on vnic1
	made create-vnic -l eth0 -p isolate=on vnic2
	is '1 2 1 2 1 2 ' "$(arp eth0)$(arp vnic1)$(arp vnic2)"
	made set-linkprop -p isolate=off vnic1
	is '1 2 3 0 ' "$(arp eth0)$(arp vnic1)"
	stop
	start
	matches 'with 0 modifying acts' "$(tail -5 "$VT_DIR/log")"
	good delete-vnic vnic2
	is '0 1 ' "$(arp eth0)"
}

@test "killed at every step: on, off, and made with it" {
	beside
	kill_every_step 'isolate on' 'adm set-linkprop -p isolate=on vnic1 2>/dev/null' 'adm reset-linkprop -p isolate vnic1 2>/dev/null'
	adm set-linkprop -p isolate=on vnic1 2>/dev/null
	kill_every_step 'isolate off' 'adm reset-linkprop -p isolate vnic1 2>/dev/null' 'adm set-linkprop -p isolate=on vnic1 2>/dev/null'
	adm delete-vnic vnic1
	kill_every_step 'create' "adm create-vnic -l eth0 -m $NEW -p isolate=on,maxbw=50G vnic1 2>/dev/null" 'adm delete-vnic vnic1'
}

# The command without its notes: a failure is one line.
one_note() { adm "$@" 2> >(grep -v 'vnicadm: note:' >&2); }

@test "every step fails: on, off" {
	beside
	fail_every_step 'isolate on' 'one_note set-linkprop -p isolate=on vnic1' 'adm reset-linkprop -p isolate vnic1 2>/dev/null'
	adm set-linkprop -p isolate=on vnic1 2>/dev/null
	fail_every_step 'isolate off' 'one_note reset-linkprop -p isolate vnic1' 'adm set-linkprop -p isolate=on vnic1 2>/dev/null'
}

@test "reset with isolation on leaves nothing" {
	local before

	before=$(dump)
	beside -p isolate=on,maxbw=20M
	good reset --yes
	same 'after reset' "$before" "$(dump)"
}
