#!/usr/bin/env bash
# govulncheck.sh checks the module against the Go vulnerability database. Where
# the database is out of reach it says so and passes: nothing was checked.
set -uo pipefail
cd "$(dirname "$0")/.."

out=$(go tool -modfile=tools/go.mod govulncheck ./... 2>&1) && { echo "$out" | tail -1; exit 0; }
if grep -q 'fetching vulnerabilities' <<<"$out"; then
	echo "govulncheck: the vulnerability database is out of reach; nothing was checked" >&2
	exit 0
fi
echo "$out"
exit 1
