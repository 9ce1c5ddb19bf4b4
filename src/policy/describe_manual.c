/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The manual page of the policy language, in reStructuredText: the keys from the tables that read
 * them, the services from theirs, the rest as it stands here.
 */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "read.h"

#define WIDTH 100

static void write_wrapped(FILE *out, unsigned indent, const char *text)
{
	text_wrap(out, indent, WIDTH, text);
}

void manual_heading(FILE *out, const char *title, char line)
{
	fprintf(out, "\n%s\n", title);
	for (size_t i = 0; i < strlen(title); i++)
		fputc(line, out);
	fputs("\n\n", out);
}

static const char *type_name(const struct key_row *row)
{
	switch (row->type) {
	case VALUE_MAPPING:
		return "keys and values";
	case VALUE_LIST:
		return "list";
	case VALUE_NAMED:
		return "names, each with a list";
	default:
		return NULL;
	}
}

static void write_row(FILE *out, const struct key_row *row)
{
	const char *type = type_name(row);

	fprintf(out, "**%s**: %s%s%s\n", row->name, type ? type : row->wanted, row->many ? ", or a list of such" : "",
		row->required ? "; required" : "");
	write_wrapped(out, 2, row->doc);
	fputc('\n', out);
}

/* A table after the keys of the one that names it, each once. */
void manual_table(FILE *out, const char *title, const struct key_table *table)
{
	manual_heading(out, title, '-');
	for (size_t i = 0; i < table->count; i++)
		write_row(out, &table->rows[i]);
	for (size_t i = 0; i < table->count; i++) {
		const struct key_row *row = &table->rows[i];
		bool seen = !row->keys;
		char heading[128];

		for (size_t n = 0; n < i; n++)
			seen |= table->rows[n].keys == row->keys;
		if (seen)
			continue;
		snprintf(heading, sizeof(heading), "Of %s%s", row->type == VALUE_MAPPING ? "" : "an item of ", row->name);
		manual_table(out, heading, row->keys);
	}
}

static void write_services(FILE *out)
{
	size_t count;
	const struct policy_service *services = policy_services(&count);

	manual_heading(out, "SERVICES", '=');
	for (size_t i = 0; i < count; i++) {
		const struct policy_service *s = &services[i];

		fprintf(out, "**%s**", s->name);
		if (s->high && s->high == s->low)
			fprintf(out, ": service ID 0x%08" PRIx64, s->low);
		else if (s->high)
			fprintf(out, ": service IDs 0x%08" PRIx64 " to 0x%08" PRIx64, s->low, s->high);
		fputc('\n', out);
		write_wrapped(out, 2, s->doc);
		fputc('\n', out);
	}
	write_wrapped(out, 0,
		      "OpenSM has keywords for sdp, rds, iser, srp and ipoib (its section qos-ulps). ibqos writes the "
		      "match rules that OpenSM makes of them instead: after a syntax error OpenSM keeps rules of that "
		      "section for the next good file, and ``ipoib`` there has it refuse the whole file while fewer "
		      "than two ports are members of the partition.");
}

static void write_choosers(FILE *out)
{
	size_t count;
	const struct policy_self_chooser *choosers = policy_self_choosers(&count);

	manual_heading(out, "PROGRAMS THAT ASK NOBODY", '=');
	write_wrapped(out, 0,
		      "These put an SL in their queue pairs by themselves. No rule reaches them; they are told by a "
		      "variable of the job's environment:");
	fputc('\n', out);
	for (size_t i = 0; i < count; i++)
		fprintf(out, "- %s: %s\n", choosers[i].name, choosers[i].how);
}

static const char head[] =
	".. Made by `make policy-docs` from the tables in src/policy: edit those.\n\n"
	"============\n"
	"ibqos-policy\n"
	"============\n\n"
	"--------------------------------------------\n"
	"what traffic matters on an InfiniBand fabric\n"
	"--------------------------------------------\n\n"
	":Manual section: 5\n"
	":Manual group: InfiniBand administration\n\n"
	"DESCRIPTION\n"
	"===========\n\n"
	"A policy of ibqos(8) is a YAML file. Unknown and doubled keys, values of the wrong type or out of range,\n"
	"names of nothing: each is an error with line and column, all reported in one run of ``ibqos lint``. Of YAML\n"
	"only what a policy needs is taken: one document, no anchors, aliases or tags. Numbers are decimal, or\n"
	"hexadecimal with 0x where that is said; a number in quotes is text.\n\n"
	"``ibqos lint --schema`` prints the language as a JSON Schema, for editors.\n\n"
	"EXAMPLE\n"
	"=======\n\n"
	"::\n\n"
	"  version: 1\n"
	"  name: training-first\n"
	"  classes:\n"
	"    - name: training\n"
	"      sl: 1\n"
	"      nccl_ib_tc: 104\n"
	"      share: 65%\n"
	"    - name: storage\n"
	"      sl: 2\n"
	"      share: 20%\n"
	"      match:\n"
	"        - {service: lustre, destination: oss}\n"
	"        - {service_id: 0x01061144, qos_class: [0, 8-11]}\n"
	"        - {partition: backup}\n"
	"    - name: heartbeat\n"
	"      sl: 4\n"
	"      share: 5%\n"
	"      min_latency: true\n"
	"      match:\n"
	"        - {service_id: 0x01069c40-0x01069c4f}\n"
	"    - name: other\n"
	"      sl: 0\n"
	"      share: 10%\n"
	"      default: true\n"
	"  vls: 4\n"
	"  groups:\n"
	"    oss:\n"
	"      - {name: \"oss*\", node_type: ca}\n"
	"      - {guid: [0x0c42a10300000011, 0x0c42a10300000021]}\n"
	"  partitions:\n"
	"    - {name: backup, pkey: 0x8002, sl: 2}\n"
	"  links:\n"
	"    - name: split-hosts\n"
	"      ends:\n"
	"        - {node: \"gpu*\", node_type: ca}\n"
	"        - {node_type: switch}\n"
	"      speed: NDR\n"
	"      width: 2x\n"
	"      exceptions:\n"
	"        - {node: \"gpu-017*\", port: 1, speed: HDR, reason: \"cable on order\", until: 2026-12-31}\n"
	"  counters:\n"
	"    rates:\n"
	"      - {counter: PortXmitDiscards, count: 1000, seconds: 300}\n"
	"      - {counter: PortXmitDiscards, speed: NDR, count: 4000, seconds: 300}\n"
	"    suppress: PortRcvRemotePhysicalErrors\n"
	"    tolerance: 25\n"
	"  opensm:\n"
	"    config: /etc/opensm/opensm.conf\n\n"
	"KEYS\n"
	"====\n";

static const char *const order[] = {
	"OpenSM answers a program that asks for a path by the first rule that matches. The rules stand in this order, "
	"which ``ibqos lint`` prints: class by class as in the policy, of each class its traffic classes (nccl_ib_tc) "
	"first and then its matches; last, in the same order, matches of **ipoib** and **srp**, which know their traffic "
	"by partition or destination only and would take what belongs to others.",
	"A criterion that a request does not carry does not hold: one without a QoS class matches no **qos_class**, one "
	"without a service ID no **service** and **service_id**. rdma_cm sends service ID and P_Key always, the QoS class "
	"over IPv4.",
	"What overlaps is told: a match that an earlier one of another class hides altogether or in part (warnings), and "
	"one of which a request can also match an earlier one by something else (a note).",
	NULL};

static const char *const limits[] = {
	"Rules reach programs that ask the subnet manager, when they ask: a connection keeps its SL. Multicast of IPoIB, "
	"its ARP included, has the SL that the partition had when the broadcast group was made.",
	"Groups are port GUIDs as of the time of the plan.",
	"partitions.conf is neither written nor read: what **partitions** says of it is taken as it stands.",
	"A VL arbitration table with a busy high class leaves the others at least one packet for each VLHighLimit of its "
	"own, and at most every second packet.",
	NULL};

void manual_paragraphs(FILE *out, const char *title, const char *const *paragraphs)
{
	manual_heading(out, title, '=');
	for (unsigned i = 0; paragraphs[i]; i++) {
		if (i)
			fputc('\n', out);
		write_wrapped(out, 0, paragraphs[i]);
	}
}

int policy_manual(FILE *out)
{
	fputs(head, out);
	manual_table(out, "Of the policy", &policy_key_table);
	manual_paragraphs(out, "ORDER OF RULES", order);
	write_services(out);
	write_choosers(out);
	manual_paragraphs(out, "LIMITS", limits);
	manual_heading(out, "SEE ALSO", '=');
	fputs("ibqos(8), opensm(8)\n", out);
	return ferror(out) ? -EIO : 0;
}
