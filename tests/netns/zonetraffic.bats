#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# Caps of VNICs that move among zones under traffic, at the receiving end: in no second above the cap, and all of it over
# the run. The bench has fifty zones and the exact figures.

load common
# shellcheck source=tests/zones.sh
. "$BATS_TEST_DIRNAME/../zones.sh"

setup_file() {
	vt_begin
	vt_wire
	start A=
	zones_make 5 4
}
teardown_file() { vt_cleanup; }

got() { tool_value "$VT_DIR/zones.result" "$1"; }
steps() { grep -cx "$1" "$VT_DIR/zones.steps"; }

# run_steps STEP...: up to twice on a machine that others keep from its disk or links; then $QUIET is 0
run_steps() {
	local ZONE_OF=() HOME_OF=() step

	ZONES=5 LINKS=4
	for _ in 1 2; do
		QUIET=0
		zones_run 7 0.3 "$@"
		cat "$VT_DIR/zones.result" "$VT_DIR/zones.probe" >&2
		for step; do [[ $(steps "$step") -ge 1 ]] || complain "no step: $step"; done
		never_above
		if zones_quiet; then
			QUIET=1
			return
		fi
	done
}
# It needs no daemon in time: what we move is up when its cap stands, and what it receives is capped before it arrives.
never_above() { awk '/^[tr]x_worst_second/ { n++; if ($2 > 1.03 && !($1 ~ /^t/ && '"${OTHERS:-0}"')) bad = 1 } END { exit bad || n != 2 }' "$VT_DIR/zones.result"; }

# figures_are NAME LOW HIGH...
figures_are() {
	[[ -z ${SLOW_BUILD:-} ]] || skip "the sanitizers' build is too slow for rates"
	[[ $QUIET == 1 ]] || skip "not measurable here: $(tr '\n' ';' <"$VT_DIR/zones.probe")"
	: >"$VT_DIR/figures"
	while (($#)); do
		figure "$1" "$(got "$1")" "$2" "$3"
		shift 3
	done
	figures_hold || complain "name, figure, from, to:" "$(cat "$VT_DIR/figures")"
}

@test "moved by us, and their zones killed and made again: never above the cap from link-up, and the whole of it" {
	run_steps us us kill us
	figures_are tx_worst_second 0.9 1.02 rx_worst_second 0.9 1.02 tx_whole 0.85 1.01 rx_whole 0.85 1.01 uncapped_ms - 15
}

@test "moved by others: TX passes for 100 ms at most, RX never, and the whole of it" {
	OTHERS=1
	run_steps others down us
	(($(got moved_by_others) >= 2))
	figures_are tx_worst_second 0.9 1.02 rx_worst_second 0.9 1.02 tx_whole 0.85 1.06 rx_whole 0.85 1.01 uncapped_ms - 100
}
