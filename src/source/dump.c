/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* What readers of dumps share: faults, and answers by port. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ibqos/util.h"

#include "dump.h"

/* What there is room for, cut between two characters. */
static void put_text(char *to, size_t room, const char *text)
{
	size_t size = strlen(text);

	if (size >= room) {
		size = room - 1;
		while (size > 0 && ((unsigned char)text[size] & 0xc0) == 0x80)
			size--;
	}
	memcpy(to, text, size);
	to[size] = '\0';
}

static int add_fault(struct dump_faults *faults, struct dump_fault fault, const char *format, va_list args)
{
	char *text = NULL, *shown = NULL;

	if (faults->count < DUMP_FAULTS) {
		/* it may quote the file, which may be anything */
		if (vasprintf(&text, format, args) < 0)
			text = NULL;
		shown = text ? text_utf8(text, strlen(text)) : NULL;
		put_text(fault.text, sizeof(fault.text), shown ? shown : format);
		faults->items[faults->count] = fault;
		free(shown);
		free(text);
	}
	faults->count++;
	return -EBADMSG;
}

int dump_bad(struct dump_faults *faults, unsigned line, unsigned column, const char *format, ...)
{
	struct dump_fault fault = {.line = line, .column = column};
	va_list args;
	int error;

	va_start(args, format);
	error = add_fault(faults, fault, format, args);
	va_end(args);
	return error;
}

int dump_bad_byte(struct dump_faults *faults, size_t offset, const char *format, ...)
{
	struct dump_fault fault = {.offset = offset, .binary = true};
	va_list args;
	int error;

	va_start(args, format);
	error = add_fault(faults, fault, format, args);
	va_end(args);
	return error;
}

int dump_keep(struct dump_answers *answers, uint32_t port, uint8_t mgmt_class, uint16_t attribute, uint32_t modifier,
	      const uint8_t *data, size_t size)
{
	struct dump_answer *items = array_grow(answers->items, &answers->room, answers->count + 1, sizeof(*items));
	uint8_t *bytes;

	if (!items)
		return -ENOMEM;
	answers->items = items;
	while (size > 0 && data[size - 1] == 0)
		size--;
	bytes = array_grow(answers->bytes, &answers->byte_room, answers->size + size + 1, 1);
	if (!bytes)
		return -ENOMEM;
	answers->bytes = bytes;
	if (size > 0)
		memcpy(bytes + answers->size, data, size);
	items[answers->count++] = (struct dump_answer){.port = port,
						       .modifier = modifier,
						       .attribute = attribute,
						       .mgmt_class = mgmt_class,
						       .size = (uint8_t)size,
						       .at = answers->size};
	answers->size += size;
	return 0;
}

#define COMPARE(a, b) (((a) > (b)) - ((a) < (b)))

static int by_question(const void *left, const void *right)
{
	const struct dump_answer *a = left, *b = right;
	int order = COMPARE(a->port, b->port);

	order = order ? order : COMPARE(a->mgmt_class, b->mgmt_class);
	order = order ? order : COMPARE(a->attribute, b->attribute);
	order = order ? order : COMPARE(a->modifier, b->modifier);
	return order;
}

static int by_question_and_place(const void *left, const void *right)
{
	const struct dump_answer *a = left, *b = right;
	int order = by_question(a, b);

	return order ? order : COMPARE(a->at, b->at);
}

void dump_order(struct dump_answers *answers)
{
	size_t kept = 0;

	if (answers->count > 0)
		qsort(answers->items, answers->count, sizeof(*answers->items), by_question_and_place);
	for (size_t i = 0; i < answers->count; i++)
		if (kept == 0 || by_question(&answers->items[kept - 1], &answers->items[i]) != 0)
			answers->items[kept++] = answers->items[i];
	answers->count = kept;
}

bool dump_find(const struct dump_answers *answers, uint32_t port, uint8_t mgmt_class, uint16_t attribute,
	       uint32_t modifier, uint8_t data[MAD_DATA_MAX])
{
	const struct dump_answer key = {
		.port = port, .modifier = modifier, .attribute = attribute, .mgmt_class = mgmt_class};
	const struct dump_answer *found = NULL;

	if (answers->count > 0)
		found = bsearch(&key, answers->items, answers->count, sizeof(key), by_question);
	if (!found)
		return false;
	memset(data, 0, MAD_DATA_MAX);
	memcpy(data, answers->bytes + found->at, found->size);
	return true;
}

void dump_result_clear(struct dump_result *result)
{
	fabric_free(result->fabric);
	free(result->answers.items);
	free(result->answers.bytes);
	free(result->lacks);
	*result = (struct dump_result){0};
}
