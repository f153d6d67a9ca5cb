/* SPDX-License-Identifier: Apache-2.0 */
/* Errors as values: the code, and one line filled by whoever knows the reason. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "ops.h"

static const struct {
	const char *name, *python, *text;
} rows[STATUS_END] = {
	[OK] = {"OK", "", "no error"},
#define ERROR(code, id, py, text) [code] = {"E_" #id, py, text},
#include "errors.def"
#undef ERROR
};

enum status err_set(struct err *e, enum status code, const char *fmt, ...)
{
	va_list ap;

	if (!e)
		return code;
	e->code = code;
	va_start(ap, fmt);
	vsnprintf(e->text, sizeof e->text, fmt, ap);
	va_end(ap);
	return code;
}

enum status err_context(struct err *e, const char *fmt, ...)
{
	char text[LIMIT_ERROR_TEXT];
	va_list ap;
	int n;

	if (!e)
		return E_INTERNAL;
	va_start(ap, fmt);
	n = vsnprintf(text, sizeof text, fmt, ap);
	va_end(ap);
	if (n >= 0 && n < (int)sizeof text - 2) {
		size_t room = sizeof text - (size_t)n - 3;

		memcpy(text + n, ": ", 2);
		room = strnlen(e->text, room);
		memcpy(text + n + 2, e->text, room);
		text[(size_t)n + 2 + room] = 0;
		memcpy(e->text, text, sizeof text);
	}
	return e->code;
}

const char *status_name(enum status s)
{
	return s < STATUS_END && rows[s].name ? rows[s].name : "E_?";
}

const char *status_python(enum status s)
{
	return s < STATUS_END && rows[s].python ? rows[s].python : "braze.BrazeError";
}

const char *status_text(enum status s)
{
	return s < STATUS_END && rows[s].text ? rows[s].text : "unknown error";
}
