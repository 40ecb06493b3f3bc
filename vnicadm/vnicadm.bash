# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash
# bash completion of vnicadm(8) and flowadm(8): puts the words together and asks the program, which knows the rest.

_vnicadm() {
	local rest=${COMP_LINE:0:COMP_POINT} words=() word blank typed status=0 i

	# bash also breaks words where there is no blank, at '=' and ':'.
	for ((i = 0; i <= COMP_CWORD; i++)); do
		blank=${rest%%[![:blank:]]*}
		rest=${rest#"$blank"}
		word=${COMP_WORDS[i]}
		((i < COMP_CWORD)) || word=$rest
		if [[ -n $blank || $i == 0 ]]; then words+=("$word"); else words[-1]+=$word; fi
		rest=${rest#"$word"}
	done
	mapfile -t COMPREPLY < <("$1" complete "${words[@]:1}" 2>/dev/null || status=$?; echo $status)
	status=${COMPREPLY[-1]}
	unset 'COMPREPLY[-1]'
	typed=${words[-1]}
	if [[ $status == 3 ]]; then
		mapfile -t COMPREPLY < <(compgen -f -- "$typed")
		compopt -o filenames 2>/dev/null || true
	elif [[ ${#COMPREPLY[@]} == 1 && ${COMPREPLY[0]} == *= ]]; then
		compopt -o nospace 2>/dev/null || true
	fi
	# What is before the last such break stays as it is.
	COMPREPLY=("${COMPREPLY[@]#"${typed%"${typed##*[$COMP_WORDBREAKS]}"}"}")
}

complete -F _vnicadm vnicadm flowadm
