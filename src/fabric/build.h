/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* build: what the files that make a fabric share. */
#ifndef FABRIC_BUILD_H
#define FABRIC_BUILD_H

/* uthash would exit() when out of memory; it must report instead. */
#define HASH_NONFATAL_OOM 1
#define uthash_nonfatal_oom(entry) ((entry)->lost = true)
#include <uthash.h>

#include "ibqos/fabric.h"

/* Where a GUID's node is, while building. */
struct fabric_guid {
	uint64_t guid;
	uint32_t node;
	bool lost; /* could not be put into the hash */
	UT_hash_handle hh;
};

void fabric_forget_guids(struct fabric *fabric);

#endif
