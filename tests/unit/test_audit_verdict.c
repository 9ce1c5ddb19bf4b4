/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * audit's verdicts: every combination of speed or width × what is enabled × what both can × what is expected ×
 * what could be once, from one table of rates; the expectation is by Gb/s, not by the bits that are compared.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>

#include "ibqos/audit.h"
#include "images.h"

/* A rung of a ladder: the bit, and its rate in a 4x link or at EDR in Gb/s; 0: not known, not given. */
struct rung {
	unsigned bit;
	double gbps;
};

static const struct rung speeds[] = {
	{0, 0}, {LINK_SDR, 8}, {LINK_DDR, 16}, {LINK_QDR, 32}, {LINK_FDR10, 40}, {LINK_FDR, 54.5}, {LINK_EDR, 100},
	{LINK_HDR, 200}, {LINK_NDR, 400}, {LINK_XDR, 800},
};
static const struct rung widths[] = {
	{0, 0}, {LINK_1X, 25}, {LINK_2X, 50}, {LINK_4X, 100}, {LINK_8X, 200}, {LINK_12X, 300},
};

static double least(double a, double b)
{
	return a < b ? a : b;
}

/* What must be told, in words of rates. */
static unsigned must_tell(double active, double enabled, double can, double expected, double now, double before)
{
	double goal = expected > 0 ? least(can, expected) : can;
	bool lost = now > 0 && before > now;
	unsigned told = 0;

	if (active > 0 && active < goal) /* a cause between the cable and the ports' settings */
		told |= enabled > 0 && enabled <= active ? LINK_TELL_LIMITED : LINK_TELL_LOW;
	if (lost)
		told |= LINK_TELL_LOST;
	if (active > 0 && expected > active && expected > can) /* the devices */
		told |= lost && before >= expected ? 0 : LINK_TELL_BELOW_POLICY;
	return told;
}

static unsigned must_be(double active, double enabled, double can, double expected, double now, double before)
{
	return (active > 0 && active < enabled ? LINK_BELOW_ENABLED : 0) |
	       (active > 0 && active < can ? LINK_BELOW_CAN : 0) |
	       (active > 0 && active < expected ? LINK_BELOW_EXPECTED : 0) | (now > 0 && now < before ? LINK_LOST : 0) |
	       (active > 0 && can > 0 ? 0 : LINK_UNKNOWN);
}

static unsigned try_ladder(const struct rung *r, unsigned n)
{
	unsigned tried = 0;

	for (unsigned i = 0; i < n * n * n * n * n; i++) {
		const struct rung *active = &r[i % n], *enabled = &r[i / n % n], *can = &r[i / n / n % n],
				  *expected = &r[i / n / n / n % n], *before = &r[i / n / n / n / n];
		struct link_levels levels = {active->bit, enabled->bit, can->bit, expected->bit, can->bit, before->bit};

		assert_int_equal(link_verdicts(&levels), must_be(active->gbps, enabled->gbps, can->gbps, expected->gbps,
								 can->gbps, before->gbps));
		assert_int_equal(link_tellings(&levels), must_tell(active->gbps, enabled->gbps, can->gbps,
								   expected->gbps, can->gbps, before->gbps));
		tried++;
	}
	return tried;
}

static void test_every_combination_of_speeds(void **state)
{
	(void)state;
	assert_int_equal(try_ladder(speeds, 10), 100000);
}

static void test_every_combination_of_widths(void **state)
{
	(void)state;
	assert_int_equal(try_ladder(widths, 6), 7776);
}

/* A link is told something exactly if it is slower than its measure, or a device has lost something. */
static void test_silence_is_health(void **state)
{
	(void)state;
	for (unsigned a = 1; a < 10; a++)
		for (unsigned c = 1; c < 10; c++)
			for (unsigned e = 0; e < 10; e++) {
				struct link_levels levels = {speeds[a].bit, speeds[c].bit, speeds[c].bit, speeds[e].bit, 0, 0};
				double goal = e ? speeds[e].gbps : speeds[c].gbps;

				if (a > c) /* a port runs what it supports */
					continue;
				assert_int_equal(link_tellings(&levels) != 0, speeds[a].gbps < goal);
			}
}

/* --- through PortInfo: each speed and width by its code (IBA 14.2.5.6), at a policy's expectation --- */

#define GATES 0xc000u /* CapabilityMask: extended speeds, CapabilityMask2 */
#define GATES2 0x1c30u

static const struct {
	unsigned legacy, ext, ext2; /* codes of an active speed; masks of what is supported are these and all below */
	unsigned bit;
} codes[] = {
	{1, 0, 0, LINK_SDR}, {2, 0, 0, LINK_DDR}, {4, 0, 0, LINK_QDR}, {4, 1, 0, LINK_FDR}, {4, 2, 0, LINK_EDR},
	{4, 4, 0, LINK_HDR}, {4, 8, 0, LINK_NDR}, {4, 0, 1, LINK_XDR},
};
#define CODES 8
static const struct {
	unsigned code, mask, bit; /* mask: what a device of that width supports */
} width_codes[] = {
	{1, 1, LINK_1X}, {16, 17, LINK_2X}, {2, 19, LINK_4X}, {4, 23, LINK_8X}, {8, 31, LINK_12X},
};
#define WIDTHS 5

static struct image_port port_of(unsigned speed, unsigned enabled, unsigned can, unsigned width, unsigned wide)
{
	unsigned ext_can = codes[can].ext2 ? 15 : codes[can].ext ? codes[can].ext * 2 - 1 : 0;
	unsigned ext_on = codes[enabled].ext2 ? 15 : codes[enabled].ext ? codes[enabled].ext * 2 - 1 : 0;

	return (struct image_port){
		.cap_mask = GATES,
		.cap_mask2 = GATES2,
		.width_active = width_codes[width].code,
		.width_supported = width_codes[wide].mask,
		.width_enabled = width_codes[wide].mask,
		.speed_active = codes[speed].legacy,
		.speed_supported = codes[can].legacy * 2 - 1,
		.speed_enabled = codes[enabled].legacy * 2 - 1,
		.ext_active = codes[speed].ext,
		.ext_supported = ext_can,
		.ext_enabled = ext_on ? ext_on : 30, /* 30: extended speeds are off */
		.ext2_active = codes[speed].ext2,
		.ext2_supported = codes[can].ext2,
		.ext2_enabled = codes[enabled].ext2,
	};
}

static void audit_one(const struct image_port *port, const struct policy *policy, struct finding_list *findings)
{
	const struct image_port port0 = {.lid = 1, .cap_mask = GATES, .cap_mask2 = GATES2};
	struct audit_options options = {.policy = policy};
	struct fabric *fabric = fabric_new("");
	struct audit_result result;
	uint8_t info[MAD_SMP_DATA];
	uint32_t a, b;

	assert_non_null(fabric);
	a = image_add_switch(fabric, "leaf", 0x10, 4, 1);
	b = image_add_switch(fabric, "spine", 0x20, 4, 2);
	image_port_info(info, &port0);
	assert_int_equal(fabric_port_seen(fabric, a, 0, 0, info, NULL), 0);
	assert_int_equal(fabric_port_seen(fabric, b, 0, 0, info, NULL), 0);
	image_port_info(info, port);
	assert_int_equal(fabric_port_seen(fabric, a, 1, 0, info, NULL), 0);
	assert_int_equal(fabric_port_seen(fabric, b, 1, 0, info, NULL), 0);
	assert_int_equal(fabric_link(fabric, a, 1, b, 1), 0);
	assert_int_equal(fabric_finish(fabric), 0);
	assert_int_equal(audit_links(fabric, &options, findings, &result), 0);
	assert_int_equal(result.links, 1);
	assert_int_equal(result.links_unknown, 0);
	fabric_free(fabric);
}

static size_t wanted_count(const struct finding_list *findings, unsigned tellings, bool width)
{
	size_t wrong = 0;

	wrong += finding_count_code(findings, width ? FINDING_LINK_WIDTH_LOW : FINDING_LINK_SPEED_LOW) !=
		 !!(tellings & LINK_TELL_LOW);
	wrong += finding_count_code(findings, width ? FINDING_LINK_WIDTH_LIMITED : FINDING_LINK_SPEED_LIMITED) !=
		 !!(tellings & LINK_TELL_LIMITED);
	wrong += finding_count_code(findings, width ? FINDING_LINK_WIDTH_BELOW_POLICY :
						      FINDING_LINK_SPEED_BELOW_POLICY) !=
		 !!(tellings & LINK_TELL_BELOW_POLICY);
	return wrong;
}

static unsigned rate_rank(unsigned bit) /* 0: none; the rates rise with the row */
{
	for (unsigned i = 0; i < CODES; i++)
		if (codes[i].bit == bit)
			return i + 1;
	return 0;
}

static void test_speeds_and_widths_as_ports_tell_them(void **state)
{
	unsigned tried = 0;

	(void)state;
	for (unsigned can = 0; can < CODES; can++)
		for (unsigned on = 0; on <= can; on++)
			for (unsigned speed = 0; speed <= on; speed++)
				for (unsigned wide = 0; wide < WIDTHS; wide++)
					for (unsigned width = 0; width <= wide; width++)
						for (unsigned expected = 0; expected <= CODES; expected++) {
							unsigned bit = expected ? codes[expected - 1].bit : 0;
							struct policy_link_class class = {.name = (char *)"all", .speed = bit};
							struct policy policy = {.link_classes = &class, .link_class_count = 1};
							struct image_port port = port_of(speed, on, can, width, wide);
							struct finding_list findings = {0};

							audit_one(&port, &policy, &findings);
							assert_int_equal(wanted_count(&findings,
										      must_tell(speed + 1, on + 1, can + 1,
												rate_rank(bit), 0, 0),
										      false),
									 0);
							assert_int_equal(wanted_count(&findings,
										      must_tell(width + 1, wide + 1, wide + 1,
												0, 0, 0),
										      true),
									 0);
							finding_list_clear(&findings);
							tried++;
						}
	/* triples of speeds in order: C(10, 3); pairs of widths: C(6, 2) */
	assert_int_equal(tried, 120 * 15 * 9);
}

static void test_dates(void **state)
{
	static const char *const bad[] = {"2026-02-29", "2026-13-01", "2026-1-01", "2026-00-10", "26-01-01", "2026-01-01 ",
					  "1969-12-31", "", "2026-04-31", "2100-02-29"};
	char text[POLICY_DATE_TEXT];
	unsigned days;

	(void)state;
	for (unsigned i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_int_equal(policy_date_of(bad[i], &days), -EINVAL);
	assert_int_equal(policy_date_of("1970-01-01", &days), 0);
	assert_int_equal(days, 0);
	assert_int_equal(policy_date_of("2000-02-29", &days), 0);
	assert_int_equal(days, 11016); /* date -d 2000-02-29 +%s / 86400 */
	assert_string_equal(policy_date_text(days, text), "2000-02-29");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_combination_of_speeds),
		cmocka_unit_test(test_every_combination_of_widths),
		cmocka_unit_test(test_silence_is_health),
		cmocka_unit_test(test_speeds_and_widths_as_ports_tell_them),
		cmocka_unit_test(test_dates),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
