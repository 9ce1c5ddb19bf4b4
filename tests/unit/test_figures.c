/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Layers of switches, and where findings are in the pictures. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "ibqos/figures.h"
#include "ibqos/layers.h"
#include "images.h"

/* Two pods of two leaves and two spines, one core above; a host a leaf, leaf-10 named to come after leaf-2. */
struct tree {
	struct fabric *fabric;
	uint32_t leaf[4], spine[4], core; /* indexes while building */
	uint64_t guid;
};

static uint64_t guid_of(unsigned n)
{
	return 0x1000 + n;
}

static void make_tree(struct tree *t)
{
	static const char *const leaves[] = {"leaf-10", "leaf-2", "leaf-30", "leaf-4"};
	char name[16];

	t->fabric = fabric_new("");
	for (unsigned i = 0; i < 4; i++)
		t->leaf[i] = image_add_switch(t->fabric, leaves[i], guid_of(i), 4, 10 + i);
	for (unsigned i = 0; i < 4; i++) {
		snprintf(name, sizeof(name), "spine-%u", i);
		t->spine[i] = image_add_switch(t->fabric, name, guid_of(10 + i), 4, 20 + i);
	}
	t->core = image_add_switch(t->fabric, "core", guid_of(20), 8, 30);
	for (unsigned i = 0; i < 4; i++) {
		snprintf(name, sizeof(name), "gpu-%u", i);
		image_link(t->fabric, t->leaf[i], 1, image_add_host(t->fabric, name, 0x9000 + 16 * i, 40 + i), 1, NULL);
		for (unsigned n = 0; n < 2; n++)
			image_link(t->fabric, t->leaf[i], 2 + n, t->spine[i / 2 * 2 + n], 1 + i % 2, NULL);
		image_link(t->fabric, t->spine[i], 3, t->core, 1 + 2 * i, NULL);
		image_link(t->fabric, t->spine[i], 4, t->core, 2 + 2 * i, NULL);
	}
	assert_int_equal(fabric_finish(t->fabric), 0);
}

static uint32_t node(const struct tree *t, unsigned n)
{
	uint32_t found = fabric_find_node(t->fabric, guid_of(n));

	assert_int_not_equal(found, FABRIC_NONE);
	return found;
}

static void test_layers(void **state)
{
	static const char *const order[] = {"leaf-2", "leaf-4", "leaf-10", "leaf-30", "spine-0", "spine-1", "spine-2", "spine-3", "core"};
	struct layers l;
	struct tree t;

	(void)state;
	make_tree(&t);
	assert_int_equal(layers_new(t.fabric, &l), 0);
	assert_int_equal(l.count, 9);
	assert_int_equal(l.levels, 3);
	for (uint32_t i = 0; i < l.count; i++)
		assert_string_equal(t.fabric->nodes[l.order[i]].name, order[i]);
	assert_int_equal(l.pods, 2);
	assert_int_equal(l.pod[node(&t, 0)], l.pod[node(&t, 1)]);
	assert_int_equal(l.pod[node(&t, 0)], l.pod[node(&t, 10)]);
	assert_int_not_equal(l.pod[node(&t, 0)], l.pod[node(&t, 2)]);
	assert_int_equal(l.pod[node(&t, 20)], LAYERS_NO_POD);
	assert_int_equal(l.hosts[node(&t, 3)], 1);
	assert_int_equal(l.bundle_count, 8 + 4);
	assert_int_equal(l.bundles[layers_bundle(&l, node(&t, 20), node(&t, 12))].cables, 2);
	assert_int_equal(l.bundles[layers_bundle(&l, node(&t, 0), node(&t, 11))].cables, 1);
	assert_true(layers_bundle(&l, node(&t, 0), node(&t, 12)) == SIZE_MAX);
	layers_clear(&l);
	fabric_free(t.fabric);
}

static char *draw(const struct tree *t, const struct finding_list *list, const bool *looked, int (*figure)(FILE *, const struct figure_fabric *))
{
	struct figure_fabric in = {.fabric = t->fabric, .findings = list, .looked = looked};
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	assert_non_null(out);
	assert_int_equal(figure(out, &in), 0);
	fclose(out);
	assert_non_null(text);
	return text;
}

static void assert_has(const char *text, const char *part)
{
	if (!strstr(text, part))
		fail_msg("'%s' is not in: %s", part, text);
}

static struct finding *find(struct finding_list *list, enum finding_code code, unsigned n, int port)
{
	struct finding *f = finding_add(list, code);

	f->guid = guid_of(n);
	f->port = port;
	return f;
}

/* The port that a finding names, and the other end of its cable, whether the finding names that or not. */
static void test_both_ends_are_marked(void **state)
{
	struct finding_list list = {0};
	struct tree t;
	char *text;

	(void)state;
	make_tree(&t);
	find(&list, FINDING_LINK_WIDTH_LOW, 0, 2); /* leaf-10[2] is cabled to spine-0[1] */
	finding_add(&list, FINDING_NO_SM);
	text = draw(&t, &list, NULL, figure_ports);
	assert_has(text, "<b>2</b>"); /* in the legend */
	assert_has(text, "data-c=\"c\"");
	assert_has(text, "1 finding of the list has no place in this picture");
	free(text);
	text = draw(&t, &list, NULL, figure_topology);
	assert_has(text, "leaf-10 to spine-0: 1 cable, 1 finding, the worst critical");
	free(text);
	finding_list_clear(&list);
	fabric_free(t.fabric);
}

/* What no command has looked at is never among the ports that are well. */
static void test_not_looked_at_is_not_clean(void **state)
{
	struct finding_list list = {0};
	struct tree t;
	bool *looked;
	char *text;

	(void)state;
	make_tree(&t);
	looked = calloc(t.fabric->port_count, sizeof(*looked));
	text = draw(&t, &list, looked, figure_ports);
	assert_null(strstr(text, "data-c=\"a\""));
	assert_has(text, "not looked at, not known: <b>36</b>"); /* 3 of each leaf, 4 of each spine, 8 of the core */
	assert_has(text, "down: <b>4</b>");
	free(text);
	free(looked);
	fabric_free(t.fabric);
}

/* Two switches without any cable, of which a finding tells, are a line all the same. */
static void test_a_cable_that_is_gone(void **state)
{
	struct finding_list list = {0};
	struct finding *f;
	struct tree t;
	char *text;

	(void)state;
	make_tree(&t);
	f = find(&list, FINDING_SIBLING_CABLE_MISSING, 0, FINDING_WHOLE_NODE);
	f->peer_guid = guid_of(12);
	f->peer_port = FINDING_WHOLE_NODE;
	text = draw(&t, &list, NULL, figure_topology);
	assert_has(text, "leaf-10 to spine-2: no cable, 1 finding");
	assert_has(text, "tp-gone");
	free(text);
	finding_list_clear(&list);
	fabric_free(t.fabric);
}

/* A node that is not in the fabric is told at the port that it was on. */
static void test_what_went_is_told_where_it_was(void **state)
{
	struct finding_list list = {0};
	struct finding *f;
	struct tree t;
	char *text;

	(void)state;
	make_tree(&t);
	f = find(&list, FINDING_LINK_GONE, 999, 1);
	f->peer_guid = guid_of(3);
	f->peer_port = 4;
	text = draw(&t, &list, NULL, figure_ports);
	assert_null(strstr(text, "no place in this picture"));
	assert_has(text, "<th scope=\"row\">leaf-4</th>");
	assert_has(text, "critical finding: 4;");
	free(text);
	finding_list_clear(&list);
	fabric_free(t.fabric);
}

static void test_an_empty_fabric(void **state)
{
	struct finding_list list = {0};
	struct tree t = {.fabric = fabric_new("")};
	char *text;

	(void)state;
	image_add_host(t.fabric, "alone", 0x77, 1);
	assert_int_equal(fabric_finish(t.fabric), 0);
	text = draw(&t, &list, NULL, figure_ports);
	assert_has(text, "0 ports of 0 switches");
	free(text);
	text = draw(&t, &list, NULL, figure_topology);
	assert_has(text, "0 switches in 0 layers");
	free(text);
	fabric_free(t.fabric);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_layers),
		cmocka_unit_test(test_both_ends_are_marked),
		cmocka_unit_test(test_not_looked_at_is_not_clean),
		cmocka_unit_test(test_a_cable_that_is_gone),
		cmocka_unit_test(test_what_went_is_told_where_it_was),
		cmocka_unit_test(test_an_empty_fabric),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
