/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Judges parents. Changes nothing. */
#include "vnicd/parent.h"

#include <errno.h>
#include <linux/ethtool.h>
#include <linux/if_arp.h>
#include <linux/sockios.h>
#include <linux/wireless.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

/* One ioctl by interface name; false when it fails. */
static bool ask(unsigned long request, void *ifreq)
{
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	bool ok = fd >= 0 && ioctl(fd, request, ifreq) == 0;

	if (fd >= 0)
		close(fd);
	return ok;
}

static bool is_wireless(const char *name)
{
	struct iwreq req = {0};

	snprintf(req.ifr_name, sizeof(req.ifr_name), "%s", name);
	return ask(SIOCGIWNAME, &req);
}

const char *parent_driver(const char *name, char buf[32])
{
	struct ethtool_drvinfo info = {.cmd = ETHTOOL_GDRVINFO};
	struct ifreq req = {.ifr_data = (void *)&info};

	snprintf(req.ifr_name, sizeof(req.ifr_name), "%s", name);
	if (!ask(SIOCETHTOOL, &req))
		info.driver[0] = '\0';
	memcpy(buf, info.driver, 32);
	buf[31] = '\0';
	return buf;
}

const char *parent_driver_warning(const char *driver)
{
	static const struct {
		const char *driver, *warning;
	} rows[] = {
		{"virtio_net",
		 "a virtual machine's card: many hypervisors and clouds drop frames with MAC addresses "
		 "they did not give out (allow MAC spoofing or promiscuous mode there)"},
		{"vmxnet3",
		 "a VMware card: frames with other MAC addresses need 'forged transmits' and promiscuous "
		 "mode on its port group"},
		{"hv_netvsc",
		 "a Hyper-V card: frames with other MAC addresses need MAC address spoofing enabled on "
		 "the virtual machine's adapter"},
		{"vif", "a Xen card: the host may drop frames with MAC addresses it did not give out"},
		{"ena", "an Amazon cloud card: frames with MAC addresses it did not give out are dropped"},
		{"gve", "a Google cloud card: frames with MAC addresses it did not give out are dropped"},
		{"mana", "an Azure cloud card: frames with MAC addresses it did not give out are dropped"},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		if (!strcmp(rows[i].driver, driver))
			return rows[i].warning;
	return NULL;
}

/* Slaves carry their master's traffic: the master is the link to use. */
static int check_slave(const struct daemon *d, const struct sys_link *l, struct err *e)
{
	static const struct {
		const char *kind, *what;
	} rows[] = {{"bridge", "a port of"},
		    {"bond", "a slave of"},
		    {"team", "a port of"},
		    {"openvswitch", "a port of"}};
	const struct slink *master = slink_find(d, l->master);
	const char *name = master ? master->l.name : "another link";

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		if (!strcmp(l->slave_kind, rows[i].kind))
			return err_user(e, -EBUSY, NULL, "%s is %s %s: use -l %s", l->name, rows[i].what,
					name, name);
	return 0;
}

/* Kinds whose receive path is taken, or that are VNIC-like themselves. */
static int check_kind(const struct daemon *d, const struct sys_link *l, struct err *e)
{
	static const char *const refused[] = {"macvlan", "macvtap", "ipvlan", "ipvtap", "ifb"};
	const struct slink *lower = l->lower_foreign ? NULL : slink_find(d, l->lower);

	for (size_t i = 0; i < sizeof(refused) / sizeof(*refused); i++) {
		if (strcmp(l->kind, refused[i]) != 0)
			continue;
		if (lower)
			return err_user(e, -EOPNOTSUPP, l->name,
					"a VNIC over %s %s is not possible: use -l %s",
					l->kind[0] == 'i' ? "an" : "a", l->kind, lower->l.name);
		return err_user(e, -EOPNOTSUPP, l->name,
				"a VNIC over a link of kind %s is not possible: see 'vnicadm show-phys'",
				l->kind);
	}
	return 0;
}

int parent_check(const struct daemon *d, const struct sys_link *l, struct err *e)
{
	char over[IFNAMSIZ];
	enum link_class class;
	struct vlink *v = vlink_of_sys(d, l, &class);
	int r;

	if (v && class == CLASS_VNIC)
		return err_user(e, -EOPNOTSUPP, l->name, "a VNIC over a VNIC is not possible: use -l %s",
				vlink_over(d, v, over));
	if (v && class == CLASS_ETHERSTUB)
		return 0;
	if (l->flags & IFF_LOOPBACK)
		return err_user(e, -EOPNOTSUPP, l->name,
				"the loopback link carries no Ethernet frames: see 'vnicadm show-phys'");
	if (l->type != ARPHRD_ETHER)
		return err_user(e, -EOPNOTSUPP, l->name,
				"not an Ethernet link, as VNICs need: see 'vnicadm show-phys'");
	r = check_slave(d, l, e);
	if (r == 0)
		r = check_kind(d, l, e);
	if (r == 0 && is_wireless(l->name))
		r = err_user(
			e, -EOPNOTSUPP, l->name,
			"a Wi-Fi link takes one MAC address only: make VNICs over an etherstub, and route");
	return r;
}
