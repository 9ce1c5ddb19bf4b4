/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The files' side of a plan: OpenSM's config and qos-policy file as they are and as they are to be.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "plan.h"

#include "ibqos/opensm_files.h"

#define NO_VALUE "(null)"       /* how OpenSM writes, and reads, a string that is not set */

/* Reads a file that may be missing: *text is NULL then. */
static int read_old(const char *path, char **text, size_t *size)
{
	int ret = file_read(path, text, size);

	if (ret != -ENOENT)
		return ret;
	*text = NULL;
	*size = 0;
	return 0;
}

/* --- checks of the old config --- */

/* Any engine of the list may be the one used: OpenSM takes the first that succeeds. */
static int check_routing(const struct plan *plan, const struct opensm_conf *conf,
			 struct finding_list *findings, bool *refused)
{
	const char *value = opensm_conf_get(conf, "routing_engine");
	char *list, *state;

	if (!value)
		return 0;
	list = strdup(value);
	if (!list)
		return -ENOMEM;
	for (char *engine = strtok_r(list, ", \t\r\n", &state); engine;
	     engine = strtok_r(NULL, ", \t\r\n", &state)) {
		struct finding *f;

		if (!opensm_engine_owns_sls(conf, engine))
			continue;
		f = finding_add(findings, FINDING_PLAN_ROUTING_OWNS_SL);
		finding_at(f, plan->conf_path, opensm_conf_line(conf, "routing_engine"), 0);
		finding_set(&f->what, "routing_engine");
		finding_set(&f->got, "%s", engine);
		if (strcasecmp(engine, "nue") == 0)
			finding_set(&f->detail, "nue_max_num_vls is %s: with 1 Nue leaves the SLs alone",
				    opensm_conf_get(conf, "nue_max_num_vls"));
		*refused = true;
	}
	free(list);
	return 0;
}

/* The SM's own traffic with its clients has an SL too (osm_subnet.c: sm_sl, default 0). */
static void check_sm_sl(const struct plan *plan, const struct opensm_conf *conf,
			struct finding_list *findings, bool *refused)
{
	const char *value = opensm_conf_get(conf, "sm_sl");
	unsigned long sl = value ? strtoul(value, NULL, 0) : 0;
	bool dropped = false;
	struct finding *f;

	for (int type = 0; sl < QOS_SLS && type < QOS_PORT_TYPES; type++)
		dropped |= type != QOS_PORT_RTR && plan->config.of[type].sl2vl.vl[sl] == QOS_VL_DROP;
	if (!dropped)
		return;
	f = finding_add(findings, FINDING_POLICY_DROP);
	finding_at(f, plan->conf_path, opensm_conf_line(conf, "sm_sl"), 0);
	finding_set(&f->what, "sm_sl");
	finding_set(&f->wanted, "an SL that a class has, or 0");
	finding_set(&f->got, "%s", value ? value : "0");
	finding_set(&f->detail, "packets between the SM and its clients would be dropped");
	*refused = true;
}

/*
 * A reload reads the whole file, so that somebody's edit of this key comes into force with the policy. A
 * file without the key changes nothing: what OpenSM has it at stays (osm_subnet.c:2295).
 */
static void check_bounce(const struct plan *plan, const struct fabric *fabric, const struct opensm_conf *conf,
			 unsigned flags, struct finding_list *findings, bool *refused)
{
	const char *value = opensm_conf_get(conf, "max_op_vls");
	unsigned long code = value ? strtoul(value, NULL, 0) : 0;
	char name[FABRIC_TEXT];
	uint32_t count, first;
	struct finding *f;

	if (code < 1 || code > 5) /* not set, or lint tells */
		return;
	count = plan_bounced(fabric, (unsigned)code, &first);
	if (count == 0)
		return;
	f = finding_at(finding_add(findings, FINDING_PLAN_LINK_BOUNCE), plan->conf_path,
		       opensm_conf_line(conf, "max_op_vls"), 0);
	finding_set(&f->what, "max_op_vls");
	finding_set(&f->wanted, "%u, as %s runs now", fabric_port_oper_vls(&fabric->ports[first]),
		    fabric_port_text(fabric, first, name, sizeof(name)));
	finding_set(&f->got, "%s", value);
	finding_set(&f->detail, "%u adapter %s", count, count == 1 ? "port" : "ports");
	if (flags & PLAN_ALLOW_BOUNCE)
		f->severity = FINDING_WARNING;
	else
		*refused = true;
}

/*
 * The qos-policy file that OpenSM reads: its config says which, and only a restart makes it look
 * at that key again. So the policy may name the same one, not another.
 */
static int choose_rules(const struct policy *policy, const struct opensm_conf *conf, struct plan *plan,
			struct finding_list *findings, bool *refused)
{
	const char *key = opensm_conf_get(conf, "qos_policy_file");
	const char *reads = key ? key : OPENSM_QOS_POLICY;
	const char *fault = NULL;
	struct finding *f;

	if (!plan->conf_old) /* nothing says yet what OpenSM reads */
		reads = policy->opensm_qos_policy ? policy->opensm_qos_policy : OPENSM_QOS_POLICY;
	else if (!*reads || strcmp(reads, NO_VALUE) == 0)
		fault = "OpenSM reads no qos-policy file at all";
	else if (*reads != '/')
		fault = "OpenSM looks for a relative path from the folder it was started in";
	else if (policy->opensm_qos_policy && strcmp(policy->opensm_qos_policy, reads) != 0)
		fault = key ? "" : "the key is not set, so OpenSM reads its default";
	if (fault) {
		f = finding_add(findings, FINDING_PLAN_POLICY_FILE);
		finding_at(f, plan->conf_path, opensm_conf_line(conf, "qos_policy_file"), 0);
		finding_set(&f->what, "qos_policy_file");
		finding_set(&f->wanted, "%s",
			    policy->opensm_qos_policy ? policy->opensm_qos_policy : OPENSM_QOS_POLICY);
		finding_set(&f->got, "%s", reads);
		if (*fault)
			finding_set(&f->detail, "%s", fault);
		*refused = true;
	}
	plan->rules_path = strdup(reads);
	return plan->rules_path ? 0 : -ENOMEM;
}

/*
 * The way from what OpenSM has programmed until now. Where QoS is off it has programmed nothing that
 * its config would tell. What is doubtful about the old values is not for a plan to say.
 */
static int check_mixture(const struct policy *policy, const struct fabric *fabric, const struct opensm_conf *conf,
			 struct plan *plan, struct finding_list *findings)
{
	struct finding_list doubts = {0};
	struct qos_config old;
	bool enabled;
	int ret = opensm_conf_get_qos(conf, plan->conf_path, &old, &enabled, &doubts);

	finding_list_clear(&doubts);
	return ret || !enabled ? ret : plan_mixture(policy, fabric, &old, plan, findings);
}

int plan_files(const struct policy *policy, const struct fabric *fabric, unsigned flags, struct plan *plan,
	       struct finding_list *findings, bool *refused)
{
	struct opensm_conf *conf = NULL;
	int ret;

	plan->conf_path = strdup(policy->opensm_config);
	if (!plan->conf_path)
		return -ENOMEM;
	ret = read_old(plan->conf_path, &plan->conf_old, &plan->conf_old_size);
	if (ret)
		return ret;
	if (!plan->conf_old)
		finding_at(finding_add(findings, FINDING_PLAN_CONFIG_MISSING), plan->conf_path, 0, 0);
	ret = opensm_conf_parse(plan->conf_old ? plan->conf_old : "", plan->conf_old_size, &conf);
	if (ret)
		return ret;
	ret = check_routing(plan, conf, findings, refused);
	if (ret)
		goto out;
	check_sm_sl(plan, conf, findings, refused);
	check_bounce(plan, fabric, conf, flags, findings, refused);
	ret = choose_rules(policy, conf, plan, findings, refused);
	if (ret || *refused)
		goto out;
	ret = read_old(plan->rules_path, &plan->rules_old, &plan->rules_old_size);
	if (!ret)
		ret = check_mixture(policy, fabric, conf, plan, findings);
	if (!ret)
		ret = opensm_conf_set_qos(conf, &plan->config);
	if (!ret)
		ret = opensm_conf_render(conf, &plan->conf_new, &plan->conf_new_size);
	if (!ret)
		ret = plan_rules(policy, fabric, plan, findings);
out:
	opensm_conf_free(conf);
	return ret;
}
