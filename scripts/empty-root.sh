#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# An empty Debian root for tests: what a fresh container has, of this machine's own release and from its own apt sources.
# Needs root and mmdebstrap. Nothing stays mounted: all mounts are made in a namespace that ends with the command.
#
#   empty-root.sh make ROOT        makes it, if it is not there yet; package lists are fetched, no package cached
#   empty-root.sh copy ROOT NEW    a copy to spoil
#   empty-root.sh run ROOT [--offline] [--bind FOLDER:INSIDE] [--bind-ro FOLDER:INSIDE] [--cd FOLDER] -- COMMAND...
#                                  runs it there as root, with an environment of its own; exit status is the command's
#   empty-root.sh remove ROOT      removes a root that was made or copied here
#
# What runs there sees its own processes only, no device but null and the like, an empty /sys: no InfiniBand adapter, no
# systemd. Services do not start when they are installed (policy-rc.d). --offline: no network at all.
set -u
self=$(realpath "$0")
mark=.empty-root # a file that each of these roots has: nothing else is ever removed

die() {
	echo "empty-root.sh: $*" >&2
	exit 125
}

# inside ROOT BINDS FOLDER COMMAND...: in namespaces of its own already; BINDS has a line "ro|rw FROM TO" each.
inside() {
	local root=$1 binds=$2 cd=$3 d mode from to
	shift 3
	mount --bind "$root" "$root" && cd "$root" || die "cannot mount $root"
	mount -t proc -o nosuid,nodev,noexec proc proc || die "cannot mount /proc"
	mount --bind proc/sys proc/sys && mount -o remount,bind,ro proc/sys || die "cannot fence /proc/sys"
	mount -t tmpfs -o ro,nosuid,nodev,noexec,size=4k,mode=555 none sys || die "cannot fence /sys"
	mount -t tmpfs -o nosuid,noexec,size=64k,mode=755 none dev || die "cannot fence /dev"
	for d in null zero full random urandom tty; do
		[ -c /dev/$d ] || continue
		: >dev/$d && mount --bind /dev/$d dev/$d || die "cannot give /dev/$d"
	done
	mkdir dev/pts dev/shm
	ln -s /proc/self/fd dev/fd
	ln -s fd/0 dev/stdin
	ln -s fd/1 dev/stdout
	ln -s fd/2 dev/stderr
	mount -t devpts -o nosuid,noexec,newinstance,ptmxmode=0666,mode=620 devpts dev/pts 2>/dev/null && ln -s pts/ptmx dev/ptmx
	mount -t tmpfs -o nosuid,nodev,mode=1777 none dev/shm || die "cannot mount /dev/shm"
	for d in resolv.conf hosts; do # how this machine finds its package servers
		[ -e /etc/$d ] && [ -f etc/$d ] || continue
		mount --bind "$(realpath /etc/$d)" etc/$d && mount -o remount,bind,ro etc/$d || die "cannot give /etc/$d"
	done
	while read -r mode from to; do
		[ -n "$mode" ] || continue
		[ -d "./$to" ] || die "there is no folder $to in $root to bind $from to"
		mount --rbind "$from" "./$to" || die "cannot bind $from"
		[ "$mode" = rw ] || mount -o remount,bind,ro "./$to" || die "cannot bind $from read-only"
	done <<<"$binds"
	exec env -i PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root USER=root LANG=C.UTF-8 TERM=dumb \
		DEBIAN_FRONTEND=noninteractive chroot . /bin/sh -c 'cd "$1" && shift && exec "$@"' sh "$cd" "$@"
}

# The Debian sources of this machine, as apt reads them, a line each: those of its own release, none of other vendors.
sources() {
	apt-get indextargets --format '$(SIGNED_BY)|$(REPO_URI)|$(RELEASE)|$(COMPONENT)' 'Created-By: Packages' |
		awk -F'|' -v suite="$1" '$3 == suite || index($3, suite "-") == 1 || index($3, suite "/") == 1 {
			by = $1 ~ /^\// ? "[signed-by=" $1 "] " : ""
			if (!seen[$0]++)
				print "deb " by $2 " " $3 " " $4
		}'
}

make_root() {
	local root=$1 suite part list option
	[ -e "$root/$mark" ] && return 0
	[ ! -e "$root" ] || die "$root is there and no root of mine"
	suite=$(sed -n 's/^VERSION_CODENAME=//p' /etc/os-release)
	[ -n "$suite" ] && command -v apt-get >/dev/null || die "not a Debian machine"
	command -v mmdebstrap >/dev/null || die "mmdebstrap is missing: apt-get install mmdebstrap"
	part=$(mktemp -d "$root.part.XXXXXX") || die "cannot write beside $root"
	# shellcheck disable=SC2064
	trap "rm -rf --one-file-system '$part'" EXIT
	trap 'exit 125' INT TERM HUP
	list=$part/sources.list
	sources "$suite" >"$list"
	[ -s "$list" ] || die "no apt source of $suite on this machine"
	# how this machine reaches its sources and how strict it is with them holds in the root too
	local options=(--aptopt='Acquire::Languages "none"' --dpkgopt=force-unsafe-io)
	while IFS= read -r option; do
		options+=(--aptopt="$option")
	done < <(apt-config dump | grep -E '^Acquire::((https?|ftp)::|Check-|Retries |AllowReleaseInfoChange)' | sed 's/;$//')
	chmod 755 "$part"
	# a PID namespace: whatever happens to this script, nothing goes on
	unshare --mount --pid --fork --kill-child --mount-proc \
		mmdebstrap --quiet --variant=minbase --mode=root --format=directory \
		--skip=check/empty,chroot/mount/sys,cleanup/apt/lists "${options[@]}" \
		"$suite" "$part/root" "$list" </dev/null >"$part/log" 2>&1 || {
		tail -n 30 "$part/log" >&2
		die "mmdebstrap failed"
	}
	printf '#!/bin/sh\nexit 101\n' >"$part/root/usr/sbin/policy-rc.d" && chmod 755 "$part/root/usr/sbin/policy-rc.d" || exit 125
	touch "$part/root/etc/resolv.conf" "$part/root/etc/hosts" "$part/root/$mark" || exit 125
	chmod 755 "$part/root"
	mv -T "$part/root" "$root" || exit 125
}

[ "$(id -u)" = 0 ] || die "needs root"
case ${1:-} in
make)
	[ $# -eq 2 ] || die "usage: make ROOT"
	root=$(realpath -m "$2")
	mkdir -p "$(dirname "$root")" || exit 125
	# side by side callers get one root
	exec 9>"$root.lock" && flock 9 || exit 125
	make_root "$root" 9>&-
	;;
copy)
	[ $# -eq 3 ] || die "usage: copy ROOT NEW"
	[ -e "$2/$mark" ] || die "$2 is no root of mine"
	[ ! -e "$3" ] || die "$3 is there"
	cp -a --reflink=auto "$2" "$3"
	;;
run)
	root=$(realpath "${2:?ROOT}") || exit 125
	[ -e "$root/$mark" ] || die "$root is no root of mine"
	shift 2
	binds='' cd=/ net=()
	while [ $# -gt 0 ]; do
		case $1 in
		--offline) net=(--net) ;;
		--bind | --bind-ro)
			from=$(realpath "${2%%:*}") && [ -d "$from" ] || die "no folder ${2%%:*}"
			[[ "$from ${2#*:}" =~ ^[^[:space:]]+\ /[^[:space:]]*$ ]] || die "bind FOLDER:INSIDE, without spaces"
			mkdir -p "$root/${2#*:}"
			[ "$1" = --bind ] && mode=rw || mode=ro
			binds+="$mode $from ${2#*:}"$'\n'
			shift
			;;
		--cd)
			cd=${2:?FOLDER}
			shift
			;;
		--)
			shift
			break
			;;
		*) die "unknown option $1" ;;
		esac
		shift
	done
	[ $# -gt 0 ] || die "usage: run ROOT [options] -- COMMAND..."
	exec unshare --mount --pid --ipc --fork --kill-child "${net[@]}" "$self" --inside "$root" "$binds" "$cd" "$@"
	;;
--inside)
	shift
	inside "$@"
	;;
remove)
	[ $# -eq 2 ] || die "usage: remove ROOT"
	root=$(realpath -m "$2")
	if [ -e "$root" ]; then
		[ -e "$root/$mark" ] || die "$root is no root of mine"
		rm -rf --one-file-system "$root"
	fi
	rm -f "$root.lock"
	;;
*)
	sed -n '3,14s/^# \{0,1\}//p' "$self"
	exit 125
	;;
esac
