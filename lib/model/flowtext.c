/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Writes a match as text, whole or cell by cell; what it writes, flowattr.c reads back as the same match. */
#include "lib/model/dscp.h"
#include "lib/model/flowattr.h"
#include "lib/model/flowword.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>

#define PROTO_SIZE 16
#define ADDR_SIZE  48
#define PORTS_SIZE 16
#define DS_SIZE    16

const char *flow_proto_str(const struct flow_match *m, char buf[PROTO_SIZE])
{
	const struct word *w = word_numbered(&words_transport, m->proto);

	buf[0] = '\0';
	if (m->has_proto && w)
		snprintf(buf, PROTO_SIZE, "%s", w->name);
	else if (m->has_proto)
		snprintf(buf, PROTO_SIZE, "%u", m->proto);
	return buf;
}

const char *flow_addr_str(const struct flow_addr *a, char buf[ADDR_SIZE])
{
	size_t len;

	buf[0] = '\0';
	if (!a->family)
		return buf;
	inet_ntop(a->family == 4 ? AF_INET : AF_INET6, a->bytes, buf, ADDR_SIZE);
	len = strlen(buf);
	if (a->len < (a->family == 4 ? 32 : 128))
		snprintf(buf + len, ADDR_SIZE - len, "/%u", a->len);
	return buf;
}

const char *flow_ports_str(const struct flow_ports *p, char buf[PORTS_SIZE])
{
	buf[0] = '\0';
	if (p->first && p->first == p->last)
		snprintf(buf, PORTS_SIZE, "%u", p->first);
	else if (p->first)
		snprintf(buf, PORTS_SIZE, "%u-%u", p->first, p->last);
	return buf;
}

const char *flow_ds_str(const struct flow_match *m, char buf[DS_SIZE])
{
	buf[0] = '\0';
	if (m->dsmask)
		snprintf(buf, DS_SIZE, "0x%02x:0x%02x", m->dsfield, m->dsmask);
	return buf;
}

static const char *local_ip(const struct flow_match *m, char *buf)
{
	return flow_addr_str(&m->local, buf);
}

static const char *remote_ip(const struct flow_match *m, char *buf)
{
	return flow_addr_str(&m->remote, buf);
}

static const char *local_port(const struct flow_match *m, char *buf)
{
	return flow_ports_str(&m->local_port, buf);
}

static const char *remote_port(const struct flow_match *m, char *buf)
{
	return flow_ports_str(&m->remote_port, buf);
}

static const char *vid(const struct flow_match *m, char *buf)
{
	buf[0] = '\0';
	if (m->has_vid)
		snprintf(buf, ADDR_SIZE, "%u", m->vid);
	return buf;
}

static const char *ethertype(const struct flow_match *m, char *buf)
{
	const struct word *w = word_numbered(&words_ethertype, m->ethertype);

	buf[0] = '\0';
	if (w)
		snprintf(buf, ADDR_SIZE, "%s", w->name);
	else if (m->ethertype)
		snprintf(buf, ADDR_SIZE, "0x%04x", m->ethertype);
	return buf;
}

static const char *direction(const struct flow_match *m, char *buf)
{
	static const char *const words[2][2] = {{"", "out"}, {"in", "both"}};

	snprintf(buf, ADDR_SIZE, "%s", words[m->dir[FLOW_IN]][m->dir[FLOW_OUT]]);
	return buf;
}

/* One spelling for each match: dscp wherever it can tell all of it. */
static const char *dscp_value(const struct flow_match *m, char *buf)
{
	return dscp_str(m->dsfield >> DSCP_SHIFT, buf);
}

static const struct field {
	const char *name;
	const char *(*value)(const struct flow_match *m, char *buf);
} fields[FIELDS] = {
	[FIELD_LOCAL_IP] = {"local_ip", local_ip},
	[FIELD_REMOTE_IP] = {"remote_ip", remote_ip},
	[FIELD_TRANSPORT] = {"transport", flow_proto_str},
	[FIELD_LOCAL_PORT] = {"local_port", local_port},
	[FIELD_REMOTE_PORT] = {"remote_port", remote_port},
	[FIELD_DS] = {"dsfield", flow_ds_str},
	[FIELD_VID] = {"vid", vid},
	[FIELD_ETHERTYPE] = {"ethertype", ethertype},
	[FIELD_DIRECTION] = {"direction", direction},
};
static const struct field dscp_field = {"dscp", dscp_value};

const char *flow_field_str(const struct flow_match *m, enum flow_field field, char buf[FLOW_FIELD_TEXT_MAX])
{
	const struct field *f = field == FIELD_DS && m->dsmask == DSCP_MASK ? &dscp_field : &fields[field];
	char value[ADDR_SIZE];

	buf[0] = '\0';
	if (*f->value(m, value))
		snprintf(buf, FLOW_FIELD_TEXT_MAX, "%s=%s", f->name, value);
	return buf;
}

const char *flow_match_str(const struct flow_match *m, char buf[FLOW_TEXT_MAX])
{
	bool both = m->dir[FLOW_IN] && m->dir[FLOW_OUT];
	char text[FLOW_FIELD_TEXT_MAX];
	size_t len = 0;

	buf[0] = '\0';
	for (enum flow_field f = 0; f < FIELDS; f++) {
		if ((f == FIELD_DIRECTION && both) || !*flow_field_str(m, f, text))
			continue;
		len += (size_t)snprintf(buf + len, FLOW_TEXT_MAX - len, "%s%s", len ? "," : "", text);
	}
	return buf;
}
