/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* perftest's ib_write_bw: a plan of measurements for pairs of hosts, and what it printed. */
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "ibqos/job.h"

static bool is_name(const char *text)
{
	return *text && *text != '-' &&
	       strspn(text, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-") == strlen(text);
}

static void command(FILE *out, const struct job_bw_plan *p, const char *rail)
{
	/* a server whose client never came would wait for ever */
	fprintf(out, "timeout %u ib_write_bw -F -d %s -q 4 -s 1048576 -D %u --report_gbits", p->seconds + 30, rail, p->seconds);
	if (p->sl >= 0)
		fprintf(out, " -S %d", p->sl);
	if (p->traffic_class >= 0)
		fprintf(out, " --tclass=%d", p->traffic_class);
}

static void measure(FILE *out, const struct job_bw_plan *p, const char *rail, const char *server, const char *client)
{
	fprintf(out, "pair %s %s %s '", server, client, rail);
	command(out, p, rail);
	fprintf(out, "' &\n");
}

/* Round r of a round robin of n places (even): the first stays, the others move on; place n - 1 may be nobody's. */
static size_t place(size_t n, size_t round, size_t at)
{
	return at == 0 ? 0 : 1 + (at - 1 + round) % (n - 1);
}

static void rounds(FILE *out, const struct job_bw_plan *p, const char *rail)
{
	size_t n = p->host_count + p->host_count % 2;

	for (size_t round = 0; round < n - 1; round++) {
		fprintf(out, "# %s, round %zu of %zu\n", rail, round + 1, n - 1);
		for (size_t i = 0; i < n / 2; i++) {
			size_t a = place(n, round, i), b = place(n, round, n - 1 - i);

			if (a < p->host_count && b < p->host_count)
				measure(out, p, rail, p->hosts[a], p->hosts[b]);
		}
		fprintf(out, "wait\n");
	}
}

static void neighbours(FILE *out, const struct job_bw_plan *p, const char *rail)
{
	fprintf(out, "# %s\n", rail);
	for (size_t i = 0; i + 1 < p->host_count; i += 2)
		measure(out, p, rail, p->hosts[i], p->hosts[i + 1]);
	fprintf(out, "wait\n");
	if (p->host_count % 2) { /* one is left over: with the first, once that is free */
		measure(out, p, rail, p->hosts[p->host_count - 1], p->hosts[0]);
		fprintf(out, "wait\n");
	}
}

int job_bw_write(FILE *out, const struct job_bw_plan *p)
{
	for (size_t i = 0; i < p->host_count; i++) {
		if (!is_name(p->hosts[i]))
			return -EINVAL;
	}
	for (size_t i = 0; i < p->rail_count; i++) {
		if (!is_name(p->rails[i]))
			return -EINVAL;
	}
	fprintf(out, "#!/bin/sh\n"
		     "# Made by ibqos job bw-plan. Leaves a file a measurement; then: ibqos job bw-read *.bw\n"
		     "# The hosts' InfiniBand ports must carry nothing else, or the class's share is what is measured.\n"
		     "pair() { # server client rail command\n"
		     "\tssh \"$1\" \"$4\" >/dev/null 2>&1 </dev/null &\n"
		     "\tsleep 2\n"
		     "\tssh \"$2\" \"$4 $1\" >\"$1-$2-$3.bw\" 2>&1 </dev/null\n"
		     "\twait\n"
		     "}\n");
	for (size_t r = 0; r < p->rail_count; r++) {
		if (p->all)
			rounds(out, p, p->rails[r]);
		else
			neighbours(out, p, p->rails[r]);
	}
	return ferror(out) ? -EIO : 0;
}

/* "Mtu             : 4096[B]": what stands behind a label's colon; NULL if the line has no such label. */
static const char *labelled(const char *line, const char *end, const char *label)
{
	const char *at = memmem(line, (size_t)(end - line), label, strlen(label));

	at = at ? memchr(at, ':', (size_t)(end - at)) : NULL;
	if (!at)
		return NULL;
	for (at++; at < end && isspace((unsigned char)*at); at++)
		continue;
	return at;
}

static void result_line(const char *line, bool gbits, bool qos, struct job_bw_result *r)
{
	unsigned long long bytes, iterations;
	double peak, average;
	int sl = -1, got;

	got = qos ? sscanf(line, "%llu %d %llu %lf %lf", &bytes, &sl, &iterations, &peak, &average) - 1
		  : sscanf(line, "%llu %llu %lf %lf", &bytes, &iterations, &peak, &average);
	if (got != 4 || average < 0 || (r->found && bytes < r->bytes))
		return;
	r->found = true;
	r->bytes = bytes;
	r->sl = sl;
	r->gbps = gbits ? average : average * 8 * 1048576 / 1e9;
}

void job_bw_parse(const char *text, size_t size, struct job_bw_result *r)
{
	bool gbits = false, qos = false, table = false;

	*r = (struct job_bw_result){.sl = -1};
	while (size > 0) {
		const char *newline = memchr(text, '\n', size), *end = newline ? newline : text + size, *at;
		char line[256];

		snprintf(line, sizeof(line), "%.*s", (int)(end - text > 255 ? 255 : end - text), text);
		if (line[strspn(line, " \t\r-")])
			snprintf(r->last, sizeof(r->last), "%.*s", (int)(strcspn(line, "\r") > 159 ? 159 : strcspn(line, "\r")), line);
		if ((at = labelled(text, end, "Mtu")))
			r->mtu = (unsigned)strtoul(at, NULL, 10);
		if ((at = labelled(text, end, "Device  ")))
			snprintf(r->device, sizeof(r->device), "%.*s", (int)strcspn(line + (at - text < 255 ? at - text : 255), " \t\r"),
				 line + (at - text < 255 ? at - text : 255));
		if ((at = labelled(text, end, "Link type")))
			r->ethernet = end - at >= 8 && memcmp(at, "Ethernet", 8) == 0;
		if (strstr(line, "#bytes") && strstr(line, "BW average")) {
			table = true;
			gbits = strstr(line, "BW average[Gb/sec]") != NULL;
			qos = strstr(line, "#sl") != NULL;
		} else if (table) {
			result_line(line, gbits, qos, r);
		}
		size -= (size_t)(end - text) + (newline ? 1 : 0);
		text = end + (newline ? 1 : 0);
	}
}

static int by_value(const void *left, const void *right)
{
	const double *a = left, *b = right;

	return (*a > *b) - (*a < *b);
}

static double middle(const struct job_bw_result *results, size_t count)
{
	double *values = calloc(count + 1, sizeof(*values)), value = 0;
	size_t known = 0;

	for (size_t i = 0; values && i < count; i++) {
		if (results[i].found)
			values[known++] = results[i].gbps;
	}
	if (known > 0) {
		qsort(values, known, sizeof(*values), by_value);
		value = values[known / 2];
	}
	free(values);
	return known > 1 ? value : 0;
}

/*
 * Of a link's data rate a payload of MTU bytes a packet leaves mtu / (mtu + 26): LRH 8, BTH 12, ICRC 4, VCRC 2 bytes
 * (IBA 6.2, 7.3; the RETH stands in a message's first packet alone). RoCE's headers and gap are larger: 78 bytes.
 */
static double payload(const struct job_bw_result *r)
{
	return r->mtu ? (double)r->mtu / (r->mtu + (r->ethernet ? 78.0 : 26.0)) : 1;
}

void job_bw_check(const struct job_bw_result *results, const char *const *names, size_t count, double gbps, double share,
		  double floor, struct finding_list *findings)
{
	double usual = middle(results, count);

	for (size_t i = 0; i < count; i++) {
		const struct job_bw_result *r = &results[i];
		double wanted = gbps * share * payload(r) * floor;
		struct finding *f;

		if (!r->found) {
			f = finding_at(finding_add(findings, FINDING_JOB_BW_UNREAD), names[i], 0, 0);
			finding_set(&f->got, "%s", r->last[0] ? r->last : "nothing");
		} else if (gbps > 0 && r->gbps < wanted) {
			f = finding_at(finding_add(findings, FINDING_JOB_BW_LOW), names[i], 0, 0);
			finding_set(&f->what, "%s", r->device);
			finding_set(&f->wanted, "%.1f Gb/s: %.0f %% of %s%.4g Gb/s, less headers", wanted, 100 * floor,
				    share < 1 ? "the class's share of " : "", gbps);
			finding_set(&f->got, "%.1f Gb/s", r->gbps);
			f->weight = wanted - r->gbps;
		} else if (usual > 0 && r->gbps < 0.9 * usual) {
			f = finding_at(finding_add(findings, FINDING_JOB_BW_DIFFERS), names[i], 0, 0);
			finding_set(&f->what, "%s", r->device);
			finding_set(&f->wanted, "%.1f Gb/s, as the middle of %zu", usual, count);
			finding_set(&f->got, "%.1f Gb/s", r->gbps);
			f->weight = usual - r->gbps;
		}
	}
}
