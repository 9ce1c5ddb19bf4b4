#!/bin/sh
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# HealthCheckProgram of Slurm, every few minutes: drains a host whose adapters are not fit, with the reason; takes only its own drain back.
IBQOS=${IBQOS:-/usr/local/sbin/ibqos}
DEFAULTS=${IBQOS_DEFAULTS:-/etc/default/ibqos-host}
# shellcheck source=/dev/null
[ ! -r "$DEFAULTS" ] || . "$DEFAULTS"
node=${SLURMD_NODENAME:-$(hostname -s)}
mark="ibqos:"

# words, on purpose
# shellcheck disable=SC2086
said=$(timeout 20 "$IBQOS" job host --format nagios ${IBQOS_HOST_OPTIONS:-} 2>/dev/null)
status=$?
reason=$(scontrol --oneliner show node "$node" | sed -n 's/.* Reason=\(.*\)/\1/p')
case $status in
2)
	# a reason of somebody else's stays
	[ -n "$reason" ] || scontrol update NodeName="$node" State=DRAIN Reason="$mark ${said%%|*}"
	;;
0 | 1)
	case $reason in
	"$mark"*) scontrol update NodeName="$node" State=RESUME ;;
	esac
	;;
*) logger -t ibqos-healthcheck "could not look at the adapters, status $status" ;;
esac
exit 0
