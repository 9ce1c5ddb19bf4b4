/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Any bytes as OpenSM's log: what is counted does not depend on how the bytes arrive, and is what a
 * plain search line by line finds. With the log emptied, moved away and begun anew between polls:
 * counts only grow, and a whole line that is there when it is polled is counted.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fuzz.h"
#include "ibqos/opensm.h"

#define LINE_KEPT 2048 /* of a longer line only its beginning is looked at */
#define UP "Nov 30 08:11:17 000001 [A1B2] 0x02 -> SUBNET UP\n"

struct place {
	char folder[64], log[96], moved[96];
};

/* In memory where the system has a place for that. */
static void make_place(struct place *place)
{
	snprintf(place->folder, sizeof(place->folder), "%s/ibqos-fuzz-XXXXXX",
		 access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp");
	require(mkdtemp(place->folder));
	snprintf(place->log, sizeof(place->log), "%s/log", place->folder);
	snprintf(place->moved, sizeof(place->moved), "%s/moved", place->folder);
}

static void remove_place(const struct place *place)
{
	unlink(place->log);
	unlink(place->moved);
	require(rmdir(place->folder) == 0);
}

static void append(const char *path, const void *bytes, size_t size)
{
	int fd = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);

	require(fd >= 0 && write(fd, bytes, size) == (ssize_t)size);
	close(fd);
}

/* --- one file that only grows --- */

static bool ends_as(const char *text, const char *words)
{
	size_t length = strlen(text), wanted = strlen(words);

	if (length < wanted || strcmp(text + length - wanted, words) != 0)
		return false;
	text += length - wanted;
	return length == wanted || (length > wanted + 1 && text[-2] == ':' && text[-1] == ' ');
}

/* What a whole line adds, by the words of the header alone. */
static void expect_line(char *line, struct opensm_log_events *events)
{
	char *text = strstr(line, " -> "), *error;
	unsigned number;
	char class[3] = "";

	if (!text)
		return;
	text += 4;
	if (ends_as(text, "SUBNET UP"))
		events->subnet_up++;
	if (ends_as(text, "Errors during initialization")) {
		events->subnet_up++;
		events->init_errors++;
	}
	error = strstr(line, " ERR ");
	if (!error || error < text - 1)
		return;
	if (sscanf(error, " ERR %2[A-Z]%2u", class, &number) == 2 && strcmp(class, "AC") == 0 &&
	    error[7] >= '0' && error[7] <= '9' && error[8] >= '0' && error[8] <= '9' &&
	    (number == 1 || (number >= 3 && number <= 6) || (number >= 10 && number <= 13)))
		events->policy_errors++;
	free(events->last_error);
	events->last_error = text_utf8(line, strlen(line));
}

static void expect(const uint8_t *data, size_t size, struct opensm_log_events *events)
{
	const uint8_t *end;

	for (; size > 0 && (end = memchr(data, '\n', size));
	     size -= (size_t)(end + 1 - data), data = end + 1) {
		size_t length = (size_t)(end - data);
		struct fuzz bytes = {data, length < LINE_KEPT ? length : LINE_KEPT};
		char *line = fuzz_rest(&bytes);

		expect_line(line, events);
		free(line);
	}
}

static void require_same(const struct opensm_log_events *a, const struct opensm_log_events *b)
{
	require(a->subnet_up == b->subnet_up && a->init_errors == b->init_errors);
	require(a->policy_errors == b->policy_errors);
	require(!a->last_error == !b->last_error);
	require(!a->last_error || strcmp(a->last_error, b->last_error) == 0);
	require(!a->last_error || fuzz_printable(a->last_error, ""));
}

static void grow(struct fuzz *in, const struct place *place)
{
	struct opensm_log_events found = {0}, expected = {0};
	struct opensm_log *log;
	uint8_t sizes[8];

	fuzz_fill(in, sizes, sizeof(sizes));
	append(place->log, UP, strlen(UP) * fuzz_bit(in)); /* what was there before does not count */
	expect(in->at, in->left, &expected);
	require(opensm_log_open(place->log, &log) == 0);
	for (unsigned part = 0; in->left > 0; part++) {
		size_t size = 1u + sizes[part % sizeof(sizes)] * (part < 64 ? 1u : 64u);

		size = size < in->left ? size : in->left;
		append(place->log, in->at, size);
		in->at += size;
		in->left -= size;
		if (sizes[part % sizeof(sizes)] & 1 || in->left == 0)
			require(opensm_log_poll(log, &found) == 0);
	}
	require_same(&found, &expected);
	opensm_log_events_clear(&found);
	opensm_log_events_clear(&expected);
	opensm_log_close(log);
}

/* --- files that come and go --- */

static void change(struct fuzz *in, const struct place *place)
{
	struct opensm_log_events found = {0}, before;
	struct opensm_log *log;
	char *text;

	require(opensm_log_open(place->log, &log) == 0);
	while (in->left > 0) {
		switch (fuzz_below(in, 5)) {
		case 0:
			text = fuzz_text(in, 256);
			append(place->log, text, strlen(text));
			free(text);
			break;
		case 1: /* log_max_size, copytruncate */
			if (access(place->log, F_OK) == 0)
				require(truncate(place->log, 0) == 0);
			break;
		case 2:
			rename(place->log, place->moved);
			break;
		case 3:
			unlink(place->log);
			break;
		case 4:
			break;
		}
		before = found;
		before.last_error = NULL;
		require(opensm_log_poll(log, &found) == 0);
		require(found.subnet_up >= before.subnet_up && found.init_errors >= before.init_errors);
		require(found.policy_errors >= before.policy_errors && found.init_errors <= found.subnet_up);
		require(!found.last_error || fuzz_printable(found.last_error, ""));
	}
	/* whatever was before: a new line behind the end of the others is seen */
	append(place->log, "\n" UP, strlen("\n" UP));
	before = found;
	require(opensm_log_poll(log, &found) == 0 && found.subnet_up > before.subnet_up);
	opensm_log_events_clear(&found);
	opensm_log_close(log);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz in = {data, size};
	struct place place;

	make_place(&place);
	if (fuzz_bit(&in))
		change(&in, &place);
	else
		grow(&in, &place);
	remove_place(&place);
	return 0;
}
