/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * verify of a part of the ports. What was not looked at is not clean: without --coverage-floor such a run is
 * 'unknown' unless a rotation has come round.
 */
#include "verify_sample.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define DAY_MS 86400000ull

/* A run takes longer than a millisecond, so that no two looks are alike. */
static uint64_t now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_REALTIME, &t);
	return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

static bool number(const char *text, size_t length, uint64_t max, uint32_t *value)
{
	char copy[16];
	uint64_t wide;

	if (length >= sizeof(copy))
		return false;
	memcpy(copy, text, length);
	copy[length] = '\0';
	if (text_to_u64(copy, max, &wide) != 0 || wide == 0)
		return false;
	*value = (uint32_t)wide;
	return true;
}

void cmd_sample_parse(struct cmd_sample *sample, struct argp_state *state, const char *text)
{
	size_t length = strlen(text), head = strcspn(text, "/%");
	bool good = false;

	if (text[head] == '/') {
		sample->kind = SAMPLE_PARTS;
		good = number(text + head + 1, length - head - 1, VERIFY_PARTS_MAX, &sample->take.parts) &&
		       number(text, head, sample->take.parts, &sample->take.part);
	} else if (text[head] == '%') {
		sample->kind = SAMPLE_PERCENT;
		good = head + 1 == length && number(text, head, 100, &sample->amount);
	} else {
		sample->kind = SAMPLE_PORTS;
		good = number(text, head, UINT32_MAX, &sample->amount);
	}
	if (!good)
		argp_error(state, "--sample takes a number of ports (250), a percentage (5%%) or a part (3/24, up to %d), not '%s'",
			   VERIFY_PARTS_MAX, text);
}

void cmd_sample_check(const struct cmd_sample *sample, struct argp_state *state)
{
	if (sample->rotate && (sample->kind != SAMPLE_PARTS || sample->take.part != 1))
		argp_error(state, "--rotate takes the parts in turn: it goes with --sample 1/N");
	if (sample->floor != 100 && sample->kind == SAMPLE_ALL)
		argp_error(state, "--coverage-floor goes with --sample: without it every port is looked at");
}

static void state_finding(struct cmd_session *s, const char *path, const char *why)
{
	struct finding *f = finding_at(finding_add(&s->findings, FINDING_SAMPLE_STATE), path, 0, 0);

	finding_set(&f->detail, "%s", why);
}

/* A file that is not there yet is a rotation that begins. */
static int read_rotation(struct cmd_session *s, const struct qos_config *config)
{
	struct cmd_sample *sample = s->sample;
	char *text = NULL;
	size_t size;
	int error = verify_rotation_new(sample->take.parts, verify_config_id(config), &sample->rotation);

	if (error != 0)
		return error;
	session_trust(s, sample->rotate);
	error = file_read(sample->rotate, &text, &size);
	if (error == 0 && (strlen(text) != size || verify_rotation_read(&sample->rotation, text) != 0)) {
		/* not ours to write over */
		state_finding(s, sample->rotate, "is not a file of --rotate: left as it is");
		sample->rotate = NULL;
	} else if (error != 0 && error != -ENOENT) {
		state_finding(s, sample->rotate, strerror(-error));
		sample->rotate = NULL;
	}
	free(text);
	sample->take.part = verify_rotation_next(&sample->rotation);
	return 0;
}

/* What was looked at long ago, or of which other ports are there now, is as if it never was. */
static void forget_old(struct cmd_sample *sample, uint64_t now)
{
	for (uint32_t i = 0; i < sample->rotation.parts; i++) {
		struct verify_look *look = &sample->rotation.look[i];

		if (look->ms + SAMPLE_LOOK_DAYS * DAY_MS < now || look->ms > now ||
		    look->who != sample->part[i].who)
			*look = (struct verify_look){0};
	}
}

int cmd_sample_choose(struct cmd_session *s, struct verify *verify, const struct qos_config *config)
{
	struct cmd_sample *sample = s->sample;
	uint64_t now = now_ms();
	uint32_t there = 0;
	int error = 0;

	if (!sample || sample->kind == SAMPLE_ALL)
		return 0;
	sample->part = calloc((size_t)sample->take.parts + 1, sizeof(*sample->part));
	if (!sample->part)
		return -ENOMEM;
	if (sample->rotate)
		error = read_rotation(s, config);
	if (error != 0)
		return error;
	if (sample->kind == SAMPLE_PARTS) {
		verify_count_parts(verify, sample->take.parts, sample->part);
		forget_old(sample, now);
		return verify_set_sample(verify, &sample->take);
	}
	sample->take.seed = now;
	sample->take.ports = sample->amount;
	if (sample->kind == SAMPLE_PERCENT) {
		verify_count_parts(verify, 1, sample->part);
		there = sample->part[0].ports;
		sample->take.ports = (uint32_t)(((uint64_t)there * sample->amount + 99) / 100);
	}
	return verify_set_sample(verify, &sample->take);
}

/* How a part ended by itself. */
static enum ibqos_exit exit_of(const struct verify *verify)
{
	struct finding_list findings = {0};
	enum ibqos_exit code;

	verify_findings(verify, &findings);
	code = finding_exit(&findings);
	finding_list_clear(&findings);
	return code;
}

static void add_earlier(struct cmd_session *s, uint32_t index)
{
	static const enum finding_severity severities[] = {
		[IBQOS_EXIT_WARNING] = FINDING_WARNING,
		[IBQOS_EXIT_CRITICAL] = FINDING_CRITICAL,
		[IBQOS_EXIT_UNKNOWN] = FINDING_UNKNOWN,
	};
	const struct verify_look *look = &s->sample->rotation.look[index];
	struct finding *f = finding_add(&s->findings, FINDING_SAMPLE_EARLIER);
	char when[SESSION_TIME];

	session_time(look->ms / 1000, when);
	f->severity = severities[look->exit];
	finding_set(&f->what, "part %" PRIu32 " of %" PRIu32, index + 1, s->sample->rotation.parts);
	finding_set(&f->detail, "exit status %u at %s", look->exit, when);
}

/* Keeps how this part ended, and adds up what others say. Returns the ports looked at, all together. */
static uint32_t rotate(struct cmd_session *s, const struct verify *verify, uint32_t *looked)
{
	struct cmd_sample *sample = s->sample;
	uint32_t mine = sample->take.part - 1, ports = 0;
	char *text;
	int error;

	sample->rotation.look[mine] = (struct verify_look){
		.ms = now_ms(), .who = sample->part[mine].who, .exit = (uint8_t)exit_of(verify)};
	for (uint32_t i = 0; i < sample->rotation.parts; i++) {
		if (!sample->rotation.look[i].ms)
			continue;
		++*looked;
		ports += sample->part[i].ports;
		if (i != mine && sample->rotation.look[i].exit != IBQOS_EXIT_CLEAN)
			add_earlier(s, i);
	}
	text = sample->rotate ? verify_rotation_write(&sample->rotation) : NULL;
	error = !sample->rotate ? 0 : text ? file_replace(sample->rotate, text, strlen(text), 0644) : -ENOMEM;
	if (error != 0)
		state_finding(s, sample->rotate, strerror(-error));
	free(text);
	return ports;
}

static void add_coverage(struct cmd_session *s, uint32_t looked_at, uint32_t there)
{
	struct finding *f;

	if (looked_at >= there)
		return;
	f = finding_add(&s->findings, FINDING_SAMPLE_PART);
	if ((uint64_t)looked_at * 100 >= (uint64_t)there * s->sample->floor)
		f->severity = FINDING_NOTE;
	finding_set(&f->what, "%" PRIu32 " of %" PRIu32 " ports", looked_at, there);
	finding_set(&f->detail, "%" PRIu32 " were not looked at", there - looked_at);
}

void cmd_sample_report(struct cmd_session *s, const struct verify *verify)
{
	const struct verify_result *result = verify_result(verify);
	struct cmd_sample *sample = s->sample;
	uint32_t looked_at = result->ports, parts = 0;

	if (!sample || sample->kind == SAMPLE_ALL)
		return;
	report_section(s->report, "sample", "sample");
	if (sample->kind == SAMPLE_PARTS) {
		report_number(s->report, "part", "part", sample->take.part);
		report_number(s->report, "parts", "of", sample->take.parts);
	} else {
		report_number(s->report, "seed", NULL, sample->take.seed);
	}
	report_number(s->report, "looked_at", "ports looked at", looked_at);
	if (sample->rotation.parts && !ctx_stopped(s->ctx)) {
		looked_at = rotate(s, verify, &parts);
		report_number(s->report, "parts_looked_at", "parts looked at, in the last days too", parts);
		report_number(s->report, "all_looked_at", "ports of these", looked_at);
	}
	report_number(s->report, "there", "ports there are", result->ports_there);
	report_section_end(s->report);
	add_coverage(s, looked_at, result->ports_there);
}

void cmd_sample_clear(struct cmd_sample *sample)
{
	verify_rotation_clear(&sample->rotation);
	free(sample->part);
	sample->part = NULL;
}
