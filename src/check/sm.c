/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * sm: whether the running subnet manager has the policy in force. The ports hold tables for months
 * after an SM died, lost its qos-policy file or was told `qos FALSE` (osm_qos.c:465 leaves them as they
 * are); only its own answers tell.
 */
#include "ibqos/check.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

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
	uint64_t lost_ns; /* that the SA has cost so far */
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

/* A finding at the subnet manager's port. */
static struct finding *find_at_sm(struct checking *c, enum finding_code code)
{
	struct finding *f = finding_add(c->findings, code);
	uint32_t port = fabric_port_of_lid(c->fabric, c->fabric->sm_lid);

	if (port != FABRIC_NONE)
		place_port(f, c->fabric, port);
	return f;
}

/* Why a question has no answer. */
static void detail_ended(const struct checking *c, struct finding *f, enum mad_outcome outcome, unsigned status, unsigned tries)
{
	switch (outcome) {
	case MAD_STATUS:
		finding_set(&f->detail, "answered with MAD status 0x%04x", status);
		return;
	case MAD_TIMED_OUT:
		finding_set(&f->detail, "not answered in %u tries", tries);
		return;
	default:
		finding_set(&f->detail, "%s", source_is_file(c->source) ? NOT_IN_FILE : "not asked, as it had stopped answering");
	}
}

static void detail_failed(const struct checking *c, struct finding *f, const struct source_sm_query *query)
{
	detail_ended(c, f, query->outcome, query->status, query->tries);
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
		detail_failed(c, f, query);
	}
	return false;
}

static int ask_info(struct checking *c, bool *master)
{
	struct source_sm_query query = {.mgmt_class = MAD_CLASS_SMP, .attribute = MAD_SM_INFO};
	int error = source_ask_sm(c->source, c->fabric, &query, 1, &c->lost_ns);

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
		detail_failed(c, f, query);
	}
	return false;
}

static int ask_class(struct checking *c, bool *answers)
{
	struct source_sm_query query = {.mgmt_class = MAD_CLASS_SA, .attribute = MAD_SA_CLASS_PORT_INFO};
	int error = source_ask_sm(c->source, c->fabric, &query, 1, &c->lost_ns);

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
		.pkey = probe->pkey,
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
	char class[TEXT] = "", service[TEXT] = "", partition[TEXT] = "";

	if (probe->qos_class != MAD_NO_QOS_CLASS)
		snprintf(class, sizeof(class), ", QoS class %d", probe->qos_class);
	if (probe->has_service_id)
		snprintf(service, sizeof(service), ", service ID 0x%llx",
			 (unsigned long long)probe->service_id);
	if (probe->pkey)
		snprintf(partition, sizeof(partition), ", P_Key 0x%04x", probe->pkey);
	finding_set(&f->what, "PathRecord%s%s%s%s", class, service, partition,
		    *class || *service || *partition ? "" : " without QoS class");
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

/* How a probe ended, and what that says of the pair of ports that it is between. */
struct path_end {
	uint8_t outcome; /* enum mad_outcome */
	uint8_t sl;      /* when MAD_ANSWERED */
	uint8_t tries;
	bool of_others;  /* answered, with a path between other ports: nothing is known of this one */
	bool pair_has;   /* there is a path for some request: then one that there is not is the policy's doing */
	bool pair_lacks; /* there is none for any */
	uint16_t status;
};

static bool no_records(const struct path_end *end)
{
	return end->outcome == MAD_STATUS && end->status == MAD_SA_NO_RECORDS;
}

static void wrong(struct checking *c, const struct sm_probe *probe, const struct path_end *end)
{
	struct finding *f;

	c->result->paths_wrong++;
	if (!c->findings)
		return;
	f = find_at_probe(c, probe, FINDING_SA_SL_DIFFERS);
	finding_set(&f->wanted, "SL %u", probe->sl);
	if (end->outcome == MAD_ANSWERED)
		finding_set(&f->got, "SL %u", end->sl);
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

static void unknown(struct checking *c, const struct sm_probe *probe, const struct path_end *end)
{
	struct finding *f;
	char to[FABRIC_TEXT];

	c->result->paths_unknown++;
	if (!c->findings)
		return;
	f = find_at_probe(c, probe, FINDING_QUERY_FAILED);
	fabric_port_text(c->fabric, probe->to, to, sizeof(to));
	if (no_records(end))
		finding_set(
			&f->detail,
			"the subnet administrator has no path at all to %s: perhaps they share no partition",
			to);
	else if (end->of_others)
		finding_set(&f->detail, "asked for the path to %s, the subnet administrator answered with one between other ports", to);
	else
		detail_ended(c, f, end->outcome, end->status, end->tries);
}

/* --- asking for paths --- */

#define CHUNK 128 /* questions at once: each has room for a record both ways */
#define NS_PER_S 1000000000ull

/* Waits until so many questions are within the rate; ends early when a signal comes. */
static void keep_rate(const struct checking *c, uint64_t begin, size_t asked)
{
	uint64_t due, now = clock_ns();
	struct timespec rest;

	if (c->options->rate == 0)
		return;
	due = begin + asked * NS_PER_S / c->options->rate;
	if (due <= now)
		return;
	rest = (struct timespec){.tv_sec = (time_t)((due - now) / NS_PER_S), .tv_nsec = (long)((due - now) % NS_PER_S)};
	nanosleep(&rest, NULL);
}

static int ask_chunk(struct checking *c, struct source_sm_query *queries, size_t first, size_t count,
		     struct path_end *ends)
{
	int error;

	memset(queries, 0, count * sizeof(*queries));
	for (size_t i = 0; i < count; i++)
		sm_probe_query(c->fabric, &c->options->probes[first + i], &queries[i]);
	error = source_ask_sm(c->source, c->fabric, queries, count, &c->lost_ns);
	count_ended(c, SM_PATH_RECORD, queries, count);
	for (size_t i = 0; i < count; i++)
		ends[first + i] = (struct path_end){
			.outcome = queries[i].outcome,
			.of_others = queries[i].outcome == MAD_ANSWERED && !mad_path_is_of(queries[i].record, queries[i].data),
			.sl = (uint8_t)mad_path_sl(queries[i].data),
			.tries = queries[i].tries < UINT8_MAX ? (uint8_t)queries[i].tries : UINT8_MAX,
			.status = queries[i].status,
		};
	return error;
}

struct by_pair {
	const struct sm_probe *probe;
	struct path_end *end;
};

static int compare_pairs(const void *left, const void *right)
{
	const struct by_pair *a = left, *b = right;

	if (a->probe->from != b->probe->from)
		return a->probe->from < b->probe->from ? -1 : 1;
	return (a->probe->to > b->probe->to) - (a->probe->to < b->probe->to);
}

/* Says of each probe what the others between the same ports have shown. */
static int judge_pairs(const struct checking *c, struct path_end *ends)
{
	size_t count = c->options->probe_count, end;
	struct by_pair *pairs = calloc(count + 1, sizeof(*pairs));

	if (!pairs)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++)
		pairs[i] = (struct by_pair){&c->options->probes[i], &ends[i]};
	qsort(pairs, count, sizeof(*pairs), compare_pairs);
	for (size_t i = 0; i < count; i = end) {
		bool has = false, lacks = true;

		for (end = i; end < count && compare_pairs(&pairs[i], &pairs[end]) == 0; end++) {
			has = has || (pairs[end].end->outcome == MAD_ANSWERED && !pairs[end].end->of_others);
			lacks = lacks && no_records(pairs[end].end);
		}
		for (size_t k = i; k < end; k++) {
			pairs[k].end->pair_has = has;
			pairs[k].end->pair_lacks = lacks;
		}
	}
	free(pairs);
	return 0;
}

static void judge_path(struct checking *c, const struct sm_probe *probe, const struct path_end *end, bool any)
{
	if (end->of_others)
		unknown(c, probe, end);
	else if (end->outcome == MAD_ANSWERED && end->sl == probe->sl)
		c->result->paths_right++;
	else if (end->outcome == MAD_ANSWERED || (no_records(end) && end->pair_has))
		wrong(c, probe, end);
	else if (no_records(end) && end->pair_lacks && any)
		no_path(c, probe);
	else
		unknown(c, probe, end);
}

static void judge_paths(struct checking *c, const struct path_end *ends, bool whole)
{
	bool any = false;

	for (size_t i = 0; i < c->options->probe_count; i++)
		any = any || ends[i].outcome == MAD_ANSWERED;
	/* Where the run broke, what was answered before counts all the same. */
	for (size_t i = 0; i < c->options->probe_count; i++)
		if (whole || ends[i].outcome != MAD_NOT_ASKED)
			judge_path(c, &c->options->probes[i], &ends[i], any);
		else
			c->result->paths_unknown++;
}

static int ask_paths(struct checking *c)
{
	size_t count = c->options->probe_count, asked = 0, chunk;
	struct source_sm_query *queries = calloc(CHUNK, sizeof(*queries));
	struct path_end *ends = calloc(count + 1, sizeof(*ends));
	uint64_t begin = clock_ns();
	int error = queries && ends ? 0 : -ENOMEM, error2;

	for (size_t i = 0; error == 0 && i < count; i++)
		ends[i].outcome = MAD_NOT_ASKED;
	for (; error == 0 && asked < count; asked += chunk) {
		chunk = count - asked < CHUNK ? count - asked : CHUNK;
		keep_rate(c, begin, asked);
		source_sm_part(c->source, "asking for paths", asked, count);
		error = ask_chunk(c, queries, asked, chunk, ends);
	}
	error2 = ends ? judge_pairs(c, ends) : -ENOMEM;
	if (error2 == 0)
		judge_paths(c, ends, error == 0);
	free(queries);
	free(ends);
	return error ? error : error2;
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
	struct checking c = {.source = source, .fabric = fabric, .options = options, .findings = findings, .result = result};
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
