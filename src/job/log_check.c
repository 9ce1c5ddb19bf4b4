/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* What a log tells of a job: networks and their causes, errors, events, differences between hosts, its class. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "log.h"

struct judge {
	const struct job_log *log;
	const struct job_question *q;
	struct finding_list *findings;
};

static struct finding *tell(struct judge *j, enum finding_code code, size_t file, unsigned line)
{
	return finding_at(finding_add(j->findings, code), j->log->files[file], line, 0);
}

static const struct job_log_setting *setting_of(const struct job_log *log, const struct job_log_process *p, const char *name)
{
	for (size_t i = 0; i < log->setting_count; i++) {
		if ((p->settings[i / 64] >> (i % 64) & 1) && strcmp(log->settings[i].name, name) == 0)
			return &log->settings[i];
	}
	return NULL;
}

static void cause(struct judge *j, struct finding *f, const struct job_log_process *p)
{
	static const char *const words[] = {
		[JOB_LOG_CAUSE_NONE] = "the cause is not in the log",
		[JOB_LOG_CAUSE_DISABLED] = "NCCL_IB_DISABLE is set",
		[JOB_LOG_CAUSE_NET] = "NCCL_NET says so",
		[JOB_LOG_CAUSE_LIBRARY] = "libibverbs cannot be opened: it is not in this container or host",
		[JOB_LOG_CAUSE_NO_IP] = "no IP interface was found",
		[JOB_LOG_CAUSE_NO_DEVICE] = "no adapter with an active port was found",
	};
	const struct job_log_setting *hca = setting_of(j->log, p, "NCCL_IB_HCA");

	if (p->cause == JOB_LOG_CAUSE_NO_DEVICE && hca)
		finding_set(&f->detail, "no adapter with an active port is one of NCCL_IB_HCA=%s", hca->value);
	else
		finding_set(&f->detail, "%s", words[p->cause]);
}

/* Of each host the first process with a fault stands for all of the same. */
static void networks(struct judge *j)
{
	const struct job_log *log = j->log;
	enum { SOCKET, IDLE_SOCKET, FAILED, NO_INTERFACE, KINDS };
	static const enum finding_code codes[] = {
		[SOCKET] = FINDING_JOB_LOG_SOCKET,
		[IDLE_SOCKET] = FINDING_JOB_LOG_SOCKET,
		[FAILED] = FINDING_JOB_LOG_NO_NETWORK,
		[NO_INTERFACE] = FINDING_JOB_LOG_NO_INTERFACE,
	};
	size_t *counts = calloc(log->host_count * KINDS + 1, sizeof(*counts));
	size_t *first = calloc(log->host_count * KINDS + 1, sizeof(*first));

	if (!counts || !first) {
		j->findings->lost = true;
		goto out;
	}
	for (size_t i = 0; i < log->process_count; i++) {
		const struct job_log_process *p = &log->processes[i];
		int kind = p->failed ? FAILED : p->no_interface ? NO_INTERFACE : KINDS;

		if (kind == KINDS && strcmp(p->network, "Socket") == 0)
			kind = p->channels_socket > 0 || p->channels_local == 0 ? SOCKET : IDLE_SOCKET;
		if (kind == KINDS)
			continue;
		if (counts[p->host * KINDS + (size_t)kind]++ == 0)
			first[p->host * KINDS + (size_t)kind] = i;
	}
	for (size_t at = 0; at < log->host_count * KINDS; at++) {
		const struct job_log_process *p = &log->processes[first[at]];
		size_t kind = at % KINDS;
		const struct job_log_setting *name;
		struct finding *f;

		if (counts[at] == 0)
			continue;
		f = tell(j, codes[kind], p->file, p->line);
		finding_set(&f->what, "%s", log->hosts[at / KINDS].name);
		finding_set(&f->got, "%zu process%s", counts[at], counts[at] == 1 ? "" : "es");
		name = setting_of(log, p, "NCCL_SOCKET_IFNAME");
		if (kind == NO_INTERFACE && name) {
			finding_set(&f->detail, "NCCL_SOCKET_IFNAME is %s%s", name->value,
				    name->cr && !job_log_view(log).all_cr ? " with a CR behind it, which is part of the name" : "");
		} else if (kind != NO_INTERFACE) {
			cause(j, f, p);
		}
		if (kind == IDLE_SOCKET) { /* a job of one host, which its GPUs' links are enough for */
			f->severity = FINDING_WARNING;
			finding_set(&f->got, "%zu process%s, none with a channel over it", counts[at], counts[at] == 1 ? "" : "es");
		}
	}
out:
	free(counts);
	free(first);
}

static const char *status_name(int status)
{
	static const char *const names[] = {
		"success", "local length error", "local QP operation error", "local EE context error",
		"local protection error", "work request flushed", "memory window bind error", "bad response",
		"local access error", "remote invalid request", "remote access error", "remote operation error",
		"transport retry counter exceeded", "RNR retry counter exceeded", "local RDD violation",
		"remote invalid RD request", "remote aborted", "invalid EE context number", "invalid EE context state",
		"fatal error", "response timeout", "general error"};

	return status >= 0 && (size_t)status < sizeof(names) / sizeof(names[0]) ? names[status] : "unknown status";
}

static void completion(struct finding *f, const struct job_log_event *e)
{
	finding_set(&f->got, "status %d (%s), vendor %u, %ju times; first with peer %s", e->code, status_name(e->code), e->vendor,
		    (uintmax_t)e->count, e->peer ? e->peer : "unknown");
	switch (e->code) {
	case 5: /* what was queued behind the one that failed */
		f->severity = FINDING_NOTE;
		finding_set(&f->detail, "a consequence of another error");
		break;
	case 12:
		finding_set(&f->detail, "the peer did not answer: it ended, or a link or its path does not work or drops packets");
		break;
	case 13:
		finding_set(&f->detail, "the peer was not ready to receive");
		break;
	case 4:
	case 10:
		finding_set(&f->detail, "memory of the host or GPU, not the fabric: GPUDirect, ACS, IOMMU");
		break;
	default:
		break;
	}
}

bool log_is_harmless(const struct job_log_event *event)
{
	static const char *const harmless[] = {"port active", "client reregistration", "GID table change", "SM change",
					       "P_Key table change", "LID change"};

	for (size_t h = 0; event->kind == JOB_LOG_ASYNC && h < sizeof(harmless) / sizeof(harmless[0]); h++) {
		if (strcasestr(event->text, harmless[h]))
			return true;
	}
	return false;
}

static void events(struct judge *j)
{
	for (size_t i = 0; i < j->log->event_count; i++) {
		const struct job_log_event *e = &j->log->events[i];
		static const enum finding_code codes[] = {
			[JOB_LOG_COMPLETION] = FINDING_JOB_LOG_COMPLETION, [JOB_LOG_ASYNC] = FINDING_JOB_LOG_ASYNC,
			[JOB_LOG_ASYNC_FATAL] = FINDING_JOB_LOG_ASYNC,	   [JOB_LOG_MODIFY_QP] = FINDING_JOB_LOG_MODIFY_QP,
			[JOB_LOG_FLID] = FINDING_JOB_LOG_FLID,		   [JOB_LOG_OTHER] = FINDING_JOB_LOG_WARNING,
		};
		struct finding *f = tell(j, codes[e->kind], e->file, e->line);

		finding_set(&f->what, "%s%s%s", j->log->hosts[e->host].name, e->device ? " " : "", e->device ? e->device : "");
		if (e->kind == JOB_LOG_COMPLETION) {
			completion(f, e);
			continue;
		}
		finding_set(&f->got, "%s%s%ju times", e->text, e->count == 1 ? "" : ", ", (uintmax_t)e->count);
		if (e->count == 1)
			finding_set(&f->got, "%s", e->text);
		if (e->kind == JOB_LOG_ASYNC_FATAL)
			f->severity = FINDING_CRITICAL;
		if (log_is_harmless(e))
			f->severity = FINDING_NOTE;
		if (e->kind == JOB_LOG_ASYNC && e->device)
			finding_set(&f->detail, "on an adapter of two ports the number may be the other one's");
	}
}

static void link_layers(struct judge *j)
{
	const struct job_log *log = j->log;
	bool *told = calloc(log->host_count + 1, sizeof(*told));

	j->findings->lost |= !told;
	for (size_t i = 0; told && i < log->process_count; i++) {
		const struct job_log_process *p = &log->processes[i];
		struct finding *f;

		if (told[p->host] || !p->infiniband || !p->ethernet)
			continue;
		told[p->host] = true;
		f = tell(j, FINDING_JOB_LOG_MIXED, p->file, p->line);
		finding_set(&f->what, "%s", log->hosts[p->host].name);
	}
	free(told);
}

static void gpudirect(struct judge *j)
{
	const struct job_log *log = j->log;
	uint64_t *net = calloc(log->host_count * 2 + 1, sizeof(*net));

	if (!net) {
		j->findings->lost = true;
		return;
	}
	for (size_t i = 0; i < log->process_count; i++) {
		const struct job_log_process *p = &log->processes[i];

		net[p->host * 2] += p->channels_net - p->channels_socket;
		net[p->host * 2 + 1] += p->channels_gdr;
	}
	for (size_t h = 0; h < log->host_count; h++) {
		struct finding *f;

		if (net[h * 2] <= net[h * 2 + 1])
			continue;
		f = finding_add(j->findings, FINDING_JOB_LOG_NO_GDR);
		finding_at(f, log->files[0], 0, 0);
		finding_set(&f->what, "%s", log->hosts[h].name);
		finding_set(&f->got, "%ju of %ju channels through host memory", (uintmax_t)(net[h * 2] - net[h * 2 + 1]),
			    (uintmax_t)net[h * 2]);
	}
	for (size_t i = 0; i < log->device_count; i++) {
		struct finding *f;

		if (log->devices[i].gdr != 0 || net[log->devices[i].host * 2] > net[log->devices[i].host * 2 + 1])
			continue;
		f = finding_add(j->findings, FINDING_JOB_LOG_NO_GDR);
		finding_at(f, log->files[0], 0, 0);
		finding_set(&f->what, "%s %s", log->hosts[log->devices[i].host].name, log->devices[i].name);
	}
	free(net);
}

/* Each host's adapters as one text: "mlx5_0:1/IB 400 Gb/s, mlx5_1:1/IB 400 Gb/s"; the caller frees texts and array. */
static char **adapters(const struct job_log *log)
{
	char **of = calloc(log->host_count + 1, sizeof(char *));

	for (size_t i = 0; of && i < log->device_count; i++) {
		const struct job_log_device *d = &log->devices[i];
		char *before = of[d->host], speed[32] = "";

		if (d->mbps)
			snprintf(speed, sizeof(speed), " %.4g Gb/s", (double)d->mbps / 1000);
		if (asprintf(&of[d->host], "%s%s%s/%s%s", before ? before : "", before ? ", " : "", d->name,
			     d->link == JOB_LINK_ETHERNET ? "RoCE" : "IB", speed) < 0)
			of[d->host] = NULL;
		free(before);
	}
	return of;
}

static int by_text(const void *left, const void *right)
{
	char *const *a = left, *const *b = right;

	return strcmp(*a, *b);
}

static void hosts_differ(struct judge *j)
{
	const struct job_log *log = j->log;
	char **of = adapters(log), **sorted = calloc(log->host_count + 1, sizeof(char *));
	const char *usual = NULL;
	size_t known = 0, most = 0;

	for (size_t h = 0; of && sorted && h < log->host_count; h++) {
		if (of[h])
			sorted[known++] = of[h];
	}
	if (of && sorted)
		qsort(sorted, known, sizeof(char *), by_text);
	for (size_t i = 0, run = 0; i < known; i++) {
		run = i > 0 && strcmp(sorted[i], sorted[i - 1]) == 0 ? run + 1 : 1;
		if (run > most) {
			most = run;
			usual = sorted[i];
		}
	}
	for (size_t h = 0; usual && h < log->host_count; h++) {
		struct finding *f;

		if (!of[h] || strcmp(of[h], usual) == 0)
			continue;
		f = finding_add(j->findings, FINDING_JOB_LOG_DEVICES_DIFFER);
		finding_at(f, log->files[0], 0, 0);
		finding_set(&f->what, "%s", log->hosts[h].name);
		finding_set(&f->wanted, "%s, as most hosts have", usual);
		finding_set(&f->got, "%s", of[h]);
	}
	for (size_t h = 0; of && h < log->host_count; h++)
		free(of[h]);
	free(of);
	free(sorted);
}

static void settings_differ(struct judge *j)
{
	static const char *const same[] = {"NCCL_IB_SL", "NCCL_IB_TC", "NCCL_IB_HCA", "NCCL_IB_PKEY", "NCCL_IB_TIMEOUT",
					   "NCCL_IB_RETRY_CNT", "NCCL_IB_GID_INDEX", "NCCL_IB_QPS_PER_CONNECTION", "NCCL_NET"};
	const struct job_log *log = j->log;
	bool all_cr = job_log_view(log).all_cr;

	for (size_t n = 0; n < sizeof(same) / sizeof(same[0]); n++) {
		const struct job_log_setting *most = NULL;

		for (size_t i = 0; i < log->setting_count; i++) {
			const struct job_log_setting *s = &log->settings[i];

			if (strcmp(s->name, same[n]) == 0 && (!most || s->processes > most->processes))
				most = s;
		}
		for (size_t i = 0; most && i < log->setting_count; i++) {
			const struct job_log_setting *s = &log->settings[i];
			struct finding *f;

			if (s == most || strcmp(s->name, same[n]) != 0)
				continue;
			f = tell(j, FINDING_JOB_HOSTS_DIFFER, s->file, s->line);
			finding_set(&f->what, "%s", s->name);
			finding_set(&f->wanted, "%s, as %zu processes have", most->value, most->processes);
			finding_set(&f->got, "%s in %zu", s->value, s->processes);
		}
	}
	for (size_t i = 0; !all_cr && i < log->setting_count; i++) {
		const struct job_log_setting *s = &log->settings[i];

		if (s->cr) {
			struct finding *f = tell(j, FINDING_JOB_VALUE_TEXT, s->file, s->line);

			finding_set(&f->what, "%s=%s", s->name, s->value);
			finding_set(&f->got, "a CR at the end is part of it: the file that it comes from has DOS line ends");
		}
	}
}

static void versions(struct judge *j)
{
	const struct job_log_process *first = NULL;

	for (size_t i = 0; i < j->log->process_count; i++) {
		const struct job_log_process *p = &j->log->processes[i];
		char is[JOB_NCCL_TEXT], was[JOB_NCCL_TEXT];
		struct finding *f;

		if (!p->nccl)
			continue;
		first = first ? first : p;
		if (p->nccl == first->nccl)
			continue;
		job_nccl_text(p->nccl, is);
		job_nccl_text(first->nccl, was);
		f = tell(j, FINDING_JOB_LOG_VERSIONS_DIFFER, p->file, p->line);
		finding_set(&f->what, "%s", j->log->hosts[p->host].name);
		finding_set(&f->wanted, "%s, as %s", was, j->log->hosts[first->host].name);
		finding_set(&f->got, "%s", is);
		return;
	}
}

/* What cannot be seen: which network, adapters and queue pairs, settings. */
static void untold(struct judge *j)
{
	const struct job_log *log = j->log;
	size_t silent = 0, infiniband = 0, net = 0;
	struct finding *f;

	for (size_t i = 0; i < log->process_count; i++) {
		const struct job_log_process *p = &log->processes[i];

		silent += !p->network[0] && !p->failed && !p->no_interface;
		infiniband += p->network[0] && strcmp(p->network, "Socket") != 0;
		net += p->net_lines;
	}
	if (log->file_count == 0) {
		return; /* nothing could be read: told */
	} else if (log->process_count == 0) {
		f = finding_add(j->findings, FINDING_JOB_LOG_UNTOLD);
		finding_at(f, log->file_count ? log->files[0] : "log", 0, 0);
		finding_set(&f->got, "no line of NCCL in %ju", (uintmax_t)log->lines);
	} else if (silent == log->process_count) {
		f = finding_add(j->findings, FINDING_JOB_LOG_UNTOLD);
		finding_at(f, log->files[0], 0, 0);
		finding_set(&f->got, "%zu processes, and none tells it", silent);
	} else if (silent > 0) {
		f = finding_add(j->findings, FINDING_JOB_LOG_UNTOLD);
		f->severity = FINDING_NOTE; /* helpers and workers of a process's, or one that ended early */
		finding_at(f, log->files[0], 0, 0);
		finding_set(&f->got, "%zu of %zu processes do not tell it", silent, log->process_count);
	}
	if (infiniband > 0 && net == 0)
		finding_at(finding_add(j->findings, FINDING_JOB_LOG_NET), log->files[0], 0, 0);
	if (log->untracked > 0) {
		f = finding_add(j->findings, FINDING_JOB_LOG_CUT);
		finding_at(f, log->files[0], 0, 0);
		finding_set(&f->got, "more hosts, processes, settings or kinds of errors than are kept apart; %ju lines not counted",
			    (uintmax_t)log->untracked);
	}
}

/* Whether the job ran in its class: NCCL tells a setting when it first uses it, when it connects. */
static void class(struct judge *j)
{
	const struct job_log *log = j->log;
	const struct policy_class *c = j->q->class;
	size_t unset = 0, first = 0;

	for (size_t i = 0; c && i < log->setting_count; i++) {
		const struct job_log_setting *s = &log->settings[i];
		struct job_number n = job_number(s->value);
		struct finding *f;

		if (strcmp(s->name, "NCCL_IB_SL") != 0 || (n.value & 15) == (long long)c->sl)
			continue;
		f = tell(j, FINDING_JOB_SL_OTHER, s->file, s->line);
		finding_set(&f->what, "NCCL_IB_SL=%s", s->value);
		finding_set(&f->wanted, "NCCL_IB_SL=%u", c->sl);
		finding_set(&f->got, "SL %lld in %zu processes", n.value & 15, s->processes);
	}
	for (size_t i = 0; c && c->sl != 0 && i < log->process_count; i++) {
		const struct job_log_process *p = &log->processes[i];

		if (!p->env_lines || !p->connected || p->channels_net == p->channels_socket || setting_of(log, p, "NCCL_IB_SL"))
			continue;
		first = unset++ ? first : i;
	}
	if (unset > 0) {
		struct finding *f = tell(j, FINDING_JOB_SL_UNSET, log->processes[first].file, 0);

		finding_set(&f->what, "NCCL_IB_SL");
		finding_set(&f->wanted, "NCCL_IB_SL=%u, for class %s", c->sl, c->name);
		finding_set(&f->got, "not told by %zu processes that connected, so SL 0, unless the application asks for one", unset);
	}
}

void job_log_check(const struct job_log *log, const struct job_question *question, struct finding_list *findings)
{
	struct judge j = {.log = log, .q = question, .findings = findings};

	networks(&j);
	events(&j);
	link_layers(&j);
	gpudirect(&j);
	hosts_differ(&j);
	settings_differ(&j);
	versions(&j);
	untold(&j);
	class(&j);
}
