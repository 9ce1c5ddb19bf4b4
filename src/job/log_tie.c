/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Failed transfers and events of adapters, tied to what a snapshot or the state file of an audit says of the links of these
 * adapters, and of their peers' where the log tells who they are.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "ibqos/fabric.h"
#include "ibqos/state.h"

#include "log.h"

/* An adapter's node in one of the sources. */
struct place {
	const char *name;
	size_t host; /* bytes of the name that are the host's */
	uint64_t guid;
	bool of_state;
};

/* A finding, by a node that it is about. */
struct about {
	uint64_t guid;
	int port; /* FINDING_WHOLE_NODE: any */
	const struct finding *finding;	     /* of the fabric, or */
	const struct state_finding *kept; /* of the state */
	bool other_end;
};

struct tying {
	const struct job_log *log;
	const struct job_log_links *links;
	struct finding_list *findings;
	struct place *places;
	struct about *abouts;
	const struct state_node **nodes; /* of the state, by GUID */
	size_t place_count, place_room, about_count, about_room;
	struct job_log_tie *ties;
	size_t count, room;
	bool failed;
};

/* --- looking things up --- */

static size_t host_word(const char *name)
{
	return strcspn(name, " /:");
}

static int compare_hosts(const char *a, size_t a_size, const char *b, size_t b_size)
{
	int order = memcmp(a, b, a_size < b_size ? a_size : b_size);

	return order ? order : (a_size > b_size) - (a_size < b_size);
}

static int by_host(const void *left, const void *right)
{
	const struct place *a = left, *b = right;
	int order = compare_hosts(a->name, a->host, b->name, b->host);

	order = order ? order : strcmp(a->name, b->name);
	order = order ? order : (a->of_state > b->of_state) - (a->of_state < b->of_state);
	return order ? order : (a->guid > b->guid) - (a->guid < b->guid);
}

static int by_guid(const void *left, const void *right)
{
	const struct about *a = left, *b = right;

	return (a->guid > b->guid) - (a->guid < b->guid);
}

static void add_place(struct tying *t, const char *name, uint64_t guid, bool of_state)
{
	struct place *grown = array_grow(t->places, &t->place_room, t->place_count + 1, sizeof(*grown));

	t->failed |= !grown;
	if (!grown)
		return;
	t->places = grown;
	grown[t->place_count++] = (struct place){.name = name, .host = host_word(name), .guid = guid, .of_state = of_state};
}

static void add_about(struct tying *t, struct about about)
{
	struct about *grown = array_grow(t->abouts, &t->about_room, t->about_count + 1, sizeof(*grown));

	t->failed |= !grown;
	if (!grown || about.guid == 0)
		return;
	t->abouts = grown;
	grown[t->about_count++] = about;
}

static int by_node_guid(const void *left, const void *right)
{
	const struct state_node *const *a = left, *const *b = right;

	return ((*a)->guid > (*b)->guid) - ((*a)->guid < (*b)->guid);
}

static void index_nodes(struct tying *t)
{
	const struct state *s = t->links->state;

	if (!s || s->node_count == 0)
		return;
	t->nodes = calloc(s->node_count, sizeof(const struct state_node *));
	t->failed |= !t->nodes;
	for (size_t i = 0; t->nodes && i < s->node_count; i++) {
		t->nodes[i] = &s->nodes[i];
		add_place(t, s->nodes[i].name, s->nodes[i].guid, true);
	}
	if (t->nodes)
		qsort(t->nodes, s->node_count, sizeof(const struct state_node *), by_node_guid);
}

static void index_sources(struct tying *t)
{
	const struct job_log_links *l = t->links;

	index_nodes(t);

	for (uint32_t i = 0; l->fabric && i < l->fabric->node_count; i++) {
		if (l->fabric->nodes[i].type == FABRIC_CA)
			add_place(t, l->fabric->nodes[i].name, l->fabric->nodes[i].guid, false);
	}
	for (size_t i = 0; l->findings && i < l->findings->count; i++) {
		const struct finding *f = &l->findings->items[i];

		add_about(t, (struct about){.guid = f->guid, .port = f->port, .finding = f});
		add_about(t, (struct about){.guid = f->peer_guid, .port = f->peer_port, .finding = f, .other_end = true});
	}
	for (size_t i = 0; l->state && i < l->state->finding_count; i++) {
		const struct state_finding *f = &l->state->findings[i];

		add_about(t, (struct about){.guid = f->guid, .port = f->port, .kept = f});
		add_about(t, (struct about){.guid = f->peer_guid, .port = f->peer_port, .kept = f, .other_end = true});
	}
	if (t->place_count)
		qsort(t->places, t->place_count, sizeof(*t->places), by_host);
	if (t->about_count)
		qsort(t->abouts, t->about_count, sizeof(*t->abouts), by_guid);
}

/* The first place of a host; *count how many it has. */
static const struct place *places_of(const struct tying *t, const char *host, size_t *count)
{
	size_t low = 0, high = t->place_count, size = strlen(host);

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (compare_hosts(t->places[middle].name, t->places[middle].host, host, size) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	*count = 0;
	while (low + *count < t->place_count &&
	       compare_hosts(t->places[low + *count].name, t->places[low + *count].host, host, size) == 0)
		++*count;
	return &t->places[low];
}

/* Whether a node's name goes on with the adapter's: "gpu-001 mlx5_0", of a device "mlx5_0" or "mlx5_0:1". */
static bool names_device(const struct place *p, const char *device)
{
	const char *rest = p->name + p->host;
	size_t size;

	if (!device)
		return false;
	size = strcspn(device, ":");
	rest += strspn(rest, " /:");
	return strcspn(rest, " /:") == size && strncmp(rest, device, size) == 0;
}

/* --- ties --- */

/* A port of an adapter, and what is at the other end of its cable. */
struct port {
	const struct place *place;
	unsigned number;
	uint64_t peer_guid;
	int peer_port;
	const char *peer_name;
};

static struct job_log_tie *add_tie(struct tying *t, size_t event, bool peer, bool guessed, const struct port *p)
{
	struct job_log_tie *grown = array_grow(t->ties, &t->room, t->count + 1, sizeof(*grown));

	t->failed |= !grown;
	if (!grown)
		return NULL;
	t->ties = grown;
	grown[t->count] = (struct job_log_tie){
		.event = event, .peer = peer, .guessed = guessed, .from = p->place->of_state ? t->links->state_file : t->links->from,
		.guid = p->place->guid, .name = strdup(p->place->name), .port = p->number, .peer_guid = p->peer_guid,
		.peer_port = p->peer_port, .peer_name = p->peer_name ? strdup(p->peer_name) : NULL,
	};
	t->failed |= !grown[t->count].name;
	return &grown[t->count++];
}

static bool is_about(const struct about *a, const struct port *p)
{
	if (a->guid == p->place->guid)
		return a->port == FINDING_WHOLE_NODE || a->port == (int)p->number;
	return a->port == p->peer_port; /* of a switch only what is said of that port */
}

static bool told(const struct tying *t, size_t from, const char *code, const char *got, const char *where)
{
	for (size_t i = from; i < t->count; i++) {
		const struct job_log_tie *b = &t->ties[i];

		if (b->code && strcmp(b->code, code) == 0 && strcmp(b->got ? b->got : "", got ? got : "") == 0 &&
		    strcmp(b->where ? b->where : "", where ? where : "") == 0)
			return true;
	}
	return false;
}

/* What is said of one of the two ends. Each finding has two ends itself: it is taken once. */
static void tie_end(struct tying *t, size_t event, bool peer, bool guessed, const struct port *p, uint64_t guid, size_t first)
{
	size_t low = 0, high = t->about_count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (t->abouts[middle].guid < guid)
			low = middle + 1;
		else
			high = middle;
	}
	for (; guid && low < t->about_count && t->abouts[low].guid == guid; low++) {
		const struct about *a = &t->abouts[low];
		const struct finding *f = a->finding;
		const struct state_finding *k = a->kept;
		const char *got, *code;
		struct job_log_tie *made;
		char where[FABRIC_TEXT];

		if ((k != NULL) != p->place->of_state || !is_about(a, p))
			continue;
		code = finding_kind(k ? k->code : f->code)->code;
		got = k ? k->got : f->got;
		if (k)
			snprintf(where, sizeof(where), "0x%016jx[%d]", (uintmax_t)k->guid, k->port);
		else if (f->port == FINDING_WHOLE_NODE)
			snprintf(where, sizeof(where), "%s", f->name ? f->name : "");
		else
			snprintf(where, sizeof(where), "%s[%d]", f->name ? f->name : "", f->port);
		if (k && k->guid == p->place->guid)
			snprintf(where, sizeof(where), "%s[%u]", p->place->name, p->number);
		else if (k && k->guid == p->peer_guid && p->peer_name)
			snprintf(where, sizeof(where), "%s[%d]", p->peer_name, p->peer_port);
		if (told(t, first, code, got, where))
			continue;
		made = add_tie(t, event, peer, guessed, p);
		if (!made)
			return;
		made->code = code;
		made->severity = k ? k->severity : f->severity;
		made->first_seen = k ? k->first : f->first_seen;
		made->where = strdup(where);
		finding_set(&made->got, "%s", got ? got : (k ? k->what : f->what) ? (k ? k->what : f->what) : "");
		if (k ? k->wanted : f->wanted)
			finding_set(&made->wanted, "%s", k ? k->wanted : f->wanted);
	}
}

/* Counters that grew, though perhaps not so much that an audit has a finding. */
static void tie_counters(struct tying *t, size_t event, bool peer, bool guessed, const struct port *p, uint64_t guid,
			 unsigned number, const char *name)
{
	const struct state_port *s = state_port_find(t->links->state, guid, number);
	struct job_log_tie *made;
	char *text = NULL;

	for (unsigned id = 0; s && id < COUNTERS; id++) {
		const struct counter_row *row = counter_row((enum counter_id)id);
		uint64_t grown = s->last.growth[id] + s->before.growth[id];

		if (row->rule != COUNTER_CONTEXT && grown > 0)
			finding_append(&text, "%s %ju", row->name, (uintmax_t)grown);
	}
	if (!text)
		return;
	made = add_tie(t, event, peer, guessed, p);
	if (made) {
		made->code = "counters";
		made->severity = FINDING_NOTE;
		made->first_seen = s->before.since ? s->before.since : s->last.since;
		made->got = text;
		if (asprintf(&made->where, "%s[%u]", name, number) < 0)
			made->where = NULL;
	} else {
		free(text);
	}
}

static void tie_port(struct tying *t, size_t event, bool peer, bool guessed, const struct port *p, bool down)
{
	size_t first = t->count;
	struct job_log_tie *made;

	if (down && (made = add_tie(t, event, peer, guessed, p))) {
		made->code = "port-down";
		made->severity = FINDING_CRITICAL;
		finding_set(&made->got, "no link that is active");
		if (asprintf(&made->where, "%s[%u]", p->place->name, p->number) < 0)
			made->where = NULL;
	}
	tie_end(t, event, peer, guessed, p, p->place->guid, first);
	tie_end(t, event, peer, guessed, p, p->peer_guid, first);
	if (p->place->of_state) {
		tie_counters(t, event, peer, guessed, p, p->place->guid, p->number, p->place->name);
		if (p->peer_guid && p->peer_port > 0)
			tie_counters(t, event, peer, guessed, p, p->peer_guid, (unsigned)p->peer_port,
				     p->peer_name ? p->peer_name : "its switch");
	}
	if (t->count == first)
		add_tie(t, event, peer, guessed, p); /* nothing is wrong with it */
}

static const char *state_name(const struct tying *t, uint64_t guid)
{
	const struct state_node node = {.guid = guid}, *key = &node;
	const struct state_node *const *found =
		t->nodes ? bsearch(&key, t->nodes, t->links->state->node_count, sizeof(const struct state_node *), by_node_guid) : NULL;

	return found ? (*found)->name : NULL;
}

static void tie_place(struct tying *t, size_t event, bool peer, bool guessed, const struct place *place)
{
	const struct fabric *f = t->links->fabric;
	uint32_t node;

	for (unsigned n = 1; place->of_state && n < 255; n++) {
		const struct state_port *s = state_port_find(t->links->state, place->guid, n);
		struct port p = {.place = place, .number = n, .peer_port = -1};

		if (!s)
			continue;
		p.peer_guid = s->peer_guid;
		p.peer_port = s->peer_guid ? s->peer_port : -1;
		p.peer_name = s->peer_guid ? state_name(t, s->peer_guid) : NULL;
		tie_port(t, event, peer, guessed, &p, false);
	}
	if (place->of_state || !f)
		return;
	node = fabric_find_node(f, place->guid);
	for (unsigned n = 1; node != FABRIC_NONE && n <= f->nodes[node].ports; n++) {
		uint32_t at = fabric_node_port(f, node, n);
		const struct fabric_port *fp = &f->ports[at];
		struct port p = {.place = place, .number = n, .peer_port = -1};

		if (fp->peer == FABRIC_NONE && !fp->known) /* the other port of an adapter may be of another fabric */
			continue;
		if (fp->peer != FABRIC_NONE) {
			p.peer_guid = fabric_port_node(f, fp->peer)->guid;
			p.peer_port = f->ports[fp->peer].number;
			p.peer_name = fabric_port_node(f, fp->peer)->name;
		}
		tie_port(t, event, peer, guessed, &p,
			 fp->peer == FABRIC_NONE || (fp->known && fabric_port_state(fp) != FABRIC_STATE_ACTIVE));
	}
}

/* Of a host the adapter of that name in each source, or all of them. False: no source has the host. */
static bool tie_host(struct tying *t, size_t event, bool peer, const char *host, const char *device)
{
	size_t count, before = t->count;
	const struct place *p = places_of(t, host, &count);
	bool named[2] = {false, false};

	for (size_t i = 0; i < count; i++)
		named[p[i].of_state] |= names_device(&p[i], device);
	for (size_t i = 0; i < count && !t->failed; i++) {
		if (!named[p[i].of_state] || names_device(&p[i], device))
			tie_place(t, event, peer, !named[p[i].of_state], &p[i]);
	}
	return t->count > before;
}

/* The host with this address, if it is one alone. */
static const char *host_of_address(const struct job_log *log, const char *peer)
{
	size_t size = strcspn(peer, "<");
	const char *found = NULL;

	for (size_t i = 0; i < log->host_count; i++) {
		for (size_t a = 0; a < JOB_LOG_ADDRESSES; a++) {
			const char *address = log->hosts[i].addresses[a];

			if (!address || strlen(address) != size || memcmp(address, peer, size) != 0)
				continue;
			if (found && found != log->hosts[i].name)
				return NULL;
			found = log->hosts[i].name;
		}
	}
	return found;
}

static void untied(struct tying *t, const struct job_log_event *e, const char *host)
{
	struct finding *f = finding_add(t->findings, FINDING_JOB_LOG_UNTIED);

	finding_at(f, t->log->files[e->file], e->line, 0);
	finding_set(&f->what, "%s%s%s", host, e->device ? " " : "", e->device ? e->device : "");
	finding_set(&f->got, "not there, or no port of it was looked at, in %s%s%s", t->links->from ? t->links->from : "",
		    t->links->from && t->links->state_file ? " and " : "", t->links->state_file ? t->links->state_file : "");
}

static void tell(struct tying *t, const struct job_log_tie *tie)
{
	const struct job_log_event *e = &t->log->events[tie->event];
	struct finding *f;

	if (!tie->code)
		return;
	f = finding_add(t->findings, FINDING_JOB_LOG_LINK);
	f->severity = tie->severity;
	f->guid = tie->guid;
	f->port = (int)tie->port;
	finding_set(&f->name, "%s", tie->name);
	f->peer_guid = tie->peer_guid;
	f->peer_port = tie->peer_port;
	if (tie->peer_name)
		finding_set(&f->peer_name, "%s", tie->peer_name);
	f->first_seen = tie->first_seen;
	finding_set(&f->what, "%s at %s", tie->code, tie->where ? tie->where : "its link");
	if (tie->wanted)
		finding_set(&f->wanted, "%s", tie->wanted);
	if (tie->got && *tie->got)
		finding_set(&f->got, "%s", tie->got);
	if (e->kind == JOB_LOG_COMPLETION)
		finding_set(&f->detail, "%ju transfers of %s%s%s failed with status %d: %s line %u", (uintmax_t)e->count,
			    t->log->hosts[e->host].name, e->device ? " " : "", e->device ? e->device : "", e->code,
			    t->log->files[e->file], e->line);
	else
		finding_set(&f->detail, "%s of %s%s%s: %s line %u", e->text, t->log->hosts[e->host].name, e->device ? " " : "",
			    e->device ? e->device : "", t->log->files[e->file], e->line);
	if (tie->peer)
		finding_append(&f->detail, "their peer's adapter, or another of that host");
	else if (tie->guessed)
		finding_append(&f->detail, "or another adapter of that host, as names do not tell");
	finding_append(&f->detail, "by %s", tie->from);
}

static void tie_event(struct tying *t, size_t at)
{
	const struct job_log_event *e = &t->log->events[at];
	const char *host = t->log->hosts[e->host].name, *peer;

	/* status 5: flushed behind another failure; what else NCCL warns of has no adapter */
	if (e->kind > JOB_LOG_MODIFY_QP || (e->kind == JOB_LOG_COMPLETION && e->code == 5) || log_is_harmless(e))
		return;
	if (!tie_host(t, at, false, host, e->device) && !t->failed)
		untied(t, e, host);
	peer = e->kind == JOB_LOG_COMPLETION && e->peer ? host_of_address(t->log, e->peer) : NULL;
	if (peer && strcmp(peer, host) != 0)
		tie_host(t, at, true, peer, e->device); /* most often the same rail, by the same name */
}

int job_log_tie(const struct job_log *log, const struct job_log_links *links, struct finding_list *findings,
		struct job_log_tie **ties, size_t *count)
{
	struct tying t = {.log = log, .links = links, .findings = findings};

	index_sources(&t);
	for (size_t i = 0; i < log->event_count && !t.failed; i++)
		tie_event(&t, i);
	for (size_t i = 0; i < t.count && !t.failed; i++)
		tell(&t, &t.ties[i]);
	free(t.places);
	free(t.abouts);
	free(t.nodes);
	*ties = t.ties;
	*count = t.count;
	return t.failed ? -ENOMEM : 0;
}

void job_log_ties_free(struct job_log_tie *ties, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		free(ties[i].name);
		free(ties[i].peer_name);
		free(ties[i].got);
		free(ties[i].wanted);
		free(ties[i].where);
	}
	free(ties);
}
