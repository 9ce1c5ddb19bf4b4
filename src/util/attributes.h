/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Extended attributes of a file that replaces another. */
#ifndef UTIL_ATTRIBUTES_H
#define UTIL_ATTRIBUTES_H

/*
 * Gives `to` the extended attributes of the file at `from`: the label of SELinux, ACLs, whatever users keep there.
 * Not those that speak of the content (security.ima, .evm, .capability), nor trusted ones, which file systems use
 * for themselves. An ACL that it has from its folder and `from` has not goes. 0 or -errno: a file that its
 * reader may not open any more would be worse than none.
 */
int attributes_copy(const char *from, int to);

#endif
