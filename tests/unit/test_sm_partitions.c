/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Who is a member of the partitions that a policy's rules name: which tables are asked for, and what they say. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <string.h>

#include "ibqos/check.h"
#include "ibqos/policy.h"
#include "images.h"
#include "script_source.h"

#define HOSTS 5
#define HOST(n) (0x100u * (n))

static const char by_partition[] =
	"version: 1\n"
	"partitions:\n"
	"  - {name: lustre, pkey: 0x123}\n"
	"  - {name: jobs, pkey: 0x8456}\n"
	"classes:\n"
	"  - {name: storage, sl: 2, share: 30%, match: [{partition: lustre}, {partition: jobs, qos_class: 7}]}\n"
	"  - {name: other, sl: 0, default: true, share: 70%}\n";
static const char by_class[] = "version: 1\n"
			       "classes:\n"
			       "  - {name: storage, sl: 2, share: 30%, match: [{qos_class: 7}]}\n"
			       "  - {name: other, sl: 0, default: true, share: 70%}\n";

struct run {
	struct fabric *fabric;
	struct source *source;
	struct policy *policy;
	struct sm_partitions partitions;
};

static uint32_t host_port(const struct run *r, unsigned n)
{
	return fabric_node_port(r->fabric, fabric_find_node(r->fabric, HOST(n)), 1);
}

/* P_Keys of a host's table, its first block; the rest is empty. */
static void hold(struct run *r, unsigned n, unsigned block, unsigned at, uint16_t pkey, uint16_t next)
{
	uint8_t data[MAD_SMP_DATA] = {0};

	image_put16(data, 2 * at, pkey);
	image_put16(data, 2 * ((at + 1) % 32), next);
	script_source_answer(r->source, host_port(r, n), SCRIPT_ANY, MAD_PKEY_TABLE, block, data, sizeof(data));
}

/* Host 4 is down; PartitionCap of all is `cap`. */
static void begin(struct run *r, const char *text, unsigned cap)
{
	struct finding_list findings = {0};
	uint8_t info[MAD_SMP_DATA];
	uint32_t leaf, host;

	*r = (struct run){.fabric = fabric_new(""), .source = script_source_new()};
	leaf = image_add_switch(r->fabric, "leaf", 0x10, HOSTS, 1);
	for (unsigned n = 1; n <= HOSTS; n++) {
		host = image_add_host(r->fabric, "gpu", HOST(n), 10 + n);
		image_link(r->fabric, host, 1, leaf, n, NULL);
		image_put16(r->fabric->nodes[host].node_info, 28, (uint16_t)cap); /* IBA 14.2.5.3 */
		if (n != 4)
			continue;
		image_port_info(info, &(struct image_port){.state = FABRIC_STATE_INIT, .lid = 14});
		assert_int_equal(fabric_port_seen(r->fabric, host, 1, HOST(n) + 1, info, NULL), 0);
	}
	assert_int_equal(fabric_finish(r->fabric), 0);
	assert_int_equal(policy_parse("p.yaml", text, strlen(text), &findings, &r->policy), 0);
	assert_non_null(r->policy);
	finding_list_clear(&findings);
}

static void finish(struct run *r)
{
	sm_partitions_clear(&r->partitions);
	source_close(r->source);
	policy_free(r->policy);
	fabric_free(r->fabric);
}

static unsigned member(const struct run *r, unsigned host, uint16_t pkey)
{
	for (size_t k = 0; k < r->partitions.count; k++)
		if (r->partitions.pkeys[k] == pkey)
			return r->partitions.member[host_port(r, host) * r->partitions.count + k];
	fail_msg("no partition 0x%x", pkey);
	return 0;
}

static void test_members(void **state)
{
	struct run r;

	(void)state;
	begin(&r, by_partition, 64);
	for (unsigned n = 1; n <= HOSTS; n++)
		for (unsigned block = 0; block < 2; block++)
			hold(&r, n, block, 0, 0xffff, 0);
	hold(&r, 1, 0, 0, 0xffff, 0x8123); /* a full member of one */
	hold(&r, 2, 0, 31, 0x0123, 0xffff); /* a limited one, in the last entry */
	hold(&r, 2, 1, 5, 0x8456, 0x0456); /* of the other both, in the second block: full */
	hold(&r, 3, 0, 3, 0x0456, 0x8456);
	hold(&r, 5, 0, 3, 0x8122, 0x7fff);
	assert_int_equal(sm_partitions_ask(r.source, r.fabric, r.policy, &r.partitions), 0);
	assert_int_equal(r.partitions.count, 2);
	assert_int_equal(member(&r, 1, 0x123), 2);
	assert_int_equal(member(&r, 1, 0x456), 0);
	assert_int_equal(member(&r, 2, 0x123), 1);
	assert_int_equal(member(&r, 2, 0x456), 2);
	assert_int_equal(member(&r, 3, 0x456), 2);
	assert_int_equal(member(&r, 3, 0x123), 0);
	assert_int_equal(member(&r, 5, 0x123), 0);
	assert_int_equal(member(&r, 4, 0x123), 0);
	/* two blocks of each host that is active, and nobody else's */
	assert_int_equal(r.partitions.coverage.asked, 2 * 4);
	assert_int_equal(r.partitions.coverage.ended[MAD_ANSWERED], 2 * 4);
	assert_int_equal(script_source_asked(r.source, host_port(&r, 4), SCRIPT_ANY, MAD_PKEY_TABLE, SCRIPT_ANY), 0);
	finish(&r);
}

/* A block is 32 keys: as many are asked for as the node has room for. */
static void test_blocks(void **state)
{
	static const unsigned caps[] = {0, 1, 32, 33, 128};
	struct run r;

	(void)state;
	for (size_t i = 0; i < sizeof(caps) / sizeof(caps[0]); i++) {
		begin(&r, by_partition, caps[i]);
		assert_int_equal(sm_partitions_ask(r.source, r.fabric, r.policy, &r.partitions), 0);
		assert_int_equal(r.partitions.coverage.asked, 4 * ((caps[i] + 31) / 32));
		finish(&r);
	}
}

static void test_tables_that_say_nothing(void **state)
{
	struct run r;

	(void)state;
	begin(&r, by_partition, 32);
	for (unsigned n = 1; n <= HOSTS; n++)
		hold(&r, n, 0, 0, 0x8123, 0);
	script_source_fail(r.source, host_port(&r, 2), SCRIPT_ANY, MAD_PKEY_TABLE, SCRIPT_ANY, MAD_TIMED_OUT, 0);
	script_source_fail(r.source, host_port(&r, 3), SCRIPT_ANY, MAD_PKEY_TABLE, SCRIPT_ANY, MAD_STATUS, 0x1c);
	assert_int_equal(sm_partitions_ask(r.source, r.fabric, r.policy, &r.partitions), 0);
	assert_int_equal(member(&r, 1, 0x123), 2);
	assert_int_equal(member(&r, 2, 0x123), 0);
	assert_int_equal(member(&r, 3, 0x123), 0);
	assert_int_equal(r.partitions.coverage.asked, 4);
	assert_int_equal(r.partitions.coverage.ended[MAD_ANSWERED], 2);
	assert_int_equal(r.partitions.coverage.ended[MAD_TIMED_OUT], 1);
	assert_int_equal(r.partitions.coverage.ended[MAD_STATUS], 1);
	finish(&r);
	begin(&r, by_partition, 32);
	script_source_break(r.source, 1, -EIO);
	assert_int_equal(sm_partitions_ask(r.source, r.fabric, r.policy, &r.partitions), -EIO);
	finish(&r);
}

static void test_no_rule_names_one(void **state)
{
	struct run r;

	(void)state;
	begin(&r, by_class, 32);
	assert_int_equal(sm_partitions_ask(r.source, r.fabric, r.policy, &r.partitions), 0);
	assert_int_equal(r.partitions.count, 0);
	assert_int_equal(r.partitions.coverage.asked, 0);
	finish(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_members),
		cmocka_unit_test(test_blocks),
		cmocka_unit_test(test_tables_that_say_nothing),
		cmocka_unit_test(test_no_rule_names_one),
	};

	return cmocka_run_group_tests_name("sm_partitions", tests, NULL, NULL);
}
