#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Who may include whom, from the #include lines: layers point one way. Also what the top level may hold and what the
# programs may be linked with. TAP; B is the build directory. Runs from the top directory.

B=${B:-build}
number=0

# result TITLE TEXT: passes when TEXT is empty, else shows it
result() {
	number=$((number + 1))
	if [[ -z $2 ]]; then
		echo "ok $number - $1"
	else
		echo "not ok $number - $1"
		# shellcheck disable=SC2001
		sed 's/^/#   /' <<<"$2"
	fi
}

# Every #include of the sources as "FILE HEADER", without the quotes.
includes() {
	grep -rHE '^[[:space:]]*#[[:space:]]*include' --include='*.[ch]' lib vnicd vnicadm flowadm |
		sed -E 's/^([^:]*):[[:space:]]*#[[:space:]]*include[[:space:]]*/\1 /; s/["<>]//g'
}
all=$(includes)

# A layer and those it may see beside itself.
layers='
lib/base
lib/model lib/base
lib/ipc lib/base lib/model
lib/cli lib/base lib/model lib/ipc
lib/nl lib/base
lib/bpf lib/base lib/model
lib/kern lib/base lib/model lib/nl lib/bpf
vnicd lib/base lib/model lib/ipc lib/kern
vnicadm lib/base lib/model lib/ipc lib/cli
flowadm lib/base lib/model lib/ipc lib/cli
'
while read -r layer allowed; do
	[[ -d $layer ]] || continue
	result "$layer sees only itself${allowed:+, ${allowed// /, }}" "$(awk -v layer="$layer" -v allowed="$allowed" '
		BEGIN { n = split(allowed, may); may[n + 1] = layer }
		index($1, layer "/") == 1 && $2 ~ /^(lib|vnicd|vnicadm|flowadm)\// {
			for (i in may) if (index($2, may[i] "/") == 1) next
			print $1 " includes " $2
		}' <<<"$all")"
done < <(grep . <<<"$layers")

# Inside the daemon: who touches the kernel, and what is pure.
result 'only observe, apply and sampler of vnicd use lib/kern' "$(awk '
	$1 ~ /^vnicd\// && $2 ~ /^lib\/kern\// && $1 !~ /^vnicd\/(observe|apply|sampler)\.c$/ {
		print $1 " includes " $2
	}' <<<"$all")"

result 'plan, lane and poll of vnicd see lib/base and lib/model only' "$(awk '
	function stem(path) { sub(/.*\//, "", path); sub(/\.[ch]$/, "", path); return path }
	$1 ~ /^vnicd\/(plan|lane|poll)[a-z_]*\.[ch]$/ && $2 ~ /\// && $2 !~ /^lib\/(base|model)\// {
		if ($2 ~ /^vnicd\// && stem($2) ~ /^(plan|lane|poll)/) next
		print $1 " includes " $2
	}' <<<"$all")"

result 'plan, lane, poll, lib/base and lib/model open no file or socket and read no clock' "$(awk '
	$1 ~ /^(vnicd\/(plan|lane|poll)|lib\/base\/|lib\/model\/)/ &&
	$2 ~ /^(unistd|fcntl|time|poll|sys\/(socket|ioctl|stat|time|epoll|mman))\.h$/ { print $1 " includes " $2 }
	' <<<"$all")"

# A library is used in one place each.
libraries='
netlink/ lib/nl lib/kern
libmnl/ lib/nl lib/bpf
bpf/ lib/bpf
libsmartcols/ lib/cli
sqlite3.h vnicd/store
systemd/ vnicd
cap-ng.h vnicd/privilege
jansson.h lib/ipc lib/cli vnicd vnicadm flowadm
'
while read -r library places; do
	result "$library is used by ${places// /, } only" "$(awk -v library="$library" -v places="$places" '
		BEGIN { split(places, may) }
		index($2, library) == 1 {
			for (i in may) if (index($1, may[i]) == 1) next
			print $1 " includes " $2
		}' <<<"$all")"
done < <(grep . <<<"$libraries")

result 'every source starts with an SPDX line' "$(
	find Makefile .ci lib vnicd vnicadm flowadm tests man -type f ! -name '*.case' ! -name '*.varlink' -print0 |
		while IFS= read -r -d '' file; do
			head -n 3 "$file" | grep -q 'SPDX-License-Identifier: ' || echo "$file"
		done
)"

result 'the libraries of the commands are LGPL, the rest is GPL' "$(
	grep -rL 'SPDX-License-Identifier: LGPL-2.1-or-later' --include='*.[ch]' lib/base lib/model lib/ipc lib/cli
	grep -rL 'SPDX-License-Identifier: GPL-2.0-or-later' --include='*.[ch]' lib/nl lib/bpf lib/kern vnicd vnicadm flowadm
)"

# Names of a copy without a repository are looked at too; build directories are nobody's.
result 'the top level holds only what belongs there' "$(
	find . -mindepth 1 -maxdepth 1 ! -name 'build*' ! -name .git -printf '%f\n' |
		grep -vxE 'Makefile|README\.md|HACKING\.md|COPYING(\.LIB)?|lib|vnicd|vnicadm|flowadm|man|tests|debian|\.ci' |
		grep -vxE '\.(gitignore|gitattributes|clang-format|clang-tidy|editorconfig|shellcheckrc|mailmap)'
)"

for command in vnicadm flowadm; do
	if [[ ! -x $B/$command/$command ]]; then
		result "$command is linked with neither netlink nor eBPF nor SQLite" "no $B/$command/$command: build it first"
		continue
	fi
	result "$command is linked with neither netlink nor eBPF nor SQLite" "$(
		ldd "$B/$command/$command" | grep -E 'libnl|libmnl|libbpf|libsqlite|libsystemd|libcap'
	)"
done
echo "1..$number"
