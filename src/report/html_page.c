/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The frame of the page: head, verdict, contents. Its style and script are files of their own, which the assembler puts into
 * the program; the page's policy (CSP) names their digests, so that nothing else can run or load, whatever a name holds.
 */
#include <sha2.h>
#include <string.h>

#include "html.h"

/* The file's text as a string; paths are from the top of the tree, where the compiler runs. */
#define EMBED(name, file)                                                                                     \
	__asm__(".pushsection .rodata\n"                                                                      \
		".hidden " #name "\n"                                                                         \
		".globl " #name "\n" #name ":\n"                                                              \
		".incbin \"" file "\"\n"                                                                      \
		".byte 0\n"                                                                                   \
		".popsection\n");                                                                             \
	extern const char name[]

EMBED(html_page_css, "src/report/html_page.css");
EMBED(html_page_js, "src/report/html_page.js");
EMBED(html_table_js, "src/report/html_table.js");
EMBED(html_findings_js, "src/report/html_findings.js");
EMBED(html_figures_css, "src/report/html_figures.css");
EMBED(html_figures_js, "src/report/html_figures.js");

/* More files of either kind: a row here. Pictures have their style there, as the page lets no style stand in elements. */
static const char *const styles[] = {html_page_css, html_figures_css};
static const char *const scripts[] = {html_page_js, html_table_js, html_findings_js, html_figures_js};
#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

/* " 'sha256-…'" of what stands in one element (CSP 3, 2.3.1) */
static void put_digest(struct report *r, const char *const *texts, size_t count)
{
	static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	uint8_t digest[SHA256_DIGEST_LENGTH + 1] = {0}; /* 33 bytes: a whole number of groups of three */
	char text[(SHA256_DIGEST_LENGTH + 1) / 3 * 4 + 1], *to = text;
	SHA2_CTX state;

	SHA256Init(&state);
	for (size_t i = 0; i < count; i++)
		SHA256Update(&state, (const uint8_t *)texts[i], strlen(texts[i]));
	SHA256Final(digest, &state);
	for (size_t i = 0; i < sizeof(digest); i += 3) {
		uint32_t group = (uint32_t)digest[i] << 16 | (uint32_t)digest[i + 1] << 8 | digest[i + 2];

		for (int shift = 18; shift >= 0; shift -= 6)
			*to++ = digits[group >> shift & 0x3f];
	}
	to[-1] = '='; /* the 33rd byte is not there */
	*to = '\0';
	report_put(r, " 'sha256-%s'", text);
}

static void put_all(struct report *r, const char *const *texts, size_t count)
{
	for (size_t i = 0; i < count; i++)
		report_puts(r, texts[i]);
}

static void put_head(struct report *r, const char *verdict)
{
	struct html_state *state = r->own;

	report_puts(r, "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
		       "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; base-uri 'none'; "
		       "form-action 'none'; style-src");
	put_digest(r, styles, COUNT(styles));
	report_puts(r, "; script-src");
	put_digest(r, scripts, COUNT(scripts));
	report_puts(r, "\">\n<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
		       "<meta name=\"color-scheme\" content=\"light dark\">\n"
		       "<meta name=\"referrer\" content=\"no-referrer\">\n"
		       "<meta name=\"generator\" content=\"ibqos " IBQOS_VERSION "\">\n<title>");
	report_put(r, "%s: ibqos ", verdict);
	html_put(r, state->command ? state->command : "");
	if (state->fabric)
		report_puts(r, ", ");
	html_put(r, state->fabric ? state->fabric : "");
	report_puts(r, "</title>\n<style>");
	put_all(r, styles, COUNT(styles));
	report_puts(r, "</style>\n<script>");
	put_all(r, scripts, COUNT(scripts));
	report_puts(r, "</script>\n</head>\n");
}

static void put_verdict(struct report *r, const char *verdict)
{
	struct html_state *state = r->own;

	report_puts(r, "<header>\n<h1>ibqos ");
	html_put(r, state->command ? state->command : "");
	report_puts(r, "</h1>\n");
	if (state->fabric) {
		report_puts(r, "<p class=\"fabric\">fabric: ");
		html_put(r, state->fabric);
		report_puts(r, "</p>\n");
	}
	report_put(r, "<p class=\"verdict %s\"><strong>verdict: %s</strong>", verdict, verdict);
	text_counts(r, r->counts);
	report_puts(r, "</p>\n</header>\n");
}

/* What there is about a fabric of many; NULL: what is about all of them, or the only one. */
static void put_contents_of(struct report *r, const char *fabric)
{
	struct html_state *state = r->own;

	report_puts(r, "<ul>\n");
	if (fabric) {
		report_puts(r, "<li>");
		html_put(r, fabric);
		report_puts(r, ":</li>\n");
	}
	for (int part = 0; part < HTML_PARTS; part++) {
		for (size_t i = 0; i < state->entry_count; i++) {
			const char *of = state->entries[i].fabric;

			if ((int)state->entries[i].part != part || (of && fabric ? strcmp(of, fabric) != 0 : of != fabric))
				continue;
			report_puts(r, "<li><a href=\"#");
			html_put(r, state->entries[i].id);
			report_puts(r, "\">");
			html_put(r, state->entries[i].title);
			report_puts(r, "</a></li>\n");
		}
	}
	report_puts(r, "</ul>\n");
}

static void put_contents(struct report *r)
{
	struct html_state *state = r->own;

	if (state->entry_count == 0)
		return;
	report_puts(r, "<nav aria-label=\"Contents\">\n");
	put_contents_of(r, NULL);
	for (size_t i = 0; i < state->entry_count; i++) { /* those of a fabric come together */
		const char *of = state->entries[i].fabric, *before = i > 0 ? state->entries[i - 1].fabric : NULL;

		if (of && (!before || strcmp(of, before) != 0))
			put_contents_of(r, of);
	}
	report_puts(r, "</nav>\n");
}

void html_page_begin(struct report *r, enum ibqos_exit exit_code, const char *verdict)
{
	put_head(r, verdict);
	report_put(r, "<body data-exit=\"%d\">\n<a class=\"skip\" href=\"#main\">Skip to the report</a>\n", (int)exit_code);
	put_verdict(r, verdict);
	put_contents(r);
	report_puts(r, "<main id=\"main\" tabindex=\"-1\">\n");
}

void html_page_end(struct report *r)
{
	report_puts(r, "</main>\n<footer>ibqos " IBQOS_VERSION "</footer>\n</body>\n</html>\n");
}
