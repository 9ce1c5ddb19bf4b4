/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Site files: YAML → tree (read_yaml.c) → fabrics by the tables of site_keys.c → defaults filled in → checks between them. */
#include "site.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "ibqos/fabric.h"

/* All texts that a default can stand for, and whether two fabrics may have the same. */
static const struct {
	size_t offset;
	const char *own; /* name of the key, where each fabric needs its own; NULL: they may share it */
} texts[] = {
	{offsetof(struct site_fabric, policy), NULL},
	{offsetof(struct site_fabric, baseline), "baseline"},
	{offsetof(struct site_fabric, state), "state"},
	{offsetof(struct site_fabric, rotation), "rotation"},
	{offsetof(struct site_fabric, node_name_map), NULL},
	{offsetof(struct site_fabric, guid2mkey), NULL},
	{offsetof(struct site_fabric, opensm_config), NULL},
	{offsetof(struct site_fabric, opensm_host), NULL},
	{offsetof(struct site_fabric, history), "history"},
	{offsetof(struct site_fabric, program), NULL},
};
#define TEXTS (sizeof(texts) / sizeof(texts[0]))

static char **text_of(struct site_fabric *fabric, size_t i)
{
	return (char **)((char *)fabric + texts[i].offset);
}

static const char *text_at(const struct site_fabric *fabric, size_t i)
{
	return *(char *const *)((const char *)fabric + texts[i].offset);
}

void site_fabric_clear(struct site_fabric *fabric)
{
	for (size_t i = 0; i < TEXTS; i++)
		free(*text_of(fabric, i));
	for (size_t i = 0; i < fabric->via_count; i++)
		free(fabric->via[i]);
	free(fabric->via);
	for (size_t i = 0; i < fabric->adapter_count; i++)
		free(fabric->adapters[i]);
	free(fabric->adapters);
	free(fabric->name);
	free(fabric->ca);
	*fabric = (struct site_fabric){0};
}

/* --- defaults --- */

#define PLACE "{fabric}"

/* A text with each {fabric} replaced; NULL: out of memory. */
static char *expand(const char *text, const char *name)
{
	char *made = NULL;
	const char *at;
	size_t size;
	FILE *out = open_memstream(&made, &size);

	if (!out)
		return NULL;
	for (; (at = strstr(text, PLACE)); text = at + strlen(PLACE))
		fprintf(out, "%.*s%s", (int)(at - text), text, name);
	fputs(text, out);
	return text_stream_end(out, &made) == 0 ? made : NULL;
}

/* The fabric's own text, or the default's, for this fabric. */
static int fill_text(char **own, const char *fallback, const char *name)
{
	const char *from = *own ? *own : fallback;
	char *made;

	if (!from)
		return 0;
	made = expand(from, name);
	if (!made)
		return -ENOMEM;
	free(*own);
	*own = made;
	return 0;
}

static int fill_via(struct site_fabric *fabric, const struct site_fabric *defaults)
{
	bool own = fabric->via_count > 0;
	size_t count = own ? fabric->via_count : defaults->via_count;
	int r = 0;

	if (!own && count > 0) {
		fabric->via = calloc(SITE_WORDS_MAX, sizeof(*fabric->via));
		if (!fabric->via)
			return -ENOMEM;
		fabric->via_count = count;
	}
	for (size_t i = 0; i < count && r == 0; i++)
		r = fill_text(&fabric->via[i], own ? NULL : defaults->via[i], fabric->name);
	return r;
}

static int fill(struct site_fabric *fabric, const struct site_fabric *defaults)
{
	int r = fill_via(fabric, defaults);

	for (size_t i = 0; i < TEXTS && r == 0; i++)
		r = fill_text(text_of(fabric, i), text_at(defaults, i), fabric->name);
	if (fabric->timeout_s == 0)
		fabric->timeout_s = defaults->timeout_s ? defaults->timeout_s : SITE_TIMEOUT_S;
	return r;
}

/* --- checks --- */

static bool same_text(const char *a, const char *b)
{
	return a && b ? strcmp(a, b) == 0 : a == b;
}

static bool same_via(const struct site_fabric *a, const struct site_fabric *b)
{
	if (a->via_count != b->via_count)
		return false;
	for (size_t i = 0; i < a->via_count; i++)
		if (!same_text(a->via[i], b->via[i]))
			return false;
	return true;
}

static struct finding *clash(struct policy_reader *in, const struct site_fabric *fabric, const struct site_fabric *first)
{
	struct policy_mark mark = {fabric->line, fabric->column};
	struct finding *f = read_finding(in, FINDING_POLICY_KEY_CONFLICT, mark);

	finding_set(&f->detail, "as fabric '%s' at line %u", first->name, first->line);
	return f;
}

/* Whether two entries of `adapters` have a port in common. */
static bool meet(const char *a, const char *b)
{
	size_t length = strcspn(a, ":");

	return strcspn(b, ":") == length && strncmp(a, b, length) == 0 && (!a[length] || !b[length] || strcmp(a, b) == 0);
}

static void check_adapters(struct policy_reader *in, const struct site_fabric *a, const struct site_fabric *b)
{
	for (size_t n = 0; n < b->adapter_count; n++) {
		for (size_t i = 0; i < a->adapter_count; i++) {
			struct finding *f;

			if (!meet(a->adapters[i], b->adapters[n]))
				continue;
			f = clash(in, b, a);
			finding_set(&f->what, "key 'adapters' of fabric '%s'", b->name);
			finding_set(&f->wanted, "adapters that no other fabric has");
			read_quote(&f->got, b->adapters[n]);
		}
	}
}

/* A path from / without what leads nowhere: //, /./, /x/../. NULL: out of memory. Links are not followed: it may be another host's. */
static char *plain_path(const char *path)
{
	char *made = malloc(strlen(path) + 2), *end = made;

	while (made && *path) {
		size_t length = strcspn(path, "/");

		if (length == 2 && strncmp(path, "..", 2) == 0) {
			char *slash;

			*end = '\0';
			slash = strrchr(made, '/');
			end = slash ? slash : made;
		} else if (length > 1 || (length == 1 && *path != '.')) {
			*end++ = '/';
			memcpy(end, path, length);
			end += length;
		}
		path += length + (path[length] == '/');
	}
	if (made)
		*end = '\0';
	return made;
}

static bool same_path(struct policy_reader *in, const char *a, const char *b)
{
	char *one = plain_path(a), *other = plain_path(b);
	bool same = one && other && strcmp(one, other) == 0;

	in->findings->lost |= !one || !other;
	free(one);
	free(other);
	return same;
}

/* What is written for one fabric is nothing of another, nor another thing of its own, whatever it is called. */
static void check_files(struct policy_reader *in, const struct site_fabric *a, const struct site_fabric *b)
{
	for (size_t i = 0; i < TEXTS; i++) {
		for (size_t n = a == b ? i + 1 : 0; n < TEXTS; n++) {
			struct finding *f;

			if (!texts[i].own || !texts[n].own || !text_at(a, i) || !text_at(b, n) || !same_path(in, text_at(a, i), text_at(b, n)))
				continue;
			f = clash(in, b, a);
			finding_set(&f->what, "key '%s' of fabric '%s'", texts[n].own, b->name);
			finding_set(&f->wanted, "a file of its own, as with " PLACE " in its path");
			read_quote(&f->got, text_at(b, n));
			if (i != n)
				finding_append(&f->detail, "its '%s'", texts[i].own);
		}
	}
}

/* One adapter without a port may be at any of its ports. */
static bool same_port(const struct site_fabric *a, const struct site_fabric *b)
{
	return a->port_guid == b->port_guid && same_text(a->ca, b->ca) && (a->port == b->port || (a->ca && (a->port == 0 || b->port == 0)));
}

static void check_pair(struct policy_reader *in, const struct site_fabric *a, const struct site_fabric *b)
{
	struct finding *f;

	if (strcmp(a->name, b->name) == 0) {
		f = clash(in, b, a);
		finding_set(&f->what, "fabric '%s'", b->name);
		finding_set(&f->wanted, "a name of its own");
		return;
	}
	check_adapters(in, a, b);
	if (!same_via(a, b))
		return;
	if (same_port(a, b)) {
		f = clash(in, b, a);
		finding_set(&f->what, "port of fabric '%s'", b->name);
		finding_set(&f->wanted, "a port of its own");
	}
	check_files(in, a, b);
}

static void check(struct policy_reader *in, const struct site *site)
{
	for (size_t b = 0; b < site->count; b++) {
		for (size_t a = 0; a < b; a++)
			if (site->fabrics[a].name && site->fabrics[b].name)
				check_pair(in, &site->fabrics[a], &site->fabrics[b]);
		if (site->fabrics[b].name)
			check_files(in, &site->fabrics[b], &site->fabrics[b]);
	}
}

/* --- the whole --- */

static int read_root(struct policy_reader *in, const struct tree_node *root, struct site *site)
{
	struct finding *f;
	int r;

	if (root->refused)
		return 0;
	if (root->kind != NODE_MAPPING) {
		f = read_finding(in, FINDING_POLICY_TYPE, root->mark);
		finding_set(&f->what, "site");
		finding_set(&f->wanted, "keys and values: version, fabrics, …");
		read_set_got(&f->got, root);
		return 0;
	}
	r = read_keys(in, root, &site_key_table, site);
	for (size_t i = 0; i < site->count && r == 0; i++)
		if (site->fabrics[i].name)
			r = fill(&site->fabrics[i], &site->defaults);
	if (r != 0)
		return r;
	check(in, site);
	if (site->count == 0 && !site->all_active_ports && !root->open && in->findings->count == 0) {
		f = read_finding(in, FINDING_POLICY_KEY_MISSING, root->mark);
		finding_set(&f->what, "key 'fabrics'");
		finding_set(&f->wanted, "a list of fabrics, or all_active_ports: true");
	}
	return 0;
}

/* The codes of a policy's faults are those of a site file's; what kind of fault it is goes into the text. */
static void rename_codes(struct finding_list *findings, size_t before)
{
	for (size_t i = before; i < findings->count; i++) {
		struct finding *f = &findings->items[i];
		char *detail = f->detail;

		if (f->code == FINDING_POLICY_SYNTAX) {
			f->code = FINDING_SITE_SYNTAX;
			if (f->wanted && strcmp(f->wanted, "a policy") == 0)
				finding_set(&f->wanted, "version and fabrics");
			continue;
		}
		f->detail = NULL;
		finding_set(&f->detail, "%s%s%s", finding_kind(f->code)->title, detail ? "; " : "", detail ? detail : "");
		free(detail);
		f->code = FINDING_SITE_FAULT;
	}
}

int site_parse(const char *path, const char *text, size_t size, struct finding_list *findings, struct site **site)
{
	struct finding_list found = {0};
	struct policy_reader in = {.path = path, .findings = &found};
	struct tree_node *root = NULL;
	struct site *made = calloc(1, sizeof(*made));
	bool whole = true;
	int r = -ENOMEM;

	*site = NULL;
	if (made)
		made->path = strdup(path);
	if (!made || !made->path)
		goto out;
	r = 0;
	if (size > POLICY_SIZE_MAX) {
		struct finding *f = read_finding(&in, FINDING_POLICY_SYNTAX, (struct policy_mark){1, 1});

		finding_set(&f->wanted, "at most %u bytes", POLICY_SIZE_MAX);
		finding_set(&f->got, "%zu bytes", size);
	} else {
		r = tree_load(path, text, size, &found, &root, &whole);
	}
	if (r == 0 && root)
		r = read_root(&in, root, made);
	if (found.lost)
		r = -ENOMEM;
	if (r == 0 && root && found.count == 0) {
		*site = made;
		made = NULL;
	}
	rename_codes(&found, 0);
	for (size_t i = 0; i < found.count; i++)
		finding_move(&found.items[i], findings);
out:
	finding_list_clear(&found);
	tree_free(root);
	site_free(made);
	return r;
}

int site_read(const char *path, struct finding_list *findings, struct site **site)
{
	char *text;
	size_t size;
	int r = file_read(path, &text, &size);

	*site = NULL;
	if (r < 0)
		return r;
	r = site_parse(path, text, size, findings, site);
	free(text);
	return r;
}

int site_add_port(struct site *site, const char *name, const char *ca, unsigned port)
{
	struct site_fabric *fabrics, *fabric;
	int r;

	if (site_find(site, name))
		return -EEXIST;
	if (site->count == SITE_FABRICS_MAX)
		return -ENOSPC;
	fabrics = array_grow(site->fabrics, &site->room, site->count + 1, sizeof(*fabrics));
	if (!fabrics)
		return -ENOMEM;
	site->fabrics = fabrics;
	fabric = &fabrics[site->count];
	*fabric = (struct site_fabric){.port = port};
	fabric->name = strdup(name);
	fabric->ca = strdup(ca);
	r = fabric->name && fabric->ca ? fill(fabric, &site->defaults) : -ENOMEM;
	if (r == 0)
		site->count++;
	else
		site_fabric_clear(fabric);
	return r;
}

const struct site_fabric *site_find(const struct site *site, const char *name)
{
	for (size_t i = 0; i < site->count; i++)
		if (strcmp(site->fabrics[i].name, name) == 0)
			return &site->fabrics[i];
	return NULL;
}

const struct site_fabric *site_fabric_of(const struct site *site, const char *name, unsigned port)
{
	for (size_t i = 0; i < site->count; i++)
		for (size_t n = 0; n < site->fabrics[i].adapter_count; n++)
			if (fabric_adapter_is(site->fabrics[i].adapters[n], name, port))
				return &site->fabrics[i];
	return NULL;
}

void site_free(struct site *site)
{
	if (!site)
		return;
	for (size_t i = 0; i < site->count; i++)
		site_fabric_clear(&site->fabrics[i]);
	free(site->fabrics);
	site_fabric_clear(&site->defaults);
	free(site->path);
	free(site->name);
	free(site);
}
