/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Several snapshots in one file, each whole and under its fabric's name: docs/snapshot-format.md. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "snapshot_parts.h"

#define SET_MAJOR 1
#define SET_HEADER 16
#define NAME_MAX_LENGTH 255

bool snapshot_set_is(const void *data, size_t size)
{
	return size >= strlen(SNAPSHOT_SET_MAGIC) && memcmp(data, SNAPSHOT_SET_MAGIC, strlen(SNAPSHOT_SET_MAGIC)) == 0;
}

void snapshot_set_clear(struct snapshot_set *set)
{
	for (size_t i = 0; i < set->count; i++) {
		free(set->parts[i].name);
		free(set->parts[i].data);
		snapshot_free(set->parts[i].snapshot);
	}
	free(set->parts);
	*set = (struct snapshot_set){0};
}

/* By name; of one fabric the newest first; the rest so that the order in which they were given leaves no trace. */
static int by_name(const void *a, const void *b)
{
	const struct snapshot_part *x = a, *y = b;
	int c = strcmp(x->name, y->name);

	if (c != 0)
		return c;
	if (x->snapshot->taken != y->snapshot->taken)
		return x->snapshot->taken > y->snapshot->taken ? -1 : 1;
	if (x->size != y->size)
		return x->size < y->size ? -1 : 1;
	return memcmp(x->data, y->data, x->size);
}

void snapshot_set_order(struct snapshot_set *set)
{
	size_t kept = 0;

	if (set->count > 0)
		qsort(set->parts, set->count, sizeof(*set->parts), by_name);
	for (size_t i = 0; i < set->count; i++) {
		struct snapshot_part *part = &set->parts[i];

		if (kept > 0 && by_name(&set->parts[kept - 1], part) == 0) {
			free(part->name);
			free(part->data);
			snapshot_free(part->snapshot);
			continue;
		}
		set->parts[kept++] = *part;
	}
	set->count = kept;
}

/* Adds one that was read; what it is given is copied. */
static int add(struct snapshot_set *set, const char *name, size_t length, const uint8_t *data, size_t size,
	       struct snapshot_fault *fault)
{
	struct snapshot_part *grown, part = {.size = size};
	int error = 0;

	if (set->count == SNAPSHOT_SET_MAX)
		return snapshot_bad(fault, "more than %d snapshots", SNAPSHOT_SET_MAX);
	error = snapshot_decode(data, size, &part.snapshot, fault);
	if (error != 0)
		return error;
	part.name = text_utf8(name, length);
	part.data = malloc(size + 1);
	grown = array_grow(set->parts, &set->room, set->count + 1, sizeof(*grown));
	if (grown)
		set->parts = grown;
	if (!grown || !part.name || !part.data) {
		free(part.name);
		free(part.data);
		snapshot_free(part.snapshot);
		return -ENOMEM;
	}
	memcpy(part.data, data, size);
	set->parts[set->count++] = part;
	return 0;
}

struct entry {
	const char *name;
	size_t length;
	uint64_t size;
};

/* The table of what is in a file, and where its first snapshot begins. */
static int read_entries(const uint8_t *data, size_t size, struct entry *entries, size_t count, size_t *at, struct snapshot_fault *fault)
{
	uint64_t total = 0;

	for (size_t i = 0; i < count; i++) {
		size_t length;

		fault->offset = *at;
		if (size - *at < 2)
			return snapshot_bad(fault, "the file ends in its table");
		length = (size_t)snapshot_get_number(data + *at, 2);
		if (length > NAME_MAX_LENGTH)
			return snapshot_bad(fault, "a name of %zu bytes", length);
		if (size - *at < 2 + length + 8)
			return snapshot_bad(fault, "the file ends in its table");
		entries[i] = (struct entry){(const char *)data + *at + 2, length, snapshot_get_number(data + *at + 2 + length, 8)};
		for (size_t n = 0; n < length;) {
			size_t step = text_char(entries[i].name + n, length - n);

			if (step == 0)
				return snapshot_bad(fault, "a name that cannot be shown");
			n += step;
		}
		if (entries[i].size > size || total + entries[i].size > size)
			return snapshot_bad(fault, "a snapshot larger than the file");
		total += entries[i].size;
		*at += 2 + length + 8;
	}
	fault->offset = *at;
	if (size - *at < 4)
		return snapshot_bad(fault, "the file ends in its table");
	if (snapshot_get_number(data + *at, 4) != snapshot_crc(0, data, *at))
		return snapshot_bad(fault, "the table's checksum is wrong");
	*at += 4;
	if (size - *at != total)
		return snapshot_bad(fault, "%zu bytes of snapshots, not %llu", size - *at, (unsigned long long)total);
	return 0;
}

/* Each part's own faults are told where they are in the file. */
static int read_parts(struct snapshot_set *set, const uint8_t *data, const struct entry *entries, size_t count, size_t at,
		      struct snapshot_fault *fault)
{
	for (size_t i = 0; i < count; i++) {
		int error = add(set, entries[i].name, entries[i].length, data + at, (size_t)entries[i].size, fault);

		if (error != 0) {
			fault->offset += at;
			return error;
		}
		fault->offset = at;
		if (i > 0 && by_name(&set->parts[i - 1], &set->parts[i]) >= 0)
			return snapshot_bad(fault, "not behind the snapshot before it");
		at += (size_t)entries[i].size;
	}
	return 0;
}

int snapshot_set_decode(const void *bytes, size_t size, struct snapshot_set *set, struct snapshot_fault *fault)
{
	const uint8_t *data = bytes;
	struct entry *entries = NULL;
	size_t at = SET_HEADER, count;
	int error;

	*set = (struct snapshot_set){0};
	*fault = (struct snapshot_fault){0};
	if (size < SET_HEADER || !snapshot_set_is(data, size))
		return snapshot_bad(fault, "not a file of several snapshots");
	if (snapshot_get_number(data + 8, 2) != SET_MAJOR)
		return snapshot_bad(fault, "version %u, which this ibqos does not know", (unsigned)snapshot_get_number(data + 8, 2));
	count = (size_t)snapshot_get_number(data + 12, 4);
	if (count == 0 || count > SNAPSHOT_SET_MAX)
		return snapshot_bad(fault, "%zu snapshots, not 1 to %d", count, SNAPSHOT_SET_MAX);
	entries = calloc(count, sizeof(*entries));
	if (!entries)
		return -ENOMEM;
	error = read_entries(data, size, entries, count, &at, fault);
	if (error == 0)
		error = read_parts(set, data, entries, count, at, fault);
	free(entries);
	if (error != 0)
		snapshot_set_clear(set);
	return error;
}

int snapshot_set_add(struct snapshot_set *set, const char *name, const void *data, size_t size, struct snapshot_fault *fault)
{
	struct snapshot_set inner;
	int error;

	*fault = (struct snapshot_fault){0};
	if (!snapshot_set_is(data, size)) {
		size_t before = set->count;

		error = add(set, name ? name : "", name ? strlen(name) : 0, data, size, fault);
		if (error == 0 && !name) {
			free(set->parts[before].name);
			set->parts[before].name = strdup(set->parts[before].snapshot->label);
			error = set->parts[before].name ? 0 : -ENOMEM;
		}
		return error;
	}
	if (name)
		return -EEXIST; /* its fabrics have names */
	error = snapshot_set_decode(data, size, &inner, fault);
	for (size_t i = 0; error == 0 && i < inner.count; i++)
		error = add(set, inner.parts[i].name, strlen(inner.parts[i].name), inner.parts[i].data, inner.parts[i].size, fault);
	snapshot_set_clear(&inner);
	return error;
}

int snapshot_set_encode(const struct snapshot_set *set, uint8_t **data, size_t *size)
{
	struct snapshot_bytes to = {0};

	snapshot_put(&to, SNAPSHOT_SET_MAGIC, 8);
	snapshot_put_number(&to, SET_MAJOR, 2);
	snapshot_put_number(&to, 0, 2);
	snapshot_put_number(&to, set->count, 4);
	for (size_t i = 0; i < set->count; i++) {
		size_t length = strlen(set->parts[i].name);

		snapshot_put_number(&to, length, 2);
		snapshot_put(&to, set->parts[i].name, length);
		snapshot_put_number(&to, set->parts[i].size, 8);
	}
	if (!to.lost)
		snapshot_put_number(&to, snapshot_crc(0, to.at, to.size), 4);
	for (size_t i = 0; i < set->count; i++)
		snapshot_put(&to, set->parts[i].data, set->parts[i].size);
	*data = to.lost ? NULL : to.at;
	*size = to.size;
	if (!to.lost)
		return 0;
	free(to.at);
	return -ENOMEM;
}

size_t snapshot_set_next(const struct snapshot_set *set, size_t first)
{
	size_t next = first;

	while (next < set->count && strcmp(set->parts[next].name, set->parts[first].name) == 0)
		next++;
	return next;
}

int snapshot_set_fabric(const struct snapshot_set *set, size_t first, struct snapshot **snapshot, struct snapshot_merged *result)
{
	size_t count = snapshot_set_next(set, first) - first;
	const struct snapshot **parts = calloc(count + 1, sizeof(const struct snapshot *));
	int error;

	*snapshot = NULL;
	if (!parts)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++)
		parts[i] = set->parts[first + i].snapshot;
	error = snapshot_merge(parts, count, set->parts[first].name, snapshot, result);
	free(parts);
	return error;
}
