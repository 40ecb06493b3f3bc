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
	disown "$VT_PID" 2>/dev/null || true # or the shell tells of every one that is killed
	for ((i = 0; i < 1000; i++)); do
		[[ ! -S $VNICD_SOCKET ]] || return 0
		sleep 0.01
	done
	complain "vnicd does not serve; its log:" "$(tail -20 "$VT_DIR/log")"
}

# shellcheck disable=SC2120
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

# One namespace: links, addresses, routes, qdiscs, classes, filters, programs. No counters. What follows "#@" goes before
# each line up to the next: a sed for each list would take most of the time.
# shellcheck disable=SC2016
LOOK='
echo "#@link "
ip -d -o link show
echo "#@addr "
ip -br addr show
echo "#@route "
ip route show
echo "#@route6 "
ip -6 route show
echo "#@rule "
ip rule show
echo "#@rule6 "
ip -6 rule show
echo "#@tables "
ip route show table all
echo "#@"
grep -s . /proc/sys/net/ipv6/conf/*/accept_ra /proc/sys/net/ipv4/conf/*/arp_ignore /proc/sys/net/ipv4/conf/*/arp_announce
"$1"
qdiscs=$(tc qdisc show)
echo "$qdiscs"
echo "$qdiscs" | while read -r _ kind handle _ dev _; do
	case "$kind $handle" in
	"htb 7fd0:")
		echo "#@$dev "
		tc class show dev "$dev" ;;
	"clsact ffff:")
		for side in ingress egress; do
			echo "#@$dev $side "
			tc filter show dev "$dev" $side
		done ;;
	esac
done'

# Programs on a device's two hooks, by tcx or as filters of a clsact: hooks NS DEV
hooks() {
	local side tcx

	for side in ingress egress; do
		tcx=$(in_ns "$1" "$TOOLS/hooks" --dev "$2" | sed -n "s/^tcx_$side //p")
		printf '%s %d ' "$side" $((tcx + $(in_ns "$1" tc filter show dev "$2" "$side" 2>/dev/null | grep -c ' bpf .* handle ')))
	done
}

look_at() {
	nsenter --net="/run/netns/$VT$1" sh -c "$LOOK" sh "$TOOLS/hooks" </dev/null |
		awk -v at="$1: " '/^#@/ { before = substr($0, 3); next }
			before != "tables " || / table [^l]/ { print at before $0 }'
}

# The steering entries: MAC, ifb by name, open or not
steered() {
	local map

	for map in "$VT_DIR"/bpf/*/*/steer; do
		[[ -e $map ]] || continue
		awk 'NR == FNR { sub(/[:@].*/, "", $2); name[$1 + 0] = $2; next }
			{ print "steer", $1 in name ? name[$1] : $1, $2, "to", $3 in name ? name[$3] : "ifindex " $3, $4 }' \
			<(in_ns h ip -o link show) <(bpftool -j map dump pinned "$map" | sed 's/{"key":\[/\n&/g' | sed -nE \
			's/.*"formatted":\{"key":\{"ifindex":([0-9]+),"mac":(\[[0-9,]+\]).*"ifb":([0-9]+),.*"last":([0-9]+).*/\1 \2 \3 \4/p')
	done
}

# The rules of flows by their keys, without the mask's number, which another order of changes makes another one
rules() {
	local map

	for map in "$VT_DIR"/bpf/*/*/vnic-*/flows/rules; do
		[[ -e $map ]] || continue
		bpftool -j map dump pinned "$map" | jq -r '.[].key[:44] | map(tonumber? // .) | join("")' | sed 's/^/rule /'
	done
}

# Maps that have grown stay so.
pins() { find "$VT_DIR/bpf" -mindepth 3 ! -name 'slots-*' ! -name 'rules-*' ! -name 'entries-*' | sed 's,.*/,pin ,'; }

# Which links are the same as before; our ifbs are nobody else's.
indexes() {
	local zone

	while read -r zone; do
		in_ns "$zone" ip -o link show | sed -nE "s/^([0-9]+): ([^:@]+).*/$zone \\2 \\1/; / v[io][0-9]+ /!p"
	done <"$VT_DIR/zones"
}

# What the daemon says, and what it keeps on disk
told() {
	adm show-vnic -o link,over,mactype,macvalue,bandwidth,mtu,zone,state
	adm show-etherstub
	flow show-flow -p -o flow,link,attributes,rank,bandwidth,priority,state
	adm show-link -a -o link,class,mtu,over | sed -E 's/^(v[io])[0-9]+ +/\1N /; s/ +/ /g'
	sqlite3 -readonly "$VT_DIR/state/state.db" 'SELECT "intent", * FROM intent; SELECT "prop", name, key, value
		FROM prop JOIN link USING (n); SELECT "row", class, name FROM link;
		SELECT "flow", link.name, flow.name, text, flow.boot <> "" FROM flow JOIN link USING (n);
		SELECT "flowprop", name, key, value FROM flowprop JOIN flow USING (id);
		SELECT "arp", ignore, announce FROM arp ORDER BY 1, 2, 3' | sed -E 's/\|vo[0-9]+/|voN/'
}

# Everything. Numbers that a re-made object has anew are left out; ifindexes of VNICs too, with "remade".
dump() {
	# Side by side, for speed.
	cat <(look_at h) <(look_at_zones) <(
		steered
		rules
		pins
		told
	) | sed -E 's/: link ([0-9]+): ([^:@]+)@?[^:]*: <(.*)>/: link \2 \1 \3/
		/: link/ { s/,?(LOWER_UP|NO-CARRIER|M-DOWN)//g
			s/ (state|qdisc|promiscuity|allmulti|usedbcqueuelen|link-netns|link-netnsid) [^ ]+//g }
		/: addr/ { s/@[^ ]*//; s/ (UP|UNKNOWN|DOWN|LOWERLAYERDOWN) / / }
		s/ pref medium//; s/ linkdown//; s,/proc/sys/net/ipv[46]/conf/,,; s/(lookup|table) 19[0-9]{8}/\1 T/; s/(rule6? )2[0-9]{4}:/\1P:/; s/direct_packets_stat [0-9]*//
		/ class (fq_codel|tbf) /d
		/ filter / { s/ id [0-9]+//; s/:\[[0-9]+\]//; s/(flower chain 0 handle) 0x[0-9a-f]+/\1 N/ }
		s/\bvi[0-9]+/viN/g; s/\bvo[0-9]+/voN/g; s/\tindex [0-9]+ ref/\tindex N ref/; s/(vnicd:[-0-9a-f]+):[0-9]+/\1:N/; s/vnic-[0-9]+/vnic-N/; s/(link v[io]N) [0-9]+ (.*ether) [^ ]+/\1 \2/
		s/7fd0:[1-9a-f][0-9a-f]{1,2}\b/7fd0:F/g; s/\b[89a-f][0-9a-f]{3}:/AUTO:/g
		s/ bridge .* addrgenmode/ bridge addrgenmode/; s/ +/ /g' | if [[ ${1:-} == remade ]]; then remade; else cat; fi | sort
}

look_at_zones() { grep -vx '[hp]' "$VT_DIR/zones" | while read -r zone; do look_at "$zone"; done; }

# Leaves out what a link that is made again has anew.
remade() {
	sed -E 's/(link [^ ]+) [0-9]+ (.* macvlan )/\1 \2/; s/(link [^ ]+) [0-9]+ (.*ether) [^ ]+ (.* bridge )/\1 \2 \3/
		s/(link [^ ]+) [0-9]+ (.* dummy )/\1 \2/'
}

# same WHAT A B: complains with the difference
same() { [[ $2 == "$3" ]] || complain "$1:" "$(diff <(echo "$2") <(echo "$3"))"; }

# --- every step of a command ------------------------------------------------------------------------------------------

# kill_every_step NAME 'COMMAND' 'COMMAND THAT UNDOES IT': the daemon is killed at every step of the command. What the
# next daemon finds must be wholly there or not at all, what was acknowledged wholly; the command then works.
kill_every_step() {
	local before after told now n status

	states "$2" "$3"
	for ((n = 1; n < 100; n++)); do
		run_faulty "kill $n" "$2"
		# Its socket is closed before it is gone.
		[[ $status == 0 ]] || vt_until 50 vt_gone "$(vt_daemon_pid)" || true
		if ! vt_gone "$(vt_daemon_pid)"; then
			eval "$3"
			break
		fi
		await_end
		start_faulty
		now=$(dump remade)
		if [[ $now != "$after" ]]; then
			[[ $status != 0 ]] || same "$1: acknowledged, then killed at step $n" "$after" "$now"
			same "$1: killed at step $n" "$before" "$now"
			eval "$2" || complain "$1: killed at step $n, then given again: failed"
			same "$1: killed at step $n, then given again" "$told" "$(told)"
		fi
		eval "$3" || complain "$1: killed at step $n, then undone: failed"
	done
	((n > 2)) || complain "$1: not one step"
	same "$1: killed at every step, in the end" "$before" "$(dump remade)"
}

# The test build, which dies or fails at a step as the file says.
start_faulty() { VNICD=$FAULTY start VNICD_FAULT_FILE="$VT_DIR/fault" "$@"; }

# run_faulty FAULT COMMAND: its status in $status
run_faulty() {
	echo "$1" >"$VT_DIR/fault"
	status=0
	eval "$2" 2>"$VT_DIR/stderr" || status=$?
	rm -f "$VT_DIR/fault"
}

# What there is before and after a command, in $before and $after
states() {
	before=$(dump remade)
	eval "$1"
	after=$(dump remade)
	told=$(told)
	eval "$2"
	same "there and back" "$before" "$(dump remade)"
	[[ $before != "$after" ]] || complain "$1 changes nothing"
}

# kill_at_calls NAME EVERY 'COMMAND' 'COMMAND THAT UNDOES IT' VAR=VALUE: killed in the middle of steps, too: at every
# EVERY-th of the system calls that change something ($CALLS). The variable is for the daemon.
kill_at_calls() {
	local before after told now n total call tracer every=$2 status

	states "$3" "$4"
	for call in ${CALLS:-bpf sendmsg sendto mkdir unlinkat rmdir}; do
		trace "$call" error=EIO:when=60000
		eval "$3"
		vt_stop "$tracer"
		total=$(grep -c "$call(" "$VT_DIR/strace") || true
		eval "$4"
		for ((n = 1 + RANDOM % every; n <= total; n += every)); do
			trace "$call" "signal=SIGKILL:when=$n"
			status=0
			eval "$3" 2>/dev/null || status=$?
			# So many calls it makes only together with what it looks at afterwards, which varies.
			if [[ $status == 0 ]] && ! vt_until 5 vt_gone "$(vt_daemon_pid)"; then
				vt_stop "$tracer"
				vt_gone "$(vt_daemon_pid)" || { eval "$4"; continue; }
			fi
			await_end
			start_faulty "$5"
			now=$(dump remade)
			if [[ $now != "$after" ]]; then
				[[ $status != 0 ]] || same "$1: acknowledged, then killed at $call $n" "$after" "$now"
				same "$1: killed at $call $n" "$before" "$now"
				eval "$3"
			fi
			eval "$4" || complain "$1: killed at $call $n, then undone: failed"
		done
	done
	same "$1: killed at system calls, in the end" "$before" "$(dump remade)"
}

# Has a system call of the daemon's tampered with; the tracer's pid in $tracer: trace CALL TAMPERING
trace() {
	local i

	vt_bg strace -f -qq -p "$(vt_daemon_pid)" -o "$VT_DIR/strace" -e trace="$1" -e inject="$1:$2"
	tracer=$VT_PID
	disown "$tracer" 2>/dev/null || true
	for ((i = 0; i < 500; i++)); do
		# It may be killed at once: it looks at what the last command did.
		! grep -qs 'TracerPid:.[1-9]' "/proc/$(vt_daemon_pid)/status" && ! vt_gone "$(vt_daemon_pid)" || return 0
		sleep 0.01
	done
	complain "strace does not attach"
}

# fail_every_step NAME 'COMMAND' 'COMMAND THAT UNDOES IT' [remade]: every step of the command fails. It must say so in
# one line, change nothing (remade: but that links were made again), and work the next time. A step that no longer
# matters may fail in silence: then it is made up for by the next start.
fail_every_step() {
	local before after told links n status

	states "$2" "$3"
	for ((n = 1; n < 100; n++)); do
		links=$(indexes)
		run_faulty "fail $n" "$2"
		if [[ $status == 0 ]]; then
			stop
			start_faulty
			same "$1: step $n failed in silence, started again" "$after" "$(dump remade)"
			eval "$3"
			break
		fi
		[[ $status == 2 ]] || complain "$1: step $n failed: status $status"
		[[ $(wc -l <"$VT_DIR/stderr") == 1 ]] || complain "$1: step $n failed:" "$(cat "$VT_DIR/stderr")"
		same "$1: step $n failed" "$before" "$(dump remade)"
		[[ ${4:-} == remade ]] || same "$1: step $n failed" "$links" "$(indexes)"
		eval "$2" || complain "$1: step $n failed, then given again: failed"
		eval "$3" || complain "$1: step $n failed, then given again and undone: failed"
	done
	((n > 2)) || complain "$1: not one step"
	same "$1: failed at every step, in the end" "$before" "$(dump remade)"
}

# --- measuring --------------------------------------------------------------------------------------------------------

# Two uncapped VNICs carry a steady stream beside every measurement: when that was disturbed, so was the measurement.
control_make() {
	vt_zone c1
	vt_zone c2
	adm create-vnic -l eth0 -p "zone=${VT}c1" control1
	adm create-vnic -l eth0 -p "zone=${VT}c2" control2
	vt_addr c1 control1 1 98
	vt_addr c2 control2 2 98
}
control_start() {
	vt_bg in_ns_to "$VT_DIR/control" c2 "$TOOLS/seqrecv" --port 7700 --seconds 30 --idle 500
	CONTROL=$VT_PID
	sleep 0.1
	vt_bg in_ns_to "$VT_DIR/control.send" c1 "$TOOLS/seqsend" --host 10.98.0.2 --port 7700 --rate 5M --seconds 30
	CONTROL_SENDER=$VT_PID
}
# True when it was disturbed: 8 ms are twice what a cap has saved up.
control_end() {
	vt_stop "$CONTROL_SENDER" INT
	vt_until 30 vt_gone "$CONTROL" || vt_stop "$CONTROL"
	awk '$1 == "lost" { lost = $2 } $1 == "gap_max_ms" { gap = $2 } END { exit !(gap == "" || lost > 0 || gap > 8) }' \
		"$VT_DIR/control"
}

# What happens to qdiscs and classes of a namespace: monitor NS
monitor() { vt_bg in_ns_to "$VT_DIR/monitor.$1" "$1" stdbuf -oL tc monitor; }
# Numbered packets between z1 (10.99.0.9) and p, at a rate each way: load_both_ways RATE [SECONDS]; load_end
load_both_ways() {
	vt_bg in_ns_to "$VT_DIR/seq.in" z1 "$TOOLS/seqrecv" --port 7801 --seconds "${2:-60}" --idle 500
	RECEIVERS=("$VT_PID")
	vt_bg in_ns_to "$VT_DIR/seq.out" p "$TOOLS/seqrecv" --port 7802 --seconds "${2:-60}" --idle 500
	RECEIVERS+=("$VT_PID")
	sleep 0.1
	vt_bg in_ns_to "$VT_DIR/seq.send.in" p "$TOOLS/seqsend" --host 10.99.0.9 --port 7801 --rate "$1" --seconds "${2:-60}"
	SENDERS=("$VT_PID")
	vt_bg in_ns_to "$VT_DIR/seq.send.out" z1 "$TOOLS/seqsend" --host 10.99.0.1 --port 7802 --rate "$1" --seconds "${2:-60}"
	SENDERS+=("$VT_PID")
	sleep 0.3
}
load_end() {
	local pid

	for pid in "${SENDERS[@]}"; do vt_stop "$pid" INT; done
	for pid in "${RECEIVERS[@]}"; do vt_until 30 vt_gone "$pid" || vt_stop "$pid"; done
}

# Says a measured figure and its bounds: figure NAME VALUE LOW HIGH ("-": none)
figure() { echo "$1 $2 $3 $4" >>"$VT_DIR/figures"; }
figures_hold() { awk '($3 != "-" && $2 + 0 < $3 + 0) || ($4 != "-" && $2 + 0 > $4 + 0) { exit 1 }' "$VT_DIR/figures"; }

# measured COMMAND...: what it says by figure must hold; up to three times ($TRIES) while the control was disturbed, too.
measured() {
	local try

	for ((try = 0; try < ${TRIES:-3}; try++)); do
		: >"$VT_DIR/figures"
		control_start
		"$@"
		if control_end; then disturbed=1; else disturbed=0; fi
		[[ -s $VT_DIR/figures ]] || complain "nothing was measured"
		! figures_hold || return 0
		[[ $disturbed == 1 ]] || break
	done
	[[ $disturbed == 0 ]] || skip "not measurable here: $(tr '\n' ';' <"$VT_DIR/figures")"
	complain "name, figure, from, to:" "$(cat "$VT_DIR/figures")"
}

# streams SECONDS 'NAME FROM TO ADDRESS PORT KIND CAP'...: TCP at the same time; each as layer-2 rate over its cap, which
# must be $LEAST at least. A slow machine does one after the other.
streams() {
	local seconds=$1 name from to address port kind cap pids=() one

	shift
	if [[ -n ${VNICD_TEST_SLOW:-} && $# -gt 1 && -z ${TOGETHER:-} ]]; then
		for one; do streams "$seconds" "$one"; done
		return
	fi
	for one; do
		read -r name from to address port kind cap <<<"$one"
		serve "$to" "$VT_DIR/stream.$name" "$port"
		pids+=("$VT_PID")
	done
	for one; do
		read -r name from to address port kind cap <<<"$one"
		vt_bg in_ns_to "$VT_DIR/stream.$name.client" "$from" iperf3 -c "$address" -p "$port" -t "$seconds" -C cubic \
			-l "$(block_for "$(bps "$cap")")"
	done
	for one in "${pids[@]}"; do
		vt_until $((seconds * 10 + 40)) vt_gone "$one" || vt_stop "$one"
	done
	for one; do
		read -r name from to address port kind cap <<<"$one"
		figure "$name" "$(awk -v g="$(goodput "$VT_DIR/stream.$name")" -v r="$(l2_ratio "$kind")" -v c="$(bps "$cap")" \
			'BEGIN { print g * r / c }')" "${LEAST:-0.97}" 1.03
	done
}
