/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * OpenSM's files made a policy, inside this folder: classes and their shares (import.c), groups and
 * rules (import_rules.c), the text (import_write.c).
 */
#ifndef POLICY_IMPORT_H
#define POLICY_IMPORT_H

#include "read.h"

#include "ibqos/opensm_files.h"

struct import_class {
	char *name;
	unsigned sl;
	double share;	/* percent, of one decimal */
	unsigned order; /* its place in the policy */
	const char *why; /* a comment */
};

struct import_group { /* as files->policy->groups */
	char *name; /* NULL: it has nothing that a policy can say */
	bool used;
};

/* A rule of the file, or one P_Key of it, as a policy would have it. */
struct import_rule {
	struct policy_rule rule; /* .class: index of an import_class; what it points to is its own */
	struct policy_texts sources, destinations; /* names of groups in the file's order, by import_group.name */
	size_t *groups;		 /* indexes: sources, then destinations */
	size_t source_count, destination_count;
	struct opensm_mark mark;
};

struct import {
	const struct opensm_files *files;
	struct finding_list *findings;
	struct qos_config config; /* SL 0 is never dropped in it */
	bool tables;		  /* there are some */
	struct import_class classes[QOS_SLS];
	size_t class_count, default_class;
	size_t class_of_sl[QOS_SLS]; /* OPENSM_NONE: none */
	size_t rules_tried;	     /* rules of the file up to the first without criteria */
	struct import_group *groups;
	struct import_rule *rules;
	size_t rule_count, rule_room;
};

/* A finding at a place of a file. */
struct finding *import_tell(struct import *import, enum finding_code code, const char *path, struct opensm_mark mark);
/* A name that a policy takes, of one that it may not; `taken` says which are others'. NULL: out of memory. */
char *import_name(const char *text, const char *fallback, bool (*taken)(const struct import *import, const char *name),
		  const struct import *import);

/* Whether a policy can name the GUIDs of a group; some, and not too many. */
bool import_guids_sayable(const struct opensm_file_group *group);
/* Whether a policy can name the node of a group's nth port-name. */
bool import_port_sayable(const struct opensm_file_group *group, size_t number);
int import_groups(struct import *import);
int import_rules(struct import *import);
/* Which class comes before which, so that rules that meet keep their order; where that cannot be it is told. */
void import_order(struct import *import);
int import_write(const struct import *import, char **text, size_t *size);
void import_rules_clear(struct import *import);

#endif
