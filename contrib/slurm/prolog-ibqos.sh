#!/bin/sh
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# Prolog of Slurm (slurm.conf: Prolog=/etc/slurm/prolog.d/*): no job starts on a host whose adapters are not fit. Slurm drains the
# host and requeues the job when this ends with another status than 0. What cannot be told is logged, and no reason to drain.
# IBQOS_HOST_OPTIONS: what the hosts of this cluster must have, in /etc/default/ibqos-host.
IBQOS=${IBQOS:-/usr/local/sbin/ibqos}
DEFAULTS=${IBQOS_DEFAULTS:-/etc/default/ibqos-host}
# shellcheck source=/dev/null
[ ! -r "$DEFAULTS" ] || . "$DEFAULTS"

# words, on purpose
# shellcheck disable=SC2086
said=$(timeout 20 "$IBQOS" job host --format nagios ${IBQOS_HOST_OPTIONS:-} 2>&1)
status=$?
case $status in
0) exit 0 ;;
1 | 3) logger -t ibqos-prolog "job ${SLURM_JOB_ID:-?}: $said" ;;
2)
	logger -p user.err -t ibqos-prolog "job ${SLURM_JOB_ID:-?} not started: $said"
	exit 1
	;;
*) logger -t ibqos-prolog "job ${SLURM_JOB_ID:-?}: could not look at the adapters, status $status: $said" ;;
esac
exit 0
