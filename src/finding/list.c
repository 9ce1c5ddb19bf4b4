/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Lists of findings: their order, how many of what, and the exit code they ask for.
 */
#include <stdlib.h>
#include <string.h>

#include "ibqos/finding.h"

static void clear_strings(struct finding *f)
{
	free(f->fabric);
	free(f->name);
	free(f->peer_name);
	free(f->file);
	free(f->what);
	free(f->wanted);
	free(f->got);
	free(f->detail);
}

struct finding *finding_add(struct finding_list *list, enum finding_code code)
{
	struct finding *grown = array_grow(list->items, &list->room, list->count + 1, sizeof(*grown));
	struct finding *f;

	if (grown) {
		list->items = grown;
		f = &list->items[list->count++];
	} else {
		list->lost = true;
		f = &list->scratch;
		clear_strings(f);
	}
	*f = (struct finding){
		.code = code,
		.severity = finding_kind(code)->severity,
		.port = FINDING_WHOLE_NODE,
		.peer_port = FINDING_WHOLE_NODE,
		.of_file = list->of_file,
	};
	return f;
}

void finding_move(struct finding *from, struct finding_list *to)
{
	struct finding *f = finding_add(to, from->code);

	if (f == &to->scratch)
		return;
	*f = *from;
	f->of_file = f->of_file || to->of_file;
	*from = (struct finding){.code = f->code};
}

/* Absent before present. Names in the order people count in: host-2 before host-10. */
static int compare_text(const char *a, const char *b)
{
	int order;

	if (!a || !b)
		return (a != NULL) - (b != NULL);
	order = strverscmp(a, b);
	return order ? order : strcmp(a, b);
}

#define COMPARE(a, b) (((a) > (b)) - ((a) < (b)))

static int compare_findings(const void *left, const void *right)
{
	const struct finding *a = left, *b = right;
	int order = COMPARE(b->severity, a->severity);

	order = order ? order : COMPARE(b->weight, a->weight);
	/* those in files come together, as one reads a file */
	order = order ? order : COMPARE(!a->file, !b->file);
	if (a->file && b->file) {
		order = order ? order : compare_text(a->file, b->file);
		order = order ? order : COMPARE(a->line, b->line);
		order = order ? order : COMPARE(a->column, b->column);
	}
	order = order ? order : COMPARE(a->code, b->code);
	order = order ? order : COMPARE(a->cause, b->cause);
	order = order ? order : compare_text(a->fabric, b->fabric);
	order = order ? order : compare_text(a->name, b->name);
	order = order ? order : COMPARE(a->guid, b->guid);
	order = order ? order : COMPARE(a->port, b->port);
	/* the rest only so that the same findings always come in the same order */
	order = order ? order : compare_text(a->what, b->what);
	order = order ? order : compare_text(a->wanted, b->wanted);
	order = order ? order : compare_text(a->got, b->got);
	order = order ? order : compare_text(a->detail, b->detail);
	order = order ? order : COMPARE(a->peer_guid, b->peer_guid);
	order = order ? order : COMPARE(a->peer_port, b->peer_port);
	order = order ? order : compare_text(a->peer_name, b->peer_name);
	order = order ? order : COMPARE(a->first_seen, b->first_seen);
	return order ? order : COMPARE(a->told_by_another, b->told_by_another);
}

void finding_list_sort(struct finding_list *list)
{
	if (list->count > 1)
		qsort(list->items, list->count, sizeof(*list->items), compare_findings);
}

void finding_list_unique(struct finding_list *list)
{
	size_t kept = 0;

	finding_list_sort(list);
	for (size_t i = 0; i < list->count; i++) {
		if (kept > 0 && compare_findings(&list->items[kept - 1], &list->items[i]) == 0)
			clear_strings(&list->items[i]);
		else
			list->items[kept++] = list->items[i];
	}
	list->count = kept;
}

void finding_list_filter(struct finding_list *list, bool (*keep)(const struct finding *f, void *arg), void *arg)
{
	size_t kept = 0;

	for (size_t i = 0; i < list->count; i++) {
		if (keep(&list->items[i], arg))
			list->items[kept++] = list->items[i];
		else
			clear_strings(&list->items[i]);
	}
	list->count = kept;
}

static bool is_not(const struct finding *f, void *arg)
{
	return f->severity != *(enum finding_severity *)arg;
}

void finding_list_drop(struct finding_list *list, enum finding_severity severity)
{
	finding_list_filter(list, is_not, &severity);
}

size_t finding_count(const struct finding_list *list, enum finding_severity severity)
{
	size_t count = 0;

	for (size_t i = 0; i < list->count; i++)
		count += list->items[i].severity == severity;
	return count;
}

size_t finding_count_code(const struct finding_list *list, enum finding_code code)
{
	size_t count = 0;

	for (size_t i = 0; i < list->count; i++)
		count += list->items[i].code == code;
	return count;
}

enum ibqos_exit finding_exit(const struct finding_list *list)
{
	if (finding_count(list, FINDING_CRITICAL) > 0)
		return IBQOS_EXIT_CRITICAL;
	if (list->lost || finding_count(list, FINDING_UNKNOWN) > 0)
		return IBQOS_EXIT_UNKNOWN;
	if (finding_count(list, FINDING_WARNING) > 0)
		return IBQOS_EXIT_WARNING;
	return IBQOS_EXIT_CLEAN;
}

void finding_list_clear(struct finding_list *list)
{
	if (!list)
		return;
	for (size_t i = 0; i < list->count; i++)
		clear_strings(&list->items[i]);
	clear_strings(&list->scratch);
	free(list->items);
	*list = (struct finding_list){0};
}
