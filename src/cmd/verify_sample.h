/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* verify of a part of the ports, and what that says of the whole. */
#ifndef IBQOS_CMD_VERIFY_SAMPLE_H
#define IBQOS_CMD_VERIFY_SAMPLE_H

#include "cmd.h"

#define SAMPLE_LOOK_DAYS 7 /* a look longer ago no longer counts */

struct cmd_sample {
	enum { SAMPLE_ALL, SAMPLE_PORTS, SAMPLE_PERCENT, SAMPLE_PARTS } kind;
	uint32_t amount;    /* ports or percent */
	struct verify_sample take;
	const char *rotate; /* file; NULL: none */
	unsigned floor;	    /* percent of the ports that must have been looked at for a clean verdict */

	/* while it runs */
	struct verify_rotation rotation;
	struct verify_part *part; /* [rotation.parts] */
};

/* --sample: "250", "5%", "3/24"; a usage error otherwise. */
void cmd_sample_parse(struct cmd_sample *sample, struct argp_state *state, const char *text);
/* --rotate and --sample belong together; a usage error otherwise. */
void cmd_sample_check(const struct cmd_sample *sample, struct argp_state *state);
/* Chooses the ports. 0 or -ENOMEM. */
int cmd_sample_choose(struct cmd_session *s, struct verify *verify, const struct qos_config *config);
/* After the run: what was looked at and what not, as fields and findings; keeps the rotation. */
void cmd_sample_report(struct cmd_session *s, const struct verify *verify);
void cmd_sample_clear(struct cmd_sample *sample);

#endif
