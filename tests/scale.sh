# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash
# Many capped VNICs by hand and by batch, for the bench and the tests: files of commands, and what they take. Sourced
# after lib.sh; knows no target.

# Wall time of a command in seconds: its output is thrown away.
took() {
	local from=$EPOCHREALTIME

	"$@" >/dev/null 2>&1 || return
	awk -v a="$from" -v b="$EPOCHREALTIME" 'BEGIN { printf "%.4f\n", b - a }'
}

# The same links, ifbs, trees and filters as ip and tc batches, over eth8 in namespace s, numbers FROM to below TO; the
# batch of vnicadm beside them: scale_files FROM TO
scale_files() {
	local i d group

	for ((i = $1; i < $2; i++)); do
		group=$((77 + i % 2))
		echo "link add link eth8 name s$i address $(printf '02:08:21:00:%02x:%02x' $((i / 256)) $((i % 256))) group $group type macvlan mode bridge" >&3
		echo "link add name f$i numtxqueues 1 group $group type ifb" >&3
		for d in s$i f$i; do
			echo "link set $d alias vnicd:01234567-89ab-cdef-0123-456789abcdef:$i addrgenmode none" >&3
			echo "qdisc add dev $d root handle 7fd0: htb default 1" >&4
			echo "class add dev $d parent 7fd0: classid 7fd0:ffff htb rate 100mbit burst 50000 cburst 50000 quantum 12500" >&4
			echo "class add dev $d parent 7fd0:ffff classid 7fd0:1 htb rate 100mbit burst 50000 cburst 50000 quantum 12500" >&4
			echo "qdisc replace dev $d parent 7fd0:1 handle 7fd1: tbf rate 400gbit burst 3028 limit 150000" >&4
			echo "link set $d up" >&5
		done
		echo "qdisc add dev s$i clsact" >&4
		for d in ingress egress; do echo "filter add dev s$i $d prio 32720 handle 1 bpf da object-pinned $VT_DIR/bpf/scale" >&4; done
		echo "create-vnic -l eth0 -p maxbw=100M s$i" >&6
	done 3>"$VT_DIR/ip1" 4>"$VT_DIR/tc1" 5>"$VT_DIR/ip2" 6>"$VT_DIR/batch"
}

scale_program() {
	clang -target bpf -O2 -c -o "$VT_DIR/scale.o" -x c - <<-'END'
		__attribute__((section("classifier"), used)) int pass(void *skb) { return -1; }
		char _license[] __attribute__((section("license"), used)) = "GPL";
	END
	in_ns s bpftool prog load "$VT_DIR/scale.o" "$VT_DIR/bpf/scale" type classifier
}

# A namespace for what is made by hand.
scale_world() {
	vt_zone s
	ip link add eth8 netns "${VT}s" type veth peer name peer8 netns "${VT}p"
	in_ns s ip link set eth8 up
	in_ns p ip link set peer8 up
	scale_program
}

by_hand() { in_ns s ip -batch "$VT_DIR/ip1" && in_ns s tc -batch "$VT_DIR/tc1" && in_ns s ip -batch "$VT_DIR/ip2"; }
clear_by_hand() {
	in_ns s ip link del group 77
	in_ns s ip link del group 78
}

# The names in the batch, from the FIRST on, every STEPth.
scale_names() { awk -v first="$1" -v step="$2" 'NR % step == first % step { print $NF }' "$VT_DIR/batch"; }

# From the start of the daemon until it serves, which is when everything is adopted.
scale_serve() {
	local i never

	rm -f "$VNICD_SOCKET"
	vt_daemon_args
	vt_bg in_ns_log h "$VNICD" "${VT_ARGS[@]}"
	echo "$VT_PID" >"$VT_DIR/daemon"
	# Waits without a process of its own, which would be part of what is timed.
	exec {never}<> <(:)
	for ((i = 0; i < 6000; i++)); do
		[[ ! -S $VNICD_SOCKET ]] || break
		read -rt 0.005 -u "$never" || true
	done
	exec {never}>&-
	[[ -S $VNICD_SOCKET ]]
}

scale_acts() { sed -nE 's/.*[^0-9]([0-9]+) modifying acts?.*/\1/p' "$VT_DIR/log" | tail -n 1; }
rss() { awk '$1 == "VmRSS:" { print $2 / 1024 }' "/proc/$(vt_daemon_pid)/status"; }
