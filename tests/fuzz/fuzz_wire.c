/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Any packets from a umad device, with libibumad's calls that touch the machine replaced by ones that
 * read the input. First byte even: each packet alone is taken exactly if IBA 13.4.2, 14.2.1 and 15.2.1 make
 * it an answer to a Get of class 0x01, 0x81, 0x03 or 0x04, or the kernel hands a Get back. Odd: an engine
 * asks over that wire; each query is handed back exactly once, with data that was sent for its attribute and
 * modifier, and the counters add up, whatever the kernel and the devices do.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <infiniband/umad.h>

#include "fuzz.h"
#include "ibqos/mad.h"

#define FD 17
#define LID_AGENT 3
#define DIRECT_AGENT 5
#define SA_AGENT 6
#define PERF_AGENT 7
#define MAD_SIZE 256
#define SENT_MAX 64 /* packets that the kernel remembers */
#define DEVICES 5
#define QUERIES_MAX 12 /* to a device */
#define FORGED 0xee    /* in the data of an answer whose header was tampered with */

/* The machine; libibumad's functions have no argument for it. */
static struct {
	struct fuzz *in;
	struct umad_device_node node;
	umad_port_t port;
	uint64_t now;
	bool engine;   /* an engine is asking: answers are made from what was sent */
	unsigned sent; /* MADs that were taken */
	uint8_t kept[SENT_MAX][MAD_SIZE];
	uint8_t packet[MAD_SIZE]; /* the last one given, and what umad said of it */
	int length;
	uint32_t status;
} machine;

/* --- libibumad --- */

struct umad_device_node *umad_get_ca_device_list(void)
{
	machine.node = (struct umad_device_node){.ca_name = "mlx5_0"};
	return &machine.node;
}

void umad_free_ca_device_list(struct umad_device_node *head)
{
	require(head == &machine.node);
}

int umad_get_ca(const char *name, umad_ca_t *ca)
{
	require(strcmp(name, "mlx5_0") == 0);
	*ca = (umad_ca_t){.node_type = 1, .numports = 1, .ports = {NULL, &machine.port}};
	machine.port = (umad_port_t){.portnum = 1, .state = 4, .link_layer = "InfiniBand"};
	return 0;
}

int umad_release_ca(umad_ca_t *ca)
{
	require(ca->ports[1] == &machine.port);
	return 0;
}

int umad_open_port(const char *name, int port)
{
	require(name && port == 1);
	return FD;
}

int umad_close_port(int fd)
{
	require(fd == FD);
	return 0;
}

int umad_register(int fd, int mgmt_class, int version, uint8_t rmpp, long mask[16 / sizeof(long)])
{
	require(fd == FD && version == (mgmt_class == 0x03 ? 2 : 1) && rmpp == 0 && !mask);
	return mgmt_class == 0x01   ? LID_AGENT
	       : mgmt_class == 0x03 ? SA_AGENT
	       : mgmt_class == 0x04 ? PERF_AGENT
				    : DIRECT_AGENT;
}

static bool is_agent(int agent)
{
	return agent == LID_AGENT || agent == DIRECT_AGENT || agent == SA_AGENT || agent == PERF_AGENT;
}

int umad_unregister(int fd, int agent)
{
	require(fd == FD && is_agent(agent));
	return 0;
}

/* What is sent is a Get, whatever happened before (method: IBA 13.4.2, byte 3). */
int umad_send(int fd, int agent, void *umad, int length, int timeout, int retries)
{
	static const int errors[] = {EAGAIN, EINTR, EINVAL, EIO, ENODEV, ENOBUFS, 0, EPERM};
	static const uint8_t class_of[] = {
		[LID_AGENT] = 0x01, [DIRECT_AGENT] = 0x81, [SA_AGENT] = 0x03, [PERF_AGENT] = 0x04};
	const uint8_t *mad = umad_get_mad(umad);

	require(fd == FD && length == MAD_SIZE && timeout > 0 && retries == 0);
	require(mad[3] == 0x01 && is_agent(agent) && mad[1] == class_of[agent]);
	require(mad[2] == (agent == SA_AGENT ? 2 : 1));
	if (fuzz_below(machine.in, 16) == 15) {
		errno = errors[fuzz_below(machine.in, 8)];
		return -EIO;
	}
	memcpy(machine.kept[machine.sent++ % SENT_MAX], mad, MAD_SIZE);
	return 0;
}

/* Where the data begins (IBA 14.2.1, 15.2.1.1, 16.1.1), and how much it is. */
static unsigned data_at(const uint8_t *mad)
{
	return mad[1] == 0x03 ? 56 : 64;
}

static unsigned data_size(const uint8_t *mad)
{
	return mad[1] == 0x03 ? MAD_SA_DATA : mad[1] == 0x04 ? MAD_PERF_DATA : MAD_SMP_DATA;
}

static void set_data(uint8_t *mad, uint8_t mark)
{
	uint8_t *data = mad + data_at(mad);

	/* attribute and modifier of the header, then the mark */
	if (mad[1] == 0x04) { /* the modifier is the byte that names the port: as it was asked */
		memcpy(data + 2, mad + 16, 2);
		memset(data + 4, mark, data_size(mad) - 4);
		return;
	}
	memcpy(data, mad + 16, 2);
	memcpy(data + 2, mad + 20, 4);
	memset(data + 6, mark, data_size(mad) - 6);
}

static void put_packet(uint8_t *mad)
{
	static const uint8_t classes[] = {0x01, 0x81, 0x03, 0x04, 0x20};
	unsigned last = machine.sent < SENT_MAX ? machine.sent : SENT_MAX, changes;

	memset(mad, 0, MAD_SIZE);
	if (machine.engine && last > 0)
		memcpy(mad, machine.kept[(machine.sent - 1 - fuzz_below(machine.in, last)) % SENT_MAX],
		       MAD_SIZE);
	if (!machine.engine)
		mad[1] = classes[fuzz_below(machine.in, 5)];
	mad[0] = 1;
	mad[2] = mad[1] == 0x03 ? 2 : 1;
	mad[3] = 0x81; /* GetResp */
	set_data(mad, 0);
	changes = fuzz_below(machine.in, 4);
	for (unsigned i = 0; i < changes; i++)
		mad[fuzz_byte(machine.in) % (machine.engine ? 56 : MAD_SIZE)] =
			(uint8_t)fuzz_byte(machine.in);
	if (machine.engine && changes > 0)
		set_data(mad, FORGED);
}

int umad_recv(int fd, void *umad, int *length, int timeout)
{
	static const struct {
		int value, error;
	} none[] = {{-EWOULDBLOCK, 0}, {-ETIMEDOUT, 0}, {-EIO, EINTR},  {-EIO, EIO},
		    {-EIO, ENODEV},    {-ENODEV, 0},    {-EINVAL, EIO}, {-ETIMEDOUT, ETIMEDOUT}};
	struct ib_user_mad *header = umad;
	unsigned kind = fuzz_byte(machine.in);

	require(fd == FD && *length == MAD_SIZE && timeout >= 0);
	machine.length = 0;
	errno = 0;
	if (kind <
	    128) { /* zero, so all that comes when the input is used up: nothing there, and time passes */
		unsigned which = kind < 64 ? 0 : kind % 8;

		machine.now += 1000 + (uint64_t)timeout * 1000000;
		errno = none[which].error;
		return none[which].value;
	}
	machine.now += 1000u * (kind & 15);
	put_packet(machine.packet);
	machine.status = kind < 192 ? 0 : kind < 240 ? ETIMEDOUT : fuzz_byte(machine.in);
	machine.length = kind % 32 == 31 ? (int)fuzz_byte(machine.in) : MAD_SIZE;
	header->status = machine.status;
	memcpy(umad_get_mad(umad), machine.packet, MAD_SIZE);
	*length = machine.length;
	return kind & 1 ? LID_AGENT : DIRECT_AGENT;
}

/* --- each packet alone --- */

static uint32_t be(const uint8_t *bytes, unsigned count)
{
	uint32_t value = 0;

	while (count-- > 0)
		value = value << 8 | *bytes++;
	return value;
}

/* The SA's records may be cut after what AttributeOffset says is their length. */
static int whole_length(void)
{
	const uint8_t *mad = machine.packet;
	unsigned record = be(mad + 44, 2) * 8;

	if (mad[1] != 0x03)
		return MAD_SIZE;
	if (be(mad + 4, 2) != 0)
		return 56;
	return record == 0 || record > MAD_SA_DATA ? MAD_SIZE : 56 + (int)record;
}

static bool is_answer(void)
{
	const uint8_t *mad = machine.packet;
	bool handed_back = machine.status == ETIMEDOUT;

	if (machine.status != 0 && !handed_back)
		return false;
	if (machine.length < (handed_back ? 24 : whole_length()) ||
	    (mad[1] != 0x01 && mad[1] != 0x81 && mad[1] != 0x03 && mad[1] != 0x04))
		return false;
	return mad[3] == 0x81 || (handed_back && mad[3] == 0x01);
}

/* IBA 16.1.3: performance management has no modifier; the second byte names the port. */
static uint32_t modifier_of(const uint8_t *mad, bool header_only)
{
	if (header_only || mad[1] != 0x04)
		return be(mad + 20, 4);
	return be(mad + 16, 2) == 0x0001 ? 0 : mad[65];
}

/* All that came, but PortInfo's M_Key, which nobody is to see. */
static bool has_data(const struct mad_reply *reply, const uint8_t *mad)
{
	static const uint8_t no_key[8];
	bool hidden = (mad[1] == 0x01 || mad[1] == 0x81) && be(mad + 16, 2) == 0x0015;
	unsigned came = (unsigned)machine.length - data_at(mad), from = hidden ? sizeof(no_key) : 0;

	if (came > data_size(mad))
		came = data_size(mad);
	return memcmp(reply->data + from, mad + data_at(mad) + from, came - from) == 0 &&
	       memcmp(reply->data, no_key, from) == 0;
}

static void take_packets(struct mad_wire *wire)
{
	const uint8_t *mad = machine.packet;

	while (machine.in->left > 0) {
		struct mad_reply reply;
		int ret = wire->ops->receive(wire, &reply, fuzz_byte(machine.in));

		require(ret <= 1);
		if (ret < 0 || machine.length == 0) {
			require(machine.length == 0);
			continue;
		}
		require(ret == is_answer());
		if (ret == 0)
			continue;
		require(reply.tid == be(mad + 12, 4) && reply.attribute == be(mad + 16, 2));
		require(reply.timed_out == (machine.status == ETIMEDOUT));
		require(reply.mgmt_class == (mad[1] == 0x03 || mad[1] == 0x04 ? mad[1] : MAD_CLASS_SMP));
		require(reply.modifier == modifier_of(mad, reply.timed_out));
		if (reply.timed_out)
			continue;
		require(reply.status == (be(mad + 4, 2) & (mad[1] == 0x81 ? 0x7fff : 0xffff)));
		require(has_data(&reply, mad));
	}
}

/* --- an engine over the wire --- */

/* The wire under test, with the machine's clock. */
struct clocked {
	struct mad_wire wire;
	struct mad_wire *umad;
};

static int clocked_send(struct mad_wire *wire, const struct mad_request *request)
{
	struct mad_wire *umad = ((struct clocked *)wire)->umad;

	return umad->ops->send(umad, request);
}

static int clocked_receive(struct mad_wire *wire, struct mad_reply *reply, unsigned wait_ms)
{
	struct mad_wire *umad = ((struct clocked *)wire)->umad;

	return umad->ops->receive(umad, reply, wait_ms);
}

static uint64_t clocked_now(struct mad_wire *wire)
{
	(void)wire;
	return machine.now += 10;
}

static void clocked_close(struct mad_wire *wire)
{
	struct mad_wire *umad = ((struct clocked *)wire)->umad;

	umad->ops->close(umad);
	free(wire);
}

static const struct mad_wire_ops clocked_ops = {clocked_send, clocked_receive, clocked_now, clocked_close};

struct asking {
	struct mad_address address[DEVICES];
	unsigned queries[DEVICES], next[DEVICES];
	bool done[DEVICES][QUERIES_MAX];
	unsigned handed_back;
};

static const struct mad_address *address_of(void *arg, uint32_t device)
{
	struct asking *asking = arg;

	require(device < DEVICES);
	return &asking->address[device];
}

static bool next_query(void *arg, uint32_t device, struct mad_query *query)
{
	struct asking *asking = arg;
	unsigned number = asking->next[device];

	if (number == asking->queries[device])
		return false;
	asking->next[device]++;
	*query = (struct mad_query){.attribute = number % 2 ? MAD_VLARB : MAD_SL2VL,
				    .modifier = device << 16 | number,
				    .tag = number,
				    .mgmt_class = number % 3 == 2 ? MAD_CLASS_SA : MAD_CLASS_SMP};
	if (number % 4 == 3) {
		query->mgmt_class = MAD_CLASS_PERF;
		query->modifier = number;
	}
	return true;
}

static void query_done(void *arg, uint32_t device, const struct mad_query *query,
		       const struct mad_answer *answer)
{
	struct asking *asking = arg;

	require(device < DEVICES && query->tag < asking->next[device] && !asking->done[device][query->tag]);
	asking->done[device][query->tag] = true;
	asking->handed_back++;
	require((answer->outcome == MAD_ANSWERED) == (answer->data != NULL));
	require((answer->outcome == MAD_STATUS) == (answer->status != 0));
	if (!answer->data)
		return;
	require(answer->tries > 0);
	if (query->mgmt_class == MAD_CLASS_PERF) {
		require(answer->data[1] == query->modifier && be(answer->data + 2, 2) == query->attribute);
		require(answer->data[4] == 0 || answer->data[4] == FORGED);
		return;
	}
	require(be(answer->data, 2) == query->attribute && be(answer->data + 2, 4) == query->modifier);
	if (answer->data[6] == 0 && query->mgmt_class == MAD_CLASS_SA)
		require(answer->data[MAD_SA_DATA - 1] == 0);
	require(answer->data[6] == 0 || answer->data[6] == FORGED);
}

static void make_asking(struct fuzz *in, struct asking *asking)
{
	for (unsigned i = 0; i < DEVICES; i++) {
		struct mad_address *to = &asking->address[i];

		asking->queries[i] = 1 + fuzz_below(in, QUERIES_MAX);
		if (fuzz_bit(in)) {
			to->lid = (uint16_t)(1 + fuzz_byte(in) * 200); /* some beyond the unicast ones */
		} else {
			to->route.hops = (uint8_t)fuzz_below(in, MAD_ROUTE_HOPS + 2);
			fuzz_fill(in, to->route.port, fuzz_below(in, 4));
			to->gmp_lid = to->route.port[0]; /* 0: performance management cannot be asked */
		}
	}
}

static void ask(struct mad_wire *umad)
{
	struct fuzz *in = machine.in;
	struct ibqos_ctx ctx = {.program = "fuzz", .err = stderr, .verbosity = -1};
	struct clocked *clocked = malloc(sizeof(*clocked));
	struct mad_limits limits = {.window = 1 + fuzz_below(in, 8), .timeout_ms = 1 + fuzz_byte(in)};
	struct asking asking = {.handed_back = 0};
	struct mad_job job = {.devices = DEVICES,
			      .address = address_of,
			      .next = next_query,
			      .done = query_done,
			      .arg = &asking,
			      .timeout_ms = fuzz_bit(in) ? 1 + fuzz_byte(in) : 0};
	const struct mad_counts *counts;
	struct mad_engine *engine;
	unsigned wanted = 0;
	uint64_t ended = 0, lost_ns = 0, began, took;
	int error;

	require(clocked);
	*clocked = (struct clocked){{&clocked_ops}, umad};
	limits.device_window = 1 + fuzz_below(in, limits.window);
	limits.retries = fuzz_below(in, 4);
	limits.rate = fuzz_byte(in) * 100u;
	limits.give_up = fuzz_below(in, 5);
	make_asking(in, &asking);
	job.short_ms = fuzz_byte(in);
	job.lost_ns = fuzz_bit(in) ? &lost_ns : NULL;
	job.lost_limit_ns = fuzz_byte(in) * 1000000ull;
	began = clocked->wire.ops->now(&clocked->wire);
	require(mad_engine_new(&ctx, &clocked->wire, &limits, &engine) == 0);
	error = mad_engine_run(engine, &job);
	took = clocked->wire.ops->now(&clocked->wire) - began;
	require(error <= 0);
	require(lost_ns <= took); /* times that overlap count once */
	counts = mad_engine_counts(engine);
	for (unsigned i = 0; i < DEVICES; i++)
		wanted += asking.queries[i];
	for (unsigned i = 0; i < MAD_OUTCOMES; i++)
		ended += counts->ended[i];
	require(asking.handed_back == wanted && counts->queries == wanted && ended == wanted);
	require(counts->sent == machine.sent && counts->retried <= counts->sent);
	require(counts->sent <= (uint64_t)wanted * (limits.retries + 1));
	mad_engine_free(engine);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct ibqos_ctx ctx = {.program = "fuzz", .err = stderr, .verbosity = -1};
	struct fuzz in = {data, size};
	struct mad_wire *wire;

	memset(&machine, 0, sizeof(machine));
	machine.in = &in;
	machine.engine = fuzz_bit(&in);
	require(mad_wire_open_umad(&ctx, NULL, 0, &wire) == 0);
	if (machine.engine) {
		ask(wire);
	} else {
		take_packets(wire);
		wire->ops->close(wire);
	}
	return 0;
}
