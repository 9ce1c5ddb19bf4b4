/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* The site file, version 1: its keys, and what each one sets. The manual page and the schema are made of these tables. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "site.h"

#define ABSOLUTE "an absolute path"

/* A text of a fabric. */
#define SET_TEXT(function, member) \
	static int function(struct policy_reader *in, void *target, const struct key_value *value) \
	{ \
		struct site_fabric *fabric = target; \
\
		(void)in; \
		return text_set(&fabric->member, value->node->text); \
	}

SET_TEXT(set_name, name)
SET_TEXT(set_ca, ca)
SET_TEXT(set_policy, policy)
SET_TEXT(set_baseline, baseline)
SET_TEXT(set_state, state)
SET_TEXT(set_rotation, rotation)
SET_TEXT(set_node_name_map, node_name_map)
SET_TEXT(set_guid2mkey, guid2mkey)
SET_TEXT(set_config, opensm_config)
SET_TEXT(set_host, opensm_host)
SET_TEXT(set_history, history)
SET_TEXT(set_program, program)

static int set_port_number(struct policy_reader *in, void *target, const struct key_value *value)
{
	struct site_fabric *fabric = target;

	(void)in;
	fabric->port = value->number;
	return 0;
}

static int set_port_guid(struct policy_reader *in, void *target, const struct key_value *value)
{
	struct site_fabric *fabric = target;

	(void)in;
	fabric->port_guid = value->low;
	return 0;
}

static int set_timeout(struct policy_reader *in, void *target, const struct key_value *value)
{
	struct site_fabric *fabric = target;

	(void)in;
	fabric->timeout_s = value->number;
	return 0;
}

/* Called for each word, SITE_WORDS_MAX times at most. */
static int set_via(struct policy_reader *in, void *target, const struct key_value *value)
{
	struct site_fabric *fabric = target;

	(void)in;
	if (!fabric->via)
		fabric->via = calloc(SITE_WORDS_MAX, sizeof(*fabric->via));
	if (!fabric->via)
		return -ENOMEM;
	fabric->via[fabric->via_count] = strdup(value->node->text);
	return fabric->via[fabric->via_count++] ? 0 : -ENOMEM;
}

#define ADAPTER "names of adapters, as mlx5_0, or mlx5_0:2 for one port"

/* A word of letters, digits, '_', '-' and '.', which may have a port behind it, 1 to 254. */
static bool is_adapter(const char *text)
{
	static const char name[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.";
	size_t length = strspn(text, name), digits;
	const char *port = text + length + 1;

	if (length == 0 || length > 63 || (text[length] && text[length] != ':'))
		return false;
	if (!text[length])
		return true;
	digits = strspn(port, "0123456789");
	return digits >= 1 && digits <= 3 && !port[digits] && *port != '0' && strtoul(port, NULL, 10) <= 254;
}

/* Called for each word, SITE_WORDS_MAX times at most. */
static int set_adapter(struct policy_reader *in, void *target, const struct key_value *value)
{
	struct site_fabric *fabric = target;
	struct finding *f;

	if (!is_adapter(value->node->text)) {
		f = read_finding(in, FINDING_POLICY_RANGE, value->node->mark);
		finding_set(&f->what, "key 'adapters'");
		finding_set(&f->wanted, ADAPTER);
		read_set_got(&f->got, value->node);
		return 0;
	}
	if (!fabric->adapters)
		fabric->adapters = calloc(SITE_WORDS_MAX, sizeof(*fabric->adapters));
	if (!fabric->adapters)
		return -ENOMEM;
	fabric->adapters[fabric->adapter_count] = strdup(value->node->text);
	return fabric->adapters[fabric->adapter_count++] ? 0 : -ENOMEM;
}

/* --- the port --- */

static const struct key_row port_rows[] = {
	{.name = "ca",
	 .type = VALUE_NAME,
	 .set = set_ca,
	 .wanted = "the name of an adapter, as mlx5_0",
	 .doc = "The adapter, as ``-C`` takes it."},
	{.name = "port",
	 .type = VALUE_INTEGER,
	 .min = 1,
	 .max = 254,
	 .set = set_port_number,
	 .wanted = "a whole number 1-254",
	 .doc = "Its port, as ``-P`` takes it. Default: the first that is active."},
	{.name = "guid",
	 .type = VALUE_NUMBER,
	 .min = 1,
	 .max = UINT64_MAX,
	 .set = set_port_guid,
	 .wanted = "a GUID, hexadecimal with 0x",
	 .doc = "The port by its GUID, in place of adapter and number, which a new adapter or another slot changes."},
};
static const struct key_table port_key_table = KEY_TABLE("port", port_rows, true);

static int set_port(struct policy_reader *in, void *target, const struct key_value *value)
{
	struct site_fabric *fabric = target;
	int r = read_keys(in, value->node, &port_key_table, fabric);
	struct finding *f;

	if (r != 0 || !fabric->port_guid || (!fabric->ca && !fabric->port))
		return r;
	f = read_finding(in, FINDING_POLICY_KEY_CONFLICT, value->node->mark);
	finding_set(&f->what, "port");
	finding_set(&f->wanted, "either 'guid', or 'ca' and 'port'");
	return 0;
}

/* --- OpenSM --- */

static const struct key_row opensm_rows[] = {
	{.name = "config",
	 .type = VALUE_PATH,
	 .set = set_config,
	 .wanted = ABSOLUTE,
	 .doc = "The config that this fabric's OpenSM was started with, in place of the one that the policy names, as "
		"``--opensm-config``: one policy can then serve many fabrics. A log that the policy names is that of its own."},
	{.name = "host",
	 .type = VALUE_TEXT,
	 .set = set_host,
	 .wanted = "the name of a host",
	 .doc = "The host on which it runs, where that is another than the one on which ibqos is run for this fabric. Nothing "
		"of OpenSM's files is then looked for here; ``ibqos apply --stage DIR --site FILE`` says what to do there, and a "
		"**config** is that host's."},
};
static const struct key_table opensm_key_table = KEY_TABLE("opensm", opensm_rows, true);

static int set_opensm(struct policy_reader *in, void *target, const struct key_value *value)
{
	return read_keys(in, value->node, &opensm_key_table, target);
}

/* --- fabrics and their defaults --- */

#define SHARED_ROWS \
	{.name = "policy", .type = VALUE_PATH, .set = set_policy, .wanted = ABSOLUTE, \
	 .doc = "The policy (ibqos-policy(5)), for plan, verify and snapshot, and for what audit expects of links."}, \
	{.name = "baseline", .type = VALUE_PATH, .set = set_baseline, .wanted = ABSOLUTE, \
	 .doc = "What audit compares with: a snapshot, or a file of ibnetdiscover."}, \
	{.name = "state", .type = VALUE_PATH, .set = set_state, .wanted = ABSOLUTE, \
	 .doc = "What audit remembers, as its ``--state``."}, \
	{.name = "rotation", .type = VALUE_PATH, .set = set_rotation, .wanted = ABSOLUTE, \
	 .doc = "Where ``verify --sample`` keeps which part is next, as its ``--rotate``."}, \
	{.name = "node_name_map", .type = VALUE_PATH, .set = set_node_name_map, .wanted = ABSOLUTE, \
	 .doc = "Names of nodes, as for infiniband-diags."}, \
	{.name = "guid2mkey", .type = VALUE_PATH, .set = set_guid2mkey, .wanted = ABSOLUTE, \
	 .doc = "M_Keys by port, as OpenSM keeps them."}, \
	{.name = "opensm", .type = VALUE_MAPPING, .keys = &opensm_key_table, .set = set_opensm, \
	 .wanted = "keys and values: config, host", .doc = "This fabric's subnet manager."}, \
	{.name = "history", .type = VALUE_PATH, .set = set_history, .wanted = ABSOLUTE, \
	 .doc = "The folder in which apply keeps this fabric's history, as ``--state-dir``."}, \
	{.name = "via", .type = VALUE_TEXT, .many = SITE_WORDS_MAX, .set = set_via, .wanted = "words of a command", \
	 .doc = "A command that runs the command behind it where this fabric can be reached: ``[ssh, mgmt2]``. It is started as it " \
		"stands, without a shell; behind ``ssh``, which hands all to a shell there, ibqos's own words are quoted. All " \
		"other files of this fabric are then files there."}, \
	{.name = "program", .type = VALUE_TEXT, .set = set_program, .wanted = "the path or name of a program", \
	 .doc = "ibqos behind **via**. Default: ``ibqos`` behind ssh, else the file of this ibqos."}, \
	{.name = "timeout", .type = VALUE_INTEGER, .min = 1, .max = 86400, .set = set_timeout, .wanted = "a whole number 1-86400", \
	 .doc = "Seconds after which the fabric's answer is given up; it is then unknown. Default: 3600."}

static const struct key_row fabric_rows[] = {
	{.name = "name",
	 .type = VALUE_NAME,
	 .required = true,
	 .set = set_name,
	 .wanted = "a letter, then letters, digits, '_' or '-', 64 at most",
	 .doc = "What the fabric is called in all output."},
	{.name = "port",
	 .type = VALUE_MAPPING,
	 .keys = &port_key_table,
	 .set = set_port,
	 .wanted = "keys and values: ca, port, guid",
	 .doc = "The port that reaches it. Default: the first active one."},
	{.name = "adapters",
	 .type = VALUE_TEXT,
	 .many = SITE_WORDS_MAX,
	 .set = set_adapter,
	 .wanted = ADAPTER,
	 .doc = "The adapters that the hosts have in this fabric, by the names that they have there, the same on each host: what "
		"``ibqos job check --site`` compares NCCL_IB_HCA with, and ``ibqos rails --site`` the cabling. No fabric has an "
		"adapter of another one. A fabric without this key is no rail of the jobs."},
	SHARED_ROWS,
};
static const struct key_table fabric_key_table = KEY_TABLE("fabric", fabric_rows, false);

static const struct key_row default_rows[] = {SHARED_ROWS};
static const struct key_table default_key_table = KEY_TABLE("defaults", default_rows, true);

static void *add_fabric(struct policy_reader *in, void *target, struct policy_mark mark)
{
	struct site *site = target;
	struct site_fabric *fabrics = array_grow(site->fabrics, &site->room, site->count + 1, sizeof(*fabrics));

	(void)in;
	if (!fabrics)
		return NULL;
	site->fabrics = fabrics;
	fabrics[site->count].line = mark.line;
	fabrics[site->count].column = mark.column;
	return &fabrics[site->count++];
}

static int set_fabrics(struct policy_reader *in, void *target, const struct key_value *value)
{
	return read_list(in, value->node, &fabric_key_table, SITE_FABRICS_MAX, add_fabric, target);
}

static int set_defaults(struct policy_reader *in, void *target, const struct key_value *value)
{
	struct site *site = target;

	return read_keys(in, value->node, &default_key_table, &site->defaults);
}

/* --- the whole --- */

static int set_version(struct policy_reader *in, void *target, const struct key_value *value)
{
	(void)in;
	(void)target;
	(void)value; /* its range allows version 1 only */
	return 0;
}

static int set_site_name(struct policy_reader *in, void *target, const struct key_value *value)
{
	struct site *site = target;

	(void)in;
	return text_set(&site->name, value->node->text);
}

static int set_all_ports(struct policy_reader *in, void *target, const struct key_value *value)
{
	struct site *site = target;

	(void)in;
	site->all_active_ports = value->number;
	return 0;
}

static const struct key_row site_rows[] = {
	{.name = "version",
	 .type = VALUE_INTEGER,
	 .required = true,
	 .min = 1,
	 .max = 1,
	 .set = set_version,
	 .wanted = "1, the version of site files that this ibqos reads",
	 .doc = "1, the version of the language."},
	{.name = "name",
	 .type = VALUE_NAME,
	 .set = set_site_name,
	 .wanted = "a letter, then letters, digits, '_' or '-', 64 at most",
	 .doc = "What the site is called."},
	{.name = "defaults",
	 .type = VALUE_MAPPING,
	 .keys = &default_key_table,
	 .set = set_defaults,
	 .wanted = "keys and values that each fabric has which says nothing else",
	 .doc = "What each fabric has that says nothing else. ``{fabric}`` in a path or word stands for the fabric's name."},
	{.name = "fabrics",
	 .type = VALUE_LIST,
	 .keys = &fabric_key_table,
	 .set = set_fabrics,
	 .wanted = "a list of fabrics",
	 .doc = "The fabrics, 1 to 64, in the order of all output. Required unless **all_active_ports** is true."},
	{.name = "all_active_ports",
	 .type = VALUE_BOOLEAN,
	 .set = set_all_ports,
	 .wanted = "true or false",
	 .doc = "Whether each active InfiniBand port of this host that no fabric names is a fabric of its own, named by adapter "
		"and port, as ``mlx5_3-1``. Ports that turn out to reach the same fabric are told; the fabric is looked at "
		"once."},
};
const struct key_table site_key_table = KEY_TABLE("site", site_rows, false);
