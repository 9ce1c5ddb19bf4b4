/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Any text as ibnetdiscover's. A refusal has a place in the text. What is taken is a whole fabric; written
 * out in the same words and read again it is the same; lines in front that are none of the format's, carriage
 * returns and a byte order mark change nothing.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"
#include "ibqos/link.h"
#include "source/dump.h"

static void check_place(const char *text, size_t size, const struct dump_fault *fault)
{
	require(fault->text[0] && fuzz_printable(fault->text, ""));
	if (fault->line != 0)
		fuzz_place(text, size, fault->line, fault->column);
}

static void check_fabric(const struct fabric *f)
{
	require(f->node_count > 0 && f->finished && f->gap_count == 0);
	for (uint32_t i = 0; i < f->node_count; i++) {
		require(f->nodes[i].guid != 0 && (i == 0 || f->nodes[i - 1].guid < f->nodes[i].guid));
		require(f->nodes[i].name[0] && fuzz_printable(f->nodes[i].name, ""));
	}
	for (uint32_t i = 0; i < f->port_count; i++) {
		const struct fabric_port *p = &f->ports[i];

		require(!p->known && (p->peer == FABRIC_NONE || f->ports[p->peer].peer == i));
		require(p->peer != FABRIC_NONE || !p->told_speed);
	}
}

/* The fabric in ibnetdiscover's words. */
static char *write_out(const struct fabric *f, const char *newline)
{
	static const char letters[] = "?HSR";
	char *text;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	require(out);
	fprintf(out,
		"\xef\xbb\xbfmad.c:12: error [1]: something \"went\" wrong%s[root@head ~]# ibnetdiscover%s",
		newline, newline);
	for (uint32_t i = 0; i < f->node_count; i++) {
		const struct fabric_node *n = &f->nodes[i];
		bool is_switch = n->type == FABRIC_SWITCH;

		fprintf(out, "vendid=0x%x%sdevid=0x%x%ssysimgguid=0x%" PRIx64 "%s", n->vendor, newline,
			n->device, newline, n->system_guid, newline);
		fprintf(out, "%s %d \"%c-%016" PRIx64 "\" # \"%s\" %s port 0 lid %d lmc 0%s",
			is_switch              ? "Switch"
			: n->type == FABRIC_CA ? "Ca"
					       : "Rt",
			n->ports, letters[n->type], n->guid, n->name, n->enhanced_port0 ? "enhanced" : "base",
			n->lid, newline);
		for (unsigned p = 1; p <= n->ports; p++) {
			const struct fabric_port *port = &f->ports[n->first_port + p];
			const struct fabric_node *peer;

			if (port->peer == FABRIC_NONE)
				continue;
			peer = fabric_port_node(f, port->peer);
			fprintf(out,
				"[%u](%" PRIx64 ")\t\"%c-%016" PRIx64
				"\"[%d]\t\t# lid %d lmc 0 \"%s\" lid 7 %s%s%s",
				p, port->guid, letters[peer->type], peer->guid, f->ports[port->peer].number,
				port->told_lid, peer->name, link_width_name(port->told_width),
				link_speed_name(port->told_speed), newline);
		}
	}
	require(fclose(out) == 0);
	return text;
}

static void same(const struct fabric *a, const struct fabric *b)
{
	require(a->node_count == b->node_count && a->port_count == b->port_count &&
		a->link_count == b->link_count);
	for (uint32_t i = 0; i < a->node_count; i++) {
		const struct fabric_node *x = &a->nodes[i], *y = &b->nodes[i];

		require(x->guid == y->guid && x->system_guid == y->system_guid && x->type == y->type &&
			x->ports == y->ports);
		require(x->vendor == y->vendor && x->device == y->device);
		require(x->lid == y->lid && x->enhanced_port0 == y->enhanced_port0);
	}
	for (uint32_t i = 0; i < a->port_count; i++) {
		const struct fabric_port *x = &a->ports[i], *y = &b->ports[i];

		require(x->peer == y->peer &&
			(!x->told_width || !x->told_speed || x->told_speed == y->told_speed));
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct dump_result result, again;
	struct dump_faults faults;
	char *text = malloc(size + 1), *written;
	int error;

	require(text);
	memcpy(text, data, size);
	netdiscover_is(text, size);
	error = netdiscover_read("", text, size, &result, &faults);
	require(error == (faults.count > 0 ? -EBADMSG : 0));
	if (error != 0) {
		require(!result.fabric);
		for (size_t i = 0; i < faults.count && i < DUMP_FAULTS; i++)
			check_place(text, size, &faults.items[i]);
	} else {
		check_fabric(result.fabric);
		for (int i = 0; i < 2; i++) {
			written = write_out(result.fabric, i ? "\r\n" : "\n");
			require(netdiscover_read("", written, strlen(written), &again, &faults) == 0);
			same(result.fabric, again.fabric);
			dump_result_clear(&again);
			free(written);
		}
		dump_result_clear(&result);
	}
	free(text);
	return 0;
}
