/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * OpenSM's log followed: what counts, and files that grow by halves, are moved or emptied.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ibqos/opensm.h"

#define UP "Nov 30 07:46:31 689358 [157736C0] 0x02 -> SUBNET UP\n"
#define FAILED "Nov 30 07:46:31 689358 [157736C0] 0x80 -> Errors during initialization\n"
#define ERR(number, rest)                                                                                    \
	"Nov 30 07:46:31 689358 [157736C0] 0x01 -> some_function: ERR " number ": " rest "\n"

struct rig {
	char folder[64], path[80], moved[80];
	struct opensm_log *log;
	struct opensm_log_events events;
};

static int setup(void **state)
{
	struct rig *rig = calloc(1, sizeof(*rig));

	strcpy(rig->folder, "/tmp/ibqos-log-XXXXXX");
	if (!mkdtemp(rig->folder))
		return -1;
	snprintf(rig->path, sizeof(rig->path), "%s/log", rig->folder);
	snprintf(rig->moved, sizeof(rig->moved), "%s/log.1", rig->folder);
	*state = rig;
	return 0;
}

static int teardown(void **state)
{
	struct rig *rig = *state;

	opensm_log_close(rig->log);
	opensm_log_events_clear(&rig->events);
	unlink(rig->path);
	unlink(rig->moved);
	rmdir(rig->folder);
	free(rig);
	return 0;
}

static void put(const char *path, const char *mode, const char *text)
{
	FILE *out = fopen(path, mode);

	assert_non_null(out);
	fputs(text, out);
	fclose(out);
}

static void follow(struct rig *rig)
{
	assert_int_equal(opensm_log_open(rig->path, &rig->log), 0);
}

static void expect(struct rig *rig, unsigned up, unsigned init_errors, unsigned policy_errors)
{
	assert_int_equal(opensm_log_poll(rig->log, &rig->events), 0);
	assert_int_equal(rig->events.subnet_up, up);
	assert_int_equal(rig->events.init_errors, init_errors);
	assert_int_equal(rig->events.policy_errors, policy_errors);
}

static const struct {
	const char *line;
	unsigned up, init_errors, policy_errors;
	bool error;
} lines[] = {
	{UP, 1, 0, 0, false},
	{FAILED, 1, 1, 0, false},
	{"Nov 30 07:46:31 689358 [157736C0] 0x02 -> fabric one: SUBNET UP\n", 1, 0, 0,
	 false}, /* log_prefix */
	{"Nov 30 07:46:31 689358 [157736C0] 0x04 -> state_mgr_up_msg:\n\n\n*****\n**** SUBNET UP ****\n", 0,
	 0, 0, false},
	{"Nov 30 07:46:31 689358 [157736C0] 0x02 -> x: waiting for SUBNET UP\n", 0, 0, 0, false},
	{"Nov 30 07:46:31 689358 [157736C0] 0x02 -> SUBNET UPSIDE\n", 0, 0, 0, false},
	{"SUBNET UP\n", 0, 0, 0, false},
	{ERR("AC01", "Failed opening QoS policy file"), 0, 0, 1, true},
	{ERR("AC02", "pkey 0x0123 - partition doesn't exist"), 0, 0, 0, true},
	{ERR("AC03", "x"), 0, 0, 1, true},
	{ERR("AC04", "x"), 0, 0, 1, true},
	{ERR("AC05", "Syntax error (line 3:4)"), 0, 0, 1, true},
	{ERR("AC06", "x"), 0, 0, 1, true},
	{ERR("AC10", "x"), 0, 0, 1, true},
	{ERR("AC11", "x"), 0, 0, 1, true},
	{ERR("AC12", "x"), 0, 0, 1, true},
	{ERR("AC13", "x"), 0, 0, 1, true},
	{ERR("AC14", "pkey in match rule"), 0, 0, 0, true},
	{ERR("3111", "Error status = 0x1C00"), 0, 0, 0, true},
	{"Nov 30 07:46:31 689358 [157736C0] 0x02 -> x: no ERROR here\n", 0, 0, 0, false},
};

static void test_lines(void **state)
{
	struct rig *rig = *state;

	put(rig->path, "w", "old\n");
	follow(rig);
	for (size_t i = 0; i < sizeof(lines) / sizeof(*lines); i++) {
		put(rig->path, "a", lines[i].line);
		expect(rig, lines[i].up, lines[i].init_errors, lines[i].policy_errors);
		if (lines[i].error) {
			assert_non_null(rig->events.last_error);
			assert_memory_equal(rig->events.last_error, lines[i].line, strlen(lines[i].line) - 1);
			assert_int_equal(strlen(rig->events.last_error), strlen(lines[i].line) - 1);
		} else {
			assert_null(rig->events.last_error);
		}
		opensm_log_events_clear(&rig->events);
		assert_null(rig->events.last_error);
	}
}

/* From the end on, and counts add up over polls. */
static void test_from_end(void **state)
{
	struct rig *rig = *state;

	put(rig->path, "w", UP FAILED ERR("AC03", "old"));
	follow(rig);
	expect(rig, 0, 0, 0);
	assert_null(rig->events.last_error);
	put(rig->path, "a", UP);
	expect(rig, 1, 0, 0);
	expect(rig, 1, 0, 0);
	put(rig->path, "a", ERR("AC05", "first") UP ERR("AC03", "second"));
	expect(rig, 2, 0, 2);
	assert_non_null(strstr(rig->events.last_error, "second"));
}

static void test_halves(void **state)
{
	static const char text[] = UP;
	struct rig *rig = *state;

	put(rig->path, "w", "");
	follow(rig);
	for (size_t i = 0; i < strlen(text); i++) {
		char one[2] = {text[i], '\0'};

		expect(rig, 0, 0, 0);
		put(rig->path, "a", one);
	}
	expect(rig, 1, 0, 0);
}

static void test_appears_later(void **state)
{
	struct rig *rig = *state;

	follow(rig);
	expect(rig, 0, 0, 0);
	put(rig->path, "w", UP);
	expect(rig, 1, 0, 0); /* all of it is new */
}

/* logrotate moves the file, makes an empty one, and OpenSM writes to the old one until SIGUSR1. */
static void test_moved(void **state)
{
	struct rig *rig = *state;

	put(rig->path, "w", "old\n");
	follow(rig);
	put(rig->path, "a", UP);
	assert_int_equal(rename(rig->path, rig->moved), 0);
	expect(rig, 1, 0, 0);
	put(rig->path, "w", "");
	expect(rig, 1, 0, 0);
	put(rig->moved, "a", FAILED);
	expect(rig, 2, 1, 0);
	put(rig->moved, "a", UP);
	put(rig->path, "a", UP);
	expect(rig, 4, 1, 0);
	put(rig->path, "a", UP);
	expect(rig, 5, 1, 0);
}

static void test_emptied(void **state)
{
	struct rig *rig = *state;

	put(rig->path, "w", "old old old old old old old old old old old old old old old old old\n");
	follow(rig);
	put(rig->path, "a", "half a line that is never ended");
	expect(rig, 0, 0, 0);
	put(rig->path, "w", UP);
	expect(rig, 1, 0, 0);
}

/* Lines without end and bytes that are no text do no harm. */
static void test_foreign_bytes(void **state)
{
	struct rig *rig = *state;
	char *line = malloc(100000);
	FILE *out;

	memset(line, 'x', 100000);
	memcpy(line, "a -> b: ERR 1234: \x1b[31m\xff", 24);
	follow(rig);
	out = fopen(rig->path, "w");
	fwrite(line, 1, 100000, out);
	fputs("\n" UP, out);
	fwrite("\0\0\0\n", 1, 4, out);
	fputs(FAILED, out);
	fclose(out);
	expect(rig, 2, 1, 0);
	assert_true(strlen(rig->events.last_error) < 4096);
	assert_null(strchr(rig->events.last_error, '\x1b'));
	free(line);
}

static void test_nothing_to_follow(void **state)
{
	struct rig *rig = *state;

	assert_int_equal(opensm_log_open(NULL, &rig->log), 0);
	expect(rig, 0, 0, 0);
	opensm_log_close(rig->log);
	assert_int_equal(opensm_log_open("/dev/null", &rig->log), 0);
	expect(rig, 0, 0, 0);
	opensm_log_close(rig->log);
	opensm_log_close(NULL);
	rig->log = NULL;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_lines, setup, teardown),
		cmocka_unit_test_setup_teardown(test_from_end, setup, teardown),
		cmocka_unit_test_setup_teardown(test_halves, setup, teardown),
		cmocka_unit_test_setup_teardown(test_appears_later, setup, teardown),
		cmocka_unit_test_setup_teardown(test_moved, setup, teardown),
		cmocka_unit_test_setup_teardown(test_emptied, setup, teardown),
		cmocka_unit_test_setup_teardown(test_foreign_bytes, setup, teardown),
		cmocka_unit_test_setup_teardown(test_nothing_to_follow, setup, teardown),
	};

	return cmocka_run_group_tests_name("OpenSM's log", tests, NULL, NULL);
}
