/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The functions of libibumad that the overlay stands in for: umad_send, umad_recv, umad_poll. OpenSM
 * sends and receives in several threads, so the state is behind one mutex, which is never held while
 * waiting for the fabric.
 */
#include <dlfcn.h>
#include <errno.h>
#include <infiniband/mad.h>
#include <infiniband/umad.h>
#include <inttypes.h>
#include <link.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "overlay.h"

#define BUCKETS 1024
#define FOREVER UINT64_MAX
#define UMAD_BYTES (sizeof(ib_user_mad_t) + MAD_BYTES)

/* An answer that waits for its time. */
struct pending {
	struct pending *next;
	uint64_t due; /* ms */
	int fd, agent, length;
	uint8_t umad[UMAD_BYTES];
};

static struct {
	pthread_mutex_t lock;
	int (*send)(int fd, int agentid, void *umad, int length, int timeout_ms, int retries);
	int (*recv)(int fd, void *umad, int *length, int timeout_ms);
	int (*poll)(int fd, int timeout_ms);
	bool has_net;
	struct net net;
	struct record record;
	const char *rules_path;
	struct stat rules_stat;
	struct rules *rules;
	uint64_t seed;
	FILE *log;
	uint64_t gets, sets, others;
	struct request *request[BUCKETS];
	struct pending *pending;
} st = {.lock = PTHREAD_MUTEX_INITIALIZER};

void die(const char *fmt, ...)
{
	va_list ap;

	fputs("overlay: ", stderr);
	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	fputc('\n', stderr);
	abort();
}

static uint64_t now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000 + (uint64_t)ts.tv_nsec / 1000000;
}

/* --- start and end --- */

static int is_simulator(struct dl_phdr_info *info, size_t size, void *arg)
{
	(void)size;
	(void)arg;
	return strstr(info->dlpi_name, "libumad2sim") != NULL;
}

static const char *env(const char *name)
{
	const char *v = getenv(name);

	return v && *v ? v : NULL;
}

__attribute__((constructor)) static void start(void)
{
	const char *role = env("IBQOS_OVERLAY_ROLE"), *net = env("IBQOS_OVERLAY_NET"), *log = env("IBQOS_OVERLAY_LOG");
	bool sm = role && !strcmp(role, "sm");

	/* without the simulator library the program would open the machine's own adapter */
	if (!dl_iterate_phdr(is_simulator, NULL))
		die("libumad2sim.so is not loaded: refusing to go near real hardware");
	if (role && !sm && strcmp(role, "reader"))
		die("IBQOS_OVERLAY_ROLE is sm or reader, not '%s'", role);
	if (net) {
		net_load(&st.net, net, env("SIM_HOST"));
		st.has_net = true;
	}
	if (env("IBQOS_OVERLAY_RECORD")) {
		if (!net)
			die("IBQOS_OVERLAY_RECORD needs IBQOS_OVERLAY_NET");
		record_open(&st.record, env("IBQOS_OVERLAY_RECORD"), sm);
	}
	if (env("IBQOS_OVERLAY_SEED"))
		st.seed = strtoull(env("IBQOS_OVERLAY_SEED"), NULL, 0);
	st.rules_path = env("IBQOS_OVERLAY_RULES");
	if (log) {
		st.log = fopen(log, "ae");
		if (!st.log)
			die("log %s: %m", log);
		setvbuf(st.log, NULL, _IOLBF, 0);
	}
}

/* Programs that sent nothing (a shell in between) have nothing to say. */
__attribute__((destructor)) static void end(void)
{
	if (st.log && st.gets + st.sets + st.others)
		fprintf(st.log, "sent gets=%" PRIu64 " sets=%" PRIu64 " others=%" PRIu64 "\n", st.gets, st.sets,
			st.others);
}

static void *real(const char *name)
{
	void *f = dlsym(RTLD_NEXT, name);

	if (!f)
		die("no %s behind the overlay: %s", name, dlerror());
	return f;
}

/* Called with the lock held. */
static void refresh_rules(void)
{
	struct stat now;

	if (!st.rules_path)
		return;
	if (stat(st.rules_path, &now))
		die("rules %s: %m", st.rules_path);
	if (st.rules && now.st_ino == st.rules_stat.st_ino && now.st_size == st.rules_stat.st_size &&
	    !memcmp(&now.st_mtim, &st.rules_stat.st_mtim, sizeof(now.st_mtim)))
		return;
	rules_free(st.rules);
	st.rules = rules_load(st.rules_path, st.has_net ? &st.net : NULL, st.seed);
	st.rules_stat = now;
}

/* --- requests on their way --- */

static struct request **slot(uint32_t tid, uint8_t class)
{
	struct request **r = &st.request[tid % BUCKETS];

	while (*r && ((*r)->tid != tid || (*r)->class != class))
		r = &(*r)->next;
	return r;
}

static struct request *take_request(uint32_t tid, uint8_t class)
{
	struct request **at = slot(tid, class), *r = *at;

	if (r)
		*at = r->next;
	return r;
}

static void find_place(struct request *req)
{
	if (!st.has_net)
		return;
	if (req->class == 0x81) {
		unsigned hops = req->mad[7];

		if (hops < 64 && !net_walk(&st.net, req->mad + 128, hops, &req->place))
			req->place = (struct place){NULL, 0};
	} else {
		if (st.record.path)
			record_refresh(&st.record, &st.net);
		if (req->dlid <= LID_MAX)
			req->place = st.net.lid[req->dlid];
	}
}

static struct request *new_request(const ib_user_mad_t *umad, int length, int timeout_ms, int retries)
{
	uint8_t *mad = umad_get_mad((void *)umad);
	struct request *r = calloc(1, sizeof(*r));

	if (!r)
		die("out of memory");
	r->length = length < MAD_BYTES ? length : MAD_BYTES;
	memcpy(r->mad, mad, (size_t)r->length);
	r->class = mad[1];
	r->method = mad[3];
	/* the upper half of the transaction ID is rewritten on its way */
	r->tid = (uint32_t)mad_get_field64(mad, 0, IB_MAD_TRID_F);
	r->attr = (uint16_t)mad_get_field(mad, 0, IB_MAD_ATTRID_F);
	r->mod = mad_get_field(mad, 0, IB_MAD_ATTRMOD_F);
	r->dlid = ntohs(umad->addr.lid);
	r->timeout_ms = timeout_ms;
	r->retries = retries;
	return r;
}

static void log_sent(const struct request *r)
{
	bool get = r->method == IB_MAD_METHOD_GET || (r->method >= 0x12 && r->method <= 0x14);
	/* Set, and SA's Delete: what changes something; the rest are traps, reports and answers */
	bool set = r->method == IB_MAD_METHOD_SET || r->method == 0x15;

	st.gets += get;
	st.sets += set;
	st.others += !get && !set;
	if (!st.log || !set)
		return;
	fprintf(st.log, "set class=0x%02x attr=0x%04x mod=0x%08x", r->class, r->attr, r->mod);
	if (r->class == 0x81) {
		fputs(" dr=0", st.log);
		for (unsigned i = 1; i <= r->mad[7] && i < 64; i++)
			fprintf(st.log, ",%u", r->mad[128 + i]);
	} else {
		fprintf(st.log, " lid=%u", r->dlid);
	}
	fputc('\n', st.log);
}

/* Decides the fate of a Set before it leaves, so that a device that "never got" or "refused" it keeps its state. */
static void decide(struct request *r)
{
	struct verdict v;

	if (!st.rules || r->method != IB_MAD_METHOD_SET || (!class_is_smp(r->class) && r->class != 0x04))
		return;
	v = rules_apply(st.rules, r, NULL);
	r->asked = true;
	if (v.fate == FATE_ANSWER && !v.status)
		return;
	r->decided = true;
	r->fate = v.fate;
	r->status = v.status;
}

int umad_send(int fd, int agentid, void *umad, int length, int timeout_ms, int retries)
{
	const uint8_t *mad = umad_get_mad(umad);
	uint8_t class = mad[1];
	_Alignas(8) uint8_t as_get[UMAD_BYTES];
	bool response = mad[3] & 0x80;
	struct request *r;
	uint32_t tid = 0;
	int rc, e;

	pthread_mutex_lock(&st.lock);
	if (!st.send)
		st.send = real("umad_send");
	refresh_rules();
	if (!response) {
		r = new_request(umad, length, timeout_ms, retries);
		tid = r->tid;
		find_place(r);
		log_sent(r);
		decide(r);
		free(take_request(tid, class));
		r->next = st.request[tid % BUCKETS];
		st.request[tid % BUCKETS] = r;
		if (r->decided) {
			memcpy(as_get, umad, umad_size() + (size_t)r->length);
			((uint8_t *)umad_get_mad(as_get))[3] = IB_MAD_METHOD_GET;
			umad = as_get;
		}
	}
	pthread_mutex_unlock(&st.lock);
	/* once it is sent, another thread may have the answer and free both umad and r */
	rc = st.send(fd, agentid, umad, length, timeout_ms, retries);
	if (rc < 0 && !response) {
		e = errno;
		pthread_mutex_lock(&st.lock);
		free(take_request(tid, class));
		pthread_mutex_unlock(&st.lock);
		errno = e;
	}
	return rc;
}

/* --- answers --- */

static void push(int fd, int agent, const uint8_t *umad, int length, uint64_t due)
{
	struct pending **at = &st.pending, *p = calloc(1, sizeof(*p));

	if (!p)
		die("out of memory");
	p->fd = fd;
	p->agent = agent;
	p->length = length;
	p->due = due;
	memcpy(p->umad, umad, UMAD_BYTES);
	while (*at && (*at)->due <= due)
		at = &(*at)->next;
	p->next = *at;
	*at = p;
}

/* The first answer waiting on fd; *due says when. */
static struct pending **first_pending(int fd, uint64_t *due)
{
	struct pending **at = &st.pending;

	while (*at && (*at)->fd != fd)
		at = &(*at)->next;
	*due = *at ? (*at)->due : FOREVER;
	return at;
}

static void set_status(uint8_t *mad, uint16_t status)
{
	/* in a directed-route SMP the top bit is the direction (IBA 14.2.1.2) */
	mad[4] = (uint8_t)((mad[1] == 0x81 ? mad[4] & 0x80 : 0) | status >> 8);
	mad[5] = (uint8_t)status;
}

static uint16_t get_status(const uint8_t *mad)
{
	return (uint16_t)((mad[4] << 8 | mad[5]) & (mad[1] == 0x81 ? 0x7fff : 0xffff));
}

/* The request itself comes back with ETIMEDOUT after its time, as the kernel does it. */
static void time_out(const struct request *r, int fd, int agent, const uint8_t *answer)
{
	uint64_t wait = (uint64_t)(r->timeout_ms > 0 ? r->timeout_ms : 0) * (unsigned)(r->retries > 0 ? r->retries + 1 : 1);
	_Alignas(8) uint8_t umad[UMAD_BYTES];

	memcpy(umad, answer, sizeof(umad));
	((ib_user_mad_t *)umad)->status = ETIMEDOUT;
	memcpy((uint8_t *)umad_get_mad(umad), r->mad, (size_t)r->length);
	push(fd, agent, umad, r->length, now_ms() + wait);
}

/* From answers to NodeInfo: which device has the LID that was asked. */
static void learn_node(const struct request *r, uint8_t *data)
{
	uint64_t guid = mad_get_field64(data, 0, IB_NODE_GUID_F);
	struct node *node = net_by_guid(&st.net, guid);

	if (node && r->class == 0x01 && r->dlid && r->dlid <= LID_MAX)
		st.net.lid[r->dlid] = (struct place){
			node, node->type == NODE_SWITCH ? 0 : mad_get_field(data, 0, IB_NODE_LOCAL_PORT_F)};
}

/* What becomes of an answer that came in: true if it goes on to the program now. */
static bool judge(int fd, int agent, uint8_t *umad, int length)
{
	uint8_t *mad = umad_get_mad(umad), *data = mad + data_offset(mad[1]);
	struct verdict v = {FATE_ANSWER, 0, 0, 0};
	struct request *r;
	bool pass = true;

	pthread_mutex_lock(&st.lock);
	r = take_request((uint32_t)mad_get_field64(mad, 0, IB_MAD_TRID_F), mad[1]);
	if (!r || !(mad[3] & 0x80) || ((ib_user_mad_t *)umad)->status)
		goto out;
	refresh_rules();
	if (st.has_net && class_is_smp(r->class) && r->attr == IB_ATTR_NODE_INFO && !get_status(mad))
		learn_node(r, data);
	if (!r->place.node)
		find_place(r);
	if (r->decided) {
		v.fate = r->fate;
		v.status = r->status;
	} else {
		if (st.has_net && class_is_smp(r->class) && r->attr == IB_ATTR_PORT_INFO && !get_status(mad))
			record_portinfo(&st.record, &st.net, r, data);
		if (st.rules)
			v = rules_apply(st.rules, r, data);
		if (r->asked) { /* its fate was drawn when it left, and is not drawn again */
			v.fate = FATE_ANSWER;
			v.status = 0;
		}
	}
	if (v.status)
		set_status(mad, v.status);
	if (v.fate == FATE_TIMEOUT)
		time_out(r, fd, agent, umad);
	if (v.fate == FATE_ANSWER)
		for (unsigned i = 0; i < v.copies; i++)
			push(fd, agent, umad, length, now_ms() + v.delay_ms);
	if (v.fate == FATE_ANSWER && v.delay_ms)
		push(fd, agent, umad, length, now_ms() + v.delay_ms);
	pass = v.fate == FATE_ANSWER && !v.delay_ms;
out:
	free(r);
	pthread_mutex_unlock(&st.lock);
	return pass;
}

static int hand_over(const uint8_t *from, int from_length, int agent, void *umad, int *length)
{
	int n = from_length < *length ? from_length : *length;

	memcpy(umad, from, umad_size() + (size_t)n);
	*length = n;
	errno = 0;
	return agent;
}

/* How long to wait for the fabric: until the deadline or the next answer of ours, whichever is first. */
static int wait_for(uint64_t deadline, uint64_t due)
{
	uint64_t until = deadline < due ? deadline : due, now = now_ms();

	if (until == FOREVER)
		return -1;
	if (until <= now)
		return 0;
	return until - now > INT32_MAX ? INT32_MAX : (int)(until - now);
}

static bool nothing_yet(int rc)
{
	return rc == -ETIMEDOUT || rc == -EWOULDBLOCK;
}

int umad_recv(int fd, void *umad, int *length, int timeout_ms)
{
	uint64_t deadline = timeout_ms < 0 ? FOREVER : now_ms() + (unsigned)timeout_ms, due;
	_Alignas(8) uint8_t buf[UMAD_BYTES];

	pthread_mutex_lock(&st.lock);
	if (!st.recv)
		st.recv = real("umad_recv");
	pthread_mutex_unlock(&st.lock);
	if (!umad || !length)
		return st.recv(fd, umad, length, timeout_ms);
	for (;;) {
		struct pending **at, *p;
		int n = MAD_BYTES, rc;

		pthread_mutex_lock(&st.lock);
		at = first_pending(fd, &due);
		p = *at;
		if (p && due <= now_ms())
			*at = p->next;
		else
			p = NULL;
		pthread_mutex_unlock(&st.lock);
		if (p) {
			rc = hand_over(p->umad, p->length, p->agent, umad, length);
			free(p);
			return rc;
		}
		memset(buf, 0, sizeof(buf));
		rc = st.recv(fd, buf, &n, wait_for(deadline, due));
		if (nothing_yet(rc) && due != FOREVER && due < deadline)
			continue;
		if (rc < 0)
			return rc;
		if (judge(fd, rc, buf, n))
			return hand_over(buf, n, rc, umad, length);
	}
}

/* Ready means that umad_recv will have something: an answer that rules swallow does not count. */
int umad_poll(int fd, int timeout_ms)
{
	uint64_t deadline = timeout_ms < 0 ? FOREVER : now_ms() + (unsigned)timeout_ms, due;
	_Alignas(8) uint8_t buf[UMAD_BYTES];

	pthread_mutex_lock(&st.lock);
	if (!st.recv)
		st.recv = real("umad_recv");
	if (!st.poll)
		st.poll = real("umad_poll");
	pthread_mutex_unlock(&st.lock);
	for (;;) {
		int n = MAD_BYTES, rc;

		pthread_mutex_lock(&st.lock);
		first_pending(fd, &due);
		pthread_mutex_unlock(&st.lock);
		if (due <= now_ms())
			return 0;
		rc = st.poll(fd, wait_for(deadline, due));
		if (rc == -ETIMEDOUT && due != FOREVER && due < deadline)
			continue;
		if (rc)
			return rc;
		memset(buf, 0, sizeof(buf));
		rc = st.recv(fd, buf, &n, 0);
		if (rc < 0 || !judge(fd, rc, buf, n))
			continue;
		pthread_mutex_lock(&st.lock);
		push(fd, rc, buf, n, 0);
		pthread_mutex_unlock(&st.lock);
	}
}
