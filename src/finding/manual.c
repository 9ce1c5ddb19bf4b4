/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * ibqos-findings(7): every code with what it means and what to do, from the table that the program itself uses.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "ibqos/finding.h"

#define WIDTH 100

/* Marks of reStructuredText lose their meaning, but for the backticks of commands, which become literals. */
static char *escaped(const char *text)
{
	char *made = NULL;
	size_t size;
	bool literal = false;
	FILE *out = open_memstream(&made, &size);

	if (!out)
		return NULL;
	for (; *text; text++) {
		if (*text == '`') {
			literal = !literal;
			fputs("``", out);
			continue;
		}
		if (!literal && strchr("\\*_|<>", *text))
			fputc('\\', out);
		fputc(*text, out);
	}
	return text_stream_end(out, &made) == 0 ? made : NULL;
}

static int put(FILE *out, const char *before, const char *text, const char *after)
{
	char *safe = escaped(text), *whole;
	int error = -ENOMEM;

	if (safe && asprintf(&whole, "%s%s%s", before, safe, after) >= 0) {
		text_wrap(out, 2, WIDTH, whole);
		free(whole);
		error = 0;
	}
	free(safe);
	return error;
}

static int by_code(const void *left, const void *right)
{
	const enum finding_code *a = left, *b = right;

	return strcmp(finding_kind(*a)->code, finding_kind(*b)->code);
}

static int put_of_file(FILE *out, const char *advice)
{
	int error = put(out, "Of a file: ", advice, ".");

	fputc('\n', out);
	return error;
}

static int put_codes(FILE *out)
{
	enum finding_code sorted[FINDING_CODES];
	int error = 0;

	for (int i = 0; i < FINDING_CODES; i++)
		sorted[i] = (enum finding_code)i;
	qsort(sorted, FINDING_CODES, sizeof(sorted[0]), by_code);
	for (int i = 0; i < FINDING_CODES && error == 0; i++) {
		const struct finding_kind *kind = finding_kind(sorted[i]);

		fprintf(out, "**%s** (%s)\n", kind->code, finding_severity_name(kind->severity));
		error = put(out, "Means: ", kind->title, ".");
		fputc('\n', out);
		if (error == 0)
			error = put(out, "Remedy: ", kind->advice, ".");
		fputc('\n', out);
		if (error == 0 && finding_file_advice(sorted[i]))
			error = put_of_file(out, finding_file_advice(sorted[i]));
	}
	return error;
}

static int put_causes(FILE *out)
{
	int error = 0;

	for (int i = CAUSE_NONE + 1; i < CAUSES && error == 0; i++) {
		const struct finding_cause_kind *cause = finding_cause_kind((enum finding_cause)i);

		fprintf(out, "**%s**\n", cause->name);
		error = put(out, "Means: ", cause->title, ".");
		fputc('\n', out);
		if (error == 0)
			error = put(out, "Remedy: ", cause->advice, ".");
		fputc('\n', out);
		if (error == 0 && cause->file_advice)
			error = put_of_file(out, cause->file_advice);
	}
	return error;
}

int finding_manual(FILE *out)
{
	int error;

	fputs("==============\nibqos-findings\n==============\n\n"
	      "-----------------------------------------\nwhat ibqos finds, and what to do about it\n-----------------------------------------\n\n"
	      ":Manual section: 7\n:Manual group: InfiniBand administration\n\n"
	      "DESCRIPTION\n===========\n\n"
	      "Whatever ibqos(8) finds has a code, which stands in brackets in its text, as **code** in JSON and as a label of\n"
	      "**ibqos_findings_by_code** among its metrics. Codes stay what they are: scripts and tickets may hold them.\n\n"
	      "The severity is that which a finding of this code usually has. **critical** makes the exit status 2, **unknown**\n"
	      "3: something did not answer or was not looked at. **warning** makes it 1, a **note** leaves it.\n\n"
	      "Where the fabric was read from a file (**--from**, **ibqos diff**, **ibqos rails**) asking again changes nothing: the remedy is\n"
	      "then what stands below as **Of a file**, if anything does.\n\n",
	      out);
	fputs("WHY A TABLE DIFFERS\n===================\n\n"
	      "Findings about a table that a port holds have a **class** as well, by the subnet manager's own record of it.\n\n",
	      out);
	error = put_causes(out);
	fputs("CODES\n=====\n\n", out);
	if (error == 0)
		error = put_codes(out);
	fputs("SEE ALSO\n========\n\nibqos(8), ibqos-job(8), ibqos-policy(5)\n", out);
	return error ? error : ferror(out) ? -EIO : 0;
}
