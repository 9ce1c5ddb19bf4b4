/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Reload OpenSM and read back. SUBNET UP in its log proves nothing about tables (osm_qos.c errors
 * do not fail a sweep), so only what the ports answer counts; the log just tells when a second
 * reload makes sense: the first sweep may have begun before the reload, and tables of a first
 * sweep after bring-up may have been masked with stale OperationalVLs (osm_state_mgr.c:1590, 1627).
 */
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>

#include "transaction.h"

#define NS_PER_S 1000000000ull
#define WAIT_MS 100	   /* between two looks at the ports that still differ */
#define SECOND_RELOAD_S 10 /* OpenSM's main loop sleeps up to 10 s (main.c): then a sweep has been */
#define UNSEEN_S 20	   /* ports that match this long without a sweep's end in the log are taken as done */
#define UNSEEN_BACK_S 5	   /* the same on the way back */

static int reload(struct transaction *t)
{
	int error = opensm_reload(&t->sm);

	if (error == 0) {
		t->result->reloads++;
		ctx_info(t->ctx, "reloaded OpenSM, process %d", (int)t->sm.pid);
	}
	return error;
}

static bool matches(const struct verify_result *r)
{
	return r->ports_differ == 0 && r->ports_unknown == 0;
}

static void pause_ms(unsigned ms)
{
	poll(NULL, 0, (int)ms); /* ends early on a signal, which is wanted */
}

/* One look: 0 all match, -EAGAIN not yet, else why it cannot go on. */
static int look(struct transaction *t, const struct goal *goal, struct verify *verify, bool first)
{
	int error = verify_run(verify, t->source, !first);

	*goal->state = *verify_result(verify);
	if (error != 0)
		return error;
	if (t->options->progress && !t->options->progress(t->options->progress_arg, "reading back", goal->state))
		return -EINTR;
	if (!matches(goal->state))
		return -EAGAIN;
	if (first)
		return 0;
	/* Ports that matched early were not asked again: a last look at all of them. */
	error = verify_run(verify, t->source, false);
	*goal->state = *verify_result(verify);
	return error != 0 ? error : matches(goal->state) ? 0 : -EAGAIN;
}

/* Whether OpenSM may be told to write its log out: not if it empties the file then (accum_log_file FALSE, -e). */
static bool log_may_be_flushed(const struct transaction *t)
{
	struct opensm_conf *conf = NULL;
	const char *value;
	bool may = false;

	if (opensm_conf_parse(t->conf.new, t->conf.new_size, &conf) == 0) {
		value = opensm_conf_get(conf, "accum_log_file");
		may = !value || strcmp(value, "TRUE") == 0;
	}
	opensm_conf_free(conf);
	return may;
}

/*
 * Ports may match before the sweep reads the qos-policy file (osm_qos.c:484), for one when only that
 * file changed: done is when a sweep's end was seen too and no refusal with it. OpenSM writes its
 * log late unless told otherwise, so it is asked to write it out. Where the log still does not tell,
 * matching ports are taken after a while, and it is said.
 */
static bool sweep_seen(struct transaction *t, const struct goal *goal, uint64_t since_match, unsigned *flushes)
{
	if (t->events.subnet_up > 0)
		return true;
	if (since_match > (*flushes + 1) * NS_PER_S && log_may_be_flushed(t)) {
		opensm_flush_log(&t->sm);
		(*flushes)++;
	}
	if (since_match < (goal->judge_rules ? UNSEEN_S : UNSEEN_BACK_S) * NS_PER_S)
		return false;
	if (goal->judge_rules)
		finding_at(finding_add(t->findings, FINDING_APPLY_SWEEP_UNSEEN),
			   t->log_path ? t->log_path : t->sm.log ? t->sm.log : "OpenSM's log", 0, 0);
	return true;
}

static int wait_for_ports(struct transaction *t, const struct goal *goal, struct verify *verify,
			  struct opensm_log *log)
{
	uint64_t start = clock_ns(), matched = 0, now;
	unsigned reloads = 1, flushes = 0;
	bool first = true;
	int error;

	for (;;) {
		opensm_log_poll(log, &t->events);
		if (goal->judge_rules && t->events.policy_errors > 0)
			return -EBADMSG;
		if (matched == 0) {
			error = look(t, goal, verify, first);
			if (error != 0 && error != -EAGAIN)
				return error;
			first = false;
			if (error == 0) {
				matched = clock_ns();
				t->result->seconds = (double)(matched - start) / NS_PER_S;
				continue; /* a refusal that was logged meanwhile comes first */
			}
		} else if (sweep_seen(t, goal, clock_ns() - matched, &flushes)) {
			/*
			 * On the way back the ports may have held the old tables all along, and the sweep that
			 * was stopped half-way still have gone on: a look after a sweep's end tells.
			 */
			error = goal->judge_rules ? 0 : look(t, goal, verify, true);
			if (error != -EAGAIN)
				return error;
			matched = 0;
		}
		if (ctx_stopped(goal->ctx))
			return -EINTR;
		if (!opensm_alive(&t->sm))
			return -ESRCH;
		now = clock_ns() - start;
		if (matched == 0 && now > t->options->deadline_s * NS_PER_S)
			return -ETIME;
		if (matched == 0 && reloads == 1 &&
		    (t->events.subnet_up > 0 || now > SECOND_RELOAD_S * NS_PER_S)) {
			error = reload(t);
			if (error != 0)
				return error;
			reloads++;
		}
		pause_ms(WAIT_MS);
	}
}

int converge(struct transaction *t, const struct goal *goal, struct verify **verify)
{
	const char *log_path = t->log_path ? t->log_path : t->sm.log;
	struct opensm_log *log = NULL;
	int error;

	verify_free(*verify);
	*verify = NULL;
	opensm_log_events_clear(&t->events);
	error = verify_new(goal->ctx, t->fabric, goal->config, verify);
	if (error == 0 && opensm_log_open(log_path, &log) != 0) {
		/* not readable: the ports tell all the same, only a sweep's end is not seen */
		ctx_warn(t->ctx, "cannot read OpenSM's log %s", log_path);
		error = opensm_log_open(NULL, &log);
	}
	if (error == 0)
		error = reload(t);
	if (error == 0)
		error = wait_for_ports(t, goal, *verify, log);
	opensm_log_close(log);
	return error;
}
