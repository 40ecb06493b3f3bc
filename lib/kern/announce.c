/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Tells a link's neighbours an address of its: the kernel itself says nothing of an IPv4 address that is
 * added, and of an IPv6 one only with ndisc_notify. Changes nothing.
 */
#include "lib/kern/real.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/if_packet.h>
#include <net/ethernet.h>
#include <net/if.h>
#include <net/if_arp.h>
#include <netinet/icmp6.h>
#include <netinet/if_ether.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* A gratuitous ARP request, RFC 5227 3: both protocol addresses are the link's own. */
static int send_arp(int ifindex, const struct kern_addr *a)
{
	struct sockaddr_ll to = {.sll_family = AF_PACKET,
				 .sll_protocol = htons(ETH_P_ARP),
				 .sll_ifindex = ifindex,
				 .sll_halen = ETH_ALEN};
	struct ether_arp arp = {.ea_hdr = {.ar_hrd = htons(ARPHRD_ETHER),
					   .ar_pro = htons(ETH_P_IP),
					   .ar_hln = ETH_ALEN,
					   .ar_pln = sizeof(struct in_addr),
					   .ar_op = htons(ARPOP_REQUEST)}};
	int fd = socket(AF_PACKET, SOCK_DGRAM | SOCK_CLOEXEC, 0), rc = 0;

	memset(to.sll_addr, 0xff, ETH_ALEN);
	memcpy(arp.arp_sha, a->mac.b, ETH_ALEN);
	memcpy(arp.arp_spa, a->bytes, sizeof(arp.arp_spa));
	memcpy(arp.arp_tpa, a->bytes, sizeof(arp.arp_tpa));
	if (fd < 0 || sendto(fd, &arp, sizeof(arp), 0, (struct sockaddr *)&to, sizeof(to)) < 0)
		rc = -errno;
	if (fd >= 0)
		close(fd);
	return rc;
}

static int set_up(int fd, int ifindex, const struct sockaddr_in6 *from)
{
	int hops = 255;

	if (bind(fd, (const struct sockaddr *)from, sizeof(*from)) < 0 ||
	    setsockopt(fd, IPPROTO_IPV6, IPV6_MULTICAST_IF, &ifindex, sizeof(ifindex)) < 0 ||
	    setsockopt(fd, IPPROTO_IPV6, IPV6_MULTICAST_HOPS, &hops, sizeof(hops)) < 0)
		return -errno;
	return 0;
}

/* An unsolicited neighbour advertisement to all nodes, RFC 4861 7.2.6: it overrides what they knew. */
static int send_na(int ifindex, const struct kern_addr *a)
{
	struct {
		struct nd_neighbor_advert na;
		struct nd_opt_hdr opt;
		struct mac mac;
	} __attribute__((packed)) msg = {
		.na =
			{
				.nd_na_hdr = {.icmp6_type = ND_NEIGHBOR_ADVERT},
			},
		.opt = {.nd_opt_type = ND_OPT_TARGET_LINKADDR, .nd_opt_len = 1},
		.mac = a->mac,
	};
	struct sockaddr_in6 from = {.sin6_family = AF_INET6, .sin6_scope_id = (uint32_t)ifindex};
	struct sockaddr_in6 to = {.sin6_family = AF_INET6, .sin6_scope_id = (uint32_t)ifindex};
	int fd = socket(AF_INET6, SOCK_RAW | SOCK_CLOEXEC, IPPROTO_ICMPV6), rc;

	if (fd < 0)
		return -errno;
	msg.na.nd_na_flags_reserved = ND_NA_FLAG_OVERRIDE;
	memcpy(&msg.na.nd_na_target, a->bytes, sizeof(msg.na.nd_na_target));
	memcpy(&from.sin6_addr, a->bytes, sizeof(from.sin6_addr));
	inet_pton(AF_INET6, "ff02::1", &to.sin6_addr);
	rc = set_up(fd, ifindex, &from);
	if (rc == 0 && sendto(fd, &msg, sizeof(msg), 0, (struct sockaddr *)&to, sizeof(to)) < 0)
		rc = -errno;
	close(fd);
	return rc;
}

int kern_real_announce(struct kernel *k, const char *zone, int ifindex, const struct kern_addr *a,
		       struct err *e)
{
	struct real *r = real_of(k);
	int rc = real_enter(r, zone, e);

	if (rc)
		return rc;
	rc = (a->family == AF_INET ? send_arp : send_na)(ifindex, a);
	real_leave(r, zone);
	return rc ? err_sys(e, rc, NULL, "cannot tell its neighbours: %s", strerror(-rc)) : 0;
}
