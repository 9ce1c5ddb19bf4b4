/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Reading a policy, inside this folder: text → tree of nodes with places (read_yaml.c) → typed
 * values by a table of keys (read_keys.c) → policy (read.c) → checks across classes (read_check.c).
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
	bool refused; /* an alias: already reported, has no value */
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
};

enum value_type {
	VALUE_INTEGER,
	VALUE_PERCENT,
	VALUE_BOOLEAN,
	VALUE_CHOICE,
	VALUE_NAME,
	VALUE_PATH,
	VALUE_MAPPING,
	VALUE_LIST
};

struct key_value {
	const struct tree_node *node;
	unsigned number; /* VALUE_INTEGER; VALUE_BOOLEAN 0 or 1; VALUE_CHOICE: index */
	double percent;  /* VALUE_PERCENT */
};

/* A row of a table of keys. A new key of the policy is a new row. */
struct key_row {
	const char *name;
	enum value_type type;
	bool required;
	unsigned min, max;          /* VALUE_INTEGER */
	const char *const *choices; /* VALUE_CHOICE: NULL at the end */
	const char *wanted;         /* "a whole number 0-15" */
	int (*set)(struct policy_reader *in, void *target, const struct key_value *value); /* 0 or -ENOMEM */
};

/* Reads a mapping by a table, into target. Faults become findings; 0 or -ENOMEM. */
int read_keys(struct policy_reader *in, const struct tree_node *mapping, const struct key_row *rows,
	      size_t count, void *target);

/* A finding at a mark of the policy file. */
struct finding *read_finding(struct policy_reader *in, enum finding_code code, struct policy_mark mark);
/* Text from the file made printable and short, for a finding's member. */
void read_quote(char **member, const char *text);

/* Checks across classes. A mark of line 0 means that the value was missing or faulty, and was reported. */
void read_check(struct policy_reader *in, bool whole, struct policy_mark classes_mark);

#endif
