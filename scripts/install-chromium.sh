#!/usr/bin/env bash
# install-chromium.sh puts Chromium on this machine, for the tests that open a
# report in a real browser and for report-picture.sh. Only root installs;
# anybody else is told the command.
set -euo pipefail
cd "$(dirname "$0")/.."

for name in chromium chromium-browser google-chrome headless-shell; do
	command -v "$name" >/dev/null && exit 0
done
exec scripts/need.sh chromium
