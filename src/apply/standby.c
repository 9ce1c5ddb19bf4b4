/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Standby subnet managers. One that takes over pushes its own files to every port, so each must have
 * the same ones before the master's change: ibqos prints the commands, goes nowhere by itself, and believes
 * a hash. What was confirmed, and what was put off, is kept under the state directory (standby.json).
 */
#include <errno.h>
#include <json-c/json.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "survey.h"

#define RECORD "standby.json"

/* --- the record --- */

static char *record_path(const struct ibqos_ctx *ctx)
{
	char *path;

	return asprintf(&path, "%s/" RECORD, ctx->state_dir) < 0 ? NULL : path;
}

/* NULL: there is none, or it cannot be read, which is the same as none confirmed. */
static struct json_object *read_record(const struct ibqos_ctx *ctx)
{
	char *path = record_path(ctx), *text = NULL;
	struct json_object *record = NULL;
	size_t size;

	if (path && file_read(path, &text, &size) == 0)
		record = json_tokener_parse(text);
	free(text);
	free(path);
	if (record && !json_object_is_type(record, json_type_object)) {
		json_object_put(record);
		return NULL;
	}
	return record;
}

static const char *member(struct json_object *object, const char *key)
{
	struct json_object *value;

	return json_object_is_type(object, json_type_object) && json_object_object_get_ex(object, key, &value) &&
			       json_object_is_type(value, json_type_string)
		       ? json_object_get_string(value)
		       : NULL;
}

/* The entry of a port in the record, if the record is of this digest (NULL: of any). */
static struct json_object *entry_of(struct json_object *record, const char *guid, const char *digest)
{
	struct json_object *list;
	const char *of = member(record, "digest");

	if (!of || (digest && strcmp(of, digest) != 0) || !json_object_object_get_ex(record, "sms", &list) ||
	    !json_object_is_type(list, json_type_array))
		return NULL;
	for (size_t i = 0; i < json_object_array_length(list); i++) {
		struct json_object *entry = json_object_array_get_idx(list, i);
		const char *has = member(entry, "port_guid");

		if (has && strcmp(has, guid) == 0)
			return entry;
	}
	return NULL;
}

static bool is_confirmed(struct json_object *entry)
{
	struct json_object *value;

	return json_object_object_get_ex(entry, "confirmed", &value) && json_object_get_boolean(value);
}

static void guid_text(uint64_t guid, char text[24])
{
	snprintf(text, 24, "0x%016llx", (unsigned long long)guid);
}

/* Which standby has what; `digest`: of the files that are to be everywhere. */
static int write_record(const struct transaction *t, const char *digest, bool confirmed)
{
	const struct apply_preflight *p = &t->result->preflight;
	struct json_object *record = json_object_new_object(), *list = json_object_new_array();
	char *path = record_path(t->ctx), guid[24];
	const char *text;
	int error = -ENOMEM;

	for (uint32_t i = 0; i < p->sm_count; i++) {
		const struct preflight_sm *sm = &p->sms[i];
		struct json_object *entry;

		if (!sm->standby)
			continue;
		entry = json_object_new_object();
		guid_text(sm->guid, guid);
		json_object_object_add(entry, "port_guid", json_object_new_string(guid));
		json_object_object_add(entry, "node", sm->name ? json_object_new_string(sm->name) : NULL);
		json_object_object_add(entry, "confirmed", json_object_new_boolean(confirmed && sm->files == PREFLIGHT_CONFIRMED));
		json_object_array_add(list, entry);
	}
	json_object_object_add(record, "format", json_object_new_int(1));
	json_object_object_add(record, "opensm_conf", json_object_new_string(t->conf.path));
	json_object_object_add(record, "digest", json_object_new_string(digest));
	json_object_object_add(record, "sms", list);
	text = json_object_to_json_string_ext(record, JSON_C_TO_STRING_PRETTY);
	if (path && text)
		error = file_replace(path, text, strlen(text), 0644);
	json_object_put(record);
	free(path);
	return error;
}

/* --- judging --- */

/* A host's name as an admin says it: the first word of the node's name, all of it, or the port's GUID. */
static bool is_host(const struct preflight_sm *sm, const char *host)
{
	size_t length = strlen(host);
	uint64_t guid;

	if (text_to_u64(host, UINT64_MAX, &guid) == 0 && guid == sm->guid)
		return true;
	return sm->name && strncmp(sm->name, host, length) == 0 && (sm->name[length] == '\0' || sm->name[length] == ' ');
}

static struct finding *find_at_sm(struct transaction *t, const struct preflight_sm *sm, enum finding_code code)
{
	struct finding *f = finding_add(t->findings, code);

	f->guid = fabric_port_node(t->fabric, sm->seen.port)->guid;
	f->port = t->fabric->ports[sm->seen.port].number;
	finding_set(&f->name, "%s", sm->name ? sm->name : "");
	return f;
}

/* By what was said on the command line. False: it was the wrong hash. */
static bool by_options(struct transaction *t, struct preflight_sm *sm)
{
	const struct apply_options *o = t->options;

	for (size_t i = 0; i < o->standby_count; i++) {
		struct finding *f;

		if (!is_host(sm, o->standby[i].host))
			continue;
		if (strcasecmp(o->standby[i].digest, t->result->preflight.digest) == 0) {
			sm->files = PREFLIGHT_CONFIRMED;
			continue;
		}
		sm->files = PREFLIGHT_OPEN;
		f = find_at_sm(t, sm, FINDING_APPLY_STANDBY_DIFFERS);
		finding_set(&f->what, "SHA-256");
		finding_set(&f->wanted, "%s", t->result->preflight.digest);
		finding_set(&f->got, "%s", o->standby[i].digest);
		return false;
	}
	return true;
}

static bool judge_one(struct transaction *t, struct preflight_sm *sm, struct json_object *record)
{
	struct json_object *entry;
	char guid[24];

	guid_text(sm->guid, guid);
	entry = entry_of(record, guid, t->result->preflight.digest);
	if (entry)
		sm->files = is_confirmed(entry) ? PREFLIGHT_CONFIRMED : PREFLIGHT_LATER;
	if (!by_options(t, sm))
		return false;
	if (sm->files == PREFLIGHT_OPEN && t->options->standby_later)
		sm->files = PREFLIGHT_LATER;
	if (sm->files == PREFLIGHT_LATER)
		find_at_sm(t, sm, FINDING_APPLY_STANDBY_LATER);
	if (sm->files == PREFLIGHT_OPEN)
		find_at_sm(t, sm, FINDING_APPLY_STANDBY);
	return sm->files != PREFLIGHT_OPEN;
}

/* Somebody who mistypes a name has confirmed nothing. */
static bool know_hosts(struct transaction *t)
{
	const struct apply_preflight *p = &t->result->preflight;
	bool go = true;

	for (size_t i = 0; i < t->options->standby_count; i++) {
		bool known = false;
		struct finding *f;

		for (uint32_t at = 0; at < p->sm_count && !known; at++)
			known = p->sms[at].standby && is_host(&p->sms[at], t->options->standby[i].host);
		if (known)
			continue;
		f = finding_add(t->findings, FINDING_APPLY_STANDBY_NONE);
		finding_set(&f->got, "%s", t->options->standby[i].host);
		go = false;
	}
	return go;
}

bool judge_standbys(struct transaction *t)
{
	struct apply_preflight *p = &t->result->preflight;
	struct json_object *record = read_record(t->ctx);
	bool go = know_hosts(t);

	for (uint32_t i = 0; i < p->sm_count; i++)
		if (p->sms[i].standby)
			go &= judge_one(t, &p->sms[i], record);
	json_object_put(record);
	return go;
}

/* --- afterwards --- */

void settle_standbys(struct transaction *t)
{
	const struct apply_preflight *p = &t->result->preflight;
	const struct change_file *conf = &t->conf, *rules = &t->rules;
	bool new = t->result->outcome == APPLY_APPLIED || t->result->outcome == APPLY_LAGGING || t->result->outcome == APPLY_DRIFT_LEFT ||
		   t->result->outcome == APPLY_UNCHANGED || t->result->outcome == APPLY_DRIFTED;
	char digest[65];
	bool any = false, had_new = false;
	int error;

	if (t->result->outcome == APPLY_REFUSED)
		return;
	for (uint32_t i = 0; i < p->sm_count; i++) {
		any |= p->sms[i].standby;
		had_new |= p->sms[i].standby && (t->undo || p->sms[i].files == PREFLIGHT_CONFIRMED);
	}
	if (!any)
		return;
	error = new ? apply_digest(conf->new.text, conf->new.size, rules->new.text, rules->new.size, digest)
		    : apply_digest(conf->old.text, conf->old.size, rules->old.text, rules->old.size, digest);
	if (error == 0)
		error = write_record(t, digest, new);
	for (uint32_t i = 0; !new && had_new && i < p->sm_count; i++) {
		struct finding *f;

		if (!p->sms[i].standby)
			continue;
		f = find_at_sm(t, &p->sms[i], FINDING_APPLY_STANDBY_LATER);
		finding_set(&f->detail, "this OpenSM has the old files again, the standby perhaps the new ones");
	}
	if (error != 0)
		ctx_warn(t->ctx, "cannot keep in %s which standby has the files: %s", t->ctx->state_dir, strerror(-error));
}

void apply_standby_todo(const struct ibqos_ctx *ctx, const char *conf_path, struct finding_list *findings)
{
	struct json_object *record = read_record(ctx), *list;
	const char *of = member(record, "opensm_conf");

	if (of && strcmp(of, conf_path) == 0 && json_object_object_get_ex(record, "sms", &list) &&
	    json_object_is_type(list, json_type_array)) {
		for (size_t i = 0; i < json_object_array_length(list); i++) {
			struct json_object *entry = json_object_array_get_idx(list, i);
			const char *guid = member(entry, "port_guid"), *node = member(entry, "node");
			struct finding *f;

			if (!guid || is_confirmed(entry))
				continue;
			f = finding_add(findings, FINDING_APPLY_STANDBY_LATER);
			finding_set(&f->what, "%s, port GUID %s", node ? node : "a standby", guid);
		}
	}
	json_object_put(record);
}

/* --- what is to be done there --- */

const char *again(const struct transaction *t)
{
	return t->options->again ? t->options->again : "";
}

/* The first word of its name: what a host is called, as a rule. */
static char *host_of(const struct preflight_sm *sm)
{
	return sm->name && *sm->name ? strndup(sm->name, strcspn(sm->name, " ")) : strdup("HOST");
}

/* Standbys that this run was told of, but for the one that a command is about. */
static int tell_others(FILE *out, const struct transaction *t, const struct preflight_sm *but)
{
	for (size_t i = 0; i < t->options->standby_count; i++) {
		const struct apply_standby *standby = &t->options->standby[i];
		char *word;

		if (is_host(but, standby->host))
			continue;
		word = text_shell_word(standby->host);
		if (!word)
			return -ENOMEM;
		fprintf(out, " --standby %s:%s", word, standby->digest);
		free(word);
	}
	return 0;
}

/*
 * A host may run an OpenSM for each of several fabrics, and a SIGHUP brings what others have edited into force too: it is
 * for those alone that were started with this config. As OpenSM's getopt_long_only() takes it; without any it reads its default.
 */
void tell_reload_of(FILE *out, const char *conf)
{
	bool is_default = strcmp(conf, OPENSM_CONFIG) == 0;

	fprintf(out, "told=; for p in $(pidof opensm); do args=$(cat /proc/$p/cmdline 2>/dev/null | tr '\\0' '\\n'); "
		     "if printf '%%s\\n' \"$args\" | grep -qxF -e %s -e -F%s -e --config=%s -e -config=%s", conf, conf, conf, conf);
	if (is_default)
		fprintf(out, " || ! printf '%%s\\n' \"$args\" | grep -qE '^(-F|--?config)'");
	fprintf(out, "; then kill -HUP $p && told=$p; fi; done\n"
		     "[ \"$told\" ] || { echo not reloaded: no OpenSM was started with %s >&2; false; }\n", conf);
}

static int tell_one(FILE *out, const struct transaction *t, const struct preflight_sm *sm, const char *folder,
		    const char *policy)
{
	char *host = host_of(sm), *conf = text_shell_word(t->conf.path), *rules = text_shell_word(t->rules.path);
	char *command = apply_digest_command(t->conf.path), *append = NULL, *from = NULL, *word = NULL;
	int error = -ENOMEM;

	if (host && conf && rules && command && asprintf(&from, "%s", folder) >= 0 &&
	    asprintf(&append, "cp -p %s %s.before-ibqos && cat >>%s", conf, conf, conf) >= 0)
		word = text_shell_word(append);
	if (word) {
		fprintf(out, "# %s, port GUID 0x%016llx: if its files lie elsewhere, with other paths\n", sm->name ? sm->name : "standby",
			(unsigned long long)sm->guid);
		fprintf(out, "ssh %s %s <%s/qos-keys.conf\n", host, word, from);
		free(word);
		free(append);
		append = NULL;
		word = asprintf(&append, "cat >%s", rules) < 0 ? NULL : text_shell_word(append);
	}
	if (word) {
		fprintf(out, "ssh %s %s <%s/qos-policy.conf\n", host, word, from);
		fprintf(out, "ssh %s sh <<'EOF'\n", host);
		tell_reload_of(out, conf);
		fprintf(out, "EOF\n");
		fprintf(out, "ssh %s sh <<'EOF'    # it must print %s\n%s\nEOF\n", host, t->result->preflight.digest, command);
		fprintf(out, "ibqos apply --standby %s:%s", host, t->result->preflight.digest);
		error = tell_others(out, t, sm);
		fprintf(out, "%s %s\n", again(t), policy);
	}
	free(host);
	free(conf);
	free(rules);
	free(command);
	free(append);
	free(from);
	free(word);
	return error;
}

int tell_standbys(FILE *out, const struct transaction *t, const char *folder, const char *policy)
{
	const struct apply_preflight *p = &t->result->preflight;
	bool staged = folder;
	int error = 0;

	for (uint32_t i = 0; i < p->sm_count && error == 0; i++) {
		if (!p->sms[i].standby || p->sms[i].files == PREFLIGHT_CONFIRMED)
			continue;
		if (!staged) {
			fprintf(out, "# first: STAGED is a folder that this makes, with what is copied below\n"
				     "ibqos apply --stage STAGED%s %s\n", again(t), policy);
			staged = true;
		}
		if (error == 0)
			error = tell_one(out, t, &p->sms[i], folder ? folder : "STAGED", policy);
	}
	return error;
}
