/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Messages, numbers, text made printable, arrays.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "ibqos/util.h"

/* What the three levels of message print at one verbosity. */
static char *messages_at(int verbosity)
{
	char *text = NULL;
	size_t size;
	struct ibqos_ctx ctx = {.program = "ibqos", .verbosity = verbosity};

	ctx.err = open_memstream(&text, &size);
	assert_non_null(ctx.err);
	ctx_error(&ctx, "cannot open '%s'", "a");
	ctx_warn(&ctx, "two");
	ctx_info(&ctx, "three");
	ctx_debug(&ctx, "four");
	fclose(ctx.err);
	return text;
}

static void test_messages_by_verbosity(void **state)
{
	static const char *const expected[] = {
		"ibqos: cannot open 'a'\n",
		"ibqos: cannot open 'a'\nibqos: warning: two\n",
		"ibqos: cannot open 'a'\nibqos: warning: two\nibqos: three\n",
		"ibqos: cannot open 'a'\nibqos: warning: two\nibqos: three\nibqos: debug: four\n",
	};

	(void)state;
	for (int verbosity = -1; verbosity <= 2; verbosity++) {
		char *text = messages_at(verbosity);

		assert_string_equal(text, expected[verbosity + 1]);
		free(text);
	}
}

static void test_message_is_one_line(void **state)
{
	char *text = NULL;
	size_t size;
	struct ibqos_ctx ctx = {.program = "ibqos"};

	(void)state;
	ctx.err = open_memstream(&text, &size);
	assert_non_null(ctx.err);
	errno = ENODEV;
	ctx_error(&ctx, "node '%s'",
		  "a\nb\x1b[31mc\x9b"
		  "d\xc2\x85\xe2\x80\xae\xc3\xa9\t");
	assert_int_equal(errno, ENODEV);
	fclose(ctx.err);
	/* a control character of several bytes has one '?' for each, é stays */
	assert_string_equal(text, "ibqos: node 'a?b?[31mc?d?????\xc3\xa9?'\n");
	free(text);
}

static void test_stop_flag(void **state)
{
	volatile sig_atomic_t flag = 0;
	struct ibqos_ctx ctx = {.program = "ibqos"};

	(void)state;
	assert_false(ctx_stopped(&ctx));
	ctx.stop = &flag;
	assert_false(ctx_stopped(&ctx));
	flag = 1;
	assert_true(ctx_stopped(&ctx));
}

static void test_durations(void **state)
{
	static const struct {
		const char *text;
		uint64_t seconds;
	} good[] = {{"0", 0}, {"90", 90}, {"90s", 90}, {"30m", 1800}, {"30min", 1800}, {"2h", 7200}, {"7d", 604800}};
	uint64_t seconds = 7;

	(void)state;
	for (unsigned i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		assert_int_equal(text_duration(good[i].text, UINT64_MAX, &seconds), 0);
		assert_int_equal(seconds, good[i].seconds);
	}
	for (const char *const *bad = (const char *const[]){"", "m", "min", "1w", "1 h", "-1h", "+1h", "01h", "1hh", "0x10s", "1.5h", NULL};
	     *bad; bad++)
		assert_int_equal(text_duration(*bad, UINT64_MAX, &seconds), -EINVAL);
	assert_int_equal(text_duration("3h", 7200, &seconds), -ERANGE);
	assert_int_equal(text_duration("99999999999999999999d", UINT64_MAX, &seconds), -ERANGE);
	assert_int_equal(text_duration("213503982334602d", UINT64_MAX, &seconds), -ERANGE); /* above 64 bits in seconds */
	assert_int_equal(text_duration("99999999999999999999999999s", UINT64_MAX, &seconds), -ERANGE);
	assert_int_equal(seconds, 604800); /* as it was */
}

static void test_numbers(void **state)
{
	static const struct {
		const char *text;
		uint64_t max;
		int rc;
		uint64_t value;
	} rows[] = {
		{"0", UINT64_MAX, 0, 0},
		{"7", 7, 0, 7},
		{"8", 7, -ERANGE, 0},
		{"15", 15, 0, 15},
		{"18446744073709551615", UINT64_MAX, 0, UINT64_MAX},
		{"18446744073709551616", UINT64_MAX, -ERANGE, 0},
		{"28446744073709551616", UINT64_MAX, -ERANGE, 0},
		{"99999999999999999999999999", UINT64_MAX, -ERANGE, 0},
		{"99999999999999999999999999x", UINT64_MAX, -EINVAL, 0},
		{"0x0", UINT64_MAX, 0, 0},
		{"0x00ff", 255, 0, 255},
		{"0xffffffffffffffff", UINT64_MAX, 0, UINT64_MAX},
		{"0x10000000000000000", UINT64_MAX, -ERANGE, 0},
		{"0xDEADbeef", UINT64_MAX, 0, 0xdeadbeef},
		{"0Xff", UINT64_MAX, -EINVAL, 0},
		{"0x", UINT64_MAX, -EINVAL, 0},
		{"0xg", UINT64_MAX, -EINVAL, 0},
		{"", UINT64_MAX, -EINVAL, 0},
		{"00", UINT64_MAX, -EINVAL, 0},
		{"010", UINT64_MAX, -EINVAL, 0},
		{"+1", UINT64_MAX, -EINVAL, 0},
		{"-1", UINT64_MAX, -EINVAL, 0},
		{" 1", UINT64_MAX, -EINVAL, 0},
		{"1 ", UINT64_MAX, -EINVAL, 0},
		{"1a", UINT64_MAX, -EINVAL, 0},
		{"1.0", UINT64_MAX, -EINVAL, 0},
		{"\xd9\xa1", UINT64_MAX, -EINVAL, 0},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		uint64_t value = 4711;
		int rc = text_to_u64(rows[i].text, rows[i].max, &value);

		if (rc != rows[i].rc || value != (rc ? 4711 : rows[i].value))
			fail_msg("'%s': rc %d, value %llu", rows[i].text, rc, (unsigned long long)value);
	}
}

#define BAD "\xef\xbf\xbd"

static void test_text_made_printable(void **state)
{
	static const struct {
		const char *raw;
		const char *made;
	} rows[] = {
		{"", ""},
		{"leaf-1", "leaf-1"},
		{"  leaf 1 \t\r\n", "  leaf 1"},
		{" \n ", ""},
		{"a\x1b[2Jb", "a" BAD "[2Jb"},
		{"a\tb\nc\x7f", "a" BAD "b" BAD "c" BAD},
		{"\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80", "\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80"},
		{"\xc2\x80\xc2\x9f\xc2\xa0", BAD BAD "\xc2\xa0"}, /* C1 goes, NBSP stays */
		{"\xff\xfe", BAD BAD},
		{"a\x80z", "a" BAD "z"},
		{"\xc0\xaf", BAD BAD},                    /* overlong '/' */
		{"\xc1\xbf", BAD BAD},                    /* overlong DEL */
		{"\xe0\x9f\xbf", BAD BAD BAD},            /* overlong U+07FF */
		{"\xe0\xa0\x80", "\xe0\xa0\x80"},         /* U+0800 */
		{"\xf0\x8f\xbf\xbf", BAD BAD BAD BAD},    /* overlong U+FFFF */
		{"\xf0\x90\x80\x80", "\xf0\x90\x80\x80"}, /* U+10000 */
		{"\xed\x9f\xbf", "\xed\x9f\xbf"},         /* U+D7FF */
		{"\xed\xa0\x80", BAD BAD BAD},            /* U+D800, a surrogate */
		{"\xed\xbf\xbf", BAD BAD BAD},            /* U+DFFF */
		{"\xee\x80\x80", "\xee\x80\x80"},         /* U+E000 */
		{"\xf4\x8f\xbf\xbf", "\xf4\x8f\xbf\xbf"}, /* U+10FFFF */
		{"\xf4\x90\x80\x80", BAD BAD BAD BAD},    /* U+110000 */
		{"\xf5\x80\x80\x80", BAD BAD BAD BAD},
		{"\xf8\x88\x80\x80\x80", BAD BAD BAD BAD BAD},
		{"\xe2\x82", BAD BAD}, /* cut short */
		{"\xe2\x82"
		 "a",
		 BAD BAD "a"},
		{"a\xe2\x80\xae"
		 "b",
		 "a" BAD "b"}, /* right-to-left override */
		{"a\xe2\x80\xa8"
		 "b",
		 "a" BAD "b"}, /* line separator */
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		char *made = text_utf8(rows[i].raw, strlen(rows[i].raw));

		assert_non_null(made);
		if (strcmp(made, rows[i].made) != 0)
			fail_msg("row %zu: '%s' became '%s'", i, rows[i].raw, made);
		free(made);
	}
}

/* A NodeDescription fills its 64 bytes without a NUL. */
static void test_text_ends_at_size_or_nul(void **state)
{
	char raw[64], *made;

	(void)state;
	memset(raw, 'x', sizeof(raw));
	made = text_utf8(raw, sizeof(raw));
	assert_non_null(made);
	assert_int_equal(strlen(made), 64);
	free(made);
	memset(raw, '\xff', sizeof(raw));
	made = text_utf8(raw, sizeof(raw));
	assert_non_null(made);
	assert_int_equal(strlen(made), 3 * 64);
	free(made);
	raw[0] = 'a';
	raw[1] = '\0';
	made = text_utf8(raw, sizeof(raw));
	assert_string_equal(made, "a");
	free(made);
	/* the character is cut by the size, though its last byte follows */
	made = text_utf8("\xc3\xa9", 1);
	assert_string_equal(made, BAD);
	free(made);
	made = text_utf8(NULL, 0);
	assert_string_equal(made, "");
	free(made);
}

/* Every two-byte and three-byte sequence against the ranges of table 3-7 of the Unicode standard. */
static void test_text_char_against_ranges(void **state)
{
	(void)state;
	for (unsigned a = 0; a < 256; a++)
		for (unsigned b = 0; b < 256; b++)
			for (unsigned c = 0x7f; c <= 0xc0; c++) {
				char text[3] = {(char)a, (char)b, (char)c};
				size_t length = 0;
				unsigned low = a == 0xe0 ? 0xa0 : 0x80, high = a == 0xed ? 0x9f : 0xbf;
				unsigned code = (a & 15) << 12 | (b & 63) << 6 | (c & 63);

				if (a >= 0x20 && a < 0x7f)
					length = 1;
				else if (a == 0xc2 ? b >= 0xa0 && b <= 0xbf
						   : a > 0xc2 && a <= 0xdf && b >= 0x80 && b <= 0xbf)
					length = (a == 0xd8 && b == 0x9c) || (a == 0xc2 && b == 0xad) ? 0 : 2; /* U+061C: turns direction; U+00AD: unseen */
				else if (a >= 0xe0 && a <= 0xef && b >= low && b <= high && c >= 0x80 &&
					 c <= 0xbf)
					length = 3;
				/* turns direction, breaks lines, or does not show (Unicode's Cf, Zl, Zp, variation selectors) */
				if (length == 3 &&
				    ((code >= 0x180b && code <= 0x180f) || (code >= 0x200b && code <= 0x200f) ||
				     (code >= 0x2028 && code <= 0x202e) || (code >= 0x2060 && code <= 0x206f) ||
				     (code >= 0xfe00 && code <= 0xfe0f) || code == 0xfeff || (code >= 0xfff9 && code <= 0xfffb)))
					length = 0;
				if (text_char(text, 3) != length)
					fail_msg("%02x %02x %02x: %zu, not %zu", a, b, c, text_char(text, 3),
						 length);
			}
	assert_int_equal(text_char("", 0), 0);
}

static void test_array_grows_zeroed(void **state)
{
	size_t room = 0, old;
	uint32_t *items = NULL, *same;

	(void)state;
	items = array_grow(NULL, &room, 0, sizeof(*items));
	assert_non_null(items);
	for (uint32_t i = 0; i < 1000; i++) {
		old = room;
		items = array_grow(items, &room, i + 1, sizeof(*items));
		assert_non_null(items);
		assert_true(room > i);
		for (size_t k = old; k < room; k++)
			assert_int_equal(items[k], 0);
		items[i] = i + 1;
	}
	for (uint32_t i = 0; i < 1000; i++)
		assert_int_equal(items[i], i + 1);
	old = room;
	same = array_grow(items, &room, room, sizeof(*items));
	assert_ptr_equal(same, items);
	assert_int_equal(room, old);
	/* sizes that wrap are refused, and the array stays */
	assert_null(array_grow(items, &room, SIZE_MAX, sizeof(*items)));
	assert_null(array_grow(items, &room, SIZE_MAX / sizeof(*items) + 2, sizeof(*items)));
	assert_int_equal(room, old);
	assert_int_equal(items[999], 1000);
	free(items);
}

static void test_clock_moves_forward(void **state)
{
	uint64_t before = clock_ns(), after = clock_ns();

	(void)state;
	assert_true(before > 0);
	assert_true(after >= before);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_messages_by_verbosity),
		cmocka_unit_test(test_message_is_one_line),
		cmocka_unit_test(test_stop_flag),
		cmocka_unit_test(test_numbers),
		cmocka_unit_test(test_durations),
		cmocka_unit_test(test_text_made_printable),
		cmocka_unit_test(test_text_ends_at_size_or_nul),
		cmocka_unit_test(test_text_char_against_ranges),
		cmocka_unit_test(test_array_grows_zeroed),
		cmocka_unit_test(test_clock_moves_forward),
	};

	return cmocka_run_group_tests_name("util", tests, NULL, NULL);
}
