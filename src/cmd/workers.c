/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Processes that run at the same time (workers.h): started, listened to, ended. */
#include "workers.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "ibqos/rights.h"

#define WAKE_MS 200    /* a stop is seen, and a deadline, so late at most */
#define GRACE_NS 10000000000ull /* between asking to end and killing */
#define DRAIN_NS 2000000000ull  /* for what others hold open of an ended worker */
#define BLOCK 65536

/* --- starting --- */

/* In the child: never returns. What fails is told through `fault_fd`, which a good exec closes. */
static void become(const struct worker *w, int out, int err, int fault_fd, pid_t parent)
{
	int null = open("/dev/null", O_RDONLY | O_CLOEXEC), error;

	setpgid(0, 0);
	/* no orphans: whatever ends the parent ends this; SIGTERM would wait for a driver that hangs */
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(IBQOS_EXIT_UNKNOWN);
	signal(SIGPIPE, SIG_DFL);
	signal(SIGXFSZ, SIG_DFL);
	if (null >= 0 && dup2(null, STDIN_FILENO) >= 0 && dup2(out, STDOUT_FILENO) >= 0 && dup2(err, STDERR_FILENO) >= 0)
		execvp(w->argv[0], w->argv);
	error = errno;
	if (write(fault_fd, &error, sizeof(error)) < 0)
		_exit(IBQOS_EXIT_UNKNOWN);
	_exit(IBQOS_EXIT_UNKNOWN);
}

static void close_fd(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

static void set_fault(struct worker *w, const char *text, int error)
{
	if (w->fault)
		return;
	if (asprintf(&w->fault, "%s%s%s", text, error ? ": " : "", error ? strerror(error) : "") < 0)
		w->fault = NULL;
}

/* Why the child could not become what it should; 0: it did. */
static int exec_error(int fd)
{
	int error = 0;
	ssize_t got;

	do
		got = read(fd, &error, sizeof(error));
	while (got < 0 && errno == EINTR);
	return got == (ssize_t)sizeof(error) ? error : 0;
}

static int pipes_of(int out[2], int err[2], int fault[2])
{
	if (pipe2(out, O_CLOEXEC) != 0 || pipe2(err, O_CLOEXEC) != 0 || pipe2(fault, O_CLOEXEC) != 0)
		return -errno;
	return 0;
}

static void start(struct worker *w)
{
	int out[2] = {-1, -1}, err[2] = {-1, -1}, fault[2] = {-1, -1};
	pid_t parent = getpid();
	int error = pipes_of(out, err, fault);

	w->output = error == 0 ? tmpfile() : NULL;
	/* not for the workers that come after: they could write answers of this one */
	if (error == 0 && (!w->output || fcntl(fileno(w->output), F_SETFD, FD_CLOEXEC) != 0))
		error = -errno;
	if (error == 0) {
		w->pid = fork();
		if (w->pid == 0)
			become(w, out[1], err[1], fault[1], parent);
		error = w->pid < 0 ? -errno : 0;
	}
	close_fd(&out[1]);
	close_fd(&err[1]);
	close_fd(&fault[1]);
	if (error == 0) {
		setpgid(w->pid, w->pid); /* whoever comes first: a signal may be sent to the group at once */
		w->started = true;
		w->pidfd = pidfd_open(w->pid, 0);
		w->out = out[0];
		w->err = err[0];
		fcntl(w->out, F_SETFL, O_NONBLOCK);
		fcntl(w->err, F_SETFL, O_NONBLOCK);
		w->exec_fault = exec_error(fault[0]);
		if (w->exec_fault)
			set_fault(w, w->argv[0], w->exec_fault);
	} else {
		set_fault(w, "cannot be started", -error);
		close_fd(&out[0]);
		close_fd(&err[0]);
	}
	close_fd(&fault[0]);
}

/* --- ending --- */

/* The whole group: what stands before ibqos may have started it as a child. */
static void send_signal(struct worker *w, int number)
{
	if (w->ended_ns != 0 || !w->started)
		return;
	if (kill(-w->pid, number) != 0)
		kill(w->pid, number);
}

static void end_now(struct worker *w, const char *why)
{
	set_fault(w, why, 0);
	w->signalled = 2;
	send_signal(w, SIGKILL);
}

static void look_at_clock(struct worker *w, const struct ibqos_ctx *ctx, uint64_t stopped_ns)
{
	uint64_t now = clock_ns();
	char why[80];

	if (w->ended_ns != 0 || !w->started)
		return;
	if (stopped_ns != 0 && w->signalled == 0) {
		w->signalled = 1;
		send_signal(w, SIGTERM);
	} else if (stopped_ns != 0 && w->signalled == 1 && now - stopped_ns > GRACE_NS) {
		end_now(w, "it did not end when it was stopped");
	} else if (now - w->began_ns > w->timeout_s * 1000000000ull && w->signalled < 2) {
		snprintf(why, sizeof(why), "no answer came in %u s", w->timeout_s);
		end_now(w, why);
		ctx_debug(ctx, "%s: killed", w->name);
	}
}

/* --- listening --- */

static void tell_line(const struct ibqos_ctx *ctx, struct worker *w)
{
	char *text;

	if (w->line_size == 0)
		return;
	text = text_utf8(w->line, w->line_size);
	w->line_size = 0;
	if (!text)
		return;
	w->lines++;
	ctx_progress_end(ctx);
	if (w->lines <= WORKER_LINES)
		fprintf(ctx->err, "%s: %s\n", w->name, text);
	else if (w->lines == WORKER_LINES + 1)
		fprintf(ctx->err, "%s: more messages, not shown\n", w->name);
	free(w->last_line);
	w->last_line = text;
}

static void take_messages(const struct ibqos_ctx *ctx, struct worker *w, const char *data, size_t size)
{
	for (size_t i = 0; i < size; i++) {
		if (data[i] == '\n') {
			tell_line(ctx, w);
			w->cut_line = false;
		} else if (w->line_size < sizeof(w->line)) {
			w->line[w->line_size++] = data[i];
		} else {
			w->cut_line = true; /* the rest of a line beyond all reason is dropped */
		}
	}
}

/* Whether what has come so far can be the beginning of an answer. */
static bool begins_well(const struct worker *w, const char *data, size_t size)
{
	size_t length = strlen(w->mark);

	for (size_t i = 0; i < size && w->bytes + i < length; i++)
		if (data[i] != w->mark[w->bytes + i])
			return false;
	return true;
}

static void take_output(struct worker *w, const char *data, size_t size)
{
	char *text, *why = NULL;

	if (w->fault) /* nothing more is wanted of it */
		return;
	if (!begins_well(w, data, size)) {
		text = text_utf8(data, size < 60 ? size : 60);
		if (asprintf(&why, "what it wrote is no answer of ibqos, but '%s'", text ? text : "?") < 0)
			why = NULL;
		end_now(w, why ? why : "what it wrote is no answer of ibqos");
		free(why);
		free(text);
		return;
	}
	w->bytes += size;
	if (w->bytes > WORKER_OUTPUT_MAX)
		end_now(w, "its answer has no end");
	else if (fwrite(data, 1, size, w->output) != size)
		end_now(w, "its answer cannot be kept: no room for temporary files");
}

/* Reads what is there. False: nothing more will come. */
static bool listen_to(const struct ibqos_ctx *ctx, struct worker *w, int fd, bool is_output)
{
	char data[BLOCK];
	ssize_t got = read(fd, data, sizeof(data));

	if (got < 0)
		return errno == EAGAIN || errno == EINTR;
	if (is_output && got > 0)
		take_output(w, data, (size_t)got);
	else if (got > 0)
		take_messages(ctx, w, data, (size_t)got);
	return got > 0;
}

/*
 * Whether it has ended. Its status is not fetched yet: until then its number, and that of its group, cannot become another's, and a
 * signal to the group (is_over()) reaches nobody else.
 */
static bool has_ended(struct worker *w)
{
	siginfo_t info = {0};

	if (waitid(P_PID, (id_t)w->pid, &info, WEXITED | WNOHANG | WNOWAIT) != 0 || info.si_pid != w->pid)
		return false;
	w->ended_ns = clock_ns();
	w->seconds = (double)(w->ended_ns - w->began_ns) / 1e9;
	return true;
}

/* Everything of it has come: it has ended, and what it wrote is read; or others hold that open for too long. */
static bool is_over(struct worker *w)
{
	bool closed = w->out < 0 && w->err < 0;

	if (!w->started || (w->ended_ns == 0 && !has_ended(w)))
		return !w->started;
	if (!closed && clock_ns() - w->ended_ns < DRAIN_NS)
		return false;
	/* what it may have started does not live on */
	kill(-w->pid, SIGKILL);
	return waitpid(w->pid, &w->status, 0) == w->pid || errno != EINTR;
}

static void finish(const struct ibqos_ctx *ctx, struct worker *w)
{
	tell_line(ctx, w);
	close_fd(&w->out);
	close_fd(&w->err);
	close_fd(&w->pidfd);
	if (w->output && (fflush(w->output) != 0 || ferror(w->output)))
		set_fault(w, "its answer cannot be kept: no room for temporary files", 0);
	if (w->output)
		rewind(w->output);
}

static void wait_for_news(const struct worker *workers, const bool *over, size_t count, struct pollfd *polled)
{
	nfds_t used = 0;

	for (size_t i = 0; i < count; i++) {
		if (over[i])
			continue;
		/* negative ones are passed over by poll() */
		polled[used++] = (struct pollfd){.fd = workers[i].out, .events = POLLIN};
		polled[used++] = (struct pollfd){.fd = workers[i].err, .events = POLLIN};
		polled[used++] = (struct pollfd){.fd = workers[i].ended_ns ? -1 : workers[i].pidfd, .events = POLLIN};
	}
	poll(polled, used, WAKE_MS);
}

int workers_run(const struct ibqos_ctx *ctx, struct worker *workers, size_t count,
		void (*news)(void *arg, const struct worker *workers, size_t count), void *arg)
{
	struct pollfd *polled = calloc(count * 3 + 1, sizeof(*polled));
	bool *over = calloc(count + 1, sizeof(*over));
	uint64_t stopped_ns = 0;
	size_t left = count;

	if (!polled || !over) {
		free(polled);
		free(over);
		return -ENOMEM;
	}
	for (size_t i = 0; i < count; i++) {
		workers[i].pidfd = workers[i].out = workers[i].err = -1;
		workers[i].began_ns = clock_ns();
		start(&workers[i]);
	}
	/*
	 * A worker gives up by itself what it does not need. Before that, what stands before it (setpriv, runuser, ssh) may need any
	 * right, and to end what has become another user's is a right of its own.
	 */
	rights_keep(ctx, RIGHTS_END);
	while (left > 0) {
		wait_for_news(workers, over, count, polled);
		if (stopped_ns == 0 && ctx_stopped(ctx))
			stopped_ns = clock_ns();
		for (size_t i = 0; i < count; i++) {
			struct worker *w = &workers[i];

			if (over[i])
				continue;
			if (w->out >= 0 && !listen_to(ctx, w, w->out, true))
				close_fd(&w->out);
			if (w->err >= 0 && !listen_to(ctx, w, w->err, false))
				close_fd(&w->err);
			look_at_clock(w, ctx, stopped_ns);
			over[i] = is_over(w);
			if (!over[i])
				continue;
			finish(ctx, w);
			left--;
		}
		if (news)
			news(arg, workers, count);
	}
	free(polled);
	free(over);
	return 0;
}

void workers_clear(struct worker *workers, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		if (workers[i].output)
			fclose(workers[i].output);
		free(workers[i].fault);
		free(workers[i].last_line);
		workers[i].output = NULL;
		workers[i].fault = workers[i].last_line = NULL;
	}
}
