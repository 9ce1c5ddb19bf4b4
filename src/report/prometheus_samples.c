/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Samples stand together by metric, so they are kept until the end of a report; and there is but one for a set of labels,
 * whatever came.
 */
#include "prometheus.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "ibqos/util.h"

static const struct {
	const char *name, *type, *help;
} metrics[PROM_METRICS] = {
#define PROM_METRIC(symbol, name, type, help) [PROM_##symbol] = {name, #type, help},
#include "prometheus_metrics.def"
#undef PROM_METRIC
};

int prom_samples_add(struct prom_samples *samples, char *labels, char *more, double value)
{
	struct prom_sample *items = array_grow(samples->items, &samples->room, samples->count + 1, sizeof(*items));

	if (!items)
		return -ENOMEM;
	samples->items = items;
	items[samples->count] = (struct prom_sample){labels, more, value, samples->count};
	samples->count++;
	return 0;
}

static size_t length_of(const char *text)
{
	return text ? strlen(text) : 0;
}

/* Alike ones side by side, the fuller one first, the last one last. */
static int by_labels(const void *left, const void *right)
{
	const struct prom_sample *a = left, *b = right;
	int order = strcmp(a->labels, b->labels);
	size_t x = length_of(a->more), y = length_of(b->more);

	if (order == 0)
		order = (x < y) - (x > y);
	return order ? order : (a->index > b->index) - (a->index < b->index);
}

static int by_index(const void *left, const void *right)
{
	const struct prom_sample *a = left, *b = right;

	return (a->index > b->index) - (a->index < b->index);
}

static bool adds_up(enum prom_metric metric)
{
	return strcmp(metrics[metric].type, "counter") == 0 || metric == PROM_BY_CODE || metric == PROM_PORT_FINDINGS ||
	       metric == PROM_PORT_OMITTED;
}

/* Leaves one of alike ones, where the first of them stood. */
static void merge(struct prom_samples *samples, bool sum)
{
	size_t kept = 0;

	qsort(samples->items, samples->count, sizeof(*samples->items), by_labels);
	for (size_t i = 0; i < samples->count; i++) {
		struct prom_sample *next = &samples->items[i], *last = kept ? &samples->items[kept - 1] : NULL;

		if (!last || strcmp(last->labels, next->labels) != 0) {
			samples->items[kept++] = *next;
			continue;
		}
		last->value = sum ? last->value + next->value : next->value;
		last->index = next->index < last->index ? next->index : last->index;
		free(next->labels);
		free(next->more);
	}
	samples->count = kept;
	qsort(samples->items, samples->count, sizeof(*samples->items), by_index);
}

void prom_samples_put(struct report *r, enum prom_metric metric, struct prom_samples *samples, const char *common)
{
	if (samples->count == 0)
		return;
	merge(samples, adds_up(metric));
	report_put(r, "# HELP %s %s\n# TYPE %s %s\n", metrics[metric].name, metrics[metric].help, metrics[metric].name,
		   metrics[metric].type);
	for (size_t i = 0; i < samples->count; i++) {
		const struct prom_sample *s = &samples->items[i];
		const char *const parts[] = {common, s->labels, s->more};
		const char *between = "{";

		report_put(r, "%s", metrics[metric].name);
		for (size_t n = 0; n < sizeof(parts) / sizeof(parts[0]); n++) {
			if (length_of(parts[n]) == 0)
				continue;
			report_put(r, "%s%s", between, parts[n]);
			between = ",";
		}
		report_put(r, "%s", *between == ',' ? "} " : " ");
		/* whole numbers with all their digits, as far as Prometheus has them */
		report_put(r, s->value == floor(s->value) && fabs(s->value) < 0x1p63 ? "%.0f\n" : "%.9g\n", s->value);
	}
}

void prom_samples_clear(struct prom_samples *samples)
{
	for (size_t i = 0; i < samples->count; i++) {
		free(samples->items[i].labels);
		free(samples->items[i].more);
	}
	free(samples->items);
}
