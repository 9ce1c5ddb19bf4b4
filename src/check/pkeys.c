/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* The partition keys that ports have at one index. */
#include "ibqos/pkeys.h"

#include <errno.h>
#include <stdlib.h>

#include <infiniband/mad.h>

#include "place.h"

#define BLOCK 32 /* keys of a block */

struct asking {
	struct port_pkey *keys;
	uint32_t *agents; /* ports to be asked */
	size_t *of;	  /* by port index: which of the keys it is */
	bool *asked;	  /* by agent */
	unsigned index;
	struct check_coverage *coverage;
};

static bool next_query(void *arg, uint32_t which, struct source_query *query)
{
	struct asking *a = arg;

	if (a->asked[which])
		return false;
	a->asked[which] = true;
	*query = (struct source_query){.agent = a->agents[which], .port = a->agents[which], .attribute = MAD_PKEY_TABLE,
				       .modifier = MAD_PKEY_MODIFIER(a->index / BLOCK, 0)};
	a->coverage->asked++;
	return true;
}

static void take_answer(void *arg, const struct source_query *query, const struct mad_answer *answer)
{
	struct asking *a = arg;
	struct port_pkey *key = &a->keys[a->of[query->port]];
	unsigned at = 2 * (a->index % BLOCK);

	a->coverage->ended[answer->outcome]++;
	key->outcome = answer->outcome;
	key->status = answer->status;
	key->tries = answer->tries;
	if (answer->outcome == MAD_ANSWERED)
		key->key = (uint16_t)(answer->data[at] << 8 | answer->data[at + 1]);
}

int pkeys_ask(struct source *source, const struct fabric *fabric, unsigned index, struct port_pkey *keys, size_t count,
	      struct check_coverage *coverage)
{
	struct asking a = {.keys = keys, .index = index, .coverage = coverage};
	struct source_asker asker = {.next = next_query, .answer = take_answer, .arg = &a};
	int error = -ENOMEM;

	a.agents = calloc(count + 1, sizeof(*a.agents));
	a.of = calloc((size_t)fabric->port_count + 1, sizeof(*a.of));
	a.asked = calloc(count + 1, sizeof(*a.asked));
	if (a.agents && a.of && a.asked) {
		for (size_t i = 0; i < count; i++) {
			const struct fabric_node *node = fabric_port_node(fabric, keys[i].port);
			unsigned cap = mad_get_field((void *)node->node_info, 0, IB_NODE_PARTITION_CAP_F);

			keys[i].there = index < cap;
			keys[i].outcome = MAD_NOT_ASKED;
			if (!keys[i].there)
				continue;
			a.of[keys[i].port] = i;
			a.agents[asker.agent_count++] = keys[i].port;
		}
		asker.agents = a.agents;
		error = asker.agent_count > 0 ? source_ask(source, fabric, &asker) : 0;
	}
	free(a.agents);
	free(a.of);
	free(a.asked);
	return error;
}

/* The partition that most ports have; the first such. 0: none is known. */
static unsigned usual(const struct port_pkey *keys, size_t count, struct finding_list *findings)
{
	size_t *seen = calloc(PKEY_BASE + 1, sizeof(*seen));
	unsigned best = 0;

	for (size_t i = 0; seen && i < count; i++)
		seen[keys[i].key & PKEY_BASE]++;
	for (size_t i = 0; seen && i < count; i++) { /* in the ports' order */
		unsigned base = keys[i].key & PKEY_BASE;

		if (base && (best == 0 || seen[base] > seen[best]))
			best = base;
	}
	findings->lost |= !seen;
	free(seen);
	return best;
}

static struct finding *tell(struct finding_list *findings, enum finding_code code, const struct fabric *fabric,
			    const struct port_pkey *key, unsigned index)
{
	struct finding *f = finding_add(findings, code);

	place_port(f, fabric, key->port);
	finding_set(&f->what, "index %u", index);
	return f;
}

void pkeys_findings(const struct fabric *fabric, unsigned index, const struct port_pkey *keys, size_t count,
		    struct finding_list *findings)
{
	unsigned most = usual(keys, count, findings);

	for (size_t i = 0; i < count; i++) {
		const struct port_pkey *key = &keys[i];
		bool known = key->there && key->outcome == MAD_ANSWERED;
		struct finding *f;

		if (key->there && !known) {
			f = tell(findings, FINDING_QUERY_FAILED, fabric, key, index);
			finding_set(&f->what, "P_KeyTable");
			if (key->outcome == MAD_STATUS)
				finding_set(&f->detail, "MAD status 0x%04x", key->status);
			else if (key->outcome == MAD_TIMED_OUT)
				finding_set(&f->detail, "not answered in %u tries", key->tries);
			else
				finding_set(&f->detail, "not asked");
		} else if (!known || !(key->key & PKEY_FULL) || !(key->key & PKEY_BASE)) {
			f = tell(findings, FINDING_JOB_PKEY_INDEX, fabric, key, index);
			finding_set(&f->wanted, "the index of a full membership");
			if (!key->there)
				finding_set(&f->got, "a P_Key table that ends before");
			else if (key->key & PKEY_BASE)
				finding_set(&f->got, "a limited member of partition 0x%04x", key->key & PKEY_BASE);
			else
				finding_set(&f->got, "no P_Key");
		} else if (most && (key->key & PKEY_BASE) != most) {
			f = tell(findings, FINDING_JOB_PKEY_DIFFERS, fabric, key, index);
			finding_set(&f->wanted, "partition 0x%04x, as most ports of the job have", most);
			finding_set(&f->got, "partition 0x%04x", key->key & PKEY_BASE);
		}
	}
}
