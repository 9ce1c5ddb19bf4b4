/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* snapfile: what is left of an input as a snapshot's file: sections (which, length of two bytes, bytes) with right checksums. */
#ifndef FUZZ_SNAPFILE_H
#define FUZZ_SNAPFILE_H

#include "fuzz.h"
#include "source/snapshot_parts.h"

void fuzz_snapshot_file(struct fuzz *in, struct snapshot_bytes *to);

#endif
