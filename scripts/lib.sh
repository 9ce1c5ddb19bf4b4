# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# shellcheck shell=bash
# Sourced by the scripts that start tests: the fence in front of real hardware, and counting.

# Re-runs the calling script ($self, its full path) where /dev/infiniband and /sys/class/infiniband* are hidden, if they exist:
# everything started from there, OpenSM above all, finds no adapter whatever goes wrong.
fence() {
	local d hide=()
	for d in /dev/infiniband /sys/class/infiniband /sys/class/infiniband_mad /sys/class/infiniband_verbs; do
		[ -e "$d" ] && hide+=("$d")
	done
	[ ${#hide[@]} -eq 0 ] && return 0
	if [ -n "${IBQOS_TESTS_IN_NAMESPACE:-}" ]; then
		for d in "${hide[@]}"; do
			[ -z "$(ls -A "$d")" ] && continue
			echo "$0: $d is not hidden although IBQOS_TESTS_IN_NAMESPACE is set: refusing to run" >&2
			exit 1
		done
		return 0
	fi
	if [ "$(id -u)" != 0 ] || ! unshare -m true 2>/dev/null; then
		echo "$0: this machine has ${hide[*]}: tests run here only as root, in a mount namespace that hides them" >&2
		exit 1
	fi
	exec unshare -m bash -c 'for d in '"${hide[*]}"'; do mount -t tmpfs -o ro none "$d" || exit 1; done
		IBQOS_TESTS_IN_NAMESPACE=1 exec "$@"' bash "${self:?}" "$@"
}

passed=0 failed=0 skipped=0 failures=()

# summary NAME SECONDS PASSED FAILED SKIPPED [WHICH]: counts a suite and says so in one line; WHICH: the tests of it that failed.
summary() {
	passed=$((passed + $3)) failed=$((failed + $4)) skipped=$((skipped + $5))
	[ "$4" -eq 0 ] || failures+=("$1${6:+: $6}")
	printf '%-28s %4d s  %5d passed, %d failed%s\n' "$1" "$2" "$3" "$4" "$([ "$5" -eq 0 ] || echo ", $5 skipped")"
}

# The last lines of all: what failed, by name, since what lies far above is what gets lost; the count. And the exit code.
total() {
	[ ${#failures[@]} -eq 0 ] || printf 'failed: %s\n' "${failures[@]}"
	echo "$passed passed, $failed failed$([ $skipped -eq 0 ] || echo ", $skipped skipped")"
	[ $failed -eq 0 ]
}

# step NAME COMMAND...: one check that passes or fails as a whole; its output is shown when it fails.
step() {
	local name=$1 begin=$SECONDS log
	shift
	log=$(mktemp)
	if "$@" >"$log" 2>&1 </dev/null; then
		summary "$name" $((SECONDS - begin)) 1 0 0
	else
		cat "$log"
		summary "$name" $((SECONDS - begin)) 0 1 0
	fi
	rm -f "$log"
}

# How many tests of this outcome cmocka's summaries in a log name.
cmocka_count() {
	sed -n "s/^\\[$1\\] \\([0-9]*\\) test(s).*/\\1/p" "$2" | awk '{n += $1} END {print n + 0}'
}

# counted COMMAND...: a script that counts by itself; its last line is added to ours.
counted() {
	local log counts code p f s
	log=$(mktemp)
	"$@" </dev/null 2>&1 | tee "$log" | grep -vE '^[0-9]+ passed, [0-9]+ failed|^failed: '
	code=${PIPESTATUS[0]}
	counts=$(grep -E '^[0-9]+ passed, [0-9]+ failed' "$log" | tail -n 1)
	mapfile -t -O ${#failures[@]} failures < <(sed -n 's/^failed: //p' "$log")
	rm -f "$log"
	if [ -z "$counts" ]; then
		echo "$1 ended without counting"
		failed=$((failed + 1)) failures+=("$1: ended without counting")
		return
	fi
	read -r p _ f _ s _ <<<"$counts"
	[ "$code" -eq 0 ] || [ "$f" -gt 0 ] || f=1
	passed=$((passed + p)) failed=$((failed + f)) skipped=$((skipped + ${s:-0}))
}

# unit_tests FOLDER: every cmocka program in it. A program that runs no test, or dies, counts as a failure.
# UNIT_UNDER: what runs them (valgrind); UNIT_SKIP: programs left out, counted as skipped; UNIT_TIMEOUT: seconds each.
unit_tests() {
	local dir=$1 t log ok bad code begin=$SECONDS sum_ok=0 sum_bad=0 sum_skipped=0 programs=0 which=
	log=$(mktemp)
	for t in "$dir"/test_*; do
		[ -f "$t" ] && [ -x "$t" ] || continue
		if [[ " ${UNIT_SKIP:-} " == *" ${t##*/} "* ]]; then
			sum_skipped=$((sum_skipped + 1))
			continue
		fi
		programs=$((programs + 1))
		# shellcheck disable=SC2086
		timeout "${UNIT_TIMEOUT:-300}" ${UNIT_UNDER:-} "$t" >"$log" 2>&1 </dev/null
		code=$?
		ok=$(cmocka_count "  PASSED  " "$log")
		bad=$(cmocka_count "  FAILED  " "$log")
		sum_skipped=$((sum_skipped + $(cmocka_count "  SKIPPED " "$log")))
		if [ "$code" -ne 0 ] && [ "$bad" -eq 0 ] || [ $((ok + bad)) -eq 0 ]; then
			echo "$t: exit $code after $ok tests"
			bad=$((bad + 1))
		fi
		if [ "$bad" -ne 0 ]; then
			cat "$log"
			which+="${which:+, }${t##*/} $(sed -n 's/^\[  FAILED  \] \([a-z_0-9]*\)$/\1/p' "$log" | sort -u | xargs)"
		fi
		sum_ok=$((sum_ok + ok)) sum_bad=$((sum_bad + bad))
	done
	rm -f "$log"
	if [ $programs -eq 0 ]; then
		echo "no unit test programs in $dir"
		sum_bad=1
	fi
	summary "unit tests ($programs programs)" $((SECONDS - begin)) $sum_ok $sum_bad $sum_skipped "$which"
}

# pytest_record XML CODE: "passed failed skipped" of JUnit's record, then the failed tests, a line each.
pytest_record() {
	/usr/bin/python3 - "$1" "$2" <<'EOF'
import sys
import xml.etree.ElementTree as et
names = []
try:
    suite = et.parse(sys.argv[1]).getroot().find("testsuite")
    tests, skipped = int(suite.attrib["tests"]), int(suite.attrib["skipped"])
    bad = int(suite.attrib["failures"]) + int(suite.attrib["errors"])
    # classes are named from tests/, where pytest.ini is
    names = [f"tests/{c.attrib['classname'].replace('.', '/')}.py::{c.attrib['name']}" for c in suite.iter("testcase")
             if c.find("failure") is not None or c.find("error") is not None]
except (et.ParseError, AttributeError, KeyError, OSError):
    tests, skipped, bad = 0, 0, 1
passed = max(tests - skipped - bad, 0)
if bad == 0 and (int(sys.argv[2]) != 0 or passed == 0):
    bad = 1
print(passed, bad, skipped)
print("\n".join(names))
EOF
}

# pytest_suite NAME ARGUMENTS...: a suite that ran no test counts as failed. Simulators and OpenSMs side by
# side on a busy machine can starve one test: up to three that failed are run again, alone, and what then
# passes is said and counted as passed.
pytest_suite() {
	local name=$1 begin=$SECONDS xml code record p f s again again_passed again_failed
	shift
	xml=$(mktemp)
	/usr/bin/python3 -m pytest -q -p no:cacheprovider -n "${JOBS:-4}" --timeout 120 --junit-xml "$xml" "$@" </dev/null
	code=$?
	record=$(pytest_record "$xml" "$code")
	read -r p f s <<<"$record"
	mapfile -t again < <(tail -n +2 <<<"$record" | grep .)
	if [ ${#again[@]} -gt 0 ] && [ ${#again[@]} -le 3 ] && [ ${#again[@]} -eq "$f" ]; then
		echo "again, alone: ${again[*]}"
		/usr/bin/python3 -m pytest -q -p no:cacheprovider --timeout 120 --junit-xml "$xml" "${again[@]}" </dev/null
		code=$?
		read -r again_passed again_failed _ <<<"$(pytest_record "$xml" "$code")"
		if [ "$again_failed" -eq 0 ]; then
			echo "passed alone, after they failed beside others: ${again[*]}"
			p=$((p + again_passed)) f=0
		fi
	fi
	rm -f "$xml"
	summary "$name" $((SECONDS - begin)) "$p" "$f" "$s" "$(printf '%s\n' "${again[@]}" | head -n 8 | xargs)"
}
