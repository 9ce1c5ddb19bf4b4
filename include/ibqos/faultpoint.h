/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Places at which a test can kill the program, send it a signal or make a call fail: before and after
 * each step that changes something on disk or tells OpenSM something. They exist only where the file
 * is compiled with -DIBQOS_FAULT_POINTS, as `make tools` does for the second binary of the tests
 * (tests/ibqos-fault in the build folder); in ibqos itself they are nothing at all.
 *
 * The tests find all of them by their literals in that binary, and by what a run passes:
 *
 *   IBQOS_FAULT_TRACE=FILE     appends "NUMBER KIND NAME SUBJECT" for each one passed, counted from 1
 *   IBQOS_FAULT=NUMBER:ACTION  there: kill (SIGKILL), int (SIGINT), or ENOSPC, EIO, EROFS (the call fails)
 *   IBQOS_FAULT=NUMBER+:ACTION there and at all that follow and need room: a disk that stays full
 *
 * KIND is "call" for one that can fail, "point" for the others, at which an errno has no effect.
 */
#ifndef IBQOS_FAULTPOINT_H
#define IBQOS_FAULTPOINT_H

#ifdef IBQOS_FAULT_POINTS
int fault_point(const char *literal, const char *subject);
/* `name` is a string literal; 0 or the -errno that the call must fail with. */
#define FAULT_CALL(name, subject) fault_point("fault-call:" name, subject)
#define FAULT_POINT(name) ((void)fault_point("fault-point:" name, ""))
#else
#define FAULT_CALL(name, subject) ((void)(subject), 0)
#define FAULT_POINT(name) ((void)0)
#endif

#endif
