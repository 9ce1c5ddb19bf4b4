/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Refusals that follow from the look around: each a finding with its way out. */
#include <string.h>

#include "survey.h"

static bool blocks(const struct transaction *t, enum finding_code code)
{
	for (size_t i = 0; i < t->findings->count; i++)
		if (t->findings->items[i].code == code && t->findings->items[i].severity > FINDING_WARNING)
			return true;
	return false;
}

bool judge_paths(struct transaction *t)
{
	const struct apply_preflight *p = &t->result->preflight;
	const char *paths[PREFLIGHT_FILES + 1] = {t->conf.path, t->rules.path};
	bool apart = true;

	for (int i = PREFLIGHT_PARTITIONS; i < PREFLIGHT_FILES; i++)
		paths[i] = p->files[i].path;
	paths[PREFLIGHT_FILES] = p->log;
	for (int i = PREFLIGHT_CONF; i <= PREFLIGHT_RULES; i++) {
		for (int other = i + 1; other <= PREFLIGHT_FILES; other++) {
			struct finding *f;

			if (!paths[other] || file_same(paths[i], paths[other]) != 1)
				continue;
			f = finding_at(finding_add(t->findings, FINDING_APPLY_SAME_FILE), paths[i], 0, 0);
			finding_set(&f->what, "%s and %s", preflight_role_name(i),
				    other < PREFLIGHT_FILES ? preflight_role_name(other) : "OpenSM's log");
			if (strcmp(paths[i], paths[other]) != 0)
				finding_set(&f->detail, "the other name is %s", paths[other]);
			apart = false;
		}
	}
	return apart;
}

/* What a device must hold is known of upstream's OpenSM only. */
bool judge_flavour(struct transaction *t)
{
	const struct apply_preflight *p = &t->result->preflight;
	bool go = t->options->force_flavour;
	struct finding *f;

	if (p->pid == 0 || p->facts.flavour == OPENSM_TESTED)
		return true;
	f = finding_add(t->findings, FINDING_APPLY_FLAVOUR);
	finding_set(&f->what, "OpenSM, process %d", p->pid);
	finding_set(&f->wanted, "3.3.23 or 3.3.24");
	finding_set(&f->got, "%s, %s", p->facts.version ? p->facts.version : "version not known",
		    opensm_flavour_text(p->facts.flavour));
	if (go)
		f->severity = FINDING_WARNING;
	return go;
}

static bool is_in(const struct fabric *fabric, uint64_t port_guid)
{
	for (uint32_t i = 0; i < fabric->port_count; i++)
		if (fabric->ports[i].guid == port_guid)
			return true;
	return false;
}

/*
 * The ports that are read back are those of the fabric that the port asked through leads to, which may be another
 * one than that of these files: its master tells.
 */
bool judge_master_here(struct transaction *t)
{
	const struct apply_preflight *p = &t->result->preflight;
	const struct preflight_sm *master = NULL;
	struct finding *f;
	bool there;

	for (uint32_t i = 0; i < p->sm_count && !master; i++)
		if (p->sms[i].master)
			master = &p->sms[i];
	if (p->master_here != PREFLIGHT_NO || !master)
		return true;
	/* a standby's fabric is the right one to be read back, whoever has programmed it */
	there = is_in(t->fabric, p->facts.port_guid);
	if (t->options->wait_only && (there || t->fabric->gap_count > 0))
		return true;
	f = finding_at(finding_add(t->findings, FINDING_APPLY_NOT_MASTER), t->conf.path, 0, 0);
	finding_set(&f->wanted, "process %d as the master, on port GUID 0x%016llx", p->pid,
		    (unsigned long long)p->facts.port_guid);
	finding_set(&f->got, "%s, port GUID 0x%016llx", master->name ? master->name : "another one",
		    (unsigned long long)master->guid);
	if (!there)
		finding_set(&f->detail, "that port is not in this fabric: -C and -P, or --port-guid, name the one to look from");
	return false;
}

/* Two that say so see each other not, or are about to settle it: either way the tables are not one's. */
bool judge_masters(struct transaction *t)
{
	const struct apply_preflight *p = &t->result->preflight;
	const struct preflight_sm *others = NULL;
	struct finding *f;

	for (uint32_t i = 0; i < p->sm_count; i++) {
		const struct preflight_sm *sm = &p->sms[i];

		if (!sm->master && sm->seen.outcome == MAD_ANSWERED && sm->seen.info.state == MAD_SM_MASTER)
			others = sm;
	}
	if (others) {
		f = finding_add(t->findings, FINDING_SM_TWO_MASTERS);
		f->guid = fabric_port_node(t->fabric, others->seen.port)->guid;
		f->port = t->fabric->ports[others->seen.port].number;
		finding_set(&f->name, "%s", others->name ? others->name : "");
		finding_set(&f->wanted, "LID %u alone, as the ports say", t->fabric->sm_lid);
		return false;
	}
	return judge_master_here(t);
}

/* Not where nothing tells: that much is said. */
void tell_master_unknown(struct transaction *t)
{
	const struct apply_preflight *p = &t->result->preflight;

	if (p->pid != 0 && p->master_here == PREFLIGHT_UNKNOWN)
		finding_set(&finding_at(finding_add(t->findings, FINDING_APPLY_MASTER_UNKNOWN), t->conf.path, 0, 0)->got,
			    "process %d, on an unknown port", p->pid);
}

static void tell_unknown(struct transaction *t)
{
	const struct apply_preflight *p = &t->result->preflight;

	tell_master_unknown(t);
	for (int i = 0; i < PREFLIGHT_FILES; i++) {
		const struct preflight_file *file = &p->files[i];

		if (!file->path || file->pending != PREFLIGHT_UNKNOWN || (i > PREFLIGHT_RULES && !file->exists))
			continue;
		finding_at(finding_add(t->findings, FINDING_APPLY_PENDING_UNKNOWN), file->path, 0, 0);
	}
	if (p->drift_known && p->drift.ports_differ > 0) {
		struct finding *f = finding_at(finding_add(t->findings, FINDING_APPLY_DRIFT), t->conf.path, 0, 0);

		finding_set(&f->got, "%u of %u ports differ", p->drift.ports_differ, p->drift.ports);
	}
}

static bool judge_room(struct transaction *t)
{
	const struct apply_preflight *p = &t->result->preflight;
	/* old and new of both, the policy, a manifest and a journal */
	uint64_t needed = t->conf.now.size + t->conf.new.size + t->rules.now.size + t->rules.new.size + 65536;
	struct finding *f;

	if (p->state_room == 0 || p->state_room >= needed)
		return true;
	f = finding_at(finding_add(t->findings, FINDING_APPLY_NO_ROOM), t->ctx->state_dir, 0, 0);
	finding_set(&f->wanted, "%llu bytes", (unsigned long long)needed);
	finding_set(&f->got, "%llu bytes", (unsigned long long)p->state_room);
	return false;
}

bool judge(struct transaction *t)
{
	bool go = judge_room(t);

	if (t->undo) { /* the way back is open whatever else is wrong; its own steps tell: of this fabric */
		tell_master_unknown(t);
		return judge_master_here(t) && go;
	}
	go &= judge_paths(t);
	go &= judge_flavour(t);
	go &= judge_masters(t);
	go &= judge_standbys(t);
	go &= judge_restart(t);
	tell_unknown(t);
	go &= !blocks(t, FINDING_APPLY_PENDING_EDITS);
	for (int i = 0; i < PREFLIGHT_FILES; i++) /* as they are to be */
		go &= t->result->preflight.files[i].faults[FINDING_CRITICAL] == 0;
	return go;
}
