#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# Packages of the tree as it stands: make deb, make deb-source, make rpm, make dist. No root and no network is needed, and nothing is
# installed; what is missing to build with is named. All is made in a copy of the tree, and left in $OUT/packages.
#
#   package.sh dist         ibqos-VERSION.tar.gz: what git tracks, and all but build/ where there is no git
#   package.sh deb          Debian packages; DEB_BUILD_OPTIONS, DEBFULLNAME and DEBEMAIL as dpkg-buildpackage(1) and debchange(1) have them
#   package.sh deb-source   Debian source package, for sbuild and autopkgtest
#   package.sh rpm          RPM packages; RPMBUILD_OPTIONS as rpmbuild(8) has them
#   package.sh rpm-spec     what they are built by: contrib/rpm/ibqos.spec with the version and the changelog of the tree
#
# The same tree makes the same files, wherever and whenever: its date is SOURCE_DATE_EPOCH, or that of the last commit, or of
# CHANGELOG.md.
set -eu
top=$(dirname "$(dirname "$(realpath "$0")")")
cd "$top"
out=$(realpath -m "${OUT:-build/release}")/packages
umask 022
unset OUT MODE MAKEFLAGS MFLAGS MAKELEVEL # of the make that called: the package's own is another one

in_git() {
	[ -e "$top/.git" ] && command -v git >/dev/null && git rev-parse --git-dir >/dev/null 2>&1
}

if [ -z "${SOURCE_DATE_EPOCH:-}" ]; then
	if in_git; then
		SOURCE_DATE_EPOCH=$(git log -1 --format=%ct)
	else
		SOURCE_DATE_EPOCH=$(stat -c %Y CHANGELOG.md)
	fi
fi
export SOURCE_DATE_EPOCH
version=$(scripts/changelog.py version)
released=$(sed -n 's/^VERSION := //p' Makefile)
if [ "${version%%~*}" != "$released" ]; then
	echo "package.sh: CHANGELOG.md begins with version ${version%%~*}, the Makefile has $released" >&2
	exit 1
fi
tree=$out/ibqos-$version

# The files of the tree, by NUL.
files() {
	if in_git; then
		git ls-files -z --cached | while IFS= read -r -d '' f; do
			[ ! -e "$f" ] || printf '%s\0' "$f"
		done
	else
		find . -path ./build -prune -o -path ./.git -prune -o -type f -printf '%P\0'
	fi
}

copy_tree() {
	rm -rf "$tree"
	mkdir -p "$tree"
	files | tar --null -T - -c | tar -x -C "$tree"
	chmod -R u=rwX,go=rX "$tree"
	find "$tree" -exec touch -h -d "@$SOURCE_DATE_EPOCH" {} +
}

# tarball FILE: of the copy, the same for the same tree
tarball() {
	tar -C "$out" --sort=name --owner=0 --group=0 --numeric-owner --format=gnu --mtime="@$SOURCE_DATE_EPOCH" -c "ibqos-$version" |
		gzip -n -9 >"$1"
}

debian_folder() {
	cp -a contrib/debian "$tree/debian"
	chmod -R u=rwX,go=rX "$tree/debian"
	scripts/changelog.py deb >"$tree/debian/changelog"
	[ -z "${DEBEMAIL:-}" ] || sed -i "s/^Maintainer: .*/Maintainer: ${DEBFULLNAME:-ibqos authors} <$DEBEMAIL>/" "$tree/debian/control"
}

rpm_spec() {
	mkdir -p "$out"
	{
		sed "s/^Version:.*/Version:        $version/" contrib/rpm/ibqos.spec
		echo
		scripts/changelog.py rpm
	} >"$out/ibqos.spec"
}

case ${1:-} in
dist)
	copy_tree
	tarball "$out/ibqos-$version.tar.gz"
	rm -rf "$tree"
	echo "$out/ibqos-$version.tar.gz"
	;;
deb)
	command -v dpkg-buildpackage >/dev/null || {
		echo "package.sh: dpkg-buildpackage is missing: apt-get install dpkg-dev debhelper" >&2
		exit 1
	}
	copy_tree
	debian_folder
	(cd "$tree" && dpkg-buildpackage -us -uc -b) </dev/null
	rm -rf "$tree"
	ls "$out"/*"_${version}-1_"*.deb
	;;
deb-source)
	copy_tree
	tarball "$out/ibqos_$version.orig.tar.gz"
	debian_folder
	(cd "$out" && dpkg-source -b "ibqos-$version") </dev/null
	rm -rf "$tree"
	ls "$out/ibqos_$version-1.dsc"
	;;
rpm)
	command -v rpmbuild >/dev/null || {
		echo "package.sh: rpmbuild is missing: install rpm-build (Debian: rpm)" >&2
		exit 1
	}
	copy_tree
	tarball "$out/ibqos-$version.tar.gz"
	rm -rf "$tree"
	rpm_spec
	# shellcheck disable=SC2086
	rpmbuild -bb --define "_topdir $out/rpm" --define "_sourcedir $out" --define "_rpmdir $out" \
		--define "use_source_date_epoch_as_buildtime 1" --define "clamp_mtime_to_source_date_epoch 1" --define "_buildhost localhost" \
		${RPMBUILD_OPTIONS:-} "$out/ibqos.spec" </dev/null
	rm -rf "$out/rpm"
	find "$out" -name "ibqos*-$version-*.rpm"
	;;
rpm-spec)
	rpm_spec
	echo "$out/ibqos.spec"
	;;
*)
	sed -n '3,14s/^# \{0,1\}//p' "$0"
	exit 1
	;;
esac
