/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Two tables of words and the look-ups in them; never reads a file like /etc/protocols, which may differ. */
#include "lib/model/flowword.h"

#include "lib/base/nearest.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#define WORDS_MAX 16

#define TCP     6
#define UDP     17
#define DCCP    33
#define SCTP    132
#define UDPLITE 136

static const struct word transports[] = {
	{"tcp", TCP},   {"udp", UDP},   {"sctp", SCTP},       {"icmp", 1},
	{"icmpv6", 58}, {"dccp", DCCP}, {"udplite", UDPLITE}, {"icmp6", 58},
};
static const uint8_t with_ports[] = {TCP, UDP, DCCP, SCTP, UDPLITE};
static const struct word ethertypes[] = {
	{"ip", ETHERTYPE_IP4}, {"ip6", ETHERTYPE_IP6}, {"arp", 0x0806},         {"rarp", 0x8035},
	{"mpls", 0x8847},      {"pppoe", 0x8864},      {"eapol", 0x888e},       {"lldp", 0x88cc},
	{"macsec", 0x88e5},    {"ptp", 0x88f7},        {"ipv4", ETHERTYPE_IP4}, {"ipv6", ETHERTYPE_IP6},
};

#define COUNT(a) (sizeof(a) / sizeof(*(a)))
_Static_assert(COUNT(transports) <= WORDS_MAX && COUNT(ethertypes) <= WORDS_MAX, "too many words");

const struct words words_transport = {.row = transports, .count = COUNT(transports)};
const struct words words_ethertype = {.row = ethertypes, .count = COUNT(ethertypes)};

bool transport_has_ports(uint8_t transport)
{
	return memchr(with_ports, transport, sizeof(with_ports)) != NULL;
}

const struct word *word_named(const struct words *w, const char *name)
{
	for (size_t i = 0; i < w->count; i++)
		if (!strcasecmp(w->row[i].name, name))
			return &w->row[i];
	return NULL;
}

const struct word *word_numbered(const struct words *w, uint16_t number)
{
	for (size_t i = 0; i < w->count; i++)
		if (w->row[i].number == number)
			return &w->row[i];
	return NULL;
}

const char *word_near(const struct words *w, const char *name)
{
	const char *names[WORDS_MAX];

	for (size_t i = 0; i < w->count; i++)
		names[i] = w->row[i].name;
	return nearest(name, names, w->count);
}

const char *word_list(const struct words *w, char *buf, size_t size)
{
	size_t len = 0;

	buf[0] = '\0';
	for (size_t i = 0; i < w->count && len < size; i++)
		if (word_numbered(w, w->row[i].number) == &w->row[i])
			len += (size_t)snprintf(buf + len, size - len, "%s%s", i ? ", " : "", w->row[i].name);
	return buf;
}
