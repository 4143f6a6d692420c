#!/usr/bin/env bash
# python-venv.sh NAME PACKAGE... makes .cache/venv-NAME with the packages in it
# and prints the path of its python. Nothing is done where they are there already.
set -euo pipefail
cd "$(dirname "$0")/.."

name=$1
shift
venv="$PWD/.cache/venv-$name"
if [ "$(cat "$venv/packages" 2>/dev/null)" != "$*" ]; then
	rm -rf "$venv"
	python3 -m venv "$venv" >&2 || { scripts/need.sh python3-venv && python3 -m venv "$venv" >&2; }
	"$venv/bin/pip" install -q --disable-pip-version-check "$@" >&2
	echo "$*" >"$venv/packages"
fi
echo "$venv/bin/python"
