/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * What is known of the OpenSM that runs: which version, from its program as /proc has it, so that
 * nothing is ever started to ask; what its log tells; which unit of systemd it belongs to.
 */
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "facts.h"

#define BANNER "OpenSM "		     /* osm_version.h: OSM_VERSION */
#define LOG_HEAD (64u << 10)		     /* of a log: its beginning, where OpenSM names itself */
#define LOG_TAIL (4u << 20)		     /* and its end, with the last sweeps */
#define VERSION_MAX 63

/* --- versions --- */

static bool is_version_char(char c)
{
	return isalnum((unsigned char)c) || c == '.' || c == '-' || c == '_' || c == '+' || c == '~';
}

/* The length of a version that `text` starts with, up to `end`: it begins with a digit and has a point. 0: none. */
static size_t version_length(const char *text, const char *end)
{
	size_t length = 0;

	if (text >= end || !isdigit((unsigned char)*text))
		return 0;
	while (text + length < end && length <= VERSION_MAX && is_version_char(text[length]))
		length++;
	return length <= VERSION_MAX && memchr(text, '.', length) ? length : 0;
}

/*
 * The version that a program has in it as a string of its own: "OpenSM 3.3.23" between NULs. Two
 * that differ tell nothing.
 */
char *opensm_version_in(const char *program, size_t size)
{
	const char *at = program, *end = program + size, *found = NULL;
	size_t found_length = 0;

	while (at < end && (at = memmem(at, (size_t)(end - at), BANNER, strlen(BANNER)))) {
		const char *version = at + strlen(BANNER);
		size_t length = version_length(version, end);
		bool alone = (at == program || at[-1] == '\0') && length > 0 && version + length < end &&
			     version[length] == '\0';

		at = version;
		if (!alone)
			continue;
		if (found && (length != found_length || memcmp(found, version, length) != 0))
			return NULL;
		found = version;
		found_length = length;
	}
	return found ? strndup(found, found_length) : NULL;
}

enum opensm_flavour opensm_flavour_of(const char *version, const char *program, const char *config)
{
	static const char *const tested[] = {"3.3.23", "3.3.24"};

	if ((program && strncmp(program, "/opt/ufm/", 9) == 0) || (config && strncmp(config, "/opt/ufm/", 9) == 0))
		return OPENSM_NVIDIA;
	if (!version)
		return OPENSM_FLAVOUR_UNKNOWN;
	for (size_t i = 0; i < sizeof(tested) / sizeof(tested[0]); i++)
		if (strcmp(version, tested[i]) == 0)
			return OPENSM_TESTED;
	/* upstream has stayed at 3.x; NVIDIA's is at 4 and 5, and names itself "5.17.0.MLNX2023..." */
	if (strcasestr(version, "MLNX") || strcasestr(version, "NVIDIA") || version[0] > '3' || isdigit((unsigned char)version[1]))
		return OPENSM_NVIDIA;
	return OPENSM_UNTESTED;
}

const char *opensm_flavour_text(enum opensm_flavour flavour)
{
	static const char *const texts[] = {
		[OPENSM_FLAVOUR_UNKNOWN] = "not known",
		[OPENSM_TESTED] = "upstream, of a version that ibqos is tested with",
		[OPENSM_UNTESTED] = "of a version that ibqos is not tested with",
		[OPENSM_NVIDIA] = "NVIDIA's (MLNX_OFED, DOCA or UFM)",
	};

	return texts[flavour];
}

/* --- its log --- */

/* The text has no end of its own. */
static bool replace(char **member, const char *text, size_t length)
{
	char *copy = malloc(length + 1);

	if (!copy)
		return false;
	memcpy(copy, text, length);
	copy[length] = '\0';
	free(*member);
	*member = copy;
	return true;
}

/* The text of a line "Mon DD ... -> text"; NULL: it is none. */
static const char *line_text(const char *line, const char *end)
{
	const char *arrow = memmem(line, (size_t)(end - line), " -> ", 4);

	return arrow ? arrow + 4 : NULL;
}

/* What follows `words` in a text; NULL: they are not in it. */
static const char *behind(const char *text, const char *end, const char *words)
{
	const char *at = memmem(text, (size_t)(end - text), words, strlen(words));

	return at ? at + strlen(words) : NULL;
}

static void take_line(const char *line, const char *end, struct opensm_log_facts *facts)
{
	static const char binding[] = "Mgmt class 0x81 binding to port GUID 0x";
	static const char tables[] = " tables configured on all switches";
	const char *text = line_text(line, end), *at;
	size_t length;

	if (!text)
		return;
	at = behind(text, end, BANNER);
	length = at && at == text + strlen(BANNER) ? version_length(at, end) : 0;
	if (length > 0 && at + length == end)
		facts->lost |= !replace(&facts->version, at, length);
	at = behind(text, end, binding);
	if (at) {
		uint64_t guid = 0;
		unsigned digits = 0;

		for (; at < end && isxdigit((unsigned char)*at) && digits < 17; at++, digits++)
			guid = guid << 4 | (uint64_t)(isdigit((unsigned char)*at) ? *at - '0' : tolower((unsigned char)*at) - 'a' + 10);
		if (digits > 0 && digits <= 16)
			facts->port_guid = guid;
	}
	at = behind(text, end, tables);
	if (at && at == end) {
		const char *word_end = end - strlen(tables), *word = word_end;

		while (word > text && word[-1] != ' ')
			word--;
		length = (size_t)(word_end - word);
		for (size_t i = 0; i < length; i++)
			if (!is_version_char(word[i]))
				length = 0;
		if (length > 0)
			facts->lost |= !replace(&facts->engine, word, length);
	}
}

void opensm_log_facts_take(const char *text, size_t size, struct opensm_log_facts *facts)
{
	const char *end = text + size, *newline;

	for (; text < end && (newline = memchr(text, '\n', (size_t)(end - text))); text = newline + 1)
		take_line(text, newline, facts);
}

void opensm_log_facts_clear(struct opensm_log_facts *facts)
{
	free(facts->version);
	free(facts->engine);
	*facts = (struct opensm_log_facts){0};
}

static int read_part(int fd, off_t from, size_t size, char *buffer, size_t *got)
{
	*got = 0;
	while (*got < size) {
		ssize_t n = pread(fd, buffer + *got, size - *got, from + (off_t)*got);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		if (n == 0)
			break;
		*got += (size_t)n;
	}
	return 0;
}

/* Its beginning and its end; a line that is cut there tells nothing or what it has told whole. */
static int read_log(const char *path, struct opensm_log_facts *facts)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY), error = 0;
	char *buffer = malloc(LOG_TAIL);
	struct stat st;
	size_t got;

	if (fd < 0 || fstat(fd, &st) != 0)
		error = -errno;
	else if (!buffer)
		error = -ENOMEM;
	else if (!S_ISREG(st.st_mode))
		error = -EINVAL;
	if (error == 0 && st.st_size > (off_t)LOG_TAIL) {
		error = read_part(fd, 0, LOG_HEAD, buffer, &got);
		if (error == 0)
			opensm_log_facts_take(buffer, got, facts);
	}
	if (error == 0)
		error = read_part(fd, st.st_size > (off_t)LOG_TAIL ? st.st_size - (off_t)LOG_TAIL : 0, LOG_TAIL, buffer, &got);
	if (error == 0)
		opensm_log_facts_take(buffer, got, facts);
	if (fd >= 0)
		close(fd);
	free(buffer);
	return error ? error : facts->lost ? -ENOMEM : 0;
}

/* --- /proc --- */

static int read_entry(const struct opensm_instance *instance, const char *entry, char **text, size_t *size)
{
	char path[64];

	*text = NULL;
	snprintf(path, sizeof(path), "/proc/%d/%s", (int)instance->pid, entry);
	return file_read(path, text, size);
}

static char *link_of(const struct opensm_instance *instance, const char *entry)
{
	char path[64], target[4096];
	ssize_t length;

	snprintf(path, sizeof(path), "/proc/%d/%s", (int)instance->pid, entry);
	length = readlink(path, target, sizeof(target) - 1);
	return length < 0 ? NULL : strndup(target, (size_t)length);
}

/* Whether a word of OpenSM's command line is -k, or the start of --sm_key or --cc_key as getopt_long_only(3) takes it: a key is behind. */
static bool has_key_behind(const char *word)
{
	static const char *const names[] = {"sm_key", "cc_key"};
	size_t length;

	if (strcmp(word, "-k") == 0)
		return true;
	word += word[0] == '-' ? word[1] == '-' ? 2 : 1 : 0;
	length = strcspn(word, "=");
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (length >= 3 && strncmp(word, names[i], length) == 0)
			return true;
	return false;
}

/* What of a word may be shown; `before` is the one in front of it. */
static const char *word_shown(const char *word, const char *before)
{
	if (before && has_key_behind(before) && !strchr(before, '='))
		return "(not shown)";
	if (word[0] == '-' && word[1] == 'k' && word[2])
		return "-k(not shown)";
	return word[0] == '-' && has_key_behind(word) && strchr(word, '=') ? "--sm_key=(not shown)" : word;
}

/* Arguments with a blank between, those with blanks or nothing in them in quotes; keys are not shown. */
static char *command_text(const char *cmdline, size_t size)
{
	char *text = NULL, *printable;
	size_t length;
	FILE *out = open_memstream(&text, &length);

	if (!out)
		return NULL;
	for (const char *at = cmdline, *before = NULL; at < cmdline + size; before = at, at += strlen(at) + 1) {
		const char *word = word_shown(at, before);
		bool quoted = *word == '\0' || strpbrk(word, " \t\n'\"");

		fprintf(out, "%s%s%s%s", before ? " " : "", quoted ? "'" : "", word, quoted ? "'" : "");
	}
	if (text_stream_end(out, &text) != 0)
		return NULL;
	printable = text_utf8(text, strlen(text));
	free(text);
	return printable;
}

char *opensm_unit_in(const char *cgroups)
{
	static const char service[] = ".service";

	for (const char *line = cgroups; *line;) {
		const char *end = strchrnul(line, '\n'), *slash = memrchr(line, '/', (size_t)(end - line));
		size_t length = slash ? (size_t)(end - slash - 1) : 0;
		bool systemd = strncmp(line, "0::", 3) == 0 ||
			       memmem(line, (size_t)(end - line), ":name=systemd:", strlen(":name=systemd:"));

		if (systemd && length > strlen(service) &&
		    memcmp(end - strlen(service), service, strlen(service)) == 0 && slash[1] != '-') {
			bool good = true;

			for (size_t i = 1; i <= length && good; i++)
				good = isalnum((unsigned char)slash[i]) || strchr(":_.\\@-", slash[i]);
			if (good)
				return strndup(slash + 1, length);
		}
		line = *end ? end + 1 : end;
	}
	return NULL;
}

/* When it was started, by the wall clock as it is set now; zero: not known. */
static struct timespec started(const struct opensm_instance *instance)
{
	struct timespec boot, now, start = {0};
	long ticks_a_second = sysconf(_SC_CLK_TCK);
	unsigned long long ticks = 0;
	const char *field;
	char *text;
	size_t size;
	int64_t ns;

	if (read_entry(instance, "stat", &text, &size) != 0)
		return start;
	field = strrchr(text, ')'); /* the name may hold blanks and brackets */
	for (unsigned i = 2; field && i < 22; i++)
		field = strchr(field + 1, ' ');
	if (field)
		ticks = strtoull(field, NULL, 10);
	free(text);
	if (ticks == 0 || ticks_a_second <= 0 || clock_gettime(CLOCK_BOOTTIME, &boot) != 0 ||
	    clock_gettime(CLOCK_REALTIME, &now) != 0)
		return start;
	ns = (int64_t)(now.tv_sec - boot.tv_sec) * 1000000000 + now.tv_nsec - boot.tv_nsec;
	ns += (int64_t)(ticks * (1000000000ull / (unsigned long long)ticks_a_second));
	start.tv_sec = ns / 1000000000;
	start.tv_nsec = ns % 1000000000;
	return start;
}

static int keep(char **member, const char *text)
{
	if (!text)
		return 0;
	*member = strdup(text);
	return *member ? 0 : -ENOMEM;
}

static int take_arguments(const struct opensm_instance *instance, struct opensm_facts *facts)
{
	struct opensm_arguments arguments;
	char *cmdline;
	size_t size;
	uint64_t port;
	int error = read_entry(instance, "cmdline", &cmdline, &size);

	if (error != 0)
		return error == -ENOMEM ? error : 0;
	opensm_arguments_read(cmdline, size, &arguments);
	facts->command = command_text(cmdline, size);
	error = facts->command ? 0 : -ENOMEM;
	if (error == 0)
		error = keep(&facts->partitions, arguments.partitions);
	if (error == 0)
		error = keep(&facts->prefix_routes, arguments.prefix_routes);
	if (error == 0)
		error = keep(&facts->console, arguments.console);
	if (arguments.console_port && text_to_u64(arguments.console_port, 65535, &port) == 0)
		facts->console_port = (unsigned)port;
	if (arguments.guid)
		facts->port_guid = strtoull(arguments.guid, NULL, 0);
	facts->key_count = arguments.key_count;
	memcpy(facts->keys, arguments.keys, sizeof(facts->keys)); /* static names */
	free(cmdline);
	return error;
}

/* The program that runs: as it was when it was started, also if its file was replaced since. */
static int take_program(const struct opensm_instance *instance, struct opensm_facts *facts)
{
	char *program;
	size_t size;
	int error = read_entry(instance, "exe", &program, &size);

	if (error != 0)
		return error == -ENOMEM ? error : 0;
	facts->version = opensm_version_in(program, size);
	if (facts->version)
		facts->version_from = "its program";
	free(program);
	return 0;
}

static int take_log(const char *path, struct opensm_facts *facts)
{
	struct opensm_log_facts told = {0};
	int error = path ? read_log(path, &told) : 0;

	if (!facts->version && told.version) {
		facts->version = told.version;
		facts->version_from = "its log";
		told.version = NULL;
	}
	if (told.port_guid)
		facts->port_guid = told.port_guid;
	facts->engine = told.engine;
	told.engine = NULL;
	opensm_log_facts_clear(&told);
	return error == -ENOMEM ? error : 0;
}

int opensm_facts_read(const struct opensm_instance *instance, const char *log, struct opensm_facts *facts)
{
	char *cgroups, *program = NULL;
	size_t size;
	int error;

	*facts = (struct opensm_facts){0};
	facts->started = started(instance);
	error = take_arguments(instance, facts);
	if (error == 0)
		error = take_program(instance, facts);
	if (error == 0)
		error = take_log(log, facts);
	if (error == 0 && read_entry(instance, "cgroup", &cgroups, &size) == 0) {
		facts->unit = opensm_unit_in(cgroups);
		free(cgroups);
	}
	program = link_of(instance, "exe");
	facts->flavour = opensm_flavour_of(facts->version, program, instance->config);
	free(program);
	return error;
}

void opensm_facts_clear(struct opensm_facts *facts)
{
	free(facts->command);
	free(facts->version);
	free(facts->unit);
	free(facts->engine);
	free(facts->console);
	free(facts->partitions);
	free(facts->prefix_routes);
	*facts = (struct opensm_facts){0};
}
