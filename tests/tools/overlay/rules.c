/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The rules file. One rule a line, '#' begins a comment, words are split at blanks, "quotes" keep them:
 *
 *   MATCH... : ACTION...
 *
 * Matches (all must hold; none at all matches every MAD that is answered):
 *   node=GLOB      node description or node id of the net file
 *   guid=0x..      node GUID
 *   port=N         port the attribute is about: the modifier's (for SL2VL the output port), for PMA the
 *                  PortSelect; where a CA's modifier names none, the port that the MAD came in by
 *   attr=NAME|0x.. a name of the table `attrs` below (it brings its class along) or a number
 *   mod=0x..       attribute modifier
 *   class=smp|pma|sa
 *   method=get|set what was asked; without it a rule is for both
 *   prob=0..1      applies by chance, seeded by IBQOS_OVERLAY_SEED
 *
 * Actions, in the order of the file; all rules that match apply, the last fate and status win:
 *   set FIELD=VALUE ...  fields of the answer by their libibmad names; for SL2VL SL0..SL15, for VLArb
 *                        entry0..entry31=VL:WEIGHT, for NodeDesc NodeDesc=TEXT; anywhere byteN=0x..;
 *                        the rule needs attr=
 *   status=0x..          the answer carries this MAD status
 *   drop                 no answer, ever: silence
 *   timeout              no answer, and when timeout and retries of the request are over the request comes
 *                        back with ETIMEDOUT, as from the kernel (ibsim has no timers): for programs that
 *                        wait without end, such as libibnetdisc and OpenSM
 *   delay=MS             the answer comes later
 *   duplicate=N          the answer comes N times more
 * A Set that a rule drops, times out or fails leaves as a Get: the device keeps what it had.
 *
 * Any other word ends the process (abort), as do a node= or guid= that is nowhere in the net, and a MAD
 * for a device that cannot be told where a rule asks which it is.
 */
#include <infiniband/mad.h>
#include <stdlib.h>
#include <string.h>

#include "overlay.h"

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "fields of 32 and 64 bits are passed by one pointer");

enum { CLASS_ANY, CLASS_SMP, CLASS_PMA, CLASS_SA };

enum port_from { PORT_OF_ENTRY, PORT_IN_MODIFIER, PORT_IN_DATA };

struct attr {
	const char *name;
	int class;
	uint16_t id;
	enum port_from port_from;
	struct {
		int first, end;
	} fields[3]; /* libibmad's numbers, end not included */
};

/* IBA 14.2.5, 16.1.3 */
static const struct attr attrs[] = {
	{"NodeDesc", CLASS_SMP, 0x10, PORT_OF_ENTRY, {{0}}},
	{"NodeInfo", CLASS_SMP, 0x11, PORT_OF_ENTRY, {{IB_NODE_FIRST_F, IB_NODE_LAST_F}}},
	{"SwitchInfo", CLASS_SMP, 0x12, PORT_OF_ENTRY, {{IB_SW_FIRST_F, IB_SW_LAST_F}}},
	{"PortInfo",
	 CLASS_SMP,
	 0x15,
	 PORT_IN_MODIFIER,
	 {{IB_PORT_FIRST_F, IB_PORT_LAST_F},
	  {IB_PORT_CAPMASK2_F, IB_PORT_CAPMASK2_F + 1},
	  {IB_PORT_LINK_SPEED_EXT_ACTIVE_F, IB_PORT_LINK_SPEED_EXT_LAST_F}}},
	{"PKeyTable", CLASS_SMP, 0x16, PORT_IN_MODIFIER, {{0}}},
	{"SL2VL", CLASS_SMP, 0x17, PORT_IN_MODIFIER, {{0}}},
	{"VLArb", CLASS_SMP, 0x18, PORT_IN_MODIFIER, {{0}}},
	{"LFT", CLASS_SMP, 0x19, PORT_OF_ENTRY, {{0}}},
	{"SMInfo", CLASS_SMP, 0x20, PORT_OF_ENTRY, {{IB_SMINFO_GUID_F, IB_SMINFO_STATE_F + 1}}},
	{"MlnxExtPortInfo", CLASS_SMP, 0xff90, PORT_IN_MODIFIER, {{IB_MLNX_EXT_PORT_STATE_CHG_ENABLE_F, IB_MLNX_EXT_PORT_LAST_F}}},
	{"ClassPortInfo", CLASS_PMA, 0x01, PORT_OF_ENTRY, {{IB_CPI_BASEVER_F, IB_CPI_TRAP_QKEY_F + 1}}},
	{"PortCounters", CLASS_PMA, 0x12, PORT_IN_DATA, {{IB_PC_FIRST_F, IB_PC_LAST_F}}},
	{"PortCountersExtended", CLASS_PMA, 0x1d, PORT_IN_DATA, {{IB_PC_EXT_FIRST_F, IB_PC_EXT_LAST_F}}},
};
#define ATTRS (sizeof(attrs) / sizeof(attrs[0]))

enum set_kind { SET_FIELD, SET_SL, SET_ENTRY, SET_TEXT, SET_BYTE };

struct setter {
	enum set_kind kind;
	int index; /* field, SL, entry or byte */
	uint64_t value;
	char text[64];
};

#define SETTERS 40
struct rule {
	struct rule *next;
	unsigned line, number;
	/* matches */
	char *node;
	uint64_t guid;
	int class, method, port; /* port -1: any */
	bool has_guid, has_attr, has_mod, has_prob;
	const struct attr *attr;
	uint16_t attr_id;
	uint32_t mod;
	double prob;
	uint64_t tried;
	/* actions */
	bool has_status, has_fate, acts;
	uint16_t status;
	enum fate fate;
	unsigned delay_ms, copies, setters;
	struct setter setter[SETTERS];
};

struct rules {
	struct rule *first;
	const struct net *net;
	const char *path;
	uint64_t seed;
};

/* --- reading --- */

struct reading {
	struct rules *rules;
	struct rule *rule;
	bool in_set; /* behind the word `set` */
};

__attribute__((noreturn)) static void bad(const struct reading *r, const char *why, const char *word)
{
	die("rules %s:%u: %s '%s'", r->rules->path, r->rule->line, why, word);
}

static uint64_t number(const struct reading *r, const char *text, uint64_t max)
{
	char *end;
	uint64_t v = strtoull(text, &end, 0);

	if (!*text || *text == '-' || *end || v > max)
		bad(r, "bad number", text);
	return v;
}

static void match_node(struct reading *r, const char *v)
{
	if (!r->rules->net)
		bad(r, "without IBQOS_OVERLAY_NET no rule can ask for", v);
	if (!net_any_name(r->rules->net, v))
		bad(r, "no node in the net file is named", v);
	r->rule->node = strdup(v);
}

static void match_guid(struct reading *r, const char *v)
{
	if (!r->rules->net)
		bad(r, "without IBQOS_OVERLAY_NET no rule can ask for", v);
	r->rule->guid = number(r, v, UINT64_MAX);
	r->rule->has_guid = true;
	if (!net_by_guid(r->rules->net, r->rule->guid))
		bad(r, "no node in the net file has the GUID", v);
}

static void match_port(struct reading *r, const char *v)
{
	r->rule->port = (int)number(r, v, 254);
}

static void match_attr(struct reading *r, const char *v)
{
	for (unsigned i = 0; i < ATTRS; i++)
		if (!strcmp(attrs[i].name, v)) {
			r->rule->attr = &attrs[i];
			r->rule->attr_id = attrs[i].id;
			r->rule->class = attrs[i].class;
		}
	if (!r->rule->attr) {
		if (strncmp(v, "0x", 2))
			bad(r, "unknown attribute", v);
		r->rule->attr_id = (uint16_t)number(r, v, 0xffff);
	}
	r->rule->has_attr = true;
}

static void match_mod(struct reading *r, const char *v)
{
	r->rule->mod = (uint32_t)number(r, v, UINT32_MAX);
	r->rule->has_mod = true;
}

static void match_class(struct reading *r, const char *v)
{
	int class = !strcmp(v, "smp") ? CLASS_SMP : !strcmp(v, "pma") ? CLASS_PMA : !strcmp(v, "sa") ? CLASS_SA : 0;

	if (!class)
		bad(r, "unknown class", v);
	if (r->rule->attr && r->rule->class != class)
		bad(r, "the attribute is of another class than", v);
	r->rule->class = class;
}

static void match_method(struct reading *r, const char *v)
{
	if (!strcmp(v, "get"))
		r->rule->method = IB_MAD_METHOD_GET;
	else if (!strcmp(v, "set"))
		r->rule->method = IB_MAD_METHOD_SET;
	else
		bad(r, "unknown method", v);
}

static void match_prob(struct reading *r, const char *v)
{
	char *end;

	r->rule->prob = strtod(v, &end);
	if (!*v || *end || !(r->rule->prob >= 0 && r->rule->prob <= 1))
		bad(r, "not a probability", v);
	r->rule->has_prob = true;
}

static void act_set(struct reading *r, const char *v)
{
	(void)v;
	if (!r->rule->has_attr)
		bad(r, "set needs attr=, as in", "attr=PortInfo : set LMC=0");
	r->in_set = true;
}

static void fate(struct reading *r, enum fate f)
{
	r->rule->fate = f;
	r->rule->has_fate = true;
}

static void act_drop(struct reading *r, const char *v)
{
	(void)v;
	fate(r, FATE_DROP);
}

static void act_timeout(struct reading *r, const char *v)
{
	(void)v;
	fate(r, FATE_TIMEOUT);
}

static void act_status(struct reading *r, const char *v)
{
	r->rule->status = (uint16_t)number(r, v, 0x7fff);
	r->rule->has_status = true;
}

static void act_delay(struct reading *r, const char *v)
{
	r->rule->delay_ms = (unsigned)number(r, v, 600000);
}

static void act_duplicate(struct reading *r, const char *v)
{
	r->rule->copies = (unsigned)number(r, v, 100);
}

struct word {
	const char *name;
	bool has_value;
	void (*read)(struct reading *r, const char *value);
};

static const struct word match_words[] = {
	{"node", true, match_node}, {"guid", true, match_guid},	  {"port", true, match_port},
	{"attr", true, match_attr}, {"mod", true, match_mod},	  {"class", true, match_class},
	{"prob", true, match_prob}, {"method", true, match_method}, {NULL, false, NULL},
};
static const struct word action_words[] = {
	{"set", false, act_set},	 {"drop", false, act_drop},   {"timeout", false, act_timeout},
	{"status", true, act_status},	 {"delay", true, act_delay}, {"duplicate", true, act_duplicate},
	{NULL, false, NULL},
};

/* SLn, entryN, byteN: the number behind the prefix, or -1. */
static int numbered(const char *name, const char *prefix, int max)
{
	size_t l = strlen(prefix);
	char *end;
	long n;

	if (strncmp(name, prefix, l) || !name[l])
		return -1;
	n = strtol(name + l, &end, 10);
	return *end || n < 0 || n > max ? -1 : (int)n;
}

static int field_named(const struct attr *attr, const char *name)
{
	for (unsigned i = 0; i < 3; i++)
		for (int f = attr->fields[i].first; f && f < attr->fields[i].end; f++)
			if (mad_field_name(f) && !strcmp(mad_field_name(f), name))
				return f;
	return 0;
}

static void put(const struct setter *s, uint8_t *data)
{
	uint8_t *nibbles = data + s->index / 2;
	uint64_t value = s->value;

	switch (s->kind) {
	case SET_FIELD:
		mad_encode_field(data, s->index, &value);
		break;
	case SET_SL: /* IBA 14.2.5.8: SL0 in the upper half of the first byte */
		*nibbles = s->index % 2 ? (uint8_t)((*nibbles & 0xf0) | value) :
					  (uint8_t)((*nibbles & 0x0f) | value << 4);
		break;
	case SET_ENTRY:
		data[2 * s->index] = (uint8_t)(value >> 8);
		data[2 * s->index + 1] = (uint8_t)value;
		break;
	case SET_TEXT:
		memcpy(data, s->text, sizeof(s->text));
		break;
	case SET_BYTE:
		data[s->index] = (uint8_t)value;
		break;
	}
}

static void set_field(struct reading *r, const char *name, const char *value)
{
	struct rule *rule = r->rule;
	struct setter *s = &rule->setter[rule->setters];
	bool sl2vl = rule->attr && rule->attr->id == 0x17, vlarb = rule->attr && rule->attr->id == 0x18;

	if (rule->setters == SETTERS)
		bad(r, "too many fields at", name);
	s->index = numbered(name, "byte", rule->class == CLASS_SMP ? 63 : 191);
	if (s->index >= 0) {
		s->kind = SET_BYTE;
		s->value = number(r, value, 255);
	} else if (sl2vl && (s->index = numbered(name, "SL", 15)) >= 0) {
		s->kind = SET_SL;
		s->value = number(r, value, 15);
	} else if (vlarb && (s->index = numbered(name, "entry", 31)) >= 0) {
		unsigned vl, weight;
		char end;

		if (sscanf(value, "%u:%u%c", &vl, &weight, &end) != 2 || vl > 15 || weight > 255)
			bad(r, "not VL:WEIGHT", value);
		s->kind = SET_ENTRY;
		s->value = vl << 8 | weight;
	} else if (rule->attr && rule->attr->id == 0x10 && !strcmp(name, "NodeDesc")) {
		if (strlen(value) > sizeof(s->text))
			bad(r, "too long", value);
		s->kind = SET_TEXT;
		memcpy(s->text, value, strlen(value));
	} else if (rule->attr && (s->index = field_named(rule->attr, name)) > 0) {
		uint8_t scratch[192] = {0};
		uint64_t back = 0;

		s->kind = SET_FIELD;
		s->value = number(r, value, UINT64_MAX);
		put(s, scratch);
		mad_decode_field(scratch, s->index, &back);
		if (back != s->value)
			bad(r, "does not fit its field:", value);
	} else {
		bad(r, "unknown field", name);
	}
	rule->setters++;
}

/* Next word of the line, quotes taken away; NULL at the end or at a comment. */
static char *next_word(struct reading *r, char **s)
{
	char *word, *out;
	bool quote = false;

	while (**s == ' ' || **s == '\t')
		++*s;
	if (!**s || **s == '#')
		return NULL;
	word = out = *s;
	for (; **s && (quote || (**s != ' ' && **s != '\t')); ++*s) {
		if (**s == '"')
			quote = !quote;
		else
			*out++ = **s;
	}
	if (quote)
		bad(r, "quote not closed in", word);
	if (**s)
		++*s;
	*out = '\0';
	return word;
}

static bool known_word(struct reading *r, const struct word *words, char *word)
{
	char *value = strchr(word, '=');
	size_t l = value ? (size_t)(value - word) : strlen(word);

	for (; words->name; words++) {
		if (strlen(words->name) != l || strncmp(words->name, word, l))
			continue;
		if (words->has_value != !!value)
			bad(r, words->has_value ? "needs a value:" : "takes no value:", word);
		words->read(r, value ? value + 1 : NULL);
		return true;
	}
	return false;
}

static void read_rule(struct reading *r, char *s)
{
	bool actions = false, any = false;
	char *word, *value;

	while ((word = next_word(r, &s))) {
		if (!strcmp(word, ":") && !actions) {
			actions = true;
			continue;
		}
		if (known_word(r, actions ? action_words : match_words, word)) {
			any |= actions;
			continue;
		}
		value = strchr(word, '=');
		if (!r->in_set || !value)
			bad(r, "unknown word", word);
		*value = '\0';
		set_field(r, word, value + 1);
	}
	if (!any)
		bad(r, "no action in the rule", "MATCH... : ACTION...");
	if (r->in_set && !r->rule->setters)
		bad(r, "no FIELD=VALUE behind", "set");
}

struct rules *rules_load(const char *path, const struct net *net, uint64_t seed)
{
	struct rules *rules = calloc(1, sizeof(*rules));
	struct rule **tail = &rules->first;
	struct reading r = {.rules = rules};
	char line[4096];
	FILE *in = fopen(path, "r");

	if (!rules || !in)
		die("rules %s: %m", path);
	rules->net = net;
	rules->path = path;
	rules->seed = seed;
	for (unsigned n = 1; fgets(line, sizeof(line), in); n++) {
		line[strcspn(line, "\r\n")] = '\0';
		if (!line[strspn(line, " \t")] || line[strspn(line, " \t")] == '#')
			continue;
		r.rule = *tail = calloc(1, sizeof(*r.rule));
		if (!r.rule)
			die("out of memory");
		tail = &r.rule->next;
		r.rule->port = -1;
		r.rule->line = r.rule->number = n;
		r.in_set = false;
		read_rule(&r, line);
	}
	fclose(in);
	return rules;
}

void rules_free(struct rules *rules)
{
	while (rules && rules->first) {
		struct rule *rule = rules->first;

		rules->first = rule->next;
		free(rule->node);
		free(rule);
	}
	free(rules);
}

/* --- applying --- */

static int class_of(uint8_t class)
{
	return class_is_smp(class) ? CLASS_SMP : class == 0x04 ? CLASS_PMA : class == 0x03 ? CLASS_SA : CLASS_ANY;
}

unsigned about_port(const struct request *req)
{
	const struct attr *attr = NULL;
	unsigned port = 0;

	for (unsigned i = 0; i < ATTRS && !attr; i++)
		if (attrs[i].id == req->attr && attrs[i].class == class_of(req->class))
			attr = &attrs[i];
	if (attr && attr->port_from == PORT_IN_MODIFIER)
		port = req->mod & 0xff;
	else if (attr && attr->port_from == PORT_IN_DATA)
		port = req->mad[data_offset(req->class) + 1];
	return port ? port : req->place.port;
}

/* The same numbers for the same seed, whatever order the rules of a file come into play. */
static double chance(uint64_t seed, unsigned rule, uint64_t n)
{
	uint64_t x = seed ^ (uint64_t)rule << 40 ^ n;

	for (int i = 0; i < 2; i++) {
		x += 0x9e3779b97f4a7c15u;
		x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
		x = (x ^ x >> 27) * 0x94d049bb133111ebu;
		x ^= x >> 31;
	}
	return (double)(x >> 11) / 9007199254740992.0;
}

static bool matches(const struct rules *rules, struct rule *rule, const struct request *req)
{
	if (rule->class && rule->class != class_of(req->class))
		return false;
	if (rule->has_attr && rule->attr_id != req->attr)
		return false;
	if (rule->has_mod && rule->mod != req->mod)
		return false;
	if (rule->method && rule->method != req->method)
		return false;
	if ((rule->node || rule->has_guid || rule->port >= 0) && !req->place.node)
		die("rules %s:%u: cannot tell which device a MAD is for (class 0x%02x attribute 0x%04x LID %u)",
		    rules->path, rule->line, req->class, req->attr, req->dlid);
	if (rule->node && !node_named(req->place.node, rule->node))
		return false;
	if (rule->has_guid && rule->guid != req->place.node->guid)
		return false;
	if (rule->port >= 0 && (unsigned)rule->port != about_port(req))
		return false;
	return !rule->has_prob || chance(rules->seed, rule->number, rule->tried++) < rule->prob;
}

struct verdict rules_apply(struct rules *rules, const struct request *req, uint8_t *data)
{
	struct verdict v = {FATE_ANSWER, 0, 0, 0};

	for (struct rule *rule = rules->first; rule; rule = rule->next) {
		/* before a Set leaves only its fate is asked for; rules that just set fields wait for the answer */
		if (!data && !rule->has_fate && !rule->has_status)
			continue;
		if (!matches(rules, rule, req))
			continue;
		if (rule->has_fate)
			v.fate = rule->fate;
		if (rule->has_status)
			v.status = rule->status;
		if (rule->delay_ms)
			v.delay_ms = rule->delay_ms;
		if (rule->copies)
			v.copies = rule->copies;
		for (unsigned i = 0; data && i < rule->setters; i++)
			put(&rule->setter[i], data);
	}
	return v;
}
