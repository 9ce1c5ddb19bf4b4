/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* What a snapshot lacks, as findings. */
#include "ibqos/snapshot.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "ibqos/check.h"

#include "place.h"

void check_snapshot_cut(const struct snapshot *snapshot, struct finding_list *findings)
{
	struct snapshot_info info;
	struct finding *f;

	snapshot_info(snapshot, &info);
	if (info.stopped == 0)
		return;
	f = finding_add(findings, FINDING_SNAPSHOT_CUT);
	finding_set(&f->detail, "%s", strerror(info.stopped));
}

static void add_lack(const struct fabric *fabric, const struct snapshot_lack *lack,
		     struct finding_list *findings)
{
	const uint64_t *ended = lack->item.ended;
	uint64_t all = ended[MAD_STATUS] + ended[MAD_TIMED_OUT] + ended[MAD_NOT_ASKED];
	const char *name = snapshot_attribute_name(lack->item.mgmt_class, lack->item.attribute);
	struct finding *f = finding_add(findings, FINDING_QUERY_FAILED);

	if (lack->agent == FABRIC_NONE)
		;
	else if (fabric_port_node(fabric, lack->agent)->type == FABRIC_SWITCH)
		place_node(f, fabric, fabric->ports[lack->agent].node);
	else
		place_port(f, fabric, lack->agent);
	finding_set(&f->what, "%s", name ? name : "an attribute");
	if (ended[MAD_TIMED_OUT] > 0)
		finding_set(&f->detail, "%llu queries failed, %llu of them not answered in %u tries",
			    (unsigned long long)all, (unsigned long long)ended[MAD_TIMED_OUT], lack->tries);
	else if (ended[MAD_STATUS] > 0)
		finding_set(&f->detail, "%llu queries failed, %llu of them answered with MAD status 0x%04x",
			    (unsigned long long)all, (unsigned long long)ended[MAD_STATUS], lack->status);
	else
		finding_set(&f->detail, "%llu queries not asked", (unsigned long long)all);
}

int check_snapshot(const struct snapshot *snapshot, const struct fabric *fabric,
		   struct finding_list *findings)
{
	struct snapshot_lack *lacks;
	size_t count;
	int error = snapshot_lacks(snapshot, fabric, &lacks, &count);

	for (size_t i = 0; i < count; i++)
		/* a fabric without a subnet manager is a finding of its own */
		if (lacks[i].agent != FABRIC_NONE || fabric->sm_lid != 0)
			add_lack(fabric, &lacks[i], findings);
	free(lacks);
	return error;
}
