#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck disable=SC2154 # bats sets output, stderr and status
# What others change or delete of ours is put right, at first at once; what is not ours is never touched; a flood of
# notifications is got over.

load common.bash
load say.bash

setup_file() {
	vt_begin
	vt_wire
	vt_zone z1
	vt_zone z2
	foreigners
	vt_daemon
}
teardown_file() { vt_cleanup; }
setup() { : >"$VT_DIR/log"; }
teardown() { delete_all; }

# Things of others beside ours, of every kind that there is
foreigners() {
	in_ns h ip link add br9 type bridge
	in_ns h ip link add f0 type veth peer name f1
	in_ns h ip link set f1 master br9
	in_ns h ip link add ifb9 type ifb
	in_ns h ip link add mv9 link eth0 type macvlan
	in_ns h tc qdisc add dev f0 root handle 1: htb default 1
	in_ns h tc class add dev f0 parent 1: classid 1:1 htb rate 5mbit quantum 1514
	in_ns h tc qdisc add dev eth0 clsact
	in_ns h tc filter add dev eth0 ingress pref 77 protocol ip u32 match ip dst 192.0.2.1 action pass 2>/dev/null ||
		in_ns h tc filter add dev eth0 ingress pref 77 protocol ip u32 match ip dst 192.0.2.1 classid 1:1
	in_ns h ip addr add 192.0.2.9/24 dev br9
	in_ns h ip link set br9 up
	in_ns h ip route add 198.51.100.0/24 dev br9
	in_ns z1 ip link add f0 type veth peer name f1
	in_ns z1 tc qdisc add dev f0 root handle 1: htb
}
# Without ours: lines that speak of our links, pins and what the daemon says
others() { { look_at h; look_at z1; look_at z2; } | grep -vE 'vnic[0-9]|\bvi[0-9]+\b|stub0|^h: eth0 (tcx|ingress .* bpf )' |
		sed 's/ promiscuity [0-9]*//; s/ bridge forward_delay.*//; s/(null)//; s/ ,BROAD/ BROAD/' | sort; }

# All of ours as the kernel has it, but for what links that are made again have anew
# shellcheck disable=SC2016 # the other shell's
LOOK_OURS='
ip -d -o link show | sed -nE "/ (macvlan|ifb|bridge) .*alias|: vnic|: stub|: vi/{s/^[0-9]+: ([^:@]+)[^:]*: <(.*)>/\1 \2/; s/,?(LOWER_UP|NO-CARRIER|M-DOWN)//g
	s/ (state|qdisc|promiscuity|allmulti|link-netns|link-netnsid) [^ ]+//g; s/numtx.*alias/alias/; s/ bridge .* alias/ alias/; p}"
tc qdisc show | grep -E " (vnic|vi)[0-9]" | sed "s/direct_packets_stat [0-9]*//"
for dev in $(ip -o link show | sed -nE "s/^[0-9]+: ((vnic|vi)[0-9]+)[:@].*/\1/p"); do
	tc class show dev $dev | sed "s/^/$dev /"
	case $dev in vnic*) "$1" --dev $dev | sed "s/^/$dev /"; tc filter show dev $dev ingress | sed -n "s/.*bpf.*/$dev filter/p" ;; esac
done
tc filter show dev eth0 ingress 2>/dev/null | sed -n "s/.*bpf.*chain.*/eth0 filter/p"'
ours() {
	{
		in_ns h sh -c "$LOOK_OURS" sh "$TOOLS/hooks"
		in_ns z1 sh -c "$LOOK_OURS" sh "$TOOLS/hooks"
		steered
	} | sed -E 's/\bvi[0-9]+/viN/g; s/(vnicd:[-0-9a-f]+):[0-9]+/\1:N/; s/((viN|stub0) .*ether) [^ ]+/\1/' | sort
}
is_as_before() { [[ $(ours) == "$1" ]]; }
until_right() { vt_until 50 is_as_before "$1" || same "$2: not put right" "$1" "$(ours)"; }
ifb_of() { echo "vi$(sqlite3 -readonly "$VT_DIR/state/state.db" "SELECT n FROM link WHERE name = '$1'")"; }
# Its first time is a new link's: makes vnic1, in a zone or here. fresh h|z1
fresh() {
	local zone=

	[[ $1 == h ]] || zone=,zone=$VT$1
	delete_all
	made create-vnic -l eth0 -p "maxbw=10M$zone" vnic1
	: >"$VT_DIR/log"
	ifb=$(ifb_of vnic1)
}

# Every single thing that others can do to it, one after the other, each to a new VNIC: meddle NS 'COMMAND'
meddle() {
	local before took look

	fresh "$1"
	look=$(date +%s%N)
	before=$(ours)
	took=$(date +%s%N)
	look=$(((took - look) / 1000000))
	in_ns "${3:-$1}" sh -c "$2" || complain "$2: failed"
	until_right "$before" "$2 in $1"
	took=$((($(date +%s%N) - took) / 1000000))
	# Less than the second that a second time would have to wait, beside what looking takes itself.
	((took < 900 + 3 * look)) || complain "$2: put right only after $took ms, of which a look takes $look"
	is 1 "$(grep -c 'others changed it' "$VT_DIR/log")" "$2: $(cat "$VT_DIR/log")"
	is 1 "$(grep -c 'others changed it (.*): put right$' "$VT_DIR/log")" "$2: $(cat "$VT_DIR/log")"
	is up "$(vnic vnic1 state)"
}

@test "qdiscs, classes, filters and programs of a VNIC, here and in a zone: put right at once" {
	local ns

	for ns in h z1; do
		meddle $ns 'tc qdisc del dev vnic1 root'
		meddle $ns 'tc qdisc replace dev vnic1 root handle 1: htb'
		meddle $ns 'tc class change dev vnic1 parent 7fd0:ffff classid 7fd0:1 htb rate 99mbit quantum 1514'
		meddle $ns 'tc class change dev vnic1 parent 7fd0: classid 7fd0:ffff htb rate 99mbit quantum 1514'
		meddle $ns 'tc qdisc del dev vnic1 parent 7fd0:1'
		meddle $ns 'tc qdisc replace dev vnic1 parent 7fd0:1 handle 5: pfifo limit 3'
	done
}

@test "alias, group, MAC, MTU and the link itself: put right at once" {
	local ns

	for ns in h z1; do
		meddle $ns 'ip link set vnic1 group 7'
		meddle $ns 'ip link set vnic1 address 02:00:00:00:00:77'
		meddle $ns 'ip link set vnic1 alias something'
		meddle $ns 'ip link del vnic1'
	done
	meddle h 'ip link set vnic1 mtu 1300'
}

@test "the ifb: its tree, its state, alias, group and itself: put right at once" {
	fresh h
	# Numbers are never given twice: the next one's ifb is the next
	for what in 'tc qdisc del dev IFB root' 'tc qdisc del dev IFB parent 7fd0:1' \
		'tc class change dev IFB parent 7fd0:ffff classid 7fd0:1 htb rate 99mbit quantum 1514' \
		'ip link set IFB down' 'ip link set IFB group 7' 'ip link set IFB alias something' 'ip link del IFB'; do
		meddle z1 "${what//IFB/\$(ip -o link show type ifb | sed -n \"s/.*: \\(vi[0-9]*\\):.*/\\1/p\")}" h
	done
}

@test "with clsact in the place of tcx: hooks and programs that others delete come back" {
	local before what

	delete_all
	stop TERM
	VNICD=$FAULTY start VNICD_DISABLE=tcx
	made create-vnic -l eth0 -p maxbw=10M vnic1
	good create-vnic -l eth0 -p "maxbw=10M,zone=${VT}z1" vnic2
	before=$(ours)
	for what in 'h vnic1' 'z1 vnic2'; do
		# shellcheck disable=SC2086 # words
		set -- $what
		in_ns "$1" tc filter del dev "$2" ingress
		until_right "$before" "$2's filter"
	done
	# The parent's clsact is a foreigner's, with a filter of his in it: only ours goes
	pref=$(in_ns h tc filter show dev eth0 ingress | sed -n 's/.*pref \([0-9]*\) bpf .*/\1/p' | head -1)
	in_ns h tc filter del dev eth0 ingress pref "$pref"
	until_right "$before" "the hook's filter"
	in_ns h tc filter show dev eth0 ingress | grep -q 'pref 77'
	delete_all
	stop TERM
	start A=
}

@test "the second time after a second, the third after two; from the fifth on overridden, until the next command" {
	local from ms

	fresh z1
	in_ns z1 tc qdisc del dev vnic1 root
	until_is 10Mbit rate
	for ms in 1000 2000 4000; do
		from=$(date +%s%N)
		in_ns z1 tc qdisc del dev vnic1 root
		until_is "others changed it: it is about to be put right" vnic vnic1 why
		is '' "$(rate)"
		until_is 10Mbit rate
		from=$((($(date +%s%N) - from) / 1000000))
		((from > ms - 200 && from < ms + 2500)) || complain "put right after $from ms, not $ms"
	done
	in_ns z1 tc qdisc del dev vnic1 root
	until_is overridden vnic vnic1 state
	is overridden "$(link vnic1 state)"
	matches "^others changed it 5 times in 10 minutes \(last: root-add\)" "$(vnic vnic1 why)"
	sleep 0.3
	is '' "$(rate)"
	# Others may go on: it stays so
	in_ns z1 tc qdisc add dev vnic1 root handle 1: htb
	sleep 0.2
	is overridden "$(vnic vnic1 state)"
	good set-linkprop -p maxbw=20M vnic1
	is up "$(vnic vnic1 state)"
	is 20Mbit "$(rate)"
	# From the beginning again
	in_ns z1 tc qdisc del dev vnic1 root
	until_is 20Mbit rate
}
rate() { in_ns z1 tc class show dev vnic1 | sed -n 's/.*htb 7fd0:1 .* rate \([^ ]*\) .*/\1/p'; }

@test "an etherstub's MTU, group and alias: put right at once" {
	local before what

	for what in 'mtu 1500' 'group 7' 'alias something'; do
		delete_all
		good create-etherstub stub0
		good create-vnic -l stub0 -p "zone=${VT}z1,maxbw=10M" vnic1
		before=$(ours)
		# shellcheck disable=SC2086 # words
		in_ns h ip link set stub0 $what
		until_right "$before" "$what"
	done
}

@test "our own doing is never taken for others', however quickly" {
	local i

	made create-vnic -l eth0 -p maxbw=10M vnic1
	good create-etherstub stub0
	for i in {1..10}; do
		good create-vnic -l stub0 -p "maxbw=10M,zone=${VT}z1" vnic2
		good set-linkprop -p "maxbw=20M,mtu=1400" vnic2
		good set-linkprop -p "zone=${VT}z2" vnic2
		made reset-linkprop vnic2
		made set-linkprop -p rxbw=blocked vnic1 || made set-linkprop -p maxbw=11M vnic1
		good delete-vnic vnic2
		made reset-linkprop vnic1
		made set-linkprop -p maxbw=10M vnic1
	done
	sleep 0.3
	run grep -E 'others changed|error|warning' "$VT_DIR/log"
	is '' "$output"
}

@test "deleted by others while the daemon is dead, or while it starts: there again" {
	local before i

	fresh z1
	before=$(ours)
	for i in {1..5}; do
		vt_daemon_kill9
		in_ns z1 ip link del vnic1
		[[ $i != 1 ]] || in_ns h ip link del "$ifb"
		start A=
		in_ns z1 tc qdisc del dev vnic1 root
		until_right "$before" "killed and deleted"
	done
}

@test "a flood of notifications: everything right afterwards, with a few dumps" {
	local before pid dumps

	fresh z1
	made create-vnic -l eth0 -p maxbw=10M vnic2
	before=$(ours)
	for i in {1..1500}; do
		echo "link add m$i link eth0 group 99 type macvlan"
	done >"$VT_DIR/batch"
	echo "link del group 99" >>"$VT_DIR/batch"
	for i in {1..8000}; do
		echo "link set dev eth0 alias flood$i"
	done >>"$VT_DIR/batch"
	echo "link set dev eth0 alias ''" >>"$VT_DIR/batch"
	pid=$(vt_daemon_pid)
	kill -STOP "$pid"
	in_ns h ip -batch "$VT_DIR/batch"
	# Told of in the middle of what is lost
	in_ns z1 tc qdisc del dev vnic1 root
	in_ns h ip link del vnic2
	in_ns h ip link set eth0 mtu 1400
	in_ns h ip -batch <(head -500 "$VT_DIR/batch")
	in_ns h ip link del group 99
	in_ns h ip link set eth0 mtu 1500
	kill -CONT "$pid"
	until_right "$before" "after a flood"
	dumps=$(grep -c 'dropped notifications' "$VT_DIR/log") || true
	echo "dumps: $dumps" >&2
	((dumps >= 1 && dumps <= 3))
	is 0 "$(adm show-link -j | jq '[.[] | select(.link | test("^m[0-9]"))] | length')"
	is 'up up' "$(adm show-vnic -j | jq -r '[.[].state] | join(" ")')"
}

@test "what is not ours is the same before and after all of this" {
	local before now

	delete_all
	before=$(others)
	made create-vnic -l eth0 -p maxbw=10M vnic1
	good create-vnic -l eth0 -p "maxbw=10M,zone=${VT}z1" vnic2
	good create-etherstub stub0
	same "while ours are there" "$before" "$(others)"
	in_ns h tc qdisc del dev vnic1 root
	in_ns h ip link del stub0
	in_ns z1 ip link del vnic2
	until_is 'up' vnic vnic2 state
	same "after repairs" "$before" "$(others)"
	vt_daemon_restart KILL
	same "after a restart" "$before" "$(others)"
	delete_all
	now=$(others)
	same "after deletion" "$before" "$now"
}
