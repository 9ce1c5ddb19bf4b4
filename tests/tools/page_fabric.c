/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* The pictures of a fabric of any size, without one: see page_fabric.h. */
#include <stdlib.h>
#include <string.h>

#include "page_fabric.h"

#include "ibqos/figures.h"
#include "images.h"

struct tree {
	struct fabric *fabric;
	unsigned radix, half;
	uint32_t *leaves, *spines, *cores;
	const char *names, *name; /* the next one */
	size_t size;
	uint64_t guid;
};

static const char *next_name(struct tree *t, const char *plain)
{
	const char *name = t->name;

	if (!t->names)
		return plain;
	t->name += strlen(t->name) + 1;
	if (t->name >= t->names + t->size)
		t->name = t->names;
	return name;
}

static uint32_t add_switch(struct tree *t, const char *role, unsigned number)
{
	char name[MAD_SMP_DATA];

	snprintf(name, sizeof(name), "%s-%u", role, number);
	return image_add_switch(t->fabric, next_name(t, name), ++t->guid, t->radix, 0);
}

static void add_host(struct tree *t, uint32_t leaf, unsigned port, unsigned number)
{
	char name[MAD_SMP_DATA];
	uint32_t host;

	snprintf(name, sizeof(name), "gpu-%u mlx5_0", number);
	host = image_add_host(t->fabric, next_name(t, name), UINT64_C(0x0c42a10300000000) + 16 * (uint64_t)number, number);
	image_link(t->fabric, leaf, port, host, 1, NULL);
}

static void make_tree(struct tree *t)
{
	unsigned half = t->half, in_pods = t->radix * half;

	for (unsigned i = 0; i < in_pods; i++) {
		t->leaves[i] = add_switch(t, "leaf", i + 1);
		t->spines[i] = add_switch(t, "spine", i + 1);
	}
	for (unsigned i = 0; i < half * half; i++)
		t->cores[i] = add_switch(t, "core", i + 1);
	for (unsigned i = 0; i < in_pods; i++) {
		unsigned pod = i / half, here = i % half;

		for (unsigned n = 0; n < half; n++) {
			add_host(t, t->leaves[i], n + 1, i * half + n + 1);
			image_link(t->fabric, t->leaves[i], half + n + 1, t->spines[pod * half + n], here + 1, NULL);
			image_link(t->fabric, t->spines[i], half + n + 1, t->cores[here * half + n], pod + 1, NULL);
		}
	}
}

static void find(struct finding_list *list, const struct fabric *f)
{
	static const enum finding_code codes[] = {FINDING_LINK_WIDTH_LOW, FINDING_LINK_RECOVERIES, FINDING_NO_ANSWER};

	for (uint32_t i = 0; i < f->link_count; i += 97) {
		const struct fabric_port *a = &f->ports[f->links[i].a], *b = &f->ports[f->links[i].b];
		struct finding *found = finding_add(list, codes[i / 97 % 3]);

		found->guid = f->nodes[a->node].guid;
		found->port = a->number;
		finding_set(&found->name, "%s", f->nodes[a->node].name);
		found->peer_guid = f->nodes[b->node].guid;
		found->peer_port = b->number;
		finding_set(&found->peer_name, "%s", f->nodes[b->node].name);
		finding_set(&found->wanted, "4x");
		finding_set(&found->got, "1x");
	}
	finding_list_sort(list);
}

static void measure(struct counter_measure *measures, const struct fabric *f)
{
	for (uint32_t i = 0; i < f->port_count; i++) {
		if (f->ports[i].peer == FABRIC_NONE)
			continue;
		measures[i] = (struct counter_measure){.has_errors = true,
						       .errors = i % 113 == 0 ? 3e-12 : 0,
						       .errors_upper = i % 113 == 0 ? 5e-12 : 1e-16,
						       .verdict = i % 113 == 0 ? BER_ERROR : i % 7 == 0 ? BER_EARLY : BER_GOOD,
						       .has_waiting = true,
						       .waiting = i % 100 / 100.0};
	}
}

static int draw_ports(FILE *out, void *arg)
{
	return figure_ports(out, arg);
}

static int draw_topology(FILE *out, void *arg)
{
	return figure_topology(out, arg);
}

int page_fabric(struct report *r, struct finding_list *list, unsigned radix, const char *names, size_t size)
{
	struct tree t = {.radix = radix, .half = radix / 2, .names = names, .name = names, .size = size};
	struct figure_fabric in = {.findings = list};
	struct counter_measure *measures = NULL;
	int error = -1;

	if (radix < 2 || radix > 64 || radix % 2)
		return -1;
	t.fabric = fabric_new("");
	t.leaves = calloc((size_t)radix * t.half, sizeof(*t.leaves));
	t.spines = calloc((size_t)radix * t.half, sizeof(*t.spines));
	t.cores = calloc((size_t)t.half * t.half, sizeof(*t.cores));
	if (!t.fabric || !t.leaves || !t.spines || !t.cores)
		goto out;
	make_tree(&t);
	if (fabric_finish(t.fabric) < 0)
		goto out;
	measures = calloc((size_t)t.fabric->port_count + 1, sizeof(*measures));
	if (!measures)
		goto out;
	find(list, t.fabric);
	measure(measures, t.fabric);
	in.fabric = t.fabric;
	in.measures = measures;
	report_findings(r, list, false);
	report_figure(r, "figure_topology", "topology", draw_topology, &in);
	report_figure(r, "figure_ports", "ports of switches", draw_ports, &in);
	error = 0;
out:
	free(measures);
	free(t.leaves);
	free(t.spines);
	free(t.cores);
	fabric_free(t.fabric);
	return error;
}
