/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* The lines of an nccl.conf, for its reader (conf.c) and its lint (conf_lint.c). */
#ifndef IBQOS_JOB_CONF_H
#define IBQOS_JOB_CONF_H

#include "ibqos/job.h"

#define CONF_TEXT 1023u	 /* bytes of a key, and of a value */
#define CONF_PIECE 4095u /* bytes that fgets() takes at once */
#define CONF_FILE_FROM JOB_NCCL(2, 23, 4)     /* NCCL_CONF_FILE is read */
#define CONF_KEY_SAFE_FROM JOB_NCCL(2, 23, 4) /* before, a longer key wrote outside its buffer */
#define CONF_COMMENT_FROM JOB_NCCL(2, 26, 2)
#define CONF_PIECES_FROM JOB_NCCL(2, 30, 3) /* fgets() in place of getline(); CR taken off; HOME in place of passwd */

struct conf_line {
	const char *text; /* up to the newline or a NUL, not terminated */
	size_t size;
	unsigned line, column; /* from 1; a piece of a cut line starts further right */
	bool comment, cr, nul, cut;
	const char *equals; /* NULL: none */
	const char *value;
	size_t key_size, value_size; /* as cut by NCCL */
	bool long_key, long_value, overrun;
	bool sets; /* a variable is set, unless it has a value already */
};

struct conf_reader {
	const char *at;
	size_t left;
	unsigned nccl, line, column;
};

static inline struct conf_reader conf_reader(const char *text, size_t size, unsigned nccl)
{
	return (struct conf_reader){.at = text, .left = size, .nccl = nccl, .line = 1, .column = 1};
}

bool conf_next(struct conf_reader *r, struct conf_line *l);

#endif
