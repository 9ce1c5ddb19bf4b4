/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Change files: one expected change a line, in words. YAML → tree (read_yaml.c) → changes. All faults are told in one run.
 */
#include "ibqos/changes.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "ibqos/link.h"
#include "read.h"

#define GROUPS_MAX 256
#define GRAMMAR "NODES down, new, replaced, moved, renamed to NAME, gets 4x NDR, or gets tables"

struct group {
	const struct tree_node *name, *value;
};

struct changes_reader {
	struct policy_reader in; /* of it path and findings */
	struct changes *changes;
	struct group groups[GROUPS_MAX];
	size_t group_count;
};

static struct finding *fault(struct changes_reader *r, const struct tree_node *node, const char *wanted)
{
	struct finding *f = read_finding(&r->in, FINDING_CHANGES_FAULT, node->mark);

	finding_set(&f->wanted, "%s", wanted);
	read_set_got(&f->got, node);
	return f;
}

/* --- names --- */

/* "leaf-01[3]": the port of a link; whether there is such a node only the fabric knows. */
static bool is_port(const char *name)
{
	const char *bracket = strrchr(name, '[');
	size_t digits = bracket ? strspn(bracket + 1, "0123456789") : 0;

	return bracket && bracket > name && digits > 0 && strcmp(bracket + 1 + digits, "]") == 0;
}

/* Brackets that are neither a port nor a list of hosts. */
static bool name_is_good(struct changes_reader *r, const struct tree_node *node, const char *name)
{
	struct hostlist list;
	char *why = NULL;
	bool good = true;

	if (strpbrk(name, "[]") && !is_port(name)) {
		int error = hostlist_expand(name, &list, &why);

		good = error != -EINVAL;
		if (!good)
			finding_set(&fault(r, node, "a name, GUID or pattern of nodes, hosts as gpu-[001-008], or a port as leaf-01[3]")
					     ->detail, "%s", why ? why : "");
		hostlist_clear(&list);
	}
	free(why);
	return good;
}

static int add_name(struct change *change, const char *name)
{
	change->names[change->name_count] = strdup(name);
	return change->names[change->name_count++] ? 0 : -ENOMEM;
}

static const struct group *find_group(const struct changes_reader *r, const char *name)
{
	for (size_t i = 0; i < r->group_count; i++)
		if (strcmp(r->groups[i].name->text, name) == 0)
			return &r->groups[i];
	return NULL;
}

/* What the subject stands for: a group's names, or itself. */
static int set_names(struct changes_reader *r, struct change *change)
{
	const struct group *group = find_group(r, change->subject);
	int error = 0;

	change->names = calloc(CHANGES_NAMES_MAX, sizeof(*change->names));
	if (!change->names)
		return -ENOMEM;
	if (!group)
		return add_name(change, change->subject);
	if (group->value->kind == NODE_SCALAR)
		return add_name(change, group->value->text);
	for (const struct tree_node *n = group->value->first; n && error == 0; n = n->next)
		error = change->name_count < CHANGES_NAMES_MAX && n->kind == NODE_SCALAR ? add_name(change, n->text) : 0;
	return error;
}

/* --- what happens --- */

static unsigned bit_named(const char *word, size_t length, const char *(*name_of)(unsigned), unsigned bits)
{
	for (unsigned bit = 1; bit < 1u << bits; bit <<= 1) {
		const char *name = name_of(bit);

		if (strlen(name) == length && strncasecmp(name, word, length) == 0)
			return bit;
	}
	return 0;
}

/* "4x NDR", "NDR", "4x", "tables" */
static bool read_rate(struct change *change, const char *text)
{
	change->kind = CHANGE_RATE;
	if (strcmp(text, "tables") == 0) {
		change->kind = CHANGE_TABLES;
		return true;
	}
	while (*text) {
		size_t length = strcspn(text, " ");
		unsigned width = bit_named(text, length, link_width_name, 5), speed = bit_named(text, length, link_speed_name, 9);

		if ((!width && !speed) || (width && change->width) || (speed && change->speed))
			return false;
		change->width |= width;
		change->speed |= speed;
		text += length + strspn(text + length, " ");
	}
	return change->width || change->speed;
}

/* The last place of a word in a text; NULL. */
static const char *last_word(const char *text, const char *word)
{
	const char *found = NULL, *at = text;

	while ((at = strstr(at, word)))
		found = at++;
	return found;
}

/* What stands before the verb. */
static bool set_subject(struct change *change, const char *text, const char *verb)
{
	size_t length = (size_t)(verb - text);

	while (length > 0 && text[length - 1] == ' ')
		length--;
	change->subject = length > 0 ? strndup(text, length) : NULL;
	return length > 0;
}

/* What ends a line; the schema is made of it, too. */
static const struct {
	const char *word;
	enum change_kind kind;
} verbs[] = {{" down", CHANGE_DOWN}, {" gone", CHANGE_DOWN}, {" new", CHANGE_NEW}, {" replaced", CHANGE_REPLACED}, {" moved", CHANGE_MOVED}};

/* False: it is no change. A subject that is NULL then: no memory. */
static bool read_words(struct change *change, const char *text)
{
	const char *at;

	for (size_t i = 0; i < sizeof(verbs) / sizeof(verbs[0]); i++) {
		at = last_word(text, verbs[i].word);
		if (!at || strcmp(at, verbs[i].word) != 0)
			continue;
		change->kind = verbs[i].kind;
		return set_subject(change, text, at);
	}
	at = last_word(text, " renamed to ");
	if (at && at[strlen(" renamed to ")]) {
		change->kind = CHANGE_RENAMED;
		change->to = strdup(at + strlen(" renamed to "));
		return set_subject(change, text, at);
	}
	at = last_word(text, " gets ");
	return at && read_rate(change, at + strlen(" gets ")) && set_subject(change, text, at);
}

static int take_change(struct changes_reader *r, const struct tree_node *node)
{
	struct change *change = &r->changes->items[r->changes->count];
	int error;

	if (node->kind != NODE_SCALAR || node->refused || !node->text[0]) {
		if (!node->refused)
			fault(r, node, GRAMMAR);
		return 0;
	}
	r->changes->count++;
	change->line = node->mark.line;
	change->column = node->mark.column;
	change->text = strdup(node->text);
	if (!change->text)
		return -ENOMEM;
	if (!read_words(change, node->text)) {
		fault(r, node, GRAMMAR);
		return 0;
	}
	if (!change->subject || (change->kind == CHANGE_RENAMED && !change->to))
		return -ENOMEM;
	error = set_names(r, change);
	/* a group's names are looked at where they stand */
	if (error == 0 && !find_group(r, change->subject))
		name_is_good(r, node, change->subject);
	return error;
}

/* --- as a JSON Schema --- */

/* "[Nn][Dd][Rr]|…": schemas know no flag for cases alike. */
static void put_names(FILE *out, const char *(*name_of)(unsigned), unsigned bits)
{
	for (unsigned bit = 1; bit < 1u << bits; bit <<= 1) {
		fputs(bit > 1 ? "|" : "", out);
		for (const char *at = name_of(bit); *at; at++) {
			int low = tolower((unsigned char)*at), high = toupper((unsigned char)*at);

			if (low == high)
				fputc(low, out);
			else
				fprintf(out, "[%c%c]", high, low);
		}
	}
}

/* What a line may be, as far as a pattern can tell. */
static void put_pattern(FILE *out)
{
	fputs("^.*[^ ] *(", out);
	for (size_t i = 0; i < sizeof(verbs) / sizeof(verbs[0]); i++)
		fprintf(out, "%s|", verbs[i].word);
	fputs(" renamed to .+| gets (tables|((", out);
	put_names(out, link_width_name, 5);
	fputs(")( +(", out);
	put_names(out, link_speed_name, 9);
	fputs("))?|(", out);
	put_names(out, link_speed_name, 9);
	fputs(")( +(", out);
	put_names(out, link_width_name, 5);
	fputs("))?) *))$", out);
}

int changes_schema(FILE *out)
{
	fputs("{\n"
	      "  \"$schema\": \"https://json-schema.org/draft/2020-12/schema\",\n"
	      "  \"title\": \"change file of ibqos\",\n"
	      "  \"type\": \"object\",\n"
	      "  \"additionalProperties\": false,\n"
	      "  \"required\": [\"version\", \"changes\"],\n"
	      "  \"properties\": {\n"
	      "    \"version\": {\"const\": 1},\n",
	      out);
	fprintf(out,
		"    \"groups\": {\n"
		"      \"description\": \"names for several nodes\",\n"
		"      \"type\": \"object\",\n"
		"      \"maxProperties\": %d,\n"
		"      \"additionalProperties\": {\n"
		"        \"oneOf\": [\n"
		"          {\"type\": [\"string\", \"number\"]},\n"
		"          {\"type\": \"array\", \"minItems\": 1, \"maxItems\": %d, \"items\": {\"type\": [\"string\", \"number\"]}}\n"
		"        ]\n"
		"      }\n"
		"    },\n",
		GROUPS_MAX, CHANGES_NAMES_MAX);
	fprintf(out,
		"    \"changes\": {\n"
		"      \"description\": \"%s\",\n"
		"      \"type\": \"array\",\n"
		"      \"maxItems\": %d,\n"
		"      \"items\": {\"type\": \"string\", \"pattern\": \"",
		GRAMMAR, CHANGES_MAX);
	put_pattern(out);
	fputs("\"}\n    }\n  }\n}\n", out);
	return ferror(out) ? -EIO : 0;
}

/* --- the whole --- */

static int take_changes(struct changes_reader *r, const struct tree_node *list)
{
	size_t count = 0;
	int error = 0;

	if (list->kind != NODE_SEQUENCE) {
		fault(r, list, "a list of changes");
		return 0;
	}
	for (const struct tree_node *n = list->first; n; n = n->next)
		count++;
	if (count > CHANGES_MAX) {
		finding_set(&fault(r, list, "a list of 4096 changes at most")->got, "%zu", count);
		return 0;
	}
	r->changes->items = calloc(count + 1, sizeof(*r->changes->items));
	if (!r->changes->items)
		return -ENOMEM;
	for (const struct tree_node *n = list->first; n && error == 0; n = n->next)
		error = take_change(r, n);
	return error;
}

static void take_group(struct changes_reader *r, const struct tree_node *name)
{
	const struct tree_node *value = name->next;
	size_t count = 0;

	if (name->kind != NODE_SCALAR || name->refused || !name->text[0]) {
		fault(r, name, "a name of a group");
		return;
	}
	if (find_group(r, name->text)) {
		finding_set(&fault(r, name, "each group once")->what, "group");
		return;
	}
	if (r->group_count == GROUPS_MAX) {
		fault(r, name, "256 groups at most");
		return;
	}
	for (const struct tree_node *n = value && value->kind == NODE_SEQUENCE ? value->first : NULL; n; n = n->next) {
		if (n->kind != NODE_SCALAR || n->refused || !n->text[0] || ++count > CHANGES_NAMES_MAX)
			fault(r, n, "names of nodes, 64 in a group at most");
		else
			name_is_good(r, n, n->text);
	}
	if (!value || value->kind == NODE_MAPPING || (value->kind == NODE_SCALAR && !value->text[0]) ||
	    (value->kind == NODE_SEQUENCE && !value->first))
		fault(r, value ? value : name, "names of nodes");
	else if (value->kind == NODE_SCALAR)
		name_is_good(r, value, value->text);
	if (value)
		r->groups[r->group_count++] = (struct group){name, value};
}

static void take_groups(struct changes_reader *r, const struct tree_node *groups)
{
	if (groups->kind != NODE_MAPPING) {
		fault(r, groups, "names of groups, each with its nodes");
		return;
	}
	for (const struct tree_node *n = groups->first; n && n->next; n = n->next->next)
		take_group(r, n);
}

/* Groups first, wherever they stand: changes name them. */
static int take_root(struct changes_reader *r, const struct tree_node *root)
{
	static const char *const keys[] = {"version", "groups", "changes"};
	const struct tree_node *values[3] = {NULL, NULL, NULL};
	int error = 0;

	if (root->kind != NODE_MAPPING) {
		fault(r, root, "keys and values: version, changes, groups");
		return 0;
	}
	for (const struct tree_node *n = root->first; n; n = n->next ? n->next->next : NULL) {
		unsigned i = 0;

		while (i < 3 && (n->kind != NODE_SCALAR || strcmp(n->text, keys[i]) != 0))
			i++;
		if (i == 3)
			finding_set(&fault(r, n, "one of version, groups, changes")->what, "key");
		else if (values[i])
			finding_set(&fault(r, n, "each key once")->what, "key");
		else if (!n->next)
			fault(r, n, "a value");
		else
			values[i] = n->next;
	}
	if (values[0] && (values[0]->kind != NODE_SCALAR || !values[0]->plain || strcmp(values[0]->text, "1") != 0))
		fault(r, values[0], "1, the version of change files that this ibqos reads");
	if (values[1])
		take_groups(r, values[1]);
	if (values[2])
		error = take_changes(r, values[2]);
	if (!values[0])
		finding_set(&fault(r, root, "key 'version'")->got, "none");
	if (!values[2])
		finding_set(&fault(r, root, "key 'changes'")->got, "none");
	return error;
}

int changes_parse(const char *path, const char *text, size_t size, struct finding_list *findings, struct changes **changes)
{
	struct changes_reader r = {.in = {.path = path, .findings = findings}};
	size_t before = findings->count;
	struct tree_node *root = NULL;
	bool whole = true;
	int error = -ENOMEM;

	*changes = NULL;
	r.changes = calloc(1, sizeof(*r.changes));
	if (r.changes)
		r.changes->path = strdup(path);
	if (!r.changes || !r.changes->path)
		goto out;
	if (size > POLICY_SIZE_MAX) {
		struct finding *f = read_finding(&r.in, FINDING_CHANGES_SYNTAX, (struct policy_mark){1, 1});

		finding_set(&f->wanted, "at most %u bytes", POLICY_SIZE_MAX);
		error = 0;
		goto out;
	}
	error = tree_load(path, text, size, findings, &root, &whole);
	for (size_t i = before; i < findings->count; i++) {
		findings->items[i].code = FINDING_CHANGES_SYNTAX;
		if (!root && findings->items[i].wanted && strcmp(findings->items[i].wanted, "a policy") == 0)
			finding_set(&findings->items[i].wanted, "version and changes");
	}
	if (error == 0 && root && whole)
		error = take_root(&r, root);
	if (error == 0 && findings->lost)
		error = -ENOMEM;
	if (error == 0 && findings->count == before && root) {
		*changes = r.changes;
		r.changes = NULL;
	}
out:
	tree_free(root);
	changes_free(r.changes);
	return error;
}

int changes_read(const char *path, struct finding_list *findings, struct changes **changes)
{
	char *text = NULL;
	size_t size = 0;
	int error = file_read(path, &text, &size);

	*changes = NULL;
	if (error == 0)
		error = changes_parse(path, text, size, findings, changes);
	free(text);
	return error;
}

void changes_free(struct changes *changes)
{
	if (!changes)
		return;
	for (size_t i = 0; changes->items && i < changes->count; i++) {
		struct change *c = &changes->items[i];

		for (size_t n = 0; c->names && n < c->name_count; n++)
			free(c->names[n]);
		free(c->names);
		free(c->text);
		free(c->subject);
		free(c->to);
	}
	free(changes->items);
	free(changes->path);
	free(changes);
}
