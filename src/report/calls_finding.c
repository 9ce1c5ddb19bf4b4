/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* A finding as a JSON object and back, by one table of its members. What has its plain value is not written. */
#include "calls.h"

#include <errno.h>
#include <json-c/json.h>
#include <limits.h>
#include <math.h>
#include <stddef.h>
#include <string.h>

#include "ibqos/report.h"

enum member_kind { MEMBER_TEXT, MEMBER_GUID, MEMBER_PORT, MEMBER_UNSIGNED, MEMBER_TIME, MEMBER_BOOL, MEMBER_REAL };

static const struct {
	const char *key;
	enum member_kind kind;
	size_t offset;
} members[] = {
	{"guid", MEMBER_GUID, offsetof(struct finding, guid)},
	{"port", MEMBER_PORT, offsetof(struct finding, port)},
	{"name", MEMBER_TEXT, offsetof(struct finding, name)},
	{"peer_guid", MEMBER_GUID, offsetof(struct finding, peer_guid)},
	{"peer_port", MEMBER_PORT, offsetof(struct finding, peer_port)},
	{"peer_name", MEMBER_TEXT, offsetof(struct finding, peer_name)},
	{"file", MEMBER_TEXT, offsetof(struct finding, file)},
	{"line", MEMBER_UNSIGNED, offsetof(struct finding, line)},
	{"column", MEMBER_UNSIGNED, offsetof(struct finding, column)},
	{"what", MEMBER_TEXT, offsetof(struct finding, what)},
	{"wanted", MEMBER_TEXT, offsetof(struct finding, wanted)},
	{"got", MEMBER_TEXT, offsetof(struct finding, got)},
	{"detail", MEMBER_TEXT, offsetof(struct finding, detail)},
	{"first_seen", MEMBER_TIME, offsetof(struct finding, first_seen)},
	{"seen_before", MEMBER_BOOL, offsetof(struct finding, seen_before)},
	{"of_file", MEMBER_BOOL, offsetof(struct finding, of_file)},
	{"told_by_another", MEMBER_BOOL, offsetof(struct finding, told_by_another)},
	{"weight", MEMBER_REAL, offsetof(struct finding, weight)},
};
#define MEMBERS (sizeof(members) / sizeof(members[0]))

/* --- out --- */

static bool add(struct json_object *object, const char *key, struct json_object *value)
{
	return value && json_object_object_add(object, key, value) == 0;
}

/* True also where there is nothing to say. */
static bool add_member(struct json_object *object, const struct finding *f, size_t i)
{
	const void *at = (const char *)f + members[i].offset;
	char text[40];

	switch (members[i].kind) {
	case MEMBER_TEXT: {
		const char *string = *(char *const *)at;

		return !string || add(object, members[i].key, json_object_new_string(string));
	}
	case MEMBER_GUID:
		snprintf(text, sizeof(text), "0x%016llx", (unsigned long long)*(const uint64_t *)at);
		return *(const uint64_t *)at == 0 || add(object, members[i].key, json_object_new_string(text));
	case MEMBER_PORT:
		return *(const int *)at < 0 || add(object, members[i].key, json_object_new_int(*(const int *)at));
	case MEMBER_UNSIGNED:
		return *(const unsigned *)at == 0 || add(object, members[i].key, json_object_new_uint64(*(const unsigned *)at));
	case MEMBER_TIME:
		return *(const uint64_t *)at == 0 || add(object, members[i].key, json_object_new_uint64(*(const uint64_t *)at));
	case MEMBER_BOOL:
		return !*(const bool *)at || add(object, members[i].key, json_object_new_boolean(1));
	case MEMBER_REAL:
		snprintf(text, sizeof(text), "%.17g", *(const double *)at);
		return fpclassify(*(const double *)at) == FP_ZERO || !isfinite(*(const double *)at) ||
		       add(object, members[i].key, json_object_new_double_s(*(const double *)at, text));
	}
	return false;
}

struct json_object *calls_of_finding(const struct finding *f)
{
	const struct finding_cause_kind *cause = finding_cause_kind(f->cause);
	struct json_object *object = json_object_new_object();
	bool good;

	if (!object)
		return NULL;
	good = add(object, "code", json_object_new_string(finding_kind(f->code)->code)) &&
	       add(object, "severity", json_object_new_string(finding_severity_name(f->severity))) &&
	       (!cause || add(object, "cause", json_object_new_string(cause->name)));
	for (size_t i = 0; good && i < MEMBERS; i++)
		good = add_member(object, f, i);
	if (good)
		return object;
	json_object_put(object);
	return NULL;
}

/* --- and in --- */

static bool get_number(struct json_object *value, uint64_t max, uint64_t *number)
{
	if (!json_object_is_type(value, json_type_int) || json_object_get_int64(value) < 0)
		return false;
	*number = json_object_get_uint64(value);
	return *number <= max;
}

static bool set_member(struct finding *f, size_t i, struct json_object *value)
{
	void *at = (char *)f + members[i].offset;
	bool is_text = json_object_is_type(value, json_type_string);
	uint64_t number = 0;

	switch (members[i].kind) {
	case MEMBER_TEXT:
		if (!is_text)
			return false;
		finding_set((char **)at, "%s", json_object_get_string(value));
		return true;
	case MEMBER_GUID:
		return is_text && text_to_u64(json_object_get_string(value), UINT64_MAX, (uint64_t *)at) == 0;
	case MEMBER_PORT:
		if (!get_number(value, 255, &number))
			return false;
		*(int *)at = (int)number;
		return true;
	case MEMBER_UNSIGNED:
		if (!get_number(value, UINT_MAX, &number))
			return false;
		*(unsigned *)at = (unsigned)number;
		return true;
	case MEMBER_TIME:
		return get_number(value, UINT64_MAX, (uint64_t *)at);
	case MEMBER_BOOL:
		*(bool *)at = json_object_get_boolean(value);
		return json_object_is_type(value, json_type_boolean);
	case MEMBER_REAL:
		*(double *)at = json_object_get_double(value);
		return (json_object_is_type(value, json_type_double) || json_object_is_type(value, json_type_int)) &&
		       isfinite(*(double *)at);
	}
	return false;
}

static const char *string_of(struct json_object *object, const char *key)
{
	struct json_object *value;

	return json_object_object_get_ex(object, key, &value) && json_object_is_type(value, json_type_string)
		       ? json_object_get_string(value)
		       : NULL;
}

static bool is_known(const char *key)
{
	for (size_t i = 0; i < MEMBERS; i++)
		if (strcmp(members[i].key, key) == 0)
			return true;
	return strcmp(key, "code") == 0 || strcmp(key, "severity") == 0 || strcmp(key, "cause") == 0;
}

int calls_to_finding(struct json_object *object, const char *fabric, struct finding_list *findings, const char **why)
{
	enum finding_cause cause = CAUSE_NONE;
	enum finding_severity severity;
	enum finding_code code;
	struct json_object *value;
	struct finding *f;

	*why = "a finding that is none";
	if (!json_object_is_type(object, json_type_object))
		return -EINVAL;
	json_object_object_foreach(object, key, unused)
	{
		(void)unused;
		if (!is_known(key)) {
			*why = "a finding with members that this ibqos does not know";
			return -EINVAL;
		}
	}
	if (!string_of(object, "code") || finding_code_of(string_of(object, "code"), &code) != 0) {
		*why = "a finding of a code that this ibqos does not know";
		return -EINVAL;
	}
	if (!string_of(object, "severity") || finding_severity_of(string_of(object, "severity"), &severity) != 0)
		return -EINVAL;
	if (json_object_object_get_ex(object, "cause", &value) &&
	    (!string_of(object, "cause") || finding_cause_of(string_of(object, "cause"), &cause) != 0))
		return -EINVAL;
	f = finding_add(findings, code);
	f->severity = severity;
	f->cause = cause;
	if (fabric)
		finding_set(&f->fabric, "%s", fabric);
	for (size_t i = 0; i < MEMBERS; i++)
		if (json_object_object_get_ex(object, members[i].key, &value) && !set_member(f, i, value))
			return -EINVAL;
	return findings->lost ? -ENOMEM : 0;
}
