/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The command lines of a site's workers. What argp has taken is looked at once more, by the same tables: what each worker gets
 * too, what stays here, and what cannot be meant for many fabrics.
 */
#include "site_args.h"
#include "words.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum given { GIVEN_POLICY, GIVEN_NAMES, GIVEN_KEYS, GIVEN_SAMPLE, GIVEN_INTERVAL };

/* Options that this run keeps for itself. */
static const char *const kept[] = {"site",	"fabric", "format", "output", "metrics", "label", "from",
				   "verbose", "debug",	"quiet",  NULL};

/* Options of which each fabric needs its own: a file that two would write, or that is about one of them. */
static const struct {
	const char *name, *instead;
} refused[] = {
	{"Ca", "'port' in the site file"},
	{"Port", "'port' in the site file"},
	{"port-guid", "'port' in the site file"},
	{"state", "'state' in the site file"},
	{"baseline", "'baseline' in the site file"},
	{"rotate", "'rotation' in the site file"},
	{"state-dir", "'history' in the site file"},
	{"opensm-config", "'opensm' in the site file"},
	{"opensm-conf", "'policy' in the site file"},
	{"redact", "one run for each fabric"},
	{"accept", "one run for each fabric"},
	{"show", "one run for each fabric"},
	{"expect", "one run for each fabric"},
	{"standby", "one run for each fabric"},
};

/* Options that stand in place of what the site file says. */
static const struct {
	const char *name;
	enum given given;
} instead[] = {
	{"policy", GIVEN_POLICY}, {"node-name-map", GIVEN_NAMES},	{"guid2mkey", GIVEN_KEYS},
	{"m_key", GIVEN_KEYS},	  {"sample", GIVEN_SAMPLE}, /* in turn: 1/N */ {"interval", GIVEN_INTERVAL},
};

/* --- sorting --- */

static bool keep(const struct ibqos_ctx *ctx, struct site_words *words, const char *word)
{
	const char **grown = array_grow(words->passed, &words->room, words->count + 1, sizeof(*grown));

	if (!grown) {
		ctx_error(ctx, "out of memory");
		return false;
	}
	words->passed = grown;
	grown[words->count++] = word;
	return true;
}

struct sorting {
	struct ibqos_ctx *ctx;
	struct site_words *words;
};

static bool has_option(const struct argp_child *children, const char *name)
{
	for (const struct argp_child *c = children; c && c->argp; c++) {
		for (const struct argp_option *o = c->argp->options; o && (o->name || o->key || o->doc); o++)
			if (o->name && strcmp(o->name, name) == 0)
				return true;
		if (has_option(c->argp->children, name))
			return true;
	}
	return false;
}

static bool take_option(void *arg, const struct argp_option *option, const char *value)
{
	const struct sorting *sorting = arg;
	struct ibqos_ctx *ctx = sorting->ctx;
	struct site_words *words = sorting->words;
	char *joined;

	if (words->only && !has_option(words->only, option->name))
		return true;
	for (unsigned i = 0; kept[i]; i++)
		if (strcmp(kept[i], option->name) == 0)
			return true;
	if (strcmp(option->name, "stage") == 0) {
		words->stage = value;
		return true;
	}
	for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++) {
		if (strcmp(refused[i].name, option->name) != 0)
			continue;
		ctx_error(ctx, "--%s is about one fabric, --site about many; what does it: %s", option->name, refused[i].instead);
		return false;
	}
	if (strcmp(option->name, "m_key") == 0 && value && strcmp(value, "prompt") == 0) {
		ctx_error(ctx, "--m_key prompt: workers have no terminal; put the key into a file");
		return false;
	}
	for (size_t i = 0; i < sizeof(instead) / sizeof(instead[0]); i++)
		words->given[instead[i].given] |= strcmp(instead[i].name, option->name) == 0 &&
						  (instead[i].given != GIVEN_SAMPLE || strncmp(value ? value : "", "1/", 2) == 0);
	if (asprintf(&joined, "--%s%s%s", option->name, value ? "=" : "", value ? value : "") < 0) {
		ctx_error(ctx, "out of memory");
		return false;
	}
	if (keep(ctx, words, joined))
		return true;
	free(joined);
	return false;
}

bool site_words_sort(struct ibqos_ctx *ctx, const struct cmd_options *options, int argc, char **argv, struct site_words *words)
{
	const struct argp *argp = words->argp ? words->argp : cmd_find(cmd_table, ctx->command)->argp;
	struct sorting sorting = {ctx, words};

	*words = (struct site_words){.options = options, .argp = words->argp, .only = words->only};
	return words_walk(argp, argc, argv, take_option, &sorting);
}

void site_words_clear(struct site_words *words)
{
	for (size_t i = 0; i < words->count; i++)
		free((char *)words->passed[i]);
	free(words->passed);
	*words = (struct site_words){0};
}

/* --- building --- */

struct line {
	char **words;
	size_t count, room;
	bool lost, quoted; /* a shell will take the words apart once more */
};

static void add_word(struct line *line, char *word)
{
	char **grown = array_grow(line->words, &line->room, line->count + 2, sizeof(*grown));

	if (!grown || !word) {
		line->lost = true;
		free(word);
		return;
	}
	line->words = grown;
	grown[line->count++] = word;
}

static void add(struct line *line, const char *word)
{
	add_word(line, line->quoted ? text_shell_word(word) : strdup(word));
}

static void add_option(struct line *line, const char *name, const char *value)
{
	char *joined;

	if (!value)
		return;
	if (asprintf(&joined, "--%s=%s", name, value) < 0) {
		line->lost = true;
		return;
	}
	add(line, joined);
	free(joined);
}

static bool is_ssh(const struct site_fabric *f)
{
	const char *slash = f->via_count ? strrchr(f->via[0], '/') : NULL;

	return f->via_count && strcmp(slash ? slash + 1 : f->via[0], "ssh") == 0;
}

/* This very program, wherever it lies: a name could lead to another one by now. */
static void add_program(struct line *line, const struct site_fabric *f)
{
	char path[PATH_MAX];
	ssize_t length;

	if (f->program || is_ssh(f)) {
		add(line, f->program ? f->program : "ibqos");
		return;
	}
	if (f->via_count == 0) {
		add(line, "/proc/self/exe");
		return;
	}
	length = readlink("/proc/self/exe", path, sizeof(path) - 1);
	path[length > 0 ? length : 0] = '\0';
	add(line, length > 0 ? path : "ibqos");
}

static void add_port(struct line *line, const struct site_fabric *f)
{
	char text[24];

	add_option(line, "Ca", f->ca);
	if (f->port) {
		snprintf(text, sizeof(text), "%u", f->port);
		add_option(line, "Port", text);
	}
	if (f->port_guid) {
		snprintf(text, sizeof(text), "0x%016llx", (unsigned long long)f->port_guid);
		add_option(line, "port-guid", text);
	}
}

/* "DIR/rail0.snap" */
static char *in_folder(const char *folder, const struct site_fabric *f, const char *ending)
{
	char *path;

	return asprintf(&path, "%s/%s%s", folder, f->name, ending) < 0 ? NULL : path;
}

/* A word with a path in a folder that all have, and each its own in it. */
static void add_in_folder(struct line *line, const char *option, const char *folder, const struct site_fabric *f, const char *ending)
{
	char *path = in_folder(folder, f, ending);

	if (!path)
		line->lost = true;
	else if (option)
		add_option(line, option, path);
	else
		add(line, path);
	free(path);
}

static const char *policy_of(const struct site_words *words, const struct site_fabric *f)
{
	return words->options->arguments > 0 ? words->options->argument[0] : f->policy;
}

static bool is(const struct ibqos_ctx *ctx, const char *command)
{
	return strcmp(ctx->command, command) == 0;
}

static bool takes_policy(const struct ibqos_ctx *ctx)
{
	return is(ctx, "plan") || is(ctx, "apply") || is(ctx, "verify");
}

const char *site_words_lack(const struct ibqos_ctx *ctx, const struct site_words *words, const struct site_fabric *fabric)
{
	if (takes_policy(ctx) && !policy_of(words, fabric))
		return "no policy: neither the site file nor the command line names one";
	if (is(ctx, "snapshot") && words->options->arguments == 0)
		return "no folder for the snapshots, an argument";
	if (is(ctx, "diff") && words->options->arguments < 2)
		return "no two folders of snapshots, the arguments";
	return NULL;
}

/* What a fabric has by the site file, and the command takes. */
static void add_files(struct line *line, const struct ibqos_ctx *ctx, const struct site_words *words, const struct site_fabric *f)
{
	bool live = !words->options->from, policy = words->given[GIVEN_POLICY];

	if (live)
		add_port(line, f);
	if (!words->given[GIVEN_NAMES])
		add_option(line, "node-name-map", f->node_name_map);
	if (live && !words->given[GIVEN_KEYS])
		add_option(line, "guid2mkey", f->guid2mkey);
	if (takes_policy(ctx))
		add_option(line, "opensm-config", f->opensm_host ? "none" : f->opensm_config);
	if (is(ctx, "verify") || is(ctx, "apply"))
		add_option(line, "state-dir", f->history);
	if (is(ctx, "verify") && words->given[GIVEN_SAMPLE])
		add_option(line, "rotate", f->rotation);
	if (is(ctx, "audit")) {
		add_option(line, "links-of", policy ? NULL : f->policy);
		add_option(line, "baseline", f->baseline);
		add_option(line, "state", live && !words->given[GIVEN_INTERVAL] ? f->state : NULL);
	}
	if (is(ctx, "snapshot") && live)
		add_option(line, "policy", policy ? NULL : f->policy);
}

static void add_arguments(struct line *line, const struct ibqos_ctx *ctx, const struct site_words *words, const struct site_fabric *f)
{
	const struct cmd_options *o = words->options;

	if (takes_policy(ctx)) {
		add(line, policy_of(words, f));
		return;
	}
	for (unsigned i = 0; i < o->arguments; i++)
		add_in_folder(line, NULL, o->argument[i], f, ".snap");
}

char **site_argv(const struct ibqos_ctx *ctx, const struct site_words *words, const struct site_fabric *fabric)
{
	struct line line = {0};
	/* files are looked at here, wherever the fabric is */
	bool here = words->options->from || is(ctx, "diff");
	struct site_fabric f = *fabric;
	struct ibqos_ctx as = *ctx;

	if (words->taking) {
		as.command = "snapshot";
		f.policy = NULL; /* what only its subnet manager knows is not asked for */
		ctx = &as;
	}

	if (here) {
		f.via_count = 0;
		f.program = NULL;
	}
	for (size_t i = 0; i < f.via_count; i++)
		add_word(&line, strdup(f.via[i]));
	line.quoted = is_ssh(&f);
	add_program(&line, &f);
	add(&line, ctx->command);
	if (!words->taking)
		add_option(&line, "format", words->options->format == REPORT_HTML ? "calls-drawn" : "calls");
	add_option(&line, "fabric", f.name);
	if (ctx->verbosity != 0)
		add(&line, ctx->verbosity < 0 ? "--quiet" : ctx->verbosity == 1 ? "--verbose" : "--debug");
	for (size_t i = 0; i < words->count; i++)
		add(&line, words->passed[i]);
	/* what these have anyway */
	if (is(ctx, "plan") && (words->options->format == REPORT_JSON || words->options->format == REPORT_HTML))
		add(&line, "--explain");
	if (!is(ctx, "diff"))
		add_files(&line, ctx, words, &f);
	if (words->options->from)
		add_in_folder(&line, "from", words->options->from, &f, ".snap");
	if (words->stage)
		add_in_folder(&line, "stage", words->stage, &f, "");
	add(&line, "--");
	if (words->taking)
		add(&line, "-");
	else
		add_arguments(&line, ctx, words, &f);
	if (!line.lost)
		return line.words;
	site_argv_free(line.words);
	return NULL;
}

void site_argv_free(char **argv)
{
	for (size_t i = 0; argv && argv[i]; i++)
		free(argv[i]);
	free(argv);
}
