/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * rails: what ports do with service levels, compared from rail to rail by kind of port: what at least two thirds of a rail's
 * ports of a kind hold stands for the rail. That one port differs from its rail is verify's to tell. What a port did not answer is
 * unknown, however few they are: of each device, or of the rail where too few are left to stand for it.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "place.h"
#include "rails.h"

enum role { ROLE_ADAPTER, ROLE_TO_ADAPTER, ROLE_TO_SWITCH, ROLES };
static const char *const role_names[ROLES] = {"adapters", "switch ports to adapters", "switch ports to switches"};

enum item { ITEM_OPER_VLS, ITEM_HIGH_LIMIT, ITEM_SL2VL, ITEM_VLARB_LOW, ITEM_VLARB_HIGH, ITEMS };
static const char *const item_names[ITEMS] = {"OperationalVLs", "VLHighLimit", "SL2VL", "VLArb low", "VLArb high"};

/* A port: of each item a number that equal values share, and the first table of it, to be shown. */
struct port_tables {
	uint64_t value[ITEMS];
	uint32_t lacks[ITEMS], has[ITEMS]; /* answers */
	uint8_t sl2vl[QOS_SL2VL_WIRE], sl2vl_last[QOS_SL2VL_WIRE]; /* of all in-ports the first and the last in order of bytes */
	uint64_t sum;
	struct qos_vlarb_entry arb[2][QOS_VLARB_ENTRIES]; /* low, high */
	uint8_t arb_count[2];
};

struct rail_tables {
	const struct fabric *fabric;
	uint32_t *port_of; /* indexes of ports, by row */
	uint32_t *row_of;  /* by port; FABRIC_NONE */
	enum role *role;
	struct port_tables *rows;
	uint32_t count;
};

/* FNV-1a */
static uint64_t mix(uint64_t hash, const void *bytes, size_t size)
{
	const uint8_t *at = bytes;

	for (size_t i = 0; i < size; i++)
		hash = (hash ^ at[i]) * 0x100000001b3u;
	return hash;
}
#define MIX_START 0xcbf29ce484222325u

/* --- reading --- */

struct reading {
	struct rail_tables *t;
	uint32_t *agents, *next, *end; /* by agent: its rows from the next one on */
	unsigned *step;
};

static bool role_of(const struct fabric *f, uint32_t port, enum role *role)
{
	const struct fabric_port *p = &f->ports[port];
	const struct fabric_node *node = fabric_port_node(f, port), *peer;

	if (p->peer == FABRIC_NONE || p->number == 0)
		return false;
	peer = fabric_port_node(f, p->peer);
	if (fabric_node_is_aggregation(node) || fabric_node_is_aggregation(peer))
		return false;
	if (node->type == FABRIC_CA)
		*role = ROLE_ADAPTER;
	else if (node->type == FABRIC_SWITCH && peer->type != FABRIC_ROUTER)
		*role = peer->type == FABRIC_SWITCH ? ROLE_TO_SWITCH : ROLE_TO_ADAPTER;
	else
		return false;
	return true;
}

/* Steps of a port: its blocks of VLArb, then SL2VL of each in-port. False: that is all. */
static bool next_step(const struct rail_tables *t, uint32_t row, unsigned *step, struct source_query *q)
{
	uint32_t port = t->port_of[row];
	const struct fabric_port *p = &t->fabric->ports[port];
	const struct fabric_node *node = fabric_port_node(t->fabric, port);
	bool is_switch = node->type == FABRIC_SWITCH;
	unsigned own = is_switch ? p->number : 0;

	q->port = port;
	for (; *step < QOS_VLARB_BLOCKS; (*step)++) {
		unsigned cap = *step < 2 ? fabric_port_vlarb_low_cap(p) : fabric_port_vlarb_high_cap(p);

		if (!p->known || fabric_port_vl_cap(p) == 1 || cap <= (*step % 2 ? QOS_VLARB_BLOCK : 0u))
			continue;
		q->attribute = MAD_VLARB;
		q->modifier = MAD_VLARB_MODIFIER(*step, own);
		(*step)++;
		return true;
	}
	/* an in-port gives nothing to itself; and whether port 0 has a table depends on its kind */
	while (is_switch && (*step == QOS_VLARB_BLOCKS || *step - QOS_VLARB_BLOCKS == p->number))
		(*step)++;
	if (*step - QOS_VLARB_BLOCKS > (is_switch ? node->ports : 0u))
		return false;
	q->attribute = MAD_SL2VL;
	q->modifier = MAD_SL2VL_MODIFIER(*step - QOS_VLARB_BLOCKS, own);
	(*step)++;
	return true;
}

static bool next(void *arg, uint32_t which, struct source_query *query)
{
	struct reading *r = arg;

	for (; r->next[which] < r->end[which]; r->next[which]++, r->step[which] = 0) {
		if (!next_step(r->t, r->next[which], &r->step[which], query))
			continue;
		query->agent = r->agents[which];
		return true;
	}
	return false;
}

static void take_vlarb(struct port_tables *row, const struct source_query *q, const uint8_t *data)
{
	unsigned block = (q->modifier >> 16) - 1, table = block / 2;
	struct qos_vlarb_entry entries[QOS_VLARB_BLOCK];

	qos_vlarb_decode(data, entries);
	for (unsigned i = 0; i < QOS_VLARB_BLOCK; i++)
		row->arb[table][block % 2 * QOS_VLARB_BLOCK + i] = entries[i];
}

static void answer(void *arg, const struct source_query *q, const struct mad_answer *answered)
{
	struct reading *r = arg;
	struct port_tables *row = &r->t->rows[r->t->row_of[q->port]];
	enum item item = q->attribute == MAD_SL2VL ? ITEM_SL2VL : (q->modifier >> 16) <= 2 ? ITEM_VLARB_LOW : ITEM_VLARB_HIGH;

	if (answered->outcome != MAD_ANSWERED) {
		row->lacks[item]++;
		return;
	}
	row->has[item]++;
	if (item != ITEM_SL2VL) {
		take_vlarb(row, q, answered->data);
		return;
	}
	/* as answers come in any order */
	if (row->has[item] == 1 || memcmp(answered->data, row->sl2vl, sizeof(row->sl2vl)) < 0)
		memcpy(row->sl2vl, answered->data, sizeof(row->sl2vl));
	if (row->has[item] == 1 || memcmp(answered->data, row->sl2vl_last, sizeof(row->sl2vl)) > 0)
		memcpy(row->sl2vl_last, answered->data, sizeof(row->sl2vl));
	row->sum += mix(mix(MIX_START, &q->modifier, sizeof(q->modifier)), answered->data, sizeof(row->sl2vl));
}

/* Entries of weight 0 are passed over by the arbiter. */
static void close_row(const struct fabric *f, uint32_t port, struct port_tables *row)
{
	bool alike = memcmp(row->sl2vl, row->sl2vl_last, sizeof(row->sl2vl)) == 0;

	/* in-ports that all have one table count as one, whatever their number */
	row->value[ITEM_SL2VL] = alike ? mix(MIX_START, row->sl2vl, sizeof(row->sl2vl)) : row->sum;
	for (unsigned table = 0; table < 2; table++) {
		unsigned kept = 0;

		for (unsigned i = 0; i < QOS_VLARB_ENTRIES; i++)
			if (row->arb[table][i].weight > 0)
				row->arb[table][kept++] = row->arb[table][i];
		row->arb_count[table] = (uint8_t)kept;
		row->value[ITEM_VLARB_LOW + table] = mix(MIX_START, row->arb[table], kept * sizeof(row->arb[table][0]));
	}
	if (!f->ports[port].known) {
		row->lacks[ITEM_OPER_VLS] = row->lacks[ITEM_HIGH_LIMIT] = 1;
		return;
	}
	row->has[ITEM_OPER_VLS] = row->has[ITEM_HIGH_LIMIT] = 1;
	row->value[ITEM_OPER_VLS] = fabric_port_oper_vls(&f->ports[port]);
	row->value[ITEM_HIGH_LIMIT] = fabric_port_high_limit(&f->ports[port]);
}

static bool make_room(struct reading *r, const struct fabric *f)
{
	size_t ports = (size_t)f->port_count + 1;
	struct rail_tables *t = calloc(1, sizeof(*t));

	r->t = t;
	if (!t)
		return false;
	t->fabric = f;
	t->port_of = calloc(ports, sizeof(*t->port_of));
	t->row_of = calloc(ports, sizeof(*t->row_of));
	t->role = calloc(ports, sizeof(*t->role));
	t->rows = calloc(2 * (size_t)f->link_count + 1, sizeof(*t->rows));
	r->agents = calloc(ports, sizeof(*r->agents));
	r->next = calloc(ports, sizeof(*r->next));
	r->end = calloc(ports, sizeof(*r->end));
	r->step = calloc(ports, sizeof(*r->step));
	return t->port_of && t->row_of && t->role && t->rows && r->agents && r->next && r->end && r->step;
}

/* Rows port by port; those of one agent lie one after the other. */
static uint32_t make_rows(struct reading *r)
{
	struct rail_tables *t = r->t;
	uint32_t agents = 0;

	for (uint32_t p = 0; p < t->fabric->port_count; p++) {
		uint32_t agent = fabric_port_agent(t->fabric, p);

		t->row_of[p] = FABRIC_NONE;
		if (!role_of(t->fabric, p, &t->role[t->count]))
			continue;
		if (agents == 0 || r->agents[agents - 1] != agent) {
			r->agents[agents] = agent;
			r->next[agents] = t->count;
			r->end[agents++] = t->count;
		}
		t->row_of[p] = t->count;
		t->port_of[t->count++] = p;
		r->end[agents - 1]++;
	}
	return agents;
}

int rail_tables_read(struct source *source, const struct fabric *fabric, struct rail_tables **tables)
{
	struct reading r = {0};
	struct source_asker asker = {.next = next, .answer = answer, .arg = &r};
	int error = make_room(&r, fabric) ? 0 : -ENOMEM;

	if (error == 0) {
		asker.agent_count = make_rows(&r);
		asker.agents = r.agents;
		if (asker.agent_count > 0)
			error = source_ask(source, fabric, &asker);
	}
	for (uint32_t i = 0; error == 0 && i < r.t->count; i++)
		close_row(fabric, r.t->port_of[i], &r.t->rows[i]);
	free(r.agents);
	free(r.next);
	free(r.end);
	free(r.step);
	if (error != 0) {
		rail_tables_free(r.t);
		r.t = NULL;
	}
	*tables = r.t;
	return error;
}

void rail_tables_free(struct rail_tables *t)
{
	if (!t)
		return;
	free(t->port_of);
	free(t->row_of);
	free(t->role);
	free(t->rows);
	free(t);
}

/* --- comparing --- */

/* What stands for a rail: of one item of one kind of port. */
struct usual {
	enum { USUAL_NO_PORTS, USUAL_UNKNOWN, USUAL_MIXED, USUAL_KNOWN } state;
	bool partly; /* some ports have not answered, though enough have */
	const struct port_tables *row;
};

static int by_value(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

static const struct port_tables *row_with(const struct rail_tables *t, enum role role, enum item item, uint64_t value)
{
	for (uint32_t i = 0; i < t->count; i++)
		if (t->role[i] == role && t->rows[i].has[item] > 0 && t->rows[i].lacks[item] == 0 && t->rows[i].value[item] == value)
			return &t->rows[i];
	return NULL;
}

/* A port that is asked nothing about an item, because it has no such table, is none of those that count. */
static struct usual find_usual(const struct rail_tables *t, enum role role, enum item item, uint64_t *values)
{
	struct usual usual = {.state = USUAL_NO_PORTS};
	size_t count = 0, lacking = 0, best = 0;

	for (uint32_t i = 0; i < t->count; i++) {
		if (t->role[i] != role)
			continue;
		if (t->rows[i].lacks[item] > 0)
			lacking++;
		else if (t->rows[i].has[item] > 0)
			values[count++] = t->rows[i].value[item];
	}
	if (count + lacking == 0)
		return usual;
	usual.state = USUAL_UNKNOWN;
	if (count == 0 || lacking > 2 * count)
		return usual;
	usual.state = USUAL_MIXED;
	usual.partly = lacking > 0;
	qsort(values, count, sizeof(*values), by_value);
	for (size_t i = 0, next; i < count; i = next) {
		for (next = i; next < count && values[next] == values[i];)
			next++;
		if (next - i > best && (next - i) * 3 >= count * 2) {
			best = next - i;
			usual.row = row_with(t, role, item, values[i]);
			usual.state = USUAL_KNOWN;
		}
	}
	return usual;
}

static void set_value(char **member, const struct port_tables *row, enum item item)
{
	char text[QOS_TEXT_MAX];
	struct qos_sl2vl table;
	unsigned which = item == ITEM_VLARB_HIGH;

	switch (item) {
	case ITEM_SL2VL:
		qos_sl2vl_decode(row->sl2vl, &table);
		qos_sl2vl_format(&table, text);
		break;
	case ITEM_VLARB_LOW:
	case ITEM_VLARB_HIGH:
		if (row->arb_count[which] == 0) {
			finding_set(member, "no weight at all");
			return;
		}
		qos_vlarb_format(row->arb[which], row->arb_count[which], text);
		break;
	case ITEM_OPER_VLS:
		finding_set(member, "%u data VLs", qos_vls_of_code((unsigned)row->value[item]));
		return;
	default:
		snprintf(text, sizeof(text), "%llu", (unsigned long long)row->value[item]);
	}
	finding_set(member, "%s", text);
}

struct comparing {
	const struct rails *r;
	uint64_t *values;
	/* by rail and kind of port: items, a bit each; partly: what stands for the rail is known, but not all ports have answered */
	uint8_t unknown[RAILS_MAX][ROLES], mixed[RAILS_MAX][ROLES], partly[RAILS_MAX][ROLES];
};

/* Each rail that differs from what most of them hold, which is told with the rails that hold it. */
static void compare(struct comparing *c, enum role role, enum item item, bool *folded)
{
	const struct rails *r = c->r;
	struct usual usual[RAILS_MAX] = {{0}};
	uint64_t values[RAILS_MAX] = {0}, reference = 0;
	bool have[RAILS_MAX] = {false}, same[RAILS_MAX] = {false};
	const struct port_tables *wanted = NULL;

	for (size_t i = 0; i < r->count; i++) {
		if (r->left[i] || !r->items[i].tables)
			continue;
		usual[i] = find_usual(r->items[i].tables, role, item, c->values);
		c->unknown[i][role] |= (uint8_t)((usual[i].state == USUAL_UNKNOWN) << item);
		c->mixed[i][role] |= (uint8_t)((usual[i].state == USUAL_MIXED) << item);
		c->partly[i][role] |= (uint8_t)(usual[i].partly << item);
		/* tables folded to fewer VLs cannot be compared with others: the cause is told */
		have[i] = usual[i].state == USUAL_KNOWN && usual[i].row && !folded[i];
		values[i] = have[i] ? usual[i].row->value[item] : 0;
	}
	if (!rails_reference(r, values, have, &reference))
		return;
	r->result->tables_compared++;
	for (size_t i = 0; i < r->count; i++) {
		same[i] = have[i] && values[i] == reference;
		wanted = same[i] ? usual[i].row : wanted;
	}
	for (size_t i = 0; i < r->count && wanted; i++) {
		struct finding *f;
		char *names = NULL;

		if (!have[i] || same[i])
			continue;
		f = finding_add(r->findings, FINDING_RAIL_TABLES);
		finding_set(&f->fabric, "%s", r->items[i].name);
		finding_set(&f->what, "rail %s, %s of %s", r->items[i].name, item_names[item], role_names[role]);
		set_value(&f->wanted, wanted, item);
		set_value(&f->got, usual[i].row, item);
		rails_names(&names, r, same);
		finding_set(&f->detail, "wanted is what it is in %s", names ? names : "the others");
		free(names);
		if (item == ITEM_OPER_VLS)
			folded[i] = true;
	}
}

#define ITEMS_TEXT 128
static const char *items_text(uint8_t items, char text[ITEMS_TEXT])
{
	size_t length = 0;

	text[0] = 0;
	for (unsigned i = 0; i < ITEMS; i++)
		if (items >> i & 1)
			length += (size_t)snprintf(text + length, ITEMS_TEXT - length, "%s%s", length ? ", " : "", item_names[i]);
	return text;
}

static void add_items(char **text, uint8_t items, const char *of, const char *why)
{
	char names[ITEMS_TEXT];

	if (items)
		finding_append(text, "%s of %s%s", items_text(items, names), of, why);
}

/* Items that a port has not answered all of, of those that are not told of the rail as a whole. */
static uint8_t lacking_items(const struct comparing *c, size_t rail, uint32_t row)
{
	const struct rail_tables *t = c->r->items[rail].tables;
	uint8_t items = 0;

	for (unsigned i = 0; i < ITEMS; i++)
		items |= (uint8_t)((t->rows[row].lacks[i] > 0) << i);
	return items & c->partly[rail][t->role[row]];
}

/* Of each device, a port of an adapter or a switch with all of its ports, what it has not answered. */
static void tell_partly(const struct comparing *c, size_t rail)
{
	const struct rail_tables *t = c->r->items[rail].tables;

	for (uint32_t i = 0, next; t && i < t->count; i = next) {
		uint32_t agent = fabric_port_agent(t->fabric, t->port_of[i]), silent = 0;
		char names[ITEMS_TEXT];
		struct finding *f;
		uint8_t items = 0;

		for (next = i; next < t->count && fabric_port_agent(t->fabric, t->port_of[next]) == agent; next++) {
			uint8_t lacking = lacking_items(c, rail, next);

			items |= lacking;
			silent += lacking != 0;
		}
		if (!items)
			continue;
		f = finding_add(c->r->findings, FINDING_RAIL_TABLES_UNKNOWN);
		finding_set(&f->fabric, "%s", c->r->items[rail].name);
		finding_set(&f->what, "rail %s, %s", c->r->items[rail].name, items_text(items, names));
		if (t->role[i] == ROLE_ADAPTER) {
			place_port(f, t->fabric, t->port_of[i]);
			finding_set(&f->got, "no answer");
		} else {
			place_node(f, t->fabric, t->fabric->ports[t->port_of[i]].node);
			finding_set(&f->got, "not all answered, at %u of the %u cabled ports", silent, next - i);
		}
	}
}

static void tell_unknown(const struct comparing *c, size_t rail)
{
	const uint8_t *unknown = c->unknown[rail], *mixed = c->mixed[rail];
	bool alike = unknown[0] == unknown[1] && unknown[1] == unknown[2];
	char *text = NULL;
	struct finding *f;

	for (unsigned role = 0; role < ROLES; role++) {
		if (role == 0 || !alike)
			add_items(&text, unknown[role], alike ? "all ports" : role_names[role], "");
		add_items(&text, mixed[role], role_names[role], ", which differ among themselves");
	}
	if (!text)
		return;
	f = finding_add(c->r->findings, FINDING_RAIL_TABLES_UNKNOWN);
	finding_set(&f->fabric, "%s", c->r->items[rail].name);
	finding_set(&f->what, "rail %s", c->r->items[rail].name);
	finding_set(&f->got, "not known: %s", text);
	free(text);
}

int rails_tables(const struct rails *r)
{
	struct comparing c = {.r = r};
	size_t most = 0;

	for (size_t i = 0; i < r->count; i++)
		if (r->items[i].tables && r->items[i].tables->count > most)
			most = r->items[i].tables->count;
	c.values = calloc(most + 1, sizeof(*c.values));
	if (!c.values)
		return -ENOMEM;
	for (unsigned role = 0; role < ROLES; role++) {
		bool folded[RAILS_MAX] = {false};

		for (unsigned item = 0; item < ITEMS; item++)
			compare(&c, (enum role)role, (enum item)item, folded);
	}
	for (size_t i = 0; i < r->count; i++) {
		tell_unknown(&c, i);
		tell_partly(&c, i);
	}
	free(c.values);
	return 0;
}
