/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* ibqos discover: the nodes and links of the fabric, as found. */
#include "cmd.h"
#include "verify_sm.h"

#include "ibqos/link.h"

static const struct argp_option own_options[] = {CMD_SITE_ROW, {0}};

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct cmd_options *o = state->input;

	if (cmd_site_option(o, key, arg))
		return 0;
	if (key == ARGP_KEY_INIT) {
		cmd_hand_down(state, o);
		return 0;
	}
	return cmd_argument(key, arg, state, o, 0, "");
}

const struct argp cmd_discover_argp = {
	.options = own_options,
	.parser = parse,
	.doc = "Shows the nodes and links of the fabric.\v"
	       "Exit status: 0 all answered, 3 something did not, or no subnet manager serves the fabric.",
	.children = cmd_source_children,
};

static const char *type_name(enum fabric_node_type type)
{
	switch (type) {
	case FABRIC_SWITCH:
		return "switch";
	case FABRIC_ROUTER:
		return "router";
	default:
		return "adapter";
	}
}

/* LID of a node: a switch's own, an adapter's first port that has one. */
static unsigned node_lid(const struct fabric *f, const struct fabric_node *node)
{
	unsigned lid = node->lid;

	for (unsigned i = 1; lid == 0 && i <= node->ports; i++) {
		const struct fabric_port *port = &f->ports[node->first_port + i];

		lid = port->known ? fabric_port_lid(port) : port->told_lid;
	}
	return lid;
}

static void report_nodes(struct report *r, const struct fabric *f)
{
	static const struct report_column columns[] = {
		{.key = "type", .title = "type", .type = REPORT_STRING},
		{.key = "node_guid", .title = "node GUID", .type = REPORT_GUID},
		{.key = "system_guid", .title = NULL, .type = REPORT_GUID},
		{.key = "lid", .title = "LID", .type = REPORT_NUMBER},
		{.key = "ports", .title = "ports", .type = REPORT_NUMBER},
		{.key = "active_ports", .title = "active", .type = REPORT_NUMBER},
		{.key = "vendor_id", .title = NULL, .type = REPORT_NUMBER},
		{.key = "device_id", .title = NULL, .type = REPORT_NUMBER},
		{.key = "name", .title = "name", .type = REPORT_STRING},
	};

	report_table(r, "nodes", "nodes", columns, sizeof(columns) / sizeof(columns[0]));
	for (uint32_t i = 0; i < f->node_count; i++) {
		const struct fabric_node *node = &f->nodes[i];
		unsigned active = 0, known = 0, lid = node_lid(f, node);

		for (unsigned p = 1; p <= node->ports; p++) {
			const struct fabric_port *port = &f->ports[node->first_port + p];

			known += port->known;
			active += port->known && fabric_port_state(port) == FABRIC_STATE_ACTIVE;
		}
		report_cell_string(r, type_name(node->type));
		report_cell_guid(r, node->guid);
		report_cell_guid(r, node->system_guid);
		if (lid)
			report_cell_number(r, lid);
		else
			report_cell_none(r);
		report_cell_number(r, node->ports);
		if (known)
			report_cell_number(r, active);
		else
			report_cell_none(r);
		report_cell_number(r, node->vendor);
		report_cell_number(r, node->device);
		report_cell_string(r, node->name);
		report_row_end(r);
	}
	report_table_end(r);
}

static const char *state_name(const struct fabric_port *port)
{
	switch (port->known ? fabric_port_state(port) : 0) {
	case FABRIC_STATE_DOWN:
		return "down";
	case FABRIC_STATE_INIT:
		return "init";
	case FABRIC_STATE_ARMED:
		return "armed";
	case FABRIC_STATE_ACTIVE:
		return "active";
	default:
		return NULL; /* unknown */
	}
}

/* One end of a link: node GUID, name, port. */
static void report_end_of_link(struct report *r, const struct fabric *f, uint32_t port)
{
	report_cell_guid(r, fabric_port_node(f, port)->guid);
	report_cell_string(r, fabric_port_node(f, port)->name);
	report_cell_number(r, f->ports[port].number);
}

/* What another tool says of a link whose PortInfo is not known. */
static bool tell_link(const struct fabric_port *port, struct link_state *link)
{
	link->width_active = port->told_width;
	link->speed_active = port->told_speed;
	return !port->known && (port->told_width || port->told_speed);
}

static void cell_known(struct report *r, unsigned number)
{
	if (number)
		report_cell_number(r, number);
	else
		report_cell_string(r, NULL);
}

static void report_links(struct report *r, const struct fabric *f)
{
	static const struct report_column columns[] = {
		{.key = "node_guid", .title = NULL, .type = REPORT_GUID},
		{.key = "node", .title = "node", .type = REPORT_STRING},
		{.key = "port", .title = "port", .type = REPORT_NUMBER},
		{.key = "peer_guid", .title = NULL, .type = REPORT_GUID},
		{.key = "peer", .title = "peer", .type = REPORT_STRING},
		{.key = "peer_port", .title = "port", .type = REPORT_NUMBER},
		{.key = "width", .title = "width", .type = REPORT_STRING},
		{.key = "speed", .title = "speed", .type = REPORT_STRING},
		{.key = "gbps", .title = "rate", .type = REPORT_REAL, .unit = "Gb/s", .decimals = 0},
		{.key = "line_gbps", .title = NULL, .type = REPORT_REAL, .decimals = 4},
		{.key = "state", .title = "state", .type = REPORT_STRING},
		{.key = "vls", .title = "VLs", .type = REPORT_NUMBER},
		{.key = "mtu", .title = "MTU", .type = REPORT_NUMBER},
	};

	report_table(r, "links", "links", columns, sizeof(columns) / sizeof(columns[0]));
	for (uint32_t i = 0; i < f->link_count; i++) {
		uint32_t a = f->links[i].a;
		const struct fabric_port *port = &f->ports[a];
		struct link_state link = {0};
		bool decoded = link_decode(f, a, &link) || tell_link(port, &link);

		report_end_of_link(r, f, a);
		report_end_of_link(r, f, f->links[i].b);
		report_cell_string(r, decoded && link.width_active ? link_width_name(link.width_active) : NULL);
		report_cell_string(r, decoded && link.speed_active ? link_speed_name(link.speed_active) : NULL);
		if (decoded && link.width_active && link.speed_active) {
			report_cell_real(r, link_gbps(link.width_active, link.speed_active));
			report_cell_real(r, link_line_gbps(link.width_active, link.speed_active));
		} else {
			report_cell_none(r);
			report_cell_none(r);
		}
		report_cell_string(r, state_name(port));
		if (port->known) { /* 0: not set yet, or a value that cannot be */
			cell_known(r, qos_vls_of_code(fabric_port_oper_vls(port)));
			cell_known(r, fabric_port_neighbor_mtu(port));
		} else {
			report_cell_none(r);
			report_cell_none(r);
		}
		report_row_end(r);
	}
	report_table_end(r);
}

enum ibqos_exit cmd_discover(struct ibqos_ctx *ctx, int argc, char **argv)
{
	struct cmd_options options;
	struct cmd_session s;

	cmd_defaults(&options, ctx);
	cmd_parse(&cmd_discover_argp, argc, argv, &options);
	if (options.site)
		return cmd_site(ctx, &options, argc, argv);
	if (!session_begin(&s, ctx, &options))
		return IBQOS_EXIT_UNKNOWN;
	s.figures.wanted = true;
	if (session_discover(&s)) {
		report_nodes(s.report, s.fabric);
		report_links(s.report, s.fabric);
		session_fabric_fields(&s);
		cmd_ask_sm(&s);
		session_mads(&s);
	}
	return session_end(&s);
}
