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

#include "ibqos/faultpoint.h"
#include "transaction.h"

#define NS_PER_S 1000000000ull
#define WHOLE_S 600	   /* more than the largest fabrics take to be read once */
#define LOOK_S 5
#define WAIT_MS 100	   /* between two looks at the ports that still differ */
#define RELOAD_S 10	   /* OpenSM's main loop sleeps up to 10 s (main.c): then a sweep has been */
#define UNSEEN_S 20	   /* ports that match this long without a sweep's end in the log are taken as done */
#define UNSEEN_BACK_S 5	   /* the same on the way back */

static int reload(struct transaction *t)
{
	int error;

	FAULT_POINT("reload");
	error = opensm_reload(&t->sm);
	FAULT_POINT("reloaded");
	if (t->began_ns == 0)
		t->began_ns = clock_ns();
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

/* A run over all ports or those that still differ, which ends at a time whatever is left. */
static int run(struct transaction *t, const struct goal *goal, struct verify *verify, bool all, uint64_t end_ns)
{
	int error;

	verify_set_end(verify, end_ns);
	error = verify_run(verify, t->source, !all);
	*goal->state = *verify_result(verify);
	presence_adjust(t->presence, verify, goal->state);
	return error;
}

/*
 * One look: 0 all match, -EAGAIN not yet, else why it cannot go on. Ports that differ are asked until `end_ns`; all of
 * them take what they take on a large fabric, but not for ever.
 */
static int look(struct transaction *t, const struct goal *goal, struct verify *verify, bool all, uint64_t end_ns)
{
	uint64_t end_all = clock_ns() + WHOLE_S * NS_PER_S;
	int error = run(t, goal, verify, all, all ? end_all : end_ns);

	if (error != 0)
		return error;
	if (t->options->progress && !t->options->progress(t->options->progress_arg, "reading back", goal->state))
		return -EINTR;
	if (!matches(goal->state))
		return -EAGAIN;
	if (all)
		return 0;
	/* Ports that matched early were not asked again: a last look at all of them. */
	error = run(t, goal, verify, true, end_all);
	return error != 0 ? error : matches(goal->state) ? 0 : -EAGAIN;
}

/* Whether OpenSM may be told to write its log out: not if it empties the file then (accum_log_file FALSE, -e). */
static bool log_may_be_flushed(const struct transaction *t)
{
	struct opensm_conf *conf = NULL;
	const char *value;
	bool may = false;

	if (opensm_conf_parse(t->conf.now.text, t->conf.now.size, &conf) == 0) {
		value = opensm_conf_get(conf, "accum_log_file");
		may = !value || strcmp(value, "TRUE") == 0;
	}
	opensm_conf_free(conf);
	return may;
}

/*
 * How many sweeps must end after the reload, each begun by a reload after the one before ended. The
 * first may have read the old files: it may have been under way already, and the ports have matched
 * all along. So a changed qos-policy file takes two. One more if there was another before: where
 * OpenSM refused that, what it had read of it precedes the new rules for one sweep
 * (osm_qos_parser_y.y:2447-2459, 2804).
 */
static unsigned sweeps_wanted(const struct change_file *rules, const struct goal *goal)
{
	if (goal->passing)
		return 0;
	if (text_equal(&rules->old, &rules->new))
		return 1;
	return rules->old.text && rules->new.text ? 3 : 2;
}

/* A wait for the ports, and for the sweeps that set them. Times in ns. */
struct waiting {
	uint64_t start, end, reloaded, matched; /* matched 0: not all ports hold the tables */
	unsigned reloads, wanted, flushes;
	bool asked; /* why ports differ */
};

enum sweep { SWEEP_AWAITED, SWEEP_SEEN, SWEEP_UNSEEN };

/*
 * Ports may match before a sweep reads the qos-policy file (osm_qos.c:484), for one when only that
 * file changed: done is when the ends of the sweeps were seen too and no refusal with them. OpenSM
 * writes its log late unless told otherwise, so it is asked to write it out. Where the log still
 * does not tell, matching ports are taken after a while; where it told before, it is waited for.
 */
static enum sweep look_for_sweep(struct transaction *t, const struct goal *goal, struct waiting *w)
{
	uint64_t since_match = clock_ns() - w->matched, since_reload = clock_ns() - w->reloaded;
	unsigned patience = t->events.subnet_up > 0 ? t->options->deadline_s : goal->judge_rules ? UNSEEN_S : UNSEEN_BACK_S;

	if (t->events.subnet_up >= w->wanted)
		return SWEEP_SEEN;
	if (since_match > (w->flushes + 1) * NS_PER_S && log_may_be_flushed(t)) {
		opensm_flush_log(&t->sm);
		w->flushes++;
	}
	if (since_match < patience * NS_PER_S)
		return SWEEP_AWAITED;
	/* the last reload has had its time too, and on the way back there is none to come */
	if (goal->judge_rules && (w->reloads < w->wanted || since_reload < RELOAD_S * NS_PER_S))
		return SWEEP_AWAITED;
	return SWEEP_UNSEEN;
}

static void say_unseen(struct transaction *t)
{
	finding_at(finding_add(t->findings, FINDING_APPLY_SWEEP_UNSEEN),
		   t->log_path ? t->log_path : t->sm.log ? t->sm.log : "OpenSM's log", 0, 0);
}

/* All ports matched: whether that is the end. -EAGAIN: not yet. */
static int finish(struct transaction *t, const struct goal *goal, struct verify *verify, struct waiting *w)
{
	enum sweep sweep = look_for_sweep(t, goal, w);
	int error;

	if (sweep == SWEEP_AWAITED)
		return -EAGAIN;
	if (goal->judge_rules && sweep == SWEEP_SEEN)
		return 0;
	/*
	 * Where no sweep was seen to end, another OpenSM may be the master by now and have set its own
	 * tables. And on the way back the ports may have held the old tables all along, and the sweep
	 * that was stopped half-way still have gone on. A look now tells.
	 */
	error = look(t, goal, verify, true, 0);
	if (error == -EAGAIN)
		w->matched = 0;
	else if (error == 0 && goal->judge_rules)
		say_unseen(t);
	return error;
}

/* While not all ports match: two, as tables of the first sweep may have been masked with stale OperationalVLs. */
static unsigned reloads_wanted(const struct waiting *w)
{
	return w->matched == 0 && w->wanted < 2 ? 2 : w->wanted;
}

/* Whether it is time for another reload: the sweep of the last one has ended, or should have. */
static bool reload_due(const struct transaction *t, const struct waiting *w)
{
	return w->reloads < reloads_wanted(w) &&
	       (t->events.subnet_up >= w->reloads || clock_ns() - w->reloaded > RELOAD_S * NS_PER_S);
}

/*
 * Whether what differs will stay so: every sweep that there is to be was seen to end before the ports were looked at, and what
 * is left had drifted before. Asked once.
 */
static bool is_left_to_drift(struct transaction *t, const struct goal *goal, struct verify *verify, struct waiting *w)
{
	if (w->asked || w->reloads < reloads_wanted(w) || t->events.subnet_up < w->reloads)
		return false;
	w->asked = true;
	return drifted_before(t, verify, goal->state);
}

/*
 * A fabric may be so large that reading it once takes longer than the deadline: ports that were asked before OpenSM
 * came to them get a second look all the same.
 */
static void extend(struct waiting *w, uint64_t whole_ns)
{
	uint64_t end = clock_ns() + 2 * whole_ns;

	if (end > w->end && whole_ns > (w->end - w->start) / 4)
		w->end = end;
}

static int wait_for_ports(struct transaction *t, const struct goal *goal, struct verify *verify,
			  struct opensm_log *log)
{
	struct waiting w = {.start = clock_ns(), .reloads = 1, .wanted = sweeps_wanted(&t->rules, goal)};
	bool first = true;
	int error;

	w.reloaded = w.start;
	w.end = w.start + t->options->deadline_s * NS_PER_S;
	for (;;) {
		opensm_log_poll(log, &t->events);
		if (goal->judge_rules && t->events.policy_errors > 0)
			return -EBADMSG;
		if (w.matched == 0) {
			uint64_t began = clock_ns();

			/* one that is begun shortly before the end is finished: what it says is what is told */
			error = look(t, goal, verify, first,
				     began + LOOK_S * NS_PER_S > w.end ? began + LOOK_S * NS_PER_S : w.end);
			if (error != 0 && error != -EAGAIN)
				return error;
			if (first)
				extend(&w, clock_ns() - began);
			first = false;
			if (error == -EAGAIN && is_left_to_drift(t, goal, verify, &w))
				return -EUCLEAN;
			if (error == 0) {
				w.matched = clock_ns();
				t->result->seconds = (double)(w.matched - t->began_ns) / NS_PER_S;
				FAULT_POINT("matched");
				continue; /* a refusal that was logged meanwhile comes first */
			}
		} else {
			error = finish(t, goal, verify, &w);
			if (error != -EAGAIN)
				return error;
			if (t->options->progress &&
			    !t->options->progress(t->options->progress_arg, "waiting for the end of OpenSM's sweep", goal->state))
				return -EINTR;
		}
		if (ctx_stopped(goal->ctx))
			return -EINTR;
		if (!opensm_alive(&t->sm))
			return -ESRCH;
		if (w.matched == 0 && clock_ns() > w.end)
			return -ETIME;
		if (reload_due(t, &w)) {
			error = reload(t);
			if (error != 0)
				return error;
			w.reloads++;
			w.reloaded = clock_ns();
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
