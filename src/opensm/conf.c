/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * opensm.conf as OpenSM 3.3.23 reads it (osm_subn_parse_conf_file(), osm_subnet.c:2207-2272), held
 * piece by piece so that every byte that is not edited is written back.
 *
 * A piece is what one fgets(line, 1023) returns: a line with its newline, or 1022 bytes of a
 * longer one, whose rest OpenSM takes as the next line, a comment's rest included. In a piece all
 * from the first '#' on is a comment, also inside quotes, and a NUL ends it. The key goes up to a
 * blank, tab or newline (not '=' or ','); the value is what follows, with the white space of
 * isspace() around it and one pair of equal quotes taken off (clean_val(), :1691). So a CRLF file
 * reads right, but for its empty lines, which OpenSM reports as an unknown key "\r". Keys are
 * compared exactly. Lines are obeyed in order: for strings, booleans and qos_*_high_limit the last
 * one decides; for other numbers the last one that is a number in range does.
 */
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "conf.h"

#define KEY_END " \t\n"
#define MARK "# set by ibqos"

struct piece {
	char *bytes; /* NUL-terminated one past size */
	size_t size;
	unsigned line;
	bool torn; /* part of a longer line, or with a NUL in it: not to be edited */
	char *key; /* NULL: sets nothing; then value is NULL too */
	char *value;
	size_t value_at, value_size; /* where the value stands in bytes, inside its quotes */
};

struct opensm_conf {
	struct piece *pieces;
	size_t count, room;
};

static void piece_clear(struct piece *piece)
{
	free(piece->bytes);
	free(piece->key);
	free(piece->value);
	memset(piece, 0, sizeof(*piece));
}

/* isspace() of the C locale, in which OpenSM runs, whatever this program's locale is. */
static bool is_space(char c)
{
	return c == ' ' || (c >= '\t' && c <= '\r');
}

/* Finds key and value in piece->bytes. 0 or -ENOMEM. */
static int piece_read(struct piece *piece)
{
	const char *text = piece->bytes;
	size_t end = strcspn(text, "#"); /* stops at a NUL, as strchr() in OpenSM does */
	size_t key = strspn(text, KEY_END), key_end, from, to;

	if (key >= end)
		return 0;
	key_end = key + strcspn(text + key, KEY_END);
	if (key_end > end)
		key_end = end;
	for (from = key_end; from < end && is_space(text[from]);)
		from++;
	for (to = end; to > from && is_space(text[to - 1]);)
		to--;
	if (from == to)
		from = to = key_end;
	piece->value_at = from;
	piece->value_size = to - from;
	piece->key = strndup(text + key, key_end - key);
	if (to > from && (text[from] == '"' || text[from] == '\'') && text[to - 1] == text[from]) {
		if (to - from == 1) { /* a lone quote is taken off too; a new value must replace it */
			piece->value = strdup("");
			return piece->key && piece->value ? 0 : -ENOMEM;
		}
		piece->value_at++;
		piece->value_size -= 2;
	}
	piece->value = strndup(text + piece->value_at, piece->value_size);
	return piece->key && piece->value ? 0 : -ENOMEM;
}

/* Makes a piece of copied bytes. 0 or -ENOMEM, then the piece is empty. */
static int piece_make(struct piece *piece, const char *bytes, size_t size)
{
	memset(piece, 0, sizeof(*piece));
	piece->bytes = malloc(size + 1);
	if (!piece->bytes)
		return -ENOMEM;
	memcpy(piece->bytes, bytes, size);
	piece->bytes[size] = '\0';
	piece->size = size;
	if (memchr(bytes, '\0', size))
		piece->torn = true;
	if (piece_read(piece) < 0) {
		piece_clear(piece);
		return -ENOMEM;
	}
	return 0;
}

static int conf_room(struct opensm_conf *conf, size_t more)
{
	struct piece *grown = array_grow(conf->pieces, &conf->room, conf->count + more, sizeof(*grown));

	if (!grown)
		return -ENOMEM;
	conf->pieces = grown;
	return 0;
}

int opensm_conf_parse(const char *text, size_t size, struct opensm_conf **result)
{
	struct opensm_conf *conf = calloc(1, sizeof(*conf));
	bool inside = false; /* the piece before did not end its line */
	unsigned line = 1;
	size_t at = 0;

	*result = NULL;
	if (!conf)
		return -ENOMEM;
	if (size > CONF_SIZE_MAX) {
		opensm_conf_free(conf);
		return -EFBIG;
	}
	while (at < size) {
		size_t length = size - at < CONF_PIECE_MAX ? size - at : CONF_PIECE_MAX;
		const char *newline = memchr(text + at, '\n', length);
		struct piece *piece;

		if (newline)
			length = (size_t)(newline - (text + at)) + 1;
		if (conf_room(conf, 1) < 0 || piece_make(&conf->pieces[conf->count], text + at, length) < 0) {
			opensm_conf_free(conf);
			return -ENOMEM;
		}
		piece = &conf->pieces[conf->count++];
		at += length;
		piece->line = line;
		if (inside || (!newline && at < size))
			piece->torn = true;
		inside = !newline;
		if (newline)
			line++;
	}
	*result = conf;
	return 0;
}

void opensm_conf_free(struct opensm_conf *conf)
{
	if (!conf)
		return;
	for (size_t i = 0; i < conf->count; i++)
		piece_clear(&conf->pieces[i]);
	free(conf->pieces);
	free(conf);
}

static struct piece *conf_find(const struct opensm_conf *conf, const char *key)
{
	for (size_t i = conf->count; i-- > 0;)
		if (conf->pieces[i].key && strcmp(conf->pieces[i].key, key) == 0)
			return &conf->pieces[i];
	return NULL;
}

const char *opensm_conf_get(const struct opensm_conf *conf, const char *key)
{
	const struct piece *piece = conf_find(conf, key);

	return piece ? piece->value : NULL;
}

unsigned opensm_conf_line(const struct opensm_conf *conf, const char *key)
{
	const struct piece *piece = conf_find(conf, key);

	return piece ? piece->line : 0;
}

bool opensm_conf_torn(const struct opensm_conf *conf, const char *key)
{
	const struct piece *piece = conf_find(conf, key);

	return piece && piece->torn;
}

static void describe(const struct piece *piece, struct conf_line *line)
{
	*line = (struct conf_line){.key = piece->key, .value = piece->value, .line = piece->line, .torn = piece->torn};
	line->key_column = (unsigned)strspn(piece->bytes, KEY_END) + 1;
	line->value_column = (unsigned)piece->value_at + 1;
}

bool conf_line_at(const struct opensm_conf *conf, size_t n, struct conf_line *line)
{
	if (n >= conf->count)
		return false;
	describe(&conf->pieces[n], line);
	return true;
}

bool conf_line_of(const struct opensm_conf *conf, const char *key, struct conf_line *line)
{
	const struct piece *piece = conf_find(conf, key);

	if (piece)
		describe(piece, line);
	return piece != NULL;
}

/* True if OpenSM, reading the piece, sets `key` to `value`. */
static bool piece_says(const struct piece *piece, const char *key, const char *value)
{
	return !piece->torn && piece->size <= CONF_PIECE_MAX && piece->key && strcmp(piece->key, key) == 0 &&
	       strcmp(piece->value, value) == 0;
}

/* The piece with its value replaced. 0; -ENOMEM; -EINVAL: would not read back as `value`. */
static int piece_edit(const struct piece *old, const char *value, struct piece *edited)
{
	size_t tail = old->value_at + old->value_size, size;
	char *bytes;
	FILE *out = open_memstream(&bytes, &size);
	int r;

	if (!out)
		return -ENOMEM;
	fwrite(old->bytes, 1, old->value_at, out);
	/* an empty value stands right behind the key, or between quotes */
	if (old->value_size == 0 && old->bytes[old->value_at] != '"' && old->bytes[old->value_at] != '\'')
		fputc(' ', out);
	fputs(value, out);
	fwrite(old->bytes + tail, 1, old->size - tail, out);
	r = text_stream_end(out, &bytes);
	if (r < 0)
		return r;
	r = piece_make(edited, bytes, size);
	free(bytes);
	if (r < 0)
		return r;
	edited->line = old->line;
	if (!piece_says(edited, old->key, value)) {
		piece_clear(edited);
		return -EINVAL;
	}
	return 0;
}

/* How lines end in this file: as the first one does. */
static const char *conf_newline(const struct opensm_conf *conf)
{
	const struct piece *first = conf->count ? &conf->pieces[0] : NULL;

	if (first && first->size >= 2 && memcmp(first->bytes + first->size - 2, "\r\n", 2) == 0)
		return "\r\n";
	return "\n";
}

static bool conf_marked(const struct opensm_conf *conf)
{
	for (size_t i = 0; i < conf->count; i++) {
		const char *bytes = conf->pieces[i].bytes;

		if (strncmp(bytes, MARK, strlen(MARK)) == 0 && strspn(bytes + strlen(MARK), "\r\n") > 0)
			return true;
	}
	return false;
}

/*
 * Ends the last line of the file, where it has no newline, so that another can follow. By "\n"
 * alone: a "\r" behind a key without value would become part of the key.
 */
static int conf_end_line(struct opensm_conf *conf)
{
	struct piece *last = conf->count ? &conf->pieces[conf->count - 1] : NULL;
	char *longer;

	if (!last || last->bytes[last->size - 1] == '\n')
		return 0;
	longer = realloc(last->bytes, last->size + 2);
	if (!longer)
		return -ENOMEM;
	last->bytes = longer;
	longer[last->size++] = '\n';
	longer[last->size] = '\0';
	return 0;
}

static int conf_append(struct opensm_conf *conf, const char *key, const char *value)
{
	const char *newline = *value ? conf_newline(conf) : "\n";
	struct piece line = {0}, mark = {0};
	char *text;
	int r, size = asprintf(&text, "%s%s%s%s", key, *value ? " " : "", value, newline);

	if (size < 0)
		return -ENOMEM;
	r = piece_make(&line, text, (size_t)size);
	free(text);
	if (r < 0)
		return r;
	if (!piece_says(&line, key, value)) {
		piece_clear(&line);
		return -EINVAL;
	}
	if (!conf_marked(conf)) {
		char bytes[sizeof(MARK) + 2];

		r = piece_make(&mark, bytes, (size_t)snprintf(bytes, sizeof(bytes), MARK "%s", newline));
	}
	if (r == 0)
		r = conf_room(conf, 2);
	if (r == 0)
		r = conf_end_line(conf);
	if (r < 0) {
		piece_clear(&line);
		piece_clear(&mark);
		return r;
	}
	mark.line = conf->count ? conf->pieces[conf->count - 1].line + 1 : 1;
	line.line = mark.line + (mark.bytes ? 1 : 0);
	if (mark.bytes)
		conf->pieces[conf->count++] = mark;
	conf->pieces[conf->count++] = line;
	return 0;
}

int opensm_conf_set(struct opensm_conf *conf, const char *key, const char *value)
{
	struct piece *piece = conf_find(conf, key);
	struct piece edited;
	int r = -EINVAL;

	if (!*key || strpbrk(key, KEY_END "#") || strchr(value, '\n'))
		return -EINVAL;
	/* A torn line says it by chance only: a letter added before it would change it. */
	if (piece && !piece->torn && strcmp(piece->value, value) == 0)
		return 0;
	if (piece && !piece->torn)
		r = piece_edit(piece, value, &edited);
	if (r == 0) {
		piece_clear(piece);
		*piece = edited;
		return 0;
	}
	/* A torn line, or one that would grow too long, stays; a later line overrides it. */
	return r == -EINVAL ? conf_append(conf, key, value) : r;
}

int opensm_conf_render(const struct opensm_conf *conf, char **text, size_t *size)
{
	FILE *out = open_memstream(text, size);

	if (!out)
		return -ENOMEM;
	for (size_t i = 0; i < conf->count; i++)
		fwrite(conf->pieces[i].bytes, 1, conf->pieces[i].size, out);
	return text_stream_end(out, text);
}
