#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Runs the cases of tests/golden/*.case: a command line and canned replies against exact output, as TAP.
#
# A case begins with "== TITLE"; then, by the first characters of a line:
#   $ ARGS          arguments of vnicadm, in flow*.case of flowadm, read by the shell (once)
#   - TEXT          a line of standard input
#   < METHOD REPLY  a line of fakevnicd's script; without any, no daemon runs
#   > REQUEST       what the daemon must have been asked, in order
#   | TEXT          a line of standard output
#   ! TEXT          a line of standard error; SOCKET stands for the socket's path
#   ? STATUS        exit status (0 when left out)
#   # ...           a comment
# B is the build directory, VNICADM, FLOWADM and FAKEVNICD override what is run.

here=$(dirname "$0")
B=${B:-build}
vnicadm=${VNICADM:-$B/vnicadm/vnicadm}
flowadm=${FLOWADM:-$B/flowadm/flowadm}
fakevnicd=${FAKEVNICD:-$B/tests/tools/fakevnicd}
tmp=$(mktemp -d "${TMPDIR:-/tmp}/vnicadm.XXXXXX") || exit 1
server=
number=0

cleanup() {
	[ -z "$server" ] || kill "$server" 2>/dev/null
	rm -rf "$tmp"
}
trap cleanup EXIT
trap 'exit 1' INT TERM

for program in "$vnicadm" "$flowadm" "$fakevnicd"; do
	[ -x "$program" ] || {
		echo "Bail out! no $program: build it first"
		exit 1
	}
done

start_server() {
	[ -s "$tmp/script" ] || return 0
	"$fakevnicd" "$tmp/s" "$tmp/script" "$tmp/requests" &
	server=$!
	for ((i = 0; i < 500; i++)); do
		[ -S "$tmp/s" ] && return 0
		sleep 0.01
	done
	echo "# fakevnicd does not come up"
}

stop_server() {
	[ -n "$server" ] || return 0
	kill "$server" 2>/dev/null
	wait "$server" 2>/dev/null
	server=
	rm -f "$tmp/s"
}

# differs WHAT: compares what was expected with what came, and shows the difference as TAP comments.
differs() {
	diff -u --label "expected $1" --label "actual $1" "$tmp/want.$1" "$tmp/$1" >"$tmp/diff" && return 1
	sed 's/^/# /' "$tmp/diff"
}

run_case() {
	local args status bad=0

	: >"$tmp/requests"
	start_server
	eval "args=($command)"
	timeout 60 env VNICD_SOCKET="$tmp/s" LC_ALL=C.UTF-8 "$program" "${args[@]}" \
		>"$tmp/stdout" 2>"$tmp/stderr.raw" <"$tmp/stdin"
	status=$?
	stop_server
	sed "s|$tmp/s|SOCKET|g" "$tmp/stderr.raw" >"$tmp/stderr"
	differs stdout && bad=1
	differs stderr && bad=1
	differs requests && bad=1
	if [ "$status" != "$want_status" ]; then
		echo "# status $status, expected $want_status"
		bad=1
	fi
	number=$((number + 1))
	if [ $bad = 0 ]; then echo "ok $number - $title"; else echo "not ok $number - $title"; fi
}

begin_case() {
	title=$1
	command=
	want_status=0
	: >"$tmp/script"
	: >"$tmp/stdin"
	: >"$tmp/want.stdout"
	: >"$tmp/want.stderr"
	: >"$tmp/want.requests"
}

read_line() {
	case $1 in
	'$' | '$ '*) command=${1:2} ;;
	'- '* | '-') printf '%s\n' "${1:2}" >>"$tmp/stdin" ;;
	'< '*) printf '%s\n' "${1#??}" >>"$tmp/script" ;;
	'> '*) printf '%s\n' "${1#??}" >>"$tmp/want.requests" ;;
	'| '* | '|') printf '%s\n' "${1:2}" >>"$tmp/want.stdout" ;;
	'! '*) printf '%s\n' "${1#??}" >>"$tmp/want.stderr" ;;
	'? '*) want_status=${1#??} ;;
	'' | '#'*) ;;
	*) echo "# $title: cannot read line: $1" ;;
	esac
}

for file in "$here"/*.case; do
	family=$(basename "$file" .case)
	case $family in flow*) program=$flowadm ;; *) program=$vnicadm ;; esac
	title=
	while IFS= read -r line; do
		if [[ $line != '== '* ]]; then
			read_line "$line"
			continue
		fi
		[ -z "$title" ] || run_case
		begin_case "$family: ${line#== }"
	done <"$file"
	[ -z "$title" ] || run_case
done
echo "1..$number"
