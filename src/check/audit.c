/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * audit: each link's active width and speed against the best that both ends support.
 *
 * Supported, not enabled: a port that was told to run slower is slow all the same, and the finding
 * says that no more is enabled. Why this rule and what it cannot see: docs/links.md.
 */
#include "ibqos/check.h"
#include "ibqos/link.h"

#include <stdio.h>

#include "place.h"

/* What a link runs and what it could, from both ends. */
struct link_view {
	struct link_state a, b;
	unsigned width, speed;                 /* active; 0: not known */
	unsigned best_width, best_speed;       /* that both support; 0: none in common */
	unsigned enabled_width, enabled_speed; /* that both have enabled */
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

static void view_link(const struct fabric *fabric, const struct fabric_link *link, struct link_view *view)
{
	struct link_state *a = &view->a, *b = &view->b;

	mend_fdr10(&fabric->ports[link->a], a, b);
	mend_fdr10(&fabric->ports[link->b], b, a);
	view->width = lower(a->width_active, b->width_active);
	view->speed = lower(a->speed_active, b->speed_active);
	view->best_width = link_best(a->width_supported & b->width_supported);
	view->best_speed = link_best(a->speed_supported & b->speed_supported);
	view->enabled_width = link_best(a->width_enabled & b->width_enabled);
	view->enabled_speed = link_best(a->speed_enabled & b->speed_enabled);
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
	unsigned active = width ? view->width : view->speed;

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
static void format_why(const struct link_view *view, bool width, char *text, size_t size)
{
	unsigned a = width ? view->a.width_active : view->a.speed_active;
	unsigned b = width ? view->b.width_active : view->b.speed_active;
	unsigned enabled = width ? view->enabled_width : view->enabled_speed;
	const char *(*name)(unsigned) = width ? link_width_name : link_speed_name;

	text[0] = '\0';
	if (a != b)
		snprintf(text, size, "; the ends disagree: %s here, %s at the other end", name(a), name(b));
	else if (enabled && enabled <= a)
		snprintf(text, size, "; the ports have no more than %s enabled", name(enabled));
}

static void add_low(const struct fabric *fabric, const struct fabric_link *link, const struct link_view *view,
		    bool width, struct finding_list *findings)
{
	double can = link_gbps(view->best_width, view->best_speed),
	       does = link_gbps(view->width, view->speed);
	struct finding *f =
		add(fabric, link, width ? FINDING_LINK_WIDTH_LOW : FINDING_LINK_SPEED_LOW, findings);
	char why[128];

	finding_set(&f->what, width ? "width" : "speed");
	finding_set(&f->wanted, "%s",
		    width ? link_width_name(view->best_width) : link_speed_name(view->best_speed));
	finding_set(&f->got, "%s", width ? link_width_name(view->width) : link_speed_name(view->speed));
	format_why(view, width, why, sizeof(why));
	finding_set(&f->detail, "%.4g of %.4g Gb/s, %.4g lost%s", does, can, can - does, why);
	f->weight = can - does;
}

/* True if the link was judged in full. */
static bool check_link(const struct fabric *fabric, const struct fabric_link *link,
		       struct finding_list *findings, bool *slow)
{
	struct link_view view;
	bool width_known, speed_known;

	link_decode(fabric, link->a, &view.a);
	link_decode(fabric, link->b, &view.b);
	view_link(fabric, link, &view);
	width_known = view.width && view.best_width;
	speed_known = view.speed && view.best_speed;
	*slow = false;
	if (!width_known)
		add_undecoded(fabric, link, &view, true, findings);
	if (!speed_known && !ext_lost(&fabric->ports[link->a]) && !ext_lost(&fabric->ports[link->b]))
		add_undecoded(fabric, link, &view, false, findings);
	if (width_known && view.width < view.best_width) {
		add_low(fabric, link, &view, true, findings);
		*slow = true;
	}
	if (speed_known && view.speed < view.best_speed) {
		add_low(fabric, link, &view, false, findings);
		*slow = true;
	}
	return width_known && speed_known;
}

static bool is_up(const struct fabric_port *port)
{
	return fabric_port_phys_state(port) == FABRIC_PHYS_LINK_UP &&
	       fabric_port_state(port) != FABRIC_STATE_DOWN;
}

void audit_links(const struct fabric *fabric, const struct scope *scope, struct finding_list *findings,
		 struct audit_result *result)
{
	bool slow;
	uint32_t i;

	*result = (struct audit_result){0};
	for (i = 0; i < fabric->link_count; i++) {
		const struct fabric_link *link = &fabric->links[i];
		const struct fabric_port *a = &fabric->ports[link->a], *b = &fabric->ports[link->b];

		if (!scope_has(scope, link->a) && !scope_has(scope, link->b))
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
		if (!check_link(fabric, link, findings, &slow))
			result->links_unknown++;
		result->links_slow += slow;
	}
}
