/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The state file written. Format: docs/counters.md.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "ibqos/link.h"
#include "ibqos/state.h"
#include "state_file.h"

static void put_text(FILE *out, const char *text)
{
	if (!text) {
		fputs(" -", out);
		return;
	}
	fputs(*text ? " " : " %", out);
	for (const char *c = text; *c; c++) {
		unsigned char byte = (unsigned char)*c;

		if (byte <= ' ' || byte == '%' || byte == 0x7f || strcmp(text, "-") == 0)
			fprintf(out, "%%%02x", byte);
		else
			fputc(byte, out);
	}
}

static void put_values(FILE *out, uint32_t known, uint32_t more, const uint64_t value[COUNTERS])
{
	for (unsigned id = 0; id < COUNTERS; id++) {
		if (known & COUNTER_BIT(id))
			fprintf(out, " %" PRIu64 "%s", value[id], more & COUNTER_BIT(id) ? "+" : "");
		else
			fputs(" -", out);
	}
	fputc('\n', out);
}

static const char *or_none(const char *name)
{
	return *name ? name : "-";
}

static unsigned put_port(FILE *out, const struct state_port *p)
{
	const struct state_bucket *buckets[] = {&p->last, &p->before};
	unsigned lines = 1;

	fprintf(out, "port 0x%016" PRIx64 " %u 0x%016" PRIx64 " %u %s %s %" PRIu64, p->guid, p->port, p->peer_guid,
		p->peer_port, or_none(link_width_name(p->width)), or_none(link_speed_name(p->speed)), p->at);
	put_values(out, p->known, p->saturated, p->value);
	for (unsigned i = 0; i < 2; i++) {
		uint32_t grown = 0;

		if (buckets[i]->since == 0)
			continue;
		for (unsigned id = 0; id < COUNTERS; id++)
			grown |= buckets[i]->growth[id] || buckets[i]->least & COUNTER_BIT(id) ? COUNTER_BIT(id) : 0;
		fprintf(out, "%s %" PRIu64 " %" PRIu64, i == 0 ? "last" : "before", buckets[i]->since, buckets[i]->seconds);
		put_values(out, grown, buckets[i]->least, buckets[i]->growth);
		lines++;
	}
	return lines;
}

static void put_sent(FILE *out, const struct state_shares *p)
{
	fprintf(out, "sent 0x%016" PRIx64 " %u 0x%016" PRIx64 " %u %s %s %" PRIu64 " %u", p->guid, p->port, p->peer_guid,
		p->peer_port, or_none(link_width_name(p->width)), or_none(link_speed_name(p->speed)), p->at, p->wide ? 64u : 32u);
	for (unsigned i = 0; i < QOS_SLS; i++)
		fprintf(out, " %" PRIu64 "%s", p->sent[i], p->saturated & 1u << i ? "+" : "");
	for (unsigned i = 0; p->has_waited && i < QOS_SLS; i++)
		fprintf(out, " %u", p->waited[i]);
	fputs(p->has_waited ? "\n" : " -\n", out);
}

static void put_place(FILE *out, uint64_t guid, int port)
{
	fprintf(out, " 0x%016" PRIx64, guid);
	if (port == FINDING_WHOLE_NODE)
		fputs(" -", out);
	else
		fprintf(out, " %d", port);
}

static void put_finding(FILE *out, const struct state_finding *f)
{
	fprintf(out, "finding %s %s", finding_kind(f->code)->code, finding_severity_name(f->severity));
	put_place(out, f->guid, f->port);
	put_place(out, f->peer_guid, f->peer_port);
	fprintf(out, " %" PRIu64 " %" PRIu64 " %" PRIu64, f->first, f->seen, f->clean);
	put_text(out, f->what);
	put_text(out, f->wanted);
	put_text(out, f->got);
	fputc('\n', out);
}

char *state_text(const struct state *state, size_t *size)
{
	char *text = NULL;
	FILE *out = open_memstream(&text, size);
	size_t i, lines = 5 + state->node_count + state->shares_count + state->finding_count + state->ack_count;

	if (!out)
		return NULL;
	fputs(STATE_HEAD "\nlabel", out);
	put_text(out, state->label ? state->label : "");
	fprintf(out, "\nwritten %" PRIu64 "\ncounters", state->written);
	for (i = 0; i < COUNTERS; i++)
		fprintf(out, " %s", counter_row((enum counter_id)i)->name);
	fputc('\n', out);
	for (i = 0; i < state->node_count; i++) {
		fprintf(out, "node 0x%016" PRIx64, state->nodes[i].guid);
		put_text(out, state->nodes[i].name);
		fputc('\n', out);
	}
	for (i = 0; i < state->port_count; i++)
		lines += put_port(out, &state->ports[i]);
	for (i = 0; i < state->shares_count; i++)
		put_sent(out, &state->shares[i]);
	for (i = 0; i < state->finding_count; i++)
		put_finding(out, &state->findings[i]);
	for (i = 0; i < state->ack_count; i++) {
		fprintf(out, "ack %s", finding_kind(state->acks[i].code)->code);
		put_place(out, state->acks[i].guid, state->acks[i].port);
		fprintf(out, " %" PRIu64, state->acks[i].until);
		put_text(out, state->acks[i].ticket);
		if (state->acks[i].since || state->acks[i].by) {
			fprintf(out, " %" PRIu64, state->acks[i].since);
			put_text(out, state->acks[i].by);
		}
		fputc('\n', out);
	}
	fprintf(out, "end %zu\n", lines);
	return text_stream_end(out, &text) == 0 ? text : NULL;
}
