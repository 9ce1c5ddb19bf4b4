/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * What an audit remembers: ports, names, acknowledgements, and whose they are.
 */
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "ibqos/state.h"
#include "near.h"

#define DAY_S UINT64_C(86400)

void state_clear(struct state *state)
{
	size_t i;

	if (!state)
		return;
	for (i = 0; i < state->node_count; i++)
		free(state->nodes[i].name);
	for (i = 0; i < state->finding_count; i++) {
		free(state->findings[i].what);
		free(state->findings[i].wanted);
		free(state->findings[i].got);
	}
	for (i = 0; i < state->ack_count; i++)
		state_ack_clear(&state->acks[i]);
	free(state->label);
	free(state->nodes);
	free(state->ports);
	free(state->shares);
	free(state->findings);
	free(state->acks);
	*state = (struct state){0};
}

static int compare_ports(const void *left, const void *right)
{
	const struct state_port *a = left, *b = right;

	if (a->guid != b->guid)
		return a->guid < b->guid ? -1 : 1;
	return (a->port > b->port) - (a->port < b->port);
}

struct state_port *state_port_find(const struct state *state, uint64_t guid, unsigned port)
{
	struct state_port key = {.guid = guid, .port = (uint8_t)port};

	if (port > UINT8_MAX || state->port_count == 0)
		return NULL;
	return bsearch(&key, state->ports, state->port_count, sizeof(key), compare_ports);
}

int state_ports_put(struct state *state, const struct state_port *ports, size_t count, uint64_t forget)
{
	struct state_port *merged = calloc(state->port_count + count + 1, sizeof(*merged));
	size_t to = 0;

	if (!merged)
		return -ENOMEM;
	for (size_t i = 0; i < state->port_count; i++) { /* what is not among the new ones */
		const struct state_port *old = &state->ports[i];

		if (old->at >= forget && !(count > 0 && bsearch(old, ports, count, sizeof(*ports), compare_ports)))
			merged[to++] = *old;
	}
	if (count > 0)
		memcpy(merged + to, ports, count * sizeof(*ports));
	to += count;
	qsort(merged, to, sizeof(*merged), compare_ports);
	free(state->ports);
	state->ports = merged;
	state->port_count = state->port_room = to;
	return 0;
}

static int compare_shares(const void *left, const void *right)
{
	const struct state_shares *a = left, *b = right;

	if (a->guid != b->guid)
		return a->guid < b->guid ? -1 : 1;
	return (a->port > b->port) - (a->port < b->port);
}

const struct state_shares *state_shares_find(const struct state *state, uint64_t guid, unsigned port)
{
	struct state_shares key = {.guid = guid, .port = (uint8_t)port};

	if (port > UINT8_MAX || state->shares_count == 0)
		return NULL;
	return bsearch(&key, state->shares, state->shares_count, sizeof(key), compare_shares);
}

int state_shares_put(struct state *state, const struct state_shares *shares, size_t count, uint64_t now)
{
	struct state_shares *merged = calloc(state->shares_count + count + 1, sizeof(*merged));
	size_t to = 0;

	if (!merged)
		return -ENOMEM;
	for (size_t i = 0; i < state->shares_count; i++) {
		const struct state_shares *old = &state->shares[i];
		const struct state_shares *new = count > 0 ? bsearch(old, shares, count, sizeof(*shares), compare_shares) : NULL;

		if (old->at + STATE_FORGET_S >= now && (!new || new->at < old->at))
			merged[to++] = *old;
	}
	for (size_t i = 0; i < count; i++) {
		const struct state_shares *old = state_shares_find(state, shares[i].guid, shares[i].port);

		if (!old || old->at <= shares[i].at)
			merged[to++] = shares[i];
	}
	qsort(merged, to, sizeof(*merged), compare_shares);
	free(state->shares);
	state->shares = merged;
	state->shares_count = state->shares_room = to;
	return 0;
}

/* --- whose it is --- */

static bool has_port_of(const struct state *state, uint64_t guid)
{
	size_t low = 0, high = state->port_count;

	while (low < high) {
		size_t middle = (low + high) / 2;

		if (state->ports[middle].guid < guid)
			low = middle + 1;
		else
			high = middle;
	}
	return low < state->port_count && state->ports[low].guid == guid;
}

static bool has_other_label(const struct state *state, const struct fabric *fabric)
{
	return *state->label && *fabric->label && strcmp(state->label, fabric->label) != 0;
}

/* Fewer than half of the nodes of the smaller are in both; how many are, in *common. */
static bool has_other_nodes(const struct state *state, const struct fabric *fabric, size_t *common)
{
	size_t least = state->node_count;

	*common = 0;
	for (size_t i = 0; i < state->node_count; i++)
		*common += fabric_find_node(fabric, state->nodes[i].guid) != FABRIC_NONE;
	if (fabric->node_count < least)
		least = fabric->node_count;
	return 2 * *common < least;
}

/* The fabric's names, and those of nodes that went but are still remembered. */
static int take_names(struct state *state, const struct fabric *fabric)
{
	struct state_node *nodes = calloc(state->node_count + fabric->node_count + 1u, sizeof(*nodes));
	size_t old = 0, count = 0;
	uint32_t new = 0;

	if (!nodes)
		return -ENOMEM;
	while (old < state->node_count || new < fabric->node_count) { /* both are in the order of GUIDs */
		const struct fabric_node *node = new < fabric->node_count ? &fabric->nodes[new] : NULL;
		struct state_node *was = old < state->node_count ? &state->nodes[old] : NULL;

		if (was && (!node || was->guid < node->guid)) {
			if (has_port_of(state, was->guid)) {
				nodes[count++] = *was;
				was->name = NULL;
			}
			old++;
			continue;
		}
		if (!node)
			break;
		nodes[count++] = (struct state_node){node->guid, strdup(node->name ? node->name : "")};
		if (!nodes[count - 1].name) {
			count--;
			goto fail;
		}
		old += was && was->guid == node->guid;
		new ++;
	}
	for (old = 0; state->nodes && old < state->node_count; old++)
		free(state->nodes[old].name);
	free(state->nodes);
	state->nodes = nodes;
	state->node_count = state->node_room = count;
	return 0;
fail:
	while (count > 0)
		free(nodes[--count].name);
	free(nodes);
	return -ENOMEM;
}

/* --- files --- */

static struct finding *unusable(struct finding_list *findings, enum finding_code code, const char *path, unsigned line)
{
	return finding_at(finding_add(findings, code), path, line, 0);
}

/* The finding, if the file is of another fabric; NULL: it is not. */
static struct finding *tell_foreign(const struct state *state, const struct fabric *fabric, const char *path, struct finding_list *findings)
{
	bool label = has_other_label(state, fabric);
	size_t common;
	bool nodes = has_other_nodes(state, fabric, &common);
	struct finding *f;

	if (!label && !nodes)
		return NULL;
	f = unusable(findings, FINDING_STATE_FOREIGN, path, 0);
	if (*state->label)
		finding_set(&f->got, "that of fabric '%s'", state->label);
	if (nodes)
		finding_set(&f->detail,
			    "of its %zu nodes %zu are here: the port may lead to another fabric than it did, or two ports of the site "
			    "file are exchanged",
			    state->node_count, common);
	else
		finding_set(&f->detail, "its nodes are those that are here: only the name of the fabric is another one");
	return f;
}

int state_load(const char *path, const struct fabric *fabric, uint64_t now, struct finding_list *findings,
	       struct state *state, bool *usable)
{
	char *text = NULL;
	const char *why = NULL;
	unsigned line = 0;
	size_t size;
	int error = file_read(path, &text, &size);

	*state = (struct state){0};
	*usable = true;
	if (error == -ENOENT) {
		state->label = strdup("");
		return state->label ? 0 : -ENOMEM;
	}
	if (error == -ENOMEM)
		return error;
	if (error == 0 && strlen(text) != size) {
		error = -EINVAL;
		why = "it has a NUL byte";
	} else if (error == 0) {
		error = state_parse(text, state, &line, &why);
	}
	free(text);
	if (error == -ENOMEM)
		return error;
	*usable = error == 0 && (!fabric || !tell_foreign(state, fabric, path, findings));
	if (error != 0) {
		finding_set(&unusable(findings, FINDING_STATE_BROKEN, path, line)->got, "%s", why ? why : strerror(-error));
		return 0;
	}
	if (*usable && state->written > now) {
		struct finding *f = unusable(findings, FINDING_STATE_CLOCK, path, 0);
		char then[STATE_TIME], text_now[STATE_TIME];

		state_time_text(state->written, then);
		state_time_text(now, text_now);
		finding_set(&f->got, "written %s, and it is %s", then, text_now);
		*usable = false;
	}
	if (!*usable)
		state_clear(state);
	return 0;
}

/*
 * A clock that was set back meanwhile: what was read just before stands in the file as of now, which is what the new clock would have
 * said then; else the file would be of the future to itself, and refused.
 */
static void clamp_times(struct state *state, uint64_t now)
{
	for (size_t i = 0; i < state->port_count; i++)
		if (state->ports[i].at > now)
			state->ports[i].at = now;
	for (size_t i = 0; i < state->shares_count; i++)
		if (state->shares[i].at > now)
			state->shares[i].at = now;
	for (size_t i = 0; i < state->finding_count; i++) {
		if (state->findings[i].seen > now)
			state->findings[i].seen = now;
		if (state->findings[i].clean > now)
			state->findings[i].clean = now;
		if (state->findings[i].first > state->findings[i].seen)
			state->findings[i].first = state->findings[i].seen;
	}
}

int state_save(const char *path, const struct fabric *fabric, uint64_t now, struct state *state)
{
	char *text;
	size_t size;
	int error;

	if (fabric) {
		error = take_names(state, fabric);
		if (error != 0)
			return error;
		if (*fabric->label) {
			char *label = strdup(fabric->label);

			if (!label)
				return -ENOMEM;
			free(state->label);
			state->label = label;
		}
	}
	clamp_times(state, now);
	state->written = now;
	text = state_text(state, &size);
	if (!text)
		return -ENOMEM;
	error = file_replace(path, text, size, 0644);
	free(text);
	return error;
}

/* --- places and times --- */

#define SINCE_MAX_S ((uint64_t)1000000 * DAY_S)

int state_place(const struct state *state, const char *text, uint64_t *guid, int *port)
{
	const char *bracket = strrchr(text, '['), *end = bracket ? strchr(bracket, ']') : NULL;
	size_t size = bracket ? (size_t)(bracket - text) : strlen(text);
	uint64_t number = 0;
	char copy[256];

	if (size == 0 || size >= sizeof(copy) || (bracket && (!end || end[1])))
		return -EINVAL;
	*port = FINDING_WHOLE_NODE;
	if (bracket) {
		size_t digits = (size_t)(end - bracket) - 1;

		if (digits == 0 || digits > 3)
			return -EINVAL;
		memcpy(copy, bracket + 1, digits);
		copy[digits] = '\0';
		if (text_to_u64(copy, 254, &number) != 0)
			return -EINVAL;
		*port = (int)number;
	}
	memcpy(copy, text, size);
	copy[size] = '\0';
	if (strncmp(copy, "0x", 2) == 0 && text_to_u64(copy, UINT64_MAX, guid) == 0)
		return 0;
	for (size_t i = 0; i < state->node_count; i++)
		if (strcmp(state->nodes[i].name, copy) == 0) {
			*guid = state->nodes[i].guid;
			return 0;
		}
	return -ENOENT;
}

void state_place_text(const struct state *state, uint64_t guid, int port, char text[STATE_PLACE])
{
	char number[24], name[24];
	const char *called = name;

	if (port == FINDING_WHOLE_NODE)
		number[0] = '\0';
	else
		snprintf(number, sizeof(number), "[%d]", port);
	snprintf(name, sizeof(name), "0x%016llx", (unsigned long long)guid);
	for (size_t i = 0; i < state->node_count; i++)
		if (state->nodes[i].guid == guid)
			called = state->nodes[i].name;
	snprintf(text, STATE_PLACE, "%.256s%s", called, number);
}

void state_closest(const struct state *state, const char *text, char closest[STATE_CLOSEST])
{
	_Static_assert(STATE_CLOSEST >= NEAR_TEXT, "all of near_text()");
	struct near near = {.count = 0};
	const char *bracket = strrchr(text, '[');
	char name[NEAR_NAME];

	snprintf(name, sizeof(name), "%.*s", bracket ? (int)(bracket - text) : NEAR_NAME, text);
	for (size_t i = 0; i < state->node_count; i++)
		near_offer(&near, state->nodes[i].name, name);
	near_text(&near, closest);
}

int state_time_parse(const char *text, uint64_t *seconds)
{
	struct tm tm = {0};
	const char *end;
	time_t when;

	if (text_to_u64(text, INT32_MAX * UINT64_C(100), seconds) == 0)
		return 0;
	end = strptime(text, "%Y-%m-%d", &tm);
	if (!end || end - text != 10)
		return -EINVAL;
	if (*end == '\0')
		tm.tm_mday++; /* until that day is over */
	else if (!(end = strptime(end, "T%H:%M:%SZ", &tm)) || *end)
		return -EINVAL;
	when = timegm(&tm);
	if (when < 0)
		return -EINVAL;
	*seconds = (uint64_t)when;
	return 0;
}

int state_since_parse(const char *text, uint64_t now, uint64_t written, uint64_t *seconds)
{
	uint64_t span;

	if (strcmp(text, "last") == 0) {
		*seconds = written;
		return 0;
	}
	/* a number alone is no span here: it could be meant as a time */
	if (*text && !isdigit((unsigned char)text[strlen(text) - 1]) && text_duration(text, SINCE_MAX_S, &span) == 0) {
		*seconds = now > span ? now - span : 0;
		return 0;
	}
	if (state_time_parse(text, seconds) != 0)
		return -EINVAL;
	if (strlen(text) == 10 && text[4] == '-') /* a day: its beginning, not its end */
		*seconds -= *seconds >= DAY_S ? DAY_S : *seconds;
	return 0;
}

void state_time_text(uint64_t seconds, char text[STATE_TIME])
{
	time_t when = (time_t)seconds;
	struct tm tm;

	if (!gmtime_r(&when, &tm) || strftime(text, STATE_TIME, "%Y-%m-%dT%H:%M:%SZ", &tm) == 0)
		snprintf(text, STATE_TIME, "%llu s after 1970", (unsigned long long)seconds);
}
