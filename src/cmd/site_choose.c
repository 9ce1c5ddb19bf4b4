/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Of a site for all commands that have workers: which fabrics are looked at, whether they may be, and how far their workers are. */
#include <stdlib.h>
#include <string.h>

#include "site_args.h"

#include "ibqos/mad.h"

struct ports {
	struct cmd_session *s;
	struct site *site;
};

static void add_port(void *arg, const struct mad_port_info *info)
{
	struct ports *ports = arg;
	char name[MAD_DEVICE_NAME + 16];
	int error;

	for (size_t i = 0; i < ports->site->count; i++) {
		const struct site_fabric *f = &ports->site->fabrics[i];

		if (f->via_count == 0 && (f->port_guid == info->guid || (f->ca && strcmp(f->ca, info->device) == 0 &&
									  (f->port == 0 || (int)f->port == info->port))))
			return;
	}
	snprintf(name, sizeof(name), "%s-%d", info->device, info->port);
	error = site_add_port(ports->site, name, info->device, (unsigned)info->port);
	if (error != 0)
		session_fail(ports->s, "cannot take port %s/%d as a fabric: %s", info->device, info->port, strerror(-error));
}

/* Whether a name is one of those between commas. */
static bool is_named(const char *names, const char *name)
{
	size_t length = strlen(name);

	while (*names) {
		size_t next = strcspn(names, ",");

		if (next == length && strncmp(names, name, length) == 0)
			return true;
		names += next + (names[next] == ',');
	}
	return false;
}

/* A name that there is no fabric of is told: nobody would miss what was not looked at. */
static bool names_are_known(struct cmd_session *s, const struct site *site, const char *names)
{
	bool good = true;

	while (*names) {
		size_t length = strcspn(names, ",");
		char *name = strndup(names, length);

		if (!name || !site_find(site, name)) {
			session_fail(s, "no fabric of the site is called '%s'", name ? name : "?");
			good = false;
		}
		free(name);
		names += length + (names[length] == ',');
	}
	return good;
}

bool site_choose(struct cmd_session *s, struct site *site, bool ports, const char *names, const struct site_fabric ***chosen,
		 size_t *count)
{
	struct ports adding = {s, site};

	*chosen = NULL;
	*count = 0;
	if (site->all_active_ports && ports && mad_ports(add_port, &adding) != 0 && site->count == 0)
		session_fail(s, "this host has no adapter, and the site no other fabric");
	if (!names_are_known(s, site, names))
		return false;
	*chosen = calloc(site->count + 1, sizeof(const struct site_fabric *));
	if (!*chosen) {
		session_fail(s, "out of memory");
		return false;
	}
	for (size_t i = 0; i < site->count; i++)
		if (!*names || is_named(names, site->fabrics[i].name))
			(*chosen)[(*count)++] = &site->fabrics[i];
	if (*count == 0)
		session_fail(s, "there is no fabric to look at");
	return *count > 0;
}

bool site_may_run(struct cmd_session *s, const struct site_fabric *const *fabrics, size_t count, bool trusted)
{
	for (size_t i = 0; i < count && !trusted; i++) {
		if (fabrics[i]->via_count == 0 && !fabrics[i]->program)
			continue;
		for (size_t n = 0; n < s->findings.count; n++)
			if (s->findings.items[n].code == FINDING_FILE_UNTRUSTED)
				s->findings.items[n].severity = FINDING_UNKNOWN;
		session_fail(s, "refused: site %s has programs run for fabric %s, and somebody else can have written it", s->options->site,
			     fabrics[i]->name);
		return false;
	}
	return true;
}

/* "ibqos: audit: 5 of 8 fabrics looked at, 12 s; still rail2, rail5, rail7" */
void site_progress(void *arg, const struct worker *workers, size_t count)
{
	struct cmd_session *s = arg;
	struct cmd_line *line = &s->line;
	uint64_t now = clock_ns();
	char names[400] = "";
	size_t left = 0, used = 0;

	if (line->first_ns == 0)
		line->first_ns = now;
	if (!cmd_line_due(line, now, true))
		return;
	for (size_t i = 0; i < count; i++) {
		size_t length = strlen(workers[i].name);

		if (!workers[i].started || workers[i].ended_ns != 0)
			continue;
		if (used + length + sizeof("; still ") < sizeof(names))
			used += (size_t)snprintf(names + used, sizeof(names) - used, "%s%s", left ? ", " : "; still ", workers[i].name);
		left++;
	}
	cmd_line_show(line, now, "%s%s%s: %zu of %zu fabrics done, %.0f s%s", line->terminal ? line->ctx->program : "",
		      line->terminal ? ": " : "", line->ctx->command, count - left, count, (double)(now - line->first_ns) / 1e9, names);
}
