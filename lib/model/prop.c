/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The algorithm over the rows of any table, and what a link's values mean together. Pure but for strdup. */
#include "lib/model/prop.h"

#include "lib/base/nearest.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

_Static_assert(PROP_COUNT <= PROP_ROWS_MAX, "too many link properties");

void prop_value_reset(char **value)
{
	free(*value);
	*value = NULL;
}

void prop_values_free(char **values, size_t count)
{
	for (size_t i = 0; i < count; i++)
		prop_value_reset(&values[i]);
}

int prop_values_copy(char *const *from, size_t count, char **ret)
{
	char *copy[PROP_ROWS_MAX] = {0};

	for (size_t i = 0; i < count; i++) {
		if (!from[i])
			continue;
		copy[i] = strdup(from[i]);
		if (!copy[i]) {
			prop_values_free(copy, count);
			return -ENOMEM;
		}
	}
	memcpy(ret, copy, count * sizeof(*ret));
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

static int unknown(const struct prop_table *t, const char *object, const char *name, struct err *e)
{
	const char *names[PROP_ROWS_MAX];
	const char *near;
	char list[200];

	for (size_t i = 0; i < t->count; i++)
		names[i] = t->rows[i].name;
	near = nearest(name, names, t->count);
	if (near)
		return err_user(e, -ENOENT, object, "no such property %s: did you mean %s?", name, near);
	return err_user(e, -ENOENT, object, "no such property %s: there are %s", name,
			join(names, t->count, list, sizeof(list)));
}

int prop_table_find(const struct prop_table *t, const char *object, const char *name, size_t *ret,
		    struct err *e)
{
	for (size_t i = 0; i < t->count; i++) {
		if (strcmp(t->rows[i].name, name) != 0)
			continue;
		*ret = i;
		return 0;
	}
	return unknown(t, object, name, e);
}

int prop_value_set(const struct prop_row *row, char **value, const char *object, const char *text,
		   struct err *e)
{
	char canon[PROP_TEXT_MAX], why[sizeof(e->text)];
	struct err cause = {0};
	char *copy;
	int r = row->check(text, canon, &cause);

	if (r < 0)
		return err_user(e, r, object, "%s", err_str(&cause, why, sizeof(why)));
	copy = strdup(canon);
	if (!copy)
		return err_nomem(e);
	free(*value);
	*value = copy;
	return 0;
}

int prop_check_bw(const char *name, const char *text, char ret[PROP_TEXT_MAX], struct err *e)
{
	struct bw bw;
	int r = bw_parse(text, name, &bw, e);

	if (r < 0)
		return r;
	bw_str(bw, ret, PROP_TEXT_MAX);
	return 0;
}

static const struct prop_table link_table = {.rows = prop_rows, .count = PROP_COUNT};

void props_free(struct props *p)
{
	prop_values_free(p->value, PROP_COUNT);
}

int props_copy(const struct props *from, struct props *ret)
{
	return prop_values_copy(from->value, PROP_COUNT, ret->value);
}

static const char *article(const char *word)
{
	return strchr("aeiou", word[0]) ? "an" : "a";
}

/* Which links can have it. */
static const char *owners(const struct prop_row *row)
{
	return row->classes & (1u << CLASS_ETHERSTUB) ? "a VNIC or an etherstub"
	       : row->classes & (1u << CLASS_FOREIGN) ? "a VNIC or a physical link"
						      : "a VNIC";
}

int prop_find(const char *link, enum link_class class, const char *class_word, const char *name, bool write,
	      enum prop_id *ret, struct err *e)
{
	unsigned bit = 1u << class;
	const struct prop_row *row;
	size_t id = 0;
	int r = prop_table_find(&link_table, link, name, &id, e);

	if (r < 0)
		return r;
	row = &prop_rows[id];
	if (write && !(row->classes & bit) && (row->readable & bit))
		return err_user(e, -EROFS, link, "%s is read-only on %s %s link: see ip-link(8)", name,
				article(class_word), class_word);
	if (!((row->classes | (write ? 0 : row->readable)) & bit))
		return err_user(e, -EOPNOTSUPP, link, "%s cannot be set on %s %s link: only on %s", name,
				article(class_word), class_word, owners(row));
	*ret = (enum prop_id)id;
	return 0;
}

int prop_set(struct props *p, const char *link, enum prop_id id, const char *text, struct err *e)
{
	return prop_value_set(&prop_rows[id], &p->value[id], link, text, e);
}

void prop_reset(struct props *p, enum prop_id id)
{
	prop_value_reset(&p->value[id]);
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

bool prop_capped(const struct props *p)
{
	return prop_cap(p, false).kind != BW_NONE || prop_cap(p, true).kind != BW_NONE;
}
