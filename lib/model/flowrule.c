/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Makes masked keys of a match, and words of a mask; never decides which rule comes first. */
#include "lib/model/flowattr.h"
#include "lib/model/flowword.h"

#include <arpa/inet.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define PREFIXES_MAX 30 /* of a range of 16-bit numbers: two for each bit but the first */
#define VID_MASK     0x0fffu

struct prefix {
	uint16_t value, mask;
};

/* The fewest prefixes that make up the range: from below, each time the largest that begins there and fits.
 */
static size_t prefixes_of(const struct flow_ports *p, struct prefix ret[PREFIXES_MAX])
{
	uint32_t at = p->first;
	size_t n = 0;

	if (!p->first) {
		ret[0] = (struct prefix){0};
		return 1;
	}
	while (at <= p->last && n < PREFIXES_MAX) {
		uint32_t size = at & -at;

		while (at + size - 1 > p->last)
			size /= 2;
		ret[n++] = (struct prefix){.value = (uint16_t)at, .mask = (uint16_t)-size};
		at += size;
	}
	return n;
}

static void put_addr(const struct flow_addr *a, uint8_t key[16], uint8_t mask[16])
{
	memcpy(key, a->bytes, 16);
	memset(mask, 0xff, a->len / 8);
	if (a->len % 8)
		mask[a->len / 8] = (uint8_t)(0xff00 >> a->len % 8);
}

static void put_ports(struct flow_rule *r, const struct prefix *local, const struct prefix *remote)
{
	r->key.local_port = htons(local->value);
	r->mask.local_port = htons(local->mask);
	r->key.remote_port = htons(remote->value);
	r->mask.remote_port = htons(remote->mask);
	if (local->mask || remote->mask) {
		r->key.has |= FLOW_HAS_PORTS;
		r->mask.has |= FLOW_HAS_PORTS;
	}
}

static void put_family(struct flow_rule *r, uint8_t family)
{
	r->key.family = family;
	r->mask.family = family ? 0xff : 0;
}

static void put_link_layer(const struct flow_match *m, struct flow_rule *r)
{
	if (m->ethertype) {
		r->key.ethertype = htons(m->ethertype);
		r->mask.ethertype = 0xffff;
	}
	if (m->has_vid) {
		r->key.vid = m->vid;
		r->mask.vid = VID_MASK;
		r->key.has |= FLOW_HAS_TAG;
		r->mask.has |= FLOW_HAS_TAG;
	}
}

/* All but family and ports. */
static struct flow_rule rule_of(const struct flow_match *m)
{
	struct flow_rule r = {0};

	put_addr(&m->local, r.key.local, r.mask.local);
	put_addr(&m->remote, r.key.remote, r.mask.remote);
	r.key.proto = m->proto;
	r.mask.proto = m->has_proto ? 0xff : 0;
	r.key.dsfield = m->dsfield;
	r.mask.dsfield = m->dsmask;
	put_link_layer(m, &r);
	return r;
}

static uint8_t family_of(const struct flow_match *m)
{
	uint8_t family = m->local.family ? m->local.family : m->remote.family;
	bool ip = m->has_proto || m->dsmask;

	if (!family && ip && m->ethertype)
		family = m->ethertype == ETHERTYPE_IP4 ? 4 : 6;
	return family;
}

/* Transport 0 and DSCP 0 look like those of a packet that is not IP: then each family has a rule of its own,
 * else one serves both. */
static size_t families_of(const struct flow_match *m, uint8_t ret[2])
{
	bool zero = (m->has_proto || m->dsmask) && !m->proto && !m->dsfield;

	ret[0] = family_of(m);
	if (ret[0] || !zero)
		return 1;
	ret[0] = 4;
	ret[1] = 6;
	return 2;
}

size_t flow_rules(const struct flow_match *m, struct flow_rule ret[FLOW_RULES_MAX])
{
	struct prefix local[PREFIXES_MAX], remote[PREFIXES_MAX];
	size_t locals = prefixes_of(&m->local_port, local), remotes = prefixes_of(&m->remote_port, remote);
	struct flow_rule rule = rule_of(m);
	uint8_t family[2];
	size_t families = families_of(m, family), n = 0;

	for (size_t f = 0; f < families; f++) {
		put_family(&rule, family[f]);
		for (size_t l = 0; l < locals; l++) {
			for (size_t r = 0; r < remotes; r++) {
				put_ports(&rule, &local[l], &remote[r]);
				ret[n++] = rule;
			}
		}
	}
	return n;
}

struct text {
	char *buf;
	size_t size, len;
};

__attribute__((format(printf, 2, 3))) static void add(struct text *t, const char *fmt, ...)
{
	va_list ap;

	if (t->len + 1 < t->size && t->len)
		t->len += (size_t)snprintf(t->buf + t->len, t->size - t->len, " ");
	if (t->len + 1 >= t->size)
		return;
	va_start(ap, fmt);
	t->len += (size_t)vsnprintf(t->buf + t->len, t->size - t->len, fmt, ap);
	va_end(ap);
}

static unsigned bits_of(const uint8_t *bytes, size_t size)
{
	unsigned bits = 0;

	for (size_t i = 0; i < size; i++)
		bits += (unsigned)__builtin_popcount(bytes[i]);
	return bits;
}

static void add_bits(struct text *t, const char *name, const void *mask, size_t size, unsigned full)
{
	unsigned bits = bits_of(mask, size);

	if (bits == full)
		add(t, "%s", name);
	else if (bits)
		add(t, "%s/%u", name, bits);
}

const char *flow_mask_str(const struct flow_key *mask, char *buf, size_t size)
{
	struct text t = {.buf = buf, .size = size};
	unsigned local = bits_of(mask->local, 16), remote = bits_of(mask->remote, 16);

	buf[0] = '\0';
	/* A mask does not know whose 32 bits these are: always with their number. */
	add_bits(&t, "local_ip", mask->local, 16, UINT8_MAX);
	add_bits(&t, "remote_ip", mask->remote, 16, UINT8_MAX);
	add_bits(&t, "transport", &mask->proto, 1, 8);
	add_bits(&t, "local_port", &mask->local_port, 2, 16);
	add_bits(&t, "remote_port", &mask->remote_port, 2, 16);
	if (mask->dsfield == DSCP_MASK)
		add(&t, "dscp");
	else if (mask->dsfield)
		add(&t, "dsfield:0x%02x", mask->dsfield);
	if (mask->has & FLOW_HAS_TAG)
		add(&t, "vid");
	if (mask->ethertype)
		add(&t, "ethertype");
	else if (mask->family && !local && !remote)
		add(&t, "family");
	return buf;
}
