/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * ibqos --completion=SHELL: what a shell may propose. Names come from the tables of commands and options; what values
 * an option takes, which those do not tell, stands here.
 */
#include <errno.h>
#include <string.h>

#include "completion.h"
#include "job.h"

struct value {
	const char *command; /* NULL: any */
	const char *option;
	enum completion_kind kind;
};

/* Where the word that stands for the value in --help does not tell; the first row that fits counts. */
static const struct value values[] = {
	{NULL, "format", COMPLETION_WORDS},	{NULL, "walker", COMPLETION_WORDS},
	{NULL, "link-layer", COMPLETION_WORDS}, {NULL, "since", COMPLETION_WORDS},
	{NULL, "color", COMPLETION_WORDS},
	{NULL, "form", COMPLETION_WORDS},	{NULL, "stack", COMPLETION_LIST},
	{NULL, "Ca", COMPLETION_ADAPTER},	{NULL, "hca", COMPLETION_ADAPTER},
	{NULL, "policy", COMPLETION_YAML},	{NULL, "expect", COMPLETION_YAML},
	{NULL, "site", COMPLETION_YAML},
	{NULL, "to", COMPLETION_CHANGE},	{NULL, "unconfirmed", COMPLETION_CHANGE},
	{"import", "output", COMPLETION_YAML},	{NULL, "m_key", COMPLETION_KEY},
	{NULL, "from", COMPLETION_STATE},	{NULL, "baseline", COMPLETION_STATE},
	{NULL, "accept", COMPLETION_STATE},	{NULL, "redact", COMPLETION_FILE},
};

static const struct argument {
	const char *command;
	enum completion_kind kinds[CMD_ARGUMENTS];
	unsigned count;
	bool repeated; /* the last one */
} arguments[] = {
	{"lint", {COMPLETION_YAML}, 1, false},
	{"plan", {COMPLETION_YAML}, 1, false},
	{"apply", {COMPLETION_YAML}, 1, false},
	{"verify", {COMPLETION_YAML}, 1, false},
	{"history", {COMPLETION_CHANGE}, 1, false},
	{"confirm", {COMPLETION_CHANGE}, 1, false},
	{"trace", {COMPLETION_NONE, COMPLETION_NONE}, 2, false},
	{"ack", {COMPLETION_WORDS, COMPLETION_NONE}, 2, false},
	{"diff", {COMPLETION_STATE, COMPLETION_STATE}, 2, false},
	{"merge", {COMPLETION_STATE}, 1, true},
	{"rails", {COMPLETION_STATE}, 1, true},
	{"snapshot", {COMPLETION_STATE}, 1, false},
	{"job check", {COMPLETION_FILE}, 1, true},
	{"job log", {COMPLETION_FILE}, 1, true},
	{"job bw-read", {COMPLETION_FILE}, 1, true},
	{"maintenance begin", {COMPLETION_NONE}, 1, false},
	{"maintenance end", {COMPLETION_WORK}, 1, false},
	{"maintenance drain", {COMPLETION_NONE}, 1, true},
};
#define ROWS(table) (sizeof(table) / sizeof((table)[0]))

enum completion_kind completion_option(const char *command, const struct argp_option *option)
{
	for (size_t i = 0; i < ROWS(values); i++)
		if (strcmp(values[i].option, option->name) == 0 && (!values[i].command || strcmp(values[i].command, command) == 0))
			return values[i].kind;
	if (strcmp(option->arg, "FILE") == 0)
		return COMPLETION_FILE;
	if (strcmp(option->arg, "DIR") == 0 || strcmp(option->arg, "FOLDER") == 0)
		return COMPLETION_DIR;
	return COMPLETION_NONE;
}

static const struct argument *argument_of(const char *command)
{
	for (size_t i = 0; i < ROWS(arguments); i++)
		if (strcmp(arguments[i].command, command) == 0)
			return &arguments[i];
	return NULL;
}

bool completion_has_argument(const char *command, unsigned place, bool *repeated)
{
	const struct argument *a = argument_of(command);

	*repeated = a && a->repeated && place + 1 == a->count;
	return a && place < a->count;
}

enum completion_kind completion_argument(const char *command, unsigned place)
{
	const struct argument *a = argument_of(command);

	return a && place < a->count ? a->kinds[place] : COMPLETION_NONE;
}

const char *completion_worded(size_t i)
{
	for (size_t row = 0; row < ROWS(values); row++)
		if ((values[row].kind == COMPLETION_WORDS || values[row].kind == COMPLETION_LIST) && i-- == 0)
			return values[row].option;
	return NULL;
}

/* "text, json" as "text json" */
static void put_names(FILE *out, const char *names)
{
	for (; *names; names++)
		if (*names != ',')
			fputc(*names, out);
}

void completion_words(FILE *out, const char *option)
{
	const char *before = "";

	if (!option) { /* of ack: what can be acknowledged */
		for (unsigned i = 0; i < FINDING_CODES; i++, before = " ")
			fprintf(out, "%s%s", before, finding_kind((enum finding_code)i)->code);
	} else if (strcmp(option, "format") == 0) {
		put_names(out, report_format_names());
	} else if (strcmp(option, "walker") == 0) {
		fputs("native libibnetdisc", out);
	} else if (strcmp(option, "link-layer") == 0) {
		fputs("infiniband ethernet", out);
	} else if (strcmp(option, "color") == 0) {
		fputs("auto always never", out);
	} else if (strcmp(option, "since") == 0) {
		fputs("last", out);
	} else if (strcmp(option, "form") == 0) {
		for (int i = 0; i < JOB_FORMS; i++, before = " ")
			fprintf(out, "%s%s", before, job_form_name((enum job_form)i));
	} else if (strcmp(option, "stack") == 0) {
		for (int i = 0; i < JOB_STACKS; i++, before = " ")
			fprintf(out, "%s%s", before, job_stack_name((enum job_stack)i));
	}
}

void completion_walk(const struct argp *argp, void (*each)(void *arg, const struct argp_option *option), void *arg)
{
	for (const struct argp_option *o = argp->options; o && (o->name || o->key || o->doc || o->group); o++)
		if (o->name && !(o->flags & (OPTION_HIDDEN | OPTION_DOC)))
			each(arg, o);
	for (const struct argp_child *child = argp->children; child && child->argp; child++)
		completion_walk(child->argp, each, arg);
}

bool completion_asks(const struct cmd *c)
{
	return !c->argp && !c->commands;
}

static void walk_table(FILE *out, const struct completion_shell *shell, const char *name, const struct cmd *table, bool asking)
{
	shell->table(out, name, table, asking);
	for (const struct cmd *c = table; c->name; c++) {
		char full[64];

		snprintf(full, sizeof(full), "%s%s%s", name, *name ? " " : "", c->name);
		if (c->commands)
			walk_table(out, shell, full, c->commands, asking);
		else if (!asking && completion_asks(c))
			walk_table(out, shell, full, cmd_table, true);
		else if (!asking)
			shell->command(out, full, c->argp);
	}
}

void completion_tables(FILE *out, const struct completion_shell *shell)
{
	walk_table(out, shell, "", cmd_table, false);
}

int cmd_completion(const char *shell, FILE *out)
{
	if (strcmp(shell, "bash") == 0)
		return completion_bash(out);
	if (strcmp(shell, "zsh") == 0)
		return completion_zsh(out);
	return -EINVAL;
}
