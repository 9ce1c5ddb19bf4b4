/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The running OpenSM: its command line, and the search in a /proc made for the test, whose
 * processes have the numbers of real children so that a pidfd can be had.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../../src/opensm/instance.h"

/* --- the command line --- */

/* Arguments behind the program's name, '|' between; "" for none at all. */
static const struct {
	const char *arguments, *config, *log;
} lines[] = {
	{"", NULL, NULL},
	{"-F|/a", "/a", NULL},
	{"-F/a", "/a", NULL},
	{"--config|/a", "/a", NULL},
	{"--config=/a", "/a", NULL},
	{"-config|/a", "/a", NULL},
	{"-config=/a", "/a", NULL},
	{"--conf=/a", "/a", NULL}, /* 'congestion_control' and others part at the 4th letter */
	{"--con|/a", NULL, NULL},  /* ambiguous */
	{"--config=", "", NULL},
	{"-f|l", NULL, "l"},
	{"-fl", NULL, "l"},
	{"--log_file|l", NULL, "l"},
	{"--log_f=l", NULL, "l"},
	{"--log=l", NULL, NULL}, /* log_file, log_limit, log_prefix */
	{"-F|/a|-f|l|-B", "/a", "l"},
	{"-B|-F|/a|-F|/b", "/b", NULL},
	{"-BQF|/a", "/a", NULL},
	{"-BQF/a", "/a", NULL},
	{"-ef|l", NULL, "l"},
	{"--erase_log_file|-f|l", NULL, "l"},
	{"--erase|-F|/a", "/a", NULL},
	{"-g|-F|/a", NULL, NULL}, /* '-F' is the GUID; '/a' an operand */
	{"-R|-F|-F|/a", "/a", NULL},
	{"--guid|-F|/a", NULL, NULL},
	{"--guid=0x1|-F|/a", "/a", NULL},
	{"--qos|-F|/a", "/a", NULL},
	{"--qos_policy_file|-F|/a", NULL, NULL},
	{"--pidfile|/run/x|-F|/a", "/a", NULL},
	{"-pidfile|-F|/a", NULL, NULL}, /* long, although -p is a short option */
	{"-p15|-F|/a", "/a", NULL},
	{"-D|0x7|-F|/a", "/a", NULL},
	{"--D|-F|/a", NULL, NULL},
	{"--V|-F|/a", "/a", NULL},
	{"operand|-F|/a", "/a", NULL},
	{"-|-F|/a", "/a", NULL},
	{"--|-F|/a", NULL, NULL},
	{"--unknown|-F|/a", "/a", NULL},
	{"-F", NULL, NULL},
	{"-f|", NULL, ""},
	{"--guid_routing_order_no_scatter|-F|/a", "/a", NULL},
	{"-J|-F|/a", "/a", NULL}, /* no such short option */
};

static void test_arguments(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(lines) / sizeof(*lines); i++) {
		struct opensm_arguments got;
		bool erases = strncmp(lines[i].arguments, "-ef", 3) == 0 || strncmp(lines[i].arguments, "--erase", 7) == 0;
		char text[256];
		size_t size = (size_t)snprintf(text, sizeof(text), "/usr/sbin/opensm%s%s",
					       *lines[i].arguments ? "|" : "", lines[i].arguments) +
			      1;

		for (char *c = text; *c; c++)
			if (*c == '|')
				*c = '\0';
		opensm_arguments_read(text, size, &got);
		if (!got.config != !lines[i].config ||
		    (got.config && strcmp(got.config, lines[i].config) != 0) || !got.log != !lines[i].log ||
		    (got.log && strcmp(got.log, lines[i].log) != 0) || got.erases_log != erases)
			fail_msg("'%s': config %s, log %s", lines[i].arguments,
				 got.config ? got.config : "none", got.log ? got.log : "none");
	}
}

/* Options that go before the config; NULL: not there. */
static const struct {
	const char *arguments, *routing, *rules, *sm_sl, *nue;
	bool qos;
} options[] = {
	{"", NULL, NULL, NULL, NULL, false},
	{"-Q", NULL, NULL, NULL, NULL, true},
	{"--qos", NULL, NULL, NULL, NULL, true},
	{"-BQR|dfsssp", "dfsssp", NULL, NULL, NULL, true},
	{"-Rdfsssp", "dfsssp", NULL, NULL, NULL, false},
	{"--routing_engine=updn,lash", "updn,lash", NULL, NULL, NULL, false},
	{"-routing|lash", "lash", NULL, NULL, NULL, false},
	{"-R|minhop|-R|lash", "lash", NULL, NULL, NULL, false},
	{"-Y|/y", NULL, "/y", NULL, NULL, false},
	{"--qos_policy_file|y", NULL, "y", NULL, NULL, false},
	{"--qos_p=y", NULL, "y", NULL, NULL, false},
	{"--sm_sl|3", NULL, NULL, "3", NULL, false},
	{"-sm_sl=3", NULL, NULL, "3", NULL, false},
	{"--nue_max_num_vls=8|-R|nue", "nue", NULL, NULL, "8", false},
	{"-f|-Q|-g|-R|-F|-Y", NULL, NULL, NULL, NULL, false}, /* values of others */
};

static bool same_text(const char *a, const char *b)
{
	return a && b ? strcmp(a, b) == 0 : a == b;
}

static void test_options(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(options) / sizeof(*options); i++) {
		struct opensm_arguments got;
		char text[256];
		size_t size = (size_t)snprintf(text, sizeof(text), "opensm%s%s", *options[i].arguments ? "|" : "",
					       options[i].arguments) + 1;

		for (char *c = text; *c; c++)
			if (*c == '|')
				*c = '\0';
		opensm_arguments_read(text, size, &got);
		if (!same_text(got.routing_engine, options[i].routing) || !same_text(got.qos_policy, options[i].rules) ||
		    !same_text(got.sm_sl, options[i].sm_sl) || !same_text(got.nue_vls, options[i].nue) ||
		    got.qos != options[i].qos)
			fail_msg("'%s'", options[i].arguments);
	}
}

/* --- the search --- */

struct rig {
	char root[64]; /* holds proc/ and what processes see */
	char proc[80];
	char messages[4096];
	FILE *err;
	struct ibqos_ctx ctx;
	pid_t children[4];
	unsigned child_count;
};

static char *rig_path(const struct rig *rig, const char *name)
{
	static char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s/%s", rig->root, name);
	return path;
}

static void put(const char *path, const char *text, size_t size)
{
	FILE *out = fopen(path, "w");

	assert_non_null(out);
	assert_int_equal(fwrite(text, 1, size, out), size);
	fclose(out);
}

static int setup(void **state)
{
	struct rig *rig = calloc(1, sizeof(*rig));

	strcpy(rig->root, "/tmp/ibqos-opensm-XXXXXX");
	if (!mkdtemp(rig->root))
		return -1;
	snprintf(rig->proc, sizeof(rig->proc), "%s/proc", rig->root);
	mkdir(rig->proc, 0755);
	mkdir(rig_path(rig, "etc"), 0755);
	mkdir(rig_path(rig, "run"), 0755);
	put(rig_path(rig, "etc/a.conf"), "qos TRUE\n", 9);
	put(rig_path(rig, "etc/b.conf"), "log_file x.log\n", 15);
	put(rig_path(rig, "proc/uptime"), "1\n", 2);
	rig->err = fmemopen(rig->messages, sizeof(rig->messages), "w");
	setvbuf(rig->err, NULL, _IONBF, 0);
	rig->ctx = (struct ibqos_ctx){.program = "t", .fabric = "", .err = rig->err, .verbosity = 2};
	*state = rig;
	return 0;
}

static int teardown(void **state)
{
	struct rig *rig = *state;
	char command[128];

	for (unsigned i = 0; i < rig->child_count; i++) {
		kill(rig->children[i], SIGKILL);
		waitpid(rig->children[i], NULL, 0);
	}
	fclose(rig->err);
	snprintf(command, sizeof(command), "rm -rf %s", rig->root);
	if (system(command) != 0)
		return -1;
	free(rig);
	return 0;
}

static pid_t spawn(struct rig *rig)
{
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (pid == 0) {
		signal(SIGHUP, SIG_DFL);
		for (;;)
			pause();
	}
	rig->children[rig->child_count++] = pid;
	return pid;
}

/* A process of the made-up /proc: '|' between arguments; exe NULL: may not be seen. */
static void add(struct rig *rig, pid_t pid, const char *comm, const char *exe, const char *arguments)
{
	char name[64], text[512];
	size_t length;

	snprintf(name, sizeof(name), "proc/%d", (int)pid);
	mkdir(rig_path(rig, name), 0755);
	snprintf(name, sizeof(name), "proc/%d/comm", (int)pid);
	snprintf(text, sizeof(text), "%s\n", comm);
	put(rig_path(rig, name), text, strlen(text));
	snprintf(name, sizeof(name), "proc/%d/stat", (int)pid);
	snprintf(text, sizeof(text), "%d (%s) S 1 1 1 0 -1 4194560 1 1 0 0 0 0 0 0 20 0 1 0 %d 5 6 7\n",
		 (int)pid, comm, 1000 + (int)pid);
	put(rig_path(rig, name), text, strlen(text));
	length = (size_t)snprintf(text, sizeof(text), "%s", arguments);
	for (size_t i = 0; i < length; i++)
		if (text[i] == '|')
			text[i] = '\0';
	snprintf(name, sizeof(name), "proc/%d/cmdline", (int)pid);
	put(rig_path(rig, name), text, length ? length + 1 : 0);
	snprintf(name, sizeof(name), "proc/%d/cwd", (int)pid);
	snprintf(text, sizeof(text), "%s/run", rig->root);
	assert_int_equal(symlink(text, rig_path(rig, name)), 0);
	snprintf(name, sizeof(name), "proc/%d/exe", (int)pid);
	if (exe)
		assert_int_equal(symlink(exe, rig_path(rig, name)), 0);
}

static int find(struct rig *rig, const char *config, struct opensm_instance *instance)
{
	return opensm_find_in(&rig->ctx, rig->proc, rig_path(rig, config), instance);
}

static void test_found_and_reloaded(void **state)
{
	struct rig *rig = *state;
	struct opensm_instance instance;
	pid_t pid = spawn(rig);
	char arguments[256];
	int status;

	snprintf(arguments, sizeof(arguments), "opensm|-F|%s/etc/a.conf|-f|%s/sm.log", rig->root, rig->root);
	add(rig, pid, "opensm", "/usr/sbin/opensm", arguments);
	add(rig, 1, "systemd", "/usr/lib/systemd/systemd", "/sbin/init");
	assert_int_equal(find(rig, "etc/a.conf", &instance), 0);
	assert_int_equal(instance.pid, pid);
	assert_true(instance.pidfd >= 0);
	assert_true(instance.config_given);
	assert_string_equal(instance.config, rig_path(rig, "etc/a.conf"));
	assert_string_equal(instance.log, rig_path(rig, "sm.log"));
	assert_true(opensm_alive(&instance));
	assert_int_equal(opensm_reload(&instance), 0);
	/* nobody has waited for it yet: ended all the same */
	assert_int_equal(waitid(P_PID, (id_t)pid, &(siginfo_t){0}, WEXITED | WNOWAIT), 0);
	assert_false(opensm_alive(&instance));
	assert_int_equal(opensm_reload(&instance), -ESRCH);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGHUP);
	assert_false(opensm_alive(&instance));
	assert_int_equal(opensm_reload(&instance), -ESRCH);
	opensm_instance_clear(&instance);
	assert_int_equal(instance.pidfd, -1);
	assert_false(opensm_alive(&instance));
	/* and now there is no such process */
	assert_int_equal(find(rig, "etc/a.conf", &instance), -ESRCH);
}

/* Before it blocks SIGHUP, and later catches it, the signal would end OpenSM (main.c:1152, 1265). */
static void test_just_started(void **state)
{
	static const struct {
		const char *blocked, *caught;
		bool takes;
	} masks[] = {
		{"0000000000000000", "0000000000000000", false},
		{"fffffffffffffffe", "fffffffffffffffe", false},
		{"0000000000000201", "0000000000000000", true}, /* SIGHUP, SIGUSR1 */
		{"0000000000000000", "0000000000024203", true},
	};
	struct rig *rig = *state;
	pid_t pid = spawn(rig);
	char arguments[160];

	snprintf(arguments, sizeof(arguments), "opensm|-F|%s/etc/a.conf", rig->root);
	add(rig, pid, "opensm", "/usr/sbin/opensm", arguments);
	for (size_t i = 0; i < sizeof(masks) / sizeof(*masks); i++) {
		struct opensm_instance instance;
		char name[64], text[256];
		int found;

		snprintf(name, sizeof(name), "proc/%d/status", (int)pid);
		snprintf(text, sizeof(text),
			 "Name:\topensm\nShdPnd:\tffffffffffffffff\nSigBlk:\t%s\n"
			 "SigIgn:\tffffffffffffffff\nSigCgt:\t%s\nCapInh:\tffffffffffffffff\n",
			 masks[i].blocked, masks[i].caught);
		put(rig_path(rig, name), text, strlen(text));
		found = find(rig, "etc/a.conf", &instance);
		opensm_instance_clear(&instance);
		/* one that is passed over counts as running, but not as one that reads this file */
		assert_int_equal(found, masks[i].takes ? 0 : -ENOENT);
	}
}

static void test_sees(void **state)
{
	struct rig *rig = *state;
	struct opensm_instance instance = {.pid = spawn(rig), .pidfd = -1};

	assert_int_equal(opensm_sees(&instance, rig_path(rig, "etc/a.conf")), 1);
	assert_int_equal(opensm_sees(&instance, rig_path(rig, "etc/none.conf")), 1);
}

static void test_none(void **state)
{
	struct rig *rig = *state;
	struct opensm_instance instance;

	assert_int_equal(find(rig, "etc/a.conf", &instance), -ESRCH);
	assert_int_equal(instance.pidfd, -1);
	add(rig, spawn(rig), "opensm", "/usr/sbin/opensm", "opensm|-B"); /* reads /etc/opensm/opensm.conf */
	assert_int_equal(find(rig, "etc/a.conf", &instance), -ENOENT);
	assert_int_equal(opensm_find_in(&rig->ctx, "/nonexistent", "/x", &instance), -ENOENT);
}

/* Those that run with other files are told by number and file, for people. */
static void test_others(void **state)
{
	struct rig *rig = *state;
	char arguments[256], wanted[512], other[512], *text;
	pid_t first, second;

	assert_null(opensm_others_in(&rig->ctx, rig->proc));
	assert_null(opensm_others_in(&rig->ctx, "/nonexistent"));
	first = spawn(rig);
	add(rig, first, "opensm", "/usr/sbin/opensm", "opensm|-B");
	add(rig, spawn(rig), "opensm", "/bin/dash", "sh|opensm|-F|/x");
	text = opensm_others_in(&rig->ctx, rig->proc);
	snprintf(wanted, sizeof(wanted), "process %d with /etc/opensm/opensm.conf (no -F)", (int)first);
	assert_string_equal(text, wanted);
	free(text);
	second = spawn(rig);
	snprintf(arguments, sizeof(arguments), "opensm|-F|../etc/b.conf|-Q");
	add(rig, second, "opensm", "/usr/sbin/opensm", arguments);
	text = opensm_others_in(&rig->ctx, rig->proc);
	snprintf(other, sizeof(other), "process %d with %s/run/../etc/b.conf", (int)second, rig->root);
	assert_non_null(strstr(text, wanted));
	assert_non_null(strstr(text, other));
	assert_non_null(strstr(text, ", process "));
	free(text);
}

/* What the command line says is kept with the process, and its paths are its own. */
static void test_kept(void **state)
{
	struct rig *rig = *state;
	struct opensm_instance instance;
	char arguments[256];
	pid_t pid = spawn(rig);

	snprintf(arguments, sizeof(arguments), "opensm|-QF|%s/etc/a.conf|-Y|y.conf|-R|updn,lash|--sm_sl|7|--nue_max|2",
		 rig->root);
	add(rig, pid, "opensm", "/usr/sbin/opensm", arguments);
	assert_int_equal(find(rig, "etc/a.conf", &instance), 0);
	assert_true(instance.qos);
	assert_string_equal(instance.qos_policy, "y.conf");
	assert_string_equal(instance.routing_engine, "updn,lash");
	assert_string_equal(instance.sm_sl, "7");
	assert_string_equal(instance.nue_vls, "2");
	assert_int_equal(opensm_means(&instance, rig_path(rig, "etc/a.conf"), rig_path(rig, "etc/a.conf")), 1);
	opensm_instance_clear(&instance);
	assert_null(instance.qos_policy);
	assert_null(instance.routing_engine);
}

static void test_two(void **state)
{
	struct rig *rig = *state;
	struct opensm_instance instance;
	char arguments[256];

	snprintf(arguments, sizeof(arguments), "opensm|-F|%s/etc/a.conf", rig->root);
	add(rig, spawn(rig), "opensm", "/usr/sbin/opensm", arguments);
	snprintf(arguments, sizeof(arguments), "opensm|-F|%s/etc/b.conf", rig->root);
	add(rig, spawn(rig), "opensm", "/usr/sbin/opensm", arguments);
	assert_int_equal(find(rig, "etc/a.conf", &instance), 0);
	opensm_instance_clear(&instance);
	/* the log that its config names, from its working directory */
	assert_int_equal(find(rig, "etc/b.conf", &instance), 0);
	assert_string_equal(instance.log, rig_path(rig, "run/x.log"));
	opensm_instance_clear(&instance);
	add(rig, spawn(rig), "opensm", "/usr/sbin/opensm", "opensm|-F|../etc/a.conf");
	assert_int_equal(find(rig, "etc/a.conf", &instance), -EMLINK);
	assert_int_equal(instance.pidfd, -1);
	assert_null(instance.config);
}

/* Relative paths, links and a config that does not exist yet. */
static void test_paths(void **state)
{
	struct rig *rig = *state;
	struct opensm_instance instance;
	pid_t pid = spawn(rig);

	assert_int_equal(symlink("../etc/a.conf", rig_path(rig, "run/link.conf")), 0);
	add(rig, pid, "opensm", "/usr/sbin/opensm (deleted)", "opensm|--config=link.conf|--log_file|sm.log");
	assert_int_equal(find(rig, "etc/a.conf", &instance), 0);
	assert_string_equal(instance.config, rig_path(rig, "run/link.conf"));
	assert_string_equal(instance.log, rig_path(rig, "run/sm.log"));
	opensm_instance_clear(&instance);
	assert_int_equal(find(rig, "etc/../run/./link.conf", &instance), 0);
	opensm_instance_clear(&instance);
	assert_int_equal(find(rig, "etc/b.conf", &instance), -ENOENT);

	add(rig, spawn(rig), "opensm", "/usr/sbin/opensm", "opensm|-F|../etc/new.conf|-f|stdout");
	assert_int_equal(find(rig, "run/../etc/new.conf", &instance), 0);
	assert_null(instance.log);
	opensm_instance_clear(&instance);
	assert_int_equal(find(rig, "run/new.conf", &instance), -ENOENT);
	assert_int_equal(find(rig, "nowhere/new.conf", &instance), -ENOENT);
}

/* A process with a root of its own: the same path there is another file. */
static void test_other_root(void **state)
{
	struct rig *rig = *state;
	struct opensm_instance instance;
	char arguments[256], name[64], target[128];
	pid_t pid = spawn(rig);

	snprintf(arguments, sizeof(arguments), "opensm|-F|%s/etc/a.conf", rig->root);
	add(rig, pid, "opensm", "/usr/sbin/opensm", arguments);
	snprintf(name, sizeof(name), "proc/%d/root", (int)pid);
	snprintf(target, sizeof(target), "%s/run", rig->root);
	assert_int_equal(symlink(target, rig_path(rig, name)), 0);
	assert_int_equal(find(rig, "etc/a.conf", &instance), -ENOENT);
	assert_int_equal(unlink(rig_path(rig, name)), 0);
	assert_int_equal(symlink("/", rig_path(rig, name)), 0);
	assert_int_equal(find(rig, "etc/a.conf", &instance), 0);
	opensm_instance_clear(&instance);
}

/* What must not be taken for OpenSM: a script of that name, a dead process, one that nobody may look at. */
static void test_not_opensm(void **state)
{
	struct rig *rig = *state;
	struct opensm_instance instance;
	char arguments[256];
	pid_t pid = spawn(rig);

	snprintf(arguments, sizeof(arguments), "sh|opensm|-F|%s/etc/a.conf", rig->root);
	add(rig, pid, "opensm", "/bin/dash", arguments);
	add(rig, spawn(rig), "opensm", NULL, ""); /* a zombie has no command line */
	add(rig, spawn(rig), "opensm2", NULL, arguments);
	assert_int_equal(find(rig, "etc/a.conf", &instance), -ESRCH);
	assert_non_null(strstr(rig->messages, "no command line"));
	/* without a look at exe, comm is believed */
	snprintf(arguments, sizeof(arguments), "opensm|-F|%s/etc/a.conf", rig->root);
	add(rig, spawn(rig), "opensm", NULL, arguments);
	assert_int_equal(find(rig, "etc/a.conf", &instance), 0);
	opensm_instance_clear(&instance);
}

/* A config in a folder that may not be entered is passed over, with a word. */
static void test_unreadable(void **state)
{
	struct rig *rig = *state;
	struct opensm_instance instance;
	char text[PATH_MAX];

	/* a path through a file cannot be looked at either, also by root */
	snprintf(text, sizeof(text), "opensm|-F|%s/etc/a.conf/x", rig->root);
	add(rig, spawn(rig), "opensm", "/usr/sbin/opensm", text);
	assert_int_equal(find(rig, "etc/a.conf", &instance), -ENOENT);
	assert_non_null(strstr(rig->messages, "passed over opensm process"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_arguments),
		cmocka_unit_test(test_options),
		cmocka_unit_test_setup_teardown(test_found_and_reloaded, setup, teardown),
		cmocka_unit_test_setup_teardown(test_just_started, setup, teardown),
		cmocka_unit_test_setup_teardown(test_sees, setup, teardown),
		cmocka_unit_test_setup_teardown(test_none, setup, teardown),
		cmocka_unit_test_setup_teardown(test_others, setup, teardown),
		cmocka_unit_test_setup_teardown(test_kept, setup, teardown),
		cmocka_unit_test_setup_teardown(test_two, setup, teardown),
		cmocka_unit_test_setup_teardown(test_paths, setup, teardown),
		cmocka_unit_test_setup_teardown(test_other_root, setup, teardown),
		cmocka_unit_test_setup_teardown(test_not_opensm, setup, teardown),
		cmocka_unit_test_setup_teardown(test_unreadable, setup, teardown),
	};

	return cmocka_run_group_tests_name("running OpenSM", tests, NULL, NULL);
}
