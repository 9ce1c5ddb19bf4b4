/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Any text as ibdiagnet's db_csv. Each fault has a place in the text, and nothing is taken with one. What is taken is a whole
 * fabric; carriage returns, a byte order mark, and sections that nobody knows change nothing but the count of those; answers
 * are about ports that are there, and found again; no M_Key is kept.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"
#include "source/dump.h"

static void check_place(const char *text, size_t size, const struct dump_fault *fault)
{
	require(fault->text[0] && fuzz_printable(fault->text, "") && !fault->binary);
	if (fault->line != 0)
		fuzz_place(text, size, fault->line, fault->column);
}

static void check_result(const struct dump_result *r)
{
	static const uint8_t none[8];
	const struct fabric *f = r->fabric;
	uint8_t data[MAD_DATA_MAX];

	require(f->finished && f->node_count > 0 && r->lacks && fuzz_printable(r->lacks, ""));
	for (uint32_t i = 0; i < f->node_count; i++)
		require(f->nodes[i].name[0] && fuzz_printable(f->nodes[i].name, "") && f->nodes[i].ports > 0);
	for (uint32_t i = 0; i < f->port_count; i++) {
		const struct fabric_port *p = &f->ports[i];

		require(p->peer == FABRIC_NONE || f->ports[p->peer].peer == i);
		require(memcmp(p->info, none, sizeof(none)) == 0);
		require(p->number > 0 || fabric_port_node(f, i)->type == FABRIC_SWITCH || !p->known);
		if (!p->cable)
			continue;
		require(!p->cable->serial || (p->cable->serial[0] && fuzz_printable(p->cable->serial, "")));
		require(!p->cable->part || fuzz_printable(p->cable->part, ""));
	}
	for (size_t i = 0; i < r->answers.count; i++) {
		const struct dump_answer *a = &r->answers.items[i];

		require(a->port < f->port_count);
		require(dump_find(&r->answers, a->port, a->mgmt_class, a->attribute, a->modifier, data));
		require(memcmp(data, r->answers.bytes + a->at, a->size) == 0);
		for (size_t k = a->size; k < sizeof(data); k++)
			require(data[k] == 0);
	}
	require(!dump_find(&r->answers, f->port_count, 0, 0, 0, data));
}

static void same(const struct dump_result *a, const struct dump_result *b)
{
	const struct fabric *f = a->fabric, *g = b->fabric;

	require(f->node_count == g->node_count && f->port_count == g->port_count && f->link_count == g->link_count);
	require(f->gap_count == g->gap_count && f->sm_lid == g->sm_lid);
	for (uint32_t i = 0; i < f->node_count; i++)
		require(memcmp(f->nodes[i].node_info, g->nodes[i].node_info, MAD_SMP_DATA) == 0 &&
			memcmp(f->nodes[i].switch_info, g->nodes[i].switch_info, MAD_SMP_DATA) == 0);
	for (uint32_t i = 0; i < f->port_count; i++)
		require(f->ports[i].peer == g->ports[i].peer && f->ports[i].known == g->ports[i].known &&
			memcmp(f->ports[i].info, g->ports[i].info, MAD_SMP_DATA) == 0);
	require(a->answers.count == b->answers.count && a->answers.size == b->answers.size);
	require(a->answers.size == 0 || memcmp(a->answers.bytes, b->answers.bytes, a->answers.size) == 0);
}

/* The same file as it comes from elsewhere. */
static char *dressed(const char *text, size_t size, size_t *out_size)
{
	static const char head[] = "\xef\xbb\xbf# Running version\r\n\r\nSTART_NEW_STUFF\r\na,b\r\n1,2,\"3\r\nEND_NEW_STUFF\r\n";
	char *out = malloc(2 * size + sizeof(head)), *at = out;

	require(out);
	memcpy(at, head, sizeof(head) - 1);
	at += sizeof(head) - 1;
	if (size >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0) {
		text += 3;
		size -= 3;
	}
	for (size_t i = 0; i < size; i++) {
		if (text[i] == '\n')
			*at++ = '\r';
		*at++ = text[i];
	}
	*out_size = (size_t)(at - out);
	return out;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct dump_result result, again;
	char *text = malloc(size ? size : 1), *other;
	struct dump_faults faults;
	size_t other_size;
	int error;

	require(text);
	memcpy(text, data, size);
	db_csv_is(text, size);
	error = db_csv_read("", text, size, &result, &faults);
	require(error == (faults.count > 0 ? -EBADMSG : 0));
	if (error != 0) {
		require(!result.fabric && !result.lacks && result.answers.count == 0);
		for (size_t i = 0; i < faults.count && i < DUMP_FAULTS; i++)
			check_place(text, size, &faults.items[i]);
	} else {
		other = dressed(text, size, &other_size);
		require(db_csv_read("", other, other_size, &again, &faults) == 0);
		same(&result, &again);
		dump_order(&result.answers);
		check_result(&result);
		dump_result_clear(&again);
		free(other);
	}
	dump_result_clear(&result);
	free(text);
	return 0;
}
