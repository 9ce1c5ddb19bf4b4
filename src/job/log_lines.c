/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Lines of a log and their prefixes: whose each is. A line of NCCL is
 *   [timestamp ]host:pid:tid [dev] NCCL INFO message
 *   [timestamp ]host:pid:tid [dev] file:line [(function) ]NCCL WARN message
 * (src/debug.cc of each release), behind whatever a launcher has put first.
 */
#include <stdlib.h>
#include <string.h>

#include "log.h"

#define MARK_SIZE 10 /* "NCCL INFO " */

/* --- prefixes --- */

static bool digit(char c)
{
	return c >= '0' && c <= '9';
}

/* Past digits backwards from `end`; NULL if there is none. */
static const char *digits_before(const char *begin, const char *end)
{
	const char *at = end;

	while (at > begin && digit(at[-1]))
		at--;
	return at < end ? at : NULL;
}

/* "host:pid:tid" that ends at `end`: the begin of host, *pid_end behind pid. NULL: it is none. */
static const char *process_before(const char *begin, const char *end, const char **pid_end)
{
	const char *at = digits_before(begin, end);

	if (!at || at == begin || at[-1] != ':')
		return NULL;
	*pid_end = at - 1;
	at = digits_before(begin, at - 1);
	if (!at || at == begin || at[-1] != ':')
		return NULL;
	end = --at;
	/* a launcher's own prefix ends in a blank, or in what no name of a host has: "[1,0]<stdout>:host" */
	while (at > begin && (unsigned char)at[-1] > ' ' && at[-1] != ':' && at[-1] != ']' && at[-1] != '>' && at[-1] != '|')
		at--;
	return at < end ? at : NULL;
}

struct prefix {
	const char *key, *key_end; /* "host:pid" */
	const char *host_end;
	const char *source;
	size_t source_size;
};

/* Reads what stands between the line's begin and "NCCL INFO " or "NCCL WARN " at `mark`. */
static bool read_prefix(const char *begin, const char *mark, bool warn, struct prefix *p)
{
	const char *at = mark;

	*p = (struct prefix){0};
	if (warn) { /* back over "file:line " or "file:line (function) " */
		while (at > begin && at[-1] == ' ')
			at--;
		if (at > begin && at[-1] == ')') {
			while (at > begin && at[-1] != '(')
				at--;
			at -= at > begin;
			while (at > begin && at[-1] == ' ')
				at--;
		}
		p->source = at;
		while (p->source > begin && p->source[-1] != ' ')
			p->source--;
		p->source_size = (size_t)(at - p->source);
		at = p->source;
	}
	while (at > begin && at[-1] == ' ')
		at--;
	if (at > begin && at[-1] == ']') {
		at = digits_before(begin, at - 1);
		if (!at || at == begin || at[-1] != '[')
			return false;
		at--;
		while (at > begin && at[-1] == ' ')
			at--;
	}
	p->key = process_before(begin, at, &p->key_end);
	if (!p->key)
		return false;
	p->host_end = digits_before(p->key, p->key_end) - 1;
	return true;
}

static struct job_log_process *process_of(struct job_log *log, const struct prefix *p)
{
	size_t size = (size_t)(p->key_end - p->key), at, host;
	struct job_log_process *grown;
	struct log_index *found;
	bool added;

	if (log->last < log->process_count && strncmp(log->processes[log->last].key, p->key, size) == 0 &&
	    log->processes[log->last].key[size] == '\0')
		return &log->processes[log->last];
	HASH_FIND(hh, log->by_process, p->key, size, found);
	if (found && found->at < log->process_count) {
		log->last = found->at;
		return &log->processes[found->at];
	}
	/* the host first: where there is no room for it, there is none for its processes */
	host = log_find(log, &log->by_host, p->key, (size_t)(p->host_end - p->key), log->host_count, LOG_HOSTS, &added);
	if (added) {
		struct job_log_host *hosts = array_grow(log->hosts, &log->host_room, log->host_count + 1, sizeof(*hosts));

		if (hosts) {
			log->hosts = hosts;
			hosts[log->host_count] = (struct job_log_host){.name = log_copy(p->key, (size_t)(p->host_end - p->key))};
			log->failed |= !hosts[log->host_count++].name;
		}
		log->failed |= !hosts;
	}
	if (host >= log->host_count)
		return NULL;
	at = log_find(log, &log->by_process, p->key, size, log->process_count, LOG_PROCESSES, &added);
	if (at == SIZE_MAX)
		return NULL;
	log->last = at;
	grown = array_grow(log->processes, &log->process_room, log->process_count + 1, sizeof(*grown));
	if (!grown) {
		log->failed = true;
		return NULL;
	}
	log->processes = grown;
	grown[at] = (struct job_log_process){.key = log_copy(p->key, size), .host = host, .rank = -1, .ranks = -1};
	if (!grown[at].key) {
		log->failed = true;
		return NULL;
	}
	log->process_count++;
	log->hosts[host].processes++;
	return &log->processes[at];
}

/* --- lines --- */

/* "NCCL INFO " or "NCCL WARN " in from..end; NULL: none. For what is as short as a line memmem() takes longer to begin. */
static const char *mark_in(const char *from, const char *end)
{
	while ((size_t)(end - from) >= MARK_SIZE) {
		const char *mark = memchr(from, 'N', (size_t)(end - from) - MARK_SIZE + 1);

		if (!mark || memcmp(mark, "NCCL INFO ", MARK_SIZE) == 0 || memcmp(mark, "NCCL WARN ", MARK_SIZE) == 0)
			return mark;
		from = mark + 1;
	}
	return NULL;
}

/*
 * The prefix of a line that broke another one: its host stands right behind the other's text. It is the longest end of that
 * text which is a host known by now.
 */
static bool known_host(struct job_log *log, struct prefix *p)
{
	for (; p->key < p->host_end; p->key++) {
		struct log_index *found;

		HASH_FIND(hh, log->by_host, p->key, (size_t)(p->host_end - p->key), found);
		if (found)
			return true;
	}
	return false;
}

/* A message whose prefix was read. */
static void message(struct job_log *log, struct log_message *m, const char *mark, const char *end)
{
	m->text = mark + MARK_SIZE;
	m->line = log->line + 1;
	m->warn = mark[5] == 'W';
	m->cr = end > m->text && end[-1] == '\r';
	m->size = (size_t)(end - m->text) - m->cr;
	log->cr_lines += m->cr;
	log->nccl_lines++;
	log_message(log, m);
}

static uint64_t eight(const char *at)
{
	uint64_t value;

	memcpy(&value, at, sizeof(value));
	return value;
}

/* Whether bytes are the same, MARK_SIZE at least: eight at a time, the last eight perhaps twice. */
static inline bool same_bytes(const char *a, const char *b, size_t size)
{
	for (size_t at = 0; at + 8 < size; at += 8) {
		if (eight(a + at) != eight(b + at))
			return false;
	}
	return eight(a + size - 8) == eight(b + size - 8);
}

/* Where a beginning is kept, if it is; its hash is of what differs between processes, which stands before the mark. */
static struct log_prefix *slot_of(struct job_log *log, const char *line, size_t size)
{
	uint64_t hash = size;

	if (size >= MARK_SIZE + 8)
		hash ^= eight(line + size - MARK_SIZE - 8) * 0x9e3779b97f4a7c15u;
	if (size >= MARK_SIZE + 16)
		hash ^= eight(line + size - MARK_SIZE - 16) * 0xc2b2ae3d27d4eb4fu;
	return &log->prefixes[(hash >> 32 ^ hash) % LOG_PREFIXES];
}

/* `broke`: the message begins inside another process's line. */
static void one_message(struct job_log *log, const char *line, const char *mark, const char *end, bool broke)
{
	size_t size = (size_t)(mark - line) + MARK_SIZE;
	struct log_prefix *slot = !broke && mark[5] == 'I' && size <= LOG_PREFIX ? slot_of(log, line, size) : NULL;
	struct log_message m = {0};
	struct prefix p;

	if (slot && slot->size == size && same_bytes(line, slot->text, size)) {
		log->recent = slot;
		log->last = slot->process;
		m.process = &log->processes[slot->process];
		message(log, &m, mark, end);
		return;
	}
	if (!read_prefix(line, mark, mark[5] == 'W', &p) || (broke && !known_host(log, &p)))
		return;
	m.process = process_of(log, &p);
	if (!m.process)
		return;
	m.source = p.source;
	m.source_size = p.source_size;
	log->recent = slot;
	if (slot) {
		slot->process = (uint32_t)(m.process - log->processes);
		slot->size = (uint32_t)size;
		memcpy(slot->text, line, size);
	}
	message(log, &m, mark, end);
}

/* The messages of one line: one, or several where processes wrote into each other's. */
static void one_line(struct job_log *log, const char *line, const char *mark, const char *stop)
{
	const char *from = line;
	bool broke = false;

	while (mark && mark + MARK_SIZE <= stop) {
		const char *next = mark_in(mark + MARK_SIZE, stop), *until = stop;
		struct prefix torn;

		/* the message ends where the other's prefix begins, if that can be told */
		if (next && read_prefix(mark + MARK_SIZE, next, next[5] == 'W', &torn)) {
			log->torn++;
			until = known_host(log, &torn) ? torn.key : NULL;
		}
		if (until)
			one_message(log, from, mark, until, broke);
		broke = true;
		from = mark + MARK_SIZE;
		mark = next;
	}
}

typedef uint8_t sixteen __attribute__((vector_size(16)));
typedef uint64_t halves __attribute__((vector_size(16)));

/* Which of eight bytes in memory is the first that is not 0. */
static inline unsigned first_byte(uint64_t bytes)
{
	return (unsigned)(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? __builtin_ctzll(bytes) : __builtin_clzll(bytes)) / 8;
}

/* The first newline or 'N' in at..end; NULL: none. Both at once, and inline: rests of lines are as short as a call is long. */
static inline const char *newline_or_mark(const char *at, const char *end)
{
	for (; end - at >= 16; at += 16) {
		sixteen bytes;
		halves found;

		memcpy(&bytes, at, sizeof(bytes));
		found = (halves)(bytes == '\n') | (halves)(bytes == 'N');
		if ((found[0] | found[1]) != 0)
			return at + (found[0] ? first_byte(found[0]) : 8 + first_byte(found[1]));
	}
	while (at < end && *at != '\n' && *at != 'N')
		at++;
	return at < end ? at : NULL;
}

/* The first newline or "NCCL " in at..end, each with all of a mark behind it that there could be; NULL: none. */
static inline const char *newline_or_nccl(const char *at, const char *end)
{
	for (at = newline_or_mark(at, end); at && *at == 'N'; at = newline_or_mark(at + 1, end)) {
		if (end - at >= MARK_SIZE && memcmp(at, "NCCL ", 5) == 0)
			break;
	}
	return at;
}

/*
 * What most lines are: one message behind a beginning that is known, most often as long as the one before; or no message at all.
 * All of it in one pass. Returns what is behind its newline; NULL: it is none of these, or does not end in at..end.
 */
static inline const char *plain_line(struct job_log *log, const char *at, const char *end)
{
	struct log_prefix *slot = log->recent;
	size_t size = slot ? slot->size : 0;
	struct log_message m = {0};
	const char *stop;

	if (size == 0 || (size_t)(end - at) <= size || memcmp(at + size - MARK_SIZE, "NCCL INFO ", MARK_SIZE) != 0) {
		const char *mark = newline_or_nccl(at, end);

		if (!mark)
			return NULL;
		if (*mark == '\n')
			return mark + 1;
		size = (size_t)(mark - at) + MARK_SIZE;
		if (size > LOG_PREFIX || memcmp(mark, "NCCL INFO ", MARK_SIZE) != 0)
			return NULL;
	}
	if (!slot || slot->size != size || !same_bytes(at, slot->text, size))
		slot = slot_of(log, at, size);
	if (slot->size != size || !same_bytes(at, slot->text, size))
		return NULL;
	stop = newline_or_nccl(at + size, end);
	if (!stop || *stop != '\n' || stop - at > LOG_LINE)
		return NULL;
	log->recent = slot;
	log->last = slot->process;
	m.process = &log->processes[slot->process];
	message(log, &m, at + size - MARK_SIZE, stop);
	return stop + 1;
}

void log_lines(struct job_log *log, const char *at, const char *end)
{
	while (at < end) {
		const char *next = plain_line(log, at, end), *newline, *stop, *mark;

		if (!next) {
			newline = memchr(at, '\n', (size_t)(end - at));
			stop = newline ? newline : end;
			if (stop - at > LOG_LINE) /* no further than where it comes in pieces */
				stop = at + LOG_LINE;
			mark = mark_in(at, stop);
			if (mark)
				one_line(log, at, mark, stop);
			if (!newline)
				return;
			next = newline + 1;
		}
		log->line++;
		log->lines++;
		at = next;
	}
}
