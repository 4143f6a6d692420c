#!/usr/bin/env bash
# fuzz.sh TIME [PACKAGE...] gives every fuzz target of the packages (default: all) that long, a
# number of s, m or h, on a processor of its own, as many at once as there are processors. A
# package is built once for all its targets, and what they find interesting is kept where
# `go test -fuzz` keeps it. Making a new input small is cut short: it would eat the time of slow
# targets.
set -uo pipefail
cd "$(dirname "$0")/.."

# Targets that play against something with a state, and still find as many new ways through it
# after ten seconds as decoders do in their first three: they have twice the time.
lasting='^(broker/api FuzzRequests|commitlog Fuzz(Clean|Recovery)|coordinator/group FuzzGroup|protocol/record FuzzBatch)$'

module=$(go list -m)
inputs=$(go env GOCACHE)/fuzz/$module
built=$(mktemp -d)
trap 'rm -rf "$built"' EXIT
export inputs built

# build DIR makes the test binary of a package.
build() { mkdir -p "$built/$1" && go test -c -fuzz=. -o "$built/$1/test" "./$1"; }

# fuzz TIME DIR TARGET gives one target its time and prints what came of it at once.
fuzz() {
	local time=$1 dir=$2 target=$3 out result=0 verdict
	if out=$(cd "$dir" && "$built/$dir/test" -test.run='^$' -test.fuzz="^$target\$" -test.fuzztime="$time" \
		-test.fuzzminimizetime=10x -test.parallel=1 -test.fuzzcachedir="$inputs/$dir" 2>&1); then
		verdict=$(grep -oE 'execs: [0-9]+' <<<"$out" | tail -1)
	elif grep -q 'context deadline exceeded' <<<"$out" && ! grep -q 'Failing input' <<<"$out"; then
		verdict="stopped by the clock" # the runner gives up an input under way at the end of its time; no finding
	else
		verdict=$'FAILED\n'$out result=1
	fi
	printf '%-60s %s\n' "$dir $target" "$verdict"
	return $result
}
export -f build fuzz

time=$1
twice=$((2 * ${time%[smh]}))${time##*[0-9]}
shift
dirs=$(grep -rlE --include='*_test.go' '^func Fuzz' "${@:-.}" | xargs -n1 dirname | sed 's|^\./||' | sort -u)
xargs -r -n1 -P"$(nproc)" bash -c 'build "$@"' build <<<"$dirs" || exit 1
for dir in $dirs; do
	for target in $(grep -hoE '^func Fuzz[A-Za-z0-9_]+' "$dir"/*_test.go | cut -c6- | sort); do
		each=$time
		[[ "$dir $target" =~ $lasting ]] && each=$twice
		printf '%s\0%s\0%s\0' "$each" "$dir" "$target"
	done
done | xargs -0 -r -n3 -P"$(nproc)" bash -c 'fuzz "$@"' fuzz
