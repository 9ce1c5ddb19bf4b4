/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* audit: links against what both their ends can. Raw codes as in IBA 14.2.5.6. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "ibqos/audit.h"
#include "images.h"

/* CapabilityMask: extended speeds, CapabilityMask2; CapabilityMask2: 2x, HDR, NDR, extended speeds 2, XDR */
#define CAPS 0xc000u
#define CAPS2 0x1c30u

/* LinkWidth codes, IBA table 155: 1 1x, 2 4x, 4 8x, 8 12x, 16 2x */
enum { W1 = 1, W4 = 2, W8 = 4, W12 = 8, W2 = 16 };
/* LinkSpeedExt codes */
enum { FDR = 1, EDR = 2, HDR = 4, NDR = 8 };

/* A port that runs and supports these; all that it supports is enabled. */
static struct image_port ext_port(unsigned width, unsigned widths, unsigned speed, unsigned speeds)
{
	return (struct image_port){
		.cap_mask = CAPS,
		.cap_mask2 = CAPS2,
		.width_active = width,
		.width_supported = widths,
		.width_enabled = widths,
		.speed_active = 4,
		.speed_supported = 7,
		.speed_enabled = 7,
		.ext_active = speed,
		.ext_supported = speeds,
		.ext_enabled = speeds,
	};
}

/* The same at a speed of LinkSpeedActive: 1 SDR, 2 DDR, 4 QDR. */
static struct image_port old_port(unsigned width, unsigned widths, unsigned speed, unsigned speeds)
{
	struct image_port port = ext_port(width, widths, 0, 0);

	port.speed_active = speed;
	port.speed_supported = port.speed_enabled = speeds;
	return port;
}

static struct image_port xdr_port(unsigned width, unsigned widths, bool active)
{
	struct image_port port = ext_port(width, widths, active ? 0 : NDR, 15);

	port.ext2_supported = port.ext2_enabled = 1;
	port.ext2_active = active;
	return port;
}

struct audit {
	struct fabric *fabric;
	struct finding_list findings;
	struct audit_result result;
};

static void put(struct fabric *fabric, uint32_t node, unsigned number, const struct image_port *port)
{
	uint8_t info[MAD_SMP_DATA];

	image_port_info(info, port);
	assert_int_equal(fabric_port_seen(fabric, node, number, 0, info, NULL), 0);
}

/* Two switches, whose port 0 tells the abilities that gate the speed fields. */
static void make_switches(struct audit *audit, uint32_t *a, uint32_t *b)
{
	const struct image_port port0 = {.lid = 1, .cap_mask = CAPS, .cap_mask2 = CAPS2};

	memset(audit, 0, sizeof(*audit));
	audit->fabric = fabric_new("");
	assert_non_null(audit->fabric);
	*a = image_add_switch(audit->fabric, "leaf", 0x10, 40, 1);
	*b = image_add_switch(audit->fabric, "spine", 0x20, 40, 2);
	put(audit->fabric, *a, 0, &port0);
	put(audit->fabric, *b, 0, &port0);
}

static void run(struct audit *audit)
{
	if (!audit->fabric->finished)
		assert_int_equal(fabric_finish(audit->fabric), 0);
	finding_list_clear(&audit->findings);
	assert_int_equal(audit_links(audit->fabric, NULL, &audit->findings, &audit->result), 0);
	finding_list_sort(&audit->findings);
}

static void one_link(struct audit *audit, const struct image_port *a, const struct image_port *b)
{
	uint32_t leaf, spine;

	make_switches(audit, &leaf, &spine);
	put(audit->fabric, leaf, 3, a);
	put(audit->fabric, spine, 7, b);
	assert_int_equal(fabric_link(audit->fabric, leaf, 3, spine, 7), 0);
	run(audit);
}

static void done(struct audit *audit)
{
	finding_list_clear(&audit->findings);
	fabric_free(audit->fabric);
}

static void test_full_speed_of_every_generation(void **state)
{
	const struct image_port ports[] = {
		old_port(W4, W1 | W4, 1, 1),        old_port(W4, W1 | W4, 2, 3),
		old_port(W12, W1 | W4 | W12, 4, 7), ext_port(W4, W1 | W4, FDR, 1),
		ext_port(W4, W1 | W4, EDR, 3),      ext_port(W4, W1 | W2 | W4, HDR, 7),
		ext_port(W2, W1 | W2, HDR, 7),      ext_port(W4, W1 | W2 | W4, NDR, 15),
		ext_port(W2, W1 | W2, NDR, 15),     xdr_port(W4, W1 | W2 | W4, true),
	};
	struct audit audit;

	(void)state;
	for (unsigned i = 0; i < sizeof(ports) / sizeof(ports[0]); i++) {
		one_link(&audit, &ports[i], &ports[i]);
		assert_int_equal(audit.findings.count, 0);
		assert_int_equal(audit.result.links, 1);
		assert_int_equal(audit.result.links_slow, 0);
		assert_int_equal(audit.result.links_unknown, 0);
		done(&audit);
	}
}

static void test_narrow_link_names_both_ends(void **state)
{
	struct image_port port = ext_port(W1, W1 | W4, EDR, 3);
	const struct finding *f;
	struct audit audit;

	(void)state;
	one_link(&audit, &port, &port);
	assert_int_equal(audit.findings.count, 1);
	f = &audit.findings.items[0];
	assert_int_equal(f->code, FINDING_LINK_WIDTH_LOW);
	assert_int_equal(f->severity, FINDING_CRITICAL);
	assert_int_equal(f->guid, 0x10);
	assert_int_equal(f->port, 3);
	assert_string_equal(f->name, "leaf");
	assert_int_equal(f->peer_guid, 0x20);
	assert_int_equal(f->peer_port, 7);
	assert_string_equal(f->peer_name, "spine");
	assert_string_equal(f->wanted, "4x");
	assert_string_equal(f->got, "1x");
	assert_string_equal(f->detail, "25 of 100 Gb/s, 75 lost");
	assert_int_equal(audit.result.links_slow, 1);
	done(&audit);
}

/* wanted, got, Gb/s */
static void test_slow_links_of_new_generations(void **state)
{
	const struct {
		struct image_port port;
		const char *wanted, *got, *detail;
	} cases[] = {
		{ext_port(W4, W1 | W4, HDR, 15), "NDR", "HDR", "200 of 400 Gb/s, 200 lost"},
		{xdr_port(W4, W1 | W4, false), "XDR", "NDR", "400 of 800 Gb/s, 400 lost"},
		{ext_port(W2, W1 | W2, EDR, 7), "HDR", "EDR", "50 of 100 Gb/s, 50 lost"},
		{old_port(W4, W1 | W4, 2, 7), "QDR", "DDR", "16 of 32 Gb/s, 16 lost"},
	};
	struct audit audit;

	(void)state;
	for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		one_link(&audit, &cases[i].port, &cases[i].port);
		assert_int_equal(audit.findings.count, 1);
		assert_int_equal(audit.findings.items[0].code, FINDING_LINK_SPEED_LOW);
		assert_string_equal(audit.findings.items[0].wanted, cases[i].wanted);
		assert_string_equal(audit.findings.items[0].got, cases[i].got);
		assert_string_equal(audit.findings.items[0].detail, cases[i].detail);
		done(&audit);
	}
}

/* What only one end can is nothing that the link could. */
static void test_the_weaker_end_sets_the_mark(void **state)
{
	struct image_port strong = ext_port(W4, W1 | W2 | W4 | W12, EDR, 15);
	struct image_port weak = ext_port(W4, W1 | W4, EDR, 3);
	struct audit audit;

	(void)state;
	one_link(&audit, &strong, &weak);
	assert_int_equal(audit.findings.count, 0);
	done(&audit);
	strong.ext_active = weak.ext_active = FDR;
	one_link(&audit, &weak, &strong);
	assert_int_equal(audit.findings.count, 1);
	assert_string_equal(audit.findings.items[0].wanted, "EDR");
	done(&audit);
}

/* 2x has the raw code 16, above that of 12x, and is the narrower one all the same. */
static void test_2x_is_below_4x(void **state)
{
	struct image_port port = ext_port(W2, W1 | W2 | W4, HDR, 7);
	struct audit audit;

	(void)state;
	one_link(&audit, &port, &port);
	assert_int_equal(audit.findings.count, 1);
	assert_string_equal(audit.findings.items[0].wanted, "4x");
	assert_string_equal(audit.findings.items[0].got, "2x");
	assert_string_equal(audit.findings.items[0].detail, "100 of 200 Gb/s, 100 lost");
	done(&audit);
}

/* Both are told, with what the link loses in all; it counts as one slow link. */
static void test_narrow_and_slow(void **state)
{
	struct image_port port = ext_port(W1, W1 | W4, FDR, 3);
	struct audit audit;

	(void)state;
	one_link(&audit, &port, &port);
	assert_int_equal(audit.findings.count, 2);
	assert_int_equal(audit.findings.items[0].code, FINDING_LINK_WIDTH_LOW);
	assert_int_equal(audit.findings.items[1].code, FINDING_LINK_SPEED_LOW);
	assert_string_equal(audit.findings.items[0].detail, "13.64 of 100 Gb/s, 86.36 lost");
	assert_string_equal(audit.findings.items[1].detail, "13.64 of 100 Gb/s, 86.36 lost");
	assert_int_equal(audit.result.links_slow, 1);
	done(&audit);
}

static void test_told_to_run_slow(void **state)
{
	struct image_port port = ext_port(W1, W1 | W4, FDR, 3), peer = port;
	struct audit audit;

	(void)state;
	port.width_enabled = W1; /* at one end only */
	peer.ext_enabled = FDR;
	one_link(&audit, &port, &peer);
	assert_int_equal(audit.findings.count, 2);
	assert_string_equal(audit.findings.items[0].detail,
			    "13.64 of 100 Gb/s, 86.36 lost; the ports have no more than 1x enabled");
	assert_string_equal(audit.findings.items[1].detail,
			    "13.64 of 100 Gb/s, 86.36 lost; the ports have no more than FDR enabled");
	done(&audit);
}

static void test_ends_that_disagree(void **state)
{
	struct image_port port = ext_port(W4, W1 | W4, EDR, 3), peer = ext_port(W1, W1 | W4, EDR, 3);
	struct audit audit;

	(void)state;
	for (unsigned i = 0; i < 2; i++) {
		one_link(&audit, i ? &peer : &port, i ? &port : &peer);
		assert_int_equal(audit.findings.count, 1);
		assert_string_equal(audit.findings.items[0].got, "1x");
		assert_string_equal(
			audit.findings.items[0].detail,
			i ? "25 of 100 Gb/s, 75 lost; the ends disagree: 1x here, 4x at the other end"
			  : "25 of 100 Gb/s, 75 lost; the ends disagree: 4x here, 1x at the other end");
		done(&audit);
	}
}

static void test_what_is_not_known_is_raw(void **state)
{
	struct image_port port = ext_port(W4, W1 | W4, EDR, 3), odd = port;
	struct audit audit;

	(void)state;
	odd.width_active = 32;
	one_link(&audit, &port, &odd);
	assert_int_equal(audit.findings.count, 1);
	assert_int_equal(audit.findings.items[0].code, FINDING_LINK_UNDECODED);
	assert_string_equal(audit.findings.items[0].what, "width");
	assert_string_equal(audit.findings.items[0].got, "raw 0x2 here, 0x20 at the other end");
	assert_int_equal(audit.result.links_unknown, 1);
	assert_int_equal(finding_exit(&audit.findings), IBQOS_EXIT_UNKNOWN);
	done(&audit);

	odd = port;
	odd.ext_active = 3; /* two bits: no speed */
	one_link(&audit, &odd, &port);
	assert_int_equal(audit.findings.count, 1);
	assert_string_equal(audit.findings.items[0].what, "speed");
	assert_string_equal(audit.findings.items[0].got, "raw 0x304 here, 0x204 at the other end");
	assert_int_equal(audit.result.links_unknown, 1);
	done(&audit);

	/* what is known is judged all the same */
	odd.width_active = W1;
	one_link(&audit, &odd, &port);
	assert_int_equal(audit.findings.count, 2);
	assert_int_equal(audit.findings.items[0].code, FINDING_LINK_WIDTH_LOW);
	assert_int_equal(audit.findings.items[1].code, FINDING_LINK_UNDECODED);
	done(&audit);
}

static void test_nothing_in_common(void **state)
{
	struct image_port port = ext_port(W4, W4, EDR, 3), peer = ext_port(W4, W1, EDR, 3);
	struct audit audit;

	(void)state;
	one_link(&audit, &port, &peer);
	assert_int_equal(audit.findings.count, 1);
	assert_int_equal(audit.findings.items[0].code, FINDING_LINK_UNDECODED);
	assert_non_null(strstr(audit.findings.items[0].detail, "support no width in common"));
	assert_int_equal(audit.result.links_unknown, 1);
	done(&audit);
}

/* Up but not Active: told, once a link, and the rate is judged all the same. */
static void test_up_but_not_active(void **state)
{
	struct image_port port = ext_port(W1, W1 | W4, EDR, 3), peer = port;
	struct audit audit;

	(void)state;
	port.state = FABRIC_STATE_INIT;
	peer.state = FABRIC_STATE_ARMED;
	one_link(&audit, &port, &peer);
	assert_int_equal(audit.findings.count, 2);
	assert_int_equal(audit.findings.items[0].code, FINDING_LINK_WIDTH_LOW);
	assert_int_equal(audit.findings.items[1].code, FINDING_LINK_NOT_ACTIVE);
	assert_string_equal(audit.findings.items[1].wanted, "Active");
	assert_string_equal(audit.findings.items[1].got, "Init here, Armed at the other end");
	assert_int_equal(audit.findings.items[1].severity, FINDING_WARNING);
	done(&audit);
	peer.state = FABRIC_STATE_INIT;
	one_link(&audit, &port, &peer);
	assert_string_equal(audit.findings.items[1].got, "Init");
	done(&audit);
}

/* IBA C14-24.2.1: the rest of PortInfo is not valid then. */
static void test_link_that_went_down(void **state)
{
	struct image_port port = ext_port(W1, W1 | W4, EDR, 3), peer = port;
	struct audit audit;

	(void)state;
	peer.phys_state = 6; /* LinkErrorRecovery */
	one_link(&audit, &port, &peer);
	assert_int_equal(audit.findings.count, 1);
	assert_int_equal(audit.findings.items[0].code, FINDING_LINK_NOT_ACTIVE);
	assert_string_equal(audit.findings.items[0].what, "PortPhysicalState");
	assert_string_equal(audit.findings.items[0].got, "LinkUp here, LinkErrorRecovery at the other end");
	assert_int_equal(audit.result.links, 0);
	assert_int_equal(audit.result.links_unknown, 1);
	done(&audit);
	peer.state = FABRIC_STATE_DOWN;
	peer.phys_state = 2;
	one_link(&audit, &peer, &port);
	assert_int_equal(audit.findings.count, 1);
	assert_int_equal(audit.result.links_unknown, 1);
	done(&audit);
}

/* The finding of an end that did not answer is that of the gap; here it is only counted. */
static void test_end_not_known(void **state)
{
	struct image_port port = ext_port(W1, W1 | W4, EDR, 3);
	uint8_t node_info[MAD_SMP_DATA];
	uint32_t leaf, spine, host;
	struct audit audit;

	(void)state;
	make_switches(&audit, &leaf, &spine);
	image_node_info(node_info, FABRIC_CA, 0x30, 1, 1);
	host = fabric_add_node(audit.fabric, node_info, NULL, NULL, NULL);
	put(audit.fabric, leaf, 1, &port);
	assert_int_equal(fabric_link(audit.fabric, leaf, 1, host, 1), 0);
	run(&audit);
	assert_int_equal(audit.result.links, 0);
	assert_int_equal(audit.result.links_unknown, 1);
	check_gaps(audit.fabric, &audit.findings);
	assert_int_equal(finding_count_code(&audit.findings, FINDING_PORT_INFO_MISSING), 1);
	done(&audit);
}

/* Mellanox ExtendedPortInfo: byte 7 LinkSpeedSupported, 11 Enabled, 15 Active; bit 0 is FDR10. */
static void fdr10_link(struct audit *audit, const struct image_port *port, bool active, bool both_ends)
{
	uint8_t info[MAD_SMP_DATA], ext_info[MAD_SMP_DATA] = {[7] = 1, [11] = 1, [15] = active};
	uint32_t leaf, spine;

	make_switches(audit, &leaf, &spine);
	image_port_info(info, port);
	assert_int_equal(fabric_port_seen(audit->fabric, leaf, 1, 0, info, ext_info), 0);
	assert_int_equal(fabric_port_seen(audit->fabric, spine, 1, 0, info, both_ends ? ext_info : NULL), 0);
	assert_int_equal(fabric_link(audit->fabric, leaf, 1, spine, 1), 0);
	run(audit);
}

static void test_fdr10(void **state)
{
	struct image_port port = old_port(W4, W1 | W4, 4, 7), narrow = old_port(W1, W1 | W4, 4, 7);
	struct audit audit;

	(void)state;
	fdr10_link(&audit, &port, true, true);
	assert_int_equal(audit.findings.count, 0);
	done(&audit);
	/* both can and neither does */
	fdr10_link(&audit, &port, false, true);
	assert_int_equal(audit.findings.count, 1);
	assert_string_equal(audit.findings.items[0].wanted, "FDR10");
	assert_string_equal(audit.findings.items[0].got, "QDR");
	assert_string_equal(audit.findings.items[0].detail, "32 of 40 Gb/s, 8 lost");
	done(&audit);
	/* the end of which 0xff90 was not asked calls FDR10 QDR: no slow link, no disagreement */
	fdr10_link(&audit, &port, true, false);
	assert_int_equal(audit.findings.count, 0);
	done(&audit);
	fdr10_link(&audit, &narrow, true, false);
	assert_int_equal(audit.findings.count, 1);
	assert_int_equal(audit.findings.items[0].code, FINDING_LINK_WIDTH_LOW);
	assert_string_equal(audit.findings.items[0].detail, "10 of 40 Gb/s, 30 lost");
	done(&audit);
}

/* By what is lost, whatever the kind: 75, 50, 22.7 and 16 Gb/s. */
static void test_worst_first(void **state)
{
	const struct image_port ports[] = {
		ext_port(W2, W1 | W2, FDR, 3),
		old_port(W4, W1 | W4 | W12, 1, 1),
		ext_port(W1, W1 | W4, EDR, 3),
		ext_port(W2, W1 | W4, EDR, 3),
	};
	static const unsigned order[] = {3, 4, 1, 2};
	uint32_t leaf, spine;
	struct audit audit;

	(void)state;
	make_switches(&audit, &leaf, &spine);
	for (unsigned i = 0; i < 4; i++) {
		put(audit.fabric, leaf, i + 1, &ports[i]);
		put(audit.fabric, spine, i + 1, &ports[i]);
		assert_int_equal(fabric_link(audit.fabric, leaf, i + 1, spine, i + 1), 0);
	}
	run(&audit);
	assert_int_equal(audit.findings.count, 4);
	for (unsigned i = 0; i < 4; i++)
		assert_int_equal(audit.findings.items[i].port, order[i]);
	assert_int_equal(audit.result.links, 4);
	assert_int_equal(audit.result.links_slow, 4);
	done(&audit);
}

/* Switches cabled to themselves, and a loopback plug in one port. */
static void test_links_to_oneself(void **state)
{
	struct image_port port = ext_port(W1, W1 | W4, EDR, 3);
	uint32_t leaf, spine;
	struct audit audit;

	(void)state;
	make_switches(&audit, &leaf, &spine);
	put(audit.fabric, leaf, 1, &port);
	put(audit.fabric, leaf, 2, &port);
	put(audit.fabric, spine, 9, &port);
	assert_int_equal(fabric_link(audit.fabric, leaf, 1, leaf, 2), 0);
	assert_int_equal(fabric_link(audit.fabric, spine, 9, spine, 9), 0);
	run(&audit);
	assert_int_equal(audit.findings.count, 2);
	assert_int_equal(audit.findings.items[0].peer_port, 2);
	assert_int_equal(audit.findings.items[1].peer_port, 9);
	assert_int_equal(audit.result.links_slow, 2);
	done(&audit);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_full_speed_of_every_generation),
		cmocka_unit_test(test_narrow_link_names_both_ends),
		cmocka_unit_test(test_slow_links_of_new_generations),
		cmocka_unit_test(test_the_weaker_end_sets_the_mark),
		cmocka_unit_test(test_2x_is_below_4x),
		cmocka_unit_test(test_narrow_and_slow),
		cmocka_unit_test(test_told_to_run_slow),
		cmocka_unit_test(test_ends_that_disagree),
		cmocka_unit_test(test_what_is_not_known_is_raw),
		cmocka_unit_test(test_nothing_in_common),
		cmocka_unit_test(test_up_but_not_active),
		cmocka_unit_test(test_link_that_went_down),
		cmocka_unit_test(test_end_not_known),
		cmocka_unit_test(test_fdr10),
		cmocka_unit_test(test_worst_first),
		cmocka_unit_test(test_links_to_oneself),
	};

	return cmocka_run_group_tests_name("audit", tests, NULL, NULL);
}
