/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Which of a report's values are metrics. The writer (prometheus.c) gets every field and row that text and JSON get; what
 * it writes of them is a row of the table in prometheus_rules.c. A value that is not known is no sample.
 */
#ifndef REPORT_PROMETHEUS_H
#define REPORT_PROMETHEUS_H

#include "writer.h"

enum prom_metric {
#define PROM_METRIC(symbol, name, type, help) PROM_##symbol,
#include "prometheus_metrics.def"
#undef PROM_METRIC
	PROM_METRICS
};

enum prom_how {
	PROM_VALUE,  /* the number, real or truth, times `scale` */
	PROM_EQUALS, /* 1 if the string is `word`, else 0 */
	PROM_NUMBER, /* the number that the string begins with, times `scale`: "400 Gb/sec" */
	PROM_UTC,    /* the string "2026-11-30T10:42:21Z" in seconds since 1970 */
	PROM_INFO,   /* 1, where the string is known */
};

/* One value that is a metric. */
struct prom_rule {
	const char *group; /* key of the section or table; "": neither */
	const char *key;   /* of the field or column */
	enum prom_metric metric;
	enum prom_how how;
	const char *labels;  /* as they are to be written: phase="asking"; NULL: none */
	const char *columns; /* of a table's row: cells that are labels too, with commas between, or "label=column"; NULL: none */
	const char *word;    /* PROM_EQUALS; otherwise, of a row: only where the cell called `only` has this word */
	const char *only;
	double scale; /* 0: as it is */
};
extern const struct prom_rule prom_rules[];
extern const size_t prom_rule_count;

/* The samples of one metric. Two with the same labels are one: Prometheus would take none of the file. */
struct prom_samples {
	struct prom_sample {
		char *labels; /* that they are told apart by; may be "" */
		char *more;   /* labels besides; the fuller ones count. NULL: none */
		double value; /* of counters and findings added up, of others the last counts */
		size_t index; /* in order of coming */
	} *items;
	size_t count, room;
};
/* Takes both strings, unless it fails: -ENOMEM. */
int prom_samples_add(struct prom_samples *samples, char *labels, char *more, double value);
/* Merges and writes them, each with the labels that all have (NULL: none), under the metric's HELP and TYPE. */
void prom_samples_put(struct report *r, enum prom_metric metric, struct prom_samples *samples, const char *common);
void prom_samples_clear(struct prom_samples *samples);

#endif
