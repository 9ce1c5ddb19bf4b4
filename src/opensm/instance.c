/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The OpenSM process that reads a config file: found in /proc, held by a pidfd, told to reload.
 */
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "instance.h"

#define PROGRAM "opensm"

/* One process of /proc that is looked at. */
struct process {
	const char *proc;
	pid_t pid;
	char *cmdline;
	struct opensm_arguments arguments;
};

/* /proc/PID/entry, and behind it a path that starts there. */
static char *process_path(const struct process *p, const char *entry, const char *behind)
{
	char *path;

	return asprintf(&path, "%s/%d/%s%s%s", p->proc, (int)p->pid, entry, behind ? "/" : "",
			behind ? behind : "") < 0
		       ? NULL
		       : path;
}

/* What a link of /proc/PID points at; NULL with errno set. */
static char *process_link(const struct process *p, const char *entry)
{
	char *path = process_path(p, entry, NULL), *target = malloc(PATH_MAX);
	ssize_t length = path && target ? readlink(path, target, PATH_MAX - 1) : -1;

	free(path);
	if (length < 0) {
		free(target);
		return NULL;
	}
	target[length] = '\0';
	return target;
}

static char *process_file(const struct process *p, const char *entry, size_t *size)
{
	char *path = process_path(p, entry, NULL), *text = NULL;

	if (path && file_read(path, &text, size) < 0)
		text = NULL;
	free(path);
	return text;
}

/*
 * A script named opensm bears the name in comm too, so what it runs decides where that can be seen:
 * SIGHUP would end a shell. A program that was replaced since has " (deleted)" behind its path.
 */
static bool process_is_opensm(const struct process *p)
{
	char *exe = process_link(p, "exe"), *comm;
	size_t size;
	bool is;

	if (exe) {
		const char *name = strrchr(exe, '/');

		name = name ? name + 1 : exe;
		is = strcmp(name, PROGRAM) == 0 || strcmp(name, PROGRAM " (deleted)") == 0;
		free(exe);
		return is;
	}
	comm = process_file(p, "comm", &size);
	is = comm && strcmp(comm, PROGRAM "\n") == 0;
	free(comm);
	return is;
}

/* Start time in ticks since boot (proc(5), stat field 22); 0 if it cannot be told. */
static unsigned long long process_start(const struct process *p)
{
	unsigned long long start = 0;
	size_t size;
	char *text = process_file(p, "stat", &size);
	const char *field = text ? strrchr(text, ')') : NULL; /* the name may hold blanks and brackets */

	for (unsigned i = 2; field && i < 22; i++)
		field = strchr(field + 1, ' ');
	if (field)
		start = strtoull(field, NULL, 10);
	free(text);
	return start;
}

/*
 * A path as the process sees it, for opening: below its root, or its working directory. Where that
 * cannot be looked into (another user's process), an absolute path is tried as it is.
 */
static char *process_view(const struct process *p, const char *path)
{
	char *root;
	bool reachable;

	if (*path != '/')
		return process_path(p, "cwd", path);
	root = process_path(p, "root", ".");
	reachable = root && access(root, F_OK) == 0;
	free(root);
	return reachable ? process_path(p, "root", path) : strdup(path);
}

/* A path of the process as an absolute one, for people. */
static char *process_absolute(const struct process *p, const char *path)
{
	char *cwd, *absolute;

	if (*path == '/')
		return strdup(path);
	cwd = process_link(p, "cwd");
	if (!cwd || asprintf(&absolute, "%s/%s", strcmp(cwd, "/") == 0 ? "" : cwd, path) < 0)
		absolute = NULL;
	free(cwd);
	return absolute;
}

/* 1 if the process reads `config`, 0 if not or if that cannot be seen, which is told; -ENOMEM. */
static int process_reads(const struct ibqos_ctx *ctx, const struct process *p, const char *config)
{
	const char *argument = p->arguments.config ? p->arguments.config : OPENSM_CONFIG;
	char *view = process_view(p, argument);
	int r = view ? file_same(view, config) : -ENOMEM;

	free(view);
	if (r >= 0 || r == -ENOMEM)
		return r;
	ctx_debug(ctx, "passed over opensm process %d: cannot look at its config '%s': %s", (int)p->pid,
		  argument, strerror(-r));
	return 0;
}

/* These names stand for no file (osm_log_init_v2(), libopensm/osm_log.c). */
static bool is_log_file(const char *name)
{
	return strcmp(name, "(null)") != 0 && strcmp(name, "-") != 0 && strcmp(name, "stdout") != 0 &&
	       strcmp(name, "stderr") != 0;
}

/* -f, else log_file of its config, which OpenSM read when it started, else its default. 0 or -ENOMEM. */
static int process_log(const struct process *p, char **log)
{
	struct opensm_conf *conf = NULL;
	const char *name = p->arguments.log;
	char *view, *text;
	size_t size;
	int r = 0;

	*log = NULL;
	if (!name) {
		view = process_view(p, p->arguments.config ? p->arguments.config : OPENSM_CONFIG);
		if (!view)
			return -ENOMEM;
		if (file_read(view, &text, &size) == 0) {
			r = opensm_conf_parse(text, size, &conf);
			free(text);
		}
		free(view);
		name = conf ? opensm_conf_get(conf, "log_file") : NULL;
	}
	if (r != -ENOMEM && (!name || is_log_file(name))) {
		*log = process_absolute(p, name && *name ? name : OPENSM_LOG);
		r = *log ? 0 : -ENOMEM;
	}
	opensm_conf_free(conf);
	return r == -ENOMEM ? r : 0;
}

/* A copy of what may be missing; false: out of memory. */
static bool keep(char **member, const char *text)
{
	*member = text ? strdup(text) : NULL;
	return *member || !text;
}

/*
 * Takes hold of the process: 0; -ESRCH if it ended meanwhile, also if its number went to another
 * one; -errno. A pidfd that was open when the start time still was the old one is the old one's.
 */
static int process_hold(const struct process *p, unsigned long long start, struct opensm_instance *instance)
{
	int fd = (int)syscall(SYS_pidfd_open, p->pid, 0);

	if (fd < 0)
		return -errno;
	if (process_start(p) != start) {
		close(fd);
		return -ESRCH;
	}
	instance->pidfd = fd;
	instance->pid = p->pid;
	instance->config_given = p->arguments.config != NULL;
	instance->erases_log = p->arguments.erases_log;
	instance->qos = p->arguments.qos;
	instance->config = process_absolute(p, p->arguments.config ? p->arguments.config : OPENSM_CONFIG);
	if (!instance->config || !keep(&instance->qos_policy, p->arguments.qos_policy) ||
	    !keep(&instance->routing_engine, p->arguments.routing_engine) ||
	    !keep(&instance->nue_vls, p->arguments.nue_vls) || !keep(&instance->sm_sl, p->arguments.sm_sl))
		return -ENOMEM;
	return process_log(p, &instance->log);
}

/*
 * False while it has just been started: SIGHUP would end it, until it blocks and later catches it
 * (main.c, block_signals(), setup_signals()). True where that cannot be told.
 */
static bool process_takes_hup(const struct process *p)
{
	size_t size;
	char *text = process_file(p, "status", &size);
	bool takes = !text;

	for (char *line = text; line && !takes; line = strchr(line, '\n')) {
		line += *line == '\n';
		if (strncmp(line, "SigBlk:", 7) == 0 || strncmp(line, "SigCgt:", 7) == 0)
			takes = strtoull(line + 7, NULL, 16) >> (SIGHUP - 1) & 1;
	}
	free(text);
	return takes;
}

/* An OpenSM whose command line can be seen: its start time, and arguments read; else 0. */
static unsigned long long recognise(const struct ibqos_ctx *ctx, struct process *p)
{
	unsigned long long start = process_start(p);
	size_t size;

	if (start == 0 || !process_is_opensm(p))
		return 0;
	p->cmdline = process_file(p, "cmdline", &size);
	if (!p->cmdline || size == 0) { /* it has ended and is not yet waited for, or may not be seen */
		ctx_debug(ctx, "passed over opensm process %d: no command line", (int)p->pid);
		return 0;
	}
	opensm_arguments_read(p->cmdline, size, &p->arguments);
	return start;
}

/* Looks at one process. 1: it is the one, instance is filled in; 0: not; -errno. Counts those named opensm.
 */
static int look(const struct ibqos_ctx *ctx, struct process *p, const char *config, unsigned *named,
		struct opensm_instance *instance)
{
	unsigned long long start = recognise(ctx, p);
	int r;

	if (start == 0)
		return 0;
	(*named)++;
	r = process_reads(ctx, p, config);
	if (r != 1)
		return r;
	if (!process_takes_hup(p)) {
		ctx_debug(ctx, "passed over opensm process %d: it is still starting", (int)p->pid);
		return 0;
	}
	r = process_hold(p, start, instance);
	if (r == -ESRCH) {
		(*named)--;
		return 0;
	}
	if (r == -ENOSYS)
		ctx_error(ctx,
			  "cannot hold on to opensm process %d: this kernel has no pidfd_open (Linux 5.3)",
			  (int)p->pid);
	return r < 0 ? r : 1;
}

/* The process number that a name in /proc is, 0 for any other name. */
static pid_t pid_of(const char *name)
{
	uint64_t pid;

	return text_to_u64(name, INT_MAX, &pid) < 0 || !isdigit((unsigned char)name[0]) ? 0 : (pid_t)pid;
}

int opensm_find_in(const struct ibqos_ctx *ctx, const char *proc, const char *config,
		   struct opensm_instance *instance)
{
	DIR *folder = opendir(proc);
	const struct dirent *entry;
	unsigned named = 0, found = 0;
	int r = 0;

	*instance = (struct opensm_instance){.pidfd = -1};
	if (!folder)
		return -errno;
	while (r >= 0 && found < 2 && (entry = readdir(folder))) {
		struct process p = {.proc = proc, .pid = pid_of(entry->d_name)};
		struct opensm_instance one = {.pidfd = -1};

		if (p.pid == 0)
			continue;
		r = look(ctx, &p, config, &named, &one);
		if (r == 1 && found++ == 0)
			*instance = one;
		else
			opensm_instance_clear(&one);
		free(p.cmdline);
	}
	closedir(folder);
	if (r >= 0 && found != 1)
		r = found ? -EMLINK : named ? -ENOENT : -ESRCH;
	if (r < 0)
		opensm_instance_clear(instance);
	return r < 0 ? r : 0;
}

int opensm_find(const struct ibqos_ctx *ctx, const char *config, struct opensm_instance *instance)
{
	return opensm_find_in(ctx, "/proc", config, instance);
}

char *opensm_others_in(const struct ibqos_ctx *ctx, const char *proc)
{
	DIR *folder = opendir(proc);
	const struct dirent *entry;
	unsigned count = 0;
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	while (folder && out && (entry = readdir(folder))) {
		struct process p = {.proc = proc, .pid = pid_of(entry->d_name)};
		char *config = NULL;

		if (p.pid != 0 && recognise(ctx, &p) != 0) {
			config = process_absolute(&p, p.arguments.config ? p.arguments.config : OPENSM_CONFIG);
			fprintf(out, "%sprocess %d with %s%s", count++ ? ", " : "", (int)p.pid, config ? config : "?",
				p.arguments.config ? "" : " (no -F)");
		}
		free(config);
		free(p.cmdline);
	}
	if (folder)
		closedir(folder);
	if (out && text_stream_end(out, &text) == 0 && count > 0)
		return text;
	free(text);
	return NULL;
}

char *opensm_others(const struct ibqos_ctx *ctx)
{
	return opensm_others_in(ctx, "/proc");
}

int opensm_means(const struct opensm_instance *instance, const char *given, const char *path)
{
	const struct process p = {.proc = "/proc", .pid = instance->pid};
	char *view = process_view(&p, given);
	int r = view ? file_same(view, path) : -ENOMEM;

	free(view);
	return r;
}

int opensm_sees(const struct opensm_instance *instance, const char *path)
{
	return opensm_means(instance, path, path);
}

void opensm_instance_clear(struct opensm_instance *instance)
{
	if (instance->pidfd >= 0)
		close(instance->pidfd);
	free(instance->config);
	free(instance->log);
	free(instance->qos_policy);
	free(instance->routing_engine);
	free(instance->nue_vls);
	free(instance->sm_sl);
	*instance = (struct opensm_instance){.pidfd = -1};
}

bool opensm_alive(const struct opensm_instance *instance)
{
	struct pollfd fd = {.fd = instance->pidfd, .events = POLLIN};

	/* readable once it has ended, whether or not its parent waited for it (pidfd_open(2)) */
	return instance->pidfd >= 0 && poll(&fd, 1, 0) == 0;
}

static int send_signal(const struct opensm_instance *instance, int number)
{
	if (!opensm_alive(instance))
		return -ESRCH;
	return syscall(SYS_pidfd_send_signal, instance->pidfd, number, NULL, 0) < 0 ? -errno : 0;
}

int opensm_may_reload(const struct opensm_instance *instance)
{
	return send_signal(instance, 0);
}

int opensm_reload(const struct opensm_instance *instance)
{
	return send_signal(instance, SIGHUP);
}

int opensm_flush_log(const struct opensm_instance *instance)
{
	return instance->erases_log ? -EPERM : send_signal(instance, SIGUSR1);
}
