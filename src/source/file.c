/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* A file as a source: which kind it is, and what another tool wrote: the fabric, and answers as far as it has them. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "dump.h"
#include "live.h"
#include "snapshot_parts.h"

/* A kind of file that is no snapshot. */
struct kind {
	bool (*is)(const char *text, size_t size);
	int (*read)(const char *label, const char *text, size_t size, struct dump_result *result,
		    struct dump_faults *faults);
	const char *lacks;
};

static const struct kind kinds[] = {
	{ibnd_cache_is, ibnd_cache_read,
	 "SL2VL, VLArb, P_Keys, counters, forwarding, FDR10, and the subnet manager's answers: a cache of infiniband-diags has "
	 "none"},
	{db_csv_is, db_csv_read, "SL2VL and forwarding: ibdiagnet writes them to other files"},
	{netdiscover_is, netdiscover_read,
	 "PortInfo, tables, counters, forwarding, and the subnet manager's answers: ibnetdiscover does not write them"},
};

struct dump {
	struct source source;
	const struct ibqos_ctx *ctx;
	const struct kind *kind;
	char *path, *map, *text;
	size_t size;
	struct dump_result result; /* its fabric is handed on */
	struct mad_counts counts;
	bool *known; /* ports of the fabric whose PortInfo is in the file */
	uint8_t (*info)[MAD_SMP_DATA];
	uint32_t port_count;
};

static void say_faults(const struct dump *d, const struct dump_faults *faults)
{
	for (size_t i = 0; i < faults->count && i < DUMP_FAULTS; i++) {
		const struct dump_fault *f = &faults->items[i];

		if (f->binary)
			ctx_error(d->ctx, "cannot read '%s': at byte %zu: %s", d->path, f->offset, f->text);
		else if (f->line > 0)
			ctx_error(d->ctx, "cannot read '%s': %s:%u:%u: %s", d->path, d->path, f->line, f->column, f->text);
		else
			ctx_error(d->ctx, "cannot read '%s': %s", d->path, f->text);
	}
	if (faults->count > DUMP_FAULTS)
		ctx_error(d->ctx, "cannot read '%s': and %zu more faults", d->path, faults->count - DUMP_FAULTS);
}

/* PortInfo is asked for again by those who compare tables: as the file has it. */
static int keep_port_info(struct dump *d, const struct fabric *fabric)
{
	d->port_count = fabric->port_count;
	d->known = calloc((size_t)fabric->port_count + 1, sizeof(*d->known));
	d->info = calloc((size_t)fabric->port_count + 1, sizeof(*d->info));
	if (!d->known || !d->info)
		return -ENOMEM;
	for (uint32_t i = 0; i < fabric->port_count; i++) {
		d->known[i] = fabric->ports[i].known;
		memcpy(d->info[i], fabric->ports[i].info, MAD_SMP_DATA);
	}
	return 0;
}

static void forget(struct dump *d)
{
	dump_result_clear(&d->result);
	free(d->known);
	free(d->info);
	d->known = NULL;
	d->info = NULL;
	d->port_count = 0;
}

static int dump_discover(struct source *source, struct finding_list *findings, struct fabric **fabric)
{
	struct dump *d = (struct dump *)source;
	struct dump_faults faults;
	int error;

	*fabric = NULL;
	forget(d);
	error = d->kind->read(d->ctx->fabric, d->text, d->size, &d->result, &faults);
	if (error == -EBADMSG)
		say_faults(d, &faults);
	else if (error != 0)
		ctx_error(d->ctx, "cannot read '%s': %s", d->path, strerror(-error));
	if (error == 0)
		error = live_name_nodes(d->result.fabric, d->map, findings);
	if (error == 0)
		error = keep_port_info(d, d->result.fabric);
	if (error == 0) {
		dump_order(&d->result.answers);
		*fabric = d->result.fabric;
		d->result.fabric = NULL;
	}
	return error;
}

static bool look_up(const struct dump *d, const struct source_query *query, uint8_t data[MAD_DATA_MAX])
{
	if (query->mgmt_class == MAD_CLASS_SMP && query->attribute == MAD_PORT_INFO) {
		if (query->port >= d->port_count || !d->known[query->port])
			return false;
		memset(data, 0, MAD_DATA_MAX);
		memcpy(data, d->info[query->port], MAD_SMP_DATA);
		return true;
	}
	return dump_find(&d->result.answers, query->port, query->mgmt_class, query->attribute, query->modifier, data);
}

static int dump_ask(struct source *source, const struct fabric *fabric, const struct source_asker *asker)
{
	struct dump *d = (struct dump *)source;
	struct source_query query = {0};

	(void)fabric;
	for (uint32_t i = 0; i < asker->agent_count; i++) {
		while (asker->next(asker->arg, i, &query)) {
			struct mad_answer answer = {.outcome = MAD_NOT_ASKED};
			uint8_t data[MAD_DATA_MAX];

			if (look_up(d, &query, data))
				answer = (struct mad_answer){.outcome = MAD_ANSWERED, .data = data};
			d->counts.queries++;
			d->counts.ended[answer.outcome]++;
			asker->answer(asker->arg, &query, &answer);
			query = (struct source_query){0}; /* producers fill in what is not 0 */
		}
	}
	return 0;
}

/* Of the subnet manager a dump may have its SMInfo, told of the port that it is on. */
static int dump_ask_sm(struct source *source, const struct fabric *fabric, struct source_sm_query *queries, size_t count,
		       uint64_t *lost_ns)
{
	struct dump *d = (struct dump *)source;
	uint32_t port = 0;

	(void)lost_ns;
	while (port < fabric->port_count &&
	       !(fabric->ports[port].known && fabric_port_agent(fabric, port) == port &&
		 fabric_port_lid(&fabric->ports[port]) == fabric->sm_lid))
		port++;
	for (size_t i = 0; i < count; i++) {
		const struct source_query query = {.port = port, .attribute = queries[i].attribute};

		queries[i].outcome = MAD_NOT_ASKED;
		if (queries[i].mgmt_class == MAD_CLASS_SMP && queries[i].attribute == MAD_SM_INFO &&
		    look_up(d, &query, queries[i].data))
			queries[i].outcome = MAD_ANSWERED;
		d->counts.queries++;
		d->counts.ended[queries[i].outcome]++;
	}
	return 0;
}

static const struct mad_counts *dump_counts(const struct source *source)
{
	return &((const struct dump *)source)->counts;
}

static void dump_close(struct source *source)
{
	struct dump *d = (struct dump *)source;

	forget(d);
	free(d->path);
	free(d->map);
	free(d->text);
	free(d);
}

static const struct source_ops dump_ops = {
	.discover = dump_discover,
	.ask = dump_ask,
	.ask_sm = dump_ask_sm,
	.counts = dump_counts,
	.close = dump_close,
};

bool source_is_file(const struct source *source)
{
	return source && (source->ops == &dump_ops || source_is_stored(source));
}

const char *source_lacks(const struct source *source)
{
	const struct dump *d = (const struct dump *)source;

	if (!source || source->ops != &dump_ops)
		return NULL;
	return d->result.lacks ? d->result.lacks : d->kind->lacks;
}

/* Takes the text over; not on failure. */
static int open_dump(const struct ibqos_ctx *ctx, const struct kind *kind, const char *path, const char *map,
		     char *text, size_t size, struct source **source)
{
	struct dump *d = calloc(1, sizeof(*d));

	if (!d)
		return -ENOMEM;
	d->path = strdup(path);
	d->map = map ? strdup(map) : NULL;
	if (!d->path || (map && !d->map)) {
		dump_close(&d->source);
		return -ENOMEM;
	}
	d->source.ops = &dump_ops;
	d->ctx = ctx;
	d->kind = kind;
	d->text = text;
	d->size = size;
	*source = &d->source;
	return 0;
}

static void say_fault(const struct ibqos_ctx *ctx, const char *path, const struct snapshot_fault *fault)
{
	if (fault->section[0])
		ctx_error(ctx, "cannot read '%s': section %s at byte %zu: %s", path, fault->section,
			  fault->offset, fault->text);
	else
		ctx_error(ctx, "cannot read '%s': at byte %zu: %s", path, fault->offset, fault->text);
}

/* Which fabric of a file of several is meant; says what there are where none is. */
static int choose(const struct ibqos_ctx *ctx, const char *path, const struct snapshot_set *set, size_t *first)
{
	char *names = NULL;
	size_t size;
	FILE *out;

	*first = 0;
	if (!ctx->fabric[0] && snapshot_set_next(set, 0) == set->count)
		return 0;
	for (size_t i = 0; i < set->count && ctx->fabric[0]; i = snapshot_set_next(set, i))
		if (strcmp(set->parts[i].name, ctx->fabric) == 0) {
			*first = i;
			return 0;
		}
	out = open_memstream(&names, &size);
	for (size_t i = 0; out && i < set->count; i = snapshot_set_next(set, i))
		fprintf(out, "%s%s", i ? ", " : "", set->parts[i].name);
	if (!out || text_stream_end(out, &names) != 0)
		return -ENOMEM;
	if (ctx->fabric[0])
		ctx_error(ctx, "cannot read '%s': no fabric '%s' is in it, but %s", path, ctx->fabric, names);
	else
		ctx_error(ctx, "cannot read '%s': choose one of its fabrics with --fabric: %s", path, names);
	free(names);
	return -ENOENT;
}

static int open_set(const struct ibqos_ctx *ctx, const char *path, const char *map, const char *data, size_t size,
		    struct source **source)
{
	struct snapshot_merged merged = {0};
	struct snapshot *snapshot = NULL;
	struct snapshot_fault fault;
	struct snapshot_set set;
	size_t first = 0;
	int error = snapshot_set_decode(data, size, &set, &fault);

	if (error == -EBADMSG)
		say_fault(ctx, path, &fault);
	if (error == 0)
		error = choose(ctx, path, &set, &first);
	if (error == 0) {
		error = snapshot_set_fabric(&set, first, &snapshot, &merged);
		if (error == 0)
			error = source_open_snapshot(snapshot, map, &merged, source);
		if (error == -ERANGE)
			ctx_error(ctx, "cannot read '%s': its snapshots of one fabric were taken %llu s apart, and more than %d s is not one state",
				  path, (unsigned long long)(merged.newest - merged.oldest), SNAPSHOT_APART_MAX);
		else if (error != 0)
			ctx_error(ctx, "cannot read '%s': %s", path, strerror(-error));
		if (error != 0)
			snapshot_free(snapshot);
	}
	snapshot_set_clear(&set);
	return error;
}

int source_file_fabrics(const struct ibqos_ctx *ctx, const char *path, char ***names, size_t *count)
{
	struct snapshot_set set = {0};
	struct snapshot_fault fault;
	char *data = NULL;
	size_t size = 0;
	int error = file_read_up_to(path, SNAPSHOT_FILE_MAX, &data, &size);

	*names = NULL;
	*count = 0;
	if (error != 0)
		ctx_error(ctx, "cannot read '%s': %s", path, strerror(-error));
	if (error == 0 && snapshot_set_is(data, size)) {
		error = snapshot_set_decode(data, size, &set, &fault);
		if (error == -EBADMSG)
			say_fault(ctx, path, &fault);
	}
	free(data);
	if (error == 0 && set.count > 0) {
		*names = calloc(set.count, sizeof(char *));
		error = *names ? 0 : -ENOMEM;
	}
	for (size_t i = 0; error == 0 && i < set.count; i = snapshot_set_next(&set, i)) {
		(*names)[*count] = strdup(set.parts[i].name);
		if ((*names)[*count])
			(*count)++;
		else
			error = -ENOMEM;
	}
	snapshot_set_clear(&set);
	if (error != 0) {
		for (size_t i = 0; i < *count; i++)
			free((*names)[i]);
		free(*names);
		*names = NULL;
		*count = 0;
	}
	return error;
}

int source_open_file(const struct ibqos_ctx *ctx, const char *path, const char *map, struct source **source)
{
	struct snapshot *snapshot = NULL;
	struct snapshot_fault fault;
	const struct kind *kind = NULL;
	char *data = NULL;
	size_t size = 0;
	int error = file_read_up_to(path, SNAPSHOT_FILE_MAX, &data, &size);

	*source = NULL;
	for (unsigned i = 0; error == 0 && !kind && i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (!snapshot_is(data, size) && !snapshot_set_is(data, size) && kinds[i].is(data, size))
			kind = &kinds[i];
	if (error == 0 && snapshot_set_is(data, size)) {
		error = open_set(ctx, path, map, data, size, source);
		free(data);
		return error;
	}
	if (kind) {
		error = open_dump(ctx, kind, path, map, data, size, source);
		if (error == 0)
			data = NULL;
	} else if (error == 0) {
		error = snapshot_decode(data, size, &snapshot, &fault);
		if (error == -EBADMSG)
			say_fault(ctx, path, &fault);
		if (error == 0)
			error = source_open_snapshot(snapshot, map, NULL, source);
		if (error != 0)
			snapshot_free(snapshot);
	}
	free(data);
	if (error != 0 && error != -EBADMSG)
		ctx_error(ctx, "cannot read '%s': %s", path, strerror(-error));
	return error;
}
