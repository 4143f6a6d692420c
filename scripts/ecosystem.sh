#!/usr/bin/env bash
# ecosystem.sh runs Kafka Streams and Flink against the broker (e2e/ecosystem).
# Maven downloads go to its own cache.
set -euo pipefail
cd "$(dirname "$0")/.."

command -v mvn >/dev/null && command -v javac >/dev/null || scripts/need.sh maven default-jdk-headless
mvn -q -B -f e2e/ecosystem/java/pom.xml compile
go test -tags ecosystem -count=1 -timeout 15m -v ./e2e/ecosystem "$@"
