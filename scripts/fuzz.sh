#!/usr/bin/env bash
# fuzz.sh TIME [PACKAGE...] gives every fuzz target of the packages (default: all) that long.
# Making a new input small is cut short: it would eat the time of slow targets.
set -uo pipefail
cd "$(dirname "$0")/.."

time=$1
shift
failed=0
for dir in $(grep -rlE --include='*_test.go' '^func Fuzz' "${@:-.}" | xargs -n1 dirname | sort -u); do
	for target in $(grep -hoE '^func Fuzz[A-Za-z0-9_]+' "$dir"/*_test.go | cut -c6- | sort); do
		printf '%-60s ' "$dir $target"
		if out=$(go test -run='^$' -fuzz="^$target\$" -fuzztime="$time" -fuzzminimizetime=10x -parallel=2 "./$dir" 2>&1); then
			grep -oE 'execs: [0-9]+' <<<"$out" | tail -1
		elif grep -q 'context deadline exceeded' <<<"$out" && ! grep -q 'Failing input' <<<"$out"; then
			echo "stopped by the clock" # the runner gives up an input under way at the end of its time; no finding
		else
			echo FAILED
			echo "$out"
			failed=1
		fi
	done
done
exit $failed
