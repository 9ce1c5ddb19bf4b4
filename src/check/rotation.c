/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * rotation: which parts of a fabric were looked at when, as a file of lines: a head with the number of parts and what
 * was compared with, then "part MS EXIT WHO" for each that was looked at.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ibqos/check.h"
#include "ibqos/util.h"

#define HEAD "ibqos-rotation 1"
#define FIELD_MAX 24

int verify_rotation_new(uint32_t parts, uint64_t config, struct verify_rotation *rotation)
{
	*rotation = (struct verify_rotation){.parts = parts, .config = config};
	rotation->look = calloc((size_t)parts + 1, sizeof(*rotation->look));
	return rotation->look ? 0 : -ENOMEM;
}

void verify_rotation_clear(struct verify_rotation *rotation)
{
	free(rotation->look);
	*rotation = (struct verify_rotation){0};
}

/* The next field of a line, up to `end`, as a number; *text goes behind it and what ends it. */
static bool take_number(const char **text, char end, uint64_t max, uint64_t *value)
{
	const char *stop = strchr(*text, end);
	char field[FIELD_MAX];

	if (!stop || stop - *text >= FIELD_MAX)
		return false;
	memcpy(field, *text, (size_t)(stop - *text));
	field[stop - *text] = '\0';
	*text = stop + 1;
	return text_to_u64(field, max, value) == 0;
}

static int read_looks(struct verify_rotation *rotation, const char *text)
{
	uint64_t parts, config, part, ms, code, who;
	bool ours;

	if (strncmp(text, HEAD " ", sizeof(HEAD)) != 0)
		return -EINVAL;
	text += sizeof(HEAD);
	if (!take_number(&text, ' ', VERIFY_PARTS_MAX, &parts) || !take_number(&text, '\n', UINT64_MAX, &config))
		return -EINVAL;
	ours = parts == rotation->parts && config == rotation->config;
	while (*text) {
		if (!take_number(&text, ' ', parts, &part) || !take_number(&text, ' ', INT64_MAX, &ms) ||
		    !take_number(&text, ' ', IBQOS_EXIT_UNKNOWN, &code) || !take_number(&text, '\n', UINT64_MAX, &who) ||
		    part == 0 || ms == 0)
			return -EINVAL;
		if (ours)
			rotation->look[part - 1] = (struct verify_look){ms, who, (uint8_t)code};
	}
	return 0;
}

int verify_rotation_read(struct verify_rotation *rotation, const char *text)
{
	int error = read_looks(rotation, text);

	if (error != 0)
		memset(rotation->look, 0, rotation->parts * sizeof(*rotation->look));
	return error;
}

char *verify_rotation_write(const struct verify_rotation *rotation)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	if (!out)
		return NULL;
	fprintf(out, HEAD " %" PRIu32 " 0x%016" PRIx64 "\n", rotation->parts, rotation->config);
	for (uint32_t i = 0; i < rotation->parts; i++)
		if (rotation->look[i].ms)
			fprintf(out, "%" PRIu32 " %" PRIu64 " %u 0x%016" PRIx64 "\n", i + 1, rotation->look[i].ms,
				rotation->look[i].exit, rotation->look[i].who);
	return text_stream_end(out, &text) == 0 ? text : NULL;
}

uint32_t verify_rotation_next(const struct verify_rotation *rotation)
{
	uint32_t next = 0;

	for (uint32_t i = 1; i < rotation->parts; i++)
		if (rotation->look[i].ms < rotation->look[next].ms)
			next = i;
	return next + 1;
}
