/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * sm: whether the running subnet manager has the policy in force. The ports hold tables for months
 * after an SM died, lost its qos-policy file or was told `qos FALSE` (osm_qos.c:465 leaves them as they
 * are); only its own answers tell.
 */
#include "ibqos/check.h"

#include <errno.h>
#include <stdlib.h>

#include <infiniband/mad.h>

#include "place.h"

#define LINK_LOCAL 0xfe80000000000000 /* IBA 4.1.1: the default subnet prefix */
#define TEXT 96

struct checking {
	struct source *source;
	const struct fabric *fabric;
	const struct sm_options *options;
	struct finding_list *findings; /* may be NULL */
	struct sm_result *result;
};

const char *sm_item_name(enum sm_item item)
{
	static const char *const names[SM_ITEMS] = {[SM_INFO] = "SMInfo",
						    [SM_CLASS_PORT_INFO] = "SA ClassPortInfo",
						    [SM_PATH_RECORD] = "PathRecord"};

	return names[item];
}

static void count_ended(struct checking *c, enum sm_item item, const struct source_sm_query *queries,
			size_t count)
{
	for (size_t i = 0; i < count; i++)
		c->result->coverage[item].ended[queries[i].outcome]++;
}

/* The port that has this base LID; FABRIC_NONE. */
static uint32_t port_of_lid(const struct fabric *fabric, uint16_t lid)
{
	for (uint32_t i = 0; i < fabric->port_count; i++) {
		const struct fabric_port *port = &fabric->ports[i];

		if (port->known && fabric_port_agent(fabric, i) == i && fabric_port_lid(port) == lid)
			return i;
	}
	return FABRIC_NONE;
}

/* A finding at the subnet manager's port. */
static struct finding *find_at_sm(struct checking *c, enum finding_code code)
{
	struct finding *f = finding_add(c->findings, code);
	uint32_t port = port_of_lid(c->fabric, c->fabric->sm_lid);

	if (port != FABRIC_NONE)
		place_port(f, c->fabric, port);
	return f;
}

/* Why a question has no answer. */
static void detail_failed(struct finding *f, const struct source_sm_query *query)
{
	switch (query->outcome) {
	case MAD_STATUS:
		finding_set(&f->detail, "answered with MAD status 0x%04x", query->status);
		return;
	case MAD_TIMED_OUT:
		finding_set(&f->detail, "not answered in %u tries", query->tries);
		return;
	default:
		finding_set(&f->detail, "not asked, as it had stopped answering");
	}
}

/* --- SMInfo --- */

static const char *state_name(unsigned state)
{
	static const char *const names[] = {"not active", "discovering", "standby", "master"};

	return state < sizeof(names) / sizeof(names[0]) ? names[state] : "unknown";
}

/* True where it is a master, so that there is an SA to ask. */
static bool judge_info(struct checking *c, const struct source_sm_query *query)
{
	struct sm_result *r = c->result;
	struct finding *f;

	if (query->outcome == MAD_ANSWERED) {
		mad_sm_info_decode(query->data, &r->info);
		r->known = true;
		if (r->info.state == MAD_SM_MASTER)
			return true;
		if (c->findings) {
			f = find_at_sm(c, FINDING_SM_NOT_MASTER);
			finding_set(&f->what, "SMInfo");
			finding_set(&f->wanted, "master");
			finding_set(&f->got, "%s", state_name(r->info.state));
		}
		return false;
	}
	if (c->findings) {
		f = find_at_sm(c, query->outcome == MAD_TIMED_OUT ? FINDING_SM_SILENT : FINDING_QUERY_FAILED);
		finding_set(&f->what, "SMInfo from LID %u", c->fabric->sm_lid);
		detail_failed(f, query);
	}
	return false;
}

static int ask_info(struct checking *c, bool *master)
{
	struct source_sm_query query = {.mgmt_class = MAD_CLASS_SMP, .attribute = MAD_SM_INFO};
	int error = source_ask_sm(c->source, c->fabric, &query, 1);

	count_ended(c, SM_INFO, &query, 1);
	*master = error == 0 && judge_info(c, &query);
	return error;
}

/* --- ClassPortInfo --- */

/* True where the SA answers, so that it may be asked for paths. */
static bool judge_class(struct checking *c, const struct source_sm_query *query)
{
	struct sm_result *r = c->result;
	struct finding *f;

	if (query->outcome == MAD_ANSWERED) {
		r->qos_known = true;
		r->qos = mad_sa_qos(query->data);
		if (!r->qos && c->options->qos && c->findings) {
			f = find_at_sm(c, FINDING_SM_QOS_OFF);
			finding_set(&f->what, "CapabilityMask2 of the SA");
			finding_set(&f->wanted, "QoS supported");
			finding_set(&f->got, "not supported");
		}
		return true;
	}
	if (c->findings) {
		f = find_at_sm(c, FINDING_QUERY_FAILED);
		finding_set(&f->what, "ClassPortInfo of the subnet administrator");
		detail_failed(f, query);
	}
	return false;
}

static int ask_class(struct checking *c, bool *answers)
{
	struct source_sm_query query = {.mgmt_class = MAD_CLASS_SA, .attribute = MAD_SA_CLASS_PORT_INFO};
	int error = source_ask_sm(c->source, c->fabric, &query, 1);

	count_ended(c, SM_CLASS_PORT_INFO, &query, 1);
	*answers = error == 0 && judge_class(c, &query);
	return error;
}

/* --- paths --- */

static void put_gid(const struct fabric *fabric, uint32_t port, uint8_t gid[MAD_GID])
{
	const struct fabric_port *p = &fabric->ports[port];
	uint64_t prefix = mad_get_field64((void *)p->info, 0, IB_PORT_GID_PREFIX_F);

	if (prefix == 0)
		prefix = LINK_LOCAL;
	for (unsigned i = 0; i < 8; i++) {
		gid[i] = (uint8_t)(prefix >> (56 - 8 * i));
		gid[8 + i] = (uint8_t)(p->guid >> (56 - 8 * i));
	}
}

void sm_probe_query(const struct fabric *fabric, const struct sm_probe *probe, struct source_sm_query *query)
{
	struct mad_path_question question = {
		.qos_class = probe->qos_class,
		.service_id = probe->service_id,
		.has_service_id = probe->has_service_id,
	};

	put_gid(fabric, probe->from, question.from);
	put_gid(fabric, probe->to, question.to);
	query->mgmt_class = MAD_CLASS_SA;
	query->attribute = MAD_SA_PATH_RECORD;
	query->mask = mad_path_encode(&question, query->record);
}

/* "PathRecord, QoS class 41": what alike probes have in common. */
static void name_probe(struct finding *f, const struct sm_probe *probe)
{
	char class[TEXT] = "", service[TEXT] = "";

	if (probe->qos_class != MAD_NO_QOS_CLASS)
		snprintf(class, sizeof(class), ", QoS class %d", probe->qos_class);
	if (probe->has_service_id)
		snprintf(service, sizeof(service), ", service ID 0x%llx",
			 (unsigned long long)probe->service_id);
	finding_set(&f->what, "PathRecord%s%s%s", class, service,
		    *class || *service ? "" : " without QoS class");
}

/* A finding at the host that the path begins at; its detail says where it goes. */
static struct finding *find_at_probe(struct checking *c, const struct sm_probe *probe, enum finding_code code)
{
	struct finding *f = finding_add(c->findings, code);
	char to[FABRIC_TEXT];

	place_port(f, c->fabric, probe->from);
	name_probe(f, probe);
	finding_set(&f->detail, "path to %s", fabric_port_text(c->fabric, probe->to, to, sizeof(to)));
	return f;
}

static bool no_records(const struct source_sm_query *query)
{
	return query->outcome == MAD_STATUS && query->status == MAD_SA_NO_RECORDS;
}

/* Whether the SA has any path between the two ends of a probe: then one that it has not is the policy's
 * doing. */
static bool pair_has_path(const struct checking *c, const struct source_sm_query *queries,
			  const struct sm_probe *probe)
{
	for (size_t i = 0; i < c->options->probe_count; i++) {
		const struct sm_probe *other = &c->options->probes[i];

		if (other->from == probe->from && other->to == probe->to &&
		    queries[i].outcome == MAD_ANSWERED)
			return true;
	}
	return false;
}

/* Whether it has said so of every request between them. */
static bool pair_lacks_path(const struct checking *c, const struct source_sm_query *queries,
			    const struct sm_probe *probe)
{
	for (size_t i = 0; i < c->options->probe_count; i++) {
		const struct sm_probe *other = &c->options->probes[i];

		if (other->from == probe->from && other->to == probe->to && !no_records(&queries[i]))
			return false;
	}
	return true;
}

static bool any_path(const struct checking *c, const struct source_sm_query *queries)
{
	for (size_t i = 0; i < c->options->probe_count; i++)
		if (queries[i].outcome == MAD_ANSWERED)
			return true;
	return false;
}

static void wrong(struct checking *c, const struct sm_probe *probe, const struct source_sm_query *query)
{
	struct finding *f;

	c->result->paths_wrong++;
	if (!c->findings)
		return;
	f = find_at_probe(c, probe, FINDING_SA_SL_DIFFERS);
	finding_set(&f->wanted, "SL %u", probe->sl);
	if (query->outcome == MAD_ANSWERED)
		finding_set(&f->got, "SL %u", mad_path_sl(query->data));
	else
		finding_set(&f->got, "no path, though there is one for other requests");
}

static void no_path(struct checking *c, const struct sm_probe *probe)
{
	struct finding *f;

	c->result->paths_none++;
	if (!c->findings)
		return;
	f = find_at_probe(c, probe, FINDING_SA_NO_PATH);
	finding_set(&f->got, "no path for any request");
}

static void unknown(struct checking *c, const struct sm_probe *probe, const struct source_sm_query *query)
{
	struct finding *f;
	char to[FABRIC_TEXT];

	c->result->paths_unknown++;
	if (!c->findings)
		return;
	f = find_at_probe(c, probe, FINDING_QUERY_FAILED);
	fabric_port_text(c->fabric, probe->to, to, sizeof(to));
	if (no_records(query))
		finding_set(
			&f->detail,
			"the subnet administrator has no path at all to %s: perhaps they share no partition",
			to);
	else
		detail_failed(f, query);
}

static void judge_path(struct checking *c, const struct source_sm_query *queries, size_t i)
{
	const struct sm_probe *probe = &c->options->probes[i];
	const struct source_sm_query *query = &queries[i];

	if (query->outcome == MAD_ANSWERED && mad_path_sl(query->data) == probe->sl)
		c->result->paths_right++;
	else if (query->outcome == MAD_ANSWERED || (no_records(query) && pair_has_path(c, queries, probe)))
		wrong(c, probe, query);
	else if (no_records(query) && pair_lacks_path(c, queries, probe) && any_path(c, queries))
		no_path(c, probe);
	else
		unknown(c, probe, query);
}

static int ask_paths(struct checking *c)
{
	size_t count = c->options->probe_count;
	struct source_sm_query *queries = calloc(count + 1, sizeof(*queries));
	int error;

	if (!queries)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++)
		sm_probe_query(c->fabric, &c->options->probes[i], &queries[i]);
	error = source_ask_sm(c->source, c->fabric, queries, count);
	count_ended(c, SM_PATH_RECORD, queries, count);
	/* Where the run broke, what was answered before counts all the same. */
	for (size_t i = 0; i < count; i++)
		if (error == 0 || queries[i].outcome != MAD_NOT_ASKED)
			judge_path(c, queries, i);
		else
			c->result->paths_unknown++;
	free(queries);
	return error;
}

/* --- all of it --- */

/* What was not asked for want of an earlier answer is counted so. */
static void close_coverage(struct checking *c)
{
	for (int i = 0; i < SM_ITEMS; i++) {
		struct check_coverage *item = &c->result->coverage[i];
		uint64_t ended = 0;

		for (int o = 0; o < MAD_OUTCOMES; o++)
			ended += item->ended[o];
		item->ended[MAD_NOT_ASKED] += item->asked - ended;
	}
}

static int run(struct checking *c)
{
	bool master, answers;
	int error = ask_info(c, &master);

	if (error == 0 && master)
		error = ask_class(c, &answers);
	if (error == 0 && master && answers && c->options->probe_count > 0)
		error = ask_paths(c);
	return error;
}

int sm_check(struct source *source, const struct fabric *fabric, const struct sm_options *options,
	     struct finding_list *findings, struct sm_result *result)
{
	struct checking c = {source, fabric, options, findings, result};
	uint32_t judged;
	int error = 0;

	*result = (struct sm_result){0};
	result->coverage[SM_INFO].asked = result->coverage[SM_CLASS_PORT_INFO].asked = 1;
	result->coverage[SM_PATH_RECORD].asked = options->probe_count;
	if (fabric->sm_lid != 0)
		error = run(&c);
	close_coverage(&c);
	judged = result->paths_right + result->paths_wrong + result->paths_unknown + result->paths_none;
	result->paths_unknown += (uint32_t)options->probe_count - judged;
	result->right = error == 0 && result->qos_known && (result->qos || !options->qos) &&
			result->paths_right + result->paths_none == options->probe_count;
	return error;
}
