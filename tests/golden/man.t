#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# vnicadm.8 against the tables: every verb, option, field and property is in it, and none that is not there. TAP.

here=$(dirname "$0")
top=$here/../..
page=$top/man/vnicadm.8
vnicadm=${VNICADM:-${B:-build}/vnicadm/vnicadm}
number=0

[ -x "$vnicadm" ] || {
	echo "Bail out! no $vnicadm: build it first"
	exit 1
}

# same TITLE WANT HAVE: two lists of words, one a line, in any order
same() {
	local verdict=ok diff

	diff=$(diff <(sort -u <<<"$2") <(sort -u <<<"$3")) || verdict="not ok"
	number=$((number + 1))
	echo "$verdict $number - $1"
	[ -z "$diff" ] || echo "# ${diff//$'\n'/$'\n# '}"
}

# section TITLE: the lines of a section or subsection of the page
section() {
	awk -v title="$1" '/^\.S[hs] /{on = substr($0, 5) == title} on' "$page"
}

verbs=$("$vnicadm" help | sed -n 's/^  \([a-z][a-z-]*\).*/\1/p')
same "verbs of the synopsis" "$verbs" "$(section SYNOPSIS | sed -n 's/^\.Cm \([a-z-]*\)$/\1/p')"
same "verbs that are described" "$verbs" "$(section Commands | sed -n 's/^\.It Cm \([a-z-]*\)$/\1/p')"

# Each option as "-x --long", from --help and from the page.
for verb in $verbs; do
	[ "$verb" = help ] && continue
	options+=$("$vnicadm" "$verb" --help | sed -n 's/^  \(-.\), \(--[a-z-]*\).*/\1 \2/p')$'\n'
done
same "options" "$(sed '/^$/d' <<<"$options")" \
	"$(sed -n 's/^.*Fl \([a-z]\) *, Fl Fl \([a-z-]*\).*/-\1 --\2/p' "$page")"

# The error for a field that does not exist names all that do.
for verb in show-link 'show-link -s' show-phys show-vnic show-etherstub show-linkprop; do
	# shellcheck disable=SC2086
	want=$("$vnicadm" $verb -o nosuch 2>&1 | sed 's/.*some of //' | tr 'a-z,' 'A-Z\n')
	have=$(section Output | awk -v verb=".It Cm ${verb/ -/ Fl }" '/^\.It/{on = $0 == verb}
		/^\.El/{on = 0} on && /^\.Li [A-Z]/{print}' | tr ' ' '\n' | grep -x '[A-Z_]*' |
		grep -vx 'MACADDR.*')
	same "fields of $verb" "$want" "$have"
done

props=$(sed -n 's/.*\.name = "\([a-z-]*\)".*/\1/p' "$top/lib/model/linkprop.c")
same "properties" "$props" \
	"$(section Properties | sed -n 's/^\.It Cm \([a-z].*\)/\1/p' | grep -vx 'none\|blocked' | sed 's/ , /\n/g')"

for heading in NAME SYNOPSIS DESCRIPTION ENVIRONMENT FILES "EXIT STATUS" EXAMPLES "SEE ALSO"; do
	headings+=$heading$'\n'
done
same "sections" "${headings%$'\n'}" "$(sed -n 's/^\.Sh //p' "$page" | grep -vx HISTORY)"

echo "1..$number"
