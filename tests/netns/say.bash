# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash disable=SC2154 # bats sets output, stderr and status
# What vnicadm must say and do, as bats tests assert it; makes nothing that stays.
bats_require_minimum_version 1.5.0
# shellcheck source=tests/lib.sh
. "$BATS_TEST_DIRNAME/../lib.sh"

# is EXPECTED ACTUAL [WHAT]
is() {
	[[ $1 == "$2" ]] && return 0
	printf '%s\nexpected: %s\nis:       %s\n' "${3:-}" "$1" "$2" >&2
	return 1
}

# matches REGEX ACTUAL
matches() {
	[[ $2 =~ $1 ]] && return 0
	printf 'expected a match of: %s\nis: %s\n' "$1" "$2" >&2
	return 1
}

# vnicadm succeeds without a word on standard error; what it printed is in $output. good ARGUMENT...
good() {
	run --separate-stderr adm "$@"
	is 0 "$status" "$stderr" && is '' "$stderr" "vnicadm $*"
}

# The same, notes may come: they are in $stderr.
made() {
	run --separate-stderr adm "$@"
	is 0 "$status" "vnicadm $*: $stderr"
}

# vnicadm refuses with one line and prints nothing: refused STATUS LINE ARGUMENT...
refused() {
	run --separate-stderr adm "${@:3}"
	is "$1" "$status" "vnicadm ${*:3}: $stderr" && is '' "$output" && is "vnicadm: $2" "$stderr"
}

# One value of a show's JSON; null is printed as --. value VERB FIELD LINK
value() { adm "$1" -j -o "$2" "$3" | jq -r '.[0] | to_entries[0].value // "--"'; }
vnic() { value show-vnic "$2" "$1"; }
link() { value show-link "$2" "$1"; }
# prop LINK PROPERTY FIELD
prop() { adm show-linkprop -j -p "$2" "$1" | jq -r ".[0].$3 // \"--\""; }

# counter LINK NAME
counter() { adm show-link -s -j "$1" | jq -r ".$2"; }
# All eight, and whether none is smaller than before: counters LINK; not_less OLD NEW
counters() { adm show-link -s -j "$1" | jq -r '[.ipackets, .rbytes, .ierrors, .idrops, .opackets, .obytes, .oerrors, .odrops] | join(" ")'; }
not_less() {
	local -a old new
	local i

	read -ra old <<<"$1"
	read -ra new <<<"$2"
	is 8 "${#old[@]}" && is 8 "${#new[@]}" || return
	for i in "${!old[@]}"; do
		((new[i] >= old[i])) || { is ">= $1" "$2"; return; }
	done
}

# until_is EXPECTED COMMAND...: polls, for a busy machine, up to 10 s
until_is() {
	vt_until 100 gives "$@" || is "$1" "$("${@:2}")" "${*:2}"
}
gives() { [[ $("${@:2}") == "$1" ]]; }

# Everything about a link that its administrator may have set, without what other programs count.
link_dump() {
	in_ns h ip -d addr show dev "$1" | sed 's/promiscuity [0-9]* *//; s/allmulti [0-9]* *//; s/valid_lft.*//'
	in_ns h tc qdisc show dev "$1"
	in_ns h tc class show dev "$1"
	in_ns h tc filter show dev "$1"
	in_ns h tc filter show dev "$1" ingress
	in_ns h tc filter show dev "$1" egress
}

# Only what is sent on purpose moves, no IPv6: mute NS, also of links that come. No ARP: knows NS DEV ADDRESS MAC
# shellcheck disable=SC2016 # the other shell's
mute() { in_ns "$1" sh -c 'for f in /proc/sys/net/ipv6/conf/*/disable_ipv6; do echo 1 >"$f"; done'; }
knows() { in_ns "$1" ip neigh replace "$3" lladdr "$4" dev "$2" nud permanent; }

# Makes a VNIC in z1 that gets only what peer0 sends it on purpose, and answers: quiet_vnic NAME PROPERTIES
quiet_vnic() {
	good create-vnic -l eth0 -m 2:8:20:0:0:9 -p "zone=${VT}z1${2:+,$2}" "$1"
	in_ns z1 ip addr add 10.99.0.9/24 dev "$1"
	knows z1 "$1" 10.99.0.1 02:00:5e:00:00:02
	knows p peer0 10.99.0.9 02:08:20:00:00:09
}

# Sends datagrams, each from a socket of its own, so that no send buffer holds any back: datagrams NS N SIZE ADDRESS [PORT]
# shellcheck disable=SC2016 # perl's
datagrams() {
	in_ns "$1" perl -MIO::Socket::INET -e '
		my ($n, $size, $to, $port) = @ARGV;
		IO::Socket::INET->new(Proto => "udp", PeerAddr => $to, PeerPort => $port)->send("x" x $size) for 1 .. $n;
	' "$2" "$3" "$4" "${5:-9}"
}

# Deletes every VNIC and etherstub that a test left, but those of the control (see common.bash).
delete_all() {
	local names

	mapfile -t names < <(adm show-vnic -j | jq -r '.[].link | select(startswith("control") | not)')
	((${#names[@]} == 0)) || adm delete-vnic "${names[@]}"
	mapfile -t names < <(adm show-etherstub -j | jq -r '.[].link')
	((${#names[@]} == 0)) || adm delete-etherstub "${names[@]}"
}
