/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * What a reload would change: an opensm.conf against the options that OpenSM runs with, or against
 * the file that it read last. Values are compared as OpenSM reads them.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "conf.h"

static bool is_none(const char *text)
{
	return !text || !*text || strcmp(text, "(null)") == 0;
}

/* A number as strtoul(…, 0) of OpenSM takes it; false: it takes none. */
static bool number_of(const char *text, unsigned long long *value)
{
	char *end;

	errno = 0;
	*value = strtoull(text, &end, 0);
	return *text && !*end && errno == 0;
}

static unsigned long long most(enum conf_option_type type)
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

/* Whether OpenSM, which has `running`, would have another value after it read `file`. */
static bool changes(enum conf_option_type type, const char *file, const char *running)
{
	unsigned long long a, b;

	switch (type) {
	case OPTION_BOOLEAN:
		return (strcmp(file, "TRUE") == 0) != (running && strcmp(running, "TRUE") == 0);
	case OPTION_U8:
	case OPTION_U16:
	case OPTION_U32:
	case OPTION_U64:
		if (!number_of(file, &a) || a > most(type)) /* it keeps what it has */
			return false;
		return !running || !number_of(running, &b) || a != b;
	case OPTION_TEXT:
		return is_none(file) ? !is_none(running) : is_none(running) || strcmp(file, running) != 0;
	default: /* whole numbers with a sign, lists */
		if (number_of(file, &a) && running && number_of(running, &b))
			return a != b;
		return !running || strcmp(file, running) != 0;
	}
}

/* One value for each SL, under one key: a dump and a file cannot be told apart by the last line. */
static bool is_many(const char *key)
{
	return strncmp(key, "cc_ca_cong_setting_cct", 22) == 0 ||
	       strcmp(key, "cc_ca_cong_setting_trigger_threshold") == 0;
}

int opensm_conf_changes(const struct opensm_conf *file, const struct opensm_conf *running,
			struct opensm_conf_change **found, size_t *count)
{
	const struct conf_option *options;
	size_t option_count, room = 0;

	*found = NULL;
	*count = 0;
	options = conf_options(&option_count);
	for (size_t i = 0; i < option_count; i++) {
		struct opensm_conf_change *grown;
		struct conf_line at;
		const char *value;

		if (!options[i].reloaded || is_many(options[i].name) || !conf_line_of(file, options[i].name, &at) || !at.value)
			continue;
		value = opensm_conf_get(running, options[i].name);
		if (!changes(options[i].type, at.value, value))
			continue;
		grown = array_grow(*found, &room, *count + 1, sizeof(**found));
		if (!grown) {
			free(*found);
			*found = NULL;
			*count = 0;
			return -ENOMEM;
		}
		*found = grown;
		grown[(*count)++] = (struct opensm_conf_change){
			.key = options[i].name,
			.line = at.line,
			.file = conf_shown(options[i].name, at.value),
			.running = value ? conf_shown(options[i].name, value) : NULL,
		};
	}
	return 0;
}
