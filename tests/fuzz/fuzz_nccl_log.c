/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Any bytes as a log of NCCL: what is kept does not depend on the pieces in which they come; lines are those of a plain
 * count; a warning that a process wrote is counted once for its host; findings have places and are printable; metrics have one
 * line a counter.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"
#include "ibqos/job.h"

static struct job_log *read_pieces(const uint8_t *data, size_t size, size_t piece)
{
	struct job_log *log;

	require(job_log_new(&log) == 0);
	require(job_log_begin(log, "f") == 0);
	for (size_t at = 0; at < size;) {
		size_t take = size - at < piece ? size - at : piece;
		uint8_t *copy = malloc(take); /* so that a look beyond its end is seen */

		require(copy != NULL);
		memcpy(copy, data + at, take);
		require(job_log_feed(log, (char *)copy, take) == 0);
		free(copy);
		at += take;
	}
	require(job_log_end(log) == 0);
	return log;
}

static bool same(const char *a, const char *b)
{
	return a && b ? strcmp(a, b) == 0 : a == b;
}

static void compare(struct job_log_view a, struct job_log_view b)
{
	require(a.lines == b.lines && a.nccl_lines == b.nccl_lines && a.torn == b.torn && a.all_cr == b.all_cr);
	require(a.process_count == b.process_count && a.host_count == b.host_count && a.device_count == b.device_count);
	require(a.setting_count == b.setting_count && a.event_count == b.event_count);
	for (size_t i = 0; i < a.process_count; i++) {
		const struct job_log_process *p = &a.processes[i], *q = &b.processes[i];

		require(same(p->key, q->key) && same(p->network, q->network) && p->line == q->line && p->rank == q->rank);
		require(p->info == q->info && p->warn == q->warn && p->channels_net == q->channels_net && p->cause == q->cause);
		require(p->channels_gdr <= p->channels_net && p->channels_socket <= p->channels_net);
	}
	for (size_t i = 0; i < a.event_count; i++) {
		require(a.events[i].line == b.events[i].line && a.events[i].count == b.events[i].count);
		require(same(a.events[i].text, b.events[i].text) && same(a.events[i].device, b.events[i].device));
	}
	for (size_t i = 0; i < a.setting_count; i++)
		require(same(a.settings[i].value, b.settings[i].value) && a.settings[i].processes == b.settings[i].processes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct job_question question = {.app_tc = JOB_NO_TC};
	struct finding_list findings = {0};
	struct job_log *whole, *pieces;
	struct job_log_view v;
	uint64_t lines = 0, info = 0, warn = 0, of_hosts = 0;

	if (size < 1)
		return 0;
	whole = read_pieces(data + 1, size - 1, size);
	pieces = read_pieces(data + 1, size - 1, 1 + data[0]);
	v = job_log_view(whole);
	compare(v, job_log_view(pieces));
	for (size_t i = 1; i < size; i++)
		lines += data[i] == '\n';
	require(v.lines == lines && v.bytes == size - 1);
	for (size_t i = 0; i < v.process_count; i++) {
		info += v.processes[i].info;
		warn += v.processes[i].warn;
		require(v.processes[i].host < v.host_count && v.processes[i].line <= lines + 1);
	}
	for (size_t i = 0; i < v.host_count; i++)
		of_hosts += v.hosts[i].warn;
	require(info + warn == v.nccl_lines && warn == of_hosts);
	job_log_check(whole, &question, &findings);
	for (size_t i = 0; i < findings.count; i++) {
		const struct finding *f = &findings.items[i];

		require(f->file && f->line <= lines + 1);
		require(!f->what || fuzz_printable(f->what, ""));
		require(!f->got || fuzz_printable(f->got, ""));
		require(!f->detail || fuzz_printable(f->detail, ""));
	}
	require(v.process_count > 0 || findings.count > 0); /* nothing of NCCL is never clean */
	finding_list_clear(&findings);
	job_log_free(whole);
	job_log_free(pieces);
	return 0;
}
