/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Expected changes: which findings each explains, and which of them did not happen. Nodes are named by the GUID that they
 * have in `after`, or had if they are gone.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "diff.h"
#include "ibqos/link.h"
#include "place.h"

/* A node, or the link at one port of it; guid 0: nothing of this name is in either state. */
struct target {
	uint64_t guid;
	int port; /* FINDING_WHOLE_NODE */
	const char *name;
	bool with; /* only gone because another one is: covers findings, is not judged */
};

struct expecting {
	const struct diff_state *before, *after;
	const struct diff_result *result;
	struct finding_list *findings;
	bool *covered; /* by finding of check_diff() */
	size_t found;  /* how many these are */
	const struct changes *changes;
	const struct change *change;
	struct diff_expected *expected;
	struct target *targets;
	size_t count, room;
	bool lost; /* memory ran out */
};

/* --- nodes of the two states --- */

static uint32_t node_before(const struct expecting *e, uint64_t guid)
{
	for (uint32_t i = 0; i < e->result->nodes_replaced; i++)
		if (e->result->replaced[i].after == guid)
			return fabric_find_node(e->before->fabric, e->result->replaced[i].before);
	return fabric_find_node(e->before->fabric, guid);
}

static uint32_t node_after(const struct expecting *e, uint64_t guid)
{
	return fabric_find_node(e->after->fabric, guid);
}

/* The end that a port is cabled to in one of the two; false: none. */
static bool peer_of(const struct expecting *e, const struct fabric *f, uint64_t guid, int port, uint64_t *peer, int *peer_port)
{
	uint32_t node = f == e->before->fabric ? node_before(e, guid) : node_after(e, guid), at;

	at = node == FABRIC_NONE || port < 0 ? FABRIC_NONE : fabric_node_port(f, node, (unsigned)port);
	at = at == FABRIC_NONE ? FABRIC_NONE : f->ports[at].peer;
	if (at == FABRIC_NONE)
		return false;
	*peer = diff_guid_after(f == e->before->fabric ? e->result : &(struct diff_result){0}, fabric_port_node(f, at)->guid);
	*peer_port = f->ports[at].number;
	return true;
}

/* --- what the names of a change mean --- */

static void add_target(struct expecting *e, uint64_t guid, int port, const char *name, bool with)
{
	struct target *grown;

	for (size_t i = 0; i < e->count; i++)
		if (guid && e->targets[i].guid == guid && e->targets[i].port == port)
			return;
	grown = array_grow(e->targets, &e->room, e->count + 1, sizeof(*grown));
	if (!grown) {
		e->lost = true;
		return;
	}
	e->targets = grown;
	e->targets[e->count++] = (struct target){guid, port, name, with};
}

static bool is_named(const struct fabric *f, const struct fabric_node *node, const char *name)
{
	return strcmp(name, "all") == 0 || scope_is_named(f, node, name);
}

/* All nodes of this name, in both states. False: there is none. */
static bool take_nodes(struct expecting *e, const char *name, int port, const char *written)
{
	size_t before = e->count;
	bool any = false;

	for (uint32_t i = 0; i < e->before->fabric->node_count; i++) {
		const struct fabric_node *node = &e->before->fabric->nodes[i];

		if (!is_named(e->before->fabric, node, name))
			continue;
		add_target(e, diff_guid_after(e->result, node->guid), port, written, false);
		any = true;
	}
	/* who bears the name now may be another node */
	if (e->change->kind == CHANGE_RENAMED && any)
		return true;
	for (uint32_t i = 0; i < e->after->fabric->node_count; i++) {
		const struct fabric_node *node = &e->after->fabric->nodes[i];

		if (!is_named(e->after->fabric, node, name))
			continue;
		add_target(e, node->guid, port, written, false);
		any = true;
	}
	return any || e->count > before;
}

/* "leaf-01[3]", where there is such a node: else it may be a list of hosts. */
static bool take_port(struct expecting *e, const char *name)
{
	const char *bracket = strrchr(name, '[');
	uint64_t number;
	char *node, *digits;
	bool taken = false;

	if (!bracket || bracket == name || name[strlen(name) - 1] != ']')
		return false;
	node = strndup(name, (size_t)(bracket - name));
	digits = strndup(bracket + 1, strlen(bracket + 1) - 1);
	if (!node || !digits)
		e->lost = true;
	else if (text_to_u64(digits, 254, &number) == 0 && number > 0)
		taken = take_nodes(e, node, (int)number, name);
	free(node);
	free(digits);
	return taken;
}

/* Hosts of a list one by one, so that each that is missing is told; their names must outlive the list. */
static int take_list(struct expecting *e, const char *name)
{
	struct hostlist list;
	char *fault = NULL;
	int error = hostlist_expand(name, &list, &fault);

	for (size_t i = 0; error == 0 && i < list.count; i++)
		if (!take_nodes(e, list.names[i], FINDING_WHOLE_NODE, name)) {
			struct finding *f = finding_at(finding_add(e->findings, FINDING_EXPECTED_CHANGE_MISSING), e->changes->path,
						       e->change->line, e->change->column);

			e->expected->meant++;
			finding_set(&f->what, "%s", e->change->text);
			finding_set(&f->got, "no node is called '%s', before or after", list.names[i]);
		}
	hostlist_clear(&list);
	free(fault);
	return error == -EINVAL ? 0 : error; /* the file was checked: a name with a comma */
}

static int take_names(struct expecting *e)
{
	int error = 0;

	e->count = 0;
	for (size_t i = 0; error == 0 && i < e->change->name_count; i++) {
		const char *name = e->change->names[i];

		if (take_nodes(e, name, FINDING_WHOLE_NODE, name) || take_port(e, name))
			continue;
		if (strpbrk(name, "[,"))
			error = take_list(e, name);
		else
			add_target(e, 0, FINDING_WHOLE_NODE, name, false);
	}
	return error ? error : e->lost ? -ENOMEM : 0;
}

static bool is_target(const struct expecting *e, uint64_t guid, int port)
{
	for (size_t i = 0; i < e->count; i++)
		if (guid && e->targets[i].guid == guid &&
		    (e->targets[i].port == FINDING_WHOLE_NODE || e->targets[i].port == port))
			return true;
	return false;
}

/* --- which findings it explains --- */

/* A node whose cables all led to what is down. */
static bool hangs_on_targets(const struct expecting *e, uint64_t guid)
{
	const struct fabric *f = e->before->fabric;
	uint32_t node = node_before(e, guid);
	bool any = false;

	for (unsigned n = 1; node != FABRIC_NONE && n <= f->nodes[node].ports; n++) {
		uint64_t peer;
		int peer_port;

		if (!peer_of(e, f, guid, (int)n, &peer, &peer_port))
			continue;
		if (!is_target(e, peer, peer_port) && !is_target(e, guid, (int)n))
			return false;
		any = true;
	}
	return any;
}

/* Whether the link at a port runs as expected. */
static bool runs_as_expected(const struct expecting *e, uint32_t port)
{
	const struct fabric *f = e->after->fabric;
	struct link_state s;

	if (!link_decode(f, port, &s)) {
		s.width_active = f->ports[port].told_width;
		s.speed_active = f->ports[port].told_speed;
	}
	return (!e->change->width || s.width_active == e->change->width) &&
	       (!e->change->speed || s.speed_active == e->change->speed);
}

/* Any of the four ends of two cables that exchanged theirs, or of one that moved. */
static bool moves_target(const struct expecting *e, const struct finding *x)
{
	uint64_t guid;
	int port;

	if (is_target(e, x->guid, x->port) || is_target(e, x->peer_guid, x->peer_port))
		return true;
	if (peer_of(e, e->before->fabric, x->guid, x->port, &guid, &port) && is_target(e, guid, port))
		return true;
	return x->code == FINDING_LINKS_SWAPPED && peer_of(e, e->before->fabric, x->peer_guid, x->peer_port, &guid, &port) &&
	       is_target(e, guid, port);
}

static bool explains(const struct expecting *e, const struct finding *x)
{
	bool here = is_target(e, x->guid, x->port), there = is_target(e, x->peer_guid, x->peer_port);
	uint32_t node = node_after(e, x->guid), port;

	switch (e->change->kind) {
	case CHANGE_DOWN:
		return (x->code == FINDING_LINK_GONE && (here || there)) ||
		       ((x->code == FINDING_NODE_GONE || x->code == FINDING_NODE_SILENT) &&
			(is_target(e, x->guid, FINDING_WHOLE_NODE) || hangs_on_targets(e, x->guid)));
	case CHANGE_NEW:
		return (x->code == FINDING_NODE_NEW && here) || (x->code == FINDING_LINK_NEW && (here || there));
	case CHANGE_REPLACED:
		return (x->code == FINDING_NODE_REPLACED || x->code == FINDING_NODE_RENAMED ||
			x->code == FINDING_CAPABILITY_CHANGED) && here;
	case CHANGE_RENAMED:
		return x->code == FINDING_NODE_RENAMED && here && x->got && strcmp(x->got, e->change->to) == 0;
	case CHANGE_MOVED:
		return (x->code == FINDING_LINK_MOVED || x->code == FINDING_LINKS_SWAPPED) && moves_target(e, x);
	case CHANGE_RATE:
		if (!here && !there)
			return false;
		if (x->code == FINDING_CAPABILITY_CHANGED)
			return true;
		port = node == FABRIC_NONE || x->port < 0 ? FABRIC_NONE
							   : fabric_node_port(e->after->fabric, node, (unsigned)x->port);
		return (x->code == FINDING_LINK_FASTER || x->code == FINDING_LINK_SLOWER) && port != FABRIC_NONE &&
		       runs_as_expected(e, port);
	case CHANGE_TABLES:
		return x->code == FINDING_TABLES_CHANGED && here;
	default:
		return false;
	}
}

/* Nodes that are explained take what hangs on them alone with them. */
static void cover(struct expecting *e)
{
	bool more = true;

	while (more) {
		more = false;
		for (size_t i = 0; i < e->found; i++) {
			struct finding *x = &e->findings->items[i];

			if (e->covered[i] || !explains(e, x))
				continue;
			e->covered[i] = true;
			e->expected->covered++;
			x->severity = FINDING_NOTE;
			finding_append(&x->detail, "expected: %s (%s:%u)", e->change->text, e->changes->path, e->change->line);
			if (x->code == FINDING_NODE_GONE || x->code == FINDING_NODE_SILENT) {
				add_target(e, x->guid, FINDING_WHOLE_NODE, NULL, true);
				more = true;
			}
		}
	}
}

/* --- what did not happen --- */

static struct finding *missing(struct expecting *e, const struct target *t)
{
	struct finding *f = finding_add(e->findings, FINDING_EXPECTED_CHANGE_MISSING);
	uint32_t node = t->guid ? node_after(e, t->guid) : FABRIC_NONE, port;

	finding_set(&f->what, "%s", e->change->text);
	finding_set(&f->detail, "%s:%u", e->changes->path, e->change->line);
	if (node == FABRIC_NONE) {
		finding_at(f, e->changes->path, e->change->line, e->change->column);
		finding_set(&f->detail, "'%s'", t->name ? t->name : "?");
		return f;
	}
	port = t->port < 0 ? FABRIC_NONE : fabric_node_port(e->after->fabric, node, (unsigned)t->port);
	if (port == FABRIC_NONE)
		place_node(f, e->after->fabric, node);
	else
		place_port(f, e->after->fabric, port);
	return f;
}

static unsigned links_of(const struct fabric *f, uint32_t node)
{
	unsigned links = 0;

	for (unsigned n = 1; n <= f->nodes[node].ports; n++)
		links += f->ports[f->nodes[node].first_port + n].peer != FABRIC_NONE;
	return links;
}

/* NULL: it happened; else what is there instead. */
static const char *down_instead(const struct expecting *e, const struct target *t, char text[64])
{
	uint32_t now = node_after(e, t->guid);
	uint64_t peer;
	int port;

	if (t->port != FINDING_WHOLE_NODE) {
		if (!peer_of(e, e->before->fabric, t->guid, t->port, &peer, &port))
			return "no link was there before";
		return peer_of(e, e->after->fabric, t->guid, t->port, &peer, &port) ? "the link is still there" : NULL;
	}
	if (node_before(e, t->guid) == FABRIC_NONE)
		return "it was not there before";
	if (now == FABRIC_NONE)
		return NULL;
	snprintf(text, 64, "it is still there, with %u links", links_of(e->after->fabric, now));
	return text;
}

static const char *new_instead(const struct expecting *e, const struct target *t)
{
	uint64_t peer;
	int port;

	if (t->port != FINDING_WHOLE_NODE) {
		if (!peer_of(e, e->after->fabric, t->guid, t->port, &peer, &port))
			return "no link is there";
		return peer_of(e, e->before->fabric, t->guid, t->port, &peer, &port) ? "a link was there before" : NULL;
	}
	if (node_after(e, t->guid) == FABRIC_NONE)
		return "it is not there";
	return node_before(e, t->guid) == FABRIC_NONE ? NULL : "it was there before";
}

static const char *replaced_instead(const struct expecting *e, const struct target *t)
{
	for (uint32_t i = 0; i < e->result->nodes_replaced; i++)
		if (e->result->replaced[i].after == t->guid)
			return NULL;
	if (node_after(e, t->guid) == FABRIC_NONE)
		return "it is gone, and no other node is in its place";
	return node_before(e, t->guid) == FABRIC_NONE ? "it is new, and in no other node's place" : "it is the same node as before";
}

static const char *renamed_instead(const struct expecting *e, const struct target *t)
{
	uint32_t node = node_after(e, t->guid);

	if (node == FABRIC_NONE)
		return "it is gone";
	return strcmp(e->after->fabric->nodes[node].name, e->change->to) == 0 ? NULL : e->after->fabric->nodes[node].name;
}

/* Whether any cable of it leads elsewhere. */
static const char *moved_instead(const struct expecting *e, const struct target *t)
{
	uint32_t node = node_before(e, t->guid);

	for (unsigned n = 1; node != FABRIC_NONE && n <= e->before->fabric->nodes[node].ports; n++) {
		uint64_t was, is;
		int was_port, is_port;

		if ((t->port != FINDING_WHOLE_NODE && t->port != (int)n) ||
		    !peer_of(e, e->before->fabric, t->guid, (int)n, &was, &was_port) ||
		    !peer_of(e, e->after->fabric, t->guid, (int)n, &is, &is_port))
			continue;
		if (was != is || was_port != is_port)
			return NULL;
	}
	return "no cable of it leads elsewhere than before";
}

static void judge_one(struct expecting *e, const struct target *t)
{
	char text[64];
	const char *instead = "nothing of this name is there, before or after";

	if (t->guid) {
		switch (e->change->kind) {
		case CHANGE_DOWN:
			instead = down_instead(e, t, text);
			break;
		case CHANGE_NEW:
			instead = new_instead(e, t);
			break;
		case CHANGE_REPLACED:
			instead = replaced_instead(e, t);
			break;
		case CHANGE_RENAMED:
			instead = renamed_instead(e, t);
			break;
		default:
			instead = moved_instead(e, t);
			break;
		}
	}
	e->expected->meant++;
	if (!instead)
		e->expected->happened++;
	else
		finding_set(&missing(e, t)->got, "%s", instead);
}

/* Each link of it, once. */
static void judge_rate(struct expecting *e, const struct target *t)
{
	const struct fabric *f = e->after->fabric;
	uint32_t node = t->guid ? node_after(e, t->guid) : FABRIC_NONE, links = 0;

	for (unsigned n = 1; node != FABRIC_NONE && n <= f->nodes[node].ports; n++) {
		uint32_t port = f->nodes[node].first_port + n, peer = f->ports[port].peer;
		struct target link = {t->guid, (int)n, t->name, false};
		struct link_state s;
		struct finding *x;

		if ((t->port != FINDING_WHOLE_NODE && t->port != (int)n) || peer == FABRIC_NONE)
			continue;
		links++;
		if (peer < port && is_target(e, fabric_port_node(f, peer)->guid, f->ports[peer].number))
			continue; /* told from its other end */
		e->expected->meant++;
		if (runs_as_expected(e, port)) {
			e->expected->happened++;
			continue;
		}
		x = missing(e, &link);
		if (link_decode(f, port, &s) && s.width_active && s.speed_active)
			finding_set(&x->got, "%s %s", link_width_name(s.width_active), link_speed_name(s.speed_active));
		else
			finding_set(&x->got, "not known");
	}
	if (links > 0)
		return;
	e->expected->meant++;
	finding_set(&missing(e, t)->got, "no link is there");
}

static void judge(struct expecting *e)
{
	bool some_new = false;

	if (e->change->kind == CHANGE_TABLES) {
		e->expected->meant = 1;
		e->expected->happened = e->expected->covered > 0;
		if (e->expected->covered == 0)
			finding_set(&missing(e, &(struct target){.name = e->change->subject})->got, "no table of it has changed");
		return;
	}
	for (size_t i = 0; i < e->count; i++)
		some_new |= e->targets[i].guid && !new_instead(e, &e->targets[i]);
	for (size_t i = 0; i < e->count; i++) {
		const struct target *t = &e->targets[i];

		if (t->with)
			continue;
		/* of a pattern new ones are expected, not that all are */
		if (e->change->kind == CHANGE_NEW && some_new && t->name && (strpbrk(t->name, "*?") || strcmp(t->name, "all") == 0) &&
		    new_instead(e, t))
			continue;
		if (e->change->kind == CHANGE_RATE)
			judge_rate(e, t);
		else
			judge_one(e, t);
	}
}

int diff_expect(const struct diff_state *before, const struct diff_state *after, const struct changes *changes,
		const struct diff_result *result, struct finding_list *findings, struct diff_expected *expected)
{
	struct expecting e = {.before = before, .after = after, .result = result, .findings = findings, .changes = changes,
			      .found = findings->count};
	int error = 0;

	e.covered = calloc(findings->count + 1, sizeof(*e.covered));
	if (!e.covered)
		return -ENOMEM;
	for (size_t i = 0; error == 0 && i < changes->count; i++) {
		e.change = &changes->items[i];
		e.expected = &expected[i];
		*e.expected = (struct diff_expected){0};
		error = take_names(&e);
		if (error == 0) {
			cover(&e);
			judge(&e);
		}
		if (e.lost)
			error = -ENOMEM;
	}
	free(e.targets);
	free(e.covered);
	return error;
}
