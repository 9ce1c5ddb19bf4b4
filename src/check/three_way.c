/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * three_way: why a table differs. What the device holds, what was wanted and what the subnet manager has
 * recorded there tell apart a table that was never sent, one that was sent for another number of VLs, one that
 * changed since, and one of another config.
 *
 * OpenSM zeroes its record before each Set and fills it from the answer (osm_qos.c, osm_slvl_map_rcv.c,
 * osm_vl_arb_rcv.c), so that zeros mean: no Set was answered since the process started, or the last one
 * failed.
 */
#include "verify.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <infiniband/mad.h>

#include "place.h"

#define CODES 5 /* of OperationalVLs, from 1 */

struct asking {
	struct verify *v;
	const struct verify_record_options *options;
	struct sm_table *tables;
	size_t count, limit;
	uint64_t left;
	bool given_up; /* the SA lost so much that it was not asked for the rest */
};

/* --- what to ask --- */

static void want(struct asking *a, uint32_t port, enum sm_table_kind kind, unsigned index)
{
	if (a->count < a->limit)
		a->tables[a->count++] = (struct sm_table){.port = port, .kind = kind, .index = (uint8_t)index};
	else
		a->left++;
}

/* One table of each kind where `first`, else the others. */
static void want_port(struct asking *a, uint32_t port, bool first)
{
	const struct port_state *state = &a->v->ports[port];
	unsigned seen = 0;

	for (unsigned in = 0; state->diff->sl2vl && in < state->expect.in_ports; in++)
		if (state->diff->sl2vl[in].differs && (seen++ == 0) == first)
			want(a, port, SM_TABLE_SL2VL, in);
	seen = 0;
	for (unsigned block = 0; block < QOS_VLARB_BLOCKS; block++)
		if (state->diff->vlarb[block] && (seen++ == 0) == first)
			want(a, port, SM_TABLE_VLARB, block);
	if (state->flags & PORT_HIGH_LIMIT && first)
		want(a, port, SM_TABLE_PORT_INFO, 0);
}

/* Until it is judged, each table that differs is of an unknown class, for want of an SA or of asking. */
static void begin_port(const struct asking *a, struct port_state *state)
{
	const struct table_cause unknown = {.cause = CAUSE_UNKNOWN, .assumed = a->limit > 0};
	struct port_diff *diff = state->diff;

	for (unsigned in = 0; diff->sl2vl && in < state->expect.in_ports; in++)
		diff->sl2vl[in].cause = unknown;
	for (unsigned block = 0; block < QOS_VLARB_BLOCKS; block++)
		diff->vlarb_cause[block] = unknown;
	diff->high_limit_cause = unknown;
}

static void collect(struct asking *a)
{
	struct verify *v = a->v;
	uint32_t i;

	for (i = 0; i < v->fabric->port_count; i++) {
		struct port_state *state = &v->ports[i];

		if (!(state->flags & PORT_DIFFERS) || !verify_diff_of(v, state))
			continue;
		begin_port(a, state);
		want_port(a, i, true);
	}
	for (i = 0; i < v->fabric->port_count; i++)
		if (v->ports[i].flags & PORT_DIFFERS && v->ports[i].diff)
			want_port(a, i, false);
}

/* --- tables for another number of VLs --- */

static bool sl2vl_same(const struct verify *v, const struct expect_port *a, const struct expect_port *b, unsigned in)
{
	return memcmp(expect_sl2vl(&v->expect, a, in), expect_sl2vl(&v->expect, b, in), QOS_SL2VL_WIRE) == 0;
}

/* A block as wanted, two bytes an entry; returns their number. */
static size_t vlarb_wanted(const struct verify *v, const struct expect_port *port, unsigned block,
			   uint8_t wire[2 * QOS_VLARB_BLOCK])
{
	struct qos_vlarb_entry entries[QOS_VLARB_BLOCK];
	unsigned length = expect_vlarb(&v->expect, port, block, entries);

	for (unsigned i = 0; i < length; i++) {
		wire[2 * i] = entries[i].vl;
		wire[2 * i + 1] = entries[i].weight;
	}
	return 2 * (size_t)length;
}

static bool vlarb_same(const struct verify *v, const struct expect_port *a, const struct expect_port *b,
		       unsigned block)
{
	uint8_t one[2 * QOS_VLARB_BLOCK], other[2 * QOS_VLARB_BLOCK];
	size_t size = vlarb_wanted(v, a, block, one);

	return vlarb_wanted(v, b, block, other) == size && memcmp(one, other, size) == 0;
}

/*
 * Whether the tables of the port that are right would be the same for another number of VLs: where one would
 * not, it was programmed for the number that runs, and the others were with it.
 */
static bool others_agree(const struct verify *v, const struct port_state *state, const struct expect_port *other)
{
	for (unsigned in = 0; in < state->expect.in_ports; in++)
		if (!(state->diff->sl2vl && state->diff->sl2vl[in].differs) &&
		    !sl2vl_same(v, &state->expect, other, in))
			return false;
	for (unsigned block = 0; block < QOS_VLARB_BLOCKS; block++)
		if (!(state->vlarb_blocks >> block & 1) && !vlarb_same(v, &state->expect, other, block))
			return false;
	return true;
}

/* --- judging --- */

/* A table as it is compared: the part that counts. */
struct three {
	uint8_t wanted[2 * QOS_VLARB_BLOCK], got[2 * QOS_VLARB_BLOCK], record[2 * QOS_VLARB_BLOCK];
	size_t size;
};

static bool is_zero(const uint8_t *bytes, size_t size)
{
	for (size_t i = 0; i < size; i++)
		if (bytes[i] != 0)
			return false;
	return true;
}

static bool folded_otherwise(const struct verify *v, const struct sm_table *table, const struct three *t)
{
	const struct port_state *state = &v->ports[table->port];
	struct expect_port other = state->expect;
	uint8_t wire[2 * QOS_VLARB_BLOCK];

	for (other.oper_vls = 1; other.oper_vls <= CODES; other.oper_vls++) {
		if (other.oper_vls == state->expect.oper_vls)
			continue;
		if (table->kind == SM_TABLE_VLARB)
			vlarb_wanted(v, &other, table->index, wire);
		else
			memcpy(wire, expect_sl2vl(&v->expect, &other, table->index), QOS_SL2VL_WIRE);
		if (memcmp(wire, t->record, t->size) == 0 && others_agree(v, state, &other))
			return true;
	}
	return false;
}

static bool programs_nothing(const struct asking *a)
{
	return !a->options->sm->qos || a->options->file_holds;
}

static struct table_cause judge(const struct asking *a, const struct sm_table *table, const struct three *t)
{
	bool empty = is_zero(t->record, t->size);
	struct table_cause c = {.cause = CAUSE_OTHER_CONFIG};

	if (memcmp(t->record, t->wanted, t->size) == 0) {
		/* Zeros are also what stands there before any Set, and a table of zeros is then never sent. */
		c.cause = empty ? CAUSE_UNKNOWN : CAUSE_DRIFTED;
		return c;
	}
	c.empty = empty && is_zero(t->got, t->size);
	if (empty)
		c.cause = CAUSE_NOT_APPLIED;
	else if (a->options->sm->qos && folded_otherwise(a->v, table, t))
		c.cause = CAUSE_AWAITS_SWEEP;
	else if (programs_nothing(a))
		c.cause = CAUSE_NOT_APPLIED;
	c.third = !empty && memcmp(t->record, t->got, t->size) != 0;
	return c;
}

static void judge_sl2vl(const struct asking *a, const struct sm_table *table)
{
	struct port_state *state = &a->v->ports[table->port];
	struct sl2vl_diff *diff = &state->diff->sl2vl[table->index];
	struct three t = {.size = QOS_SL2VL_WIRE};

	memcpy(t.wanted, expect_sl2vl(&a->v->expect, &state->expect, table->index), t.size);
	memcpy(t.got, diff->wire, t.size);
	memcpy(t.record, table->data, t.size);
	diff->cause = judge(a, table, &t);
}

/* Where entries are left over from before, only weights count; the SM's own are zeros. */
static void judge_vlarb(const struct asking *a, const struct sm_table *table)
{
	struct port_state *state = &a->v->ports[table->port];
	struct three t = {.size = 0};

	t.size = vlarb_wanted(a->v, &state->expect, table->index, t.wanted);
	memcpy(t.got, state->diff->vlarb[table->index], t.size);
	memcpy(t.record, table->data, t.size);
	state->diff->vlarb_cause[table->index] = judge(a, table, &t);
}

/* The most telling class of a port's tables: where the SM programs another config, it does so for all of them. */
static enum finding_cause of_tables(const struct port_state *state)
{
	const struct port_diff *diff = state->diff;
	bool other = false, not_applied = false;

	for (unsigned in = 0; diff->sl2vl && in < state->expect.in_ports; in++) {
		other = other || (diff->sl2vl[in].differs && diff->sl2vl[in].cause.cause == CAUSE_OTHER_CONFIG);
		not_applied = not_applied ||
			      (diff->sl2vl[in].differs && diff->sl2vl[in].cause.cause == CAUSE_NOT_APPLIED);
	}
	for (unsigned block = 0; block < QOS_VLARB_BLOCKS; block++) {
		other = other || (diff->vlarb[block] && diff->vlarb_cause[block].cause == CAUSE_OTHER_CONFIG);
		not_applied = not_applied ||
			      (diff->vlarb[block] && diff->vlarb_cause[block].cause == CAUSE_NOT_APPLIED);
	}
	return other ? CAUSE_OTHER_CONFIG : not_applied ? CAUSE_NOT_APPLIED : CAUSE_UNKNOWN;
}

/* The record is what the device said last, so that a wrong one alone does not tell why. */
static void judge_high_limit(const struct asking *a, const struct sm_table *table)
{
	struct port_state *state = &a->v->ports[table->port];
	unsigned record = mad_get_field((void *)table->data, 0, IB_PORT_VL_HIGH_LIMIT_F);
	struct table_cause *c = &state->diff->high_limit_cause;

	*c = (struct table_cause){.cause = CAUSE_DRIFTED};
	if (record == state->expect.high_limit)
		return;
	c->cause = programs_nothing(a) ? CAUSE_NOT_APPLIED : of_tables(state);
}

static void judge_table(const struct asking *a, const struct sm_table *table)
{
	if (table->kind == SM_TABLE_SL2VL)
		judge_sl2vl(a, table);
	else if (table->kind == SM_TABLE_VLARB)
		judge_vlarb(a, table);
}

/* A table whose record was asked for without an answer: nothing is assumed of it. */
static void no_answer(const struct asking *a, const struct sm_table *table)
{
	struct port_diff *diff = a->v->ports[table->port].diff;
	struct table_cause *c = table->kind == SM_TABLE_SL2VL	? &diff->sl2vl[table->index].cause
				: table->kind == SM_TABLE_VLARB ? &diff->vlarb_cause[table->index]
								: &diff->high_limit_cause;

	*c = (struct table_cause){.cause = CAUSE_UNKNOWN};
}

/* Tables that the limit left out, or an SA that was given up, are taken to differ for the reason that those of their port and kind all have. */
static void assume(const struct port_state *state)
{
	enum finding_cause cause = CAUSE_NONE;
	bool one = true;

	for (unsigned in = 0; in < state->expect.in_ports; in++) {
		const struct sl2vl_diff *table = &state->diff->sl2vl[in];

		if (!table->differs || table->cause.assumed)
			continue;
		one = one && (cause == CAUSE_NONE || cause == table->cause.cause);
		cause = table->cause.cause;
	}
	for (unsigned in = 0; one && cause != CAUSE_NONE && in < state->expect.in_ports; in++)
		if (state->diff->sl2vl[in].cause.assumed)
			state->diff->sl2vl[in].cause.cause = cause;
}

/* Zeros at both ends are another config's where it was seen at work on the port. */
static void judge_empty(struct port_state *state)
{
	struct port_diff *diff = state->diff;

	if (of_tables(state) != CAUSE_OTHER_CONFIG)
		return;
	for (unsigned in = 0; diff->sl2vl && in < state->expect.in_ports; in++)
		if (diff->sl2vl[in].cause.empty)
			diff->sl2vl[in].cause.cause = CAUSE_OTHER_CONFIG;
	for (unsigned block = 0; block < QOS_VLARB_BLOCKS; block++)
		if (diff->vlarb_cause[block].empty)
			diff->vlarb_cause[block].cause = CAUSE_OTHER_CONFIG;
}

static void judge_all(const struct asking *a)
{
	size_t i;

	for (i = 0; i < a->count; i++)
		if (a->tables[i].outcome == MAD_ANSWERED)
			judge_table(a, &a->tables[i]);
		else if (a->tables[i].outcome != MAD_NOT_ASKED || !a->given_up)
			no_answer(a, &a->tables[i]);
	for (i = 0; i < a->v->fabric->port_count; i++)
		if (a->v->ports[i].flags & PORT_DIFFERS && a->v->ports[i].diff)
			judge_empty(&a->v->ports[i]);
	for (i = 0; i < a->count; i++) /* by what the port's tables have shown */
		if (a->tables[i].kind == SM_TABLE_PORT_INFO && a->tables[i].outcome == MAD_ANSWERED)
			judge_high_limit(a, &a->tables[i]);
	for (i = 0; (a->left > 0 || a->given_up) && i < a->v->fabric->port_count; i++)
		if (a->v->ports[i].flags & PORT_SL2VL && a->v->ports[i].diff && a->v->ports[i].diff->sl2vl)
			assume(&a->v->ports[i]);
}

/* Whether an SA that answers was not asked for all: a file has what it has, and a port without a LID has no records. */
static bool gave_up(const struct asking *a, const struct verify_records *records)
{
	uint64_t answered = 0, lost = 0;

	for (int i = 0; i < SM_TABLE_KINDS; i++) {
		answered += records->coverage[i].ended[MAD_ANSWERED];
		lost += records->coverage[i].ended[MAD_TIMED_OUT];
	}
	return answered > 0 && lost > 0 && a->count > answered + lost;
}

void verify_records_findings(const struct verify *verify, const struct verify_records *records, struct finding_list *findings)
{
	const struct fabric *fabric = verify->fabric;
	uint32_t port = fabric_port_of_lid(fabric, fabric->sm_lid);
	uint64_t asked = 0, lost = 0, left = 0;
	struct finding *f;

	for (int i = 0; i < SM_TABLE_KINDS; i++) {
		asked += records->coverage[i].asked;
		lost += records->coverage[i].ended[MAD_TIMED_OUT];
		left += records->coverage[i].ended[MAD_NOT_ASKED];
	}
	if (lost == 0)
		return;
	f = finding_add(findings, FINDING_QUERY_FAILED);
	if (port != FABRIC_NONE)
		place_port(f, fabric, port);
	finding_set(&f->what, "records of tables that differ, of the subnet administrator");
	finding_set(&f->got, "%llu of %llu not answered", (unsigned long long)lost, (unsigned long long)asked);
	if (left > 0)
		finding_set(&f->detail, "it lost so many questions that it was not asked for %llu more", (unsigned long long)left);
}

int verify_ask_records(struct verify *verify, struct source *source, const struct verify_record_options *options,
		       struct verify_records *records)
{
	struct asking a = {.v = verify, .options = options};
	int error = 0;

	*records = (struct verify_records){0};
	if (options->sm && options->sm->qos_known)
		a.limit = options->limit;
	a.tables = calloc(a.limit + 1, sizeof(*a.tables));
	if (!a.tables)
		return -ENOMEM;
	verify->error = 0;
	collect(&a);
	if (a.count > 0)
		error = sm_tables_ask(source, verify->fabric, a.tables, a.count);
	for (size_t i = 0; i < a.count; i++) {
		records->coverage[a.tables[i].kind].asked++;
		records->coverage[a.tables[i].kind].ended[a.tables[i].outcome]++;
	}
	records->left = a.left;
	a.given_up = gave_up(&a, records);
	if (a.count > 0)
		judge_all(&a);
	free(a.tables);
	return error ? error : verify->error;
}
