/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* The interface of every source: what callers say to the kind behind it. */
#include "ibqos/source.h"

void source_close(struct source *source)
{
	if (source)
		source->ops->close(source);
}

int source_discover(struct source *source, struct finding_list *findings, struct fabric **fabric)
{
	*fabric = NULL;
	return source->ops->discover(source, findings, fabric);
}

int source_ask(struct source *source, const struct fabric *fabric, const struct source_asker *asker)
{
	return source->ops->ask(source, fabric, asker);
}

int source_ask_sm(struct source *source, const struct fabric *fabric, struct source_sm_query *queries,
		  size_t count, uint64_t *lost_ns)
{
	uint64_t own = 0;
	int error;

	for (size_t i = 0; i < count; i++) {
		queries[i].outcome = MAD_NOT_ASKED;
		queries[i].status = 0;
		queries[i].tries = 0;
	}
	if (fabric->sm_lid == 0 || !source->ops->ask_sm)
		return 0;
	error = source->ops->ask_sm(source, fabric, queries, count, lost_ns ? lost_ns : &own);
	source_sm_part(source, NULL, 0, 0);
	return error;
}

void source_sm_part(struct source *source, const char *what, uint64_t before, uint64_t total)
{
	source->sm_part.what = what;
	source->sm_part.before = before;
	source->sm_part.total = total;
}

const struct mad_counts *source_discovery_counts(const struct source *source)
{
	return source->ops->discovery_counts ? source->ops->discovery_counts(source) : NULL;
}

const struct mad_port_info *source_port(const struct source *source)
{
	return source->ops->port ? source->ops->port(source) : NULL;
}

const struct mad_counts *source_counts(const struct source *source)
{
	return source->ops->counts(source);
}
