/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The floor that discovery and audit are measured against: the Gets that they need, known beforehand, through libibumad
 * alone as fast as a window of MADs allows. No engine, no rate ceiling, no repeats, nothing learnt from an
 * answer: never for a fabric that works.
 *
 *	floor_walk --queries FILE [--window W]
 *
 * Reads lines "dr attribute modifier hops port port ..." (the ports of a directed route) and "pma attribute port LID"
 * (performance management) and prints one JSON object. Exits 1 if a MAD was lost.
 */
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <infiniband/mad.h>
#include <infiniband/umad.h>

#define TIMEOUT_MS 2000
#define HOPS_MAX 63
#define LID_END 0xc000

struct query {
	uint16_t attribute, lid; /* lid 0: by directed route, of subnet management */
	uint8_t hops, port[HOPS_MAX + 1];
	uint32_t modifier;
};

struct floor {
	const char *file;
	int fd, agent, perf_agent;
	unsigned window;
	struct query *queries;
	size_t count, room;
	uint64_t answered, statuses, lost;
	double seconds;
};

static int read_query(FILE *from, struct query *query)
{
	unsigned attribute, modifier, hops, port;
	char class[4];
	int fields = fscanf(from, "%3s %u %u %u", class, &attribute, &modifier, &hops);

	if (fields == EOF)
		return 0;
	if (fields == 4 && strcmp(class, "pma") == 0 && hops > 0 && hops < LID_END && modifier < 256) {
		*query = (struct query){.attribute = (uint16_t)attribute, .modifier = modifier, .lid = (uint16_t)hops};
		return 1;
	}
	if (fields != 4 || strcmp(class, "dr") != 0 || hops > HOPS_MAX)
		return -EINVAL;
	*query = (struct query){.attribute = (uint16_t)attribute, .modifier = modifier, .hops = (uint8_t)hops};
	for (unsigned i = 1; i <= hops; i++) {
		if (fscanf(from, "%u", &port) != 1 || port > 255)
			return -EINVAL;
		query->port[i] = (uint8_t)port;
	}
	return 1;
}

static int read_queries(struct floor *f)
{
	FILE *from = fopen(f->file, "r");
	struct query query, *queries;
	int ret;

	if (!from)
		return -errno;
	while ((ret = read_query(from, &query)) > 0) {
		if (f->count == f->room) {
			f->room = f->room ? 2 * f->room : 1024;
			queries = realloc(f->queries, f->room * sizeof(*queries));
			if (!queries) {
				ret = -ENOMEM;
				break;
			}
			f->queries = queries;
		}
		f->queries[f->count++] = query;
	}
	fclose(from);
	return ret == 0 && f->count == 0 ? -EINVAL : ret;
}

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static int send_perf(struct floor *f, void *umad, const struct query *q, uint64_t tid)
{
	ib_portid_t port = {.lid = q->lid, .qp = 1, .qkey = IB_DEFAULT_QP1_QKEY};
	ib_rpc_t rpc = {
		.mgtclass = IB_PERFORMANCE_CLASS,
		.method = IB_MAD_METHOD_GET,
		.attr = {.id = q->attribute},
		.trid = tid,
		.dataoffs = IB_PC_DATA_OFFS,
		.datasz = IB_PC_DATA_SZ,
	};
	uint8_t data[IB_PC_DATA_SZ] = {0, (uint8_t)q->modifier}; /* PortSelect */

	memset(umad, 0, umad_size() + IB_MAD_SIZE);
	if (mad_build_pkt(umad, &rpc, &port, NULL, data) < 0)
		return -EINVAL;
	return umad_send(f->fd, f->perf_agent, umad, IB_MAD_SIZE, TIMEOUT_MS, 0);
}

static int send_one(struct floor *f, void *umad, uint64_t n)
{
	const struct query *q = &f->queries[n];
	ib_portid_t port = {.drpath = {.cnt = q->hops, .drslid = 0xffff, .drdlid = 0xffff}};
	ib_rpc_t rpc = {
		.mgtclass = IB_SMI_DIRECT_CLASS,
		.method = IB_MAD_METHOD_GET,
		.attr = {.id = q->attribute, .mod = q->modifier},
		.trid = n + 1,
		.dataoffs = IB_SMP_DATA_OFFS,
		.datasz = IB_SMP_DATA_SIZE,
	};

	if (q->lid)
		return send_perf(f, umad, q, n + 1);
	memcpy(port.drpath.p, q->port, sizeof(port.drpath.p));
	memset(umad, 0, umad_size() + IB_MAD_SIZE);
	if (mad_build_pkt(umad, &rpc, &port, NULL, NULL) < 0)
		return -EINVAL;
	return umad_send(f->fd, f->agent, umad, IB_MAD_SIZE, TIMEOUT_MS, 0);
}

static unsigned status_of(void *mad)
{
	bool directed = mad_get_field(mad, 0, IB_MAD_MGMTCLASS_F) == IB_SMI_DIRECT_CLASS;

	return mad_get_field(mad, 0, directed ? IB_DRSMP_STATUS_F : IB_MAD_STATUS_F);
}

/* 1: a MAD came back, answered or given up by the kernel; 0: nothing came in time; -errno. */
static int receive_one(struct floor *f, void *umad)
{
	int length = IB_MAD_SIZE, ret = umad_recv(f->fd, umad, &length, 0);

	if (ret == -EWOULDBLOCK) {
		length = IB_MAD_SIZE;
		ret = umad_recv(f->fd, umad, &length, 2 * TIMEOUT_MS);
	}
	if (ret == -ETIMEDOUT)
		return 0;
	if (ret < 0)
		return ret;
	if (umad_status(umad))
		f->lost++;
	else if (status_of(umad_get_mad(umad)))
		f->statuses++;
	else
		f->answered++;
	return 1;
}

static int measure(struct floor *f)
{
	uint64_t sent = 0, back = 0;
	void *out = umad_alloc(1, umad_size() + IB_MAD_SIZE), *in = umad_alloc(1, umad_size() + IB_MAD_SIZE);
	double start = now();
	int ret = out && in ? 0 : -ENOMEM;

	while (ret >= 0 && back < f->count) {
		while (ret >= 0 && sent < f->count && sent - back < f->window) {
			ret = send_one(f, out, sent);
			sent++;
		}
		if (ret >= 0)
			ret = receive_one(f, in);
		if (ret == 0) {
			f->lost += sent - back;
			break;
		}
		back++;
	}
	f->seconds = now() - start;
	umad_free(out);
	umad_free(in);
	return ret < 0 ? ret : 0;
}

static int run(struct floor *f)
{
	int ret;

	umad_init();
	f->fd = umad_open_port(NULL, 0);
	if (f->fd < 0)
		return f->fd;
	f->agent = umad_register(f->fd, IB_SMI_DIRECT_CLASS, 1, 0, NULL);
	f->perf_agent = umad_register(f->fd, IB_PERFORMANCE_CLASS, 1, 0, NULL);
	if (f->agent < 0)
		ret = f->agent;
	else
		ret = f->perf_agent < 0 ? f->perf_agent : measure(f);
	umad_close_port(f->fd);
	return ret;
}

static int parse_options(int argc, char **argv, struct floor *f)
{
	static const struct option options[] = {
		{"queries", required_argument, NULL, 'q'}, {"window", required_argument, NULL, 'w'}, {0}};
	int c;

	while ((c = getopt_long(argc, argv, "q:w:", options, NULL)) != -1) {
		if (c == 'q')
			f->file = optarg;
		else if (c == 'w')
			f->window = (unsigned)strtoul(optarg, NULL, 10);
		else
			return -EINVAL;
	}
	return optind == argc && f->file && f->window >= 1 && f->window <= 4096 ? 0 : -EINVAL;
}

int main(int argc, char **argv)
{
	struct floor f = {.window = 16};
	uint64_t mads;
	int err = parse_options(argc, argv, &f);

	if (err) {
		fprintf(stderr, "usage: floor_walk --queries FILE [--window W]\n");
		return 3;
	}
	err = read_queries(&f);
	if (!err)
		err = run(&f);
	free(f.queries);
	if (err) {
		fprintf(stderr, "floor_walk: %s\n", strerror(-err));
		return 1;
	}
	mads = f.answered + f.statuses + f.lost;
	printf("{\"window\": %u, \"mads\": %" PRIu64 ", \"answered\": %" PRIu64 ", \"status\": %" PRIu64
	       ", \"lost\": %" PRIu64 ", \"seconds\": %.6f}\n",
	       f.window, mads, f.answered, f.statuses, f.lost, f.seconds);
	return f.lost ? 1 : 0;
}
