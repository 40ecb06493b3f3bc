/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The one error object: set where a thing goes wrong, carried up untouched, printed once at the edge. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/*
 * object: what the error is about (a link, property, path); may be empty.
 * text:   what is wrong and what to do, one line without the object and without a full stop.
 * mend:   the user can mend it (exit status 1); otherwise exit status 2.
 * code:   negative errno of the cause.
 */
struct err {
	int code;
	bool mend;
	char object[80];
	char text[512];
};

/* Fills e (which may be NULL) with something the user can mend; returns code (a negative errno). */
int err_user(struct err *e, int code, const char *object, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));

/* The same for what the user cannot mend: kernel, disk, memory. */
int err_sys(struct err *e, int code, const char *object, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));

/* -ENOMEM with its text. */
int err_nomem(struct err *e);

/* Writes "object: text", or text alone without an object, into buf; returns buf. */
const char *err_str(const struct err *e, char *buf, size_t size);
