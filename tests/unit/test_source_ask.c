/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* The live source's questions, over a scripted wire: addresses, outcomes, counts, failures. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../../src/source/live.h"
#include "images.h"
#include "script_source.h"
#include "script_wire.h"

#define PORTS 3 /* queries for each switch: one a port */

static char *messages;
static size_t messages_size;
static volatile sig_atomic_t stop;
static struct ibqos_ctx ctx;

/* A wire that is opened at the first ask, and what the opener saw. */
struct opening {
	struct script_wire *wire;
	int error;
	unsigned opened;
};

static int open_script(void *arg, const struct ibqos_ctx *c, const char *device, int port,
		       struct mad_wire **wire)
{
	struct opening *o = arg;

	assert_ptr_equal(c, &ctx);
	assert_string_equal(device, "sim0");
	assert_int_equal(port, 2);
	o->opened++;
	if (o->error)
		return o->error;
	*wire = &o->wire->wire;
	return 0;
}

/* Plays the devices: all answer by LID or route but LID 13, which is silent, and LID 12, which refuses. */
static int play(void *arg, struct script_wire *wire, const struct mad_request *request)
{
	struct mad_reply reply = script_answer(request);
	unsigned *routed = arg;

	if (request->to->lid == 13)
		return 0;
	if (request->to->lid == 12) {
		reply.status = 0x1c;
		script_reply(wire, 1000, &reply);
		return 0;
	}
	if (request->to->lid == 0) {
		assert_int_equal(request->to->route.hops, 2);
		assert_memory_equal(request->to->route.port, "\0\2\7", 3);
		(*routed)++;
	}
	script_reply(wire, 1000, &reply);
	return 0;
}

/* Asks for SL2VL of ports 1..PORTS of each switch. */
struct asker {
	struct source_asker asker;
	const struct fabric *fabric;
	uint32_t agents[8];
	unsigned given[8], answered[8][PORTS + 1], outcomes[8][MAD_OUTCOMES];
	unsigned lids[8]; /* whose data must come; 0: by route */
};

static bool next(void *arg, uint32_t which, struct source_query *query)
{
	struct asker *a = arg;

	if (a->given[which] == PORTS)
		return false;
	a->given[which]++;
	*query = (struct source_query){.agent = a->agents[which],
				       .port = a->agents[which] + a->given[which],
				       .attribute = MAD_SL2VL,
				       .modifier = MAD_SL2VL_MODIFIER(0, a->given[which])};
	return true;
}

static void answer(void *arg, const struct source_query *query, const struct mad_answer *ans)
{
	struct asker *a = arg;
	uint32_t which = 0;
	unsigned number = a->fabric->ports[query->port].number;
	uint8_t wanted[MAD_SMP_DATA];

	while (a->agents[which] != query->agent)
		which++;
	assert_true(which < a->asker.agent_count);
	assert_int_equal(fabric_port_agent(a->fabric, query->port), query->agent);
	assert_int_equal(query->attribute, MAD_SL2VL);
	assert_int_equal(query->modifier, number);
	a->answered[which][number]++;
	a->outcomes[which][ans->outcome]++;
	if (ans->outcome == MAD_ANSWERED) {
		script_data(a->lids[which], query->attribute, query->modifier, wanted);
		if (a->lids[which] != 0)
			assert_memory_equal(ans->data, wanted, MAD_SMP_DATA);
	} else {
		assert_null(ans->data);
	}
	if (ans->outcome == MAD_STATUS)
		assert_int_equal(ans->status, 0x1c);
	if (ans->outcome == MAD_NOT_ASKED)
		assert_int_equal(ans->tries, 0);
}

/* Switches of LIDs 11, 12, 13, one of no LID but a route, one of neither. */
static struct fabric *five_switches(unsigned sm_lid)
{
	struct fabric *f = fabric_new("");
	uint8_t node_info[MAD_SMP_DATA], desc[MAD_SMP_DATA], info[MAD_SMP_DATA];
	const struct mad_route route = {.hops = 2, .port = {0, 2, 7}};

	image_node_desc(desc, "s");
	for (unsigned i = 0; i < 5; i++) {
		bool with_route = i == 3 || (i == 0 && sm_lid == 0);
		uint32_t sw;

		image_node_info(node_info, FABRIC_SWITCH, 0x10 + i, PORTS, 1);
		sw = fabric_add_node(f, node_info, desc, desc, with_route ? &route : NULL);
		image_port_info(info, &(struct image_port){.lid = i < 3 ? 11 + i : 0});
		assert_int_equal(fabric_port_seen(f, sw, 0, 0, info, NULL), 0);
	}
	f->sm_lid = sm_lid;
	assert_int_equal(fabric_finish(f), 0);
	return f;
}

static void asker_init(struct asker *a, const struct fabric *f)
{
	*a = (struct asker){.fabric = f, .lids = {11, 12, 13}};
	for (uint32_t i = 0; i < f->node_count; i++)
		a->agents[i] = f->nodes[i].first_port;
	a->asker = (struct source_asker){
		.agents = a->agents, .agent_count = f->node_count, .next = next, .answer = answer, .arg = a};
}

/* Each query exactly once, and agent `which` all with one outcome. */
static void expect(const struct asker *a, uint32_t which, enum mad_outcome outcome)
{
	for (unsigned n = 1; n <= PORTS; n++)
		assert_int_equal(a->answered[which][n], 1);
	assert_int_equal(a->outcomes[which][outcome], PORTS);
}

static const struct source_options options = {
	.limits = {.window = 4, .device_window = 2, .timeout_ms = 100, .retries = 1},
};

static int setup(void **state)
{
	(void)state;
	stop = 0;
	ctx = (struct ibqos_ctx){.program = "ibqos", .fabric = "", .stop = &stop};
	ctx.err = open_memstream(&messages, &messages_size);
	return ctx.err ? 0 : -1;
}

static int teardown(void **state)
{
	(void)state;
	fclose(ctx.err);
	free(messages);
	return 0;
}

static void outcomes_and_counts(void **state)
{
	struct script_wire wire;
	struct opening opening = {.wire = &wire};
	struct fabric *f = five_switches(1);
	struct source *source;
	struct asker a;
	unsigned routed = 0;

	(void)state;
	script_wire_play(&wire, play, &routed);
	assert_int_equal(source_live_new(&ctx, &options, "sim0", 2, open_script, &opening, &source), 0);
	assert_int_equal(opening.opened, 0); /* nothing before the first question */
	assert_int_equal(source_counts(source)->sent, 0);
	for (unsigned round = 1; round <= 2; round++) {
		const struct mad_counts *counts;

		asker_init(&a, f);
		assert_int_equal(source_ask(source, f, &a.asker), 0);
		expect(&a, 0, MAD_ANSWERED);
		expect(&a, 1, MAD_STATUS);
		expect(&a, 2, MAD_TIMED_OUT);
		expect(&a, 3, MAD_ANSWERED);
		expect(&a, 4, MAD_NOT_ASKED); /* no way to it */
		assert_int_equal(routed, round * PORTS);
		counts = source_counts(source);
		assert_int_equal(counts->queries, round * 4 * PORTS);
		assert_int_equal(counts->ended[MAD_ANSWERED], round * 2 * PORTS);
		assert_int_equal(counts->ended[MAD_STATUS], round * PORTS);
		assert_int_equal(counts->ended[MAD_TIMED_OUT], round * PORTS);
		assert_int_equal(counts->sent, round * 5 * PORTS); /* silent ones twice */
	}
	assert_int_equal(opening.opened, 1);
	assert_in_range(wire.peak, 1, 4);
	assert_in_range(wire.device_peak, 1, 2);
	source_close(source);
	script_wire_end(&wire);
	fabric_free(f);
}

/* Directed when told to, and where no SM vouches for the forwarding tables. */
static void directed(void **state)
{
	(void)state;
	for (unsigned by_option = 0; by_option < 2; by_option++) {
		struct script_wire wire;
		struct opening opening = {.wire = &wire};
		struct fabric *f = five_switches(0);
		struct source_options o = options;
		struct source *source;
		struct asker a;
		unsigned routed = 0;

		o.directed = by_option;
		f->sm_lid = by_option ? 1 : 0;
		script_wire_play(&wire, play, &routed);
		assert_int_equal(source_live_new(&ctx, &o, "sim0", 2, open_script, &opening, &source), 0);
		asker_init(&a, f);
		a.lids[0] = 0;
		assert_int_equal(source_ask(source, f, &a.asker), 0);
		expect(&a, 0, MAD_ANSWERED);
		expect(&a, 1, MAD_NOT_ASKED); /* has a LID only */
		expect(&a, 2, MAD_NOT_ASKED);
		expect(&a, 3, MAD_ANSWERED);
		assert_int_equal(routed, 2 * PORTS);
		source_close(source);
		script_wire_end(&wire);
		fabric_free(f);
	}
}

/* Counters go by LID even where SMPs go by route, and nowhere where no SM vouches for LIDs. */
struct counter_asker {
	const struct fabric *fabric;
	unsigned given[8], ended[8][MAD_OUTCOMES];
};

static bool next_counters(void *arg, uint32_t which, struct source_query *query)
{
	struct counter_asker *a = arg;
	uint32_t agent = a->fabric->nodes[which].first_port;

	if (a->given[which] == PORTS)
		return false;
	a->given[which]++;
	*query = (struct source_query){.agent = agent,
				       .port = agent + a->given[which],
				       .attribute = MAD_PORT_COUNTERS,
				       .modifier = a->given[which],
				       .mgmt_class = MAD_CLASS_PERF};
	return true;
}

static void take_counters(void *arg, const struct source_query *query, const struct mad_answer *ans)
{
	struct counter_asker *a = arg;

	assert_int_equal(query->mgmt_class, MAD_CLASS_PERF);
	assert_int_equal(query->attribute, MAD_PORT_COUNTERS);
	assert_int_equal(query->modifier, a->fabric->ports[query->port].number);
	a->ended[a->fabric->ports[query->port].node][ans->outcome]++;
}

static int play_counters(void *arg, struct script_wire *wire, const struct mad_request *request)
{
	struct mad_reply reply = script_answer(request);
	unsigned lid = request->to->lid ? request->to->lid : request->to->gmp_lid;

	(void)arg;
	assert_in_range(lid, 11, 13);
	assert_int_equal(request->mgmt_class, MAD_CLASS_PERF);
	reply.timed_out = lid == 13;
	if (reply.timed_out)
		reply.modifier = 0; /* of such the kernel keeps the header, and PortSelect is behind it */
	script_reply(wire, 1000, &reply);
	return 0;
}

static void counters(void **state)
{
	(void)state;
	for (unsigned round = 0; round < 3; round++) {
		bool directed_smps = round == 1, sm = round != 2;
		struct script_wire wire;
		struct opening opening = {.wire = &wire};
		struct fabric *f = five_switches(1);
		struct source_options o = options;
		struct counter_asker a = {.fabric = f};
		uint32_t agents[5];
		struct source_asker asker = {.agents = agents, .agent_count = 5, .next = next_counters,
					     .answer = take_counters, .arg = &a};
		struct source *source;

		for (unsigned i = 0; i < 5; i++)
			agents[i] = f->nodes[i].first_port;
		o.directed = directed_smps;
		f->sm_lid = sm ? 1 : 0;
		script_wire_play(&wire, play_counters, NULL);
		assert_int_equal(source_live_new(&ctx, &o, "sim0", 2, open_script, &opening, &source), 0);
		assert_int_equal(source_ask(source, f, &asker), 0);
		assert_int_equal(a.ended[0][sm ? MAD_ANSWERED : MAD_NOT_ASKED], PORTS);
		assert_int_equal(a.ended[2][sm ? MAD_TIMED_OUT : MAD_NOT_ASKED], PORTS);
		assert_int_equal(a.ended[3][MAD_NOT_ASKED], PORTS); /* no LID */
		assert_int_equal(a.ended[4][MAD_NOT_ASKED], PORTS);
		source_close(source);
		script_wire_end(&wire);
		fabric_free(f);
	}
}

static void wire_does_not_open(void **state)
{
	struct opening opening = {.error = -EACCES};
	struct fabric *f = five_switches(1);
	struct source *source;
	struct asker a;

	(void)state;
	assert_int_equal(source_live_new(&ctx, &options, "sim0", 2, open_script, &opening, &source), 0);
	asker_init(&a, f);
	assert_int_equal(source_ask(source, f, &a.asker), -EACCES);
	for (uint32_t i = 0; i < 5; i++)
		expect(&a, i, MAD_NOT_ASKED);
	fflush(ctx.err);
	assert_non_null(strstr(messages, "sim0/2"));
	assert_non_null(strstr(messages, "Permission denied"));
	asker_init(&a, f); /* it is tried again the next time */
	assert_int_equal(source_ask(source, f, &a.asker), -EACCES);
	assert_int_equal(opening.opened, 2);
	source_close(source);
	fabric_free(f);
}

/* Limits that the engine refuses: the wire that was opened for it is closed. */
static void bad_limits(void **state)
{
	struct script_wire wire;
	struct opening opening = {.wire = &wire};
	struct source_options o = options;
	struct fabric *f = five_switches(1);
	struct source *source;
	struct asker a;
	unsigned routed = 0;

	(void)state;
	o.limits.window = 0;
	script_wire_play(&wire, play, &routed);
	assert_int_equal(source_live_new(&ctx, &o, "sim0", 2, open_script, &opening, &source), 0);
	asker_init(&a, f);
	assert_int_equal(source_ask(source, f, &a.asker), -EINVAL);
	expect(&a, 0, MAD_NOT_ASKED);
	source_close(source);
	script_wire_end(&wire);
	fabric_free(f);
}

static void stopped(void **state)
{
	struct script_wire wire;
	struct opening opening = {.wire = &wire};
	struct fabric *f = five_switches(1), *found;
	struct finding_list findings = {0};
	struct source *source;
	struct asker a;
	unsigned routed = 0;

	(void)state;
	script_wire_play(&wire, play, &routed);
	assert_int_equal(source_live_new(&ctx, &options, "sim0", 2, open_script, &opening, &source), 0);
	stop = 1;
	asker_init(&a, f);
	assert_int_equal(source_ask(source, f, &a.asker), -EINTR);
	for (uint32_t i = 0; i < 5; i++) {
		unsigned handed_back = 0;

		for (unsigned n = 1; n <= PORTS; n++)
			handed_back += a.answered[i][n];
		assert_int_equal(handed_back, a.given[i]);
	}
	assert_int_equal(source_discover(source, &findings, &found), -EINTR); /* and nothing is opened */
	assert_null(found);
	source_close(source);
	script_wire_end(&wire);
	fabric_free(f);
}

/* --- the subnet manager --- */

/* Plays the SM at LID 7 and its SA, and keeps the order and address of what came. */
struct manager {
	unsigned asked;
	uint8_t classes[8], sl[8];
	unsigned timeouts[8];
	bool silent;
};

static int manage(void *arg, struct script_wire *wire, const struct mad_request *request)
{
	struct manager *m = arg;
	struct mad_reply reply = script_answer(request);

	assert_int_equal(request->to->lid, 7);
	assert_true(m->asked < 8);
	m->classes[m->asked] = request->mgmt_class;
	m->sl[m->asked] = request->to->sl;
	m->timeouts[m->asked++] = request->timeout_ms;
	if (m->silent)
		return 0;
	if (request->mgmt_class == MAD_CLASS_SMP) {
		assert_null(request->data);
		memset(reply.data, 0xee,
		       sizeof(reply.data)); /* what is beyond an SMP's data is not the caller's */
	} else {
		assert_true(request->mask == request->modifier);
		memcpy(reply.data, request->data, MAD_SA_DATA);
		reply.status = request->modifier == 3 ? 0x0300 : 0;
	}
	script_reply(wire, 1000, &reply);
	return 0;
}

static void the_subnet_manager(void **state)
{
	struct source_sm_query queries[] = {
		{.mgmt_class = MAD_CLASS_SA,
		 .attribute = 0x35,
		 .modifier = 1,
		 .mask = 1,
		 .record = {[199] = 9}},
		{.mgmt_class = MAD_CLASS_SMP,
		 .attribute = 0x20,
		 .status = 5,
		 .tries = 5,
		 .data = {[199] = 1}},
		{.mgmt_class = MAD_CLASS_SA, .attribute = 0x35, .modifier = 3, .mask = 3},
	};
	struct fabric *f = five_switches(7);
	struct source_options o = options;
	struct script_wire wire;
	struct opening opening = {.wire = &wire};
	struct manager m = {.asked = 0};
	struct source *source;
	uint32_t port = f->nodes[0].first_port;

	(void)state;
	/* the port that looked was told MasterSMSL 6 (PortInfo, IBA 14.2.5.6: byte 36, low half) */
	f->from_node = 0;
	f->from_port = 0;
	f->ports[port].info[36] = 0x56;
	o.limits.sa_timeout_ms = 700;
	script_wire_play(&wire, manage, &m);
	assert_int_equal(source_live_new(&ctx, &o, "sim0", 2, open_script, &opening, &source), 0);
	assert_int_equal(source_ask_sm(source, f, queries, 3, NULL), 0);
	assert_int_equal(m.asked, 3);
	assert_memory_equal(m.classes, "\0\3\3", 3); /* the SM itself first */
	assert_memory_equal(m.sl, "\6\6\6", 3);
	assert_int_equal(m.timeouts[0], 100);
	assert_int_equal(m.timeouts[1], 700);
	assert_int_equal(queries[0].outcome, MAD_ANSWERED);
	assert_int_equal(queries[0].data[199], 9);
	assert_int_equal(queries[1].outcome, MAD_ANSWERED);
	assert_int_equal(queries[1].status, 0);
	assert_int_equal(queries[1].tries, 1);
	assert_int_equal(queries[1].data[63], 0xee);
	assert_int_equal(queries[1].data[64], 0);
	assert_int_equal(queries[1].data[199], 0);
	assert_int_equal(queries[2].outcome, MAD_STATUS);
	assert_int_equal(queries[2].status, 0x0300);
	assert_int_equal(source_counts(source)->queries, 3);
	assert_int_equal(source_counts(source)->ended[MAD_ANSWERED], 2);
	m.silent = true;
	assert_int_equal(source_ask_sm(source, f, queries, 2, NULL), 0);
	assert_int_equal(queries[0].outcome, MAD_TIMED_OUT);
	assert_int_equal(queries[0].tries, 2);
	assert_int_equal(queries[0].data[199], 0);
	assert_int_equal(queries[1].outcome, MAD_TIMED_OUT);
	assert_int_equal(opening.opened, 1);
	source_close(source);
	script_wire_end(&wire);
	fabric_free(f);
}

static void no_way_to_the_subnet_manager(void **state)
{
	struct source_sm_query query = {
		.mgmt_class = MAD_CLASS_SMP, .attribute = 0x20, .outcome = MAD_ANSWERED};
	struct fabric *f = five_switches(0);
	struct opening opening = {.error = -EACCES};
	struct source *source;

	(void)state;
	assert_int_equal(source_live_new(&ctx, &options, "sim0", 2, open_script, &opening, &source), 0);
	assert_int_equal(source_ask_sm(source, f, &query, 1, NULL), 0); /* no SM: nothing is opened for it */
	assert_int_equal(query.outcome, MAD_NOT_ASKED);
	assert_int_equal(opening.opened, 0);
	f->sm_lid = 7;
	query.outcome = MAD_ANSWERED;
	assert_int_equal(source_ask_sm(source, f, &query, 1, NULL), -EACCES);
	assert_int_equal(query.outcome, MAD_NOT_ASKED);
	assert_int_equal(opening.opened, 1);
	source_close(source);
	fabric_free(f);
}

static void the_subnet_manager_when_stopped(void **state)
{
	struct source_sm_query queries[] = {{.mgmt_class = MAD_CLASS_SMP, .attribute = 0x20},
					    {.mgmt_class = MAD_CLASS_SA, .attribute = 0x01}};
	struct fabric *f = five_switches(7);
	struct script_wire wire;
	struct opening opening = {.wire = &wire};
	struct manager m = {.asked = 0};
	struct source *source;

	(void)state;
	script_wire_play(&wire, manage, &m);
	assert_int_equal(source_live_new(&ctx, &options, "sim0", 2, open_script, &opening, &source), 0);
	stop = 1;
	assert_int_equal(source_ask_sm(source, f, queries, 2, NULL), -EINTR);
	assert_int_equal(queries[0].outcome, MAD_NOT_ASKED);
	assert_int_equal(queries[1].outcome, MAD_NOT_ASKED);
	assert_int_equal(m.asked, 0);
	source_close(source);
	script_wire_end(&wire);
	fabric_free(f);
}

static void closing_nothing(void **state)
{
	(void)state;
	source_close(NULL);
}

/* --- the scripted source of other tests: it must itself be right --- */

static void script_rules(void **state)
{
	struct fabric *f = five_switches(1), *given = fabric_new("given"), *found;
	struct source *source = script_source_new();
	struct finding_list findings = {0};
	struct asker a;
	uint8_t data[MAD_SMP_DATA];

	(void)state;
	assert_int_equal(source_discover(source, &findings, &found), -ENODATA);
	script_source_fabric(source, given);
	assert_int_equal(source_discover(source, &findings, &found), 0);
	assert_ptr_equal(found, given);
	fabric_free(found);
	asker_init(&a, f);
	for (uint32_t n = 1; n <= PORTS; n++) {
		script_data(11, MAD_SL2VL, n, data);
		script_source_answer(source, a.agents[0], SCRIPT_ANY, MAD_SL2VL, n, data, sizeof(data));
	}
	script_source_fail(source, a.agents[1], SCRIPT_ANY, MAD_SL2VL, SCRIPT_ANY, MAD_TIMED_OUT, 0);
	script_source_fail(source, a.agents[1], SCRIPT_ANY, MAD_SL2VL, SCRIPT_ANY, MAD_STATUS, 0x1c);
	script_source_give_up(source, 2);
	assert_int_equal(source_ask(source, f, &a.asker), 0);
	expect(&a, 0, MAD_ANSWERED);
	expect(&a, 1, MAD_STATUS);                         /* the later rule */
	assert_int_equal(a.outcomes[2][MAD_TIMED_OUT], 2); /* no rule; then given up */
	assert_int_equal(a.outcomes[2][MAD_NOT_ASKED], PORTS - 2);
	assert_int_equal(source_counts(source)->queries, 5 * PORTS);
	assert_int_equal(script_source_asked(source, SCRIPT_ANY, SCRIPT_ANY, 0, SCRIPT_ANY), 5 * PORTS);
	assert_int_equal(script_source_asked(source, a.agents[0], SCRIPT_ANY, MAD_SL2VL, 2), 1);
	assert_int_equal(script_source_asked(source, a.agents[0], SCRIPT_ANY, MAD_VLARB, SCRIPT_ANY), 0);
	source_close(source);
	fabric_free(f);
}

static void script_breaks(void **state)
{
	struct fabric *f = five_switches(1);
	struct source *source = script_source_new();
	struct asker a;
	unsigned outcomes[MAD_OUTCOMES] = {0};

	(void)state;
	script_source_fail(source, SCRIPT_ANY, SCRIPT_ANY, MAD_SL2VL, SCRIPT_ANY, MAD_STATUS, 0x1c);
	script_source_break(source, 4, -EIO);
	asker_init(&a, f);
	assert_int_equal(source_ask(source, f, &a.asker), -EIO);
	for (uint32_t i = 0; i < 5; i++) {
		for (unsigned o = 0; o < MAD_OUTCOMES; o++)
			outcomes[o] += a.outcomes[i][o];
	}
	assert_int_equal(outcomes[MAD_STATUS], 4);
	assert_int_equal(outcomes[MAD_NOT_ASKED], 5 * PORTS - 4);
	asker_init(&a, f); /* once only */
	assert_int_equal(source_ask(source, f, &a.asker), 0);
	expect(&a, 4, MAD_STATUS);
	source_close(source);
	fabric_free(f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(outcomes_and_counts, setup, teardown),
		cmocka_unit_test_setup_teardown(directed, setup, teardown),
		cmocka_unit_test_setup_teardown(counters, setup, teardown),
		cmocka_unit_test_setup_teardown(wire_does_not_open, setup, teardown),
		cmocka_unit_test_setup_teardown(bad_limits, setup, teardown),
		cmocka_unit_test_setup_teardown(stopped, setup, teardown),
		cmocka_unit_test_setup_teardown(the_subnet_manager, setup, teardown),
		cmocka_unit_test_setup_teardown(no_way_to_the_subnet_manager, setup, teardown),
		cmocka_unit_test_setup_teardown(the_subnet_manager_when_stopped, setup, teardown),
		cmocka_unit_test(closing_nothing),
		cmocka_unit_test(script_rules),
		cmocka_unit_test(script_breaks),
	};

	return cmocka_run_group_tests_name("source ask", tests, NULL, NULL);
}
