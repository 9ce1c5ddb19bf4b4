/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* A snapshot's file of any sections, packed and with checksums, so that what is behind these is reached. */
#include "snapfile.h"

#include <stdlib.h>

#include <zstd.h>

static const char *const tags[] = {"STRS", "DATA", "META", "NODE", "PORT",
				   "GAPS", "ANSW", "SMQU", "END.", "more"};
#define TAGS (sizeof(tags) / sizeof(tags[0]))

static void put_section(struct snapshot_bytes *to, const char *tag, const uint8_t *raw, size_t size)
{
	size_t bound = ZSTD_compressBound(size), packed_size = 0;
	uint8_t *packed = malloc(bound + 1);
	struct snapshot_bytes head = {0};

	require(packed);
	if (size > 0) {
		packed_size = ZSTD_compress(packed, bound, raw, size, 1);
		require(!ZSTD_isError(packed_size));
	}
	snapshot_put(&head, tag, 4);
	snapshot_put_number(&head, packed_size, 4);
	snapshot_put_number(&head, size, 4);
	snapshot_put(to, head.at, head.size);
	snapshot_put_number(to, snapshot_crc(snapshot_crc(0, head.at, head.size), packed, packed_size), 4);
	snapshot_put(to, packed, packed_size);
	free(head.at);
	free(packed);
}

void fuzz_snapshot_file(struct fuzz *in, struct snapshot_bytes *to)
{
	snapshot_put(to, SNAPSHOT_MAGIC, 8);
	snapshot_put_number(to, SNAPSHOT_MAJOR, 2);
	snapshot_put_number(to, SNAPSHOT_MINOR, 2);
	snapshot_put_number(to, 0, 4);
	snapshot_put_number(to, fuzz_byte(in), 8);
	snapshot_put_number(to, 0, 4);
	snapshot_put_number(to, snapshot_crc(0, to->at, to->size), 4);
	while (in->left >= 3) {
		const char *tag = tags[fuzz_below(in, TAGS)];
		size_t size = fuzz_byte(in);

		size |= (size_t)fuzz_byte(in) << 8;
		if (size > in->left)
			size = in->left;
		put_section(to, tag, in->at, size);
		in->at += size;
		in->left -= size;
	}
	put_section(to, "END.", NULL, 0);
	require(!to->lost);
}
