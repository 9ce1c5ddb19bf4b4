/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * OpenSM's command line, taken apart as its getopt_long_only() does (main.c:630-756): options may
 * stand anywhere, long ones after one dash or two and cut short as long as they are unambiguous,
 * short ones in clusters; the last of two decides. So all its options must be known here, else the
 * value of one could be taken for another.
 */
#include <string.h>

#include "instance.h"

#define SHORT_WITH_VALUE "FciwOfdDglLstaumXRMUSPYZpnqkCGH"
#define SHORT_ALONE "ezANWBIQvVhoryx"

/* Of options without one: no letter that a short option has. */
#define LETTER_PREFIX_ROUTES 3
#define LETTER_SNM 4
#define LETTER_MESH 5
#define LETTER_LASH_VL 6
#define LETTER_SM_SL 7
#define LETTER_LOG_PREFIX 9
#define LETTER_TORUS 10
#define LETTER_SHIFT 11
#define LETTER_SCATTER 14
#define LETTER_NUE_VLS 15
#define LETTER_CONGESTION 16

struct long_option {
	const char *name;
	bool value;
};

static const struct long_option long_options[] = {
	{"D", true},
	{"Pconfig", true},
	{"V", false},
	{"allow_both_pkeys", false},
	{"cc_key", true},
	{"cn_guid_file", true},
	{"config", true},
	{"congestion_control", false},
	{"connect_roots", false},
	{"console", true},
	{"console-port", true},
	{"consolidate_ipv6_snm_req", false},
	{"create-config", true},
	{"daemon", false},
	{"debug", true},
	{"dimn_ports_file", true},
	{"do_mesh_analysis", false},
	{"dump_files_dir", true},
	{"erase_log_file", false},
	{"guid", true},
	{"guid_routing_order_file", true},
	{"guid_routing_order_no_scatter", false},
	{"help", false},
	{"honor_guid2lid", false},
	{"hop_weights_file", true},
	{"ids_guid_file", true},
	{"ignore_guids", true},
	{"inactive", false},
	{"io_guid_file", true},
	{"lash_start_vl", true},
	{"lfts_file", true},
	{"lid_matrix_file", true},
	{"lmc", true},
	{"log_file", true},
	{"log_limit", true},
	{"log_prefix", true},
	{"max_reverse_hops", true},
	{"maxsmps", true},
	{"no_part_enforce", false},
	{"nue_max_num_vls", true},
	{"once", false},
	{"part_enforce", true},
	{"perfmgr", false},
	{"perfmgr_sweep_time_s", true},
	{"pidfile", true},
	{"port-shifting", false},
	{"port_search_ordering_file", true},
	{"prefix_routes_file", true},
	{"priority", true},
	{"qos", false},
	{"qos_policy_file", true},
	{"reassign_lids", false},
	{"retries", true},
	{"root_guid_file", true},
	{"routing_engine", true},
	{"sadb_file", true},
	{"scatter-ports", true},
	{"sm_sl", true},
	{"smkey", true},
	{"stay_on_fatal", false},
	{"subnet_prefix", true},
	{"sweep", true},
	{"timeout", true},
	{"torus_config", true},
	{"ucast_cache", false},
	{"verbose", false},
	{"version", false},
};

#define LONG_OPTIONS (sizeof(long_options) / sizeof(*long_options))

struct reader {
	const char *at, *end; /* the argument that comes next, and where all end */
	struct opensm_arguments *out;
};

static const char *next_argument(struct reader *in)
{
	const char *argument = in->at;

	if (argument >= in->end)
		return NULL;
	in->at += strlen(argument) + 1;
	return argument;
}

/* Keys of opensm.conf that a reload reads again and an option may have set: what runs is then not what the file says. */
static const struct {
	char letter;
	const char *key;
} keys[] = {
	{'D', "log_flags"},	   {'V', "log_flags"},	      {'v', "log_flags"},	{'d', "ignore_other_sm"},
	{'d', "force_log_flush"},  {'d', "disable_multicast"}, {'s', "sweep_interval"}, {'L', "log_max_size"},
	{'e', "accum_log_file"},   {'n', "max_wire_smps"},    {'r', "reassign_lids"},	{'p', "sm_priority"},
	{'z', "connect_roots"},	   {'x', "honor_guid2lid_file"}, {'y', "exit_on_fatal"}, {'I', "sm_inactive"},
	{'N', "no_partition_enforcement"}, {'Z', "part_enforce"}, {'Q', "qos"},	{'k', "sm_key"},
	{LETTER_SNM, "consolidate_ipv6_snm_req"}, {LETTER_MESH, "do_mesh_analysis"}, {LETTER_LASH_VL, "lash_start_vl"},
	{LETTER_SM_SL, "sm_sl"},   {LETTER_LOG_PREFIX, "log_prefix"}, {LETTER_TORUS, "torus_config"},
	{LETTER_SHIFT, "port_shifting"}, {LETTER_SCATTER, "scatter_ports"}, {LETTER_NUE_VLS, "nue_max_num_vls"},
	{LETTER_CONGESTION, "congestion_control"},
};

static void take_keys(struct opensm_arguments *out, char letter)
{
	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
		unsigned at = 0;

		if (keys[i].letter != letter)
			continue;
		while (at < out->key_count && strcmp(out->keys[at], keys[i].key) != 0)
			at++;
		if (at == out->key_count && at < OPENSM_KEYS_MAX)
			out->keys[out->key_count++] = keys[i].key;
	}
}

/* Where the value of an option is kept; NULL: nowhere. */
static const char **value_of(struct opensm_arguments *out, char letter)
{
	switch (letter) {
	case 'F':
		return &out->config;
	case 'f':
		return &out->log;
	case 'Y':
		return &out->qos_policy;
	case 'R':
		return &out->routing_engine;
	case 'g':
		return &out->guid;
	case 'P':
		return &out->partitions;
	case 'q':
		return &out->console;
	case 'C':
		return &out->console_port;
	case LETTER_PREFIX_ROUTES:
		return &out->prefix_routes;
	case LETTER_SM_SL:
		return &out->sm_sl;
	case LETTER_NUE_VLS:
		return &out->nue_vls;
	default:
		return NULL;
	}
}

/* An option by its short letter; value NULL where it has none. */
static void take_option(struct reader *in, char letter, const char *value)
{
	const char **kept = value_of(in->out, letter);

	if (letter == 'e')
		in->out->erases_log = true;
	if (letter == 'Q')
		in->out->qos = true;
	take_keys(in->out, letter);
	if (kept && value)
		*kept = value;
}

/* The letter of a long option, of those that matter here. */
static char short_letter(const char *name)
{
	static const struct {
		const char *name;
		char letter;
	} letters[] = {
		{"D", 'D'},
		{"Pconfig", 'P'},
		{"V", 'V'},
		{"config", 'F'},
		{"congestion_control", LETTER_CONGESTION},
		{"connect_roots", 'z'},
		{"console", 'q'},
		{"console-port", 'C'},
		{"consolidate_ipv6_snm_req", LETTER_SNM},
		{"debug", 'd'},
		{"do_mesh_analysis", LETTER_MESH},
		{"erase_log_file", 'e'},
		{"guid", 'g'},
		{"honor_guid2lid", 'x'},
		{"inactive", 'I'},
		{"lash_start_vl", LETTER_LASH_VL},
		{"log_file", 'f'},
		{"log_limit", 'L'},
		{"log_prefix", LETTER_LOG_PREFIX},
		{"maxsmps", 'n'},
		{"no_part_enforce", 'N'},
		{"nue_max_num_vls", LETTER_NUE_VLS},
		{"part_enforce", 'Z'},
		{"port-shifting", LETTER_SHIFT},
		{"prefix_routes_file", LETTER_PREFIX_ROUTES},
		{"priority", 'p'},
		{"qos", 'Q'},
		{"qos_policy_file", 'Y'},
		{"reassign_lids", 'r'},
		{"routing_engine", 'R'},
		{"scatter-ports", LETTER_SCATTER},
		{"sm_sl", LETTER_SM_SL},
		{"smkey", 'k'},
		{"stay_on_fatal", 'y'},
		{"sweep", 's'},
		{"torus_config", LETTER_TORUS},
		{"verbose", 'v'},
	};

	for (size_t i = 0; i < sizeof(letters) / sizeof(letters[0]); i++)
		if (strcmp(name, letters[i].name) == 0)
			return letters[i].letter;
	return '\0';
}

/* The long option that `length` letters of a name mean: the very one, or the only one that starts so. */
static const struct long_option *find_long(const char *name, size_t length)
{
	const struct long_option *found = NULL;
	bool ambiguous = false;

	for (size_t i = 0; i < LONG_OPTIONS; i++) {
		const struct long_option *option = &long_options[i];

		if (strncmp(option->name, name, length) != 0)
			continue;
		if (option->name[length] == '\0')
			return option;
		ambiguous = found != NULL;
		found = option;
		if (ambiguous)
			break;
	}
	/* an exact match may stand behind two that only start so */
	for (size_t i = 0; ambiguous && i < LONG_OPTIONS; i++)
		if (strlen(long_options[i].name) == length &&
		    strncmp(long_options[i].name, name, length) == 0)
			return &long_options[i];
	return ambiguous ? NULL : found;
}

/* False if it is none that OpenSM knows. */
static bool take_long(struct reader *in, const char *name)
{
	size_t length = strcspn(name, "=");
	const struct long_option *option = length ? find_long(name, length) : NULL;
	const char *value = NULL;

	if (!option)
		return false;
	if (option->value)
		value = name[length] ? name + length + 1 : next_argument(in);
	take_option(in, short_letter(option->name), value);
	return true;
}

static void take_short(struct reader *in, const char *letters)
{
	for (; *letters; letters++) {
		const char *value;

		if (!strchr(SHORT_WITH_VALUE, *letters)) {
			take_option(in, *letters, NULL);
			continue;
		}
		value = letters[1] ? letters + 1 : next_argument(in);
		take_option(in, *letters, value);
		return;
	}
}

void opensm_arguments_read(const char *cmdline, size_t size, struct opensm_arguments *arguments)
{
	struct reader in = {.at = cmdline, .end = cmdline + size, .out = arguments};
	const char *argument;

	*arguments = (struct opensm_arguments){0};
	next_argument(&in); /* the program */
	while ((argument = next_argument(&in))) {
		if (strcmp(argument, "--") == 0)
			return;
		if (argument[0] != '-' || argument[1] == '\0')
			continue;
		if (argument[1] == '-') {
			take_long(&in, argument + 2);
			continue;
		}
		/* after one dash a single letter is a short option; more may be a long one's name */
		if ((argument[2] || !strchr(SHORT_WITH_VALUE SHORT_ALONE, argument[1])) &&
		    take_long(&in, argument + 1))
			continue;
		if (strchr(SHORT_WITH_VALUE SHORT_ALONE, argument[1]))
			take_short(&in, argument + 1);
	}
}
