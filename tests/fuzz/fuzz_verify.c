/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * verify against devices that hold what OpenSM would have set there for any tables, ports being of any
 * kind; then one answer is changed by a bit, or lost, and the run may break. A device that holds the
 * right tables is never called wrong; one bit that counts is always found, at its very port, and one
 * that does not count never; nothing that was not answered is clean; asked again with all answers right
 * the result is that of a run in which nothing happened.
 *
 * What OpenSM sets is computed here by byte offset of PortInfo (IBA 14.2.5.6) and from osm_qos.c, not
 * by the code under test.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"
#include "ibqos/check.h"

#define NODES 5 /* two switches, three ends */
#define SWITCHES 2
#define PORTS 6 /* of a switch, at most */
#define SLOTS (NODES * (PORTS + 1))
#define IN_FLIGHT 5

/* PortInfo, IBA 14.2.5.6 */
enum { STATE = 32, PHYS = 33, VL_CAP = 37, HIGH_LIMIT = 38, HIGH_CAP = 39, LOW_CAP = 40, OPER_VLS = 43 };

struct device {
	uint8_t info[MAD_SMP_DATA]; /* of this port, as it is when verify asks */
	bool discovered;            /* the discovery had its PortInfo */
	bool changed;               /* which has changed since then */
	uint8_t rest;               /* what stands where nothing was set */
};

enum fault { FAULT_NONE, FAULT_BIT, FAULT_STATUS, FAULT_TIMEOUT, FAULT_BREAK, FAULTS };

struct rig {
	struct source source;
	struct fabric *fabric;
	struct qos_config config;
	struct device devices[SLOTS]; /* by port index */
	struct mad_counts counts;
	/* one fault in the run, at the answer of this number */
	enum fault fault;
	unsigned fault_at, fault_bit, answers;
	bool failed, counted; /* the fault came to pass; the bit is one that counts */
	uint32_t faulty;      /* port index */
	bool stale;           /* verify could not have the PortInfo that the device has now */
};

/* --- the fabric --- */

static void fill_tables(struct fuzz *in, struct qos_tables *tables)
{
	struct qos_vlarb *both[] = {&tables->high, &tables->low};

	for (unsigned sl = 0; sl < QOS_SLS; sl++)
		tables->sl2vl.vl[sl] = (uint8_t)fuzz_below(in, 16);
	tables->high_limit = (uint8_t)fuzz_byte(in);
	for (unsigned i = 0; i < 2; i++) {
		unsigned own = fuzz_below(in, 6); /* then repeated */

		both[i]->count = fuzz_below(in, QOS_VLARB_ENTRIES + 1);
		for (unsigned n = 0; n < both[i]->count; n++) {
			if (n <= own)
				both[i]->entry[n] = (struct qos_vlarb_entry){(uint8_t)fuzz_below(in, 15),
									     (uint8_t)fuzz_byte(in)};
			else
				both[i]->entry[n] = both[i]->entry[n % (own + 1)];
		}
	}
}

static void fill_port(struct fuzz *in, struct device *device)
{
	uint8_t *info = device->info;
	unsigned kind = fuzz_byte(in);

	/* so that the empty input has plain ports: all VLs, 8 entries, SL mapping */
	info[STATE] = kind & 1 ? (uint8_t)fuzz_byte(in) : FABRIC_STATE_ACTIVE;
	info[PHYS] = FABRIC_PHYS_LINK_UP << 4;
	info[VL_CAP] = kind & 2 ? (uint8_t)fuzz_byte(in) : 0x40;
	info[OPER_VLS] = kind & 4 ? (uint8_t)fuzz_byte(in) : 0x40;
	info[HIGH_CAP] = kind & 8 ? (uint8_t)fuzz_byte(in) : 8;
	info[LOW_CAP] = kind & 16 ? (uint8_t)fuzz_byte(in) : 8;
	info[23] = kind & 32 ? 0 : 0x40; /* IsSLMappingSupported */
	info[17] = 1;                    /* LID */
	device->discovered = !(kind & 64);
	device->rest = (uint8_t)fuzz_byte(in);
}

static void add_nodes(struct fuzz *in, struct fabric *fabric, bool *switch_info)
{
	for (unsigned i = 0; i < NODES; i++) {
		bool is_switch = i < SWITCHES;
		uint8_t info[MAD_SMP_DATA] = {[2] = FABRIC_SWITCH, [3] = PORTS, [19] = (uint8_t)(i + 1)};
		uint8_t sw[MAD_SMP_DATA] = {[0] = 1};
		const struct mad_route route = {.hops = i > 0, .port = {0, (uint8_t)i}};

		if (!is_switch) {
			info[2] = fuzz_bit(in) ? FABRIC_ROUTER : FABRIC_CA;
			info[3] = 2;
			info[36] = 1; /* LocalPortNum */
		}
		/* SwitchInfo: IBA 14.2.5.4, EnhancedPort0 is bit 3 of byte 16 */
		sw[16] = fuzz_bit(in) ? 0x08 : 0;
		*switch_info = is_switch && !fuzz_bit(in);
		require(fabric_add_node(fabric, info, *switch_info++ ? sw : NULL, NULL, &route) == i);
	}
}

static void make_rig(struct fuzz *in, struct rig *rig)
{
	struct fabric *f = rig->fabric = fabric_new("");
	bool switch_info[NODES];

	require(f);
	for (unsigned type = 0; type < QOS_PORT_TYPES; type++)
		fill_tables(in, &rig->config.of[type]);
	add_nodes(in, f, switch_info);
	require(f->port_count <= SLOTS);
	for (uint32_t i = 0; i < f->port_count; i++) {
		const struct fabric_port *port = &f->ports[i];

		fill_port(in, &rig->devices[i]);
		if (port->number == 0 && f->nodes[port->node].type != FABRIC_SWITCH)
			rig->devices[i].discovered = false;
		if (rig->devices[i].discovered)
			require(fabric_port_seen(f, port->node, port->number, 0, rig->devices[i].info,
						 NULL) == 0);
		/* it may change until verify asks */
		rig->devices[i].changed = fuzz_below(in, 8) == 7;
		if (rig->devices[i].changed)
			fill_port(in, &rig->devices[i]);
	}
	for (unsigned links = fuzz_below(in, 7), i = 0; i < links; i++)
		fabric_link(f, fuzz_below(in, NODES), fuzz_below(in, PORTS + 1), fuzz_below(in, NODES),
			    fuzz_below(in, PORTS + 1));
	require(fabric_finish(f) == 0); /* GUIDs are in order, so indexes stay */
}

/* --- what OpenSM has set --- */

static const struct device *port_0(const struct rig *rig, uint32_t port)
{
	return &rig->devices[fabric_port_node(rig->fabric, port)->first_port];
}

static bool of_switch(const struct rig *rig, uint32_t port)
{
	return fabric_port_node(rig->fabric, port)->type == FABRIC_SWITCH;
}

static unsigned fold(unsigned vl, const struct device *device)
{
	static const uint8_t masks[16] = {255, 0,   1,   3,   7,   15,  255, 255,
					  255, 255, 255, 255, 255, 255, 255, 255};

	return vl & masks[device->info[OPER_VLS] >> 4];
}

static const struct qos_tables *tables_of(const struct rig *rig, uint32_t port)
{
	enum fabric_node_type type = fabric_port_node(rig->fabric, port)->type;

	if (type == FABRIC_SWITCH)
		return &rig->config.of[rig->fabric->ports[port].number ? QOS_PORT_SWE : QOS_PORT_SW0];
	return &rig->config.of[type == FABRIC_ROUTER ? QOS_PORT_RTR : QOS_PORT_CA];
}

static bool one_vl(const struct device *device)
{
	return device->info[VL_CAP] >> 4 == 1;
}

/* Whether OpenSM sets VLHighLimit there: not where it waits in Init for a neighbour that is not known. */
static bool limit_set(const struct rig *rig, uint32_t port)
{
	const struct fabric_port *p = &rig->fabric->ports[port];

	return p->number == 0 || p->peer != FABRIC_NONE ||
	       (rig->devices[port].info[STATE] & 15) != FABRIC_STATE_INIT;
}

/* Entries of a block that OpenSM sets. */
static unsigned block_length(const struct device *device, unsigned block)
{
	unsigned cap = device->info[block < 2 ? LOW_CAP : HIGH_CAP];

	if (one_vl(device))
		return 0;
	if (block % 2)
		return cap > 32 ? cap % 32 : 0;
	return cap < 32 ? cap : 32;
}

/* The second block of a table of exactly 64, of which OpenSM sets no entry: nothing there may have weight. */
static bool leftover(const struct device *device, unsigned block)
{
	return !one_vl(device) && block % 2 && device->info[block < 2 ? LOW_CAP : HIGH_CAP] == 64;
}

static enum mad_outcome answer_sl2vl(const struct rig *rig, uint32_t port, uint32_t modifier, uint8_t *data)
{
	const struct device *d = &rig->devices[port];
	const struct qos_tables *tables = tables_of(rig, port);
	unsigned in_port = modifier >> 8;

	require((modifier & 0xff) == (of_switch(rig, port) ? rig->fabric->ports[port].number : 0));
	require(of_switch(rig, port) ? in_port <= PORTS : in_port == 0);
	if (!((of_switch(rig, port) ? port_0(rig, port) : d)->info[23] & 0x40))
		return MAD_STATUS;
	if (of_switch(rig, port) && in_port != 0)
		tables = &rig->config.of[QOS_PORT_SWE];
	for (unsigned sl = 0; sl < QOS_SLS; sl++) {
		unsigned vl = tables->sl2vl.vl[sl];

		data[sl / 2] |= (uint8_t)((vl == 15 ? vl : fold(vl, d)) << (sl % 2 ? 0 : 4));
	}
	return MAD_ANSWERED;
}

static enum mad_outcome answer_vlarb(const struct rig *rig, uint32_t port, uint32_t modifier, uint8_t *data)
{
	const struct device *d = &rig->devices[port];
	const struct qos_tables *tables = tables_of(rig, port);
	unsigned block = (modifier >> 16) - 1, length;

	require((modifier & 0xffff) == (of_switch(rig, port) ? rig->fabric->ports[port].number : 0));
	require(block < QOS_VLARB_BLOCKS);
	length = block_length(d, block);
	memset(data, d->rest, MAD_SMP_DATA);
	for (unsigned i = 1; leftover(d, block) && i < MAD_SMP_DATA; i += 2)
		data[i] = 0;
	for (unsigned i = 0; i < length; i++) {
		const struct qos_vlarb *table = block < 2 ? &tables->low : &tables->high;
		unsigned n = block % 2 * 32 + i;
		struct qos_vlarb_entry entry =
			n < table->count ? table->entry[n] : (struct qos_vlarb_entry){0, 0};

		data[2 * i] =
			(uint8_t)((d->rest & 0xf0) | fold(entry.vl, d)); /* the upper half is reserved */
		data[2 * i + 1] = entry.weight;
	}
	return MAD_ANSWERED;
}

static enum mad_outcome answer_info(const struct rig *rig, uint32_t port, uint32_t modifier, uint8_t *data)
{
	const struct device *d = &rig->devices[port];

	require(modifier == rig->fabric->ports[port].number);
	memcpy(data, d->info, MAD_SMP_DATA);
	data[HIGH_LIMIT] = one_vl(d) ? 0 : tables_of(rig, port)->high_limit;
	if (!limit_set(rig, port))
		data[HIGH_LIMIT] = d->rest;
	return MAD_ANSWERED;
}

/* --- asking --- */

/* Whether OpenSM programs a port at all. */
static bool programmed(const struct rig *rig, uint32_t port)
{
	const struct fabric_node *node = fabric_port_node(rig->fabric, port);

	if ((rig->devices[port].info[STATE] & 15) == FABRIC_STATE_DOWN)
		return false;
	return node->type != FABRIC_SWITCH || rig->fabric->ports[port].number > 0 ||
	       (node->has_switch_info && node->enhanced_port0);
}

/* Changes a bit of an answer; whether it is one that OpenSM sets. */
static bool change_bit(const struct rig *rig, const struct source_query *query, uint8_t *data)
{
	unsigned bit = rig->fault_bit % 8, byte = rig->fault_bit / 8 % MAD_SMP_DATA;
	const struct device *d = &rig->devices[query->port];

	if (query->attribute == MAD_PORT_INFO)
		byte = HIGH_LIMIT; /* the others decide what is right */
	data[byte] ^= (uint8_t)(1 << bit);
	if (!programmed(rig, query->port))
		return false;
	if (query->attribute == MAD_PORT_INFO)
		return limit_set(rig, query->port);
	if (query->attribute == MAD_SL2VL)
		return byte < QOS_SL2VL_WIRE;
	if (leftover(d, (query->modifier >> 16) - 1))
		return byte % 2;
	return byte / 2 < block_length(d, (query->modifier >> 16) - 1) && (byte % 2 || bit < 4);
}

static void answer(struct rig *rig, const struct source_asker *asker, const struct source_query *query)
{
	uint8_t data[MAD_SMP_DATA] = {0};
	struct mad_answer a = {.tries = 1};

	switch (query->attribute) {
	case MAD_PORT_INFO:
		a.outcome = answer_info(rig, query->port, query->modifier, data);
		break;
	case MAD_SL2VL:
		a.outcome = answer_sl2vl(rig, query->port, query->modifier, data);
		break;
	default:
		require(query->attribute == MAD_VLARB);
		a.outcome = answer_vlarb(rig, query->port, query->modifier, data);
		break;
	}
	if (rig->fault == FAULT_BREAK && rig->failed) {
		a = (struct mad_answer){.outcome = MAD_NOT_ASKED};
	} else if (rig->fault != FAULT_NONE && rig->answers++ == rig->fault_at && a.outcome == MAD_ANSWERED) {
		rig->failed = true;
		rig->faulty = query->port;
		rig->stale = query->attribute == MAD_PORT_INFO && rig->devices[query->port].changed;
		if (rig->fault == FAULT_BIT)
			rig->counted = change_bit(rig, query, data);
		else
			a.outcome = rig->fault == FAULT_STATUS    ? MAD_STATUS
				    : rig->fault == FAULT_TIMEOUT ? MAD_TIMED_OUT
								  : MAD_NOT_ASKED;
	}
	a.status = a.outcome == MAD_STATUS ? 0x1c : 0;
	a.data = a.outcome == MAD_ANSWERED ? data : NULL;
	asker->answer(asker->arg, query, &a);
}

/* Agents take turns and some queries are held back, as on a wire. */
static int rig_ask(struct source *source, const struct fabric *fabric, const struct source_asker *asker)
{
	struct rig *rig = (struct rig *)source;
	struct source_query held[IN_FLIGHT];
	unsigned count = 0;
	bool finished[SLOTS] = {false};

	require(asker->agent_count <= SLOTS);
	for (bool more = true; more;) {
		more = false;
		for (uint32_t i = 0; i < asker->agent_count; i++) {
			if (finished[i])
				continue;
			finished[i] = !asker->next(asker->arg, i, &held[count]);
			if (finished[i])
				continue;
			more = true;
			require(held[count].agent == asker->agents[i] &&
				held[count].port < fabric->port_count);
			require(fabric_port_agent(fabric, held[count].port) == held[count].agent);
			if (++count == IN_FLIGHT) {
				answer(rig, asker, &held[1]);
				held[1] = held[--count];
			}
		}
	}
	while (count > 0)
		answer(rig, asker, &held[--count]);
	return rig->fault == FAULT_BREAK && rig->failed ? -EINTR : 0;
}

static const struct mad_counts *rig_counts(const struct source *source)
{
	return &((const struct rig *)source)->counts;
}

static const struct source_ops rig_ops = {.ask = rig_ask, .counts = rig_counts};

/* --- what verify says --- */

static uint64_t unanswered(const struct verify_result *result)
{
	uint64_t count = 0;

	for (unsigned item = 0; item < VERIFY_ITEMS; item++) {
		const struct check_coverage *c = &result->coverage[item];
		uint64_t ended = 0;

		for (unsigned outcome = 0; outcome < MAD_OUTCOMES; outcome++)
			ended += c->ended[outcome];
		require(ended == c->asked);
		count += ended - c->ended[MAD_ANSWERED];
	}
	return count;
}

/* Ports that discovery came to, so that they can be asked. */
static uint32_t in_scope(const struct rig *rig)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < rig->fabric->port_count; i++) {
		const struct fabric_port *port = &rig->fabric->ports[i];

		count += of_switch(rig, i) ||
			 (port->number > 0 && (port->known || port->guid != 0 || port->peer != FABRIC_NONE));
	}
	return count;
}

/* A port at a link that tells a number of VLs that cannot be. */
static bool tells_nonsense(const struct rig *rig, uint32_t port)
{
	const struct device *d = &rig->devices[port];
	unsigned state = d->info[STATE] & 15, cap = d->info[VL_CAP] >> 4, vls = d->info[OPER_VLS] >> 4;

	if (rig->fabric->ports[port].number == 0 || state <= FABRIC_STATE_DOWN)
		return false;
	return cap < 1 || cap > 5 || (state > FABRIC_STATE_INIT && (vls < 1 || vls > 5));
}

static void check_nonsense(const struct rig *rig, const struct finding_list *findings)
{
	for (uint32_t i = 0; rig->fault == FAULT_NONE && i < rig->fabric->port_count; i++) {
		const struct fabric_port *port = &rig->fabric->ports[i];

		if (port->known && (of_switch(rig, i) || port->guid != 0 || port->peer != FABRIC_NONE) && tells_nonsense(rig, i))
			require(finding_exit(findings) != IBQOS_EXIT_CLEAN &&
				finding_count_code(findings, FINDING_PORT_INFO_RESERVED) > 0);
	}
}

static void check_findings(const struct rig *rig, const struct verify *verify)
{
	const struct verify_result *result = verify_result(verify);
	struct finding_list findings = {0};
	bool told[SLOTS] = {false};
	uint32_t differ = 0;

	verify_findings(verify, &findings);
	require(!findings.lost);
	for (size_t i = 0; i < findings.count; i++) {
		const struct finding *f = &findings.items[i];
		uint32_t node = fabric_find_node(rig->fabric, f->guid), port;

		require(node != FABRIC_NONE && f->severity == finding_kind(f->code)->severity);
		port = f->port >= 0 ? fabric_node_port(rig->fabric, node, (unsigned)f->port) : FABRIC_NONE;
		if (f->severity != FINDING_CRITICAL)
			continue;
		require(port != FABRIC_NONE && verify_port_differs(verify, port));
		require(f->wanted && f->got && strcmp(f->wanted, f->got) != 0);
		told[port] = true;
	}
	for (uint32_t i = 0; i < rig->fabric->port_count; i++) {
		require(verify_port_differs(verify, i) == told[i]);
		differ += told[i];
	}
	require(result->ports_differ == differ);
	require(unanswered(result) == 0 || finding_exit(&findings) == IBQOS_EXIT_UNKNOWN ||
		finding_exit(&findings) == IBQOS_EXIT_CRITICAL);
	require(result->ports_unknown == 0 || finding_count(&findings, FINDING_UNKNOWN) > 0);
	require(finding_count_code(&findings, FINDING_PORT_LEFT) >= result->ports_left);
	check_nonsense(rig, &findings);
	finding_list_clear(&findings);
}

static void check_result(const struct rig *rig, const struct verify *verify)
{
	const struct verify_result *result = verify_result(verify);

	require(result->ports + result->ports_excluded + result->ports_left == in_scope(rig));
	require(result->ports_differ + result->ports_unknown <= result->ports);
	require(unanswered(result) == 0 || result->ports_differ + result->ports_unknown > 0);
	check_findings(rig, verify);
}

static struct verify *begin(struct rig *rig, const struct ibqos_ctx *ctx)
{
	struct verify *verify;

	require(verify_new(ctx, rig->fabric, &rig->config, &verify) == 0);
	return verify;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct ibqos_ctx ctx = {.program = "fuzz", .fabric = "", .err = stderr, .verbosity = -1};
	struct fuzz in = {data, size};
	struct rig *rig = calloc(1, sizeof(*rig));
	struct verify *faulty, *plain;
	struct verify_result one, other;
	int error;

	require(rig);
	rig->source.ops = &rig_ops;
	rig->fault = fuzz_below(&in, FAULTS);
	rig->fault_at = fuzz_byte(&in);
	rig->fault_bit = fuzz_byte(&in) | fuzz_byte(&in) << 8;
	make_rig(&in, rig);

	faulty = begin(rig, &ctx);
	error = verify_run(faulty, &rig->source, false);
	require(error == (rig->fault == FAULT_BREAK && rig->failed ? -EINTR : 0));
	check_result(rig, faulty);
	/* with a PortInfo that is lost, the tables are held against the one of the discovery */
	for (uint32_t i = 0; i < rig->fabric->port_count; i++)
		if (!(rig->stale && i == rig->faulty))
			require(verify_port_differs(faulty, i) == (rig->counted && i == rig->faulty));
	if (rig->failed && rig->fault != FAULT_BIT)
		require(unanswered(verify_result(faulty)) > 0);

	rig->fault = FAULT_NONE;
	require(verify_run(faulty, &rig->source, true) == 0);
	check_result(rig, faulty);
	plain = begin(rig, &ctx);
	require(verify_run(plain, &rig->source, false) == 0);
	check_result(rig, plain);
	require(verify_result(plain)->ports_differ == 0);
	one = *verify_result(plain);
	other = *verify_result(faulty);
	one.ports_there = other.ports_there = 0; /* of the discovery, whose PortInfo the first run has replaced */
	require(memcmp(&one, &other, sizeof(one)) == 0);
	verify_free(plain);
	verify_free(faulty);
	fabric_free(rig->fabric);
	free(rig);
	return 0;
}
