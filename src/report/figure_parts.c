/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * What the pictures share: text, numbers, and the signs that say a severity without colour.
 */
#include <string.h>

#include "figure.h"

void figure_text(FILE *out, const char *text)
{
	report_html_text(out, text);
}

/* Bytes of the first `characters` characters. */
static size_t size_of(const char *text, size_t size, unsigned characters)
{
	size_t at = 0;

	while (at < size && characters-- > 0) {
		size_t length = text_char(text + at, size - at);

		at += length ? length : 1;
	}
	return at;
}

void figure_text_cut(FILE *out, const char *text, unsigned characters)
{
	char cut[4 * FIGURE_CUT + 1];
	size_t size = strlen(text), kept;

	if (characters > FIGURE_CUT)
		characters = FIGURE_CUT;
	if (size_of(text, size, characters) == size) {
		figure_text(out, text);
		return;
	}
	kept = size_of(text, size, characters - 1);
	memcpy(cut, text, kept);
	cut[kept] = '\0';
	figure_text(out, cut);
	fputs("…", out);
}

const char *figure_number(uint64_t number, char text[FIGURE_NUMBER])
{
	char digits[FIGURE_NUMBER];
	int count = snprintf(digits, sizeof(digits), "%" PRIu64, number), at = 0;

	for (int i = 0; i < count; i++) {
		if (i > 0 && (count - i) % 3 == 0)
			text[at++] = ',';
		text[at++] = digits[i];
	}
	text[at] = '\0';
	return text;
}

const char *figure_name(const struct fabric *fabric, uint32_t node)
{
	return fabric->nodes[node].name ? fabric->nodes[node].name : "";
}

void figure_sign_path(FILE *out, enum figure_sign sign, int x, int y)
{
	switch (sign) {
	case SIGN_CRITICAL: /* a cross */
		fprintf(out, "M%d %dl6 6m0-6l-6 6", x + 1, y + 1);
		break;
	case SIGN_WARNING: /* a slash */
		fprintf(out, "M%d %dl6-6", x + 1, y + 7);
		break;
	case SIGN_UNKNOWN: /* a question mark */
		fprintf(out, "M%d %dq0-2 2-2t2 2q0 1-2 2m0 1v1", x + 2, y + 3);
		break;
	case SIGN_NOTE: /* a line at the foot */
		fprintf(out, "M%d %dh4", x + 2, y + 6);
		break;
	case SIGN_NONE:
		break;
	}
}

static const struct {
	const char *css, *text;
	enum figure_sign sign;
} severities[] = {
	{"k-ok", "no finding", SIGN_NONE},
	[FINDING_NOTE + 1] = {"k-note", "note", SIGN_NOTE},
	[FINDING_WARNING + 1] = {"k-warn", "warning", SIGN_WARNING},
	[FINDING_UNKNOWN + 1] = {"k-what", "unknown", SIGN_UNKNOWN},
	[FINDING_CRITICAL + 1] = {"k-crit", "critical", SIGN_CRITICAL},
};

const char *figure_severity_class(uint8_t worst)
{
	return severities[worst].css;
}

const char *figure_severity_text(uint8_t worst)
{
	return severities[worst].text;
}

enum figure_sign figure_severity_sign(uint8_t worst)
{
	return severities[worst].sign;
}
