#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# The daemon goes and comes back: caps hold meanwhile, what stands is adopted without one modifying act, and in a new
# world everything is made again as it was.

load common

setup() {
	vt_begin
	vt_wire
	vt_zone z1
	start A=
	adm create-etherstub stub0
	adm create-vnic -l eth0 -p "maxbw=30M,zone=${VT}z1" vnic1
	adm create-vnic -l eth0 -p maxbw=1G,maxbw-rx=blocked vnic2 2>/dev/null
	adm create-vnic -l stub0 -p "maxbw-tx=64K,mtu=8000,zone=${VT}z1" vnic3
	adm create-vnic -l eth0 -d vnic4 2>/dev/null
	vt_addr z1 vnic1 9
}
teardown() { vt_cleanup; }

sent() { in_ns "$1" tc -s class show dev "$2" | awk '/^class htb 7fd0:1 / { found = 1 } found && /Sent/ { print $2; exit }'; }
ifb() { in_ns h ip -o link show type ifb | sed -nE '1s/^[0-9]+: ([^:@]+).*/\1/p'; }

# What a daemon that starts asks of the kernel, by strace: no message that changes anything, no attaching, no pin, no
# map entry of a pinned map; a map that is only loaded with a program to learn its tag is filled without a pin.
changes_asked() {
	grep -E 'nlmsg_type=RTM_(NEW|DEL|SET)|BPF_(OBJ_PIN|LINK_CREATE|LINK_UPDATE|LINK_DETACH|PROG_ATTACH|PROG_DETACH|MAP_DELETE_ELEM)|unlink|rename|mkdir|rmdir|/proc/sys/net.*O_(WRONLY|RDWR)' "$1" |
		grep -vE 'EEXIST|bpf\(BPF_PROG_(LOAD|QUERY)|vnicd\.sock|state\.db|/state"' || true
}

@test "a restart after TERM and after KILL: zero modifying acts, by our own count and by strace; nothing differs" {
	local before signal

	command -v strace >/dev/null || skip "no strace"
	before=$(dump)
	for signal in TERM KILL; do
		stop $signal
		rm -f "$VNICD_SOCKET"
		vt_daemon_args
		vt_bg in_ns_log h strace -f -qq -v -s 200 -o "$VT_DIR/strace" \
			-e trace=sendmsg,sendto,bpf,unlink,unlinkat,rename,mkdir,mkdirat,rmdir,openat "$VNICD" "${VT_ARGS[@]}"
		local tracer=$VT_PID
		vt_until 100 vt_serves_now
		# Without its tracer it goes on: it is ended for itself.
		pgrep -P "$tracer" >"$VT_DIR/daemon"
		echo "$(vt_daemon_pid) $(vt_birth "$(vt_daemon_pid)")" >>"$VT_DIR/pids"
		[[ $(grep -c 'adopted' "$VT_DIR/log") -gt 1 ]]
		[[ $(grep 'adopted' "$VT_DIR/log" | tail -1) == *"adopted 5 links with 0 modifying acts" ]] ||
			complain "$(grep adopted "$VT_DIR/log")"
		grep -q 'RTM_GETLINK' "$VT_DIR/strace"
		[[ $(changes_asked "$VT_DIR/strace") == "" ]] || complain "$signal:" "$(changes_asked "$VT_DIR/strace")"
		same "after $signal" "$before" "$(dump)"
	done
}
vt_serves_now() { [[ -S $VNICD_SOCKET ]] && adm show-link; }

away() {
	local out in

	stop KILL
	out=$(sent z1 vnic1) in=$(sent h "$(ifb)")
	streams 3 "out z1 p 10.99.0.1 5301 tcp4 30M"
	streams 3 "in p z1 10.99.0.9 5302 tcp4 30M"
	(($(sent z1 vnic1) > out + 5000000 && $(sent h "$(ifb)") > in + 5000000)) || complain "the classes did not count"
	out=$(sent z1 vnic1) in=$(sent h "$(ifb)")
	start A=
	(($(sent z1 vnic1) >= out && $(sent h "$(ifb)") >= in)) || complain "the classes lost their count"
	[[ $(grep 'adopted' "$VT_DIR/log" | tail -1) == *" 0 modifying acts" ]] || complain "$(grep adopted "$VT_DIR/log")"
	(($(adm show-link -s -j vnic1 | jq .obytes) > 5000000)) || complain "show-link -s lost its count"
}

@test "caps hold while the daemon is away, classes and counters go on" {
	control_make
	measured away
}

# The same state directory in a new namespace, with zones of the same names: what a reboot is.
new_world() {
	stop TERM
	vt_zone_del z1
	vt_zone_del h
	vt_zone_del p
	sleep 0.1
	vt_zone h
	vt_zone z1
	vt_wire
}

# What is the same in every world; a stub's own MAC is the kernel's.
eternal() { dump remade | grep -v ': addr \|route\|: link eth0\|: link lo' | sed 's/hook-[0-9]*/hook/'; }

@test "a new world: every link is made again with its MAC and caps, and they hold; no pin of the old one stays" {
	local before

	in_ns z1 ip addr flush dev vnic1 scope global
	before=$(eternal)
	new_world
	start A=
	same "after the new start" "$before" "$(eternal)"
	[[ $(find "$VT_DIR"/bpf/*/* -maxdepth 0 -type d | wc -l) == 1 ]] || complain "pins of two worlds"
	vt_addr z1 vnic1 9
	control_make
	new_caps() {
		streams 3 "out z1 p 10.99.0.1 5301 tcp4 30M"
		streams 3 "in p z1 10.99.0.9 5302 tcp4 30M"
	}
	measured new_caps
	stop KILL
	start A=
	[[ $(grep 'adopted' "$VT_DIR/log" | tail -1) == *" 0 modifying acts" ]] || complain "$(grep adopted "$VT_DIR/log")"
}

@test "killed while it makes a new world: the next start completes it" {
	local before n i

	in_ns z1 ip addr flush dev vnic1 scope global
	before=$(eternal)
	VNICD=$FAULTY
	for n in 1 2 3 6 10 15 20 25 30; do
		new_world
		rm -f "$VNICD_SOCKET"
		vt_daemon_args
		VNICD_KILL_AT=$n vt_bg in_ns_log h "$VNICD" "${VT_ARGS[@]}"
		echo "$VT_PID" >"$VT_DIR/daemon"
		disown "$VT_PID" 2>/dev/null || true
		for ((i = 0; i < 500; i++)); do
			[[ ! -S $VNICD_SOCKET ]] || complain "step $n: not killed"
			! vt_gone "$VT_PID" || break
			sleep 0.01
		done
		start A=
		same "killed at step $n" "$before" "$(eternal)"
	done
}
