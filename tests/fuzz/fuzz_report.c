/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Any strings and numbers in a report, in any order of calls. The JSON is read back by json-c, strictly,
 * and has each value under its key and no other; the text is UTF-8 with nothing in it that a terminal
 * obeys, and shows each value. Text made printable is so, once and for all; a number read is the one written.
 */
#include <errno.h>
#include <inttypes.h>
#include <json-c/json.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"
#include "ibqos/report.h"

#define STRINGS_MAX 256
#define STEPS_MAX 64

/* Both formats are told the same; what JSON must hold is built beside them. */
struct session {
	struct fuzz *in;
	struct report *json, *text;
	struct json_object *wanted, *object; /* the whole, and what is open in it: a section or the whole */
	struct json_object *rows, *row;      /* of the open table; NULL: none */
	unsigned columns;
	char *shown[STRINGS_MAX]; /* what the text must show */
	unsigned shown_count;
};

#define COLUMNS 5
static const struct report_column columns[COLUMNS] = {
	{.key = "name", .title = "name", .type = REPORT_STRING},
	{.key = "count", .title = "count", .type = REPORT_NUMBER},
	{.key = "rate", .title = "rate", .type = REPORT_REAL, .unit = "Gb/s", .decimals = 2},
	{.key = "up", .title = "up", .type = REPORT_BOOL},
	{.key = "guid", .title = "GUID", .type = REPORT_GUID},
};

/* --- what is wanted --- */

static void add(struct json_object *object, const char *key, struct json_object *value)
{
	char unique[64];
	struct json_object *unused;

	snprintf(unique, sizeof(unique), "%s", key);
	for (unsigned n = 2; json_object_object_get_ex(object, unique, &unused); n++)
		snprintf(unique, sizeof(unique), "%s_%u", key, n);
	require(json_object_object_add(object, unique, value) == 0);
}

/* As JSON must have it; the text must show it too. */
static struct json_object *string_wanted(struct session *s, const char *text, const char *also)
{
	char *clean;
	struct json_object *object;

	if (!text)
		return NULL;
	clean = fuzz_clean(text, also);
	if (!*also) /* a name in one line: blanks at its end say nothing */
		while (*clean && strchr(" \t\n\r", clean[strlen(clean) - 1]))
			clean[strlen(clean) - 1] = '\0';
	object = json_object_new_string(clean);
	require(object);
	if (s->shown_count < STRINGS_MAX)
		s->shown[s->shown_count++] = clean;
	else
		free(clean);
	return object;
}

static struct json_object *guid_wanted(uint64_t guid)
{
	char text[24];

	if (guid == 0)
		return NULL;
	snprintf(text, sizeof(text), "0x%016" PRIx64, guid);
	return json_object_new_string(text);
}

static struct json_object *real_wanted(double real)
{
	return isfinite(real) ? json_object_new_double(real) : NULL;
}

/* --- values from the input --- */

/* Blanks at the end go before anything else is done: a text that ends in none is the same on both sides. */
static char *some_text(struct session *s)
{
	char *text = fuzz_bit(s->in) ? NULL : fuzz_text(s->in, 200);
	size_t length = text ? strlen(text) : 0;

	while (length > 0 && strchr(" \t\n\r", text[length - 1]))
		text[--length] = '\0';
	return text;
}

static double some_real(struct session *s)
{
	uint64_t bits = fuzz_u64(s->in);
	double real;

	memcpy(&real, &bits, sizeof(real));
	return real;
}

/* --- calls --- */

#define BOTH(call, ...) (call(s->json, __VA_ARGS__), call(s->text, __VA_ARGS__))

static void end_table(struct session *s)
{
	s->rows = s->row = NULL;
	s->columns = 0;
}

static void end_section(struct session *s)
{
	end_table(s);
	s->object = s->wanted;
}

static void put_field(struct session *s, const char *key)
{
	char *text;
	uint64_t number;
	double real;

	switch (fuzz_below(s->in, 6)) {
	case 0:
		text = some_text(s);
		BOTH(report_string, key, "title", text);
		add(s->object, key, string_wanted(s, text, ""));
		free(text);
		return;
	case 1:
		number = fuzz_u64(s->in);
		BOTH(report_number, key, "title", number);
		add(s->object, key, json_object_new_uint64(number));
		return;
	case 2:
		real = some_real(s);
		BOTH(report_real, key, "title", real, (int)fuzz_byte(s->in) - 100, "Gb/s");
		add(s->object, key, real_wanted(real));
		return;
	case 3:
		number = fuzz_bit(s->in);
		BOTH(report_bool, key, "title", number);
		add(s->object, key, json_object_new_boolean((int)number));
		return;
	case 4:
		number = fuzz_u64(s->in);
		BOTH(report_guid, key, "title", number);
		add(s->object, key, guid_wanted(number));
		return;
	default:
		text = some_text(s);
		BOTH(report_text, key, "title", text);
		add(s->object, key, string_wanted(s, text, "\n\t"));
		free(text);
		return;
	}
}

/* What is not put into a row is null. */
static void put_row(struct session *s)
{
	char *text = some_text(s);
	uint64_t number = fuzz_u64(s->in);
	double real = some_real(s);
	struct json_object *row = json_object_new_object();
	unsigned cells = 1 + fuzz_below(s->in, s->columns);

	BOTH(report_cell_string, text);
	add(row, "name", string_wanted(s, text, ""));
	for (unsigned i = 1; i < s->columns; i++) {
		bool given = i < cells;

		if (i == 1) {
			if (given)
				BOTH(report_cell_number, number);
			add(row, "count", given ? json_object_new_uint64(number) : NULL);
		} else if (i == 2) {
			if (given)
				BOTH(report_cell_real, real);
			add(row, "rate", given ? real_wanted(real) : NULL);
		} else if (i == 3) {
			if (given)
				BOTH(report_cell_bool, number & 1);
			add(row, "up", given ? json_object_new_boolean(number & 1) : NULL);
		} else {
			if (given)
				BOTH(report_cell_guid, number);
			add(row, "guid", given ? guid_wanted(number) : NULL);
		}
	}
	report_row_end(s->json);
	report_row_end(s->text);
	require(json_object_array_add(s->rows, row) == 0);
	free(text);
}

static void step(struct session *s)
{
	static const char *const keys[] = {"a", "b", "a_2", "exit"};
	const char *key = keys[fuzz_below(s->in, 4)];

	switch (fuzz_below(s->in, 8)) {
	case 0: /* a table ends with what follows it */
		report_section(s->json, key, "section");
		report_section(s->text, key, "section");
		end_section(s);
		s->object = json_object_new_object();
		add(s->wanted, key, s->object);
		return;
	case 1:
		report_section_end(s->json);
		report_section_end(s->text);
		end_section(s);
		return;
	case 2:
		s->columns = 1 + fuzz_below(s->in, COLUMNS);
		BOTH(report_table, key, "table", columns, s->columns);
		s->rows = json_object_new_array();
		add(s->object, key, s->rows);
		return;
	case 3:
	case 4:
		if (s->rows)
			put_row(s);
		return;
	default:
		report_table_end(s->json);
		report_table_end(s->text);
		end_table(s);
		put_field(s, key);
		return;
	}
}

/* --- reading back --- */

static bool same(struct json_object *got, struct json_object *wanted)
{
	char *a;
	bool equal;

	if (!got || !wanted)
		return got == wanted;
	switch (json_object_get_type(wanted)) {
	case json_type_string:
		a = fuzz_clean(json_object_get_string(got), "\n\t");
		equal = json_object_is_type(got, json_type_string) &&
			strcmp(a, json_object_get_string(wanted)) == 0;
		free(a);
		return equal;
	case json_type_int:
		return json_object_is_type(got, json_type_int) &&
		       json_object_get_uint64(got) == json_object_get_uint64(wanted);
	case json_type_double: { /* 6 digits are kept */
		double x = json_object_get_double(got), y = json_object_get_double(wanted);

		return fabs(x - y) <= fabs(y) * 1e-5 || (isinf(x) && fabs(y) > 1.797e308);
	}
	case json_type_array:
		if (!json_object_is_type(got, json_type_array) ||
		    json_object_array_length(got) != json_object_array_length(wanted))
			return false;
		for (size_t i = 0; i < json_object_array_length(wanted); i++)
			if (!same(json_object_array_get_idx(got, i), json_object_array_get_idx(wanted, i)))
				return false;
		return true;
	case json_type_object:
		if (!json_object_is_type(got, json_type_object) ||
		    json_object_object_length(got) != json_object_object_length(wanted))
			return false;
		json_object_object_foreach(wanted, key, value)
		{
			struct json_object *other;

			if (!json_object_object_get_ex(got, key, &other) || !same(other, value))
				return false;
		}
		return true;
	default:
		return json_object_equal(got, wanted);
	}
}

static void check_json(const char *text, struct json_object *wanted)
{
	struct json_tokener *reader = json_tokener_new();
	struct json_object *got;

	require(reader);
	json_tokener_set_flags(reader, JSON_TOKENER_STRICT | JSON_TOKENER_VALIDATE_UTF8);
	got = json_tokener_parse_ex(reader, text, (int)strlen(text) + 1);
	require(json_tokener_get_error(reader) == json_tokener_success);
	require(fuzz_printable(text, "\n"));
	require(same(got, wanted));
	json_object_put(got);
	json_tokener_free(reader);
}

static void check_text(const struct session *s, const char *text)
{
	char *clean = fuzz_clean(text, "\n\t");

	require(fuzz_printable(text, "\n\t"));
	for (unsigned i = 0; i < s->shown_count; i++)
		require(strstr(clean, s->shown[i]));
	require(text[strlen(text) - 1] == '\n' && strstr(text, "verdict: "));
	free(clean);
}

static void run(struct fuzz *in)
{
	struct ibqos_ctx ctx = {.program = "fuzz", .command = "fuzz", .err = stderr};
	struct session s = {.in = in};
	char *json = NULL, *text = NULL, *fabric = some_text(&s);
	size_t json_size = 0, text_size = 0;
	FILE *json_out = open_memstream(&json, &json_size), *text_out = open_memstream(&text, &text_size);
	enum ibqos_exit verdict = fuzz_below(in, 4);

	ctx.fabric = fabric ? fabric : "";
	require(json_out && text_out);
	s.json = report_begin(&ctx, json_out, REPORT_JSON);
	s.text = report_begin(&ctx, text_out, REPORT_TEXT);
	require(s.json && s.text);
	s.object = s.wanted = json_object_new_object();
	/* the verdict's keys are its own, whatever others are called */
	add(s.wanted, "exit", json_object_new_int((int)verdict));
	add(s.wanted, "verdict",
	    json_object_new_string((const char *[]){"clean", "warning", "critical", "unknown"}[verdict]));
	add(s.wanted, "format", json_object_new_int(1));
	add(s.wanted, "ibqos", json_object_new_string(IBQOS_VERSION));
	add(s.wanted, "command", json_object_new_string("fuzz"));
	add(s.wanted, "fabric", *ctx.fabric ? string_wanted(&s, fabric, "") : NULL);
	for (unsigned steps = 0; in->left > 0 && steps < STEPS_MAX; steps++)
		step(&s);
	require(report_end(s.json, verdict) == 0 && report_end(s.text, verdict) == 0);
	require(fclose(json_out) == 0 && fclose(text_out) == 0);
	check_json(json, s.wanted);
	check_text(&s, text);
	for (unsigned i = 0; i < s.shown_count; i++)
		free(s.shown[i]);
	json_object_put(s.wanted);
	free(fabric);
	free(json);
	free(text);
}

/* --- text and numbers alone --- */

static void check_utf8(const uint8_t *data, size_t size)
{
	char *made = text_utf8(data, size), *again, *raw, *clean;
	struct fuzz all = {data, size};

	require(made && fuzz_printable(made, "") && strlen(made) <= 3 * size);
	again = text_utf8(made, strlen(made));
	require(again && strcmp(again, made) == 0);
	raw = fuzz_rest(&all);
	clean = fuzz_clean(made, "");
	free(again);
	if (*raw && !strchr(" \t\n\r", raw[strlen(raw) - 1])) {
		again = fuzz_clean(raw, "");
		require(strcmp(again, clean) == 0);
		require(!fuzz_printable(raw, "") || strcmp(raw, made) == 0);
		free(again);
	}
	free(clean);
	free(raw);
	free(made);
}

static void check_number(const char *text, uint64_t max)
{
	uint64_t value = 0;
	char *end, again[24];
	int r = text_to_u64(text, max, &value);
	bool hex = strncmp(text, "0x", 2) == 0;
	size_t digits = hex ? strspn(text + 2, "0123456789abcdefABCDEF") : strspn(text, "0123456789");
	bool good = digits > 0 && text[digits + 2 * hex] == '\0' && (hex || text[0] != '0' || digits == 1);

	require((r == -EINVAL) == !good);
	if (!good)
		return;
	errno = 0;
	require((r == -ERANGE) == ((strtoull(text, &end, 0) > max && *end == '\0') || errno == ERANGE));
	snprintf(again, sizeof(again), "%" PRIu64, value);
	require(r != 0 || hex || strcmp(again, text) == 0);
	require(r != 0 || value == strtoull(text, NULL, hex ? 16 : 10));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz in = {data, size};
	uint64_t max;
	char *text;

	switch (fuzz_below(&in, 8)) {
	case 1:
		check_utf8(in.at, in.left);
		break;
	case 2:
		max = fuzz_u64(&in);
		text = fuzz_rest(&in);
		check_number(text, max);
		free(text);
		break;
	default:
		run(&in);
		break;
	}
	return 0;
}
