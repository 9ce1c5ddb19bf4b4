/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The messages of NCCL that matter, by their beginnings; formats as in the release tags 2.12.7 to 2.30.7
 * (src/transport/net_ib*, net.cc, src/init.cc, src/misc/param.cc, src/misc/ibvwrap.cc, src/plugin/net.cc).
 */
#include <stdlib.h>
#include <string.h>

#include "log.h"

/* A macro, so that a text is compared as a number or two and not by a call. */
#define begins(m, literal) \
	((m)->size >= sizeof(literal "") - 1 && memcmp((m)->text, (literal), sizeof(literal "") - 1) == 0)

/* A text in the message. In so short a one memchr() for a letter is faster than memmem(). */
static const char *find(const struct log_message *m, const char *text)
{
	const char *at = m->text, *end = m->text + m->size;
	size_t size = strlen(text), skip = text[0] == ' ';

	while ((size_t)(end - at) >= size) {
		const char *letter = memchr(at + skip, text[skip], (size_t)(end - at) - size + 1);

		if (!letter)
			return NULL;
		if (memcmp(letter - skip, text, size) == 0)
			return letter - skip;
		at = letter - skip + 1;
	}
	return NULL;
}

static const char *message_end(const struct log_message *m)
{
	return m->text + m->size;
}

/* A decimal number at `at`; -1 if there is none before `end`. */
static long number(const char *at, const char *end)
{
	long value = 0;
	const char *start = at;

	for (; at < end && at - start < 18 && *at >= '0' && *at <= '9'; at++)
		value = value * 10 + (*at - '0');
	return at == start ? -1 : value;
}

static size_t word(const char *at, const char *end)
{
	const char *start = at;

	while (at < end && *at != ' ' && *at != '\t')
		at++;
	return (size_t)(at - start);
}

/* --- events --- */

static void event(struct job_log *log, const struct log_message *m, enum job_log_kind kind, const char *device,
		  size_t device_size, int code, unsigned vendor, const char *text, size_t size, const char *peer, size_t peer_size)
{
	struct job_log_event *grown;
	char key[512];
	bool added;
	size_t at;
	/* warnings of one place in the source are of one kind, however their numbers differ */
	const char *same = kind == JOB_LOG_OTHER ? m->source : text;
	size_t same_size = kind == JOB_LOG_OTHER ? m->source_size : kind == JOB_LOG_COMPLETION ? 0 : size;
	int length = snprintf(key, sizeof(key), "%zu %d %d %.*s %.*s", m->process->host, (int)kind, code,
			      (int)(device_size > 64 ? 64 : device_size), device ? device : "",
			      (int)(same_size > 256 ? 256 : same_size), same ? same : "");

	at = log_find(log, &log->by_event, key, (size_t)(length < 511 ? length : 511), log->event_count, LOG_EVENTS, &added);
	if (at == SIZE_MAX)
		return;
	if (!added) {
		log->events[at].count++;
		return;
	}
	grown = array_grow(log->events, &log->event_room, log->event_count + 1, sizeof(*grown));
	if (!grown) {
		log->failed = true;
		return;
	}
	log->events = grown;
	grown[log->event_count++] = (struct job_log_event){
		.kind = kind, .host = m->process->host, .code = code, .vendor = vendor, .count = 1,
		.device = device && device_size ? log_copy(device, device_size) : NULL,
		.text = text_utf8(text, size > 512 ? 512 : size),
		.peer = peer ? log_copy(peer, peer_size) : NULL,
		.file = log->file_count - 1, .line = m->line,
	};
	log->failed |= !grown[at].text;
}

/* The number behind one of two spellings: "status=IBV_X(12)", "status=12", "error 12". */
static long value_of(const struct log_message *m, const char *name)
{
	const char *at = find(m, name), *end = message_end(m);

	if (!at)
		return -1;
	at += strlen(name);
	if (at < end && (*at < '0' || *at > '9')) {
		at = memchr(at, '(', (size_t)(end - at));
		if (!at)
			return -1;
		at++;
	}
	return number(at, end);
}

static void completion(struct job_log *log, const struct log_message *m)
{
	const char *end = message_end(m), *peer = find(m, "Got completion from peer ") + strlen("Got completion from peer ");
	const char *hca = find(m, " hca ");
	size_t peer_size = word(peer, end);
	long status = value_of(m, "status="), vendor = value_of(m, "vendor err ");

	if (status < 0)
		status = value_of(m, "with error ");
	if (vendor < 0)
		vendor = value_of(m, "vendor_err=");
	if (status < 0) { /* some other words: told, not guessed at */
		event(log, m, JOB_LOG_OTHER, NULL, 0, 0, 0, m->text, m->size, NULL, 0);
		return;
	}
	hca = hca ? hca + 5 : NULL;
	event(log, m, JOB_LOG_COMPLETION, hca, hca ? word(hca, end) : 0, (int)status, vendor < 0 ? 0 : (unsigned)vendor, m->text,
	      m->size, peer, peer_size);
	log->hosts[m->process->host].completions++;
}

/* "NET/IB : [mlx5_0:1 ]…async … event…: NAME[(code)]" */
static void async(struct job_log *log, const struct log_message *m)
{
	const char *end = message_end(m), *device = NULL, *name = NULL, *at = find(m, "async");
	size_t device_size = 0, size;
	bool fatal = find(m, "async fatal event") != NULL;

	if (!at)
		return;
	if (begins(m, "NET/IB : ") && m->text + 9 < at) {
		device = m->text + 9;
		device_size = word(device, end);
		if (!memchr(device, ':', device_size)) {
			device = NULL;
			device_size = 0;
		}
	}
	for (const char *colon = at; (colon = memmem(colon, (size_t)(end - colon), ": ", 2)); colon++)
		name = colon + 2;
	if (!name && (name = memmem(at, (size_t)(end - at), "event : ", 8)))
		name += 8;
	name = name ? name : at;
	size = (size_t)(end - name);
	if (size > 3 && name[size - 1] == ')') { /* "port error(10)" */
		const char *open = memrchr(name, '(', size);

		if (open && number(open + 1, end) >= 0)
			size = (size_t)(open - name);
	}
	event(log, m, fatal ? JOB_LOG_ASYNC_FATAL : JOB_LOG_ASYNC, device, device_size, 0, 0, name, size, NULL, 0);
	log->hosts[m->process->host].events++;
}

static void warning(struct job_log *log, const struct log_message *m)
{
	struct job_log_process *p = m->process;

	p->warn++;
	log->hosts[p->host].warn++;
	if (find(m, "Got completion from peer ")) {
		completion(log, m);
	} else if (find(m, "async event") || find(m, "async fatal event") || find(m, "async error event")) {
		async(log, m);
	} else if (begins(m, "Call to ibv_modify_qp failed")) {
		const char *device = find(m, "on dev "), *end = message_end(m);

		size_t size = 0;

		device = device ? device + 7 : NULL;
		while (device && device + size < end && device[size] != ',' && device[size] != ' ')
			size++;
		event(log, m, JOB_LOG_MODIFY_QP, device, size, (int)value_of(m, "failed with "), 0, m->text,
		      (size_t)(end - m->text), NULL, 0);
	} else if (find(m, "remote FLID configured as zero")) {
		event(log, m, JOB_LOG_FLID, NULL, 0, 0, 0, m->text, m->size, NULL, 0);
	} else if (begins(m, "Failed to initialize any NET plugin") || (begins(m, "Error: network ") && find(m, "not found"))) {
		p->failed = true;
		p->line = m->line;
		p->file = log->file_count - 1;
	} else if (find(m, "no socket interface found") || find(m, "No interface found in the same subnet")) {
		p->no_interface = true;
		p->line = m->line;
		p->file = log->file_count - 1;
	} else if (begins(m, "NET/IB : No IP interface found")) {
		p->cause = JOB_LOG_CAUSE_NO_IP;
	} else {
		event(log, m, JOB_LOG_OTHER, NULL, 0, 0, 0, m->text, m->size, NULL, 0);
	}
}

/* --- settings --- */

static void setting(struct job_log *log, const struct log_message *m)
{
	const char *end = message_end(m), *by = find(m, " set by environment to "), *value;
	size_t name = word(m->text, end), size, at;
	struct job_log_setting *grown;
	char key[512];
	size_t length;
	bool added;

	if (!by)
		by = find(m, " set to ");
	if (!by || by != m->text + name)
		return;
	value = by + (by[5] == 'b' ? strlen(" set by environment to ") : strlen(" set to "));
	size = (size_t)(end - value);
	/* numbers end in a full stop, some texts too: one is dropped */
	if (by[5] == 'b' && size > 1 && value[size - 1] == '.')
		size--;
	m->process->env_lines |= by[5] == 'b';
	if (name == 15 && memcmp(m->text, "NCCL_IB_DISABLE", 15) == 0 && number(value, end) != 0)
		m->process->cause = JOB_LOG_CAUSE_DISABLED;
	if (name == 8 && memcmp(m->text, "NCCL_NET", 8) == 0 && size == 6 && strncasecmp(value, "Socket", 6) == 0)
		m->process->cause = JOB_LOG_CAUSE_NET;
	length = name > 100 ? 100 : name;
	memcpy(key, m->text, length);
	key[length++] = '=';
	memcpy(key + length, value, size > 380 ? 380 : size);
	length += size > 380 ? 380 : size;
	if (m->cr)
		key[length++] = '\r';
	at = log_find(log, &log->by_setting, key, length, log->setting_count, JOB_LOG_SETTINGS, &added);
	if (at == SIZE_MAX)
		return;
	if (added) {
		grown = array_grow(log->settings, &log->setting_room, log->setting_count + 1, sizeof(*grown));
		if (!grown) {
			log->failed = true;
			return;
		}
		log->settings = grown;
		grown[log->setting_count++] = (struct job_log_setting){
			.name = log_copy(m->text, name > 100 ? 100 : name), .value = text_utf8(value, size > 380 ? 380 : size),
			.cr = m->cr, .file = log->file_count - 1, .line = m->line,
		};
		log->failed |= !grown[at].name || !grown[at].value;
	}
	if (!(m->process->settings[at / 64] >> (at % 64) & 1)) {
		m->process->settings[at / 64] |= 1ull << (at % 64);
		log->settings[at].processes++;
	}
}

/* --- adapters --- */

static struct job_log_device *device_of(struct job_log *log, const struct log_message *m, const char *name, size_t size)
{
	struct job_log_host *host = &log->hosts[m->process->host];
	struct job_log_device *grown;
	char key[160];
	bool added;
	size_t at;
	int length = snprintf(key, sizeof(key), "%zu %.*s", m->process->host, (int)(size > 100 ? 100 : size), name);

	/* a host full of adapters takes no more: only those that are known are found */
	at = log_find(log, &log->by_device, key, (size_t)length, log->device_count,
		      host->devices < LOG_HOST_DEVICES ? LOG_DEVICES : 0, &added);
	if (at == SIZE_MAX)
		return NULL;
	if (!added)
		return &log->devices[at];
	grown = array_grow(log->devices, &log->device_room, log->device_count + 1, sizeof(*grown));
	if (!grown) {
		log->failed = true;
		return NULL;
	}
	log->devices = grown;
	grown[at] = (struct job_log_device){
		.next = host->first_device, .host = m->process->host, .name = log_copy(name, size > 100 ? 100 : size), .gdr = -1};
	log->failed |= !grown[at].name;
	log->device_count++;
	host->first_device = at;
	host->devices++;
	return &log->devices[at];
}

/* "eth0:10.0.0.1<0>" behind "; OOB " or "Bootstrap : Using ": by the address peers name this host. */
static void address(struct job_log *log, const struct log_message *m, const char *at)
{
	const char *end = message_end(m), *close, *colon;
	struct job_log_host *h = &log->hosts[m->process->host];
	size_t size;

	while (at < end && *at == ' ')
		at++;
	colon = memchr(at, ':', (size_t)(end - at));
	close = colon ? memchr(colon, '<', (size_t)(end - colon)) : NULL;
	size = close ? (size_t)(close - colon - 1) : 0;
	for (size_t i = 0; size > 0 && size < 64 && i < JOB_LOG_ADDRESSES; i++) {
		const char *known = h->addresses[i];

		if (known && strlen(known) == size && memcmp(known, colon + 1, size) == 0)
			return;
		if (known)
			continue;
		h->addresses[i] = log_copy(colon + 1, size);
		log->failed |= !h->addresses[i];
		return;
	}
}

/* " [0]mlx5_0:1/IB [1]mlx5_1:1:0/RoCE [RO]; OOB …", in 2.20 to 2.24 also "[0]={[0] mlx5_0:1/RoCE, [1] mlx5_1:1/RoCE}" */
static void devices(struct job_log *log, const struct log_message *m)
{
	const char *end = find(m, "; OOB "), *at = m->text + strlen("NET/IB : Using");

	if (end)
		address(log, m, end + strlen("; OOB "));
	end = end ? end : message_end(m);
	while (at < end && (at = memchr(at, ']', (size_t)(end - at)))) {
		const char *name = ++at, *slash, *port;
		struct job_log_device *d;
		size_t size;

		while (name < end && (*name == ' ' || *name == '='))
			name++;
		if (name < end && *name == '{')
			continue;
		size = word(name, end);
		slash = memchr(name, '/', size);
		port = slash ? memchr(name, ':', (size_t)(slash - name)) : NULL;
		if (!port)
			continue;
		while (port + 1 < slash && port[1] >= '0' && port[1] <= '9') /* a rail and a plane may follow the port */
			port++;
		d = device_of(log, m, name, (size_t)(port + 1 - name));
		if (!d)
			continue;
		d->link = (size_t)(end - slash) >= 5 && memcmp(slash, "/RoCE", 5) == 0 ? JOB_LINK_ETHERNET : JOB_LINK_INFINIBAND;
		m->process->infiniband |= d->link == JOB_LINK_INFINIBAND;
		m->process->ethernet |= d->link == JOB_LINK_ETHERNET;
	}
}

/* "NET/IB: [0] mlx5_0:uverbs0:1/IB provider=Mlx5 speed=400000 …" */
static void device_speed(struct job_log *log, const struct log_message *m)
{
	const char *end = message_end(m), *name = memchr(m->text, ']', m->size), *first, *second, *slash;
	struct job_log_device *d;
	char full[100];
	int size;

	if (!name || name + 2 >= end)
		return;
	name += 2;
	first = memchr(name, ':', (size_t)(end - name));
	second = first ? memchr(first + 1, ':', (size_t)(end - first - 1)) : NULL;
	slash = second ? memchr(second, '/', (size_t)(end - second)) : NULL;
	if (!slash)
		return;
	size = snprintf(full, sizeof(full), "%.*s%.*s", (int)(first - name > 60 ? 60 : first - name), name,
			(int)(slash - second > 8 ? 8 : slash - second), second);
	d = device_of(log, m, full, (size_t)size);
	if (d) {
		d->mbps = (uint64_t)(value_of(m, "speed=") > 0 ? value_of(m, "speed=") : 0);
		d->link = (size_t)(end - slash) >= 5 && memcmp(slash, "/RoCE", 5) == 0 ? JOB_LINK_ETHERNET : JOB_LINK_INFINIBAND;
	}
	m->process->net_lines = true;
}

/* "NET/IB : GPU Direct RDMA Enabled for HCA 0 'mlx5_0'": the name is of an adapter, for all its ports */
static void device_gdr(struct job_log *log, const struct log_message *m)
{
	const char *open = memchr(m->text, '\'', m->size), *close;
	const struct job_log_host *host = &log->hosts[m->process->host];
	bool enabled = find(m, " Enabled ") != NULL;

	m->process->net_lines = true;
	close = open ? memchr(open + 1, '\'', (size_t)(message_end(m) - open - 1)) : NULL;
	if (!close)
		return;
	for (size_t n = 0, i = host->first_device; n < host->devices; n++, i = log->devices[i].next) {
		struct job_log_device *d = &log->devices[i];
		size_t size = (size_t)(close - open - 1);

		if (strncmp(d->name, open + 1, size) == 0 && d->name[size] == ':')
			d->gdr = enabled && d->gdr != 0;
	}
}

/* --- the rest --- */

static void network(struct job_log *log, const struct log_message *m)
{
	const char *name = m->text + strlen("Using network "), *end = message_end(m);
	size_t size = (size_t)(end - name);
	struct job_log_process *p = m->process;

	while (size > 0 && name[size - 1] == ' ')
		size--;
	if (strcmp(p->network, "Socket") == 0) /* the worse one of several communicators stays */
		return;
	size = size < sizeof(p->network) ? size : sizeof(p->network) - 1;
	memcpy(p->network, name, size);
	p->network[size] = '\0';
	p->line = m->line;
	p->file = log->file_count - 1;
}

/* "Channel 00/0 : 1[1] -> 0[0] [receive] via NET/IB/0/GDRDMA" */
static void channel(const struct log_message *m)
{
	const char *end = message_end(m), *via = end;

	while (via > m->text && via[-1] != ' ') /* a short word: a loop of ours ends before a call has begun */
		via--;
	via = via > m->text ? via - 1 : NULL;
	if (via && via - m->text >= 4 && memcmp(via - 4, " via", 4) == 0) {
		via++; /* the last word, as it is in all releases */
	} else {
		via = memchr(m->text, '>', m->size) ? find(m, " via ") : NULL; /* "Channel 00/24 : 0 1" is no connection */
		if (!via)
			return;
		via += 5;
	}
	if (end - via < 4 || memcmp(via, "NET/", 4) != 0) {
		m->process->channels_local++;
		return;
	}
	m->process->channels_net++;
	if (end - via > 10 && memcmp(via, "NET/Socket", 10) == 0)
		m->process->channels_socket++;
	if (via[4] != 'S' && memmem(via, (size_t)(end - via), "/GDRDMA", 7))
		m->process->channels_gdr++;
}

/* "… comm 0x1 rank 3 nranks 16 cudaDev … - Init COMPLETE" */
static void rank(const struct log_message *m)
{
	const char *at = find(m, " rank "), *of = find(m, " nranks "), *end = message_end(m);
	long ranks = of ? number(of + 8, end) : -1;

	if (at && ranks > m->process->ranks) {
		m->process->ranks = ranks;
		m->process->rank = number(at + 6, end);
	}
}

static void version(const struct log_message *m)
{
	size_t size = m->size - strlen("NCCL version ");
	char text[32];
	unsigned nccl;

	size = size < sizeof(text) ? size : sizeof(text) - 1;
	memcpy(text, m->text + strlen("NCCL version "), size);
	text[size] = '\0';
	if (job_nccl_parse(text, &nccl) == 0)
		m->process->nccl = nccl;
}

/* 2.29.7 to 2.30.4 with a port to fail over to: "NET/IB: f: Got completion with error (devIndex=0, wc->status=(NAME)12, …" */
static void survived(struct job_log *log, const struct log_message *m, const char *at)
{
	const char *end = message_end(m), *status = memmem(at, (size_t)(end - at), "wc->status=(", 12);
	const char *close = status ? memchr(status, ')', (size_t)(end - status)) : NULL;
	long code = close ? number(close + 1, end) : -1;

	if (code < 0)
		return;
	event(log, m, JOB_LOG_COMPLETION, NULL, 0, (int)code, 0, m->text, m->size, NULL, 0);
	log->hosts[m->process->host].completions++;
}

/* From 2.30.7: "NET/IB : mlx5_0:1 speed change detected: 400000 -> 200000 Mbps" */
static void speed_change(struct job_log *log, const struct log_message *m, const char *at)
{
	const char *device = m->text + strlen("NET/IB : ");

	if (device >= at)
		return;
	event(log, m, JOB_LOG_ASYNC, device, (size_t)(at - device), 0, 0, at + 1, (size_t)(message_end(m) - at - 1), NULL, 0);
	log->hosts[m->process->host].events++;
}

static void net_ib(struct job_log *log, const struct log_message *m)
{
	const char *at;

	if (begins(m, "NET/IB : Using"))
		devices(log, m);
	else if (begins(m, "NET/IB : No device found") && m->process->cause < JOB_LOG_CAUSE_DISABLED)
		m->process->cause = JOB_LOG_CAUSE_NO_DEVICE;
	else if (begins(m, "NET/IB: [") && find(m, " speed="))
		device_speed(log, m);
	else if (begins(m, "NET/IB: ") && (at = find(m, "Got completion with error (")))
		survived(log, m, at);
	else if (begins(m, "NET/IB : ") && (at = find(m, " speed change detected: ")))
		speed_change(log, m, at);
	else if (find(m, " mtu ") && (find(m, " LID ") || find(m, " GID ")))
		m->process->net_lines = true;
}

void log_message(struct job_log *log, const struct log_message *m)
{
	if (m->warn) {
		warning(log, m);
		return;
	}
	m->process->info++;
	switch (m->size ? m->text[0] : '\0') {
	case 'B':
		if (begins(m, "Bootstrap : Using ") || begins(m, "Bootstrap: Using "))
			address(log, m, find(m, "Using ") + strlen("Using "));
		break;
	case 'C':
		if (begins(m, "Channel "))
			channel(m);
		else if (begins(m, "Connected all "))
			m->process->connected = true;
		break;
	case 'N':
		if (begins(m, "NET/") && find(m, "GPU Direct RDMA ") && find(m, " HCA "))
			device_gdr(log, m);
		else if (begins(m, "NET/IB"))
			net_ib(log, m);
		else if (begins(m, "NCCL version "))
			version(m);
		else if (begins(m, "NCCL_"))
			setting(log, m);
		break;
	case 'U':
		if (begins(m, "Using network "))
			network(log, m);
		break;
	case 'F':
		if (begins(m, "Failed to open libibverbs"))
			m->process->cause = JOB_LOG_CAUSE_LIBRARY;
		break;
	case 'n':
	case 'c':
	case '[':
		if (!begins(m, "[Proxy ") && find(m, "Init ") && find(m, " nranks "))
			rank(m);
		break;
	default:
		break;
	}
}
