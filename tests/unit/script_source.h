/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * script_source: a struct source for tests that answers from a script, in an order of its own,
 * and fails the test when an asker breaks the contract of source.h.
 */
#ifndef SCRIPT_SOURCE_H
#define SCRIPT_SOURCE_H

#include "ibqos/source.h"

/* Matches every agent, port or modifier. */
#define SCRIPT_ANY UINT32_MAX

/* What a query that no rule matches is answered: not zeros, so that nothing is right by accident. */
#define SCRIPT_FALLBACK MAD_TIMED_OUT

/* Aborts the test when out of memory. Close with source_close(). */
struct source *script_source_new(void);

/*
 * Rules; of those that match, the last given wins. Attributes are exact. `data` is copied, up to
 * MAD_SMP_DATA bytes, the rest is zero.
 */
void script_source_answer(struct source *source, uint32_t agent, uint32_t port, uint16_t attribute,
			  uint32_t modifier, const void *data, size_t size);
/* Fails with `outcome` (not MAD_ANSWERED); status is for MAD_STATUS. */
void script_source_fail(struct source *source, uint32_t agent, uint32_t port, uint16_t attribute,
			uint32_t modifier, enum mad_outcome outcome, uint16_t status);
/* Answers the next `times` matching queries only; then the rule is as if it were not there. */
void script_source_answer_times(struct source *source, uint32_t agent, uint32_t port, uint16_t attribute,
				uint32_t modifier, const void *data, size_t size, unsigned times);
/* Forgets all rules and counters of queries. */
void script_source_clear(struct source *source);

/*
 * Asked for every query that no rule matches: fills `data` (zeroed, MAD_SMP_DATA bytes) and returns
 * MAD_ANSWERED, or another outcome. For devices that compute what they hold.
 */
typedef enum mad_outcome script_responder(void *arg, const struct source_query *query, uint8_t *data,
					  uint16_t *status);
void script_source_responder(struct source *source, script_responder *responder, void *arg);

/* Answers source_ask_sm(), question by question: fills outcome, status, tries, data. Without one all time out. */
typedef void script_manager(void *arg, struct source_sm_query *query);
void script_source_manager(struct source *source, script_manager *manager, void *arg);
/* From now on source_ask_sm() fails with this error before it asks anything. 0: no more. */
void script_source_manager_error(struct source *source, int error);

/*
 * As mad_limits.give_up: once an agent left `give_up` queries in a row unanswered, the rest of its
 * queries end as MAD_NOT_ASKED with 0 tries. 0, as at first: never.
 */
void script_source_give_up(struct source *source, unsigned give_up);
/*
 * Once: after `answers` more answers source_ask() ends with `error` (-EINTR, -EIO); what is left is
 * handed back as MAD_NOT_ASKED.
 */
void script_source_break(struct source *source, unsigned answers, int error);
/* How many queries are held back and answered out of order; 1: in order. 7 at first. */
void script_source_window(struct source *source, unsigned window);

/* What the next source_discover() hands out and thereby gives away; without one it is -ENODATA. */
void script_source_fabric(struct source *source, struct fabric *fabric);

/* How many queries matched; attribute 0: any. */
uint64_t script_source_asked(const struct source *source, uint32_t agent, uint32_t port, uint16_t attribute,
			     uint32_t modifier);

#endif
