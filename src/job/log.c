/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* A log of NCCL as a stream of bytes: what is kept of it, and lines that come in pieces. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "log.h"

size_t log_find(struct job_log *log, struct log_index **table, const char *key, size_t size, size_t count, size_t most,
		bool *added)
{
	struct log_index *found;

	*added = false;
	HASH_FIND(hh, *table, key, size, found);
	if (found) /* what memory ran out for is in the table alone */
		return found->at < count ? found->at : SIZE_MAX;
	if (count >= most) {
		log->untracked++;
		return SIZE_MAX;
	}
	found = calloc(1, sizeof(*found));
	if (found)
		found->key = malloc(size + 1);
	if (!found || !found->key) {
		free(found);
		log->failed = true;
		return SIZE_MAX;
	}
	memcpy(found->key, key, size);
	found->key[size] = '\0';
	found->at = count;
	HASH_ADD_KEYPTR(hh, *table, found->key, size, found);
	*added = true;
	return count;
}

char *log_copy(const char *text, size_t size)
{
	size_t length = strnlen(text, size);
	char *made = malloc(length + 1);

	if (made) {
		memcpy(made, text, length);
		made[length] = '\0';
	}
	return made;
}

static void index_free(struct log_index **table)
{
	struct log_index *item, *next;

	HASH_ITER(hh, *table, item, next) {
		HASH_DEL(*table, item);
		free(item->key);
		free(item);
	}
}

int job_log_new(struct job_log **log)
{
	struct job_log *made = calloc(1, sizeof(*made));

	if (made) {
		made->carry = malloc(LOG_LINE);
		made->prefixes = aligned_alloc(LOG_CACHE_LINE, LOG_PREFIXES * sizeof(*made->prefixes));
	}
	if (!made || !made->carry || !made->prefixes) {
		if (made) {
			free(made->carry);
			free(made->prefixes);
		}
		free(made);
		*log = NULL;
		return -ENOMEM;
	}
	memset(made->prefixes, 0, LOG_PREFIXES * sizeof(*made->prefixes));
	*log = made;
	return 0;
}

void job_log_free(struct job_log *log)
{
	if (!log)
		return;
	for (size_t i = 0; i < log->process_count; i++)
		free(log->processes[i].key);
	for (size_t i = 0; i < log->host_count; i++) {
		free(log->hosts[i].name);
		for (size_t a = 0; a < JOB_LOG_ADDRESSES; a++)
			free(log->hosts[i].addresses[a]);
	}
	for (size_t i = 0; i < log->device_count; i++)
		free(log->devices[i].name);
	for (size_t i = 0; i < log->setting_count; i++) {
		free(log->settings[i].name);
		free(log->settings[i].value);
	}
	for (size_t i = 0; i < log->event_count; i++) {
		free(log->events[i].device);
		free(log->events[i].text);
		free(log->events[i].peer);
	}
	for (size_t i = 0; i < log->file_count; i++)
		free(log->files[i]);
	index_free(&log->by_process);
	index_free(&log->by_host);
	index_free(&log->by_device);
	index_free(&log->by_setting);
	index_free(&log->by_event);
	free(log->processes);
	free(log->hosts);
	free(log->devices);
	free(log->settings);
	free(log->events);
	free(log->files);
	free(log->carry);
	free(log->prefixes);
	free(log);
}

/* --- bytes --- */

int job_log_begin(struct job_log *log, const char *file)
{
	char **grown = array_grow(log->files, &log->file_room, log->file_count + 1, sizeof(*grown));

	if (!grown)
		return -ENOMEM;
	log->files = grown;
	log->files[log->file_count] = strdup(file);
	if (!log->files[log->file_count])
		return -ENOMEM;
	log->file_count++;
	log->line = 0;
	log->carried = 0;
	log->long_line = false;
	return 0;
}

/* Bytes up to the first newline, which a line begun earlier was waiting for. Returns how many are used up. */
static size_t finish_carried(struct job_log *log, const char *data, size_t size)
{
	const char *newline = memchr(data, '\n', size);
	size_t used = newline ? (size_t)(newline - data) + 1 : size, room = LOG_LINE - log->carried;
	size_t take = used < room ? used : room;

	if (!log->long_line) {
		memcpy(log->carry + log->carried, data, take);
		log->carried += take;
	}
	log->long_line |= take < used;
	if (!newline && log->carried < LOG_LINE)
		return used;
	if (log->carried > 0) {
		bool whole = log->carry[log->carried - 1] == '\n';

		log_lines(log, log->carry, log->carry + log->carried);
		log->carried = 0;
		if (!whole && !newline) {
			log->long_line = true; /* its newline is still to come, and counts then */
			return used;
		}
		if (!whole) {
			log->line++;
			log->lines++;
		}
	} else if (newline) { /* of the rest of a long line */
		log->line++;
		log->lines++;
	}
	log->long_line = !newline;
	return used;
}

int job_log_feed(struct job_log *log, const char *data, size_t size)
{
	log->bytes += size;
	while (size > 0 && (log->carried > 0 || log->long_line)) {
		size_t used = finish_carried(log, data, size);

		data += used;
		size -= used;
	}
	if (size > 0) {
		const char *last = memrchr(data, '\n', size), *rest = last ? last + 1 : data;
		size_t left = (size_t)(data + size - rest);

		if (last)
			log_lines(log, data, rest);
		if (left > 0)
			finish_carried(log, rest, left);
	}
	return log->failed ? -ENOMEM : 0;
}

int job_log_end(struct job_log *log)
{
	if (log->carried > 0)
		log_lines(log, log->carry, log->carry + log->carried);
	log->carried = 0;
	log->long_line = false;
	return log->failed ? -ENOMEM : 0;
}

struct job_log_view job_log_view(const struct job_log *log)
{
	return (struct job_log_view){
		.processes = log->processes, .process_count = log->process_count,
		.hosts = log->hosts, .host_count = log->host_count,
		.devices = log->devices, .device_count = log->device_count,
		.settings = log->settings, .setting_count = log->setting_count,
		.events = log->events, .event_count = log->event_count,
		.files = log->files, .file_count = log->file_count,
		.bytes = log->bytes, .lines = log->lines, .nccl_lines = log->nccl_lines, .torn = log->torn,
		.untracked = log->untracked, .all_cr = log->nccl_lines > 0 && log->cr_lines == log->nccl_lines,
	};
}
