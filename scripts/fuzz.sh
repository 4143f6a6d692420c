#!/usr/bin/env bash
# fuzz.sh TIME [PACKAGE...] gives every fuzz target of the packages (default: all) that long on a
# processor of its own, as many at once as there are processors.
# Making a new input small is cut short: it would eat the time of slow targets.
set -uo pipefail
cd "$(dirname "$0")/.."

# fuzz TIME DIR TARGET gives one target its time and prints what came of it at once.
fuzz() {
	local time=$1 dir=$2 target=$3 out result=0 verdict
	if out=$(go test -run='^$' -fuzz="^$target\$" -fuzztime="$time" -fuzzminimizetime=10x -parallel=1 "./$dir" 2>&1); then
		verdict=$(grep -oE 'execs: [0-9]+' <<<"$out" | tail -1)
	elif grep -q 'context deadline exceeded' <<<"$out" && ! grep -q 'Failing input' <<<"$out"; then
		verdict="stopped by the clock" # the runner gives up an input under way at the end of its time; no finding
	else
		verdict=$'FAILED\n'$out result=1
	fi
	printf '%-60s %s\n' "$dir $target" "$verdict"
	return $result
}
export -f fuzz

time=$1
shift
for dir in $(grep -rlE --include='*_test.go' '^func Fuzz' "${@:-.}" | xargs -n1 dirname | sort -u); do
	for target in $(grep -hoE '^func Fuzz[A-Za-z0-9_]+' "$dir"/*_test.go | cut -c6- | sort); do
		printf '%s\0%s\0%s\0' "$time" "$dir" "$target"
	done
done | xargs -0 -r -n3 -P"$(nproc)" bash -c 'fuzz "$@"' fuzz
