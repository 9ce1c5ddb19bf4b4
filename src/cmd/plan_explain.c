/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* ibqos plan --explain: each class on each kind of link, as a table and as bars. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "ibqos/link.h"
#include "policy_plan.h"

#define BAR_WIDTH 40  /* characters that stand for the whole link */
#define NAME_WIDTH 16 /* of a class; a longer name is cut */
#define TEXT_WIDTH 96

static const char *const port_names[QOS_PORT_TYPES] = {
	[QOS_PORT_CA] = "adapter",
	[QOS_PORT_SW0] = "switch port 0",
	[QOS_PORT_SWE] = "switch",
	[QOS_PORT_RTR] = "router",
};

static void place_text(const struct plan_place *place, char text[TEXT_WIDTH])
{
	snprintf(text, TEXT_WIDTH, "%s%s", port_names[place->type], place->special ? ", special link" : "");
}

static void link_text(const struct plan_place *place, char text[TEXT_WIDTH])
{
	if (place->gbps > 0)
		snprintf(text, TEXT_WIDTH, "%s %s", link_width_name(place->width), link_speed_name(place->speed));
	else
		snprintf(text, TEXT_WIDTH, "unknown rate");
}

static void cell_gbps(struct report *r, const struct plan_place *place, double share)
{
	if (place->gbps > 0 && place->mtu)
		report_cell_real(r, share * place->gbps);
	else
		report_cell_string(r, NULL);
}

/* 0: the ports tell a value that cannot be. */
static void cell_known(struct report *r, unsigned number)
{
	if (number)
		report_cell_number(r, number);
	else
		report_cell_string(r, NULL);
}

static void cell_share(struct report *r, const struct plan_place *place, double share)
{
	if (place->mtu)
		report_cell_real(r, 100 * share);
	else
		report_cell_string(r, NULL);
}

static void cells_of_place(struct report *r, const struct plan_place *place)
{
	char text[TEXT_WIDTH];

	place_text(place, text);
	report_cell_string(r, text);
	link_text(place, text);
	report_cell_string(r, text);
	cell_known(r, place->mtu);
	cell_known(r, place->vls);
	report_cell_number(r, place->ports);
}

static void cells_of_class(struct report *r, const struct cmd_plan *p, const struct plan_place *place, size_t i)
{
	const struct policy_class *class = p->plan->classes[i].policy;
	const struct policy_override *override = &p->policy->overrides[place->type];
	const struct plan_place_class *c = &place->classes[i];

	report_cell_string(r, class->name);
	report_cell_number(r, class->sl);
	report_cell_number(r, c->vl);
	report_cell_bool(r, c->shared);
	cell_share(r, place, c->guaranteed);
	cell_gbps(r, place, c->guaranteed);
	cell_share(r, place, c->at_most);
	cell_gbps(r, place, c->at_most);
	if (c->wait == QOS_WAIT_FOREVER)
		report_cell_none(r);
	else
		report_cell_number(r, c->wait);
	if (c->wait == QOS_WAIT_FOREVER || place->gbps <= 0)
		report_cell_none(r);
	else
		report_cell_real(r, qos_wait_us(c->wait, place->gbps));
	if (place->mtu)
		report_cell_bool(r, c->wait == QOS_WAIT_FOREVER);
	else
		report_cell_string(r, NULL);
	report_cell_number(r, override->given ? override->mark.line : class->mark.line);
}

static void report_places(struct report *r, const struct cmd_plan *p, const struct plan_place *places, size_t count)
{
	static const struct report_column columns[] = {
		{.key = "ports", .title = "ports", .type = REPORT_STRING},
		{.key = "link", .title = "link", .type = REPORT_STRING},
		{.key = "mtu", .title = "MTU", .type = REPORT_NUMBER},
		{.key = "vls", .title = "VLs", .type = REPORT_NUMBER},
		{.key = "count", .title = "count", .type = REPORT_NUMBER},
		{.key = "class", .title = "class", .type = REPORT_STRING},
		{.key = "sl", .title = "SL", .type = REPORT_NUMBER},
		{.key = "vl", .title = "VL", .type = REPORT_NUMBER},
		{.key = "vl_shared", .title = "shared", .type = REPORT_BOOL},
		{.key = "guaranteed", .title = "guaranteed", .type = REPORT_REAL, .unit = "%", .decimals = 1},
		{.key = "guaranteed_gbps", .title = "guaranteed", .type = REPORT_REAL, .unit = "Gb/s", .decimals = 1},
		{.key = "at_most_beside_another", .title = "at most", .type = REPORT_REAL, .unit = "%", .decimals = 1},
		{.key = "at_most_beside_another_gbps", .title = "at most", .type = REPORT_REAL, .unit = "Gb/s", .decimals = 1},
		{.key = "longest_wait_bytes", .type = REPORT_NUMBER},
		{.key = "longest_wait_us", .title = "longest wait", .type = REPORT_REAL, .unit = "us", .decimals = 2},
		{.key = "starves", .title = "starves", .type = REPORT_BOOL},
		{.key = "policy_line", .title = "policy line", .type = REPORT_NUMBER},
	};

	report_table(r, "explain",
		     "each class on each kind of link: guaranteed while all are busy, at most while one other is (alone it "
		     "has the whole link), those that share a VL together; longest wait of a packet at a port; all packets full",
		     columns, sizeof(columns) / sizeof(columns[0]));
	for (size_t n = 0; n < count; n++) {
		for (size_t i = 0; i < p->plan->class_count; i++) {
			cells_of_place(r, &places[n]);
			cells_of_class(r, p, &places[n], i);
			report_row_end(r);
		}
	}
	report_table_end(r);
}

/* "=" what is guaranteed, "+" what it can have beside that while another is busy, "." what it cannot. */
static void put_bar(FILE *out, const char *name, const struct plan_place_class *c)
{
	unsigned sure = (unsigned)(c->guaranteed * BAR_WIDTH + 0.5), most = (unsigned)(c->at_most * BAR_WIDTH + 0.5);

	fprintf(out, "  %-*.*s |", NAME_WIDTH, NAME_WIDTH, name);
	for (unsigned i = 0; i < BAR_WIDTH; i++)
		fputc(i < sure ? '=' : i < most ? '+' : '.', out);
	fprintf(out, "| %5.1f %% to %5.1f %%\n", 100 * c->guaranteed, 100 * c->at_most);
}

static int report_bars(struct report *r, const struct plan *plan, const struct plan_place *places, size_t count)
{
	char kind[TEXT_WIDTH], link[TEXT_WIDTH], *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);
	int error;

	if (!out)
		return -ENOMEM;
	for (size_t n = 0; n < count; n++) {
		place_text(&places[n], kind);
		link_text(&places[n], link);
		if (!places[n].mtu || !places[n].vls) /* the table says so */
			continue;
		fprintf(out, "%s%s, %s, MTU %u, %u VLs: %u port%s\n", n ? "\n" : "", kind, link, places[n].mtu,
			places[n].vls, places[n].ports, places[n].ports == 1 ? "" : "s");
		for (size_t i = 0; i < plan->class_count; i++)
			put_bar(out, plan->classes[i].policy->name, &places[n].classes[i]);
	}
	error = text_stream_end(out, &text);
	if (error != 0)
		return error;
	report_text(r, NULL, "shares of a link: = guaranteed, + at most beside another", text);
	free(text);
	return 0;
}

int cmd_report_explain(struct report *r, const struct cmd_plan *p, const struct fabric *fabric)
{
	struct plan_place *places;
	size_t count;
	int error = plan_explain(p->plan, fabric, &places, &count);

	if (error != 0)
		return error;
	report_places(r, p, places, count);
	error = report_bars(r, p->plan, places, count);
	free(places);
	return error;
}
