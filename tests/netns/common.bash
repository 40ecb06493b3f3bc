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
ip -d -j link show | jq -r ".[] | [\"link\", .ifname, .ifindex, .linkinfo.info_kind // \"-\", .address, .mtu,
	(if .flags | index(\"UP\") then \"up\" else \"down\" end), .group, .ifalias // \"-\", .inet6_addr_gen_mode,
	.linkinfo.info_data.mode // \"-\"] | map(tostring) | join(\" \")"
ip -br addr show | sed "s/@[^ ]*//; s/^/addr /; s/ UP \| UNKNOWN \| DOWN \| LOWERLAYERDOWN / /; s/  */ /g"
ip route show | sed "s/^/route /"
ip -6 route show | sed "s/^/route6 /; s/ pref medium//; s/ linkdown//"
grep -s . /proc/sys/net/ipv6/conf/*/accept_ra | sed "s,.*conf/,accept_ra ,; s,/accept_ra:, ,"
tc qdisc show | sed "s/direct_packets_stat [0-9]*//"
for dev in $(ls /sys/class/net); do
	"$0" --dev "$dev" | sed "s/^/$dev /"
	tc class show dev "$dev" | sed "s/^/$dev /"
	for side in ingress egress; do
		tc filter show dev "$dev" $side 2>/dev/null | sed "s/^/$dev $side /; s/ id [0-9]*//"
	done
done'

look_at() { nsenter --net="/run/netns/$VT$1" unshare --mount sh -c 'mount -t sysfs sysfs /sys; exec sh -c "$1" "$2"' \
	sh "$LOOK" "$TOOLS/hooks" | sed "s/^/$1: /"; }

# The steering entries: MAC, ifb by name, open or not
steered() {
	local map

	for map in "$VT_DIR"/bpf/*/*/steer; do
		[[ -e $map ]] || continue
		bpftool -j map dump pinned "$map" | jq -r '.[].formatted | "\(.key.ifindex) \(.key.mac) \(.value.ifb) \(.value.last)"'
	done | while read -r hook mac ifb last; do
		echo "steer $(ifname "$hook") $mac $(ifname "$ifb") $last"
	done
}
ifname() { in_ns h ip -j link show | jq -r --argjson i "$1" '[.[] | select(.ifindex == $i) | .ifname][0] // "ifindex \($i)"'; }

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
		while read -r zone; do look_at "$zone"; done <"$VT_DIR/zones"
		steered
		pins
		told
	} | sed -E 's/\bvi[0-9]+/viN/g; s/(vnicd:[-0-9a-f]+):[0-9]+/\1:N/; s/vnic-[0-9]+/vnic-N/; s/(link viN) [0-9]+/\1/' |
		if [[ ${1:-} == remade ]]; then sed -E 's/(link [^ ]+) [0-9]+ (macvlan|bridge)/\1 \2/'; else cat; fi |
		sort
}

# same WHAT A B: complains with the difference
same() { [[ $2 == "$3" ]] || complain "$1:" "$(diff <(echo "$2") <(echo "$3"))"; }
