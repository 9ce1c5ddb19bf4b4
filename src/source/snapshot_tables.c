/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The tables of a snapshot's file as rows: each column's name, place, width and what it may be. Reading,
 * writing and checking go by these rows alone.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "snapshot_parts.h"

#define COLUMN(row, member, kind)                                                                            \
	{                                                                                                    \
		.name = #member, .offset = offsetof(row, member), .size = sizeof(((row *)0)->member),        \
		.limit = kind                                                                                \
	}
#define TABLE(name, row, items, number, list)                                                                \
	{                                                                                                    \
		.tag = name, .row_size = sizeof(row), .rows = offsetof(struct snapshot, items),              \
		.count = offsetof(struct snapshot, number),                                                  \
		.column_count = sizeof(list) / sizeof((list)[0]), .columns = list                            \
	}

static const struct snapshot_column meta_columns[] = {
	COLUMN(struct snapshot_meta, version, LIMIT_STRING),
	COLUMN(struct snapshot_meta, label, LIMIT_STRING),
	COLUMN(struct snapshot_meta, from_node, LIMIT_NODE),
	COLUMN(struct snapshot_meta, stopped, LIMIT_ERRNO),
	COLUMN(struct snapshot_meta, sm_lid, LIMIT_NONE),
	COLUMN(struct snapshot_meta, from_port, LIMIT_NONE),
	COLUMN(struct snapshot_meta, redacted, LIMIT_FLAG),
};
static const struct snapshot_column node_columns[] = {
	COLUMN(struct snapshot_node, node_info, LIMIT_DATA),
	COLUMN(struct snapshot_node, switch_info, LIMIT_DATA),
	COLUMN(struct snapshot_node, route, LIMIT_DATA),
	COLUMN(struct snapshot_node, name, LIMIT_STRING),
	COLUMN(struct snapshot_node, has_desc, LIMIT_FLAG),
};
static const struct snapshot_column port_columns[] = {
	COLUMN(struct snapshot_port, guid, LIMIT_NONE),
	COLUMN(struct snapshot_port, info, LIMIT_DATA),
	COLUMN(struct snapshot_port, ext_info, LIMIT_DATA),
	COLUMN(struct snapshot_port, peer, LIMIT_PEER),
};
static const struct snapshot_column gap_columns[] = {
	COLUMN(struct snapshot_gap, port, LIMIT_PORT),
	COLUMN(struct snapshot_gap, reason, LIMIT_GAP),
};
static const struct snapshot_column run_columns[] = {
	COLUMN(struct snapshot_run, port, LIMIT_PORT),
	COLUMN(struct snapshot_run, modifier, LIMIT_NONE),
	COLUMN(struct snapshot_run, count, LIMIT_POSITIVE),
	COLUMN(struct snapshot_run, step, LIMIT_POSITIVE),
	COLUMN(struct snapshot_run, value, LIMIT_NONE),
	COLUMN(struct snapshot_run, attribute, LIMIT_NONE),
	COLUMN(struct snapshot_run, mgmt_class, LIMIT_NONE),
	COLUMN(struct snapshot_run, outcome, LIMIT_OUTCOME),
};
static const struct snapshot_column sm_columns[] = {
	COLUMN(struct snapshot_sm, mask, LIMIT_NONE),
	COLUMN(struct snapshot_sm, modifier, LIMIT_NONE),
	COLUMN(struct snapshot_sm, record, LIMIT_DATA),
	COLUMN(struct snapshot_sm, value, LIMIT_NONE),
	COLUMN(struct snapshot_sm, attribute, LIMIT_NONE),
	COLUMN(struct snapshot_sm, mgmt_class, LIMIT_NONE),
	COLUMN(struct snapshot_sm, outcome, LIMIT_OUTCOME),
};

const struct snapshot_table snapshot_tables[SNAPSHOT_TABLES] = {
	TABLE("META", struct snapshot_meta, meta, meta_count, meta_columns),
	TABLE("NODE", struct snapshot_node, nodes, node_count, node_columns),
	TABLE("PORT", struct snapshot_port, ports, port_count, port_columns),
	TABLE("GAPS", struct snapshot_gap, gaps, gap_count, gap_columns),
	TABLE("ANSW", struct snapshot_run, runs, run_count, run_columns),
	TABLE("SMQU", struct snapshot_sm, sm, sm_count, sm_columns),
};

int snapshot_bad(struct snapshot_fault *fault, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(fault->text, sizeof(fault->text), format, args);
	va_end(args);
	return -EBADMSG;
}

/* --- numbers --- */

void snapshot_put(struct snapshot_bytes *to, const void *bytes, size_t size)
{
	uint8_t *grown;

	if (size == 0 || to->lost)
		return;
	grown = array_grow(to->at, &to->room, to->size + size, 1);
	if (!grown) {
		to->lost = true;
		return;
	}
	to->at = grown;
	memcpy(to->at + to->size, bytes, size);
	to->size += size;
}

void snapshot_put_number(struct snapshot_bytes *to, uint64_t value, unsigned size)
{
	uint8_t bytes[8];

	for (unsigned i = 0; i < size; i++)
		bytes[i] = (uint8_t)(value >> 8 * i);
	snapshot_put(to, bytes, size);
}

uint64_t snapshot_get_number(const uint8_t *at, unsigned size)
{
	uint64_t value = 0;

	for (unsigned i = 0; i < size; i++)
		value |= (uint64_t)at[i] << 8 * i;
	return value;
}

/* A column of a row, in this machine's order. */
static uint64_t load(const uint8_t *row, const struct snapshot_column *column)
{
	const uint8_t *at = row + column->offset;
	uint16_t two;
	uint32_t four;
	uint64_t eight;

	switch (column->size) {
	case 1:
		return *at;
	case 2:
		memcpy(&two, at, sizeof(two));
		return two;
	case 4:
		memcpy(&four, at, sizeof(four));
		return four;
	default:
		memcpy(&eight, at, sizeof(eight));
		return eight;
	}
}

static void store(uint8_t *row, const struct snapshot_column *column, uint64_t value)
{
	uint8_t *at = row + column->offset;
	uint16_t two = (uint16_t)value;
	uint32_t four = (uint32_t)value;

	switch (column->size) {
	case 1:
		*at = (uint8_t)value;
		return;
	case 2:
		memcpy(at, &two, sizeof(two));
		return;
	case 4:
		memcpy(at, &four, sizeof(four));
		return;
	default:
		memcpy(at, &value, sizeof(value));
	}
}

/* --- tables --- */

static uint8_t *rows_of(const struct snapshot *snapshot, const struct snapshot_table *table, uint32_t *count)
{
	uint8_t *rows;

	memcpy(&rows, (const uint8_t *)snapshot + table->rows, sizeof(rows));
	memcpy(count, (const uint8_t *)snapshot + table->count, sizeof(*count));
	return rows;
}

/* Numbers of four and eight bytes mostly grow by the same from row to row: their differences pack best. */
static bool by_difference(const struct snapshot_column *column)
{
	return column->size >= 4;
}

void snapshot_table_write(const struct snapshot *snapshot, const struct snapshot_table *table,
			  struct snapshot_bytes *to)
{
	uint32_t count;
	const uint8_t *rows = rows_of(snapshot, table, &count);

	snapshot_put_number(to, count, 4);
	snapshot_put_number(to, table->column_count, 1);
	for (unsigned c = 0; c < table->column_count; c++)
		snapshot_put_number(to, table->columns[c].size, 1);
	for (unsigned c = 0; c < table->column_count; c++) {
		const struct snapshot_column *column = &table->columns[c];
		uint64_t before = 0;

		for (uint32_t i = 0; i < count; i++) {
			uint64_t value = load(rows + (size_t)i * table->row_size, column);

			snapshot_put_number(to, value - before, column->size);
			if (by_difference(column))
				before = value;
		}
	}
}

/* The widths of the columns that the file has; a later minor version may have more than we know, never fewer.
 */
static int read_widths(const struct snapshot_table *table, const uint8_t *data, size_t size, size_t *row_size,
		       struct snapshot_fault *fault)
{
	unsigned columns = size >= 5 ? data[4] : 0;

	if (size < 5 || size - 5 < columns)
		return snapshot_bad(fault, "it ends within its head");
	if (columns < table->column_count)
		return snapshot_bad(fault, "%u columns, not the %u of this version", columns,
				    table->column_count);
	*row_size = 0;
	for (unsigned c = 0; c < columns; c++) {
		unsigned width = data[5 + c];

		if (c < table->column_count && width != table->columns[c].size)
			return snapshot_bad(fault, "column '%s' is %u bytes wide, not %u",
					    table->columns[c].name, width, table->columns[c].size);
		if (width != 1 && width != 2 && width != 4 && width != 8)
			return snapshot_bad(fault, "column %u is %u bytes wide", c + 1, width);
		*row_size += width;
	}
	return 0;
}

int snapshot_table_read(struct snapshot *snapshot, const struct snapshot_table *table, const uint8_t *data,
			size_t size, struct snapshot_fault *fault)
{
	uint32_t count = size >= 4 ? (uint32_t)snapshot_get_number(data, 4) : 0;
	size_t row_size = 0, head;
	uint8_t *rows;
	int error = read_widths(table, data, size, &row_size, fault);

	if (error != 0)
		return error;
	head = 5u + data[4];
	if (row_size == 0 || (size - head) % row_size != 0 || (size - head) / row_size != count)
		return snapshot_bad(fault, "%zu bytes for %u rows of %zu", size - head, count, row_size);
	rows = calloc((size_t)count + 1, table->row_size);
	if (!rows)
		return -ENOMEM;
	data += head;
	for (unsigned c = 0; c < table->column_count; c++) {
		const struct snapshot_column *column = &table->columns[c];
		uint64_t before = 0;

		for (uint32_t i = 0; i < count; i++, data += column->size) {
			uint64_t value = before + snapshot_get_number(data, column->size);

			store(rows + (size_t)i * table->row_size, column, value);
			if (by_difference(column))
				before = value;
		}
	}
	memcpy((uint8_t *)snapshot + table->rows, &rows, sizeof(rows));
	memcpy((uint8_t *)snapshot + table->count, &count, sizeof(count));
	return 0;
}

/* The number that a column must stay below, 0: any will do. */
static uint64_t end_of(const struct snapshot *snapshot, enum snapshot_limit limit)
{
	switch (limit) {
	case LIMIT_STRING:
		return snapshot->strings.count;
	case LIMIT_DATA:
		return snapshot->data.count;
	case LIMIT_NODE:
		return snapshot->node_count;
	case LIMIT_PORT:
	case LIMIT_PEER:
		return snapshot->port_count;
	case LIMIT_FLAG:
		return 2;
	case LIMIT_OUTCOME:
		return MAD_OUTCOMES;
	case LIMIT_ERRNO:
		return 4096;
	case LIMIT_GAP:
		return FABRIC_GAP_PEER_BAD + 1;
	case LIMIT_POSITIVE:
	case LIMIT_NONE:
		break;
	}
	return UINT64_MAX;
}

int snapshot_table_check(const struct snapshot *snapshot, const struct snapshot_table *table,
			 struct snapshot_fault *fault)
{
	uint32_t count;
	const uint8_t *rows = rows_of(snapshot, table, &count);

	for (unsigned c = 0; c < table->column_count; c++) {
		const struct snapshot_column *column = &table->columns[c];
		bool may_be_none = column->limit == LIMIT_NODE || column->limit == LIMIT_PEER;
		uint64_t end = end_of(snapshot, column->limit);

		if (column->limit == LIMIT_NONE)
			continue;
		for (uint32_t i = 0; i < count; i++) {
			uint64_t value = load(rows + (size_t)i * table->row_size, column);

			if (may_be_none && value == FABRIC_NONE)
				continue;
			if (value >= end)
				return snapshot_bad(fault, "row %u: %s is %llu, which must be below %llu", i,
						    column->name, (unsigned long long)value,
						    (unsigned long long)end);
			if (column->limit == LIMIT_POSITIVE && value == 0)
				return snapshot_bad(fault, "row %u: %s is 0", i, column->name);
		}
	}
	return 0;
}

/* --- pools --- */

void snapshot_pool_write(const struct snapshot_pool *pool, struct snapshot_bytes *to)
{
	snapshot_put_number(to, pool->count, 4);
	for (uint32_t i = 0; i < pool->count; i++) {
		size_t size;

		snapshot_item_bytes(pool, i, &size);
		snapshot_put_number(to, size, 2);
	}
	snapshot_put(to, pool->bytes, pool->size);
}

int snapshot_pool_read(struct snapshot_pool *pool, size_t item_max, const uint8_t *data, size_t size,
		       struct snapshot_fault *fault)
{
	uint32_t count = size >= 4 ? (uint32_t)snapshot_get_number(data, 4) : 0;
	uint64_t sum = 0;

	if (size < 4 || (size - 4) / 2 < count)
		return snapshot_bad(fault, "%zu bytes for %u items", size, count);
	if (count == 0 || snapshot_get_number(data + 4, 2) != 0)
		return snapshot_bad(fault, "item 0 is not the empty one");
	pool->ends = calloc(count, sizeof(*pool->ends));
	if (!pool->ends)
		return -ENOMEM;
	for (uint32_t i = 0; i < count; i++) {
		uint64_t length = snapshot_get_number(data + 4 + 2 * (size_t)i, 2);

		if (length > item_max)
			return snapshot_bad(fault, "item %u has %llu bytes, more than %zu", i,
					    (unsigned long long)length, item_max);
		sum += length;
		if (sum > size)
			return snapshot_bad(fault, "item %u ends behind the section", i);
		pool->ends[i] = (uint32_t)sum;
	}
	if (size - 4 - 2 * (size_t)count != sum)
		return snapshot_bad(fault, "%llu bytes of items where there are %zu", (unsigned long long)sum,
				    size - 4 - 2 * (size_t)count);
	pool->bytes = malloc(sum + 1);
	if (!pool->bytes)
		return -ENOMEM;
	memcpy(pool->bytes, data + 4 + 2 * (size_t)count, sum);
	pool->count = count;
	pool->size = (uint32_t)sum;
	pool->ends_room = count;
	pool->bytes_room = sum + 1;
	return 0;
}
