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

beside_pids=() beside_logs=()

# beside COMMAND...: a function of steps that need processors alone. It runs in the time that others leave (they wait for networks,
# browsers, timers), in a process group of its own, until joined counts it.
beside() {
	local log
	log=$(mktemp)
	set -m
	(
		set +m
		renice -n 19 -p $BASHPID >/dev/null
		passed=0 failed=0 skipped=0 failures=()
		"$@"
		total
	) >"$log" 2>&1 </dev/null &
	beside_pids+=($!) beside_logs+=("$log")
	set +m
	trap 'for p in "${beside_pids[@]}"; do kill -- "-$p" 2>/dev/null; done' EXIT
	trap 'exit 1' INT TERM HUP
}

# joined: what was started by beside, now as fast as all else, and counted.
joined() {
	local i
	for i in "${!beside_pids[@]}"; do
		renice -n 0 -g "${beside_pids[i]}" >/dev/null 2>&1 # where only root may: it stays slow
		wait "${beside_pids[i]}"
		counted cat "${beside_logs[i]}"
		rm -f "${beside_logs[i]}"
	done
	beside_pids=() beside_logs=()
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

# unit_tests FOLDER: every cmocka program in it, as many at once as there are processors. A program that runs no test, or dies, counts
# as a failure. UNIT_UNDER: what runs them (valgrind); UNIT_SKIP: programs left out, counted as skipped; UNIT_TIMEOUT: seconds each.
unit_tests() {
	local dir=$1 t log ok bad code begin=$SECONDS sum_ok=0 sum_bad=0 sum_skipped=0 which="" logs programs=()
	logs=$(mktemp -d)
	for t in "$dir"/test_*; do
		[ -f "$t" ] && [ -x "$t" ] || continue
		if [[ " ${UNIT_SKIP:-} " == *" ${t##*/} "* ]]; then
			sum_skipped=$((sum_skipped + 1))
		else
			programs+=("$t")
		fi
	done
	# shellcheck disable=SC2016
	[ ${#programs[@]} -eq 0 ] || printf '%s\0' "${programs[@]}" | xargs -0 -n 1 -P "$(nproc)" bash -c \
		'timeout "${UNIT_TIMEOUT:-300}" ${UNIT_UNDER:-} "$1" >"$0/${1##*/}.log" 2>&1 </dev/null; echo $? >"$0/${1##*/}.code"' "$logs"
	for t in "${programs[@]}"; do
		log=$logs/${t##*/}.log
		code=$(cat "$logs/${t##*/}.code")
		ok=$(cmocka_count "  PASSED  " "$log")
		bad=$(cmocka_count "  FAILED  " "$log")
		sum_skipped=$((sum_skipped + $(cmocka_count "  SKIPPED " "$log")))
		if [ "${code:-1}" -ne 0 ] && [ "$bad" -eq 0 ] || [ $((ok + bad)) -eq 0 ]; then
			echo "$t: exit $code after $ok tests"
			bad=$((bad + 1))
		fi
		if [ "$bad" -ne 0 ]; then
			cat "$log"
			which+="${which:+, }${t##*/} $(sed -n 's/^\[  FAILED  \] \([a-z_0-9]*\)$/\1/p' "$log" | sort -u | xargs)"
		fi
		sum_ok=$((sum_ok + ok)) sum_bad=$((sum_bad + bad))
	done
	rm -rf "$logs"
	if [ ${#programs[@]} -eq 0 ]; then
		echo "no unit test programs in $dir"
		sum_bad=1
	fi
	summary "unit tests (${#programs[@]} programs)" $((SECONDS - begin)) $sum_ok $sum_bad $sum_skipped "$which"
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
