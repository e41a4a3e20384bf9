/* SPDX-License-Identifier: GPL-2.0-or-later */
/* err.c - fills struct err; see err.h. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include "common/err.h"

int err_set(struct err *e, int code, const char *fmt, ...)
{
	va_list ap;

	if (!e)
		return code;
	va_start(ap, fmt);
	vsnprintf(e->text, sizeof(e->text), fmt, ap);
	va_end(ap);
	return code;
}

int err_prefix(struct err *e, int code, const char *fmt, ...)
{
	char old[sizeof(e->text)];
	va_list ap;
	size_t n;

	if (!e)
		return code;
	memcpy(old, e->text, sizeof(old));
	va_start(ap, fmt);
	vsnprintf(e->text, sizeof(e->text), fmt, ap);
	va_end(ap);
	n = strlen(e->text);
	snprintf(e->text + n, sizeof(e->text) - n, ": %s", old);
	return code;
}
