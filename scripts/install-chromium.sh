#!/bin/sh
# Puts Chromium on this machine, for the tests that open a report in a real
# browser and for scripts/report-picture.sh. It does nothing where a Chromium
# is already on the PATH. Only root installs; anybody else is told the command.
set -eu

for name in chromium chromium-browser google-chrome headless-shell; do
	if command -v "$name" >/dev/null 2>&1; then
		echo "already here: $(command -v "$name")"
		exit 0
	fi
done

if [ "$(id -u)" -ne 0 ]; then
	echo "Chromium is missing. Install it with:" >&2
	echo "  sudo apt-get install -y --no-install-recommends chromium" >&2
	exit 1
fi

if ! command -v apt-get >/dev/null 2>&1; then
	echo "Chromium is missing and this system has no apt-get; install it with the system's own package manager." >&2
	exit 1
fi

export DEBIAN_FRONTEND=noninteractive
apt-get update -q
apt-get install -y -q --no-install-recommends chromium
