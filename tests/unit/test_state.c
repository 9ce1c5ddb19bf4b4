/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The state file: what is written is read as the same; each way in which a file can be broken is refused with its line.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ibqos/link.h"
#include "ibqos/state.h"

#define HEAD "ibqos-state 1\nlabel east%20wing\nwritten 1000\ncounters SymbolErrorCounter NotYetKnown LinkDownedCounter\n"
#define NODES "node 0x10 leaf-01\nnode 0x20 gpu-001%20mlx5_0\n"
#define PORTS                                                                                      \
	"port 0x10 1 0x20 1 4x EDR 990 5 9 -\nlast 800 100 2+ - 1\nbefore 700 50 - - -\n"           \
	"port 0x20 1 0x10 1 - - 990 65535+ - 0\n"
#define FINDINGS "finding link-ber-high critical 0x10 1 0x20 1 900 990 0 SymbolErrorCounter at%20most - \n"
#define FINDING "finding link-ber-high critical 0x10 1 0x20 1 900 990 0 SymbolErrorCounter at%20most -\n"
#define V16 " 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16"
#define SENT "sent 0x10 1 0x20 1 4x EDR 990 64 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 18446744073709551615+ -\n" \
	     "sent 0x10 2 0x20 2 4x EDR 990 32" V16 V16 "\n"
#define ACK "ack link-flaps 0x10 - 5000 OPS-7\n"

static int parse(const char *text, struct state *s, unsigned *line)
{
	const char *why = NULL;
	int error = state_parse(text, s, line, &why);

	assert_true(error == 0 || why != NULL);
	return error;
}

static void test_read(void **unused)
{
	struct state s;
	unsigned line;

	(void)unused;
	assert_int_equal(parse(HEAD NODES PORTS SENT FINDING ACK "end 15\n", &s, &line), 0);
	assert_int_equal(s.shares_count, 2);
	assert_true(s.shares[0].wide && !s.shares[0].has_waited && !s.shares[1].wide && s.shares[1].has_waited);
	assert_int_equal(s.shares[0].saturated, 1 << 15);
	assert_int_equal(s.shares[1].waited[15], 16);
	assert_ptr_equal(state_shares_find(&s, 0x10, 2), &s.shares[1]);
	assert_null(state_shares_find(&s, 0x20, 2));
	assert_string_equal(s.label, "east wing");
	assert_int_equal(s.written, 1000);
	assert_int_equal(s.node_count, 2);
	assert_string_equal(s.nodes[1].name, "gpu-001 mlx5_0");
	assert_int_equal(s.port_count, 2);
	assert_int_equal(s.ports[0].width, LINK_4X);
	assert_int_equal(s.ports[0].speed, LINK_EDR);
	assert_int_equal(s.ports[0].known, COUNTER_BIT(COUNTER_SYMBOL));
	assert_int_equal(s.ports[0].last.growth[COUNTER_SYMBOL], 2);
	assert_int_equal(s.ports[0].last.growth[COUNTER_DOWNED], 1);
	assert_int_equal(s.ports[0].last.least, COUNTER_BIT(COUNTER_SYMBOL));
	assert_int_equal(s.ports[0].before.since, 700);
	assert_int_equal(s.ports[1].saturated, COUNTER_BIT(COUNTER_SYMBOL));
	assert_int_equal(s.ports[1].speed, 0);
	assert_int_equal(s.findings[0].code, FINDING_LINK_BER_HIGH);
	assert_string_equal(s.findings[0].wanted, "at most");
	assert_null(s.findings[0].got);
	assert_int_equal(s.acks[0].port, FINDING_WHOLE_NODE);
	assert_ptr_equal(state_port_find(&s, 0x20, 1), &s.ports[1]);
	assert_null(state_port_find(&s, 0x20, 2));
	state_clear(&s);
}

static int acknowledge(struct state *s, enum finding_code code, uint64_t guid, int port, const char *ticket, uint64_t until)
{
	char copy[64];
	struct state_ack ack = {.code = code, .guid = guid, .port = port, .ticket = copy, .until = until};

	snprintf(copy, sizeof(copy), "%s", ticket);
	return state_acknowledge(s, &ack);
}

static void test_acknowledgements(void **unused)
{
	char ticket[] = "OPS-8", by[] = "root (a b) on h\x1b";
	struct state_ack ack = {.code = FINDING_LINK_BER_HIGH, .guid = 0x20, .port = 1, .ticket = ticket, .until = 2000, .since = 950, .by = by};
	const struct state_ack *there;
	struct state s, again;
	uint64_t last = 1;
	unsigned line;
	size_t size;
	char *text;

	(void)unused;
	assert_int_equal(parse(HEAD NODES FINDING ACK "ack link-flaps 0x10 2 5000 OPS-9 900 -\nend 10\n", &s, &line), 0);
	assert_int_equal(s.acks[0].since, 0); /* as an older ibqos wrote it */
	assert_null(s.acks[0].by);
	assert_int_equal(s.acks[1].since, 900);
	assert_null(s.acks[1].by);
	assert_false(state_ack_seen(&s, &s.acks[0], &last));
	assert_int_equal(last, 0);
	assert_int_equal(state_acknowledge(&s, &ack), 0);
	there = state_ack_find(&s, FINDING_LINK_BER_HIGH, 0x20, 1);
	assert_ptr_equal(there, &s.acks[2]);
	assert_string_equal(there->by, "root (a b) on h\xef\xbf\xbd");
	assert_true(state_ack_seen(&s, there, &last)); /* by its other end */
	assert_int_equal(last, 990);
	s.findings[0].clean = 995;
	assert_false(state_ack_seen(&s, there, &last));
	assert_int_equal(last, 990);
	assert_null(state_ack_find(&s, FINDING_LINK_BER_HIGH, 0x20, FINDING_WHOLE_NODE));
	state_ack_remove(&s, state_ack_find(&s, FINDING_LINK_FLAPS, 0x10, FINDING_WHOLE_NODE));
	assert_int_equal(s.ack_count, 2);
	text = state_text(&s, &size);
	assert_non_null(strstr(text, "\nack link-flaps 0x0000000000000010 2 5000 OPS-9 900 -\n"
				     "ack link-ber-high 0x0000000000000020 1 2000 OPS-8 950 root%20(a%20b)%20on%20h\xef\xbf\xbd\nend "));
	assert_int_equal(parse(text, &again, &line), 0);
	assert_string_equal(again.acks[1].by, s.acks[1].by);
	free(text);
	state_clear(&again);
	state_clear(&s);
}

static void test_written_is_read(void **unused)
{
	struct state s, again;
	unsigned line;
	size_t size;
	char *text, *twice;

	(void)unused;
	assert_int_equal(parse(HEAD NODES PORTS SENT FINDING ACK "end 15\n", &s, &line), 0);
	assert_int_equal(acknowledge(&s, FINDING_LINK_FLAPS, 0x20, 3, "a b%c\n-", 77), 0);
	assert_int_equal(acknowledge(&s, FINDING_LINK_FLAPS, 0x20, 4, "-", 78), 0);
	assert_int_equal(acknowledge(&s, FINDING_LINK_FLAPS, 0x20, 4, "%", 79), 0); /* in its place */
	assert_int_equal(s.ack_count, 3);
	text = state_text(&s, &size);
	assert_non_null(text);
	assert_int_equal(strlen(text), size);
	assert_int_equal(parse(text, &again, &line), 0);
	assert_string_equal(again.acks[2].ticket, "%");
	assert_int_equal(again.acks[2].until, 79);
	twice = state_text(&again, &size);
	assert_string_equal(text, twice);
	free(text);
	free(twice);
	state_clear(&s);
	state_clear(&again);
}

static void test_refused(void **unused)
{
	static const struct {
		const char *text;
		unsigned line;
	} rows[] = {
		{"", 0},
		{"ibqos-state 2\nend 2\n", 1},
		{HEAD, 4},
		{HEAD "end 4\n", 5},
		{HEAD "end 5", 4},
		{HEAD "end 5\nend 6\n", 5},
		{"ibqos-state 1\nend 2\n", 2},
		{HEAD HEAD "end 9\n", 5},
		{HEAD "label x\nend 6\n", 5},
		{HEAD "counters VL15Dropped\nend 6\n", 5},
		{"ibqos-state 1\nlabel %\ncounters VL15Dropped VL15Dropped\nend 4\n", 3},
		{HEAD "node 0x20 b\nnode 0x10 a\nend 7\n", 6},
		{HEAD "node 0x0 a\nend 6\n", 5},
		{HEAD "node 0x1 %4\nend 6\n", 5},
		{HEAD "node 0x1 %00\nend 6\n", 5},
		{HEAD "node 0x1 a b\nend 6\n", 5},
		{HEAD "port 0x10 255 0x20 1 4x EDR 990 5 9 -\nend 6\n", 5},
		{HEAD "port 0x10 1 0x20 1 5x EDR 990 5 9 -\nend 6\n", 5},
		{HEAD "port 0x10 1 0x20 1 4x EDR 990 5 9\nend 6\n", 5},
		{HEAD "port 0x10 1 0x20 1 4x EDR 990 5 9 - 7\nend 6\n", 5},
		{HEAD "port 0x10 1 0x20 1 4x EDR 990 -5 9 -\nend 6\n", 5},
		{HEAD "port 0x10 1 0x20 1 4x EDR 990 18446744073709551616 9 -\nend 6\n", 5},
		{HEAD "last 800 100 2 - 1\nend 6\n", 5},
		{HEAD "port 0x10 1 0x20 1 4x EDR 990 5 9 -\nlast 991 0 2 - 1\nend 7\n", 6},
		{HEAD "port 0x10 1 0x20 1 4x EDR 990 5 9 -\nlast 900 91 2 - 1\nend 7\n", 6},
		{HEAD "port 0x10 1 0x20 1 4x EDR 990 5 9 -\nlast 900 9 2 - 1\nlast 900 9 2 - 1\nend 8\n", 7},
		{HEAD "port 0x10 1 0x20 1 4x EDR 990 5 9 -\nport 0x10 1 0x20 1 4x EDR 990 5 9 -\nend 7\n", 6},
		{HEAD FINDINGS "end 6\n", 5},
		{HEAD "finding link-ber-great critical 0x10 1 0x20 1 900 990 0 - - -\nend 6\n", 5},
		{HEAD "finding link-ber-high note 0x10 1 0x20 1 900 990 0 - - -\nend 6\n", 5},
		{HEAD "finding link-ber-high warning 0x10 1 0x20 1 991 990 0 - - -\nend 6\n", 5},
		{HEAD "ack link-flaps 0x10 - 5000 -\nend 6\n", 5},
		{HEAD "ack link-flaps 0x0 - 5000 T\nend 6\n", 5},
		{HEAD "ack link-flaps 0x10 - 5000 T 7\nend 6\n", 5},
		{HEAD "ack link-flaps 0x10 - 5000 T x root\nend 6\n", 5},
		{HEAD "ack link-flaps 0x10 - 5000 T 7 root more\nend 6\n", 5},
		{HEAD "ack link-flaps 0x10 - 5000 T\nack link-flaps 0x10 - 5000 T\nend 7\n", 6},
		{HEAD "ack link-flaps 0x10 2 5000 T\nack link-flaps 0x10 - 5000 T\nack link-flaps 0x10 2 9 U 7 root\nend 8\n", 7},
		{HEAD "nack link-flaps 0x10 - 5000 T\nend 6\n", 5},
		{HEAD "sent 0x10 1 0x20 1 4x EDR 990 48" V16 " -\nend 6\n", 5},
		{HEAD "sent 0x10 1 0x20 1 4x EDR 990 32 1 2 3 -\nend 6\n", 5},
		{HEAD "sent 0x10 1 0x20 1 4x EDR 990 32 - -\nend 6\n", 5},
		{HEAD "sent 0x10 1 0x20 1 4x EDR 990 32" V16 " 65536" V16 "\nend 6\n", 5},
		{HEAD "sent 0x10 1 0x20 1 4x EDR 990 32" V16 V16 " 1\nend 6\n", 5},
		{HEAD "sent 0x10 1 0x20 1 4x EDR 990 32" V16 " -\nsent 0x10 1 0x20 1 4x EDR 990 32" V16 " -\nend 7\n", 6},
		{HEAD "\nend 6\n", 5},
	};

	(void)unused;
	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct state s;
		unsigned line = 99;

		assert_int_equal(parse(rows[i].text, &s, &line), -EINVAL);
		assert_int_equal(line, rows[i].line);
		assert_null(s.ports);
		state_clear(&s);
	}
}

/* Cut anywhere, a file is refused. */
static void test_cut(void **unused)
{
	const char *whole = HEAD NODES PORTS SENT FINDING ACK "end 15\n";
	char copy[2048];

	(void)unused;
	for (size_t size = 0; size < strlen(whole); size++) {
		struct state s;
		unsigned line;

		memcpy(copy, whole, size);
		copy[size] = '\0';
		assert_int_equal(parse(copy, &s, &line), -EINVAL);
	}
}

static void test_places(void **unused)
{
	static const struct {
		const char *text;
		int error;
		uint64_t guid;
		int port;
	} rows[] = {
		{"leaf-01[3]", 0, 0x10, 3},
		{"gpu-001 mlx5_0", 0, 0x20, FINDING_WHOLE_NODE},
		{"0x99[1]", 0, 0x99, 1},
		{"leaf-02[3]", -ENOENT, 0, 0},
		{"leaf-01[]", -EINVAL, 0, 0},
		{"leaf-01[255]", -EINVAL, 0, 0},
		{"leaf-01[3", -EINVAL, 0, 0},
		{"[3]", -EINVAL, 0, 0},
		{"leaf-01[3]x", -EINVAL, 0, 0},
		{"", -EINVAL, 0, 0},
	};
	struct state s;
	unsigned line;

	(void)unused;
	assert_int_equal(parse(HEAD NODES "end 7\n", &s, &line), 0);
	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		uint64_t guid = 0;
		int port = 0;

		assert_int_equal(state_place(&s, rows[i].text, &guid, &port), rows[i].error);
		if (rows[i].error == 0) {
			assert_int_equal(guid, rows[i].guid);
			assert_int_equal(port, rows[i].port);
		}
	}
	state_clear(&s);
}

/* The clock is set back between reading and writing: the file is one that the next run takes. */
static void test_clock_set_back(void **unused)
{
	char path[] = "/tmp/ibqos-test-state-XXXXXX";
	struct state_port port = {.guid = 1, .port = 1, .at = 5000};
	struct finding_list findings = {0};
	struct state state = {0}, again = {0};
	bool usable = false;
	int fd = mkstemp(path);

	(void)unused;
	assert_true(fd >= 0);
	close(fd);
	state.label = strdup("");
	assert_int_equal(state_ports_put(&state, &port, 1, 0), 0);
	assert_int_equal(state_save(path, NULL, 4000, &state), 0);
	assert_int_equal(state_load(path, NULL, 4000, &findings, &again, &usable), 0);
	assert_true(usable);
	assert_int_equal(findings.count, 0);
	assert_int_equal(again.port_count, 1);
	assert_int_equal(again.ports[0].at, 4000);
	state_clear(&state);
	state_clear(&again);
	finding_list_clear(&findings);
	unlink(path);
}

static void test_times(void **unused)
{
	uint64_t seconds;
	char text[STATE_TIME];

	(void)unused;
	assert_int_equal(state_time_parse("2026-11-30", &seconds), 0);
	assert_int_equal(seconds, 1796083200); /* 2026-12-01T00:00:00Z */
	assert_int_equal(state_time_parse("2026-11-30T10:42:21Z", &seconds), 0);
	state_time_text(seconds, text);
	assert_string_equal(text, "2026-11-30T10:42:21Z");
	assert_int_equal(state_time_parse("1700000000", &seconds), 0);
	assert_int_equal(seconds, 1700000000);
	assert_int_equal(state_since_parse("2h", 10000, 7, &seconds), 0);
	assert_int_equal(seconds, 2800);
	for (const char *const *same = (const char *const[]){"120m", "120min", "7200s", NULL}; *same; same++) {
		assert_int_equal(state_since_parse(*same, 10000, 7, &seconds), 0);
		assert_int_equal(seconds, 2800);
	}
	assert_int_equal(state_since_parse("7d", 10000, 7, &seconds), 0); /* before the beginning */
	assert_int_equal(seconds, 0);
	assert_int_equal(state_since_parse("last", 10000, 7, &seconds), 0);
	assert_int_equal(seconds, 7);
	assert_int_equal(state_since_parse("2026-11-30", 10000, 7, &seconds), 0); /* its beginning */
	assert_int_equal(seconds, 1796083200 - 86400);
	assert_int_equal(state_since_parse("1700000000", 10000, 7, &seconds), 0);
	assert_int_equal(seconds, 1700000000);
	assert_int_equal(state_since_parse("2w", 10000, 7, &seconds), -EINVAL);
	for (const char *const *bad = (const char *const[]){"", "tomorrow", "2026-13-01", "2026-11-30 10:00", "2026-11-30T10:00:00",
							    "1960-01-01", "26-11-30", NULL};
	     *bad; bad++)
		assert_int_equal(state_time_parse(*bad, &seconds), -EINVAL);
}

static bool always(const struct state_finding *finding, void *arg)
{
	(void)finding;
	(void)arg;
	return true;
}

/* A spine has died: as many findings as links, as many earlier ones, and an acknowledgement of every other. */
static uint64_t compared_for(unsigned count)
{
	struct state s = {.label = strdup("")};
	struct state_look look = {.now = 1000, .hold_s = 60, .looked = always};
	struct finding_list findings = {0};
	uint64_t compared;

	for (unsigned round = 0; round < 2; round++) {
		for (unsigned i = 0; i < count; i++) {
			struct finding *f = finding_add(&findings, FINDING_LINK_WIDTH_LOW);

			f->guid = 1 + (i * UINT64_C(2654435761)) % count / 8;
			f->port = (int)(i % 8);
			finding_set(&f->what, "%u", i % 3);
		}
		for (unsigned i = 0; round == 0 && i < count; i += 2)
			assert_int_equal(acknowledge(&s, FINDING_LINK_WIDTH_LOW, 1 + i / 8, (int)(i % 8), "T", 2000), 0);
		look.now += 100;
		assert_int_equal(state_findings(&s, &look, &findings), 0);
		assert_int_equal(s.finding_count, count); /* each met itself */
		assert_int_equal(look.held, 0);
		assert_int_equal(finding_count(&findings, FINDING_NOTE), look.acknowledged);
		finding_list_clear(&findings);
	}
	assert_true(look.acknowledged > 0);
	compared = look.compared;
	state_clear(&s);
	return compared;
}

/* n log n: twice as many findings take little more than twice the comparisons. */
static void test_thousands_of_findings(void **unused)
{
	uint64_t few = compared_for(1000), more = compared_for(2000), many = compared_for(4000);

	(void)unused;
	assert_true(few > 1000);
	assert_true(more < few * 5 / 2);
	assert_true(many < more * 5 / 2);
}

/* Equal ones are as many as there are, each since it was first there. */
static void test_the_same_twice(void **unused)
{
	struct state s = {.label = strdup("")};
	struct state_look look = {.now = 1000, .hold_s = 60, .looked = always};

	(void)unused;
	for (unsigned count = 1; count <= 3; count++) {
		struct finding_list findings = {0};

		for (unsigned i = 0; i < count; i++)
			finding_add(&findings, FINDING_LINK_WIDTH_LOW)->guid = 7;
		look.now = 1000 + 100 * count;
		assert_int_equal(state_findings(&s, &look, &findings), 0);
		assert_int_equal(s.finding_count, count);
		for (unsigned i = 0; i < count; i++)
			assert_int_equal(findings.items[i].first_seen, 1000 + 100 * (i + 1));
		finding_list_clear(&findings);
	}
	state_clear(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_thousands_of_findings), cmocka_unit_test(test_the_same_twice),
		cmocka_unit_test(test_read),   cmocka_unit_test(test_written_is_read), cmocka_unit_test(test_acknowledgements), cmocka_unit_test(test_refused),
		cmocka_unit_test(test_cut),    cmocka_unit_test(test_places),	       cmocka_unit_test(test_times),
		cmocka_unit_test(test_clock_set_back),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
