/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The numbers of transports and ethertypes that have names. Pure. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ETHERTYPE_IP4 0x0800
#define ETHERTYPE_IP6 0x86dd

struct word {
	const char *name; /* several may have one number: the first is the canonical one */
	uint16_t number;
};
struct words {
	const struct word *row;
	size_t count;
};
extern const struct words words_transport, words_ethertype;

/* Does its header begin with two ports? */
bool transport_has_ports(uint8_t transport);
/* Case does not matter. NULL: none. */
const struct word *word_named(const struct words *w, const char *name);
const struct word *word_numbered(const struct words *w, uint16_t number);
/* The name that was probably meant, NULL: none; and all canonical ones, joined. Returns buf. */
const char *word_near(const struct words *w, const char *name);
const char *word_list(const struct words *w, char *buf, size_t size);
