# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash
# VNICs with caps that move among zones under traffic, by us and by others, while zones die and come back: for the bench
# and its test. Knows no expectation; sourced after tests/lib.sh.

ZONES_CAP=10M

# zones_make ZONES LINKS: zones z1.., in them VNICs zv1.. with a cap
zones_make() {
	local i

	ZONES=$1 LINKS=$2
	for ((i = 1; i <= ZONES; i++)); do vt_zone "z$i" || return; done
	zones_links | adm -b -
}
# ZONE_OF: where it is; HOME_OF: where its zone property says
zones_links() {
	local i

	for ((i = 1; i <= LINKS; i++)); do
		printf 'create-vnic -l eth0 -m 2:8:20:0:1:%x -p maxbw=%s,zone=%sz%d zv%d\n' \
			"$i" "$ZONES_CAP" "$VT" $(((i - 1) % ZONES + 1)) "$i"
	done
}

zones_tell() { echo "$@" >&"$ZONES_FIFO"; }

# Any zone but this one: its number in $ZONE
zones_other() {
	ZONE=$1
	while [[ $ZONE == "$1" ]]; do ZONE=$((RANDOM % ZONES + 1)); done
}

zones_move_by_us() {
	local link=$((RANDOM % LINKS + 1))

	zones_other "${ZONE_OF[link]}"
	adm set-linkprop -p "zone=${VT}z$ZONE" "zv$link" || return
	ZONE_OF[link]=$ZONE HOME_OF[link]=$ZONE
}

# zones_move_by_others [up]: up at once, or only afterwards
zones_move_by_others() {
	local link=$((RANDOM % LINKS + 1))

	zones_other "${ZONE_OF[link]}"
	# On a busy machine it is not back yet.
	vt_until 50 in_ns "z${ZONE_OF[link]}" ip link show "zv$link" || return
	zones_tell foreign "$link"
	# shellcheck disable=SC2086 # a word or none
	in_ns "z${ZONE_OF[link]}" ip link set "zv$link" netns "${VT}z$ZONE" ${1:-} || return
	[[ -n ${1:-} ]] || in_ns "z$ZONE" ip link set "zv$link" up || return
	zones_tell moved "$link"
	ZONE_OF[link]=$ZONE
}

# A zone dies with the VNICs in it, and comes back, and so do they.
zones_kill() {
	local i gone=()

	zones_other 0
	for ((i = 1; i <= LINKS; i++)); do
		[[ ${ZONE_OF[i]} == "$ZONE" ]] || continue
		# What others moved there would be made again where it belongs.
		[[ ${HOME_OF[i]} == "$ZONE" ]] || return 0
		gone+=("$i")
	done
	for i in "${gone[@]}"; do zones_tell away "$i"; done
	zones_tell close "$ZONE"
	sleep 0.1
	vt_zone_del "z$ZONE" || return
	sleep 0.3
	vt_zone "z$ZONE" || return
	for i in "${gone[@]}"; do zones_tell back "$i"; done
	zones_tell open "$ZONE"
}

zones_step() {
	echo "$1" >>"$VT_DIR/zones.steps"
	case $1 in
	us) zones_move_by_us ;;
	others) zones_move_by_others up ;;
	down) zones_move_by_others ;;
	kill) zones_kill ;;
	esac
}

# How long others kept the disk and the kernel's lock of links: then everything that needs them waits, the daemon too.
# shellcheck disable=SC2016 # perl's
zones_probe() {
	vt_bg in_ns_to "$VT_DIR/zones.probe" h perl -MTime::HiRes=time,sleep -MIO::Handle -MSocket -e '
		my ($file, %most) = shift;
		my $end = 0;
		$SIG{TERM} = sub { $end = 1 };
		socket(my $s, PF_INET, SOCK_DGRAM, 0) or die;
		open(my $f, ">", $file) or die;
		sub took { my ($what, $do) = @_; my $t = time; $do->(); $t = time - $t; $most{$what} = $t if $t > ($most{$what} // 0) }
		until ($end) {
			took("nap_ms", sub { sleep 0.05 });
			took("disk_ms", sub { syswrite($f, "x"); $f->sync });
			took("lock_ms", sub { ioctl($s, 0x8914, my $up = pack("a16 s x22", "lo", 1)) or die });
		}
		printf "%s %.1f\n", $_, $most{$_} * 1000 for sort keys %most;
	' "$VT_DIR/state/probe"
	ZONES_PROBE=$VT_PID
}
# True when it was a quiet machine
zones_quiet() {
	awk '{ most[$1] = $2 } END { exit !(NR == 3 && most["disk_ms"] <= 50 && most["lock_ms"] <= 150 && most["nap_ms"] <= 80) }' \
		"$VT_DIR/zones.probe"
}

# zones_run SECONDS PAUSE STEP...: the steps over and over, for so long; what arrived is in $VT_DIR/zones.result
zones_run() {
	local end meter pause=$2 step i failed=0

	for ((i = 1; i <= LINKS; i++)); do
		ZONE_OF[i]=$(adm show-vnic -j -o zone "zv$i" | jq -r --arg z "${VT}z" '.[0].zone | ltrimstr($z)')
		HOME_OF[i]=${ZONE_OF[i]}
	done
	rm -f "$VT_DIR/zones.fifo" "$VT_DIR/zones.steps"
	mkfifo "$VT_DIR/zones.fifo"
	zones_probe
	# shellcheck disable=SC2016 # sh's
	vt_bg in_ns_to "$VT_DIR/zones.result" h sh -c 'exec "$@" <"$0"' "$VT_DIR/zones.fifo" "$TOOLS/zonetraffic" --zones "${VT}z" --links zv \
		--zone-count "$ZONES" --link-count "$LINKS" --wire "${VT}p" --cap "$ZONES_CAP" --seconds "$1"
	meter=$VT_PID
	exec {ZONES_FIFO}>"$VT_DIR/zones.fifo"
	end=$((SECONDS + $1 - 1))
	shift 2
	while ((SECONDS < end && !failed)); do
		for step; do
			sleep "$pause"
			((SECONDS < end)) || break
			zones_step "$step" || { failed=1; break; }
		done
	done
	vt_until 50 vt_gone "$meter" || vt_stop "$meter" INT
	exec {ZONES_FIFO}>&-
	vt_stop "$ZONES_PROBE"
	return $failed
}
