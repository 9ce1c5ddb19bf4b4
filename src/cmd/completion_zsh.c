/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Completion for zsh: a function for each command, whose options are specs of _arguments. */
#include <errno.h>
#include <string.h>

#include "completion.h"

static const char head[] =
	"#compdef ibqos\n"
	"# zsh completion for ibqos(8), made by `ibqos --completion=zsh`\n"
	"\n"
	"# Names of folders below the one of --state-dir.\n"
	"_ibqos_kept()\n"
	"{\n"
	"\tlocal folder=" IBQOS_STATE_DIR " i\n"
	"\tfor ((i = 2; i <= $#words; i++)); do\n"
	"\t\tcase $words[i] in\n"
	"\t\t(--state-dir=*) folder=${(Q)${words[i]#*=}} ;;\n"
	"\t\t(--state-dir) folder=${(Q)words[i + 1]} ;;\n"
	"\t\tesac\n"
	"\tdone\n"
	"\tlocal -a names=(${folder/#\\~\\//$HOME/}/$1/*(N/:t))\n"
	"\t_wanted names expl $1 compadd -a names\n"
	"}\n"
	"\n"
	"_ibqos_adapters()\n"
	"{\n"
	"\tlocal -a names=(/sys/class/infiniband/*(N:t))\n"
	"\t_wanted adapters expl adapter compadd -a names\n"
	"}\n"
	"\n"
	"_ibqos_key()\n"
	"{\n"
	"\t_alternative 'words:word:(prompt)' 'files:file:_files'\n"
	"}\n";

/* Behind a blank an action is run as it stands, without _arguments' own words. */
static const char *const actions[COMPLETION_KINDS] = {
	[COMPLETION_NONE] = " ",
	[COMPLETION_FILE] = "_files",
	[COMPLETION_DIR] = "_files -/",
	[COMPLETION_YAML] = "_files -g \"*.(yaml|yml)\"",
	[COMPLETION_STATE] = "_files -g \"*.(snap|db_csv)\"",
	[COMPLETION_KEY] = "_ibqos_key",
	[COMPLETION_ADAPTER] = "_ibqos_adapters",
	[COMPLETION_CHANGE] = " _ibqos_kept history",
	[COMPLETION_WORK] = " _ibqos_kept maintenance",
};

struct pass {
	FILE *out;
	const char *command;
};

/* Inside single quotes, and (in brackets or between colons) of a spec of _arguments. */
static void put_escaped(FILE *out, const char *text, const char *special)
{
	for (; *text; text++) {
		if (*text == '\'')
			fputs("'\\''", out);
		else
			fprintf(out, "%s%c", strchr(special, *text) ? "\\" : "", *text);
	}
}

static void put_action(FILE *out, enum completion_kind kind, const char *option)
{
	if (kind == COMPLETION_WORDS || kind == COMPLETION_LIST) {
		fputs(kind == COMPLETION_WORDS ? "(" : "_sequence compadd - ", out);
		completion_words(out, option);
		fputs(kind == COMPLETION_WORDS ? ")" : "", out);
	} else {
		fputs(actions[kind], out);
	}
}

/* '*'{-C+,--Ca=}'[adapter to look from]:CA:_ibqos_adapters' */
static void put_option(void *arg, const struct argp_option *o)
{
	struct pass *p = arg;

	fputs(" \\\n\t\t'*'", p->out);
	if (o->key > ' ' && o->key < 0x7f)
		fprintf(p->out, "{-%c%s,--%s%s}", o->key, o->arg ? "+" : "", o->name, o->arg ? "=" : "");
	else
		fprintf(p->out, "--%s%s", o->name, o->arg ? "=" : "");
	fputs("'[", p->out);
	put_escaped(p->out, o->doc, "[]\\:");
	fputc(']', p->out);
	if (o->arg) {
		fputc(':', p->out);
		put_escaped(p->out, o->arg, ":\\");
		fputc(':', p->out);
		put_action(p->out, completion_option(p->command, o), o->name);
	}
	fputc('\'', p->out);
}

static void put_part(FILE *out, const char *name)
{
	if (*name)
		fputc('_', out);
	for (; *name; name++)
		fputc(*name == ' ' || *name == '-' ? '_' : *name, out);
}

/* "job env" as _ibqos_job_env */
static void put_function(FILE *out, const char *name)
{
	fputs("_ibqos", out);
	put_part(out, name);
}

static void put_command(FILE *out, const char *name, const struct argp *argp)
{
	struct pass pass = {out, name};
	bool repeated;

	fputc('\n', out);
	put_function(out, name);
	fputs("()\n{\n\t_arguments -s -S", out);
	completion_walk(argp, put_option, &pass);
	for (unsigned i = 0; completion_has_argument(name, i, &repeated); i++) {
		fputs(" \\\n\t\t'", out);
		if (repeated)
			fputc('*', out);
		else
			fprintf(out, "%u", i + 1);
		fputs(":argument:", out);
		put_action(out, completion_argument(name, i), NULL);
		fputc('\'', out);
	}
	fputs("\n}\n", out);
}

static void put_table(FILE *out, const char *name, const struct cmd *table, bool asking)
{
	fputc('\n', out);
	put_function(out, name);
	fputs("()\n{\n\tlocal context state state_descr line expl\n\ttypeset -A opt_args\n\tlocal -a commands=(\n", out);
	for (const struct cmd *c = table; c->name; c++) {
		if (asking && completion_asks(c))
			continue;
		fprintf(out, "\t\t'%s:", c->name);
		put_escaped(out, c->summary, "\\");
		fputs("'\n", out);
	}
	fputs("\t)\n\t_arguments -C -S", out);
	if (*name && !asking)
		fputs(" \\\n\t\t'(-)--help[show this help]'", out);
	for (const struct cmd_global *g = cmd_globals; !*name && g->name; g++) {
		if (!g->summary)
			continue;
		fprintf(out, " \\\n\t\t'*'{-%c,--%s}'[", g->letter, g->name);
		put_escaped(out, g->summary, "[]\\:");
		fputs("]'", out);
	}
	fputs(" \\\n\t\t'1:command:->command' \\\n\t\t'*::argument:->rest'\n\tcase $state in\n"
	      "\t(command) _describe -t commands command commands ;;\n\t(rest)\n\t\tcase $line[1] in\n", out);
	for (const struct cmd *c = table; c->name; c++) {
		if (asking && !c->commands)
			continue;
		fprintf(out, "\t\t(%s) ", c->name);
		put_function(out, name);
		put_part(out, c->name);
		fputs(" ;;\n", out);
	}
	fputs("\t\tesac\n\t\t;;\n\tesac\n}\n", out);
}

int completion_zsh(FILE *out)
{
	static const struct completion_shell shell = {.table = put_table, .command = put_command};

	fputs(head, out);
	completion_tables(out, &shell);
	fputs("\n_ibqos \"$@\"\n", out);
	return ferror(out) ? -EIO : 0;
}
