#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck disable=SC2154 # bats sets output, stderr and status
# The completion of bash: what it offers at the end of a line, and that a bash on a terminal takes it.

load say.bash

setup_file() {
	vt_begin
	vt_wire
	vt_zone web
	vt_daemon
	adm create-etherstub stub0
	adm create-vnic -l eth0 -p maxbw=10M vnic1
	adm create-vnic -l stub0 vnic2
}
teardown_file() { vt_cleanup; }

setup() {
	# shellcheck source=vnicadm/vnicadm.bash
	. "$BATS_TEST_DIRNAME/../../vnicadm/vnicadm.bash"
}

# The words of a line as bash breaks them: at blanks, and at = and : as words of their own
break_line() {
	local line=$1

	COMP_WORDS=()
	while [[ $line =~ ^[[:blank:]]*([^[:blank:]=:]+|[=:]+)(.*)$ ]]; do
		COMP_WORDS+=("${BASH_REMATCH[1]}")
		line=${BASH_REMATCH[2]}
	done
	[[ $1 != *[[:blank:]] ]] || COMP_WORDS+=('')
	COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
}

# offers 'LINE' WORD...: just these words, in any order; of the program in $program
offers() {
	local COMP_LINE="vnicadm $1" COMP_WORDS COMP_CWORD COMPREPLY COMP_WORDBREAKS=$' \t\n"\'><=;|&(:'
	# shellcheck disable=SC2034 # for the completion
	local COMP_POINT=${#COMP_LINE}

	break_line "$COMP_LINE"
	_vnicadm "${program:-$VNICADM}"
	is "$(printf '%s\n' "${@:2}" | sort)" "$(printf '%s\n' "${COMPREPLY[@]}" | sort)" "$1"
}

# The verbs as the program's help lists them
verbs() { adm help | sed -n 's/^  \([a-z][a-z-]*\).*/\1/p'; }

@test "commands: all of them, those that begin so, none twice; also after help" {
	local all

	mapfile -t all < <(verbs)
	[ ${#all[@]} -ge 15 ]
	offers '' "${all[@]}"
	offers 'help ' "${all[@]}"
	offers 'create' create-vnic create-etherstub
	offers 'reset' reset reset-linkprop
	offers '--socket s show-v' show-vnic
	offers 'nosuch'
	offers 'nosuch '
}

@test "every option of every command, short and long, as its help has them" {
	local verb options

	while read -r verb; do
		[[ $verb != help ]] || continue
		mapfile -t options < <(adm help "$verb" | sed -n 's/^      \(--[a-z-]*\).*/\1/p; s/^  \(-[a-zA-Z]\), \(--[a-z-]*\).*/\1\n\2/p' | grep -vx -- -h)
		offers "$verb -" "${options[@]}"
	done < <(verbs)
	offers '-' -b -h --batch --socket --version --help
	offers 'show-vnic --o' --output
}

@test "an option that was given is not offered again, one that can be repeated is; one that is needed is" {
	offers 'show-vnic -l eth0 -j -o link --' --persistent --parsable --help
	offers 'show-vnic -jPolink --' --link --parsable --help
	offers 'set-linkprop -p maxbw=1M --p' --prop
	offers 'delete-vnic --dry-run --' --help
	offers 'create-vnic ' -l
	offers 'create-vnic -l eth0 '
	offers 'set-linkprop ' -p lo eth0 vnic1 vnic2 stub0
}

@test "fields after -o of every show command are those it prints, and not what is there already" {
	local show names

	for show in show-link 'show-link -s' show-phys show-vnic show-etherstub show-linkprop; do
		# shellcheck disable=SC2086 # words
		names=$(adm $show -o nosuchfield 2>&1 | sed -n 's/.*all or some of \([a-z_,]*\).*/\1/p')
		[[ $show != show-vnic ]] || names+=,macaddress,macaddrtype
		[[ $show != show-link ]] || names+=,macaddress
		mapfile -t names < <(tr ',' '\n' <<<"$names")
		offers "$show -o " "${names[@]}" all
		offers "$show --output=" "${names[@]}" all
	done
	offers 'show-link -o link,cl' link,class
	offers 'show-link -o class,l' class,link
	offers 'show-link -o link,l'
	offers 'show-linkprop -c -o link,p' link,property link,perm link,possible
}

@test "links, by what the command takes" {
	offers 'show-link ' lo eth0 vnic1 vnic2 stub0
	offers 'show-link -s -i 1 v' vnic1 vnic2
	offers 'show-phys ' eth0
	offers 'show-vnic ' vnic1 vnic2
	offers 'show-vnic vnic1 '
	offers 'delete-vnic vnic1 ' vnic2
	offers 'delete-etherstub ' stub0
	offers 'create-vnic -l ' eth0 stub0
	offers 'create-vnic --link=e' eth0
	offers 'show-vnic -l s' stub0
	offers 'rename-link ' vnic1 vnic2 stub0
	offers 'rename-link vnic1 '
	offers 'reapply s' stub0
	offers 'reset-linkprop -p maxbw v' vnic1 vnic2
}

@test "properties with their values, zones by name" {
	offers 'create-vnic -p ' maxbw= maxbw-rx= maxbw-tx= mtu= zone= isolate=
	offers 'create-etherstub -p ' mtu=
	offers 'set-linkprop -p maxbw' maxbw= maxbw-rx= maxbw-tx=
	offers 'set-linkprop -p maxbw=' none blocked
	offers 'set-linkprop -p maxbw=b' blocked
	offers 'set-linkprop --prop=isolate=o' on off
	offers 'set-linkprop -p maxbw=none,m' none,maxbw-rx= none,maxbw-tx= none,mtu=
	offers 'set-linkprop -p mtu=1400,isolate=of' off
	offers "create-vnic -l eth0 -p zone=${VT}w" "${VT}web"
	offers 'reset-linkprop -p mtu,z' mtu,zone
	offers 'show-linkprop -p maxbw,maxbw' maxbw,maxbw-rx maxbw,maxbw-tx
	offers 'create-vnic -m ' auto random
	offers 'create-vnic -m 02:08:'
}

@test "the names of files, where a file is meant" {
	cd "$VT_DIR"
	touch batch.one batch.two
	offers '-b batch.' batch.one batch.two
	offers '--batch batch.o' batch.one
	offers '--batch batch.one ' --dry-run
}

@test "without vnicd: no names, no message, the rest as before" {
	export VNICD_SOCKET=$VT_DIR/none

	offers 'show-vnic '
	offers 'show-v' show-vnic
	offers "--socket $VT_DIR/vnicd.sock show-vnic " vnic1 vnic2
	run --separate-stderr "$VNICADM" complete show-vnic ''
	is 0 "$status" && is '' "$output$stderr"
}

@test "flowadm: commands, options, links, attributes and properties" {
	local program=$FLOWADM all

	mapfile -t all < <(flow help | sed -n 's/^  \([a-z][a-z-]*\).*/\1/p')
	[ ${#all[@]} = 8 ]
	offers '' "${all[@]}" add-flow remove-flow
	offers 'match-flow --o' --output
	offers 'create-flow -l v' vnic1 vnic2
	offers 'create-flow -l eth0 transport=s' sctp
	offers 'create-flow -l eth0 transport=tcp,local_' tcp,local_ip= tcp,local_port=
	offers 'create-flow -l eth0 local_ip=2001:db8::1,direction=o' out
	offers 'add-flow -l eth0 -a dscp=ef -p priority=' low medium high
}

# What a bash on a terminal runs when a line is typed with tabs: it is written to the file "ran".
typed() {
	local bin=$VT_DIR/bin name=${1%% *} program=$VNICADM

	[[ $name != flowadm ]] || program=$FLOWADM
	mkdir -p "$bin"
	printf '#!/bin/sh\n[ "$1" != complete ] || exec %s "$@"\necho "$*" >%s/ran\n' "$program" "$VT_DIR" >"$bin/$name"
	chmod +x "$bin/$name"
	rm -f "$VT_DIR/ran"
	printf '%s\n' "PATH=$bin:\$PATH" ". $PWD/$name/$name.bash" "$1" exit |
		timeout 30 script -qefc 'bash --norc --noprofile -i' /dev/null >"$VT_DIR/typescript" 2>&1
	cat "$VT_DIR/ran"
}

@test "on a terminal: tabs complete commands, options, links, properties and values" {
	cd "$BATS_TEST_DIRNAME/../.."
	is 'set-linkprop -p maxbw=blocked vnic1' "$(typed $'vnicadm set-l\t-p maxbw=bl\tvnic1')"
	is 'create-vnic --link eth0 -p maxbw=1M,isolate=on v1' "$(typed $'vnicadm create-v\t--lin\te\t-p maxbw=1M,iso\ton v1')"
	is 'show-vnic -o link,bandwidth' "$(typed $'vnicadm show-v\t-o link,ban\t')"
	is 'create-flow -l vnic1 transport=udp,direction=in -p priority=high f1' \
		"$(typed $'flowadm create-f\t-l vnic1 transport=udp,dir\tin -p pri\th\tf1')"
}
