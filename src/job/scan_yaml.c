/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * YAML of Kubernetes, Compose and the like, by libyaml's events: {name: A, value: "1"}, {A: "1"}, "A=1" in a list,
 * and scripts in scalars. What a template engine would make of the file is not known: then it is mostly no YAML.
 */
#include <stdlib.h>
#include <string.h>
#include <yaml.h>

#include "scan.h"

#define DEEPEST 64 /* levels that are read */
#define TOO_DEEP 1000

struct level {
	bool mapping, at_value;
	char *key;	  /* of the pair under way */
	size_t key_at;
	char *name, *value; /* of the pairs `name` and `value` of this mapping */
	size_t name_at;
	bool other_value; /* there is a `value` or `valueFrom` that is no scalar */
};

struct state {
	struct scan *scan;
	size_t mark_line, mark_column, mark_at; /* the last mark that was looked for */
	struct level levels[DEEPEST];
	int depth; /* -1: outside; deeper ones than there is room for are counted, not read */
};

static struct level *level(struct state *st)
{
	return st->depth >= 0 && st->depth < DEEPEST ? &st->levels[st->depth] : NULL;
}

/* libyaml counts characters, and the text has bytes. Marks come in order, so that a long line is walked once. */
static size_t offset_of(struct state *st, const yaml_mark_t *mark)
{
	const struct scan *s = st->scan;
	size_t at = s->line_start[mark->line < s->lines ? mark->line : s->lines - 1], column = 0;

	if (mark->line == st->mark_line && mark->column >= st->mark_column && st->mark_at >= at) {
		at = st->mark_at;
		column = st->mark_column;
	}
	for (; column < mark->column && at < s->size && s->text[at] != '\n'; column++) {
		at++;
		while (at < s->size && ((unsigned char)s->text[at] & 0xc0) == 0x80)
			at++;
	}
	st->mark_line = mark->line;
	st->mark_column = column;
	st->mark_at = at;
	return at;
}

static void forget(char **text)
{
	free(*text);
	*text = NULL;
}

/* A script in a scalar: scanned where it stands, from its first line's start; YAML's indentation is blanks to a shell. */
static void script(struct state *st, const yaml_event_t *event)
{
	const char *text = (const char *)event->data.scalar.value;
	size_t begin = offset_of(st, &event->start_mark), end = offset_of(st, &event->end_mark);

	if (!strpbrk(text, " \t\n;") || (!strstr(text, "NCCL_") && !strstr(text, "UCX_") && !strstr(text, "NVSHMEM_") &&
					 !strstr(text, "MC_")))
		return;
	if (event->data.scalar.style == YAML_LITERAL_SCALAR_STYLE || event->data.scalar.style == YAML_FOLDED_SCALAR_STYLE) {
		while (begin < end && st->scan->text[begin] != '\n')
			begin++;
	} else if (event->data.scalar.style != YAML_PLAIN_SCALAR_STYLE && end > begin + 1) {
		begin++;
		end--;
	}
	scan_shell(st->scan, begin, end, 0);
}

/* After the two parts of a mapping's pair, or a scalar of a list. */
static void pair(struct state *st, struct level *l, const char *value)
{
	if (strcmp(l->key, "name") == 0) {
		forget(&l->name);
		l->name = strdup(value);
		l->name_at = l->key_at;
	} else if (strcmp(l->key, "value") == 0) {
		forget(&l->value);
		l->value = strdup(value);
	} else if (job_env_cares(l->key, strlen(l->key))) {
		scan_add(st->scan, l->key_at, l->key, strlen(l->key), value, strlen(value));
	}
}

static void scalar(struct state *st, const yaml_event_t *event)
{
	const char *text = (const char *)event->data.scalar.value, *equals;
	struct level *l = level(st);

	if (l && l->mapping && !l->at_value) {
		forget(&l->key);
		l->key = strdup(text);
		l->key_at = offset_of(st, &event->start_mark);
		l->at_value = true;
		st->scan->failed |= !l->key;
		return;
	}
	if (l && l->mapping && l->key) {
		l->at_value = false;
		pair(st, l, text);
		if (strcmp(l->key, "name") == 0) /* the finding stands where the variable's name does */
			l->name_at = offset_of(st, &event->start_mark);
	}
	equals = strchr(text, '=');
	if (equals && !strpbrk(text, " \t\n;") && job_env_cares(text, (size_t)(equals - text)))
		scan_add(st->scan, offset_of(st, &event->start_mark), text, (size_t)(equals - text), strchr(equals, '$') ? NULL : equals + 1,
			 strlen(equals + 1));
	else
		script(st, event);
}

static void opens(struct state *st, bool mapping)
{
	struct level *l = level(st);

	if (l && l->mapping) { /* a value that is no scalar */
		l->other_value |= l->key && strncmp(l->key, "value", 5) == 0;
		if (l->at_value && l->key && job_env_cares(l->key, strlen(l->key)))
			scan_add(st->scan, l->key_at, l->key, strlen(l->key), NULL, 0);
		l->at_value = !l->at_value;
	}
	st->depth++;
	l = level(st);
	if (l)
		*l = (struct level){.mapping = mapping};
}

static void closes(struct state *st)
{
	struct level *l = level(st);

	if (l) {
		if (l->name && (l->value || l->other_value))
			scan_add(st->scan, l->name_at, l->name, strlen(l->name),
				 l->value && !strstr(l->value, "$(") ? l->value : NULL, l->value ? strlen(l->value) : 0);
		forget(&l->key);
		forget(&l->name);
		forget(&l->value);
	}
	st->depth--;
}

void scan_yaml(struct scan *s)
{
	struct state st = {.scan = s, .depth = -1};
	yaml_parser_t parser;
	bool end = false;

	if (!yaml_parser_initialize(&parser)) {
		s->failed = true;
		return;
	}
	yaml_parser_set_input_string(&parser, (const unsigned char *)s->text, s->size);
	yaml_parser_set_encoding(&parser, YAML_UTF8_ENCODING);
	while (!end && !scan_stopped(s)) {
		yaml_event_t event;

		if (!yaml_parser_parse(&parser, &event)) {
			struct finding *f = finding_add(s->findings, FINDING_JOB_SCRIPT_SYNTAX);

			finding_at(f, s->file, (unsigned)parser.problem_mark.line + 1, (unsigned)parser.problem_mark.column + 1);
			finding_set(&f->got, "%s", parser.problem ? parser.problem : "cannot be read");
			break;
		}
		switch (event.type) {
		case YAML_SCALAR_EVENT:
			scalar(&st, &event);
			break;
		case YAML_ALIAS_EVENT:
			if (level(&st) && level(&st)->mapping)
				level(&st)->at_value = !level(&st)->at_value;
			break;
		case YAML_MAPPING_START_EVENT:
		case YAML_SEQUENCE_START_EVENT:
			opens(&st, event.type == YAML_MAPPING_START_EVENT);
			break;
		case YAML_MAPPING_END_EVENT:
		case YAML_SEQUENCE_END_EVENT:
			closes(&st);
			break;
		case YAML_STREAM_END_EVENT:
			end = true;
			break;
		default:
			break;
		}
		yaml_event_delete(&event);
		if (st.depth >= TOO_DEEP) { /* libyaml looks at all levels for each token: such a file would take it hours */
			struct finding *f = finding_add(s->findings, FINDING_JOB_SCRIPT_SYNTAX);

			finding_at(f, s->file, (unsigned)parser.mark.line + 1, (unsigned)parser.mark.column + 1);
			finding_set(&f->got, "nested deeper than %d levels", TOO_DEEP);
			break;
		}
	}
	while (st.depth >= 0)
		closes(&st);
	yaml_parser_delete(&parser);
}
