/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Mappings of a policy against a table of keys: unknown, doubled and missing keys, values of the
 * wrong type or out of range, all reported, none guessed at.
 */
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "read.h"

#define QUOTE_MAX 60 /* bytes of a foreign text shown in a finding */
#define TYPO_MAX 2   /* letters wrong, doubled, missing or swapped in what is still taken for a typing slip */
#define TYPO_LENGTH 32
#define PERCENT_DIGITS 15 /* a double holds them all exactly */

struct finding *read_finding(struct policy_reader *in, enum finding_code code, struct policy_mark mark)
{
	return finding_at(finding_add(in->findings, code), in->path, mark.line, mark.column);
}

void read_quote(char **member, const char *text)
{
	size_t length = strlen(text), shown = length < QUOTE_MAX ? length : QUOTE_MAX;
	char *clean;

	while (shown < length && shown > 0 && ((unsigned char)text[shown] & 0xc0) == 0x80)
		shown--;
	clean = text_utf8(text, shown);
	finding_set(member, "%s%s", clean ? clean : "", shown < length ? "…" : "");
	free(clean);
}

/* --- values --- */

enum verdict { GOOD, WRONG_TYPE, OUT_OF_RANGE };

/* Decimal, no leading zeros, no sign but '-', which is then out of range: nothing else looks like one value
 * only. */
static enum verdict read_integer(const struct tree_node *node, unsigned min, unsigned max, unsigned *number)
{
	const char *digits = node->text + (node->text[0] == '-');
	size_t length = strspn(digits, "0123456789");
	uint64_t value;

	if (!node->plain || length == 0 || digits[length] || (digits[0] == '0' && length > 1))
		return WRONG_TYPE;
	if (digits != node->text || text_to_u64(digits, max, &value) < 0 || value < min)
		return OUT_OF_RANGE;
	*number = (unsigned)value;
	return GOOD;
}

/*
 * "70%", "12.5%", "70". Not by strtod(), which knows other forms and a locale's decimal comma; the
 * quotient of two exact numbers is the double nearest to what was written.
 */
static enum verdict read_percent(const struct tree_node *node, double *percent)
{
	const char *text = node->text + (node->text[0] == '-');
	size_t whole = strspn(text, "0123456789"), fraction = 0;
	uint64_t digits = 0, scale = 1;
	const char *end = text + whole;

	if (*end == '.') {
		fraction = strspn(end + 1, "0123456789");
		end += 1 + fraction;
	}
	if (whole == 0 || (*text == '0' && whole > 1) || (text[whole] == '.' && fraction == 0) ||
	    (*end != '\0' && strcmp(end, "%") != 0))
		return WRONG_TYPE;
	if (text != node->text || whole + fraction > PERCENT_DIGITS)
		return OUT_OF_RANGE;
	for (size_t i = 0; i < whole + fraction; i++)
		digits = digits * 10 + (uint64_t)(text[i < whole ? i : i + 1] - '0');
	for (size_t i = 0; i < fraction; i++)
		scale *= 10;
	*percent = (double)digits / (double)scale;
	return *percent > 0 && *percent <= 100 ? GOOD : OUT_OF_RANGE;
}

static enum verdict read_boolean(const struct tree_node *node, unsigned *flag)
{
	*flag = strcmp(node->text, "true") == 0;
	return node->plain && (*flag || strcmp(node->text, "false") == 0) ? GOOD : WRONG_TYPE;
}

/* True for text of some length: not for the words that YAML takes for something else unless quoted. */
static bool is_text(const struct tree_node *node)
{
	static const char *const words[] = {"~", "null", "true", "false", "yes", "no", "on", "off"};

	for (size_t i = 0; node->plain && i < sizeof(words) / sizeof(*words); i++)
		if (strcasecmp(node->text, words[i]) == 0)
			return false;
	return node->text[0] != '\0';
}

static enum verdict read_choice(const struct tree_node *node, const char *const *choices, unsigned *choice)
{
	for (*choice = 0; choices[*choice]; (*choice)++)
		if (strcmp(node->text, choices[*choice]) == 0)
			return GOOD;
	return is_text(node) ? OUT_OF_RANGE : WRONG_TYPE;
}

static enum verdict read_name(const struct tree_node *node)
{
	static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
	const char *text = node->text;

	if (!is_text(node))
		return WRONG_TYPE;
	if (!strchr(letters, *text) ||
	    text[strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
			      "0123456789_-")])
		return OUT_OF_RANGE;
	return strlen(text) <= POLICY_NAME_MAX ? GOOD : OUT_OF_RANGE;
}

static enum verdict read_path(const struct tree_node *node)
{
	const char *text = node->text;

	if (!is_text(node))
		return WRONG_TYPE;
	for (const char *c = text; *c; c++)
		if ((unsigned char)*c < ' ' || *c == 0x7f)
			return OUT_OF_RANGE;
	return *text == '/' && strlen(text) < PATH_MAX ? GOOD : OUT_OF_RANGE;
}

static enum verdict read_value(const struct key_row *row, struct key_value *value)
{
	const struct tree_node *node = value->node;

	if (row->type == VALUE_MAPPING || row->type == VALUE_LIST)
		return node->kind == (row->type == VALUE_LIST ? NODE_SEQUENCE : NODE_MAPPING) ? GOOD
											      : WRONG_TYPE;
	if (node->kind != NODE_SCALAR)
		return WRONG_TYPE;
	switch (row->type) {
	case VALUE_INTEGER:
		return read_integer(node, row->min, row->max, &value->number);
	case VALUE_PERCENT:
		return read_percent(node, &value->percent);
	case VALUE_BOOLEAN:
		return read_boolean(node, &value->number);
	case VALUE_CHOICE:
		return read_choice(node, row->choices, &value->number);
	case VALUE_NAME:
		return read_name(node);
	default:
		return read_path(node);
	}
}

/* --- keys --- */

/* Letters to change, add, drop or swap with the next to get from a to b (optimal string alignment); TYPO_MAX
 * + 1 if many. */
static unsigned typing_distance(const char *a, const char *b)
{
	unsigned row[3][TYPO_LENGTH + 1];
	size_t la = strlen(a), lb = strlen(b);

	if (la > TYPO_LENGTH || lb > TYPO_LENGTH)
		return TYPO_MAX + 1;
	for (size_t i = 0; i <= la; i++) {
		unsigned *now = row[i % 3];
		const unsigned *before = row[(i + 2) % 3], *two_before = row[(i + 1) % 3];

		for (size_t j = 0; j <= lb; j++) {
			unsigned best;

			if (i == 0 || j == 0) {
				now[j] = (unsigned)(i + j);
				continue;
			}
			best = before[j - 1] + (a[i - 1] != b[j - 1]);
			if (before[j] + 1 < best)
				best = before[j] + 1;
			if (now[j - 1] + 1 < best)
				best = now[j - 1] + 1;
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] &&
			    two_before[j - 2] + 1 < best)
				best = two_before[j - 2] + 1;
			now[j] = best;
		}
	}
	return row[la % 3][lb];
}

/* "one of a, b, c" */
static void set_key_names(char **member, const struct key_row *rows, size_t count)
{
	char *text;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	if (!out)
		return;
	for (size_t i = 0; i < count; i++)
		fprintf(out, "%s%s", i ? ", " : "one of ", rows[i].name);
	if (text_stream_end(out, &text) == 0)
		finding_set(member, "%s", text);
	free(text);
}

static void unknown_key(struct policy_reader *in, const struct tree_node *key, const struct key_row *rows,
			size_t count)
{
	struct finding *f = read_finding(in, FINDING_POLICY_KEY_UNKNOWN, key->mark);
	const struct key_row *nearest = NULL;
	unsigned least = TYPO_MAX + 1;

	finding_set(&f->what, "key");
	read_quote(&f->got, key->text);
	set_key_names(&f->wanted, rows, count);
	for (size_t i = 0; i < count; i++) {
		unsigned distance = typing_distance(key->text, rows[i].name);

		/* not two letters of a key of two */
		if (distance < least && distance < strlen(rows[i].name)) {
			least = distance;
			nearest = &rows[i];
		}
	}
	if (nearest)
		finding_set(&f->detail, "did you mean '%s'?", nearest->name);
}

static void bad_value(struct policy_reader *in, const struct key_row *row, const struct tree_node *node,
		      enum verdict verdict)
{
	static const char *const kinds[] = {[NODE_SEQUENCE] = "a list", [NODE_MAPPING] = "keys and values"};
	struct finding *f = read_finding(
		in, verdict == WRONG_TYPE ? FINDING_POLICY_TYPE : FINDING_POLICY_RANGE, node->mark);

	finding_set(&f->what, "key '%s'", row->name);
	finding_set(&f->wanted, "%s", row->wanted);
	if (node->kind != NODE_SCALAR)
		finding_set(&f->got, "%s", kinds[node->kind]);
	else if (!node->text[0])
		finding_set(&f->got, "%s", node->plain ? "nothing" : "an empty text");
	else
		read_quote(&f->got, node->text);
	if (verdict == WRONG_TYPE && node->kind == NODE_SCALAR && !node->plain && node->text[0])
		finding_set(&f->detail, "in quotes it is text");
}

/* The row of a key, or NULL after a finding. */
static const struct key_row *find_row(struct policy_reader *in, const struct tree_node *key,
				      const struct key_row *rows, size_t count)
{
	if (key->kind != NODE_SCALAR) {
		struct finding *f = read_finding(in, FINDING_POLICY_TYPE, key->mark);

		finding_set(&f->what, "key");
		set_key_names(&f->wanted, rows, count);
		finding_set(&f->got, "a list or mapping as a key");
		return NULL;
	}
	if (key->refused)
		return NULL;
	for (size_t i = 0; i < count; i++)
		if (strcmp(rows[i].name, key->text) == 0)
			return &rows[i];
	unknown_key(in, key, rows, count);
	return NULL;
}

static void missing_keys(struct policy_reader *in, const struct tree_node *mapping,
			 const struct key_row *rows, size_t count, const unsigned *seen_at)
{
	for (size_t i = 0; i < count; i++) {
		struct finding *f;

		if (!rows[i].required || seen_at[i])
			continue;
		f = read_finding(in, FINDING_POLICY_KEY_MISSING, mapping->mark);
		finding_set(&f->what, "key '%s'", rows[i].name);
		finding_set(&f->wanted, "%s", rows[i].wanted);
	}
}

int read_keys(struct policy_reader *in, const struct tree_node *mapping, const struct key_row *rows,
	      size_t count, void *target)
{
	unsigned *seen_at = calloc(count, sizeof(*seen_at)); /* lines, from 1 */
	int r = 0;

	if (!seen_at)
		return -ENOMEM;
	for (const struct tree_node *key = mapping->first; r == 0 && key;
	     key = key->next ? key->next->next : NULL) {
		const struct key_row *row = find_row(in, key, rows, count);
		struct key_value value = {.node = key->next};
		enum verdict verdict;

		if (!row)
			continue;
		if (seen_at[row - rows]) {
			struct finding *f = read_finding(in, FINDING_POLICY_KEY_DOUBLE, key->mark);

			finding_set(&f->what, "key '%s'", row->name);
			finding_set(&f->detail, "first given at line %u", seen_at[row - rows]);
			continue;
		}
		seen_at[row - rows] = key->mark.line;
		if (!value.node ||
		    value.node->refused) /* the text ends behind the key, or an alias: reported already */
			continue;
		verdict = read_value(row, &value);
		if (verdict != GOOD)
			bad_value(in, row, value.node, verdict);
		else
			r = row->set(in, target, &value);
	}
	if (r == 0 && !mapping->open)
		missing_keys(in, mapping, rows, count, seen_at);
	free(seen_at);
	return r;
}
