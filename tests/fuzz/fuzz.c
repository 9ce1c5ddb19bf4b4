/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* fuzz: see fuzz.h. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"

void fuzz_broken(const char *condition, const char *file, int line)
{
	fprintf(stderr, "%s:%d: does not hold: %s\n", file, line, condition);
	abort();
}

unsigned fuzz_byte(struct fuzz *in)
{
	if (in->left == 0)
		return 0;
	in->left--;
	return *in->at++;
}

bool fuzz_bit(struct fuzz *in)
{
	return fuzz_byte(in) & 1;
}

unsigned fuzz_below(struct fuzz *in, unsigned end)
{
	return fuzz_byte(in) % end;
}

void fuzz_fill(struct fuzz *in, void *to, size_t size)
{
	size_t part = size < in->left ? size : in->left;

	if (part > 0)
		memcpy(to, in->at, part);
	memset((char *)to + part, 0, size - part);
	in->at += part;
	in->left -= part;
}

uint64_t fuzz_u64(struct fuzz *in)
{
	uint8_t bytes[8];
	uint64_t value = 0;

	fuzz_fill(in, bytes, sizeof(bytes));
	for (unsigned i = 0; i < sizeof(bytes); i++)
		value = value << 8 | bytes[i];
	return value;
}

static char *text_of(const uint8_t *bytes, size_t size)
{
	char *text = malloc(size + 1);

	require(text);
	if (size > 0)
		memcpy(text, bytes, size);
	text[size] = '\0';
	return text;
}

char *fuzz_text(struct fuzz *in, size_t max)
{
	size_t size = strnlen((const char *)in->at, max < in->left ? max : in->left);
	char *text = text_of(in->at, size);

	in->at += size;
	in->left -= size;
	fuzz_byte(in); /* the NUL; at `max` the byte there */
	return text;
}

char *fuzz_rest(struct fuzz *in)
{
	char *text = text_of(in->at, in->left);

	in->at += in->left;
	in->left = 0;
	return text;
}

/* The code point of one character as RFC 3629 has it, and its length; 0: not one. */
static unsigned character(const unsigned char *c, uint32_t *code)
{
	static const struct {
		unsigned char mask, lead;
		uint32_t least;
	} forms[] = {{0x80, 0x00, 0}, {0xe0, 0xc0, 0x80}, {0xf0, 0xe0, 0x800}, {0xf8, 0xf0, 0x10000}};

	for (unsigned form = 0; form < 4; form++) {
		if ((c[0] & forms[form].mask) != forms[form].lead)
			continue;
		*code = c[0] & (unsigned char)~forms[form].mask;
		for (unsigned i = 1; i <= form; i++) {
			if (c[i] >> 6 != 2) /* the NUL at the end is none either */
				return 0;
			*code = *code << 6 | (c[i] & 0x3f);
		}
		if (*code < forms[form].least || *code > 0x10ffff || *code >> 11 == 0xd800 >> 11)
			return 0;
		return form + 1;
	}
	return 0;
}

/* ISO 6429 C0, DEL and C1; Unicode's Cf, Zl and Zp: what breaks a line, turns the direction of text or does not show; variation selectors */
static bool obeyed(uint32_t code)
{
	static const uint32_t others[] = {0x7f, 0xad, 0x61c, 0xfeff};
	static const uint32_t blocks[][2] = {{0x180b, 5}, {0x200b, 5}, {0x2028, 7}, {0x2060, 16}, {0xfe00, 16}, {0xfff9, 3}, {0xe0000, 0x1000}};

	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		if (code == others[i])
			return true;
	for (size_t i = 0; i < sizeof(blocks) / sizeof(blocks[0]); i++)
		if (code >= blocks[i][0] && code - blocks[i][0] < blocks[i][1])
			return true;
	return code < 0x20 || (code >= 0x80 && code < 0xa0);
}

/* The length of the character that a text starts with if it can be shown, else 0. */
static unsigned shown(const char *text, const char *also)
{
	uint32_t code = 0;
	unsigned length = character((const unsigned char *)text, &code);

	return obeyed(code) && !(length == 1 && strchr(also, *text)) ? 0 : length;
}

void fuzz_place(const char *text, size_t size, unsigned line, unsigned column)
{
	size_t at = 0;

	for (unsigned i = 1; i < line; i++) {
		const char *newline = memchr(text + at, '\n', size - at);

		require(newline);
		at = (size_t)(newline - text) + 1;
	}
	require(line >= 1 && column >= 1 && at + column - 1 <= size);
}

bool fuzz_printable(const char *text, const char *also)
{
	while (*text) {
		unsigned length = shown(text, also);

		if (length == 0)
			return false;
		text += length;
	}
	return true;
}

char *fuzz_clean(const char *text, const char *also)
{
	static const char replacement[] = "\xef\xbf\xbd";
	char *clean = malloc(3 * strlen(text) + 1), *to = clean;

	require(clean);
	while (*text) {
		unsigned length = shown(text, also);

		if (length > 0 && strncmp(text, replacement, 3) != 0) {
			memcpy(to, text, length);
			to += length;
		} else if (to - clean < 3 || memcmp(to - 3, replacement, 3) != 0) {
			memcpy(to, replacement, 3);
			to += 3;
		}
		text += length > 0 ? length : 1;
	}
	*to = '\0';
	return clean;
}
