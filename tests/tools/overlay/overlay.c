/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The functions of libibumad that the overlay stands in for: umad_send, umad_recv, umad_poll. OpenSM
 * sends and receives in several threads, so the state is behind one mutex, which is never held while
 * waiting for the fabric.
 */
#include <dlfcn.h>
#include <errno.h>
#include <infiniband/mad.h>
#include <inttypes.h>
#include <link.h>
#include <stdatomic.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "state.h"

#define WAKE_MS 100 /* how long OpenSM waits at most before it looks at its timers */

#define BUCKETS (sizeof(st.request) / sizeof(st.request[0]))

static struct state st = {.lock = PTHREAD_MUTEX_INITIALIZER};

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

uint64_t now_ms(void)
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
	st.sm = sm;
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
	if (env("IBQOS_OVERLAY_NOW"))
		st.now = strtold(env("IBQOS_OVERLAY_NOW"), NULL);
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

void refresh_rules(struct state *s)
{
	const struct timespec *changed;
	struct stat now;

	if (!s->rules_path)
		return;
	if (stat(s->rules_path, &now))
		die("rules %s: %m", s->rules_path);
	if (s->rules && now.st_ino == s->rules_stat.st_ino && now.st_size == s->rules_stat.st_size &&
	    !memcmp(&now.st_mtim, &s->rules_stat.st_mtim, sizeof(now.st_mtim)))
		return;
	rules_free(s->rules);
	changed = &now.st_mtim;
	s->rules = rules_load(s->rules_path, s->has_net ? &s->net : NULL, &s->record, s->seed,
			      (long double)changed->tv_sec + (long double)changed->tv_nsec / 1e9L, s->now);
	s->rules_stat = now;
}

/* --- requests on their way --- */

static struct request **slot(struct state *s, uint32_t tid, uint8_t class)
{
	struct request **r = &s->request[tid % BUCKETS];

	while (*r && ((*r)->tid != tid || (*r)->class != class))
		r = &(*r)->next;
	return r;
}

struct request *take_request(struct state *s, uint32_t tid, uint8_t class)
{
	struct request **at = slot(s, tid, class), *r = *at;

	if (r)
		*at = r->next;
	return r;
}

void find_place(struct state *s, struct request *req)
{
	if (!s->has_net)
		return;
	if (req->class == 0x81) {
		unsigned hops = req->mad[7];

		if (hops < 64 && !net_walk(&s->net, req->mad + 128, hops, &req->place))
			req->place = (struct place){NULL, 0};
	} else {
		if (s->record.path)
			record_refresh(&s->record, &s->net);
		if (req->dlid <= LID_MAX)
			req->place = s->net.lid[req->dlid];
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
	fputs(" data=", st.log);
	for (unsigned i = 0; i < SMP_BYTES; i++)
		fprintf(st.log, "%02x", r->mad[IB_SMP_DATA_OFFS + i]);
	fputc('\n', st.log);
}

/* Decides the fate of a Set before it leaves, so that a device that "never got" or "refused" it keeps its state. */
static struct verdict decide(struct request *r)
{
	struct verdict v = {.fate = FATE_ANSWER};

	if (!st.rules || r->method != IB_MAD_METHOD_SET || (!class_is_smp(r->class) && r->class != 0x04))
		return v;
	v = rules_apply(st.rules, r, NULL, PHASE_SET);
	r->asked = true;
	if (v.fate == FATE_ANSWER && !v.status)
		return v;
	r->decided = true;
	r->fate = v.fate;
	r->status = v.status;
	return v;
}

#define CLASS_PORT_INFO 0x0001 /* which any device answers */

/* What leaves in place of a request, if not the request itself. */
static void *substitute(struct request *r, int fd, int agent, void *umad, uint8_t *other)
{
	struct verdict v = decide(r);

	if (r->decided || v.as_get) {
		memcpy(other, umad, umad_size() + (size_t)r->length);
		((uint8_t *)umad_get_mad(other))[3] = IB_MAD_METHOD_GET;
		return other;
	}
	/* The simulator hands a question of what it does not know to a program attached there, and OpenSM dies of it. */
	if (st.rules && r->place.node && class_of(r->class) == CLASS_PMA && r->method == IB_MAD_METHOD_GET &&
	    rules_make(st.rules, r)) {
		memcpy(other, umad, umad_size() + (size_t)r->length);
		mad_set_field(umad_get_mad(other), 0, IB_MAD_ATTRID_F, CLASS_PORT_INFO);
		r->stands_in = true;
		return other;
	}
	if (class_is_smp(r->class) && r->attr == IB_ATTR_PORT_INFO && r->mod >> 31) {
		memcpy(other, umad, umad_size() + (size_t)r->length);
		mad_set_field(umad_get_mad(other), 0, IB_MAD_ATTRMOD_F, r->mod & 0x7fffffff);
		r->without_bit31 = true;
		return other;
	}
	if (!for_all_ports(r))
		return umad;
	spread_begin(&st, r, v.optimized, fd, agent, umad, other);
	return other;
}

/* IBQOS_OVERLAY_OPEN: the error number that the kernel gives to who opens the device, as where its file is not for this user. */
int umad_open_port(const char *ca_name, int portnum)
{
	static int (*open_port)(const char *ca_name, int portnum);
	const char *error = getenv("IBQOS_OVERLAY_OPEN");

	if (error) { /* as libibumad tells it */
		errno = atoi(error);
		return -EIO;
	}
	if (!open_port)
		open_port = real("umad_open_port");
	return open_port(ca_name, portnum);
}

int umad_send(int fd, int agentid, void *umad, int length, int timeout_ms, int retries)
{
	const uint8_t *mad = umad_get_mad(umad);
	uint8_t class = mad[1];
	_Alignas(8) uint8_t other[UMAD_BYTES];
	bool response = mad[3] & 0x80;
	struct request *r;
	uint32_t tid = 0;
	int rc, e;

	pthread_mutex_lock(&st.lock);
	if (!st.send)
		st.send = real("umad_send");
	refresh_rules(&st);
	if (!response) {
		r = new_request(umad, length, timeout_ms, retries);
		tid = r->tid;
		find_place(&st, r);
		log_sent(r);
		umad = substitute(r, fd, agentid, umad, other);
		if (to_guard(&st, r))
			guard(&st, r, fd, agentid, umad);
		free(take_request(&st, tid, class));
		r->next = st.request[tid % BUCKETS];
		st.request[tid % BUCKETS] = r;
	}
	pthread_mutex_unlock(&st.lock);
	/* once it is sent, another thread may have the answer and free both umad and r */
	rc = st.send(fd, agentid, umad, length, timeout_ms, retries);
	if (rc >= 0 && !response)
		atomic_fetch_add(&st.on_the_way, 1);
	if (rc < 0 && !response) {
		e = errno;
		pthread_mutex_lock(&st.lock);
		free(take_request(&st, tid, class));
		end_guard(&st, tid);
		pthread_mutex_unlock(&st.lock);
		errno = e;
	}
	return rc;
}

/* --- answers --- */

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

/* From the simulator itself. */
static int take(int fd, void *umad, int *length, int timeout_ms)
{
	int rc = st.recv(fd, umad, length, timeout_ms);

	if (rc >= 0)
		atomic_fetch_sub(&st.on_the_way, 1);
	return rc;
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
		at = first_pending(&st, fd, &due);
		p = *at;
		if (p && due <= now_ms()) {
			*at = p->next;
			if (p->guards)
				free(take_request(&st, p->guards, ((uint8_t *)umad_get_mad(p->umad))[1]));
		} else {
			p = NULL;
		}
		pthread_mutex_unlock(&st.lock);
		if (p) {
			rc = hand_over(p->umad, p->length, p->agent, umad, length);
			free(p);
			return rc;
		}
		memset(buf, 0, sizeof(buf));
		if (st.sm && due > now_ms() + WAKE_MS) /* another thread may send what is to be timed */
			due = now_ms() + WAKE_MS;
		rc = take(fd, buf, &n, wait_for(deadline, due));
		if (nothing_yet(rc) && due != FOREVER && due < deadline)
			continue;
		if (rc < 0)
			return rc;
		if (judge(&st, fd, rc, buf, n))
			return hand_over(buf, n, rc, umad, length);
	}
}

/*
 * The thread of umad2sim that takes in answers hangs, or falls over what is freed, if one comes for a file that is closed; exit() then waits
 * for it without end. So a program that ends in the middle waits for what it has asked; not OpenSM, which lives long.
 */
#define CLOSE_WAIT_MS 200

static void let_come(int fd)
{
	uint64_t until = now_ms() + CLOSE_WAIT_MS;
	_Alignas(8) uint8_t buf[UMAD_BYTES];

	while (!st.sm && st.recv && atomic_load(&st.on_the_way) > 0 && now_ms() < until) {
		int n = MAD_BYTES;

		take(fd, buf, &n, 10);
	}
	atomic_store(&st.on_the_way, 0); /* what has not come is lost */
}

int umad_unregister(int fd, int agentid)
{
	static int (*unregister)(int fd, int agentid);

	if (!unregister)
		unregister = real("umad_unregister");
	let_come(fd);
	return unregister(fd, agentid);
}

int umad_close_port(int fd)
{
	static int (*close_port)(int fd);

	if (!close_port)
		close_port = real("umad_close_port");
	let_come(fd);
	return close_port(fd);
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
		first_pending(&st, fd, &due);
		pthread_mutex_unlock(&st.lock);
		if (due <= now_ms())
			return 0;
		rc = st.poll(fd, wait_for(deadline, due));
		if (rc == -ETIMEDOUT && due != FOREVER && due < deadline)
			continue;
		if (rc)
			return rc;
		memset(buf, 0, sizeof(buf));
		rc = take(fd, buf, &n, 0);
		if (rc < 0 || !judge(&st, fd, rc, buf, n))
			continue;
		pthread_mutex_lock(&st.lock);
		push(&st, fd, rc, buf, n, 0);
		pthread_mutex_unlock(&st.lock);
	}
}
