/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* A snapshot's file: header and sections, each packed by zstd and with a checksum of its own. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <zstd.h>

#include "snapshot_parts.h"

/* Above this a snapshot takes several times longer to write for a few percent less. */
#define LEVEL 9

uint32_t snapshot_crc(uint32_t crc, const void *bytes, size_t size)
{
	static const uint32_t nibble[16] = {0x00000000, 0x1db71064, 0x3b6e20c8, 0x26d930ac,
					    0x76dc4190, 0x6b6b51f4, 0x4db26158, 0x5005713c,
					    0xedb88320, 0xf00f9344, 0xd6d6a3e8, 0xcb61b38c,
					    0x9b64c2b0, 0x86d3d2d4, 0xa00ae278, 0xbdbdf21c};
	const uint8_t *at = bytes;

	crc = ~crc;
	for (size_t i = 0; i < size; i++) {
		crc = nibble[(crc ^ at[i]) & 15] ^ crc >> 4;
		crc = nibble[(crc ^ at[i] >> 4) & 15] ^ crc >> 4;
	}
	return ~crc;
}

static void put_header(const struct snapshot *snapshot, struct snapshot_bytes *to)
{
	snapshot_put(to, SNAPSHOT_MAGIC, 8);
	snapshot_put_number(to, SNAPSHOT_MAJOR, 2);
	snapshot_put_number(to, SNAPSHOT_MINOR, 2);
	snapshot_put_number(to, 0, 4);
	snapshot_put_number(to, snapshot->taken, 8);
	snapshot_put_number(to, snapshot->act_count, 4);
	if (!to->lost)
		snapshot_put_number(to, snapshot_crc(0, to->at, to->size), 4);
}

/* Packs a section's bytes behind its head. */
static void put_section(const char *tag, const struct snapshot_bytes *raw, struct snapshot_bytes *to)
{
	size_t bound = ZSTD_compressBound(raw->size), size = 0;
	struct snapshot_bytes head = {0};
	uint8_t *packed = NULL;

	if (raw->lost || to->lost) {
		to->lost = true;
		return;
	}
	if (raw->size > 0) {
		packed = malloc(bound);
		size = packed ? ZSTD_compress(packed, bound, raw->at, raw->size, LEVEL) : 0;
		if (!packed || ZSTD_isError(size)) {
			free(packed);
			to->lost = true;
			return;
		}
	}
	snapshot_put(&head, tag, 4);
	snapshot_put_number(&head, size, 4);
	snapshot_put_number(&head, raw->size, 4);
	if (!head.lost)
		snapshot_put_number(&head, snapshot_crc(snapshot_crc(0, head.at, head.size), packed, size),
				    4);
	snapshot_put(to, head.at, head.size);
	snapshot_put(to, packed, size);
	to->lost |= head.lost;
	free(head.at);
	free(packed);
}

int snapshot_encode(const struct snapshot *snapshot, uint8_t **data, size_t *size)
{
	struct snapshot_bytes to = {0}, raw = {0};
	const struct snapshot_bytes none = {0};

	put_header(snapshot, &to);
	snapshot_pool_write(&snapshot->strings, &raw);
	put_section("STRS", &raw, &to);
	raw.size = 0;
	snapshot_pool_write(&snapshot->data, &raw);
	put_section("DATA", &raw, &to);
	for (unsigned i = 0; i < SNAPSHOT_TABLES; i++) {
		raw.size = 0;
		snapshot_table_write(snapshot, &snapshot_tables[i], &raw);
		put_section(snapshot_tables[i].tag, &raw, &to);
	}
	put_section("END.", &none, &to);
	free(raw.at);
	if (to.lost) {
		free(to.at);
		*data = NULL;
		return -ENOMEM;
	}
	*data = to.at;
	*size = to.size;
	return 0;
}
