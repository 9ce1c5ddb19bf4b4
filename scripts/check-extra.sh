#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# make check-extra: what make check leaves out. Another compiler, tests under address, leak and undefined behaviour
# sanitizers, fuzzing for some seconds, browsers, monitoring, documentation, packages, static analysis, scripts, man
# pages. With EXTRA_ALL=1, as make check-long does, also both compilers with other optimization, all simulated tests and
# chaos under sanitizers, valgrind, and analysis in more depth. It begins with the builds; analysis, which waits for
# nothing, goes on beside the tests.
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

step "build" make "$jobs" OUT="$out/release" W=-Werror all tools # make check has built it
# clang's warnings too; the fuzzers are linked with the same objects
step "clang, sanitizers, fuzzers" make "$jobs" MODE=san OUT="$out/san" W=-Werror all unit tools fuzz-build
if [ -n "${EXTRA_ALL:-}" ]; then
	step "clang, no warnings" make "$jobs" CC=clang OUT="$out/clang" W=-Werror all unit
	step "debug build, no warnings" make "$jobs" MODE=debug OUT="$out/debug" W=-Werror all unit tools
fi

gcc_analyzer() {
	find src -name '*.c' -print0 | xargs -0 -n 8 -P "$(nproc)" sh -c '
		for f; do
			gcc -std=c17 -D_GNU_SOURCE -DIBQOS_VERSION=\"\" -Iinclude -O2 -Werror -fanalyzer \
				-Wno-analyzer-malloc-leak -Wno-analyzer-use-of-uninitialized-value \
				-c -o /dev/null "$f" || exit 255
		done' sh
}
tidy_checks='-*,bugprone-*,clang-analyzer-core*,clang-analyzer-unix*,clang-analyzer-deadcode*'
for no in easily-swappable-parameters narrowing-conversions branch-clone reserved-identifier assignment-in-if-condition \
	implicit-widening-of-multiplication-result macro-parentheses suspicious-string-compare; do
	tidy_checks+=,-bugprone-$no
done
# uthash and tables of counted arrays are beyond the analyser's path model; the sanitizers above look there
tidy_checks+=',-clang-analyzer-unix.Malloc,-clang-analyzer-core.UndefinedBinaryOperatorResult,-clang-analyzer-core.uninitialized.ArraySubscript'
# Where a function has more paths than this, a third of clang's own bound, it sees the nearest ones in a third of the time.
tidy_depth=()
[ -n "${EXTRA_ALL:-}" ] || tidy_depth=(--extra-arg=-Xclang --extra-arg=-analyzer-config --extra-arg=-Xclang --extra-arg=max-nodes=75000)
tidy() {
	find src tests/tools/overlay -name '*.c' -print0 | xargs -0 -n 4 -P "$(nproc)" sh -c '
		clang-tidy --quiet --warnings-as-errors="*" "$@" -- -std=c17 -D_GNU_SOURCE -DIBQOS_VERSION=\"\" -Iinclude' sh \
		--checks="$tidy_checks" "${tidy_depth[@]}"
}
scripts_are_sound() {
	local f
	for f in scripts/*.sh .ci/run contrib/debian/tests/demo; do
		bash -n "$f" || return 1
	done
	/usr/bin/python3 -m compileall -q -f tests scripts -x '\.pytest_cache' || return 1
	shellcheck -x -S warning scripts/*.sh .ci/run
}
man_pages() {
	local f found=
	for f in docs/man/*.rst; do
		[ -e "$f" ] || continue
		found=1
		rst2man --halt=2 "$f" >/dev/null || return 1
	done
	[ -n "$found" ] || { echo "no man page in docs/man"; return 1; }
}
analysis() {
	step "layers" scripts/check-layers.sh
	step "scripts" scripts_are_sound
	step "man pages" man_pages
	step "gcc -fanalyzer" gcc_analyzer
	step "cppcheck" cppcheck --quiet --error-exitcode=1 --std=c11 --enable=warning,performance,portability \
		--inline-suppr --suppress=missingIncludeSystem --suppress=unknownMacro --suppress=arrayIndexThenCheck \
		--suppress=memleak --suppress=uninitvar \
		-D_GNU_SOURCE -DIBQOS_VERSION='""' -Iinclude -j "$(nproc)" src tests/tools/overlay
	step "clang-tidy" tidy
}
beside analysis

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
# One seed, and as many runs on a fast machine as on a slow one: whether a commit passes is not a matter of luck. make
# fuzz and fuzz-long look further each time.
FUZZ_SEED=${FUZZ_SEED:-1} FUZZ_RUNS=${FUZZ_RUNS:-2000} counted scripts/fuzz.sh "$out/san/fuzz" "${FUZZ_SECONDS:-20}"

echo "pages in a browser:"
IBQOS_BIN=$out/release/ibqos IBQOS_OVERLAY=$out/release/tests/overlay.so JOBS=2 pytest_suite "headless Chromium (tests/browser)" tests/browser

echo "monitoring:"
IBQOS_BIN=$out/release/ibqos IBQOS_OVERLAY=$out/release/tests/overlay.so JOBS=2 \
	pytest_suite "Prometheus, schedules, plugin (tests/monitoring)" --dist loadfile tests/monitoring

echo "many fabrics:"
IBQOS_RAILS=8 IBQOS_BIN=$out/release/ibqos IBQOS_OVERLAY=$out/release/tests/overlay.so JOBS=2 \
	pytest_suite "eight rails at once" tests/sim/test_site.py

# Every command of README, guides and manual pages as it stands; README's from an empty Debian root on (docs/testing.md).
echo "documentation:"
IBQOS_BIN=$out/release/ibqos IBQOS_OVERLAY=$out/release/tests/overlay.so JOBS=2 \
	pytest_suite "commands of the documentation (tests/docs)" tests/docs/test_empty_root.py tests/docs/test_docs.py tests/docs/test_help_examples.py

echo "packages:"
IBQOS_BIN=$out/release/ibqos IBQOS_OVERLAY=$out/release/tests/overlay.so JOBS=2 \
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
joined
total
