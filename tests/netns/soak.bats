#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# kill -9 at random moments of a random workload. KILLS=N for more of them, SEED=N for the same choices again.

load common
. tests/soak.bash

setup() {
	vt_begin
	vt_wire
	vt_zone z1
	vt_zone z2
	start
}
teardown() { vt_cleanup; }

@test "killed at random: nothing acknowledged is missing, nothing is half there, nothing is left over" {
	soak "${KILLS:-25}"
	# Most commands were under way when the daemon was killed, and some were done.
	((ENDS_UNHEARD > 0 && ENDS_DONE > 0))
}
