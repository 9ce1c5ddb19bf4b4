/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The policy language as a JSON Schema (draft 2020-12), for editors: from the tables that read it.
 * It knows no relations between keys; `ibqos lint` does.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <json-c/json.h>

#include "read.h"

#define NAME_PATTERN "^[A-Za-z][A-Za-z0-9_-]{0,63}$"

static struct json_object *text(const char *value)
{
	return json_object_new_string(value);
}

static struct json_object *object_type(const char *type)
{
	struct json_object *o = json_object_new_object();

	json_object_object_add(o, "type", text(type));
	return o;
}

static struct json_object *number(uint64_t value)
{
	return json_object_new_uint64(value);
}

/* What is left of markup for a reader of plain text. */
static struct json_object *plain(const char *doc)
{
	char *copy = strdup(doc), *to = copy;
	struct json_object *o;

	for (const char *from = doc; copy && *from; from++)
		if (*from != '`')
			*to++ = *from;
	if (copy)
		*to = '\0';
	o = copy ? text(copy) : NULL;
	free(copy);
	return o;
}

static struct json_object *of_table(const struct key_table *table);

static struct json_object *list_of(struct json_object *item, uint64_t most)
{
	struct json_object *o = object_type("array");

	json_object_object_add(o, "items", item);
	json_object_object_add(o, "minItems", number(1));
	if (most)
		json_object_object_add(o, "maxItems", number(most));
	return o;
}

static struct json_object *pattern(const char *regex)
{
	struct json_object *o = object_type("string");

	json_object_object_add(o, "pattern", text(regex));
	return o;
}

static struct json_object *either(struct json_object *a, struct json_object *b)
{
	struct json_object *o = json_object_new_object(), *any = json_object_new_array();

	json_object_array_add(any, a);
	json_object_array_add(any, b);
	json_object_object_add(o, "anyOf", any);
	return o;
}

static struct json_object *integer(const struct key_row *row)
{
	struct json_object *o = object_type("integer");

	json_object_object_add(o, "minimum", number(row->min));
	json_object_object_add(o, "maximum", number(row->max));
	return o;
}

static struct json_object *choice(const struct key_row *row)
{
	struct json_object *o = json_object_new_object(), *names = json_object_new_array();

	for (unsigned i = 0; row->choices[i]; i++)
		json_object_array_add(names, text(row->choices[i]));
	json_object_object_add(o, "enum", names);
	return o;
}

static struct json_object *percent(void)
{
	struct json_object *o = object_type("number");

	json_object_object_add(o, "exclusiveMinimum", number(0));
	json_object_object_add(o, "maximum", number(100));
	return either(pattern("^[0-9]+(\\.[0-9]+)?%?$"), o);
}

static struct json_object *named(const struct key_row *row)
{
	struct json_object *o = object_type("object"), *names = json_object_new_object();

	json_object_object_add(names, NAME_PATTERN, list_of(of_table(row->keys), 0));
	json_object_object_add(o, "patternProperties", names);
	json_object_object_add(o, "additionalProperties", json_object_new_boolean(0));
	return o;
}

static struct json_object *one_value(const struct key_row *row)
{
	switch (row->type) {
	case VALUE_INTEGER:
		return integer(row);
	case VALUE_NUMBER: /* YAML readers differ in whether 0x1f is a number */
		return either(integer(row), pattern("^(0x[0-9a-fA-F]+|[0-9]+)$"));
	case VALUE_RANGE:
		return either(integer(row), pattern("^(0x[0-9a-fA-F]+|[0-9]+)(-(0x[0-9a-fA-F]+|[0-9]+))?$"));
	case VALUE_PERCENT:
		return percent();
	case VALUE_BOOLEAN:
		return object_type("boolean");
	case VALUE_CHOICE:
		return choice(row);
	case VALUE_NAME:
		return pattern(NAME_PATTERN);
	case VALUE_PATTERN:
	case VALUE_TEXT:
		return object_type("string");
	case VALUE_DATE:
		return pattern("^[0-9]{4}-[0-9]{2}-[0-9]{2}$");
	case VALUE_PATH:
		return pattern("^/");
	case VALUE_SL2VL:
		return pattern("^[0-9]+(,[0-9]+){15}$");
	case VALUE_VLARB:
		return pattern("^[0-9]+:[0-9]+(,[0-9]+:[0-9]+){0,63}$");
	case VALUE_MAPPING:
		return of_table(row->keys);
	case VALUE_LIST:
		return list_of(of_table(row->keys), 0);
	case VALUE_NAMED:
		return named(row);
	}
	return NULL;
}

static struct json_object *of_row(const struct key_row *row)
{
	struct json_object *o = one_value(row);

	if (row->many)
		o = either(o, list_of(one_value(row), row->many));
	json_object_object_add(o, "description", plain(row->doc));
	return o;
}

static struct json_object *of_table(const struct key_table *table)
{
	struct json_object *o = object_type("object"), *keys = json_object_new_object();
	struct json_object *required = json_object_new_array();

	for (size_t i = 0; i < table->count; i++) {
		json_object_object_add(keys, table->rows[i].name, of_row(&table->rows[i]));
		if (table->rows[i].required)
			json_object_array_add(required, text(table->rows[i].name));
	}
	json_object_object_add(o, "properties", keys);
	if (json_object_array_length(required))
		json_object_object_add(o, "required", required);
	else
		json_object_put(required);
	json_object_object_add(o, "additionalProperties", json_object_new_boolean(0));
	return o;
}

int schema_write(FILE *out, const struct key_table *table, const char *title)
{
	struct json_object *o = of_table(table);
	const char *json;
	int r = 0;

	json_object_object_add(o, "$schema", text("https://json-schema.org/draft/2020-12/schema"));
	json_object_object_add(o, "title", text(title));
	json = json_object_to_json_string_ext(o, JSON_C_TO_STRING_PRETTY | JSON_C_TO_STRING_NOSLASHESCAPE);
	if (!json)
		r = -ENOMEM;
	else if (fprintf(out, "%s\n", json) < 0)
		r = -errno;
	json_object_put(o);
	return r;
}

int policy_schema(FILE *out)
{
	return schema_write(out, &policy_key_table, "ibqos policy, version 1");
}
