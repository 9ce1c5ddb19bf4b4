/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Completion for bash: what is known of each command as a function of words, and the part that is the same for all. */
#include <errno.h>

#include "completion.h"

static const char head[] =
	"# bash completion for ibqos(8), made by `ibqos --completion=bash`; needs bash-completion\n"
	"\n"
	"# $1: a command. Sets its options, those that take a value, the kinds of its arguments, and words for those.\n"
	"_ibqos_command()\n"
	"{\n"
	"\toptions= valued= arguments= known=\n"
	"\tcase $1 in\n";

static const char tail[] =
	"\tesac\n"
	"}\n"
	"\n"
	"# Files of a kind, or any where there are none of it here.\n"
	"_ibqos_files()\n"
	"{\n"
	"\t_filedir \"$1\"\n"
	"\t[[ ${#COMPREPLY[@]} -gt 0 ]] || _filedir\n"
	"}\n"
	"\n"
	"# Names of folders below the one of --state-dir.\n"
	"_ibqos_kept()\n"
	"{\n"
	"\tlocal i folder=" IBQOS_STATE_DIR "\n"
	"\tfor ((i = 1; i < ${#line[@]}; i++)); do\n"
	"\t\tcase ${line[i]} in\n"
	"\t\t--state-dir=*) folder=${line[i]#*=} ;;\n"
	"\t\t--state-dir) folder=${line[i + 1]-} ;;\n"
	"\t\tesac\n"
	"\tdone\n"
	"\t_ibqos_below \"${folder/#\\~\\//$HOME/}/$1\"\n"
	"}\n"
	"\n"
	"_ibqos_below()\n"
	"{\n"
	"\tlocal path\n"
	"\tfor path in \"$1\"/*/; do\n"
	"\t\tpath=${path%/} path=${path##*/}\n"
	"\t\t[[ $path == '*' || $path != \"$cur\"* ]] || COMPREPLY+=(\"$(printf %q \"$path\")\")\n"
	"\tdone\n"
	"}\n"
	"\n"
	"_ibqos_fill()\n"
	"{\n"
	"\tlocal before\n"
	"\tcase $1 in\n"
	"\tfile) _filedir ;;\n"
	"\tdir) _filedir -d ;;\n"
	"\tyaml) _ibqos_files '@(yaml|yml)' ;;\n"
	"\tstate) _ibqos_files '@(snap|db_csv)' ;;\n"
	"\tkey)\n"
	"\t\t_filedir\n"
	"\t\tCOMPREPLY+=($(compgen -W prompt -- \"$cur\"))\n"
	"\t\t;;\n"
	"\twords) COMPREPLY=($(compgen -W \"$known\" -- \"$cur\")) ;;\n"
	"\tlist)\n"
	"\t\tbefore=${cur%\"${cur##*,}\"}\n"
	"\t\tCOMPREPLY=($(compgen -P \"$before\" -W \"$known\" -- \"${cur##*,}\"))\n"
	"\t\t;;\n"
	"\tadapter) _ibqos_below /sys/class/infiniband ;;\n"
	"\tchange) _ibqos_kept history ;;\n"
	"\twork) _ibqos_kept maintenance ;;\n"
	"\tesac\n"
	"}\n"
	"\n"
	"_ibqos()\n"
	"{\n"
	"\tlocal cur prev words cword split\n"
	"\t_init_completion -s || return\n"
	"\tlocal line=(\"${words[@]}\") command= kinds=() place=0 i options valued arguments known kind\n"
	"\n"
	"\t_ibqos_command ''\n"
	"\tfor ((i = 1; i < cword; i++)); do\n"
	"\t\tcase ${line[i]} in\n"
	"\t\t--*=*) ;;\n"
	"\t\t-?*) [[ \" $valued \" == *\" ${line[i]}:\"* ]] && ((i++)) ;;\n"
	"\t\t*)\n"
	"\t\t\tif [[ $arguments == command ]]; then\n"
	"\t\t\t\tcommand=${command:+$command }${line[i]}\n"
	"\t\t\t\t_ibqos_command \"$command\"\n"
	"\t\t\telse\n"
	"\t\t\t\t((place++))\n"
	"\t\t\tfi\n"
	"\t\t\t;;\n"
	"\t\tesac\n"
	"\tdone\n"
	"\n"
	"\tif [[ $prev == -* && \" $valued \" == *\" $prev:\"* ]]; then\n"
	"\t\tkind=\" $valued\" kind=${kind#*\" $prev:\"}\n"
	"\t\tkind=${kind%% *}\n"
	"\t\tknown=\n"
	"\t\t[[ $kind != words && $kind != list ]] || _ibqos_words \"$prev\"\n"
	"\t\t_ibqos_fill \"$kind\"\n"
	"\t\treturn\n"
	"\tfi\n"
	"\t[[ -z $split || $split == false ]] || return\n"
	"\tif [[ $cur == -* ]]; then\n"
	"\t\tCOMPREPLY=($(compgen -W \"$options\" -- \"$cur\"))\n"
	"\t\treturn\n"
	"\tfi\n"
	"\tif [[ $arguments == command ]]; then\n"
	"\t\tCOMPREPLY=($(compgen -W \"$known\" -- \"$cur\"))\n"
	"\t\treturn\n"
	"\tfi\n"
	"\tkinds=($arguments)\n"
	"\tif [[ ${#kinds[@]} -gt 0 && ${kinds[-1]} == + ]]; then\n"
	"\t\tunset 'kinds[-1]'\n"
	"\t\t((place < ${#kinds[@]})) || place=$((${#kinds[@]} - 1))\n"
	"\tfi\n"
	"\t_ibqos_fill \"${kinds[place]-}\"\n"
	"} &&\n"
	"\tcomplete -F _ibqos ibqos\n";

static const char *const kinds[COMPLETION_KINDS] = {
	[COMPLETION_NONE] = "none",	  [COMPLETION_FILE] = "file",	[COMPLETION_DIR] = "dir",
	[COMPLETION_YAML] = "yaml",	  [COMPLETION_STATE] = "state", [COMPLETION_KEY] = "key",
	[COMPLETION_WORDS] = "words",	  [COMPLETION_LIST] = "list",	[COMPLETION_ADAPTER] = "adapter",
	[COMPLETION_CHANGE] = "change",	  [COMPLETION_WORK] = "work",
};

struct pass {
	FILE *out;
	const char *command, *before;
};

static void put_name(void *arg, const struct argp_option *o)
{
	struct pass *p = arg;

	fprintf(p->out, "%s--%s", p->before, o->name);
	p->before = " ";
}

/* "--Ca:adapter -C:adapter" */
static void put_valued(void *arg, const struct argp_option *o)
{
	struct pass *p = arg;
	const char *kind;

	if (!o->arg)
		return;
	kind = kinds[completion_option(p->command, o)];
	fprintf(p->out, "%s--%s:%s", p->before, o->name, kind);
	p->before = " ";
	if (o->key > ' ' && o->key < 0x7f)
		fprintf(p->out, " -%c:%s", o->key, kind);
}

static void put_command(FILE *out, const char *name, const struct argp *argp)
{
	struct pass pass = {out, name, ""};
	bool repeated = false;

	fprintf(out, "\t'%s')\n\t\toptions='", name);
	completion_walk(argp, put_name, &pass);
	fputs("'\n\t\tvalued='", out);
	pass.before = "";
	completion_walk(argp, put_valued, &pass);
	fputs("'\n", out);
	if (completion_has_argument(name, 0, &repeated)) {
		fprintf(out, "\t\targuments='%s", kinds[completion_argument(name, 0)]);
		for (unsigned i = 1; !repeated && completion_has_argument(name, i, &repeated); i++)
			fprintf(out, " %s", kinds[completion_argument(name, i)]);
		fprintf(out, "%s'\n", repeated ? " +" : "");
	}
	if (completion_argument(name, 0) == COMPLETION_WORDS) {
		fputs("\t\tknown='", out);
		completion_words(out, NULL);
		fputs("'\n", out);
	}
	fputs("\t\t;;\n", out);
}

/* A table of commands: of the program, or of a group. */
static void put_table(FILE *out, const char *name, const struct cmd *table, bool asking)
{
	const char *before = "";

	fprintf(out, "\t'%s')\n\t\targuments=command\n\t\tknown='", name);
	for (const struct cmd *c = table; c->name; c++) {
		if (asking && completion_asks(c))
			continue;
		fprintf(out, "%s%s", before, c->name);
		before = " ";
	}
	fputs("'\n\t\toptions='", out);
	before = "";
	if (*name && !asking)
		fputs("--help", out);
	for (const struct cmd_global *g = cmd_globals; !*name && g->name; g++) {
		if (!g->summary)
			continue;
		fprintf(out, "%s--%s", before, g->name);
		before = " ";
	}
	fputs("'\n\t\t;;\n", out);
}

int completion_bash(FILE *out)
{
	static const struct completion_shell shell = {.table = put_table, .command = put_command};

	fputs(head, out);
	completion_tables(out, &shell);
	fputs("\tesac\n}\n\n# $1: an option. Sets the words that it takes.\n_ibqos_words()\n{\n\tcase $1 in\n", out);
	for (size_t i = 0; completion_worded(i); i++) {
		fprintf(out, "\t--%s) known='", completion_worded(i));
		completion_words(out, completion_worded(i));
		fputs("' ;;\n", out);
	}
	fputs(tail, out);
	return ferror(out) ? -EIO : 0;
}
