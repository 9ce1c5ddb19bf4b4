/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Lists of adapters and interfaces, [^][=]name[:port],… (src/misc/utils.cc, parseStringList and matchIf). '^' stands
 * before '=', both once for the whole list; empty items are none; names are compared by their beginning unless '=' says
 * otherwise; nothing is trimmed; an empty list is all of them.
 */
#include <stdlib.h>
#include <string.h>

#include "check.h"

#define NAME_ROOM 63u /* bytes of a name; one more was written outside the buffer before 2.30.7 */

static void item_syntax(struct check *c, const struct job_setting *s, const char *item, size_t length)
{
	const char *colon = memchr(item, ':', length);
	size_t name = colon ? (size_t)(colon - item) : length;
	struct finding *f = NULL;

	if (memchr(item, ' ', length) || memchr(item, '\t', length) || memchr(item, '\r', length)) {
		f = check_tell(c, FINDING_JOB_HCA_SYNTAX, s);
		finding_set(&f->got, "the name '%.*s', with its blanks", (int)name, item);
	} else if (memchr(item, '"', length) || memchr(item, '\'', length)) {
		f = check_tell(c, FINDING_JOB_HCA_SYNTAX, s);
		finding_set(&f->got, "the name %.*s, with its quotes", (int)name, item);
	} else if (item[0] == '^' || item[0] == '=') {
		f = check_tell(c, FINDING_JOB_HCA_SYNTAX, s);
		finding_set(&f->got, "the name '%.*s'", (int)name, item);
		finding_set(&f->detail, "'^' and '=' stand once, before the whole list, and '^' first");
	} else if (colon && name + 1 < length && strspn(colon + 1, "0123456789") == 0) {
		f = check_tell(c, FINDING_JOB_HCA_SYNTAX, s);
		finding_set(&f->got, "port 0 of '%.*s', which none has", (int)name, item);
	} else if (name > NAME_ROOM) {
		f = check_tell(c, FINDING_JOB_HCA_SYNTAX, s);
		finding_set(&f->got, "a name above %u bytes", NAME_ROOM);
	}
}

/* mlx5_1, but not mlx5 */
static bool numbered(const char *item)
{
	size_t end = strcspn(item, ":,"), at = end;

	while (at > 0 && item[at - 1] >= '0' && item[at - 1] <= '9')
		at--;
	return at < end && at > 0 && item[at - 1] == '_';
}

/* Ports here that a list takes. */
static unsigned taken_here(const struct check *c, const char *list)
{
	unsigned taken = 0;

	for (size_t i = 0; i < c->q->host->hca_count; i++) {
		const struct job_hca *h = &c->q->host->hcas[i];

		for (size_t n = 0; n < h->port_count; n++)
			taken += h->ports[n].state == JOB_PORT_ACTIVE && job_hca_takes(list, h->name, h->ports[n].number);
	}
	return taken;
}

static void adapters(struct check *c)
{
	const struct job_setting *s = check_get(c, "NCCL_IB_HCA");
	unsigned most = c->q->nccl >= JOB_NCCL(2, 18, 5) ? 32 : 16, items = 0;
	bool inverted = false, exact = false, digit = false;
	const char *at;
	struct finding *f;

	if (!s)
		return;
	at = s->value;
	inverted = *at == '^';
	at += inverted;
	exact = *at == '=';
	at += exact;
	for (size_t length; *at; at += length + (at[length] == ',')) {
		length = strcspn(at, ",");
		if (length == 0 || at[0] == ':')
			continue;
		items++;
		item_syntax(c, s, at, length);
		digit |= numbered(at);
	}
	if (items == 0 && inverted) {
		f = check_tell(c, FINDING_JOB_HCA_NONE, s);
		finding_set(&f->got, "none: '^' without names leaves all out");
	} else if (c->q->host && taken_here(c, s->value) == 0) {
		f = check_tell(c, FINDING_JOB_HCA_NONE, s);
		finding_set(&f->got, "none of this host's adapters with an active port, so NCCL takes sockets");
	} else if (items > 0 && !exact) {
		f = check_tell(c, FINDING_JOB_HCA_PREFIX, s);
		finding_set(&f->wanted, "%s=%s", inverted ? "^" : "", s->value + inverted);
		if (!digit)
			finding_set(&f->wanted, "%s= and the names that are meant", inverted ? "^" : "");
		finding_set(&f->got, "%s adapter whose name begins so%s", inverted ? "all but each" : "each",
			    digit ? ": mlx5_1 takes mlx5_10 too" : "");
	}
	if (items > most) {
		f = check_tell(c, FINDING_JOB_HCA_SYNTAX, s);
		finding_set(&f->wanted, "up to %u names", most);
		finding_set(&f->got, "the first %u of %u names", most, items);
	}
}

/* The interface of the connections that start it all, and of sockets where there is no InfiniBand. */
static void interfaces(struct check *c)
{
	const struct job_setting *s = check_get(c, "NCCL_SOCKET_IFNAME");
	struct finding *f;

	if (!s || strlen(s->value) < 2 || s->value[0] == '^' || s->value[0] == '=')
		return;
	f = check_tell(c, FINDING_JOB_IFNAME, s);
	finding_set(&f->wanted, "=%s", s->value);
	finding_set(&f->got, "each interface whose name begins so; where none is up NCCL does not start");
}

void check_hca(struct check *c)
{
	adapters(c);
	interfaces(c);
}
