/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The rows of the flow properties, their checks and meanings; the algorithm over them is in prop.c. */
#include "lib/model/flowprop.h"

#include "lib/base/nearest.h"
#include "lib/model/dscp.h"
#include "lib/model/number.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#define RANK_MOST 65535u

static const char *const priorities[] = {[FLOW_LOW] = "low", [FLOW_MEDIUM] = "medium", [FLOW_HIGH] = "high"};
#define PRIORITIES (sizeof(priorities) / sizeof(*priorities))

static int check_maxbw(const char *text, char ret[PROP_TEXT_MAX], struct err *e)
{
	return prop_check_bw("maxbw", text, ret, e);
}

static int check_priority(const char *text, char ret[PROP_TEXT_MAX], struct err *e)
{
	const char *near;

	for (size_t i = 0; i < PRIORITIES; i++) {
		if (strcasecmp(text, priorities[i]) != 0)
			continue;
		snprintf(ret, PROP_TEXT_MAX, "%s", priorities[i]);
		return 0;
	}
	near = nearest(text, priorities, PRIORITIES);
	if (near)
		return err_user(e, -EINVAL, "priority", "%s is not a priority: did you mean %s?", text, near);
	return err_user(e, -EINVAL, "priority", "%s is not a priority: say low, medium or high",
			*text ? text : "nothing");
}

static int check_rank(const char *text, char ret[PROP_TEXT_MAX], struct err *e)
{
	uint32_t rank;

	if (!number_parse(text, 1, RANK_MOST, &rank))
		return err_user(e, -EINVAL, "rank", "%s is not a rank: say 1 to %u, lower comes first",
				*text ? text : "nothing", RANK_MOST);
	snprintf(ret, PROP_TEXT_MAX, "%u", rank);
	return 0;
}

static int check_dscp_mark(const char *text, char ret[PROP_TEXT_MAX], struct err *e)
{
	uint8_t dscp;
	int r = dscp_parse(text, "dscp-mark", &dscp, e);

	if (r == 0)
		dscp_str(dscp, ret);
	return r;
}

const struct prop_row flow_prop_rows[FLOW_PROP_COUNT] = {
	[FLOW_PROP_MAXBW] = {.name = "maxbw", .possible = PROP_BW_POSSIBLE, .check = check_maxbw},
	[FLOW_PROP_PRIORITY] = {.name = "priority", .possible = "low,medium,high", .check = check_priority},
	[FLOW_PROP_RANK] = {.name = "rank", .possible = "1-65535", .check = check_rank},
	[FLOW_PROP_DSCP_MARK] = {.name = "dscp-mark", .possible = DSCP_POSSIBLE, .check = check_dscp_mark},
};
static const struct prop_table flow_table = {.rows = flow_prop_rows, .count = FLOW_PROP_COUNT};
_Static_assert(FLOW_PROP_COUNT <= PROP_ROWS_MAX, "too many flow properties");

void flow_props_free(struct flow_props *p)
{
	prop_values_free(p->value, FLOW_PROP_COUNT);
}

int flow_props_copy(const struct flow_props *from, struct flow_props *ret)
{
	return prop_values_copy(from->value, FLOW_PROP_COUNT, ret->value);
}

int flow_prop_find(const char *flow, const char *name, enum flow_prop_id *ret, struct err *e)
{
	size_t id = 0;
	int r = prop_table_find(&flow_table, flow, name, &id, e);

	if (r == 0)
		*ret = (enum flow_prop_id)id;
	return r;
}

int flow_prop_set(struct flow_props *p, const char *flow, enum flow_prop_id id, const char *text,
		  struct err *e)
{
	return prop_value_set(&flow_prop_rows[id], &p->value[id], flow, text, e);
}

void flow_prop_reset(struct flow_props *p, enum flow_prop_id id)
{
	prop_value_reset(&p->value[id]);
}

const char *flow_prop_default(enum flow_prop_id id)
{
	return id == FLOW_PROP_PRIORITY ? priorities[FLOW_MEDIUM] : "";
}

struct bw flow_prop_cap(const struct flow_props *p)
{
	struct bw bw = {.kind = BW_NONE};

	if (p->value[FLOW_PROP_MAXBW])
		bw_parse(p->value[FLOW_PROP_MAXBW], "maxbw", &bw, NULL);
	return bw;
}

enum flow_priority flow_prop_priority(const struct flow_props *p)
{
	const char *value = p->value[FLOW_PROP_PRIORITY];

	for (size_t i = 0; value && i < PRIORITIES; i++)
		if (!strcmp(value, priorities[i]))
			return (enum flow_priority)i;
	return FLOW_MEDIUM;
}

uint16_t flow_prop_rank(const struct flow_props *p)
{
	const char *value = p->value[FLOW_PROP_RANK];
	uint32_t rank;

	return value && number_parse(value, 1, RANK_MOST, &rank) ? (uint16_t)rank : 0;
}

int flow_prop_dscp(const struct flow_props *p)
{
	const char *value = p->value[FLOW_PROP_DSCP_MARK];
	uint8_t dscp;

	return value && dscp_parse(value, "dscp-mark", &dscp, NULL) == 0 ? dscp : -1;
}
