#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# make check-extra: what make check leaves out. Another compiler, the debug build, tests under address, leak
# and undefined behaviour sanitizers, fuzzing for some seconds, static analysis, scripts, man pages. With
# EXTRA_ALL=1, as make check-long does, also all simulated tests and chaos under sanitizers, and valgrind.
# Why each check is on and what is off: docs/testing.md, "Analysis".
set -u
self=$(realpath "$0")
cd "$(dirname "$self")/.." || exit 1
# shellcheck source=scripts/lib.sh
. scripts/lib.sh
fence "$@"
scripts/deps.sh --for-extra || exit 1
OUT=${OUT:-build}
out=$(realpath -m "$OUT")
jobs=-j$(nproc)

step "clang, no warnings" make "$jobs" CC=clang OUT="$out/clang" W=-Werror all unit
step "debug build, no warnings" make "$jobs" MODE=debug OUT="$out/debug" W=-Werror all unit tools
step "sanitizer build" make "$jobs" MODE=san OUT="$out/san" W=-Werror all unit tools

# A report must not look like a verdict of ibqos, whose exit codes are 0 to 3.
export ASAN_OPTIONS=exitcode=99:detect_leaks=1:strict_string_checks=1:suppressions=$PWD/tests/tools/asan.supp
export LSAN_OPTIONS=exitcode=99:print_suppressions=0:suppressions=$PWD/tests/tools/lsan.supp
export UBSAN_OPTIONS=print_stacktrace=1
export IBQOS_BIN=$out/san/ibqos IBQOS_OVERLAY=$out/san/tests/overlay.so
echo "under sanitizers:"
unit_tests "$out/san/tests"
pytest_suite "command line (tests/cli)" tests/cli
if [ -n "${EXTRA_ALL:-}" ]; then
	pytest_suite "simulated fabrics (tests/sim)" tests/sim --ignore tests/sim/test_kit.py
	step "chaos, 30 s" scripts/chaos.sh 1 30
else
	JOBS=2 pytest_suite "simulated fabrics, some" tests/sim/test_main_path.py tests/sim/test_audit.py tests/sim/test_sm.py
fi
unset ASAN_OPTIONS LSAN_OPTIONS UBSAN_OPTIONS IBQOS_BIN IBQOS_OVERLAY

echo "hostile input:"
step "fuzzers" make "$jobs" OUT="$out" W=-Werror fuzz-build
# One seed, and as many runs on a fast machine as on a slow one: whether a commit passes is not a matter of luck. make
# fuzz and fuzz-long look further each time.
FUZZ_SEED=${FUZZ_SEED:-1} FUZZ_RUNS=${FUZZ_RUNS:-2000} counted scripts/fuzz.sh "$out/fuzz" "${FUZZ_SECONDS:-20}"

echo "pages in a browser:"
IBQOS_BIN=$out/debug/ibqos IBQOS_OVERLAY=$out/debug/tests/overlay.so JOBS=2 pytest_suite "headless Chromium (tests/browser)" tests/browser

echo "monitoring:"
IBQOS_BIN=$out/debug/ibqos IBQOS_OVERLAY=$out/debug/tests/overlay.so JOBS=2 \
	pytest_suite "Prometheus, schedules, plugin (tests/monitoring)" --dist loadfile tests/monitoring

echo "many fabrics:"
IBQOS_RAILS=8 IBQOS_BIN=$out/debug/ibqos IBQOS_OVERLAY=$out/debug/tests/overlay.so JOBS=2 \
	pytest_suite "eight rails at once" tests/sim/test_site.py

# Every command of README, guides and manual pages as it stands; README's from an empty Debian root on (docs/testing.md).
echo "documentation:"
IBQOS_BIN=$out/debug/ibqos IBQOS_OVERLAY=$out/debug/tests/overlay.so JOBS=2 \
	pytest_suite "commands of the documentation (tests/docs)" tests/docs/test_empty_root.py tests/docs/test_docs.py tests/docs/test_help_examples.py

echo "packages:"
IBQOS_BIN=$out/debug/ibqos IBQOS_OVERLAY=$out/debug/tests/overlay.so JOBS=2 \
	pytest_suite "packages (tests/packaging)" --dist loadfile tests/packaging

if [ -n "${EXTRA_ALL:-}" ]; then
	# valgrind 3.19 has no pidfd_open(), which test_opensm_instance, test_sm and apply need; its own memory makes
	# test_report_stream's measurement void. All of these run under the sanitizers above.
	echo "under valgrind:"
	memcheck="valgrind -q --error-exitcode=99 --leak-check=full --errors-for-leak-kinds=definite,indirect"
	memcheck+=" --suppressions=$PWD/tests/tools/valgrind.supp"
	IBQOS_CASES=0.1 UNIT_TIMEOUT=1800 UNIT_UNDER=$memcheck UNIT_SKIP="test_opensm_instance test_report_stream" unit_tests "$out/debug/tests"
	printf '#!/bin/sh\nexec %s %s "$@"\n' "$memcheck" "$out/debug/ibqos" >"$out/debug/ibqos.memcheck"
	chmod +x "$out/debug/ibqos.memcheck"
	IBQOS_BIN=$out/debug/ibqos.memcheck IBQOS_OVERLAY=$out/debug/tests/overlay.so \
		pytest_suite "simulated fabrics, some" tests/sim/test_audit.py \
		tests/sim/test_faults_devices.py::test_vlarb_set_that_a_device_refused
fi

echo "analysis:"
gcc_analyzer() {
	find src -name '*.c' -print0 | xargs -0 -n 8 -P "$(nproc)" sh -c '
		for f; do
			gcc -std=c17 -D_GNU_SOURCE -DIBQOS_VERSION=\"\" -Iinclude -O2 -Werror -fanalyzer \
				-Wno-analyzer-malloc-leak -Wno-analyzer-use-of-uninitialized-value \
				-c -o /dev/null "$f" || exit 255
		done' sh
}
step "gcc -fanalyzer" gcc_analyzer
step "cppcheck" cppcheck --quiet --error-exitcode=1 --std=c11 --enable=warning,performance,portability \
	--inline-suppr --suppress=missingIncludeSystem --suppress=unknownMacro --suppress=arrayIndexThenCheck \
	--suppress=memleak --suppress=uninitvar \
	-D_GNU_SOURCE -DIBQOS_VERSION='""' -Iinclude -j "$(nproc)" src tests/tools/overlay
tidy_checks='-*,bugprone-*,clang-analyzer-core*,clang-analyzer-unix*,clang-analyzer-deadcode*'
for no in easily-swappable-parameters narrowing-conversions branch-clone reserved-identifier assignment-in-if-condition \
	implicit-widening-of-multiplication-result macro-parentheses suspicious-string-compare; do
	tidy_checks+=,-bugprone-$no
done
# uthash and tables of counted arrays are beyond the analyser's path model; the sanitizers above look there
tidy_checks+=',-clang-analyzer-unix.Malloc,-clang-analyzer-core.UndefinedBinaryOperatorResult,-clang-analyzer-core.uninitialized.ArraySubscript'
tidy() {
	find src tests/tools/overlay -name '*.c' -print0 | xargs -0 -n 4 -P "$(nproc)" sh -c '
		checks=$1; shift
		clang-tidy --quiet --warnings-as-errors="*" --checks="$checks" "$@" -- -std=c17 -D_GNU_SOURCE \
			-DIBQOS_VERSION=\"\" -Iinclude' sh "$tidy_checks"
}
step "clang-tidy" tidy
step "layers" scripts/check-layers.sh
scripts_are_sound() {
	local f
	for f in scripts/*.sh .ci/run contrib/debian/tests/demo; do
		bash -n "$f" || return 1
	done
	/usr/bin/python3 -m compileall -q -f tests scripts -x '\.pytest_cache' || return 1
	shellcheck -x -S warning scripts/*.sh .ci/run
}
step "scripts" scripts_are_sound
man_pages() {
	local f found=
	for f in docs/man/*.rst; do
		[ -e "$f" ] || continue
		found=1
		rst2man --halt=2 "$f" >/dev/null || return 1
	done
	[ -n "$found" ] || { echo "no man page in docs/man"; return 1; }
}
step "man pages" man_pages
total
