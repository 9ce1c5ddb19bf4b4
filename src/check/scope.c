/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * scope: the part of a fabric that a run is about, as a user names it; for what is not there, the names that
 * come closest.
 */
#include "ibqos/check.h"

#include <errno.h>
#include <fnmatch.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "near.h"

struct making {
	const struct fabric *fabric;
	struct finding_list *findings;
	struct scope *scope;
	bool *taken; /* by node */
};

static void take_node(struct making *m, uint32_t node)
{
	const struct fabric_node *n = &m->fabric->nodes[node];

	if (m->taken[node])
		return;
	m->taken[node] = true;
	m->scope->nodes++;
	for (uint32_t i = n->first_port; i <= n->first_port + n->ports; i++) {
		uint32_t peer = m->fabric->ports[i].peer;

		m->scope->ports[i] = true;
		m->scope->port_count += m->fabric->ports[i].known;
		if (peer != FABRIC_NONE)
			m->scope->ports[peer] = true;
	}
}

/* --- names --- */

static bool is_host(const struct fabric_node *node, const char *text)
{
	size_t length = strlen(text);

	return node->type != FABRIC_SWITCH && node->name && length > 0 && strncmp(node->name, text, length) == 0 &&
	       (node->name[length] == '\0' || near_host_length(node->name) == length);
}

static bool has_guid(const struct fabric *fabric, const struct fabric_node *node, uint64_t guid)
{
	if (node->guid == guid || node->system_guid == guid)
		return true;
	for (uint32_t i = node->first_port; i <= node->first_port + node->ports; i++)
		if (fabric->ports[i].guid == guid)
			return true;
	return false;
}

bool scope_is_named(const struct fabric *fabric, const struct fabric_node *node, const char *name)
{
	uint64_t guid;

	if (strpbrk(name, "*?"))
		return fnmatch(name, node->name, 0) == 0;
	if (strcmp(node->name, name) == 0 || is_host(node, name))
		return true;
	return strncmp(name, "0x", 2) == 0 && text_to_u64(name, UINT64_MAX, &guid) == 0 && guid != 0 &&
	       has_guid(fabric, node, guid);
}

static bool is_meant(const struct making *m, const struct fabric_node *node, enum scope_kind kind, const char *text)
{
	uint64_t guid;

	if (kind == SCOPE_HOSTS)
		return is_host(node, text);
	if (kind == SCOPE_SWITCH && node->type != FABRIC_SWITCH)
		return false;
	if (node->name && strcmp(node->name, text) == 0)
		return true;
	return strncmp(text, "0x", 2) == 0 && text_to_u64(text, UINT64_MAX, &guid) == 0 && guid != 0 &&
	       has_guid(m->fabric, node, guid);
}

/* --- one that is not there --- */

static void say_unknown(struct making *m, enum scope_kind kind, const char *text)
{
	static const char *const words[] = {[SCOPE_NODE] = "node", [SCOPE_SWITCH] = "switch", [SCOPE_HOSTS] = "host"};
	struct finding *f = finding_add(m->findings, FINDING_SCOPE_UNKNOWN);
	struct near near = {.count = 0};
	char host[NEAR_NAME];

	finding_set(&f->what, "%s '%s'", words[kind], text);
	for (uint32_t i = 0; i < m->fabric->node_count; i++) {
		const struct fabric_node *node = &m->fabric->nodes[i];

		if (!node->name || (kind == SCOPE_SWITCH) != (node->type == FABRIC_SWITCH && kind != SCOPE_NODE))
			continue;
		if (kind == SCOPE_HOSTS) {
			snprintf(host, sizeof(host), "%.*s", (int)near_host_length(node->name), node->name);
			near_offer(&near, host, text);
		} else {
			near_offer(&near, node->name, text);
		}
	}
	if (near.count > 0) {
		char closest[NEAR_TEXT];

		near_text(&near, closest);
		finding_set(&f->detail, "%s", closest);
	}
}

static void take_name(struct making *m, enum scope_kind kind, const char *text)
{
	bool found = false;

	for (uint32_t i = 0; i < m->fabric->node_count; i++) {
		if (!is_meant(m, &m->fabric->nodes[i], kind, text))
			continue;
		take_node(m, i);
		found = true;
	}
	if (!found)
		say_unknown(m, kind, text);
}

static int take_hosts(struct making *m, const char *text)
{
	struct hostlist list;
	char *fault = NULL;
	int error = hostlist_expand(text, &list, &fault);
	struct finding *f;

	if (error == -EINVAL) {
		f = finding_add(m->findings, FINDING_SCOPE_BAD);
		finding_set(&f->what, "'%s'", text);
		finding_set(&f->detail, "%s", fault);
		error = 0;
	}
	for (size_t i = 0; error == 0 && i < list.count; i++)
		take_name(m, SCOPE_HOSTS, list.names[i]);
	hostlist_clear(&list);
	free(fault);
	return error;
}

int scope_make(const struct fabric *fabric, const struct scope_name *names, size_t count,
	       struct finding_list *findings, struct scope *scope)
{
	struct making m = {.fabric = fabric, .findings = findings, .scope = scope};
	int error = 0;

	*scope = (struct scope){.ports = calloc((size_t)fabric->port_count + 1, sizeof(bool))};
	m.taken = calloc((size_t)fabric->node_count + 1, sizeof(bool));
	if (!scope->ports || !m.taken)
		error = -ENOMEM;
	for (size_t i = 0; error == 0 && i < count; i++) {
		if (names[i].kind == SCOPE_HOSTS)
			error = take_hosts(&m, names[i].text);
		else
			take_name(&m, names[i].kind, names[i].text);
	}
	free(m.taken);
	if (error)
		scope_clear(scope);
	return error;
}

void scope_clear(struct scope *scope)
{
	free(scope->ports);
	*scope = (struct scope){0};
}

bool scope_has(const struct scope *scope, uint32_t port)
{
	return !scope || scope->ports[port];
}

/* --- findings --- */

struct filtering {
	const struct scope *scope;
	const struct fabric *fabric;
};

static bool place_in(const struct filtering *f, uint64_t guid, int port)
{
	uint32_t node = fabric_find_node(f->fabric, guid), at;

	if (node == FABRIC_NONE)
		return false;
	if (port >= 0) {
		at = fabric_node_port(f->fabric, node, (unsigned)port);
		return at != FABRIC_NONE && scope_has(f->scope, at);
	}
	for (at = f->fabric->nodes[node].first_port; at <= f->fabric->nodes[node].first_port + f->fabric->nodes[node].ports; at++)
		if (scope_has(f->scope, at))
			return true;
	return false;
}

static bool is_inside(const struct finding *finding, void *arg)
{
	const struct filtering *f = arg;

	return finding->guid == 0 || place_in(f, finding->guid, finding->port) ||
	       (finding->peer_guid != 0 && place_in(f, finding->peer_guid, finding->peer_port));
}

void scope_filter(const struct scope *scope, const struct fabric *fabric, struct finding_list *findings)
{
	struct filtering f = {scope, fabric};

	if (scope)
		finding_list_filter(findings, is_inside, &f);
}
