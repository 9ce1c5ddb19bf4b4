#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# make fuzz, make fuzz-long: runs the fuzzers of a folder, as many at once as there are processors, and
# says in a line each what they did. The last line counts them; an input that fails is saved and named.
#
#   fuzz.sh FOLDER SECONDS [NAME...]
#
# FUZZ_CORPUS=FOLDER  where inputs found are kept, and taken from the next time (else they are dropped)
# FUZZ_SEED=N          what libFuzzer begins its guesses with; without it every run tries something else
# FUZZ_RUNS=N          no more than these runs each: with a seed the same ones on any machine, SECONDS only ends a slow one
# FUZZ_KEEP=1         afterwards adds to tests/fuzz/corpus what reaches code that nothing there reaches
set -u
cd "$(dirname "$(realpath "$0")")/.." || exit 1
# shellcheck source=scripts/lib.sh
. scripts/lib.sh

[ $# -ge 2 ] || { echo "usage: fuzz.sh FOLDER SECONDS [NAME...]" >&2; exit 1; }
dir=$1 seconds=$2
shift 2
seeds=tests/fuzz/corpus
scratch=$(mktemp -d)
# shellcheck disable=SC2046
trap 'kill $(jobs -p) 2>/dev/null; wait; rm -rf "$scratch"' EXIT
trap 'exit 1' INT TERM HUP
mkdir -p "$dir/found"

# A slow input is a fault too: 10 seconds are thousands of times what any of these takes.
export ASAN_OPTIONS=detect_leaks=1:strict_string_checks=1:allocator_may_return_null=1
export UBSAN_OPTIONS=print_stacktrace=1
limits=(-timeout=10 -rss_limit_mb=2048 -max_len=8192 -print_final_stats=1)

fuzz_one() { # NAME: its log in $scratch/NAME.log, its exit code in $scratch/NAME.code
	local name=$1 new=${FUZZ_CORPUS:-$scratch/corpus}/$1 options=()
	mkdir -p "$new"
	[ ! -e "tests/fuzz/dict/$name" ] || options+=(-dict="tests/fuzz/dict/$name")
	[ -z "${FUZZ_SEED:-}" ] || options+=(-seed="$FUZZ_SEED")
	[ -z "${FUZZ_RUNS:-}" ] || options+=(-runs="$FUZZ_RUNS")
	nice "$dir/fuzz_$name" "${limits[@]}" "${options[@]}" -max_total_time="$seconds" \
		-artifact_prefix="$dir/found/$name-" "$new" "$seeds/$name" >"$scratch/$name.log" 2>&1 </dev/null
	echo $? >"$scratch/$name.code"
}

# The last number after a word in libFuzzer's log.
last() {
	sed -n "s/.*\\b$1:\\{0,2\\} *\\([0-9][0-9]*\\).*/\\1/p" "$2" | tail -n 1
}

report_one() { # NAME: the line, and all of the log if it failed
	local name=$1 log=$scratch/$1.log code runs
	code=$(cat "$scratch/$name.code")
	runs=$(last 'stat::number_of_executed_units' "$log")
	# less than a hundred runs is a fuzzer that does not fuzz
	if [ "$code" -eq 0 ] && [ "${runs:-0}" -ge 100 ]; then
		summary "fuzz $name" "$seconds" 1 0 0
	else
		grep -aE 'does not hold|runtime error:|SUMMARY|Timeout|^[a-z]*: [A-Z]' "$log" | head -n 5
		tail -n 60 "$log" | cut -c 1-200
		summary "fuzz $name" "$seconds" 0 1 0
		sed -n 's/.*Test unit written to \(.*\)/  input: \1/p' "$log"
		echo "  again: $dir/fuzz_$name INPUT"
	fi
	printf '    %s runs, %s edges, corpus %s of %s given, %s MB\n' "${runs:-0}" "$(last cov "$log")" \
		"$(sed -n 's/.*corp: \([0-9]*\).*/\1/p' "$log" | tail -n 1)" "$(find "$seeds/$name" -type f | wc -l)" \
		"$(last 'stat::peak_rss_mb' "$log")"
}

names=("$@")
if [ ${#names[@]} -eq 0 ]; then
	for f in tests/fuzz/fuzz_*.c; do
		f=${f##*/fuzz_}
		names+=("${f%.c}")
	done
fi
for name in "${names[@]}"; do
	if [ ! -x "$dir/fuzz_$name" ] || [ -z "$(ls -A "$seeds/$name" 2>/dev/null)" ]; then
		echo "fuzz.sh: no program $dir/fuzz_$name, or no corpus $seeds/$name" >&2
		exit 1
	fi
done
running=0
for name in "${names[@]}"; do
	if [ $running -ge "${JOBS:-$(nproc)}" ]; then
		wait -n
		running=$((running - 1))
	fi
	fuzz_one "$name" &
	running=$((running + 1))
done
wait
for name in "${names[@]}"; do
	report_one "$name"
	if [ -n "${FUZZ_KEEP:-}" ] && [ -n "${FUZZ_CORPUS:-}" ]; then
		"$dir/fuzz_$name" -merge=1 -use_counters=0 "$seeds/$name" "$FUZZ_CORPUS/$name" >/dev/null 2>&1 ||
			echo "fuzz.sh: the corpus of $name could not be added to" >&2
	fi
done
total
