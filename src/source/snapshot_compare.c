/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Answers of two snapshots about the same port side by side. */
#include <string.h>

#include "snapshot_parts.h"

/* The first run about a port and attribute; run_count if there is none. */
static uint32_t first_run(const struct snapshot *s, uint32_t port, uint16_t attribute)
{
	const struct snapshot_run key = {.port = port, .mgmt_class = MAD_CLASS_SMP, .attribute = attribute};
	uint32_t low = 0, high = s->run_count;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (snapshot_run_compare(&s->runs[middle], &key) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* What stands for the port itself in a modifier is alike, since a port keeps its number. */
static void compare_one(const struct snapshot *a, const struct snapshot_run *run, uint32_t modifier,
			const struct snapshot *b, uint32_t port_b, struct snapshot_difference *d)
{
	uint8_t data_a[MAD_SMP_DATA], data_b[MAD_SMP_DATA];
	enum mad_outcome outcome = MAD_NOT_ASKED;
	unsigned differing = 0;
	uint32_t value = 0;

	if (!snapshot_find(b, port_b, MAD_CLASS_SMP, run->attribute, modifier, &outcome, &value)) {
		d->only_one++;
		return;
	}
	if (run->outcome != MAD_ANSWERED || outcome != MAD_ANSWERED) {
		d->unknown += run->outcome != outcome || run->outcome != MAD_STATUS;
		return;
	}
	d->compared++;
	snapshot_get_data(a, run->value, data_a, sizeof(data_a));
	snapshot_get_data(b, value, data_b, sizeof(data_b));
	for (unsigned i = 0; i < sizeof(data_a); i++)
		differing += data_a[i] != data_b[i];
	if (differing == 0)
		return;
	if (d->differ == 0) {
		d->alike = true;
		d->modifier = modifier;
		memcpy(d->before, data_a, sizeof(d->before));
		memcpy(d->after, data_b, sizeof(d->after));
	} else if (memcmp(d->before, data_a, sizeof(data_a)) != 0 || memcmp(d->after, data_b, sizeof(data_b)) != 0) {
		d->alike = false;
	}
	d->differ++;
	d->bytes += differing;
}

void snapshot_compare(const struct snapshot *a, uint32_t port_a, const struct snapshot *b, uint32_t port_b,
		      uint16_t attribute, struct snapshot_difference *difference)
{
	*difference = (struct snapshot_difference){0};
	for (uint32_t i = first_run(a, port_a, attribute); i < a->run_count; i++) {
		const struct snapshot_run *run = &a->runs[i];

		if (run->port != port_a || run->mgmt_class != MAD_CLASS_SMP || run->attribute != attribute)
			break;
		for (uint32_t n = 0; n < run->count; n++)
			compare_one(a, run, run->modifier + n * run->step, b, port_b, difference);
	}
}
