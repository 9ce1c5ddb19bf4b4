/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * What is to be known before a file is touched: which OpenSM this is, what it runs with, which others
 * there are, what of the fabric is not as its config says. Only looks: refusals are made of it elsewhere.
 */
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>

#include "survey.h"

#define CONSOLE_MS 3000 /* it answers from its main loop, which a sweep does not hold up */

static int copy(char **to, const char *text)
{
	free(*to);
	*to = text ? strdup(text) : NULL;
	return text && !*to ? -ENOMEM : 0;
}

/* --- the process --- */

/* Its console, where the config that is in place has one: a key that is read at the start only. */
static int ask_console(struct transaction *t, struct survey *s)
{
	struct apply_preflight *p = &t->result->preflight;
	unsigned port = opensm_console_port(&p->facts, s->conf);
	struct opensm_status status = {0};
	char *text = NULL;
	int error;

	if (port == 0)
		return 0;
	error = opensm_console_ask(port, "dump_conf", CONSOLE_MS, &text);
	if (error == 0)
		error = opensm_conf_parse(text, strlen(text), &s->running);
	free(text);
	if (error != 0) {
		ctx_info(t->ctx, "OpenSM's console on port %u does not answer: %s", port, strerror(-error));
		return error == -ENOMEM ? error : 0;
	}
	p->options_from = "its console";
	if (opensm_console_ask(port, "status", CONSOLE_MS, &text) == 0) {
		opensm_console_status(text, &status);
		free(text);
		if (status.port_guid)
			p->facts.port_guid = status.port_guid;
		if (status.engine)
			error = copy(&p->engine, status.engine);
	}
	opensm_status_clear(&status);
	return error;
}

static int look_at_process(struct transaction *t, struct survey *s)
{
	struct apply_preflight *p = &t->result->preflight;
	const char *log = t->log_path ? t->log_path : t->sm.log;
	const char *guid = s->conf ? opensm_conf_get(s->conf, "guid") : NULL;
	int error;

	if (t->sm.pidfd < 0)
		return 0;
	p->pid = (int)t->sm.pid;
	p->config_given = t->sm.config_given;
	error = copy(&p->config, t->sm.config);
	if (error == 0)
		error = copy(&p->log, log);
	if (error == 0)
		error = opensm_facts_read(&t->sm, log, &p->facts);
	if (error == 0)
		error = copy(&p->engine, p->facts.engine);
	if (error == 0)
		error = ask_console(t, s);
	if (error == 0 && p->facts.port_guid == 0 && guid)
		p->facts.port_guid = strtoull(guid, NULL, 0);
	return error;
}

/* --- the subnet managers --- */

/*
 * Whether an SM of the fabric is the process here: by the port GUID that it sits on. Its SMInfo names
 * that port; where it was not answered, the port that was asked is it.
 */
static enum preflight_answer is_here(const struct apply_preflight *p, const struct preflight_sm *sm)
{
	uint64_t guid = sm->seen.outcome == MAD_ANSWERED ? sm->seen.info.guid : sm->guid;

	if (p->pid == 0 || p->facts.port_guid == 0 || guid == 0)
		return PREFLIGHT_UNKNOWN;
	return guid == p->facts.port_guid ? PREFLIGHT_YES : PREFLIGHT_NO;
}

static int list_sms(struct transaction *t)
{
	struct apply_preflight *p = &t->result->preflight;
	const struct fabric *fabric = t->fabric;
	struct sm_seen *seen = NULL;
	uint32_t count = 0;
	int error = sm_list(t->source, fabric, &seen, &count);

	if (error == 0 && count > 0) {
		p->sms = calloc(count, sizeof(*p->sms));
		error = p->sms ? 0 : -ENOMEM;
	}
	for (uint32_t i = 0; i < count && error == 0; i++) {
		const struct fabric_port *port = &fabric->ports[seen[i].port];
		struct preflight_sm *sm = &p->sms[p->sm_count++];

		sm->seen = seen[i];
		sm->guid = port->guid;
		sm->master = fabric->sm_lid != 0 && fabric_port_lid(port) == fabric->sm_lid;
		sm->here = is_here(p, sm);
		sm->standby = !sm->master && sm->here != PREFLIGHT_YES;
		if (sm->master)
			p->master_here = sm->here;
		error = copy(&sm->name, fabric_port_node(fabric, seen[i].port)->name);
	}
	free(seen);
	return error;
}

/* --- the ports, against what OpenSM has been told so far --- */

static int look_for_drift(struct transaction *t, struct survey *s)
{
	struct apply_preflight *p = &t->result->preflight;
	struct finding_list doubts = {0};
	struct verify *verify = NULL;
	struct qos_config config;
	bool enabled = false;
	int error = s->conf ? opensm_conf_get_qos(s->conf, t->conf.path, &config, &enabled, &doubts) : 0;

	finding_list_clear(&doubts);
	if (error != 0 || !enabled)
		return error;
	error = verify_new(t->ctx, t->fabric, &config, &verify);
	if (error == 0)
		error = verify_run(verify, t->source, false);
	if (error == 0) {
		p->drift = *verify_result(verify);
		p->drift_known = true;
		error = keep_drift(t, verify);
	}
	verify_free(verify);
	return error;
}

/* --- room --- */

/* Bytes that may still be written where a path lies, or would lie; 0 if that cannot be told. */
static uint64_t room_at(const char *path)
{
	char folder[PATH_MAX];
	struct statvfs fs;
	char *slash;

	if (snprintf(folder, sizeof(folder), "%s", path) >= (int)sizeof(folder))
		return 0;
	while (statvfs(folder, &fs) != 0) {
		slash = strrchr(folder, '/');
		if (errno != ENOENT || !slash)
			return 0;
		slash[slash == folder] = '\0';
		if (slash == folder && statvfs(folder, &fs) != 0)
			return 0;
	}
	return (uint64_t)fs.f_bavail * fs.f_frsize;
}

static int name_files(struct transaction *t, struct survey *s)
{
	struct apply_preflight *p = &t->result->preflight;
	const char *paths[PREFLIGHT_FILES] = {t->conf.path, t->rules.path, p->facts.partitions, p->facts.prefix_routes};
	static const char *const keys[PREFLIGHT_FILES] = {NULL, NULL, "partition_config_file", "prefix_routes_file"};
	static const char *const defaults[PREFLIGHT_FILES] = {NULL, NULL, OPENSM_PARTITIONS, OPENSM_PREFIX_ROUTES};
	int error = 0;

	for (int i = 0; i < PREFLIGHT_FILES && error == 0; i++) {
		const char *path = paths[i];

		if (!path && s->conf)
			path = opensm_conf_get(s->conf, keys[i]);
		if (!path)
			path = defaults[i];
		if (!path || *path != '/') /* "(null)", or seen from the folder that it was started in */
			continue;
		error = copy(&p->files[i].path, path);
		p->files[i].room = room_at(path);
	}
	p->state_room = room_at(t->ctx->state_dir);
	return error;
}

int survey(struct transaction *t)
{
	struct survey s = {0};
	int error = 0;

	t->result->preflight.looked = true;
	t->result->preflight.gaps = t->fabric->gap_count;
	if (t->conf.now.text)
		error = opensm_conf_parse(t->conf.now.text, t->conf.now.size, &s.conf);
	if (error == 0)
		error = look_at_process(t, &s);
	if (error == 0)
		error = list_sms(t);
	if (error == 0)
		error = name_files(t, &s);
	if (error == 0)
		error = survey_files(t, &s);
	if (error == 0)
		error = look_for_drift(t, &s);
	if (error == 0)
		error = apply_digest(t->conf.new.text, t->conf.new.size, t->rules.new.text, t->rules.new.size,
				     t->result->preflight.digest);
	opensm_conf_free(s.conf);
	opensm_conf_free(s.running);
	return error;
}

int survey_master(struct transaction *t)
{
	struct survey s = {0};
	char *text = NULL;
	size_t size = 0;
	int error = opensm_find(t->ctx, t->conf.path, &t->sm);

	if (error != 0) /* it may run elsewhere */
		return error == -ENOMEM ? error : 0;
	error = file_read(t->conf.path, &text, &size);
	if (error == 0)
		error = opensm_conf_parse(text, size, &s.conf);
	free(text);
	if (error != -ENOMEM)
		error = look_at_process(t, &s);
	if (error == 0)
		error = list_sms(t);
	opensm_conf_free(s.conf);
	opensm_conf_free(s.running);
	return error;
}

void apply_preflight_clear(struct apply_preflight *p)
{
	free(p->config);
	free(p->log);
	free(p->engine);
	opensm_facts_clear(&p->facts);
	for (uint32_t i = 0; i < p->sm_count; i++)
		free(p->sms[i].name);
	free(p->sms);
	for (int i = 0; i < PREFLIGHT_FILES; i++)
		free(p->files[i].path);
	*p = (struct apply_preflight){0};
}

const char *preflight_role_name(enum preflight_role role)
{
	static const char *const names[] = {"opensm.conf", "qos-policy", "partitions", "prefix routes"};

	return names[role];
}
