# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash disable=SC2034 # FLOOR and COST_NOTE are run's
# The bench's groups for flows: what a packet costs with few and many of them, beside what else Linux has, and what it
# takes to make, change, show and delete thousands. Sourced by tests/bench/run; makes links of its own in its world.

# So many flows are many; u32's linear list is no match for so many.
MANY=10000
LINEAR=256

# VNICs flow1 and flow2 in zones f1 and f2; what peers classify comes in by a bare macvlan in zone b.
flows_world() {
	local z

	((${FLOWS_WORLD:-0})) && return
	FLOWS_WORLD=1
	for z in 1 2; do
		vt_zone f$z
		make_vnic eth0 f$z flow$z 5$z 99 || return
	done
	flows_stray f1 flow1 10.99.0.151 peer0
	flows_stray b bare0 10.98.0.102 peer1
}
# An address that the device gets packets for and nobody has: they end in its zone's stack. flows_stray NS DEV ADDRESS FROM
flows_stray() {
	in_ns p ip neigh replace "$3" dev "$4" nud permanent lladdr "$(in_ns "$1" ip -j link show "$2" | jq -r '.[0].address')"
}

# flows_ports LINK COUNT [CAPPED]: a batch of flows of one shape, the first ones capped
flows_ports() {
	awk -v link="$1" -v n="$2" -v capped="${3:-0}" 'BEGIN { for (i = 0; i < n; i++) printf "create-flow -l %s transport=udp,local_port=%d%s %s-%d\n",
		link, 10000 + i, i < capped ? " -p maxbw=50M" : "", link, i }'
}
# The same the way packets go that the link sends
flows_ports_out() { flows_ports "$@" | sed 's/local_port/remote_port/'; }
# Sixteen shapes: the one that takes the packets is looked for last.
flows_shapes() {
	local i

	for ((i = 8; i < 23; i++)); do echo "create-flow -l $1 remote_ip=172.16.0.0/$((i + 4)) $1-s$i"; done
}

flows_none() {
	local link

	for link in flow1 flow2; do flow delete-flow -l $link; done
}

# --- cost per packet ------------------------------------------------------------------------------------------------

flows_pairs() { [[ $FULL == 1 ]] && echo 45 || echo 25; }

# Packets that come in at flow1 and flow2, or that they send: flows_cost in|out PORTS1 PORTS2
flows_cost() {
	local a b

	if [[ $1 == in ]]; then
		a="--a-from ${VT}p --a-host 10.99.0.51 --a-at ${VT}f1:flow1" b="--b-from ${VT}p --b-host 10.99.0.52 --b-at ${VT}f2:flow2"
	else
		a="--a-from ${VT}f1 --a-host 10.99.0.1 --a-at ${VT}p:peer0"
		b="--b-from ${VT}f2 --b-host 10.99.0.1 --b-at ${VT}p:peer0"
	fi
	# shellcheck disable=SC2086 # words
	"$TOOLS/ppscost" $a $b --a-ports "$2" --b-ports "$3" --pairs "$(flows_pairs)" --slice 100 >"$VT_DIR/cost"
}
flows_note() {
	COST_NOTE="$(awk '{ v[$1] = $2 } END { printf "%s pairs: %s ns against %s ns; ratio quartiles %s..%s",
		v["pairs"], v["a_ns"], v["b_ns"], v["ratio_q1"], v["ratio_q3"] }' "$VT_DIR/cost")"
}

# flows_against_one in|out many|shapes HIGHEST
flows_against_one() {
	local make=flows_ports ports=1

	[[ $1 == in ]] || make=flows_ports_out
	flows_none
	$make flow2 1 | flow -b - || return
	if [[ $2 == many ]]; then
		ports=$MANY
		$make flow1 $MANY | flow -b - || return
	else
		{ flows_shapes flow1; $make flow1 1; } | flow -b - || return
	fi
	flows_cost "$1" $ports 1 || return
	check ratio "$(tool_value "$VT_DIR/cost" ratio)" - "$3"
	check arrived "$(tool_value "$VT_DIR/cost" a_arrived)" 0.999 -
	# They were looked at, and found their flows.
	check 'in its flow' "$(ratio "$(flow show-flow -s -j -l flow2 | jq -s 'map(.ipackets + .opackets) | .[0] / (add + 1)')" 1)" 0.99 -
	flows_note
}

flows_cost_row() {
	row "$1" control_cost flows_against_one "${@:2}"
	printf '  %s\n' "$COST_NOTE"
}

# What others have, at the bare macvlan's ingress: peer_NAME COUNT
peer_none() { :; }
peer_u32() {
	in_ns b tc qdisc add dev bare0 clsact
	for ((i = 0; i < $1; i++)); do
		echo "filter add dev bare0 ingress protocol ip prio 1 u32 match ip protocol 17 0xff match ip dport $((10000 + i)) 0xffff classid 1:1"
	done | in_ns b tc -batch -
}
peer_u32_hashed() {
	in_ns b tc qdisc add dev bare0 clsact
	{
		echo "filter add dev bare0 ingress protocol ip prio 1 handle 2: u32 divisor 256"
		for ((i = 0; i < $1; i++)); do
			printf 'filter add dev bare0 ingress protocol ip prio 1 u32 ht 2:%x: match ip protocol 17 0xff match ip dport %d 0xffff classid 1:1\n' \
				$(((10000 + i) & 255)) $((10000 + i))
		done
		echo "filter add dev bare0 ingress protocol ip prio 1 u32 ht 800: match ip protocol 17 0xff hashkey mask 0x000000ff at 20 link 2:"
	} | in_ns b tc -batch -
}
peer_nft() {
	command -v nft >/dev/null || return
	{
		echo 'table netdev flows { set ports { type inet_service; counter; elements = {'
		for ((i = 0; i < $1; i++)); do printf '%d,' $((10000 + i)); done
		echo '}; }; chain in { type filter hook ingress device bare0 priority 0; udp dport @ports accept; }; }'
	} | in_ns b nft -f -
}
peers_none() {
	in_ns b tc qdisc del dev bare0 clsact 2>/dev/null
	! command -v nft >/dev/null || in_ns b nft flush ruleset
}

# flows_against PEER COUNT
flows_against() {
	local rc=0

	peers_none
	"peer_$1" "$2" || { check 'not here' none - -; return 0; }
	"$TOOLS/ppscost" --a-from "${VT}p" --a-host 10.99.0.151 --a-at "${VT}f1:flow1" --a-ports $MANY \
		--b-from "${VT}p" --b-host 10.98.0.102 --b-at "${VT}b:bare0" --b-ports "$2" --pass --pairs "$(flows_pairs)" --slice 100 \
		>"$VT_DIR/cost" || rc=1
	peers_none
	check 'ours/its' "$(tool_value "$VT_DIR/cost" ratio)" - -
	check 'ours ns' "$(tool_value "$VT_DIR/cost" a_ns)" - -
	check 'its ns' "$(tool_value "$VT_DIR/cost" b_ns)" - -
	flows_note
	return $rc
}

flows_peer_row() {
	row "$1" control_cost flows_against "${@:2}"
	printf '  %s\n' "$COST_NOTE"
}

flows_costs() {
	flows_cost_row 'flows RX, 10,000 to 1' in many 1.1
	flows_cost_row 'flows RX, 16 shapes to 1' in shapes 1.25
	flows_cost_row 'flows TX, 10,000 to 1' out many 1.1
	flows_cost_row 'flows TX, 16 shapes to 1' out shapes 1.25
	flows_none
	flows_ports flow1 $MANY | flow -b - || return
	flows_peer_row 'flows RX, nothing' none 1
	flows_peer_row "flows RX, u32 list of $LINEAR" u32 $LINEAR
	flows_peer_row 'flows RX, u32 hash, 10,000' u32_hashed $MANY
	flows_peer_row 'flows RX, nft set, 10,000' nft $MANY
	flows_none
}

# --- thousands in a batch -------------------------------------------------------------------------------------------

# How fast a command is started and a page brought to the disk, the middle one of seven, by the second
flows_control() {
	awk -v t="$(middle 7 flows_still)" 'BEGIN { printf "%.1f\n", 1 / t }'
}
flows_still() { took sh -c '"$0" help && dd if=/dev/zero of="$1" bs=4096 count=1 conv=fsync' "$FLOWADM" "$VT_DIR/state/fsync"; }

ms() { awk -v s="$1" 'BEGIN { printf "%.1f\n", s * 1000 }'; }

flows_batch_again() {
	flow delete-flow -l flow1
	took flow -b "$VT_DIR/batch"
}
# One more, and that one gone again: what the first takes
flows_one_more() {
	took flow create-flow -l flow1 transport=udp,local_port=9 more
	flow delete-flow more
}
flows_one_changed() { took flow set-flowprop -p "maxbw=$((10 + RANDOM % 40))M" flow1-500; }
# How long the daemon takes for a request, the middle one of nine, in ms; each is taken back by another, if that is
# given. %d in it: a number that is new each time. asked METHOD PARAMETERS [METHOD PARAMETERS]
# shellcheck disable=SC2016 # perl's
asked() {
	perl -MIO::Socket::UNIX -MTime::HiRes=time -e '
		my ($path, @calls) = @ARGV;
		my $s = IO::Socket::UNIX->new(Peer => $path) or die "$path: $!\n";
		my @took;
		for my $n (11 .. 19) {
			for (my $i = 0; $i < @calls; $i += 2) {
				my ($what, $reply) = (sprintf($calls[$i + 1], $n), "");
				my $from = time;
				syswrite $s, qq({"method":"org.vnicd.$calls[$i]","parameters":$what}\0);
				while (index($reply, "\0") < 0) { sysread $s, $reply, 65536, length $reply or die "no reply\n" }
				die "$reply\n" if $reply =~ /"error"/;
				push @took, 1000 * (time - $from) if !$i;
			}
		}
		printf "%.1f\n", (sort { $a <=> $b } @took)[$#took / 2];' "$VNICD_SOCKET" "$@"
}
flows_more_asked() {
	asked CreateFlow '{"name":"more","link":"flow1","attributes":[{"name":"transport","value":"udp"},{"name":"local_port","value":"9"}]}' \
		DeleteFlow '{"names":["more"]}'
}
flows_change_asked() { asked SetFlowprop '{"flow":"flow1-500","props":[{"name":"maxbw","value":"%dM"}]}'; }

flows_delete_again() {
	took flow delete-flow -l flow1
	flow -b "$VT_DIR/batch"
}

# Ten thousand, a thousand of them capped.
flows_thousands() {
	cap flow1 10G
	flows_ports flow1 $MANY 1000 >"$VT_DIR/batch"
	check 'batch s' "$(middle 3 flows_batch_again)" - 3
	check 'there' "$(flow show-flow -p -o flow | wc -l)" $MANY $MANY
	check 'one more ms' "$(flows_more_asked)" - 10
	check 'one changed ms' "$(flows_change_asked)" - 5
	# A process or two more, which the control starts as well.
	check 'by flowadm ms' "$(ms "$(middle 9 flows_one_more)") $(ms "$(middle 9 flows_one_changed)")" - -
	check 'all shown ms' "$(ms "$(middle 5 took flow show-flow)")" - 300
	check 'all counters ms' "$(ms "$(middle 5 took flow show-flow -s)")" - -
	check 'resident MiB' "$(rss)" - 48
	check 'all deleted s' "$(middle 3 flows_delete_again)" - 1
	flow delete-flow -l flow1
	check 'left' "$(in_ns f1 tc class show dev flow1 | wc -l)" - 2
	uncap flow1
}

# The same classes by tc, on a macvlan and an ifb in zone b: what a dry run says, for other devices. flows_hand_files
flows_hand_files() {
	local vi

	vi=vi$(in_ns f1 ip -j link show flow1 | jq -r '.[0].ifalias | split(":")[-1]')
	flow -b "$VT_DIR/batch" --dry-run | sed -nE "s/^tc (-n [^ ]+ )?//p" | grep -E '^(class|qdisc) ' |
		sed -E "s/ dev flow1 / dev hand0 /; s/ dev $vi / dev hand1 /" >"$VT_DIR/tc"
}
flows_hand_again() {
	local dev

	in_ns b ip link del hand0 2>/dev/null
	in_ns b ip link del hand1 2>/dev/null
	in_ns h ip link add link eth1 name hand0 netns "${VT}b" type macvlan mode bridge
	in_ns b ip link add hand1 numtxqueues 1 type ifb
	for dev in hand0 hand1; do
		in_ns b tc qdisc add dev $dev root handle 7fd0: htb default 1
		in_ns b tc class add dev $dev parent 7fd0: classid 7fd0:ffff htb rate 10gbit quantum 60000
		in_ns b tc class add dev $dev parent 7fd0:ffff classid 7fd0:1 htb rate 10gbit quantum 60000
		in_ns b ip link set $dev up
	done
	took in_ns b tc -force -batch "$VT_DIR/tc"
}

# Turn and turn about, and the middle one of each.
flows_all_capped() {
	local i

	cap flow1 10G
	flow delete-flow -l flow1
	flows_ports flow1 "$1" "$1" >"$VT_DIR/batch"
	flows_hand_files
	: >"$VT_DIR/ours"
	: >"$VT_DIR/hands"
	for i in 1 2 3; do
		flows_batch_again >>"$VT_DIR/ours"
		flows_hand_again >>"$VT_DIR/hands"
	done
	check 'classes' "$(in_ns f1 tc class show dev flow1 | grep -c 'htb 7fd0:')" "$(in_ns b tc class show dev hand0 | grep -c 'htb 7fd0:')" -
	check 'ours/tc' "$(ratio "$(sort -n "$VT_DIR/ours" | sed -n 2p)" "$(sort -n "$VT_DIR/hands" | sed -n 2p)")" - 1.2
	COST_NOTE="ours $(xargs <"$VT_DIR/ours") s, tc -batch $(xargs <"$VT_DIR/hands") s"
	check 'resident MiB' "$(rss)" - 48
	in_ns b ip link del hand0
	in_ns b ip link del hand1
	flow delete-flow -l flow1
	uncap flow1
}

# --- changes under load ---------------------------------------------------------------------------------------------

hundred_flow_changes() {
	local i

	for ((i = 0; i < 50; i++)); do
		flow set-flowprop -p maxbw=50M changing || return
		sleep 0.05
		flow set-flowprop -p maxbw=100M changing || return
		sleep 0.05
	done
}

# flows_changes DIRECTION: as changes, of a flow's cap in a link of 200M
flows_changes() {
	local silence

	cap vnic1 200M || return
	flow create-flow -l vnic1 transport=tcp -p maxbw=100M changing || return
	use wire "$1"
	SECS=4 stream_while true
	silence=$(tool_value "$VT_DIR/cap" gap_max_ms)
	SECS=23 stream_while hundred_flow_changes
	flow delete-flow changing
	check 'all under load' "$STILL" 1 -
	check 'worst 200 ms' "$(ratio "$(tool_value "$VT_DIR/cap" worst_window)" 100000000)" - 1.20
	check 'silence ms' "$(awk -v a="$(tool_value "$VT_DIR/cap" gap_max_ms)" -v b="$silence" 'BEGIN { print a - b }')" - 300
}
flows_control_stream() {
	flow delete-flow -l vnic1
	control_stream wire "$1"
}

group_flows() {
	flows_world || return
	FLOOR=1 COST_NOTE=
	flows_costs
}

group_flowbatch() {
	flows_world || return
	FLOOR=10 COST_NOTE=
	row '10,000 flows, 1,000 capped' flows_control flows_thousands
	row '10,000 flows, all capped' flows_control flows_all_capped $MANY
	printf '  %s\n' "$COST_NOTE"
}

group_flowchange() {
	local dir

	FLOOR=150000000
	for dir in tx rx; do row "flow's 100 changes $dir" flows_control_stream flows_changes $dir; done
}
