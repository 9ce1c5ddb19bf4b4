/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Names of nodes: descriptions, the node-name map, ports as text. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "ibqos/finding.h"
#include "images.h"

/* Nodes 0x10 "h", 0x20 "s", 0xabcdef0123456789 "big". */
static struct fabric *three_nodes(void)
{
	struct fabric *f = fabric_new("");

	assert_non_null(f);
	image_add_switch(f, "s", 0x20, 12, 2);
	image_add_host(f, "h", 0x10, 1);
	image_add_host(f, "big", 0xabcdef0123456789, 3);
	assert_int_equal(fabric_finish(f), 0);
	return f;
}

static void descriptions(void **state)
{
	struct fabric *f = fabric_new("");
	char longest[MAD_SMP_DATA + 1];

	(void)state;
	memset(longest, 'n', MAD_SMP_DATA);
	longest[MAD_SMP_DATA] = '\0';
	image_add_host(f, "host-1 mlx5_0  ", 1, 1);
	image_add_host(f, "bad\x1b[31mred", 2, 2);
	image_add_host(f, longest, 3, 3);
	image_add_host(f, "   ", 4, 4);
	assert_int_equal(fabric_finish(f), 0);
	assert_string_equal(f->nodes[0].name, "host-1 mlx5_0");
	assert_string_equal(f->nodes[1].name, "bad\xef\xbf\xbd[31mred");
	assert_string_equal(f->nodes[2].name, longest);
	assert_string_equal(f->nodes[3].name, "0x0000000000000004"); /* blank, but answered: no gap */
	for (uint32_t i = 0; i < f->gap_count; i++)
		assert_int_not_equal(f->gaps[i].reason, FABRIC_GAP_NO_NODE_DESC);
	fabric_free(f);
}

static void map_names(void **state)
{
	static const char text[] = "# a comment\n"
				   "\n"
				   "   \t \n"
				   "0x10 \"host one\"   # the first\n"
				   "\t32 spine#comment\n"            /* decimal, no quotes */
				   "0xABCDEF0123456789\t\"big\"\r\n" /* from another system */
				   "0x99 \"not here\"";              /* no newline at the end */
	struct fabric *f = three_nodes();
	struct finding_list findings = {0};

	(void)state;
	assert_int_equal(fabric_name_nodes(f, "map", text, &findings), 0);
	assert_int_equal(findings.count, 0);
	assert_string_equal(f->nodes[0].name, "host one");
	assert_string_equal(f->nodes[1].name, "spine");
	assert_string_equal(f->nodes[2].name, "big");
	fabric_free(f);
}

static void other_number_bases(void **state)
{
	struct fabric *f = three_nodes();
	struct finding_list findings = {0};

	(void)state;
	assert_int_equal(fabric_name_nodes(f, "map", "040 octal\n0X10   unquoted name \n", &findings), 0);
	assert_int_equal(findings.count, 0);
	assert_string_equal(f->nodes[0].name, "unquoted name");
	assert_string_equal(f->nodes[1].name, "octal");
	fabric_free(f);
}

static void names_are_made_printable(void **state)
{
	struct fabric *f = three_nodes();
	struct finding_list findings = {0};

	(void)state;
	assert_int_equal(fabric_name_nodes(f, "map", "0x10 \"a\x07z\"\n0x20 \"caf\xc3\xa9\"\n", &findings),
			 0);
	assert_string_equal(f->nodes[0].name, "a\xef\xbf\xbdz");
	assert_string_equal(f->nodes[1].name, "caf\xc3\xa9");
	finding_list_clear(&findings);
	fabric_free(f);
}

static void faults_are_found_and_good_lines_used(void **state)
{
	static const char text[] = "host1 \"h\"\n"               /* 1: no GUID */
				   "0x10\"h\"\n"                 /* 2: no blank */
				   "0x10\n"                      /* 3: no name */
				   "  0x10 # comment\n"          /* 4: no name */
				   "0x1zz \"h\"\n"               /* 5: not a number */
				   "0x10 \"\"\n"                 /* 6: empty name */
				   "-1 \"h\"\n"                  /* 7: sign */
				   "0x1ffffffffffffffff \"h\"\n" /* 8: 65 bits */
				   "0x20 \"good\"\n"             /* 9 */
				   "0x20 \"other\"\n"            /* 10: named before */
				   "0x20 \"good\"\n";            /* 11: the same again: no fault */
	static const struct {
		unsigned line, column;
	} wanted[] = {{1, 1}, {2, 5}, {3, 5}, {4, 8}, {5, 4}, {6, 8}, {7, 1}, {8, 1}, {10, 7}};
	struct fabric *f = three_nodes();
	struct finding_list findings = {0};

	(void)state;
	assert_int_equal(fabric_name_nodes(f, "map", text, &findings), 0);
	assert_int_equal(findings.count, sizeof(wanted) / sizeof(wanted[0]));
	for (size_t i = 0; i < findings.count; i++) {
		const struct finding *item = &findings.items[i];

		assert_int_equal(item->code, FINDING_NAME_MAP_BAD);
		assert_string_equal(item->file, "map");
		assert_int_equal(item->line, wanted[i].line);
		assert_int_equal(item->column, wanted[i].column);
		assert_non_null(item->got);
		assert_non_null(item->detail);
	}
	assert_string_equal(findings.items[0].got, "host1 \"h\"");
	assert_string_equal(f->nodes[0].name, "h");
	assert_string_equal(f->nodes[1].name, "good");
	finding_list_clear(&findings);
	fabric_free(f);
}

static void ports_as_text(void **state)
{
	struct fabric *f = three_nodes();
	struct finding_list findings = {0};
	char text[FABRIC_TEXT];
	uint32_t sw = fabric_find_node(f, 0x20);

	(void)state;
	assert_string_equal(fabric_port_text(f, fabric_node_port(f, sw, 12), text, sizeof(text)), "s[12]");
	assert_string_equal(fabric_port_text(f, fabric_node_port(f, sw, 0), text, sizeof(text)), "s");
	assert_int_equal(fabric_name_nodes(f, "map", "0x20 \xc3\xa9\xc3\xa9\xc3\xa9\n", &findings), 0);
	/* "[12]" and NUL need 5 bytes: 4 are left for two whole characters, then 3 for one */
	assert_string_equal(fabric_port_text(f, fabric_node_port(f, sw, 12), text, 9),
			    "\xc3\xa9\xc3\xa9[12]");
	assert_string_equal(fabric_port_text(f, fabric_node_port(f, sw, 12), text, 8), "\xc3\xa9[12]");
	assert_string_equal(fabric_port_text(f, fabric_node_port(f, sw, 12), text, 5), "[12]");
	assert_string_equal(fabric_port_text(f, fabric_node_port(f, sw, 12), text, 3), "[1");
	assert_string_equal(fabric_port_text(f, fabric_node_port(f, sw, 0), text, 1), "");
	text[0] = 'x';
	fabric_port_text(f, fabric_node_port(f, sw, 0), text, 0);
	assert_int_equal(text[0], 'x');
	fabric_free(f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(descriptions),
		cmocka_unit_test(map_names),
		cmocka_unit_test(other_number_bases),
		cmocka_unit_test(names_are_made_printable),
		cmocka_unit_test(faults_are_found_and_good_lines_used),
		cmocka_unit_test(ports_as_text),
	};

	return cmocka_run_group_tests_name("fabric names", tests, NULL, NULL);
}
