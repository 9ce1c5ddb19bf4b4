/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Width and speed from PortInfo images, every combination, gates and odd values. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <string.h>

#include "ibqos/link.h"
#include "images.h"

#define CAP_EXT (1u << 14)
#define CAP_MASK2 (1u << 15)
#define CAP2_XDR 0x1c30 /* 2x, HDR, NDR, extended speeds 2, XDR */

/* As devices of each speed fill PortInfo in: older fields say the best that they can express. */
static const struct speed_case {
	unsigned speed;
	const char *name;
	struct image_port info;
	unsigned vendor; /* 0xff90: LinkSpeedActive bit 0 */
	unsigned supported;
	double gbps_4x;
} speed_cases[] = {
	{LINK_SDR, "SDR", {.speed_supported = 1, .speed_active = 1}, 0, LINK_SDR, 8},
	{LINK_DDR, "DDR", {.speed_supported = 3, .speed_active = 2}, 0, LINK_SDR | LINK_DDR, 16},
	{LINK_QDR, "QDR", {.speed_supported = 7, .speed_active = 4}, 0, LINK_SDR | LINK_DDR | LINK_QDR, 32},
	{LINK_FDR10,
	 "FDR10",
	 {.speed_supported = 7, .speed_active = 4},
	 1,
	 LINK_SDR | LINK_DDR | LINK_QDR | LINK_FDR10,
	 40},
	{LINK_FDR,
	 "FDR",
	 {.speed_supported = 7, .speed_active = 4, .ext_supported = 1, .ext_active = 1},
	 0,
	 LINK_SDR | LINK_DDR | LINK_QDR | LINK_FDR,
	 54.545454},
	{LINK_EDR,
	 "EDR",
	 {.speed_supported = 7, .speed_active = 4, .ext_supported = 3, .ext_active = 2},
	 0,
	 LINK_SDR | LINK_DDR | LINK_QDR | LINK_FDR | LINK_EDR,
	 100},
	{LINK_HDR,
	 "HDR",
	 {.speed_supported = 7, .speed_active = 4, .ext_supported = 6, .ext_active = 4},
	 0,
	 LINK_SDR | LINK_DDR | LINK_QDR | LINK_EDR | LINK_HDR,
	 200},
	{LINK_NDR,
	 "NDR",
	 {.speed_supported = 1, .speed_active = 0, .ext_supported = 14, .ext_active = 8},
	 0,
	 LINK_SDR | LINK_EDR | LINK_HDR | LINK_NDR,
	 400},
	{LINK_XDR,
	 "XDR",
	 {.speed_supported = 1, .ext_supported = 12, .ext2_supported = 1, .ext2_active = 1},
	 0,
	 LINK_SDR | LINK_HDR | LINK_NDR | LINK_XDR,
	 800},
};

static const struct {
	unsigned width, raw, lanes;
	const char *name;
} width_cases[] = {
	{LINK_1X, 1, 1, "1x"}, {LINK_2X, 16, 2, "2x"},   {LINK_4X, 2, 4, "4x"},
	{LINK_8X, 4, 8, "8x"}, {LINK_12X, 8, 12, "12x"},
};
#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* A switch (port 1) cabled to a host; gates are on port 0 and on the host's port. */
struct pair {
	struct fabric *fabric;
	uint32_t sw, host;
};

static struct pair make(const struct image_port *image, unsigned vendor, uint32_t cap_mask,
			uint16_t cap_mask2)
{
	struct pair pair = {.fabric = fabric_new("")};
	uint32_t sw = image_add_switch(pair.fabric, "s", 0x20, 2, 1),
		 host = image_add_host(pair.fabric, "h", 0x10, 2);
	uint8_t info[MAD_SMP_DATA], ext[MAD_SMP_DATA] = {0};
	struct image_port host_image = *image;

	ext[7] = ext[11] = ext[15] = vendor;
	ext[6] = ext[14] = 0xff; /* next to the fields, not in them */
	image_port_info(info, &(struct image_port){.lid = 1, .cap_mask = cap_mask, .cap_mask2 = cap_mask2});
	assert_int_equal(fabric_port_seen(pair.fabric, sw, 0, 0, info, NULL), 0);
	image_port_info(info, image);
	assert_int_equal(fabric_port_seen(pair.fabric, sw, 1, 0, info, vendor ? ext : NULL), 0);
	host_image.cap_mask = cap_mask;
	host_image.cap_mask2 = cap_mask2;
	image_port_info(info, &host_image);
	assert_int_equal(fabric_port_seen(pair.fabric, host, 1, 0, info, vendor ? ext : NULL), 0);
	assert_int_equal(fabric_link(pair.fabric, sw, 1, host, 1), 0);
	assert_int_equal(fabric_finish(pair.fabric), 0);
	pair.sw = fabric_node_port(pair.fabric, fabric_find_node(pair.fabric, 0x20), 1);
	pair.host = fabric_node_port(pair.fabric, fabric_find_node(pair.fabric, 0x10), 1);
	return pair;
}

static void every_speed_and_width(void **state)
{
	(void)state;
	for (unsigned s = 0; s < COUNT(speed_cases); s++) {
		for (unsigned w = 0; w < COUNT(width_cases); w++) {
			struct image_port image = speed_cases[s].info;
			struct link_state at[2];
			struct pair pair;

			image.width_active = width_cases[w].raw;
			image.width_supported = image.width_enabled = width_cases[w].raw | 1;
			image.speed_enabled = image.speed_supported;
			image.ext_enabled = image.ext_supported;
			image.ext2_enabled = image.ext2_supported;
			pair = make(&image, speed_cases[s].vendor, CAP_EXT | CAP_MASK2, CAP2_XDR);
			assert_true(link_decode(pair.fabric, pair.sw, &at[0]));
			assert_true(link_decode(pair.fabric, pair.host, &at[1]));
			for (unsigned end = 0; end < 2; end++) {
				assert_int_equal(at[end].speed_active, speed_cases[s].speed);
				assert_int_equal(at[end].speed_supported, speed_cases[s].supported);
				assert_int_equal(at[end].speed_enabled, speed_cases[s].supported);
				assert_int_equal(at[end].width_active, width_cases[w].width);
				assert_int_equal(at[end].width_supported, width_cases[w].width | LINK_1X);
				assert_int_equal(at[end].width_enabled, width_cases[w].width | LINK_1X);
				assert_int_equal(at[end].raw_width_active, width_cases[w].raw);
				assert_int_equal(at[end].raw_speed_active, image.speed_active |
										   image.ext_active << 8 |
										   image.ext2_active << 16);
			}
			fabric_free(pair.fabric);
		}
	}
}

static void names_lanes_and_rates(void **state)
{
	(void)state;
	for (unsigned s = 0; s < COUNT(speed_cases); s++) {
		assert_string_equal(link_speed_name(speed_cases[s].speed), speed_cases[s].name);
		for (unsigned w = 0; w < COUNT(width_cases); w++) {
			double wanted = speed_cases[s].gbps_4x / 4 * width_cases[w].lanes;

			assert_true(fabs(link_gbps(width_cases[w].width, speed_cases[s].speed) - wanted) <
				    1e-4);
		}
	}
	for (unsigned w = 0; w < COUNT(width_cases); w++) {
		assert_string_equal(link_width_name(width_cases[w].width), width_cases[w].name);
		assert_int_equal(link_width_lanes(width_cases[w].width), width_cases[w].lanes);
	}
	assert_string_equal(link_speed_name(0), "");
	assert_string_equal(link_width_name(0), "");
	assert_string_equal(link_speed_name(1 << 9), "");
	assert_string_equal(link_width_name(1 << 5), "");
	assert_int_equal(link_width_lanes(0), 0);
	assert_true(link_gbps(0, LINK_EDR) == 0);
	assert_true(link_gbps(LINK_4X, 0) == 0);
	assert_true(link_gbps(LINK_4X, 1 << 9) == 0);
	/* of sets the best */
	assert_string_equal(link_speed_name(LINK_SDR | LINK_EDR | LINK_QDR), "EDR");
	assert_string_equal(link_width_name(LINK_1X | LINK_2X), "2x");
	assert_true(link_gbps(LINK_1X | LINK_4X, LINK_SDR | LINK_NDR) == 400);
	assert_int_equal(link_best(0), 0);
	assert_int_equal(link_best(0x80000000u | 1), 0x80000000u);
	assert_int_equal(link_best(LINK_4X | LINK_2X), LINK_4X);
}

static void gates_of_a_switch_are_on_port_0(void **state)
{
	struct image_port image = {
		.speed_supported = 7, .speed_active = 4, .ext_supported = 3, .ext_active = 2};
	struct link_state at;
	struct pair pair = make(&image, 0, CAP_EXT, 0);

	(void)state;
	assert_true(link_decode(pair.fabric, pair.sw, &at)); /* its own CapabilityMask is 0 */
	assert_int_equal(at.speed_active, LINK_EDR);
	fabric_free(pair.fabric);
	image.cap_mask = CAP_EXT; /* on the port, but not on port 0 */
	pair = make(&image, 0, 0, 0);
	assert_true(link_decode(pair.fabric, pair.sw, &at));
	assert_int_equal(at.speed_active, LINK_QDR);
	assert_int_equal(at.speed_supported, LINK_SDR | LINK_DDR | LINK_QDR);
	assert_int_equal(at.raw_speed_active, 4 | 2 << 8);
	fabric_free(pair.fabric);
}

/* XDR needs all three: extended speeds, CapabilityMask2, extended speeds 2. */
static void gates_of_xdr(void **state)
{
	static const struct {
		uint32_t cap_mask;
		uint16_t cap_mask2;
		unsigned active, supported;
	} cases[] = {
		{CAP_EXT | CAP_MASK2, 0x0800, LINK_XDR, LINK_SDR | LINK_NDR | LINK_XDR},
		{CAP_EXT | CAP_MASK2, 0xf7ff, LINK_NDR, LINK_SDR | LINK_NDR},
		{CAP_EXT, 0x0800, LINK_NDR, LINK_SDR | LINK_NDR},
		{CAP_MASK2, 0x0800, LINK_SDR, LINK_SDR},
		{0, 0xffff, LINK_SDR, LINK_SDR},
	};
	struct image_port image = {.speed_supported = 1,
				   .speed_active = 1,
				   .ext_supported = 8,
				   .ext_active = 8,
				   .ext2_supported = 1,
				   .ext2_active = 1,
				   .ext2_enabled = 1};

	(void)state;
	for (unsigned i = 0; i < COUNT(cases); i++) {
		struct pair pair = make(&image, 0, cases[i].cap_mask, cases[i].cap_mask2);
		struct link_state at;

		assert_true(link_decode(pair.fabric, pair.host, &at));
		assert_int_equal(at.speed_active, cases[i].active);
		assert_int_equal(at.speed_supported, cases[i].supported);
		fabric_free(pair.fabric);
	}
}

static void unknown_gates_leave_speeds_unknown(void **state)
{
	struct fabric *f = fabric_new("");
	uint8_t node_info[MAD_SMP_DATA], info[MAD_SMP_DATA];
	struct link_state at;
	uint32_t sw;

	(void)state;
	image_node_info(node_info, FABRIC_SWITCH, 0x20, 2, 0);
	sw = fabric_add_node(f, node_info, NULL, NULL, NULL);
	image_port_info(info, &(struct image_port){.speed_active = 4, .speed_supported = 7, .ext_active = 2});
	fabric_port_seen(f, sw, 1, 0, info, NULL);
	image_port_info(info, &(struct image_port){.speed_active = 4, .speed_supported = 7});
	fabric_port_seen(f, sw, 2, 0, info, NULL);
	assert_int_equal(fabric_finish(f), 0);
	assert_true(link_decode(f, 1, &at));
	assert_int_equal(at.speed_active | at.speed_supported | at.speed_enabled, 0);
	assert_int_equal(at.raw_speed_active, 4 | 2 << 8);
	assert_int_equal(at.width_active, LINK_4X);
	assert_true(link_decode(f, 2, &at)); /* nothing behind the gates: they do not matter */
	assert_int_equal(at.speed_active, LINK_QDR);
	fabric_free(f);
}

/* Every raw active value of every field: decoded if in the table, else 0 with the raw value kept. */
static void every_raw_active_value(void **state)
{
	static const unsigned legacy[16] = {[1] = LINK_SDR, [2] = LINK_DDR, [4] = LINK_QDR};
	static const unsigned ext[16] = {[1] = LINK_FDR, [2] = LINK_EDR, [4] = LINK_HDR, [8] = LINK_NDR};
	static const unsigned ext2[4] = {[1] = LINK_XDR};

	(void)state;
	for (unsigned raw = 0; raw < 16 * 16 * 4; raw++) {
		struct image_port image = {
			.speed_active = raw & 15, .ext_active = raw >> 4 & 15, .ext2_active = raw >> 8};
		unsigned wanted = raw >> 8   ? ext2[raw >> 8]
				  : raw >> 4 ? ext[raw >> 4 & 15]
					     : legacy[raw & 15];
		struct pair pair = make(&image, 0, CAP_EXT | CAP_MASK2, CAP2_XDR);
		struct link_state at;

		assert_true(link_decode(pair.fabric, pair.sw, &at));
		assert_int_equal(at.speed_active, wanted);
		assert_int_equal(at.raw_speed_active,
				 image.speed_active | image.ext_active << 8 | image.ext2_active << 16);
		fabric_free(pair.fabric);
	}
	for (unsigned raw = 0; raw < 256; raw++) {
		struct image_port image = {.width_active = raw, .width_supported = 3, .width_enabled = 3};
		struct pair pair = make(&image, 0, 0, 0);
		struct link_state at;
		unsigned wanted = 0;

		for (unsigned w = 0; w < COUNT(width_cases); w++)
			wanted = raw == width_cases[w].raw ? width_cases[w].width : wanted;
		assert_true(link_decode(pair.fabric, pair.sw, &at));
		assert_int_equal(at.width_active, wanted);
		assert_int_equal(at.raw_width_active, raw);
		fabric_free(pair.fabric);
	}
}

static void enabled_values_that_stand_for_others(void **state)
{
	static const struct {
		struct image_port info;
		unsigned speeds, widths;
	} cases[] = {
		{{.speed_supported = 7, .speed_enabled = 15, .width_supported = 3, .width_enabled = 255},
		 LINK_SDR | LINK_DDR | LINK_QDR,
		 LINK_1X | LINK_4X},
		{{.speed_supported = 7,
		  .speed_enabled = 1,
		  .ext_supported = 7,
		  .ext_enabled = 31,
		  .width_supported = 27,
		  .width_enabled = 16},
		 LINK_SDR | LINK_FDR | LINK_EDR | LINK_HDR,
		 LINK_2X},
		{{.speed_supported = 7,
		  .speed_enabled = 4,
		  .ext_supported = 7,
		  .ext_enabled = 30,
		  .width_supported = 31,
		  .width_enabled = 31},
		 LINK_QDR,
		 LINK_1X | LINK_2X | LINK_4X | LINK_8X | LINK_12X},
		{{.speed_supported = 7,
		  .speed_enabled = 5,
		  .ext_supported = 15,
		  .ext_enabled = 15,
		  .width_supported = 2,
		  .width_enabled = 2},
		 LINK_SDR | LINK_QDR | LINK_FDR | LINK_EDR | LINK_HDR | LINK_NDR,
		 LINK_4X},
	};

	(void)state;
	for (unsigned i = 0; i < COUNT(cases); i++) {
		struct pair pair = make(&cases[i].info, 0, CAP_EXT, 0);
		struct link_state at;

		assert_true(link_decode(pair.fabric, pair.host, &at));
		assert_int_equal(at.speed_enabled, cases[i].speeds);
		assert_int_equal(at.width_enabled, cases[i].widths);
		fabric_free(pair.fabric);
	}
}

/* FDR10 is a vendor's word beside QDR only. */
static void fdr10(void **state)
{
	static const struct {
		struct image_port info;
		unsigned vendor, wanted;
	} cases[] = {
		{{.speed_active = 4}, 1, LINK_FDR10},
		{{.speed_active = 4}, 0xff, LINK_FDR10},
		{{.speed_active = 4}, 0xfe, LINK_QDR},
		{{.speed_active = 2}, 1, LINK_DDR},
		{{.speed_active = 4, .ext_active = 1}, 1, LINK_FDR},
	};

	(void)state;
	for (unsigned i = 0; i < COUNT(cases); i++) {
		struct pair pair = make(&cases[i].info, cases[i].vendor, CAP_EXT, 0);
		struct link_state at;

		assert_true(link_decode(pair.fabric, pair.sw, &at));
		assert_int_equal(at.speed_active, cases[i].wanted);
		assert_int_equal(at.speed_supported & LINK_FDR10, cases[i].vendor & 1 ? LINK_FDR10 : 0);
		fabric_free(pair.fabric);
	}
}

static void not_decoded(void **state)
{
	static const struct image_port images[] = {
		{.state = FABRIC_STATE_DOWN, .phys_state = 2, .speed_active = 4},
		{.state = FABRIC_STATE_DOWN, .phys_state = FABRIC_PHYS_LINK_UP, .speed_active = 4},
		{.state = FABRIC_STATE_ACTIVE, .phys_state = 6, .speed_active = 4}, /* error recovery */
	};
	struct link_state at;

	(void)state;
	for (unsigned i = 0; i < COUNT(images); i++) {
		struct pair pair = make(&images[i], 0, 0, 0);

		memset(&at, 0xff, sizeof(at));
		assert_false(link_decode(pair.fabric, pair.sw, &at));
		assert_int_equal(at.width_active | at.speed_active | at.raw_speed_active, 0);
		assert_false(link_decode(pair.fabric, pair.sw - 1, &at));   /* port 0 is no link */
		assert_false(link_decode(pair.fabric, pair.host - 1, &at)); /* never known */
		fabric_free(pair.fabric);
	}
	for (unsigned up = FABRIC_STATE_INIT; up <= FABRIC_STATE_ACTIVE; up++) {
		struct pair pair = make(&(struct image_port){.state = up, .speed_active = 4}, 0, 0, 0);

		assert_true(link_decode(pair.fabric, pair.sw, &at));
		fabric_free(pair.fabric);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_speed_and_width),
		cmocka_unit_test(names_lanes_and_rates),
		cmocka_unit_test(gates_of_a_switch_are_on_port_0),
		cmocka_unit_test(gates_of_xdr),
		cmocka_unit_test(unknown_gates_leave_speeds_unknown),
		cmocka_unit_test(every_raw_active_value),
		cmocka_unit_test(enabled_values_that_stand_for_others),
		cmocka_unit_test(fdr10),
		cmocka_unit_test(not_decoded),
	};

	return cmocka_run_group_tests_name("link", tests, NULL, NULL);
}
