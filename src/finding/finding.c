/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * One finding, and the table of the codes it may have.
 */
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "ibqos/finding.h"

static const struct finding_kind kinds[] = {
#define FINDING_CODE(symbol, text, severity, title, advice) {text, FINDING_##severity, title, advice},
#include "ibqos/finding_codes.def"
#undef FINDING_CODE
};

const struct finding_kind *finding_kind(enum finding_code code)
{
	return (unsigned)code < FINDING_CODES ? &kinds[code] : NULL;
}

const char *finding_severity_name(enum finding_severity severity)
{
	switch (severity) {
	case FINDING_NOTE:
		return "note";
	case FINDING_WARNING:
		return "warning";
	case FINDING_UNKNOWN:
		return "unknown";
	case FINDING_CRITICAL:
		return "critical";
	}
	return "unknown";
}

static bool is_printable(const char *text)
{
	size_t left = strlen(text);

	while (left > 0) {
		size_t length = text_char(text, left);

		if (length == 0)
			return false;
		text += length;
		left -= length;
	}
	return true;
}

void finding_set(char **member, const char *format, ...)
{
	va_list args;
	char *text;

	va_start(args, format);
	if (vasprintf(&text, format, args) < 0)
		text = NULL;
	va_end(args);
	if (text && !is_printable(text)) {
		char *made = text_utf8(text, strlen(text));

		free(text);
		text = made;
	}
	free(*member); /* only now: the arguments may have pointed into it */
	*member = text;
}

struct finding *finding_at(struct finding *f, const char *file, unsigned line, unsigned column)
{
	finding_set(&f->file, "%s", file);
	f->line = line;
	f->column = column;
	return f;
}
