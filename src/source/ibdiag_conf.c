/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* The config file of infiniband-diags, so that what an admin set there for one tool holds for this one too. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "ibqos/source.h"

#define PORT_MAX 254
#define TIMEOUT_MAX 60000
#define WORD_MAX 64 /* bytes of a foreign word that are shown */

struct reading {
	const char *path;
	unsigned line;
	struct finding_list *findings;
	struct ibdiag_conf *conf;
};

/* Only a name of letters shows: a key that stands where a name should is none's business. */
static bool may_show(const char *name)
{
	return name[strspn(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_-")] == '\0';
}

static void say(struct reading *r, const char *what, const char *why)
{
	struct finding *f = finding_at(finding_add(r->findings, FINDING_IBDIAG_CONF_BAD), r->path, r->line, 1);

	if (what && may_show(what))
		finding_set(&f->what, "'%.*s'", WORD_MAX, what);
	finding_set(&f->detail, "%s", why);
}

static char *trim(char *text)
{
	size_t length;

	text += strspn(text, " \t");
	for (length = strlen(text); length > 0 && strchr(" \t\r", text[length - 1]); length--)
		text[length - 1] = '\0';
	return text;
}

static void set_number(struct reading *r, const char *name, const char *value, uint64_t low, uint64_t high, uint64_t *to)
{
	uint64_t number;

	if (text_to_u64(value, high, &number) != 0 || number < low)
		say(r, name, "not a number in range");
	else
		*to = number;
}

static int set_value(struct reading *r, const char *name, const char *value)
{
	struct ibdiag_conf *conf = r->conf;
	uint64_t number = 0;

	if (strcmp(name, "CA") == 0) {
		char *ca = strdup(value);

		if (!ca)
			return -ENOMEM;
		free(conf->ca);
		conf->ca = ca;
	} else if (strcmp(name, "Port") == 0) {
		set_number(r, name, value, 1, PORT_MAX, &number);
		conf->port = number ? (int)number : conf->port;
	} else if (strcmp(name, "timeout") == 0) {
		set_number(r, name, value, 1, TIMEOUT_MAX, &number);
		conf->timeout_ms = number ? (unsigned)number : conf->timeout_ms;
	} else if (strcmp(name, "m_key") == 0) {
		set_number(r, name, value, 0, UINT64_MAX, &conf->mkey);
	} else if (strcmp(name, "MLX_EPI") == 0) {
		/* as there: all but "true" and "TRUE" at its beginning is false */
		conf->no_ext_info = strncmp(value, "true", 4) != 0 && strncmp(value, "TRUE", 4) != 0;
	} else if (strcmp(name, "sa_key") != 0 && strcmp(name, "nd_format") != 0) {
		say(r, name, "infiniband-diags know no such name");
	}
	return 0;
}

static int read_line(struct reading *r, char *line)
{
	char *value;

	line = trim(line);
	if (*line == '\0' || *line == '#')
		return 0;
	value = strchr(line, '=');
	if (!value || value == line) {
		say(r, NULL, "not name=value");
		return 0;
	}
	*value++ = '\0';
	line = trim(line);
	value = trim(value);
	if (*value == '\0') {
		say(r, line, "no value");
		return 0;
	}
	return set_value(r, line, value);
}

int ibdiag_conf_parse(const char *path, const char *text, struct finding_list *findings, struct ibdiag_conf *conf)
{
	struct reading r = {.path = path, .findings = findings, .conf = conf};
	char *copy = strdup(text);
	int error = copy ? 0 : -ENOMEM;
	size_t size = strlen(text);

	*conf = (struct ibdiag_conf){0};
	for (char *at = copy, *end; error == 0 && *at; at = end) {
		end = strchrnul(at, '\n');
		if (*end)
			*end++ = '\0';
		r.line++;
		error = read_line(&r, at);
	}
	if (copy)
		explicit_bzero(copy, size);
	free(copy);
	if (error != 0)
		ibdiag_conf_clear(conf);
	return error;
}

void ibdiag_conf_clear(struct ibdiag_conf *conf)
{
	free(conf->ca);
	explicit_bzero(conf, sizeof(*conf));
}
