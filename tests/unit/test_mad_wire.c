/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The umad wire, with libibumad's calls that touch the machine replaced: this program's own
 * functions come before the library's. Packets are checked byte by byte against the layouts of
 * IBA 13.4.2 (MAD header), 14.2.1.1 and 14.2.1.2 (SMPs).
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include <infiniband/mad.h>
#include <infiniband/umad.h>

#include "ibqos/mad.h"

#define FD 17
#define LID_AGENT 3
#define DIRECT_AGENT 5
#define SA_AGENT 6
#define PERF_AGENT 8

/* The machine, and what was done to it. */
static struct {
	struct umad_device_node node;
	umad_port_t port;

	int open_error, open_errno;
	char opened[UMAD_CA_NAME_LEN];
	int opened_port, closed;
	int register_error_class;
	unsigned registered, unregistered;

	unsigned sends;
	int send_errno;
	int send_agent, send_length, send_timeout, send_retries;
	uint8_t sent[512];
	int pkey_index;

	int receive_ret, receive_errno; /* when no packet is there */
	uint8_t packet[256];
	uint32_t packet_status;
	int packet_length; /* 0: none is there */
	int waits;         /* receives that waited */
} machine;

/* --- libibumad, as far as it touches the machine --- */

struct umad_device_node *umad_get_ca_device_list(void)
{
	machine.node = (struct umad_device_node){.ca_name = "mlx5_0"};
	return &machine.node;
}

/* libibumad keeps it only where an open device said that the kernel knows it. */
int umad_set_pkey(void *umad, int pkey_index)
{
	(void)umad;
	machine.pkey_index = pkey_index;
	return 0;
}

void umad_free_ca_device_list(struct umad_device_node *head)
{
	assert_ptr_equal(head, &machine.node);
}

/* One adapter with one port. */
int umad_get_ca(const char *name, umad_ca_t *ca)
{
	assert_string_equal(name, "mlx5_0");
	memset(ca, 0, sizeof(*ca));
	ca->node_type = 1;
	ca->numports = 1;
	ca->ports[1] = &machine.port;
	machine.port.portnum = 1;
	strcpy(machine.port.link_layer, "InfiniBand");
	return 0;
}

int umad_release_ca(umad_ca_t *ca)
{
	assert_ptr_equal(ca->ports[1], &machine.port);
	return 0;
}

int umad_open_port(const char *name, int port)
{
	if (machine.open_error) {
		errno = machine.open_errno;
		return machine.open_error;
	}
	snprintf(machine.opened, sizeof(machine.opened), "%s", name);
	machine.opened_port = port;
	return FD;
}

int umad_close_port(int fd)
{
	assert_int_equal(fd, FD);
	machine.closed++;
	return 0;
}

int umad_register(int fd, int mgmt_class, int version, uint8_t rmpp, long mask[16 / sizeof(long)])
{
	assert_int_equal(fd, FD);
	assert_true(mgmt_class == 0x01 || mgmt_class == 0x81 || mgmt_class == 0x03 || mgmt_class == 0x04);
	assert_int_equal(version, mgmt_class == 0x03 ? 2 : 1);
	assert_int_equal(rmpp, 0);
	assert_null(mask); /* nothing unsolicited is asked for */
	if (mgmt_class == machine.register_error_class)
		return -EPERM;
	machine.registered++;
	return mgmt_class == 0x01 ? LID_AGENT : mgmt_class == 0x03 ? SA_AGENT : mgmt_class == 0x04 ? PERF_AGENT : DIRECT_AGENT;
}

int umad_unregister(int fd, int agent)
{
	assert_int_equal(fd, FD);
	assert_true(agent == LID_AGENT || agent == DIRECT_AGENT || agent == SA_AGENT ||
		    agent == PERF_AGENT);
	machine.unregistered++;
	return 0;
}

int umad_send(int fd, int agent, void *umad, int length, int timeout, int retries)
{
	assert_int_equal(fd, FD);
	machine.sends++;
	machine.send_agent = agent;
	machine.send_length = length;
	machine.send_timeout = timeout;
	machine.send_retries = retries;
	memcpy(machine.sent, umad, umad_size() + IB_MAD_SIZE);
	errno = machine.send_errno;
	return machine.send_errno ? -EIO : 0;
}

int umad_recv(int fd, void *umad, int *length, int timeout)
{
	struct ib_user_mad *header = umad;

	assert_int_equal(fd, FD);
	assert_int_equal(*length, IB_MAD_SIZE);
	machine.waits += timeout != 0;
	errno = 0;
	if (!machine.packet_length) {
		errno = machine.receive_errno;
		return machine.receive_ret;
	}
	header->status = machine.packet_status;
	memcpy(umad_get_mad(umad), machine.packet, sizeof(machine.packet));
	*length = machine.packet_length;
	machine.packet_length = 0;
	return LID_AGENT;
}

/* --- help --- */

static struct mad_wire *open_wire(void)
{
	struct ibqos_ctx ctx = {.program = "test", .err = stderr};
	struct mad_wire *wire;

	memset(&machine, 0, sizeof(machine));
	machine.port.state = 4;
	machine.receive_ret = -EWOULDBLOCK;
	assert_int_equal(mad_wire_open_umad(&ctx, NULL, 0, &wire), 0);
	return wire;
}

static void close_wire(struct mad_wire *wire)
{
	wire->ops->close(wire);
	assert_int_equal(machine.closed, 1);
	assert_int_equal(machine.unregistered, machine.registered);
}

static const uint8_t *sent_mad(void)
{
	return umad_get_mad(machine.sent);
}

static void assert_bytes(const uint8_t *at, const void *expected, size_t size)
{
	assert_memory_equal(at, expected, size);
}

static void assert_zero(const uint8_t *at, size_t from, size_t to)
{
	for (; from < to; from++)
		assert_int_equal(at[from], 0);
}

/* --- sending --- */

static void a_lid_routed_get(void **state)
{
	const struct mad_address to = {.lid = 0x1234};
	const struct mad_request request = {
		.to = &to, .tid = 0x89abcdef, .attribute = MAD_SL2VL, .modifier = 0x0102, .timeout_ms = 250};
	struct mad_wire *wire = open_wire();
	const struct ib_user_mad *header = (const void *)machine.sent;

	(void)state;
	assert_int_equal(wire->ops->send(wire, &request), 0);
	assert_int_equal(machine.send_agent, LID_AGENT);
	assert_int_equal(machine.send_length, 256);
	assert_int_equal(machine.send_timeout, 250);
	assert_int_equal(machine.send_retries, 0);
	assert_int_equal(ntohs(header->addr.lid), 0x1234);
	assert_int_equal(header->addr.qpn, 0);
	assert_int_equal(header->addr.sl, 0);
	assert_int_equal(header->addr.grh_present, 0);
	/* base version 1, class 1, class version 1, Get; status and class-specific 0 */
	assert_bytes(sent_mad(), "\x01\x01\x01\x01\0\0\0\0", 8);
	assert_bytes(sent_mad() + 8, "\0\0\0\0\x89\xab\xcd\xef", 8); /* transaction ID */
	assert_bytes(sent_mad() + 16, "\0\x17\0\0\0\0\x01\x02", 8);  /* attribute, modifier */
	assert_zero(sent_mad(), 24, 256);                            /* M_Key 0, no data */
	close_wire(wire);
}

static void a_directed_route_get(void **state)
{
	const struct mad_address to = {.route = {.hops = 3, .port = {0, 1, 36, 7}}};
	const struct mad_request request = {
		.to = &to, .tid = 1, .attribute = MAD_VLARB, .modifier = 0x00030005, .timeout_ms = 1};
	struct mad_wire *wire = open_wire();
	const struct ib_user_mad *header = (const void *)machine.sent;

	(void)state;
	assert_int_equal(wire->ops->send(wire, &request), 0);
	assert_int_equal(machine.send_agent, DIRECT_AGENT);
	assert_int_equal(header->addr.lid, 0xffff);
	/* class 0x81; direction out, status 0; hop pointer 0, hop count 3 */
	assert_bytes(sent_mad(), "\x01\x81\x01\x01\0\0\0\x03", 8);
	assert_bytes(sent_mad() + 8, "\0\0\0\0\0\0\0\x01", 8);
	assert_bytes(sent_mad() + 16, "\0\x18\0\0\0\x03\0\x05", 8);
	assert_zero(sent_mad(), 24, 32);
	assert_bytes(sent_mad() + 32, "\xff\xff\xff\xff", 4); /* DrSLID, DrDLID: permissive */
	assert_zero(sent_mad(), 36, 128);
	assert_bytes(sent_mad() + 128, "\0\x01\x24\x07", 4); /* initial path */
	assert_zero(sent_mad(), 132, 256);
	close_wire(wire);
}

static void nothing_of_the_last_packet_is_left(void **state)
{
	struct mad_address longest = {.route.hops = 63};
	const struct mad_address near = {.lid = 1};
	struct mad_request request = {.tid = 0xffffffff, .attribute = 0xffff, .modifier = 0xffffffff};
	struct mad_wire *wire = open_wire();

	(void)state;
	memset(longest.route.port + 1, 0xff, 63);
	request.to = &longest;
	assert_int_equal(wire->ops->send(wire, &request), 0);
	assert_int_equal(sent_mad()[7], 63);
	assert_int_equal(sent_mad()[128], 0);
	assert_int_equal(sent_mad()[191], 0xff);
	request = (struct mad_request){.to = &near, .tid = 2};
	assert_int_equal(wire->ops->send(wire, &request), 0);
	assert_bytes(sent_mad(), "\x01\x01\x01\x01\0\0\0\0", 8);
	assert_zero(sent_mad(), 16, 256);
	close_wire(wire);
}

static void addresses_that_cannot_be(void **state)
{
	static const struct mad_address bad[] = {
		{.lid = 0xc000}, {.lid = 0xffff}, {.route.hops = 64}, {.route.hops = 255}};
	const struct mad_address last = {.lid = 0xbfff}, local = {.route.hops = 0};
	struct mad_request request = {.tid = 1};
	struct mad_wire *wire = open_wire();
	unsigned i;

	(void)state;
	for (i = 0; i < 4; i++) {
		request.to = &bad[i];
		assert_int_equal(wire->ops->send(wire, &request), -EINVAL);
	}
	assert_int_equal(machine.sends, 0);
	request.to = &last;
	assert_int_equal(wire->ops->send(wire, &request), 0);
	request.to = &local;
	assert_int_equal(wire->ops->send(wire, &request), 0);
	assert_int_equal(sent_mad()[7], 0);
	request.tid = 0; /* libibmad would put one of its own */
	assert_int_equal(wire->ops->send(wire, &request), -EINVAL);
	close_wire(wire);
}

static void what_the_kernel_says_to_a_send(void **state)
{
	static const struct {
		int error, expected;
	} cases[] = {{EAGAIN, -EAGAIN}, {ENOMEM, -EAGAIN}, {EINTR, -EAGAIN}, {ENODEV, -ENODEV},
		     {EIO, -EIO},       {EINVAL, -EIO},    {EPERM, -EPERM}};
	const struct mad_address to = {.lid = 1};
	const struct mad_request request = {.to = &to, .tid = 1};
	struct mad_wire *wire = open_wire();
	unsigned i;

	(void)state;
	for (i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		machine.send_errno = cases[i].error;
		assert_int_equal(wire->ops->send(wire, &request), cases[i].expected);
	}
	close_wire(wire);
}

/* IBA 14.2.1.1: the M_Key is the 8 bytes after the header; the address's own goes before the wire's. */
static void an_m_key_goes_along(void **state)
{
	const struct mad_address plain = {.lid = 1}, own = {.lid = 1, .mkey = 0x0102030405060708};
	const struct mad_address directed = {.route = {.hops = 1, .port = {0, 1}}};
	struct mad_request request = {.to = &plain, .tid = 1, .attribute = MAD_NODE_INFO};
	struct mad_wire *wire = open_wire();

	(void)state;
	assert_int_equal(wire->ops->send(wire, &request), 0);
	assert_zero(sent_mad(), 24, 32);
	mad_wire_umad_key(wire, 0xa1a2a3a4a5a6a7a8);
	assert_int_equal(wire->ops->send(wire, &request), 0);
	assert_bytes(sent_mad() + 24, "\xa1\xa2\xa3\xa4\xa5\xa6\xa7\xa8", 8);
	request.to = &directed;
	assert_int_equal(wire->ops->send(wire, &request), 0);
	assert_bytes(sent_mad() + 24, "\xa1\xa2\xa3\xa4\xa5\xa6\xa7\xa8", 8);
	request.to = &own;
	assert_int_equal(wire->ops->send(wire, &request), 0);
	assert_bytes(sent_mad() + 24, "\1\2\3\4\5\6\7\x8", 8);
	close_wire(wire);
}

/* Of MADs to queue pair 1; SMPs have none. */
static void a_pkey_index_goes_along(void **state)
{
	const struct mad_address to = {.lid = 1};
	struct mad_request request = {.to = &to, .tid = 1, .attribute = MAD_SA_CLASS_PORT_INFO, .mgmt_class = MAD_CLASS_SA};
	struct mad_wire *wire = open_wire();

	(void)state;
	assert_int_equal(wire->ops->send(wire, &request), 0);
	assert_int_equal(machine.pkey_index, 0);
	mad_wire_umad_pkey_index(wire, 3);
	assert_int_equal(wire->ops->send(wire, &request), 0);
	assert_int_equal(machine.pkey_index, 3);
	request = (struct mad_request){.to = &to, .tid = 1, .attribute = MAD_NODE_INFO};
	assert_int_equal(wire->ops->send(wire, &request), 0);
	assert_int_equal(machine.pkey_index, 0);
	close_wire(wire);
}

/* IBA 15.2.1.1 (the SA's MAD), 15.2.5.16 (PathRecord): rdma_cm's question with the type of service 41. */
static void a_path_record_get(void **state)
{
	const struct mad_address to = {.lid = 0x0102, .sl = 3};
	const struct mad_path_question question = {
		.from = {0xfe, 0x80, 0, 0, 0, 0, 0, 0, 0xa0, 0xa1, 0xa2, 0xa3, 0xa4, 0xa5, 0xa6, 0xa7},
		.to = {0xfe, 0x80, 0, 0, 0, 0, 0, 0, 0xb0, 0xb1, 0xb2, 0xb3, 0xb4, 0xb5, 0xb6, 0xb7},
		.qos_class = 41};
	uint8_t data[MAD_SA_DATA];
	struct mad_request request = {.to = &to,
				      .tid = 7,
				      .attribute = MAD_SA_PATH_RECORD,
				      .timeout_ms = 2000,
				      .mgmt_class = MAD_CLASS_SA,
				      .mask = mad_path_encode(&question, data),
				      .data = data};
	struct mad_wire *wire = open_wire();
	const struct ib_user_mad *header = (const void *)machine.sent;

	(void)state;
	assert_int_equal(wire->ops->send(wire, &request), 0);
	assert_int_equal(machine.send_agent, SA_AGENT);
	assert_int_equal(machine.send_length, 256);
	assert_int_equal(machine.send_timeout, 2000);
	assert_int_equal(machine.send_retries, 0);
	assert_int_equal(ntohs(header->addr.lid), 0x0102);
	assert_int_equal(ntohl(header->addr.qpn), 1);
	assert_int_equal(ntohl(header->addr.qkey), 0x80010000);
	assert_int_equal(header->addr.sl, 3);
	assert_int_equal(header->addr.grh_present, 0);
	/* base version 1, class 3, class version 2, SubnAdmGet */
	assert_bytes(sent_mad(), "\x01\x03\x02\x01\0\0\0\0", 8);
	assert_bytes(sent_mad() + 8, "\0\0\0\0\0\0\0\x07", 8);
	assert_bytes(sent_mad() + 16, "\0\x35\0\0\0\0\0\0", 8);
	assert_zero(sent_mad(), 24, 48); /* RMPP, SM_Key, AttributeOffset */
	/* ComponentMask: DGID (2), SGID (3), Reversible (11), NumbPath (12), QoSClass (14) */
	assert_bytes(sent_mad() + 48, "\0\0\0\0\0\0\x58\x0c", 8);
	assert_zero(sent_mad(), 56, 64); /* ServiceID */
	assert_bytes(sent_mad() + 64, question.to, 16);
	assert_bytes(sent_mad() + 80, question.from, 16);
	assert_zero(sent_mad(), 96, 105);                  /* LIDs, hop limit, ..., TClass */
	assert_int_equal(sent_mad()[105], 0x81);           /* Reversible, NumbPath 1 */
	assert_bytes(sent_mad() + 106, "\0\0\x02\x90", 4); /* P_Key; QoSClass 0x029, SL 0 */
	assert_zero(sent_mad(), 110, 256);

	request.data = NULL; /* nothing of the last one is left */
	request.attribute = MAD_SA_CLASS_PORT_INFO;
	request.mask = 0;
	assert_int_equal(wire->ops->send(wire, &request), 0);
	assert_bytes(sent_mad() + 16, "\0\x01\0\0\0\0\0\0", 8);
	assert_zero(sent_mad(), 24, 256);
	close_wire(wire);
}

static void questions_to_the_sa_that_cannot_be(void **state)
{
	const struct mad_address routed = {.route = {.hops = 1, .port = {0, 1}}}, odd = {.lid = 1, .sl = 16};
	const struct mad_address far = {.lid = 0xc000}, good = {.lid = 1, .sl = 15};
	struct mad_request request = {.tid = 1, .attribute = 1, .mgmt_class = MAD_CLASS_SA};
	struct mad_wire *wire = open_wire();

	(void)state;
	request.to = &routed; /* only SMPs go along a directed route */
	assert_int_equal(wire->ops->send(wire, &request), -EINVAL);
	request.to = &odd;
	assert_int_equal(wire->ops->send(wire, &request), -EINVAL);
	request.to = &far;
	assert_int_equal(wire->ops->send(wire, &request), -EINVAL);
	request.to = &good;
	request.mgmt_class = 0x81;
	assert_int_equal(wire->ops->send(wire, &request), -EINVAL);
	assert_int_equal(machine.sends, 0);
	request.mgmt_class = MAD_CLASS_SA;
	assert_int_equal(wire->ops->send(wire, &request), 0);
	close_wire(wire);
}

/* IBA 16.1.1 (the MAD), 16.1.3.5 (PortCounters): PortSelect is the second byte of the data, the modifier stays 0. */
static void a_counters_get(void **state)
{
	const struct mad_address by_lid = {.lid = 0x0102, .gmp_lid = 9, .sl = 2};
	const struct mad_address routed = {.route = {.hops = 1, .port = {0, 1}}, .gmp_lid = 0x0304};
	struct mad_request request = {.to = &by_lid,
				      .tid = 7,
				      .attribute = MAD_PORT_COUNTERS,
				      .modifier = 36,
				      .timeout_ms = 100,
				      .mgmt_class = MAD_CLASS_PERF};
	struct mad_wire *wire = open_wire();
	const struct ib_user_mad *header = (const void *)machine.sent;

	(void)state;
	assert_int_equal(wire->ops->send(wire, &request), 0);
	assert_int_equal(machine.send_agent, PERF_AGENT);
	assert_int_equal(machine.send_length, 256);
	assert_int_equal(ntohs(header->addr.lid), 0x0102);
	assert_int_equal(ntohl(header->addr.qpn), 1);
	assert_int_equal(ntohl(header->addr.qkey), 0x80010000);
	assert_int_equal(header->addr.sl, 2);
	assert_bytes(sent_mad(), "\x01\x04\x01\x01\0\0\0\0", 8);
	assert_bytes(sent_mad() + 8, "\0\0\0\0\0\0\0\x07", 8);
	assert_bytes(sent_mad() + 16, "\0\x12\0\0\0\0\0\0", 8);
	assert_zero(sent_mad(), 24, 65);
	assert_int_equal(sent_mad()[65], 36);
	assert_zero(sent_mad(), 66, 256);

	request.to = &routed; /* SMPs go by route, this by LID */
	request.modifier = 255;
	assert_int_equal(wire->ops->send(wire, &request), 0);
	assert_int_equal(ntohs(header->addr.lid), 0x0304);
	assert_int_equal(sent_mad()[65], 255);
	request.modifier = 256;
	assert_int_equal(wire->ops->send(wire, &request), -EINVAL);
	request.modifier = 1;
	request.to = &(struct mad_address){.route = {.hops = 1, .port = {0, 1}}};
	assert_int_equal(wire->ops->send(wire, &request), -EINVAL);
	request.to = &(struct mad_address){.gmp_lid = 0xc000};
	assert_int_equal(wire->ops->send(wire, &request), -EINVAL);
	assert_int_equal(machine.sends, 2);
	close_wire(wire);
}

/* --- receiving --- */

static void arrive(const char *first_words, uint32_t status, int length)
{
	unsigned i;

	/* the kernel puts its own number into the upper half of the transaction ID */
	memcpy(machine.packet, first_words, 8);
	memcpy(machine.packet + 8, "\x00\x2a\0\x07\x89\xab\xcd\xef\0\x17\0\0\0\x01\x02\x03", 16);
	for (i = 24; i < 256; i++)
		machine.packet[i] = (uint8_t)i;
	machine.packet_status = status;
	machine.packet_length = length;
}

static void counters_are_decoded(void **state)
{
	struct mad_wire *wire = open_wire();
	struct mad_reply reply;

	(void)state;
	arrive("\x01\x04\x01\x81\0\0\0\0", 0, 256);
	machine.packet[17] = MAD_PORT_COUNTERS; /* its modifier on the wire means nothing */
	assert_int_equal(wire->ops->receive(wire, &reply, 0), 1);
	assert_int_equal(reply.mgmt_class, MAD_CLASS_PERF);
	assert_int_equal(reply.attribute, MAD_PORT_COUNTERS);
	assert_int_equal(reply.modifier, 65); /* the byte at 65 */
	assert_int_equal(reply.status, 0);
	assert_bytes(reply.data, machine.packet + 64, MAD_PERF_DATA);

	arrive("\x01\x04\x01\x81\0\x0c\0\0", 0, 256);
	machine.packet[17] = MAD_PERF_CLASS_PORT_INFO;
	assert_int_equal(wire->ops->receive(wire, &reply, 0), 1);
	assert_int_equal(reply.modifier, 0);
	assert_int_equal(reply.status, 0x0c);

	arrive("\x01\x04\x01\x81\0\0\0\0", 0, 255); /* not whole */
	assert_int_equal(wire->ops->receive(wire, &reply, 0), 0);
	close_wire(wire);
}

static void answers_are_decoded(void **state)
{
	struct mad_wire *wire = open_wire();
	struct mad_reply reply;
	unsigned i;

	(void)state;
	arrive("\x01\x01\x01\x81\0\0\0\0", 0, 256);
	assert_int_equal(wire->ops->receive(wire, &reply, 0), 1);
	assert_int_equal(machine.waits, 0);
	assert_int_equal(reply.tid, 0x89abcdef);
	assert_int_equal(reply.attribute, MAD_SL2VL);
	assert_int_equal(reply.modifier, 0x00010203);
	assert_int_equal(reply.status, 0);
	assert_false(reply.timed_out);
	for (i = 0; i < MAD_SMP_DATA; i++)
		assert_int_equal(reply.data[i], 64 + i);

	arrive("\x01\x01\x01\x81\0\x1c\0\0", 0, 256);
	assert_int_equal(wire->ops->receive(wire, &reply, 100), 1);
	assert_int_equal(reply.status, 0x001c);
	/* directed route: the status' highest bit is the direction */
	arrive("\x01\x81\x01\x81\x80\x0c\x04\x03", 0, 256);
	assert_int_equal(wire->ops->receive(wire, &reply, 100), 1);
	assert_int_equal(reply.status, 0x000c);
	arrive("\x01\x81\x01\x81\x80\0\x04\x03", 0, 256);
	assert_int_equal(wire->ops->receive(wire, &reply, 100), 1);
	assert_int_equal(reply.status, 0);
	close_wire(wire);
}

/* IBA 15.2.1.1: the record is behind the SA header, 56 bytes into the MAD. */
static void answers_of_the_subnet_administrator(void **state)
{
	struct mad_wire *wire = open_wire();
	struct mad_reply reply;
	unsigned i;

	(void)state;
	arrive("\x01\x03\x02\x81\0\0\0\0", 0, 256);
	assert_int_equal(wire->ops->receive(wire, &reply, 100), 1);
	assert_int_equal(reply.mgmt_class, 0x03);
	assert_int_equal(reply.tid, 0x89abcdef);
	assert_int_equal(reply.attribute, 0x0017);
	assert_int_equal(reply.status, 0);
	for (i = 0; i < 200; i++)
		assert_int_equal(reply.data[i], 56 + i);
	/* OpenSM over umad2sim: a PathRecord's 64 bytes and no more, AttributeOffset 8; not one byte less */
	for (int length = 120; length >= 119; length--) {
		arrive("\x01\x03\x02\x81\0\0\0\0", 0, length);
		machine.packet[44] = 0;
		machine.packet[45] = 8;
		assert_int_equal(wire->ops->receive(wire, &reply, 100), length == 120);
	}
	for (i = 0; i < 200; i++)
		assert_int_equal(reply.data[i], i < 64 ? 56 + i : 0);
	/* an AttributeOffset too small for a PathRecord leaves no part of it out */
	for (int length = 120; length >= 64; length -= 56) {
		arrive("\x01\x03\x02\x81\0\0\0\0", 0, length);
		machine.packet[16] = 0;
		machine.packet[17] = 0x35;
		machine.packet[44] = 0;
		machine.packet[45] = 1;
		assert_int_equal(wire->ops->receive(wire, &reply, 100), length == 120);
	}
	arrive("\x01\x03\x02\x81\0\0\0\0", 0, 255);
	machine.packet[44] = machine.packet[45] = 0; /* no AttributeOffset: all of it must be there */
	assert_int_equal(wire->ops->receive(wire, &reply, 100), 0);
	arrive("\x01\x03\x02\x81\x03\0\0\0", 0, 256); /* NO_RECORDS: the upper byte is the class's own */
	assert_int_equal(wire->ops->receive(wire, &reply, 100), 1);
	assert_int_equal(reply.status, MAD_SA_NO_RECORDS);
	arrive("\x01\x03\x02\x01\0\0\0\0", ETIMEDOUT, 24);
	assert_int_equal(wire->ops->receive(wire, &reply, 100), 1);
	assert_true(reply.timed_out);
	assert_int_equal(reply.mgmt_class, 0x03);
	arrive("\x01\x81\x01\x81\x80\0\x04\x03", 0, 256);
	assert_int_equal(wire->ops->receive(wire, &reply, 100), 1);
	assert_int_equal(reply.mgmt_class, MAD_CLASS_SMP);
	close_wire(wire);
}

static void a_timeout_comes_back_as_it_was_sent(void **state)
{
	struct mad_wire *wire = open_wire();
	struct mad_reply reply;

	(void)state;
	arrive("\x01\x01\x01\x01\0\0\0\0", ETIMEDOUT, 24); /* the kernel: the header alone */
	assert_int_equal(wire->ops->receive(wire, &reply, 100), 1);
	assert_true(reply.timed_out);
	assert_int_equal(reply.tid, 0x89abcdef);
	assert_int_equal(reply.attribute, MAD_SL2VL);
	assert_int_equal(reply.modifier, 0x00010203);
	assert_zero(reply.data, 0, MAD_SMP_DATA);
	arrive("\x01\x81\x01\x01\0\0\0\x03", ETIMEDOUT, 256); /* ibsim: all of it */
	assert_int_equal(wire->ops->receive(wire, &reply, 100), 1);
	assert_true(reply.timed_out);
	close_wire(wire);
}

static void packets_that_are_no_answer(void **state)
{
	static const struct {
		const char *words;
		uint32_t status;
		int length;
	} cases[] = {
		{"\x01\x01\x01\x01\0\0\0\0", 0, 256}, /* someone else's Get */
		{"\x01\x01\x01\x02\0\0\0\0", 0, 256}, /* Set */
		{"\x01\x01\x01\x05\0\0\0\0", 0, 256}, /* Trap */
		{"\x01\x01\x01\x82\0\0\0\0", 0, 256},
		{"\x01\x21\x01\x81\0\0\0\0", 0, 256}, /* another class */
		{"\x01\x04\x01\x02\0\0\0\0", 0, 256}, /* somebody clears counters */
		{"\x01\x03\x02\x92\0\0\0\0", 0, 256}, /* the SA's GetTableResp */
		{"\x01\x01\x01\x81\0\0\0\0", 0, 255}, /* cut short */
		{"\x01\x01\x01\x81\0\0\0\0", 0, -1},
		{"\x01\x01\x01\x01\0\0\0\0", ETIMEDOUT, 23},
		{"\x01\x01\x01\x02\0\0\0\0", ETIMEDOUT, 256}, /* a Set that was not ours */
		{"\x01\x01\x01\x81\0\0\0\0", EAGAIN, 256},    /* umad2sim: partial request */
	};
	struct mad_wire *wire = open_wire();
	struct mad_reply reply;
	unsigned i;

	(void)state;
	for (i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		arrive(cases[i].words, cases[i].status, cases[i].length);
		if (wire->ops->receive(wire, &reply, 100) != 0)
			fail_msg("case %u was taken for an answer", i);
	}
	close_wire(wire);
}

static void nothing_there_and_errors(void **state)
{
	static const struct {
		int ret, error, expected;
	} cases[] = {
		{-EWOULDBLOCK, 0, 0},       /* umad2sim says so by value */
		{-EAGAIN, EAGAIN, 0},       /* the kernel */
		{-ETIMEDOUT, ETIMEDOUT, 0}, /* poll */
		{-EIO, EINTR, 0},           /* poll, interrupted */
		{-EIO, EIO, -EIO},          {-ENODEV, ENODEV, -ENODEV}, {-EIO, 0, -EIO},
	};
	struct mad_wire *wire = open_wire();
	struct mad_reply reply;
	unsigned i;

	(void)state;
	for (i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		machine.receive_ret = cases[i].ret;
		machine.receive_errno = cases[i].error;
		machine.waits = 0;
		assert_int_equal(wire->ops->receive(wire, &reply, 0), cases[i].expected);
		assert_int_equal(machine.waits, 0);
		assert_int_equal(wire->ops->receive(wire, &reply, 100), cases[i].expected);
		assert_int_equal(machine.waits, 1);
	}
	close_wire(wire);
}

/* --- opening --- */

static void opening_fails_and_leaves_nothing(void **state)
{
	struct ibqos_ctx ctx = {.program = "test", .err = stderr};
	struct mad_wire *wire = open_wire();

	(void)state;
	assert_string_equal(machine.opened, "mlx5_0");
	assert_int_equal(machine.opened_port, 1);
	assert_int_equal(machine.registered, 4);
	close_wire(wire);

	machine.open_error = -EIO;
	machine.open_errno = EACCES; /* not root */
	assert_int_equal(mad_wire_open_umad(&ctx, NULL, 0, &wire), -EACCES);
	assert_null(wire);
	machine.open_error = -EOPNOTSUPP; /* no ib_umad */
	assert_int_equal(mad_wire_open_umad(&ctx, NULL, 0, &wire), -EOPNOTSUPP);
	assert_int_equal(machine.closed, 1);
	machine.open_error = 0;
	machine.register_error_class = 0x81;
	assert_int_equal(mad_wire_open_umad(&ctx, NULL, 0, &wire), -EPERM);
	assert_null(wire);
	assert_int_equal(machine.closed, 2);
	machine.register_error_class = 0x03;
	assert_int_equal(mad_wire_open_umad(&ctx, NULL, 0, &wire), -EPERM);
	assert_null(wire);
	assert_int_equal(machine.closed, 3);
	machine.register_error_class = 0x04;
	assert_int_equal(mad_wire_open_umad(&ctx, NULL, 0, &wire), -EPERM);
	assert_null(wire);
	assert_int_equal(machine.closed, 4);
	assert_int_equal(machine.unregistered, machine.registered);
	machine.port.state = 1;
	assert_int_equal(mad_wire_open_umad(&ctx, "mlx5_0", 1, &wire), -ENETDOWN);
	assert_int_equal(machine.closed, 4);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_lid_routed_get),
		cmocka_unit_test(a_directed_route_get),
		cmocka_unit_test(nothing_of_the_last_packet_is_left),
		cmocka_unit_test(addresses_that_cannot_be),
		cmocka_unit_test(what_the_kernel_says_to_a_send),
		cmocka_unit_test(an_m_key_goes_along),
		cmocka_unit_test(a_pkey_index_goes_along),
		cmocka_unit_test(a_path_record_get),
		cmocka_unit_test(questions_to_the_sa_that_cannot_be),
		cmocka_unit_test(a_counters_get),
		cmocka_unit_test(counters_are_decoded),
		cmocka_unit_test(answers_are_decoded),
		cmocka_unit_test(answers_of_the_subnet_administrator),
		cmocka_unit_test(a_timeout_comes_back_as_it_was_sent),
		cmocka_unit_test(packets_that_are_no_answer),
		cmocka_unit_test(nothing_there_and_errors),
		cmocka_unit_test(opening_fails_and_leaves_nothing),
	};

	return cmocka_run_group_tests_name("mad_wire", tests, NULL, NULL);
}
