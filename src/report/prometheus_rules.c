/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Every value of a report that is a metric too. tests/sim/test_prometheus.py holds that each row makes a sample in some
 * run, so that a key that was renamed is seen.
 */
#include "prometheus.h"

#include <ctype.h>
#include <string.h>

#define GBPS 125e6 /* bytes a second of a Gb/s */

/* A number of a section. */
#define FIELD(in, of, symbol) {.group = in, .key = of, .metric = PROM_##symbol}
#define LABELLED(in, of, symbol, with) {.group = in, .key = of, .metric = PROM_##symbol, .labels = with}
/* A number of a table's row, labelled by other cells of it. */
#define CELL(in, of, symbol, by) {.group = in, .key = of, .metric = PROM_##symbol, .columns = by}
#define CELL_WITH(in, of, symbol, by, with) {.group = in, .key = of, .metric = PROM_##symbol, .columns = by, .labels = with}

#define MADS(of, with) LABELLED("mads", of, MADS, with)
#define OUTCOME(in, of, about, name) CELL_WITH(in, of, ENDED, "item", "about=\"" about "\",outcome=\"" name "\"")
#define COVERAGE(in, about)                                         \
	CELL_WITH(in, "asked", QUERIES, "item", "about=\"" about "\""), \
	OUTCOME(in, "answered", about, "answered"),                     \
	OUTCOME(in, "status", about, "refused"),                        \
	OUTCOME(in, "timed_out", about, "timed_out"),                   \
	OUTCOME(in, "not_asked", about, "not_asked")

const struct prom_rule prom_rules[] = {
	/* the run */
	{.group = "", .key = "taken", .metric = PROM_SNAPSHOT, .how = PROM_UTC},
	LABELLED("mads", "discovery_seconds", PHASE, "phase=\"discovery\""),
	LABELLED("mads", "seconds", PHASE, "phase=\"asking\""),
	FIELD("state", "acknowledged", ACKNOWLEDGED),
	FIELD("state", "held", HELD),

	/* what was asked */
	COVERAGE("coverage", "tables"),
	COVERAGE("sm_coverage", "sm"),
	COVERAGE("routes_coverage", "forwarding"),
	COVERAGE("counters_coverage", "counters"),
	OUTCOME("counters_coverage", "unsupported", "counters", "unsupported"),
	MADS("discovery_sent", "phase=\"discovery\",kind=\"sent\""),
	MADS("discovery_repeated", "phase=\"discovery\",kind=\"repeated\""),
	MADS("discovery_unanswered", "phase=\"discovery\",kind=\"unanswered\""),
	MADS("discovery_refused", "phase=\"discovery\",kind=\"refused\""),
	MADS("discovery_late", "phase=\"discovery\",kind=\"late\""),
	MADS("discovery_foreign", "phase=\"discovery\",kind=\"foreign\""),
	MADS("discovery_send_failed", "phase=\"discovery\",kind=\"send_failed\""),
	MADS("sent", "phase=\"asking\",kind=\"sent\""),
	MADS("repeated", "phase=\"asking\",kind=\"repeated\""),
	MADS("late", "phase=\"asking\",kind=\"late\""),
	MADS("foreign", "phase=\"asking\",kind=\"foreign\""),
	MADS("send_failed", "phase=\"asking\",kind=\"send_failed\""),

	/* the fabric */
	FIELD("fabric_found", "switches", SWITCHES),
	FIELD("fabric_found", "adapters", ADAPTERS),
	FIELD("fabric_found", "links", LINKS),
	FIELD("fabric_found", "active_ports", ACTIVE),
	FIELD("fabric_found", "no_answer", NO_ANSWER),
	FIELD("scope", "ports", SCOPE),

	/* verify */
	FIELD("ports", "looked_at", PORTS),
	FIELD("ports", "differ", PORTS_DIFFER),
	FIELD("ports", "unknown", PORTS_UNKNOWN),
	FIELD("ports", "excluded", PORTS_EXCLUDED),
	LABELLED("sample", "looked_at", SAMPLE_LOOKED, "runs=\"this\""),
	LABELLED("sample", "all_looked_at", SAMPLE_LOOKED, "runs=\"rotation\""),
	FIELD("sample", "there", SAMPLE_THERE),
	{.group = "sm", .key = "state", .metric = PROM_SM_MASTER, .how = PROM_EQUALS, .word = "master"},
	{.group = "sm", .key = "qos", .metric = PROM_SM_QOS, .how = PROM_EQUALS, .word = "on"},
	FIELD("sm", "act_count", SM_ACTIVITY),
	LABELLED("sm", "paths_right", SM_PATHS, "sl=\"right\""),
	LABELLED("sm", "paths_wrong", SM_PATHS, "sl=\"wrong\""),
	LABELLED("sm", "paths_none", SM_PATHS, "sl=\"none\""),
	LABELLED("sm", "paths_unknown", SM_PATHS, "sl=\"unknown\""),
	FIELD("sm", "rules_not_asked", SM_RULES),
	FIELD("sm", "records_not_asked", SM_RECORDS),
	LABELLED("paths", "arrive", PATHS, "packets=\"arrive\""),
	LABELLED("paths", "dead", PATHS, "packets=\"lost\""),
	LABELLED("paths", "unknown", PATHS, "packets=\"unknown\""),
	CELL_WITH("paths_by_sl", "arrive", CLASS_PATHS, "sl,class", "packets=\"arrive\""),
	CELL_WITH("paths_by_sl", "dead", CLASS_PATHS, "sl,class", "packets=\"lost\""),
	CELL_WITH("paths_by_sl", "unknown", CLASS_PATHS, "sl,class", "packets=\"unknown\""),
	FIELD("paths", "credit_loops", LOOPS),
	FIELD("paths", "credit_loops_known", LOOPS_KNOWN),

	/* audit */
	FIELD("links", "looked_at", AUDITED),
	FIELD("links", "slow", SLOW),
	FIELD("links", "below_enabled", BELOW_ENABLED),
	FIELD("links", "below_can", BELOW_CAN),
	FIELD("links", "below_policy", BELOW_POLICY),
	FIELD("links", "excepted", EXCEPTED),
	FIELD("links", "lost", LOST),
	FIELD("links", "unknown", LINKS_UNKNOWN),
	FIELD("counters", "ports", COUNTER_PORTS),
	FIELD("counters", "read", COUNTER_READ),
	FIELD("counters", "no_lid", COUNTER_NO_LID),
	FIELD("counters", "saturated", SATURATED),
	LABELLED("counters", "compared", COMPARED, "look=\"compared\""),
	LABELLED("counters", "first", COMPARED, "look=\"first\""),
	LABELLED("counters", "new_link", COMPARED, "look=\"new_link\""),
	LABELLED("counters", "restarted", COMPARED, "look=\"restarted\""),
	LABELLED("counters", "cleared", COMPARED, "look=\"cleared\""),
	LABELLED("counters", "anew", COMPARED, "look=\"anew\""),
	LABELLED("counters", "ber_good", BER, "ber=\"good\""),
	LABELLED("counters", "ber_early", BER, "ber=\"early\""),
	LABELLED("counters", "ber_between", BER, "ber=\"between\""),
	LABELLED("counters", "ber_bad", BER, "ber=\"bad\""),
	LABELLED("counters", "ber_unknown", BER, "ber=\"unknown\""),
	LABELLED("counters", "waiting_known", WAITING, "at_least=\"0\""),
	LABELLED("counters", "waiting_10", WAITING, "at_least=\"0.1\""),
	LABELLED("counters", "waiting_50", WAITING, "at_least=\"0.5\""),
	LABELLED("shares", "counted", SHARE_PORTS, "look=\"counted\""),
	LABELLED("shares", "known", SHARE_PORTS, "look=\"compared\""),
	LABELLED("shares", "busy", SHARE_PORTS, "look=\"busy\""),
	FIELD("shares", "low", SHARE_LOW),
	{.group = "class_shares", .key = "share", .metric = PROM_SHARE_HAD, .columns = "node_guid,port,class", .scale = 0.01},
	{.group = "class_shares", .key = "promised", .metric = PROM_SHARE_PROMISED, .columns = "node_guid,port,class", .scale = 0.01},
	CELL("port_measures", "bit_errors", PORT_BER, "node_guid,port"),
	CELL("port_measures", "bit_errors_upper", PORT_BER_UPPER, "node_guid,port"),
	CELL("port_measures", "waiting", PORT_WAITING, "node_guid,port"),
	FIELD("", "port_measures_omitted", MEASURES_OMITTED),
	CELL("counter_totals", "value", COUNTER, "node_guid,port,counter"),

	/* job log */
	LABELLED("", "lines", LOG_LINES, "of=\"all\""),
	LABELLED("", "nccl_lines", LOG_LINES, "of=\"nccl\""),
	LABELLED("", "torn", LOG_LINES, "of=\"torn\""),
	CELL("hosts", "processes", NCCL_PROCESSES, "host"),
	{.group = "hosts", .key = "network", .metric = PROM_NCCL_NETWORK, .how = PROM_INFO, .columns = "host,network"},
	CELL("hosts", "channels_net", NCCL_CHANNELS, "host"),
	CELL("hosts", "channels_gdr", NCCL_GDR, "host"),
	CELL("hosts", "warnings", NCCL_WARNINGS, "host"),
	{.group = "adapters", .key = "gbps", .metric = PROM_NCCL_RATE, .columns = "host,adapter", .scale = GBPS},
	{.group = "events", .key = "count", .metric = PROM_NCCL_COMPLETIONS, .columns = "host,hca=adapter,status", .only = "kind",
	 .word = "failed transfer"},
	{.group = "events", .key = "count", .metric = PROM_NCCL_EVENTS, .columns = "host,hca=adapter,event=text", .only = "kind",
	 .word = "event", .labels = "fatal=\"0\""},
	{.group = "events", .key = "count", .metric = PROM_NCCL_EVENTS, .columns = "host,hca=adapter,event=text", .only = "kind",
	 .word = "fatal event", .labels = "fatal=\"1\""},

	/* job host */
	{.group = "ports", .key = "state", .metric = PROM_HOST_PORT, .how = PROM_EQUALS, .columns = "adapter,port",
	 .word = "ACTIVE"},
	{.group = "ports", .key = "adapter", .metric = PROM_HOST_INFO, .how = PROM_INFO,
	 .columns = "adapter,port,link_layer,state,type,firmware"},
	{.group = "ports", .key = "rate", .metric = PROM_HOST_RATE, .how = PROM_NUMBER, .columns = "adapter,port", .scale = GBPS},
	{.group = "ports", .key = "pcie_gbps", .metric = PROM_HOST_PCIE, .columns = "adapter,port", .scale = GBPS},
	FIELD("", "peermem", HOST_PEERMEM),
};
const size_t prom_rule_count = sizeof(prom_rules) / sizeof(prom_rules[0]);

/* Whether a list of labels has one of this name: each name stands at the beginning, or behind a comma, before '=' or a comma. */
static bool has_label(const char *list, const char *name)
{
	size_t length = strlen(name);

	for (const char *at = list; at && *at; at = strchr(at, ',')) {
		at += *at == ',';
		if (strncmp(at, name, length) == 0 && (at[length] == '=' || at[length] == ',' || at[length] == '\0'))
			return true;
	}
	return false;
}

bool report_label_good(const char *name)
{
	static const char own[] = "command,fabric,version,verdict,severity,code,class,node_guid,port,node,peer_guid,peer_port,peer";
	bool good = (isalpha((unsigned char)*name) || *name == '_') && strncmp(name, "__", 2) != 0;

	for (const char *at = name; *at; at++)
		good &= isalnum((unsigned char)*at) || *at == '_';
	for (size_t i = 0; i < prom_rule_count; i++)
		good &= !has_label(prom_rules[i].labels, name) && !has_label(prom_rules[i].columns, name);
	return good && !has_label(own, name);
}
