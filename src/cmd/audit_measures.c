/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Bit errors and time without credits of single ports, for machines: those that stand out, or each. */
#include "audit_counters.h"

#define ROWS_MAX 1000
#define WAITING_MUCH 0.5

static bool stands_out(const struct counter_measure *m)
{
	return (m->has_errors && m->verdict >= BER_BETWEEN) || (m->has_waiting && m->waiting >= WAITING_MUCH);
}

static void cell_real(struct report *r, bool known, double value)
{
	if (known)
		report_cell_real(r, value);
	else
		report_cell_string(r, NULL);
}

static void row(struct cmd_session *s, uint32_t port, const struct counter_measure *m)
{
	static const char *const verdicts[BER_VERDICTS] = {[BER_GOOD] = "good",	  [BER_EARLY] = "early", [BER_BETWEEN] = "between",
							   [BER_WARN] = "bad",	  [BER_ERROR] = "bad",	 [BER_UNKNOWN] = NULL};
	struct report *r = s->report;

	report_cell_guid(r, fabric_port_node(s->fabric, port)->guid);
	report_cell_string(r, fabric_port_node(s->fabric, port)->name);
	report_cell_number(r, s->fabric->ports[port].number);
	report_cell_string(r, verdicts[m->verdict]);
	cell_real(r, m->has_errors, m->errors);
	cell_real(r, m->has_errors, m->errors_upper);
	cell_real(r, m->has_waiting, m->waiting);
	report_row_end(r);
}

void cmd_measures_report(struct cmd_session *s, const struct counter_measure *measures)
{
	static const struct report_column columns[] = {
		{.key = "node_guid", .type = REPORT_GUID},	 {.key = "node", .type = REPORT_STRING},
		{.key = "port", .type = REPORT_NUMBER},		 {.key = "ber", .type = REPORT_STRING},
		{.key = "bit_errors", .type = REPORT_REAL},	 {.key = "bit_errors_upper", .type = REPORT_REAL},
		{.key = "waiting", .type = REPORT_REAL},
	};
	uint32_t shown = 0, omitted = 0;

	report_table(s->report, "port_measures", NULL, columns, sizeof(columns) / sizeof(columns[0]));
	for (uint32_t i = 0; i < s->fabric->port_count; i++) {
		const struct counter_measure *m = &measures[i];

		if (!(s->options->all ? m->has_errors || m->has_waiting : stands_out(m)))
			continue;
		if (shown == ROWS_MAX && !s->options->all) {
			omitted++;
			continue;
		}
		shown++;
		row(s, i, m);
	}
	report_table_end(s->report);
	report_number(s->report, "port_measures_omitted", NULL, omitted);
}
