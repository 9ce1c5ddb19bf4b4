/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * opensm.conf inside this folder: what conf_qos.c needs to know beyond the public calls.
 */
#ifndef OPENSM_CONF_H
#define OPENSM_CONF_H

#include <stdbool.h>

#include "ibqos/opensm.h"

/* Most bytes of a line that OpenSM reads at once: fgets(line, 1023, …) (osm_subnet.c:2236). */
#define CONF_PIECE_MAX 1022u

/* Larger than any opensm.conf by far: keeps the memory of a foreign file in bounds. */
#define CONF_SIZE_MAX (4u << 20)

/* True if the line that sets `key` is read by OpenSM in pieces or up to a NUL, so not as it looks. */
bool opensm_conf_torn(const struct opensm_conf *conf, const char *key);

/* A line, or a piece of one, as OpenSM reads it; the texts are the conf's. */
struct conf_line {
	const char *key, *value; /* NULL: sets nothing */
	unsigned line, key_column, value_column;
	bool torn;
};
/* The nth of all; false: there are no more. */
bool conf_line_at(const struct opensm_conf *conf, size_t n, struct conf_line *line);
/* The last that sets a key; false: none does. */
bool conf_line_of(const struct opensm_conf *conf, const char *key, struct conf_line *line);

/* How OpenSM reads the value of a key. */
enum conf_option_type { OPTION_BOOLEAN, OPTION_U8, OPTION_U16, OPTION_U32, OPTION_U64, OPTION_TEXT, OPTION_OTHER };
struct conf_option {
	const char *name;
	enum conf_option_type type;
	bool reloaded; /* read again on a reload; else at the start only */
};
const struct conf_option *conf_option_find(const char *name); /* NULL: OpenSM knows no such key */
const struct conf_option *conf_options(size_t *count);

/* What may be shown of an option's value: the value, or, of a key (m_key, sm_key, sa_key, cc_key, and what vendors have), that there is one. */
const char *conf_shown(const char *option, const char *value);
bool conf_is_secret(const char *option);

#endif
