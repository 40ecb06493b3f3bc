/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Fills and formats struct err; never prints, logs or exits. */
#include "lib/base/err.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>

static int fill(struct err *e, int code, bool mend, const char *object, const char *fmt, va_list ap)
{
	if (!e)
		return code;
	e->code = code;
	e->mend = mend;
	snprintf(e->object, sizeof(e->object), "%s", object ? object : "");
	vsnprintf(e->text, sizeof(e->text), fmt, ap);
	return code;
}

int err_user(struct err *e, int code, const char *object, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	code = fill(e, code, true, object, fmt, ap);
	va_end(ap);
	return code;
}

int err_sys(struct err *e, int code, const char *object, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	code = fill(e, code, false, object, fmt, ap);
	va_end(ap);
	return code;
}

int err_nomem(struct err *e)
{
	return err_sys(e, -ENOMEM, NULL, "out of memory");
}

const char *err_str(const struct err *e, char *buf, size_t size)
{
	if (e->object[0])
		snprintf(buf, size, "%s: %s", e->object, e->text);
	else
		snprintf(buf, size, "%s", e->text);
	return buf;
}
