/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The OpenSM that is to reload the files: that it is the right one, and that no option of its command
 * line, which no file shows, undoes what the plan found in its config.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "ibqos/opensm_files.h"
#include "transaction.h"

/*
 * An OpenSM in a container is found by its config, but may see another file where the rules are
 * written, and write its log elsewhere.
 */
static bool same_files(struct transaction *t)
{
	struct finding *f;

	if (t->sm.log && opensm_sees(&t->sm, t->sm.log) == 0) {
		free(t->sm.log);
		t->sm.log = NULL;
	}
	if (opensm_sees(&t->sm, t->rules.path) != 0)
		return true;
	f = finding_at(finding_add(t->findings, FINDING_APPLY_OTHER_ROOT), t->rules.path, 0, 0);
	finding_set(&f->got, "OpenSM, process %d, sees another file of that name", (int)t->sm.pid);
	return false;
}

static struct finding *tell_option(struct transaction *t, enum finding_code code, const char *option)
{
	struct finding *f = finding_at(finding_add(t->findings, code), t->conf.path, 0, 0);

	finding_set(&f->what, "option %s of OpenSM, process %d", option, (int)t->sm.pid);
	return f;
}

/* --- which engine routes: -R goes before the config for good (main.c:1029) --- */

static bool engine_owns(const struct transaction *t, const struct opensm_conf *conf, const char *engine)
{
	if (strcasecmp(engine, "nue") == 0 && t->sm.nue_vls)
		return strtoul(t->sm.nue_vls, NULL, 0) != 1;
	return opensm_engine_owns_sls(conf, engine);
}

static bool check_engines(struct transaction *t, const struct opensm_conf *conf)
{
	const char *value = t->sm.routing_engine ? t->sm.routing_engine : opensm_conf_get(conf, "routing_engine");
	char *list, *state;
	bool go = true;

	if (!value || (!t->sm.routing_engine && !t->sm.nue_vls)) /* all is in the config: the plan has looked */
		return true;
	list = strdup(value);
	if (!list)
		t->findings->lost = true;
	for (char *engine = list ? strtok_r(list, ", \t\r\n", &state) : NULL; engine;
	     engine = strtok_r(NULL, ", \t\r\n", &state)) {
		struct finding *f;

		if (!engine_owns(t, conf, engine))
			continue;
		f = tell_option(t, FINDING_PLAN_ROUTING_OWNS_SL, t->sm.routing_engine ? "-R" : "--nue_max_num_vls");
		finding_set(&f->got, "%s%s%s", engine, t->sm.nue_vls ? ", nue_max_num_vls " : "",
			    t->sm.nue_vls ? t->sm.nue_vls : "");
		go = false;
	}
	free(list);
	return go;
}

/* --- the rest --- */

/* -Y is the file that is read, whatever the config says (main.c:976). */
static bool check_rules_file(struct transaction *t)
{
	struct finding *f;

	if (!t->sm.qos_policy || opensm_means(&t->sm, t->sm.qos_policy, t->rules.path) == 1)
		return true;
	f = tell_option(t, FINDING_PLAN_POLICY_FILE, "-Y");
	finding_set(&f->wanted, "%s", t->rules.path);
	finding_set(&f->got, "%s", t->sm.qos_policy);
	return false;
}

/* Packets of the SM have this SL until the config's `sm_sl` changes. */
static bool check_sm_sl(struct transaction *t, const struct qos_config *config)
{
	unsigned long sl = t->sm.sm_sl ? strtoul(t->sm.sm_sl, NULL, 0) : 0;
	bool dropped = false;
	struct finding *f;

	for (int type = 0; sl < QOS_SLS && type < QOS_PORT_TYPES; type++)
		dropped |= type != QOS_PORT_RTR && config->of[type].sl2vl.vl[sl] == QOS_VL_DROP;
	if (!t->sm.sm_sl || !dropped)
		return true;
	f = tell_option(t, FINDING_POLICY_DROP, "--sm_sl");
	finding_set(&f->wanted, "an SL that a class has, or 0");
	finding_set(&f->got, "%lu", sl);
	finding_set(&f->detail, "packets between the SM and its clients would be dropped");
	return false;
}

/* The option counts only until the file's `qos` changes, which it now does; back on FALSE it is off. */
static void check_qos(struct transaction *t, const struct opensm_conf *conf)
{
	const char *qos = opensm_conf_get(conf, "qos");
	struct finding *f;

	if (!t->sm.qos || (qos && strcmp(qos, "TRUE") == 0))
		return;
	f = tell_option(t, FINDING_OPENSM_QOS_OPTION, "-Q");
	f->line = opensm_conf_line(conf, "qos");
	finding_set(&f->wanted, "qos TRUE in the config");
	finding_set(&f->got, "%s", qos ? qos : "not set");
}

static int parse(const struct text *text, struct opensm_conf **conf)
{
	return opensm_conf_parse(text->text ? text->text : "", text->size, conf);
}

/* What the new config programs; doubts about values are not for here. */
static int new_tables(const struct transaction *t, struct qos_config *config)
{
	struct finding_list doubts = {0};
	struct opensm_conf *conf = NULL;
	bool enabled;
	int error = parse(&t->conf.new, &conf);

	if (error == 0)
		error = opensm_conf_get_qos(conf, t->conf.path, config, &enabled, &doubts);
	finding_list_clear(&doubts);
	opensm_conf_free(conf);
	return error;
}

/* On the way back to what was there the old state is not judged. */
static bool check_options(struct transaction *t)
{
	struct opensm_conf *conf = NULL;
	struct qos_config config;
	bool go = true;
	int error = t->undo ? 0 : parse(&t->conf.now, &conf);

	if (!t->undo && error == 0)
		error = new_tables(t, &config);
	if (!t->undo && error == 0) {
		go = check_engines(t, conf);
		go &= check_rules_file(t);
		go &= check_sm_sl(t, &config);
		check_qos(t, conf);
	}
	if (error != 0)
		t->findings->lost = true;
	opensm_conf_free(conf);
	return go && error == 0;
}

static bool find_opensm(struct transaction *t)
{
	const char *config = t->conf.path;
	int error = opensm_find(t->ctx, config, &t->sm);
	char *others = NULL;
	struct finding *f;

	if (error == 0)
		return true;
	f = finding_add(t->findings, error == -EMLINK ? FINDING_OPENSM_AMBIGUOUS : FINDING_OPENSM_NOT_RUNNING);
	finding_at(f, config, 0, 0);
	if (error == -ENOENT)
		finding_set(&f->got, "an OpenSM runs, but with another config file or none");
	else if (error == -ESRCH)
		finding_set(&f->got, "no process named opensm");
	else if (error != -EMLINK)
		finding_set(&f->got, "%s", strerror(-error));
	if (error == -ENOENT || error == -EMLINK)
		others = opensm_others(t->ctx);
	if (others)
		finding_set(&f->detail, "%s", others);
	free(others);
	return false;
}

bool preflight_opensm(struct transaction *t)
{
	bool go;

	if (!find_opensm(t))
		return false;
	go = same_files(t);
	return check_options(t) && go;
}
