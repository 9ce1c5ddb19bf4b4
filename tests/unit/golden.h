/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Reports that are kept: tests/golden/report/NAME.ENDING below the source tree (here, or IBQOS_SRC). */
#ifndef GOLDEN_H
#define GOLDEN_H

/* Fails the test where the file has another text; IBQOS_GOLDEN_UPDATE=1 writes it first. */
void golden_compare(const char *name, const char *ending, const char *got);
/* The same for a page: its style and script, their digests and the program's version, which change by themselves, are left out. */
void golden_page(const char *name, const char *page);

#endif
