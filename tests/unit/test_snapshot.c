/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* A snapshot taken from a scripted source: what is asked, what is never kept, what cuts it short, and the
 * file. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "ibqos/check.h"
#include "ibqos/snapshot.h"

#include "images.h"
#include "script_source.h"

#define SM_KEY 0x1122334455667788
#define M_KEY 0x8877665544332211

static struct ibqos_ctx context(void)
{
	return (struct ibqos_ctx){.program = "test", .fabric = "here", .err = stderr};
}

/* Two hosts on a switch of 4 ports, at LIDs 2 and 3; the switch at 1. */
static struct fabric *make_fabric(void)
{
	struct fabric *f = fabric_new("here");
	uint32_t leaf = image_add_switch(f, "leaf-1", 0x10, 4, 1), one = image_add_host(f, "gpu-1", 0x20, 2),
		 two = image_add_host(f, "gpu-2", 0x30, 3);

	image_link(f, leaf, 1, one, 1, NULL);
	image_link(f, leaf, 2, two, 1, NULL);
	f->sm_lid = 2;
	f->from_node = one;
	f->from_port = 1;
	assert_int_equal(fabric_finish(f), 0);
	return f;
}

/* Devices: PortInfo as discovered but with an M_Key, tables by their modifier. */
static enum mad_outcome device(void *arg, const struct source_query *query, uint8_t *data, uint16_t *status)
{
	const struct fabric *f = arg;

	(void)status;
	switch (query->attribute) {
	case MAD_PORT_INFO:
		memcpy(data, f->ports[query->port].info, MAD_SMP_DATA);
		image_put64(data, 0, M_KEY);
		return MAD_ANSWERED;
	case MAD_SL2VL:
		memset(data, 0x12, 8);
		return MAD_ANSWERED;
	default:
		image_put32(data, 0, query->modifier + 1);
		return MAD_ANSWERED;
	}
}

static void manager(void *arg, struct source_sm_query *query)
{
	(void)arg;
	query->outcome = MAD_ANSWERED;
	memset(query->data, 0, sizeof(query->data));
	if (query->attribute == MAD_SM_INFO) {
		image_put64(query->data, 0, 0x21);
		image_put64(query->data, 8, SM_KEY);
		image_put32(query->data, 16, 4711);
		query->data[20] = 0x53; /* priority 5, master */
	}
	query->data[100] = 0xee; /* behind what the attribute has */
}

struct run {
	struct ibqos_ctx ctx;
	struct fabric *fabric;
	struct source *source;
	struct source_sm_query sm[2];
	struct snapshot *snapshot;
};

static void begin(struct run *r)
{
	*r = (struct run){.ctx = context(), .fabric = make_fabric(), .source = script_source_new()};
	r->sm[0] = (struct source_sm_query){.mgmt_class = MAD_CLASS_SMP, .attribute = MAD_SM_INFO};
	r->sm[1] = (struct source_sm_query){.mgmt_class = MAD_CLASS_SA, .attribute = MAD_SA_CLASS_PORT_INFO};
	script_source_responder(r->source, device, r->fabric);
	script_source_manager(r->source, manager, NULL);
}

static int take(struct run *r)
{
	return snapshot_take(&r->ctx, r->source, r->fabric, 1000, r->sm, 2, &r->snapshot);
}

static void end(struct run *r)
{
	snapshot_free(r->snapshot);
	source_close(r->source);
	fabric_free(r->fabric);
}

/* Written and read again. */
static struct snapshot *again(const struct snapshot *snapshot)
{
	struct snapshot_fault fault;
	struct snapshot *read;
	uint8_t *data;
	size_t size;

	assert_int_equal(snapshot_encode(snapshot, &data, &size), 0);
	assert_true(snapshot_is(data, size));
	assert_int_equal(snapshot_decode(data, size, &read, &fault), 0);
	free(data);
	return read;
}

static uint64_t count_of(const struct snapshot *snapshot, uint8_t mgmt_class, uint16_t attribute,
			 enum mad_outcome outcome)
{
	struct snapshot_item items[SNAPSHOT_ITEMS];
	size_t count = snapshot_items(snapshot, items);

	for (size_t i = 0; i < count; i++)
		if (items[i].mgmt_class == mgmt_class && items[i].attribute == attribute)
			return items[i].ended[outcome];
	return 0;
}

static void whole_and_read_again(void **state)
{
	struct snapshot_info info;
	struct snapshot *read;
	struct fabric *fabric;
	struct run r;

	(void)state;
	begin(&r);
	assert_int_equal(take(&r), 0);
	read = again(r.snapshot);
	snapshot_info(read, &info);
	assert_int_equal(info.taken, 1000);
	assert_string_equal(info.label, "here");
	assert_string_equal(info.version, IBQOS_VERSION);
	assert_int_equal(info.stopped, 0);
	/* five ports of the switch and the two hosts; tables only of ports that are up; SMInfo and the SA */
	assert_int_equal(count_of(read, MAD_CLASS_SMP, MAD_PORT_INFO, MAD_ANSWERED), 7);
	/* of the port that says it has one, and of the master that all ports name */
	assert_int_equal(count_of(read, MAD_CLASS_SMP, MAD_SM_INFO, MAD_ANSWERED), 2);
	assert_int_equal(count_of(read, MAD_CLASS_SA, MAD_SA_CLASS_PORT_INFO, MAD_ANSWERED), 1);
	assert_int_equal(count_of(read, MAD_CLASS_SMP, MAD_VLARB, MAD_ANSWERED) % 2, 0);
	assert_int_equal(snapshot_fabric(read, &fabric), 0);
	assert_int_equal(fabric->node_count, 3);
	assert_int_equal(fabric->sm_lid, 2);
	assert_string_equal(fabric->nodes[0].name, "leaf-1");
	for (uint32_t i = 0; i < fabric->port_count; i++) {
		assert_int_equal(fabric->ports[i].peer, r.fabric->ports[i].peer);
		assert_memory_equal(fabric->ports[i].info, r.fabric->ports[i].info, MAD_SMP_DATA);
	}
	fabric_free(fabric);
	snapshot_free(read);
	end(&r);
}

/* One PortInfo query, and what came of it. */
struct one {
	bool asked;
	uint32_t port;
	uint8_t data[MAD_SMP_DATA];
	enum mad_outcome outcome;
};

static bool next_one(void *arg, uint32_t which, struct source_query *query)
{
	struct one *one = arg;

	(void)which;
	*query = (struct source_query){.port = one->port, .attribute = MAD_PORT_INFO, .modifier = 1};
	return !one->asked && (one->asked = true);
}

static void take_one(void *arg, const struct source_query *query, const struct mad_answer *answer)
{
	struct one *one = arg;

	(void)query;
	one->outcome = answer->outcome;
	if (answer->data)
		memcpy(one->data, answer->data, sizeof(one->data));
}

/* Neither a key, nor what a MAD carries behind an attribute; ActCount, which goes on by itself, is. */
static void keys_are_never_kept(void **state)
{
	static const uint8_t none[100];
	struct one one = {.outcome = MAD_NOT_ASKED};
	struct source_sm_query sm[2];
	struct source *stored;
	struct snapshot *read;
	struct mad_sm_info info;
	struct run r;
	const struct source_asker asker = {
		.agents = &one.port, .agent_count = 1, .next = next_one, .answer = take_one, .arg = &one};

	(void)state;
	begin(&r);
	assert_int_equal(take(&r), 0);
	one.port = fabric_node_port(r.fabric, 1, 1);
	memcpy(sm, r.sm, sizeof(sm));
	read = again(r.snapshot);
	assert_int_equal(source_open_recording(read, NULL, &stored), 0);
	assert_ptr_equal(source_snapshot(stored), read);
	assert_int_equal(source_ask(stored, r.fabric, &asker), 0);
	assert_int_equal(one.outcome, MAD_ANSWERED);
	assert_memory_equal(one.data, none, 8);
	assert_memory_equal(one.data + 8, r.fabric->ports[one.port].info + 8, MAD_SMP_DATA - 8);
	assert_int_equal(source_ask_sm(stored, r.fabric, sm, 2, NULL), 0);
	assert_int_equal(sm[0].outcome, MAD_ANSWERED);
	assert_memory_equal(sm[0].data + 8, none, 8);
	mad_sm_info_decode(sm[0].data, &info);
	assert_int_equal(info.guid, 0x21);
	assert_int_equal(info.act_count, 4711);
	assert_int_equal(info.priority, 5);
	assert_int_equal(sm[1].outcome, MAD_ANSWERED);
	assert_memory_equal(sm[1].data + 72, none, 100);
	source_close(stored);
	snapshot_free(read);
	end(&r);
}

/* A wire that breaks leaves a snapshot that says so; what came later is not asked, and so not clean. */
static void a_broken_wire_is_told(void **state)
{
	struct finding_list findings = {0};
	struct snapshot_info info;
	struct snapshot *read;
	struct run r;

	(void)state;
	begin(&r);
	script_source_break(r.source, 9, -EIO);
	assert_int_equal(take(&r), 0);
	read = again(r.snapshot);
	snapshot_info(read, &info);
	assert_int_equal(info.stopped, EIO);
	check_snapshot_cut(read, &findings);
	assert_int_equal(findings.count, 1);
	assert_int_equal(findings.items[0].code, FINDING_SNAPSHOT_CUT);
	/* the port's own was among the first nine; the master was not asked */
	assert_int_equal(count_of(read, MAD_CLASS_SMP, MAD_SM_INFO, MAD_ANSWERED), 1);
	assert_int_equal(check_snapshot(read, r.fabric, &findings), 0);
	assert_true(finding_exit(&findings) == IBQOS_EXIT_UNKNOWN);
	finding_list_clear(&findings);
	snapshot_free(read);
	end(&r);
}

static void stopped_there_is_none(void **state)
{
	struct run r;

	(void)state;
	begin(&r);
	script_source_break(r.source, 3, -EINTR);
	assert_int_equal(take(&r), -EINTR);
	assert_null(r.snapshot);
	end(&r);
}

/* In whatever order answers come, the bytes are the same. */
static void order_leaves_no_trace(void **state)
{
	uint8_t *first = NULL, *data;
	size_t first_size = 0, size;

	(void)state;
	for (unsigned window = 1; window < 12; window++) {
		struct run r;

		begin(&r);
		script_source_window(r.source, window);
		assert_int_equal(take(&r), 0);
		assert_int_equal(snapshot_encode(r.snapshot, &data, &size), 0);
		if (first) {
			assert_int_equal(size, first_size);
			assert_memory_equal(data, first, size);
			free(data);
		} else {
			first = data;
			first_size = size;
		}
		end(&r);
	}
	free(first);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(whole_and_read_again),  cmocka_unit_test(keys_are_never_kept),
		cmocka_unit_test(a_broken_wire_is_told), cmocka_unit_test(stopped_there_is_none),
		cmocka_unit_test(order_leaves_no_trace),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
