#!/usr/bin/env bash
# test.sh runs every test of the project in eight parts and prints what each took,
# what was skipped and why, what failed, and one closing line. FUZZTIME sets the time
# a fuzz target gets (default 10s; those of fuzz.sh's list twice that); FUZZTIME=0
# leaves that part out. TIDEMARK_FULL=1 asks for the longer proofs: ten times the kills
# and power cuts, several times the traces and twins of the log. SIMTIME sets how long
# the simulator plays seeds (default 6m, 0 leaves it out).
set -uo pipefail
cd "$(dirname "$0")/.."

simtime=${SIMTIME:-6m}
unset SIMTIME # the other parts play a few seeds each

logs=$(mktemp -d)
trap 'rm -rf "$logs"' EXIT
gotestsum=$logs/gotestsum
go build -modfile=tools/go.mod -o "$gotestsum" gotest.tools/gotestsum || exit 1
go build -o "$logs/failures" ./scripts/failures || exit 1
failed=0
shares=()

# part NAME COMMAND... runs one part and notes its time.
part() {
	local name=$1 start=$SECONDS
	shift
	echo "=== $name"
	"$@" || failed=1
	shares+=("$(printf '%-22s %4d s' "$name" $((SECONDS - start)))")
}

# go_test NAME ARGUMENT... runs go test; what fails is told when it does, and in short by
# the end of the log.
go_test() {
	local name=$1
	shift
	"$gotestsum" --format=pkgname-and-test-fails --hide-summary=failed --jsonfile "$logs/$name.json" -- "$@"
}

fuzz() { scripts/fuzz.sh "$1" | tee "$logs/fuzzing"; }

inner=$(go list ./... | grep -v '^tidemark/e2e')
outer=$(go list ./e2e/... | grep -v '/ecosystem$') # that one is make test-ecosystem

part "unit and conformance" go_test unit -timeout 15m $inner
part "known-bad builds" go_test planted -tags planted ./replication ./replication/internal/scene ./coordinator/group ./coordinator/txn
part "known-bad logs" go_test planted-logs -tags planted -run '^TestPlanted$' ./commitlog
if [ "$(go env CGO_ENABLED)" = 1 ]; then
	part "race" go_test race -race -timeout 25m $inner
else
	echo "=== race: left out, it needs a C compiler; run: sudo apt-get install gcc libc6-dev"
fi
[ "$simtime" = 0 ] || SIMTIME=$simtime part "simulation" go_test simulation -count=1 -timeout 3h -run '^(TestCorpus|TestMany)$' ./replication/sim
# What tests of processes leave when they are killed goes with the logs. The others keep /tmp:
# where go test knows a result it is bound to the name of that folder.
mkdir "$logs/tmp"
TMPDIR=$logs/tmp part "clients" go_test clients -count=1 -timeout 35m -parallel 3 -skip '^TestChaos' $outer
TMPDIR=$logs/tmp part "chaos" go_test chaos -count=1 -timeout 60m -run '^TestChaos' ./e2e
[ "${FUZZTIME:-10s}" = 0 ] || part "fuzzing" fuzz "${FUZZTIME:-10s}"

echo "=== shares"
printf '%s\n' "${shares[@]}"
[ ! -e "$logs/simulation.json" ] || grep -hoE 'simulation: ([0-9]+ seeds, [0-9]+ events, [0-9]+ violations|violated by [a-z0-9: ]+)' "$logs/simulation.json" | tail -2
tally=$("$logs/failures" -count "$logs"/*.json)
[[ $tally == *" 0 skipped" ]] || echo "skipped tests are listed with their reasons at the end of each part above"
"$logs/failures" "$logs"/*.json
[ ! -e "$logs/fuzzing" ] || grep -E 'FAILED$|Failing input|^panic: |^ *[a-z0-9_]+\.go:[0-9]+: ' "$logs/fuzzing" | cut -c-200 | head -20
echo "$tally"
exit $failed
