/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * partitions.conf as OpenSM 3.3.23 reads it (osm_prtn_config.c). Its reader cuts a line where it stands,
 * by NULs, and goes on behind each cut; so it is followed here in a line of the same size that is cut at
 * the same places, since it may go on behind the end of the text, in what is left of earlier lines.
 *
 * Words may be cut short: "f" is full, "A" is ALL, "s" is scope. What it does not take is passed over
 * with a message that only a verbose OpenSM writes.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "ibqos/opensm_files.h"

#define FILE_MAX (4u << 20)
#define PIECE_MAX 4094u /* fgets(line, sizeof(line) - 1, …) with a line of 4096 */
#define LINE_ROOM 4096u
#define SLACK 64u /* zeros behind, for a reader that goes on */
#define NAME_ROOM 32u /* of osm_prtn_t */
#define DEFAULT_PKEY 0x7fffu
#define SHOWN 64

struct definition { /* the one that is being read */
	bool open;	 /* something of it was read */
	bool made;	 /* its head was read */
	size_t partition;
	unsigned sl;
	struct opensm_mark sl_mark;
	bool ipoib;
};

struct reader {
	const char *path;
	struct finding_list *findings;
	struct opensm_partitions *out;
	struct definition now;
	char *line;
	unsigned number;
	unsigned chosen; /* the last P_Key that OpenSM chose */
	int error;
};

/* --- findings --- */

static struct opensm_mark mark_at(const struct reader *r, const char *at)
{
	return (struct opensm_mark){r->number, (unsigned)(at - r->line) + 1};
}

static struct finding *tell(struct reader *r, enum finding_code code, const char *at)
{
	struct opensm_mark mark = mark_at(r, at);

	return finding_at(finding_add(r->findings, code), r->path, mark.line, mark.column);
}

static int refuse(struct reader *r, const char *at, const char *detail)
{
	struct finding *f = tell(r, FINDING_OPENSM_PARTITIONS_REFUSED, at);

	finding_set(&f->got, "%.*s", SHOWN, at);
	finding_set(&f->detail, "%s", detail);
	return -1;
}

static void ignored(struct reader *r, const char *flag, const char *value, const char *wanted, const char *detail)
{
	struct finding *f = tell(r, FINDING_OPENSM_VALUE_IGNORED, flag);

	finding_set(&f->what, "%.*s", SHOWN, flag);
	finding_set(&f->wanted, "%s", wanted);
	if (value)
		finding_set(&f->got, "%.*s", SHOWN, value);
	finding_set(&f->detail, "%s", detail);
}

static void shortened(struct reader *r, const char *word, const char *whole)
{
	struct finding *f;

	if (strcmp(word, whole) == 0)
		return;
	f = tell(r, FINDING_OPENSM_VALUE_DOUBTFUL, word);
	finding_set(&f->what, "word");
	finding_set(&f->wanted, "%s", whole);
	finding_set(&f->got, "%s", *word ? word : "nothing");
	finding_set(&f->detail, "OpenSM takes it for '%s', of which it is the beginning", whole);
}

static void odd_number(struct reader *r, const char *value, unsigned long number)
{
	struct finding *f;

	if (value[0] != '0' || !strchr("0123456789", value[1]) || !value[1])
		return;
	f = tell(r, FINDING_OPENSM_VALUE_DOUBTFUL, value);
	finding_set(&f->what, "number");
	finding_set(&f->got, "%.*s", SHOWN, value);
	finding_set(&f->detail, "a leading zero makes it octal: OpenSM reads %lu", number);
}

/* --- words --- */

static bool blank(char c)
{
	return c == ' ' || c == '\t' || c == '\n';
}

static char *skip_blanks(char *at)
{
	while (blank(*at))
		at++;
	return at;
}

static void cut_tail(char *text)
{
	for (char *end = text + strlen(text); end > text && blank(end[-1]);)
		*--end = '\0';
}

/* "name" or "name=value" up to its NUL; the bytes that it takes with that. */
static size_t take_word(char *at, char **name, char **value)
{
	char *sign, *end;
	size_t taken;

	*name = skip_blanks(at);
	*value = NULL;
	sign = strchr(*name, '=');
	if (sign)
		*sign = '\0';
	taken = strlen(at) + 1;
	cut_tail(*name);
	if (!sign)
		return taken;
	*value = skip_blanks(sign + 1);
	end = *value + strlen(*value);
	taken += (size_t)(end - (sign + 1)) + 1;
	cut_tail(*value);
	return taken;
}

/* Ends the word at the next comma. True if there is one. */
static bool cut_at_comma(char *at)
{
	char *comma = strchr(at, ',');

	if (comma)
		*comma = '\0';
	return comma != NULL;
}

static bool begins(const char *whole, const char *word)
{
	return strncmp(word, whole, strlen(word)) == 0;
}

/* --- flags --- */

static void take_sl(struct reader *r, const char *flag, const char *value)
{
	char *end = NULL;
	unsigned sl = value && *value ? (unsigned)strtoul(value, &end, 0) : 0;

	/* isspace(): a carriage return at the end of a CRLF line, say */
	if (!end || sl >= QOS_SLS || (*end && !strchr(" \t\n\v\f\r", *end))) {
		ignored(r, flag, value, "an SL from 0 to 15",
			r->now.sl_mark.line ? "the SL given before it stays" : "the SL is 0 then");
		return;
	}
	odd_number(r, value, sl);
	r->now.sl = sl;
	r->now.sl_mark = mark_at(r, value);
}

static void take_number(struct reader *r, const char *flag, const char *value, const char *wanted, unsigned long low,
			unsigned long high)
{
	unsigned long number = value ? strtoul(value, NULL, 0) : 0;

	if (number == 0 || number < low || number > high)
		ignored(r, flag, value, wanted, "OpenSM does not say so unless it is verbose");
	else
		odd_number(r, value, number);
}

/* What makes a multicast group. True if the flag is one of these; in the order of OpenSM's questions. */
static bool take_group_flag(struct reader *r, const char *flag, const char *value, bool partition)
{
	if (begins("mtu", flag)) {
		if (*flag || value) { /* nothing at all: the end of a list */
			shortened(r, flag, "mtu");
			take_number(r, flag, value, "an MTU as a code, 1 to 5", 1, 5);
		}
	} else if (begins("rate", flag)) {
		shortened(r, flag, "rate");
		take_number(r, flag, value, "a rate as a code, 2 to 22", 2, 22);
	} else if (begins("scope", flag)) {
		shortened(r, flag, "scope");
		take_number(r, flag, value, "a scope from 1 to 15", 1, 15);
	} else if (begins("Q_Key", flag)) {
		shortened(r, flag, "Q_Key");
	} else if (begins("TClass", flag)) {
		shortened(r, flag, "TClass");
	} else if (begins("sl", flag)) {
		if (partition)
			take_sl(r, flag, value);
	} else if (begins("FlowLabel", flag)) {
		shortened(r, flag, "FlowLabel");
	} else {
		return false;
	}
	return true;
}

static void take_flag(struct reader *r, const char *flag, const char *value)
{
	if (take_group_flag(r, flag, value, true))
		return;
	if (begins("ipoib", flag)) {
		shortened(r, flag, "ipoib");
		r->now.ipoib = true;
	} else if (begins("defmember", flag)) {
		shortened(r, flag, "defmember");
		if (!value || !(begins("limited", value) || begins("both", value) || begins("full", value)))
			ignored(r, flag, value, "full, limited or both", "members are limited then");
	} else if (strcmp(flag, "indx0") != 0) {
		ignored(r, flag, value, "a flag that OpenSM knows: ipoib, sl=, mtu=, rate=, scope=, Q_Key=, TClass=, "
					"FlowLabel=, defmember=, indx0", "passed over");
	}
}

/* --- partitions --- */

static size_t find_pkey(const struct opensm_partitions *out, unsigned pkey)
{
	size_t i = 0;

	while (i < out->count && out->items[i].pkey != pkey)
		i++;
	return i;
}

static size_t find_name(const struct opensm_partitions *out, const char *name)
{
	size_t i = 0;

	while (i < out->count && strncmp(out->items[i].name, name, NAME_ROOM) != 0)
		i++;
	return i;
}

static int add_partition(struct reader *r, const char *name, unsigned pkey)
{
	struct opensm_partitions *out = r->out;
	struct opensm_partition *items = array_grow(out->items, &out->room, out->count + 1, sizeof(*items));
	char *text = NULL;

	if (items)
		out->items = items;
	if (items && name && *name)
		text = strndup(name, NAME_ROOM - 1);
	else if (items && asprintf(&text, "%04x", pkey) < 0)
		text = NULL;
	if (!text) {
		r->error = -ENOMEM;
		return -1;
	}
	items[out->count++] = (struct opensm_partition){.name = text, .pkey = pkey};
	return 0;
}

static unsigned choose_pkey(struct reader *r)
{
	while (r->chosen < DEFAULT_PKEY - 1)
		if (find_pkey(r->out, ++r->chosen) == r->out->count)
			return r->chosen;
	return 0;
}

/* The partition of a head; OpenSM has one for each P_Key. */
static int make_partition(struct reader *r, const char *head, char *name, const char *id)
{
	unsigned pkey = 0;
	bool chosen;
	char *end;

	if (!id && strchr("0123456789", *name) && *name) {
		id = name;
		name = NULL;
	}
	if (id) {
		pkey = (uint16_t)strtoul(id, &end, 0);
		if (end == id || *end)
			return refuse(r, id, "bad partition definition: this is no P_Key");
		odd_number(r, id, pkey);
		pkey &= DEFAULT_PKEY;
	}
	chosen = pkey == 0;
	r->now.partition = chosen && name ? find_name(r->out, name) : r->out->count;
	if (r->now.partition == r->out->count && chosen)
		pkey = choose_pkey(r);
	if (r->now.partition == r->out->count && pkey == 0)
		return refuse(r, head, "no P_Key is left for it");
	if (r->now.partition == r->out->count)
		r->now.partition = find_pkey(r->out, pkey);
	if (r->now.partition < r->out->count && r->out->items[r->now.partition].mark.line) {
		struct finding *f = tell(r, FINDING_OPENSM_PARTITION_TWICE, head);

		finding_set(&f->what, "P_Key 0x%x", r->out->items[r->now.partition].pkey);
		finding_set(&f->detail, "line %u has it", r->out->items[r->now.partition].mark.line);
	} else if (r->now.partition == r->out->count) {
		if (add_partition(r, name, pkey) < 0)
			return -1;
		r->out->items[r->now.partition].chosen = chosen;
	}
	return 0;
}

static void fill_partition(struct reader *r, const char *head)
{
	struct opensm_partition *partition = &r->out->items[r->now.partition];

	if (!partition->mark.line)
		partition->mark = mark_at(r, head);
	partition->sl = r->now.sl;
	partition->sl_mark = r->now.sl_mark;
	partition->ipoib |= r->now.ipoib;
}

/* "Name=0xPKEY, flag, flag=value" up to its NUL at the place of the colon. */
static int take_head(struct reader *r, char *at)
{
	char *name, *id, *head = skip_blanks(at);
	bool more = cut_at_comma(at);
	size_t taken = take_word(at, &name, &id);

	for (at += taken; more; at += taken) {
		char *flag, *value;

		more = cut_at_comma(at);
		taken = take_word(at, &flag, &value);
		take_flag(r, flag, value);
	}
	if (make_partition(r, head, name, id) < 0)
		return -1;
	fill_partition(r, head);
	r->now.made = true;
	return 0;
}

/* --- members --- */

static bool is_set(const char *name)
{
	static const char *const sets[] = {"ALL", "ALL_CAS", "ALL_SWITCHES", "ALL_ROUTERS", "SELF"};

	for (size_t i = 0; i < sizeof(sets) / sizeof(sets[0]); i++)
		if (begins(sets[i], name))
			return true;
	return false;
}

static void check_set(struct reader *r, const char *name)
{
	static const char *const sets[] = {"ALL", "ALL_CAS", "ALL_SWITCHES", "ALL_ROUTERS", "SELF"};
	size_t i = 0;

	while (!begins(sets[i], name))
		i++;
	shortened(r, name, sets[i]);
}

static int take_member(struct reader *r, const char *name, const char *flag)
{
	unsigned long long guid;
	char *end;

	if (!*name || begins("NONE", name))
		return 0;
	if (flag && !begins("full", flag) && !begins("both", flag) && !begins("limited", flag))
		ignored(r, flag, NULL, "full, limited or both", "the member is limited then");
	if (is_set(name)) {
		check_set(r, name);
	} else {
		guid = strtoull(name, &end, 0);
		if (!guid || *end)
			return refuse(r, name, "bad PortGUID: a GUID, ALL, ALL_CAS, ALL_SWITCHES, ALL_ROUTERS or SELF");
	}
	r->out->items[r->now.partition].members = true;
	return 0;
}

/* The flags of a multicast group, from behind its name on, wherever that is. */
static size_t take_mgid(struct reader *r, char *at, const char *mgid)
{
	uint8_t gid[16];
	char *start = at;
	bool more;

	if (inet_pton(AF_INET6, mgid, gid) != 1 || gid[0] != 0xff) {
		ignored(r, mgid, NULL, "a multicast GID", "no group is made, and what follows behind a comma is taken for a partition");
		return 0;
	}
	do {
		char *flag, *value;
		size_t taken;

		more = cut_at_comma(at);
		taken = take_word(at, &flag, &value);
		if (!take_group_flag(r, flag, value, false))
			ignored(r, flag, value, "a flag of a group: sl=, mtu=, rate=, scope=, Q_Key=, TClass=, FlowLabel=",
				"passed over");
		at += taken;
	} while (more);
	return (size_t)(at - start);
}

/* Members up to the NUL; *taken: how far OpenSM goes on from there. */
static int take_members(struct reader *r, char *at, size_t *taken)
{
	char *start = at;
	bool more;

	do {
		char *name, *flag;

		more = cut_at_comma(at);
		*taken = take_word(at, &name, &flag);
		at += *taken;
		if (strcmp(name, "mgid") == 0) {
			if (!flag)
				return refuse(r, name, "OpenSM dies of an mgid without a value");
			if (!more)
				finding_set(&tell(r, FINDING_OPENSM_PARTITIONS_UNSAFE, name)->what, "mgid without a flag");
			*taken = (size_t)(at - start) + take_mgid(r, at, flag);
			return 0;
		}
		if (take_member(r, name, flag) < 0)
			return -1;
	} while (more);
	*taken = (size_t)(at - start);
	return 0;
}

/* --- lines --- */

/* One text up to its NUL: the head of a definition and members, or more members. */
static int take_text(struct reader *r, char *at, size_t *taken)
{
	char *colon;
	size_t members;

	*taken = 0;
	if (!r->now.made) {
		colon = strchr(at, ':');
		if (!colon)
			return refuse(r, at, "no partition definition found: its head must end with ':' on this line");
		*colon = '\0';
		if (take_head(r, at) < 0)
			return -1;
		*taken = (size_t)(colon + 1 - at);
	}
	if (take_members(r, at + *taken, &members) < 0)
		return -1;
	*taken += members;
	return 0;
}

/* All texts of a piece of the file that is in r->line. 1: something was read, 0: nothing; -1: refused. */
static int take_line(struct reader *r)
{
	char *at = r->line, *comment = strchr(at, '#'), *semicolon;
	int read = 0;

	if (comment)
		*comment = '\0';
	do {
		size_t taken;

		at = skip_blanks(at);
		if (!*at)
			return read;
		semicolon = strchr(at, ';');
		if (semicolon)
			*semicolon = '\0';
		if (take_text(r, at, &taken) < 0)
			return -1;
		read = 1;
		at += taken;
		if (semicolon)
			r->now = (struct definition){0};
	} while (semicolon);
	return read;
}

static int read_lines(struct reader *r, const char *text, size_t size)
{
	int read = 0;

	r->number = 1;
	for (size_t at = 0; at < size;) {
		size_t left = size - at, length = left < PIECE_MAX ? left : PIECE_MAX;
		const char *newline = memchr(text + at, '\n', length);
		int got;

		if (newline)
			length = (size_t)(newline - (text + at)) + 1;
		memcpy(r->line, text + at, length);
		r->line[length] = '\0';
		if ((!newline && left > length) || memchr(text + at, '\0', length))
			finding_at(finding_add(r->findings, FINDING_OPENSM_LINE_LONG), r->path, r->number, 1);
		got = take_line(r);
		if (got < 0)
			return -1;
		read |= got;
		at += length;
		r->number += newline != NULL;
	}
	if (read)
		return 0;
	r->number = 1;
	r->line[0] = '\0';
	return refuse(r, r->line, "no partition is defined: OpenSM takes such a file for a broken one");
}

static void check_members(struct reader *r)
{
	for (size_t i = 1; i < r->out->count; i++) {
		const struct opensm_partition *partition = &r->out->items[i];
		struct finding *f;

		if (partition->members)
			continue;
		f = finding_at(finding_add(r->findings, FINDING_OPENSM_PARTITION_EMPTY), r->path, partition->mark.line,
			       partition->mark.column);
		finding_set(&f->what, "partition '%s'", partition->name);
	}
}

int opensm_partitions_read(const char *path, const char *text, size_t size, struct finding_list *findings,
			   struct opensm_partitions **partitions)
{
	struct reader r = {.path = path, .findings = findings};
	int ret;

	*partitions = NULL;
	if (size > FILE_MAX)
		return -EFBIG;
	r.out = calloc(1, sizeof(*r.out));
	r.line = calloc(1, LINE_ROOM + SLACK);
	ret = r.out && r.line ? add_partition(&r, "Default", DEFAULT_PKEY) : -1;
	if (ret == 0) {
		r.out->items[0].members = true; /* the port of OpenSM at least */
		ret = read_lines(&r, text, size);
	} else {
		r.error = -ENOMEM;
	}
	if (ret == 0)
		check_members(&r);
	free(r.line);
	if (!r.error && findings->lost)
		r.error = -ENOMEM;
	if (ret == 0 && !r.error)
		*partitions = r.out;
	else
		opensm_partitions_free(r.out);
	return r.error;
}

void opensm_partitions_free(struct opensm_partitions *partitions)
{
	if (!partitions)
		return;
	for (size_t i = 0; i < partitions->count; i++)
		free(partitions->items[i].name);
	free(partitions->items);
	free(partitions);
}
