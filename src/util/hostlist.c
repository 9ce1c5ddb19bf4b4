/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Lists of host names as batch systems write them: "gpu-[001-008,012],login-1", any number of brackets in a
 * name, numbers as wide as the first of their range.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "ibqos/util.h"

#define DIGITS_MAX 9 /* of a number in brackets */
#define NAME_MAX_BYTES 255

struct expansion {
	struct hostlist *list;
	char **fault;
	char name[NAME_MAX_BYTES + 1]; /* as far as it is made */
	size_t length;
};

__attribute__((format(printf, 2, 3))) static int refuse(struct expansion *e, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	if (vasprintf(e->fault, format, args) < 0)
		*e->fault = NULL;
	va_end(args);
	return *e->fault ? -EINVAL : -ENOMEM;
}

static int add_name(struct expansion *e)
{
	struct hostlist *list = e->list;
	char **names;

	if (list->count == HOSTLIST_MAX)
		return refuse(e, "more than %d names", HOSTLIST_MAX);
	names = array_grow(list->names, &list->room, list->count + 1, sizeof(*names));
	if (!names)
		return -ENOMEM;
	list->names = names;
	names[list->count] = strndup(e->name, e->length);
	if (!names[list->count])
		return -ENOMEM;
	list->count++;
	return 0;
}

static int append(struct expansion *e, const char *text, size_t size)
{
	if (e->length + size > NAME_MAX_BYTES)
		return refuse(e, "a name of more than %d bytes", NAME_MAX_BYTES);
	memcpy(e->name + e->length, text, size);
	e->length += size;
	return 0;
}

/* Digits up to the first other character; -1: none, or too many. */
static long number(const char **at, const char *end, int *width)
{
	long value = 0;

	for (*width = 0; *at < end && **at >= '0' && **at <= '9'; (*at)++, (*width)++) {
		if (*width == DIGITS_MAX)
			return -1;
		value = value * 10 + (**at - '0');
	}
	return *width > 0 ? value : -1;
}

static int expand(struct expansion *e, const char *at, const char *end);

/* One "001-008" or "012" of a bracket, each with what comes behind the bracket. */
static int expand_range(struct expansion *e, const char *range, const char *range_end, const char *rest, const char *end)
{
	size_t before = e->length;
	const char *at = range;
	int width, last_width, error = 0;
	long first = number(&at, range_end, &width), last = first;
	char text[DIGITS_MAX + 16];

	if (first >= 0 && at < range_end && *at == '-') {
		at++;
		last = number(&at, range_end, &last_width);
	}
	if (first < 0 || last < 0 || at != range_end)
		return refuse(e, "'%.*s' in brackets is no number and no range of numbers", (int)(range_end - range), range);
	if (last < first)
		return refuse(e, "range '%.*s' goes backwards", (int)(range_end - range), range);
	for (long i = first; error == 0 && i <= last; i++) {
		int size = snprintf(text, sizeof(text), "%0*ld", width, i);

		e->length = before;
		error = append(e, text, (size_t)size);
		if (error == 0)
			error = expand(e, rest, end);
	}
	e->length = before;
	return error;
}

/* One name without commas outside of brackets, from `at` on; what is before is in e->name. */
static int expand(struct expansion *e, const char *at, const char *end)
{
	const char *open = memchr(at, '[', (size_t)(end - at)), *close, *next;
	size_t before = e->length;
	int error;

	if (!open) {
		if (memchr(at, ']', (size_t)(end - at)))
			return refuse(e, "']' without '['");
		error = append(e, at, (size_t)(end - at));
		if (error == 0)
			error = add_name(e);
		e->length = before;
		return error;
	}
	close = memchr(open, ']', (size_t)(end - open));
	if (!close)
		return refuse(e, "'[' without ']'");
	if (memchr(at, ']', (size_t)(open - at)))
		return refuse(e, "']' without '['");
	error = append(e, at, (size_t)(open - at));
	for (const char *range = open + 1; error == 0; range = next + 1) {
		next = memchr(range, ',', (size_t)(close - range));
		if (!next)
			next = close;
		error = expand_range(e, range, next, close + 1, end);
		if (next == close)
			break;
	}
	e->length = before;
	return error;
}

/* The comma that ends the name at `at`, outside of brackets, or the end of the text. */
static const char *name_end(const char *at)
{
	bool inside = false;

	for (; *at && (inside || *at != ','); at++)
		inside = *at == '[' || (inside && *at != ']');
	return at;
}

int hostlist_expand(const char *text, struct hostlist *list, char **fault)
{
	struct expansion e = {.list = list, .fault = fault};
	int error = 0;

	*list = (struct hostlist){0};
	*fault = NULL;
	for (const char *at = text, *end; error == 0; at = end + 1) {
		end = name_end(at);
		error = end == at ? refuse(&e, "an empty name") : expand(&e, at, end);
		if (*end == '\0')
			break;
	}
	if (error != 0)
		hostlist_clear(list);
	return error;
}

void hostlist_clear(struct hostlist *list)
{
	for (size_t i = 0; i < list->count; i++)
		free(list->names[i]);
	free(list->names);
	*list = (struct hostlist){0};
}
