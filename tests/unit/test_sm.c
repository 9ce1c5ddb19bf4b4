/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * What is asked of the subnet manager and administrator, and what becomes of each answer; which paths a
 * policy's rules are probed by and the SL that each must get, worked out by hand.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "ibqos/check.h"
#include "ibqos/policy.h"
#include "images.h"
#include "script_source.h"

#define HOSTS 5
#define HOST(n) (0x100u * (n)) /* node GUID of host n, from 1; its port's is one more */
#define LID(n) (10u + (n))     /* and its LID */
#define SM_HOST 2              /* the SM's */

/* --- the fabric: one switch, five hosts, host-4 down --- */

static struct fabric *make_fabric(void)
{
	struct fabric *fabric = fabric_new("");
	uint32_t sw = image_add_switch(fabric, "leaf", 0x10, HOSTS, 1);
	char name[16];

	for (unsigned n = 1; n <= HOSTS; n++) {
		uint8_t info[MAD_SMP_DATA];
		uint32_t host;

		snprintf(name, sizeof(name), n == 5 ? "oss-%u" : "gpu-%u", n);
		host = image_add_host(fabric, name, HOST(n), LID(n));
		image_link(fabric, host, 1, sw, n, NULL);
		if (n == 4) {
			image_port_info(info,
					&(struct image_port){.state = FABRIC_STATE_INIT, .lid = LID(n)});
			assert_int_equal(fabric_port_seen(fabric, host, 1, HOST(n) + 1, info, NULL), 0);
		}
	}
	fabric->sm_lid = LID(SM_HOST);
	assert_int_equal(fabric_finish(fabric), 0);
	return fabric;
}

static uint32_t host_port(const struct fabric *fabric, unsigned n)
{
	return fabric_node_port(fabric, fabric_find_node(fabric, HOST(n)), 1);
}

/* --- a manager that answers as it is told --- */

struct manager {
	unsigned state, priority;
	enum mad_outcome info, class, path;
	uint16_t status; /* for MAD_STATUS */
	bool qos;
	int no_path_for;           /* QoS class that there is no path for, -1: none, -2: for any request */
	unsigned sl_of_41, sl;     /* of other requests */
	unsigned astray;           /* a host to which a path is asked for, and one to another is answered */
	unsigned parted;           /* a host that has no path to anybody */
	unsigned asked[3];         /* SMInfo, ClassPortInfo, PathRecord */
	unsigned paths_before_end; /* so many paths are answered, then none */
};

static const struct manager good = {.state = MAD_SM_MASTER,
				    .priority = 5,
				    .qos = true,
				    .no_path_for = -1,
				    .sl_of_41 = 1,
				    .paths_before_end = 1000};

static void end(struct source_sm_query *query, enum mad_outcome outcome, uint16_t status)
{
	query->outcome = outcome;
	query->status = outcome == MAD_STATUS ? status : 0;
	query->tries = outcome == MAD_TIMED_OUT ? 4 : outcome == MAD_NOT_ASKED ? 0 : 1;
}

/* ComponentMask and record read here by their bits and bytes (IBA 15.2.5.16). */
static void answer_path(struct manager *m, struct source_sm_query *query)
{
	const uint8_t *r = query->record;
	bool named = query->mask >> 14 & 1;
	unsigned class = (unsigned)r[52] << 4 | r[53] >> 4;

	assert_int_equal(query->mask & ~0x4003ull, 0x180c);
	assert_int_equal(r[49], 0x81);
	assert_memory_equal(r + 8, "\xfe\x80\0\0\0\0\0\0\0\0\0\0\0\0", 14);
	assert_memory_equal(r + 24, "\xfe\x80\0\0\0\0\0\0\0\0\0\0\0\0", 14);
	if (m->asked[2] > m->paths_before_end) {
		end(query, MAD_TIMED_OUT, 0);
		return;
	}
	end(query, m->path, m->status);
	if (m->no_path_for == -2 || (named && m->no_path_for == (int)class))
		end(query, MAD_STATUS, 0x0300);
	if (m->parted && (r[22] == m->parted || r[38] == m->parted))
		end(query, MAD_STATUS, 0x0300);
	memset(query->data, 0xff, sizeof(query->data)); /* the SL stands alone in its bits */
	memcpy(query->data + 8, r + 8, 32);
	if (m->astray && r[22] == m->astray)
		query->data[23] ^= 1;
	query->data[53] = (uint8_t)(0xf0 | (named && class == 41 ? m->sl_of_41 : m->sl));
}

static void manage(void *arg, struct source_sm_query *query)
{
	struct manager *m = arg;

	memset(query->data, 0, sizeof(query->data));
	assert_int_equal(query->modifier, 0);
	if (query->mgmt_class == MAD_CLASS_SMP) {
		assert_int_equal(query->attribute, 0x20);
		m->asked[0]++;
		end(query, m->info, m->status);
		image_put64(query->data, 0, 0xabcd);
		image_put32(query->data, 16, 77);
		query->data[20] = (uint8_t)(m->priority << 4 | m->state);
	} else if (query->attribute == 0x01) {
		m->asked[1]++;
		assert_int_equal(query->mask, 0);
		end(query, m->class, m->status);
		image_put32(query->data, 4, m->qos ? 2u << 5 : 0xfffffffdu << 5);
	} else {
		assert_int_equal(query->attribute, 0x35);
		m->asked[2]++;
		answer_path(m, query);
	}
}

/* --- a run --- */

struct run {
	struct fabric *fabric;
	struct source *source;
	struct manager manager;
	struct sm_probe probes[4];
	struct sm_options options;
	struct finding_list findings;
	struct sm_result result;
};

/* Two pairs, each without class and with QoS class 41. */
static void begin(struct run *r, const struct manager *manager)
{
	*r = (struct run){.fabric = make_fabric(), .source = script_source_new(), .manager = *manager};
	for (unsigned i = 0; i < 4; i++)
		r->probes[i] = (struct sm_probe){.from = host_port(r->fabric, i < 2 ? 1 : 3),
						 .to = host_port(r->fabric, i < 2 ? 3 : 5),
						 .qos_class = i % 2 ? 41 : MAD_NO_QOS_CLASS,
						 .sl = i % 2 ? 1 : 0};
	r->options = (struct sm_options){.qos = true, .probes = r->probes, .probe_count = 4};
	script_source_manager(r->source, manage, &r->manager);
}

static void check(struct run *r)
{
	finding_list_clear(&r->findings);
	assert_int_equal(sm_check(r->source, r->fabric, &r->options, &r->findings, &r->result), 0);
	for (int i = 0; i < SM_ITEMS; i++) {
		const struct check_coverage *c = &r->result.coverage[i];

		assert_int_equal(c->asked, c->ended[0] + c->ended[1] + c->ended[2] + c->ended[3]);
	}
	assert_int_equal(r->result.coverage[SM_INFO].asked, 1);
	assert_int_equal(r->result.coverage[SM_CLASS_PORT_INFO].asked, 1);
	assert_int_equal(r->result.coverage[SM_PATH_RECORD].asked, r->options.probe_count);
	assert_int_equal(r->result.paths_right + r->result.paths_wrong + r->result.paths_unknown +
				 r->result.paths_none,
			 r->options.probe_count);
}

static void finish(struct run *r)
{
	finding_list_clear(&r->findings);
	source_close(r->source);
	fabric_free(r->fabric);
}

static const struct finding *only(const struct run *r, enum finding_code code)
{
	assert_int_equal(r->findings.count, 1);
	assert_int_equal(r->findings.items[0].code, code);
	return &r->findings.items[0];
}

/* --- what becomes of answers --- */

static void all_is_right(void **state)
{
	struct run r;

	(void)state;
	begin(&r, &good);
	check(&r);
	assert_int_equal(r.findings.count, 0);
	assert_true(r.result.right);
	assert_true(r.result.known && r.result.qos_known && r.result.qos);
	assert_int_equal(r.result.info.priority, 5);
	assert_int_equal(r.result.info.act_count, 77);
	assert_true(r.result.info.guid == 0xabcd);
	assert_int_equal(r.result.paths_right, 4);
	assert_memory_equal(r.manager.asked, ((unsigned[]){1, 1, 4}), sizeof(r.manager.asked));
	assert_int_equal(finding_exit(&r.findings), IBQOS_EXIT_CLEAN);
	/* without findings wanted, the result is the same */
	assert_int_equal(sm_check(r.source, r.fabric, &r.options, NULL, &r.result), 0);
	assert_true(r.result.right);
	finish(&r);
}

static void a_silent_manager(void **state)
{
	struct manager m = good;
	const struct finding *f;
	struct run r;

	(void)state;
	m.info = MAD_TIMED_OUT;
	begin(&r, &m);
	check(&r);
	f = only(&r, FINDING_SM_SILENT);
	assert_int_equal(f->severity, FINDING_UNKNOWN);
	assert_true(f->guid == HOST(SM_HOST));
	assert_string_equal(f->name, "gpu-2");
	assert_string_equal(f->what, "SMInfo from LID 12");
	assert_string_equal(f->detail, "not answered in 4 tries");
	assert_false(r.result.right);
	assert_false(r.result.known);
	assert_memory_equal(r.manager.asked, ((unsigned[]){1, 0, 0}), sizeof(r.manager.asked));
	assert_int_equal(r.result.coverage[SM_PATH_RECORD].ended[MAD_NOT_ASKED], 4);
	assert_int_equal(r.result.paths_unknown, 4);
	assert_int_equal(finding_exit(&r.findings), IBQOS_EXIT_UNKNOWN);

	r.fabric->sm_lid = 99; /* of nobody that was found: no place */
	check(&r);
	assert_true(only(&r, FINDING_SM_SILENT)->guid == 0);

	r.manager.info = MAD_STATUS;
	r.manager.status = 0x1c;
	check(&r);
	assert_string_equal(only(&r, FINDING_QUERY_FAILED)->detail, "answered with MAD status 0x001c");
	finish(&r);
}

static void a_manager_that_is_no_master(void **state)
{
	static const struct {
		unsigned state;
		const char *got;
	} cases[] = {{0, "not active"}, {1, "discovering"}, {2, "standby"}, {9, "unknown"}};
	struct run r;

	(void)state;
	begin(&r, &good);
	for (unsigned i = 0; i < 4; i++) {
		r.manager.state = cases[i].state;
		check(&r);
		assert_string_equal(only(&r, FINDING_SM_NOT_MASTER)->got, cases[i].got);
		assert_true(r.result.known);
		assert_false(r.result.right);
		assert_int_equal(r.manager.asked[1], 0);
	}
	assert_int_equal(finding_exit(&r.findings), IBQOS_EXIT_UNKNOWN);
	finish(&r);
}

static void qos_is_off(void **state)
{
	struct manager m = good;
	struct run r;

	(void)state;
	m.qos = false;
	begin(&r, &m);
	r.options.probe_count = 0;
	check(&r);
	assert_int_equal(only(&r, FINDING_SM_QOS_OFF)->severity, FINDING_CRITICAL);
	assert_false(r.result.right);
	r.options.qos = false; /* and need not be on */
	check(&r);
	assert_int_equal(r.findings.count, 0);
	assert_true(r.result.right);
	assert_int_equal(r.manager.asked[2], 0);
	finish(&r);
}

static void an_administrator_that_does_not_answer(void **state)
{
	struct manager m = good;
	const struct finding *f;
	struct run r;

	(void)state;
	m.class = MAD_TIMED_OUT;
	begin(&r, &m);
	check(&r);
	f = only(&r, FINDING_QUERY_FAILED);
	assert_string_equal(f->what, "ClassPortInfo of the subnet administrator");
	assert_false(r.result.qos_known);
	assert_false(r.result.right);
	assert_int_equal(r.manager.asked[2], 0);
	assert_int_equal(r.result.coverage[SM_PATH_RECORD].ended[MAD_NOT_ASKED], 4);
	finish(&r);
}

static void a_path_between_others(void **state)
{
	struct manager m = good;
	struct run r;

	(void)state;
	m.sl_of_41 = 0; /* the SL of the path to the other host: neither right nor wrong */
	m.astray = 3;
	begin(&r, &m);
	check(&r);
	assert_int_equal(r.result.coverage[SM_PATH_RECORD].ended[MAD_ANSWERED], 4);
	assert_int_equal(r.result.paths_right, 1);
	assert_int_equal(r.result.paths_wrong, 1);
	assert_int_equal(r.result.paths_unknown, 2);
	assert_false(r.result.right);
	assert_int_equal(r.findings.count, 3);
	assert_int_equal(finding_count_code(&r.findings, FINDING_SA_SL_DIFFERS), 1);
	assert_int_equal(finding_count_code(&r.findings, FINDING_QUERY_FAILED), 2);
	for (size_t i = 0; i < r.findings.count; i++)
		if (r.findings.items[i].code == FINDING_QUERY_FAILED)
			assert_string_equal(r.findings.items[i].detail, "asked for the path to gpu-3[1], the subnet administrator answered with "
									"one between other ports");
	finish(&r);
}

static void paths_with_another_sl(void **state)
{
	struct manager m = good;
	struct run r;

	(void)state;
	m.sl_of_41 = 0;
	begin(&r, &m);
	check(&r);
	assert_int_equal(r.findings.count, 2);
	assert_int_equal(finding_count_code(&r.findings, FINDING_SA_SL_DIFFERS), 2);
	assert_true(r.findings.items[0].guid == HOST(1));
	assert_int_equal(r.findings.items[0].port, 1);
	assert_string_equal(r.findings.items[0].what, "PathRecord, QoS class 41");
	assert_string_equal(r.findings.items[0].wanted, "SL 1");
	assert_string_equal(r.findings.items[0].got, "SL 0");
	assert_string_equal(r.findings.items[0].detail, "path to gpu-3[1]");
	assert_true(r.findings.items[1].guid == HOST(3));
	assert_string_equal(r.findings.items[1].detail, "path to oss-5[1]");
	assert_int_equal(r.result.paths_right, 2);
	assert_int_equal(r.result.paths_wrong, 2);
	assert_false(r.result.right);
	assert_int_equal(finding_exit(&r.findings), IBQOS_EXIT_CRITICAL);

	r.manager.sl_of_41 = 1;
	r.manager.sl = 15; /* all four bits */
	r.probes[0].has_service_id = true;
	r.probes[0].service_id = 0x010603db;
	check(&r);
	assert_int_equal(r.result.paths_wrong, 2);
	assert_string_equal(r.findings.items[0].what, "PathRecord, service ID 0x10603db");
	assert_string_equal(r.findings.items[1].what, "PathRecord without QoS class");
	assert_string_equal(r.findings.items[1].got, "SL 15");
	finish(&r);
}

static void no_path_for_a_class_or_for_any(void **state)
{
	struct manager m = good;
	struct run r;

	(void)state;
	m.no_path_for = 41;
	begin(&r, &m);
	check(&r);
	assert_int_equal(finding_count_code(&r.findings, FINDING_SA_SL_DIFFERS), 2);
	assert_string_equal(r.findings.items[0].got, "no path, though there is one for other requests");
	assert_int_equal(r.result.paths_wrong, 2);
	/* between hosts of no common partition there is none: that is not the policy's doing */
	r.manager.no_path_for = -2;
	check(&r);
	assert_int_equal(finding_count_code(&r.findings, FINDING_QUERY_FAILED), 4);
	assert_non_null(strstr(r.findings.items[0].detail, "no path at all to gpu-3[1]"));
	assert_int_equal(r.result.paths_wrong, 0);
	assert_int_equal(r.result.paths_unknown, 4);
	assert_false(r.result.right);
	/* where others have one, it is just said */
	r.manager.no_path_for = -1;
	r.manager.parted = 5;
	check(&r);
	assert_int_equal(finding_count_code(&r.findings, FINDING_SA_NO_PATH), 2);
	assert_true(r.findings.items[0].guid == HOST(3));
	assert_string_equal(r.findings.items[0].detail, "path to oss-5[1]");
	assert_int_equal(r.result.paths_none, 2);
	assert_int_equal(r.result.paths_right, 2);
	assert_true(r.result.right);
	assert_int_equal(finding_exit(&r.findings), IBQOS_EXIT_CLEAN);
	r.manager.parted = 3; /* in both pairs: nothing is proved */
	check(&r);
	assert_int_equal(r.result.paths_unknown, 4);
	assert_int_equal(finding_exit(&r.findings), IBQOS_EXIT_UNKNOWN);
	finish(&r);
}

static void paths_that_are_not_answered(void **state)
{
	struct manager m = good;
	struct run r;

	(void)state;
	m.paths_before_end = 1;
	begin(&r, &m);
	check(&r);
	assert_int_equal(r.result.paths_right, 1);
	assert_int_equal(r.result.paths_unknown, 3);
	assert_int_equal(finding_count_code(&r.findings, FINDING_QUERY_FAILED), 3);
	assert_string_equal(r.findings.items[0].detail, "not answered in 4 tries");
	r.manager.asked[2] = 0;
	r.manager.paths_before_end = 1000;
	r.manager.path = MAD_STATUS;
	r.manager.status = 0x0500; /* a GID that it does not know */
	check(&r);
	assert_int_equal(r.result.paths_unknown, 4);
	assert_string_equal(r.findings.items[0].detail, "answered with MAD status 0x0500");
	finish(&r);
}

static void no_manager_or_no_wire(void **state)
{
	struct run r;

	(void)state;
	begin(&r, &good);
	script_source_manager_error(r.source, -EIO);
	assert_int_equal(sm_check(r.source, r.fabric, &r.options, &r.findings, &r.result), -EIO);
	assert_false(r.result.right);
	assert_int_equal(r.result.coverage[SM_INFO].ended[MAD_NOT_ASKED], 1);
	assert_int_equal(r.result.coverage[SM_PATH_RECORD].ended[MAD_NOT_ASKED], 4);
	assert_int_equal(r.findings.count, 0);
	script_source_manager_error(r.source, 0);
	r.fabric->sm_lid = 0; /* discovery has told */
	check(&r);
	assert_int_equal(r.findings.count, 0);
	assert_false(r.result.right);
	assert_int_equal(r.manager.asked[0], 0);
	finish(&r);
}

/* --- probes of a policy --- */

#define CLASSES                                                                                              \
	"version: 1\nclasses:\n"                                                                             \
	"- {name: training, sl: 1, nccl_ib_tc: 41, share: 60%}\n"

struct probing {
	struct fabric *fabric;
	struct policy *policy;
	struct sm_probe *probes;
	size_t count;
	unsigned skipped;
};

static void probe(struct probing *p, const char *text, unsigned pairs)
{
	struct finding_list findings = {0};

	*p = (struct probing){.fabric = make_fabric()};
	assert_int_equal(policy_parse("p.yaml", text, strlen(text), &findings, &p->policy), 0);
	if (!p->policy)
		fail_msg("%s: %s: %s", findings.items[0].what, findings.items[0].wanted,
			 findings.items[0].got);
	finding_list_clear(&findings);
	assert_int_equal(sm_probes(p->policy, p->fabric, pairs, &p->probes, &p->count, &p->skipped), 0);
}

static void probe_end(struct probing *p)
{
	free(p->probes);
	policy_free(p->policy);
	fabric_free(p->fabric);
}

/* `service` 0: none is named. */
static void expect(const struct probing *p, size_t i, unsigned from, unsigned to, int qos_class,
		   uint64_t service, unsigned sl)
{
	const struct sm_probe *q = &p->probes[i];

	assert_true(i < p->count);
	assert_int_equal(q->from, host_port(p->fabric, from));
	assert_int_equal(q->to, host_port(p->fabric, to));
	assert_int_equal(q->qos_class, qos_class);
	assert_int_equal(q->has_service_id, service != 0);
	assert_true(q->service_id == service);
	assert_int_equal(q->sl, sl);
}

/* Hosts 1, 2, 3, 5 are active: sources spread from the first to the last, each to the one half-way round. */
static void pairs_are_spread(void **state)
{
	const char *text = CLASSES "- {name: rest, sl: 3, default: true, share: 40%}\n";
	struct probing p;

	(void)state;
	probe(&p, text, 2);
	assert_int_equal(p.count, 4);
	expect(&p, 0, 1, 3, MAD_NO_QOS_CLASS, 0, 3);
	expect(&p, 1, 1, 3, 41, 0, 1);
	expect(&p, 2, 5, 2, MAD_NO_QOS_CLASS, 0, 3);
	expect(&p, 3, 5, 2, 41, 0, 1);
	assert_int_equal(p.skipped, 0);
	probe_end(&p);
	probe(&p, text, 1);
	assert_int_equal(p.count, 2);
	expect(&p, 1, 1, 3, 41, 0, 1);
	probe_end(&p);
	probe(&p, text, 100); /* no more than there are hosts */
	assert_int_equal(p.count, 8);
	expect(&p, 2, 2, 5, MAD_NO_QOS_CLASS, 0, 3);
	expect(&p, 4, 3, 1, MAD_NO_QOS_CLASS, 0, 3);
	probe_end(&p);
}

static void rules_by_service_class_and_partition(void **state)
{
	struct probing p;

	(void)state;
	probe(&p,
	      CLASSES
	      "- {name: storage, sl: 2, share: 20%, match: [{service: lustre}, {qos_class: [7, 20-30]}, "
	      "{pkey: 0x8}]}\n"
	      "- {name: rest, sl: 0, default: true, share: 20%}\n",
	      1);
	assert_int_equal(p.count, 5);
	expect(&p, 0, 1, 3, MAD_NO_QOS_CLASS, 0, 0);
	expect(&p, 1, 1, 3, 41, 0, 1);
	expect(&p, 2, 1, 3, MAD_NO_QOS_CLASS, 0x010603db, 2);
	expect(&p, 3, 1, 3, 7, 0, 2);
	expect(&p, 4, 1, 3, 20, 0, 2);
	assert_int_equal(p.skipped, 1); /* who is in partition 8 is not known */
	probe_end(&p);
}

/* What goes to the storage host has its SL whatever else it is, but for what an earlier rule has. */
static void rules_by_group(void **state)
{
	struct probing p;

	(void)state;
	probe(&p,
	      CLASSES "- {name: storage, sl: 2, share: 20%, match: [{destination: oss}, {source: nobody}]}\n"
		      "- {name: rest, sl: 0, default: true, share: 20%}\n"
		      "groups:\n  oss: [{name: 'oss-*'}]\n  nobody: [{name: 'x*'}]\n",
	      3);
	/* pairs 1-3, 2-5, 5-2; then the rule's own: any host to oss-5 */
	assert_int_equal(p.count, 7);
	expect(&p, 0, 1, 3, MAD_NO_QOS_CLASS, 0, 0);
	expect(&p, 2, 2, 5, MAD_NO_QOS_CLASS, 0, 2);
	expect(&p, 3, 2, 5, 41, 0, 1);
	expect(&p, 4, 5, 2, MAD_NO_QOS_CLASS, 0, 0);
	expect(&p, 6, 1, 5, MAD_NO_QOS_CLASS, 0, 2);
	assert_int_equal(p.skipped, 1);
	probe_end(&p);
}

static void a_fabric_without_hosts(void **state)
{
	struct finding_list findings = {0};
	struct fabric *fabric = fabric_new("");
	struct sm_probe *probes;
	struct policy *policy;
	const char *text = CLASSES "- {name: rest, sl: 0, default: true, share: 40%}\n";
	unsigned skipped;
	size_t count;

	(void)state;
	image_add_switch(fabric, "leaf", 0x10, 4, 1);
	assert_int_equal(fabric_finish(fabric), 0);
	assert_int_equal(policy_parse("p.yaml", text, strlen(text), &findings, &policy), 0);
	assert_int_equal(sm_probes(policy, fabric, SM_PAIRS, &probes, &count, &skipped), 0);
	assert_int_equal(count, 0);
	assert_int_equal(skipped, 1);
	free(probes);
	policy_free(policy);
	finding_list_clear(&findings);
	fabric_free(fabric);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_is_right),
		cmocka_unit_test(a_silent_manager),
		cmocka_unit_test(a_manager_that_is_no_master),
		cmocka_unit_test(qos_is_off),
		cmocka_unit_test(an_administrator_that_does_not_answer),
		cmocka_unit_test(a_path_between_others),
		cmocka_unit_test(paths_with_another_sl),
		cmocka_unit_test(no_path_for_a_class_or_for_any),
		cmocka_unit_test(paths_that_are_not_answered),
		cmocka_unit_test(no_manager_or_no_wire),
		cmocka_unit_test(pairs_are_spread),
		cmocka_unit_test(rules_by_service_class_and_partition),
		cmocka_unit_test(rules_by_group),
		cmocka_unit_test(a_fabric_without_hosts),
	};

	return cmocka_run_group_tests_name("sm", tests, NULL, NULL);
}
