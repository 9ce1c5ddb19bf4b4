/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Reading a snapshot's file, which may come from anywhere: nothing in it is believed before it was checked,
 * and what is wrong is said with section and offset.
 */
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <zstd.h>

#include "snapshot_parts.h"

/* Sections that every file has: the pools, then the tables. */
#define SECTIONS (2 + SNAPSHOT_TABLES)

struct reading {
	const uint8_t *data;
	size_t size;
	size_t at; /* of the section */
	size_t raw_left;
	size_t found[SECTIONS]; /* offsets of the sections; 0: not met yet */
	struct snapshot *snapshot;
	struct snapshot_fault *fault;
};

static const char *section_tag(unsigned i)
{
	return i == 0 ? "STRS" : i == 1 ? "DATA" : snapshot_tables[i - 2].tag;
}

bool snapshot_is(const void *data, size_t size)
{
	return size >= strlen(SNAPSHOT_MAGIC) && memcmp(data, SNAPSHOT_MAGIC, strlen(SNAPSHOT_MAGIC)) == 0;
}

static int read_header(struct reading *r)
{
	const uint8_t *d = r->data;

	if (!snapshot_is(d, r->size))
		return snapshot_bad(r->fault, "neither a snapshot of ibqos, nor what ibnetdiscover or ibdiagnet wrote");
	if (r->size < SNAPSHOT_HEADER)
		return snapshot_bad(r->fault, "the file ends within its header");
	if (snapshot_get_number(d + SNAPSHOT_HEADER - 4, 4) != snapshot_crc(0, d, SNAPSHOT_HEADER - 4))
		return snapshot_bad(r->fault, "the header's checksum is wrong: the file is damaged");
	if (snapshot_get_number(d + 8, 2) != SNAPSHOT_MAJOR)
		return snapshot_bad(r->fault, "format version %u, where this ibqos reads %u",
				    (unsigned)snapshot_get_number(d + 8, 2), SNAPSHOT_MAJOR);
	r->snapshot->taken = snapshot_get_number(d + 16, 8);
	if (r->snapshot->taken > INT64_MAX / 2)
		return snapshot_bad(r->fault, "the time cannot be");
	r->snapshot->act_count = (uint32_t)snapshot_get_number(d + 24, 4);
	r->at = SNAPSHOT_HEADER;
	return 0;
}

/* --- sections --- */

static int unpack(struct reading *r, const uint8_t *packed, size_t size, size_t raw_size, uint8_t **raw)
{
	size_t got;

	*raw = NULL;
	if (raw_size > r->raw_left)
		return snapshot_bad(r->fault, "more than %u MiB unpacked", SNAPSHOT_RAW_MAX >> 20);
	r->raw_left -= raw_size;
	*raw = malloc(raw_size + 1);
	if (!*raw)
		return -ENOMEM;
	got = raw_size == 0 && size == 0 ? 0 : ZSTD_decompress(*raw, raw_size, packed, size);
	if (ZSTD_isError(got) || got != raw_size) {
		free(*raw);
		*raw = NULL;
		return snapshot_bad(r->fault, "cannot be unpacked: %s",
				    ZSTD_isError(got) ? ZSTD_getErrorName(got)
						      : "it is shorter than its head says");
	}
	return 0;
}

static int take_section(struct reading *r, unsigned which, const uint8_t *raw, size_t size)
{
	if (which == 0)
		return snapshot_pool_read(&r->snapshot->strings, SNAPSHOT_STRING_MAX, raw, size, r->fault);
	if (which == 1)
		return snapshot_pool_read(&r->snapshot->data, MAD_DATA_MAX, raw, size, r->fault);
	return snapshot_table_read(r->snapshot, &snapshot_tables[which - 2], raw, size, r->fault);
}

/* A section of a later version may be passed over if its tag begins with a small letter. */
static int pass_over(struct reading *r, const uint8_t *tag)
{
	return islower(tag[0]) ? 0 : snapshot_bad(r->fault, "a section that this ibqos does not know");
}

/* The section at r->at; *end set at the last one. */
static int read_section(struct reading *r, bool *end)
{
	const uint8_t *head = r->data + r->at;
	size_t left = r->size - r->at, size, raw_size;
	uint8_t *raw = NULL;
	unsigned which = 0;
	int error;

	for (unsigned i = 0; i < 4 && i < left; i++)
		r->fault->section[i] = isgraph(head[i]) ? (char)head[i] : '?';
	if (left < SNAPSHOT_SECTION)
		return snapshot_bad(r->fault, "the file ends within the head of a section");
	size = snapshot_get_number(head + 4, 4);
	raw_size = snapshot_get_number(head + 8, 4);
	if (size > left - SNAPSHOT_SECTION)
		return snapshot_bad(r->fault, "the file ends %zu bytes before the end of this section",
				    size - (left - SNAPSHOT_SECTION));
	if (snapshot_get_number(head + 12, 4) !=
	    snapshot_crc(snapshot_crc(0, head, 12), head + SNAPSHOT_SECTION, size))
		return snapshot_bad(r->fault, "wrong checksum: the file is damaged");
	*end = memcmp(head, "END.", 4) == 0;
	while (which < SECTIONS && memcmp(head, section_tag(which), 4) != 0)
		which++;
	if (which == SECTIONS) {
		error = *end ? 0 : pass_over(r, head);
	} else if (r->found[which] != 0) {
		error = snapshot_bad(r->fault, "a second section of this kind");
	} else {
		r->found[which] = r->at;
		error = unpack(r, head + SNAPSHOT_SECTION, size, raw_size, &raw);
		if (error == 0)
			error = take_section(r, which, raw, raw_size);
		free(raw);
	}
	if (error == 0)
		r->at += SNAPSHOT_SECTION + size;
	return error;
}

static int read_sections(struct reading *r)
{
	bool end = false;
	int error = 0;

	while (error == 0 && !end) {
		r->fault->offset = r->at;
		memset(r->fault->section, 0, sizeof(r->fault->section));
		if (r->at == r->size)
			return snapshot_bad(r->fault, "the file ends before its last section");
		error = read_section(r, &end);
	}
	if (error != 0)
		return error;
	memset(r->fault->section, 0, sizeof(r->fault->section));
	r->fault->offset = r->at;
	if (r->at != r->size)
		return snapshot_bad(r->fault, "%zu bytes behind the last section", r->size - r->at);
	for (unsigned i = 0; i < SECTIONS; i++)
		if (r->found[i] == 0)
			return snapshot_bad(r->fault, "section %s is missing", section_tag(i));
	return 0;
}

/* --- what tables say together --- */

static uint64_t guid_of(const uint8_t *at)
{
	uint64_t guid = 0;

	for (unsigned i = 0; i < 8; i++)
		guid = guid << 8 | at[i];
	return guid;
}

static int check_nodes(const struct snapshot *s, struct snapshot_fault *fault)
{
	uint64_t before = 0, ports = 0;

	for (uint32_t i = 0; i < s->node_count; i++) {
		uint8_t info[MAD_SMP_DATA];
		uint64_t guid;

		/* NodeInfo, IBA 14.2.5.3: type at 2, GUID at 12 */
		snapshot_get_data(s, s->nodes[i].node_info, info, sizeof(info));
		guid = guid_of(info + 12);
		if (info[2] < FABRIC_CA || info[2] > FABRIC_ROUTER)
			return snapshot_bad(fault, "row %u: node type %u", i, info[2]);
		if (guid <= before)
			return snapshot_bad(fault, "row %u: GUIDs are not in order", i);
		before = guid;
		ports += snapshot_node_ports(s, i) + 1u;
	}
	if (ports != s->port_count)
		return snapshot_bad(fault, "%llu ports of nodes, but %u in section PORT",
				    (unsigned long long)ports, s->port_count);
	return 0;
}

/* Port 0 has no cable; a link is told by both of its ends. */
static int check_links(const struct snapshot *s, struct snapshot_fault *fault)
{
	uint32_t port = 0;

	for (uint32_t i = 0; i < s->node_count; i++) {
		if (s->ports[port].peer != FABRIC_NONE)
			return snapshot_bad(fault, "row %u: a port 0 with a peer", port);
		port += snapshot_node_ports(s, i) + 1u;
	}
	for (uint32_t i = 0; i < s->port_count; i++) {
		uint32_t peer = s->ports[i].peer;

		if (peer != FABRIC_NONE && s->ports[peer].peer != i)
			return snapshot_bad(fault, "row %u: its peer, row %u, has another", i, peer);
	}
	return 0;
}

static int check_value(const struct snapshot *s, enum mad_outcome outcome, uint32_t value, uint32_t row,
		       struct snapshot_fault *fault)
{
	if (outcome == MAD_ANSWERED && value >= s->data.count)
		return snapshot_bad(fault, "row %u: value is %u, which must be below %u", row, value,
				    s->data.count);
	if (outcome != MAD_ANSWERED && value > UINT16_MAX)
		return snapshot_bad(fault, "row %u: value is %u, which must be below 65536", row, value);
	return 0;
}

/* In order, and no query answered twice. */
static int check_runs(const struct snapshot *s, struct snapshot_fault *fault)
{
	for (uint32_t i = 0; i < s->run_count; i++) {
		const struct snapshot_run *run = &s->runs[i], *before = i > 0 ? run - 1 : NULL;
		struct snapshot_run end = *run;
		uint64_t last = run->modifier + (uint64_t)(run->count - 1) * run->step;
		int error = check_value(s, run->outcome, run->value, i, fault);

		if (error != 0)
			return error;
		if (last > UINT32_MAX)
			return snapshot_bad(fault, "row %u: modifiers go on beyond 32 bits", i);
		if (!before)
			continue;
		end = *before;
		end.modifier += (before->count - 1) * before->step;
		if (snapshot_run_compare(&end, run) >= 0)
			return snapshot_bad(fault, "row %u: not behind row %u", i, i - 1);
	}
	return 0;
}

static int check_sm(const struct snapshot *s, struct snapshot_fault *fault)
{
	int error = 0;

	for (uint32_t i = 0; i < s->sm_count && error == 0; i++)
		error = check_value(s, s->sm[i].outcome, s->sm[i].value, i, fault);
	return error;
}

static int check_meta(const struct snapshot *s, struct snapshot_fault *fault)
{
	if (s->meta_count != 1)
		return snapshot_bad(fault, "%u rows, not one", s->meta_count);
	if (s->meta->from_node != FABRIC_NONE &&
	    s->meta->from_port > snapshot_node_ports(s, s->meta->from_node))
		return snapshot_bad(fault, "the port that looked, %u, is none of its node's",
				    s->meta->from_port);
	return 0;
}

static int check_all(struct reading *r)
{
	/* in the order of snapshot_tables */
	static int (*const checks[SNAPSHOT_TABLES])(const struct snapshot *, struct snapshot_fault *) = {
		check_meta, check_nodes, check_links, NULL, check_runs, check_sm};
	int error = 0;

	/* Each number first: what tables say together is looked up by them. The one row of META comes last then. */
	for (unsigned n = 0; n < 2 * SNAPSHOT_TABLES && error == 0; n++) {
		bool together = n >= SNAPSHOT_TABLES;
		unsigned i = (n + together) % SNAPSHOT_TABLES;

		memcpy(r->fault->section, snapshot_tables[i].tag, 4);
		r->fault->offset = r->found[2 + i];
		if (!together)
			error = snapshot_table_check(r->snapshot, &snapshot_tables[i], r->fault);
		else if (checks[i])
			error = checks[i](r->snapshot, r->fault);
	}
	return error;
}

int snapshot_decode(const void *data, size_t size, struct snapshot **snapshot, struct snapshot_fault *fault)
{
	struct reading r = {.data = data,
			    .size = size,
			    .raw_left = SNAPSHOT_RAW_MAX,
			    .snapshot = snapshot_new(),
			    .fault = fault};
	int error;

	*snapshot = NULL;
	*fault = (struct snapshot_fault){0};
	if (!r.snapshot)
		return -ENOMEM;
	error = read_header(&r);
	if (error == 0)
		error = read_sections(&r);
	if (error == 0)
		error = check_all(&r);
	if (error == 0)
		error = snapshot_close(r.snapshot);
	r.snapshot->sm_room = (size_t)r.snapshot->sm_count + 1;
	if (error != 0) {
		snapshot_free(r.snapshot);
		return error;
	}
	*snapshot = r.snapshot;
	return 0;
}
