#!/usr/bin/env bash
# node-clients.sh installs what e2e/node needs into .cache/node.
set -euo pipefail
cd "$(dirname "$0")/.."

command -v npm >/dev/null || scripts/need.sh nodejs npm
mkdir -p .cache/node
if ! cmp -s e2e/node/package.json .cache/node/package.json || [ ! -d .cache/node/node_modules/kafkajs ]; then
	cp e2e/node/package.json .cache/node/package.json
	(cd .cache/node && npm install --silent --no-audit --no-fund)
fi
