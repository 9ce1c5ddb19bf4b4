/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The mixtures of old and new tables that traffic meets while a fabric changes.
 *
 * OpenSM goes round all ports and sends each its next table: low VLArb, high VLArb, then SL2VL
 * (osm_qos.c:202-255, 301-459, 540-560); VLHighLimit comes with PortInfo once all of these are done
 * (osm_link_mgr.c:438). Several MADs are on the wire at once, one may be lost and repeated a sweep
 * later, and a port that failed keeps what it had. So every port passes through the states in that order,
 * for a moment, and where a MAD is lost it can hold any of the four old and any new, for longer. Which ports beside it have changed does not matter: the VL of a
 * packet comes from its SL at every hop anew, and both ends of a link run the same VLs.
 *
 * What can go wrong with an SL then: its VL has weight in neither table, so its packets wait until
 * the switch drops them; its VL is only in the low table while VLHighLimit is 255; its VL is 15. A VL
 * that the port does not run cannot come up, since OpenSM folds both tables alike. It counts where it
 * is worse than both before and after.
 *
 * A change in two steps avoids it: first tables in which all VLs, old and new, have weight, and each
 * SL is mapped to a VL that has weight in the old tables and the new; then the new ones.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "plan.h"
#include "vlarb_fit.h"

#define STEP_WEIGHT 64 /* one packet of 4096 bytes: for VLs that are only wanted for a while */

/* What becomes of an SL's packets, the better first. */
enum fate { FATE_SENT, FATE_BEHIND, FATE_NO_WEIGHT, FATE_DROPPED };

/* Ports that make the same of any tables. */
struct kind {
	enum qos_port_type type;
	unsigned oper_vls, high_cap, low_cap;
};

struct kinds {
	struct kind *items;
	size_t count, room;
};

/* What a kind of port makes of tables, as far as it matters here. */
struct view {
	uint8_t vl[QOS_SLS];
	uint16_t high, low; /* VLs that have weight */
	bool unlimited;
};

/* --- ports --- */

static int add_kind(struct kinds *kinds, const struct kind *kind)
{
	void *grown;

	for (size_t i = 0; i < kinds->count; i++)
		if (kinds->items[i].type == kind->type && kinds->items[i].oper_vls == kind->oper_vls &&
		    kinds->items[i].high_cap == kind->high_cap && kinds->items[i].low_cap == kind->low_cap)
			return 0;
	grown = array_grow(kinds->items, &kinds->room, kinds->count + 1, sizeof(*kinds->items));
	if (!grown)
		return -ENOMEM;
	kinds->items = grown;
	kinds->items[kinds->count++] = *kind;
	return 0;
}

/* OpenSM sends nothing to a base port 0, and one VL for good is one VL, whatever the tables. */
static bool programmed(const struct fabric *fabric, uint32_t port)
{
	const struct fabric_node *node = fabric_port_node(fabric, port);
	const struct fabric_port *p = &fabric->ports[port];

	if (!p->known || fabric_port_state(p) != FABRIC_STATE_ACTIVE || fabric_port_vl_cap(p) == 1)
		return false;
	return node->type != FABRIC_SWITCH || p->number != 0 || node->enhanced_port0;
}

static int find_kinds(const struct fabric *fabric, struct kinds *kinds)
{
	int ret = 0;

	for (uint32_t i = 0; ret == 0 && i < fabric->port_count; i++) {
		const struct fabric_port *p = &fabric->ports[i];

		if (programmed(fabric, i))
			ret = add_kind(kinds, &(struct kind){fabric_port_qos_type(fabric, i), fabric_port_oper_vls(p),
							     fabric_port_vlarb_high_cap(p),
							     fabric_port_vlarb_low_cap(p)});
	}
	return ret;
}

static uint16_t weighted(const struct qos_vlarb *table, unsigned cap, unsigned oper_vls)
{
	struct qos_vlarb_entry block[QOS_VLARB_BLOCK];
	uint16_t vls = 0;
	unsigned length;

	for (unsigned b = 0; b < QOS_VLARB_BLOCKS / 2; b++) {
		qos_vlarb_block(table, b, cap, oper_vls, block, &length);
		for (unsigned i = 0; i < length; i++)
			if (block[i].weight)
				vls |= (uint16_t)(1u << (block[i].vl & 0xf));
	}
	return vls;
}

static struct view view_of(const struct kind *kind, const struct qos_config *config)
{
	const struct qos_tables *tables = &config->of[kind->type];
	struct qos_sl2vl folded;
	struct view view;

	qos_fold_sl2vl(&tables->sl2vl, kind->oper_vls, &folded);
	memcpy(view.vl, folded.vl, sizeof(view.vl));
	view.high = weighted(&tables->high, kind->high_cap, kind->oper_vls);
	view.low = weighted(&tables->low, kind->low_cap, kind->oper_vls);
	view.unlimited = tables->high_limit == QOS_HIGH_UNLIMITED;
	return view;
}

/* --- mixtures --- */

/* Which of the four is new. */
enum { NEW_LOW = 1, NEW_HIGH = 2, NEW_MAP = 4, NEW_LIMIT = 8, ALL_NEW = 15, MIXTURES = 14 };

/* Those that every port passes through come first, in order. */
#define USUAL_MIXTURES 3
static const unsigned mixtures[MIXTURES] = {
	NEW_LOW, NEW_LOW | NEW_HIGH, NEW_LOW | NEW_HIGH | NEW_MAP, 2, 4, 5, 6, 8, 9, 10, 11, 12, 13, 14,
};

static enum fate fate_of(unsigned vl, uint16_t high, uint16_t low, bool unlimited)
{
	if (vl == QOS_VL_DROP)
		return FATE_DROPPED;
	if (high >> vl & 1)
		return FATE_SENT;
	if (!(low >> vl & 1))
		return FATE_NO_WEIGHT;
	return unlimited && high ? FATE_BEHIND : FATE_SENT;
}

static enum fate fate_in(const struct view *old, const struct view *new, unsigned mixture, unsigned sl)
{
	return fate_of((mixture & NEW_MAP ? new : old)->vl[sl], (mixture & NEW_HIGH ? new : old)->high,
		       (mixture & NEW_LOW ? new : old)->low, (mixture & NEW_LIMIT ? new : old)->unlimited);
}

static enum fate worse(enum fate a, enum fate b)
{
	return a > b ? a : b;
}

/* The first mixture in which an SL fares worse than `limit`, as a place in mixtures[]; MIXTURES: none. */
static unsigned bad_mixture(const struct view *old, const struct view *new, unsigned sl, enum fate limit)
{
	unsigned n = 0;

	while (n < MIXTURES && fate_in(old, new, mixtures[n], sl) <= limit)
		n++;
	return n;
}

static enum fate worse_end(const struct view *old, const struct view *new, unsigned sl)
{
	return worse(fate_in(old, new, 0, sl), fate_in(old, new, ALL_NEW, sl));
}

/* --- the tables in between --- */

/* VLs with weight anywhere in a table as written. */
static uint16_t entries_of(const struct qos_vlarb *table)
{
	uint16_t vls = 0;

	for (unsigned i = 0; i < table->count && i < QOS_VLARB_ENTRIES; i++)
		if (table->entry[i].weight && table->entry[i].vl < QOS_DATA_VLS)
			vls |= (uint16_t)(1u << table->entry[i].vl);
	return vls;
}

/* Adds an entry for each VL that has none; where that is too many, one for each and no more. */
static void complete(struct qos_vlarb *table, uint16_t vls, unsigned most)
{
	uint16_t missing = vls & (uint16_t)~entries_of(table);

	if (table->count + (unsigned)__builtin_popcount(missing) > most) {
		missing = vls | entries_of(table);
		table->count = 0;
	}
	for (unsigned vl = 0; vl < QOS_DATA_VLS && table->count < most; vl++)
		if (missing >> vl & 1)
			table->entry[table->count++] = (struct qos_vlarb_entry){(uint8_t)vl, STEP_WEIGHT};
}

/* VLs that either config maps an SL of this type to. */
static uint16_t mapped(const struct qos_config *config, enum qos_port_type type)
{
	uint16_t vls = 0;

	for (unsigned sl = 0; sl < QOS_SLS; sl++)
		if (config->of[type].sl2vl.vl[sl] < QOS_DATA_VLS)
			vls |= (uint16_t)(1u << config->of[type].sl2vl.vl[sl]);
	return vls;
}

/* All VLs have weight in the low table; those of either high table, in the high one. */
static void join_vlarb(const struct qos_config *old, const struct qos_config *new, enum qos_port_type type,
		       unsigned most, struct qos_tables *step)
{
	const struct qos_tables *a = &old->of[type], *b = &new->of[type];

	*step = *b;
	complete(&step->low, mapped(old, type) | mapped(new, type) | entries_of(&a->low) | entries_of(&a->high) |
				     entries_of(&b->high), most);
	complete(&step->high, entries_of(&a->high), most);
	if (a->high_limit != QOS_HIGH_UNLIMITED)
		step->high_limit = a->high_limit;
}

static bool has_tables_of(const struct kind *kind, enum qos_port_type type)
{
	return kind->type == type || (type == QOS_PORT_SWE && kind->type == QOS_PORT_SW0);
}

/* Whether both steps bear an SL's VL on all ports of a type; where there is none yet, as if all were of it. */
static bool vl_serves(const struct kinds *kinds, const struct qos_config *old, const struct qos_config *step,
		      const struct qos_config *new, enum qos_port_type type, unsigned sl)
{
	bool any = false;

	for (size_t i = 0; i < kinds->count; i++)
		any |= has_tables_of(&kinds->items[i], type);
	for (size_t i = 0; i < kinds->count; i++) {
		struct kind kind = kinds->items[i];
		struct view a, b, c;
		enum fate limit;

		if (any && !has_tables_of(&kind, type))
			continue;
		if (!any)
			kind.type = type;
		a = view_of(&kind, old), b = view_of(&kind, step), c = view_of(&kind, new);
		limit = worse_end(&a, &c, sl);
		if (fate_in(&b, &b, 0, sl) > limit || bad_mixture(&a, &b, sl, limit) < MIXTURES ||
		    bad_mixture(&b, &c, sl, limit) < MIXTURES)
			return false;
	}
	return true;
}

static void map_sl(struct qos_config *step, enum qos_port_type type, unsigned sl, unsigned vl)
{
	step->of[type].sl2vl.vl[sl] = (uint8_t)vl;
	if (type == QOS_PORT_SWE) /* port 0 must never differ */
		step->of[QOS_PORT_SW0].sl2vl.vl[sl] = (uint8_t)vl;
}

static bool choose_vl(const struct kinds *kinds, const struct qos_config *old, struct qos_config *step,
		      const struct qos_config *new, enum qos_port_type type, unsigned sl)
{
	unsigned first[] = {new->of[type].sl2vl.vl[sl], old->of[type].sl2vl.vl[sl]};

	for (unsigned n = 0; n < 2 + QOS_DATA_VLS; n++) {
		map_sl(step, type, sl, n < 2 ? first[n] : n - 2);
		if (vl_serves(kinds, old, step, new, type, sl))
			return true;
	}
	return false;
}

/* Tables for a change in two steps. False if there are none. */
static bool find_step(const struct kinds *kinds, const struct qos_config *old, const struct plan *plan,
		      struct qos_config *step)
{
	static const enum qos_port_type types[] = {QOS_PORT_CA, QOS_PORT_SWE, QOS_PORT_RTR};
	const struct qos_config *new = &plan->config;

	for (unsigned type = 0; type < QOS_PORT_TYPES; type++)
		join_vlarb(old, new, type, vlarb_usable(plan->vlarb_cap), &step->of[type]);
	step->of[QOS_PORT_SW0] = step->of[QOS_PORT_SWE];
	for (size_t t = 0; t < sizeof(types) / sizeof(types[0]); t++)
		for (unsigned sl = 0; sl < QOS_SLS; sl++)
			if (!choose_vl(kinds, old, step, new, types[t], sl))
				return false;
	return true;
}

/* --- what is told --- */

struct trouble {
	uint16_t sls, usual; /* SLs; those in a mixture that every port passes through */
	uint8_t types;	     /* mask of port types */
	/* the one that is told: the likeliest, then the worst */
	unsigned place; /* in mixtures[] */
	enum fate fate;
	unsigned vl;
};

static size_t class_of(const struct plan *plan, const struct policy *policy, unsigned sl)
{
	for (size_t i = 0; i < plan->class_count; i++)
		if (policy->classes[i].sl == sl)
			return i;
	return policy->default_class;
}

static void find_trouble(const struct policy *policy, const struct plan *plan, const struct kinds *kinds,
			 const struct qos_config *old, struct trouble trouble[QOS_SLS])
{
	for (size_t k = 0; k < kinds->count; k++) {
		const struct kind *kind = &kinds->items[k];
		struct view a = view_of(kind, old), b = view_of(kind, &plan->config);

		for (unsigned sl = 0; sl < QOS_SLS; sl++) {
			struct trouble *t = &trouble[class_of(plan, policy, sl)];
			unsigned place = bad_mixture(&a, &b, sl, worse_end(&a, &b, sl));
			enum fate fate;

			if (place == MIXTURES)
				continue;
			fate = fate_in(&a, &b, mixtures[place], sl);
			if (!t->sls || place < t->place || (place == t->place && fate > t->fate)) {
				t->place = place;
				t->fate = fate;
				t->vl = (mixtures[place] & NEW_MAP ? &b : &a)->vl[sl];
			}
			t->sls |= (uint16_t)(1u << sl);
			t->usual |= (uint16_t)((place < USUAL_MIXTURES) << sl);
			t->types |= (uint8_t)(1u << kind->type);
		}
	}
}

static void print_sls(FILE *out, uint16_t sls)
{
	const char *between = "";

	for (unsigned sl = 0; sl < QOS_SLS; sl++) {
		unsigned last = sl;

		if (!(sls >> sl & 1))
			continue;
		while (last + 1 < QOS_SLS && (sls >> (last + 1) & 1))
			last++;
		fprintf(out, last > sl ? "%s%u-%u" : "%s%u", between, sl, last);
		between = ", ";
		sl = last;
	}
}

static const char *age(unsigned mixture, unsigned part)
{
	return mixture & part ? "new" : "old";
}

/* One clause of where and why; the caller frees it; NULL: out of memory. */
static char *trouble_text(const struct trouble *t, bool step)
{
	static const char *const why[] = {
		[FATE_BEHIND] = "is in the low table alone while the high one has no limit",
		[FATE_NO_WEIGHT] = "has no weight",
		[FATE_DROPPED] = "drops",
	};
	char *text = NULL;
	unsigned mixture;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	if (!out)
		return NULL;
	fputs(t->usual ? "on ports of" : "where a MAD is lost, on ports of", out);
	for (unsigned type = 0; type < QOS_PORT_TYPES; type++)
		if (t->types >> type & 1)
			fprintf(out, " %s", qos_port_type_name(type));
	mixture = mixtures[t->place];
	fprintf(out, ", as VL %u %s where the %s SL2VL table meets the %s low and %s high VL arbitration table", t->vl,
		why[t->fate], age(mixture, NEW_MAP), age(mixture, NEW_LOW), age(mixture, NEW_HIGH));
	if (t->fate == FATE_BEHIND)
		fprintf(out, " and the %s limit", age(mixture, NEW_LIMIT));
	if (!step)
		fputs("; there are no tables in between that avoid it", out);
	return text_stream_end(out, &text) == 0 ? text : NULL;
}

static void tell(const struct policy *policy, size_t class, const struct trouble *t, bool step,
		 struct finding_list *findings)
{
	const struct policy_class *c = &policy->classes[class];
	struct finding *f = finding_add(findings, FINDING_PLAN_MIXTURE);
	char *sls = NULL, *detail = trouble_text(t, step);
	size_t size;
	FILE *out = open_memstream(&sls, &size);

	if (out) {
		print_sls(out, t->sls);
		if (text_stream_end(out, &sls) != 0)
			sls = NULL;
	}
	if (!sls || !detail)
		findings->lost = true;
	/* apply goes through the step; what no class names, and is the default's for that; what takes a fault besides */
	if (step || !(t->usual >> c->sl & 1))
		f->severity = FINDING_NOTE;
	finding_at(f, policy->path, c->mark.line, c->mark.column);
	finding_set(&f->what, "class '%s'", c->name);
	finding_set(&f->wanted, "sent all along");
	finding_set(&f->got, "SL %s %s", sls ? sls : "?", t->fate == FATE_BEHIND ? "can wait without end" : "is held up");
	finding_set(&f->detail, "%s", detail ? detail : "");
	free(sls);
	free(detail);
}

int plan_mixture(const struct policy *policy, const struct fabric *fabric, const struct qos_config *old,
		 struct plan *plan, struct finding_list *findings)
{
	struct trouble trouble[QOS_SLS] = {0};
	struct kinds kinds = {0};
	uint16_t sls = 0;
	int ret = find_kinds(fabric, &kinds);

	if (ret)
		goto out;
	find_trouble(policy, plan, &kinds, old, trouble);
	for (size_t i = 0; i < plan->class_count; i++)
		sls |= trouble[i].sls;
	if (!sls)
		goto out;
	plan->step = calloc(1, sizeof(*plan->step));
	if (!plan->step) {
		ret = -ENOMEM;
		goto out;
	}
	if (!find_step(&kinds, old, plan, plan->step)) {
		free(plan->step);
		plan->step = NULL;
	}
	for (size_t i = 0; i < plan->class_count; i++)
		if (trouble[i].sls)
			tell(policy, i, &trouble[i], plan->step != NULL, findings);
out:
	free(kinds.items);
	return ret;
}
