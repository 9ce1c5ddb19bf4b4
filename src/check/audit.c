/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * audit: each link's active width and speed against what is enabled, what both ends can, what the policy
 * expects and what they could once. The verdicts: audit_verdict.c; why these rules and what they cannot see:
 * docs/links.md.
 */
#include "ibqos/audit.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "ibqos/link.h"
#include "place.h"

/* A link as its two ends tell it. */
struct link_view {
	struct link_state a, b;
	struct link_levels width, speed;
	const struct policy_link_class *class; /* NULL: none */
	uint32_t lost_at[2]; /* the port whose width, and speed, was lost; FABRIC_NONE: both ends' or none */
};

/* The answer that tells FDR10 from QDR got lost: a gap of the discovery, which check_gaps() tells. */
static bool ext_lost(const struct fabric_port *port)
{
	return port->notes & 1u << FABRIC_GAP_NO_EXT_INFO;
}

/*
 * An end whose vendor attribute 0xff90 was not asked or not answered tells QDR for FDR10: the
 * other end knows better.
 */
static void mend_fdr10(const struct fabric_port *port, struct link_state *state,
		       const struct link_state *peer)
{
	if (peer->speed_active != LINK_FDR10 || port->has_ext)
		return;
	if (state->speed_active != LINK_QDR && (state->speed_active != 0 || !ext_lost(port)))
		return;
	state->speed_active = LINK_FDR10;
	state->speed_supported |= LINK_FDR10;
}

/* Both ends should tell the same; where they do not, the lower counts. */
static unsigned lower(unsigned a, unsigned b)
{
	return a < b ? a : b;
}

/* A port of the fabric in the baseline: FABRIC_NONE where it had none, or nothing is known of it. */
static uint32_t port_before(const struct fabric *fabric, uint32_t port, const struct fabric *baseline)
{
	uint32_t node = fabric_find_node(baseline, fabric_port_node(fabric, port)->guid);

	return node == FABRIC_NONE ? FABRIC_NONE : fabric_node_port(baseline, node, fabric->ports[port].number);
}

/* Notes what an end could once, where that is more than it can now: the greater loss of the two ends counts. */
static void note_before(struct link_levels *levels, unsigned now, unsigned before, uint32_t port, uint32_t *at)
{
	if (!now || before <= now)
		return;
	if (levels->before > levels->now) {
		*at = FABRIC_NONE; /* both */
		if (before <= levels->before)
			return;
	} else {
		*at = port;
	}
	levels->now = now;
	levels->before = before;
}

/*
 * What an end could in the baseline by its PortInfo; where that is another tool's dump it is what the link ran, and
 * a loss is that it could run no such thing now.
 */
static void view_before(const struct fabric *fabric, uint32_t port, const struct link_state *now,
			const struct fabric *baseline, struct link_view *view)
{
	uint32_t old = port_before(fabric, port, baseline);
	unsigned width, speed;
	struct link_state then;

	if (old == FABRIC_NONE)
		return;
	if (link_decode(baseline, old, &then)) {
		width = link_best(then.width_supported);
		speed = link_best(then.speed_supported);
	} else {
		width = baseline->ports[old].told_width;
		speed = baseline->ports[old].told_speed;
	}
	note_before(&view->width, link_best(now->width_supported), width, port, &view->lost_at[0]);
	note_before(&view->speed, link_best(now->speed_supported), speed, port, &view->lost_at[1]);
}

static struct link_levels levels_of(unsigned active_a, unsigned active_b, unsigned enabled, unsigned can)
{
	return (struct link_levels){
		.active = lower(active_a, active_b), .enabled = link_best(enabled), .can = link_best(can)};
}

static void view_link(const struct fabric *fabric, const struct fabric_link *link, const struct fabric *baseline,
		      struct link_view *view)
{
	struct link_state *a = &view->a, *b = &view->b;

	*view = (struct link_view){.lost_at = {FABRIC_NONE, FABRIC_NONE}};
	link_decode(fabric, link->a, a);
	link_decode(fabric, link->b, b);
	mend_fdr10(&fabric->ports[link->a], a, b);
	mend_fdr10(&fabric->ports[link->b], b, a);
	view->width = levels_of(a->width_active, b->width_active, a->width_enabled & b->width_enabled,
				a->width_supported & b->width_supported);
	view->speed = levels_of(a->speed_active, b->speed_active, a->speed_enabled & b->speed_enabled,
				a->speed_supported & b->speed_supported);
	if (!baseline)
		return;
	view_before(fabric, link->a, a, baseline, view);
	if (link->b != link->a)
		view_before(fabric, link->b, b, baseline, view);
}

static struct finding *add(const struct fabric *fabric, const struct fabric_link *link,
			   enum finding_code code, struct finding_list *findings)
{
	struct finding *f = finding_add(findings, code);

	place_port(f, fabric, link->a);
	return f;
}

static const char *state_name(unsigned state)
{
	switch (state) {
	case FABRIC_STATE_DOWN:
		return "Down";
	case FABRIC_STATE_INIT:
		return "Init";
	case FABRIC_STATE_ARMED:
		return "Armed";
	case FABRIC_STATE_ACTIVE:
		return "Active";
	}
	return "unknown";
}

/* PortInfo:PortPhysicalState, IBA 14.2.5.6 */
static const char *phys_state_name(unsigned state)
{
	static const char *const names[] = {NULL,
					    "Sleep",
					    "Polling",
					    "Disabled",
					    "PortConfigurationTraining",
					    "LinkUp",
					    "LinkErrorRecovery",
					    "PhyTest"};

	return state > 0 && state < sizeof(names) / sizeof(names[0]) ? names[state] : "unknown";
}

static void set_states(char **member, const struct fabric_port *a, const struct fabric_port *b,
		       unsigned (*get)(const struct fabric_port *), const char *(*name)(unsigned))
{
	if (get(a) == get(b))
		finding_set(member, "%s", name(get(a)));
	else
		finding_set(member, "%s here, %s at the other end", name(get(a)), name(get(b)));
}

/* A link found up that one end no longer calls so: it failed or is being repaired, so nothing else is valid.
 */
static void add_not_up(const struct fabric *fabric, const struct fabric_link *link,
		       struct finding_list *findings)
{
	struct finding *f = add(fabric, link, FINDING_LINK_NOT_ACTIVE, findings);

	finding_set(&f->what, "PortPhysicalState");
	finding_set(&f->wanted, "%s", phys_state_name(FABRIC_PHYS_LINK_UP));
	set_states(&f->got, &fabric->ports[link->a], &fabric->ports[link->b], fabric_port_phys_state,
		   phys_state_name);
	finding_set(&f->detail, "width and speed were not judged");
}

static void check_active(const struct fabric *fabric, const struct fabric_link *link,
			 struct finding_list *findings)
{
	const struct fabric_port *a = &fabric->ports[link->a], *b = &fabric->ports[link->b];
	struct finding *f;

	if (fabric_port_state(a) == FABRIC_STATE_ACTIVE && fabric_port_state(b) == FABRIC_STATE_ACTIVE)
		return;
	f = add(fabric, link, FINDING_LINK_NOT_ACTIVE, findings);
	finding_set(&f->what, "PortState");
	finding_set(&f->wanted, "%s", state_name(FABRIC_STATE_ACTIVE));
	set_states(&f->got, a, b, fabric_port_state, state_name);
}

static void add_undecoded(const struct fabric *fabric, const struct fabric_link *link,
			  const struct link_view *view, bool width, struct finding_list *findings)
{
	struct finding *f = add(fabric, link, FINDING_LINK_UNDECODED, findings);
	unsigned active = width ? view->width.active : view->speed.active;

	finding_set(&f->what, width ? "width" : "speed");
	finding_set(&f->got, "raw 0x%x here, 0x%x at the other end",
		    width ? view->a.raw_width_active : view->a.raw_speed_active,
		    width ? view->b.raw_width_active : view->b.raw_speed_active);
	if (active)
		finding_set(&f->detail, "the ends support no %s in common: 0x%x here, 0x%x at the other end",
			    width ? "width" : "speed",
			    width ? view->a.width_supported : view->a.speed_supported,
			    width ? view->b.width_supported : view->b.speed_supported);
}

/* Why, as far as the ports tell: told to run so, or two ends that do not agree. */
static void add_why(struct finding *f, const struct link_view *view, bool width)
{
	unsigned a = width ? view->a.width_active : view->a.speed_active;
	unsigned b = width ? view->b.width_active : view->b.speed_active;
	unsigned enabled = width ? view->width.enabled : view->speed.enabled;
	const char *(*name)(unsigned) = width ? link_width_name : link_speed_name;

	if (a != b)
		finding_append(&f->detail, "the ends disagree: %s here, %s at the other end", name(a), name(b));
	else if (enabled && enabled <= a)
		finding_append(&f->detail, "the ports have no more than %s enabled", name(enabled));
}

/* What a link would carry with another width or speed, in Gb/s. */
static double gbps_with(const struct link_view *view, bool width, unsigned level)
{
	unsigned w = view->width.active > view->width.can ? view->width.active : view->width.can;
	unsigned s = view->speed.active > view->speed.can ? view->speed.active : view->speed.can;

	return link_gbps(width ? level : w, width ? s : level);
}

static struct finding *add_level(const struct fabric *fabric, const struct fabric_link *link,
				 const struct link_view *view, bool width, enum finding_code code, unsigned wanted,
				 unsigned got, struct finding_list *findings)
{
	const char *(*name)(unsigned) = width ? link_width_name : link_speed_name;
	double can = gbps_with(view, width, wanted), does = link_gbps(view->width.active, view->speed.active);
	struct finding *f = add(fabric, link, code, findings);

	finding_set(&f->what, width ? "width" : "speed");
	finding_set(&f->wanted, "%s", name(wanted));
	finding_set(&f->got, "%s", name(got));
	if (does > 0 && can > does) {
		finding_set(&f->detail, "%.4g of %.4g Gb/s, %.4g lost", does, can, can - does);
		f->weight = can - does;
	}
	return f;
}

static void tell(const struct fabric *fabric, const struct fabric_link *link, const struct link_view *view, bool width,
		 unsigned tellings, struct finding_list *findings)
{
	const struct link_levels *l = width ? &view->width : &view->speed;
	unsigned ceiling = l->expected && l->expected < l->can ? l->expected : l->can;
	uint32_t lost_at = view->lost_at[width ? 0 : 1];
	struct finding *f;

	if (tellings & LINK_TELL_LOW) {
		f = add_level(fabric, link, view, width, width ? FINDING_LINK_WIDTH_LOW : FINDING_LINK_SPEED_LOW,
			      ceiling, l->active, findings);
		add_why(f, view, width);
	}
	if (tellings & LINK_TELL_LIMITED) {
		f = add_level(fabric, link, view, width,
			      width ? FINDING_LINK_WIDTH_LIMITED : FINDING_LINK_SPEED_LIMITED, ceiling, l->active,
			      findings);
		add_why(f, view, width);
	}
	if (tellings & LINK_TELL_LOST) {
		f = add_level(fabric, link, view, width,
			      width ? FINDING_LINK_WIDTH_LOST : FINDING_LINK_SPEED_LOST, l->before, l->now, findings);
		if (lost_at != FABRIC_NONE)
			place_port(f, fabric, lost_at);
		else
			finding_append(&f->detail, "at both ends");
	}
	if (tellings & LINK_TELL_BELOW_POLICY) {
		f = add_level(fabric, link, view, width,
			      width ? FINDING_LINK_WIDTH_BELOW_POLICY : FINDING_LINK_SPEED_BELOW_POLICY,
			      l->expected, l->can ? l->can : l->active, findings);
		finding_append(&f->detail, "link class '%s'", view->class ? view->class->name : "?");
	}
}

/* --- what the policy says of links --- */

struct expectations {
	const struct audit_options *options;
	bool *class_met;    /* by link class: a link is in it */
	uint32_t *excepted; /* by exception, those of all classes one after the other: links that it is about */
	size_t exceptions;
};

static void expectations_clear(struct expectations *e)
{
	free(e->class_met);
	free(e->excepted);
}

static int expectations_new(const struct audit_options *options, struct expectations *e)
{
	const struct policy *policy = options->policy;

	*e = (struct expectations){.options = options};
	if (!policy)
		return 0;
	for (size_t i = 0; i < policy->link_class_count; i++)
		e->exceptions += policy->link_classes[i].exception_count;
	e->class_met = calloc(policy->link_class_count + 1, sizeof(*e->class_met));
	e->excepted = calloc(e->exceptions + 1, sizeof(*e->excepted));
	return e->class_met && e->excepted ? 0 : -ENOMEM;
}

/* The first exception of a class that is about a link and holds today; NULL: none. */
static const struct policy_link_exception *find_exception(struct expectations *e, const struct fabric *fabric,
							  const struct fabric_link *link,
							  const struct policy_link_class *class)
{
	const struct policy_link_exception *found = NULL;
	size_t first = 0;

	for (const struct policy_link_class *c = e->options->policy->link_classes; c < class; c++)
		first += c->exception_count;
	for (size_t i = 0; i < class->exception_count; i++) {
		const struct policy_link_exception *exception = &class->exceptions[i];

		if (!policy_link_excepted(exception, fabric, link))
			continue;
		e->excepted[first + i]++;
		if (!found && exception->until >= e->options->today)
			found = exception;
	}
	return found;
}

/* False: the link is not to be judged at all. */
static bool expect(struct expectations *e, const struct fabric *fabric, const struct fabric_link *link,
		   struct link_view *view, struct audit_result *result)
{
	const struct policy *policy = e->options->policy;
	const struct policy_link_exception *exception;

	view->class = policy ? policy_link_class_of(policy, fabric, link) : NULL;
	if (!view->class)
		return true;
	e->class_met[view->class - policy->link_classes] = true;
	view->width.expected = view->class->width;
	view->speed.expected = view->class->speed;
	exception = find_exception(e, fabric, link, view->class);
	if (!exception)
		return true;
	result->links_excepted++;
	if (exception->width)
		view->width.expected = exception->width;
	if (exception->speed)
		view->speed.expected = exception->speed;
	return exception->width || exception->speed;
}

static void add_expired(const struct policy *policy, const struct policy_link_class *class,
			const struct policy_link_exception *exception, uint32_t links, struct finding_list *findings)
{
	char text[POLICY_DATE_TEXT];
	struct finding *f = finding_at(finding_add(findings, FINDING_LINK_EXCEPTION_EXPIRED), policy->path,
				       exception->mark.line, exception->mark.column);

	finding_set(&f->what, "link class '%s'", class->name);
	finding_set(&f->got, "until %s", policy_date_text(exception->until, text));
	finding_set(&f->detail, "%s; %u link%s", exception->reason, links, links == 1 ? "" : "s");
}

/* Classes and exceptions themselves. Of a part of the fabric nobody can say that there are none. */
static void check_expectations(const struct expectations *e, struct finding_list *findings)
{
	const struct policy *policy = e->options->policy;
	bool whole = !e->options->scope;
	size_t at = 0;

	for (size_t i = 0; policy && i < policy->link_class_count; i++) {
		const struct policy_link_class *class = &policy->link_classes[i];

		if (!e->class_met[i] && whole)
			finding_set(&finding_at(finding_add(findings, FINDING_LINK_CLASS_EMPTY), policy->path,
						class->mark.line, class->mark.column)
					     ->what,
				    "link class '%s'", class->name);
		for (size_t n = 0; n < class->exception_count; n++, at++) {
			const struct policy_link_exception *exception = &class->exceptions[n];
			struct finding *f;

			if (e->excepted[at] > 0 && exception->until < e->options->today)
				add_expired(policy, class, exception, e->excepted[at], findings);
			if (e->excepted[at] > 0 || !whole)
				continue;
			f = finding_at(finding_add(findings, FINDING_LINK_EXCEPTION_UNUSED), policy->path,
				       exception->mark.line, exception->mark.column);
			finding_set(&f->what, "link class '%s'", class->name);
			finding_set(&f->detail, "%s", exception->reason);
		}
	}
}

/* --- */

static void count_verdicts(const struct link_view *view, struct audit_result *result)
{
	unsigned verdicts = link_verdicts(&view->width) | link_verdicts(&view->speed);

	result->below_enabled += !!(verdicts & LINK_BELOW_ENABLED);
	result->below_can += !!(verdicts & LINK_BELOW_CAN);
	result->below_policy += !!(verdicts & LINK_BELOW_EXPECTED);
	result->lost += !!(verdicts & LINK_LOST);
}

/* The ends of a link cannot run differently: where that is all that is wrong, one of them does not tell the truth. */
static bool disagree(const struct link_view *view, bool width)
{
	return width ? view->a.width_active != view->b.width_active : view->a.speed_active != view->b.speed_active;
}

static void add_disagreement(const struct fabric *fabric, const struct fabric_link *link, const struct link_view *view, bool width,
			     struct finding_list *findings)
{
	struct finding *f = add(fabric, link, FINDING_LINK_UNDECODED, findings);

	finding_set(&f->what, width ? "width" : "speed");
	finding_set(&f->got, "%s here, %s at the other end",
		    width ? link_width_name(view->a.width_active) : link_speed_name(view->a.speed_active),
		    width ? link_width_name(view->b.width_active) : link_speed_name(view->b.speed_active));
}

static void check_link(const struct fabric *fabric, const struct fabric_link *link, struct expectations *e,
		       struct finding_list *findings, struct audit_result *result)
{
	unsigned width_tellings, speed_tellings;
	bool width_known, speed_known;
	struct link_view view;

	view_link(fabric, link, e->options->baseline, &view);
	if (!expect(e, fabric, link, &view, result))
		return;
	width_known = view.width.active && view.width.can;
	speed_known = view.speed.active && view.speed.can;
	if (!width_known)
		add_undecoded(fabric, link, &view, true, findings);
	if (!speed_known && !ext_lost(&fabric->ports[link->a]) && !ext_lost(&fabric->ports[link->b]))
		add_undecoded(fabric, link, &view, false, findings);
	width_tellings = link_tellings(&view.width);
	speed_tellings = link_tellings(&view.speed);
	if (width_known && !width_tellings && disagree(&view, true)) {
		add_disagreement(fabric, link, &view, true, findings);
		width_known = false;
	}
	if (speed_known && !speed_tellings && disagree(&view, false)) {
		add_disagreement(fabric, link, &view, false, findings);
		speed_known = false;
	}
	tell(fabric, link, &view, true, width_tellings, findings);
	tell(fabric, link, &view, false, speed_tellings, findings);
	count_verdicts(&view, result);
	result->links_slow += width_tellings || speed_tellings;
	result->links_unknown += !width_known || !speed_known;
}

static bool is_up(const struct fabric_port *port)
{
	return fabric_port_phys_state(port) == FABRIC_PHYS_LINK_UP &&
	       fabric_port_state(port) != FABRIC_STATE_DOWN;
}

int audit_links(const struct fabric *fabric, const struct audit_options *options, struct finding_list *findings,
		struct audit_result *result)
{
	static const struct audit_options all = {0};
	struct expectations e;
	uint32_t i;
	int ret;

	*result = (struct audit_result){0};
	if (!options)
		options = &all;
	ret = expectations_new(options, &e);
	for (i = 0; ret == 0 && i < fabric->link_count; i++) {
		const struct fabric_link *link = &fabric->links[i];
		const struct fabric_port *a = &fabric->ports[link->a], *b = &fabric->ports[link->b];

		if (!scope_has(options->scope, link->a) && !scope_has(options->scope, link->b))
			continue;
		if (!a->known || !b->known) { /* a gap of the discovery, which check_gaps() tells */
			result->links_unknown++;
			continue;
		}
		if (!is_up(a) || !is_up(b)) {
			result->links_unknown++;
			add_not_up(fabric, link, findings);
			continue;
		}
		result->links++;
		check_active(fabric, link, findings);
		check_link(fabric, link, &e, findings, result);
	}
	if (ret == 0)
		check_expectations(&e, findings);
	expectations_clear(&e);
	return ret;
}
