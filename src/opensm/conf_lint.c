/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * An opensm.conf looked over line by line: keys that OpenSM does not know, values that it does not take
 * or takes for something else. It says so on its standard output and to syslog only, cut at 128 bytes, or
 * not at all (osm_subnet.c: opts_parse_*, log_report).
 */
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "conf_lint.h"

#define SHOWN 64
#define BOM "\xef\xbb\xbf"

struct finding *lint_tell(struct lint *l, enum finding_code code, const struct conf_line *line)
{
	struct finding *f = finding_at(finding_add(l->findings, code), l->path, line->line,
				       line->value_column ? line->value_column : line->key_column);

	finding_set(&f->what, "key '%.*s'", SHOWN, line->key);
	return f;
}

/* --- keys --- */

/* What a key that OpenSM does not know may have been meant for; NULL: nothing. */
static const struct conf_option *nearest(const char *key, size_t length)
{
	size_t count;
	const struct conf_option *options = conf_options(&count);

	for (size_t i = 0; i < count; i++)
		if (strlen(options[i].name) == length && strncasecmp(options[i].name, key, length) == 0)
			return &options[i];
	return NULL;
}

static void unknown_key(struct lint *l, const struct conf_line *line)
{
	size_t length = strcspn(line->key, "=:,");
	const struct conf_option *meant = nearest(line->key, length);
	struct finding *f = lint_tell(l, FINDING_OPENSM_KEY_UNKNOWN, line);

	f->column = line->key_column;
	if (strcmp(line->key, "\r") == 0) { /* an empty line of a file with CRLF */
		finding_set(&f->what, "carriage return");
		finding_set(&f->detail, "an empty line that ends with CRLF; it does no harm");
		f->severity = FINDING_NOTE;
	} else if (strncmp(line->key, BOM, strlen(BOM)) == 0) {
		finding_set(&f->detail, "a byte order mark stands before it, which OpenSM takes for a part of it");
	} else if (meant && line->key[length]) {
		finding_set(&f->detail, "OpenSM wants a blank between key and value: %s VALUE", meant->name);
	} else if (meant) {
		finding_set(&f->detail, "keys are compared letter by letter: %s", meant->name);
	}
}

/* The later line that sets the key otherwise; true if there is one. */
static bool later(const struct lint *l, size_t n, const struct conf_line *line, struct conf_line *other)
{
	for (size_t i = n + 1; conf_line_at(l->conf, i, other); i++)
		if (other->key && strcmp(other->key, line->key) == 0)
			return true;
	return false;
}

static void key_twice(struct lint *l, size_t n, const struct conf_line *line)
{
	struct conf_line last;
	struct finding *f;

	if (!later(l, n, line, &last) || strcmp(last.value, line->value) == 0)
		return;
	f = lint_tell(l, FINDING_OPENSM_KEY_TWICE, line);
	f->column = line->key_column;
	finding_set(&f->got, "%.*s", SHOWN, conf_shown(line->key, line->value));
	finding_set(&f->detail, "line %u sets it to %.*s", last.line, SHOWN, conf_shown(line->key, last.value));
}

/* --- values --- */

static void check_boolean(struct lint *l, const struct conf_line *line)
{
	struct finding *f;

	/* `qos` is told of where the tables are read (opensm_conf_get_qos()) */
	if (strcmp(line->value, "TRUE") == 0 || strcmp(line->value, "FALSE") == 0 || strcmp(line->key, "qos") == 0)
		return;
	f = lint_tell(l, FINDING_OPENSM_VALUE_DOUBTFUL, line);
	finding_set(&f->wanted, "TRUE or FALSE, in capitals");
	finding_set(&f->got, "%.*s", SHOWN, conf_shown(line->key, line->value));
	finding_set(&f->detail, "OpenSM reads FALSE");
}

static uint64_t option_max(enum conf_option_type type)
{
	switch (type) {
	case OPTION_U8:
		return UINT8_MAX;
	case OPTION_U16:
		return UINT16_MAX;
	case OPTION_U32:
		return UINT32_MAX;
	default:
		return UINT64_MAX;
	}
}

static void value_ignored(struct lint *l, const struct conf_line *line, uint64_t max)
{
	struct finding *f = lint_tell(l, FINDING_OPENSM_VALUE_IGNORED, line);

	finding_set(&f->wanted, "a number from 0 to %ju and nothing behind it", (uintmax_t)max);
	finding_set(&f->got, "%.*s", SHOWN, *line->value ? conf_shown(line->key, line->value) : "nothing");
	finding_set(&f->detail, "what an earlier line says stays, or what OpenSM has it at");
}

/* opts_strtoul(): the whole text, in C's forms of numbers. */
static void check_number(struct lint *l, const struct conf_line *line, enum conf_option_type type)
{
	uint64_t max = option_max(type), number;
	char *end;

	errno = 0;
	number = strtoull(line->value, &end, 0);
	if (!*line->value || *end || number > max || (number == ULLONG_MAX && errno == ERANGE)) {
		value_ignored(l, line, max);
	} else if (line->value[0] == '0' && line->value[1] >= '0' && line->value[1] <= '9') {
		struct finding *f = lint_tell(l, FINDING_OPENSM_VALUE_DOUBTFUL, line);

		finding_set(&f->wanted, "a number without leading zeros");
		finding_set(&f->got, "%.*s", SHOWN, conf_shown(line->key, line->value));
		if (conf_is_secret(line->key))
			finding_set(&f->detail, "a leading zero makes it octal");
		else
			finding_set(&f->detail, "a leading zero makes it octal: OpenSM reads %ju", (uintmax_t)number);
	}
}

static void check_value(struct lint *l, const struct conf_line *line)
{
	const struct conf_option *option = conf_option_find(line->key);

	if (option->type == OPTION_BOOLEAN)
		check_boolean(l, line);
	else if (option->type != OPTION_TEXT && option->type != OPTION_OTHER)
		check_number(l, line, option->type);
}

bool lint_number(const struct lint *l, const char *key, uint64_t max, uint64_t *number, struct conf_line *from)
{
	bool found = false;
	struct conf_line line;

	/* of numbers the last that OpenSM takes counts, not the last line */
	for (size_t n = 0; conf_line_at(l->conf, n, &line); n++) {
		uint64_t value;
		char *end;

		if (!line.key || strcmp(line.key, key) != 0)
			continue;
		value = strtoull(line.value, &end, 0);
		if (!*line.value || *end || value > max)
			continue;
		*number = value;
		*from = line;
		found = true;
	}
	return found;
}

/* --- what is out of range and taken all the same --- */

static void check_range(struct lint *l, const char *key, uint64_t low, uint64_t high, const char *detail)
{
	struct conf_line line;
	struct finding *f;
	uint64_t number;

	if (!lint_number(l, key, UINT8_MAX, &number, &line) || (number >= low && number <= high))
		return;
	f = lint_tell(l, FINDING_OPENSM_VALUE_RANGE, &line);
	finding_set(&f->wanted, "%ju to %ju", (uintmax_t)low, (uintmax_t)high);
	finding_set(&f->got, "%ju", (uintmax_t)number);
	finding_set(&f->detail, "%s", detail);
}

/* Of no effect but on messages of torus-2QoS (osm_qos.c:607-613). */
static void check_max_vls(struct lint *l, const struct conf_line *line)
{
	size_t length = strlen(line->key), end = strlen("max_vls");

	if (strncmp(line->key, "qos_", 4) == 0 && length > end && strcmp(line->key + length - end, "max_vls") == 0)
		lint_tell(l, FINDING_OPENSM_KEY_UNUSED, line);
}

/* --- files --- */

static void check_file(struct lint *l, const char *key, const char *what)
{
	struct conf_line line;
	const char *fault = NULL;
	struct finding *f;

	if (!conf_line_of(l->conf, key, &line))
		return;
	if (!*line.value || strcmp(line.value, "(null)") == 0)
		fault = strcmp(key, "qos_policy_file") == 0 ? "it reads no qos-policy file, and says so on each sweep"
							     : "it reads its default file";
	else if (*line.value != '/')
		fault = "it looks for it from the folder in which it was started";
	if (!fault)
		return;
	f = lint_tell(l, FINDING_OPENSM_FILE_NAME, &line);
	finding_set(&f->wanted, "the absolute path of its %s", what);
	finding_set(&f->got, "%.*s", SHOWN, *line.value ? line.value : "nothing");
	finding_set(&f->detail, "%s", fault);
}

/* --- routing --- */

/* Nue with one VL, its default, leaves the SL alone (osm_subnet.c:1678). */
bool opensm_engine_owns_sls(const struct opensm_conf *conf, const char *engine)
{
	static const char *const owners[] = {"torus-2QoS", "lash", "dfsssp"};
	const char *nue = opensm_conf_get(conf, "nue_max_num_vls");

	for (size_t i = 0; i < sizeof(owners) / sizeof(owners[0]); i++)
		if (strcasecmp(engine, owners[i]) == 0)
			return true;
	return strcasecmp(engine, "nue") == 0 && nue && strtoul(nue, NULL, 0) != 1;
}

static int check_routing(struct lint *l)
{
	struct conf_line line;
	char *list, *state;

	if (!conf_line_of(l->conf, "routing_engine", &line))
		return 0;
	list = strdup(line.value);
	if (!list)
		return -ENOMEM;
	for (char *engine = strtok_r(list, ", \t\r\n", &state); engine; engine = strtok_r(NULL, ", \t\r\n", &state)) {
		struct finding *f;

		if (!opensm_engine_owns_sls(l->conf, engine))
			continue;
		f = lint_tell(l, FINDING_PLAN_ROUTING_OWNS_SL, &line);
		finding_set(&f->got, "%.*s", SHOWN, engine);
	}
	free(list);
	return 0;
}

/* --- the whole --- */

static void check_line(struct lint *l, size_t n, const struct conf_line *line)
{
	if (!line->key)
		return;
	if (line->torn)
		lint_tell(l, FINDING_OPENSM_LINE_LONG, line);
	if (!conf_option_find(line->key)) {
		unknown_key(l, line);
		return;
	}
	key_twice(l, n, line);
	check_value(l, line);
	check_max_vls(l, line);
}

int opensm_conf_lint(const struct opensm_conf *conf, const char *path, struct finding_list *findings)
{
	struct lint l = {.conf = conf, .path = path, .findings = findings};
	struct conf_line line;
	int r;

	for (size_t n = 0; conf_line_at(conf, n, &line); n++)
		check_line(&l, n, &line);
	check_range(&l, "max_op_vls", 1, 5, "a code: 1, 2, 3, 4, 5 for 1, 2, 4, 8, 15 VLs; other ports get what is not known");
	check_range(&l, "sm_sl", 0, QOS_SLS - 1, "an SL has 4 bits");
	check_file(&l, "qos_policy_file", "qos-policy file");
	check_file(&l, "partition_config_file", "partitions file");
	r = check_routing(&l);
	if (r == 0)
		r = lint_tables(&l);
	return r == 0 && findings->lost ? -ENOMEM : r;
}
