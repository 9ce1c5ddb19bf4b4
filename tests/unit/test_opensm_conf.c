/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * opensm.conf: read as OpenSM does, edited without touching anything else.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "ibqos/opensm.h"

static struct opensm_conf *parse(const char *text)
{
	struct opensm_conf *conf;

	assert_int_equal(opensm_conf_parse(text, strlen(text), &conf), 0);
	return conf;
}

static void assert_text(const struct opensm_conf *conf, const char *wanted)
{
	char *text;
	size_t size;

	assert_int_equal(opensm_conf_render(conf, &text, &size), 0);
	assert_int_equal(size, strlen(wanted));
	assert_string_equal(text, wanted);
	free(text);
}

/* value NULL: OpenSM takes none */
static const struct {
	const char *text, *value;
	unsigned line;
} values[] = {
	{"", NULL, 0},
	{"\n\n", NULL, 0},
	{"k v", "v", 1},
	{"k v\n", "v", 1},
	{" \t k \t v \t \n", "v", 1},
	{"k\tv w\n", "v w", 1},
	{"k\n", "", 1},
	{"k", "", 1},
	{"#k v\n", NULL, 0},
	{"  # k v\n", NULL, 0},
	{"k v# comment\n", "v", 1},
	{"k v # comment # more\n", "v", 1},
	{"k#v\n", "", 1},
	{"k \"v w\"\n", "v w", 1},
	{"k 'v w'\n", "v w", 1},
	{"k \" v \"\n", " v ", 1},
	{"k \"v'\n", "\"v'", 1},
	{"k \"\n", "", 1},
	{"k \"\"\n", "", 1},
	{"k \"\"v\"\"\n", "\"v\"", 1},
	{"k \"a#b\"\n", "\"a", 1}, /* the comment goes first */
	{"k = v\n", "= v", 1},     /* '=' is no delimiter here */
	{"k=v\n", NULL, 0},        /* key "k=v" */
	{"k,v\n", NULL, 0},
	{"K v\n", NULL, 0},  /* exact case */
	{"k v\r\n", "v", 1}, /* \r is white space around a value */
	{"k\r\n", NULL, 0},  /* and part of a key */
	{"k \v v\f\n", "v", 1},
	{"\vk v\n", NULL, 0}, /* but no delimiter before the key */
	{"k (null)\n", "(null)", 1},
	{"k a\nk b\n", "b", 2}, /* last wins */
	{"k a\n\n# x\nk b # y\nother c", "b", 4},
	{"kk v\n", NULL, 0},
};

static void test_values(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(values) / sizeof(*values); i++) {
		struct opensm_conf *conf = parse(values[i].text);
		const char *value = opensm_conf_get(conf, "k");

		if (!values[i].value != !value || (value && strcmp(value, values[i].value) != 0))
			fail_msg("case %zu: '%s' gives '%s'", i, values[i].text, value ? value : "nothing");
		assert_int_equal(opensm_conf_line(conf, "k"), values[i].line);
		assert_text(conf, values[i].text);
		opensm_conf_free(conf);
	}
}

/* A long comment spills into the next piece, where OpenSM obeys it. */
static void test_long_line(void **state)
{
	char text[1100];
	struct opensm_conf *conf;

	(void)state;
	memset(text, 'x', sizeof(text));
	text[0] = '#';
	strcpy(text + 1022, "k v\nother w\n");
	conf = parse(text);
	assert_string_equal(opensm_conf_get(conf, "k"), "v");
	assert_int_equal(opensm_conf_line(conf, "k"), 1);
	assert_int_equal(opensm_conf_line(conf, "other"), 2);
	/* the comment must not be torn elsewhere: a line at the end overrides it */
	assert_int_equal(opensm_conf_set(conf, "k", "better"), 0);
	assert_string_equal(opensm_conf_get(conf, "k"), "better");
	strcat(text, "# set by ibqos\nk better\n");
	assert_text(conf, text);
	opensm_conf_free(conf);

	/* one byte less in the comment: 'k' belongs to it and the next piece starts with the blank */
	memset(text, 'x', sizeof(text));
	text[0] = '#';
	strcpy(text + 1021, "k v\n");
	conf = parse(text);
	assert_null(opensm_conf_get(conf, "k"));
	assert_string_equal(opensm_conf_get(conf, "v"), "");
	opensm_conf_free(conf);
}

static void test_nul_ends_line(void **state)
{
	static const char text[] = "k a\0 b\nk2 c\n";
	struct opensm_conf *conf;
	char *out;
	size_t size;

	(void)state;
	assert_int_equal(opensm_conf_parse(text, sizeof(text) - 1, &conf), 0);
	assert_string_equal(opensm_conf_get(conf, "k"), "a");
	assert_string_equal(opensm_conf_get(conf, "k2"), "c");
	assert_int_equal(opensm_conf_render(conf, &out, &size), 0);
	assert_int_equal(size, sizeof(text) - 1);
	assert_memory_equal(out, text, size);
	free(out);
	/* such a line is not edited, nor relied on: a plain one follows */
	assert_int_equal(opensm_conf_set(conf, "k", "a"), 0);
	assert_int_equal(opensm_conf_line(conf, "k"), 4);
	assert_int_equal(opensm_conf_set(conf, "k", "b"), 0);
	assert_int_equal(opensm_conf_line(conf, "k"), 4);
	opensm_conf_free(conf);
}

static const struct {
	const char *before, *value, *after; /* after NULL: -EINVAL */
} edits[] = {
	{"", "v", "# set by ibqos\nk v\n"},
	{"a b", "v", "a b\n# set by ibqos\nk v\n"},
	{"a b\n", "v", "a b\n# set by ibqos\nk v\n"},
	{"# set by ibqos\na b\n", "v", "# set by ibqos\na b\nk v\n"},
	{"a b\r\n", "v", "a b\r\n# set by ibqos\r\nk v\r\n"},
	{"a b\r\n# set by ibqos\r\n", "v", "a b\r\n# set by ibqos\r\nk v\r\n"},
	{"a b\r\nc", "v", "a b\r\nc\n# set by ibqos\r\nk v\r\n"}, /* not key "c\r" */
	{"a b\r\n", "", "a b\r\n# set by ibqos\nk\n"},
	{"# set by ibqos alone\n", "v", "# set by ibqos alone\n# set by ibqos\nk v\n"},
	{"k v\n", "v", "k v\n"},
	{"k 'v'  # why\n", "v", "k 'v'  # why\n"},
	{"  k\told   # why\nz 1\n", "new", "  k\tnew   # why\nz 1\n"},
	{"k old", "new", "k new"},
	{"k old\r\n", "new", "k new\r\n"},
	{"k \"old\" # c\n", "new", "k \"new\" # c\n"},
	{"k 'old'\n", "a b", "k 'a b'\n"},
	{"k \"\"\n", "new", "k \"new\"\n"},
	{"k \"\n", "new", "k new\n"},
	{"k\n", "new", "k new\n"},
	{"k", "new", "k new"},
	{"k # c\n", "new", "k new # c\n"},
	{"k#c\n", "new", "k new#c\n"},
	{"k a\nk b\nk c # last\n", "d", "k a\nk b\nk d # last\n"},
	{"k a\nk b\n", "a", "k a\nk a\n"},
	{"#k a\n", "a", "#k a\n# set by ibqos\nk a\n"},
	{"k a\n", "", "k \n"},
	{"", "", "# set by ibqos\nk\n"},
	{"k a\n", "x#y", NULL},
	{"k a\n", "x\ny", NULL},
	{"k a\n", " x", NULL},
	{"k a\n", "x ", NULL},
	{"k a\n", "'x'", NULL},
	{"", "\"x\"", NULL},
};

static void test_edits(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(edits) / sizeof(*edits); i++) {
		struct opensm_conf *conf = parse(edits[i].before);
		int r = opensm_conf_set(conf, "k", edits[i].value);

		assert_int_equal(r, edits[i].after ? 0 : -EINVAL);
		assert_text(conf, edits[i].after ? edits[i].after : edits[i].before);
		if (r == 0) {
			assert_string_equal(opensm_conf_get(conf, "k"), edits[i].value);
			/* and again: nothing changes */
			assert_int_equal(opensm_conf_set(conf, "k", edits[i].value), 0);
			assert_text(conf, edits[i].after);
		}
		opensm_conf_free(conf);
	}
}

static void test_mark_once(void **state)
{
	struct opensm_conf *conf = parse("a 1\n");

	(void)state;
	assert_int_equal(opensm_conf_set(conf, "b", "2"), 0);
	assert_int_equal(opensm_conf_set(conf, "c", "3"), 0);
	assert_text(conf, "a 1\n# set by ibqos\nb 2\nc 3\n");
	assert_int_equal(opensm_conf_line(conf, "b"), 3);
	assert_int_equal(opensm_conf_line(conf, "c"), 4);
	assert_int_equal(opensm_conf_set(conf, "a b", "3"), -EINVAL);
	assert_int_equal(opensm_conf_set(conf, "", "3"), -EINVAL);
	assert_int_equal(opensm_conf_set(conf, "#a", "3"), -EINVAL);
	opensm_conf_free(conf);
}

/* A value that no longer fits on the line is refused in place and, if too long for any line, at all. */
static void test_length_limit(void **state)
{
	char value[1100], text[1200];
	struct opensm_conf *conf = parse("     k a\n");

	(void)state;
	memset(value, 'v', sizeof(value));
	value[1022 - 3] = '\0'; /* "k " + value + "\n" = 1022 bytes */
	assert_int_equal(opensm_conf_set(conf, "k", value), 0);
	snprintf(text, sizeof(text), "     k a\n# set by ibqos\nk %s\n", value);
	assert_text(conf, text);
	strcat(value, "v");
	assert_int_equal(opensm_conf_set(conf, "k", value), -EINVAL);
	assert_text(conf, text);
	opensm_conf_free(conf);
}

static void test_too_large(void **state)
{
	size_t size = (4u << 20) + 1;
	char *text = malloc(size);
	struct opensm_conf *conf;

	(void)state;
	memset(text, 'a', size);
	assert_int_equal(opensm_conf_parse(text, size, &conf), -EFBIG);
	assert_null(conf);
	assert_int_equal(opensm_conf_parse(text, size - 1, &conf), 0);
	opensm_conf_free(conf);
	opensm_conf_free(NULL);
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_values),        cmocka_unit_test(test_long_line),
		cmocka_unit_test(test_nul_ends_line), cmocka_unit_test(test_edits),
		cmocka_unit_test(test_mark_once),     cmocka_unit_test(test_length_limit),
		cmocka_unit_test(test_too_large),
	};

	return cmocka_run_group_tests_name("opensm.conf", tests, NULL, NULL);
}
