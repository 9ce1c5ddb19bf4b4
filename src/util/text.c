/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Text from outside made safe to show, and numbers read from it.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>

#include "ibqos/util.h"

#define REPLACEMENT "\xef\xbf\xbd" /* U+FFFD */
#define REPLACEMENT_SIZE (sizeof(REPLACEMENT) - 1)

/* The code point that `text` starts with and its length in bytes; 0 if that is not UTF-8 (RFC 3629). */
static size_t decode(const char *text, size_t size, uint32_t *code)
{
	/* the smallest code point that needs so many bytes: anything below is overlong */
	static const uint32_t smallest[] = {0, 0, 0x80, 0x800, 0x10000};
	const unsigned char *byte = (const unsigned char *)text;
	size_t length;

	if (size == 0)
		return 0;
	if (byte[0] < 0x80) {
		*code = byte[0];
		return 1;
	}
	if (byte[0] >= 0xc2 && byte[0] <= 0xdf)
		length = 2;
	else if (byte[0] >= 0xe0 && byte[0] <= 0xef)
		length = 3;
	else if (byte[0] >= 0xf0 && byte[0] <= 0xf4)
		length = 4;
	else
		return 0;
	if (length > size)
		return 0;
	*code = byte[0] & (0x7fu >> length);
	for (size_t i = 1; i < length; i++) {
		if ((byte[i] & 0xc0) != 0x80)
			return 0;
		*code = *code << 6 | (byte[i] & 0x3f);
	}
	if (*code < smallest[length] || *code > 0x10ffff || (*code >= 0xd800 && *code <= 0xdfff))
		return 0;
	return length;
}

/*
 * Control characters, C1 included, those that break a line or turn the direction of what follows, and those that do not
 * show at all: each lets a name change how the text around it reads, or look like another name.
 */
static bool is_control(uint32_t code)
{
	static const struct {
		uint32_t first, last;
	} ranges[] = {
		{0x00, 0x1f},	    {0x7f, 0x9f},     {0xad, 0xad},	{0x61c, 0x61c},	  {0x180b, 0x180f},
		{0x200b, 0x200f},   {0x2028, 0x202e}, {0x2060, 0x206f}, {0xfe00, 0xfe0f}, {0xfeff, 0xfeff},
		{0xfff9, 0xfffb},   {0xe0000, 0xe0fff},
	};

	for (size_t i = 0; i < sizeof(ranges) / sizeof(ranges[0]); i++)
		if (code >= ranges[i].first && code <= ranges[i].last)
			return true;
	return false;
}

size_t text_char(const char *text, size_t size)
{
	uint32_t code;
	size_t length;

	if (size > 0 && text[0] >= ' ' && text[0] <= '~') /* nearly all there is */
		return 1;
	length = decode(text, size, &code);
	return length > 0 && !is_control(code) ? length : 0;
}

static bool is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

char *text_utf8(const void *raw, size_t size)
{
	const char *from = raw;
	char *text, *to;

	size = raw ? strnlen(from, size) : 0;
	while (size > 0 && is_blank(from[size - 1]))
		size--;
	if (size > (SIZE_MAX - 1) / REPLACEMENT_SIZE)
		return NULL;
	text = to = malloc(size * REPLACEMENT_SIZE + 1);
	if (!text)
		return NULL;
	while (size > 0) {
		uint32_t code = 0;
		size_t length;

		if (*from >= ' ' && *from <= '~') {
			*to++ = *from++;
			size--;
			continue;
		}
		length = decode(from, size, &code);
		if (length == 0 || is_control(code)) {
			memcpy(to, REPLACEMENT, REPLACEMENT_SIZE);
			to += REPLACEMENT_SIZE;
			length = length ? length : 1;
		} else {
			memcpy(to, from, length);
			to += length;
		}
		from += length;
		size -= length;
	}
	*to = '\0';
	return text;
}

static int digit_of(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	if (c >= 'A' && c <= 'F')
		return c - 'A' + 10;
	return 16;
}

/* The code point of a character of this many bytes. */
static wchar_t code_point(const char *text, size_t length)
{
	static const unsigned char mask[] = {0, 0x7f, 0x1f, 0x0f, 0x07};
	uint32_t code = (unsigned char)text[0] & mask[length];

	for (size_t i = 1; i < length; i++)
		code = code << 6 | ((unsigned char)text[i] & 0x3f);
	return (wchar_t)code;
}

size_t text_width(const char *text, size_t size)
{
	size_t width = 0, left = size;

	while (left > 0) {
		size_t length = text_char(text, left);
		int columns = length > 1 ? wcwidth(code_point(text, length)) : 1;

		width += columns < 0 ? 1 : (size_t)columns;
		text += length ? length : 1;
		left -= length ? length : 1;
	}
	return width;
}

int text_to_u64(const char *text, uint64_t max, uint64_t *value)
{
	int base = 10;
	uint64_t sum = 0;
	bool beyond = false;

	if (text[0] == '0' && text[1] == 'x') {
		base = 16;
		text += 2;
	} else if (text[0] == '0' && text[1] != '\0') {
		return -EINVAL; /* octal to some readers, decimal to others */
	}
	if (*text == '\0')
		return -EINVAL;
	/* A wrong character counts before the size, so the whole string is looked at. */
	for (; *text; text++) {
		int digit = digit_of(*text);

		if (digit >= base)
			return -EINVAL;
		if (__builtin_mul_overflow(sum, (uint64_t)base, &sum) ||
		    __builtin_add_overflow(sum, (uint64_t)digit, &sum))
			beyond = true;
	}
	if (beyond || sum > max)
		return -ERANGE;
	*value = sum;
	return 0;
}

int text_duration(const char *text, uint64_t max, uint64_t *seconds)
{
	static const struct {
		const char *unit;
		unsigned seconds;
	} units[] = {{"", 1}, {"s", 1}, {"m", 60}, {"min", 60}, {"h", 3600}, {"d", 86400}};
	size_t digits = strspn(text, "0123456789");
	char number[24] = "";
	uint64_t count;
	int error;

	if (digits >= sizeof(number))
		return -ERANGE;
	memcpy(number, text, digits);
	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
		if (strcmp(text + digits, units[i].unit) != 0)
			continue;
		error = text_to_u64(number, max / units[i].seconds, &count);
		if (error == 0)
			*seconds = count * units[i].seconds;
		return error;
	}
	return -EINVAL;
}

int text_stream_end(FILE *stream, char **text)
{
	bool failed = fflush(stream) != 0 || ferror(stream);

	failed |= fclose(stream) != 0 || !*text;
	if (failed) {
		free(*text);
		*text = NULL;
	}
	return failed ? -ENOMEM : 0;
}

void text_wrap(FILE *out, unsigned indent, unsigned width, const char *text)
{
	unsigned column = 0;

	while (*text) {
		size_t word = strcspn(text, " ");

		if (column > 0 && column + 1 + word > width) {
			fputc('\n', out);
			column = 0;
		}
		column += (unsigned)fprintf(out, "%*s%.*s", column ? 1 : (int)indent, "", (int)word, text);
		text += word;
		text += strspn(text, " ");
	}
	fputc('\n', out);
}

char *text_shell_word(const char *word)
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789%+,-./:=@_";
	char *text = NULL;
	size_t size;
	FILE *out;

	if (*word && word[strspn(word, plain)] == '\0')
		return strdup(word);
	out = open_memstream(&text, &size);
	if (!out)
		return NULL;
	fputc('\'', out);
	for (; *word; word++) {
		if (*word == '\'')
			fputs("'\\''", out);
		else
			fputc(*word, out);
	}
	fputc('\'', out);
	return text_stream_end(out, &text) == 0 ? text : NULL;
}
