#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# Some hundred capped VNICs: what they cost beside ip and tc, with wide bounds (the bench has the promised ones), and
# that no operation on one of them lists all of them.

load common
# shellcheck source=tests/scale.sh
. tests/scale.sh

COUNT=300

setup() {
	vt_begin
	vt_wire
	scale_world
	scale_files 0 $COUNT
	start
}
teardown() {
	tail -n 5 "$VT_DIR/log" >&2 # shown when a test fails
	vt_cleanup
}

# at_most FIGURE CONTROL TIMES
at_most() {
	awk -v a="$1" -v b="$2" -v t="$3" 'BEGIN { exit !(a <= b * t) }' ||
		complain "$1 s is more than $3 times $2 s"
}

# Until the daemon has looked at all that the last command did.
settle() {
	local ran last=

	for ((i = 0; i < 100; i++)); do
		ran=$(cut -d' ' -f1 "/proc/$(vt_daemon_pid)/schedstat")
		[[ $ran != "$last" ]] || return 0
		last=$ran
		sleep 0.3
	done
	complain 'the daemon never rests'
}

# Every request of the daemon while a command runs: traced COMMAND...; how many of them are dumps of links or qdiscs
traced() {
	settle
	vt_bg strace -f -qq -e trace=sendmsg,sendto -e signal=none -s 64 -o "$VT_DIR/trace" -p "$(vt_daemon_pid)"
	sleep 0.5
	"$@" 2>/dev/null
	sleep 0.5
	vt_stop "$VT_PID" INT
}
# Of links, qdiscs and counters: of one there is no dump, so any is of all (of addresses and classes there is). strace knows
# the numbers but, in another namespace, not their names.
dumps() { grep -cE 'nlmsg_type=0x(12|1e|26|5e) .*flags=[^,]*0x300' "$VT_DIR/trace" || true; }

@test "scale: $COUNT VNICs made, shown, adopted and deleted, beside ip and tc" {
	slow=1
	[[ -z ${SLOW_BUILD:-}${VNICD_TEST_SLOW:-} ]] || slow=10
	hand=$(took by_hand)
	dump=$(took in_ns s ip -j -d link)
	made=$(took adm -b "$VT_DIR/batch")
	at_most "$made" "$hand" $((4 * slow))
	[[ $(adm show-vnic -o bandwidth | grep -c max=100M) == "$COUNT" ]]
	# Shared programs tell their VNICs apart: each has the state of its own.
	adm set-linkprop -p maxbw=blocked s7
	[[ $(adm show-vnic -o bandwidth s7 | tail -n 1) == *blocked* && $(adm show-vnic -o bandwidth s8 | tail -n 1) == *100M* ]]
	adm set-linkprop -p maxbw=100M s7
	at_most "$(took adm show-vnic)" "$dump" $((10 * slow))
	stop TERM
	: >"$VT_DIR/log"
	at_most "$(took scale_serve)" "$dump" $((40 * slow))
	[[ $(scale_acts) == 0 ]]
	deleted=$(took in_ns s ip link del group 77)
	# shellcheck disable=SC2046
	at_most "$(took adm delete-vnic $(scale_names 1 2))" "$deleted" $((8 * slow))
	[[ $(adm show-vnic -o bandwidth | grep -c max=100M) == $((COUNT / 2)) ]]
}

@test "scale: no command about one VNIC lists all, and a batch does so a few times only" {
	traced adm -b "$VT_DIR/batch"
	(($(dumps) <= 10)) || complain "$(dumps) dumps in a batch" "$(grep 0x300 "$VT_DIR/trace" | head)"
	traced adm create-vnic -l eth0 -p maxbw=100M more0
	(($(dumps) == 0)) || complain "$(dumps) dumps in create-vnic" "$(grep 0x300 "$VT_DIR/trace" | head)"
	(($(wc -l <"$VT_DIR/trace") < 150)) || complain "$(wc -l <"$VT_DIR/trace") requests in create-vnic"
	traced adm set-linkprop -p maxbw=50M more0
	(($(dumps) == 0)) || complain "$(dumps) dumps in set-linkprop" "$(grep 0x300 "$VT_DIR/trace" | head)"
	traced adm delete-vnic more0
	(($(dumps) <= 2)) || complain "$(dumps) dumps in delete-vnic" "$(grep 0x300 "$VT_DIR/trace" | head)"
}

@test "scale: at its start the daemon reads links and qdiscs once, and not one by one" {
	[[ -z ${SLOW_BUILD:-} ]] || skip 'leaks are not looked for under strace, and their absence is no figure'
	adm -b "$VT_DIR/batch" 2>/dev/null
	stop TERM
	VNICD_WRAP="strace -D -f -qq -e trace=sendmsg,sendto -e signal=none -s 64 -o $VT_DIR/trace" vt_daemon
	asked=$(grep -cE 'nlmsg_type=(0x12|0x26|RTM_GETLINK|RTM_GETQDISC)' "$VT_DIR/trace" || true)
	# One of links in every other namespace, whoever has made those.
	((asked > 0 && asked < COUNT / 3)) || complain "$asked questions about links and qdiscs" "$(tail -n 5 "$VT_DIR/trace")"
}
