/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Reads attributes of flows, one at a time or as a list; never judges whether they go together. */
#include "lib/model/flowattr.h"

#include "lib/base/nearest.h"
#include "lib/model/dscp.h"
#include "lib/model/flowword.h"
#include "lib/model/number.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#define VID_MOST        4094u   /* 4095 is kept by IEEE 802.1Q */
#define ETHERTYPE_LEAST 0x0600u /* below: the length of an IEEE 802.3 frame */
#define PORT_MOST       65535u

/* Reads value into its field of m, which is empty. */
struct attr {
	const char *name;
	enum flow_field field;
	const char *possible;
	int (*read)(const struct attr *a, const char *value, struct flow_match *m, struct err *e);
};

/* What the user is told that was typed. */
static const char *typed(const char *value)
{
	return *value ? value : "nothing";
}

static uint8_t addr_width(const struct flow_addr *a)
{
	return a->family == 4 ? 32 : 128;
}

/* The same prefix with nothing beyond it. */
static struct flow_addr addr_cut(const struct flow_addr *a)
{
	struct flow_addr cut = {.family = a->family, .len = a->len};

	memcpy(cut.bytes, a->bytes, (a->len + 7u) / 8);
	if (a->len % 8)
		cut.bytes[a->len / 8] &= (uint8_t)(0xff00 >> a->len % 8);
	return cut;
}

/* The IPv4 prefix in ::ffff:0:0/96, which no packet carries; family 0 when a is not there. */
static struct flow_addr addr_mapped(const struct flow_addr *a)
{
	static const uint8_t mapped[12] = {[10] = 0xff, [11] = 0xff};
	struct flow_addr v4 = {0};

	if (a->family != 6 || a->len < 96 || memcmp(a->bytes, mapped, sizeof(mapped)) != 0)
		return v4;
	v4.family = 4;
	v4.len = (uint8_t)(a->len - 96);
	memcpy(v4.bytes, a->bytes + sizeof(mapped), 4);
	return v4;
}

/* The part before the slash, if there is one. */
static bool addr_read(const char *value, struct flow_addr *ret)
{
	struct flow_addr a = {0};
	char host[INET6_ADDRSTRLEN + 1]; /* one more, so that what is cut off is no address */

	snprintf(host, sizeof(host), "%.*s", (int)strcspn(value, "/"), value);
	if (inet_pton(AF_INET, host, a.bytes) == 1)
		a.family = 4;
	else if (inet_pton(AF_INET6, host, a.bytes) == 1)
		a.family = 6;
	a.len = addr_width(&a);
	*ret = a;
	return a.family != 0;
}

static int prefix_check(const struct attr *at, const char *value, const struct flow_addr *a, struct err *e)
{
	struct flow_addr cut = addr_cut(a), v4 = addr_mapped(&cut), whole = *a;
	char say[48], alone[48];

	if (a->len == 0)
		return err_user(e, -EINVAL, at->name,
				"%s is every address: leave it out, or say ethertype=%s for all of IPv%u",
				value, a->family == 4 ? "ip" : "ip6", a->family);
	if (v4.family)
		return err_user(e, -EINVAL, at->name, "%s is IPv4 written as IPv6, no packet has it: say %s",
				value, v4.len ? flow_addr_str(&v4, say) : "ethertype=ip");
	whole.len = addr_width(a);
	if (memcmp(cut.bytes, a->bytes, sizeof(cut.bytes)) != 0)
		return err_user(e, -EINVAL, at->name,
				"%s has bits beyond its prefix: say %s, or %s for that address alone", value,
				flow_addr_str(&cut, say), flow_addr_str(&whole, alone));
	return 0;
}

static int read_addr(const struct attr *at, const char *value, struct flow_match *m, struct err *e)
{
	const char *slash = strchr(value, '/');
	struct flow_addr a;
	uint32_t len;
	int r;

	if (!addr_read(value, &a))
		return err_user(
			e, -EINVAL, at->name,
			"%s is not an address: say one like 10.0.0.1 or 2001:db8::1, or a prefix like "
			"10.0.0.0/24",
			typed(value));
	len = a.len;
	if (slash && !number_parse(slash + 1, 0, a.len, &len))
		return err_user(e, -EINVAL, at->name, "%s: a prefix of IPv%u has 1 to %u bits", value,
				a.family, a.len);
	a.len = (uint8_t)len;
	r = prefix_check(at, value, &a, e);
	if (r < 0)
		return r;
	*(at->field == FIELD_LOCAL_IP ? &m->local : &m->remote) = a;
	return 0;
}

static int read_transport(const struct attr *a, const char *value, struct flow_match *m, struct err *e)
{
	const struct word *w = word_named(&words_transport, value);
	const char *near = word_near(&words_transport, value);
	uint32_t n = w ? w->number : 0;
	char list[80];

	if (!w && !number_parse(value, 0, UINT8_MAX, &n)) {
		if (near && !isdigit((unsigned char)*value))
			return err_user(e, -EINVAL, a->name, "%s is not a transport: did you mean %s?", value,
					near);
		return err_user(e, -EINVAL, a->name, "%s is not a transport: say %s, or a number 0 to 255",
				typed(value), word_list(&words_transport, list, sizeof(list)));
	}
	m->has_proto = true;
	m->proto = (uint8_t)n;
	return 0;
}

static bool ports_read(const char *value, uint32_t *first, uint32_t *last)
{
	const char *end = number_read(value, first);

	*last = *first;
	if (end && *end == '-')
		end = number_read(end + 1, last);
	return end && !*end && *first && *last && *first <= PORT_MOST && *last <= PORT_MOST;
}

static int read_ports(const struct attr *a, const char *value, struct flow_match *m, struct err *e)
{
	uint32_t first = 0, last;

	if (!ports_read(value, &first, &last))
		return err_user(e, -EINVAL, a->name,
				"%s is not a port: say 1 to %u, or a range like 8000-8080", typed(value),
				PORT_MOST);
	if (first > last)
		return err_user(e, -EINVAL, a->name, "%s runs backwards: say %u-%u", value, last, first);
	if (first == last && strchr(value, '-'))
		return err_user(e, -EINVAL, a->name, "%s is one port: say %u", value, first);
	*(a->field == FIELD_LOCAL_PORT ? &m->local_port : &m->remote_port) =
		(struct flow_ports){.first = (uint16_t)first, .last = (uint16_t)last};
	return 0;
}

/* A value with bits that its mask leaves out. Most often somebody wrote the DSCP, which is in the upper six.
 */
static int refuse_bits(const struct attr *a, const char *value, uint32_t v, uint32_t mask, struct err *e)
{
	char dscp[DSCP_TEXT_MAX] = "", word[DSCP_TEXT_MAX];

	if (mask == DSCP_MASK && v <= DSCP_MASK >> DSCP_SHIFT) {
		dscp_str((uint8_t)v, dscp);
		for (size_t i = 0; i < sizeof(word); i++)
			word[i] = (char)toupper((unsigned char)dscp[i]);
		return err_user(e, -EINVAL, a->name,
				"%s never matches, the DSCP is in the upper six bits: %s%s is "
				"dsfield=0x%02x:0x%02x, or dscp=%s",
				value, isdigit((unsigned char)*word) ? "DSCP " : "", word, v << DSCP_SHIFT,
				mask, dscp);
	}
	return err_user(e, -EINVAL, a->name,
			"%s never matches, its mask leaves out 0x%02x: say 0x%02x:0x%02x, or 0x%02x:0x%02x",
			value, v & ~mask, v, v | mask, v & mask, mask);
}

static int read_dsfield(const struct attr *a, const char *value, struct flow_match *m, struct err *e)
{
	uint32_t v, mask = DSCP_MASK;
	const char *end = number_read(value, &v);
	bool whole = end && (*end == ':' ? number_parse(end + 1, 0, UINT8_MAX, &mask) : !*end);

	if (!whole || v > UINT8_MAX)
		return err_user(
			e, -EINVAL, a->name,
			"%s is not a DS field: say VALUE:MASK like 0xb8:0xfc, each 0 to 0xff, or dscp=ef",
			typed(value));
	if (!mask)
		return err_user(e, -EINVAL, a->name, "%s asks for no bit: leave it out", value);
	if (v & ~mask)
		return refuse_bits(a, value, v, mask, e);
	m->dsfield = (uint8_t)v;
	m->dsmask = (uint8_t)mask;
	return 0;
}

static int read_dscp(const struct attr *a, const char *value, struct flow_match *m, struct err *e)
{
	uint8_t dscp;
	int r = dscp_parse(value, a->name, &dscp, e);

	if (r < 0)
		return r;
	m->dsfield = (uint8_t)(dscp << DSCP_SHIFT);
	m->dsmask = DSCP_MASK;
	return 0;
}

static int read_vid(const struct attr *a, const char *value, struct flow_match *m, struct err *e)
{
	uint32_t vid;

	if (!number_parse(value, 0, VID_MOST, &vid))
		return err_user(e, -EINVAL, a->name, "%s is not a VLAN: say 0 to %u", typed(value), VID_MOST);
	m->has_vid = true;
	m->vid = (uint16_t)vid;
	return 0;
}

/* Digits without 0x are refused rather than taken for decimal: everybody writes ethertypes in hex. */
static int refuse_ethertype(const struct attr *a, const char *value, struct err *e)
{
	const char *near = word_near(&words_ethertype, value);
	size_t len = strlen(value);
	char list[80];

	if ((len == 3 || len == 4) && strspn(value, "0123456789abcdefABCDEF") == len)
		return err_user(e, -EINVAL, a->name, "%s is not an ethertype: say 0x%s if it is hexadecimal",
				value, value);
	if (near && !isdigit((unsigned char)*value))
		return err_user(e, -EINVAL, a->name, "%s is not an ethertype: did you mean %s?", value, near);
	return err_user(e, -EINVAL, a->name, "%s is not an ethertype: say %s, or 0x%04x to 0xffff",
			typed(value), word_list(&words_ethertype, list, sizeof(list)), ETHERTYPE_LEAST);
}

static bool is_tag(uint32_t ethertype)
{
	return ethertype == 0x8100 || ethertype == 0x88a8;
}

static int read_ethertype(const struct attr *a, const char *value, struct flow_match *m, struct err *e)
{
	const struct word *w = word_named(&words_ethertype, value);
	uint32_t n = w ? w->number : 0;

	if (!w && (strncasecmp(value, "0x", 2) != 0 || !number_parse(value, ETHERTYPE_LEAST, UINT16_MAX, &n)))
		return refuse_ethertype(a, value, e);
	if (is_tag(n))
		return err_user(e, -EINVAL, a->name,
				"%s is a VLAN tag, the ethertype is what follows it: say vid=", value);
	m->ethertype = (uint16_t)n;
	return 0;
}

static int read_direction(const struct attr *a, const char *value, struct flow_match *m, struct err *e)
{
	static const char *const words[] = {"in", "out", "both"};
	const char *near = nearest(value, words, 3);
	bool in = !strcasecmp(value, "in"), out = !strcasecmp(value, "out"),
	     both = !strcasecmp(value, "both");

	if (!in && !out && !both && near)
		return err_user(e, -EINVAL, a->name, "%s is not a direction: did you mean %s?", value, near);
	if (!in && !out && !both)
		return err_user(e, -EINVAL, a->name, "%s is not a direction: say in, out or both",
				typed(value));
	m->dir[FLOW_IN] = in || both;
	m->dir[FLOW_OUT] = out || both;
	return 0;
}

#define ADDR_POSSIBLE      "ADDRESS[/BITS]"
#define TRANSPORT_POSSIBLE "tcp,udp,sctp,icmp,icmpv6,dccp,udplite,0-255"
#define PORTS_POSSIBLE     "1-65535 or a range of them"

static const struct attr attrs[] = {
	{"local_ip", FIELD_LOCAL_IP, ADDR_POSSIBLE, read_addr},
	{"remote_ip", FIELD_REMOTE_IP, ADDR_POSSIBLE, read_addr},
	{"transport", FIELD_TRANSPORT, TRANSPORT_POSSIBLE, read_transport},
	{"protocol", FIELD_TRANSPORT, TRANSPORT_POSSIBLE, read_transport},
	{"local_port", FIELD_LOCAL_PORT, PORTS_POSSIBLE, read_ports},
	{"remote_port", FIELD_REMOTE_PORT, PORTS_POSSIBLE, read_ports},
	{"dsfield", FIELD_DS, "VALUE[:MASK]", read_dsfield},
	{"dscp", FIELD_DS, DSCP_POSSIBLE, read_dscp},
	{"vid", FIELD_VID, "0-4094", read_vid},
	{"ethertype", FIELD_ETHERTYPE, "ip,ip6,arp,rarp,mpls,pppoe,eapol,lldp,macsec,ptp,0x0600-0xffff",
	 read_ethertype},
	{"direction", FIELD_DIRECTION, "in,out,both", read_direction},
};
#define ATTRS (sizeof(attrs) / sizeof(*attrs))

const char *flow_attr_name(size_t i)
{
	return i < ATTRS ? attrs[i].name : NULL;
}

const char *flow_attr_possible(size_t i)
{
	return i < ATTRS ? attrs[i].possible : NULL;
}

static int unknown(const char *name, struct err *e)
{
	const char *names[ATTRS], *near;
	char list[160];
	size_t len = 0;

	for (size_t i = 0; i < ATTRS; i++) {
		names[i] = attrs[i].name;
		len += (size_t)snprintf(list + len, sizeof(list) - len, "%s%s", i ? ", " : "", names[i]);
	}
	near = nearest(name, names, ATTRS);
	if (near)
		return err_user(e, -ENOENT, name, "no such attribute: did you mean %s?", near);
	return err_user(e, -ENOENT, name, "no such attribute: there are %s", list);
}

int flow_attr_set(struct flow_match *m, const char *name, const char *value, struct err *e)
{
	char first[FLOW_FIELD_TEXT_MAX];
	size_t i = 0;

	while (i < ATTRS && strcmp(attrs[i].name, name) != 0)
		i++;
	if (i == ATTRS)
		return unknown(name, e);
	if (*flow_field_str(m, attrs[i].field, first))
		return err_user(e, -EINVAL, name, "given twice: %s is there already", first);
	return attrs[i].read(&attrs[i], value, m, e);
}

static int list_read(char *list, struct flow_match *m, struct err *e)
{
	char *item, *equals;
	int r = 0;

	while (r == 0 && (item = strsep(&list, ","))) {
		equals = strchr(item, '=');
		if (!equals)
			return err_user(e, -EINVAL, item, "an attribute needs a value: say ATTR=VALUE");
		*equals = '\0';
		r = flow_attr_set(m, item, equals + 1, e);
	}
	return r;
}

int flow_match_parse(const char *text, struct flow_match *ret, struct err *e)
{
	struct flow_match m = {0};
	char copy[FLOW_TEXT_MAX];
	int r = 0;

	if (strlen(text) >= sizeof(copy))
		return err_user(e, -EINVAL, NULL, "attributes of more than %zu characters", sizeof(copy) - 1);
	snprintf(copy, sizeof(copy), "%s", text);
	if (*copy)
		r = list_read(copy, &m, e);
	if (r == 0)
		r = flow_match_check(&m, e);
	if (r == 0)
		*ret = m;
	return r;
}
