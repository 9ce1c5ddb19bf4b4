/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * ibqos job check --hosts: the paths of one job through the fabric, on the SLs that its environment gives: between each
 * host and the next one in the list, rail by rail, both ways.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "ibqos/link.h"
#include "ibqos/pkeys.h"
#include "job.h"
#include "verify_paths.h"

struct end { /* an adapter's port of one of the hosts */
	const struct fabric_node *node;
	uint32_t port;
	unsigned number;
	size_t word; /* bytes of the host's name: up to a blank, '/' or ':' */
};

struct ends {
	struct end *items;
	size_t count, room;
};

static int by_name(const void *left, const void *right)
{
	const struct end *a = left, *b = right;
	int order = strverscmp(a->node->name, b->node->name);

	return order ? order : (a->number > b->number) - (a->number < b->number);
}

static bool same_host(const struct end *a, const struct end *b)
{
	return a->word == b->word && memcmp(a->node->name, b->node->name, a->word) == 0;
}

/* "mlx5_0" of "gpu-001 mlx5_0": what stands behind the host's name. */
static const char *adapter_name(const struct end *e, char name[64])
{
	const char *rest = e->node->name + e->word;

	rest += strspn(rest, " /:");
	snprintf(name, 64, "%.*s", (int)strcspn(rest, " /:"), rest);
	return name;
}

/*
 * Drops ports that NCCL_IB_HCA leaves out, of each host where it takes one: elsewhere nodes are named by other words than the
 * host's own for its adapters, and nothing is known.
 */
static void apply_list(struct ends *ends, const char *list)
{
	size_t kept = 0;
	char name[64];

	for (size_t first = 0, next; first < ends->count; first = next) {
		size_t taken = 0;

		for (next = first; next < ends->count && same_host(&ends->items[first], &ends->items[next]); next++)
			taken += job_hca_takes(list, adapter_name(&ends->items[next], name), ends->items[next].number);
		for (size_t i = first; i < next; i++) {
			struct end e = ends->items[i];

			if (taken == 0 || job_hca_takes(list, adapter_name(&e, name), e.number))
				ends->items[kept++] = e;
		}
	}
	ends->count = kept;
}

/* The list of adapters that all environments have; NULL: they have none, or not the same. */
static const char *list_of(const struct job_wish *o)
{
	const struct job_setting *first = NULL;

	for (size_t i = 0; i < o->env_count; i++) {
		const struct job_setting *s = job_env_get(&o->envs[i], "NCCL_IB_HCA");

		if (!s || !s->value || (i > 0 && strcmp(s->value, first->value) != 0))
			return NULL;
		first = s;
	}
	return first ? first->value : NULL;
}

static int find_ends(const struct fabric *f, const struct scope *scope, struct ends *ends)
{
	for (uint32_t i = 0; i < f->port_count; i++) {
		const struct fabric_port *p = &f->ports[i];
		const struct fabric_node *node = &f->nodes[p->node];
		struct end *grown;

		if (!scope_has(scope, i) || node->type != FABRIC_CA || p->number == 0 || !p->known ||
		    fabric_port_state(p) != FABRIC_STATE_ACTIVE)
			continue;
		grown = array_grow(ends->items, &ends->room, ends->count + 1, sizeof(*grown));
		if (!grown)
			return -ENOMEM;
		ends->items = grown;
		ends->items[ends->count++] =
			(struct end){.node = node, .port = i, .number = p->number, .word = strcspn(node->name, " /:")};
	}
	if (ends->count)
		qsort(ends->items, ends->count, sizeof(*ends->items), by_name);
	return 0;
}

/* --- what was not looked at --- */

static bool is_looked_at(const char *list, void *arg)
{
	const struct ends *ends = arg;
	char name[64];

	for (size_t i = 0; i < ends->count; i++)
		if (job_hca_takes(list, adapter_name(&ends->items[i], name), ends->items[i].number))
			return true;
	return false;
}

/* Ports of the host that has most here. */
static size_t most_of_a_host(const struct ends *ends)
{
	size_t most = 0;

	for (size_t first = 0, next; first < ends->count; first = next) {
		for (next = first + 1; next < ends->count && same_host(&ends->items[first], &ends->items[next]);)
			next++;
		most = next - first > most ? next - first : most;
	}
	return most;
}

/*
 * Adapters of the job that none of these ports is of: they are in other fabrics, or down. Where nodes are named by other words than
 * their hosts have for adapters, only how many there are can tell.
 */
static void tell_left(struct cmd_session *s, const struct job_wish *o, const struct site_fabric *of, struct ends *ends)
{
	for (size_t i = 0; i < o->env_count; i++) {
		size_t taken = 0, left = 0;
		char *names = NULL;
		struct finding *f;

		job_adapters_left(&o->envs[i], o->question, of, is_looked_at, ends, &names, &taken);
		for (const char *at = names; at; at = strchr(at + 1, ';'))
			left++;
		if (left > 0 && (left < taken || taken > most_of_a_host(ends))) {
			f = finding_add(&s->findings, FINDING_JOB_PATHS_LEFT);
			finding_set(&f->what, "%s", o->envs[i].label);
			finding_set(&f->got, "%s", names);
			if (left == taken && ends->count > 0)
				finding_set(&f->detail, "the hosts' nodes here have other names, and are fewer");
			else
				finding_set(&f->detail, "the hosts have no active port of them in this fabric");
		}
		free(names);
	}
}

/* The names of the adapters that paths are followed between, each once. */
static void report_adapters(struct report *r, const struct ends *ends)
{
	char name[64], *text = NULL;

	for (size_t i = 0; i < ends->count; i++) {
		bool before = false;
		char other[64];

		adapter_name(&ends->items[i], name);
		for (size_t n = 0; n < i && !before; n++)
			before = strcmp(adapter_name(&ends->items[n], other), name) == 0;
		if (!before && name[0])
			finding_append(&text, "%s", name);
	}
	report_string(r, "adapters_looked_at", text ? "adapters whose paths were looked at" : NULL, text);
	free(text);
}

static void report_path(struct cmd_session *s, const struct trace *t)
{
	char from[FABRIC_TEXT], to[FABRIC_TEXT];
	double least = -1;
	bool known = true;

	for (size_t i = 0; i < t->count; i++) {
		const struct trace_hop *h = &t->hops[i];

		if (h->out == FABRIC_NONE || s->fabric->ports[h->out].number == 0)
			continue;
		known &= h->share_known && h->gbps > 0;
		if (h->share_known && h->gbps > 0 && (least < 0 || h->share * h->gbps < least))
			least = h->share * h->gbps;
	}
	report_cell_string(s->report, fabric_port_text(s->fabric, t->from, from, sizeof(from)));
	report_cell_string(s->report, fabric_port_text(s->fabric, t->to, to, sizeof(to)));
	report_cell_number(s->report, t->sl);
	report_cell_number(s->report, t->count);
	report_cell_string(s->report, t->end != ROUTE_ARRIVED ? route_step_text(t->end)
				      : t->drops	      ? "do not get through"
				      : t->unknown	      ? NULL
							      : "arrive");
	if (known && least >= 0)
		report_cell_real(s->report, least);
	else
		report_cell_string(s->report, NULL);
	report_row_end(s->report);
	trace_findings(t, s->fabric, &s->findings);
}

static int one_pair(struct cmd_session *s, struct routes *routes, const struct end *a, const struct end *b, unsigned sl,
		    uint16_t busy)
{
	struct trace there = {0}, back = {0};
	const struct fabric *f = s->fabric;
	int error = trace_run(s->source, f, routes, a->port, b->port, fabric_port_lid(&f->ports[b->port]), sl, busy, &there);

	if (error == 0)
		error = trace_run(s->source, f, routes, b->port, a->port, fabric_port_lid(&f->ports[a->port]), sl, busy, &back);
	if (error == 0) {
		report_path(s, &there);
		report_path(s, &back);
		trace_link_findings(&there, &back, f, &s->findings);
	}
	trace_clear(&there);
	trace_clear(&back);
	return error;
}

/* Each host with the next in the list, the last with the first; one host's rails with each other. */
static int ring(struct cmd_session *s, struct routes *routes, const struct ends *ends, unsigned sl, uint16_t busy)
{
	size_t *first = calloc(ends->count + 1, sizeof(*first)), hosts = 0;
	int error = first ? 0 : -ENOMEM;

	for (size_t i = 0; first && i < ends->count; i++) {
		if (i == 0 || !same_host(&ends->items[i - 1], &ends->items[i]))
			first[hosts++] = i;
	}
	if (first)
		first[hosts] = ends->count;
	for (size_t h = 0; error == 0 && h < hosts && hosts > 1; h++) {
		size_t next = (h + 1) % hosts;

		if (hosts == 2 && h == 1) /* that pair has been looked at */
			break;
		for (size_t r = 0; error == 0 && first[h] + r < first[h + 1] && first[next] + r < first[next + 1]; r++)
			error = one_pair(s, routes, &ends->items[first[h] + r], &ends->items[first[next] + r], sl, busy);
	}
	for (size_t i = 0; error == 0 && hosts == 1 && i + 1 < ends->count; i++)
		error = one_pair(s, routes, &ends->items[i], &ends->items[i + 1], sl, busy);
	free(first);
	return error;
}

/* What the switches do with each SL, and what that means for each environment that has it. */
static void report_adaptive(struct cmd_session *s, const struct routes *routes, const struct job_wish *o)
{
	static const struct report_column columns[] = {
		{.key = "sl", .title = "SL", .type = REPORT_NUMBER},
		{.key = "on", .title = "switches that route it adaptively", .type = REPORT_NUMBER},
		{.key = "not_for_sl", .title = "other SLs only", .type = REPORT_NUMBER},
		{.key = "off", .title = "not at all", .type = REPORT_NUMBER},
		{.key = "unknown", .title = "not known", .type = REPORT_NUMBER},
	};

	report_table(s->report, "adaptive_routing", "adaptive routing", columns, sizeof(columns) / sizeof(columns[0]));
	for (unsigned sl = 0; sl < QOS_SLS; sl++) {
		struct job_adaptive_switches of = {0};

		if (!(o->sls & (1u << sl)))
			continue;
		for (uint32_t i = 0; i < s->fabric->node_count; i++) {
			enum routes_adaptive state = routes_adaptive_of(routes, i);

			if (s->fabric->nodes[i].type != FABRIC_SWITCH)
				continue;
			of.unknown += state == ROUTES_ADAPTIVE_UNKNOWN;
			of.off += state == ROUTES_ADAPTIVE_OFF;
			if (state == ROUTES_ADAPTIVE_ON && (routes_adaptive_sls(routes, i) >> sl & 1)) {
				of.on++;
			} else if (state == ROUTES_ADAPTIVE_ON && of.not_for_sl++ == 0) {
				of.first = s->fabric->nodes[i].name;
				of.mask = routes_adaptive_sls(routes, i);
			}
		}
		report_cell_number(s->report, sl);
		report_cell_number(s->report, of.on);
		report_cell_number(s->report, of.not_for_sl);
		report_cell_number(s->report, of.off);
		report_cell_number(s->report, of.unknown);
		report_row_end(s->report);
		for (size_t i = 0; i < o->env_count; i++) {
			struct job_sl has = job_sl(&o->envs[i], o->question);

			if (has.known && has.sl == sl)
				job_check_adaptive(&o->envs[i], o->question, &of, &s->findings);
		}
	}
	report_table_end(s->report);
}

static int follow(struct cmd_session *s, const struct ends *ends, const struct job_wish *o, uint16_t busy)
{
	static const struct report_column columns[] = {
		{.key = "from", .title = "from", .type = REPORT_STRING},
		{.key = "to", .title = "to", .type = REPORT_STRING},
		{.key = "sl", .title = "SL", .type = REPORT_NUMBER},
		{.key = "hops", .title = "hops", .type = REPORT_NUMBER},
		{.key = "packets", .title = "packets", .type = REPORT_STRING},
		{.key = "gbps", .title = "at least", .type = REPORT_REAL, .unit = "Gb/s", .decimals = 1},
	};
	struct routes *routes = NULL;
	int error = routes_new(s->fabric, &routes);

	report_table(s->report, "paths", "paths, with what they keep while all classes are busy", columns,
		     sizeof(columns) / sizeof(columns[0]));
	for (unsigned sl = 0; error == 0 && sl < QOS_SLS; sl++) {
		if (o->sls & (1u << sl))
			error = ring(s, routes, ends, sl, busy);
	}
	report_table_end(s->report);
	if (error == 0)
		error = routes_read_adaptive(routes, s->source, NULL, 0);
	if (error == 0) {
		report_adaptive(s, routes, o);
		cmd_routes_coverage(s, routes);
		routes_findings(routes, o->by_lft, &s->findings);
	}
	routes_free(routes);
	return error;
}

/* The partition that each port is in, at each index that the job uses. */
static int look_at_pkeys(struct cmd_session *s, const struct ends *ends, const struct job_wish *wish)
{
	static const struct report_column columns[] = {
		{.key = "port", .title = "port", .type = REPORT_STRING},
		{.key = "index", .title = "index", .type = REPORT_NUMBER},
		{.key = "partition", .title = "partition", .type = REPORT_STRING},
		{.key = "member", .title = "member", .type = REPORT_STRING},
	};
	struct port_pkey *keys = calloc(ends->count + 1, sizeof(*keys));
	struct check_coverage coverage = {0};
	int error = keys ? 0 : -ENOMEM;

	report_table(s->report, "pkeys", "partitions of the hosts' ports", columns, sizeof(columns) / sizeof(columns[0]));
	for (size_t n = 0; error == 0 && n < wish->pkey_count; n++) {
		for (size_t i = 0; i < ends->count; i++)
			keys[i] = (struct port_pkey){.port = ends->items[i].port};
		error = pkeys_ask(s->source, s->fabric, wish->pkeys[n], keys, ends->count, &coverage);
		for (size_t i = 0; i < ends->count; i++) {
			char text[FABRIC_TEXT], key[16];
			bool known = !keys[i].there || keys[i].outcome == MAD_ANSWERED;

			snprintf(key, sizeof(key), "0x%04x", keys[i].key & PKEY_BASE);
			report_cell_string(s->report, fabric_port_text(s->fabric, keys[i].port, text, sizeof(text)));
			report_cell_number(s->report, wish->pkeys[n]);
			report_cell_string(s->report, known ? key : NULL);
			report_cell_string(s->report, !known			      ? NULL
						      : keys[i].key & PKEY_FULL	      ? "full"
						      : keys[i].key & PKEY_BASE       ? "limited"
										      : "none");
			report_row_end(s->report);
		}
		pkeys_findings(s->fabric, wish->pkeys[n], keys, ends->count, &s->findings);
	}
	report_table_end(s->report);
	session_coverage_table(s->report, "pkeys_coverage", "coverage of partitions");
	session_coverage_row(s->report, "P_KeyTable", &coverage);
	report_table_end(s->report);
	free(keys);
	return error;
}

/* A fabric without `adapters` that none of the hosts is in is not the job's: that they are not there is no fault. */
static bool is_foreign(const struct site_fabric *of, const struct scope *scope)
{
	return of && of->adapter_count == 0 && scope->nodes == 0;
}

void cmd_job_paths_in(struct cmd_session *s, const struct job_wish *wish, const struct site_fabric *of)
{
	struct scope_name name = {.kind = SCOPE_HOSTS, .text = wish->hosts};
	const struct policy *policy = wish->policy;
	uint16_t busy = policy ? 0 : 0xffff;
	struct finding_list missing = {.of_file = s->findings.of_file};
	struct scope scope = {0};
	struct ends ends = {0};
	int error;

	for (size_t i = 0; policy && i < policy->class_count; i++)
		busy |= (uint16_t)(1u << policy->classes[i].sl);
	error = scope_make(s->fabric, &name, 1, &missing, &scope);
	if (error == 0 && is_foreign(of, &scope)) {
		report_string(s->report, "adapters_looked_at", "adapters whose paths were looked at", "none: the hosts have no port there");
		goto out;
	}
	for (size_t i = 0; i < missing.count; i++)
		finding_move(&missing.items[i], &s->findings);
	s->findings.lost |= missing.lost;
	if (error == 0)
		error = find_ends(s->fabric, &scope, &ends);
	if (error == 0 && list_of(wish))
		apply_list(&ends, list_of(wish));
	if (error == 0)
		report_adapters(s->report, &ends);
	if (error == 0)
		tell_left(s, wish, of, &ends);
	if (error == 0 && ends.count < 2)
		session_fail(s, "cannot follow paths: the hosts have fewer than two active ports in %s%s", of ? "fabric " : "this fabric",
			     of ? of->name : "");
	else if (error == 0)
		error = look_at_pkeys(s, &ends, wish);
	if (error == 0 && ends.count >= 2)
		error = follow(s, &ends, wish, busy);
	if (error != 0 && error != -EINTR) /* a signal is told at the end */
		session_fail(s, "cannot follow the job's paths: %s", strerror(-error));
	/* several paths lead over one port, and each has found the same there */
	finding_list_unique(&s->findings);
out:
	finding_list_clear(&missing);
	free(ends.items);
	scope_clear(&scope);
}

void cmd_job_paths(struct cmd_session *s, const struct job_wish *wish)
{
	if (session_discover(s))
		cmd_job_paths_in(s, wish, NULL);
}
