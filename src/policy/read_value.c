/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Single values of a policy, each of one form only: what looks like two things is none.
 */
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "read.h"

#define PERCENT_DIGITS 15 /* a double holds them all exactly */
#define NUMBER_LENGTH 20  /* digits of the largest number, or 0x and its hexadecimal digits */
#define PATTERN_MAX 256

/* --- numbers --- */

/* Decimal, no leading zeros, no sign but '-', which is then out of range: nothing else looks like one value
 * only. */
static enum verdict read_integer(const struct key_row *row, struct key_value *value)
{
	const char *text = value->node->text, *digits = text + (text[0] == '-');
	size_t length = strspn(digits, "0123456789");
	uint64_t number;

	if (!value->node->plain || length == 0 || digits[length] || (digits[0] == '0' && length > 1))
		return VERDICT_TYPE;
	if (digits != text || text_to_u64(digits, row->max, &number) < 0 || number < row->min)
		return VERDICT_RANGE;
	value->number = (unsigned)number;
	return VERDICT_GOOD;
}

/* One number of at most `length` bytes, as of text_to_u64(). */
static enum verdict read_bounded(const struct key_row *row, const char *text, size_t length, uint64_t *number)
{
	bool negative = length > 0 && text[0] == '-';
	char copy[NUMBER_LENGTH + 1];
	int ret;

	text += negative;
	length -= negative;
	if (length > NUMBER_LENGTH) /* still a number, if it is all digits */
		return strspn(text, "0123456789") >= length && text[0] != '0' ? VERDICT_RANGE : VERDICT_TYPE;
	memcpy(copy, text, length);
	copy[length] = '\0';
	ret = text_to_u64(copy, row->max, number);
	if (ret == -EINVAL)
		return VERDICT_TYPE;
	return ret < 0 || negative || *number < row->min ? VERDICT_RANGE : VERDICT_GOOD;
}

static enum verdict read_range(const struct key_row *row, struct key_value *value)
{
	const char *text = value->node->text, *dash;
	enum verdict low, high;

	if (!value->node->plain || !*text)
		return VERDICT_TYPE;
	dash = row->type == VALUE_RANGE ? strchr(text + 1, '-') : NULL;
	low = read_bounded(row, text, dash ? (size_t)(dash - text) : strlen(text), &value->low);
	value->high = value->low;
	if (!dash || low == VERDICT_TYPE)
		return low;
	high = read_bounded(row, dash + 1, strlen(dash + 1), &value->high);
	if (high == VERDICT_TYPE || dash[1] == '-')
		return VERDICT_TYPE;
	return low == VERDICT_GOOD && high == VERDICT_GOOD && value->low <= value->high ? VERDICT_GOOD : VERDICT_RANGE;
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
		return VERDICT_TYPE;
	if (text != node->text || whole + fraction > PERCENT_DIGITS)
		return VERDICT_RANGE;
	for (size_t i = 0; i < whole + fraction; i++)
		digits = digits * 10 + (uint64_t)(text[i < whole ? i : i + 1] - '0');
	for (size_t i = 0; i < fraction; i++)
		scale *= 10;
	*percent = (double)digits / (double)scale;
	return *percent > 0 && *percent <= 100 ? VERDICT_GOOD : VERDICT_RANGE;
}

/* --- words --- */

static enum verdict read_boolean(const struct tree_node *node, unsigned *flag)
{
	*flag = strcmp(node->text, "true") == 0;
	return node->plain && (*flag || strcmp(node->text, "false") == 0) ? VERDICT_GOOD : VERDICT_TYPE;
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
			return VERDICT_GOOD;
	return is_text(node) ? VERDICT_RANGE : VERDICT_TYPE;
}

static enum verdict read_name(const struct tree_node *node)
{
	static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
	const char *text = node->text;

	if (!is_text(node))
		return VERDICT_TYPE;
	if (!strchr(letters, *text) ||
	    text[strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
			      "0123456789_-")])
		return VERDICT_RANGE;
	return strlen(text) <= POLICY_NAME_MAX ? VERDICT_GOOD : VERDICT_RANGE;
}

/* Printable text: node names were made so, and no other could match one. */
static enum verdict read_pattern(const struct tree_node *node)
{
	size_t left = strlen(node->text);

	if (!is_text(node))
		return VERDICT_TYPE;
	if (left > PATTERN_MAX)
		return VERDICT_RANGE;
	for (const char *c = node->text; left > 0;) {
		size_t length = text_char(c, left);

		if (length == 0)
			return VERDICT_RANGE;
		c += length;
		left -= length;
	}
	return VERDICT_GOOD;
}

/* A day that is none, as 2026-02-30, is out of range. */
static enum verdict read_date(const struct tree_node *node, unsigned *days)
{
	const char *shape = "0000-00-00";

	for (size_t i = 0; i < strlen(shape); i++)
		if (shape[i] == '0' ? !strchr("0123456789", node->text[i]) || !node->text[i] : node->text[i] != shape[i])
			return VERDICT_TYPE;
	if (node->text[strlen(shape)])
		return VERDICT_TYPE;
	return policy_date_of(node->text, days) == 0 ? VERDICT_GOOD : VERDICT_RANGE;
}

static enum verdict read_path(const struct tree_node *node)
{
	const char *text = node->text;

	if (!is_text(node))
		return VERDICT_TYPE;
	for (const char *c = text; *c; c++)
		if ((unsigned char)*c < ' ' || *c == 0x7f)
			return VERDICT_RANGE;
	return *text == '/' && strlen(text) < PATH_MAX ? VERDICT_GOOD : VERDICT_RANGE;
}

static enum verdict read_table(const struct key_row *row, const struct tree_node *node)
{
	struct qos_sl2vl sl2vl;
	struct qos_vlarb vlarb;

	if (!is_text(node))
		return VERDICT_TYPE;
	if (row->type == VALUE_SL2VL)
		return qos_sl2vl_parse(node->text, &sl2vl) ? VERDICT_GOOD : VERDICT_RANGE;
	return qos_vlarb_parse(node->text, &vlarb) ? VERDICT_GOOD : VERDICT_RANGE;
}

enum verdict read_value(const struct key_row *row, struct key_value *value)
{
	const struct tree_node *node = value->node;

	if (row->type == VALUE_LIST)
		return node->kind == NODE_SEQUENCE ? VERDICT_GOOD : VERDICT_TYPE;
	if (row->type == VALUE_MAPPING || row->type == VALUE_NAMED)
		return node->kind == NODE_MAPPING ? VERDICT_GOOD : VERDICT_TYPE;
	if (node->kind != NODE_SCALAR)
		return VERDICT_TYPE;
	switch (row->type) {
	case VALUE_INTEGER:
		return read_integer(row, value);
	case VALUE_NUMBER:
	case VALUE_RANGE:
		return read_range(row, value);
	case VALUE_PERCENT:
		return read_percent(node, &value->percent);
	case VALUE_BOOLEAN:
		return read_boolean(node, &value->number);
	case VALUE_CHOICE:
		return read_choice(node, row->choices, &value->number);
	case VALUE_NAME:
		return read_name(node);
	case VALUE_PATTERN:
	case VALUE_TEXT:
		return read_pattern(node);
	case VALUE_DATE:
		return read_date(node, &value->number);
	case VALUE_SL2VL:
	case VALUE_VLARB:
		return read_table(row, node);
	default:
		return read_path(node);
	}
}

/* --- lists of values --- */

int ranges_add(struct policy_ranges *ranges, uint64_t low, uint64_t high, struct policy_mark mark)
{
	struct policy_range *items =
		array_grow(ranges->items, &ranges->room, ranges->count + 1, sizeof(*ranges->items));

	if (!items)
		return -ENOMEM;
	ranges->items = items;
	items[ranges->count++] = (struct policy_range){low, high, mark};
	return 0;
}

int texts_add(struct policy_texts *texts, const struct tree_node *node)
{
	struct policy_text *items = array_grow(texts->items, &texts->room, texts->count + 1, sizeof(*texts->items));

	if (!items)
		return -ENOMEM;
	texts->items = items;
	items[texts->count].mark = node->mark;
	items[texts->count].text = strdup(node->text);
	if (!items[texts->count].text)
		return -ENOMEM;
	texts->count++;
	return 0;
}

void texts_free(struct policy_texts *texts)
{
	for (size_t i = 0; i < texts->count; i++)
		free(texts->items[i].text);
	free(texts->items);
}

int text_set(char **member, const char *text)
{
	*member = strdup(text);
	return *member ? 0 : -ENOMEM;
}
