/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The wire of a real machine: libibumad. Packets are made by libibmad's encoder with the method
 * Get, the only one this file knows besides its answer.
 */
#include "ibqos/mad.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <infiniband/mad.h>
#include <infiniband/umad.h>

#define SMP_VERSION 1
#define SA_VERSION 2 /* IBA 15.2.1.1 */
#define PERF_VERSION 1
#define PORT_SELECT 1 /* the byte of an attribute of performance management that names the port */
#define GET IB_MAD_METHOD_GET
#define HEADER_SIZE 24         /* IBA 13.4.2: the common MAD header */
#define LID_UNICAST_END 0xc000 /* IBA 4.1.3: multicast LIDs begin here */
#define SL_MAX 15
#define MKEY_SIZE 8 /* PortInfo begins with it (IBA 14.2.5.6) */

_Static_assert(MAD_ROUTE_HOPS + 1 == IB_SUBNET_PATH_HOPS_MAX, "a route is what libibmad takes");
_Static_assert(MAD_SMP_DATA == IB_SMP_DATA_SIZE, "an SMP's data is what libibmad says");
_Static_assert(MAD_PERF_DATA == IB_PC_DATA_SZ, "performance management's data is what libibmad says");
_Static_assert(MAD_SA_DATA == IB_SA_DATA_SIZE, "a record of the SA is what libibmad says");

struct wire_umad {
	struct mad_wire wire;
	int fd;           /* of umad_open_port(), -1 */
	int lid_agent;    /* class 0x01 */
	int direct_agent; /* class 0x81 */
	int sa_agent;     /* class 0x03 */
	int perf_agent;   /* class 0x04 */
	void *out, *in;   /* one packet each, with umad's header */
	uint16_t pkey_index;
	uint64_t mkey;    /* for addresses that have none; 0: none */
};

static struct wire_umad *to_umad(struct mad_wire *wire)
{
	return (struct wire_umad *)wire;
}

static int build_smp(struct wire_umad *w, const struct mad_request *request)
{
	const struct mad_address *to = request->to;
	ib_portid_t port = {.lid = to->lid};
	ib_rpc_t rpc = {
		.mgtclass = to->lid ? IB_SMI_CLASS : IB_SMI_DIRECT_CLASS,
		.method = GET,
		.attr = {.id = request->attribute, .mod = request->modifier},
		.trid = request->tid,
		.dataoffs = IB_SMP_DATA_OFFS,
		.datasz = IB_SMP_DATA_SIZE,
		.mkey = to->mkey ? to->mkey : w->mkey,
	};

	if (!to->lid && to->route.hops > MAD_ROUTE_HOPS)
		return -EINVAL;
	if (!to->lid) {
		/* Directed all the way: both ends are the permissive LID. */
		port.drpath.cnt = to->route.hops;
		memcpy(port.drpath.p, to->route.port, sizeof(port.drpath.p));
		port.drpath.drslid = port.drpath.drdlid = 0xffff;
	}
	return mad_build_pkt(w->out, &rpc, &port, NULL, NULL) < 0 ? -EINVAL : 0;
}

/*
 * To the subnet administrator: queue pair 1 with its well-known Q_Key. SM_Key 0 asks as
 * anyone may; no RMPP, since a Get has one record for an answer.
 */
static int build_sa(struct wire_umad *w, const struct mad_request *request)
{
	ib_portid_t port = {
		.lid = request->to->lid, .qp = 1, .qkey = IB_DEFAULT_QP1_QKEY, .sl = request->to->sl, .pkey_idx = w->pkey_index};
	ib_rpc_t rpc = {
		.mgtclass = IB_SA_CLASS,
		.method = GET,
		.attr = {.id = request->attribute, .mod = request->modifier},
		.trid = request->tid,
		.mask = request->mask,
		.dataoffs = IB_SA_DATA_OFFS,
		.datasz = IB_SA_DATA_SIZE,
	};

	if (!port.lid || port.sl > SL_MAX)
		return -EINVAL;
	return mad_build_pkt(w->out, &rpc, &port, NULL, (void *)request->data) < 0 ? -EINVAL : 0;
}

/* A question to the performance management agent of a port. */
static int build_perf(struct wire_umad *w, const struct mad_request *request)
{
	const struct mad_address *to = request->to;
	ib_portid_t port = {
		.lid = to->lid ? to->lid : to->gmp_lid, .qp = 1, .qkey = IB_DEFAULT_QP1_QKEY, .sl = to->sl,
		.pkey_idx = w->pkey_index};
	ib_rpc_t rpc = {
		.mgtclass = IB_PERFORMANCE_CLASS,
		.method = GET,
		.attr = {.id = request->attribute},
		.trid = request->tid,
		.dataoffs = IB_PC_DATA_OFFS,
		.datasz = IB_PC_DATA_SZ,
	};
	uint8_t data[MAD_PERF_DATA] = {[PORT_SELECT] = (uint8_t)request->modifier};

	if (!port.lid || port.lid >= LID_UNICAST_END || port.sl > SL_MAX || request->modifier > UINT8_MAX)
		return -EINVAL;
	return mad_build_pkt(w->out, &rpc, &port, NULL, data) < 0 ? -EINVAL : 0;
}

static int build(struct wire_umad *w, const struct mad_request *request)
{
	if (request->to->lid >= LID_UNICAST_END || !request->tid)
		return -EINVAL;
	memset(w->out, 0, umad_size() + IB_MAD_SIZE);
	switch (request->mgmt_class) {
	case MAD_CLASS_SMP:
		return build_smp(w, request);
	case MAD_CLASS_SA:
		return build_sa(w, request);
	case MAD_CLASS_PERF:
		return build_perf(w, request);
	default:
		return -EINVAL;
	}
}

static int agent_of(const struct wire_umad *w, const struct mad_request *request)
{
	if (request->mgmt_class == MAD_CLASS_SA)
		return w->sa_agent;
	if (request->mgmt_class == MAD_CLASS_PERF)
		return w->perf_agent;
	return request->to->lid ? w->lid_agent : w->direct_agent;
}

static int wire_send(struct mad_wire *wire, const struct mad_request *request)
{
	struct wire_umad *w = to_umad(wire);
	int err = build(w, request);

	if (err)
		return err;
	/* Repeats are the engine's: the kernel's would not be counted, nor held to the rate. */
	if (umad_send(w->fd, agent_of(w, request), w->out, IB_MAD_SIZE, (int)request->timeout_ms, 0) >= 0)
		return 0;
	/* umad_send() returns the same -EIO whatever the kernel said. */
	switch (errno) {
	case EAGAIN:
	case EINTR:
	case ENOMEM:
	case ENOBUFS:
		return -EAGAIN;
	case EINVAL: /* not the query's fault: build() has seen to that */
	case 0:
		return -EIO;
	default:
		return -errno;
	}
}

/*
 * How long a packet must be to be whole. The kernel hands over 256 bytes; umad2sim as many as were sent,
 * and OpenSM sends of a record no more than it has, so many times 8 bytes as AttributeOffset says. What
 * that leaves out of a record would read as zeros: SL 0, where none was told.
 */
static int whole_length(uint8_t *mad, unsigned mgmt_class)
{
	unsigned record, least;

	if (mgmt_class != IB_SA_CLASS)
		return IB_MAD_SIZE;
	if (mad_get_field(mad, 0, IB_MAD_STATUS_F))
		return IB_SA_DATA_OFFS; /* the record means nothing */
	record = mad_get_field(mad, 0, IB_SA_ATTROFFS_F) * 8;
	least = (unsigned)mad_sa_record_size((uint16_t)mad_get_field(mad, 0, IB_MAD_ATTRID_F));
	if (record && record < least)
		record = least;
	return record && record < IB_SA_DATA_SIZE ? IB_SA_DATA_OFFS + (int)record : IB_MAD_SIZE;
}

static uint8_t class_of(unsigned mgmt_class)
{
	return mgmt_class == IB_SA_CLASS	    ? MAD_CLASS_SA
	       : mgmt_class == IB_PERFORMANCE_CLASS ? MAD_CLASS_PERF
						    : MAD_CLASS_SMP;
}

/* Decodes a packet; false if it is no answer to a Get of ours. */
static bool decode(struct wire_umad *w, int length, struct mad_reply *reply)
{
	uint8_t *mad = umad_get_mad(w->in);
	int status = umad_status(w->in);
	unsigned mgmt_class;
	bool direct, response;

	/* A MAD that timed out comes back as it was sent, and the kernel keeps only its header. */
	if ((status && status != ETIMEDOUT) || length < HEADER_SIZE || length > IB_MAD_SIZE)
		return false;
	mgmt_class = mad_get_field(mad, 0, IB_MAD_MGMTCLASS_F);
	if (!status && length < whole_length(mad, mgmt_class))
		return false;
	direct = mgmt_class == IB_SMI_DIRECT_CLASS;
	if (!direct && mgmt_class != IB_SMI_CLASS && mgmt_class != IB_SA_CLASS && mgmt_class != IB_PERFORMANCE_CLASS)
		return false;
	response = mad_get_field(mad, 0, IB_MAD_RESPONSE_F);
	if (mad_get_field(mad, 0, IB_MAD_METHOD_F) != GET || (!status && !response))
		return false;
	*reply = (struct mad_reply){
		/* The kernel keeps the upper half for itself. */
		.tid = (uint32_t)mad_get_field64(mad, 0, IB_MAD_TRID_F),
		.attribute = (uint16_t)mad_get_field(mad, 0, IB_MAD_ATTRID_F),
		.modifier = mad_get_field(mad, 0, IB_MAD_ATTRMOD_F),
		.timed_out = status == ETIMEDOUT,
		.mgmt_class = class_of(mgmt_class),
	};
	if (reply->timed_out)
		return true;
	/* IBA 14.2.1.2: in a directed-route SMP the status' highest bit is the direction. */
	reply->status = (uint16_t)mad_get_field(mad, 0, direct ? IB_DRSMP_STATUS_F : IB_MAD_STATUS_F);
	if (mgmt_class == IB_PERFORMANCE_CLASS) {
		memcpy(reply->data, mad + IB_PC_DATA_OFFS, IB_PC_DATA_SZ);
		reply->modifier = reply->attribute == MAD_PERF_CLASS_PORT_INFO ? 0 : reply->data[PORT_SELECT];
		return true;
	}
	if (mgmt_class == IB_SA_CLASS) /* what was not sent stays 0 */
		memcpy(reply->data, mad + IB_SA_DATA_OFFS, (size_t)length - IB_SA_DATA_OFFS);
	else
		memcpy(reply->data, mad + IB_SMP_DATA_OFFS, IB_SMP_DATA_SIZE);
	if (reply->mgmt_class == MAD_CLASS_SMP && reply->attribute == MAD_PORT_INFO)
		memset(reply->data, 0, MKEY_SIZE);
	return true;
}

/* 1: a packet is in w->in, 0: none, -errno. wait_ms 0: does not wait. */
static int fetch(struct wire_umad *w, unsigned wait_ms, int *length)
{
	int ret;

	*length = IB_MAD_SIZE;
	ret = umad_recv(w->fd, w->in, length, (int)wait_ms);
	if (ret >= 0)
		return 1;
	/* An interrupted poll is -EIO with the reason in errno; umad2sim says "none" by value alone. */
	if (ret == -EWOULDBLOCK || ret == -ETIMEDOUT || errno == EINTR)
		return 0;
	return errno ? -errno : ret;
}

static int wire_receive(struct mad_wire *wire, struct mad_reply *reply, unsigned wait_ms)
{
	struct wire_umad *w = to_umad(wire);
	int length, ret = fetch(w, wait_ms, &length);

	if (ret <= 0)
		return ret;
	return decode(w, length, reply) ? 1 : 0;
}

static uint64_t wire_now(struct mad_wire *wire)
{
	(void)wire;
	return clock_ns();
}

static void wire_close(struct mad_wire *wire)
{
	struct wire_umad *w = to_umad(wire);

	if (w->perf_agent >= 0)
		umad_unregister(w->fd, w->perf_agent);
	if (w->sa_agent >= 0)
		umad_unregister(w->fd, w->sa_agent);
	if (w->direct_agent >= 0)
		umad_unregister(w->fd, w->direct_agent);
	if (w->lid_agent >= 0)
		umad_unregister(w->fd, w->lid_agent);
	if (w->fd >= 0)
		umad_close_port(w->fd);
	umad_free(w->out);
	umad_free(w->in);
	explicit_bzero(&w->mkey, sizeof(w->mkey));
	free(w);
}


static const struct mad_wire_ops umad_ops = {
	.send = wire_send,
	.receive = wire_receive,
	.now = wire_now,
	.close = wire_close,
};

void mad_wire_umad_key(struct mad_wire *wire, uint64_t mkey)
{
	if (wire->ops == &umad_ops)
		to_umad(wire)->mkey = mkey;
}

void mad_wire_umad_pkey_index(struct mad_wire *wire, uint16_t index)
{
	if (wire->ops == &umad_ops)
		to_umad(wire)->pkey_index = index;
}

/* umad_open_port() hides why the device file could not be opened in errno. */
static int open_port(const struct mad_port_info *info)
{
	int fd;

	errno = 0;
	fd = umad_open_port(info->device, info->port);
	if (fd == -EIO && errno)
		return -errno;
	return fd;
}

/* They only send and get answers: nothing unsolicited is asked for. */
static int register_agents(struct wire_umad *w)
{
	w->lid_agent = umad_register(w->fd, IB_SMI_CLASS, SMP_VERSION, 0, NULL);
	if (w->lid_agent < 0)
		return w->lid_agent;
	w->direct_agent = umad_register(w->fd, IB_SMI_DIRECT_CLASS, SMP_VERSION, 0, NULL);
	if (w->direct_agent < 0)
		return w->direct_agent;
	w->sa_agent = umad_register(w->fd, IB_SA_CLASS, SA_VERSION, 0, NULL);
	if (w->sa_agent < 0)
		return w->sa_agent;
	w->perf_agent = umad_register(w->fd, IB_PERFORMANCE_CLASS, PERF_VERSION, 0, NULL);
	return w->perf_agent < 0 ? w->perf_agent : 0;
}

int mad_wire_open_umad(const struct ibqos_ctx *ctx, const char *device, int port, struct mad_wire **wire)
{
	struct mad_port_info info;
	struct wire_umad *w;
	int err;

	*wire = NULL;
	err = mad_port_check(device, port, &info);
	if (err)
		return err;
	w = calloc(1, sizeof(*w));
	if (!w)
		return -ENOMEM;
	w->wire.ops = &umad_ops;
	w->lid_agent = w->direct_agent = w->sa_agent = w->perf_agent = -1;
	w->fd = open_port(&info);
	if (w->fd < 0) {
		err = w->fd;
		goto fail;
	}
	/* Only the open tells libibumad how long the header is. */
	w->out = umad_alloc(1, umad_size() + IB_MAD_SIZE);
	w->in = umad_alloc(1, umad_size() + IB_MAD_SIZE);
	if (!w->out || !w->in) {
		err = -ENOMEM;
		goto fail;
	}
	err = register_agents(w);
	if (err < 0)
		goto fail;
	ctx_debug(ctx, "asks through %s port %d, LID %u", info.device, info.port, info.lid);
	*wire = &w->wire;
	return 0;
fail:
	wire_close(&w->wire);
	return err;
}
