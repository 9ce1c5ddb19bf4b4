/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* libibnetdisc's fabric, made by hand here, as ours; the node-name map's file. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <infiniband/ibnetdisc.h>

#include "../../src/source/live.h"
#include "images.h"

static char *messages;
static size_t messages_size;
static struct ibqos_ctx ctx;

static int setup(void **state)
{
	(void)state;
	ctx = (struct ibqos_ctx){.program = "ibqos", .fabric = "blue"};
	ctx.err = open_memstream(&messages, &messages_size);
	return ctx.err ? 0 : -1;
}

static int teardown(void **state)
{
	(void)state;
	fclose(ctx.err);
	free(messages);
	return 0;
}

static const char *said(void)
{
	fflush(ctx.err);
	return messages;
}

/* As create_node() in libibnetdisc: at the head of the list. */
static ibnd_node_t *add_node(ibnd_fabric_t *found, int type, uint64_t guid, int ports, int local_port,
			     const char *desc, int hops, const char *route)
{
	ibnd_node_t *node = calloc(1, sizeof(*node));

	assert_non_null(node);
	node->ports = calloc(ports + 1, sizeof(*node->ports));
	assert_non_null(node->ports);
	node->guid = guid;
	node->type = type;
	node->numports = ports;
	image_node_info(node->info, type, guid, ports, local_port);
	image_node_desc((uint8_t *)node->nodedesc, desc);
	if (type == IB_NODE_SWITCH)
		image_switch_info(node->switchinfo, true);
	node->path_portid.drpath.cnt = hops;
	memcpy(node->path_portid.drpath.p, route, hops + 1);
	node->next = found->nodes;
	found->nodes = node;
	return node;
}

static ibnd_port_t *add_port(ibnd_node_t *node, int number, const struct image_port *image)
{
	ibnd_port_t *port = calloc(1, sizeof(*port));

	assert_non_null(port);
	port->node = node;
	port->portnum = number;
	port->guid = node->type == IB_NODE_SWITCH ? node->guid : node->guid + number;
	if (image)
		image_port_info(port->info, image);
	node->ports[number] = port;
	return port;
}

static void cable(ibnd_port_t *a, ibnd_port_t *b)
{
	a->remoteport = b;
	b->remoteport = a;
}

static void destroy(ibnd_fabric_t *found)
{
	ibnd_node_t *next;

	for (ibnd_node_t *node = found->nodes; node; node = next) {
		next = node->next;
		for (int n = 0; n <= node->numports; n++)
			free(node->ports[n]);
		free(node->ports);
		free(node);
	}
}

static void whole_fabric(void **state)
{
	ibnd_fabric_t found = {0};
	ibnd_node_t *self = add_node(&found, IB_NODE_CA, 0x900, 2, 2, "self", 0, "");
	ibnd_node_t *sw = add_node(&found, IB_NODE_SWITCH, 0x500, 4, 3, "leaf", 1, "\0\2");
	ibnd_node_t *host = add_node(&found, IB_NODE_CA, 0x100, 1, 1, "host", 2, "\0\2\1");
	ibnd_port_t *fdr10;
	struct fabric *f;
	uint32_t port;

	(void)state;
	found.from_node = self;
	found.from_portnum = 2;
	add_port(self, 2, &(struct image_port){.lid = 9, .sm_lid = 0x1234});
	add_port(sw, 0, &(struct image_port){.lid = 5});
	fdr10 = add_port(sw, 1, &(struct image_port){.speed_active = 4});
	fdr10->ext_info[15] = 1;
	add_port(sw, 2, &(struct image_port){.state = FABRIC_STATE_DOWN, .phys_state = 2});
	add_port(sw, 3, &(struct image_port){0});
	add_port(sw, 4, NULL); /* a shell: a link led here, PortInfo was not answered */
	add_port(host, 1, &(struct image_port){.lid = 1});
	cable(self->ports[2], sw->ports[3]);
	cable(sw->ports[1], host->ports[1]);
	assert_int_equal(live_convert(&ctx, &found, &f), 0);
	assert_string_equal(f->label, "blue");
	assert_int_equal(f->node_count, 3);
	assert_string_equal(f->nodes[0].name, "host");
	assert_string_equal(f->nodes[1].name, "leaf");
	assert_string_equal(f->nodes[2].name, "self");
	assert_int_equal(f->from_node, 2);
	assert_int_equal(f->from_port, 2);
	assert_int_equal(f->sm_lid, 0x1234);
	assert_int_equal(f->nodes[0].route.hops, 2);
	assert_memory_equal(f->nodes[0].route.port, "\0\2\1", 3);
	assert_int_equal(f->nodes[1].route.hops, 1);
	assert_int_equal(f->nodes[2].route.hops, 0);
	assert_true(f->nodes[1].enhanced_port0);
	assert_int_equal(f->nodes[1].lid, 5);
	assert_memory_equal(f->nodes[1].node_info, sw->info, MAD_SMP_DATA);
	assert_memory_equal(f->nodes[1].switch_info, sw->switchinfo, MAD_SMP_DATA);
	port = fabric_node_port(f, 1, 1);
	assert_memory_equal(f->ports[port].info, fdr10->info, MAD_SMP_DATA);
	assert_memory_equal(f->ports[port].ext_info, fdr10->ext_info, MAD_SMP_DATA);
	assert_true(f->ports[port].has_ext);
	assert_false(f->ports[fabric_node_port(f, 1, 3)].has_ext);
	assert_false(f->ports[fabric_node_port(f, 1, 4)].known);
	assert_int_equal(f->ports[fabric_node_port(f, 0, 1)].guid, 0x101);
	assert_int_equal(f->ports[port].peer, fabric_node_port(f, 0, 1));
	assert_int_equal(f->ports[fabric_node_port(f, 1, 3)].peer, fabric_node_port(f, 2, 2));
	assert_int_equal(f->link_count, 2);
	assert_int_equal(f->gap_count, 1); /* leaf[4] */
	assert_int_equal(f->gaps[0].reason, FABRIC_GAP_NO_PORT_INFO);
	assert_int_equal(f->gaps[0].port, fabric_node_port(f, 1, 4));
	assert_string_equal(said(), "");
	fabric_free(f);
	destroy(&found);
}

static void odd_cabling(void **state)
{
	ibnd_fabric_t found = {0};
	ibnd_node_t *sw = add_node(&found, IB_NODE_SWITCH, 0x500, 4, 0, "leaf", 0, "");
	struct fabric *f;

	(void)state;
	found.from_node = sw;
	add_port(sw, 0, &(struct image_port){.lid = 5, .sm_lid = 5});
	for (int n = 1; n <= 4; n++)
		add_port(sw, n, &(struct image_port){0});
	cable(sw->ports[1], sw->ports[2]);
	cable(sw->ports[3], sw->ports[3]);
	sw->ports[4]->remoteport = sw->ports[1]; /* one-sided: the first link stays */
	assert_int_equal(live_convert(&ctx, &found, &f), 0);
	assert_int_equal(f->from_node, 0);
	assert_int_equal(f->from_port, 0);
	assert_int_equal(f->sm_lid, 5);
	assert_int_equal(f->link_count, 2);
	assert_int_equal(f->ports[1].peer, 2);
	assert_int_equal(f->ports[3].peer, 3);
	assert_int_equal(f->ports[4].peer, FABRIC_NONE);
	assert_int_equal(f->gap_count, 1);
	assert_int_equal(f->gaps[0].reason, FABRIC_GAP_NO_PEER);
	assert_int_equal(f->gaps[0].port, 4);
	fabric_free(f);
	destroy(&found);
}

/* A device that says nonsense of itself is left out and named; the port before it becomes a gap. */
static void unusable_nodes(void **state)
{
	ibnd_fabric_t found = {0};
	ibnd_node_t *sw = add_node(&found, IB_NODE_SWITCH, 0x500, 2, 0, "leaf", 0, "");
	ibnd_node_t *strange = add_node(&found, 9, 0x700, 1, 1, "strange", 1, "\0\1");
	ibnd_node_t *nobody = add_node(&found, IB_NODE_CA, 0, 1, 1, "nobody", 1, "\0\2");
	struct fabric *f;

	(void)state;
	found.from_node = sw;
	add_port(sw, 0, &(struct image_port){.lid = 5});
	cable(add_port(sw, 1, &(struct image_port){0}), add_port(strange, 1, &(struct image_port){0}));
	cable(add_port(sw, 2, &(struct image_port){0}), add_port(nobody, 1, &(struct image_port){0}));
	assert_int_equal(live_convert(&ctx, &found, &f), 0);
	assert_int_equal(f->node_count, 1);
	assert_int_equal(f->gap_count, 2);
	assert_int_equal(f->gaps[0].reason, FABRIC_GAP_NO_PEER);
	assert_int_equal(f->gaps[1].reason, FABRIC_GAP_NO_PEER);
	assert_non_null(strstr(said(), "0x0000000000000700"));
	assert_non_null(strstr(said(), "NodeType 9"));
	fabric_free(f);
	destroy(&found);
}

static void nothing_answered(void **state)
{
	ibnd_fabric_t found = {0};
	struct fabric *f;

	(void)state;
	assert_int_equal(live_convert(&ctx, &found, &f), -ENETUNREACH);
	assert_null(f);
	found.from_node = add_node(&found, IB_NODE_CA, 0, 1, 1, "x", 0, "");
	assert_int_equal(live_convert(&ctx, &found, &f), -ENETUNREACH);
	assert_null(f);
	destroy(&found);
}

static void name_map_file(void **state)
{
	char path[] = "/tmp/test_source_convert.XXXXXX";
	int fd = mkstemp(path);
	struct fabric *f = fabric_new("");
	struct finding_list findings = {0};

	(void)state;
	assert_true(fd >= 0);
	assert_int_equal(write(fd, "0x10 \"one\"\nbad\n", 15), 15);
	image_add_host(f, "h", 0x10, 1);
	assert_int_equal(fabric_finish(f), 0);
	assert_int_equal(live_name_nodes(f, path, &findings), 0);
	assert_string_equal(f->nodes[0].name, "one");
	assert_int_equal(findings.count, 1);
	assert_int_equal(findings.items[0].line, 2);
	assert_string_equal(findings.items[0].file, path);
	unlink(path);
	/* one that was named but cannot be read is a finding too, not an end */
	assert_int_equal(live_name_nodes(f, path, &findings), 0);
	assert_int_equal(findings.count, 2);
	assert_int_equal(findings.items[1].code, FINDING_NAME_MAP_BAD);
	assert_string_equal(findings.items[1].file, path);
	assert_non_null(findings.items[1].got);
	assert_string_equal(f->nodes[0].name, "one");
	if (access(LIVE_NODE_NAME_MAP, F_OK) != 0) {
		assert_int_equal(live_name_nodes(f, NULL, &findings), 0); /* no default file: none */
		assert_int_equal(findings.count, 2);
	}
	finding_list_clear(&findings);
	fabric_free(f);
	close(fd);
}

/* What is behind a NUL is read all the same, but for its line. */
static void name_map_nul(void **state)
{
	static const struct {
		const char *text;
		size_t size;
		unsigned line, column;
		const char *first, *second, *detail;
	} maps[] = {
		{"0x10 \"one\"\n0x20 \"t\0o\"\n", 22, 2, 8, "one", "b", "1 line is passed over"},
		{"# \0\n0x10 \"one\"\n0x20 \"two\"", 25, 1, 3, "one", "two", "1 line is passed over"},
		{"\0\n\0\n0x20 \"two\"\n\0", 16, 1, 1, "a", "two", "3 lines are passed over"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(maps) / sizeof(maps[0]); i++) {
		char path[] = "/tmp/test_source_convert.XXXXXX";
		int fd = mkstemp(path);
		struct fabric *f = fabric_new("");
		struct finding_list findings = {0};

		assert_true(fd >= 0);
		assert_int_equal(write(fd, maps[i].text, maps[i].size), maps[i].size);
		close(fd);
		image_add_host(f, "a", 0x10, 1);
		image_add_host(f, "b", 0x20, 2);
		assert_int_equal(fabric_finish(f), 0);
		assert_int_equal(live_name_nodes(f, path, &findings), 0);
		unlink(path);
		assert_int_equal(findings.count, 1);
		assert_int_equal(findings.items[0].code, FINDING_NAME_MAP_BAD);
		assert_string_equal(findings.items[0].file, path);
		assert_int_equal(findings.items[0].line, maps[i].line);
		assert_int_equal(findings.items[0].column, maps[i].column);
		assert_string_equal(findings.items[0].got, "a NUL byte");
		assert_string_equal(findings.items[0].detail, maps[i].detail);
		assert_string_equal(f->nodes[fabric_find_node(f, 0x10)].name, maps[i].first);
		assert_string_equal(f->nodes[fabric_find_node(f, 0x20)].name, maps[i].second);
		finding_list_clear(&findings);
		fabric_free(f);
	}
}

static void expect_fault(const char *device, int port, const struct mad_port_info *info, int error,
			 const char *wanted)
{
	char *text = live_port_fault(device, port, info, error);

	assert_non_null(text);
	assert_string_equal(text, wanted);
	free(text);
}

static void port_faults(void **state)
{
	const struct mad_port_info none = {0},
				   ethernet = {.device = "mlx5_0", .port = 1, .link_layer = "Ethernet"},
				   down = {.device = "mlx5_1", .port = 2, .link_layer = "InfiniBand"};

	(void)state;
	expect_fault(NULL, 0, &none, -ENODEV, "no InfiniBand device");
	expect_fault("mlx5_7", 0, &none, -ENODEV, "no InfiniBand device mlx5_7");
	expect_fault("mlx5_7", 3, &none, -ENODEV, "no InfiniBand port mlx5_7/3");
	expect_fault(NULL, 3, &none, -ENODEV, "no InfiniBand port 3");
	expect_fault(NULL, 0, &ethernet, -EPROTONOSUPPORT,
		     "port mlx5_0/1: link layer is Ethernet, not InfiniBand");
	expect_fault("mlx5_1", 0, &down, -ENETDOWN, "port mlx5_1/2: link is down");
	expect_fault("mlx5_1", 2, &none, -EACCES, "port mlx5_1/2: Permission denied");
}

/* The file of umad that may not be opened: whom it is for, and what to do. */
static void file_faults(void **state)
{
	static const struct {
		mode_t mode;
		gid_t gid;
		int error;
		const char *says;
	} rows[] = {
		{0600, 0, -EACCES, "contrib/udev/90-ibqos-umad.rules"},
		{0660, 0, -EACCES, "contrib/udev/90-ibqos-umad.rules"}, /* root's group is nobody's to join */
		{0640, 1, -EPERM, "contrib/udev/90-ibqos-umad.rules"},	/* its group may not send */
		{0660, 1, -EACCES, "usermod -a -G daemon USER"},
		{0660, 4294967, -EACCES, "contrib/udev/90-ibqos-umad.rules"}, /* no group of that number */
		{0, 0, -ENOENT, "modprobe ib_umad"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct stat st = {.st_mode = S_IFCHR | rows[i].mode, .st_gid = rows[i].gid};
		char *text = live_file_fault("mlx5_0", 1, "/dev/infiniband/umad0", &st, rows[i].error);

		assert_non_null(text);
		assert_non_null(strstr(text, "port mlx5_0/1: "));
		assert_non_null(strstr(text, "/dev/infiniband/umad0"));
		assert_non_null(strstr(text, rows[i].says));
		free(text);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(whole_fabric, setup, teardown),
		cmocka_unit_test_setup_teardown(odd_cabling, setup, teardown),
		cmocka_unit_test_setup_teardown(unusable_nodes, setup, teardown),
		cmocka_unit_test_setup_teardown(nothing_answered, setup, teardown),
		cmocka_unit_test(name_map_file),
		cmocka_unit_test(name_map_nul),
		cmocka_unit_test(port_faults),
		cmocka_unit_test(file_faults),
	};

	return cmocka_run_group_tests_name("source convert", tests, NULL, NULL);
}
