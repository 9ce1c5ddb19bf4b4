/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* A file as a source: which kind it is, and what another tool wrote, of which only the fabric is known. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "dump.h"
#include "live.h"
#include "snapshot_parts.h"

/* A kind of file that is no snapshot. */
struct kind {
	bool (*is)(const char *text, size_t size);
	int (*read)(const char *label, const char *text, size_t size, struct fabric **fabric,
		    struct dump_fault *fault);
	const char *lacks;
};

static const struct kind kinds[] = {
	{netdiscover_is, netdiscover_read,
	 "PortInfo, tables, counters, forwarding, and the subnet manager's answers: ibnetdiscover does not write them"},
};

struct dump {
	struct source source;
	const struct ibqos_ctx *ctx;
	const struct kind *kind;
	char *path, *map, *text;
	size_t size;
	struct mad_counts counts;
};

static int dump_discover(struct source *source, struct finding_list *findings, struct fabric **fabric)
{
	struct dump *d = (struct dump *)source;
	struct dump_fault fault;
	int error = d->kind->read(d->ctx->fabric, d->text, d->size, fabric, &fault);

	if (error == -EBADMSG && fault.line > 0)
		ctx_error(d->ctx, "cannot read '%s': %s:%u:%u: %s", d->path, d->path, fault.line,
			  fault.column, fault.text);
	else if (error != 0)
		ctx_error(d->ctx, "cannot read '%s': %s", d->path,
			  error == -EBADMSG ? fault.text : strerror(-error));
	if (error == 0)
		error = live_name_nodes(*fabric, d->map, findings);
	if (error != 0) {
		fabric_free(*fabric);
		*fabric = NULL;
	}
	return error;
}

static int dump_ask(struct source *source, const struct fabric *fabric, const struct source_asker *asker)
{
	(void)source;
	(void)fabric;
	live_ask_nothing(asker);
	return 0;
}

static const struct mad_counts *dump_counts(const struct source *source)
{
	return &((const struct dump *)source)->counts;
}

static void dump_close(struct source *source)
{
	struct dump *d = (struct dump *)source;

	free(d->path);
	free(d->map);
	free(d->text);
	free(d);
}

static const struct source_ops dump_ops = {
	.discover = dump_discover,
	.ask = dump_ask,
	.counts = dump_counts,
	.close = dump_close,
};

const char *source_lacks(const struct source *source)
{
	return source && source->ops == &dump_ops ? ((const struct dump *)source)->kind->lacks : NULL;
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

int source_open_file(const struct ibqos_ctx *ctx, const char *path, const char *map, struct source **source)
{
	struct snapshot *snapshot = NULL;
	struct snapshot_fault fault;
	const struct kind *kind = NULL;
	char *data = NULL;
	size_t size = 0;
	int error = file_read(path, &data, &size);

	*source = NULL;
	for (unsigned i = 0; error == 0 && !kind && i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (!snapshot_is(data, size) && kinds[i].is(data, size))
			kind = &kinds[i];
	if (kind) {
		error = open_dump(ctx, kind, path, map, data, size, source);
		if (error == 0)
			data = NULL;
	} else if (error == 0) {
		error = snapshot_decode(data, size, &snapshot, &fault);
		if (error == -EBADMSG)
			say_fault(ctx, path, &fault);
		if (error == 0)
			error = source_open_snapshot(snapshot, map, source);
		if (error != 0)
			snapshot_free(snapshot);
	}
	free(data);
	if (error != 0 && error != -EBADMSG)
		ctx_error(ctx, "cannot read '%s': %s", path, strerror(-error));
	return error;
}
