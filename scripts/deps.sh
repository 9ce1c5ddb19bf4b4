#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# Installs what ibqos is built and tested with, on Debian 12. Nothing is left running: Debian's opensm
# package starts a subnet manager on every InfiniBand port when it is installed, so the service is masked
# first, and on a machine with such a port nothing is installed at all.
#
#   deps.sh              packages for building and testing
#   deps.sh --for-tests  the same; silent where all is there (make check and make demo call it)
#   deps.sh --for-extra  also what make check-extra needs
set -u

build=(gcc make pkg-config libibnetdisc-dev libibmad-dev libibumad-dev libyaml-dev libjson-c-dev
	libsmartcols-dev libmd-dev libzstd-dev libcap-dev uthash-dev zlib1g-dev)
tests=(clang libclang-rt-dev libopensm-dev libcmocka-dev python3-pytest python3-pytest-xdist
	python3-pytest-timeout python3-yaml python3-docutils ibsim-utils opensm infiniband-diags
	bash-completion zsh locales)
extra=(clang-tidy cppcheck valgrind shellcheck prometheus prometheus-node-exporter mmdebstrap
	chromium chromium-driver python3-selenium
	debhelper dpkg-dev lintian faketime systemd file rpm rpmlint)
services=(opensm prometheus prometheus-node-exporter) # that Debian would start

quiet=
packages=("${build[@]}" "${tests[@]}")
case ${1:-} in
'') ;;
--for-tests) quiet=1 ;;
--for-extra) packages+=("${extra[@]}") quiet=1 ;;
*)
	echo "usage: deps.sh [--for-tests | --for-extra]" >&2
	exit 1
	;;
esac

if ! command -v dpkg-query >/dev/null; then
	echo "deps.sh: not a Debian system: install the equivalents of: ${packages[*]}" >&2
	exit 1
fi
# `ii ` alone counts: a package that was removed but not purged is known to dpkg as well
have=$(dpkg-query -W -f '${db:Status-Abbrev}${Package}\n' "${packages[@]}" 2>/dev/null | sed -n 's/^ii //p')
missing=()
for p in "${packages[@]}"; do
	grep -qx "$p" <<<"$have" || missing+=("$p")
done
if [ ${#missing[@]} -eq 0 ]; then
	[ -n "$quiet" ] || echo "deps.sh: all packages are installed"
	exit 0
fi

# Is there InfiniBand on this machine? An adapter whose ports are all Ethernet is no danger.
hardware=
for f in /sys/class/infiniband/*/ports/*/link_layer; do
	[ -e "$f" ] && [ "$(cat "$f")" = InfiniBand ] && hardware=$f
done
for f in /dev/infiniband/umad*; do
	[ -e "$f" ] && hardware=$f
done
if [ -n "$hardware" ]; then
	cat >&2 <<EOF
deps.sh: this machine has an InfiniBand port ($hardware): nothing is installed here.
Debian's opensm package starts a subnet manager when it is installed. To go on by your own decision:
  systemctl mask opensm.service
  apt-get install --no-install-recommends ${missing[*]}
For building alone, without tests, opensm is not needed:
  apt-get install --no-install-recommends ${build[*]}
EOF
	exit 1
fi
if [ "$(id -u)" != 0 ]; then
	echo "deps.sh: packages are missing; as root run: $(realpath "$0")${1:+ $1}" >&2
	exit 1
fi

# None of these must start: neither now (policy-rc.d) nor at the next boot (mask).
made_policy=
cleanup() {
	[ -z "$made_policy" ] || rm -f /usr/sbin/policy-rc.d
}
for service in "${services[@]}"; do
	[[ " ${missing[*]} " == *" $service "* ]] || continue
	unit=/etc/systemd/system/$service.service
	if [ ! -e "$unit" ] && [ ! -L "$unit" ]; then
		mkdir -p /etc/systemd/system
		ln -s /dev/null "$unit"
		echo "deps.sh: masked $service.service, so that it does not start (systemctl unmask $service undoes it)"
	fi
	if [ ! -e /usr/sbin/policy-rc.d ]; then
		trap cleanup EXIT
		trap 'exit 1' INT TERM HUP
		made_policy=1
		printf '#!/bin/sh\nexit 101\n' >/usr/sbin/policy-rc.d && chmod 755 /usr/sbin/policy-rc.d || exit 1
	fi
done

export DEBIAN_FRONTEND=noninteractive
log=$(mktemp)
echo "deps.sh: installing ${missing[*]}"
if ! apt-get -q update >"$log" 2>&1 </dev/null; then
	# an old list may still do; if not, the install says what is missing
	tail -n 5 "$log" >&2
fi
if ! apt-get -q -y --no-install-recommends install "${missing[@]}" >"$log" 2>&1 </dev/null; then
	cat "$log" >&2
	rm -f "$log"
	echo "deps.sh: apt-get failed" >&2
	exit 1
fi
rm -f "$log"
