/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Rules applied to a request and its answer. */
#include <infiniband/mad.h>
#include <time.h>

#include "overlay.h"

/* The same numbers for the same seed, whatever order the rules of a file come into play. */
static double chance(uint64_t seed, unsigned rule, uint64_t n)
{
	uint64_t x = seed ^ (uint64_t)rule << 40 ^ n;

	for (int i = 0; i < 2; i++) {
		x += 0x9e3779b97f4a7c15u;
		x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
		x = (x ^ x >> 27) * 0x94d049bb133111ebu;
		x ^= x >> 31;
	}
	return (double)(x >> 11) / 9007199254740992.0;
}

/* What does not depend on how often the rule was tried. */
static bool concerns(const struct rules *rules, const struct rule *rule, const struct request *req)
{
	if (rule->class && rule->class != class_of(req->class))
		return false;
	if (rule->has_attr && rule->attr_id != req->attr)
		return false;
	if (rule->bit31 >= 0 && (unsigned)rule->bit31 != req->mod >> 31)
		return false;
	if (rule->has_mod && rule->mod != req->mod)
		return false;
	if (rule->method && rule->method != req->method)
		return false;
	if ((rule->node || rule->has_guid || rule->port >= 0) && !req->place.node)
		die("rules %s:%u: cannot tell which device a MAD is for (class 0x%02x attribute 0x%04x LID %u)",
		    rules->path, rule->line, req->class, req->attr, req->dlid);
	if (rule->node && !node_named(req->place.node, rule->node))
		return false;
	if (rule->has_guid && rule->guid != req->place.node->guid)
		return false;
	return rule->port < 0 || (unsigned)rule->port == about_port(req);
}

static bool its_turn(const struct rules *rules, struct rule *rule)
{
	uint64_t n = rule->matched++;

	if (n < rule->skip || (rule->has_count && n >= rule->skip + rule->count))
		return false;
	return !rule->has_prob || chance(rules->seed, rule->line, n) < rule->prob;
}

/* Has a rule a say in this phase? */
static bool due(const struct rule *rule, enum phase phase)
{
	bool draws = rule->has_fate || rule->has_status;
	bool keeps = rule->has_mkey || rule->optimized || rule->has_vlarb;

	switch (phase) {
	case PHASE_SET:
		return draws || keeps;
	case PHASE_RETRY:
		return draws || rule->has_mkey;
	case PHASE_ANSWER_OF_SET:
		return !draws;
	default:
		return true;
	}
}

/*
 * The M_Key check (IBA 14.2.4): a Set needs the port's key, at any level of protection; a Get at levels 2
 * and 3. What fails it is dropped in silence. At level 1 any Get is answered, but PortInfo's M_Key reads
 * as 0 to one who does not know it; at level 0 it can be read.
 */
static void check_mkey(const struct rule *rule, const struct request *req, uint8_t *data, struct verdict *v)
{
	bool knows = mad_get_field64((void *)req->mad, 0, IB_MAD_MKEY_F) == rule->mkey;
	bool of_agent = req->place.node && (req->place.node->type != NODE_SWITCH || about_port(req) == 0);

	if (!class_is_smp(req->class))
		return;
	if (!knows && (req->method == IB_MAD_METHOD_SET || rule->protect >= 2)) {
		v->fate = FATE_TIMEOUT;
		return;
	}
	if (!data || req->attr != IB_ATTR_PORT_INFO || !of_agent)
		return;
	mad_set_field64(data, 0, IB_PORT_MKEY_F, knows || !rule->protect ? rule->mkey : 0);
	mad_set_field(data, 0, IB_PORT_MKEY_PROT_BITS_F, rule->protect);
}

/*
 * VL arbitration tables of a size that ibsim does not have: the Set itself goes no further than to the
 * record (it leaves as a Get), and what ibsim says to it counts for nothing.
 */
static void show_vlarb(struct rules *rules, const struct rule *rule, const struct request *req, uint8_t *data,
		       struct verdict *v)
{
	if (!class_is_smp(req->class))
		return;
	if (req->attr == IB_ATTR_PORT_INFO && data) {
		mad_set_field(data, 0, IB_PORT_VL_ARBITRATION_LOW_CAP_F, rule->low_cap);
		mad_set_field(data, 0, IB_PORT_VL_ARBITRATION_HIGH_CAP_F, rule->high_cap);
	}
	if (req->attr == IB_ATTR_VL_ARBITRATION && !data)
		v->as_get = true;
	if (req->attr == IB_ATTR_VL_ARBITRATION && data) {
		v->status = record_vlarb(rules->record, rules->net, req, rule->low_cap, rule->high_cap, data);
		v->has_status = true;
	}
}

static long double now_of(const struct rules *rules)
{
	struct timespec ts;

	if (rules->now > 0)
		return rules->now;
	clock_gettime(CLOCK_REALTIME, &ts);
	return (long double)ts.tv_sec + (long double)ts.tv_nsec / 1e9L;
}

/* What is done to an answer that comes, beside its fields. */
static void take_actions(const struct rule *rule, struct verdict *v)
{
	v->tell |= rule->tell;
	if (rule->delay_ms)
		v->delay_ms = rule->delay_ms;
	if (rule->copies)
		v->copies = rule->copies;
	if (rule->foreign)
		v->foreign = rule->foreign;
	if (rule->reorder)
		v->reorder = rule->reorder;
	if (rule->tid_xor)
		v->tid_xor = rule->tid_xor;
	if (rule->has_other_attr) {
		v->has_other_attr = true;
		v->other_attr = rule->other_attr;
	}
	if (rule->has_other_mod) {
		v->has_other_mod = true;
		v->other_mod = rule->other_mod;
	}
}

struct verdict rules_apply(struct rules *rules, const struct request *req, uint8_t *data, enum phase phase)
{
	struct verdict v = {.fate = FATE_ANSWER};

	for (struct rule *rule = rules->first; rule; rule = rule->next) {
		if (!due(rule, phase) || !concerns(rules, rule, req) || !its_turn(rules, rule))
			continue;
		if (rule->has_fate) {
			v.fate = rule->fate;
			v.late_ms = rule->late_ms;
		}
		if (rule->has_status) {
			v.status = rule->status;
			v.has_status = true;
		}
		if (rule->has_vlarb)
			show_vlarb(rules, rule, req, data, &v);
		if (rule->has_mkey)
			check_mkey(rule, req, data, &v);
		if (rule->optimized) {
			v.optimized = true;
			if (data && class_is_smp(req->class) && req->attr == IB_ATTR_SWITCH_INFO)
				mad_set_field(data, 0, IB_SW_OPT_SLTOVL_MAPPING_F, 1);
		}
		take_actions(rule, &v);
		for (unsigned i = 0; data && i < rule->setters; i++)
			setter_put(&rule->setter[i], &rule->growth, now_of(rules), data);
	}
	return v;
}

bool rules_make(const struct rules *rules, const struct request *req)
{
	for (const struct rule *rule = rules->first; rule; rule = rule->next)
		if (rule->makes && concerns(rules, rule, req))
			return true;
	return false;
}
