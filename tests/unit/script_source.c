/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* script_source: see script_source.h. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "script_source.h"

#define TRIES 4 /* of a query that timed out: the first and three repeats */

struct rule {
	uint32_t agent, port, modifier;
	uint16_t attribute;
	enum mad_outcome outcome;
	uint16_t status;
	unsigned left; /* uses left; UINT_MAX: no end */
	uint8_t data[MAD_SMP_DATA];
};

struct script_source {
	struct source source;
	struct rule *rules;
	size_t rule_count;
	struct source_query *seen;
	size_t seen_count, seen_room;
	script_responder *responder;
	void *responder_arg;
	script_manager *manager;
	void *manager_arg;
	int manager_error;
	unsigned give_up, window;
	bool breaks;
	unsigned break_after;
	int break_error;
	struct fabric *fabric;
	struct mad_counts counts;
};

/* One run of source_ask(). */
struct run {
	struct script_source *script;
	const struct fabric *fabric;
	const struct source_asker *asker;
	bool *finished;       /* of each agent: next() has said that there is no more */
	unsigned *unanswered; /* of each agent: in a row */
	struct {
		uint32_t which;
		struct source_query query;
	} * held;
	unsigned held_count;
	uint32_t random;
	int error;
};

static struct script_source *script_of(const struct source *source)
{
	return (struct script_source *)source;
}

static bool matches(uint32_t wanted, uint32_t value)
{
	return wanted == SCRIPT_ANY || wanted == value;
}

static struct rule *find_rule(struct script_source *script, const struct source_query *query)
{
	for (size_t i = script->rule_count; i-- > 0;) {
		struct rule *rule = &script->rules[i];

		if (rule->left > 0 && rule->attribute == query->attribute &&
		    matches(rule->agent, query->agent) && matches(rule->port, query->port) &&
		    matches(rule->modifier, query->modifier))
			return rule;
	}
	return NULL;
}

static void note_seen(struct script_source *script, const struct source_query *query)
{
	if (script->seen_count == script->seen_room) {
		script->seen_room = script->seen_room ? 2 * script->seen_room : 64;
		script->seen = realloc(script->seen, script->seen_room * sizeof(*script->seen));
		assert_non_null(script->seen);
	}
	script->seen[script->seen_count++] = *query;
}

/* Looks up how a query ends and fills the answer; `data` holds its bytes. */
static void look_up(struct script_source *script, const struct source_query *query, struct mad_answer *answer,
		    uint8_t *data)
{
	struct rule *rule = find_rule(script, query);

	memset(data, 0, MAD_SMP_DATA);
	if (rule) {
		answer->outcome = rule->outcome;
		answer->status = rule->status;
		memcpy(data, rule->data, MAD_SMP_DATA);
		if (rule->left != UINT_MAX)
			rule->left--;
	} else if (script->responder) {
		answer->outcome = script->responder(script->responder_arg, query, data, &answer->status);
	} else {
		answer->outcome = SCRIPT_FALLBACK;
	}
}

static void hand_back(struct run *run, unsigned held)
{
	struct script_source *script = run->script;
	struct source_query query = run->held[held].query;
	uint32_t which = run->held[held].which;
	struct mad_answer answer = {.outcome = MAD_NOT_ASKED};
	uint8_t data[MAD_SMP_DATA];

	run->held[held] = run->held[--run->held_count];
	if (script->breaks && script->break_after == 0) {
		run->error = script->break_error;
		script->breaks = false;
	}
	if (!run->error && !(script->give_up && run->unanswered[which] >= script->give_up)) {
		look_up(script, &query, &answer, data);
		answer.tries = answer.outcome == MAD_TIMED_OUT   ? TRIES
			       : answer.outcome == MAD_NOT_ASKED ? 0
								 : 1;
		run->unanswered[which] = answer.outcome == MAD_TIMED_OUT ? run->unanswered[which] + 1 : 0;
		script->break_after -= script->breaks;
	}
	answer.data = answer.outcome == MAD_ANSWERED ? data : NULL;
	script->counts.queries++;
	script->counts.ended[answer.outcome]++;
	script->counts.sent += answer.tries;
	script->counts.retried += answer.tries > 1 ? answer.tries - 1 : 0;
	run->asker->answer(run->asker->arg, &query, &answer);
}

static void check_query(const struct run *run, uint32_t which, const struct source_query *query)
{
	assert_int_equal(query->agent, run->asker->agents[which]);
	assert_true(query->port < run->fabric->port_count);
	assert_int_equal(fabric_port_agent(run->fabric, query->port), query->agent);
	assert_int_not_equal(query->attribute, 0);
}

/* Takes one query from an agent that is not finished; false if it has no more. */
static bool take(struct run *run, uint32_t which)
{
	struct source_query query = {0}, again = {0};

	if (!run->asker->next(run->asker->arg, which, &query)) {
		run->finished[which] = true;
		/* An engine may ask again: no more must stay no more. */
		assert_false(run->asker->next(run->asker->arg, which, &again));
		return false;
	}
	check_query(run, which, &query);
	note_seen(run->script, &query);
	run->held[run->held_count].which = which;
	run->held[run->held_count++].query = query;
	return true;
}

static unsigned pick(struct run *run)
{
	if (run->script->window == 1)
		return 0;
	run->random = run->random * 1664525u + 1013904223u;
	return (run->random >> 16) % run->held_count;
}

static int script_ask(struct source *source, const struct fabric *fabric, const struct source_asker *asker)
{
	struct script_source *script = script_of(source);
	struct run run = {.script = script, .fabric = fabric, .asker = asker, .random = 1};

	run.finished = calloc(asker->agent_count + 1, sizeof(*run.finished));
	run.unanswered = calloc(asker->agent_count + 1, sizeof(*run.unanswered));
	run.held = calloc(script->window, sizeof(*run.held));
	assert_true(run.finished && run.unanswered && run.held);
	for (uint32_t i = 0; i < asker->agent_count; i++) {
		assert_true(asker->agents[i] < fabric->port_count);
		assert_int_equal(fabric_port_agent(fabric, asker->agents[i]), asker->agents[i]);
	}
	/* Agents take turns, as on a wire, so that an asker must keep them apart. */
	for (bool more = true; more;) {
		more = false;
		for (uint32_t i = 0; i < asker->agent_count; i++) {
			if (!run.finished[i] && take(&run, i))
				more = true;
			if (run.held_count == script->window)
				hand_back(&run, pick(&run));
		}
	}
	while (run.held_count > 0)
		hand_back(&run, pick(&run));
	for (uint32_t i = 0; i < asker->agent_count; i++) {
		struct source_query late = {0};

		assert_false(asker->next(asker->arg, i, &late)); /* answers make no new queries */
	}
	free(run.held);
	free(run.unanswered);
	free(run.finished);
	return run.error;
}

static int script_ask_sm(struct source *source, const struct fabric *fabric, struct source_sm_query *queries,
			 size_t count, uint64_t *lost_ns)
{
	struct script_source *script = script_of(source);

	assert_int_not_equal(fabric->sm_lid, 0);
	assert_non_null(lost_ns);
	if (script->manager_error)
		return script->manager_error;
	for (size_t i = 0; i < count; i++) {
		struct source_sm_query *query = &queries[i];

		assert_int_equal(query->outcome, MAD_NOT_ASKED);
		assert_true(query->mgmt_class == MAD_CLASS_SMP || query->mgmt_class == MAD_CLASS_SA);
		query->outcome = MAD_TIMED_OUT;
		query->tries = TRIES;
		if (script->manager)
			script->manager(script->manager_arg, query);
		script->counts.queries++;
		script->counts.ended[query->outcome]++;
	}
	return 0;
}

static int script_discover(struct source *source, struct finding_list *findings, struct fabric **fabric)
{
	struct script_source *script = script_of(source);

	(void)findings;
	if (!script->fabric)
		return -ENODATA;
	*fabric = script->fabric;
	script->fabric = NULL;
	return 0;
}

static const struct mad_counts *script_counts(const struct source *source)
{
	return &script_of(source)->counts;
}

static void script_close(struct source *source)
{
	struct script_source *script = script_of(source);

	fabric_free(script->fabric);
	free(script->rules);
	free(script->seen);
	free(script);
}

static const struct source_ops script_ops = {
	.discover = script_discover,
	.ask = script_ask,
	.ask_sm = script_ask_sm,
	.counts = script_counts,
	.close = script_close,
};

struct source *script_source_new(void)
{
	struct script_source *script = calloc(1, sizeof(*script));

	assert_non_null(script);
	script->source.ops = &script_ops;
	script->window = 7;
	return &script->source;
}

static struct rule *add_rule(struct source *source, uint32_t agent, uint32_t port, uint16_t attribute,
			     uint32_t modifier)
{
	struct script_source *script = script_of(source);
	struct rule *rule;

	script->rules = realloc(script->rules, (script->rule_count + 1) * sizeof(*script->rules));
	assert_non_null(script->rules);
	rule = &script->rules[script->rule_count++];
	*rule = (struct rule){
		.agent = agent, .port = port, .attribute = attribute, .modifier = modifier, .left = UINT_MAX};
	return rule;
}

void script_source_answer_times(struct source *source, uint32_t agent, uint32_t port, uint16_t attribute,
				uint32_t modifier, const void *data, size_t size, unsigned times)
{
	struct rule *rule = add_rule(source, agent, port, attribute, modifier);

	assert_true(size <= MAD_SMP_DATA);
	rule->outcome = MAD_ANSWERED;
	rule->left = times;
	memcpy(rule->data, data, size);
}

void script_source_answer(struct source *source, uint32_t agent, uint32_t port, uint16_t attribute,
			  uint32_t modifier, const void *data, size_t size)
{
	script_source_answer_times(source, agent, port, attribute, modifier, data, size, UINT_MAX);
}

void script_source_fail(struct source *source, uint32_t agent, uint32_t port, uint16_t attribute,
			uint32_t modifier, enum mad_outcome outcome, uint16_t status)
{
	struct rule *rule = add_rule(source, agent, port, attribute, modifier);

	assert_int_not_equal(outcome, MAD_ANSWERED);
	rule->outcome = outcome;
	rule->status = status;
}

void script_source_clear(struct source *source)
{
	struct script_source *script = script_of(source);

	script->rule_count = 0;
	script->seen_count = 0;
}

void script_source_responder(struct source *source, script_responder *responder, void *arg)
{
	script_of(source)->responder = responder;
	script_of(source)->responder_arg = arg;
}

void script_source_manager(struct source *source, script_manager *manager, void *arg)
{
	script_of(source)->manager = manager;
	script_of(source)->manager_arg = arg;
}

void script_source_manager_error(struct source *source, int error)
{
	script_of(source)->manager_error = error;
}

void script_source_give_up(struct source *source, unsigned give_up)
{
	script_of(source)->give_up = give_up;
}

void script_source_break(struct source *source, unsigned answers, int error)
{
	assert_true(error < 0);
	script_of(source)->breaks = true;
	script_of(source)->break_after = answers;
	script_of(source)->break_error = error;
}

void script_source_window(struct source *source, unsigned window)
{
	assert_true(window > 0);
	script_of(source)->window = window;
}

void script_source_fabric(struct source *source, struct fabric *fabric)
{
	fabric_free(script_of(source)->fabric);
	script_of(source)->fabric = fabric;
}

uint64_t script_source_asked(const struct source *source, uint32_t agent, uint32_t port, uint16_t attribute,
			     uint32_t modifier)
{
	const struct script_source *script = script_of(source);
	uint64_t count = 0;

	for (size_t i = 0; i < script->seen_count; i++) {
		const struct source_query *query = &script->seen[i];

		count += (attribute == 0 || attribute == query->attribute) && matches(agent, query->agent) &&
			 matches(port, query->port) && matches(modifier, query->modifier);
	}
	return count;
}
