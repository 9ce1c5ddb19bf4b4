#!/bin/sh
# Data flows left to right: a folder under src/ includes only headers of folders to its left
# (docs/architecture.md). Fails naming each include that points the other way.
set -eu
cd "$(dirname "$0")/.."
order="util finding qos mad fabric source opensm policy check apply job report cmd"
folder_of() { # which folder a public header belongs to
	case $1 in
	faultpoint | rights | trust) echo util ;;
	link) echo fabric ;;
	finding_codes | finding_file_advice) echo finding ;;
	opensm_files) echo opensm ;;
	routes | lanes | layers | paths | audit | counters | state | diff | drain | pkeys | rails) echo check ;;
	figures) echo report ;;
	changes | site) echo policy ;;
	preflight | maintenance) echo apply ;;
	snapshot) echo source ;;
	*) echo "$1" ;;
	esac
}
rank() {
	n=0
	for f in $order; do
		[ "$f" = "$1" ] && { echo $n; return; }
		n=$((n + 1))
	done
	echo none
}
bad=0
check() { # $1 file, $2 its folder: every public header that it includes must be at or left of it
	own=$(rank "$2")
	for h in $(sed -n 's,^#include "ibqos/\([a-z_]*\)\.\(h\|def\)".*,\1,p' "$1"); do
		theirs=$(rank "$(folder_of "$h")")
		if [ "$theirs" = none ] || [ "$theirs" -gt "$own" ]; then
			echo "check-layers: $1 ($2) includes ibqos/$h.h, which stands to its right"
			bad=1
		fi
	done
	# headers used inside one folder lie beside their .c: no path in a quoted include
	if grep -nE '^#include "(\.\./|src/|[a-z]+/)' "$1" | grep -v '"ibqos/'; then
		echo "check-layers: $1 includes another folder's private header"
		bad=1
	fi
}
for f in src/*/*.[ch]; do
	[ -e "$f" ] && check "$f" "$(basename "$(dirname "$f")")"
done
for h in include/ibqos/*.h; do
	check "$h" "$(folder_of "$(basename "$h" .h)")"
done
# Only src/cmd and main.c exit or print to standard output.
if grep -nE '\b(exit|_exit|printf|puts|putchar)\(' src/*/*.c | grep -vE '^src/cmd/|snprintf|fprintf|dprintf|asprintf'; then
	echo "check-layers: exits or prints below src/cmd"
	bad=1
fi
# A MAD leaves through src/mad only.
if grep -lE '\bumad_send' src/*/*.c | grep -v '^src/mad/'; then
	echo "check-layers: sends a MAD outside src/mad"
	bad=1
fi
[ $bad -eq 0 ] && echo "check-layers: layers hold"
exit $bad
