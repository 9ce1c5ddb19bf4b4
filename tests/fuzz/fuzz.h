/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * fuzz: what the targets share. Each target states what must hold for any input, by require().
 *
 * Targets that need structure read their input as numbers, bytes and texts until it is used up; all
 * that follows is zero, so that the empty input is the plainest case and a longer one differs from
 * its beginning only in what comes later.
 */
#ifndef FUZZ_H
#define FUZZ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Ends the run, naming what does not hold. */
#define require(condition) ((condition) ? (void)0 : fuzz_broken(#condition, __FILE__, __LINE__))
_Noreturn void fuzz_broken(const char *condition, const char *file, int line);

struct fuzz {
	const uint8_t *at;
	size_t left;
};

unsigned fuzz_byte(struct fuzz *in);
bool fuzz_bit(struct fuzz *in);                     /* takes a byte; false at the end */
unsigned fuzz_below(struct fuzz *in, unsigned end); /* 0..end - 1, end up to 256 */
uint64_t fuzz_u64(struct fuzz *in);
void fuzz_fill(struct fuzz *in, void *to, size_t size);
/* A string of at most `max` bytes, any but NUL; freed by the caller. */
char *fuzz_text(struct fuzz *in, size_t max);
/* All that is left as a string, up to its first NUL; freed by the caller. */
char *fuzz_rest(struct fuzz *in);

/* Requires that a text has this place; lines and columns are from 1, and behind a line's last byte is one. */
void fuzz_place(const char *text, size_t size, unsigned line, unsigned column);

/* Text is UTF-8 with nothing in it that a terminal obeys, but the characters of `also`. By rules of its own.
 */
bool fuzz_printable(const char *text, const char *also);
/* The text with each run of what is not so as one U+FFFD, as are runs of U+FFFD itself; freed by the caller.
 */
char *fuzz_clean(const char *text, const char *also);

#endif
