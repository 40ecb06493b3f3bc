#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# show-link -s -i while it runs: signals, closed pipes, terminals, a daemon that restarts, a full disk. TAP.

B=${B:-build}
vnicadm=${VNICADM:-$B/vnicadm/vnicadm}
fakevnicd=${FAKEVNICD:-$B/tests/tools/fakevnicd}
tmp=$(mktemp -d "${TMPDIR:-/tmp}/vnicadm.XXXXXX") || exit 1
export VNICD_SOCKET=$tmp/s LC_ALL=C.UTF-8
server=
number=0

cleanup() {
	[ -z "$server" ] || kill "$server" 2>/dev/null
	rm -rf "$tmp"
}
trap cleanup EXIT
trap 'exit 1' INT TERM

for program in "$vnicadm" "$fakevnicd"; do
	[ -x "$program" ] || {
		echo "Bail out! no $program: build it first"
		exit 1
	}
done

# result TITLE: a test line for the status of the command before it
result() {
	local verdict=$?

	number=$((number + 1))
	[ $verdict = 0 ] || printf 'not '
	echo "ok $number - $1"
}

wait_for() {
	for ((i = 0; i < 500; i++)); do
		"$@" 2>/dev/null && return 0
		sleep 0.01
	done
	return 1
}

serve() {
	"$fakevnicd" "$tmp/s" "$tmp/script" "$tmp/requests" &
	server=$!
	wait_for test -S "$tmp/s"
}

# What an earlier command wrote must not be taken for the next one's.
unserve() {
	rm -f "$tmp/out" "$tmp/err"
	kill "$server" 2>/dev/null
	wait "$server" 2>/dev/null
	server=
	rm -f "$tmp/s"
}

# blocks N MS: a script of N blocks of one link, MS apart, that never ends by itself
blocks() {
	for ((b = 0; b < $1; b++)); do
		printf 'ShowStats {"continues":true,"parameters":{"stats":[{"link":"eth0","time":%d000000000,' $((b + 1))
		printf '"ipackets":%d,"rbytes":0,"ierrors":0,"idrops":0,' $((b * 10))
		printf '"opackets":0,"obytes":0,"oerrors":0,"odrops":0}]}}\n'
		echo "ShowStats !sleep $2"
	done >"$tmp/script"
	echo 'ShowStats !sleep 20000' >>"$tmp/script"
}

for signal in INT TERM; do
	blocks 2 1
	serve
	# Behind env: a shell without job control starts background commands with SIGINT ignored.
	env --default-signal=INT "$vnicadm" show-link -s -i 1 -o link,ipackets >"$tmp/out" 2>"$tmp/err" &
	pid=$!
	wait_for grep -q 'eth0 .* 10$' "$tmp/out"
	result "rows are flushed as they come ($signal)"
	kill -$signal $pid
	wait $pid
	result "SIG$signal ends it with status 0"
	[ ! -s "$tmp/err" ]
	result "SIG$signal: nothing on standard error"
	unserve
done

blocks 30 100
serve
{
	"$vnicadm" show-link -s -i 1 2>"$tmp/err"
	echo $? >"$tmp/status"
} | head -n 1 >/dev/null
wait_for test -s "$tmp/status"
[ "$(cat "$tmp/status")" = 0 ] && [ ! -s "$tmp/err" ]
result "a closed pipe ends it with status 0, silently"
unserve

blocks 1 1
serve
"$vnicadm" show-link -s >/dev/full 2>"$tmp/err"
[ $? = 2 ] && grep -qx 'vnicadm: cannot write: No space left on device' "$tmp/err"
result "counters that cannot be written: status 2"
unserve

echo 'ShowVnic {"parameters":{"vnics":[{"link":"vnic1"}]}}' >"$tmp/script"
serve
"$vnicadm" show-vnic >/dev/full 2>"$tmp/err"
[ $? = 2 ] && grep -qx 'vnicadm: cannot write: No space left on device' "$tmp/err"
result "a table that cannot be written: status 2"
unserve

"$vnicadm" help >/dev/full 2>"$tmp/err"
[ $? = 2 ] && grep -qx 'vnicadm: cannot write: No space left on device' "$tmp/err"
result "help that cannot be written: status 2"

blocks 6 1
serve
timeout 20 script -qefc "stty rows 4; '$vnicadm' show-link -s -i 1 6 -o link,ipackets" "$tmp/typescript" \
	>/dev/null 2>&1 </dev/null &
pid=$!
wait_for grep -q 'eth0 .* 10' "$tmp/typescript"
sleep 0.5
[ "$(grep -c eth0 "$tmp/typescript")" = 6 ] && [ "$(grep -c '^LINK' "$tmp/typescript")" = 3 ]
result "on a terminal of 4 rows: a header for every 2 rows"
kill $pid 2>/dev/null
wait $pid 2>/dev/null
unserve

blocks 1 1
echo 'ShowStats !exit' >"$tmp/script.end"
sed -i '/20000/d' "$tmp/script"
cat "$tmp/script.end" >>"$tmp/script"
serve
timeout 20 "$vnicadm" show-link -s -i 1 2 -o link,ipackets >"$tmp/out" 2>"$tmp/err" &
pid=$!
wait_for grep -q eth0 "$tmp/out"
wait "$server"
sleep 1
printf 'ShowStats {"parameters":{"stats":[{"link":"eth0","time":9000000000,"ipackets":7}]}}\n' >"$tmp/script"
serve
wait $pid && [ "$(grep -c eth0 "$tmp/out")" = 2 ] && [ ! -s "$tmp/err" ] &&
	tail -n 1 "$tmp/requests" | grep -q '"count":1}'
result "a daemon that is away for a second is waited for"
unserve

echo "1..$number"
