#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# The daemon as a service: its configuration file, reloading, the watchdog, and taking everything out of the kernel.

load common

bats_require_minimum_version 1.5.0

setup() {
	vt_begin
	CONF=$VT_DIR/vnicd.conf
}
teardown() { vt_cleanup; }

# refused CONTENT MESSAGE: the daemon does not start with such a file
refused() {
	printf '%b' "$1" >"$CONF"
	run -1 in_ns h "$VNICD" --config "$CONF" --socket "$VNICD_SOCKET"
	[[ $output == "vnicd: $CONF: $2" ]] || complain "$output"
	[[ ! -S $VNICD_SOCKET ]]
}

@test "vnicd.conf: what is wrong in it is named with its line" {
	refused '[vnicd]\nloglevel = info\n' 'line 2: no such key: loglevel (did you mean log-level?)'
	refused '[vnicd]\n\nlog-level = loud\n' "line 3: log-level has to be error, warning, info or debug, not 'loud'"
	refused 'log-level = info\n' 'line 1: log-level is outside section [vnicd], the only one there is'
	refused '[vnicadm]\nlog-level = info\n' 'line 2: log-level is outside section [vnicd], the only one there is'
	refused '[vnicd]\nsocket = run/here\n' "line 2: socket has to be an absolute path, not 'run/here'"
	refused '[vnicd]\nnonsense\n' 'line 2: neither [section] nor KEY = VALUE'
	refused '[vnicd]\nlog-level = loud\nloglevel = info\n' \
		"line 2: log-level has to be error, warning, info or debug, not 'loud'"
	run -1 in_ns h "$VNICD" --config "$VT_DIR/nosuch"
	[[ $output == "vnicd: $VT_DIR/nosuch: cannot be read: No such file or directory" ]]
}

# The options in a file instead of on the command line.
serve_by_file() {
	vt_daemon_args
	cat >"$CONF" <<-END
		; all of it
		[vnicd]
		socket = $VNICD_SOCKET
		state-dir=$VT_DIR/state
		bpf-dir = $VT_DIR/bpf
		log-level = ${1:-warning}
	END
	vt_bg in_ns_log h "$VNICD" --config "$CONF"
	echo "$VT_PID" >"$VT_DIR/daemon"
	vt_until 100 test -S "$VNICD_SOCKET"
}

@test "vnicd.conf: all options come from it, and SIGHUP changes the log's level" {
	vt_wire
	serve_by_file
	adm create-vnic -l eth0 vnic1 2>/dev/null
	[[ -e $VT_DIR/state/state.db ]]
	[[ ! -s $VT_DIR/log ]] || complain "$(cat "$VT_DIR/log")"
	sed -i 's/warning/info/' "$CONF"
	kill -HUP "$(vt_daemon_pid)"
	vt_until 50 grep -qx 'vnicd: reloaded' "$VT_DIR/log"
	adm show-vnic vnic1
}

@test "vnicd.conf: a bad one at SIGHUP changes nothing; a new socket waits for the next start" {
	vt_wire
	serve_by_file info
	echo 'x = y' >>"$CONF"
	kill -HUP "$(vt_daemon_pid)"
	vt_until 50 grep -qx "vnicd: nothing reloaded: $CONF: line 7: no such key: x" "$VT_DIR/log"
	adm show-link
	sed -i '$d; s,^socket = .*,&2,' "$CONF"
	kill -HUP "$(vt_daemon_pid)"
	vt_until 50 grep -q 'socket, state-dir and bpf-dir change at the next start only' "$VT_DIR/log"
	adm show-link
}

@test "the command line is stronger than the file" {
	vt_wire
	printf '[vnicd]\nlog-level = debug\nsocket = /nonexistent/socket\n' >"$CONF"
	vt_daemon_args
	vt_bg in_ns_log h "$VNICD" --config "$CONF" "${VT_ARGS[@]}" --log-level error
	echo "$VT_PID" >"$VT_DIR/daemon"
	vt_until 100 test -S "$VNICD_SOCKET"
	[[ ! -s $VT_DIR/log ]]
}

@test "the watchdog hears from it" {
	vt_wire
	vt_daemon_args
	vt_bg socat -u "UNIX-RECV:$VT_DIR/notify" "CREATE:$VT_DIR/told"
	vt_until 50 test -S "$VT_DIR/notify"
	vt_bg in_ns_log h env NOTIFY_SOCKET="$VT_DIR/notify" WATCHDOG_USEC=400000 "$VNICD" "${VT_ARGS[@]}"
	echo "$VT_PID" >"$VT_DIR/daemon"
	vt_until 100 grep -qa READY=1 "$VT_DIR/told"
	vt_until 100 grep -qa WATCHDOG=1 "$VT_DIR/told"
}

@test "--remove-links: nothing of ours is left in the kernel, and the next start makes it all again" {
	local with

	vt_wire
	vt_zone z1
	start
	adm create-etherstub stub0
	adm create-vnic -l stub0 -p maxbw=1G vnic1
	adm create-vnic -l eth0 -m 02:08:20:00:00:01 -p "maxbw=100M,zone=${VT}z1" vnic2
	adm create-vnic -l eth0 -m 02:08:20:00:00:02 -p maxbw=20M,mtu=1400 vnic3 2>/dev/null
	with=$(dump remade | sed 's/hook-.*/hook/')
	run -1 in_ns h "$VNICD" "${VT_ARGS[@]}" --remove-links
	[[ $output == *'another vnicd'* ]] || complain "$output"
	stop TERM
	in_ns h "$VNICD" "${VT_ARGS[@]}" --remove-links 2>>"$VT_DIR/log"
	[[ $(in_ns h ip -o link show | grep -cE 'vnic|stub|vi[0-9]') == 0 ]]
	[[ $(in_ns z1 ip -o link show | wc -l) == 1 ]]
	[[ $(in_ns h tc qdisc show dev eth0) != *clsact* && $(pins) == '' && $(steered) == '' ]]
	start
	same 'made again' "$with" "$(dump remade | sed 's/hook-.*/hook/')"
}

@test "its BPF file system is busy; unmounted by force, what stands goes on, and what cannot be made says what to mount" {
	local before what="vnicadm: $VT_DIR/bpf: is not on a BPF file system: mkdir -p $VT_DIR/bpf && mount -t bpf bpf $VT_DIR/bpf"

	vt_wire
	vt_zone z1
	start
	adm create-vnic -l eth0 -m 02:08:20:00:00:01 -p "maxbw=10M,zone=${VT}z1" vnic1
	before=$(dump)
	run -32 umount "$VT_DIR/bpf"
	umount -l "$VT_DIR/bpf"
	run -1 adm create-vnic -l eth0 -p maxbw=10M vnic2
	[[ $output == "$what" ]] || complain "$output"
	run -1 adm set-linkprop -p maxbw=20M eth0
	[[ $output == "$what" ]] || complain "$output"
	run -1 adm set-linkprop -p maxbw=none vnic1
	[[ $output == "$what" ]] || complain "$output"
	[[ $(in_ns h ip -br link show type ifb | grep -cv '^vi1 ') == 0 ]]
	mount -t bpf bpf "$VT_DIR/bpf"
	run -1 adm create-vnic -l eth0 -p maxbw=10M vnic2
	[[ $output == "vnicadm: $VT_DIR/bpf: was emptied or mounted anew: restart vnicd" ]] || complain "$output"
	stop TERM
	start
	same 'after a restart' "$before" "$(dump)"
	[[ $(adm show-vnic -o link | sed 1d) == vnic1 ]]
}
