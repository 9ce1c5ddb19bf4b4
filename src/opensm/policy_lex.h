/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Words of a qos-policy file as OpenSM's lexer makes them. It is told nothing by the parser: what a
 * word is depends on the words before it in the line only, so it can be followed by itself.
 */
#ifndef OPENSM_POLICY_LEX_H
#define OPENSM_POLICY_LEX_H

#include "ibqos/opensm_files.h"

/* LEX_WORD(symbol, pattern, what it starts): ':' and ',' in a pattern stand with blanks around them. */
#define LEX_WORDS \
	LEX_WORD(QOS_ULPS, "qos-ulps", NOTHING) \
	LEX_WORD(END_QOS_ULPS, "end-qos-ulps", NOTHING) \
	LEX_WORD(PORT_GROUPS, "port-groups", NOTHING) \
	LEX_WORD(END_PORT_GROUPS, "end-port-groups", NOTHING) \
	LEX_WORD(PORT_GROUP, "port-group", NOTHING) \
	LEX_WORD(END_PORT_GROUP, "end-port-group", NOTHING) \
	LEX_WORD(QOS_SETUP, "qos-setup", NOTHING) \
	LEX_WORD(END_QOS_SETUP, "end-qos-setup", NOTHING) \
	LEX_WORD(VLARB_TABLES, "vlarb-tables", NOTHING) \
	LEX_WORD(END_VLARB_TABLES, "end-vlarb-tables", NOTHING) \
	LEX_WORD(VLARB_SCOPE, "vlarb-scope", NOTHING) \
	LEX_WORD(END_VLARB_SCOPE, "end-vlarb-scope", NOTHING) \
	LEX_WORD(SL2VL_TABLES, "sl2vl-tables", NOTHING) \
	LEX_WORD(END_SL2VL_TABLES, "end-sl2vl-tables", NOTHING) \
	LEX_WORD(SL2VL_SCOPE, "sl2vl-scope", NOTHING) \
	LEX_WORD(END_SL2VL_SCOPE, "end-sl2vl-scope", NOTHING) \
	LEX_WORD(QOS_LEVELS, "qos-levels", NOTHING) \
	LEX_WORD(END_QOS_LEVELS, "end-qos-levels", NOTHING) \
	LEX_WORD(QOS_LEVEL, "qos-level", NOTHING) \
	LEX_WORD(END_QOS_LEVEL, "end-qos-level", NOTHING) \
	LEX_WORD(QOS_MATCH_RULES, "qos-match-rules", NOTHING) \
	LEX_WORD(END_QOS_MATCH_RULES, "end-qos-match-rules", NOTHING) \
	LEX_WORD(QOS_MATCH_RULE, "qos-match-rule", NOTHING) \
	LEX_WORD(END_QOS_MATCH_RULE, "end-qos-match-rule", NOTHING) \
	LEX_WORD(PORT_GUID, "port-guid:", NOTHING) \
	LEX_WORD(PORT_NAME, "port-name:", STRINGS) \
	LEX_WORD(PARTITION, "partition:", STRINGS) \
	LEX_WORD(NODE_TYPE, "node-type:", NODE_TYPES) \
	LEX_WORD(NAME, "name:", STRINGS) \
	LEX_WORD(USE, "use:", DESCRIPTION) \
	LEX_WORD(GROUP, "group:", STRINGS) \
	LEX_WORD(VLARB_HIGH, "vlarb-high:", NOTHING) \
	LEX_WORD(VLARB_LOW, "vlarb-low:", NOTHING) \
	LEX_WORD(VL_HIGH_LIMIT, "vl-high-limit:", NOTHING) \
	LEX_WORD(TO, "to:", NOTHING) \
	LEX_WORD(FROM, "from:", NOTHING) \
	LEX_WORD(ACROSS_TO, "across-to:", STRINGS) \
	LEX_WORD(ACROSS_FROM, "across-from:", STRINGS) \
	LEX_WORD(ACROSS, "across:", STRINGS) \
	LEX_WORD(SL2VL_TABLE, "sl2vl-table:", NOTHING) \
	LEX_WORD(SL, "sl:", NOTHING) \
	LEX_WORD(MTU_LIMIT, "mtu-limit:", NOTHING) \
	LEX_WORD(RATE_LIMIT, "rate-limit:", NOTHING) \
	LEX_WORD(PACKET_LIFE, "packet-life:", NOTHING) \
	LEX_WORD(PATH_BITS, "path-bits:", NOTHING) \
	LEX_WORD(QOS_CLASS, "qos-class:", NOTHING) \
	LEX_WORD(SOURCE, "source:", STRINGS) \
	LEX_WORD(DESTINATION, "destination:", STRINGS) \
	LEX_WORD(SERVICE_ID, "service-id:", NOTHING) \
	LEX_WORD(PKEY, "pkey:", NOTHING) \
	LEX_WORD(QOS_LEVEL_NAME, "qos-level-name:", STRINGS)

/* The same for words of which the part up to ':' or ',' may be in any case. */
#define LEX_ULPS \
	LEX_WORD(ULP_DEFAULT, "default:", NOTHING) \
	LEX_WORD(ULP_ANY_SERVICE_ID, "any,service-id", NOTHING) \
	LEX_WORD(ULP_ANY_PKEY, "any,pkey", NOTHING) \
	LEX_WORD(ULP_ANY_TARGET, "any,target-port-guid", NOTHING) \
	LEX_WORD(ULP_ANY_SOURCE, "any,source-port-guid", NOTHING) \
	LEX_WORD(ULP_ANY_BOTH, "any,source-target-port-guid", NOTHING) \
	LEX_WORD(ULP_SDP, "sdp:", NOTHING) \
	LEX_WORD(ULP_SDP_PORT, "sdp,port-num", NOTHING) \
	LEX_WORD(ULP_RDS, "rds:", NOTHING) \
	LEX_WORD(ULP_RDS_PORT, "rds,port-num", NOTHING) \
	LEX_WORD(ULP_ISER, "iser:", NOTHING) \
	LEX_WORD(ULP_ISER_PORT, "iser,port-num", NOTHING) \
	LEX_WORD(ULP_SRP, "srp,target-port-guid", NOTHING) \
	LEX_WORD(ULP_IPOIB, "ipoib:", NOTHING) \
	LEX_WORD(ULP_IPOIB_PKEY, "ipoib,pkey", NOTHING)

/* Words that are text unless the line is one of node types. */
#define LEX_NODES \
	LEX_WORD(NODE_ROUTER, "router", NOTHING) \
	LEX_WORD(NODE_CA, "ca", NOTHING) \
	LEX_WORD(NODE_SWITCH, "switch", NOTHING) \
	LEX_WORD(NODE_SELF, "self", NOTHING) \
	LEX_WORD(NODE_ALL, "all", NOTHING)

enum lex_kind {
	LEX_END,
	LEX_TEXT,
	LEX_NUMBER,
	LEX_DASH,
	LEX_COLON,
	LEX_COMMA,
	LEX_ASTERISK,
#define LEX_WORD(symbol, pattern, starts) LEX_##symbol,
	LEX_WORDS LEX_ULPS LEX_NODES
#undef LEX_WORD
};

struct lex_token {
	enum lex_kind kind;
	const char *text; /* in the file; of a quoted one without its quotes */
	size_t size;
	bool after_blank; /* blanks before it, in the same line, were dropped */
	struct opensm_mark mark;
};

struct lexer {
	const char *at, *end;
	struct opensm_mark mark;
	bool description, strings, node_types; /* what the line has started */
};

void lex_start(struct lexer *lexer, const char *text, size_t size);
struct lex_token lex_next(struct lexer *lexer);
/* "'end-qos-level'", "a number": for messages. */
const char *lex_kind_name(enum lex_kind kind);

#endif
