/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Hosts that the batch system has drained: whoever took them out knows of them, so what is wrong at them is a note.
 */
#include "ibqos/audit.h"

/* One that is not in the fabric any more has its name alone. */
static bool is_of(const struct fabric *fabric, uint64_t guid, const char *name, const char *host)
{
	uint32_t node = guid ? fabric_find_node(fabric, guid) : FABRIC_NONE;
	struct fabric_node gone = {.guid = guid, .type = FABRIC_CA, .name = (char *)name};

	if (node != FABRIC_NONE)
		return fabric->nodes[node].type == FABRIC_CA && scope_is_named(fabric, &fabric->nodes[node], host);
	return name && host[0] != '0' && scope_is_named(fabric, &gone, host);
}

uint32_t audit_drained(const struct fabric *fabric, char *const *hosts, size_t count, struct finding_list *findings)
{
	uint32_t noted = 0;

	for (size_t i = 0; i < findings->count; i++) {
		struct finding *f = &findings->items[i];

		if (f->severity != FINDING_WARNING && f->severity != FINDING_CRITICAL)
			continue;
		for (size_t k = 0; k < count; k++) {
			if (!is_of(fabric, f->guid, f->name, hosts[k]) && !is_of(fabric, f->peer_guid, f->peer_name, hosts[k]))
				continue;
			f->severity = FINDING_NOTE;
			finding_append(&f->detail, "host %s is drained", hosts[k]);
			noted++;
			break;
		}
	}
	return noted;
}
