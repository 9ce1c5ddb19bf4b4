/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The error_thresholds file of infiniband-diags (ibqueryerrors.c, set_thresholds()) and its suppressions.
 */
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "ibqos/counters.h"

static void bad(struct finding_list *findings, const char *path, unsigned line, const char *what, size_t size, const char *got)
{
	struct finding *f = finding_at(finding_add(findings, FINDING_THRESHOLDS_BAD), path, line, 0);

	finding_set(&f->what, "'%.*s'", size > 80 ? 80 : (int)size, what);
	finding_set(&f->got, "%s", got);
}

/* As strtoul(): decimal, 0x…, 0…; but nothing may follow, and nothing is cut. */
static bool read_value(const char *text, size_t size, uint64_t *value)
{
	char copy[32], *end;

	while (size > 0 && isspace((unsigned char)text[size - 1]))
		size--;
	if (size == 0 || size >= sizeof(copy) || !isdigit((unsigned char)text[0]))
		return false;
	memcpy(copy, text, size);
	copy[size] = '\0';
	errno = 0;
	*value = strtoull(copy, &end, 0);
	return errno == 0 && *end == '\0';
}

/* The counter of this name, but no counter of data; COUNTERS: none. */
static enum counter_id find(const char *name, size_t size)
{
	unsigned id = 0;

	while (id < COUNTERS && (strlen(counter_row(id)->name) != size || strncmp(counter_row(id)->name, name, size) != 0))
		id++;
	return id;
}

static void read_line(const char *path, unsigned number, const char *line, size_t size, struct finding_list *findings,
		      struct counter_thresholds *thresholds)
{
	const char *equals = memchr(line, '=', size);
	enum counter_id id;
	uint64_t value;

	if (size == 0 || line[0] == '#' || (size == 1 && line[0] == '\r'))
		return;
	if (!equals) {
		bad(findings, path, number, line, size, "no '=' in it");
		return;
	}
	id = find(line, (size_t)(equals - line));
	if (id == COUNTERS) {
		bad(findings, path, number, line, (size_t)(equals - line), "no counter has this name");
		return;
	}
	if (!read_value(equals + 1, size - (size_t)(equals + 1 - line), &value)) {
		bad(findings, path, number, line, size, "no whole number behind the '='");
		return;
	}
	thresholds->given |= COUNTER_BIT(id);
	thresholds->value[id] = value;
}

void counter_thresholds_parse(const char *path, const char *text, struct finding_list *findings,
			      struct counter_thresholds *thresholds)
{
	unsigned number = 1;

	for (; *text; number++) {
		size_t size = strcspn(text, "\n");

		read_line(path, number, text, size, findings, thresholds);
		text += size + (text[size] == '\n');
	}
}

bool counter_suppress(struct counter_thresholds *thresholds, const char *names, const char **wrong, size_t *size)
{
	for (;;) {
		enum counter_id id;

		*wrong = names;
		*size = strcspn(names, ",");
		id = find(names, *size);
		if (id == COUNTERS)
			return false;
		thresholds->suppressed |= COUNTER_BIT(id);
		names += *size;
		if (!*names++)
			return true;
	}
}

void counter_suppress_common(struct counter_thresholds *thresholds)
{
	thresholds->suppressed |= COUNTER_BIT(COUNTER_RCV_RELAY);
}
