#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck disable=SC2154 # bats sets output, stderr and status
# -p of every show verb against the real daemon: read back, it is what -j says.

load say.bash

setup_file() {
	vt_begin
	vt_wire
	vt_zone z1
	vt_daemon
	adm create-etherstub stub0
	adm create-vnic -l stub0 -p maxbw=10M,maxbw-rx=1.5M "vnic1"
	adm create-vnic -l eth0 -p "zone=${VT}z1,maxbw=25%" vnic2
	adm create-vnic -l eth0 -t -d vnic3
}
teardown_file() { vt_cleanup; }

# The fields of a verb, as its refusal names them: fields VERB...
fields() { adm "$@" -o nosuchfield 2>&1 | sed -n 's/.*all or some of \([a-z_,]*\).*/\1/p'; }

# The rows of -p with all fields, unescaped again, a field a line
# shellcheck disable=SC2034,SC2162 # read is to take the backslashes
unescaped() {
	local -a row
	local n=$1 i

	while IFS= read -r line; do
		# A field that is empty at the end is one, too.
		IFS=: read -a row <<<"$line:"
		for ((i = 0; i < n; i++)); do printf '%s\n' "${row[i]:-}"; done
	done
}

@test "every show verb: -p with every field is what -j says, unescaped" {
	local names count script json

	for verb in show-link show-vnic show-etherstub show-linkprop 'show-link -P' 'show-linkprop -P'; do
		script=-p
		[[ $verb != show-linkprop* ]] || script=-c
		# shellcheck disable=SC2086 # words
		{
			names=$(fields $verb)
			count=$(tr ',' '\n' <<<"$names" | wc -l)
			[ "$count" -ge 4 ]
			json=$(adm $verb -j -o "$names" | jq -r '.[] | .[] | if type == "array" then join(",") else . // "" end')
			# SPEED is in Mbit/s for people.
			[[ $verb != show-vnic ]] || json=$(adm $verb -j -o "$names" |
				jq -r '.[] | .speed |= (. / 1e6) | .[] | . // ""')
			is "$json" "$(adm $verb $script -o "$names" | unescaped "$count")" "$verb"
		}
	done
}

@test "show-phys -p and show-link -s -p: as many fields as asked for, numbers as numbers" {
	good show-phys -p -o link,media,state,speed,duplex,device eth0
	is eth0:Ethernet:up:10000:full:eth0 "$output"
	good show-link -s -p -o link,ipackets,odrops,sample vnic1
	matches '^vnic1:[0-9]+:[0-9]+:total$' "$output"
	good show-link -s -r -p -i 1 2 -o link,rbytes,sample vnic1
	is "vnic1:0:total vnic1:0:rate" "$(xargs <<<"$output")"
}

@test "a single field is not escaped" {
	is "$(in_ns z1 ip -j link show vnic2 | jq -r ".[0].address")" \
		"$(adm show-vnic -p -o macvalue vnic2)"
	is 25% "$(adm show-linkprop -c -p maxbw -o value vnic2)"
	is "" "$(adm show-linkprop -c -p maxbw -o value vnic3)"
}
