/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* ibqos: the table of commands, the options before the command, signals. */
#include <errno.h>
#include <fcntl.h>
#include <locale.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/cmd.h"
#include "ibqos/rights.h"

/* A handler can only reach a global; nothing else writes it, and the context carries it by pointer. */
static volatile sig_atomic_t stop_requested;

static void on_signal(int number)
{
	stop_requested = number;
}

static void catch_signals(void)
{
	static const int stops[] = {SIGINT, SIGTERM, SIGHUP};
	struct sigaction action = {.sa_handler = on_signal, .sa_flags = 0}, before;

	/* The handler stays: a second Ctrl-C must not end a roll back half-way. */
	sigemptyset(&action.sa_mask);
	for (size_t i = 0; i < sizeof(stops) / sizeof(stops[0]); i++) {
		/* what a parent left ignored stays so: that is what nohup is for */
		if (sigaction(stops[i], NULL, &before) == 0 && before.sa_handler != SIG_IGN)
			sigaction(stops[i], &action, NULL);
	}
	signal(SIGXFSZ, SIG_IGN); /* a file size limit is a failed write like any other */
	/* A reader that goes away (ibqos | head) must not end an apply half-way. */
	signal(SIGPIPE, SIG_IGN);
	signal(SIGCHLD, SIG_DFL); /* inherited as ignored, there would be no word of how a worker ended */
}

/* For a shell's folder of completions. */
static enum ibqos_exit print_completion(struct ibqos_ctx *ctx, const char *shell)
{
	int error = cmd_completion(shell, stdout);

	if (error == 0 && fflush(stdout) != 0)
		error = -errno;
	if (error == 0)
		return IBQOS_EXIT_CLEAN;
	if (error == -EINVAL)
		ctx_error(ctx, "--completion takes bash or zsh, not '%s'", shell);
	else
		ctx_error(ctx, "cannot write standard output: %s", strerror(-error));
	return IBQOS_EXIT_UNKNOWN;
}

/* Options up to the command. Returns the index of the command in argv, or -1 with *exit_code set. */
static int global_options(struct ibqos_ctx *ctx, int argc, char **argv, int *exit_code)
{
	int i;

	*exit_code = IBQOS_EXIT_UNKNOWN;
	for (i = 1; i < argc && argv[i][0] == '-'; i++) {
		if (strcmp(argv[i], "-v") == 0 || strcmp(argv[i], "--verbose") == 0) {
			ctx->verbosity++;
		} else if (strcmp(argv[i], "-d") == 0 || strcmp(argv[i], "--debug") == 0) {
			ctx->verbosity = 2;
		} else if (strcmp(argv[i], "-q") == 0 || strcmp(argv[i], "--quiet") == 0) {
			ctx->verbosity = -1;
		} else if (strcmp(argv[i], "-V") == 0 || strcmp(argv[i], "--version") == 0) {
			printf("ibqos %s\n", IBQOS_VERSION);
			*exit_code = fflush(stdout) ? IBQOS_EXIT_UNKNOWN : IBQOS_EXIT_CLEAN;
			return -1;
		} else if (strcmp(argv[i], "-h") == 0 || strcmp(argv[i], "--help") == 0) {
			cmd_usage(stdout);
			*exit_code = fflush(stdout) ? IBQOS_EXIT_UNKNOWN : IBQOS_EXIT_CLEAN;
			return -1;
		} else if (strncmp(argv[i], "--completion=", 13) == 0) {
			*exit_code = print_completion(ctx, argv[i] + 13);
			return -1;
		} else {
			ctx_error(ctx, "unknown option '%s' before the command; a command's options follow it", argv[i]);
			return -1;
		}
	}
	if (i == argc) {
		cmd_usage(stderr);
		return -1;
	}
	return i;
}

/*
 * A standard descriptor that the caller left closed would be given to the next file or MAD device
 * opened, and the report written into that. Output then fails, as it should.
 */
static void hold_standard_descriptors(void)
{
	static const char *const stand_ins[] = {"/dev/null", "/dev/full", "/dev/null"};

	for (int fd = 0; fd < 3; fd++) {
		if (fcntl(fd, F_GETFD) < 0 && open(stand_ins[fd], fd == 0 ? O_RDONLY : O_WRONLY) < 0)
			exit(IBQOS_EXIT_UNKNOWN);
	}
}

int main(int argc, char **argv)
{
	struct trust trust;
	struct ibqos_ctx ctx = {
		.program = "ibqos", .fabric = "", .state_dir = IBQOS_STATE_DIR, .trust = &trust, .err = stderr, .stop = &stop_requested};
	const char *borrowed = rights_borrowed();
	int at, exit_code;

	hold_standard_descriptors();
	if (borrowed) {
		ctx_error(&ctx, "does nothing with rights that its caller has not: %s. Take them away, and give users the device by a group", borrowed);
		return IBQOS_EXIT_UNKNOWN;
	}
	rights_begin();
	trust_begin(&trust);
	setlocale(LC_CTYPE, "C.UTF-8"); /* widths of names in tables; everything else stays in the C locale */
	argp_err_exit_status = IBQOS_EXIT_UNKNOWN;
	at = global_options(&ctx, argc, argv, &exit_code);
	if (at < 0)
		return exit_code;
	catch_signals();
	return (int)cmd_run(&ctx, argc - at, argv + at);
}
