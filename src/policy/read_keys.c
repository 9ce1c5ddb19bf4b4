/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Mappings of a policy against a table of keys: unknown, doubled and missing keys, values of the
 * wrong type or out of range, all reported, none guessed at.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "read.h"

#define QUOTE_MAX 60 /* bytes of a foreign text shown in a finding */
#define TYPO_MAX 2   /* letters wrong, doubled, missing or swapped in what is still taken for a typing slip */
#define PREFIX_LEAST 2 /* letters of a key that may be one cut short */

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

/* --- keys --- */

/* "one of a, b, c" */
static void set_key_names(char **member, const struct key_table *table)
{
	char *text;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	if (!out)
		return;
	for (size_t i = 0; i < table->count; i++)
		fprintf(out, "%s%s", i ? ", " : "one of ", table->rows[i].name);
	if (text_stream_end(out, &text) == 0)
		finding_set(member, "%s", text);
	free(text);
}

/* The only key that begins so. */
static const struct key_row *longer_key(const char *text, const struct key_table *table)
{
	const struct key_row *found = NULL;
	size_t length = strlen(text);

	for (size_t i = 0; length >= PREFIX_LEAST && i < table->count; i++) {
		if (strncasecmp(table->rows[i].name, text, length) != 0)
			continue;
		if (found)
			return NULL;
		found = &table->rows[i];
	}
	return found;
}

/* The key that may have been meant; NULL: none. */
static const struct key_row *nearest_key(const char *text, const struct key_table *table)
{
	const struct key_row *nearest = NULL, *longer = longer_key(text, table);
	unsigned least = TYPO_MAX + 1;

	for (size_t i = 0; i < table->count; i++) {
		unsigned distance = text_distance(text, table->rows[i].name);

		/* not two letters of a key of two */
		if (distance < least && distance < strlen(table->rows[i].name)) {
			least = distance;
			nearest = &table->rows[i];
		}
	}
	return longer && least > 1 ? longer : nearest;
}

static void unknown_key(struct policy_reader *in, const struct tree_node *key, const struct key_table *table)
{
	struct finding *f = read_finding(in, FINDING_POLICY_KEY_UNKNOWN, key->mark);
	const struct key_row *nearest = nearest_key(key->text, table);

	read_quote(&f->what, key->text);
	read_quote(&f->got, key->text);
	set_key_names(&f->wanted, table);
	if (nearest)
		finding_set(&f->detail, "did you mean '%s'?", nearest->name);
}

void read_set_got(char **member, const struct tree_node *node)
{
	static const char *const kinds[] = {[NODE_SEQUENCE] = "a list", [NODE_MAPPING] = "keys and values"};

	if (node->kind != NODE_SCALAR)
		finding_set(member, "%s", kinds[node->kind]);
	else if (!node->text[0])
		finding_set(member, "%s", node->plain ? "nothing" : "an empty text");
	else
		read_quote(member, node->text);
}

/* "70 %" */
static bool blank_before_percent(const char *text)
{
	const char *end = text + strspn(text, "0123456789.");

	return end > text && (*end == ' ' || *end == '\t') && strcmp(end + strspn(end, " \t"), "%") == 0;
}

static struct finding *bad_value(struct policy_reader *in, const struct key_row *row, const struct tree_node *node,
				 enum verdict verdict)
{
	struct finding *f = read_finding(
		in, verdict == VERDICT_TYPE ? FINDING_POLICY_TYPE : FINDING_POLICY_RANGE, node->mark);

	finding_set(&f->what, "key '%s'", row->name);
	finding_set(&f->wanted, "%s", row->wanted);
	read_set_got(&f->got, node);
	if (verdict == VERDICT_TYPE && node->kind == NODE_SCALAR && !node->plain && node->text[0])
		finding_set(&f->detail, "in quotes it is text");
	if (row->type == VALUE_PERCENT && node->kind == NODE_SCALAR && blank_before_percent(node->text))
		finding_set(&f->detail, "no blank before %%");
	return f;
}

/* The row of a key, or NULL after a finding. */
static const struct key_row *find_row(struct policy_reader *in, const struct tree_node *key,
				      const struct key_table *table)
{
	if (key->kind != NODE_SCALAR) {
		struct finding *f = read_finding(in, FINDING_POLICY_TYPE, key->mark);

		finding_set(&f->what, "key");
		set_key_names(&f->wanted, table);
		finding_set(&f->got, "a list or mapping as a key");
		return NULL;
	}
	if (key->refused)
		return NULL;
	for (size_t i = 0; i < table->count; i++)
		if (strcmp(table->rows[i].name, key->text) == 0)
			return &table->rows[i];
	unknown_key(in, key, table);
	return NULL;
}

static void missing_keys(struct policy_reader *in, const struct tree_node *mapping, const struct key_table *table,
			 const unsigned *seen_at)
{
	for (size_t i = 0; i < table->count; i++) {
		const struct key_row *row = &table->rows[i];
		bool excused = in->draft && row->draft_may_lack;
		struct finding *f;

		if (!row->required || seen_at[i])
			continue;
		f = read_finding(in, FINDING_POLICY_KEY_MISSING, mapping->mark);
		finding_set(&f->what, "key '%s'", row->name);
		finding_set(&f->wanted, "%s", row->wanted);
		if (excused)
			f->severity = FINDING_WARNING;
	}
}

static void key_double(struct policy_reader *in, const struct tree_node *key, unsigned line)
{
	struct finding *f = read_finding(in, FINDING_POLICY_KEY_DOUBLE, key->mark);

	finding_set(&f->what, "key '%s'", key->text);
	finding_set(&f->detail, "first given at line %u", line);
}

/* --- values of keys --- */

static int take_one(struct policy_reader *in, const struct key_row *row, const struct tree_node *node, void *target)
{
	struct key_value value = {.node = node};
	enum verdict verdict;

	if (node->refused) /* an alias: reported already */
		return 0;
	verdict = read_value(row, &value);
	if (verdict == VERDICT_GOOD)
		return row->set(in, target, &value);
	bad_value(in, row, node, verdict);
	return 0;
}

static int take_value(struct policy_reader *in, const struct key_row *row, const struct tree_node *node, void *target)
{
	const struct tree_node *item = node->first;
	unsigned taken = 0;
	int r = 0;

	if (!row->many || node->kind != NODE_SEQUENCE)
		return take_one(in, row, node, target);
	for (; r == 0 && item && taken < row->many; item = item->next, taken++)
		r = take_one(in, row, item, target);
	if (r == 0 && item)
		finding_set(&bad_value(in, row, item, VERDICT_RANGE)->detail, "the list ends at %u", row->many);
	else if (r == 0 && !node->first && !node->open)
		finding_set(&bad_value(in, row, node, VERDICT_RANGE)->got, "an empty list");
	return r;
}

int read_keys(struct policy_reader *in, const struct tree_node *mapping, const struct key_table *table, void *target)
{
	unsigned *seen_at = calloc(table->count, sizeof(*seen_at)); /* lines, from 1 */
	int r = 0;

	if (!seen_at)
		return -ENOMEM;
	for (const struct tree_node *key = mapping->first; r == 0 && key;
	     key = key->next ? key->next->next : NULL) {
		const struct key_row *row = find_row(in, key, table);

		if (!row)
			continue;
		if (seen_at[row - table->rows]) {
			key_double(in, key, seen_at[row - table->rows]);
			continue;
		}
		seen_at[row - table->rows] = key->mark.line;
		if (key->next) /* else the text ends behind the key: reported already */
			r = take_value(in, row, key->next, target);
	}
	if (r == 0 && !mapping->open)
		missing_keys(in, mapping, table, seen_at);
	if (r == 0 && !mapping->open && table->not_empty && !mapping->first)
		finding_set(&read_finding(in, FINDING_POLICY_EMPTY, mapping->mark)->what, "%s", table->what);
	free(seen_at);
	return r;
}

/* --- lists and named things --- */

static void bad_item(struct policy_reader *in, const struct tree_node *node, const struct key_table *table)
{
	struct finding *f;

	if (node->refused)
		return;
	f = read_finding(in, FINDING_POLICY_TYPE, node->mark);
	finding_set(&f->what, "%s", table->what);
	set_key_names(&f->wanted, table);
	if (f->wanted)
		finding_set(&f->wanted, "keys and values: %s", f->wanted + strlen("one of "));
	read_set_got(&f->got, node);
}

int read_list(struct policy_reader *in, const struct tree_node *list, const struct key_table *table, size_t most,
	      void *(*add)(struct policy_reader *in, void *target, struct policy_mark mark), void *target)
{
	const struct tree_node *node = list->first;
	size_t taken = 0;
	int r = 0;

	for (; r == 0 && node && taken < most; node = node->next) {
		void *item;

		if (node->kind != NODE_MAPPING) {
			bad_item(in, node, table);
			continue;
		}
		item = add(in, target, node->mark);
		r = item ? read_keys(in, node, table, item) : -ENOMEM;
		taken++;
	}
	if (r == 0 && (node || (!list->first && !list->open))) {
		struct finding *f = read_finding(in, FINDING_POLICY_RANGE, node ? node->mark : list->mark);

		finding_set(&f->what, "list of a %s each", table->what);
		finding_set(&f->wanted, "1 to %zu", most);
		finding_set(&f->got, "%s", node ? "more" : "none");
	}
	return r;
}

/* A name as a key: the same rule as for a name as a value. */
static bool good_name(struct policy_reader *in, const struct tree_node *key)
{
	static const struct key_row row = {
		.name = "name", .type = VALUE_NAME, .wanted = "a letter, then letters, digits, '_' or '-', 64 at most"};
	struct key_value value = {.node = key};
	enum verdict verdict = read_value(&row, &value);

	if (key->refused)
		return false;
	if (verdict != VERDICT_GOOD)
		finding_set(&bad_value(in, &row, key, verdict)->what, "name");
	return verdict == VERDICT_GOOD;
}

int read_named(struct policy_reader *in, const struct tree_node *mapping, size_t most,
	       int (*each)(struct policy_reader *in, void *target, const struct tree_node *name), void *target)
{
	const struct tree_node *key = mapping->first;
	size_t taken = 0;
	int r = 0;

	for (; r == 0 && key && taken < most; key = key->next ? key->next->next : NULL, taken++) {
		const struct tree_node *first = mapping->first;

		if (!good_name(in, key))
			continue;
		while (first != key && (first->kind != NODE_SCALAR || strcmp(first->text, key->text) != 0))
			first = first->next->next;
		if (first != key)
			key_double(in, key, first->mark.line);
		else if (key->next && !key->next->refused)
			r = each(in, target, key);
	}
	if (r == 0 && key) {
		struct finding *f = read_finding(in, FINDING_POLICY_RANGE, key->mark);

		finding_set(&f->what, "names");
		finding_set(&f->wanted, "at most %zu", most);
		finding_set(&f->got, "more");
	}
	return r;
}
