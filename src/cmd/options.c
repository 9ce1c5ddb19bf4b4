/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Options that commands share, as child tables of argp: parser and help come from the same rows. */
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "cmd.h"

enum {
	KEY_RETRIES = 0x100,
	KEY_MAD_RATE,
	KEY_DEVICE_WINDOW,
	KEY_DIRECTED,
	KEY_NODE_NAME_MAP,
	KEY_WALKER,
	KEY_FABRIC,
	KEY_PORT_GUID,
	KEY_FROM,
	KEY_GUID2MKEY,
	KEY_NODE,
	KEY_SWITCH,
	KEY_HOSTS,
	KEY_FORMAT,
	KEY_OUTPUT,
	KEY_METRICS,
	KEY_LABEL,
	KEY_ALL,
	KEY_COLOR,
	KEY_TRUST,
	KEY_USAGE,
};

/* How devices are asked, whichever the port. */
#define ASKING_ROWS \
	{"timeout", 't', "MS", 0, "wait for an answer (default 1000)", 0}, \
	{"retries", KEY_RETRIES, "N", 0, "ask again when no answer came (default 3)", 0}, \
	{"outstanding_smps", 'o', "N", 0, "MADs on the wire at once, at most (default 16)", 0}, \
	{"device-window", KEY_DEVICE_WINDOW, "N", 0, "MADs to one device at once, at most (default 4)", 0}, \
	{"mad-rate", KEY_MAD_RATE, "N", 0, "MADs a second at most; 0: no ceiling (default 20000)", 0}, \
	{"directed-route", KEY_DIRECTED, NULL, 0, "ask by directed route even where a LID is known", 0}, \
	{"walker", KEY_WALKER, "WHO", 0, "who discovers: native (default) or libibnetdisc", 0}, \
	{"m_key", 'y', "FILE", 0, "M_Key of the devices, from a file; 'prompt': asked for at the terminal", 0}, \
	{"guid2mkey", KEY_GUID2MKEY, "FILE", 0, "M_Keys by port, as OpenSM keeps them", 0}, \
	{"pkey-idx", 'Y', "N", 0, "index of the P_Key to ask the subnet administrator with (default 0)", 0}, \
	{"config", 'z', "FILE", 0, "config of infiniband-diags (default /etc/infiniband-diags/ibdiag.conf)", 0}

static const struct argp_option fabric_options[] = {
	{NULL, 0, NULL, 0, "Fabric:", 1},
	{"Ca", 'C', "CA", 0, "adapter to look from (default: the first with an active port)", 0},
	{"Port", 'P', "PORT", 0, "port of the adapter to look from", 0},
	{"port-guid", KEY_PORT_GUID, "GUID", 0, "port to look from, by its GUID, in place of -C and -P", 0},
	ASKING_ROWS,
	{"node-name-map", KEY_NODE_NAME_MAP, "FILE", 0, "names of nodes, as for infiniband-diags", 0},
	{"fabric", KEY_FABRIC, "LABEL", 0, "name of this fabric in all output", 0},
	{0},
};

static const struct argp_option asking_options[] = {
	{NULL, 0, NULL, 0, "With --site, of each fabric:", 1},
	ASKING_ROWS,
	{0},
};

static const struct argp_option from_options[] = {
	{NULL, 0, NULL, 0, "Instead of the fabric:", 1},
	{"from", KEY_FROM, "FILE", 0, "look at a snapshot, or what ibnetdiscover or ibdiagnet wrote, not at the fabric itself", 0},
	{0},
};

static const struct argp_option scope_options[] = {
	{NULL, 0, NULL, 0, "Scope (discovery is of the whole fabric):", 1},
	{"node", KEY_NODE, "NAME", 0, "only the ports of this node, by name or GUID, and their links; may be repeated", 0},
	{"switch", KEY_SWITCH, "NAME", 0, "only the ports of this switch, and their links; may be repeated", 0},
	{"hosts", KEY_HOSTS, "NODELIST", 0, "only the adapters of these hosts, and their links: gpu-[001-008,012],login-1", 0},
	{0},
};

static const struct argp_option output_options[] = {
	{NULL, 0, NULL, 0, "Output:", 2},
	{"format", KEY_FORMAT, "FORMAT", 0, "text (default), json, html (a page for a browser), prometheus (metrics), or nagios (one line for Nagios or Icinga)", 0},
	{"output", KEY_OUTPUT, "FILE", 0, "write there, replacing the file whole, not to standard output", 0},
	{"metrics", KEY_METRICS, "FILE", 0, "besides, write metrics there for node_exporter's textfile collector, replacing the file whole", 0},
	{"label", KEY_LABEL, "NAME=VALUE", 0, "a label of all metrics, as job_id=1234; may be repeated", 0},
	{"all", KEY_ALL, NULL, 0, "name each place of alike findings", 0},
	{"color", KEY_COLOR, "WHEN", 0, "colour of words: auto (default; on a terminal, unless NO_COLOR is set), always or never", 0},
	{NULL, 0, NULL, 0, "Other:", 3},
	{"trust", KEY_TRUST, "USER:GROUP", 0, "who else may write the files that it goes by: USER, :GROUP, or both; may be repeated", 0},
	{"verbose", 'v', NULL, 0, "more messages", 0},
	{"debug", 'd', NULL, 0, "debugging messages", 0},
	{"quiet", 'q', NULL, 0, "only findings and the verdict, and of messages only errors", 0},
	{"version", 'V', NULL, 0, "show the version", 0},
	{"help", 'h', NULL, 0, "show this help", 0},
	{"usage", KEY_USAGE, NULL, OPTION_HIDDEN, NULL, 0},
	{0},
};

uint64_t cmd_number(struct argp_state *state, const char *option, const char *text, uint64_t low, uint64_t high)
{
	uint64_t value = 0;

	if (text_to_u64(text, UINT64_MAX, &value) != 0 || value < low || value > high)
		argp_error(state, "%s takes a whole number from %ju to %ju, not '%s'", option, (uintmax_t)low,
			   (uintmax_t)high, text);
	return value;
}

uint64_t cmd_duration(struct argp_state *state, const char *option, const char *text, uint64_t low, uint64_t high)
{
	uint64_t value = 0;

	if (text_duration(text, UINT64_MAX, &value) != 0 || value < low || value > high)
		argp_error(state, "%s takes a time from %ju s to %ju s, as 90s, 10m, 1h or 2d, not '%s'", option, (uintmax_t)low,
			   (uintmax_t)high, text);
	return value;
}

static error_t parse_fabric(int key, char *arg, struct argp_state *state)
{
	struct cmd_options *o = state->input;
	struct mad_limits *limits = &o->source.limits;
	uint64_t number;

	switch (key) {
	case 'C':
		o->source.device = arg;
		return 0;
	case 'P':
		o->source.port = (int)cmd_number(state, "--Port", arg, 1, 254);
		return 0;
	case KEY_PORT_GUID:
		o->source.port_guid = cmd_number(state, "--port-guid", arg, 1, UINT64_MAX);
		return 0;
	case 't':
		limits->timeout_ms = (unsigned)cmd_number(state, "--timeout", arg, 1, 60000);
		o->timeout_given = true;
		return 0;
	case KEY_RETRIES:
		limits->retries = (unsigned)cmd_number(state, "--retries", arg, 0, 20);
		return 0;
	case 'o':
		limits->window = (unsigned)cmd_number(state, "--outstanding_smps", arg, 1, 4096);
		return 0;
	case KEY_DEVICE_WINDOW:
		limits->device_window = (unsigned)cmd_number(state, "--device-window", arg, 1, 4096);
		return 0;
	case KEY_MAD_RATE:
		limits->rate = (unsigned)cmd_number(state, "--mad-rate", arg, 0, 10000000);
		return 0;
	case KEY_DIRECTED:
		o->source.directed = true;
		return 0;
	case KEY_NODE_NAME_MAP:
		o->source.node_name_map = arg;
		return 0;
	case KEY_WALKER:
		if (strcmp(arg, "native") == 0)
			o->source.walker = SOURCE_WALK_NATIVE;
		else if (strcmp(arg, "libibnetdisc") == 0)
			o->source.walker = SOURCE_WALK_LIBIBNETDISC;
		else
			argp_error(state, "--walker takes one of native, libibnetdisc, not '%s'", arg);
		return 0;
	case 'y':
		if (text_to_u64(arg, UINT64_MAX, &number) != -EINVAL)
			argp_error(state, "--m_key takes a file that holds the key, or 'prompt': on the command line anybody could read it");
		o->m_key = arg;
		return 0;
	case KEY_GUID2MKEY:
		o->guid2mkey = arg;
		return 0;
	case 'Y':
		o->source.pkey_index = (uint16_t)cmd_number(state, "--pkey-idx", arg, 0, UINT16_MAX);
		return 0;
	case 'z':
		o->config = arg;
		return 0;
	case KEY_FABRIC:
		o->ctx->fabric = arg;
		return 0;
	case ARGP_KEY_SUCCESS:
		if (o->source.port_guid && (o->source.device || o->source.port))
			argp_error(state, "--port-guid stands in place of -C and -P");
		/* A window of 1 for all is 1 for a device too; the engine refuses contradictions. */
		if (limits->device_window > limits->window)
			limits->device_window = limits->window;
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

/* For commands that look at fabrics with --site alone. */
static error_t parse_asking(int key, char *arg, struct argp_state *state)
{
	struct cmd_options *o = state->input;
	error_t error = parse_fabric(key, arg, state);

	if (key == ARGP_KEY_SUCCESS && o->asks && !o->site)
		argp_error(state, "options of how devices are asked are for --site: files are not asked");
	o->asks |= error == 0 && key != ARGP_KEY_SUCCESS;
	return error;
}

static error_t parse_scope(int key, char *arg, struct argp_state *state)
{
	struct cmd_options *o = state->input;
	enum scope_kind kind;

	switch (key) {
	case KEY_NODE:
		kind = SCOPE_NODE;
		break;
	case KEY_SWITCH:
		kind = SCOPE_SWITCH;
		break;
	case KEY_HOSTS:
		kind = SCOPE_HOSTS;
		break;
	default:
		return ARGP_ERR_UNKNOWN;
	}
	if (o->scope_count == CMD_SCOPE_MAX)
		argp_error(state, "more than %d of --node, --switch and --hosts: name hosts in one list", CMD_SCOPE_MAX);
	o->scope[o->scope_count++] = (struct scope_name){kind, arg};
	return 0;
}

static error_t parse_from(int key, char *arg, struct argp_state *state)
{
	struct cmd_options *o = state->input;

	switch (key) {
	case KEY_FROM:
		o->from = arg;
		return 0;
	case ARGP_KEY_SUCCESS:
		if (o->from && (o->source.device || o->source.port || o->source.port_guid || o->source.directed))
			argp_error(state, "--from reads a file: -C, -P, --port-guid and --directed-route mean nothing there");
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static void add_label(struct argp_state *state, struct cmd_options *o, const char *text)
{
	size_t length = strcspn(text, "=");
	char name[64];

	if (text[length] != '=' || length >= sizeof(name))
		argp_error(state, "--label takes NAME=VALUE, as job_id=1234, not '%s'", text);
	snprintf(name, sizeof(name), "%.*s", (int)length, text);
	if (!report_label_good(name))
		argp_error(state, "--label: '%s' cannot be the name of a label: letters, digits and _, and none that ibqos itself has", name);
	for (unsigned i = 0; i < o->label_count; i++)
		if (strncmp(o->labels[i], text, length + 1) == 0)
			argp_error(state, "--label: '%s' is given twice", name);
	if (o->label_count == CMD_LABELS_MAX)
		argp_error(state, "more than %d of --label", CMD_LABELS_MAX);
	o->labels[o->label_count++] = text;
}

static void add_trust(struct argp_state *state, const struct cmd_options *o, const char *text)
{
	int error = trust_add(o->ctx->trust, text);

	if (error == -EINVAL)
		argp_error(state, "--trust takes USER, :GROUP or USER:GROUP of this machine, not '%s'", text);
	else if (error == -ENOSPC)
		argp_error(state, "more than %d users or groups to trust", TRUST_MAX);
	else if (error != 0)
		argp_failure(state, IBQOS_EXIT_UNKNOWN, 0, "out of memory");
}

static error_t parse_output(int key, char *arg, struct argp_state *state)
{
	struct cmd_options *o = state->input;

	switch (key) {
	case KEY_FORMAT:
		if (report_format_of(arg, &o->format) != 0)
			argp_error(state, "--format takes one of %s, not '%s'", report_format_names(), arg);
		return 0;
	case KEY_OUTPUT:
		o->output = arg;
		return 0;
	case KEY_METRICS:
		o->metrics = arg;
		return 0;
	case ARGP_KEY_SUCCESS:
		if (o->metrics && o->output && file_same(o->metrics, o->output) == 1)
			argp_error(state, "--output and --metrics name one file: the metrics would replace the report");
		return 0;
	case KEY_LABEL:
		add_label(state, o, arg);
		return 0;
	case KEY_ALL:
		o->all = true;
		return 0;
	case KEY_COLOR:
		if (strcmp(arg, "auto") == 0)
			o->color = CMD_COLOR_AUTO;
		else if (strcmp(arg, "always") == 0)
			o->color = CMD_COLOR_ALWAYS;
		else if (strcmp(arg, "never") == 0)
			o->color = CMD_COLOR_NEVER;
		else
			argp_error(state, "--color takes one of auto, always, never, not '%s'", arg);
		return 0;
	case KEY_TRUST:
		add_trust(state, o, arg);
		return 0;
	case 'v':
		o->ctx->verbosity++;
		return 0;
	case 'd':
		o->ctx->verbosity = 2;
		return 0;
	case 'q':
		o->ctx->verbosity = -1;
		return 0;
	case 'V':
		printf("ibqos %s\n", IBQOS_VERSION);
		exit(fflush(stdout) ? IBQOS_EXIT_UNKNOWN : IBQOS_EXIT_CLEAN);
	case KEY_USAGE:
		argp_state_help(state, stdout, ARGP_HELP_USAGE | ARGP_HELP_EXIT_OK);
		return 0;
	case 'h':
		argp_state_help(state, stdout, ARGP_HELP_STD_HELP & ~(unsigned)(ARGP_HELP_EXIT_ERR | ARGP_HELP_EXIT_OK));
		cmd_examples(stdout, o->ctx->command);
		exit(fflush(stdout) ? IBQOS_EXIT_UNKNOWN : IBQOS_EXIT_CLEAN);
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp fabric_argp = {.options = fabric_options, .parser = parse_fabric};
static const struct argp asking_argp = {.options = asking_options, .parser = parse_asking};
static const struct argp scope_argp = {.options = scope_options, .parser = parse_scope};
static const struct argp from_argp = {.options = from_options, .parser = parse_from};
static const struct argp output_argp = {.options = output_options, .parser = parse_output};

const struct argp_child cmd_fabric_children[] = {{&fabric_argp, 0, NULL, 1}, {&output_argp, 0, NULL, 2}, {0}};
const struct argp_child cmd_asking_children[] = {{&asking_argp, 0, NULL, 1}, {&output_argp, 0, NULL, 2}, {0}};
const struct argp_child cmd_source_children[] = {
	{&fabric_argp, 0, NULL, 1}, {&from_argp, 0, NULL, 1}, {&output_argp, 0, NULL, 2}, {0}};
const struct argp_child cmd_scope_children[] = {
	{&fabric_argp, 0, NULL, 1}, {&from_argp, 0, NULL, 1}, {&scope_argp, 0, NULL, 1}, {&output_argp, 0, NULL, 2}, {0}};
const struct argp_child cmd_output_children[] = {{&output_argp, 0, NULL, 2}, {0}};

void cmd_hand_down(struct argp_state *state, struct cmd_options *options)
{
	const struct argp_child *child = state->root_argp->children;

	for (unsigned i = 0; child && child[i].argp; i++)
		state->child_inputs[i] = options;
}

bool cmd_site_option(struct cmd_options *options, int key, const char *arg)
{
	if (key == CMD_KEY_SITE)
		options->site = arg;
	else if (key == CMD_KEY_OPENSM_CONFIG)
		options->opensm_config = arg;
	else
		return false;
	return true;
}

void cmd_no_metrics(struct argp_state *state, const struct cmd_options *options)
{
	if (options->metrics || options->format == REPORT_PROMETHEUS || options->format == REPORT_NAGIOS)
		argp_error(state, "this command measures nothing: it has no metrics, and no line for Nagios");
}

error_t cmd_argument(int key, char *arg, struct argp_state *state, struct cmd_options *options, unsigned wanted,
		     const char *name)
{
	switch (key) {
	case ARGP_KEY_ARG:
		if (options->arguments == wanted)
			argp_error(state, "'%s' is one argument too many", arg);
		options->argument[options->arguments++] = arg;
		return 0;
	case ARGP_KEY_END:
		if (options->arguments < wanted && !options->site) /* site_args.c sees to those */
			argp_error(state, "%s is missing", name);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

error_t cmd_keep(struct argp_state *state, const char ***list, size_t *count, size_t *room, const char *item)
{
	const char **grown = array_grow(*list, room, *count + 1, sizeof(*grown));

	if (!grown) {
		argp_failure(state, IBQOS_EXIT_UNKNOWN, 0, "out of memory");
		return ENOMEM;
	}
	*list = grown;
	(*list)[(*count)++] = item;
	return 0;
}

void cmd_defaults(struct cmd_options *options, struct ibqos_ctx *ctx)
{
	*options = (struct cmd_options){
		.ctx = ctx,
		.source = {.limits = MAD_LIMITS_DEFAULT},
		.format = REPORT_TEXT,
	};
}
