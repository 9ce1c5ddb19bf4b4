/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* ibqos job host: the host's own adapters, for a batch system's prolog. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "job.h"

struct host_options {
	struct cmd_options common; /* first: children get the same pointer */
	const char *sysfs;
	struct job_host_wish wish;
};

enum { KEY_SYSFS = 0x300, KEY_HCA, KEY_ADAPTERS, KEY_RATE, KEY_PKEY, KEY_LINK };

static const struct argp_option own_options[] = {
	{"hca", KEY_HCA, "LIST", 0, "the adapters that count, as NCCL_IB_HCA has them (default: all)", 0},
	{"adapters", KEY_ADAPTERS, "N", 0, "as many must have an active port (default: one)", 0},
	{"rate", KEY_RATE, "GBPS", 0, "rate that each port must have (default: that of the fastest of its kind here)", 0},
	{"pkey-index", KEY_PKEY, "N", 0, "index of the P_Key that the job uses, as NCCL_IB_PKEY (default 0)", 0},
	{"link-layer", KEY_LINK, "LAYER", 0, "ports that count: infiniband (default) or ethernet", 0},
	{"sysfs", KEY_SYSFS, "FOLDER", 0, "read there, not in /sys", 0},
	{0},
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct host_options *o = state->input;

	switch (key) {
	case ARGP_KEY_INIT:
		cmd_hand_down(state, &o->common);
		return 0;
	case KEY_SYSFS:
		o->sysfs = arg;
		return 0;
	case KEY_HCA:
		o->wish.hca = arg;
		return 0;
	case KEY_ADAPTERS:
		o->wish.adapters = (unsigned)cmd_number(state, "--adapters", arg, 1, 1024);
		return 0;
	case KEY_RATE:
		o->wish.gbps = (double)cmd_number(state, "--rate", arg, 1, 100000);
		return 0;
	case KEY_PKEY:
		o->wish.pkey_index = (unsigned)cmd_number(state, "--pkey-index", arg, 0, 65535);
		return 0;
	case KEY_LINK:
		o->wish.link = cmd_job_link(state, arg);
		return 0;
	default:
		return cmd_argument(key, arg, state, &o->common, 0, NULL);
	}
}

const struct argp cmd_job_host_argp = {
	.options = own_options,
	.parser = parse,
	.doc = "Looks at the adapters of this host by sysfs, without asking the fabric: state and rate of their ports, PCIe against "
	       "what the ports need, firmware, P_Keys, the module for GPUDirect. Ready for a batch system's prolog or an init "
	       "container, by its exit status.\v"
	       "Exit status: 0 fit, 1 warnings, 2 do not start a job here, 3 something could not be read.",
	.children = cmd_output_children,
};

static void report(struct report *r, const struct job_host *host)
{
	static const struct report_column columns[] = {
		{.key = "adapter", .title = "adapter", .type = REPORT_STRING},
		{.key = "port", .title = "port", .type = REPORT_NUMBER},
		{.key = "link_layer", .title = "link layer", .type = REPORT_STRING},
		{.key = "state", .title = "state", .type = REPORT_STRING},
		{.key = "rate", .title = "rate", .type = REPORT_STRING},
		{.key = "lid", .title = "LID", .type = REPORT_NUMBER},
		{.key = "pcie_gbps", .title = "PCIe", .type = REPORT_REAL, .unit = "Gb/s", .decimals = 0},
		{.key = "type", .title = "type", .type = REPORT_STRING},
		{.key = "firmware", .title = "firmware", .type = REPORT_STRING},
	};

	report_table(r, "ports", "adapters", columns, sizeof(columns) / sizeof(columns[0]));
	for (size_t i = 0; i < host->hca_count; i++) {
		const struct job_hca *h = &host->hcas[i];
		double pcie = job_pcie_gbps(h->pcie_gts, h->pcie_width);

		for (size_t n = 0; n < h->port_count; n++) {
			const struct job_port *p = &h->ports[n];

			report_cell_string(r, h->name);
			report_cell_number(r, p->number);
			report_cell_string(r, !p->known_layer ? NULL : p->infiniband ? "InfiniBand" : "Ethernet");
			report_cell_string(r, p->state_name);
			report_cell_string(r, p->rate);
			report_cell_number(r, p->lid);
			if (pcie > 0)
				report_cell_real(r, pcie);
			else
				report_cell_string(r, NULL);
			report_cell_string(r, h->type);
			report_cell_string(r, h->firmware);
			report_row_end(r);
		}
	}
	report_table_end(r);
}

enum ibqos_exit cmd_job_host(struct ibqos_ctx *ctx, int argc, char **argv)
{
	struct host_options options = {.sysfs = "/sys"};
	struct job_host host = {0};
	struct cmd_session s;
	int error;

	cmd_defaults(&options.common, ctx);
	cmd_parse(&cmd_job_host_argp, argc, argv, &options);
	if (!session_begin(&s, ctx, &options.common))
		return IBQOS_EXIT_UNKNOWN;
	error = job_host_read(options.sysfs, &host);
	if (error != 0 && error != -ENOENT) {
		session_fail(&s, "cannot read %s/class/infiniband: %s", options.sysfs, strerror(-error));
	} else {
		report(s.report, &host);
		report_bool(s.report, "peermem", "module for GPUDirect", host.peermem);
		job_host_check(&host, &options.wish, options.sysfs, &s.findings);
	}
	job_host_clear(&host);
	return session_end(&s);
}
