/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Any text as the state file of an audit: refused with a line and a reason, or what is written of it is read as the same and
 * found again by its place; and as an error_thresholds file: a fault has its line and is printable, a good line counts whatever
 * stands before it.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"
#include "ibqos/state.h"

#define GOOD_LINE "\nVL15Dropped=77"

static void check_state(const char *text)
{
	struct state first, again;
	const char *why = NULL;
	unsigned line = 0;
	size_t size;
	int error = state_parse(text, &first, &line, &why);
	char *written, *twice;

	if (error != 0) {
		require(error == -EINVAL && why && !first.ports && !first.nodes && !first.findings && !first.acks);
		return;
	}
	for (size_t i = 0; i < first.port_count; i++)
		require(state_port_find(&first, first.ports[i].guid, first.ports[i].port) == &first.ports[i]);
	for (size_t i = 0; i < first.node_count; i++)
		require(fuzz_printable(first.nodes[i].name, ""));
	for (size_t i = 0; i < first.ack_count; i++) {
		require(fuzz_printable(first.acks[i].ticket, ""));
		require(!first.acks[i].by || fuzz_printable(first.acks[i].by, ""));
	}
	written = state_text(&first, &size);
	require(written && strlen(written) == size);
	require(state_parse(written, &again, &line, &why) == 0);
	twice = state_text(&again, &size);
	require(twice && strcmp(written, twice) == 0);
	require(again.port_count == first.port_count && again.finding_count == first.finding_count &&
		again.ack_count == first.ack_count && again.written == first.written);
	/* puts of its own ports change nothing */
	for (size_t i = 0; i < first.shares_count; i++)
		require(state_shares_find(&first, first.shares[i].guid, first.shares[i].port) == &first.shares[i]);
	require(state_ports_put(&again, first.ports, first.port_count, 0) == 0);
	free(twice);
	twice = state_text(&again, &size);
	require(twice && strcmp(written, twice) == 0);
	free(twice);
	free(written);
	state_clear(&first);
	state_clear(&again);
}

static void check_thresholds(const char *text)
{
	struct counter_thresholds t = {0}, with = {0};
	struct finding_list findings = {0};
	unsigned lines = 1;
	char *more = malloc(strlen(text) + sizeof(GOOD_LINE));

	require(more);
	for (const char *c = text; *c; c++)
		lines += *c == '\n';
	counter_thresholds_parse("file", text, &findings, &t);
	require(t.suppressed == 0 && !findings.lost);
	for (size_t i = 0; i < findings.count; i++) {
		require(findings.items[i].line >= 1 && findings.items[i].line <= lines);
		require(fuzz_printable(findings.items[i].what, ""));
	}
	strcpy(more, text);
	strcat(more, GOOD_LINE);
	counter_thresholds_parse("file", more, &findings, &with);
	require(with.given == (t.given | COUNTER_BIT(COUNTER_VL15)) && with.value[COUNTER_VL15] == 77);
	finding_list_clear(&findings);
	free(more);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz in = {data, size};
	char *text = fuzz_rest(&in);

	check_state(text);
	check_thresholds(text);
	free(text);
	return 0;
}
