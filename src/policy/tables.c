/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Classes to tables: SL2VL, the two VL arbitration tables, VLHighLimit.
 *
 * Shares only: all classes stand in the low table, and the high table sends nothing. Priority
 * within a share: the high classes stand in the high table, VLHighLimit is the largest that leaves
 * the low table what the other classes must have, and what the low table then has to spare makes
 * up for what a high class lacks. Least latency: VLHighLimit is the smallest that gives the high
 * table what it must have instead, which is 0, one packet before each of the others', for up to half
 * of a link.
 */
#include <errno.h>
#include <math.h>

#include "plan.h"
#include "vlarb_fit.h"

#define TOLERANCE 1e-9
#define MTU_MAX 4096
#define SETTLED_ENTRIES 8   /* what adapters have; switches have as many or more */
#define SETTLED_SHARE 0.005 /* what a class may lose by that, as a part of the link */

static void fill_sl2vl(const struct policy *policy, const unsigned *vl_of_class, struct qos_sl2vl *sl2vl)
{
	unsigned fallback = vl_of_class[policy->default_class];
	unsigned unused = policy->unused_sls == POLICY_UNUSED_DROP ? QOS_VL_DROP : fallback;

	/* SL 0 is never dropped: the SM, IPoIB and libraries that know of no SL use it. */
	for (unsigned sl = 0; sl < QOS_SLS; sl++)
		sl2vl->vl[sl] = (uint8_t)(sl ? unused : fallback);
	for (size_t i = 0; i < policy->class_count; i++)
		sl2vl->vl[policy->classes[i].sl] = (uint8_t)vl_of_class[i];
}

static bool is_high(const struct policy *policy, size_t i)
{
	return policy->classes[i].priority == POLICY_PRIORITY_HIGH;
}

/* Shares as fractions that add up to 1, in class order. */
static void normalise(const struct policy *policy, double *share)
{
	double sum = 0;

	for (size_t i = 0; i < policy->class_count; i++)
		sum += policy->classes[i].share;
	for (size_t i = 0; i < policy->class_count; i++)
		share[i] = policy->classes[i].share / sum;
}

/*
 * A high table that sends nothing: every VL with weight 0, which IBA has the arbiter skip. It
 * must be written out: with the key missing OpenSM takes a table with VL 0 in it (osm_base.h:
 * OSM_DEFAULT_QOS_VLARB_HIGH "0:4,..."), and VL 0 would then have every second packet. VL 1 is
 * named even where there is no class on it: OpenSM never repeats a Set that failed when the wanted
 * block is all zero, since it marks a failed block by zeroing its copy (osm_qos.c:190-195). On
 * ports that run a single VL it folds to VL 0.
 */
static void silent_high(size_t class_count, unsigned entries, struct qos_vlarb *high)
{
	for (unsigned vl = 0; (vl < class_count || vl < 2) && vl < entries; vl++)
		high->entry[high->count++] = (struct qos_vlarb_entry){.vl = (uint8_t)vl, .weight = 0};
}

static int shares_only(const struct policy *policy, const unsigned *vl_of_class, const double *share,
		       unsigned entries, unsigned mtu, struct qos_tables *tables)
{
	struct vlarb_want wants[QOS_DATA_VLS];
	unsigned packets[QOS_DATA_VLS];

	for (size_t i = 0; i < policy->class_count; i++)
		wants[i] = (struct vlarb_want){.vl = vl_of_class[i], .share = share[i], .least = 1};
	silent_high(policy->class_count, entries, &tables->high);
	tables->high_limit = 0;
	return vlarb_fit(wants, (unsigned)policy->class_count, entries, mtu, packets, &tables->low);
}

/* Fraction of the packets that the low table sends when both tables always have full ones. */
static double low_part(unsigned high_limit, unsigned mtu)
{
	unsigned packets = (high_limit * QOS_HIGH_LIMIT_UNIT + mtu - 1) / mtu;

	return 1.0 / ((packets ? packets : 1) + 1);
}

/*
 * The largest limit that leaves the low table `needed`. Where even one packet in two is not
 * enough, the largest that leaves one in two: plan then tells which class misses its share.
 */
static unsigned choose_high_limit(double needed, unsigned mtu)
{
	double most = low_part(0, mtu);

	if (needed > most)
		needed = most;
	for (unsigned limit = QOS_HIGH_UNLIMITED - 1; limit > 0; limit--)
		if (low_part(limit, mtu) >= needed - TOLERANCE)
			return limit;
	return 0;
}

/* The smallest limit with which the high table sends `needed` of all, but no larger than `most`. */
static unsigned smallest_high_limit(double needed, unsigned most, unsigned mtu)
{
	unsigned limit = 0;

	while (limit < most && 1 - low_part(limit, mtu) < needed - TOLERANCE)
		limit++;
	return limit;
}

/*
 * What the low table is asked for: if all together is more than it sends, each class loses the
 * same part of its share. Only where high classes may take more than theirs; else what is missing
 * is a rounding of the limit.
 */
static void scale_down(struct vlarb_want *wants, unsigned count)
{
	double sum = 0;

	for (unsigned n = 0; n < count; n++)
		sum += wants[n].share;
	for (unsigned n = 0; sum > 1 && n < count; n++)
		wants[n].share /= sum;
}

/* True if no high class is after bandwidth: all of them want is to be sent soon. */
static bool latency_only(const struct policy *policy)
{
	for (size_t i = 0; i < policy->class_count; i++)
		if (is_high(policy, i) && !policy->classes[i].min_latency)
			return false;
	return true;
}

static unsigned high_limit_of(const struct policy *policy, double high, double low_needed, unsigned mtu)
{
	unsigned limit = choose_high_limit(low_needed, mtu);

	return latency_only(policy) ? smallest_high_limit(high, limit, mtu) : limit;
}

static int with_priority(const struct policy *policy, const unsigned *vl_of_class, const double *share,
			 unsigned entries, unsigned mtu, int high_limit, struct qos_tables *tables)
{
	unsigned packets[QOS_DATA_VLS], cycle = 0, count = 0;
	struct vlarb_want wants[QOS_DATA_VLS];
	double high = 0, low_needed = 0, low;
	int ret;

	for (size_t i = 0; i < policy->class_count; i++)
		*(is_high(policy, i) ? &high : &low_needed) += share[i];
	tables->high_limit = (uint8_t)(high_limit != POLICY_NO_LIMIT ? (unsigned)high_limit
								     : high_limit_of(policy, high, low_needed, mtu));
	low = low_part(tables->high_limit, mtu);

	for (size_t i = 0; i < policy->class_count; i++)
		if (is_high(policy, i))
			wants[count++] = (struct vlarb_want){vl_of_class[i], share[i] / high, 1};
	ret = vlarb_fit(wants, count, entries, mtu, packets, &tables->high);
	if (ret)
		return ret;
	for (unsigned n = 0; n < count; n++)
		cycle += packets[n];

	/* what the high table, in whole packets, leaves a class short of is asked of the low one */
	count = 0;
	for (size_t i = 0, n = 0; i < policy->class_count; i++) {
		double lacking = share[i];

		if (is_high(policy, i))
			lacking -= (1 - low) * packets[n++] / cycle;
		if (lacking > TOLERANCE)
			wants[count++] =
				(struct vlarb_want){vl_of_class[i], lacking / low, !is_high(policy, i)};
	}
	if (latency_only(policy) || high_limit != POLICY_NO_LIMIT)
		scale_down(wants, count);
	return vlarb_fit(wants, count, entries, mtu, packets, &tables->low);
}

/* When all have priority nobody has. */
static bool nobody_first(const struct policy *policy)
{
	size_t high = 0;

	for (size_t i = 0; i < policy->class_count; i++)
		high += is_high(policy, i);
	return high == 0 || high == policy->class_count;
}

static bool mtu_valid(unsigned mtu)
{
	return mtu == 256 || mtu == 512 || mtu == 1024 || mtu == 2048 || mtu == 4096;
}

/* Tables for classes that stand as given: checked, with a given limit unless it is POLICY_NO_LIMIT. */
static int make(const struct policy *policy, const unsigned *vl_of_class, unsigned cap, unsigned mtu, int high_limit,
		struct qos_tables *tables)
{
	double share[QOS_DATA_VLS];

	*tables = (struct qos_tables){.high_limit = 0};
	if (!policy->class_count || policy->class_count > QOS_DATA_VLS || !mtu_valid(mtu))
		return -EINVAL;
	for (size_t i = 0; i < policy->class_count; i++)
		if (vl_of_class[i] >= QOS_DATA_VLS || policy->classes[i].sl >= QOS_SLS)
			return -EINVAL;
	fill_sl2vl(policy, vl_of_class, &tables->sl2vl);
	normalise(policy, share);
	if (nobody_first(policy))
		return shares_only(policy, vl_of_class, share, vlarb_usable(cap), mtu, tables);
	return with_priority(policy, vl_of_class, share, vlarb_usable(cap), mtu, high_limit, tables);
}

int plan_tables(const struct policy *policy, const unsigned *vl_of_class, unsigned cap, unsigned mtu,
		struct qos_tables *tables)
{
	return make(policy, vl_of_class, cap, mtu, POLICY_NO_LIMIT, tables);
}

/* The largest part of the link that a class is short of its share when all are busy. */
static double shortfall(const struct policy *policy, const unsigned *vl_of_class, const struct qos_tables *tables,
			unsigned mtu)
{
	double wanted[QOS_DATA_VLS], got[QOS_DATA_VLS], worst = 0;
	unsigned packet[QOS_DATA_VLS];
	uint16_t busy = 0;

	for (unsigned vl = 0; vl < QOS_DATA_VLS; vl++)
		packet[vl] = mtu;
	for (size_t i = 0; i < policy->class_count; i++)
		busy |= (uint16_t)(1u << vl_of_class[i]);
	normalise(policy, wanted);
	qos_arbitrate(tables, busy, packet, got);
	for (size_t i = 0; i < policy->class_count; i++)
		if (wanted[i] - got[vl_of_class[i]] > worst)
			worst = wanted[i] - got[vl_of_class[i]];
	return worst;
}

/*
 * Weights that are multiples of 64 units are whole packets of 4096 bytes, hence of every smaller MTU:
 * such a table has the same shares on every link. That is why MTU 4096 comes first where no class has
 * priority. VLHighLimit has no such number: it counts 4096 bytes, but one packet goes in between.
 */
int plan_tables_settled(const struct policy *policy, const unsigned *vl_of_class, unsigned cap, unsigned mtu,
			int high_limit, struct qos_tables *tables)
{
	unsigned first = nobody_first(policy) ? MTU_MAX : mtu;
	const struct {
		unsigned cap, mtu;
	} tries[] = {{SETTLED_ENTRIES, first}, {cap, first}, {SETTLED_ENTRIES, mtu}, {cap, mtu}};
	double best = INFINITY;
	int ret = -ENOSPC;

	for (size_t i = 0; i < sizeof(tries) / sizeof(tries[0]); i++) {
		unsigned entries = tries[i].cap < cap ? tries[i].cap : cap;
		struct qos_tables made;
		double missing;
		int error = make(policy, vl_of_class, entries, tries[i].mtu, high_limit, &made);

		if (error == -ENOSPC)
			continue;
		if (error)
			return error;
		missing = shortfall(policy, vl_of_class, &made, mtu);
		if (missing >= best - SETTLED_SHARE)
			continue;
		best = missing;
		*tables = made;
		ret = 0;
	}
	return ret;
}
