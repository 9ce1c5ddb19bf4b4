/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * What is known of traffic: services by which it can be told from other, programs that choose an
 * SL by themselves, and a proposal of SLs that keeps clear of those.
 *
 * Service IDs of rdma_cm over RDMA_PS_TCP are 0x01060000 plus the port. Sources: OpenSM 3.3.23
 * osm_qos_policy.h:57-61 (SDP, RDS, iSER); Lustre o2iblnd port 987, NVMe over Fabrics 4420, NFS over
 * RDMA 20049 (RFC 8267). SRP and IPoIB have no service ID that a rule could name.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "read.h"

static const struct policy_service services[] = {
	{"lustre", 0x010603db, 0x010603db, false, false, true, "Lustre (o2iblnd), port 987"},
	{"nvme-of", 0x01061144, 0x01061144, false, false, true, "NVMe over Fabrics, port 4420"},
	{"nfs-rdma", 0x01064e51, 0x01064e51, false, false, true, "NFS over RDMA, port 20049"},
	{"iser", 0x01060cbc, 0x01060cbc, false, false, true, "iSCSI extensions for RDMA, port 3260"},
	{"rds", 0x010648ca, 0x010648ca, false, false, false, "Reliable Datagram Sockets, port 18634"},
	{"sdp", 0x00010000, 0x0001ffff, false, false, false, "Sockets Direct Protocol, all ports"},
	{"srp", 0, 0, false, true, true,
	 "SCSI RDMA Protocol; it is known by its targets only, so ``destination`` must name them"},
	{"ipoib", 0, 0, true, false, false,
	 "IP over InfiniBand; it is known by its partition only (``partition`` or ``pkey``; without one the default "
	 "partition 0x7fff)"},
};

const struct policy_service *policy_services(size_t *count)
{
	*count = sizeof(services) / sizeof(services[0]);
	return services;
}

const struct policy_self_chooser *policy_self_choosers(size_t *count)
{
	static const struct policy_self_chooser choosers[] = {
		{"nccl", "NCCL_IB_SL"},	    {"ucx", "UCX_IB_SL"},	{"nvshmem", "NVSHMEM_IB_SL"},
		{"deepep", "EP_OVERRIDE_RDMA_SL"}, {"mooncake", "MC_IB_SL"}, {"mpi", "UCX_IB_SL"},
	};

	*count = sizeof(choosers) / sizeof(choosers[0]);
	return choosers;
}

/* --- SLs that programs take by themselves --- */

/* NCCL 2.30.7's GIN with a traffic class and no SL: the class in a field of 4 bits (gin_host_gdaki.cc:508-510). */
static int tc_of_sl(const struct policy *policy, unsigned sl)
{
	for (size_t i = 0; i < policy->class_count; i++) {
		const struct policy_class *class = &policy->classes[i];

		if (class->nccl_ib_tc != POLICY_NO_TC && (class->nccl_ib_tc & 0xf) == (int)sl)
			return class->nccl_ib_tc;
		for (size_t n = 0; n < class->more_tcs.count; n++)
			if ((class->more_tcs.items[n].low & 0xf) == sl)
				return (int)class->more_tcs.items[n].low;
	}
	return POLICY_NO_TC;
}

bool policy_sl_self_chosen(const struct policy *policy, unsigned sl, char text[POLICY_SL_TEXT])
{
	int tc = tc_of_sl(policy, sl);
	const char *who = "";

	if (sl == 0)
		who = "the SM, IPoIB and every program that chooses none";
	else if (sl == 3)
		who = "DeepEP V2 (sl_idx 3)";
	if (tc != POLICY_NO_TC && sl != 0)
		snprintf(text, POLICY_SL_TEXT, "%s%sNCCL's GIN with NCCL_IB_TC=%d and no NCCL_IB_SL (from 2.30.7)", who,
			 *who ? "; " : "", tc);
	else
		snprintf(text, POLICY_SL_TEXT, "%s", who);
	return *text != '\0';
}

/* --- proposals --- */

static bool sl_free(const unsigned *sl, const bool *has, size_t count, unsigned wanted)
{
	for (size_t i = 0; i < count; i++)
		if (has[i] && sl[i] == wanted)
			return false;
	return true;
}

/* The lowest free SL above 0 that nobody takes by itself; where there is none, the lowest above 0 at all. */
static int lowest_free(const struct policy *policy, const unsigned *sl, const bool *has, unsigned *found)
{
	char text[POLICY_SL_TEXT];

	for (int pass = 0; pass < 2; pass++) {
		for (*found = 1; *found < QOS_SLS; ++*found)
			if (sl_free(sl, has, policy->class_count, *found) &&
			    (pass > 0 || !policy_sl_self_chosen(policy, *found, text)))
				return 0;
	}
	*found = 0;
	return sl_free(sl, has, policy->class_count, 0) ? 0 : -ENOSPC;
}

int policy_suggest_sls(const struct policy *policy, unsigned sl[QOS_SLS])
{
	bool has[QOS_SLS] = {false};
	size_t first = policy->default_class;

	if (policy->class_count > QOS_SLS)
		return -ENOSPC;
	for (size_t i = 0; i < policy->class_count; i++) {
		has[i] = policy->classes[i].sl_mark.line != 0;
		sl[i] = policy->classes[i].sl;
	}
	/* what chooses no SL has SL 0, and belongs to the default class */
	if (first < policy->class_count && !has[first] && sl_free(sl, has, policy->class_count, 0)) {
		sl[first] = 0;
		has[first] = true;
	}
	for (size_t i = 0; i < policy->class_count; i++) {
		int ret = has[i] ? 0 : lowest_free(policy, sl, has, &sl[i]);

		if (ret < 0)
			return ret;
		has[i] = true;
	}
	return 0;
}
