/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The settings that put a program into a class. One row a setting: a variable is set only where it has an
 * effect on this link layer; where it has none, or where there is no variable, a remark says so.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "ibqos/job.h"

struct advice_list {
	struct job_advice *items;
	size_t count, room;
	bool lost;
};

/* `value` below 0: a remark alone. */
__attribute__((format(printf, 5, 6))) static void add(struct advice_list *list, enum job_stack stack, const char *name,
						       int value, const char *why, ...)
{
	struct job_advice *grown = array_grow(list->items, &list->room, list->count + 1, sizeof(*grown));
	struct job_advice item = {.stack = stack, .name = name};
	va_list args;

	if (!grown) {
		list->lost = true;
		return;
	}
	list->items = grown;
	va_start(args, why);
	if (vasprintf(&item.why, why, args) < 0)
		item.why = NULL;
	va_end(args);
	if (value >= 0 && asprintf(&item.value, "%d", value) < 0)
		item.value = NULL;
	if (!item.why || (value >= 0 && !item.value)) {
		free(item.why);
		free(item.value);
		list->lost = true;
		return;
	}
	list->items[list->count++] = item;
}

static void on_infiniband(struct advice_list *l, const struct policy_class *c)
{
	int sl = (int)c->sl, tc = c->nccl_ib_tc;

	add(l, JOB_STACK_NCCL, "NCCL_IB_SL", sl, "NCCL writes it into its queue pairs; it asks no subnet manager");
	if (tc != POLICY_NO_TC)
		add(l, JOB_STACK_NCCL, "NCCL_IB_TC", -1,
		    "not set: on InfiniBand it does not reach the wire; and NCCL from 2.30.7 with GIN would take its low "
		    "four bits for the SL if NCCL_IB_SL were missing");
	add(l, JOB_STACK_UCX, "UCX_IB_SL", sl,
	    "without it UCX takes SL 0, or with adaptive routing asked for the first SL that has it");
	add(l, JOB_STACK_OPENMPI, "OMPI_MCA_btl_openib_ib_service_level", sl,
	    "for the openib transport of Open MPI 4 and before; over UCX, UCX_IB_SL counts");
	add(l, JOB_STACK_NVSHMEM, "NVSHMEM_IB_SL", sl, "0 if not set, whatever NCCL_IB_SL says");
	add(l, JOB_STACK_DEEPEP, "EP_OVERRIDE_RDMA_SL", sl,
	    "DeepEP V2 asks for SL 3 by itself, and NCCL_IB_SL overrides both; V1 takes NVSHMEM_IB_SL");
	add(l, JOB_STACK_MOONCAKE, "MC_IB_SL", sl, "0 if not set, and always in versions before June 2026");
	if (tc != POLICY_NO_TC)
		add(l, JOB_STACK_MOONCAKE, "MC_IB_TC", tc, "Mooncake always sends a global header, which carries it");
}

static void on_ethernet(struct advice_list *l, const struct policy_class *c)
{
	int tc = c->nccl_ib_tc;

	add(l, JOB_STACK_NCCL, "NCCL_IB_SL", -1,
	    "not set: on RoCE the traffic class counts, and an SL goes no further than the priority of a VLAN tag");
	if (tc == POLICY_NO_TC) {
		add(l, JOB_STACK_NCCL, "NCCL_IB_TC", -1, "not known: the class names no nccl_ib_tc, and RoCE goes by nothing else");
		return;
	}
	add(l, JOB_STACK_NCCL, "NCCL_IB_TC", tc, "DSCP %d; switches and adapters must have that DSCP in the class's queue",
	    tc >> 2);
	add(l, JOB_STACK_UCX, "UCX_IB_TRAFFIC_CLASS", tc, "UCX takes 106 on RoCE v2 by itself, which is DSCP 26");
	add(l, JOB_STACK_NVSHMEM, "NVSHMEM_IB_TRAFFIC_CLASS", tc, "whatever NCCL_IB_TC says");
	add(l, JOB_STACK_MOONCAKE, "MC_IB_TC", tc, "whatever NCCL_IB_TC says");
}

/* Programs whose path the SA chooses: not a matter of the environment. */
static void of_rdma_cm(struct advice_list *l, const struct policy_class *c, enum job_link link)
{
	int tc = c->nccl_ib_tc;

	if (tc == POLICY_NO_TC && c->match_count == 0) {
		add(l, JOB_STACK_RDMA_CM, "tos", -1,
		    "nothing to set: this class has neither nccl_ib_tc nor match, so programs that use rdma_cm do not come "
		    "into it");
		return;
	}
	if (tc == POLICY_NO_TC) {
		add(l, JOB_STACK_RDMA_CM, "tos", -1, "nothing to set: the class's match rules give these programs its SL");
		return;
	}
	add(l, JOB_STACK_RDMA_CM, "tos", -1,
	    "Lustre: options ko2iblnd tos %d; NVMe-oF: nvme connect with tos %d; %s", tc, tc,
	    link == JOB_LINK_ETHERNET ? "the type of service is the traffic class on RoCE"
				      : "over IPv4 it reaches the subnet manager as QoS class, over IPv6 it does not");
}

int job_advise(const struct policy_class *class, enum job_link link, unsigned stacks, struct job_advice **items,
	       size_t *count)
{
	struct advice_list list = {0};
	size_t kept = 0;

	if (link == JOB_LINK_INFINIBAND)
		on_infiniband(&list, class);
	else
		on_ethernet(&list, class);
	of_rdma_cm(&list, class, link);
	add(&list, JOB_STACK_SHARP, "SHARP", -1, "not known: no setting is known that gives SHARP's own traffic an SL");
	for (size_t i = 0; i < list.count; i++) {
		if (stacks & (1u << list.items[i].stack)) {
			list.items[kept++] = list.items[i];
			continue;
		}
		free(list.items[i].value);
		free(list.items[i].why);
	}
	list.count = kept;
	*items = list.items;
	*count = list.count;
	if (!list.lost)
		return 0;
	job_advice_free(list.items, list.count);
	*items = NULL;
	*count = 0;
	return -ENOMEM;
}

void job_advice_free(struct job_advice *items, size_t count)
{
	for (size_t i = 0; items && i < count; i++) {
		free(items[i].value);
		free(items[i].why);
	}
	free(items);
}
