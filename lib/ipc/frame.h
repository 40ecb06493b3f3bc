/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Varlink framing: one JSON object, ended by a NUL byte. Splits a byte stream into frames and makes frames
 * from jansson objects, within limits; never touches a socket. Rests on varlink.org's protocol description.
 */
#pragma once

#include "lib/base/err.h"

#include <jansson.h>
#include <stddef.h>

#define FRAME_MAX         (16u << 20) /* bytes of a reply or a request */
#define FRAME_REQUEST_MAX (4u << 20)
#define FRAME_DEPTH_MAX   16u /* nested arrays and objects */

/* Set max (bytes of one frame without its NUL), leave the rest zero. */
struct frame_buf {
	char *data;
	size_t len, room, max;
	size_t start; /* of the first frame that was not taken yet */
	size_t open;  /* bytes at the end that belong to an unfinished frame */
};

/* Appends received bytes; -EMSGSIZE, with b as it was, when a frame grows over b->max. */
int frame_feed(struct frame_buf *b, const void *data, size_t len, struct err *e);
/*
 * Takes the next whole frame out of b: 1 and *ret (caller json_decref), 0 when none is whole. -EBADMSG when
 * it is not one JSON object within the limits; it is taken out all the same.
 */
int frame_next(struct frame_buf *b, json_t **ret, struct err *e);
void frame_done(struct frame_buf *b);

/* The bytes of obj with their NUL; caller frees *ret. */
int frame_pack(const json_t *obj, char **ret, size_t *ret_len, struct err *e);
