/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Reading a policy, inside this folder: text → tree of nodes with places (read_yaml.c) → typed
 * values (read_value.c) by tables of keys (read_keys.c) → policy (read.c: the whole, read_class.c,
 * read_parts.c, read_links.c, read_counters.c) → checks (read_check.c, read_check_parts.c, read_check_rules.c,
 * read_check_doubts.c).
 */
#ifndef POLICY_READ_H
#define POLICY_READ_H

#include <stdbool.h>
#include <stddef.h>

#include "ibqos/policy.h"

/* A policy that a person wrote is far smaller; keeps time and memory in bounds. */
#define POLICY_SIZE_MAX (1u << 20)
#define POLICY_DEPTH_MAX 16
#define POLICY_NAME_MAX 64 /* letters of a class's name, which stands in file names and labels too */

enum node_kind { NODE_SCALAR, NODE_SEQUENCE, NODE_MAPPING };

struct tree_node {
	enum node_kind kind;
	struct policy_mark mark;
	bool plain;   /* scalar without quotes and not a block: the only kind that is a number or boolean */
	bool open;    /* sequence or mapping whose end was not reached for a syntax error */
	bool refused; /* an alias, or cut away with a bad byte: already reported, has no value */
	char *text;   /* scalar; NUL-terminated, and with no NUL inside */
	struct tree_node *first, *last; /* children; in a mapping key, value, key, value, … */
	struct tree_node *next;
};

/*
 * Makes the tree of a text. Syntax errors, anchors, aliases and tags are reported as findings; what
 * came before a syntax error is in the tree, *whole is then false. *root NULL: nothing there.
 */
int tree_load(const char *path, const char *text, size_t size, struct finding_list *findings,
	      struct tree_node **root, bool *whole);
void tree_free(struct tree_node *root);

/* What a reading function hands down. */
struct policy_reader {
	const char *path;
	struct finding_list *findings;
	struct policy *policy;
	bool draft; /* keys that a draft may leave out are not missing */
};

enum value_type {
	VALUE_INTEGER, /* decimal */
	VALUE_NUMBER,  /* decimal, or hexadecimal with 0x */
	VALUE_RANGE,   /* of such numbers, "a-b", or one */
	VALUE_PERCENT,
	VALUE_BOOLEAN,
	VALUE_CHOICE,
	VALUE_NAME,
	VALUE_PATTERN, /* of node names */
	VALUE_TEXT,    /* one printable line */
	VALUE_DATE,    /* 2026-12-31 */
	VALUE_PATH,
	VALUE_SL2VL,   /* 16 VLs, as in opensm.conf */
	VALUE_VLARB,   /* VL:weight pairs, as in opensm.conf */
	VALUE_MAPPING, /* by the table `keys` */
	VALUE_LIST,    /* of mappings by the table `keys` */
	VALUE_NAMED    /* a mapping of names to such lists */
};

struct key_value {
	const struct tree_node *node;
	unsigned number;	/* VALUE_INTEGER; VALUE_BOOLEAN 0 or 1; VALUE_CHOICE: index; VALUE_DATE: days since 1970 */
	uint64_t low, high;	/* VALUE_NUMBER: low; VALUE_RANGE */
	double percent;		/* VALUE_PERCENT */
};

struct key_row;
struct key_table {
	const char *what; /* "class": one of what it reads */
	const struct key_row *rows;
	size_t count;
	bool not_empty; /* without a key it would mean everything, or nothing */
};
#define KEY_TABLE(name, rows, not_empty) {name, rows, sizeof(rows) / sizeof((rows)[0]), not_empty}

#define KEY_MANY 32 /* values of a key that takes one or a list */

/* A row of a table of keys. A new key of the policy is a new row; the manual and the schema are made of them. */
struct key_row {
	const char *name;
	enum value_type type;
	bool required, draft_may_lack;
	unsigned many;		    /* 0: one value; else one, or a list of up to so many: set() is called for each */
	uint64_t min, max;	    /* VALUE_INTEGER, VALUE_NUMBER, VALUE_RANGE */
	const char *const *choices; /* VALUE_CHOICE: NULL at the end */
	const struct key_table *keys;
	const char *wanted;	    /* "a whole number 0-15" */
	const char *doc;	    /* sentences for the manual, in reStructuredText */
	int (*set)(struct policy_reader *in, void *target, const struct key_value *value); /* 0 or -ENOMEM */
};

extern const struct key_table policy_key_table;

/* Reads a mapping by a table, into target. Faults become findings; 0 or -ENOMEM. */
int read_keys(struct policy_reader *in, const struct tree_node *mapping, const struct key_table *table, void *target);
/*
 * Reads a list of mappings, at most `most`. add() makes room for one more, of which it is told the
 * place, and returns what the table's rows set; NULL: out of memory.
 */
int read_list(struct policy_reader *in, const struct tree_node *list, const struct key_table *table, size_t most,
	      void *(*add)(struct policy_reader *in, void *target, struct policy_mark mark), void *target);
/* Reads a mapping of at most `most` names: each() gets the name's node; the value is its `next`. */
int read_named(struct policy_reader *in, const struct tree_node *mapping, size_t most,
	       int (*each)(struct policy_reader *in, void *target, const struct tree_node *name), void *target);

enum verdict { VERDICT_GOOD, VERDICT_TYPE, VERDICT_RANGE };
enum verdict read_value(const struct key_row *row, struct key_value *value);
/* What stands where something else was expected: "a list", "nothing", the text. */
void read_set_got(char **member, const struct tree_node *node);

/* Lists of a policy. 0 or -ENOMEM. */
int ranges_add(struct policy_ranges *ranges, uint64_t low, uint64_t high, struct policy_mark mark);
int texts_add(struct policy_texts *texts, const struct tree_node *node);
void texts_free(struct policy_texts *texts);
int text_set(char **member, const char *text);
/* A P_Key without its membership bit; 0 after a finding, if nothing else is in it. */
unsigned read_pkey(struct policy_reader *in, const struct key_value *value);

extern const struct key_table class_key_table, group_key_table, partition_key_table, overrides_key_table, tables_key_table,
	link_key_table, counters_key_table;
extern const char *const policy_speed_choices[]; /* in the order of the bits of enum link_speed */
int set_groups(struct policy_reader *in, void *target, const struct key_value *value);
int set_partitions(struct policy_reader *in, void *target, const struct key_value *value);
int set_links(struct policy_reader *in, void *target, const struct key_value *value);
int set_counters(struct policy_reader *in, void *target, const struct key_value *value);
int set_tables(struct policy_reader *in, void *target, const struct key_value *value);
int set_overrides(struct policy_reader *in, void *target, const struct key_value *value);
void class_clear(struct policy_class *class);
void parts_clear(struct policy *policy);
void links_clear(struct policy *policy);
void counters_part_clear(struct policy *policy);

/* A finding at a mark of the policy file. */
struct finding *read_finding(struct policy_reader *in, enum finding_code code, struct policy_mark mark);
/* Text from the file made printable and short, for a finding's member. */
void read_quote(char **member, const char *text);

/* Checks across classes. A mark of line 0 means that the value was missing or faulty, and was reported. */
void read_check(struct policy_reader *in, bool whole, struct policy_mark classes_mark);
/* Checks of groups, partitions and overrides, and of the names by which they are called. */
void read_check_parts(struct policy_reader *in);
/* Checks of exact tables against the rest. */
void read_check_tables(struct policy_reader *in);
/* Checks of what the rules match; only for a policy without a critical finding. 0 or -ENOMEM. */
int read_check_rules(struct policy_reader *in);

/* What is allowed and seldom meant, and what nobody can know from here; as above. */
void read_check_doubts(struct policy_reader *in, const struct policy_rule *rules, size_t count);

/* Programs that put an SL in their queue pairs and ask nobody. */
struct policy_self_chooser {
	const char *name;
	const char *how; /* they are told: "NCCL_IB_SL" */
};
const struct policy_self_chooser *policy_self_choosers(size_t *count);

/* Whether every request of b, or any, is one of a as well. Groups are the same by name only. */
bool rule_covers(const struct policy_rule *a, const struct policy_rule *b);
/*
 * Whether one request can match both. *shared: they name values of the same kind in common; else it
 * is only that neither excludes the other. groups_meet (NULL: only those of the same name do) says
 * whether two lists of groups have a port in common.
 */
bool rule_meets(const struct policy_rule *a, const struct policy_rule *b,
		bool (*groups_meet)(void *arg, const struct policy_texts *a, const struct policy_texts *b), void *arg,
		bool *shared);

/* For manual pages and schemas of languages that are made of such tables (describe_manual.c, describe_schema.c). */
void manual_heading(FILE *out, const char *title, char line);
void manual_table(FILE *out, const char *title, const struct key_table *table);
void manual_paragraphs(FILE *out, const char *title, const char *const *paragraphs); /* NULL at the end */
int schema_write(FILE *out, const struct key_table *table, const char *title);	       /* 0 or -errno */

#endif
