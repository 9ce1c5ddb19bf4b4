/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The QoS keys of opensm.conf. Any tables set in any file are those that are got, without a doubt; set
 * twice, the bytes stay; no other key changes. Any value under a QoS key: the tables got are ones that a
 * port can hold, and set again they are got again. A list written with blanks before its numbers or in
 * hexadecimal is read as it stands and not doubted.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"
#include "ibqos/opensm.h"

#define KEYS_MAX 8
#define CA_KEY 1 /* of the sets below */

static const char *const sets[] = {"qos_", "qos_ca_", "qos_sw0_", "qos_swe_", "qos_rtr_"};
static const char *const kinds[] = {"high_limit", "vlarb_high", "vlarb_low", "sl2vl"};
#define SETS (sizeof(sets) / sizeof(sets[0]))
#define KINDS (sizeof(kinds) / sizeof(kinds[0]))

static struct opensm_conf *parse(const char *text, size_t size)
{
	struct opensm_conf *conf;

	require(opensm_conf_parse(text, size, &conf) == 0);
	return conf;
}

/* The tables of a file; how many values are doubted, each at a line of it. */
static size_t get(const struct opensm_conf *conf, struct qos_config *config, bool *enabled)
{
	struct finding_list findings = {0};
	size_t count;

	memset(config, 0x55, sizeof(*config));
	require(opensm_conf_get_qos(conf, "conf", config, enabled, &findings) == 0);
	count = findings.count;
	for (size_t i = 0; i < count; i++) {
		const struct finding *f = &findings.items[i];

		require(f->code == FINDING_OPENSM_VALUE_DOUBTFUL && f->line > 0 && f->what && f->wanted &&
			f->got);
		require(fuzz_printable(f->got, "") && fuzz_printable(f->detail, ""));
	}
	finding_list_clear(&findings);
	return count;
}

static void check_vlarb(const struct qos_vlarb *table)
{
	require(table->count <= QOS_VLARB_ENTRIES);
	for (unsigned i = 0; i < QOS_VLARB_ENTRIES; i++) {
		require(table->entry[i].vl < QOS_DATA_VLS);
		require(i < table->count || (table->entry[i].vl == 0 && table->entry[i].weight == 0));
	}
}

static void check_tables(const struct qos_config *config)
{
	for (unsigned type = 0; type < QOS_PORT_TYPES; type++) {
		check_vlarb(&config->of[type].high);
		check_vlarb(&config->of[type].low);
		for (unsigned sl = 0; sl < QOS_SLS; sl++)
			require(config->of[type].sl2vl.vl[sl] <= QOS_VL_DROP);
	}
}

/* An empty table is written as one entry of no weight. */
static bool same_vlarb(const struct qos_vlarb *a, const struct qos_vlarb *b)
{
	unsigned count_a = a->count ? a->count : 1, count_b = b->count ? b->count : 1;

	return count_a == count_b && memcmp(a->entry, b->entry, sizeof(a->entry)) == 0;
}

static void require_same(const struct qos_config *a, const struct qos_config *b)
{
	for (unsigned type = 0; type < QOS_PORT_TYPES; type++) {
		const struct qos_tables *x = &a->of[type], *y = &b->of[type];

		require(x->high_limit == y->high_limit && qos_sl2vl_equal(&x->sl2vl, &y->sl2vl));
		require(same_vlarb(&x->high, &y->high) && same_vlarb(&x->low, &y->low));
	}
}

/* Sets tables in a file, and gets them from the bytes of that. */
static void check_set(struct opensm_conf *conf, const struct qos_config *config)
{
	struct qos_config got;
	struct opensm_conf *again;
	char *text, *twice;
	size_t size, size_twice;
	bool enabled;

	require(opensm_conf_set_qos(conf, config) == 0);
	require(opensm_conf_render(conf, &text, &size) == 0);
	again = parse(text, size);
	require(get(again, &got, &enabled) == 0 && enabled);
	require_same(config, &got);
	require(opensm_conf_set_qos(again, config) == 0);
	require(opensm_conf_render(again, &twice, &size_twice) == 0);
	require(size == size_twice && memcmp(text, twice, size) == 0);
	free(text);
	free(twice);
	opensm_conf_free(again);
}

/* --- tables from the input, in a file from the input --- */

static void fill_vlarb(struct fuzz *in, struct qos_vlarb *table)
{
	memset(table, 0, sizeof(*table));
	table->count = fuzz_below(in, QOS_VLARB_ENTRIES + 1);
	for (unsigned i = 0; i < table->count; i++) {
		table->entry[i].vl = (uint8_t)fuzz_below(in, QOS_DATA_VLS);
		table->entry[i].weight = (uint8_t)fuzz_byte(in);
	}
}

static void tables_in_file(struct fuzz *in)
{
	static const char *const others[] = {"max_op_vls", "qos_max_vls", "sm_sl", "qos_policy_file", "a"};
	struct qos_config config;
	struct opensm_conf *conf, *before;

	for (unsigned type = 0; type < QOS_PORT_TYPES; type++) {
		struct qos_tables *tables = &config.of[type];

		tables->high_limit = (uint8_t)fuzz_byte(in);
		for (unsigned sl = 0; sl < QOS_SLS; sl++)
			tables->sl2vl.vl[sl] = (uint8_t)fuzz_below(in, QOS_SLS);
		fill_vlarb(in, &tables->high);
		fill_vlarb(in, &tables->low);
	}
	conf = parse((const char *)in->at, in->left);
	before = parse((const char *)in->at, in->left);
	check_set(conf, &config);
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
		const char *a = opensm_conf_get(before, others[i]), *b = opensm_conf_get(conf, others[i]);

		require(!a == !b && (!a || strcmp(a, b) == 0));
		require(opensm_conf_line(before, others[i]) == opensm_conf_line(conf, others[i]));
	}
	opensm_conf_free(before);
	opensm_conf_free(conf);
}

/* --- values from the input --- */

static void values(struct fuzz *in)
{
	unsigned count = 1 + fuzz_below(in, KEYS_MAX);
	struct qos_config config;
	struct opensm_conf *conf;
	char *text = NULL;
	size_t size;
	bool enabled;
	FILE *out = open_memstream(&text, &size);

	require(out);
	for (unsigned i = 0; i < count; i++) {
		unsigned set = fuzz_below(in, SETS), kind = fuzz_below(in, KINDS);
		char *value = fuzz_text(in, 300);

		fprintf(out, "%s%s %s\n", sets[set], kinds[kind], value);
		free(value);
	}
	require(fclose(out) == 0);
	conf = parse(text, size);
	get(conf, &config, &enabled);
	require(!enabled || opensm_conf_get(conf, "qos"));
	check_tables(&config);
	check_set(conf, &config);
	opensm_conf_free(conf);
	free(text);
}

/* --- a value built so that it is known how it reads --- */

/* A number as text; `odd`: in a way that a person reads the same but may well be doubted. */
static void put_number(FILE *out, unsigned number, bool odd)
{
	fprintf(out, odd ? " 0x%x" : "%u", number);
}

static void written_well(struct fuzz *in)
{
	bool odd = fuzz_bit(in), sl2vl = fuzz_bit(in), enabled;
	unsigned count = sl2vl ? QOS_SLS : 1 + fuzz_below(in, QOS_VLARB_ENTRIES);
	struct qos_tables wanted = {.low.count = count};
	struct qos_config config;
	struct opensm_conf *conf;
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	require(out);
	fprintf(out, "%s%s ", sets[CA_KEY], sl2vl ? "sl2vl" : "vlarb_low");
	for (unsigned i = 0; i < count; i++) {
		unsigned vl = fuzz_below(in, sl2vl ? 16 : 15), weight = fuzz_byte(in);

		if (i > 0)
			fputc(',', out);
		put_number(out, vl, odd);
		if (sl2vl) {
			wanted.sl2vl.vl[i] = (uint8_t)vl;
			continue;
		}
		fputc(':', out);
		put_number(out, weight, odd);
		wanted.low.entry[i] = (struct qos_vlarb_entry){(uint8_t)vl, (uint8_t)weight};
	}
	fputc('\n', out);
	require(fclose(out) == 0);
	conf = parse(text, size);
	require(get(conf, &config, &enabled) == 0); /* blanks before a number and 0x do no harm */
	if (sl2vl)
		require(qos_sl2vl_equal(&config.of[QOS_PORT_CA].sl2vl, &wanted.sl2vl));
	else
		require(same_vlarb(&config.of[QOS_PORT_CA].low, &wanted.low));
	opensm_conf_free(conf);
	free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz in = {data, size};

	switch (fuzz_below(&in, 4)) {
	case 0:
		tables_in_file(&in);
		break;
	case 1:
		written_well(&in);
		break;
	default:
		values(&in);
		break;
	}
	return 0;
}
