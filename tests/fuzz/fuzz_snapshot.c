/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Any bytes as a snapshot. The first byte of the input says how they are meant: even, as a file; odd, as
 * sections (which, length of two bytes, bytes), which get right checksums here, so that what is behind these
 * is reached.
 *
 * A file that is refused has a reason, and a place within it. One that is taken gives a fabric with whole
 * indexes; written and read again it is the same, byte for byte; whatever is asked is answered, each query
 * once; redacted, no GUID of before is left, and by the same map the same comes out.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"
#include "snapfile.h"

static void check_fabric(const struct snapshot *s)
{
	struct fabric *fabric;

	require(snapshot_fabric(s, &fabric) == 0);
	require(fabric->node_count == s->node_count && fabric->port_count == s->port_count);
	for (uint32_t i = 0; i < fabric->node_count; i++) {
		require(i == 0 || fabric->nodes[i - 1].guid < fabric->nodes[i].guid);
		require(fuzz_printable(fabric->nodes[i].name, "") && fabric->nodes[i].name[0]);
	}
	for (uint32_t i = 0; i < fabric->port_count; i++) {
		uint32_t peer = fabric->ports[i].peer;

		require(peer == s->ports[i].peer);
		require(peer == FABRIC_NONE || fabric->ports[peer].peer == i);
	}
	fabric_free(fabric);
}

/* Each run by its first, its last and what is beside them. */
static void check_answers(const struct snapshot *s)
{
	enum mad_outcome outcome;
	uint32_t value;

	for (uint32_t i = 0; i < s->run_count; i++) {
		const struct snapshot_run *run = &s->runs[i];
		uint32_t last = run->modifier + (run->count - 1) * run->step;

		require(snapshot_find(s, run->port, run->mgmt_class, run->attribute, run->modifier, &outcome,
				      &value));
		require(outcome == run->outcome && value == run->value);
		require(snapshot_find(s, run->port, run->mgmt_class, run->attribute, last, &outcome, &value));
		require(outcome == run->outcome && value == run->value);
		if (run->step > 1 && run->count > 1)
			require(!snapshot_find(s, run->port, run->mgmt_class, run->attribute,
					       run->modifier + 1, &outcome, &value));
	}
}

static bool has_guid(const struct snapshot *s, uint64_t guid)
{
	for (uint32_t i = 0; i < s->node_count; i++) {
		uint8_t info[MAD_SMP_DATA];

		snapshot_get_data(s, s->nodes[i].node_info, info, sizeof(info));
		for (unsigned at = 4; at <= 20; at += 8) {
			uint64_t have = 0;

			for (unsigned b = 0; b < 8; b++)
				have = have << 8 | info[at + b];
			if (have == guid)
				return true;
		}
	}
	return false;
}

static void check_redacted(const uint8_t *data, size_t size)
{
	struct snapshot *one, *two;
	struct snapshot_fault fault;
	uint8_t *first, *second;
	size_t first_size, second_size;
	char *map, *more;
	unsigned line;

	require(snapshot_decode(data, size, &one, &fault) == 0 &&
		snapshot_decode(data, size, &two, &fault) == 0);
	require(snapshot_redact(one, "", 0, &map, &line) == 0);
	for (uint32_t i = 0; i < two->port_count; i++) {
		uint64_t guid = two->ports[i].guid;

		/* a number that is like those given may stand for another */
		require(guid == 0 || guid >> 56 == 2 || !has_guid(one, guid));
	}
	require(snapshot_redact(two, map, strlen(map), &more, &line) == 0 && more[0] == '\0');
	require(snapshot_encode(one, &first, &first_size) == 0 &&
		snapshot_encode(two, &second, &second_size) == 0);
	require(first_size == second_size && memcmp(first, second, first_size) == 0);
	free(map);
	free(more);
	free(first);
	free(second);
	snapshot_free(two);
	require(snapshot_decode(data, size, &two, &fault) == 0);
	snapshot_free(one);
	snapshot_free(two);
}

static void check_taken(const struct snapshot *s)
{
	struct snapshot_item items[SNAPSHOT_ITEMS];
	struct snapshot_fault fault;
	struct snapshot *again;
	uint8_t *data, *data2;
	size_t size, size2;

	require(snapshot_items(s, items) <= SNAPSHOT_ITEMS);
	check_fabric(s);
	check_answers(s);
	require(snapshot_encode(s, &data, &size) == 0);
	require(snapshot_decode(data, size, &again, &fault) == 0);
	require(snapshot_encode(again, &data2, &size2) == 0);
	require(size == size2 && memcmp(data, data2, size) == 0);
	check_redacted(data, size);
	snapshot_free(again);
	free(data);
	free(data2);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz in = {data, size};
	struct snapshot_bytes file = {0};
	struct snapshot_fault fault;
	struct snapshot *snapshot;
	int error;

	if (fuzz_byte(&in) % 2)
		fuzz_snapshot_file(&in, &file);
	else
		snapshot_put(&file, in.at, in.left);
	error = snapshot_decode(file.at, file.size, &snapshot, &fault);
	require(error == 0 || error == -EBADMSG);
	if (error != 0) {
		require(!snapshot && fault.text[0] && fault.offset <= file.size);
		require(fuzz_printable(fault.text, "") && fuzz_printable(fault.section, ""));
	} else {
		check_taken(snapshot);
		snapshot_free(snapshot);
	}
	free(file.at);
	return 0;
}
