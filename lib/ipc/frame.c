/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Splits a byte stream into JSON objects and packs them into frames, within limits; touches no socket. */
#include "lib/ipc/frame.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define ROOM_MIN  4096u
#define ROOM_KEEP (256u << 10) /* an empty buffer larger than this goes back to the heap */

/* What stays open of the last frame when data comes behind open bytes; -EMSGSIZE when a frame passes max. */
static int count_open(size_t open, size_t max, const char *data, size_t len, size_t *ret_open)
{
	const char *end = data + len, *nul;

	while ((nul = memchr(data, '\0', (size_t)(end - data)))) {
		if (open + (size_t)(nul - data) > max)
			return -EMSGSIZE;
		open = 0;
		data = nul + 1;
	}
	open += (size_t)(end - data);
	if (open > max)
		return -EMSGSIZE;
	*ret_open = open;
	return 0;
}

/* Frames that were taken make room first; they are moved over once a feed, not once a frame. */
static int make_room(struct frame_buf *b, size_t more)
{
	size_t room = b->room < ROOM_MIN ? ROOM_MIN : b->room;
	char *data;

	if (b->start) {
		memmove(b->data, b->data + b->start, b->len - b->start);
		b->len -= b->start;
		b->start = 0;
	}
	while (room - b->len < more)
		room *= 2;
	if (room == b->room)
		return 0;
	data = realloc(b->data, room);
	if (!data)
		return -ENOMEM;
	b->data = data;
	b->room = room;
	return 0;
}

int frame_feed(struct frame_buf *b, const void *data, size_t len, struct err *e)
{
	size_t open;

	if (!len)
		return 0;
	if (count_open(b->open, b->max, data, len, &open))
		return err_sys(e, -EMSGSIZE, NULL, "message is larger than %zu bytes", b->max);
	if (make_room(b, len))
		return err_nomem(e);
	memcpy(b->data + b->len, data, len);
	b->len += len;
	b->open = open;
	return 0;
}

/* Counted on the text: nothing recursive ever sees a deep message. Brackets in strings do not count. */
static bool too_deep(const char *text, size_t len)
{
	unsigned depth = 0;
	bool string = false;

	for (size_t i = 0; i < len; i++) {
		if (string && text[i] == '\\')
			i++;
		else if (text[i] == '"')
			string = !string;
		else if (!string && (text[i] == '{' || text[i] == '['))
			depth++;
		else if (!string && (text[i] == '}' || text[i] == ']'))
			depth -= depth > 0;
		if (depth > FRAME_DEPTH_MAX)
			return true;
	}
	return false;
}

static int parse(const char *text, size_t len, json_t **ret, struct err *e)
{
	json_error_t why;
	json_t *obj;

	if (too_deep(text, len))
		return err_sys(e, -EBADMSG, NULL, "message is nested deeper than %u levels", FRAME_DEPTH_MAX);
	obj = json_loadb(text, len, JSON_REJECT_DUPLICATES, &why);
	if (!obj)
		return err_sys(e, -EBADMSG, NULL, "message is not JSON: %s at byte %d", why.text,
			       why.position);
	if (!json_is_object(obj)) {
		json_decref(obj);
		return err_sys(e, -EBADMSG, NULL, "message is not a JSON object");
	}
	*ret = obj;
	return 1;
}

static void forget_taken(struct frame_buf *b)
{
	if (b->start < b->len)
		return;
	b->start = b->len = 0;
	if (b->room > ROOM_KEEP) {
		free(b->data);
		b->data = NULL;
		b->room = 0;
	}
}

int frame_next(struct frame_buf *b, json_t **ret, struct err *e)
{
	const char *text;
	size_t len;
	int rc;

	if (b->len - b->start == b->open)
		return 0;
	text = b->data + b->start;
	len = strlen(text);
	rc = parse(text, len, ret, e);
	b->start += len + 1;
	forget_taken(b);
	return rc;
}

void frame_done(struct frame_buf *b)
{
	free(b->data);
	*b = (struct frame_buf){.max = b->max};
}

int frame_pack(const json_t *obj, char **ret, size_t *ret_len, struct err *e)
{
	char *text = json_dumps(obj, JSON_COMPACT);
	size_t len;

	if (!text)
		return err_nomem(e);
	len = strlen(text);
	if (len > FRAME_MAX) {
		free(text);
		return err_sys(e, -EMSGSIZE, NULL, "message of %zu bytes is larger than %u bytes", len,
			       FRAME_MAX);
	}
	*ret = text;
	*ret_len = len + 1;
	return 0;
}
