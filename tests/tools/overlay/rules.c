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
 *   attr=NAME|0x.. a name of the table in attrs.c (it brings its class along) or a number
 *   mod=0x..       attribute modifier
 *   bit31=0|1      its highest bit, of PortInfo SMSupportExtendedSpeeds (IBA 14.2.5.6)
 *   class=smp|pma|sa
 *   method=get|set what was asked; without it a rule is for both
 *   skip=N         not the first N MADs that match all of the above (counted in each process, from when it
 *                  read the file)
 *   count=N        only the N after those
 *   prob=0..1      applies by chance, seeded by IBQOS_OVERLAY_SEED
 *
 * Actions, in the order of the file; all rules that match apply, the last fate and status win.
 * What the answer says:
 *   set FIELD=VALUE ...  fields of the answer by their libibmad names, or those that attrs.c adds; for SL2VL
 *                        SL0..SL15, for VLArb entry0..entry31=VL:WEIGHT, for NodeDesc NodeDesc=TEXT; anywhere
 *                        byteN=0x..; the rule needs attr=
 *   grow FIELD=RATE/s ...  a counter grows by RATE a second beyond what it is, and stays at its highest value
 *     since=UNIX         from this time on (Unix seconds, 0.5 allowed); default: when the file was changed
 *     reset=UNIX         was reset to 0 then, and grows from there
 *     wrap               starts again at 0 instead, which no IB counter does
 *   status=0x..          the answer carries this MAD status
 *   answer               the simulator knows no such attribute: an answer of zeros (but PortSelect), for `set`
 *                        to fill; the device must be known
 * Whether and when it comes:
 *   drop                 no answer, ever: silence
 *   timeout              no answer, and when timeout and retries of the request are over the request comes
 *                        back with ETIMEDOUT, as from the kernel (ibsim has no timers): for programs that
 *                        wait without end, such as libibnetdisc and OpenSM
 *   late=MS              so it does, and then the answer comes MS later
 *   delay=MS             the answer comes later
 *   reorder=N            the answer comes after the next N that are not held back, or after 50 ms
 *   duplicate=N          the answer comes N times more
 *   foreign=N            N answers to a transaction of nobody here come before, with all data bits turned
 * A Get that the kernel repeats (retries of umad_send) has each of its tries drawn; lost ones cost their time.
 * What is wrong with it:
 *   tid=0x..             its transaction ID has these of the lower 32 bits turned: the kernel finds no
 *                        request to it, which comes back with ETIMEDOUT as well
 *   attribute=0x..  modifier=0x..   it names another attribute or modifier
 * What a device does:
 *   mkey=0x.. [protect=0..3]   it checks the M_Key (default level 2): see check_mkey() in apply.c
 *   vlarb-caps=LOW,HIGH  its VL arbitration tables have so many entries, 1..64 (PortInfo says so): kept in the
 *                        record, since ibsim's have 8; for OpenSM and readers alike
 *   optimized-sl2vl      a switch says so in SwitchInfo, and takes SL2VL Sets for all ports at once: see
 *                        optimized.c. Without it such a Set ends the process
 * What the test learns:
 *   tell                 a line in the log when the answer has come, before it is held back: how far a program is
 * A Set that a rule drops, times out or fails leaves as a Get: the device keeps what it had. Its fate is
 * drawn once, when it leaves; late, delay and what follows them are for Gets and Sets alike.
 *
 * Any other word ends the process (abort), as do a node= or guid= that is nowhere in the net, and a MAD
 * for a device that cannot be told where a rule asks which it is.
 */
#include <infiniband/mad.h>
#include <stdlib.h>
#include <string.h>

#include "overlay.h"

struct reading {
	struct rules *rules;
	struct rule *rule;
	enum { IN_NONE, IN_SET, IN_GROW } fields; /* behind the word `set` or `grow` */
	bool timed;				  /* since=, reset= or wrap: for `grow` */
	bool protect;
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

/* A number of something that must be done at least once. */
static unsigned times(const struct reading *r, const char *text, uint64_t max)
{
	unsigned n = (unsigned)number(r, text, max);

	if (!n)
		bad(r, "bad number", text);
	return n;
}

static long double unix_time(const struct reading *r, const char *text)
{
	char *end;
	long double v = strtold(text, &end);

	if (!*text || *end || !(v > 0))
		bad(r, "not a time", text);
	return v;
}

/* --- matches --- */

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
	r->rule->attr = attr_named(v);
	if (r->rule->attr) {
		r->rule->attr_id = attr_id(r->rule->attr);
		r->rule->class = attr_class(r->rule->attr);
	} else {
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

static void match_bit31(struct reading *r, const char *v)
{
	r->rule->bit31 = (int)number(r, v, 1);
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

static void match_skip(struct reading *r, const char *v)
{
	r->rule->skip = number(r, v, UINT32_MAX);
}

static void match_count(struct reading *r, const char *v)
{
	r->rule->count = number(r, v, UINT32_MAX);
	r->rule->has_count = true;
}

static void match_prob(struct reading *r, const char *v)
{
	char *end;

	r->rule->prob = strtod(v, &end);
	if (!*v || *end || !(r->rule->prob >= 0 && r->rule->prob <= 1))
		bad(r, "not a probability", v);
	r->rule->has_prob = true;
}

/* --- actions --- */

static void act_set(struct reading *r, const char *v)
{
	(void)v;
	if (!r->rule->has_attr)
		bad(r, "set needs attr=, as in", "attr=PortInfo : set LMC=0");
	r->fields = IN_SET;
}

static void act_grow(struct reading *r, const char *v)
{
	(void)v;
	if (!r->rule->attr)
		bad(r, "grow needs attr=, as in", "attr=PortCounters : grow PortXmitWait=10/s");
	r->fields = IN_GROW;
}

static void act_since(struct reading *r, const char *v)
{
	r->rule->growth.since = unix_time(r, v);
	r->timed = true;
}

static void act_reset(struct reading *r, const char *v)
{
	r->rule->growth.reset = unix_time(r, v);
	r->timed = true;
}

static void act_wrap(struct reading *r, const char *v)
{
	(void)v;
	r->rule->growth.wrap = true;
	r->timed = true;
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

static void act_late(struct reading *r, const char *v)
{
	fate(r, FATE_LATE);
	r->rule->late_ms = (unsigned)number(r, v, 600000);
}

static void act_status(struct reading *r, const char *v)
{
	r->rule->status = (uint16_t)number(r, v, 0x7fff);
	r->rule->has_status = true;
}

static void act_answer(struct reading *r, const char *v)
{
	(void)v;
	if (!r->rule->has_attr || r->rule->has_prob || r->rule->has_count || r->rule->skip)
		bad(r, "needs attr=, and no skip=, count= or prob=:", "answer");
	r->rule->makes = true;
}

static void act_tell(struct reading *r, const char *v)
{
	(void)v;
	r->rule->tell = true;
}

static void act_delay(struct reading *r, const char *v)
{
	r->rule->delay_ms = (unsigned)number(r, v, 600000);
}

static void act_reorder(struct reading *r, const char *v)
{
	r->rule->reorder = times(r, v, 1000);
}

static void act_duplicate(struct reading *r, const char *v)
{
	r->rule->copies = (unsigned)number(r, v, 100);
}

static void act_foreign(struct reading *r, const char *v)
{
	r->rule->foreign = times(r, v, 100);
}

static void act_tid(struct reading *r, const char *v)
{
	r->rule->tid_xor = times(r, v, UINT32_MAX);
}

static void act_attribute(struct reading *r, const char *v)
{
	r->rule->other_attr = (uint16_t)number(r, v, 0xffff);
	r->rule->has_other_attr = true;
}

static void act_modifier(struct reading *r, const char *v)
{
	r->rule->other_mod = (uint32_t)number(r, v, UINT32_MAX);
	r->rule->has_other_mod = true;
}

static void act_mkey(struct reading *r, const char *v)
{
	r->rule->mkey = number(r, v, UINT64_MAX);
	if (!r->rule->mkey)
		bad(r, "a key of 0 means no check:", v);
	r->rule->has_mkey = true;
	if (!r->protect)
		r->rule->protect = 2;
}

static void act_protect(struct reading *r, const char *v)
{
	r->rule->protect = (unsigned)number(r, v, 3);
	r->protect = true;
}

static void act_vlarb(struct reading *r, const char *v)
{
	char end;

	if (sscanf(v, "%u,%u%c", &r->rule->low_cap, &r->rule->high_cap, &end) != 2 || r->rule->low_cap < 1 ||
	    r->rule->low_cap > 64 || r->rule->high_cap < 1 || r->rule->high_cap > 64)
		bad(r, "not two sizes from 1 to 64:", v);
	r->rule->has_vlarb = true;
}

static void act_optimized(struct reading *r, const char *v)
{
	(void)v;
	r->rule->optimized = true;
}

/* --- lines --- */

struct word {
	const char *name;
	bool has_value;
	void (*read)(struct reading *r, const char *value);
};

static const struct word match_words[] = {
	{"node", true, match_node},	{"guid", true, match_guid},   {"port", true, match_port},
	{"attr", true, match_attr},	{"mod", true, match_mod},     {"class", true, match_class},
	{"method", true, match_method}, {"skip", true, match_skip},   {"count", true, match_count},
	{"prob", true, match_prob},	{"bit31", true, match_bit31},	{NULL, false, NULL},
};
static const struct word action_words[] = {
	{"set", false, act_set},	     {"grow", false, act_grow},		{"since", true, act_since},
	{"reset", true, act_reset},	     {"wrap", false, act_wrap},		{"status", true, act_status},
	{"answer", false, act_answer},	     {"drop", false, act_drop},		{"timeout", false, act_timeout},
	{"late", true, act_late},	     {"delay", true, act_delay},	{"reorder", true, act_reorder},
	{"duplicate", true, act_duplicate},  {"foreign", true, act_foreign},	{"tid", true, act_tid},
	{"attribute", true, act_attribute},  {"modifier", true, act_modifier},	{"mkey", true, act_mkey},
	{"protect", true, act_protect},	     {"vlarb-caps", true, act_vlarb},	{"optimized-sl2vl", false, act_optimized},
	{"tell", false, act_tell},	     {NULL, false, NULL},
};

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

static void read_field(struct reading *r, char *word)
{
	struct rule *rule = r->rule;
	char *value = strchr(word, '=');
	const char *why, *culprit;

	if (r->fields == IN_NONE || !value)
		bad(r, "unknown word", word);
	*value++ = '\0';
	if (rule->setters == SETTERS)
		bad(r, "too many fields at", word);
	why = setter_read(&rule->setter[rule->setters], rule->attr, rule->class, r->fields == IN_GROW, word, value,
			  &culprit);
	if (why)
		bad(r, why, culprit);
	rule->setters++;
}

static void read_rule(struct reading *r, char *s)
{
	bool actions = false, any = false;
	char *word;

	while ((word = next_word(r, &s))) {
		if (!strcmp(word, ":") && !actions) {
			actions = true;
			continue;
		}
		if (known_word(r, actions ? action_words : match_words, word))
			any |= actions;
		else
			read_field(r, word);
	}
	if (!any)
		bad(r, "no action in the rule", "MATCH... : ACTION...");
	if (r->fields != IN_NONE && !r->rule->setters)
		bad(r, "no FIELD=VALUE behind", r->fields == IN_SET ? "set" : "grow");
	if (r->timed && r->fields != IN_GROW)
		bad(r, "only for grow:", "since, reset, wrap");
	if (r->protect && !r->rule->has_mkey)
		bad(r, "only with mkey=:", "protect");
}

struct rules *rules_load(const char *path, struct net *net, struct record *record, uint64_t seed, long double since,
			 long double now)
{
	struct rules *rules = calloc(1, sizeof(*rules));
	char line[4096];
	FILE *in = fopen(path, "r");
	struct rule **tail;

	if (!rules || !in)
		die("rules %s: %m", path);
	*rules = (struct rules){.net = net, .record = record, .path = path, .seed = seed, .now = now};
	tail = &rules->first;
	for (unsigned n = 1; fgets(line, sizeof(line), in); n++) {
		struct reading r = {.rules = rules};

		line[strcspn(line, "\r\n")] = '\0';
		if (!line[strspn(line, " \t")] || line[strspn(line, " \t")] == '#')
			continue;
		r.rule = *tail = calloc(1, sizeof(*r.rule));
		if (!r.rule)
			die("out of memory");
		tail = &r.rule->next;
		r.rule->port = r.rule->bit31 = -1;
		r.rule->line = n;
		r.rule->growth.since = since;
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
