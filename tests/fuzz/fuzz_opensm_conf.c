/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Any bytes as opensm.conf: rendered back byte by byte; a key that was set reads back and nothing
 * else changed its value; the QoS keys that were set are those that are got.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"
#include "ibqos/opensm.h"

static struct opensm_conf *parse(const char *text, size_t size)
{
	struct opensm_conf *conf;

	require(opensm_conf_parse(text, size, &conf) == 0);
	return conf;
}

static struct opensm_conf *rendered(const struct opensm_conf *conf)
{
	struct opensm_conf *again;
	char *text;
	size_t size;

	require(opensm_conf_render(conf, &text, &size) == 0);
	again = parse(text, size);
	free(text);
	return again;
}

static void same_value(const struct opensm_conf *a, const struct opensm_conf *b, const char *key)
{
	const char *value_a = opensm_conf_get(a, key), *value_b = opensm_conf_get(b, key);

	require(!value_a == !value_b && (!value_a || strcmp(value_a, value_b) == 0));
	require(opensm_conf_line(a, key) == opensm_conf_line(b, key));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct opensm_conf *conf = parse((const char *)data, size), *before = parse((const char *)data, size),
			   *again;
	struct finding_list findings = {0};
	struct qos_config config = {0}, got = {0};
	bool enabled;
	char *text;
	size_t length;

	require(opensm_conf_render(conf, &text, &length) == 0);
	require(length == size && (size == 0 || memcmp(text, data, size) == 0));
	free(text);

	require(opensm_conf_set(conf, "k", "v w") == 0);
	require(strcmp(opensm_conf_get(conf, "k"), "v w") == 0);
	again = rendered(conf);
	same_value(conf, again, "k");
	same_value(before, again, "qos");
	same_value(before, again, "a");
	opensm_conf_free(again);

	/* whatever OpenSM reads from these bytes, written by us it reads the same, and without doubt */
	require(opensm_conf_get_qos(conf, "f", &config, &enabled, &findings) == 0);
	finding_list_clear(&findings);
	require(opensm_conf_set_qos(conf, &config) == 0);
	again = rendered(conf);
	require(opensm_conf_get_qos(again, "f", &got, &enabled, &findings) == 0);
	require(enabled && findings.count == 0);
	for (unsigned type = 0; type < QOS_PORT_TYPES; type++) {
		require(config.of[type].high_limit == got.of[type].high_limit);
		require(qos_sl2vl_equal(&config.of[type].sl2vl, &got.of[type].sl2vl));
		require(memcmp(config.of[type].low.entry, got.of[type].low.entry,
			       sizeof(got.of[type].low.entry)) == 0);
		require(memcmp(config.of[type].high.entry, got.of[type].high.entry,
			       sizeof(got.of[type].high.entry)) == 0);
	}
	same_value(conf, again, "k");
	opensm_conf_free(again);
	opensm_conf_free(before);
	opensm_conf_free(conf);
	finding_list_clear(&findings);
	return 0;
}
