/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * What the policy file says of counters: thresholds as rates, by speed; what is not to be told; when a port is busy.
 */
#include <errno.h>
#include <stdlib.h>

#include "read.h"

#define RATES_MAX 256

/* As libibmad calls them; in the order of enum counter_id (include/ibqos/counters.h), which a unit test holds. */
static const char *const counter_choices[] = {
	"SymbolErrorCounter",	       "LinkErrorRecoveryCounter", "LinkDownedCounter",
	"PortRcvErrors",	       "PortRcvRemotePhysicalErrors", "PortRcvSwitchRelayErrors",
	"PortXmitDiscards",	       "PortXmitConstraintErrors", "PortRcvConstraintErrors",
	"LocalLinkIntegrityErrors",    "ExcessiveBufferOverrunErrors", "VL15Dropped",
	"QP1Dropped",		       "PortXmitWait",		   "PortXmitData",
	"PortRcvData",		       "PortXmitPkts",		   "PortRcvPkts",
	"SyncHeaderErrorCounter",      "UnknownBlockCounter",	   "PortFECCorrectableBlockCtr",
	"PortFECUncorrectableBlockCtr", NULL};
#define COUNTER_WANTED "a counter by libibmad's name, as PortXmitDiscards"

const char *policy_counter_name(unsigned counter)
{
	return counter < sizeof(counter_choices) / sizeof(counter_choices[0]) ? counter_choices[counter] : NULL;
}

static int set_rate_counter(struct policy_reader *in, void *target, const struct key_value *value)
{
	struct policy_counter_rate *rate = target;

	(void)in;
	rate->counter = value->number;
	return 0;
}

static int set_rate_speed(struct policy_reader *in, void *target, const struct key_value *value)
{
	struct policy_counter_rate *rate = target;

	(void)in;
	rate->speed = 1u << value->number; /* the choices stand in the order of the bits of enum link_speed */
	return 0;
}

static int set_rate_count(struct policy_reader *in, void *target, const struct key_value *value)
{
	struct policy_counter_rate *rate = target;

	(void)in;
	rate->count = value->number;
	return 0;
}

static int set_rate_seconds(struct policy_reader *in, void *target, const struct key_value *value)
{
	struct policy_counter_rate *rate = target;

	(void)in;
	rate->seconds = value->number;
	return 0;
}

static const struct key_row rate_rows[] = {
	{.name = "counter",
	 .type = VALUE_CHOICE,
	 .required = true,
	 .choices = counter_choices,
	 .set = set_rate_counter,
	 .wanted = COUNTER_WANTED,
	 .doc = "Which counter."},
	{.name = "speed",
	 .type = VALUE_CHOICE,
	 .choices = policy_speed_choices,
	 .set = set_rate_speed,
	 .wanted = "SDR, DDR, QDR, FDR10, FDR, EDR, HDR, NDR or XDR",
	 .doc = "Only on links of this speed; goes before a rate without one. Default: all."},
	{.name = "count",
	 .type = VALUE_INTEGER,
	 .required = true,
	 .min = 1,
	 .max = UINT32_MAX,
	 .set = set_rate_count,
	 .wanted = "a whole number from 1",
	 .doc = "So many are too many,"},
	{.name = "seconds",
	 .type = VALUE_INTEGER,
	 .required = true,
	 .min = 1,
	 .max = 31536000,
	 .set = set_rate_seconds,
	 .wanted = "a whole number of seconds, 1 to a year's",
	 .doc = "in so long, and in proportion in longer."},
};
static const struct key_table rate_key_table = KEY_TABLE("rate", rate_rows, false);

static void *add_rate(struct policy_reader *in, void *target, struct policy_mark mark)
{
	struct policy_counters *counters = target;
	struct policy_counter_rate *rates =
		array_grow(counters->rates, &counters->rate_room, counters->rate_count + 1, sizeof(*rates));

	(void)in;
	if (!rates)
		return NULL;
	counters->rates = rates;
	rates[counters->rate_count].mark = mark;
	return &rates[counters->rate_count++];
}

static int set_rates(struct policy_reader *in, void *target, const struct key_value *value)
{
	return read_list(in, value->node, &rate_key_table, RATES_MAX, add_rate, target);
}

static int set_suppress(struct policy_reader *in, void *target, const struct key_value *value)
{
	struct policy_counters *counters = target;

	(void)in;
	counters->suppressed |= UINT32_C(1) << value->number;
	return 0;
}

static int set_congestion(struct policy_reader *in, void *target, const struct key_value *value)
{
	struct policy_counters *counters = target;

	(void)in;
	counters->congestion = value->number;
	return 0;
}

static int set_busy(struct policy_reader *in, void *target, const struct key_value *value)
{
	struct policy_counters *counters = target;

	(void)in;
	counters->busy = value->number;
	return 0;
}

static int set_tolerance(struct policy_reader *in, void *target, const struct key_value *value)
{
	struct policy_counters *counters = target;

	(void)in;
	counters->tolerance = value->number;
	return 0;
}

static const struct key_row counters_rows[] = {
	{.name = "rates",
	 .type = VALUE_LIST,
	 .keys = &rate_key_table,
	 .set = set_rates,
	 .wanted = "a list of rates: counter, speed, count, seconds",
	 .doc = "Thresholds in place of ``ibqos audit``'s own; of counters of bit errors beside theirs. A counter that audit does not "
		"judge is judged by it (``counter-over-threshold``)."},
	{.name = "suppress",
	 .type = VALUE_CHOICE,
	 .many = KEY_MANY,
	 .choices = counter_choices,
	 .set = set_suppress,
	 .wanted = COUNTER_WANTED,
	 .doc = "Counters to tell nothing of, as ``--suppress``."},
	{.name = "congestion",
	 .type = VALUE_INTEGER,
	 .min = 1,
	 .max = 100,
	 .set = set_congestion,
	 .wanted = "a whole number of percent, 1-100",
	 .doc = "As ``--congestion``, which goes before it."},
	{.name = "busy",
	 .type = VALUE_INTEGER,
	 .min = 1,
	 .max = 100,
	 .set = set_busy,
	 .wanted = "a whole number of percent, 1-100",
	 .doc = "Of ``--shares``: from which part of its data rate on a port was busy. Default: 80."},
	{.name = "tolerance",
	 .type = VALUE_INTEGER,
	 .min = 1,
	 .max = 100,
	 .set = set_tolerance,
	 .wanted = "a whole number of percent, 1-100",
	 .doc = "Of ``--shares``: which part of its promised share a class may lack. Default: 20."},
};
const struct key_table counters_key_table = KEY_TABLE("counters", counters_rows, true);

/* A counter has one rate at a speed, and one for the others; one of a counter that is not told is of no use. */
static void check_rates(struct policy_reader *in, const struct policy_counters *counters)
{
	for (size_t i = 0; i < counters->rate_count; i++) {
		const struct policy_counter_rate *rate = &counters->rates[i];

		for (size_t k = 0; k < i; k++) {
			const struct policy_counter_rate *other = &counters->rates[k];
			struct finding *f;

			if (other->seconds == 0 || rate->seconds == 0 || other->counter != rate->counter || other->speed != rate->speed)
				continue;
			f = read_finding(in, FINDING_POLICY_RATE_CLASH, rate->mark);
			finding_set(&f->what, "rate of %s", counter_choices[rate->counter]);
			finding_set(&f->detail, "the other one is at line %u", other->mark.line);
			break;
		}
		if (rate->seconds != 0 && counters->suppressed & UINT32_C(1) << rate->counter)
			finding_set(&read_finding(in, FINDING_POLICY_RATE_UNUSED, rate->mark)->what, "rate of %s",
				    counter_choices[rate->counter]);
	}
}

int set_counters(struct policy_reader *in, void *target, const struct key_value *value)
{
	int error = read_keys(in, value->node, &counters_key_table, &in->policy->counters);

	(void)target;
	in->policy->counters.given = true;
	if (error == 0)
		check_rates(in, &in->policy->counters);
	return error;
}

void counters_part_clear(struct policy *policy)
{
	free(policy->counters.rates);
}
