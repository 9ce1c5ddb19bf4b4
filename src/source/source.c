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

const struct mad_counts *source_counts(const struct source *source)
{
	return source->ops->counts(source);
}
