/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Reading a qos-policy file, inside this folder: its words (policy_lex.c) → values (policy_value.c) →
 * sections (policy_file.c, policy_ulps.c, policy_setup.c) → the whole (policy_whole.c).
 */
#ifndef OPENSM_POLICY_FILE_H
#define OPENSM_POLICY_FILE_H

#include "policy_lex.h"

#define POLICY_FILE_MAX (4u << 20)
/* Room for a text in OpenSM's parser, which does not look whether it is enough (osm_qos_parser_y.y:60). */
#define POLICY_TEXT_MAX (10u * 1024 - 1)

struct policy_parser {
	const char *path;
	struct finding_list *findings;
	struct opensm_policy_file *file;
	struct lexer lexer;
	struct lex_token next;
	struct opensm_file_rule *ulps; /* rules of qos-ulps, put behind the others at the end */
	size_t ulp_count, ulp_room;
	bool ulp_default; /* `default` of qos-ulps was read */
	unsigned ulp_default_sl;
	struct opensm_mark ulp_default_mark;
	int error; /* -ENOMEM */
};

/*
 * Functions that read return false where OpenSM stops, which has been told then, or when out of memory
 * (parser->error).
 */

/* --- words and values (policy_value.c) --- */

void parser_step(struct policy_parser *p);
bool parser_take(struct policy_parser *p, enum lex_kind kind);	 /* takes it if it comes next */
bool parser_expect(struct policy_parser *p, enum lex_kind kind); /* the same, or a syntax error */
bool parser_syntax(struct policy_parser *p, const char *wanted); /* always false */
bool parser_no_memory(struct policy_parser *p);			 /* always false */
/* OpenSM refuses the file: always false. */
__attribute__((format(printf, 4, 5))) bool parser_refuse(struct policy_parser *p, struct opensm_mark mark,
							   const char *what, const char *format, ...);
/* Something doubtful: a finding at the mark. */
struct finding *parser_tell(struct policy_parser *p, enum finding_code code, struct opensm_mark mark);

bool parse_number(struct policy_parser *p, uint64_t *value);
bool parse_text(struct policy_parser *p, struct opensm_name *name);
bool parse_names(struct policy_parser *p, struct opensm_names *names);
/* Ranges, added to those that there are. */
bool parse_ranges(struct policy_parser *p, struct opensm_ranges *ranges);
/* Of partition keys: OpenSM drops the membership bit of each end, then puts them in order. */
bool parse_pkeys(struct policy_parser *p, struct opensm_ranges *ranges);
/* Of GUIDs of ports, which OpenSM counts through. */
bool parse_guids(struct policy_parser *p, struct opensm_ranges *ranges);

int ranges_put(struct opensm_ranges *ranges, uint64_t low, uint64_t high);
void names_free(struct opensm_names *names);

/* --- sections --- */

bool parse_ulps(struct policy_parser *p);  /* behind `qos-ulps` */
bool parse_setup(struct policy_parser *p); /* behind `qos-setup` */

struct opensm_file_group *add_group(struct policy_parser *p, struct opensm_mark mark);
void rule_clear(struct opensm_file_rule *rule);

/* Names resolved, as osm_qos_policy_validate() does. */
bool parse_finish(struct policy_parser *p);

#endif
