/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The floor that benchmarks are measured against: SubnGet(SLtoVLMappingTable) through libibumad
 * alone, as fast as a window of MADs allows. No engine, no rate ceiling, no repeats: never for a
 * fabric that works.
 *
 *	floor [--lids FILE] [--window W] [--repeat N] [--ca NAME] [--port N]
 *
 * Reads lines "lid in_port out_port" and prints one JSON object. Exits 1 if a MAD was lost.
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

struct table {
	uint16_t lid;
	uint32_t modifier;
};

struct floor {
	const char *file, *ca;
	int port, fd, agent;
	unsigned window, repeat;
	struct table *tables;
	size_t count, room;
	uint64_t answered, statuses, lost;
	double seconds;
};

static int usage(void)
{
	fprintf(stderr, "usage: floor [--lids FILE] [--window W] [--repeat N] [--ca NAME] [--port N]\n");
	return 3;
}

static int parse_options(int argc, char **argv, struct floor *f)
{
	static const struct option options[] = {
		{"lids", required_argument, NULL, 'l'},   {"window", required_argument, NULL, 'w'},
		{"repeat", required_argument, NULL, 'r'}, {"ca", required_argument, NULL, 'C'},
		{"port", required_argument, NULL, 'P'},   {0},
	};
	int c;

	while ((c = getopt_long(argc, argv, "l:w:r:C:P:", options, NULL)) != -1) {
		switch (c) {
		case 'l':
			f->file = optarg;
			break;
		case 'w':
			f->window = (unsigned)strtoul(optarg, NULL, 10);
			break;
		case 'r':
			f->repeat = (unsigned)strtoul(optarg, NULL, 10);
			break;
		case 'C':
			f->ca = optarg;
			break;
		case 'P':
			f->port = (int)strtol(optarg, NULL, 10);
			break;
		default:
			return -EINVAL;
		}
	}
	return optind == argc && f->window >= 1 && f->window <= 4096 && f->repeat >= 1 ? 0 : -EINVAL;
}

static int add_table(struct floor *f, unsigned lid, unsigned in, unsigned out)
{
	size_t room = f->room ? 2 * f->room : 1024;
	struct table *tables;

	if (f->count == f->room) {
		tables = realloc(f->tables, room * sizeof(*tables));
		if (!tables)
			return -ENOMEM;
		f->tables = tables;
		f->room = room;
	}
	f->tables[f->count++] = (struct table){.lid = (uint16_t)lid, .modifier = in << 8 | out};
	return 0;
}

static int read_tables(struct floor *f)
{
	FILE *from = f->file ? fopen(f->file, "r") : stdin;
	unsigned lid, in, out;
	int fields, err = 0;

	if (!from)
		return -errno;
	while (!err && (fields = fscanf(from, "%u %u %u", &lid, &in, &out)) == 3)
		err = lid && lid < 0xc000 && in < 256 && out < 256 ? add_table(f, lid, in, out) : -EINVAL;
	if (!err && (!feof(from) || !f->count))
		err = -EINVAL;
	if (from != stdin)
		fclose(from);
	return err;
}

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void prepare(void *umad)
{
	ib_portid_t port = {0};
	ib_rpc_t rpc = {
		.mgtclass = IB_SMI_CLASS,
		.method = IB_MAD_METHOD_GET,
		.attr = {.id = IB_ATTR_SLVL_TABLE},
		.trid = 1,
	};

	memset(umad, 0, umad_size() + IB_MAD_SIZE);
	mad_build_pkt(umad, &rpc, &port, NULL, NULL);
}

static int send_one(struct floor *f, void *umad, uint64_t n)
{
	const struct table *t = &f->tables[n % f->count];
	void *mad = umad_get_mad(umad);

	umad_set_addr(umad, t->lid, 0, 0, 0);
	mad_set_field64(mad, 0, IB_MAD_TRID_F, n + 1);
	mad_set_field(mad, 0, IB_MAD_ATTRMOD_F, t->modifier);
	return umad_send(f->fd, f->agent, umad, IB_MAD_SIZE, TIMEOUT_MS, 0);
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
	else if (mad_get_field(umad_get_mad(umad), 0, IB_MAD_STATUS_F))
		f->statuses++;
	else
		f->answered++;
	return 1;
}

static int measure(struct floor *f)
{
	uint64_t total = (uint64_t)f->count * f->repeat, sent = 0, back = 0;
	void *out = umad_alloc(1, umad_size() + IB_MAD_SIZE), *in = umad_alloc(1, umad_size() + IB_MAD_SIZE);
	double start;
	int ret = out && in ? 0 : -ENOMEM;

	if (ret)
		goto done;
	prepare(out);
	start = now();
	while (back < total) {
		while (sent < total && sent - back < f->window) {
			ret = send_one(f, out, sent);
			if (ret < 0)
				goto done;
			sent++;
		}
		ret = receive_one(f, in);
		if (ret < 0)
			goto done;
		if (!ret) {
			f->lost += sent - back;
			break;
		}
		back++;
	}
	f->seconds = now() - start;
	ret = 0;
done:
	umad_free(out);
	umad_free(in);
	return ret;
}

static int run(struct floor *f)
{
	int ret;

	umad_init();
	f->fd = umad_open_port(f->ca, f->port);
	if (f->fd < 0)
		return f->fd;
	f->agent = umad_register(f->fd, IB_SMI_CLASS, 1, 0, NULL);
	ret = f->agent < 0 ? f->agent : measure(f);
	umad_close_port(f->fd);
	return ret;
}

int main(int argc, char **argv)
{
	struct floor f = {.window = 1, .repeat = 1};
	uint64_t mads;
	int err = parse_options(argc, argv, &f);

	if (err)
		return usage();
	err = read_tables(&f);
	if (!err)
		err = run(&f);
	free(f.tables);
	if (err) {
		fprintf(stderr, "floor: %s\n", strerror(-err));
		return 1;
	}
	mads = f.answered + f.statuses + f.lost;
	printf("{\"window\": %u, \"mads\": %" PRIu64 ", \"answered\": %" PRIu64 ", \"status\": %" PRIu64
	       ", \"lost\": %" PRIu64 ", \"seconds\": %.6f, \"mads_per_second\": %.0f}\n",
	       f.window, mads, f.answered, f.statuses, f.lost, f.seconds,
	       f.seconds > 0 ? (double)(f.answered + f.statuses) / f.seconds : 0);
	return f.lost ? 1 : 0;
}
