/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * What a run needs before it opens a port and must not show: M_Keys from files or a terminal, and the config of
 * infiniband-diags, which may hold one.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <termios.h>
#include <unistd.h>

#include "keys.h"

#define LINE_BYTES 128 /* of a key that is typed, with its newline */

/* One number on a line of its own; comments and blank lines around it. False where it is not so. */
static bool key_of(char *text, uint64_t *key)
{
	bool found = false;
	char *rest;

	for (char *line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
		size_t length;

		line += strspn(line, " \t\r");
		for (length = strlen(line); length > 0 && strchr(" \t\r", line[length - 1]); length--)
			line[length - 1] = '\0';
		if (*line == '\0' || *line == '#')
			continue;
		if (found || text_to_u64(line, UINT64_MAX, key) != 0)
			return false;
		found = true;
	}
	return found;
}

static void warn_of_readers(struct cmd_session *s, const char *path)
{
	struct stat st;

	session_trust(s, path);
	if (stat(path, &st) == 0 && st.st_mode & (S_IRGRP | S_IROTH))
		ctx_warn(s->ctx, "key file %s can be read by others: chmod 600 it", path);
}

static bool read_key_file(struct cmd_session *s, const char *path, uint64_t *key)
{
	char *text = NULL;
	size_t size = 0;
	int error = file_read(path, &text, &size);
	bool good = error == 0 && key_of(text, key);

	if (text)
		explicit_bzero(text, size);
	free(text);
	if (error != 0)
		session_fail(s, "cannot read key file %s: %s", path, strerror(-error));
	else if (!good)
		session_fail(s, "key file %s does not hold one key: a number such as 0x0123, alone on a line", path);
	if (good)
		warn_of_readers(s, path);
	return good;
}

static ssize_t read_line(int fd, char line[LINE_BYTES])
{
	ssize_t used = 0, got = 0;

	while (used < LINE_BYTES - 1 && (got = read(fd, line + used, 1)) == 1 && line[used] != '\n')
		used++;
	line[used] = '\0';
	return got < 0 ? -1 : used;
}

/* From the terminal itself, whatever standard input is, and without echo. */
static bool prompt(struct cmd_session *s, uint64_t *key)
{
	static const char question[] = "M_Key: ";
	char line[LINE_BYTES] = "";
	struct termios before, quiet;
	int fd = open("/dev/tty", O_RDWR | O_CLOEXEC | O_NOCTTY);
	bool good = false;

	if (fd < 0 || tcgetattr(fd, &before) != 0) {
		session_fail(s, "there is no terminal to ask for the M_Key at: give a file");
		goto out;
	}
	quiet = before;
	quiet.c_lflag &= ~(tcflag_t)(ECHO | ECHONL);
	if (tcsetattr(fd, TCSAFLUSH, &quiet) != 0) {
		session_fail(s, "the terminal cannot be kept from showing the M_Key: give a file");
		goto out;
	}
	good = write(fd, question, sizeof(question) - 1) > 0 && read_line(fd, line) > 0 && key_of(line, key);
	if (tcsetattr(fd, TCSAFLUSH, &before) != 0 || write(fd, "\n", 1) != 1)
		ctx_warn(s->ctx, "the terminal is not as it was: stty sane");
	if (!good)
		session_fail(s, "what was typed is no M_Key: a number such as 0x0123 is");
out:
	explicit_bzero(line, sizeof(line));
	if (fd >= 0)
		close(fd);
	return good;
}

/* The config: of -z, which must be there, or the default one if it is. */
static bool read_config(struct cmd_session *s, struct cmd_secrets *secrets)
{
	const char *given = s->options->config, *path = given ? given : IBDIAG_CONF;
	char *text = NULL;
	size_t size = 0;
	int error = file_read(path, &text, &size);
	bool there = error == 0;

	if (!given && error != 0 && error != -ENOMEM)
		error = error == -ENOENT || error == -EACCES || error == -ENOTDIR ? 0 : error;
	else if (error == 0)
		error = ibdiag_conf_parse(path, text, &s->findings, &secrets->conf);
	if (text)
		explicit_bzero(text, size);
	free(text);
	if (error != 0)
		session_fail(s, "cannot read %s: %s", path, strerror(-error));
	else if (there && secrets->conf.mkey != 0)
		warn_of_readers(s, path);
	else if (there)
		session_trust(s, path);
	return error == 0;
}

bool cmd_secrets_read(struct cmd_session *s, struct cmd_secrets *secrets, struct source_options *options)
{
	const struct cmd_options *o = s->options;
	struct ibdiag_conf *conf = &secrets->conf;
	bool good = read_config(s, secrets);
	int error;

	*options = o->source;
	if (good && o->m_key)
		good = strcmp(o->m_key, "prompt") == 0 ? prompt(s, &secrets->keys.any)
						       : read_key_file(s, o->m_key, &secrets->keys.any);
	if (!good)
		return false;
	if (!o->m_key)
		secrets->keys.any = conf->mkey;
	if (o->guid2mkey) {
		error = source_keys_read(o->guid2mkey, &s->findings, &secrets->keys);
		if (error != 0) {
			session_fail(s, "cannot read %s: %s", o->guid2mkey, strerror(-error));
			return false;
		}
		warn_of_readers(s, o->guid2mkey);
	}
	if (!options->device && !options->port) { /* the two belong together */
		options->device = conf->ca;
		options->port = conf->port;
	} else if (!options->device) {
		options->device = conf->ca;
	}
	if (conf->timeout_ms && !o->timeout_given)
		options->limits.timeout_ms = conf->timeout_ms;
	options->no_ext_info = conf->no_ext_info;
	if (secrets->keys.any != 0 || secrets->keys.count > 0)
		options->keys = &secrets->keys;
	return true;
}

void cmd_secrets_clear(struct cmd_secrets *secrets)
{
	source_keys_clear(&secrets->keys);
	ibdiag_conf_clear(&secrets->conf);
}
