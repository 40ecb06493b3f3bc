/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Notes on flows: those that can get no packet, or more than their link has. Refuses nothing. */
#include "vnicd/flownote.h"

#include "vnicd/flowwant.h"
#include "vnicd/session.h"
#include "vnicd/want.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <utlist.h>

static void note(json_t *notes, const char *level, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
static void note(json_t *notes, const char *level, const char *fmt, ...)
{
	char text[1024];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	json_array_append_new(notes, json_pack("{s:s, s:o}", "level", level, "text", call_text(text)));
}

static struct flow_order order_of(const struct flow *f)
{
	return flow_order(&f->match, flow_prop_rank(&f->props), f->s.id);
}

/* Does a take whatever b matches? */
static bool takes_all(const struct flow *a, const struct flow *b)
{
	struct flow_order x, y;

	if (a == b || !flow_covers(&a->match, &b->match))
		return false;
	x = order_of(a);
	y = order_of(b);
	return flow_order_cmp(&x, &y) < 0;
}

static void note_cover(const struct flow *f, json_t *notes)
{
	const struct flow *other;

	DL_FOREACH (f->link->flows, other) {
		if (!takes_all(other, f))
			continue;
		note(notes, "warning", "%s: %s comes first and takes all of its packets", f->s.name,
		     other->s.name);
		return;
	}
}

/* Names as people read them, of some and how many are left. */
#define NAMES_MOST 10u

struct names {
	char text[NAMES_MOST * (FLOW_NAME_MAX + 2) + 32];
	size_t len;
	unsigned count;
};

static void name_add(struct names *n, const struct flow *f)
{
	if (n->count++ < NAMES_MOST)
		n->len += (size_t)snprintf(n->text + n->len, sizeof(n->text) - n->len, "%s%s",
					   n->len ? ", " : "", f->s.name);
}

static const char *name_all(struct names *n)
{
	if (n->count > NAMES_MOST)
		snprintf(n->text + n->len, sizeof(n->text) - n->len, " and %u more", n->count - NAMES_MOST);
	return n->text;
}

/* By its rank alone: else the more specific come first. */
static void note_covered(const struct flow *f, json_t *notes)
{
	struct names n = {.count = 0};
	const struct flow *other;

	DL_FOREACH (f->link->flows, other)
		if (takes_all(f, other))
			name_add(&n, other);
	if (n.count)
		note(notes, "warning", "%s: it comes first and takes all packets of %s", f->s.name,
		     name_all(&n));
}

/* The greatest cap of its link in a direction that is f's; 0: in one of them it has none. */
static uint64_t cap_above(const struct flow *f)
{
	uint64_t speed = f->link->below ? f->link->below->speed : 0, most = 0;

	for (enum flow_dir dir = FLOW_IN; dir < FLOW_DIRS; dir++) {
		struct eff_cap cap = want_cap(f->link, dir == FLOW_OUT, speed);

		if (!f->match.dir[dir])
			continue;
		if (!cap.rate || cap.blocked)
			return 0;
		most = cap.rate > most ? cap.rate : most;
	}
	return most;
}

static void note_cap(const struct flow *f, json_t *notes)
{
	struct bw own = flow_prop_cap(&f->props);
	uint64_t above = cap_above(f);
	char buf[32];

	if (own.kind == BW_RATE && above && own.value > above)
		note(notes, "note", "%s: maxbw %s is more than %s has: it gets %s at most", f->s.name,
		     f->props.value[FLOW_PROP_MAXBW], f->link->s.name,
		     bw_str((struct bw){.kind = BW_RATE, .value = above}, buf, sizeof(buf)));
}

static bool has_same(const struct flow *f, const struct flow *old, enum flow_prop_id id)
{
	const char *a = f->props.value[id], *b = old ? old->props.value[id] : NULL;

	return old && (a && b ? !strcmp(a, b) : a == b);
}

void flow_note(const struct flow *f, const struct flow *old, json_t *notes)
{
	if (!has_same(f, old, FLOW_PROP_RANK)) {
		note_cover(f, notes);
		note_covered(f, notes);
	}
	if (!has_same(f, old, FLOW_PROP_MAXBW))
		note_cap(f, notes);
}
