# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash
# The host of README.md's tour: runs the commands DIR/N.cmd in order and leaves N.got and N.status beside them. Is
# started by readme.bats as process 1 of namespaces of its own, and everything goes with it.
#
# readme-host.bash BUILD DIR

build=$1 dir=$2
set -e

# The places that vnicd, ip and udhcpc use by default, private.
mkdir -p /run/netns /run/vnicd /var/lib/vnicd
for place in /run/netns /run/vnicd /var/lib/vnicd; do mount -t tmpfs tmpfs "$place"; done
mount -t sysfs sysfs /sys
mount -t bpf bpf /sys/fs/bpf
touch "$dir/resolv.conf"
[[ ! -e /etc/resolv.conf ]] || mount --bind "$dir/resolv.conf" /etc/resolv.conf
PATH=$build/vnicd:$build/vnicadm:$build/flowadm:$PATH
unset VNICD_SOCKET

ip link set lo up
ip netns add router
ip link add eth0 type veth peer name eth0 netns router
ip link set eth0 up
ip -n router link set lo up
ip -n router link set eth0 up
ip -n router addr add 192.0.2.1/24 dev eth0
cat >"$dir/udhcpd.conf" <<-END
	start 192.0.2.100
	end 192.0.2.100
	interface eth0
	option subnet 255.255.255.0
	lease_file $dir/leases
	pidfile $dir/udhcpd.pid
END
touch "$dir/leases"
ip netns exec router udhcpd -f "$dir/udhcpd.conf" &
modprobe -q ifb numifbs=0 2>/dev/null || true
vnicd &
for ((i = 0; i < 100; i++)); do
	[[ ! -S /run/vnicd/vnicd.sock ]] || break
	sleep 0.1
done

set +e
for ((n = 1; n <= $(<"$dir/count"); n++)); do
	bash -c "$(<"$dir/$n.cmd")" >"$dir/$n.got" 2>&1 </dev/null
	echo $? >"$dir/$n.status"
	# Before the tour's end takes it away.
	[[ $(<"$dir/$n.cmd") != *udhcpc* ]] || ip -n db addr show db0 >"$dir/addresses"
done
