#!/bin/sh
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# Called by mk/install.mk, with DESTDIR, SBINDIR, LIBEXECDIR and DEFAULTDIR in the environment.
#
#   install-files.sh install WORD...            each mode:kind:file:target; kind t: a text whose paths of /usr/local become ours
#   install-files.sh uninstall WORD...          the targets
#   install-files.sh install-conf FILE TARGET   one that admins edit: never over one that is there
#   install-files.sh uninstall-conf FILE TARGET unless it was edited
#   install-files.sh remove-folders FOLDER...   where nothing is left in them
set -eu

here() {
	sed -e "s|/usr/local/sbin/ibqos|$SBINDIR/ibqos|g" -e "s|/usr/local/libexec/ibqos|$LIBEXECDIR/ibqos|g" \
		-e "s|/etc/default/ibqos|$DEFAULTDIR/ibqos|g" "$1"
}

what=$1
shift
case $what in
install | uninstall)
	for word in "$@"; do
		mode=${word%%:*} word=${word#*:}
		kind=${word%%:*} word=${word#*:}
		file=${word%%:*} target=$DESTDIR${word#*:}
		if [ "$what" = uninstall ]; then
			rm -f "$target"
		elif [ "$kind" = t ]; then
			here "$file" | install -D -m "$mode" /dev/stdin "$target"
		else
			install -D -m "$mode" "$file" "$target"
		fi
	done
	;;
install-conf)
	[ -e "$DESTDIR$2" ] || here "$1" | install -D -m 644 /dev/stdin "$DESTDIR$2"
	;;
uninstall-conf)
	if [ ! -e "$DESTDIR$2" ]; then
		:
	elif here "$1" | cmp -s - "$DESTDIR$2"; then
		rm "$DESTDIR$2"
	else
		echo "left, since it was edited: $DESTDIR$2"
	fi
	;;
remove-folders)
	for folder in "$@"; do
		[ -d "$DESTDIR$folder" ] || continue
		find "$DESTDIR$folder" -depth -type d -empty -delete
		[ ! -e "$DESTDIR$folder" ] || echo "left, since it is not empty: $DESTDIR$folder"
	done
	;;
*)
	echo "install-files.sh: unknown: $what" >&2
	exit 1
	;;
esac
