# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash
# Namespaces, wires, the daemon and traffic for tests: sourced by bats files, the demo and the bench; touches nothing
# outside the namespaces and the temporary directory it makes, and removes these on exit, failure and ^C.
#
# bash:  . tests/lib.sh; vt_begin; vt_wire; vt_zone z1; vt_daemon; adm show-link        (cleans up by itself)
# bats:  setup_file() { vt_begin; ... }   teardown_file() { vt_cleanup; }
#
# BUILD: where the programs are (build). VNICD_WRAP: put before vnicd (a memory checker). Short namespace names
# (h = host, p = the wire's other end, zones) become $VT<name>.

BUILD=${BUILD:-build}
[[ $BUILD == /* ]] || BUILD=$PWD/$BUILD
# For those who source this.
# shellcheck disable=SC2034
TOOLS=$BUILD/tests/tools
VNICD=${VNICD:-$BUILD/vnicd/vnicd}
VNICADM=${VNICADM:-$BUILD/vnicadm/vnicadm}
FLOWADM=${FLOWADM:-$BUILD/flowadm/flowadm}

vt_say() { printf '%s\n' "$*" >&2; }

# Makes the host namespace, a temporary directory and a bpffs in it. Where ifb is a module it is loaded without devices:
# by itself it would make two. VT_PREFIX: before the namespaces' names, where they have a /run/netns to themselves.
vt_begin() {
	modprobe -q ifb numifbs=0 2>/dev/null || true
	VT_DIR=$(mktemp -d "${TMPDIR:-/tmp}/vnicd-test.XXXXXX")
	# A pid would not do: it is used again, also while what it named is still there.
	VT=${VT_PREFIX-vt${VT_DIR##*.}_}
	export VT VT_DIR VNICD_SOCKET=$VT_DIR/vnicd.sock
	echo "$VT" >"$VT_DIR/prefix"
	: >"$VT_DIR/pids"
	: >"$VT_DIR/zones"
	# bats has traps of its own: there teardown calls vt_cleanup.
	if [[ -z ${BATS_VERSION:-} ]]; then
		trap vt_cleanup EXIT
		trap 'exit 130' INT
		trap 'exit 143' TERM
	fi
	mkdir "$VT_DIR/bpf" "$VT_DIR/state"
	mount -t bpf bpf "$VT_DIR/bpf" || return
	vt_zone h
}

# Runs a command in a namespace of ours: in_ns p ping ...; nsenter, because ip netns exec hides bpffs.
in_ns() { nsenter --net="/run/netns/$VT$1" "${@:2}"; }

# A new zone; prints nothing. Its full name is $VT$1.
vt_zone() {
	ip netns add "$VT$1" || return
	echo "$1" >>"$VT_DIR/zones"
	in_ns "$1" ip link set lo up
}

vt_zone_del() {
	ip netns del "$VT$1"
	sed -i "/^$1\$/d" "$VT_DIR/zones"
}

# Another name for a link, which kernels before 6.2 give only to one that is down: vt_rename NS OLD NEW
vt_rename() {
	in_ns "$1" ip link set "$2" name "$3" 2>/dev/null && return
	in_ns "$1" ip link set "$2" down && in_ns "$1" ip link set "$2" name "$3" && in_ns "$1" ip link set "$3" up
}

# A wire: eth0 in the host, peer0 in namespace p. vt_wire [MTU]
vt_wire() {
	local mtu=${1:-1500}

	vt_zone p
	ip link add eth0 netns "${VT}h" mtu "$mtu" address 02:00:5e:00:00:01 type veth \
		peer name peer0 netns "${VT}p" mtu "$mtu" address 02:00:5e:00:00:02
	in_ns h ip link set eth0 up
	in_ns p ip link set peer0 up
	vt_addr p peer0 1
}

# Addresses for a link of ours: 10.99.0.N/24 and fd99::N/64, usable at once. vt_addr NS DEV N [NET]
vt_addr() {
	local net=${4:-99}

	in_ns "$1" ip addr add "10.$net.0.$3/24" dev "$2"
	in_ns "$1" ip addr add "fd$net::$3/64" dev "$2" nodad
}

# Starts a command in the background and remembers it for the end; its pid is in $VT_PID.
vt_bg() {
	# File descriptor 3 is bats' own: a child that holds it keeps bats waiting.
	"$@" 3>&- &
	VT_PID=$!
	echo "$VT_PID $(vt_birth "$VT_PID")" >>"$VT_DIR/pids"
}

# Start time of a process: with the pid it names one process, also after the number was used again.
vt_birth() { sed 's/.*) //' "/proc/$1/stat" 2>/dev/null | cut -d' ' -f20; }

# Ends one process started by vt_bg. vt_stop PID [SIGNAL]
vt_stop() {
	kill "-${2:-TERM}" "$1" 2>/dev/null || return 0
	vt_until 100 vt_gone "$1" || kill -KILL "$1" 2>/dev/null
	vt_reap "$1"
}
# In bats the process may be another test's child, and a failing command ends the test.
vt_reap() { wait "$@" 2>/dev/null || true; }
vt_gone() { [[ ! -d /proc/$1 || $(vt_birth "$1") == "" || $(sed 's/.*) //' "/proc/$1/stat" 2>/dev/null) == Z* ]]; }

# Waits until a command succeeds: vt_until TENTHS COMMAND... VNICD_TEST_SLOW: how many times slower than a machine this
# one is (emulation); waits are as many times longer.
vt_until() {
	local n=$(($1 * ${VNICD_TEST_SLOW:-1}))

	while ! "${@:2}" >/dev/null 2>&1; do
		((n-- > 0)) || return 1
		sleep 0.1
	done
}

vt_daemon_args() {
	VT_ARGS=(--socket "$VNICD_SOCKET" --state-dir "$VT_DIR/state" --bpf-dir "$VT_DIR/bpf"
		--log-level "${VT_LOG_LEVEL:-info}")
}

# Starts vnicd in the host namespace and waits until it serves; its log is in $VT_DIR/log. vt_daemon [OPTION...]
# A socket left by a killed one is no sign of life, so it is asked.
vt_daemon() {
	vt_daemon_args
	# VNICD_WRAP is a command with its arguments.
	# shellcheck disable=SC2086
	vt_bg in_ns_log h ${VNICD_WRAP:-} "$VNICD" "${VT_ARGS[@]}" "$@"
	echo "$VT_PID" >"$VT_DIR/daemon"
	if ! vt_until 100 vt_serves; then
		vt_say "vnicd does not serve; its log:"
		cat "$VT_DIR/log" >&2
		return 1
	fi
}
in_ns_log() { exec nsenter --net="/run/netns/$VT$1" "${@:2}" >>"$VT_DIR/log" 2>&1; }
vt_serves() {
	vt_gone "$(vt_daemon_pid)" && return 1
	[[ -S $VNICD_SOCKET ]] && "$VNICADM" show-link >/dev/null 2>&1
}
vt_daemon_pid() { cat "$VT_DIR/daemon" 2>/dev/null; }
vt_daemon_stop() { vt_stop "$(vt_daemon_pid)" "${1:-TERM}"; }
vt_daemon_kill9() { vt_daemon_stop KILL; }
# vt_daemon_restart [SIGNAL [OPTION...]]
vt_daemon_restart() {
	vt_daemon_stop "${1:-TERM}"
	vt_daemon "${@:2}"
}

adm() { "$VNICADM" "$@"; }
flow() { "$FLOWADM" "$@"; }

# Everything that vt_begin and its followers made; also half of it, also twice.
vt_cleanup() {
	local pid birth zone

	[[ -n ${VT_DIR:-} && -d $VT_DIR ]] || return 0
	[[ -n ${BATS_VERSION:-} ]] || trap - EXIT
	while read -r pid birth; do
		if [[ -n $birth && $(vt_birth "$pid") == "$birth" ]]; then vt_stop "$pid"; fi
	done <"$VT_DIR/pids"
	while read -r zone; do
		ip netns del "$VT$zone" 2>/dev/null || true
	done <"$VT_DIR/zones"
	umount "$VT_DIR/bpf" 2>/dev/null || true
	rm -rf --one-file-system "$VT_DIR"
	return 0
}

# Can the meters keep up with a flood?
vt_floods() { [[ -z ${SLOW_BUILD:-} ]]; }
# shellcheck disable=SC2034 # for skip
VT_NO_FLOOD="the sanitizers' build of the measuring tools is too slow for a flood"

# --- traffic -----------------------------------------------------------------------------------------------------

# What a byte of payload is on layer 2: l2_ratio tcp4|tcp6|udp4|udp6 [MTU [UDP-PAYLOAD]]
l2_ratio() {
	awk -v kind="$1" -v mtu="${2:-1500}" -v pay="${3:-1400}" 'BEGIN {
		head = substr(kind, 4) == 6 ? 40 : 20
		if (kind ~ /^tcp/) print (mtu + 14) / (mtu - head - 32)	# time stamps: 12 bytes of options
		else print (pay + 14 + head + 8) / pay
	}'
}

# Value of a key in a tool's output: tool_value FILE KEY
tool_value() { awk -v k="$2" '$1 == k { print $2; found = 1; exit } END { if (!found) print 0 }' "$1"; }

# Bits/s in words: 1.5G
human() { awk -v r="$1" 'BEGIN { split("K M G", u); for (i = 0; r >= 1000 && i < 3; i++) r /= 1000; printf "%.4g%s\n", r, u[i] }'; }

# cap in bits/s: bps 10M
bps() { awk -v r="$1" 'BEGIN { f["K"] = 1e3; f["M"] = 1e6; f["G"] = 1e9; u = substr(r, length(r)); printf "%.0f\n", u in f ? r * f[u] : r }'; }

listens() { in_ns "$1" ss -Hltn "sport = :$2" | grep -q .; }

# Starts an iperf3 server for one test, JSON to FILE: serve NS FILE [PORT]; then `wait $VT_PID`
serve() {
	vt_bg in_ns_to "$2" "$1" iperf3 -s -1 -J -p "${3:-5201}"
	vt_until 50 listens "$1" "${3:-5201}"
}
in_ns_to() { exec nsenter --net="/run/netns/$VT$2" "${@:3}" >"$1" 2>&1; }

# Receiver's goodput after the first second, in bits/s, from an iperf3 server's JSON. goodput FILE [SKIP]
goodput() {
	jq -r --argjson skip "${2:-1}" '[.intervals[$skip:][].sum | select(.seconds > 0.5)]
		| if length == 0 then 0 else (map(.bytes) | add) * 8 / (map(.seconds) | add) end' "$1" 2>/dev/null || echo 0
}

# Block size for iperf3 such that reads of a whole block do not blur the intervals.
block_for() { awk -v r="$1" 'BEGIN { print r && r <= 2e7 ? 1448 : r && r <= 2e8 ? 16384 : 131072 }'; }

# TCP from one namespace to another, JSON of the receiver to FILE: tcp_load FROM TO ADDRESS FILE SECONDS [STREAMS [CC [CAP]]]
tcp_load() {
	local server

	serve "$2" "$4" || return
	server=$VT_PID
	in_ns "$1" iperf3 -c "$3" -t "$5" -P "${6:-1}" -C "${7:-cubic}" -l "$(block_for "${8:-0}")" -J \
		>"$4.client" 2>&1
	vt_until 30 vt_gone "$server" || vt_stop "$server"
	vt_reap "$server"
	jq -e '.intervals | length > 0' "$4" >/dev/null 2>&1
}

# Mean round trip in ms of 100 pings: ping_mean FROM ADDRESS [INTERVAL]
ping_mean() { in_ns "$1" ping -q -c 100 -i "${3:-0.05}" -W 2 "$2" | awk -F/ '/^rtt/ { print $5 }'; }
