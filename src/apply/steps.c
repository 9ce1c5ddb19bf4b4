/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The tables that ports go through on the way to the new ones.
 *
 * Those of the plan, where a mixture of old and new tables would hold traffic up (src/policy/plan_mixture.c).
 *
 * And tables for OpenSM's memory. It sends a port a table only where that differs from the one it sent last;
 * to a port that it never sent any, which is all of them where it was started without QoS, it compares with
 * zeros (osm_qos.c:171-178, 283-290; osm_physp_init() clears them). An SL2VL table of zeros, all SLs on VL 0,
 * would never be sent. So another one goes first that nobody notices: one SL on VL 1, while VL 1 has weight. The SL
 * then goes back to VL 0 before VL 1 loses its weight, which makes three changes; each mixture of two tables
 * that follow each other has weight for every VL that an SL is mapped to. A high VL arbitration table of zeros
 * likewise is one with VL 1 of weight 0 first.
 */
#include <errno.h>
#include <stdlib.h>

#include "transaction.h"

#define AWAY_SL 15    /* least likely to be used: few programs choose an SL that high */
#define AWAY_VL 1
#define AWAY_WEIGHT 64 /* one packet of 4096 bytes */

void steps_clear(struct steps *steps)
{
	for (unsigned i = 0; i < STEPS_MAX; i++)
		free((char *)steps->conf[i].text);
	*steps = (struct steps){0};
}

/* --- configs --- */

static int parse(const struct text *text, struct opensm_conf **conf)
{
	return opensm_conf_parse(text->text ? text->text : "", text->text ? text->size : 0, conf);
}

int config_of(const struct text *text, const char *path, struct qos_config *config, bool *enabled)
{
	struct finding_list doubts = {0}; /* of the admin's own file, or of one of ours: no news */
	struct opensm_conf *conf = NULL;
	int error = parse(text, &conf);

	if (error == 0)
		error = opensm_conf_get_qos(conf, path, config, enabled, &doubts);
	opensm_conf_free(conf);
	finding_list_clear(&doubts);
	return error;
}

int conf_with_qos(const struct text *text, const char *qos, char **made, size_t *size)
{
	struct opensm_conf *conf = NULL;
	int error = parse(text, &conf);

	*made = NULL;
	if (error == 0)
		error = opensm_conf_set(conf, "qos", qos);
	if (error == 0)
		error = opensm_conf_render(conf, made, size);
	opensm_conf_free(conf);
	return error;
}

/* --- steps --- */

static int add_step(const struct plan *plan, const struct qos_config *config, struct steps *steps)
{
	const struct text new = {plan->conf_new, plan->conf_new_size};
	struct opensm_conf *conf = NULL;
	char *made = NULL;
	size_t size = 0;
	int error = parse(&new, &conf);

	if (error == 0)
		error = opensm_conf_set_qos(conf, config);
	if (error == 0)
		error = opensm_conf_render(conf, &made, &size);
	if (error == 0)
		steps->conf[steps->count++] = (struct text){made, size};
	opensm_conf_free(conf);
	return error;
}

static bool all_zero(const struct qos_sl2vl *map)
{
	for (unsigned sl = 0; sl < QOS_SLS; sl++)
		if (map->vl[sl] != 0)
			return false;
	return true;
}

/* False if there is no room for it. */
static bool give_weight(struct qos_vlarb *table, unsigned cap)
{
	for (unsigned i = 0; i < table->count; i++)
		if (table->entry[i].vl == AWAY_VL && table->entry[i].weight != 0)
			return true;
	if (table->count >= cap || table->count >= QOS_VLARB_BLOCK)
		return false;
	table->entry[table->count++] = (struct qos_vlarb_entry){AWAY_VL, AWAY_WEIGHT};
	return true;
}

static bool is_nothing(const struct qos_vlarb *table)
{
	for (unsigned i = 0; i < table->count; i++)
		if (table->entry[i].vl != 0 || table->entry[i].weight != 0)
			return false;
	return true;
}

/*
 * Whether tables are needed that OpenSM sends, and can be had. With one VL a VL 1 is VL 0; and a high table without
 * limit lets the low one starve.
 */
static bool steps_for_zeros(const struct plan *plan, struct qos_config *away, struct qos_config *home)
{
	bool needed = false;

	*home = plan->config;
	for (int type = 0; type < QOS_PORT_TYPES; type++) {
		struct qos_tables *tables = &home->of[type];
		bool zero = all_zero(&tables->sl2vl);

		if (zero && (tables->high_limit == QOS_HIGH_UNLIMITED || !give_weight(&tables->low, plan->vlarb_cap)))
			return false;
		needed |= zero || is_nothing(&tables->high);
		if (is_nothing(&tables->high)) {
			tables->high.entry[0] = (struct qos_vlarb_entry){AWAY_VL, 0};
			tables->high.count = 1;
		}
	}
	*away = *home;
	for (int type = 0; type < QOS_PORT_TYPES; type++)
		if (all_zero(&away->of[type].sl2vl))
			away->of[type].sl2vl.vl[AWAY_SL] = AWAY_VL;
	return needed && plan->vls > 1;
}

int steps_make(const struct plan *plan, struct steps *steps)
{
	const struct text old = {plan->conf_old, plan->conf_old_size};
	struct qos_config config, away, home;
	bool was_on = false;
	int error;

	*steps = (struct steps){0};
	if (plan->step) {
		steps->back = true;
		return add_step(plan, plan->step, steps);
	}
	error = config_of(&old, plan->conf_path, &config, &was_on);
	if (error != 0 || was_on || !steps_for_zeros(plan, &away, &home))
		return error;
	error = add_step(plan, &away, steps);
	return error ? error : add_step(plan, &home, steps);
}
