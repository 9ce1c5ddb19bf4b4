/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Snapshots merged. The first byte of the input says how it is meant: even, as a file of several snapshots; odd, as a count
 * of bytes, so many bytes of choices, and the sections of one snapshot (snapfile.h), of which two are made that lack, by
 * these choices, one or the other answer and name.
 *
 * A file that is refused has a reason, and a place within it; one that is taken is written again byte for byte, and each of
 * its fabrics, made one, can be written and read. The two that lack something are together the one that they were made of, in
 * either order; and what is merged with itself stays as it is.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "snapfile.h"

static struct snapshot *merge(const struct snapshot *a, const struct snapshot *b)
{
	const struct snapshot *parts[] = {a, b};
	struct snapshot_merged result;
	struct snapshot *merged;
	int error = snapshot_merge(parts, b ? 2 : 1, "x", &merged, &result);

	require(error == 0 || error == -EFBIG);
	require(error != 0 || (result.links == 0 && result.answers == 0 && result.parts == (b ? 2 : 1)));
	return merged;
}

static struct snapshot *decode(const struct snapshot_bytes *file)
{
	struct snapshot_fault fault;
	struct snapshot *s;

	require(snapshot_decode(file->at, file->size, &s, &fault) == 0);
	return s;
}

static bool same_bytes(const struct snapshot *a, uint32_t x, const struct snapshot *b, uint32_t y)
{
	size_t size_x, size_y;
	const uint8_t *p = snapshot_item_bytes(&a->data, x, &size_x), *q = snapshot_item_bytes(&b->data, y, &size_y);

	return size_x == size_y && (size_x == 0 || memcmp(p, q, size_x) == 0);
}

static void require_query(const struct snapshot *whole, const struct snapshot_run *run, uint32_t modifier, const struct snapshot *merged)
{
	enum mad_outcome outcome;
	uint32_t value;

	require(snapshot_find(merged, run->port, run->mgmt_class, run->attribute, modifier, &outcome, &value));
	require(outcome == run->outcome);
	require(outcome == MAD_ANSWERED ? same_bytes(whole, run->value, merged, value) : value == run->value);
}

static void require_same(const struct snapshot *whole, const struct snapshot *merged)
{
	require(whole->node_count == merged->node_count && whole->port_count == merged->port_count);
	for (uint32_t i = 0; i < whole->port_count; i++) {
		require(whole->ports[i].peer == merged->ports[i].peer && whole->ports[i].guid == merged->ports[i].guid);
		require(same_bytes(whole, whole->ports[i].info, merged, merged->ports[i].info));
	}
	for (uint32_t i = 0; i < whole->run_count; i++) {
		const struct snapshot_run *run = &whole->runs[i];

		require_query(whole, run, run->modifier, merged);
		require_query(whole, run, run->modifier + (run->count - 1) * run->step, merged);
	}
	for (uint32_t i = 0; i < whole->node_count; i++)
		require(whole->nodes[i].has_desc == merged->nodes[i].has_desc);
}

static void require_equal(const struct snapshot *a, const struct snapshot *b)
{
	uint8_t *x, *y;
	size_t size_x, size_y;

	require(snapshot_encode(a, &x, &size_x) == 0 && snapshot_encode(b, &y, &size_y) == 0);
	require(size_x == size_y && memcmp(x, y, size_x) == 0);
	free(x);
	free(y);
}

static void split(struct fuzz *choices, struct snapshot *a, struct snapshot *b)
{
	for (uint32_t i = 0; i < a->run_count; i++) {
		struct snapshot_run *run = fuzz_bit(choices) ? &a->runs[i] : &b->runs[i];

		if (run->outcome != MAD_ANSWERED)
			continue;
		run->outcome = MAD_TIMED_OUT;
		run->value = 4;
	}
	for (uint32_t i = 0; i < a->node_count; i++)
		(fuzz_bit(choices) ? a : b)->nodes[i].has_desc = 0;
}

static void check_halves(struct fuzz *in)
{
	struct fuzz choices = {in->at + 1, fuzz_byte(in)};
	struct snapshot_bytes file = {0};
	struct snapshot *whole, *a, *b, *one, *two, *again;
	struct snapshot_fault fault;

	if (choices.left > in->left)
		choices.left = in->left;
	in->at += choices.left;
	in->left -= choices.left;
	fuzz_snapshot_file(in, &file);
	if (snapshot_decode(file.at, file.size, &whole, &fault) == 0) {
		a = decode(&file);
		b = decode(&file);
		split(&choices, a, b);
		one = merge(a, b);
		two = merge(b, a);
		require(!one == !two);
		if (one) {
			require_same(whole, one);
			require_same(whole, two);
			again = merge(one, one);
			require(again);
			require_equal(one, again);
			snapshot_free(again);
			again = merge(one, NULL);
			require(again);
			require_equal(one, again);
			snapshot_free(again);
		}
		snapshot_free(one);
		snapshot_free(two);
		snapshot_free(a);
		snapshot_free(b);
		snapshot_free(whole);
	}
	free(file.at);
}

static void check_fabric(const struct snapshot_set *set, size_t first)
{
	struct snapshot_merged result;
	struct snapshot *merged, *again;
	struct snapshot_fault fault;
	struct fabric *fabric;
	uint8_t *data;
	size_t size;
	int error = snapshot_set_fabric(set, first, &merged, &result);

	require(error == 0 || error == -EFBIG || error == -ERANGE);
	require((error == -ERANGE) == (result.newest - result.oldest > SNAPSHOT_APART_MAX));
	if (error != 0)
		return;
	require(snapshot_fabric(merged, &fabric) == 0);
	fabric_free(fabric);
	require(snapshot_encode(merged, &data, &size) == 0);
	require(snapshot_decode(data, size, &again, &fault) == 0);
	require_equal(merged, again);
	snapshot_free(again);
	snapshot_free(merged);
	free(data);
}

static void check_file(const uint8_t *data, size_t size)
{
	struct snapshot_fault fault;
	struct snapshot_set set;
	uint8_t *again;
	size_t again_size;
	int error = snapshot_set_decode(data, size, &set, &fault);

	require(error == 0 || error == -EBADMSG);
	if (error != 0) {
		require(set.count == 0 && fault.text[0] && fault.offset <= size && fuzz_printable(fault.text, ""));
		return;
	}
	require(snapshot_set_encode(&set, &again, &again_size) == 0);
	require(again_size == size && memcmp(again, data, size) == 0);
	free(again);
	for (size_t i = 0; i < set.count; i = snapshot_set_next(&set, i))
		check_fabric(&set, i);
	snapshot_set_clear(&set);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz in = {data, size};

	if (fuzz_byte(&in) % 2)
		check_halves(&in);
	else
		check_file(in.at, in.left);
	return 0;
}
