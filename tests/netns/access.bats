#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck disable=SC2154 # bats sets output, stderr and status
# Who may do what, the daemon's own command line and refusals, what a restart or a kill leaves, live statistics.

load say.bash

setup_file() {
	vt_begin
	vt_wire
	vt_zone z1
	mute z1
	mute p
	vt_zone z2
	# Nobody has to find the socket, and a vnicadm.
	chmod 711 "$VT_DIR"
	[[ $(dirname "$VT_DIR") == /tmp ]] || chmod 711 "$(dirname "$VT_DIR")"
	install -m 755 "$VNICADM" "$VT_DIR/vnicadm"
	install -m 755 "$FLOWADM" "$VT_DIR/flowadm"
	echo 'create-etherstub stub2' >"$VT_DIR/batch"
	echo 'create-flow -l vnic1 transport=udp f2' >"$VT_DIR/flowbatch"
	with_group
	vt_daemon
}
teardown_file() { vt_cleanup; }
teardown() { delete_all; }

# A command line of a row: of flowadm when it begins with that word. typing [flowadm] ARGUMENT...
typing() { if [[ ${1:-} == flowadm ]]; then flow "${@:2}"; else adm "$@"; fi; }
program() { if [[ ${1:-} == flowadm ]]; then echo flowadm; else echo vnicadm; fi; }

# Somebody of whom vnicd knows only the credentials: as nobody|member|primary [flowadm] ARGUMENT..., as root
as() {
	local who program

	case $1 in
	root) typing "${@:2}" && return ;;
	nobody) who=(--regid=65534 --clear-groups) ;;
	member) who=(--regid=65534 "--groups=$(group_id)") ;;
	primary) who=("--regid=$(group_id)" --clear-groups) ;;
	esac
	shift
	program=$(program "$@")
	[[ $program != flowadm ]] || shift
	setpriv --reuid=65534 "${who[@]}" "$VT_DIR/$program" "$@"
}

# The group's number. Where the machine has no such group, the daemon is shown an /etc/group with one.
group_id() { getent group vnicd | cut -d: -f3 | grep . || echo 64999; }
with_group() {
	! getent group vnicd >/dev/null || return 0
	{
		cat /etc/group
		echo vnicd:x:64999:
	} >"$VT_DIR/group"
	printf '#!/bin/sh\nmount --bind %s /etc/group && exec "$@"\n' "$VT_DIR/group" >"$VT_DIR/grouped"
	chmod 755 "$VT_DIR/grouped"
	export VNICD_WRAP="unshare -m --propagation slave $VT_DIR/grouped ${VNICD_WRAP:-}"
}

# vnicd refuses to start, with one line: no_daemon NS LINE OPTION...
no_daemon() {
	run --separate-stderr in_ns "$1" timeout 20 "$VNICD" "${@:3}"
	is 1 "$status" "$stderr"
	is "vnicd: $2" "$(tail -1 <<<"$stderr")"
}

# A row for each command: what it is, what is typed, and for one that changes something what takes it back.
commands() {
	cat <<-'END'
		reads|show-link
		reads|show-link -s -o link
		reads|show-link -s -i 1 1 -o link
		reads|show-phys
		reads|show-vnic -o all
		reads|show-etherstub
		reads|show-linkprop
		reads|help
		changes|create-vnic -l eth0 vnic2|delete-vnic vnic2
		changes|delete-vnic vnic1|VNIC
		changes|create-etherstub stub1|delete-etherstub stub1
		changes|delete-etherstub stub0|create-etherstub stub0
		changes|rename-link vnic1 vnic5|rename-link vnic5 vnic1
		changes|set-linkprop -p maxbw=5M vnic1|set-linkprop -p maxbw=10M vnic1
		changes|reset-linkprop -p maxbw vnic1|set-linkprop -p maxbw=10M vnic1
		changes|reapply|reapply
		changes|-b BATCH|delete-etherstub stub2
		reads|flowadm show-flow
		reads|flowadm show-flow -s -o flow
		reads|flowadm show-flow -s -i 1 1 -o flow
		reads|flowadm show-flowprop
		reads|flowadm match-flow -l vnic1 transport=tcp
		reads|flowadm help
		changes|flowadm create-flow -l vnic1 transport=udp f2|flowadm delete-flow f2
		changes|flowadm delete-flow f1|flowadm create-flow -l vnic1 transport=tcp,local_port=80 -p maxbw=1M f1
		changes|flowadm set-flowprop -p maxbw=2M f1|flowadm set-flowprop -p maxbw=1M f1
		changes|flowadm reset-flowprop -p maxbw f1|flowadm set-flowprop -p maxbw=1M f1
		changes|flowadm -b FLOWBATCH|flowadm delete-flow f2
		changes|reset -y|WORLD
	END
}
typed() { commands | grep "^$1" | sed "s|FLOWBATCH|$VT_DIR/flowbatch|; s|BATCH|$VT_DIR/batch|"; }

vnic_and_flow() {
	adm create-vnic -l eth0 -m 2:8:20:0:0:1 -p maxbw=10M vnic1 2>/dev/null
	flow create-flow -l vnic1 transport=tcp,local_port=80 -p maxbw=1M f1
}
world() {
	adm create-etherstub stub0
	vnic_and_flow
}
take_back() {
	case $1 in
	WORLD) world ;;
	VNIC) vnic_and_flow ;;
	*) typing "$@" 2>/dev/null ;;
	esac
}
# What there is, but for numbers that a link made again has anew
told() {
	adm show-vnic -p -o link,over,macvalue,bandwidth,state
	adm show-etherstub
	flow show-flow -p -o flow,link,attributes,bandwidth,state
}

@test "the table has a row for each command" {
	is "$({ adm help; flow help; } | sed -n 's/^  \([a-z][a-z-]*\).*/\1/p' | sort -u)" \
		"$(commands | cut -d'|' -f2 | sed 's/^flowadm //' | cut -d' ' -f1 | grep -v '^-' | sort -u)"
}

@test "the socket is 0666: everybody reads, with every command that changes nothing" {
	local who words

	world
	is 666 "$(stat -c %a "$VNICD_SOCKET")"
	for who in nobody member primary; do
		while IFS='|' read -r _ words; do
			# shellcheck disable=SC2086 # words
			is "$(typing $words)" "$(as $who $words)" "$who: $words"
		done < <(typed reads)
		is "$(adm)" "$(as $who)"
		is "$(flow)" "$(as $who flowadm)"
	done
}

@test "who is neither root nor of the group changes nothing, by no command" {
	local before words

	world
	before=$(told)
	while IFS='|' read -r _ words _; do
		# shellcheck disable=SC2086 # words
		run --separate-stderr as nobody $words
		is 1 "$status" "$words"
		is "$(program $words): permission denied: be root or join group vnicd" "$stderr" "$words"
		is "$before" "$(told)" "$words"
	done < <(typed changes)
	# Whether there is such a link is not told first.
	run --separate-stderr as nobody delete-vnic vnic9
	is "vnicadm: permission denied: be root or join group vnicd" "$stderr"
}

@test "root and members of group vnicd change, with every command, also by a supplementary group" {
	local before who words undo

	world
	before=$(told)
	for who in root member primary; do
		while IFS='|' read -r _ words undo; do
			# shellcheck disable=SC2086 # words
			{
				run --separate-stderr as $who $words
				is 0 "$status" "$who: $words: $stderr"
				[[ $words == reapply ]] || [[ $before != "$(told)" ]] || is changed "$(told)" "$who: $words"
				take_back $undo
			}
			is "$before" "$(told)" "$who: $words, taken back"
		done < <(typed changes)
	done
}

# The answer to a call of nothing but a method's name: answer METHOD
answer() {
	printf '{"method":"org.vnicd.%s"}\0' "$1" |
		setpriv --reuid=65534 --regid=65534 --clear-groups timeout 10 socat -t 5 - "UNIX-CONNECT:$VNICD_SOCKET" | tr -d '\0'
}

@test "the same without vnicadm: every method of the interface but those that show is refused to others" {
	local method count=0

	world
	while read -r method; do
		count=$((count + 1))
		case $method in
		MatchFlow) matches 'name the link' "$(answer "$method")" ;;
		Show*) matches '^\{"parameters":' "$(answer "$method")" ;;
		*) is '{"error":"org.vnicd.PermissionDenied","parameters":{}}' "$(answer "$method")" "$method" ;;
		esac
	done < <(sed -n 's/^method \([A-Za-z]*\).*/\1/p' "$BATS_TEST_DIRNAME/../../lib/ipc/org.vnicd.varlink")
	[ $count -ge 16 ]
}

@test "no daemon: the message with the path and the way out, exit 2" {
	local way="start it with 'systemctl start vnicd'"

	refused 2 "cannot reach vnicd at $VT_DIR/none: No such file or directory: $way" --socket "$VT_DIR/none" show-link
	VNICD_SOCKET=$VT_DIR/none refused 2 "cannot reach vnicd at $VT_DIR/none: No such file or directory: $way" delete-vnic vnic1
	# --socket is stronger than the environment.
	VNICD_SOCKET=$VT_DIR/none good --socket "$VT_DIR/vnicd.sock" show-link
	vt_daemon_kill9
	refused 2 "cannot reach vnicd at $VNICD_SOCKET: Connection refused: $way" show-link
	refused 2 "cannot reach vnicd at $VNICD_SOCKET: Connection refused: $way" show-link -s -i 1
	vt_daemon
	vt_daemon_stop
	[ ! -e "$VNICD_SOCKET" ]
	refused 2 "cannot reach vnicd at $VNICD_SOCKET: No such file or directory: $way" create-etherstub stub0
	vt_daemon
}

@test "a second vnicd in the namespace, on the state directory, at the socket: refused, naming the first one's pid" {
	local pid bpf="--bpf-dir $VT_DIR/bpf"

	pid=$(vt_daemon_pid)
	# shellcheck disable=SC2086 # words
	{
		no_daemon h "this network namespace is managed by another vnicd, pid $pid: stop that one first" \
			--socket "$VT_DIR/s2" --state-dir "$VT_DIR/state2" $bpf
		no_daemon z2 "state directory $VT_DIR/state is in use by vnicd, pid $pid" \
			--socket "$VT_DIR/s2" --state-dir "$VT_DIR/state" $bpf
		no_daemon z2 "$VNICD_SOCKET: is served by another vnicd, pid $pid: give another --socket" \
			--socket "$VNICD_SOCKET" --state-dir "$VT_DIR/state2" $bpf
	}
	[ ! -e "$VT_DIR/s2" ]
	good show-link
}

@test "--bpf-dir that is not on bpffs: refused with the mount command, which helps" {
	local dir=$VT_DIR/other

	no_daemon z2 "$dir: is not on a BPF file system: mkdir -p $dir && mount -t bpf bpf $dir" \
		--socket "$VT_DIR/s2" --state-dir "$VT_DIR/state2" --bpf-dir "$dir"
	mkdir -p "$dir" && mount -t bpf bpf "$dir"
	vt_bg in_ns_log z2 "$VNICD" --socket "$VT_DIR/s2" --state-dir "$VT_DIR/state2" --bpf-dir "$dir"
	vt_until 100 adm --socket "$VT_DIR/s2" show-link
	vt_stop "$VT_PID"
	umount "$dir"
}

@test "two daemons in two namespaces do not see each other's links" {
	made create-vnic -l eth0 vnic1
	vt_bg in_ns_log z2 "$VNICD" --socket "$VT_DIR/s2" --state-dir "$VT_DIR/state2" --bpf-dir "$VT_DIR/bpf"
	vt_until 100 adm --socket "$VT_DIR/s2" show-link
	is lo "$(adm --socket "$VT_DIR/s2" show-link -o link | sed 1d | xargs)"
	good --socket "$VT_DIR/s2" create-etherstub stub0
	refused 1 "stub0: no such etherstub: see 'vnicadm show-etherstub'" delete-etherstub stub0
	good --socket "$VT_DIR/s2" delete-etherstub stub0
	vt_stop "$VT_PID"
}

@test "vnicd's command line: help, version, and what is wrong with it" {
	run --separate-stderr "$VNICD" --help
	is 0 "$status"
	for option in socket state-dir bpf-dir log-level version help; do matches "--$option" "$output"; done
	run "$VNICD" --version
	matches '^vnicd [0-9]' "$output"
	no_daemon z2 "no such option: --frobnicate: see 'vnicd --help'" --frobnicate
	no_daemon z2 "--log-level is error, warning, info or debug, not loud: see 'vnicd --help'" --log-level loud
	no_daemon z2 "takes no operand: eth0: see 'vnicd --help'" eth0
	no_daemon z2 "needs a value: --socket: see 'vnicd --help'" --socket
}

@test "stop and kill -9: traffic goes on, the next one adopts with no modifying act, counters go on" {
	local old new

	quiet_vnic vnic1 maxbw=10M
	good create-etherstub stub0
	good create-vnic -l stub0 -p "maxbw-tx=5M,zone=${VT}z2" vnic2
	made create-vnic -l eth0 -p maxbw=blocked vnic3
	datagrams p 100 1400 10.99.0.9
	until_is 100 eval 'adm show-link -s -j vnic1 | jq ".ipackets + .idrops"'
	old=$(counters vnic1)
	before=$(everything)
	for signal in TERM KILL INT KILL; do
		: >"$VT_DIR/log"
		vt_daemon_stop $signal
		in_ns p ping -q -c 3 -i 0.01 -W 2 10.99.0.9
		in_ns z1 tc class show dev vnic1 | grep -q 'rate 10Mbit'
		vt_daemon
		grep -q 'adopted 4 links with 0 modifying acts' "$VT_DIR/log" || {
			cat "$VT_DIR/log" >&2
			return 1
		}
		new=$(counters vnic1)
		not_less "$old" "$new"
		[ "$(cut -d' ' -f1 <<<"$new")" -ge $(($(cut -d' ' -f1 <<<"$old") + 3)) ]
		old=$new
	done
	is "$before" "$(everything)"
	is 'vnic1 vnic2 vnic3' "$(adm show-vnic -j | jq -r '[.[].link] | join(" ")')"
	is 'max=10M tx=5M blocked' "$(adm show-vnic -j | jq -r '[.[].bandwidth] | join(" ")')"
}

everything() {
	in_ns h ip -d link | sed 's/_timer *[0-9.]*//g'
	in_ns z1 ip -d link
	in_ns z1 tc class show dev vnic1
	find "$VT_DIR/bpf"
}

@test "counters that a kill caught between classes: what was dropped under an old cap is not forgotten" {
	quiet_vnic vnic1 maxbw=64K
	datagrams p 100 1400 10.99.0.9
	until_is 100 eval 'adm show-link -s -j vnic1 | jq ".ipackets + .idrops"'
	drops=$(counter vnic1 idrops)
	[ "$drops" -gt 50 ]
	good set-linkprop -p maxbw=none vnic1
	is "$drops" "$(counter vnic1 idrops)"
	vt_daemon_kill9
	vt_daemon
	is "$drops" "$(counter vnic1 idrops)"
	good set-linkprop -p maxbw=blocked vnic1
	datagrams p 7 100 10.99.0.9
	until_is $((drops + 7)) counter vnic1 idrops
	vt_daemon_restart
	is $((drops + 7)) "$(counter vnic1 idrops)"
}

# --- live statistics ----------------------------------------------------------------------------------------------

# Rows of a link in the output of watch, one field a line: rows LINK FIELD
rows() { jq -r "select(.link == \"$1\") | .$2" "$VT_DIR/live" 2>/dev/null; }
watch() {
	: >"$VT_DIR/live"
	vt_bg watch_to "$@"
	WATCH=$VT_PID
}
watch_to() { exec "$VNICADM" show-link -s -j "$@" >"$VT_DIR/live" 2>"$VT_DIR/live.err"; }
several() { [ "$(rows "$1" link | wc -l)" -ge "$2" ]; }

@test "show-link -s -i: totals first, then what was sent since; a rate is it over the time" {
	quiet_vnic vnic1 maxbw=100M
	in_ns p ping -q -c 10 -i 0.002 -W 2 10.99.0.9
	watch -i 1 2 vnic1
	vt_until 50 several vnic1 1
	in_ns p ping -q -c 25 -i 0.002 -s 100 -W 2 10.99.0.9
	vt_until 50 several vnic1 2
	is "10 25" "$(rows vnic1 ipackets | xargs)"
	is "total delta" "$(rows vnic1 sample | xargs)"
	vt_until 50 vt_gone "$WATCH"
	watch -r -i 1 2 vnic1
	vt_until 50 several vnic1 1
	in_ns p ping -q -c 25 -i 0.002 -s 100 -W 2 10.99.0.9
	vt_until 50 several vnic1 2
	# 25 frames of 142 bytes within a second or so: bits/s over the seconds that it tells.
	is 28400 "$(jq -r 'select(.sample == "rate") | .rbytes * .seconds | (. / 100 | round) * 100' "$VT_DIR/live")"
}

@test "show-link -s -i: a link that comes shows totals, one that goes drops out" {
	watch -i 1
	vt_until 50 several eth0 1
	quiet_vnic vnic1
	in_ns p ping -q -c 5 -i 0.002 -W 2 10.99.0.9
	vt_until 50 several vnic1 2
	is total "$(rows vnic1 sample | head -1)"
	is delta "$(rows vnic1 sample | sed -n 2p)"
	adm delete-vnic vnic1
	seen=$(rows eth0 link | wc -l)
	vt_until 50 several eth0 $((seen + 2))
	last=$(rows vnic1 link | wc -l)
	vt_until 50 several eth0 $((seen + 3))
	is "$last" "$(rows vnic1 link | wc -l)"
	vt_stop "$WATCH" INT
}

@test "show-link -s -i: over a restart of the daemon it goes on, and no row falls below zero" {
	quiet_vnic vnic1 maxbw=10M
	in_ns p ping -q -c 10 -i 0.002 -W 2 10.99.0.9
	watch -i 1 vnic1
	vt_until 50 several vnic1 1
	vt_daemon_kill9
	in_ns p ping -q -c 7 -i 0.002 -W 2 10.99.0.9
	vt_daemon
	seen=$(rows vnic1 link | wc -l)
	vt_until 80 several vnic1 $((seen + 1))
	is 17 "$(rows vnic1 ipackets | awk '{ n += $1 } END { print n }')"
	is '' "$(rows vnic1 ipackets | grep -- -)"
	is "total" "$(rows vnic1 sample | grep total)"
	vt_stop "$WATCH" INT
	is '' "$(cat "$VT_DIR/live.err")"
}

@test "show-link -s -i: exit 0 on ^C and a closed pipe" {
	run timeout -s INT --preserve-status 1.5 "$VNICADM" show-link -s -i 1
	is 0 "$status"
	matches 'IPACKETS' "$output"
	is 1 "$(grep -c IPACKETS <<<"$output")"
	run bash -c "set -o pipefail; $VNICADM show-link -s -i 1 | head -1"
	is 0 "$status"
}
