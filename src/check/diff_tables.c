/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Tables of one port in two snapshots: what differs, with the values of before and after.
 */
#include <inttypes.h>
#include <stdlib.h>

#include "diff.h"
#include "ibqos/snapshot.h"
#include "place.h"

#define PKEYS_A_BLOCK 32
#define LIDS_A_BLOCK 64
#define LFT_NONE 255 /* no port: packets are dropped (IBA 14.2.5.11) */

static void set_sl2vl(char **member, const uint8_t *data)
{
	char text[QOS_TEXT_MAX];
	struct qos_sl2vl table;

	qos_sl2vl_decode(data, &table);
	qos_sl2vl_format(&table, text);
	finding_set(member, "%s", text);
}

/* Entries of no weight at the end say nothing. */
static void set_vlarb(char **member, const uint8_t *data)
{
	struct qos_vlarb_entry entries[QOS_VLARB_BLOCK];
	unsigned count = QOS_VLARB_BLOCK;
	char text[QOS_TEXT_MAX];

	qos_vlarb_decode(data, entries);
	while (count > 0 && entries[count - 1].vl == 0 && entries[count - 1].weight == 0)
		count--;
	qos_vlarb_format(entries, count, text);
	finding_set(member, "%s", count > 0 ? text : "no entry");
}

static void set_pkeys(char **member, const uint8_t *data)
{
	char *text = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);
	bool any = false;

	if (!out)
		return;
	for (unsigned i = 0; i < PKEYS_A_BLOCK; i++) {
		unsigned key = (unsigned)data[2 * i] << 8 | data[2 * i + 1];

		if (key == 0)
			continue;
		fprintf(out, "%s0x%04x", any ? "," : "", key);
		any = true;
	}
	if (text_stream_end(out, &text) == 0)
		finding_set(member, "%s", any ? text : "none");
	free(text);
}

/* The part of the table meant, as its modifier has it. */
static void set_part(struct finding *x, uint16_t attribute, uint32_t modifier)
{
	static const char *const blocks[QOS_VLARB_BLOCKS] = {"low table", "low table, entries 32-63", "high table",
							     "high table, entries 32-63"};
	unsigned block = (modifier >> 16) - 1;

	if (attribute == MAD_VLARB && block < QOS_VLARB_BLOCKS)
		finding_set(&x->what, "VLArb, %s", blocks[block]);
	else
		finding_set(&x->what, "%s", snapshot_attribute_name(MAD_CLASS_SMP, attribute));
}

static void set_values(struct finding *x, uint16_t attribute, const struct snapshot_difference *diff)
{
	void (*set)(char **member, const uint8_t *data) =
		attribute == MAD_SL2VL ? set_sl2vl : attribute == MAD_VLARB ? set_vlarb : set_pkeys;

	set(&x->wanted, diff->before);
	set(&x->got, diff->after);
	finding_set(&x->detail, "%" PRIu64 " of %" PRIu64 " answers", diff->differ, diff->compared);
	if (attribute == MAD_SL2VL && diff->compared > 1)
		finding_append(&x->detail, "shown: in-port %u", (unsigned)(diff->modifier >> 8 & 0xff));
	if (!diff->alike)
		finding_append(&x->detail, "the others differ otherwise");
}

/* How many LIDs, and the first of them. */
static void set_routes(struct finding *x, const struct snapshot_difference *diff)
{
	finding_set(&x->detail, "%" PRIu64 " LIDs", diff->bytes);
	for (unsigned i = 0; i < LIDS_A_BLOCK; i++) {
		if (diff->before[i] == diff->after[i])
			continue;
		finding_append(&x->detail, "first LID %u: ", diff->modifier * LIDS_A_BLOCK + i);
		if (diff->before[i] == LFT_NONE)
			finding_set(&x->detail, "%sno port before, port %u now", x->detail ? x->detail : "", diff->after[i]);
		else if (diff->after[i] == LFT_NONE)
			finding_set(&x->detail, "%sport %u before, no port now", x->detail ? x->detail : "", diff->before[i]);
		else
			finding_set(&x->detail, "%sport %u before, port %u now", x->detail ? x->detail : "", diff->before[i],
				    diff->after[i]);
		return;
	}
}

/*
 * One finding an attribute; what is not there in both, as tables of a port that is down, is no change of
 * tables.
 */
static bool compare_answers(const struct diff_state *before, uint32_t port, const struct diff_state *after, uint32_t twin,
			    uint16_t attribute, struct finding_list *findings, struct diff_result *result)
{
	struct snapshot_difference diff;
	struct finding *x;

	snapshot_compare(before->snapshot, port, after->snapshot, twin, attribute, &diff);
	if (diff.unknown > 0) {
		result->unknown++;
		x = finding_add(findings, FINDING_DIFF_UNKNOWN);
		place_port(x, after->fabric, twin);
		finding_set(&x->what, "%s", snapshot_attribute_name(MAD_CLASS_SMP, attribute));
		finding_set(&x->detail, "%" PRIu64 " answers", diff.unknown);
	}
	if (diff.differ == 0)
		return false;
	x = finding_add(findings, attribute == MAD_LFT ? FINDING_ROUTES_CHANGED : FINDING_TABLES_CHANGED);
	place_port(x, after->fabric, twin);
	set_part(x, attribute, diff.modifier);
	if (attribute == MAD_LFT)
		set_routes(x, &diff);
	else
		set_values(x, attribute, &diff);
	return true;
}

void diff_tables(const struct diff_state *before, uint32_t port, const struct diff_state *after, uint32_t twin,
		 struct finding_list *findings, struct diff_result *result)
{
	static const uint16_t tables[] = {MAD_SL2VL, MAD_VLARB, MAD_PKEY_TABLE};
	bool differ = false;

	for (unsigned i = 0; i < sizeof(tables) / sizeof(tables[0]); i++)
		differ |= compare_answers(before, port, after, twin, tables[i], findings, result);
	result->tables += differ;
	result->routes += compare_answers(before, port, after, twin, MAD_LFT, findings, result);
}
