/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * YAML text → tree of nodes with places, by libyaml's events. Of YAML only what a policy needs:
 * one document, no anchors, aliases or tags, little nesting.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <yaml.h>

#include "read.h"

#define BOM "\xef\xbb\xbf"

struct loader {
	const char *path;
	const char *text; /* what libyaml reads */
	size_t size;
	struct finding_list *findings;
	struct tree_node *root;
	struct tree_node *open[POLICY_DEPTH_MAX]; /* sequences and mappings being filled */
	unsigned depth, documents;
	struct policy_mark end; /* faults from here on are owed to our own cut */
	bool whole, stop;
};

static struct policy_mark mark_of(yaml_mark_t mark)
{
	return (struct policy_mark){(unsigned)mark.line + 1, (unsigned)mark.column + 1};
}

static struct finding *syntax(struct loader *in, struct policy_mark mark, const char *got)
{
	struct finding *f = finding_at(finding_add(in->findings, FINDING_POLICY_SYNTAX), in->path, mark.line,
				       mark.column);

	finding_set(&f->got, "%s", got);
	return f;
}

void tree_free(struct tree_node *root)
{
	while (root) {
		struct tree_node *next = root->next;

		tree_free(root->first); /* no deeper than POLICY_DEPTH_MAX */
		free(root->text);
		free(root);
		root = next;
	}
}

/* Anchors and tags would make text mean other than it says; the node itself is still checked. */
static void refuse_properties(struct loader *in, struct policy_mark mark, const yaml_char_t *anchor,
			      const yaml_char_t *tag)
{
	if (anchor)
		finding_set(&syntax(in, mark, "an anchor")->wanted,
			    "plain text: no anchors, aliases or tags");
	if (tag)
		finding_set(&syntax(in, mark, "a tag")->wanted, "plain text: no anchors, aliases or tags");
}

/* Adds a node where the loader stands; a sequence or mapping becomes the place to add to. */
static struct tree_node *add_node(struct loader *in, enum node_kind kind, struct policy_mark mark)
{
	struct tree_node *node = calloc(1, sizeof(*node));
	struct tree_node *parent = in->depth ? in->open[in->depth - 1] : NULL;

	if (!node)
		return NULL;
	node->kind = kind;
	node->mark = mark;
	node->open = kind != NODE_SCALAR;
	if (!parent)
		in->root = node;
	else if (parent->last)
		parent->last->next = node;
	else
		parent->first = node;
	if (parent)
		parent->last = node;
	if (kind != NODE_SCALAR)
		in->open[in->depth++] = node;
	return node;
}

static int take_scalar(struct loader *in, const yaml_event_t *event)
{
	struct policy_mark mark = mark_of(event->start_mark);
	const char *text = (const char *)event->data.scalar.value;
	size_t length = event->data.scalar.length;
	struct tree_node *node = add_node(in, NODE_SCALAR, mark);

	if (!node)
		return -ENOMEM;
	refuse_properties(in, mark, event->data.scalar.anchor, event->data.scalar.tag);
	node->plain = event->data.scalar.style == YAML_PLAIN_SCALAR_STYLE;
	if (memchr(text, '\0', length)) { /* "\0" in double quotes: no value here has one */
		syntax(in, mark, "a NUL character");
		node->refused = true;
	}
	node->text = strndup(text, length);
	return node->text ? 0 : -ENOMEM;
}

static int take_collection(struct loader *in, enum node_kind kind, const yaml_event_t *event)
{
	struct policy_mark mark = mark_of(event->start_mark);
	bool sequence = kind == NODE_SEQUENCE;

	if (in->depth == POLICY_DEPTH_MAX) {
		syntax(in, mark, "nested too deep");
		in->whole = false;
		in->stop = true;
		return 0;
	}
	refuse_properties(in, mark,
			  sequence ? event->data.sequence_start.anchor : event->data.mapping_start.anchor,
			  sequence ? event->data.sequence_start.tag : event->data.mapping_start.tag);
	return add_node(in, kind, mark) ? 0 : -ENOMEM;
}

static int take_alias(struct loader *in, const yaml_event_t *event)
{
	struct policy_mark mark = mark_of(event->start_mark);
	struct tree_node *node = add_node(in, NODE_SCALAR, mark);

	if (!node)
		return -ENOMEM;
	node->refused = true;
	node->text = strdup("");
	finding_set(&syntax(in, mark, "an alias")->wanted, "plain text: no anchors, aliases or tags");
	return node->text ? 0 : -ENOMEM;
}

static int take(struct loader *in, const yaml_event_t *event)
{
	switch (event->type) {
	case YAML_DOCUMENT_START_EVENT:
		if (in->documents++ == 0)
			return 0;
		finding_set(&syntax(in, mark_of(event->start_mark), "a second document")->wanted,
			    "one document in a file");
		in->stop = true;
		return 0;
	case YAML_SCALAR_EVENT:
		return take_scalar(in, event);
	case YAML_ALIAS_EVENT:
		return take_alias(in, event);
	case YAML_SEQUENCE_START_EVENT:
		return take_collection(in, NODE_SEQUENCE, event);
	case YAML_MAPPING_START_EVENT:
		return take_collection(in, NODE_MAPPING, event);
	case YAML_SEQUENCE_END_EVENT:
	case YAML_MAPPING_END_EVENT:
		if (in->depth > 0) /* so many are open: NOLINTNEXTLINE(clang-analyzer-core.NullDereference) */
			in->open[--in->depth]->open = false;
		return 0;
	case YAML_STREAM_END_EVENT:
		in->stop = true;
		return 0;
	default:
		return 0;
	}
}

/*
 * Where a tab is in the blanks that the line of a mark begins with: true, and its mark. libyaml counts
 * characters, not bytes.
 */
static bool find_tab(const struct loader *in, yaml_mark_t mark, struct policy_mark *tab)
{
	size_t at = 0, start;

	for (size_t n = 0; n < mark.index && at < in->size; n++)
		do
			at++;
		while (at < in->size && ((unsigned char)in->text[at] & 0xc0) == 0x80);
	for (start = at; start > 0 && in->text[start - 1] != '\n' && in->text[start - 1] != '\r';)
		start--;
	for (size_t i = start; i < in->size && (in->text[i] == ' ' || in->text[i] == '\t'); i++)
		if (in->text[i] == '\t') {
			*tab = (struct policy_mark){(unsigned)mark.line + 1, (unsigned)(i - start) + 1};
			return true;
		}
	return false;
}

static void take_error(struct loader *in, const yaml_parser_t *parser)
{
	struct policy_mark mark = mark_of(parser->problem_mark), tab;
	struct finding *f;

	in->whole = false;
	if (in->end.line && mark.line >= in->end.line)
		return;
	if (parser->flow_level == 0 && find_tab(in, parser->problem_mark, &tab)) { /* what libyaml makes of it varies with what stands before */
		finding_set(&syntax(in, tab, "a tab")->wanted, "blanks: a tab is not allowed for indentation");
		return;
	}
	f = syntax(in, mark, parser->problem ? parser->problem : "unreadable");
	if (parser->context)
		finding_set(&f->detail, "%s that begins at line %zu", parser->context,
			    parser->context_mark.line + 1);
}

static int run(struct loader *in)
{
	yaml_parser_t parser;
	int r = 0;

	if (!yaml_parser_initialize(&parser))
		return -ENOMEM;
	yaml_parser_set_encoding(&parser, YAML_UTF8_ENCODING);
	yaml_parser_set_input_string(&parser, (const unsigned char *)in->text, in->size);
	while (r == 0 && !in->stop) {
		yaml_event_t event;

		if (!yaml_parser_parse(&parser, &event)) {
			if (parser.error == YAML_MEMORY_ERROR)
				r = -ENOMEM;
			else
				take_error(in, &parser);
			break;
		}
		r = take(in, &event);
		yaml_event_delete(&event);
	}
	yaml_parser_delete(&parser);
	return r;
}

/* Length of the character at text that libyaml's reader takes (YAML 1.1, 5.1), 0 if it is none. */
static size_t character(const unsigned char *text, size_t left)
{
	static const unsigned least[] = {0, 0, 0x80, 0x800, 0x10000};
	size_t length = text[0] < 0x80 ? 1 : text[0] < 0xc0 ? 0 : text[0] < 0xe0 ? 2 : text[0] < 0xf0 ? 3 : 4;
	unsigned value = length == 1 ? text[0] : text[0] & (0xffu >> (length + 1));

	if (length == 0 || length > left || text[0] > 0xf4)
		return 0;
	for (size_t i = 1; i < length; i++) {
		if ((text[i] & 0xc0) != 0x80)
			return 0;
		value = value << 6 | (text[i] & 0x3f);
	}
	if (value < least[length] || value > 0x10ffff || (value >= 0xd800 && value <= 0xdfff))
		return 0;
	if ((value < 0x20 && value != '\t' && value != '\n' && value != '\r') ||
	    (value >= 0x7f && value < 0xa0 && value != 0x85) || value == 0xfeff || value == 0xfffe ||
	    value == 0xffff)
		return 0;
	return length;
}

/*
 * libyaml reads ahead and would give up before the first event for a bad byte further down, so they
 * are looked for first. Returns the size of the text up to the line that has one, and reports it.
 */
static size_t cut_at_bad_byte(struct loader *in, const char *text, size_t size)
{
	struct policy_mark mark = {1, 1};
	size_t at = 0, line_start = 0;

	while (at < size) {
		size_t length = character((const unsigned char *)text + at, size - at);

		if (length == 0) {
			struct finding *f = syntax(in, mark, "");

			finding_set(&f->wanted, "UTF-8 text without control characters");
			finding_set(&f->got, "byte 0x%02x", (unsigned char)text[at]);
			in->end = mark;
			in->whole = false;
			return line_start;
		}
		mark.column++;
		at += length;
		if (text[at - 1] == '\n') {
			mark = (struct policy_mark){mark.line + 1, 1};
			line_start = at;
		}
	}
	return size;
}

/*
 * The end of a text that was cut looks like a good one: what is open there could go on, and a value
 * that is missing there could stand in the line that was cut away.
 */
static void open_end(struct loader *in)
{
	for (struct tree_node *node = in->root; node; node = node->last) {
		node->open = node->kind != NODE_SCALAR;
		if (node->kind == NODE_SCALAR && node->plain && !node->text[0])
			node->refused = true;
	}
}

int tree_load(const char *path, const char *text, size_t size, struct finding_list *findings,
	      struct tree_node **root, bool *whole)
{
	struct loader in = {.path = path, .findings = findings, .whole = true};
	int r;

	if (size >= strlen(BOM) && memcmp(text, BOM, strlen(BOM)) == 0) {
		text += strlen(BOM);
		size -= strlen(BOM);
	}
	in.text = text;
	in.size = cut_at_bad_byte(&in, text, size);
	r = run(&in);
	if (r == 0 && in.end.line)
		open_end(&in);
	if (r == 0 && !in.root && in.whole)
		finding_set(&syntax(&in, (struct policy_mark){1, 1}, "nothing")->wanted, "a policy");
	if (r < 0) {
		tree_free(in.root);
		in.root = NULL;
	}
	*root = in.root;
	*whole = in.whole;
	return r;
}
