# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash
# A random workload whose daemon is killed at random moments, and a model of what must be there afterwards: what was
# acknowledged is, what was refused is not, and what nobody heard of is wholly there or not at all. Used by soak.bats and
# `make soak`. The choices come from $SEED alone; when the daemon is killed does not.

CAPS=('' 10M 100M 1G blocked 3M)
ZONES=('' z1 z2)
FLOWCAPS=('' 20M 2M blocked)
# By name: "over cap zone" of VNICs, "-" of etherstubs, "flow vnic cap" of flows; and the same after the command under
# way.
declare -gA NOW NEXT

pick() { printf -v "$1" '%s' "${@:$((2 + RANDOM % ($# - 1))):1}"; }
copy() {
	local name

	NEXT=()
	for name in "${!NOW[@]}"; do NEXT[$name]=${NOW[$name]}; done
}
accept() {
	local name

	NOW=()
	for name in "${!NEXT[@]}"; do NOW[$name]=${NEXT[$name]}; done
}
# some vnic|stub|flow NAME-OF-VARIABLE: one that is there
some() {
	local _all=() _name

	for _name in "${!NEXT[@]}"; do
		case $1,${NEXT[$_name]} in
		stub,- | flow,flow\ *) _all+=("$_name") ;;
		*,- | *,flow\ *) ;;
		vnic,*) _all+=("$_name") ;;
		esac
	done
	((${#_all[@]} > 0)) && pick "$2" "${_all[@]}"
}
users_of() {
	local name

	for name in "${!NEXT[@]}"; do [[ ${NEXT[$name]} == "$1 "* ]] && echo "$name"; done
}

# --- what may be done: each prints a command line and changes NEXT, or fails when it is not possible now ---------------

do_create() {
	local name=v$((RANDOM % 8)) over=eth0 cap zone props=()

	[[ -z ${NEXT[$name]:-} ]] || return 1
	((RANDOM % 3)) || some stub over || over=eth0
	pick cap "${CAPS[@]}"
	pick zone "${ZONES[@]}"
	[[ -z $cap ]] || props+=("maxbw=$cap")
	[[ -z $zone ]] || props+=("zone=$VT$zone")
	NEXT[$name]="$over ${cap:--} ${zone:--}"
	COMMAND="create-vnic -l $over${props[*]:+ -p $(IFS=, && echo "${props[*]}")} $name"
}
change() { # NAME FIELD VALUE
	local fields

	read -ra fields <<<"${NEXT[$1]}"
	fields[$2]=$3
	NEXT[$1]=${fields[*]}
}
do_cap() {
	local name cap

	some vnic name && pick cap "${CAPS[@]:1}" && change "$name" 1 "$cap" && COMMAND="set-linkprop -p maxbw=$cap $name"
}
do_uncap() {
	local name

	some vnic name && change "$name" 1 - && COMMAND="reset-linkprop -p maxbw $name"
}
do_move() {
	local name zone

	some vnic name && pick zone "${ZONES[@]:1}" && change "$name" 2 "$zone" && COMMAND="set-linkprop -p zone=$VT$zone $name"
}
do_home() {
	local name

	some vnic name && change "$name" 2 - && COMMAND="reset-linkprop -p zone $name"
}
flows_of() {
	local name

	for name in "${!NEXT[@]}"; do [[ ${NEXT[$name]} == "flow $1 "* ]] && echo "$name"; done
}
do_delete() {
	local name flow

	some vnic name && unset "NEXT[$name]" && COMMAND="delete-vnic $name" || return
	for flow in $(flows_of "$name"); do unset "NEXT[$flow]"; done
}
do_stub() {
	local name=s$((RANDOM % 2))

	[[ -z ${NEXT[$name]:-} ]] && NEXT[$name]=- && COMMAND="create-etherstub $name"
}
do_unstub() {
	local name

	some stub name && [[ -z $(users_of "$name") ]] && unset "NEXT[$name]" && COMMAND="delete-etherstub $name"
}
do_rename() {
	local name new=v$((RANDOM % 8)) flow

	some vnic name && [[ -z ${NEXT[$new]:-} ]] && NEXT[$new]=${NEXT[$name]} && unset "NEXT[$name]" &&
		COMMAND="rename-link $name $new" || return
	for flow in $(flows_of "$name"); do change "$flow" 1 "$new"; done
}
do_flow() {
	local number=$((RANDOM % 6)) link cap

	[[ -z ${NEXT[f$number]:-} ]] && some vnic link || return
	pick cap "${FLOWCAPS[@]}"
	NEXT[f$number]="flow $link ${cap:--}"
	COMMAND="create-flow -l $link transport=udp,local_port=$((100 + number))-$((900 + number))${cap:+ -p maxbw=$cap} f$number"
}
do_flowcap() {
	local name cap

	some flow name && pick cap "${FLOWCAPS[@]:1}" && change "$name" 2 "$cap" && COMMAND="set-flowprop -p maxbw=$cap,rank=$((1 + RANDOM % 9)) $name"
}
do_unflow() {
	local name

	some flow name && unset "NEXT[$name]" && COMMAND="delete-flow $name"
}

# The next command into the file that vnicadm or flowadm -b reads; in NEXT what it makes of the world.
next() {
	local count=1 verb verbs=(create create create cap cap uncap move home delete stub unstub rename)

	((RANDOM % 4)) || count=$((2 + RANDOM % 4))
	copy
	PROGRAM=adm
	if ((RANDOM % 3 == 0)) && some vnic verb; then
		PROGRAM=flow verbs=(flow flow flow flowcap unflow)
	fi
	: >"$VT_DIR/commands"
	while ((count > 0)); do
		pick verb "${verbs[@]}"
		"do_$verb" || continue
		echo "$COMMAND" >>"$VT_DIR/commands"
		count=$((count - 1))
	done
}
run_next() {
	if [[ $(wc -l <"$VT_DIR/commands") == 1 ]]; then
		# shellcheck disable=SC2046
		$PROGRAM $(<"$VT_DIR/commands")
	else
		$PROGRAM -b "$VT_DIR/commands"
	fi
}

# --- what there must be ------------------------------------------------------------------------------------------------

# expected ARRAY: as vnics_now tells it
expected() {
	local -n world=$1
	local name over cap zone

	for name in "${!world[@]}"; do
		read -r over cap zone <<<"${world[$name]}"
		if [[ $over == flow ]]; then
			[[ $zone == blocked || $zone == - ]] || zone=max=$zone
			echo "flow $name $cap ${zone/#-/--}"
			continue
		fi
		case $cap in
		'' | -) ;;
		blocked) ;;
		*) cap=max=$cap ;;
		esac
		[[ $over == - ]] && echo "stub $name" || echo "$name $over ${cap/#-/--} ${zone/#-/--}"
	done | sort
}
world_now() {
	{
		adm show-vnic -o link,over,bandwidth,zone | tail -n +2 | sed "s/ $VT/ /; s/ *$//" | tr -s ' '
		adm show-etherstub | tail -n +2 | sed 's/^/stub /; s/ *$//'
		flow show-flow -o flow,link,bandwidth | tail -n +2 | sed 's/^/flow /; s/ *$//' | tr -s ' '
	} | sort
}

# How many VNICs of the model have a tree for what comes in, and how many have programs
needs() {
	expected NOW | awk '/^flow / { flows[$3] = 1; if ($4 ~ /^max=/) classes[$3] = 1; next } !/^stub / { cap[$1] = $3 }
		END { for (n in cap) {
			trees += cap[n] ~ /^max=/ || (classes[n] && cap[n] != "blocked")
			programs += cap[n] != "--" || flows[n]
		} print trees + 0, programs + 0 }'
}

# Nothing in the kernel or the store but what belongs to the model, and all of that: a restart changes nothing. Called
# where a failing command does not end the test: each says so itself.
whole() {
	local want have trees programs

	stop TERM
	: >"$VT_DIR/log"
	start
	grep -qE 'adopted [0-9]+ links with 0 modifying acts' "$VT_DIR/log" ||
		complain "not whole:" "$(cat "$VT_DIR/log")" || return
	want=$(expected NOW | grep -vc '^flow ') || true
	have=$(ours)
	[[ $have == "$want" ]] || complain "links of ours: $have, wanted: $want" || return
	read -r trees programs <<<"$(needs)"
	have=$(steered | wc -l)
	[[ $have == "$trees" ]] || complain "steered: $have, wanted: $trees" || return
	have=$(in_ns h ip -o link show type ifb | wc -l)
	[[ $have == "$trees" ]] || complain "ifbs: $have, wanted: $trees" || return
	have=$(pins | grep -c 'pin vnic-[0-9]*$') || true
	[[ $have == "$programs" ]] || complain "programs of: $have, wanted: $programs" || return
	[[ $(sqlite3 "$VT_DIR/state/state.db" 'SELECT count(*) FROM intent') == 0 ]] || complain 'an intent is left'
}
ours() {
	local zone

	for zone in h z1 z2; do in_ns "$zone" ip -d -o link show; done | grep 'alias vnicd:' | grep -vcE ': vi[0-9]+:' || true
}

# One command, killed at some moment (kill) or not; then the model and the world are compared.
step() {
	local status=0 now

	next
	if [[ ${1:-} == kill ]]; then
		run_next >/dev/null 2>"$VT_DIR/stderr" 3>&- &
		sleep "0.$(printf '%03d' $((RANDOM % 80)))"
		kill -KILL "$(vt_daemon_pid)"
		wait $! || status=$?
		await_end
		start
	else
		run_next >/dev/null 2>"$VT_DIR/stderr" || status=$?
	fi
	[[ $status == 0 ]] && ENDS_DONE=$((ENDS_DONE + 1)) || ENDS_UNHEARD=$((ENDS_UNHEARD + (status == 2)))
	now=$(world_now)
	if [[ $now == "$(expected NEXT)" && $status != 1 ]]; then
		accept
	elif [[ $status == 0 ]]; then
		same "acknowledged" "$(expected NEXT)" "$now"
	else
		same "not acknowledged ($status: $(<"$VT_DIR/stderr"))" "$(expected NOW)" "$now"
	fi
}

# soak KILLS: with some commands between two kills
soak() {
	local kills=$1 i

	SEED=${SEED:-1}
	echo "SEED=$SEED" >"$VT_DIR/seed"
	RANDOM=$SEED
	ENDS_DONE=0 ENDS_UNHEARD=0
	NOW=()
	for ((; kills > 0; kills--)); do
		for ((i = RANDOM % 4; i > 0; i--)); do step || soak_failed; done
		step kill || soak_failed
		whole || soak_failed
	done
}
soak_failed() { complain "with SEED=$SEED, at:" "$(<"$VT_DIR/commands")"; }
