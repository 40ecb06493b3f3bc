#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck disable=SC2154 # bats sets output, stderr and status
# A link of ours that others took alias, MAC or name from while no daemon ran: known by what is left, down to its number
# and namespace; never a second one beside it, and nothing that is not ours is taken for it.

load common.bash
load say.bash

setup_file() {
	vt_begin
	vt_wire
	vt_zone z1
	vt_zone z2
	start A=
}
teardown_file() { vt_cleanup; }
setup() { : >"$VT_DIR/log"; }
teardown() { delete_all; }

# What a robber takes: from NS LINK WHAT...; its name is $NAME afterwards
from() {
	local what

	NAME=$2
	for what in "${@:3}"; do
		case $what in
		alias) in_ns "$1" ip link set "$NAME" alias '' ;;
		other-alias) in_ns "$1" ip link set "$NAME" alias uplink ;;
		mac) in_ns "$1" ip link set "$NAME" address 02:00:00:00:00:99 ;;
		name)
			in_ns "$1" ip link set "$NAME" name robbed0
			NAME=robbed0
			;;
		esac
	done
}
index() { in_ns "$1" ip -j link show "$2" | jq '.[0].ifindex'; }
kept() { [[ $(sqlite3 -readonly "$VT_DIR/state/state.db" "SELECT count(*) FROM place JOIN link USING (n) WHERE name = '$1' AND ifindex = $2") == 1 ]]; }
macvlans() { in_ns "$1" ip -j -d link show type macvlan | jq length; }
rate() { in_ns "$1" tc class show dev "$2" | sed -n 's/.*htb 7fd0:1 .* rate \([^ ]*\) .*/\1/p'; }

# robbed_and_known NS PROPERTIES WHAT...: robbed while the daemon is away, it is the same link afterwards, whole
robbed_and_known() {
	local index

	made create-vnic -l eth0 -m 2:8:20:0:0:9 -p "maxbw=10M$2" vnic1
	index=$(index "$1" vnic1)
	vt_until 50 kept vnic1 "$index"
	stop KILL
	from "$1" vnic1 "${@:3}"
	start A=
	is "$index" "$(index "$1" "$NAME")" "robbed of ${*:3} in $1"
	is 1 "$(macvlans "$1")"
	is up "$(vnic vnic1 state)" "robbed of ${*:3} in $1: $(vnic vnic1 why)"
	is "$index" "$(vnic vnic1 ifindex)"
	matches "alias vnicd:.*" "$(in_ns "$1" ip link show "$NAME")"
	matches 'link/ether 02:08:20:00:00:09' "$(in_ns "$1" ip link show "$NAME")"
	is 10Mbit "$(rate "$1" "$NAME")"
	# And for good: the next start has nothing to do.
	stop KILL
	start A=
	matches 'adopted 1 links with 0 modifying acts' "$(tail -20 "$VT_DIR/log")"
	good delete-vnic vnic1
	is 0 "$(macvlans "$1")"
	is '' "$(in_ns h ip -o link show type ifb)"
}

@test "robbed of alias, MAC, name, and of two or all of them, here and in a zone: the same link, made whole" {
	local what

	for what in alias mac name 'alias mac' 'alias name' 'mac name' 'alias mac name' 'other-alias mac name'; do
		# shellcheck disable=SC2086 # words
		robbed_and_known h '' $what
		# shellcheck disable=SC2086
		robbed_and_known z1 ",zone=${VT}z1" $what
	done
}

@test "robbed of all and moved before it was noted elsewhere: an ordinary stop notes where it is" {
	local index

	made create-vnic -l eth0 -m 2:8:20:0:0:9 -p maxbw=10M vnic1
	in_ns h ip link set vnic1 netns "${VT}z1" up
	until_is "${VT}z1" vnic vnic1 zone
	index=$(index z1 vnic1)
	stop TERM
	from z1 vnic1 alias mac name
	start A=
	is "${VT}z1" "$(vnic vnic1 zone)"
	is "$index" "$(vnic vnic1 ifindex)"
	is up "$(vnic vnic1 state)"
	is 0 "$(macvlans h)"
	is 1 "$(macvlans z1)"
	is 10Mbit "$(rate z1 robbed0)"
}

@test "an etherstub robbed of alias and name, with a capped VNIC over it" {
	local index

	good create-etherstub stub0
	made create-vnic -l stub0 -p "maxbw=10M,zone=${VT}z1" vnic1
	index=$(index h stub0)
	vt_until 50 kept stub0 "$index"
	vt_until 50 kept vnic1 "$(index z1 vnic1)"
	stop KILL
	from h stub0 alias name
	from z1 vnic1 alias mac
	start A=
	is "$index" "$(link stub0 ifindex)"
	is up "$(link stub0 state)"
	is up "$(vnic vnic1 state)"
	is 1 "$(in_ns h ip -o -d link show group 1986947427 | grep -vc ' ifb ')"
	is 1 "$(macvlans z1)"
	stop KILL
	start A=
	matches 'adopted 2 links with 0 modifying acts' "$(tail -20 "$VT_DIR/log")"
}

@test "somebody else's macvlan under the number of one that is gone is not taken for it" {
	local index before

	good create-vnic -l eth0 -p "zone=${VT}z1" vnic1
	index=$(index z1 vnic1)
	vt_until 50 kept vnic1 "$index"
	stop KILL
	in_ns z1 ip link del vnic1
	in_ns h ip link add link eth0 name theirs0 index "$index" type macvlan mode bridge
	in_ns h ip link set theirs0 netns "${VT}z1"
	is "$index" "$(index z1 theirs0)"
	before=$(in_ns z1 ip -d link show theirs0)
	start A=
	is "$before" "$(in_ns z1 ip -d link show theirs0)"
	is up "$(vnic vnic1 state)"
	is 2 "$(macvlans z1)"
	in_ns z1 ip link del theirs0
}

# --- who is root in a zone gives his link the alias of another's ---------------------------------------------------------

alias_of() { echo "vnicd:$(sqlite3 -readonly "$VT_DIR/state/state.db" "SELECT value FROM meta WHERE key = 'uuid'"):$(number "$1")"; }
number() { sqlite3 -readonly "$VT_DIR/state/state.db" "SELECT n FROM link WHERE name = '$1'"; }
alias_now() { in_ns "$1" ip -j link show "$2" | jq -r '.[0].ifalias // "--"'; }
two_tenants() {
	made create-vnic -l eth0 -m 2:8:20:0:0:9 -p "maxbw=10M,zone=${VT}z1" vnic1
	made create-vnic -l eth0 -m 2:8:20:0:0:a -p "maxbw=20M,zone=${VT}z2" vnic2
	mine=$(index z1 vnic1) other=$(index z2 vnic2)
	vt_until 50 kept vnic1 "$mine"
	vt_until 50 kept vnic2 "$other"
}
# Both are who and where they were, each with its own cap and alias, and nothing else is ours.
as_ever() {
	until_is "$(alias_of vnic1)" alias_now z1 vnic1
	until_is up vnic vnic1 state
	until_is up vnic vnic2 state
	is "$mine ${VT}z1" "$(vnic vnic1 ifindex) $(vnic vnic1 zone)" "$1"
	is "$other ${VT}z2" "$(vnic vnic2 ifindex) $(vnic vnic2 zone)" "$1"
	is "$(alias_of vnic2)" "$(alias_now z2 vnic2)" "$1"
	is '10Mbit 20Mbit' "$(rate z1 vnic1) $(rate z2 vnic2)" "$1"
}

@test "the alias of another's VNIC on one's own: put right, and nobody's is taken for it; while a daemon runs and while none does" {
	local mine other

	two_tenants
	in_ns z1 ip link set vnic1 alias "$(alias_of vnic2)"
	as_ever 'while it runs'
	stop KILL
	in_ns z1 ip link set vnic1 alias "$(alias_of vnic2)"
	start A=
	as_ever 'while none runs'
	! grep -q 'was moved to' "$VT_DIR/log" || complain "$(cat "$VT_DIR/log")"
}

@test "the alias of another's VNIC, and its group, on a link of the tenant's own: it is not touched, nor the VNIC" {
	local mine other

	two_tenants
	for daemon in runs stops; do
		[[ $daemon == runs ]] || stop KILL
		in_ns z1 ip link add claim0 link vnic1 address 02:00:00:00:00:98 type macvlan mode bridge
		in_ns z1 ip link set claim0 alias "$(alias_of vnic2)"
		in_ns z1 ip link set claim0 group "$(in_ns z1 ip -j link show vnic1 | jq -r '.[0].group')"
		[[ $daemon == runs ]] || start A=
		sleep 0.5
		as_ever "the daemon $daemon"
		is '' "$(rate z1 claim0)"
		matches '02:00:00:00:00:98' "$(in_ns z1 ip link show claim0)"
		in_ns z1 ip link del claim0
	done
	! grep -q 'was moved to' "$VT_DIR/log" || complain "$(cat "$VT_DIR/log")"
}

@test "with its alias elsewhere, a VNIC that is moved is found where it is; one that is gone is not there either" {
	local mine other

	two_tenants
	in_ns z1 ip link add claim0 link vnic1 address 02:00:00:00:00:98 type macvlan mode bridge
	in_ns z1 ip link set claim0 alias "$(alias_of vnic2)"
	vt_zone z3
	in_ns z2 ip link set vnic2 netns "${VT}z3"
	until_is "${VT}z3" vnic vnic2 zone
	until_is 20Mbit rate z3 vnic2
	in_ns z1 ip link set claim0 alias "$(alias_of vnic2)"
	stop KILL
	in_ns z3 ip link set vnic2 netns "${VT}z2"
	start A=
	until_is "${VT}z2" vnic vnic2 zone
	until_is 20Mbit rate z2 vnic2
	is '' "$(rate z1 claim0)"
	in_ns z1 ip link del claim0
}
