/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The algorithm over the property rows, and what a link's values mean together. Pure but for strdup. */
#include "lib/model/prop.h"

#include "lib/base/nearest.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void props_free(struct props *p)
{
	for (int i = 0; i < PROP_COUNT; i++)
		prop_reset(p, i);
}

int props_copy(const struct props *from, struct props *ret)
{
	struct props copy = {0};

	for (int i = 0; i < PROP_COUNT; i++) {
		if (!from->value[i])
			continue;
		copy.value[i] = strdup(from->value[i]);
		if (!copy.value[i]) {
			props_free(&copy);
			return -ENOMEM;
		}
	}
	*ret = copy;
	return 0;
}

static const char *join(const char *const *names, size_t count, char *buf, size_t size)
{
	size_t len = 0;

	buf[0] = '\0';
	for (size_t i = 0; i < count && len < size; i++)
		len += (size_t)snprintf(buf + len, size - len, "%s%s", i ? ", " : "", names[i]);
	return buf;
}

static int unknown(const char *link, const char *name, struct err *e)
{
	const char *names[PROP_COUNT];
	const char *near;
	char list[200];

	for (int i = 0; i < PROP_COUNT; i++)
		names[i] = prop_rows[i].name;
	near = nearest(name, names, PROP_COUNT);
	if (near)
		return err_user(e, -ENOENT, link, "no such property %s: did you mean %s?", name, near);
	return err_user(e, -ENOENT, link, "no such property %s: there are %s", name,
			join(names, PROP_COUNT, list, sizeof(list)));
}

static const char *article(const char *word)
{
	return strchr("aeiou", word[0]) ? "an" : "a";
}

/* Which links can have it. */
static const char *owners(const struct prop_row *row)
{
	return row->classes & (1u << CLASS_ETHERSTUB) ? "a VNIC or an etherstub" : "a VNIC";
}

int prop_find(const char *link, enum link_class class, const char *class_word, const char *name, bool write,
	      enum prop_id *ret, struct err *e)
{
	unsigned bit = 1u << class;

	for (int i = 0; i < PROP_COUNT; i++) {
		const struct prop_row *row = &prop_rows[i];

		if (strcmp(row->name, name) != 0)
			continue;
		if (write && !(row->classes & bit) && (row->readable & bit))
			return err_user(e, -EROFS, link, "%s is read-only on %s %s link: see ip-link(8)",
					name, article(class_word), class_word);
		if (!((row->classes | (write ? 0 : row->readable)) & bit))
			return err_user(e, -EOPNOTSUPP, link, "%s cannot be set on %s %s link: only on %s",
					name, article(class_word), class_word, owners(row));
		*ret = i;
		return 0;
	}
	return unknown(link, name, e);
}

int prop_set(struct props *p, const char *link, enum prop_id id, const char *text, struct err *e)
{
	char canon[PROP_TEXT_MAX], why[sizeof(e->text)];
	struct err cause = {0};
	char *copy;
	int r = prop_rows[id].check(text, canon, &cause);

	if (r < 0)
		return err_user(e, r, link, "%s", err_str(&cause, why, sizeof(why)));
	copy = strdup(canon);
	if (!copy)
		return err_nomem(e);
	free(p->value[id]);
	p->value[id] = copy;
	return 0;
}

void prop_reset(struct props *p, enum prop_id id)
{
	free(p->value[id]);
	p->value[id] = NULL;
}

static struct bw cap_of(const struct props *p, enum prop_id id)
{
	struct bw bw = {.kind = BW_UNSET};

	if (p->value[id])
		bw_parse(p->value[id], prop_rows[id].name, &bw, NULL);
	return bw;
}

struct bw prop_cap(const struct props *p, bool tx)
{
	struct bw bw = cap_of(p, tx ? PROP_MAXBW_TX : PROP_MAXBW_RX);

	if (bw.kind == BW_UNSET)
		bw = cap_of(p, PROP_MAXBW);
	if (bw.kind == BW_UNSET)
		bw.kind = BW_NONE;
	return bw;
}

uint32_t prop_mtu(const struct props *p)
{
	return p->value[PROP_MTU] ? (uint32_t)strtoul(p->value[PROP_MTU], NULL, 10) : 0;
}

bool prop_isolate(const struct props *p)
{
	return p->value[PROP_ISOLATE] && !strcmp(p->value[PROP_ISOLATE], "on");
}

const char *prop_zone(const struct props *p)
{
	return p->value[PROP_ZONE] ? p->value[PROP_ZONE] : "";
}

const char *prop_bandwidth(const struct props *p, char *buf, size_t size)
{
	static const struct {
		enum prop_id id;
		const char *word;
	} parts[] = {{PROP_MAXBW, "max"}, {PROP_MAXBW_RX, "rx"}, {PROP_MAXBW_TX, "tx"}};
	size_t len = 0;

	buf[0] = '\0';
	if (prop_cap(p, false).kind == BW_BLOCKED && prop_cap(p, true).kind == BW_BLOCKED) {
		snprintf(buf, size, "blocked");
		return buf;
	}
	for (size_t i = 0; i < sizeof(parts) / sizeof(*parts) && len < size; i++) {
		const char *v = p->value[parts[i].id];

		if (v && (parts[i].id != PROP_MAXBW || strcmp(v, "none") != 0))
			len += (size_t)snprintf(buf + len, size - len, "%s%s=%s", len ? "," : "",
						parts[i].word, v);
	}
	return buf;
}
