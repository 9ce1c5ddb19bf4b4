/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * state_file: what reading and writing the state file have in common.
 */
#ifndef IBQOS_CHECK_STATE_FILE_H
#define IBQOS_CHECK_STATE_FILE_H

#define STATE_HEAD "ibqos-state 1" /* first line */

#endif
