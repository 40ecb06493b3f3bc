# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash
# What the namespace tests share: a daemon that starts fast or with faults, the whole state of all namespaces as text,
# and measuring with a second try. Knows no expectation.

cd "$BATS_TEST_DIRNAME/../.." || exit
. tests/lib.sh
# The files of bats are sourced for each test: what setup_file made is known by exported names.
# shellcheck disable=SC2034
FAULTY=$BUILD/tests/vnicd

# vnicadm's own words for a failure, for the test's output
complain() {
	printf '%s\n' "$@" >&2
	return 1
}

# The same as vt_daemon, without its tenths of seconds; words before are put into its environment: start [VAR=VALUE...]
start() {
	local i

	rm -f "$VNICD_SOCKET"
	vt_daemon_args
	vt_bg in_ns_log h env "$@" "$VNICD" "${VT_ARGS[@]}"
	echo "$VT_PID" >"$VT_DIR/daemon"
	disown "$VT_PID" # or the shell tells of every one that is killed
	for ((i = 0; i < 1000; i++)); do
		[[ ! -S $VNICD_SOCKET ]] || return 0
		sleep 0.01
	done
	complain "vnicd does not serve; its log:" "$(tail -20 "$VT_DIR/log")"
}

stop() {
	kill "-${1:-KILL}" "$(vt_daemon_pid)" 2>/dev/null || true
	await_end
}

await_end() {
	local i

	for ((i = 0; i < 1000; i++)); do
		! vt_gone "$(vt_daemon_pid)" || return 0
		sleep 0.01
	done
	complain "vnicd does not end"
}

# --- the state of everything, as text ---------------------------------------------------------------------------------

# One namespace: links, addresses, routes, qdiscs, classes, filters, programs. No counters.
# shellcheck disable=SC2016
LOOK='
mount -t sysfs sysfs /sys
ip -d -j link show | jq -r ".[] | [\"link\", .ifname, .ifindex, .linkinfo.info_kind // \"-\", .address, .mtu,
	(if .flags | index(\"UP\") then \"up\" else \"down\" end), .group, .ifalias // \"-\", .inet6_addr_gen_mode,
	.linkinfo.info_data.mode // \"-\"] | map(tostring) | join(\" \")"
ip -br addr show | sed "s/@[^ ]*//; s/^/addr /; s/ UP \| UNKNOWN \| DOWN \| LOWERLAYERDOWN / /; s/  */ /g"
ip route show | sed "s/^/route /; s/ linkdown//"
ip -6 route show | sed "s/^/route6 /; s/ pref medium//; s/ linkdown//"
grep -s . /proc/sys/net/ipv6/conf/*/accept_ra | sed "s,.*conf/,accept_ra ,; s,/accept_ra:, ,"
qdiscs=$(tc qdisc show | sed "s/direct_packets_stat [0-9]*//")
echo "$qdiscs"
for dev in $(ls /sys/class/net); do
	"$1" --dev "$dev" | sed "s/^/$dev /"
	case "$qdiscs" in *"htb 7fd0: dev $dev "*) tc class show dev "$dev" | sed "s/^/$dev /" ;; esac
	case "$qdiscs" in *"clsact ffff: dev $dev "*)
		for side in ingress egress; do
			tc filter show dev "$dev" $side | sed "s/^/$dev $side /; s/ id [0-9]*//"
		done ;;
	esac
done'

look_at() { nsenter --net="/run/netns/$VT$1" unshare --mount sh -c "$LOOK" sh "$TOOLS/hooks" | sed "s/^/$1: /"; }

# The steering entries: MAC, ifb by name, open or not
steered() {
	local map

	for map in "$VT_DIR"/bpf/*/*/steer; do
		[[ -e $map ]] || continue
		jq -nr --argjson links "$(in_ns h ip -j link show)" --argjson map "$(bpftool -j map dump pinned "$map")" '
			def name($i): [$links[] | select(.ifindex == $i) | .ifname][0] // "ifindex \($i)";
			$map[].formatted
			| "steer \(name(.key.ifindex)) \(.key.mac) to \(name(.value.ifb)) \(.value.last)"'
	done
}

pins() { find "$VT_DIR/bpf" -mindepth 3 | sed 's,.*/,pin ,'; }

# What the daemon says, and what it keeps on disk
told() {
	adm show-vnic -o link,over,mactype,macvalue,bandwidth,mtu,zone,state
	adm show-etherstub
	adm show-link -a -o link,class,mtu,over
	sqlite3 -readonly "$VT_DIR/state/state.db" 'SELECT "intent", * FROM intent; SELECT "prop", name, key, value
		FROM prop JOIN link USING (n); SELECT "row", class, name FROM link'
}

# Everything. Numbers that a re-made object has anew are left out; ifindexes of VNICs too, with "remade".
dump() {
	local zone

	{
		while read -r zone; do
			[[ $zone == p ]] || look_at "$zone"
		done <"$VT_DIR/zones"
		steered
		pins
		told
	} | sed -E 's/\bvi[0-9]+/viN/g; s/(vnicd:[-0-9a-f]+):[0-9]+/\1:N/; s/vnic-[0-9]+/vnic-N/; s/(link viN) [0-9]+ ifb [0-9a-f:]+/\1/
		s/ +/ /g' | if [[ ${1:-} == remade ]]; then remade; else cat; fi | sort
}

# Leaves out what a link that is made again has anew.
remade() { sed -E 's/(link [^ ]+) [0-9]+ (macvlan)/\1 \2/; s/(link [^ ]+) [0-9]+ (bridge) [^ ]+/\1 \2/'; }

# same WHAT A B: complains with the difference
same() { [[ $2 == "$3" ]] || complain "$1:" "$(diff <(echo "$2") <(echo "$3"))"; }

# --- every step of a command ------------------------------------------------------------------------------------------

# kill_every_step NAME 'COMMAND' 'COMMAND THAT UNDOES IT': the daemon is killed at every step of the command. What the
# next daemon finds must be wholly there or not at all, what was acknowledged wholly; the command then works.
kill_every_step() {
	local before after now n status

	VNICD=$FAULTY
	states "$2" "$3"
	for ((n = 1; n < 100; n++)); do
		stop
		start VNICD_FAULT_FILE="$VT_DIR/fault" VNICD_KILL_AT=$n
		run_faulty "$2"
		if ! vt_gone "$(vt_daemon_pid)"; then
			eval "$3"
			break
		fi
		await_end
		start A=
		now=$(dump remade)
		if [[ $now != "$after" ]]; then
			[[ $status != 0 ]] || same "$1: acknowledged, then killed at step $n" "$after" "$now"
			same "$1: killed at step $n" "$before" "$now"
			eval "$2" || complain "$1: killed at step $n, then given again: failed"
			same "$1: killed at step $n, then given again" "$after" "$(dump remade)"
		fi
		eval "$3" || complain "$1: killed at step $n, then undone: failed"
	done
	((n > 2)) || complain "$1: not one step"
	same "$1: killed at every step, in the end" "$before" "$(dump remade)"
}

# What there is before and after a command, in $before and $after
states() {
	before=$(dump remade)
	eval "$1"
	after=$(dump remade)
	eval "$2"
	same "there and back" "$before" "$(dump remade)"
	[[ $before != "$after" ]] || complain "$1 changes nothing"
}

run_faulty() {
	: >"$VT_DIR/fault"
	status=0
	eval "$1" 2>"$VT_DIR/stderr" || status=$?
	rm -f "$VT_DIR/fault"
}

# fail_every_step NAME 'COMMAND' 'COMMAND THAT UNDOES IT': every step of the command fails. It must say so in one line,
# change nothing, and work the next time.
fail_every_step() {
	local before after n status

	VNICD=$FAULTY
	states "$2" "$3"
	for ((n = 1; n < 100; n++)); do
		stop
		start VNICD_FAULT_FILE="$VT_DIR/fault" VNICD_FAIL_AT=$n
		before=$(dump)
		run_faulty "$2"
		if [[ $status != 0 ]]; then
			[[ $status == 2 ]] || complain "$1: step $n failed: status $status"
			[[ $(wc -l <"$VT_DIR/stderr") == 1 ]] || complain "$1: step $n failed:" "$(cat "$VT_DIR/stderr")"
			same "$1: step $n failed" "$before" "$(dump)"
			eval "$2" || complain "$1: step $n failed, then given again: failed"
		fi
		eval "$3" || complain "$1: step $n failed, then given again and undone: failed"
		[[ $status != 0 ]] || break
	done
	((n > 2)) || complain "$1: not one step"
	same "$1: failed at every step, in the end" "$(remade <<<"$before" | sort)" "$(dump remade)"
}
