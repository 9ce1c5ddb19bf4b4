/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * presence: a change takes a while, in which cables are pulled and hosts start. Ports that were not there from
 * beginning to end say nothing about it: they are told apart, and listed.
 */
#include <errno.h>
#include <stdlib.h>

#include "place.h"
#include "verify.h"

struct presence {
	bool *up; /* by port */
};

/* One whose PortInfo is not known may be up, and then its silence must count. */
static bool is_up(const struct fabric_port *port)
{
	return !port->known || fabric_port_state(port) != FABRIC_STATE_DOWN;
}

int presence_new(const struct fabric *fabric, struct presence **presence)
{
	struct presence *p = calloc(1, sizeof(*p));

	*presence = NULL;
	if (p)
		p->up = calloc((size_t)fabric->port_count + 1, sizeof(*p->up));
	if (!p || !p->up) {
		presence_free(p);
		return -ENOMEM;
	}
	for (uint32_t i = 0; i < fabric->port_count; i++)
		p->up[i] = is_up(&fabric->ports[i]);
	*presence = p;
	return 0;
}

void presence_free(struct presence *presence)
{
	if (!presence)
		return;
	free(presence->up);
	free(presence);
}

static bool answered(const struct verify *v, uint32_t port)
{
	return v->ports[port].ended[VERIFY_PORT_INFO][MAD_ANSWERED] > 0;
}

/*
 * Whether what answers for a port is cut off: silent as a whole, and behind each of its cables a port that answers
 * and is down, one at least.
 */
static bool cut_off(const struct verify *v, uint32_t port)
{
	const struct fabric_node *node = fabric_port_node(v->fabric, port);
	bool of_switch = node->type == FABRIC_SWITCH, any = false;
	uint32_t first = of_switch ? node->first_port : port, end = of_switch ? first + node->ports + 1u : first + 1;

	for (uint32_t i = first; i < end; i++) {
		uint32_t peer = v->fabric->ports[i].peer;

		if (answered(v, i))
			return false;
		if (peer == FABRIC_NONE || !answered(v, peer))
			continue;
		if (is_up(&v->fabric->ports[peer]))
			return false;
		any = true;
	}
	return any;
}

enum presence_of { ALL_ALONG, CAME, WENT };

static enum presence_of presence_of(const struct presence *p, const struct verify *v, uint32_t port)
{
	const struct port_state *state = &v->ports[port];

	if (!(state->flags & PORT_ASKED))
		return ALL_ALONG;
	if (!p->up[port])
		return answered(v, port) && is_up(&v->fabric->ports[port]) ? CAME : ALL_ALONG;
	if (answered(v, port))
		return is_up(&v->fabric->ports[port]) ? ALL_ALONG : WENT;
	return cut_off(v, port) ? WENT : ALL_ALONG;
}

void presence_adjust(const struct presence *p, const struct verify *v, struct verify_result *result)
{
	for (uint32_t i = 0; i < v->fabric->port_count; i++) {
		const struct port_state *state = &v->ports[i];
		enum presence_of presence = presence_of(p, v, i);
		bool failed = state->flags & PORT_UNSURE || verify_port_failed(state) > 0;

		/* as in the result: those that it does not count as ports */
		if (presence == ALL_ALONG || (state->flags & (PORT_EXCLUDED | PORT_LEFT) && !failed))
			continue;
		result->ports--;
		result->ports_left += presence == WENT;
		if (state->flags & PORT_DIFFERS)
			result->ports_differ--;
		else if (failed)
			result->ports_unknown--;
	}
}

void presence_findings(const struct presence *p, const struct verify *v, struct finding_list *findings)
{
	for (uint32_t i = 0; i < v->fabric->port_count; i++) {
		enum presence_of presence = presence_of(p, v, i);
		struct finding *f;

		if (presence == ALL_ALONG)
			continue;
		f = finding_add(findings, presence == CAME ? FINDING_APPLY_PORT_CAME : FINDING_APPLY_PORT_WENT);
		place_port(f, v->fabric, i);
		if (presence == WENT && !answered(v, i))
			finding_set(&f->detail, "it does not answer any more, and its cable is down at the other end");
	}
}
