/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * OpenSM's console on the loopback (osm_console.c): the only place that tells its effective options.
 * It serves one session at a time and does so from its main loop, so ours is short, and nothing is
 * sent before its prompt has come: another program that has the port gets not a byte.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "ibqos/opensm.h"

#define OPENSM_CONSOLE_PORT 10000 /* osm_base.h: OSM_DEFAULT_CONSOLE_PORT */
#define PROMPT "OpenSM $ "
#define ANSWER_MAX (1u << 20)

struct session {
	int fd;
	uint64_t deadline; /* ns */
	char *text;
	size_t size, room;
};

/* Milliseconds that are left; 0: none. */
static int left_ms(const struct session *s)
{
	uint64_t now = clock_ns();

	return now >= s->deadline ? 0 : (int)((s->deadline - now) / 1000000 + 1);
}

static int wait_for(const struct session *s, short events)
{
	struct pollfd fd = {.fd = s->fd, .events = events};
	int n = poll(&fd, 1, left_ms(s));

	return n > 0 ? 0 : n == 0 ? -ETIMEDOUT : -errno;
}

static int connect_to(struct session *s, unsigned port)
{
	struct sockaddr_in to = {
		.sin_family = AF_INET, .sin_port = htons((uint16_t)port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t size = sizeof(int);
	int error = 0;

	s->fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (s->fd < 0)
		return -errno;
	if (connect(s->fd, (const struct sockaddr *)&to, sizeof(to)) == 0)
		return 0;
	if (errno != EINPROGRESS)
		return -errno;
	error = wait_for(s, POLLOUT);
	if (error == 0 && getsockopt(s->fd, SOL_SOCKET, SO_ERROR, &error, &size) != 0)
		error = errno;
	return error > 0 ? -error : error;
}

/* Reads until the text ends with the prompt; -EPROTO: it ended otherwise, or is no console's. */
static int read_to_prompt(struct session *s)
{
	for (;;) {
		char *grown = array_grow(s->text, &s->room, s->size + 4096, 1);
		ssize_t got;
		int error;

		if (!grown)
			return -ENOMEM;
		s->text = grown;
		got = recv(s->fd, s->text + s->size, s->room - s->size - 1, 0);
		if (got == 0)
			return -EPROTO;
		if (got > 0) {
			s->size += (size_t)got;
			s->text[s->size] = '\0';
			if (s->size >= strlen(PROMPT) && strcmp(s->text + s->size - strlen(PROMPT), PROMPT) == 0)
				return 0;
			if (s->size > ANSWER_MAX)
				return -EPROTO;
			continue;
		}
		if (errno != EAGAIN && errno != EINTR)
			return -errno;
		error = wait_for(s, POLLIN);
		if (error != 0)
			return error;
	}
}

static int say(struct session *s, const char *line)
{
	size_t size = strlen(line);

	return send(s->fd, line, size, MSG_NOSIGNAL) == (ssize_t)size ? 0 : -EIO;
}

/* Ends the session, and waits until it has been ended there: only then the next one is taken. */
static void quit(struct session *s)
{
	char rest[512];

	if (say(s, "quit\n") != 0)
		return;
	while (wait_for(s, POLLIN) == 0 && recv(s->fd, rest, sizeof(rest), 0) > 0)
		;
}

int opensm_console_ask(unsigned port, const char *command, unsigned timeout_ms, char **text)
{
	struct session s = {.fd = -1, .deadline = clock_ns() + timeout_ms * 1000000ull};
	char *line = NULL;
	size_t greeting = 0;
	int error = connect_to(&s, port);

	*text = NULL;
	if (error == 0)
		error = read_to_prompt(&s);
	if (error == 0) {
		greeting = s.size;
		error = asprintf(&line, "%s\n", command) < 0 ? -ENOMEM : say(&s, line);
		free(line);
	}
	if (error == 0)
		error = read_to_prompt(&s);
	if (error == 0) {
		*text = strndup(s.text + greeting, s.size - greeting - strlen(PROMPT));
		error = *text ? 0 : -ENOMEM;
		quit(&s);
	}
	if (s.fd >= 0)
		close(s.fd);
	free(s.text);
	return error;
}

/* "loopback" of Debian's, "socket" where it is built in: which listens on the loopback too (osm_console_io.c). */
static bool has_port(const char *console)
{
	return console && (strcmp(console, "loopback") == 0 || strcmp(console, "socket") == 0);
}

unsigned opensm_console_port(const struct opensm_facts *facts, const struct opensm_conf *conf)
{
	const char *port = conf ? opensm_conf_get(conf, "console_port") : NULL;
	const char *console = facts->console ? facts->console : conf ? opensm_conf_get(conf, "console") : NULL;
	uint64_t number = OPENSM_CONSOLE_PORT;

	if (!has_port(console))
		return 0;
	if (facts->console_port > 0)
		return facts->console_port;
	return port && text_to_u64(port, 65535, &number) < 0 ? 0 : (unsigned)number;
}

/* What follows "   key    : " in the answer to `status`, as one word; NULL: not there. */
static char *status_word(const char *status, const char *key)
{
	const char *at = strstr(status, key);

	at = at ? strchr(at, ':') : NULL;
	if (!at)
		return NULL;
	at += 1 + strspn(at + 1, " ");
	return *at && !strchr("\r\n", *at) ? strndup(at, strcspn(at, " \r\n")) : NULL;
}

void opensm_console_status(const char *status, struct opensm_status *out)
{
	const char *self = strstr(status, " SELF");
	const char *line = self;

	*out = (struct opensm_status){.engine = status_word(status, "Routing Engine"), .state = status_word(status, "SM State")};
	while (line && line > status && line[-1] != '\n')
		line--;
	if (line)
		out->port_guid = strtoull(line, NULL, 16);
}

void opensm_status_clear(struct opensm_status *status)
{
	free(status->engine);
	free(status->state);
	*status = (struct opensm_status){0};
}
