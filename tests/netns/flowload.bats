#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# Flows under load: a flood into a blocked one costs the others nothing, and a cap that changes all the time holds all
# the time and loses no frame and no count.

load common
load say

setup_file() {
	vt_begin
	vt_wire
	vt_zone z1
	start A=
	control_make
}
teardown_file() { vt_cleanup; }
setup() {
	delete_all
	adm create-vnic -l eth0 -m 2:8:20:0:0:9 -p "maxbw=100M,zone=${VT}z1" vnic1
	vt_addr z1 vnic1 9
}

ifb() { adm show-link -a -j | jq -r '.[].link | select(startswith("vi"))' | head -1; }
# The ceiling of a flow's class: ceiling NS DEV
ceiling() { in_ns "$1" tc class show dev "$2" | sed -n 's/.*htb 7fd0:[0-9a-f]* parent 7fd0:[234] .* ceil \([^ ]*\) .*/\1/p'; }
count() { flow show-flow -s -j "$1" | jq -r ".$2"; }
unhurried() { [[ -z ${SLOW_BUILD:-}${VNICD_TEST_SLOW:-} ]] || skip "a slow build or machine does not keep up with the load"; }

# --- a blocked flow -----------------------------------------------------------------------------------------------------

# Time in ns, what `up` sent and `down` received: sample
sample() { flow show-flow -s -j up down | jq -rs '[.[0].time, (.[] | select(.flow == "up").obytes), (.[] | select(.flow == "down").rbytes)] | @tsv'; }
# Rates over a second, two in one line: rates_now
rates_now() {
	local before

	before=$(sample)
	sleep 1
	paste <(echo "$before") <(sample) | awk '{ t = $4 - $1; print ($5 - $2) / t, ($6 - $3) / t }'
}
flood_start() {
	vt_bg in_ns_to "$VT_DIR/flood.in" p "$TOOLS/flood" --dev peer0 --mac 2:8:20:0:0:9 --dst 10.99.0.9 --len 60 \
		--rate 25M --seconds 20
	FLOODS=("$VT_PID")
	vt_bg in_ns_to "$VT_DIR/flood.out" z1 "$TOOLS/flood" --dev vnic1 --mac 02:00:5e:00:00:02 --dst 10.99.0.1 --len 60 \
		--rate 25M --seconds 20
	FLOODS+=("$VT_PID")
	sleep 0.2
}
flood_end() { for pid in "${FLOODS[@]}"; do vt_stop "$pid" INT; done; }

# Two streams for as long as it takes; without and with the flood in turns.
flooded() {
	local i pid

	serve p "$VT_DIR/up" 5301
	serve z1 "$VT_DIR/down" 5302
	vt_bg in_ns_to "$VT_DIR/up.client" z1 iperf3 -c 10.99.0.1 -p 5301 -t 30 -C cubic -l 16384
	pid=$VT_PID
	vt_bg in_ns_to "$VT_DIR/down.client" p iperf3 -c 10.99.0.9 -p 5302 -t 30 -C cubic -l 16384
	sleep 1.5
	: >"$VT_DIR/without"
	: >"$VT_DIR/with"
	for i in 1 2 3; do
		rates_now >>"$VT_DIR/without"
		flood_start
		rates_now >>"$VT_DIR/with"
		flood_end
	done
	vt_stop "$pid" INT
	vt_stop "$VT_PID" INT
	for i in 1 2; do
		figure "$([[ $i == 1 ]] && echo up || echo down)" "$(awk -v i=$i 'NR == FNR { a += $i; next } { b += $i }
			END { print a ? b / a : 0 }' "$VT_DIR/without" "$VT_DIR/with")" 0.98 1.03
	done
}

@test "a flood of small packets into a blocked flow, both ways: the other flows keep 98 % of their rate" {
	unhurried
	flow create-flow -l vnic1 transport=tcp,remote_port=5301 -p maxbw=40M up
	flow create-flow -l vnic1 transport=tcp,local_port=5302 -p maxbw=30M down
	flow create-flow -l vnic1 transport=udp,local_port=9 -p maxbw=blocked discard
	measured flooded
	(($(count discard idrops) > 50000 && $(count discard odrops) > 50000)) || complain "$(flow show-flow -s)"
	is '0 0' "$(count discard ipackets) $(count discard opackets)"
	echo "# kept: $(cut -d' ' -f1,2 "$VT_DIR/figures" | xargs)" >&3
}

# --- changes ------------------------------------------------------------------------------------------------------------

@test "a flow's cap is changed in place: 100 changes under load delete nothing, lose nothing, miscount nothing" {
	local i cap now out=0 in=0 ifb

	flow create-flow -l vnic1 transport=udp -p maxbw=60M seq
	ifb=$(ifb)
	monitor z1
	monitor h
	sleep 0.2
	load_both_ways 20M 300
	for ((i = 0; i < 100; i++)); do
		cap=$((i % 2 ? 60 : 90))
		flow set-flowprop -p maxbw=${cap}M seq
		is "${cap}Mbit ${cap}Mbit" "$(ceiling z1 vnic1) $(ceiling h "$ifb")" "change $i"
		now=$(flow show-flow -s -j seq | jq -r '"\(.ipackets) \(.opackets)"')
		((${now% *} > in && ${now#* } > out)) || complain "change $i: $in $out, then $now"
		in=${now% *} out=${now#* }
	done
	load_end
	sleep 0.2
	grep -q '60Mbit' "$VT_DIR/monitor.z1"
	! grep -hi 'deleted' "$VT_DIR/monitor.z1" "$VT_DIR/monitor.h" || complain "something was deleted"
	for i in in out; do
		is '0 0' "$(for now in lost duplicates; do tool_value "$VT_DIR/seq.$i" $now; done | xargs)" "$i: lost, duplicates"
		# A sender that changes its CPU in the midst may pass what waits on the old one: in the wire's own queues.
		(($(tool_value "$VT_DIR/seq.$i" reordered) * 100 < $(tool_value "$VT_DIR/seq.$i" received))) || complain "$i:" "$(cat "$VT_DIR/seq.$i")"
	done
	is "$(tool_value "$VT_DIR/seq.in" received) $(tool_value "$VT_DIR/seq.out" received)" \
		"$(count seq ipackets) $(count seq opackets)"
}

# One TCP stream that wants more than there is, while the cap goes up and down a hundred times: changing FROM TO ADDRESS DEV
changing() {
	local i watch

	serve "$2" "$VT_DIR/stream" 5303
	vt_bg in_ns_to "$VT_DIR/cap" "$2" "$TOOLS/capwatch" --dev "$4" --seconds 20 --idle 1500
	watch=$VT_PID
	vt_bg in_ns_to "$VT_DIR/stream.client" "$1" iperf3 -c "$3" -p 5303 -t 20 -C cubic -l 16384
	sleep 1
	for ((i = 0; i < 100; i++)); do
		flow set-flowprop -p "maxbw=$((i % 2 ? 40 : 20))M" stream
		sleep 0.04
	done
	vt_stop "$VT_PID" INT
	vt_until 50 vt_gone "$watch" || vt_stop "$watch" INT
	figure "worst-200-ms-$1" "$(awk -v w="$(tool_value "$VT_DIR/cap" worst_window)" 'BEGIN { print w / 40e6 }')" 0.5 1.2
	figure "silence-ms-$1" "$(tool_value "$VT_DIR/cap" gap_max_ms)" - 300
}

@test "a flow's cap goes up and down 100 times under more than it lets through: never exceeded, never silent" {
	unhurried
	flow create-flow -l vnic1 transport=tcp -p maxbw=40M stream
	measured changing z1 p 10.99.0.1 peer0
	measured changing p z1 10.99.0.9 vnic1
}
