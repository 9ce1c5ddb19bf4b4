/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * util: the context handed to every function first, messages, whole files, text made safe.
 *
 * Functions that can fail return 0 or a negative errno value unless they say otherwise. Nothing
 * below src/cmd/ exits or writes to standard output.
 */
#ifndef IBQOS_UTIL_H
#define IBQOS_UTIL_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

#define IBQOS_STATE_DIR "/var/lib/ibqos"

/* Exit codes of every command; the worst wins in the order critical, unknown, warning, clean. */
enum ibqos_exit {
	IBQOS_EXIT_CLEAN = 0,
	IBQOS_EXIT_WARNING = 1,
	IBQOS_EXIT_CRITICAL = 2,
	IBQOS_EXIT_UNKNOWN = 3, /* could not look, coverage below the floor, bad usage */
};

struct trust; /* ibqos/trust.h */

/*
 * Who shows how far long work has come. `what` names the kind of work and stays valid, `total` 0: nobody knows how much there
 * is. blind(): from now until hide() nothing more will be told, and others may write to the terminal. hide() takes away what is shown: before anything else is written, and when the work ends.
 */
struct ibqos_progress {
	void (*step)(void *arg, const char *what, uint64_t done, uint64_t total);
	void (*hide)(void *arg);
	void (*blind)(void *arg, const char *what);
	void *arg;
};

/* What every layer needs to know of the run. Made by main, read-only below it. */
struct ibqos_ctx {
	const char *program;		   /* "ibqos", starts each message */
	const char *command;		   /* "verify"; NULL before it is known */
	const char *fabric;		   /* label of the fabric in all output; "" if none was given */
	const char *state_dir;		   /* journal and history; IBQOS_STATE_DIR unless told otherwise */
	bool reads_only;		   /* the command writes no file, but where an option names one */
	struct trust *trust;		   /* who may have written what the run goes by; NULL: root and the user */
	FILE *err;			   /* messages; never findings */
	int verbosity;			   /* -1 errors alone, 0 and warnings, 1 and info (-v), 2 and debug (-d) */
	const struct ibqos_progress *progress; /* NULL: nobody wants to know */
	volatile sig_atomic_t *stop;	   /* becomes nonzero when the user asked to stop; may be NULL. Only a roll
					      back clears it, while it holds the signals off */
};

/*
 * Messages, to ctx->err: lower case, failure first, quoted subject, where, what to do; no full
 * stop, no newline. Each is one line: control characters in the text are shown as '?'.
 */
__attribute__((format(printf, 2, 3))) void ctx_error(const struct ibqos_ctx *ctx, const char *format, ...);
__attribute__((format(printf, 2, 3))) void ctx_warn(const struct ibqos_ctx *ctx, const char *format, ...);
__attribute__((format(printf, 2, 3))) void ctx_info(const struct ibqos_ctx *ctx, const char *format, ...);
__attribute__((format(printf, 2, 3))) void ctx_debug(const struct ibqos_ctx *ctx, const char *format, ...);

/* How far the work named `what` has come; cheap, and nothing where nobody shows it. */
void ctx_progress(const struct ibqos_ctx *ctx, const char *what, uint64_t done, uint64_t total);
void ctx_progress_blind(const struct ibqos_ctx *ctx, const char *what);
void ctx_progress_end(const struct ibqos_ctx *ctx);

/* True once a signal asked the run to end. */
bool ctx_stopped(const struct ibqos_ctx *ctx);

/* Largest file that file_read() takes, in bytes: far above any opensm.conf or policy. */
#define FILE_READ_MAX (64u << 20)

/*
 * Reads a whole regular file into *data, which is NUL-terminated one byte past *size and freed by
 * the caller with free(). -EFBIG above FILE_READ_MAX, -EINVAL for a directory or device.
 */
int file_read(const char *path, char **data, size_t *size);
/* The same of a file that this program itself has made: a symbolic link in its place is refused, -ELOOP. */
int file_read_own(const char *path, char **data, size_t *size);
/* The same with another bound, for files that grow with the fabric. */
int file_read_up_to(const char *path, size_t max, char **data, size_t *size);

/*
 * Replaces a file whole or not at all: a temporary file in the same folder is written, given the
 * old file's owner, mode, SELinux label, ACL and other extended attributes (or `mode` where there was none), fsynced, renamed over it, and the
 * folder is fsynced. A symbolic link is followed, so the link stays and its target is replaced.
 * On failure the old file is untouched and the temporary file is removed; only when the last step,
 * the fsync of the folder, fails is the new file in place and an error returned.
 */
int file_replace(const char *path, const void *data, size_t size, mode_t mode);

/*
 * Removes a file as file_replace() would replace it: a symbolic link is followed and stays, its
 * target goes; the folder is fsynced. A file that does not exist is fine.
 */
int file_remove(const char *path);

/*
 * 1 if two paths lead to the same file, by whatever names and links, also to the same one that is missing; 0 if
 * not; -errno.
 */
int file_same(const char *a, const char *b);

/*
 * Removes the temporary files that a file_replace() for `path` left when it was killed: those in its
 * folder that nobody has written to for `age_s` seconds. Returns how many, or -errno.
 */
int file_remove_leftovers(const char *path, unsigned age_s);

/*
 * Waits up to `wait_ms` for the lock of a file that is replaced whole, an empty file beside it (its name and ".lock", of the
 * target where it is a symbolic link), which stays. The kernel frees it when the process ends, however it does.
 * 0: *lock is for file_unlock(); -EWOULDBLOCK: others have it all the time; -EINTR: ctx_stopped(); -errno.
 */
int file_lock(const struct ibqos_ctx *ctx, const char *path, unsigned wait_ms, int *lock);
void file_unlock(int lock); /* -1 is fine */

/* Makes a folder and those above it that are missing, as mkdir -p. */
int dir_make(const char *path, mode_t mode);

/*
 * Grows an array: returns `items` or its enlarged copy with room for at least `needed` items of
 * `item_size` bytes, updating *room (in items); new items are zeroed. NULL when out of memory, the
 * old array then stays valid.
 */
void *array_grow(void *items, size_t *room, size_t needed, size_t item_size);

/*
 * Copies at most `size` bytes up to the first NUL as valid, printable UTF-8: bytes that are not
 * UTF-8 and control characters (escape sequences from a node description, say) become U+FFFD,
 * trailing blanks go. The caller frees the result; NULL when out of memory.
 */
char *text_utf8(const void *raw, size_t size);

/* Bytes of the printable UTF-8 character that `text` starts with; 0 if it is a control or not UTF-8. */
size_t text_char(const char *text, size_t size);

/*
 * Columns that `size` bytes of valid UTF-8 take on a terminal, by wcwidth(3): 2 for East Asian wide characters, 0 for combining ones. In a locale
 * that is not UTF-8 each character counts as one.
 */
size_t text_width(const char *text, size_t size);

/*
 * Reads a whole string as an unsigned number, decimal without leading zeros or hexadecimal with
 * 0x; no sign, no blanks. -EINVAL if it is not one, -ERANGE above `max`.
 */
int text_to_u64(const char *text, uint64_t max, uint64_t *value);

/*
 * A span of time: a whole number and its unit, s, m or min, h or d; without one, seconds. As text_to_u64(), `max` in
 * seconds.
 */
int text_duration(const char *text, uint64_t max, uint64_t *seconds);
/* A word as sh takes it: as it is, or in single quotes, in which nothing means anything but the quote itself. Freed by the caller; NULL: out of memory. */
char *text_shell_word(const char *word);

/*
 * Host names as batch systems write them: "gpu-[001-008,012],login-1"; any number of brackets in a name, numbers as
 * wide as the first of their range (leading zeros kept), up to HOSTLIST_MAX names in the order written. -EINVAL:
 * *fault says what is wrong, for people; the caller frees it. -ENOMEM.
 */
#define HOSTLIST_MAX 65536
struct hostlist {
	char **names;
	size_t count, room;
};
int hostlist_expand(const char *text, struct hostlist *list, char **fault);
void hostlist_clear(struct hostlist *list);

/* Writes words broken into lines of `width` at most where that can be, each behind `indent` blanks. */
void text_wrap(FILE *out, unsigned indent, unsigned width, const char *text);

/*
 * How many keys amiss one name is from another, in letters added, left out, changed or changed about, cases alike;
 * UINT_MAX where one of them is too long to be a typing mistake.
 */
unsigned text_distance(const char *a, const char *b);

/*
 * Closes a stream of open_memstream() and says whether *text is whole: 0, else -ENOMEM with *text
 * freed and NULL. glibc's fclose() returns 0 when memory ran out in its last flush.
 */
int text_stream_end(FILE *stream, char **text);

/* Monotonic time in nanoseconds. */
uint64_t clock_ns(void);

#endif
