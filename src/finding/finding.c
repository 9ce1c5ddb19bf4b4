/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * One finding, and the table of the codes it may have.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "ibqos/finding.h"

static const struct finding_kind kinds[] = {
#define FINDING_CODE(symbol, text, severity, title, advice) {text, FINDING_##severity, title, advice},
#include "ibqos/finding_codes.def"
#undef FINDING_CODE
};

const struct finding_kind *finding_kind(enum finding_code code)
{
	return (unsigned)code < FINDING_CODES ? &kinds[code] : NULL;
}

static const char *const file_advice[FINDING_CODES] = {
#define FILE_ADVICE(symbol, advice) [FINDING_##symbol] = advice,
#include "ibqos/finding_file_advice.def"
#undef FILE_ADVICE
};

const char *finding_file_advice(enum finding_code code)
{
	return (unsigned)code < FINDING_CODES ? file_advice[code] : NULL;
}

static const struct finding_cause_kind causes[CAUSES] = {
	[CAUSE_NOT_APPLIED] = {"not-applied", "the subnet manager has not programmed it",
			       "reload OpenSM (SIGHUP), twice; if it stays, look for ERR 3111 and 3113 in its log, and "
			       "restart OpenSM if it was started without this config file", NULL},
	[CAUSE_AWAITS_SWEEP] = {"awaits-sweep",
				"not applied: it was programmed for other OperationalVLs than the port runs now, and needs "
				"another heavy sweep",
				"reload OpenSM (SIGHUP): it masks tables with the OperationalVLs before it sets them", NULL},
	[CAUSE_DRIFTED] = {"drifted", "the subnet manager has programmed it, and the device holds something else since",
			   "find out what changed or reset the device; OpenSM never repairs this on a reload: restart OpenSM, "
			   "or change the value and change it back, with a reload each", NULL},
	[CAUSE_OTHER_CONFIG] = {"other-config",
				"the subnet manager has programmed something else: it runs another config, or has not read this one",
				"see which config the master subnet manager reads; give it this one and reload it", NULL},
	[CAUSE_UNKNOWN] = {"unknown", "whether the subnet manager programmed it is not known",
			   "run again while the subnet administrator answers; restarting OpenSM programs all ports anew",
			   "take a snapshot with `ibqos snapshot`, for this policy or config, while the subnet administrator answers; "
			   "restarting OpenSM programs all ports anew"},
	[CAUSE_UNSUPPORTED] = {"unsupported", "the device cannot hold it",
			       "look at the device's firmware and capabilities; nothing need be done where no class's traffic passes", NULL},
};

const struct finding_cause_kind *finding_cause_kind(enum finding_cause cause)
{
	return cause > CAUSE_NONE && cause < CAUSES ? &causes[cause] : NULL;
}

int finding_code_of(const char *name, enum finding_code *code)
{
	for (unsigned i = 0; i < FINDING_CODES; i++) {
		if (strcmp(kinds[i].code, name) == 0) {
			*code = (enum finding_code)i;
			return 0;
		}
	}
	return -EINVAL;
}

int finding_cause_of(const char *name, enum finding_cause *cause)
{
	for (unsigned i = CAUSE_NONE + 1; i < CAUSES; i++) {
		if (strcmp(causes[i].name, name) == 0) {
			*cause = (enum finding_cause)i;
			return 0;
		}
	}
	return -EINVAL;
}

int finding_severity_of(const char *name, enum finding_severity *severity)
{
	for (unsigned i = FINDING_NOTE; i <= FINDING_CRITICAL; i++) {
		if (strcmp(finding_severity_name((enum finding_severity)i), name) == 0) {
			*severity = (enum finding_severity)i;
			return 0;
		}
	}
	return -EINVAL;
}

/* What to do in place of the code's advice where the finding says more than its code does; NULL: nothing else. */
static const char *narrower_advice(const struct finding *f)
{
	switch (f->code) {
	case FINDING_LINK_WIDTH_LOW:
	case FINDING_LINK_SPEED_LOW:
		/* without a place: all links of a kind (audit_uniform()) */
		return f->guid ? NULL : "look at what these links have in common: settings, firmware, the kind of cable; no single cable does that";
	case FINDING_ADAPTIVE_ROUTING: /* a note with --by-lft alone */
		return f->severity == FINDING_NOTE ? "nothing need be done if it is the tables that are asked about: other ways were not judged"
						   : NULL;
	default:
		return NULL;
	}
}

const char *finding_advice(const struct finding *f)
{
	const struct finding_cause_kind *cause = finding_cause_kind(f->cause);

	if (narrower_advice(f))
		return narrower_advice(f);
	if (cause)
		return f->of_file && cause->file_advice ? cause->file_advice : cause->advice;
	if (f->of_file && finding_file_advice(f->code))
		return finding_file_advice(f->code);
	return (unsigned)f->code < FINDING_CODES ? kinds[f->code].advice : "";
}

const char *finding_severity_name(enum finding_severity severity)
{
	switch (severity) {
	case FINDING_NOTE:
		return "note";
	case FINDING_WARNING:
		return "warning";
	case FINDING_UNKNOWN:
		return "unknown";
	case FINDING_CRITICAL:
		return "critical";
	}
	return "unknown";
}

static bool is_printable(const char *text)
{
	size_t left = strlen(text);

	while (left > 0) {
		size_t length = text_char(text, left);

		if (length == 0)
			return false;
		text += length;
		left -= length;
	}
	return true;
}

/* What a format and its arguments give; printf only where there is something to format, since findings may be many. */
static char *formatted(const char *format, va_list args)
{
	char *text;

	if (strcmp(format, "%s") == 0) {
		const char *plain = va_arg(args, const char *);

		return strdup(plain ? plain : "(null)");
	}
	if (!strchr(format, '%'))
		return strdup(format);
	return vasprintf(&text, format, args) < 0 ? NULL : text;
}

static void set(char **member, const char *format, va_list args)
{
	char *text = formatted(format, args);

	if (text && !is_printable(text)) {
		char *made = text_utf8(text, strlen(text));

		free(text);
		text = made;
	}
	free(*member); /* only now: the arguments may have pointed into it */
	*member = text;
}

void finding_set(char **member, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	set(member, format, args);
	va_end(args);
}

void finding_append(char **member, const char *format, ...)
{
	char *more = NULL, *both;
	size_t before, after;
	va_list args;

	va_start(args, format);
	set(&more, format, args);
	va_end(args);
	if (!more)
		return;
	if (!*member) {
		*member = more;
		return;
	}
	before = strlen(*member);
	after = strlen(more) + 1;
	both = realloc(*member, before + strlen("; ") + after);
	if (both) {
		memcpy(mempcpy(both + before, "; ", strlen("; ")), more, after);
		*member = both;
	}
	free(more);
}

struct finding *finding_at(struct finding *f, const char *file, unsigned line, unsigned column)
{
	finding_set(&f->file, "%s", file);
	f->line = line;
	f->column = column;
	return f;
}
