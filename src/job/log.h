/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* What is kept of a log while it streams by. */
#ifndef IBQOS_JOB_LOG_H
#define IBQOS_JOB_LOG_H

#include <uthash.h>

#include "ibqos/job.h"

/* A hash table of indexes into one of the arrays, by text. */
struct log_index {
	char *key;
	size_t at;
	UT_hash_handle hh;
};

/*
 * A line's beginning, up to and with "NCCL INFO ", of which the process is known. As many as processes write at once are
 * kept, so that mixed ranks cost no more than one.
 */
#define LOG_PREFIX 120
#define LOG_PREFIXES 2048 /* a power of two */
struct log_prefix { /* two lines of a processor's cache, of which one is mostly enough */
	uint32_t process;
	uint32_t size; /* 0: empty */
	char text[LOG_PREFIX];
};
#define LOG_CACHE_LINE 64

#define LOG_LINE 65536	       /* bytes of a line that are looked at */
#define LOG_PROCESSES 262144   /* ranks of the largest jobs, several times */
#define LOG_HOSTS 65536
#define LOG_DEVICES 1048576
#define LOG_HOST_DEVICES 256 /* of one host */
#define LOG_EVENTS 16384

struct job_log {
	struct job_log_process *processes;
	struct job_log_host *hosts;
	struct job_log_device *devices;
	struct job_log_setting *settings;
	struct job_log_event *events;
	char **files;
	size_t process_count, process_room, host_count, host_room, device_count, device_room, setting_count, setting_room;
	size_t event_count, event_room, file_count, file_room;
	struct log_index *by_process, *by_host, *by_device, *by_setting, *by_event;
	size_t last; /* process of the line before */
	struct log_prefix *prefixes; /* [LOG_PREFIXES] */
	struct log_prefix *recent; /* that of the line before; NULL: none */
	uint64_t bytes, lines, nccl_lines, cr_lines, torn, untracked;
	unsigned line; /* of the file under way, lines that have ended */
	char *carry;   /* a line of which the end has not come yet */
	size_t carried;
	bool long_line; /* the rest of a line above LOG_LINE is passed over */
	bool failed;
};

/* The index under `key`, or the one that `count` says after adding it; *added tells. SIZE_MAX: no room, or no memory. */
size_t log_find(struct job_log *log, struct log_index **table, const char *key, size_t size, size_t count, size_t most,
		bool *added);

/* A string of bytes that need not end in a NUL, up to one if there is one. NULL: out of memory. */
char *log_copy(const char *text, size_t size);

/* One message: of a process, behind "NCCL INFO " or "NCCL WARN ". */
struct log_message {
	struct job_log_process *process;
	const char *text;
	size_t size;
	const char *source; /* "net.cc:379" of a warning; NULL */
	size_t source_size;
	unsigned line;
	bool warn, cr;
};
/* Whole lines, the last perhaps without its newline (log_lines.c). */
void log_lines(struct job_log *log, const char *at, const char *end);

/* An event of an adapter that is none of a fault. */
bool log_is_harmless(const struct job_log_event *event);

void log_message(struct job_log *log, const struct log_message *m);

#endif
