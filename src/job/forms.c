/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Settings in the form in which a launcher takes them. Names and values are made by advise.c alone (letters,
 * digits, underscores), so nothing needs quoting; a class's name is as the policy's rules allow it.
 */
#include <errno.h>
#include <string.h>

#include "ibqos/job.h"

static const char *const forms[JOB_FORMS] = {
	[JOB_FORM_SHELL] = "shell",	      [JOB_FORM_NCCL_CONF] = "nccl-conf", [JOB_FORM_SLURM] = "slurm",
	[JOB_FORM_KUBERNETES] = "kubernetes", [JOB_FORM_OPENMPI] = "openmpi",
};

const char *job_form_name(enum job_form form)
{
	return (unsigned)form < JOB_FORMS ? forms[form] : "unknown";
}

int job_form_of(const char *name, enum job_form *form)
{
	for (int i = 0; i < JOB_FORMS; i++) {
		if (strcmp(name, forms[i]) == 0) {
			*form = (enum job_form)i;
			return 0;
		}
	}
	return -EINVAL;
}

static void comment(FILE *out, const struct job_advice *a)
{
	fprintf(out, "# %s (%s): %s\n", a->name, job_stack_name(a->stack), a->why);
}

/*
 * nccl.conf: NCCL reads a key up to the first '=' and does not know comments before 2.26, so a comment has no
 * '=' (then such a line sets nothing in any version). Only NCCL reads the file, and late.
 */
static void nccl_conf(FILE *out, const struct job_advice *a)
{
	if (a->stack == JOB_STACK_NCCL) {
		comment(out, a);
		if (a->value)
			fprintf(out, "%s=%s\n", a->name, a->value);
	} else if (a->value) {
		fprintf(out, "# %s (%s): put %s into the environment; this file is read by NCCL alone\n", a->name,
			job_stack_name(a->stack), a->value);
	}
}

int job_advice_write(FILE *out, enum job_form form, const struct policy_class *class, const struct job_advice *items,
		     size_t count)
{
	bool first = true;

	if (form != JOB_FORM_SLURM && form != JOB_FORM_OPENMPI)
		fprintf(out, "# ibqos: class %s, SL %u\n", class->name, class->sl);
	if (form == JOB_FORM_KUBERNETES)
		fprintf(out, "env:\n");
	for (size_t i = 0; i < count; i++) {
		const struct job_advice *a = &items[i];

		switch (form) {
		case JOB_FORM_SHELL:
			comment(out, a);
			if (a->value)
				fprintf(out, "export %s=%s\n", a->name, a->value);
			break;
		case JOB_FORM_NCCL_CONF:
			nccl_conf(out, a);
			break;
		case JOB_FORM_KUBERNETES:
			fprintf(out, "  ");
			comment(out, a);
			if (a->value)
				fprintf(out, "  - name: %s\n    value: \"%s\"\n", a->name, a->value);
			break;
		case JOB_FORM_SLURM:
			if (a->value)
				fprintf(out, "%s%s=%s", first ? "--export=ALL," : ",", a->name, a->value);
			break;
		case JOB_FORM_OPENMPI:
			if (a->value)
				fprintf(out, "%s-x %s=%s", first ? "" : " ", a->name, a->value);
			break;
		case JOB_FORMS:
			return -EINVAL;
		}
		first &= !a->value;
	}
	if ((form == JOB_FORM_SLURM || form == JOB_FORM_OPENMPI) && !first)
		fputc('\n', out);
	return ferror(out) ? -EIO : 0;
}
