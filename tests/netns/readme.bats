#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# README.md as somebody follows it: every command of the tour is run as typed, on a host with eth0 at whose wire's other
# end is a router with DHCP, and prints what is shown. Namespaces, processes and mounts are private to that host.

cd "$BATS_TEST_DIRNAME/../.." || exit

# The machine of the tour, in namespaces of its own (mount, pid, net): runs the script $1 in it.
tour_host() {
	local top=$PWD build=${BUILD:-build}

	[[ $build == /* ]] || build=$top/$build
	unshare --mount --net --pid --fork --kill-child --mount-proc --propagation private -- \
		bash tests/netns/readme-host.bash "$build" "$1" 3>&-
}

# Fields that differ from run to run, and the width of a column: the same in what is shown and in what is printed.
plain() {
	sed -E 's/([0-9a-f]{2}:){5}[0-9a-f]{2}/MAC/g; s/ +$//; s/  +/ /g'
}

setup_file() {
	export TOUR=$BATS_FILE_TMPDIR

	# Commands and what they print, numbered: N.cmd, N.want.
	awk -v dir="$TOUR" '
		/^```console$/ { tour = 1; next }
		/^```$/ { tour = 0; next }
		tour && /^# / { n++; print substr($0, 3) >(dir "/" n ".cmd"); next }
		tour { print >(dir "/" n ".want") }
		END { print n >(dir "/count") }' README.md
	tour_host "$TOUR" >"$TOUR/log" 2>&1
}

@test "there is a tour, and its host was there" {
	cat "$TOUR/log"
	[ "$(cat "$TOUR/count")" -gt 20 ]
	[ -e "$TOUR/1.status" ]
}

@test "every command of the tour does what it should" {
	local n status=0

	for ((n = 1; n <= $(cat "$TOUR/count"); n++)); do
		# What is shown to be refused is.
		if grep -qs '^\(vnicadm\|flowadm\): ' "$TOUR/$n.want"; then
			[ "$(cat "$TOUR/$n.status")" = 1 ] && continue
		elif [ "$(cat "$TOUR/$n.status")" = 0 ]; then
			continue
		fi
		printf '%s\n' "$(cat "$TOUR/$n.cmd"): status $(cat "$TOUR/$n.status")" "$(cat "$TOUR/$n.got")"
		status=1
	done
	return $status
}

@test "every command of the tour prints what is shown" {
	local n status=0

	for ((n = 1; n <= $(cat "$TOUR/count"); n++)); do
		grep -qsx '\.\.\.' "$TOUR/$n.want" && continue
		touch "$TOUR/$n.want"
		diff -u --label "README.md: $(cat "$TOUR/$n.cmd")" --label printed \
			<(plain <"$TOUR/$n.want") <(plain <"$TOUR/$n.got") || status=1
	done
	return $status
}

@test "the zone's VNIC got its address by DHCP" {
	grep -q 'inet 192.0.2.100/24' "$TOUR/addresses"
}

@test "the make targets that are named are there" {
	local target

	for target in $(grep -oE '\bmake [a-z]+' README.md HACKING.md | cut -d' ' -f2 | sort -u); do
		grep -qE "^([a-z-]+ )*$target( [a-z-]+)*:" Makefile || {
			echo "make $target"
			return 1
		}
	done
}

@test "the files that are linked are there" {
	local file

	for file in $(grep -ohE '\]\([^)]+\)' README.md HACKING.md | tr -d '])(' | grep -v '^http'); do
		[ -e "$file" ] || {
			echo "$file"
			return 1
		}
	done
}
