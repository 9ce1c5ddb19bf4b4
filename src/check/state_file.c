/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The state file read: lines of words. Format: docs/counters.md, "The state file". What is written is read as the same, and
 * nothing else is taken: a file of which a line is missing or changed beyond reason is refused as a whole.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "ibqos/link.h"
#include "ibqos/state.h"
#include "state_file.h"

#define TIME_MAX (UINT64_C(1) << 40) /* seconds: beyond any date, and sums of them never run over */

struct reader {
	char *at, *line_end; /* the rest of the line, ends with NUL */
	unsigned line;
	const char *why;
	struct state *state;
	enum counter_id column[COUNTERS + 64]; /* of the file; COUNTERS: not known here */
	unsigned columns;
	struct state_port *port; /* the last one */
	bool no_memory;
};

static bool fail(struct reader *r, const char *why)
{
	if (!r->why)
		r->why = why;
	return false;
}

static char *word(struct reader *r)
{
	char *start = r->at;

	if (!start || !*start)
		return NULL;
	r->at = strchr(start, ' ');
	if (r->at)
		*r->at++ = '\0';
	return *start ? start : NULL;
}

static bool number(struct reader *r, uint64_t max, uint64_t *value)
{
	const char *text = word(r);

	return text && text_to_u64(text, max, value) == 0 ? true : fail(r, "a number is missing or out of range");
}

static bool at_end(struct reader *r)
{
	return !r->at || fail(r, "there is more on the line than there should be");
}

static int hex(char c)
{
	return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Bytes that would end a word, and '%', are written %xx; "-" is no text, "%" an empty one. */
static bool text_of(struct reader *r, bool may_lack, char **text)
{
	char *from = word(r), *to = from;

	*text = NULL;
	if (!from)
		return fail(r, "a text is missing");
	if (strcmp(from, "-") == 0)
		return may_lack || fail(r, "a text is missing");
	if (strcmp(from, "%") == 0) {
		*from = '\0';
	} else {
		char *start = from;

		for (; *from; from++) {
			if (*from == '%') {
				int high = hex(from[1]), low = high < 0 ? -1 : hex(from[2]);

				if (low < 0 || high * 16 + low == 0)
					return fail(r, "a '%' is not followed by two hexadecimal digits");
				*to++ = (char)(high * 16 + low);
				from += 2;
			} else {
				*to++ = *from;
			}
		}
		*to = '\0';
		from = start;
	}
	*text = text_utf8(from, strlen(from));
	r->no_memory |= !*text;
	return *text != NULL;
}

static bool place(struct reader *r, uint64_t *guid, int *port, bool none_allowed)
{
	uint64_t value = 0;
	const char *text;

	if (!number(r, UINT64_MAX, guid))
		return false;
	if (*guid == 0 && !none_allowed)
		return fail(r, "a GUID is 0");
	text = word(r);
	if (text && strcmp(text, "-") == 0) {
		*port = FINDING_WHOLE_NODE;
		return true;
	}
	if (!text || text_to_u64(text, 254, &value) != 0)
		return fail(r, "a port is missing or out of range");
	*port = (int)value;
	return true;
}

static bool code_of(struct reader *r, enum finding_code *code)
{
	const char *text = word(r);

	for (unsigned i = 0; text && i < FINDING_CODES; i++)
		if (strcmp(finding_kind((enum finding_code)i)->code, text) == 0) {
			*code = (enum finding_code)i;
			return true;
		}
	return fail(r, "it has a finding of no kind that there is");
}

static bool grow(struct reader *r, void **items, size_t *room, size_t needed, size_t size)
{
	void *grown = array_grow(*items, room, needed, size);

	r->no_memory |= !grown;
	if (grown)
		*items = grown;
	return grown != NULL;
}

/* --- lines --- */

static bool read_label(struct reader *r)
{
	if (r->state->label)
		return fail(r, "it has a second label");
	return text_of(r, false, &r->state->label) && at_end(r);
}

static bool read_written(struct reader *r)
{
	return number(r, TIME_MAX, &r->state->written) && at_end(r);
}

static bool read_columns(struct reader *r)
{
	const char *name;

	if (r->columns > 0)
		return fail(r, "it names its counters twice");
	while (r->at) {
		name = word(r);
		if (!name || r->columns == sizeof(r->column) / sizeof(r->column[0]))
			return fail(r, "the names of counters cannot be read");
		r->column[r->columns] = counter_named(name);
		for (unsigned i = 0; i < r->columns; i++)
			if (r->column[i] < COUNTERS && r->column[i] == r->column[r->columns])
				return fail(r, "it names a counter twice");
		r->columns++;
	}
	return r->columns > 0 || fail(r, "it names no counters");
}

static bool read_node(struct reader *r)
{
	struct state *s = r->state;
	uint64_t guid;

	if (!number(r, UINT64_MAX, &guid))
		return false;
	if (guid == 0 || (s->node_count > 0 && s->nodes[s->node_count - 1].guid >= guid))
		return fail(r, "nodes are not in the order of their GUIDs");
	if (!grow(r, (void **)&s->nodes, &s->node_room, s->node_count + 1, sizeof(*s->nodes)))
		return false;
	s->nodes[s->node_count] = (struct state_node){.guid = guid};
	s->node_count++;
	return text_of(r, false, &s->nodes[s->node_count - 1].name) && at_end(r);
}

/* A value of each column: "-" not known, a '+' behind it: that much or more. */
static bool read_values(struct reader *r, uint32_t *known, uint32_t *more, uint64_t value[COUNTERS])
{
	for (unsigned i = 0; i < r->columns; i++) {
		enum counter_id id = r->column[i];
		char *text = word(r);
		size_t size = text ? strlen(text) : 0;
		bool plus = size > 1 && text[size - 1] == '+';
		uint64_t read = 0;

		if (text && strcmp(text, "-") == 0)
			continue;
		if (plus)
			text[size - 1] = '\0';
		if (!text || text_to_u64(text, UINT64_MAX, &read) != 0)
			return fail(r, "a counter is missing or no number");
		if (id == COUNTERS)
			continue;
		*known |= COUNTER_BIT(id);
		*more |= plus ? COUNTER_BIT(id) : 0;
		value[id] = read;
	}
	return at_end(r);
}

static bool read_link(struct reader *r, struct state_port *p)
{
	const char *width = word(r), *speed = width ? word(r) : NULL;

	if (!speed)
		return fail(r, "width and speed are missing");
	for (unsigned bit = LINK_1X; bit <= LINK_12X; bit <<= 1)
		p->width = strcmp(link_width_name(bit), width) == 0 ? (uint8_t)bit : p->width;
	for (unsigned bit = LINK_SDR; bit <= LINK_XDR; bit <<= 1)
		p->speed = strcmp(link_speed_name(bit), speed) == 0 ? (uint16_t)bit : p->speed;
	return (p->width || strcmp(width, "-") == 0) && (p->speed || strcmp(speed, "-") == 0) ?
		       true :
		       fail(r, "width or speed is none");
}

static bool read_port(struct reader *r)
{
	struct state *s = r->state;
	struct state_port p = {0}, *before = s->port_count > 0 ? &s->ports[s->port_count - 1] : NULL;
	uint64_t port, peer_port;

	if (!number(r, UINT64_MAX, &p.guid) || !number(r, 254, &port) || !number(r, UINT64_MAX, &p.peer_guid) ||
	    !number(r, 254, &peer_port) || !read_link(r, &p) || !number(r, TIME_MAX, &p.at) ||
	    !read_values(r, &p.known, &p.saturated, p.value))
		return false;
	p.port = (uint8_t)port;
	p.peer_port = (uint8_t)peer_port;
	if (p.guid == 0 || (before && (before->guid > p.guid || (before->guid == p.guid && before->port >= p.port))))
		return fail(r, "ports are not in the order of their GUIDs");
	if (!grow(r, (void **)&s->ports, &s->port_room, s->port_count + 1, sizeof(*s->ports)))
		return false;
	s->ports[s->port_count++] = p;
	return true;
}

/* Sixteen numbers; '+' behind one: that many or more; false: none are known ('-' alone). */
static bool read_sixteen(struct reader *r, uint64_t max, uint64_t value[QOS_SLS], uint16_t *more, bool *known)
{
	const char *first = r->at;

	*known = true;
	if (first && *first == '-' && (first[1] == ' ' || first[1] == '\0')) {
		*known = false;
		return word(r) != NULL;
	}
	for (unsigned i = 0; i < QOS_SLS; i++) {
		char *text = word(r);
		size_t size = text ? strlen(text) : 0;
		bool plus = size > 1 && text[size - 1] == '+';

		if (plus)
			text[size - 1] = '\0';
		if (!text || text_to_u64(text, max, &value[i]) != 0)
			return fail(r, "what an SL or VL has is missing or no number");
		*more |= plus ? (uint16_t)(1u << i) : 0;
	}
	return true;
}

static bool read_sent(struct reader *r)
{
	struct state *s = r->state;
	struct state_shares p = {0}, *before = s->shares_count > 0 ? &s->shares[s->shares_count - 1] : NULL;
	uint64_t port, peer_port, bits, waited[QOS_SLS] = {0};
	struct state_port link = {0};
	uint16_t none = 0;
	bool known;

	if (!number(r, UINT64_MAX, &p.guid) || !number(r, 254, &port) || !number(r, UINT64_MAX, &p.peer_guid) ||
	    !number(r, 254, &peer_port) || !read_link(r, &link) || !number(r, TIME_MAX, &p.at) || !number(r, 64, &bits))
		return false;
	if (bits != 32 && bits != 64)
		return fail(r, "what SLs sent is of neither 32 nor 64 bits");
	if (!read_sixteen(r, bits == 64 ? UINT64_MAX : UINT32_MAX, p.sent, &p.saturated, &known) ||
	    !read_sixteen(r, UINT16_MAX, waited, &none, &p.has_waited) || !at_end(r))
		return false;
	if (!known || none)
		return fail(r, "what SLs sent is not there");
	p.port = (uint8_t)port;
	p.peer_port = (uint8_t)peer_port;
	p.width = link.width;
	p.speed = link.speed;
	p.wide = bits == 64;
	for (unsigned i = 0; i < QOS_SLS; i++)
		p.waited[i] = (uint16_t)waited[i];
	if (p.guid == 0 || (before && (before->guid > p.guid || (before->guid == p.guid && before->port >= p.port))))
		return fail(r, "ports are not in the order of their GUIDs");
	if (!grow(r, (void **)&s->shares, &s->shares_room, s->shares_count + 1, sizeof(*s->shares)))
		return false;
	s->shares[s->shares_count++] = p;
	return true;
}

static bool read_bucket(struct reader *r, bool last)
{
	struct state_port *p = r->state->port_count > 0 ? &r->state->ports[r->state->port_count - 1] : NULL;
	struct state_bucket b = {0};
	uint32_t known = 0;

	if (!p)
		return fail(r, "growth stands before any port");
	if ((last ? p->last.since : p->before.since) != 0)
		return fail(r, "growth of a port is there twice");
	if (!number(r, TIME_MAX, &b.since) || !number(r, TIME_MAX, &b.seconds) || !read_values(r, &known, &b.least, b.growth))
		return false;
	if (b.since == 0 || b.since > p->at || b.seconds > p->at - b.since)
		return fail(r, "growth is of a time that cannot be");
	*(last ? &p->last : &p->before) = b;
	return true;
}

static bool read_last(struct reader *r)
{
	return read_bucket(r, true);
}

static bool read_before(struct reader *r)
{
	return read_bucket(r, false);
}

static bool read_severity(struct reader *r, enum finding_severity *severity)
{
	const char *text = word(r);

	*severity = FINDING_WARNING;
	if (text && strcmp(text, finding_severity_name(FINDING_CRITICAL)) == 0)
		*severity = FINDING_CRITICAL;
	else if (!text || strcmp(text, finding_severity_name(FINDING_WARNING)) != 0)
		return fail(r, "a severity is neither warning nor critical");
	return true;
}

static bool read_finding(struct reader *r)
{
	struct state *s = r->state;
	struct state_finding *f;

	if (!grow(r, (void **)&s->findings, &s->finding_room, s->finding_count + 1, sizeof(*s->findings)))
		return false;
	f = &s->findings[s->finding_count++];
	*f = (struct state_finding){0};
	if (!code_of(r, &f->code) || !read_severity(r, &f->severity) || !place(r, &f->guid, &f->port, false) ||
	    !place(r, &f->peer_guid, &f->peer_port, true) || !number(r, TIME_MAX, &f->first) ||
	    !number(r, TIME_MAX, &f->seen) || !number(r, TIME_MAX, &f->clean) || !text_of(r, true, &f->what) ||
	    !text_of(r, true, &f->wanted) || !text_of(r, true, &f->got))
		return false;
	return f->first <= f->seen ? at_end(r) : fail(r, "a finding was seen before it was seen first");
}

static bool read_ack(struct reader *r)
{
	struct state *s = r->state;
	const struct state_ack *first;
	struct state_ack *a;

	if (!grow(r, (void **)&s->acks, &s->ack_room, s->ack_count + 1, sizeof(*s->acks)))
		return false;
	a = &s->acks[s->ack_count++];
	*a = (struct state_ack){0};
	if (!code_of(r, &a->code) || !place(r, &a->guid, &a->port, false) || !number(r, TIME_MAX, &a->until) ||
	    !text_of(r, false, &a->ticket))
		return false;
	first = state_ack_find(s, a->code, a->guid, a->port);
	if (first && first != a)
		return fail(r, "the same is acknowledged twice");
	if (!r->at) /* as older versions wrote it */
		return true;
	return number(r, TIME_MAX, &a->since) && text_of(r, true, &a->by) && at_end(r);
}

static const struct {
	const char *word;
	bool (*read)(struct reader *r);
} kinds[] = {
	{"label", read_label}, {"written", read_written}, {"counters", read_columns}, {"node", read_node},
	{"port", read_port},   {"last", read_last},	  {"before", read_before},    {"finding", read_finding},
	{"ack", read_ack},     {"sent", read_sent},
};

static bool read_line(struct reader *r)
{
	const char *kind = word(r);

	for (unsigned i = 0; kind && i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (strcmp(kinds[i].word, kind) == 0)
			return kinds[i].read(r);
	return fail(r, "a line begins with a word that none does");
}

/* All lines up to "end N", N being how many there are. */
static bool read_lines(struct reader *r, char *text)
{
	char *next;
	uint64_t lines;

	for (; text; text = next) {
		next = strchr(text, '\n');
		if (!next)
			return fail(r, "it ends before its last line: it is not whole");
		*next++ = '\0';
		r->line++;
		r->at = text;
		if (r->line == 1) {
			if (strcmp(text, STATE_HEAD) != 0)
				return fail(r, "it is no state file of this version");
			continue;
		}
		if (strncmp(text, "end ", 4) == 0) {
			if (text_to_u64(text + 4, UINT32_MAX, &lines) != 0 || lines != r->line || *next)
				return fail(r, "it has not as many lines as it says: it is not whole");
			return r->state->label && r->columns > 0 ? true : fail(r, "label or names of counters are missing");
		}
		if (!read_line(r))
			return false;
	}
	return false;
}

/* Nothing in it is later than itself: of a port read in the future no look would ever be the next. */
static bool is_of_its_time(struct reader *r)
{
	const struct state *s = r->state;

	for (size_t i = 0; i < s->port_count; i++)
		if (s->ports[i].at > s->written)
			return fail(r, "it has a port that was read after the file was written");
	for (size_t i = 0; i < s->shares_count; i++)
		if (s->shares[i].at > s->written)
			return fail(r, "it has a port that was read after the file was written");
	for (size_t i = 0; i < s->finding_count; i++)
		if (s->findings[i].seen > s->written || s->findings[i].clean > s->written)
			return fail(r, "it has a finding that was seen after the file was written");
	return true;
}

int state_parse(const char *text, struct state *state, unsigned *line, const char **why)
{
	struct reader r = {.state = state};
	char *copy = strdup(text);
	bool read;

	*state = (struct state){0};
	if (!copy)
		return -ENOMEM;
	read = read_lines(&r, copy) && is_of_its_time(&r);
	free(copy);
	if (read)
		return 0;
	state_clear(state);
	*line = r.line;
	*why = r.why ? r.why : "it cannot be read";
	return r.no_memory ? -ENOMEM : -EINVAL;
}
