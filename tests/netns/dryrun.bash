# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash
# For tests of --dry-run: two equal worlds, one with the daemon, and what is compared of them. Knows no expectation.

# h and z1, z2 with the daemon; i and y1, y2 where the printed commands are typed.
setup() {
	vt_begin
	vt_wire
	vt_zone i
	vt_zone q
	ip link add eth0 netns "${VT}i" address 02:00:5e:00:00:01 type veth \
		peer name peer0 netns "${VT}q" address 02:00:5e:00:00:02
	in_ns i ip link set eth0 up
	in_ns q ip link set peer0 up
	for zone in z1 z2 y1 y2; do vt_zone $zone; done
	start_faulty VNICD_FAULT_FILE="$VT_DIR/fault"
}
teardown() { vt_cleanup; }

# In both worlds; zone names of the second one for those of the first.
there() { sed "s/\b${VT}z/${VT}y/g"; }
both() {
	in_ns "$1" "${@:2}"
	in_ns "$(tr hz iy <<<"$1")" "${@:2}"
}

# Links, addresses, routes, rules, qdiscs, classes, filters, settings of one namespace. Left out: numbers and MAC
# addresses that the kernel chooses, timers, counters, and what eBPF hangs on.
# shellcheck disable=SC2016
WORLD='
ip -d -j link | jq -S "[.[] | del(.ifindex, .link_index, .link_netnsid, .link_netns, .operstate, .ifalias, .linkinfo.info_data.used_bc_queue_len,
	.linkinfo.info_data.bridge_id, .linkinfo.info_data.root_id, .linkinfo.info_data.hello_timer,
	.linkinfo.info_data.gc_timer, .linkinfo.info_data.tcn_timer, .linkinfo.info_data.topology_change_timer) +
	{alias: .ifalias} | if .linkinfo.info_kind == \"ifb\" or .linkinfo.info_kind == \"bridge\" then del(.address) else . end] |
	sort_by(.ifname) | .[]"
ip -j addr | jq -S "[.[] | {ifname, addr: [.addr_info[] | select(.scope != \"link\") | del(.valid_life_time, .preferred_life_time)]}] |
	sort_by(.ifname) | .[]" -c
ip route show table all | sort
ip -6 route show table all | grep -v "^fe80\|^multicast ff00\|^local fe80\|^anycast" | sort
ip rule
ip -6 rule
tc -j qdisc show | jq -c ".[] | select(.kind != \"clsact\") | del(.options.direct_packets_stat)" | sort
for dev in $(tc qdisc show | sed -n "s/^qdisc htb .* dev \\([^ ]*\\) .*/\\1/p"); do
	tc -d class show dev $dev | sed "s/^/$dev class /"
	tc -j filter show dev $dev | sed "s/^/$dev filter /"
done
grep -s . /proc/sys/net/ipv6/conf/*/accept_ra /proc/sys/net/ipv6/conf/*/addr_gen_mode \
	/proc/sys/net/ipv4/conf/*/arp_ignore /proc/sys/net/ipv4/conf/*/arp_announce'

# world ZONE...
world() {
	local zone

	for zone; do nsenter --net="/run/netns/$VT$zone" sh -c "$WORLD" | sed "s/^/$(tr hziy hzhz <<<"$zone"): /"; done
}
equal() { [[ $(world h z1 z2) == "$(world i y1 y2)" ]]; }
equal_worlds() { vt_until 20 equal || same "$1" "$(world h z1 z2)" "$(world i y1 y2)"; }

# Rows, but for those of where links were seen, which are written a second after a command.
stored() { sqlite3 -readonly "$VT_DIR/state/state.db" .dump | grep -v '^INSERT INTO place '; }

# Everything that a command could change. Left out is what comes by itself a moment after the command before.
ours() {
	cat <(look_at h) <(look_at z1) <(look_at z2) <(
		steered
		pins
		told
	) | sed -E 's/ fe80:[^ ]*//; s/ state [^ ]*//; s/<[^>]*>//; s/ bridge .* addrgenmode//; s/direct_packets_stat [0-9]*//; /: addr/s/ (UP|UNKNOWN|DOWN|LOWERLAYERDOWN) / /
		/ route6 (fe80|multicast)/d; /: tables .*(fe80:|ff00:)/d'
}

# rehearse COMMAND...: what would be done into $VT_DIR/plan, and nothing else
rehearse() {
	local before rows

	before=$(ours)
	rows=$(stored)
	adm "$@" --dry-run >"$VT_DIR/plan" 2>"$VT_DIR/notes.dry" </dev/null || complain "$*: $(cat "$VT_DIR/notes.dry")"
	same "$*: rows" "$rows" "$(stored)"
	same "$*: changed by --dry-run" "$before" "$(ours)"
	grep -q '^ip \|^tc \|^sysctl \|^# bpf: ' "$VT_DIR/plan" || complain "$* would do nothing:" "$(cat "$VT_DIR/plan")"
	if grep -vE '^(ip|tc|sysctl) |^# (bpf: |wait )' "$VT_DIR/plan"; then complain "$*: not a command"; fi
}

# Types what was printed; nothing of it may fail.
typed() {
	there <"$VT_DIR/plan" >"$VT_DIR/typed"
	in_ns i sh -e "$VT_DIR/typed" >"$VT_DIR/typed.out" 2>&1 || complain "$*: $(cat "$VT_DIR/typed.out")"
	[[ ! -s $VT_DIR/typed.out ]] || complain "$*: $(cat "$VT_DIR/typed.out")"
}

# does COMMAND...: rehearsed, then done in one world and typed in the other
does() {
	rehearse "$@"
	adm "$@" >/dev/null 2>"$VT_DIR/notes" || complain "$*: $(cat "$VT_DIR/notes")"
	same "$*: notes" "$(cat "$VT_DIR/notes.dry")" "$(cat "$VT_DIR/notes")"
	typed "$@"
	equal_worlds "$*"
}
