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
#define LETTER_SM_SL 7
#define LETTER_NUE_VLS 15

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

/* An option by its short letter; value NULL where it has none. */
static void take_option(struct reader *in, char letter, const char *value)
{
	struct opensm_arguments *out = in->out;

	if (letter == 'e')
		out->erases_log = true;
	if (letter == 'Q')
		out->qos = true;
	if (!value)
		return;
	switch (letter) {
	case 'F':
		out->config = value;
		break;
	case 'f':
		out->log = value;
		break;
	case 'Y':
		out->qos_policy = value;
		break;
	case 'R':
		out->routing_engine = value;
		break;
	case LETTER_SM_SL:
		out->sm_sl = value;
		break;
	case LETTER_NUE_VLS:
		out->nue_vls = value;
		break;
	}
}

/* The letter of a long option, of those that matter here. */
static char short_letter(const char *name)
{
	static const struct {
		const char *name;
		char letter;
	} letters[] = {
		{"config", 'F'},	  {"log_file", 'f'}, {"erase_log_file", 'e'},
		{"qos", 'Q'},		  {"qos_policy_file", 'Y'}, {"routing_engine", 'R'},
		{"sm_sl", LETTER_SM_SL}, {"nue_max_num_vls", LETTER_NUE_VLS},
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
