/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What a flow matches: attributes as people write them, the rules they become, and which of several flows a
 * packet belongs to. Pure; knows no link and no kernel.
 */
#pragma once

#include "lib/base/err.h"
#include "lib/model/flowkey.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define FLOW_NAME_MAX  64  /* with the NUL */
#define FLOW_TEXT_MAX  512 /* canonical attributes */
#define FLOW_MASKS_MAX 64  /* distinct masks a link and direction may have */
#define FLOW_RULES_MAX 900 /* of one flow and direction: two port ranges, 30 prefixes each */

enum flow_dir { FLOW_IN, FLOW_OUT, FLOW_DIRS };

/* len: of the prefix, in bits; bytes beyond it are zero. family 0: any address. */
struct flow_addr {
	uint8_t family; /* 4, 6 */
	uint8_t len;    /* not 0: every address of a family is an ethertype */
	uint8_t bytes[16];
};

/* first 0: any (port 0 cannot be asked for). */
struct flow_ports {
	uint16_t first, last;
};

/* What was given; a field that was not is zero, and its has_ flag false. */
struct flow_match {
	struct flow_addr local, remote;
	bool has_proto, has_vid;
	uint8_t proto;
	struct flow_ports local_port, remote_port;
	uint8_t dsfield, dsmask; /* dsmask 0: any */
	uint16_t vid;
	uint16_t ethertype; /* host order; 0: any */
	bool dir[FLOW_DIRS];
};

/* One masked key; a flow is one or more of them. */
struct flow_rule {
	struct flow_key key, mask;
};

/*
 * Reads one attribute into m, which starts as zeros; the error's object is the attribute's name. An unknown
 * one, or one given twice, is an error with the nearest name or the first value. m is unchanged on failure.
 */
int flow_attr_set(struct flow_match *m, const char *name, const char *value, struct err *e);
/* When all are read: what contradicts itself (a port without a transport that has ports, addresses of two
 * families, an ethertype that is not theirs) or says nothing is an error. Sets dir to both if it was not
 * given, and drops an ethertype that follows from an address. What is below expects a match that passed. */
int flow_match_check(struct flow_match *m, struct err *e);
/* The canonical text "ATTR=VALUE,...", in a fixed order: equal texts are equal flows. Returns buf. */
const char *flow_match_str(const struct flow_match *m, char buf[FLOW_TEXT_MAX]);
/* Reads such a text back. */
int flow_match_parse(const char *text, struct flow_match *ret, struct err *e);
/* The attributes' names in a fixed order, and what they take as people read it; NULL after the last. */
const char *flow_attr_name(size_t i);
const char *flow_attr_possible(size_t i);

/* Cells of show-flow, "" for what was not given: PROTO, LADDR, LPORT, RADDR, RPORT, DSFLD. */
const char *flow_proto_str(const struct flow_match *m, char buf[16]);
const char *flow_addr_str(const struct flow_addr *a, char buf[48]);
const char *flow_ports_str(const struct flow_ports *p, char buf[16]);
const char *flow_ds_str(const struct flow_match *m, char buf[16]);

/*
 * The rules of m, the same for both directions; returns their number, at most FLOW_RULES_MAX. Without an
 * address one rule serves IPv4 and IPv6 (family is not in its mask), but where what is asked for is zero, as
 * it is in a packet that is not IP (dscp=cs0): then each family has its own.
 */
size_t flow_rules(const struct flow_match *m, struct flow_rule ret[FLOW_RULES_MAX]);
/* The rule is at the top of floworder.c. rank 0: unranked. age: smaller is older. */
struct flow_order flow_order(const struct flow_match *m, uint16_t rank, uint32_t age);
/* Negative when a wins over b, positive when b does. */
int flow_order_cmp(const struct flow_order *a, const struct flow_order *b);
/* Can one packet match both? A direction they do not share makes it false. */
bool flow_overlaps(const struct flow_match *a, const struct flow_match *b);
/* Does every packet that matches b match a? */
bool flow_covers(const struct flow_match *a, const struct flow_match *b);
/* In words, what of the packet its mask looks at ("remote_ip/24 transport remote_port"), for messages about
 * shapes. */
const char *flow_mask_str(const struct flow_key *mask, char *buf, size_t size);

/* A flow's name: 1 to 63 letters, digits, '_', '-' and '.', not beginning with '-' or '.'. */
int flow_name_check(const char *name, struct err *e);
