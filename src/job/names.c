/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Names that commands and reports use: link layers, stacks, versions of NCCL. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "ibqos/job.h"

int job_link_of(const char *name, enum job_link *link)
{
	static const struct {
		const char *name;
		enum job_link link;
	} names[] = {{"infiniband", JOB_LINK_INFINIBAND},
		     {"ib", JOB_LINK_INFINIBAND},
		     {"ethernet", JOB_LINK_ETHERNET},
		     {"roce", JOB_LINK_ETHERNET}};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (strcasecmp(name, names[i].name) == 0) {
			*link = names[i].link;
			return 0;
		}
	}
	return -EINVAL;
}

const char *job_link_name(enum job_link link)
{
	return link == JOB_LINK_ETHERNET ? "ethernet" : "infiniband";
}

/* A number of at most two digits; moves *text behind it. */
static bool two_digits(const char **text, unsigned *number)
{
	unsigned digits = 0;

	for (*number = 0; digits < 2 && **text >= '0' && **text <= '9'; digits++)
		*number = *number * 10 + (unsigned)(*(*text)++ - '0');
	return digits > 0 && !(**text >= '0' && **text <= '9');
}

int job_nccl_parse(const char *text, unsigned *version)
{
	unsigned part[3];

	for (int i = 0; i < 3; i++) {
		if (i > 0 && *text++ != '.')
			return -EINVAL;
		if (!two_digits(&text, &part[i]))
			return -EINVAL;
	}
	if (*text && !strchr("-+ .", *text))
		return -EINVAL;
	*version = JOB_NCCL(part[0], part[1], part[2]);
	return *version < JOB_NCCL_OLDEST ? -ERANGE : 0;
}

void job_nccl_text(unsigned version, char text[JOB_NCCL_TEXT])
{
	snprintf(text, JOB_NCCL_TEXT, "%u.%u.%u", version / 10000 % 100, version / 100 % 100, version % 100);
}

static const char *const stacks[JOB_STACKS] = {
	[JOB_STACK_NCCL] = "nccl",	   [JOB_STACK_UCX] = "ucx",	      [JOB_STACK_OPENMPI] = "openmpi",
	[JOB_STACK_NVSHMEM] = "nvshmem",   [JOB_STACK_DEEPEP] = "deepep",     [JOB_STACK_MOONCAKE] = "mooncake",
	[JOB_STACK_RDMA_CM] = "rdma-cm",   [JOB_STACK_SHARP] = "sharp",
};

const char *job_stack_name(enum job_stack stack)
{
	return (unsigned)stack < JOB_STACKS ? stacks[stack] : "unknown";
}

int job_stacks_of(const char *list, unsigned *mask)
{
	*mask = 0;
	for (const char *at = list;; at++) {
		size_t length = strcspn(at, ",");
		unsigned i = 0;

		while (i < JOB_STACKS && (strlen(stacks[i]) != length || memcmp(stacks[i], at, length) != 0))
			i++;
		if (i == JOB_STACKS)
			return -EINVAL;
		*mask |= 1u << i;
		at += length;
		if (!*at)
			return 0;
	}
}
