/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The live source: the fabric that a port of this machine is cabled to. Our walker or libibnetdisc discovers, our
 * engine asks; libibnetdisc and the engine never at once, since umad2sim hands answers to the last opener.
 */
#include <errno.h>
#include <grp.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <infiniband/ibnetdisc.h>

#include "live.h"
#include "walk.h"

struct live {
	struct source source;
	const struct ibqos_ctx *ctx;
	struct source_options options;
	char *map;
	char device[MAD_DEVICE_NAME];
	int port;
	struct mad_port_info info; /* device "": not known */
	live_opener *opener;
	void *opener_arg;
	struct mad_engine *engine; /* until libibnetdisc is to discover */
	struct mad_counts counted; /* of this engine, so much is in the sums below */
	struct mad_counts asked, discovered;
};

/* Adds to a sum what the engine has counted since the last time. */
static void sum_counts(struct live *live, struct mad_counts *sum)
{
	const struct mad_counts *now = mad_engine_counts(live->engine);

	mad_counts_add(sum, now, &live->counted);
	live->counted = *now;
}

static void close_engine(struct live *live)
{
	mad_engine_free(live->engine);
	live->engine = NULL;
	live->counted = (struct mad_counts){0};
}

/*
 * Signals that would interrupt umad_recv(): rdma-core 44's libibnetdisc then frees its fabric twice
 * (ibnd_discover_fabric(), labels error and error_int). They wait until it has returned; SIGQUIT
 * still ends the program.
 */
static void hold_signals(sigset_t *before)
{
	static const int held[] = {SIGINT, SIGTERM, SIGHUP, SIGALRM, SIGUSR1, SIGUSR2};
	sigset_t set;

	sigemptyset(&set);
	for (unsigned i = 0; i < sizeof(held) / sizeof(held[0]); i++)
		sigaddset(&set, held[i]);
	pthread_sigmask(SIG_BLOCK, &set, before);
}

/* In libibnetdisc 0 stands for its own default, so no retries at all cannot be said: at least one. */
static struct ibnd_fabric *find_fabric(struct live *live)
{
	const struct mad_limits *limits = &live->options.limits;
	struct ibnd_config config = {
		.max_smps = live->options.discover_window ? live->options.discover_window : limits->window,
		.timeout_ms = limits->timeout_ms,
		.retries = limits->retries ? limits->retries : 1,
		.flags = live->options.no_ext_info ? 0 : IBND_CONFIG_MLX_EPI,
		.mkey = live->options.keys ? live->options.keys->any : 0,
	};
	struct ibnd_fabric *found;
	sigset_t before;

	hold_signals(&before);
	found = ibnd_discover_fabric(live->device, live->port, NULL, &config);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return found;
}

/* Where it is a file of umad that could not be opened, it is named, with what to do. */
static void say_unopened(const struct live *live, int error)
{
	char path[PATH_MAX] = "/dev/infiniband/umad*", *fault = NULL;
	struct stat st;
	bool seen = mad_port_file(live->device, live->port, path, sizeof(path)) == 0 && stat(path, &st) == 0;

	if (error == -EACCES || error == -EPERM || error == -ENOENT)
		fault = live_file_fault(live->device, live->port, path, seen ? &st : NULL, error);
	if (fault)
		ctx_error(live->ctx, "%s", fault);
	else
		ctx_error(live->ctx, "cannot open port %s/%d: %s", live->device, live->port, strerror(-error));
	free(fault);
}

static int open_engine(struct live *live)
{
	struct mad_wire *wire;
	int error = live->opener(live->opener_arg, live->ctx, live->device, live->port, &wire);

	if (error != 0) {
		say_unopened(live, error);
		return error;
	}
	mad_wire_umad_pkey_index(wire, live->options.pkey_index);
	if (live->options.keys)
		mad_wire_umad_key(wire, live->options.keys->any);
	error = mad_engine_new(live->ctx, wire, &live->options.limits, &live->engine);
	if (error != 0) {
		wire->ops->close(wire);
		ctx_error(live->ctx, "cannot ask through port %s/%d: %s", live->device, live->port,
			  strerror(-error));
	}
	return error;
}

static int walk_by_libibnetdisc(struct live *live, struct fabric **fabric)
{
	struct ibnd_fabric *found;
	int error;

	close_engine(live);
	ctx_progress_blind(live->ctx, "discovering by libibnetdisc");
	found = find_fabric(live);
	ctx_progress_end(live->ctx);
	if (found)
		live->discovered.sent += found->total_mads_used;
	if (ctx_stopped(live->ctx))
		error = -EINTR;
	else
		error = found ? live_convert(live->ctx, found, fabric) : -ENETUNREACH;
	ibnd_destroy_fabric(found);
	return error;
}

static int walk_ourselves(struct live *live, struct fabric **fabric)
{
	struct walk_bounds bounds = WALK_BOUNDS;
	int error;

	bounds.no_ext_info = live->options.no_ext_info;
	error = walk_bounded(live->ctx, live->engine, &bounds, fabric);

	sum_counts(live, &live->discovered);
	return error;
}

static int live_discover(struct source *source, struct finding_list *findings, struct fabric **fabric)
{
	struct live *live = (struct live *)source;
	bool native = live->options.walker == SOURCE_WALK_NATIVE;
	int error;

	if (ctx_stopped(live->ctx))
		return -EINTR;
	if (native && !live->engine) {
		error = open_engine(live);
		if (error != 0)
			return error;
	}
	error = native ? walk_ourselves(live, fabric) : walk_by_libibnetdisc(live, fabric);
	if (error == 0) {
		error = live_name_nodes(*fabric, live->map, findings);
		if (error != 0) {
			fabric_free(*fabric);
			*fabric = NULL;
		}
	}
	if (error == -ENETUNREACH)
		ctx_error(live->ctx,
			  "no answer from port %s/%d itself: see whether its driver and ib_umad work",
			  live->device, live->port);
	else if (error != 0)
		ctx_error(live->ctx, "discovery through port %s/%d: %s", live->device, live->port,
			  strerror(-error));
	return error;
}

static int live_ask_all(struct source *source, const struct fabric *fabric, const struct source_asker *asker)
{
	struct live *live = (struct live *)source;
	/* Without an SM nothing vouches for the switches' forwarding tables. */
	bool directed = live->options.directed || fabric->sm_lid == 0;
	int error = live->engine ? 0 : open_engine(live);

	if (error != 0) {
		live_ask_nothing(asker);
		return error;
	}
	error = live_ask(live->engine, fabric, live->options.keys, directed, asker);
	sum_counts(live, &live->asked);
	return error;
}

static int live_ask_the_sm(struct source *source, const struct fabric *fabric,
			   struct source_sm_query *queries, size_t count, uint64_t *lost_ns)
{
	struct live *live = (struct live *)source;
	int error = live->engine ? 0 : open_engine(live);

	if (error != 0)
		return error;
	error = live_ask_sm(live->engine, fabric, &live->options.limits, source, queries, count, lost_ns);
	if (source->sm_part.what && (error != 0 || source->sm_part.before + count >= source->sm_part.total))
		ctx_progress_end(live->ctx);
	sum_counts(live, &live->asked);
	return error;
}

static const struct mad_counts *live_counts(const struct source *source)
{
	return &((const struct live *)source)->asked;
}

static const struct mad_counts *live_discovery_counts(const struct source *source)
{
	return &((const struct live *)source)->discovered;
}

static const struct mad_port_info *live_port(const struct source *source)
{
	const struct live *live = (const struct live *)source;

	return live->info.device[0] ? &live->info : NULL;
}

static void live_close(struct source *source)
{
	struct live *live = (struct live *)source;

	mad_engine_free(live->engine);
	free(live->map);
	free(live);
}

static const struct source_ops live_ops = {
	.discover = live_discover,
	.ask = live_ask_all,
	.ask_sm = live_ask_the_sm,
	.counts = live_counts,
	.discovery_counts = live_discovery_counts,
	.port = live_port,
	.close = live_close,
};

int source_live_new(const struct ibqos_ctx *ctx, const struct source_options *options, const char *device,
		    int port, live_opener *opener, void *arg, struct source **source)
{
	struct live *live = calloc(1, sizeof(*live));

	*source = NULL;
	if (!live)
		return -ENOMEM;
	live->source.ops = &live_ops;
	live->ctx = ctx;
	live->options = *options;
	live->options.device = NULL; /* the caller's strings are not kept */
	live->options.node_name_map = NULL;
	live->port = port;
	live->opener = opener;
	live->opener_arg = arg;
	snprintf(live->device, sizeof(live->device), "%s", device);
	if (options->node_name_map) {
		live->map = strdup(options->node_name_map);
		if (!live->map) {
			free(live);
			return -ENOMEM;
		}
	}
	*source = &live->source;
	return 0;
}

static int open_umad(void *arg, const struct ibqos_ctx *ctx, const char *device, int port,
		     struct mad_wire **wire)
{
	(void)arg;
	return mad_wire_open_umad(ctx, device, port, wire);
}

/* "mlx5_0/1", or as much of it as was asked for. */
static char *port_text(const char *device, int port)
{
	char *text;
	int size;

	if (device && port > 0)
		size = asprintf(&text, "%s/%d", device, port);
	else if (device)
		size = asprintf(&text, "%s", device);
	else
		size = asprintf(&text, "%d", port);
	return size < 0 ? NULL : text;
}

static char *missing_text(const char *device, int port)
{
	char *where = port_text(device, port), *text = NULL;

	if (!device && port <= 0)
		text = strdup("no InfiniBand device");
	else if (where && asprintf(&text, "no InfiniBand %s %s", port > 0 ? "port" : "device", where) < 0)
		text = NULL;
	free(where);
	return text;
}

char *live_port_fault(const char *device, int port, const struct mad_port_info *info, int error)
{
	char *where, *text = NULL;
	int size;

	if (error == -ENODEV)
		return missing_text(device, port);
	where = info->device[0] ? port_text(info->device, info->port) : port_text(device, port);
	if (!where)
		return NULL;
	if (error == -EPROTONOSUPPORT)
		size = asprintf(&text, "port %s: link layer is %s, not InfiniBand", where, info->link_layer);
	else if (error == -ENETDOWN)
		size = asprintf(&text, "port %s: link is down", where);
	else
		size = asprintf(&text, "port %s: %s", where, strerror(-error));
	free(where);
	return size < 0 ? NULL : text;
}

char *live_file_fault(const char *device, int port, const char *path, const struct stat *st, int error)
{
	const struct group *group = st ? getgrgid(st->st_gid) : NULL;
	char *text = NULL;
	int size;

	if (error == -ENOENT)
		size = asprintf(&text, "port %s/%d: %s is not there: load its kernel module (modprobe ib_umad)", device, port, path);
	else if (!group || st->st_gid == 0 || !(st->st_mode & S_IWGRP))
		size = asprintf(&text, "port %s/%d: may not open %s: %s. It is root's: run as root, or give it to a group that you are in, "
			      "by a udev rule (contrib/udev/90-ibqos-umad.rules)", device, port, path, strerror(-error));
	else
		size = asprintf(&text, "port %s/%d: may not open %s: %s. It is for group %s: have yourself added (usermod -a -G %s USER) and "
			      "log in again", device, port, path, strerror(-error), group->gr_name, group->gr_name);
	return size < 0 ? NULL : text;
}

/* Before any of the two walkers opens it: libibnetdisc would not say why it could not. */
static int may_open(const struct ibqos_ctx *ctx, const struct mad_port_info *info)
{
	char path[PATH_MAX], *fault;
	struct stat st;
	bool seen;
	int error;

	if (mad_port_file(info->device, info->port, path, sizeof(path)) != 0)
		return 0; /* opening it will tell */
	seen = stat(path, &st) == 0;
	error = access(path, R_OK | W_OK) == 0 || (errno != EACCES && errno != EPERM) ? 0 : -errno;
	if (error == 0)
		return 0;
	fault = live_file_fault(info->device, info->port, path, seen ? &st : NULL, error);
	ctx_error(ctx, "%s", fault ? fault : "out of memory");
	free(fault);
	return error;
}

int source_open_live(const struct ibqos_ctx *ctx, const struct source_options *options,
		     struct source **source)
{
	struct mad_port_info info = {0}, named = {0};
	const char *device = options->device;
	int port = options->port, error;
	char *fault;

	*source = NULL;
	if (options->port_guid) {
		if (mad_port_of_guid(options->port_guid, &named) != 0) {
			ctx_error(ctx, "no adapter here has a port of GUID 0x%016llx", (unsigned long long)options->port_guid);
			return -ENODEV;
		}
		device = named.device;
		port = named.port;
	}
	error = mad_port_check(device, port, &info);
	if (error != 0) {
		fault = live_port_fault(device, port, &info, error);
		ctx_error(ctx, "%s", fault ? fault : "out of memory");
		free(fault);
		return error;
	}
	error = may_open(ctx, &info);
	if (error != 0)
		return error;
	error = source_live_new(ctx, options, info.device, info.port, open_umad, NULL, source);
	if (error != 0)
		ctx_error(ctx, "port %s/%d: %s", info.device, info.port, strerror(-error));
	else
		((struct live *)*source)->info = info;
	return error;
}
